"""What columns of a call share, that sharing changes no result, and that threads do not either."""

import decimal

import numpy as np
import pyarrow as pa
import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.columns import arranged, evaluate, sorting, threads
from slidewise.columns.threads import compute_keys

RNG = np.random.default_rng(11)
COUNT = 3000
TABLE = pa.table(
    {
        "key": RNG.integers(0, 40, COUNT),
        "at": RNG.permutation(COUNT),
        "x": pa.array(RNG.normal(1e6, 1.0, COUNT), mask=RNG.random(COUNT) < 0.1),
        "i": RNG.integers(-(2**40), 2**40, COUNT),
        "big": RNG.integers(-(2**62), 2**62, COUNT),
    }
)
CALL = {"partition_by": "key", "order_by": "at"}
WINDOWS = [
    sw.rows(7),
    sw.rows(50),
    sw.rows_between(-5, 5),
    sw.range_between(-100, 100),
    sw.rows_between(-5, 5, exclude="ties"),
]
NAMES = [
    "max",
    "min",
    "sum",
    "avg",
    "stddev",
    "stddev_pop",
    "var_samp",
    "var_pop",
    "count",
    "median",
    "mode",
    "count_distinct",
]


def expressions(columns=("x", "i")):
    return {f"{n} {c} {k}": getattr(sw, n)(c).over(w) for n in NAMES for c in columns for k, w in enumerate(WINDOWS)}


@pytest.mark.full
@pytest.mark.parametrize("column", ["x", pytest.param("i", marks=pytest.mark.soak)])
def test_sharing_changes_no_result(column):
    given = expressions((column,))
    together = sw.with_columns(TABLE, **CALL, **given)
    for name, over in given.items():
        alone = sw.with_columns(TABLE, **CALL, r=over)["r"]
        shared = together[name]
        assert alone.type == shared.type
        assert np.allclose(alone.to_numpy(), shared.to_numpy(), rtol=1e-9, atol=0, equal_nan=True), name
        assert alone.null_count == shared.null_count, name


@pytest.mark.full
@pytest.mark.parametrize("name", ["avg", "stddev", "var_pop"])
def test_what_is_derived_equals_recalculation(name):
    aggregations = [getattr(sw, n)(c) for n in (name, "var_samp") for c in ("x", "i", "big")]
    columns = {f"{a!r} {k}": a.over(w) for a in aggregations for k, w in enumerate(WINDOWS)}
    auto = sw.with_columns(TABLE, **CALL, **columns)
    naive = sw.with_columns(TABLE, **CALL, algorithm="recalculate", **columns)
    for column in columns:
        pairs = zip(auto[column].to_pylist(), naive[column].to_pylist(), strict=True)
        assert all((a is None) == (b is None) and (a is None or abs(a - b) <= 1e-9 * abs(b)) for a, b in pairs), column


def test_equal_and_related_aggregates_are_computed_once(monkeypatch):
    computed = []
    compute = compute_keys

    def counting(aggregations, *rest):
        computed.extend(aggregation.name for aggregation in aggregations)
        return compute(aggregations, *rest)

    monkeypatch.setattr(evaluate, "compute_keys", counting)
    window = sw.rows(9)
    names = ["sum", "avg", "count", "stddev", "var_pop", "first", "last", "collect_list"]
    sw.with_columns(
        TABLE, **CALL, again=sw.sum("x").over(window), **{n: getattr(sw, n)("x").over(window) for n in names}
    )
    assert sorted(computed) == ["squared_deviations", "sum"]


def test_frames_and_codes_are_made_once(monkeypatch):
    made = []
    for name in ("frames_of", "encode", "arrange"):
        function = getattr(arranged, name)
        monkeypatch.setattr(arranged, name, lambda *a, f=function, n=name: made.append(n) or f(*a))
    columns = {f"{n}{w}": getattr(sw, n)("x").over(sw.rows(w)) for n in ("max", "min", "median") for w in (3, 4)}
    sw.with_columns(TABLE, **CALL, **columns)
    # the numbers of the median are in order for the others
    assert sorted(made) == ["arrange", "encode", "frames_of", "frames_of"]


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("names", [("x",), ("x", "i")])
@pytest.mark.parametrize("chunk", [64, 1000])
def test_threads_change_no_bit(monkeypatch, chunk, names):
    monkeypatch.setattr(threads, "CHUNK", chunk)
    columns = expressions(names)
    one = sw.with_columns(TABLE, **CALL, threads=1, **columns)
    for number in (2, 3):
        assert sw.with_columns(TABLE, **CALL, threads=number, **columns).equals(one)
    slides = {"window": sw.time(100, every=30), **{n: getattr(sw, n)("x") for n in NAMES}}
    assert sw.aggregate(TABLE, **CALL, threads=2, **slides).equals(sw.aggregate(TABLE, **CALL, threads=1, **slides))


@pytest.mark.full
def test_chunks_change_no_result(monkeypatch):
    whole = sw.with_columns(TABLE, **CALL, **expressions(("i",)))
    monkeypatch.setattr(threads, "CHUNK", 64)
    cut = sw.with_columns(TABLE, **CALL, **expressions(("i",)))
    for name in expressions(("i",)):
        assert np.allclose(cut[name].to_numpy(), whole[name].to_numpy(), rtol=1e-12, atol=0, equal_nan=True), name


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(threads, "CHUNK", 64)
    table = TABLE.append_column("huge", pa.array(np.full(COUNT, 2**62)))
    with pytest.raises(OverflowError):
        sw.with_columns(table, **CALL, threads=2, s=sw.sum("huge").over(sw.rows(9)))


def test_explain_of_a_whole_call():
    window = sw.rows(100)
    table = sw.explain(
        {
            "total": sw.sum("x").over(window),
            "mean": sw.avg("x").over(window),
            "spread": sw.stddev("x").over(window),
            "variance": sw.var_pop("x").over(window),
            "n": sw.count().over(window),
            "middle": sw.median("x").over(sw.time("1h")),
            "naive": sw.max("x").over(window, algorithm="recalculate"),
        }
    )
    lines = {line["column"]: line for line in table}
    assert list(lines) == ["total", "mean", "spread", "variance", "n", "middle", "naive"]
    assert lines["mean"]["shares"].endswith("follows from sum('x'), which total is")
    assert lines["total"]["shares"].endswith("its result with mean")
    assert lines["spread"]["shares"].endswith("follows from squared_deviations('x'), as variance")
    assert lines["n"]["algorithm"] == "none"
    assert lines["middle"]["algorithm"] == "chunk_ranks"
    assert lines["middle"]["shares"] == "-"
    assert (lines["naive"]["algorithm"], lines["naive"]["decided by"]) == ("recalculate", "asked for by name")
    assert "mean" in str(table)
    with pytest.raises(sw.InvalidInput, match="dict of expressions"):
        sw.explain({"peak": sw.max("x")})


# ---- columns of one call are told apart
def columns_that_are_recoded(count, rng):
    """Columns that are given to kernels as numbers made for the call: memory that is free again after it."""
    decimals = [decimal.Decimal(int(k)).scaleb(-2) for k in rng.integers(-900, 900, count)]
    texts = {f"text{k}": pa.array([f"{v:03}" for v in rng.integers(0, k, count)]) for k in (3, 40, 900)}
    return {
        **texts,
        "bytes": texts["text40"].cast(pa.binary()).take(pa.array(rng.permutation(count))),
        "category": texts["text900"].dictionary_encode().take(pa.array(rng.permutation(count))),
        "price": pa.array(decimals, pa.decimal128(9, 2)),
        "cost": pa.array(decimals[::-1], pa.decimal128(9, 2)),
        "list": pa.array([[int(v)] for v in rng.integers(0, 7, count)]),
        "half": pa.array(rng.integers(-99, 99, count).astype(np.float16)),
        "other half": pa.array(rng.integers(-99, 99, count).astype(np.float16)),
    }


@pytest.mark.parametrize("count", [10, *in_full(1000), pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("nulls", [0.0, 0.1])
def test_columns_of_one_call_do_not_get_each_others_answer(count, nulls):
    rng = np.random.default_rng(count)
    columns = columns_that_are_recoded(count, rng)
    if nulls:
        for name in columns:
            rows = [None if rng.random() < nulls else k for k in range(count)]
            columns[name] = columns[name].take(pa.array(rows, pa.int64()))
    table = pa.table({"at": rng.permutation(count), **columns})
    for window in (sw.rows(count), sw.rows_between(-20, 20), sw.range_between(-30, 5, exclude="current row")):
        given = {f"distinct {name}": sw.count_distinct(name).over(window) for name in columns}
        for name in ("price", "cost", "half", "other half"):
            given[f"median {name}"] = sw.median(name).over(window)
            given[f"spread {name}"] = sw.stddev(name).over(window)
        together = sw.with_columns(table, order_by="at", **given)
        for name, over in given.items():
            assert together[name].equals(sw.with_columns(table, order_by="at", r=over)["r"]), (name, window)
    hops = {name: over.aggregation for name, over in given.items()}
    call = {"order_by": "at", "window": sw.time(count, every=max(1, count // 7))}
    together = sw.aggregate(table, **call, **hops)
    for name, aggregation in hops.items():
        assert together[name].equals(sw.aggregate(table, **call, r=aggregation)["r"]), name


def test_what_reads_a_column_alike_is_arranged_once(monkeypatch):
    arranged = []
    arrange = sorting.Arrangement.arrange

    def counting(self, values):
        arranged.append(values)
        return arrange(self, values)

    monkeypatch.setattr(sorting.Arrangement, "arrange", counting)
    table = {"at": RNG.permutation(50), "x": RNG.integers(0, 9, 50).astype(np.uint64)}
    names = ("sum", "max", "median", "count_distinct", "mode")
    sw.with_columns(table, order_by="at", **{n: getattr(sw, n)("x").over(sw.rows(5)) for n in names})
    assert len(arranged) == 1
