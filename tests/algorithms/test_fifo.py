"""What is particular to single FIFO algorithms; what they share is in test_conformance and test_costs."""

import math
from collections import deque

import pytest

import slidewise as sw
from slidewise.errors import InvalidInput

FIFO = [
    "recalculate",
    "subtract_on_evict",
    "two_stacks",
    "two_stacks_lite",
    "daba",
    "daba_lite",
    "flat_fit",
    "slick_deque",
]


@pytest.mark.parametrize("name", FIFO)
def test_windows_larger_than_a_page_of_the_queue(name):
    s, window = sw.swag(name, sw.sum()), deque()
    for k in range(6000):
        s.insert(k)
        window.append(k)
        if len(window) > 2500:
            s.evict()
            window.popleft()
        if k % 500 == 0:
            assert s.query() == sum(window)
    while window:
        if len(window) % 500 == 0:
            assert s.query() == sum(window)
        s.evict()
        window.popleft()
    assert s.query() is None and len(s) == 0


@pytest.mark.parametrize("name", FIFO)
def test_an_empty_window_cannot_evict(name):
    s = sw.swag(name, sw.sum())
    with pytest.raises(InvalidInput, match="empty"):
        s.evict()
    s.insert(1)
    s.evict()
    with pytest.raises(InvalidInput, match="empty"):
        s.evict()


@pytest.mark.parametrize("name", FIFO)
def test_a_window_of_nulls_has_no_sum_and_one_of_zeros_has(name):
    s = sw.swag(name, sw.sum())
    for value in (5, None, None):
        s.insert(value)
    assert s.query() == 5
    s.evict()
    assert s.query() is None and len(s) == 2
    s.insert(0)
    assert s.query() == 0


def test_slick_deque_keeps_only_what_can_still_win():
    s = sw.swag("slick_deque", sw.max())
    for value in (5.0, 1.0, 4.0, 2.0, 3.0):
        s.insert(value)
    assert (s.query(), len(s), s.partials()) == (5.0, 5, 3)
    s.insert(math.nan)  # above every number
    assert (len(s), s.partials()) == (6, 1)
    s.evict()
    assert math.isnan(s.query()) and len(s) == 5


def test_subtracting_forgets_an_infinity_only_when_the_window_is_empty():
    """What the docstring warns of, and why the planner never chooses it for floats."""
    s = sw.swag("subtract_on_evict", sw.sum())
    for value in (math.inf, 1.0):
        s.insert(value)
    s.evict()
    assert math.isnan(s.query())
    s.evict()
    s.insert(2.0)
    assert s.query() == 2.0
