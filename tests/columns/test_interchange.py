"""Every kind of frame: in, and out in kind."""

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidewise as sw

PLAIN = {"k": ["a", "b", "a", "a"], "t": [1, 2, 3, 4], "x": [1.0, 2.0, None, 4.0], "w": ["to", None, "be", "or"]}
EXPECTED = {"s": [1.0, 2.0, 1.0, 4.0], "n": [1, 1, 1, 1], "m": ["to", None, "to", "or"]}
COLUMNS = {"s": sw.sum("x").over(sw.rows(2)), "n": sw.count("x").over(sw.rows(2)), "m": sw.max("w").over(sw.rows(2))}
CALL = {"partition_by": "k", "order_by": "t"}
SLIDES = {"window": sw.rows(2, every=2), "s": sw.sum("x"), "m": sw.max("w")}


def arrow():
    return pa.table(PLAIN)


KINDS = {
    "Table": (arrow, pa.Table, lambda out: out.to_pydict()),
    "chunks": (
        lambda: pa.concat_tables([arrow().slice(0, 1), arrow().slice(1)]),
        pa.Table,
        lambda out: out.to_pydict(),
    ),
    "RecordBatch": (lambda: arrow().to_batches()[0], pa.RecordBatch, lambda out: out.to_pydict()),
    "RecordBatchReader": (lambda: arrow().to_reader(), pa.RecordBatchReader, lambda out: out.read_all().to_pydict()),
    "pandas": (
        lambda: arrow().to_pandas(),
        pd.DataFrame,
        lambda out: {n: pa.array(out[n], from_pandas=True).to_pylist() for n in out},
    ),
    "pandas of Arrow": (
        lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame,
        lambda out: {n: pa.array(out[n], from_pandas=True).to_pylist() for n in out},
    ),
    "polars": (lambda: pl.DataFrame(PLAIN), pl.DataFrame, lambda out: out.to_dict(as_series=False)),
    "duckdb": (lambda: duckdb.from_arrow(arrow()), duckdb.DuckDBPyRelation, lambda out: pa.table(out).to_pydict()),
    "dict": (
        lambda: {
            "k": np.array(PLAIN["k"]),
            "t": np.array(PLAIN["t"]),
            "x": np.ma.masked_array([1.0, 2.0, 0.0, 4.0], [0, 0, 1, 0]),
            "w": np.array(PLAIN["w"], object),
        },
        dict,
        lambda out: {n: v.tolist() for n, v in out.items()},
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_same_kind_comes_back(name):
    make, kind, read = KINDS[name]
    out = sw.with_columns(make(), **CALL, **COLUMNS)
    assert isinstance(out, kind)
    found = read(out)
    assert {n: found[n] for n in EXPECTED} == EXPECTED
    assert {n: found[n] for n in PLAIN} == PLAIN
    out = sw.aggregate(make(), **CALL, **SLIDES)
    assert isinstance(out, kind)
    assert read(out) == {"k": ["a"], "t": [3], "s": [1.0], "m": ["to"]}


def test_anything_with_a_stream_of_arrow_comes_in():
    class Stream:
        def __arrow_c_stream__(self, schema=None):
            return arrow().__arrow_c_stream__(schema)

    stream: Any = Stream()
    assert sw.with_columns(stream, **CALL, **COLUMNS)["s"].to_pylist() == EXPECTED["s"]


def test_a_pandas_index_survives_and_integers_with_nulls_stay_exact():
    frame = pd.DataFrame({"x": [2**53 + 1, 5, 7], "f": [False, True, True]}, index=pd.Index([30, 10, 20], name="id"))
    out = sw.with_columns(frame, m=sw.max("x", where="f").over(sw.rows(1)), s=sw.sum("x").over(sw.rows(2)))
    assert out.index.tolist() == [30, 10, 20]
    assert out.index.name == "id"
    assert out["m"].dtype == "Int64"
    assert out["m"].tolist() == [pd.NA, 5, 7]
    assert out["s"].tolist() == [2**53 + 1, 2**53 + 6, 12]


def test_in_pandas_nan_is_null_and_in_polars_it_is_nan():
    frame = pd.DataFrame({"x": [1.0, np.nan]})
    assert sw.with_columns(frame, n=sw.count("x").over(sw.rows(2)))["n"].tolist() == [1, 1]
    frame = pl.DataFrame({"x": [1.0, np.nan]})
    assert sw.with_columns(frame, n=sw.count("x").over(sw.rows(2)))["n"].to_list() == [1, 2]


def test_a_polars_enum_stays_one():
    kind = pl.Enum(["low", "high", "never"])
    for rows in (["high", "low", "high"], [], [None, None]):
        frame = pl.DataFrame({"e": pl.Series(rows, dtype=kind), "v": range(len(rows)), "c": rows}).cast(
            {"c": pl.Categorical}
        )
        window = sw.rows(2)
        out = sw.with_columns(
            frame,
            most=sw.max("e").over(window),
            first=sw.first("e").over(window),
            by=sw.max_by("e", "v").over(window),
            listed=sw.collect_list("e").over(window),
            different=sw.collect_set("e").over(window),
            other=sw.max("c").over(window),
        )
        lists = pl.List(kind)
        assert out.dtypes == [kind, pl.Int64, pl.Categorical, kind, kind, kind, lists, lists, pl.Categorical]
        slides = sw.aggregate(frame, window=sw.rows(1, every=1), partition_by="e", order_by="v", m=sw.min("e"))
        assert slides.schema["e"] == slides.schema["m"] == kind
    out = sw.with_columns(frame.clear(), m=sw.max("e").over(sw.rows(2)))
    assert out["m"].dtype == kind


def test_categories_stay_categories():
    frame = pd.DataFrame({"c": pd.Categorical(["low", "high", "low"], ["low", "high"], ordered=True)})
    out = sw.with_columns(frame, m=sw.max("c").over(sw.rows(2)))
    assert out["m"].dtype == frame["c"].dtype
    assert out["m"].tolist() == ["low", "high", "high"]
    frame = pl.DataFrame({"c": pl.Series(["b", "a", "b"], dtype=pl.Categorical)})
    out = sw.with_columns(frame, m=sw.max("c").over(sw.rows(2)))
    assert out["m"].dtype == pl.Categorical
    assert out["m"].to_list() == ["b", "b", "b"]


def test_a_lazy_frame_is_told_to_collect():
    with pytest.raises(sw.InvalidInput, match="collect"):
        sw.with_columns(pl.LazyFrame(PLAIN), **COLUMNS)


def test_doubled_names_are_refused_where_they_are_read_or_replaced():
    arrow_frame = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["x", "x", "y"])
    for frame in (arrow_frame, arrow_frame.to_batches()[0], pd.DataFrame([[1, 2, 3]], columns=["x", "x", "y"])):
        for call in (
            {"s": sw.sum("x").over(2)},
            {"x": sw.sum("y").over(2)},
            {"s": sw.sum("y").over(2), "order_by": "x"},
        ):
            with pytest.raises(sw.InvalidInput, match="different names, got 'x' twice"):
                sw.with_columns(frame, **call)
        out = sw.with_columns(frame, s=sw.sum("y").over(2))
        table = (
            pa.Table.from_arrays([out.iloc[:, k] for k in range(4)], out.columns)
            if isinstance(out, pd.DataFrame)
            else out
        )
        assert table.schema.names == ["x", "x", "y", "s"]
        assert [column.to_pylist() for column in table.columns] == [[1], [2], [3], [3]]


def test_arrays_of_odd_shapes_are_refused():
    for wrong in (np.zeros(3), np.array(3), np.zeros((3, 2)), [1, 2, 3], pa.array([1]), pd.Series([1]), pl.Series([1])):
        with pytest.raises(sw.InvalidInput, match="one length"):
            sw.with_columns({"x": np.zeros(2), "y": wrong}, s=sw.sum("x").over(sw.rows(2)))
    with pytest.raises(sw.InvalidInput, match=r"'y' is an array of shape \(2, 3\), and a column has one dimension"):
        sw.with_columns({"x": np.zeros(2), "y": np.zeros((2, 3))}, s=sw.sum("y").over(sw.rows(2)))


def test_results_of_a_dict_are_arrays_or_masked_arrays():
    data = {"x": np.array([1, 2, 3]), "d": np.array(["2024-01-01", "2024-01-02", "NaT"], "M8[D]")}
    out = sw.with_columns(
        data, s=sw.sum("x").over(sw.rows(2)), e=sw.sum("x").over(sw.rows_between(1, 1)), d=sw.max("d").over(sw.rows(1))
    )
    assert type(out["s"]) is np.ndarray
    assert out["e"].tolist() == [2, 3, None]
    assert out["e"].dtype == np.int64
    assert out["d"].dtype == np.dtype("M8[D]")
    assert out["x"] is data["x"]


# ---- what nobody reads
OBJECTS = [object(), None, {"a": 1}]


def test_columns_of_polars_that_nobody_reads_are_those_that_came():
    frame = pl.DataFrame(
        {
            "x": [1, 2, 3],
            "object": pl.Series(OBJECTS, dtype=pl.Object),
            "wide": pl.Series([2**100, None, -(2**100)], dtype=pl.Int128),
            "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a", "never"])),
            "categories": pl.Series(["b", None, "a"], dtype=pl.Categorical),
            "array": pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            "struct": [{"a": 1, "b": ["x"]}, None, {"a": None, "b": []}],
            "decimal": pl.Series(["1.5", None, "2"]).cast(pl.Decimal(38, 5)),
            "time": pl.Series([1, None, 2]).cast(pl.Time),
            "null": [None, None, None],
            "binary": [b"a", None, b""],
            "text": ["a", None, "a text of more than twelve letters"],
        }
    )
    out = sw.with_columns(frame, s=sw.sum("x").over(sw.rows(2)), text=sw.max("text").over(sw.rows(2)))
    assert out.columns == [*frame.columns, "s"]
    assert out["object"].to_list() == OBJECTS
    assert out["text"].to_list() == ["a", "a", "a text of more than twelve letters"]
    left = [name for name in frame.columns if name not in ("object", "text")]
    assert out.select(left).schema == frame.select(left).schema
    assert out.select(left).equals(frame.select(left))
    with pytest.raises(sw.InvalidInput, match="'object' is a column of Python objects"):
        sw.with_columns(frame, n=sw.count("object").over(sw.rows(2)))
    wide = sw.with_columns(frame, m=sw.max("wide").over(sw.rows(2)))["m"]
    assert [int(v) for v in wide] == [2**100, 2**100, -(2**100)]
    with pytest.raises(sw.InvalidInput, match="'w' is of Int128, and cannot be read"):
        sw.with_columns(pl.DataFrame({"w": pl.Series([2**127 - 1], dtype=pl.Int128)}), m=sw.max("w").over(2))


class MyFrame(pd.DataFrame):
    """A frame as pandas' guide to subclasses makes it."""

    _metadata = ("unit",)

    @property
    def _constructor(self):
        return MyFrame


def exotic_frame(made=pd.DataFrame):
    mixed = pd.Series([1, "a", None])
    columns = {
        "x": [1, 2, 3],
        "mixed": mixed,
        "complex": [1j, 2, 3],
        "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.0]),
        "period": pd.period_range("2024-01", periods=3, freq="M"),
        "interval": pd.interval_range(0, 3),
        "category": pd.Categorical(["b", None, "a"], ["b", "a"], ordered=True),
        "zoned": pd.to_datetime(["2024-01-01", None, "2024-01-02"]).tz_localize("Europe/Vienna"),
        "nullable": pd.array([1, None, 3], "Int8"),
        "arrow": pd.Series([[1], None, []], dtype=pd.ArrowDtype(pa.list_(pa.int8()))).array,
        "lists": pd.Series([[1], None, {}]),
        ("a", "pair"): [1, 2, 3],
        7: [1, 2, 3],
    }
    return made(columns)


def test_columns_of_pandas_that_nobody_reads_are_those_that_came():
    frame = exotic_frame()
    frame.index = pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["k", "l"])
    before = frame.copy()
    out = sw.with_columns(frame, s=sw.sum("x").over(sw.rows(2)))
    pd.testing.assert_frame_equal(out.drop(columns="s"), before)
    pd.testing.assert_frame_equal(frame, before)
    assert out["s"].tolist() == [1, 3, 5]


def test_a_subclass_of_pandas_frames_stays_one():
    frame: Any = exotic_frame(MyFrame)
    frame.unit, frame.attrs = "m", {"from": "a file"}
    out = sw.with_columns(frame, s=sw.sum("x").over(sw.rows(2)))
    assert type(out) is MyFrame
    assert (out.unit, out.attrs) == ("m", {"from": "a file"})
    assert out["s"].tolist() == [1, 3, 5]
    slides = sw.aggregate(frame, window=sw.rows(2, every=2), s=sw.sum("x"))
    assert type(slides) is MyFrame
    assert slides["s"].tolist() == [3]


def test_columns_of_arrow_that_nobody_reads_are_those_that_came():
    ids = pa.array([b"0" * 16, None, b"1" * 16], pa.binary(16))
    union = pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [
        pa.array([1, 2]), pa.array(["a"])])  # fmt: skip
    frame = pa.table(
        {
            "x": [1, 2, 3],
            "runs": pc.run_end_encode(pa.array(["a", "a", None])),
            "views": pa.array([["a"], None, ["b", None]], pa.list_(pa.string_view())),
            "list views": pa.array([["a"], None, ["b"]], pa.list_view(pa.string_view())),
            "ids": pa.ExtensionArray.from_storage(pa.uuid(), ids),
            "union": union,
            "half": pa.array([np.float16(1), None, np.float16(2)], pa.float16()),
            "months": pa.array([(1, 2, 3), None, (0, 0, 1)], pa.month_day_nano_interval()),
            "wide": pa.array([None, 1, 2], pa.decimal256(70, 3)),
        }
    ).replace_schema_metadata({"made": "by hand"})
    for made in (frame, frame.to_batches()[0], frame.to_reader()):
        out = sw.with_columns(made, s=sw.sum("x").over(sw.rows(2)))
        out = out.read_all() if isinstance(out, pa.RecordBatchReader) else out
        assert out.schema.metadata == {b"made": b"by hand"}
        assert out.schema.names == [*frame.column_names, "s"]
        for name in frame.column_names:
            column = out.column(name)
            assert column.type == frame[name].type
            assert column.to_pylist() == frame[name].to_pylist()


def test_arrays_of_a_dict_that_nobody_reads_are_those_that_came():
    data = {
        "x": np.array([1, 2, 3]),
        "complex": np.array([1j, 2, 3]),
        "records": np.zeros(3, [("a", int)]),
        "arrow": pa.array([1, None, 3]),
        "pandas": pd.Series([1.0, None, 2.0], index=[5, 6, 7]),
        "polars": pl.Series("p", [1, None, 3]),
        "vectors": np.zeros((3, 2)),
        "lists": [["a"], [], ["b", "c"]],
        "words": ["a", 1, None],
    }
    out = sw.with_columns(
        data,
        s=sw.sum("x").over(2),
        a=sw.sum("arrow").over(2),
        b=sw.sum("pandas").over(2),
        c=sw.sum("polars").over(2),
    )
    assert all(out[name] is data[name] for name in data)
    assert out["s"].tolist() == [1, 3, 5]
    assert out["a"].equals(pa.array([1, 1, 3]))
    pd.testing.assert_series_equal(out["b"], pd.Series([1.0, 1.0, 2.0], index=[5, 6, 7]))
    assert out["c"].to_list() == [1, 1, 3]


# ---- kinds of columns that are read
def test_nullable_and_arrow_columns_of_pandas_give_columns_of_their_kind():
    plain: dict[str, Any] = {"x": [1.5, None, float("nan")], "w": ["a", None, "b"]}
    frame = pd.DataFrame(
        {
            "f": pd.arrays.FloatingArray(np.array([1.5, 0, np.nan]), np.array([False, True, False])),
            "a": pd.arrays.ArrowExtensionArray(pa.array(plain["x"])),
            "s": pd.array(plain["w"], "string"),
            "n": [1, 2, 3],
        }
    )
    window = sw.rows_between(-1, -1)
    out = sw.with_columns(
        frame,
        **{f"last_{name}": sw.last(name).over(window) for name in frame},
        **{f"n_{name}": sw.count(name).over(sw.rows(3)) for name in frame},
        rows=sw.count().over(sw.rows(3)),
    )
    found = out.dtypes.astype(str).to_dict()
    assert [found[f"last_{name}"] for name in frame] == ["Float64", "double[pyarrow]", "string", "Int64"]
    assert [found[f"n_{name}"] for name in frame] == ["Int64", "int64[pyarrow]", "Int64", "int64"]
    assert found["rows"] == "int64"
    assert out["n_f"].tolist() == out["n_a"].tolist() == [1, 1, 2]  # NaN is no null where there are nulls
    assert sw.with_columns(frame[["f"]], rows=sw.count().over(2))["rows"].dtype == "Int64"


def test_big_endian_arrays_and_units_of_time_that_arrow_has_not():
    for dtype in (">i4", ">f8", ">u2", ">M8[s]", ">U1"):
        x = np.array([1, 3, 2]).astype(dtype)
        out = sw.rolling(x, sw.max(), sw.rows(2))
        assert out.tolist() == x[[0, 1, 1]].tolist()
        assert (
            sw.with_columns(pd.DataFrame({"x": x}), m=sw.max("x").over(2))["m"].tolist()
            == pd.Series(x[[0, 1, 1]].astype(x.dtype.newbyteorder("="))).tolist()
        )
    units = {"Y": "D", "M": "D", "W": "D", "D": "D", "h": "s", "m": "s", "10s": "s", "s": "s", "ms": "ms", "25us": "us"}
    for unit, finer in units.items():
        x = np.array([-3, 5, 4, 0]).astype(f"M8[{unit}]")
        x[3] = "NaT"
        out = sw.rolling(x, sw.max(), sw.rows(2))
        assert out.dtype == np.dtype(f"M8[{finer}]")
        assert (out == x[[0, 1, 1, 2]]).all()
    for unit, finer in {"W": "s", "D": "s", "h": "s", "10m": "s", "ns": "ns"}.items():
        x = np.array([-3, 5, 4]).astype(f"m8[{unit}]")
        out = sw.rolling(x, sw.sum(), sw.rows(2))
        assert out.dtype == np.dtype(f"m8[{finer}]")
        assert (out == x + np.append(np.timedelta64(0, "s"), x[:-1])).all()


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.array([1j]), "complex numbers"),
        (np.zeros(1, "m8[M]"), "a month has no fixed length"),
        (np.zeros(1, "M8[ps]"), "finer than nanoseconds"),
        (np.zeros(1, np.longdouble), "at most 64 bits"),
        (np.zeros(1, [("a", int)]), "one of their fields"),
        (np.array(["9999999-01-01"], "M8[D]"), "2\\^31 days"),
        (np.array([1, "a"], object), "several types: int, str"),
        (np.array([object()]), "holds object"),
        (pd.Series([1j]), "complex numbers"),
        (pd.Series([1, "a", None]), "several types: int, str"),
        (pl.Series([object()], dtype=pl.Object), "Python objects"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(x, words):
    with pytest.raises(sw.InvalidInput, match=f"'price' .*{words}"):
        sw.with_columns({"price": x}, m=sw.max("price").over(2))
    with pytest.raises(sw.InvalidInput, match=f"'x' .*{words}"):
        sw.rolling(x, sw.max(), 2)


def test_sparse_columns_of_pandas_are_read_as_the_values_they_stand_for():
    frame = pd.DataFrame(
        {"x": pd.arrays.SparseArray([0.0, 0.0, 1.0, np.nan]), "n": pd.arrays.SparseArray([0, 0, 1, 0])}
    )
    out = sw.with_columns(frame, s=sw.sum("x").over(2), c=sw.count("x").over(1), n=sw.max("n").over(2))
    assert out["s"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert out["c"].tolist() == [1, 1, 1, 0]
    assert out["n"].tolist() == [0, 0, 1, 1]


def test_no_rows_of_every_kind():
    table = pa.table({"x": pa.array([], pa.int64()), "k": pa.array([], pa.string())})
    empty = pa.RecordBatch.from_arrays([c.combine_chunks() for c in table.columns], names=table.column_names)
    for frame in (table, empty, table.to_reader(), table.to_pandas(), pl.DataFrame(table)):
        out = sw.with_columns(frame, partition_by="k", s=sw.sum("x").over(2))
        assert type(out) is type(frame)
    out = sw.with_columns(empty, s=sw.sum("x").over(2))
    assert (out.num_rows, out.schema.names) == (0, ["x", "k", "s"])
    out = sw.aggregate(empty, partition_by="k", window=sw.rows(2, every=2), s=sw.sum("x"))
    assert (out.num_rows, out.schema.names) == (0, ["k", "row", "s"])


# ---- names of new columns
@pytest.mark.parametrize("name", [n for n in KINDS if n != "duckdb"])
def test_new_columns_may_be_called_self_and_data(name):
    make, _, read = KINDS[name]
    new = {"self": sw.sum("t").over(2), "data": sw.count().over(2), "x": sw.max("t").over(1)}
    found = read(sw.with_columns(make(), **new))
    assert (found["self"], found["data"], found["x"]) == ([1, 3, 5, 7], [1, 2, 2, 2], [1, 2, 3, 4])
    found = read(
        sw.aggregate(make(), window=sw.rows(2, every=2), self=sw.sum("t"), data=sw.count(), columns=sw.max("t"))
    )
    assert (found["self"], found["data"], found["columns"]) == ([3, 7], [2, 2], [2, 4])


def test_a_new_column_with_the_name_of_a_parameter_is_told_so():
    for name in ("partition_by", "order_by", "threads", "algorithm"):
        with pytest.raises(sw.InvalidInput, match=f"{name}= is a parameter.*Give it in a dict"):
            sw.with_columns(arrow(), **{name: sw.sum("t").over(2)})
    for name in ("partition_by", "order_by", "threads", "algorithm"):
        with pytest.raises(sw.InvalidInput, match=f"{name}= is a parameter.*Give it in a dict"):
            sw.aggregate(arrow(), **{name: sw.sum("t")}, window=sw.rows(2, every=2))


@pytest.mark.parametrize(
    ("given", "results"),
    [
        ([3, 1, 2], [3, 3, 2]),
        ([3.0, 1, None], [3.0, 3.0, 1.0]),
        (["a\0", "a", None], ["a\0", "a\0", "a"]),
        ([b"a\0", b"a", b""], [b"a\0", b"a\0", b"a"]),
        ([2**64 - 1, 2**63, 0], [2**64 - 1, 2**64 - 1, 2**63]),
        ([np.float32(1.5), np.float32(0.5)], [1.5, 1.5]),
        ([], []),
    ],
)
def test_lists_are_arrays_of_their_values(given, results):
    assert sw.rolling(given, sw.max(), 2).tolist() == results
    out = sw.with_columns({"x": given}, y=sw.max("x").over(2))
    assert out["y"].tolist() == results
    assert out["x"] is given


@pytest.mark.parametrize("given", [[1, "a"], [2**63, -1], [2**70, 1], [2**53 + 1, 0.5], [[1], [2, 3]]], ids=str)
def test_lists_of_what_has_no_common_type_are_refused(given):
    for call in (
        lambda: sw.rolling(given, sw.max(), 2),
        lambda: sw.with_columns({"x": given}, y=sw.max("x").over(2)),
    ):
        with pytest.raises(sw.InvalidInput, match="'x'"):
            call()


def test_values_of_wide_integers_of_polars_stay_such():
    column = pl.Series("x", [2**100, None, -5], dtype=pl.Int128)
    out = sw.with_columns(column.to_frame(), m=sw.max("x").over(2), f=sw.first("x").over(2))
    assert out["m"].dtype == out["f"].dtype == pl.Int128
    assert out["m"].to_list() == [2**100, 2**100, -5]
    assert sw.rolling(column, sw.min(), 2).dtype == pl.Int128
    assert sw.with_columns({"x": column}, m=sw.max("x").over(2))["m"].dtype == pl.Int128
    slides = sw.aggregate(column.to_frame(), partition_by="x", window=sw.rows(1, every=1), m=sw.max("x"))
    assert slides.schema == {"x": pl.Int128, "row": pl.Int64, "m": pl.Int128}


@pytest.mark.parametrize(
    "index", [pd.Index([3, 1, 2], name="n"), pd.date_range("2024", periods=3), pd.Index(list("cab"))]
)
def test_an_index_of_pandas_gives_an_index(index):
    out = sw.rolling(index, sw.max(), 3)
    assert isinstance(out, pd.Index)
    assert out.name == index.name
    assert out.dtype == index.dtype
    assert out[-1] == index.max()
