"""fiba compiled: columns through the FIFO driver, and values by their times in any order, against recalculation."""

import math

import numpy as np
import pytest
from support.aggregations import Ends, Total

import slidewise as sw
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.algorithms import fiba
from slidewise.registry import algorithm
from slidewise.templates import compile as compiling
from slidewise.templates import fifo
from slidewise.templates.bind import functions_of
from slidewise.templates.digest import digest
from slidewise.templates.names import close_state, evict, open_state, query, zip_columns


def insert_timed(s, time, v):
    raise AssertionError("bound to fiba's")


def run_timed(state, times, values, window, out):
    """Values in any order; the oldest leaves when there are more than `window`."""
    s = open_state(state)
    results = zip_columns(out)
    for i in range(len(times)):
        insert_timed(s, times[i], lift(values[i]))
        if i >= window:
            evict(s)
        results[i] = lower(query(s))
    return close_state(s)


def lift(x):
    raise AssertionError("bound to the aggregation's")


def lower(partial):
    raise AssertionError("bound to the aggregation's")


def rolled(op, x, start, end, capacity):
    partial = partial_dtype(op, (x,))
    out = np.empty(len(start), result_dtype(op, (x,), partial))
    valid = np.zeros(len(start), bool)
    args = (compiling.new_state(fiba, op, partial, capacity), (x,), 0, 0, start, end, out, valid)
    state = compiling.kernel(fifo.run, fiba, op, partial, args)(*args)
    return out, valid, state


def expected(op, values):
    total = op.lift(values[0].item())
    for v in values[1:]:
        total = op.combine(total, op.lift(v.item()))
    return op.lower(total)


@pytest.mark.full
@pytest.mark.parametrize("op", [pytest.param(Total(), marks=pytest.mark.soak), Ends()], ids=lambda op: op.name)
@pytest.mark.parametrize("window", [1, 2, 15, 16, 40, 300])
def test_a_sliding_window(op, window):
    x = np.random.default_rng(window).integers(0, 9, 900).astype(float)
    rows = np.arange(len(x))
    start = np.maximum(rows - window + 1, 0)
    out, valid, state = rolled(op, x, start, rows + 1, window)
    assert valid.all()
    for i in range(len(x)):
        assert out[i] == expected(op, x[start[i] : i + 1])
    assert state.held == window


@pytest.mark.full
@pytest.mark.parametrize("op", [pytest.param(Total(), marks=pytest.mark.soak), Ends()], ids=lambda op: op.name)
def test_irregular_frames(op):
    r = np.random.default_rng(3)
    x = r.integers(0, 9, 500).astype(float)
    start = np.sort(r.integers(0, 500, 400))
    end = np.maximum.accumulate(np.minimum(start + r.integers(0, 90, 400), 500))
    out, valid, _ = rolled(op, x, start, end, 500)
    for i in range(len(start)):
        assert valid[i] == (start[i] < end[i])
        if valid[i]:
            assert out[i] == expected(op, x[start[i] : end[i]])


@pytest.mark.full
@pytest.mark.parametrize("op", [pytest.param(Total(), marks=pytest.mark.soak), Ends()], ids=lambda op: op.name)
@pytest.mark.parametrize("delay", [3, 50, 100_000])
def test_values_in_any_order(op, delay):
    r = np.random.default_rng(delay)
    n, window = 700, 200
    times = 10 * np.arange(n) - r.integers(0, 10 * min(delay, n), n)
    x = r.integers(0, 9, n).astype(float)
    partial = partial_dtype(op, (x,))
    out = np.empty(n)
    args = (compiling.new_state(fiba, op, partial, window + 1), times, x, window, out)
    compiling.kernel(run_timed, fiba, op, partial, args)(*args)
    rows: list[tuple[int, int]] = []
    for i in range(n):
        rows = sorted([*rows, (int(times[i]), i)])[-window:] if i >= window else sorted([*rows, (int(times[i]), i)])
        assert out[i] == expected(op, x[[k for _, k in rows]])


@pytest.mark.full
def test_a_state_carries_on():
    op, x = Total(), np.arange(400.0)
    rows = np.arange(400)
    start = np.maximum(rows - 59, 0)
    whole, _, _ = rolled(op, x, start, rows + 1, 60)
    first, _, state = rolled(op, x[:250], start[:250], rows[:250] + 1, 60)
    out, valid = np.empty(150), np.zeros(150, bool)
    args = (state, (x[250:],), 250, int(start[249]), start[250:], rows[250:] + 1, out, valid)
    compiling.kernel(fifo.run, fiba, op, np.dtype(float), args)(*args)
    assert np.array_equal(np.concatenate([first, out]), whole)


@pytest.mark.full
def test_values_that_have_left_leave_no_trace():
    x = np.ones(600)
    x[100], x[200] = math.nan, math.inf
    rows = np.arange(600)
    start = np.maximum(rows - 49, 0)
    out, _, _ = rolled(Total(), x, start, rows + 1, 50)
    assert math.isnan(out[120]) and out[220] == math.inf
    assert np.all(out[260:] == 50)


def test_a_kernel_can_be_kept_on_disk():
    digest(*functions_of(fiba))  # raises for what has no digest, check() included


@pytest.mark.full
@pytest.mark.parametrize("arity", [2, 4])
def test_another_arity(arity):
    x = np.random.default_rng(arity).integers(0, 9, 3000).astype(float)
    for window in (sw.rows(1), sw.rows(100), sw.rows(3000)):
        by_arity = sw.rolling(x, sw.max(), window, algorithm=f"fiba(arity={arity})")
        assert np.array_equal(by_arity, sw.rolling(x, sw.max(), window, algorithm="two_stacks_lite"))
    text = sw.rolling(
        np.array(list("abcdef") * 9, object), sw.string_agg(), sw.rows(20), algorithm=f"fiba(arity={arity})"
    )
    assert text[-1] == "".join((list("abcdef") * 9)[-20:])


def test_kernels_of_another_arity_are_others():
    wide, narrow = (algorithm(name).module for name in ("fiba", "fiba(arity=4)"))
    assert narrow is algorithm("fiba(arity=4)").module
    assert (wide.WIDTH, narrow.WIDTH, wide.sizes(1000)["times"], narrow.sizes(1000)["times"]) == (24, 8, 2208, 2680)
    assert digest(*functions_of(wide)) != digest(*functions_of(narrow))
