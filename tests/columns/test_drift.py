"""No drift: a value that has left the window has left no trace, however large it was."""

import os
from typing import Any

import numpy as np
import pytest

import slidewise as sw

UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
#: SLIDEWISE_DRIFT_ROWS=10000000 for the whole experiment
N = 20_000 if UNCOMPILED else int(os.environ.get("SLIDEWISE_DRIFT_ROWS", 1_000_000))
SIZE = 50 if UNCOMPILED else 1000
RNG = np.random.default_rng(18)


def poisoned():
    """Values near 1, a few of 1e18, infinities and a NaN among them; and which rows' windows have none of these."""
    x = RNG.normal(1.0, 0.01, N)
    places = np.concatenate((RNG.integers(0, N // 2, 5), [N // 4, N // 4 + 1, N // 3]))
    x[places] = [1e18, -1e18, 1e18, 3e18, -7e18, np.inf, -np.inf, np.nan]
    hit = np.zeros(N, np.int64)
    hit[places] = 1
    seen = np.cumsum(hit)
    return x, (seen - np.concatenate((np.zeros(SIZE, np.int64), seen[:-SIZE]))) == 0


X, CLEAN = poisoned()
#: recalculated with NumPy, for some of the rows whose windows hold ordinary values only, the last one among them
ROWS = np.append(np.flatnonzero(CLEAN & (np.arange(N) >= SIZE))[:: max(1, N // 2000)], N - 1)
NUMPY: dict[str, Any] = {"sum": np.sum, "avg": np.mean, "stddev": lambda w: np.std(w, ddof=1), "var_pop": np.var}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("window", [sw.rows(SIZE), sw.rows_between(1 - SIZE, 0)], ids=repr)
def test_floats_equal_recalculation_once_the_large_ones_have_left(name, window):
    expected = np.array([NUMPY[name](X[i + 1 - SIZE : i + 1]) for i in ROWS])
    found = np.ma.asarray(sw.rolling(X, getattr(sw, name)(), window))[ROWS]
    assert np.max(np.abs(found / expected - 1)) < 1e-12


@pytest.mark.parametrize("name", NUMPY)
def test_floats_over_keys_and_ranges(name):
    """Keys one after the other share a kernel call: one's values must not leak into the next."""
    keys = np.arange(N) // (N // 8)
    data = {"k": keys, "t": np.arange(N), "x": X}
    aggregate = getattr(sw, name)("x")
    out = sw.with_columns(data, partition_by="k", order_by="t", r=aggregate.over(sw.range_between(1 - SIZE, 0)))
    rows = ROWS[keys[ROWS] == keys[ROWS - SIZE + 1]]
    expected = np.array([NUMPY[name](X[i + 1 - SIZE : i + 1]) for i in rows])
    assert np.max(np.abs(np.ma.asarray(out["r"])[rows] / expected - 1)) < 1e-12


def test_integers_are_exact():
    x = RNG.integers(-3, 4, N)
    places = RNG.integers(0, N, 7)
    x[places] = 10**18 + np.arange(7) * RNG.choice([-1, 1], 7)
    total = np.concatenate(([0], np.cumsum(x)))  # wraps around at most, so that differences are exact
    expected = total[1:] - total[np.maximum(np.arange(N) + 1 - SIZE, 0)]
    found = sw.rolling(x, sw.sum(), sw.rows(SIZE))
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    # Python divides integers exactly and rounds once; NumPy would round totals above 2**53 first.
    counts = np.minimum(np.arange(N) + 1, SIZE)
    means = [a / b for a, b in zip(expected.tolist(), counts.tolist(), strict=True)]
    assert sw.rolling(x, sw.avg(), sw.rows(SIZE)).tolist() == means


def test_the_experiment_tells_a_sum_that_subtracts():
    x = np.where(np.isfinite(X), X, 1.0)
    drifted = sw.rolling(x, sw.sum(), sw.rows(SIZE), algorithm="subtract_on_evict")[-1]
    assert abs(drifted / np.sum(X[-SIZE:]) - 1) > 1e-3


def test_nan_and_infinity_are_seen_exactly_while_they_are_there():
    hit = ~np.isfinite(X)
    seen = np.cumsum(hit)
    there = seen - np.concatenate((np.zeros(SIZE, np.int64), seen[:-SIZE])) > 0
    assert np.array_equal(~np.isfinite(sw.rolling(X, sw.sum(), sw.rows(SIZE))), there)
    assert np.array_equal(~np.isfinite(np.ma.filled(sw.rolling(X, sw.stddev(), sw.rows(SIZE)), 0.0)), there)
