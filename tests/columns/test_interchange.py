"""Every kind of frame: in, and out in kind."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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

    assert sw.with_columns(Stream(), **CALL, **COLUMNS)["s"].to_pylist() == EXPECTED["s"]


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


def test_doubled_names_and_odd_shapes_are_refused():
    doubled = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(sw.InvalidInput, match="different names"):
        sw.with_columns(doubled, s=sw.sum("x").over(sw.rows(2)))
    with pytest.raises(sw.InvalidInput, match="different names"):
        sw.with_columns(pd.DataFrame([[1, 2]], columns=["x", "x"]), s=sw.sum("x").over(sw.rows(2)))
    with pytest.raises(sw.InvalidInput, match="one length"):
        sw.with_columns({"x": np.zeros(2), "y": np.zeros(3)}, s=sw.sum("x").over(sw.rows(2)))


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
