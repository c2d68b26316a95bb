"""What is particular to single FIFO algorithms; what they share is in test_conformance and test_costs."""

import itertools
import math
import random
from collections import deque

import numpy as np
import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.planner.choose import LADDER
from slidewise.testing.conformance import Concatenation

FIFO = [
    "recalculate",
    "subtract_on_evict",
    "two_stacks",
    "two_stacks_lite",
    "daba",
    "daba_lite",
    "monoid_fifo",
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


@pytest.mark.parametrize("length", [9, *in_full(13)])
@pytest.mark.parametrize("name", ["daba", "daba_lite", "monoid_fifo"])
def test_every_short_sequence(name, length):
    """What is spread over operations must hold between any two of them."""
    for steps in itertools.product((True, False), repeat=length):
        s, first, end = sw.swag(name, Concatenation()), 0, 0
        for inserts in steps:
            if inserts:
                s.insert(LETTERS[end])
                end += 1
            elif first < end:
                s.evict()
                first += 1
            s.check(list(LETTERS[first:end]))
            assert s.query() == (LETTERS[first:end] or None)


LETTERS = "abcdefghijklmnopqrstuvwxyz"


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


# ---- SlickDeque by parts
def test_a_moment_sketch_by_parts():
    """Integers, whose powers are exact in floats: the same means as recalculated, to the last digit."""
    rng = random.Random(3)
    op = sw.moment_sketch(order=3)
    s, window = sw.swag("slick_deque_parts", op), deque()
    for _ in range(600):
        value = rng.choice([None, *range(1, 40)])
        s.insert(value)
        window.append(value)
        if len(window) > 30:
            s.evict()
            window.popleft()
        held = [v for v in window if v is not None]
        assert s.query() == (tuple(sum(v**k for v in held) / len(held) for k in (1, 2, 3)) if held else None)
        assert (s.query(0.0), s.query(1.0)) == ((min(held), max(held)) if held else (None, None))
        s.check(list(window))


def test_parts_keep_only_positions_that_can_still_be_extremes():
    s = sw.swag("slick_deque_parts", sw.moment_sketch(order=2))
    for value in (5, 1, 4, 2, 3):
        s.insert(value)
    assert (s.low_end - s.low, s.high_end - s.high) == (3, 3)  # 1, 2, 3 and 5, 4, 3
    assert s.partials() == len(s) + 1


def test_parts_forget_an_infinity_only_when_the_window_is_empty():
    s = sw.swag("slick_deque_parts", sw.moment_sketch(order=2))
    for value in (math.inf, 1.0):
        s.insert(value)
    s.evict()
    assert math.isnan(s.query()[0]) and s.query(1.0) is not None
    s.evict()
    s.insert(2.0)
    assert s.query() == (2.0, 4.0)


def test_parts_are_for_partials_in_parts():
    with pytest.raises(IllegalPair, match="slick_deque_parts needs an aggregation that is in_parts, and max is not"):
        sw.swag("slick_deque_parts", sw.max())

    class Twice(sw.Aggregation):
        partial_parts = ("min", "min")

        @staticmethod
        def combine(a, b):
            return (min(a[0], b[0]), min(a[1], b[1]))

    with pytest.raises(InvalidInput, match=r"at most one minimum and one maximum, got \('min', 'min'\)"):
        sw.swag("slick_deque_parts", Twice())


def test_the_planner_never_subtracts_parts():
    assert all("slick_deque_parts" not in (rule.algorithm, rule.runner_up) for rule in LADDER)


@pytest.mark.compiled
@pytest.mark.parametrize("window", [sw.rows(100), *in_full(sw.rows(1), sw.rows_between(-20, 5))], ids=str)
def test_parts_compiled(window):
    x = np.random.default_rng(1).integers(1, 50, 3000).astype(float)
    got = sw.rolling(x, sw.moment_sketch(order=2), window, algorithm="slick_deque_parts")
    assert np.array_equal(got, sw.rolling(x, sw.moment_sketch(order=2), window, algorithm="two_stacks_lite"))
