"""Aggregates of distinct values over every kind of frame: as DuckDB has them, exactly, without a trace of what left."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw

FRAMES = {
    "ORDER BY t, id ROWS BETWEEN 4 PRECEDING AND CURRENT ROW": (["t", "id"], sw.rows(5)),
    "ORDER BY t, id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW": (
        ["t", "id"],
        sw.rows_between(-2, 3, exclude="current row"),
    ),
    "ORDER BY t, id ROWS BETWEEN back PRECEDING AND ahead FOLLOWING": (
        ["t", "id"],
        sw.rows_between(sw.col("minus_back"), sw.col("ahead")),
    ),
    "ORDER BY t RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING": ("t", sw.range_between(-3, 1)),
    "ORDER BY t DESC GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES": (
        sw.desc("t"),
        sw.groups_between(-1, 2, exclude="ties"),
    ),
    "ORDER BY t RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": ("t", sw.range_between(-sw.UNBOUNDED, 0)),
}


def random_table(seed, n=60):
    rng = np.random.default_rng(seed)

    def some(values, kind=None):
        return pa.array(values, kind, mask=rng.random(n) < 0.2)

    back = rng.integers(0, 6, n)
    return pa.table(
        {
            "id": np.arange(n),
            "k": rng.integers(0, 2, n),
            "t": rng.integers(0, 20, n),
            "back": back,
            "minus_back": -back,
            "ahead": rng.integers(0, 3, n),
            "i": some(rng.integers(-3, 4, n)),
            "f": some(rng.choice([0.5, -0.0, 0.0, 2.25, 1e300, -7.0], n)),
            "d": some(np.array([Decimal(v) / 100 for v in rng.integers(-3, 4, n).tolist()]), pa.decimal128(6, 2)),
            "ok": rng.random(n) < 0.7,
        }
    )


@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.soak if s else ()) for s in range(20)])
def test_as_duckdb(seed):
    duckdb = pytest.importorskip("duckdb")
    data = random_table(seed)
    wanted = {
        "sum_i": (sw.sum_distinct("i"), "sum(DISTINCT i)"),
        "avg_i": (sw.avg_distinct("i"), "avg(DISTINCT i)"),
        "sum_f": (sw.sum_distinct("f"), "sum(DISTINCT f)"),
        "sum_ok": (sw.sum_distinct("i", where="ok"), "sum(DISTINCT i) FILTER (WHERE ok)"),
        "sum_d": (sw.sum_distinct("d"), "sum(DISTINCT d)"),
        "avg_d": (sw.avg_distinct("d"), "avg(DISTINCT d)"),
    }
    for frame, (order, window) in FRAMES.items():
        made = {name: aggregation.over(window) for name, (aggregation, _) in wanted.items()}
        ours = sw.with_columns(data, partition_by="k", order_by=order, **made)
        by_tree = {name: over.aggregation.over(window, algorithm="merge_sort_tree") for name, over in made.items()}
        others = sw.with_columns(data, partition_by="k", order_by=order, **by_tree)
        for name in made:  # the order of additions is another
            assert others[name].is_null().equals(ours[name].is_null())
            pairs = zip(others[name].drop_null().to_pylist(), ours[name].drop_null().to_pylist(), strict=True)
            assert all(float(a) == pytest.approx(float(b), rel=1e-12) for a, b in pairs), (name, frame)
        items = ", ".join(f"{call} OVER (PARTITION BY k {frame}) AS {name}" for name, (_, call) in wanted.items())
        theirs = duckdb.sql(f"SELECT {items} FROM data ORDER BY id").fetchall()
        for name, column in zip(made, zip(*theirs, strict=True), strict=True):
            for found, expected in zip(ours[name].to_pylist(), column, strict=True):
                if expected is None or name in ("sum_i", "sum_ok", "sum_d"):
                    assert found == expected, (name, frame)
                else:
                    assert float(found) == pytest.approx(float(expected), rel=1e-12, abs=1e-4 * (name == "avg_d"))


@pytest.mark.parametrize("algorithm", ["auto", "merge_sort_tree"])
def test_a_value_that_left_has_left_no_trace(algorithm):
    x = np.array([1e16, 1.0, np.nan, np.inf, 0.1, 0.2, 0.1, 0.3])
    found = sw.rolling(x, sw.sum_distinct(), sw.rows(2), algorithm=algorithm)
    assert found[1] == 1e16 and math.isnan(found[3]) and found[4] == np.inf
    assert found[5:].tolist() == [0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.3]
    assert sw.rolling(x[:4], sw.sum_distinct(), sw.rows(4))[-1] != 1e16


@pytest.mark.parametrize("algorithm", ["auto", "merge_sort_tree"])
def test_integers_are_exact_or_an_error(algorithm):
    large = 2**62
    x = np.array([large, large, large - 1, -large, 5, 5])
    assert sw.rolling(x, sw.sum_distinct(), sw.rows(3), algorithm=algorithm).tolist() == [
        large, large, 2 * large - 1, large - 1, 4, 5 - large
    ]  # fmt: skip
    with pytest.raises(OverflowError):
        sw.rolling(np.array([large, large - 1, 1]), sw.sum_distinct(), sw.rows(3), algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["two_stacks_lite", "daba_lite", "recalculate", "flat_fat", "merge_sort_tree"])
def test_every_algorithm_gives_the_same(algorithm):
    x = np.random.default_rng(1).integers(0, 9, 200) * 0.5
    expected = [math.fsum(set(x[max(0, i - 9) : i + 1].tolist())) for i in range(len(x))]
    assert sw.rolling(x, sw.sum_distinct(), sw.rows(10), algorithm=algorithm).tolist() == expected


def test_event_by_event():
    w = sw.Window({"s": sw.sum_distinct(), "a": sw.avg_distinct()}, sw.rows(3))
    rows = [1, 1, None, math.nan, 4.0, 4.0, 2]
    found = [r.value for x in rows for r in w.push(x)]
    sums = [v["s"] for v in found]
    assert sums[:3] == [1, 1, 1]
    assert math.isnan(sums[3]) and math.isnan(sums[5])
    assert (sums[6], found[6]["a"]) == (6.0, 3.0)
