"""regr_* and covar_pop: Spark's values, and those of DuckDB over every kind of frame."""

import math
from typing import Any

import numpy as np
import pytest

import slidewise as sw

NAN, INF = math.nan, math.inf
NAMES = [
    "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept",
    "regr_r2", "covar_pop",
]  # fmt: skip
#: pairs (y, x), and what Spark 4.3.0 gives for them, in the order of NAMES
BY_SPARK: dict[str, Any] = {
    "usual": (
        [(1, 2), (2, 4.5), (3, 5), (None, 1), (1, None)],
        [3, 11.5 / 3, 2.0, 31 / 6, 2.0, 3.0, 0.5806451612903226, -0.22580645161290347, 0.870967741935484, 1.0],
    ),
    "one pair": ([(1, 2)], [1, 2.0, 1.0, 0.0, 0.0, 0.0, None, None, None, 0.0]),
    "y is constant": ([(2, 1), (2, 2), (2, 3)], [3, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0]),
    "x is constant": ([(1, 2), (2, 2), (3, 2)], [3, 2.0, 2.0, 0.0, 2.0, 0.0, None, None, None, 0.0]),
    "both are": ([(2, 2), (2, 2)], [2, 2.0, 2.0, 0.0, 0.0, 0.0, None, None, None, 0.0]),
    "no pair": ([(None, 2)], [0, *[None] * 9]),
    "NaN": ([(1, NAN), (2, 3)], [2, NAN, 1.5, NAN, 0.5, NAN, NAN, NAN, NAN, NAN]),
    "infinity": ([(1, INF), (2, 3)], [2, INF, 1.5, NAN, 0.5, NAN, NAN, NAN, NAN, NAN]),
}


@pytest.mark.parametrize("case", BY_SPARK)
def test_what_spark_gives(case, fold):
    pairs, expected = BY_SPARK[case]
    for name, value in zip(NAMES, expected, strict=True):
        found = fold(getattr(sw, name)(), pairs)
        assert (found is None) == (value is None), name
        assert value is None or found == pytest.approx(value, rel=1e-12, nan_ok=True), name


def test_a_large_mean_does_not_cancel(fold):
    pairs = [(1e9 + y, 1e9 + x) for y, x in ((0, 0), (1, 2), (2, 4), (4, 6))]
    assert fold(sw.regr_slope(), pairs) == pytest.approx(0.65, rel=1e-9)
    assert fold(sw.regr_sxx(), pairs) == pytest.approx(20.0, rel=1e-12)


FRAMES = {
    "ORDER BY t, id ROWS BETWEEN 4 PRECEDING AND CURRENT ROW": (["t", "id"], sw.rows(5)),
    "ORDER BY t, id ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW": (
        ["t", "id"],
        sw.rows_between(-2, 3, exclude="current row"),
    ),
    "ORDER BY t RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING": ("t", sw.range_between(-3, 1)),
    "ORDER BY t GROUPS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES": (
        "t",
        sw.groups_between(-1, 2, exclude="ties"),
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.soak if s > 0 else ()) for s in range(12)])
def test_as_duckdb_over_every_kind_of_frame(seed, frame):
    duckdb = pytest.importorskip("duckdb")
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    n = 60

    def some(values):
        return pa.array(values, mask=rng.random(n) < 0.2)

    data = pa.table(
        {
            "id": np.arange(n),
            "k": rng.integers(0, 2, n),
            "t": rng.integers(0, 20, n),
            "y": some(rng.integers(-8, 9, n).astype(float)),
            "x": some(rng.integers(0, 3, n)),
            "i": some(rng.integers(-99, 99, n)),
        }
    )
    order, window = FRAMES[frame]
    made = {name: getattr(sw, name)("y", "x").over(window) for name in NAMES}
    made |= {name: getattr(sw, name)("i").over(window) for name in ("bit_and", "bit_or", "bit_xor")}
    ours = sw.with_columns(data, partition_by="k", order_by=order, **made)
    items = ", ".join(
        f"{name}({'y, x' if name in NAMES else 'i'}) OVER (PARTITION BY k {frame}) AS {name}" for name in made
    )
    theirs = duckdb.sql(f"SELECT {items} FROM data ORDER BY id").fetchall()
    for name, column in zip(made, zip(*theirs, strict=True), strict=True):
        for found, expected in zip(ours[name].to_pylist(), column, strict=True):
            if expected is not None and expected != expected:
                expected = None  # DuckDB divides by zero where Spark gives null
            if found is None or expected is None:
                assert found is expected, (name, frame)
            else:
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), (name, frame)
