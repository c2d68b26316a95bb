"""sw.with_columns: frames, order, nulls, filters, windows and refusals, against plain Python and recalculation."""

import numpy as np
import pyarrow as pa
import pytest
from support.aggregations import Vwap
from support.tiers import in_full

import slidewise as sw

RNG = np.random.default_rng(3)
COUNT = 120
TABLE = pa.table(
    {
        "key": pa.array(RNG.choice(["a", "b", None], COUNT)),
        "at": RNG.permutation(COUNT) // 2,
        "id": np.arange(COUNT),
        "x": pa.array(RNG.integers(0, 9, COUNT).astype(float), mask=RNG.random(COUNT) < 0.2),
        "i": pa.array(RNG.integers(-9, 9, COUNT), mask=RNG.random(COUNT) < 0.2),
        "word": pa.array(RNG.choice(["to", "be", "or", None], COUNT)),
        "flag": pa.array(RNG.random(COUNT) < 0.6, mask=RNG.random(COUNT) < 0.1),
        "back": -RNG.integers(0, 9, COUNT),
        "ahead": RNG.integers(-4, 9, COUNT),
        "km": np.cumsum(RNG.integers(-2, 4, COUNT)),
    }
)
CALL = {"partition_by": "key", "order_by": ["at", "id"]}
EVERY = {
    "count": sw.count("x"),
    "sum": sw.sum("x"),
    "sum of integers": sw.sum("i"),
    "avg": sw.avg("x"),
    "avg of integers": sw.avg("i"),
    "min": sw.min("word"),
    "max": sw.max("i"),
    "product": sw.product("i"),
    "geomean": sw.geomean("x"),
    "stddev": sw.stddev("x"),
    "var_pop": sw.var_pop("x"),
    "skewness": sw.skewness("x"),
    "kurtosis": sw.kurtosis("x"),
    "corr": sw.corr("x", "i"),
    "covar_samp": sw.covar_samp("x", "i"),
    "max_count": sw.max_count("word"),
    "max_by": sw.max_by("word", "i"),
    "min_by": sw.min_by("x", "word"),
    "first": sw.first("word"),
    "last": sw.last("x"),
    "nth_value": sw.nth_value("i", 2),
    "first not null": sw.first("x", ignore_nulls=True),
    "last not null": sw.last("word", ignore_nulls=True),
    "collect_list": sw.collect_list("word"),
    "collect_set": sw.collect_set("i"),
    "string_agg": sw.string_agg("word", ","),
    "bool_and": sw.bool_and("flag"),
    "bool_or": sw.bool_or("flag"),
    "bit_and": sw.bit_and("i"),
    "bit_or": sw.bit_or("i"),
    "bit_xor": sw.bit_xor("i"),
    "covar_pop": sw.covar_pop("x", "i"),
    "regr_slope": sw.regr_slope("x", "i"),
    "regr_r2": sw.regr_r2("x", "i"),
    "regr_sxx": sw.regr_sxx("x", "i"),
    "m4": sw.m4("word"),
    "relative_variation": sw.relative_variation("x"),
    "count_distinct": sw.count_distinct("word"),
    "mode": sw.mode("word"),
    "median": sw.median("x"),
    "percentile": sw.percentile("i", 0.3),
    "percentile_disc": sw.percentile_disc("word", 0.5),
    "nth_smallest": sw.nth_smallest("x", 2),
    "moment_sketch": sw.moment_sketch("x", 3),
    "bloom_filter": sw.bloom_filter("word", 64, 2),
    "approx_count_distinct": sw.approx_count_distinct("word"),
    "count_min_sketch": sw.count_min_sketch("word"),
    "approx_percentile": sw.approx_percentile("x", 0.5),
    "filtered": sw.sum("i", where="flag"),
}
WINDOWS = [
    sw.rows_between(-3, 2),
    *in_full(sw.rows(5), sw.rows_between(-sw.UNBOUNDED, 0), sw.rows_between(1, 3), sw.delta("km", 3)),
    pytest.param(sw.rows_between(sw.col("back"), sw.col("ahead")), marks=pytest.mark.soak),
    pytest.param(sw.rows_between(-2, 2, exclude="current row"), marks=pytest.mark.soak),
]


class Joined(sw.Aggregation):
    """Text, and so interpreted; not commutative."""

    identity = 0

    @staticmethod
    def combine(a, b):
        return a + b


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    if isinstance(a, dict | list) and type(a) is type(b) and len(a) == len(b):
        pairs = zip(*(x.values() if isinstance(x, dict) else x for x in (a, b)), strict=True)
        return all(same(x, y) for x, y in pairs)
    return a == b and (a is None) == (b is None)


def assert_same(out, expected, what):
    for row, (a, b) in enumerate(zip(out, expected, strict=True)):
        assert same(a, b), f"{what}, row {row}: {a!r}, and not {b!r}"


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_every_aggregation_agrees_with_recalculation(window):
    columns = {name: aggregation.over(window) for name, aggregation in EVERY.items()}
    columns |= {"vwap": Vwap("x", "i").over(window), "joined": Joined("word").over(window)}
    auto = sw.with_columns(TABLE, **CALL, **columns)
    naive = sw.with_columns(TABLE, **CALL, algorithm="recalculate", **columns)
    assert auto.schema == naive.schema
    for name in columns:
        assert_same(auto[name].to_pylist(), naive[name].to_pylist(), f"{name} over {window!r}")


@pytest.mark.parametrize(
    "window",
    [sw.rows(5), sw.time(9), sw.groups_between(-1, 1), sw.delta("km", 3), sw.punctuation("flag"), sw.session(1)],
)
def test_agrees_with_a_window_event_by_event(window):
    table = (
        TABLE.append_column("sure", TABLE["flag"].fill_null(False))
        .drop_columns("flag")
        .rename_columns({"sure": "flag"})
    )
    names = ["sum of integers", "max", "last", "collect_list", "median", "count_distinct", "filtered", "string_agg"]
    columns = {name: EVERY[name] for name in names}
    w = sw.Window({name: aggregation.over(window) for name, aggregation in columns.items()}, partition_by="key")
    rows = sorted(table.to_pylist(), key=lambda row: row["at"])
    results = [r for row in rows for r in w.push(row, time=row["at"])] + w.flush()
    expected = {}
    for r in results:
        expected.setdefault(r.key, []).append(r)
    out = sw.with_columns(table, partition_by="key", order_by="at", **{n: a.over(window) for n, a in columns.items()})
    for key, found in expected.items():
        mine = sorted((row for row in out.to_pylist() if row["key"] == key), key=lambda row: row["at"])
        for name in names:
            assert_same([row[name] for row in mine], [r[name] for r in sorted(found, key=lambda r: r.row)], name)


def test_rows_keep_their_order_and_columns_may_be_replaced():
    table = pa.table({"t": [3, 1, 2], "x": [30, 10, 20]})
    out = sw.with_columns(table, order_by="t", x=sw.sum("x").over(sw.rows(2)), n=sw.count().over(sw.rows(9)))
    assert out.to_pydict() == {"t": [3, 1, 2], "x": [50, 10, 30], "n": [3, 1, 2]}


def test_order_descending_and_nulls():
    table = pa.table({"t": [None, 1, 2], "x": [1, 10, 100]})
    window = sw.rows_between(-sw.UNBOUNDED, 0)

    def running(by):
        return sw.with_columns(table, order_by=by, r=sw.sum("x").over(window))["r"].to_pylist()

    assert running("t") == [1, 11, 111]
    assert running(sw.asc("t", nulls="last")) == [111, 10, 110]
    assert running(sw.desc("t")) == [111, 110, 100]
    assert running([sw.desc("t", nulls="first")]) == [1, 111, 101]
    assert running(None) == [1, 11, 111]


def test_several_keys_of_which_one_is_null_or_nan():
    table = pa.table({"a": [1, 1, None, None], "b": [float("nan"), float("nan"), 0.0, -0.0], "x": [1, 2, 3, 4]})
    out = sw.with_columns(table, partition_by=["a", "b"], s=sw.sum("x").over(sw.rows(9)))
    assert out["s"].to_pylist() == [1, 3, 3, 7]


def test_nulls_are_masks_and_nan_is_a_value():
    table = pa.table({"x": pa.array([1.0, None, float("nan"), None, None])})
    window = sw.rows(2)
    out = sw.with_columns(
        table,
        m=sw.max("x").over(window),
        n=sw.count("x").over(window),
        rows=sw.count().over(window),
        first=sw.first("x").over(window),
        sure=sw.first("x", ignore_nulls=True).over(window),
    )
    assert [v if v == v else "nan" for v in out["m"].to_pylist()] == [1.0, 1.0, "nan", "nan", None]
    assert out["n"].to_pylist() == [1, 1, 1, 1, 0]
    assert out["rows"].to_pylist() == [1, 2, 2, 2, 2]
    assert [v if v == v else "nan" for v in out["first"].to_pylist()] == [1.0, 1.0, None, "nan", None]
    assert [v if v == v else "nan" for v in out["sure"].to_pylist()] == [1.0, 1.0, "nan", "nan", None]


def test_where_leaves_rows_out_but_they_count_in_the_window():
    table = pa.table({"x": [1, 2, 4, 8], "f": pa.array([True, False, None, True])})
    out = sw.with_columns(
        table,
        s=sw.sum("x", where="f").over(sw.rows(2)),
        n=sw.count(where="f").over(sw.rows(2)),
        v=Joined("x", where="f").over(sw.rows(4)),
    )
    assert out["s"].to_pylist() == [1, 1, None, 8]
    assert out["n"].to_pylist() == [1, 1, 0, 1]
    assert out["v"].to_pylist() == [1, 1, 1, 9]
    with pytest.raises(sw.InvalidInput, match="'x' must be of booleans"):
        sw.with_columns(table, s=sw.sum("x", where="x").over(sw.rows(2)))


def test_an_aggregation_without_identity_runs_interpreted_and_says_so():
    class Total(sw.Aggregation):
        @staticmethod
        def combine(a, b):
            return a + b

    with pytest.warns(sw.CompileFallback, match="declare the neutral partial"):
        out = sw.with_columns(pa.table({"x": [1, 2, 3]}), s=Total("x").over(sw.rows(2)))
    assert out["s"].to_pylist() == [1, 3, 5]


def test_min_rows_gives_null_until_there_are_enough():
    table = pa.table({"k": [1, 1, 1, 2], "x": [1, 2, 3, 4]})
    window = sw.rows(2, min_rows=2)
    out = sw.with_columns(
        table,
        partition_by="k",
        s=sw.sum("x").over(window),
        n=sw.count().over(window),
        c=sw.collect_list("x").over(window),
    )
    assert out["s"].to_pylist() == [None, 3, 5, None]
    assert out["n"].to_pylist() == [None, 2, 2, None]
    assert out["c"].to_pylist() == [None, [1, 2], [2, 3], None]


def test_punctuation_by_a_function_of_the_row():
    table = pa.table({"x": [1, 2, 0, 5]})
    out = sw.with_columns(table, s=sw.sum("x").over(sw.punctuation(lambda row: row["x"] == 0)))
    assert out["s"].to_pylist() == [1, 3, 3, 5]


@pytest.mark.covering(0)
@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("keys", [{}, {"partition_by": "key", "order_by": "at"}])
@pytest.mark.parametrize("window", [sw.rows_between(-3, 2), *in_full(sw.rows(3))], ids=repr)  # the first has kernels
def test_no_rows_and_one_row(count, keys, window):
    table = TABLE.slice(0, count)
    columns = {name: aggregation.over(window) for name, aggregation in EVERY.items()}
    out = sw.with_columns(table, **keys, **columns)
    assert out.num_rows == count
    whole = sw.with_columns(TABLE, **keys, **columns)
    for name in columns:
        if name not in (
            "bloom_filter",
            "approx_count_distinct",
            "count_min_sketch",
            "approx_percentile",
        ):  # interpreted
            assert out[name].type == whole[name].type, name


def test_an_algorithm_by_name_for_one_column_or_all():
    for algorithm in ("daba_lite", "two_stacks_lite", "sba", "flat_fat", "recalculate"):
        one = sw.with_columns(TABLE, **CALL, r=sw.max("i").over(sw.rows(5), algorithm=algorithm))
        all_of_them = sw.with_columns(TABLE, **CALL, algorithm=algorithm, r=sw.max("i").over(sw.rows(5)))
        assert one["r"].to_pylist() == all_of_them["r"].to_pylist()
    with pytest.raises(sw.IllegalPair):
        sw.with_columns(TABLE, r=sw.max("i").over(sw.rows(5), algorithm="subtract_on_evict"))


REFUSED = {
    "no column": (lambda: sw.with_columns(TABLE), "at least one"),
    "no window": (lambda: sw.with_columns(TABLE, a=sw.max("x")), "has no window"),
    "no expression": (lambda: sw.with_columns(TABLE, a=3), "takes an expression"),
    "no column named": (lambda: sw.with_columns(TABLE, a=sw.max().over(sw.rows(2))), 'Name it: max\\("x"\\)'),
    "unknown column": (lambda: sw.with_columns(TABLE, a=sw.max("wrod").over(sw.rows(2))), "Did you mean 'word'"),
    "unknown key": (
        lambda: sw.with_columns(TABLE, partition_by="kye", a=sw.max("x").over(sw.rows(2))),
        "Did you mean 'key'",
    ),
    "unknown order": (
        lambda: sw.with_columns(TABLE, order_by="nothing", a=sw.max("x").over(sw.rows(2))),
        "There are: key",
    ),
    "unknown filter": (
        lambda: sw.with_columns(TABLE, a=sw.max("x", where="flga").over(sw.rows(2))),
        "Did you mean 'flag'",
    ),
    "unknown bound": (
        lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.rows_between(sw.col("bcak"), 0))),
        "Did you mean 'back'",
    ),
    "slide": (lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.rows(9, every=3))), "Use sw.aggregate"),
    "frames": (lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.frames([0], [1]))), "Use sw.rolling"),
    "delta of values": (
        lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.delta(None, 3))),
        "Name the one to measure",
    ),
    "delta of nulls": (
        lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.delta("x", 3))),
        "nulls, which have no distance",
    ),
    "delta of text": (lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.delta("key", 3))), "null|distances need"),
    "order": (lambda: sw.with_columns(TABLE, order_by=3, a=sw.max("x").over(sw.rows(2))), "order_by takes"),
    "keys": (lambda: sw.with_columns(TABLE, partition_by=3, a=sw.max("x").over(sw.rows(2))), "partition_by is"),
    "threads": (lambda: sw.with_columns(TABLE, threads=0, a=sw.max("x").over(sw.rows(2))), "threads is"),
    "nulls of an order": (lambda: sw.asc("x", nulls="middle"), '"first", "last"'),
    "range without order": (lambda: sw.with_columns(TABLE, a=sw.max("x").over(sw.time(3))), "exactly one order column"),
    "kind of data": (lambda: sw.with_columns([1, 2], a=sw.max("x").over(sw.rows(2))), "is not known"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_meant_is_refused(what):
    call, message = REFUSED[what]
    with pytest.raises(sw.InvalidInput, match=message):
        call()
