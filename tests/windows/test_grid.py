"""The grid of slides: its numbers one by one, as arrays, and compiled are the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slidewise.columns.frames import slide_kernels
from slidewise.windows.grid import Grid

whole = st.integers(-(10**12), 10**12)
lengths = st.integers(1, 10**6)


@given(whole, lengths, whole)
def test_a_step_is_the_last_boundary_at_or_before(x, every, offset):
    grid = Grid(every, offset)
    step = grid.step(x)
    assert grid.at(step) <= x < grid.at(step + 1)
    assert slide_kernels.boundary(x, every, offset) == step
    assert grid.at_or_after(np.array([x]))[0] == (x if grid.at(step) == x else grid.at(step + 1))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(-10, 10))
def test_rounded_quotients_are_put_right(x, every, offset):
    grid = Grid(every, offset)
    step = grid.step(x)
    assert grid.at(step) <= x < grid.at(step + 1)
    assert slide_kernels.boundary(x, every, offset) == step


@given(whole, lengths, lengths, whole)
def test_the_first_window_of_a_time_is_the_first_that_ends_after_it(x, size, every, offset):
    grid = Grid(every, offset, size)
    first = grid.first_window(x)
    assert grid.end_of(first - 1) <= x < grid.end_of(first)
    assert slide_kernels.first_window(x, size, every, offset) == first


@given(st.lists(whole, min_size=1, max_size=20), lengths, st.integers(1, 30), st.integers(0, 10**6), whole)
def test_a_slice_lies_within_every_window_that_it_touches(times, every, slides, rest, offset):
    grid = Grid(every, offset, every * slides + rest % every)
    times = np.array(times)
    for x, begin in zip(times.tolist(), grid.slice_of(times).tolist(), strict=True):
        assert begin <= x
        for k in range(grid.first_window(x), grid.step(x) + 1):
            assert grid.at(k) <= begin
        assert grid.end_of(grid.first_window(x) - 1) <= begin
