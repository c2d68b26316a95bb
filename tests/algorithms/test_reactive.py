"""The Reactive Aggregator: lazy updates, capacity, the inverted buffer, holes, times and ranges."""

import math
import random

import numpy as np
import pytest
from support.aggregations import Concat, Deviation
from support.tiers import quick
from trees import CASES, IDS, Counted, CountedSum, agree, counted, fifo_steps, recalculate

import slidewise as sw

COMMUTATIVE = [case for case in CASES if case[0].commutative]


def window_of(text, **options):
    s = sw.swag("reactive", Concat(), **options)
    for time, value in enumerate(text):
        s.insert(value, time=time)
    return s


@pytest.mark.parametrize(("aggregation", "draw"), CASES, ids=IDS)
@pytest.mark.parametrize("seed", quick(range(3), 0))
def test_a_window_in_order_agrees_with_recalculation(aggregation, draw, seed):
    fifo_steps(sw.swag("reactive", aggregation), aggregation, draw, seed, 1200, 150)


def test_the_papers_figure_5():
    s = sw.swag("reactive", Concat())
    slots = []
    for event in "473 2-9":
        if event == "-":
            s.evict()
        elif event != " ":
            s.insert(event)
        slots.append("".join(v or "." for v in s.tree[4:8]))
        s.check()
    assert slots[0] == "4..."
    assert slots[4:] == ["4732", ".732", "9732"]
    assert s.query() == "7329"
    assert s.capacity == 4


# ---- costs
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 63, 64, 65, 1000])
@pytest.mark.parametrize("aggregation", [Counted(), CountedSum()], ids=["concat", "sum"])
def test_a_steady_slide_within_the_bounds(n, aggregation):
    s = sw.swag("reactive", aggregation)
    value = "x" if isinstance(aggregation, Counted) else 1
    for _ in range(n):
        s.insert(value)
    s.query()
    log = math.log2(s.capacity)
    for _ in range(2 * s.capacity):
        assert counted(s.evict) == 0
        assert counted(s.insert, value) == 0
        assert counted(s.query) <= 2 * (1 + math.ceil(log - 1)) + max(0, 2 * log - 1)
        inverted = (s.end - 1) % s.capacity < s.front % s.capacity
        again = counted(s.query)
        assert again <= (2 * log - 1 if inverted and not aggregation.commutative else 0)
    assert s.partials() < 8 * n


@pytest.mark.parametrize("aggregation", [Counted(), CountedSum()], ids=["concat", "sum"])
def test_m_changes_are_one_update(aggregation):
    """Any mix of evictions and inserts between two queries costs one update of m leaves, and the query."""
    rng = random.Random(0)
    value = "x" if isinstance(aggregation, Counted) else 1
    s = sw.swag("reactive", aggregation)
    for _ in range(700):
        s.insert(value)
    s.query()
    capacity = s.capacity
    for _ in range(300):
        m = rng.choice([1, 2, 3, 10, 50, 400, 1500])
        for _ in range(m):
            if rng.random() < (len(s) - 300) / 700:
                s.evict()
            else:
                s.insert(value)
        assert s.capacity == capacity
        leaves = min(m, capacity)
        update = leaves * (1 + math.ceil(math.log2(capacity / leaves)))
        assert counted(s.query) <= update + 2 * math.log2(capacity) - 1
        s.check([value] * len(s))


def test_inner_nodes_above_changes_are_combined_once():
    """Eight neighbouring leaves share their ancestors, also where the ring ends."""
    for first in range(64):
        s = sw.swag("reactive", CountedSum())
        for _ in range(64):
            s.insert(1)
        for _ in range(first):
            s.evict()
            s.insert(1)
        s.query()
        for _ in range(8):
            s.evict()
            s.insert(1)
        inner = {(64 + p % 64) >> k for p in range(first, first + 8) for k in range(1, 7)}
        assert counted(s.query) == len(inner)


def test_growth_and_decline_are_amortised_and_space_is_below_8n():
    s = sw.swag("reactive", CountedSum())
    calls = 0
    for n in range(1, 3000):
        calls += counted(s.insert, 1)
        assert s.partials() <= 2 * s.capacity - 1 < 8 * n
    calls += counted(s.query)
    assert calls <= s.capacity - 1 + 2 * math.log2(s.capacity), "without queries, one build at the end"
    for n in range(2998, 0, -1):
        s.evict()
        calls += counted(s.query)
        assert s.partials() <= 2 * s.capacity - 1 < 8 * n
    assert calls <= 3000 * (math.log2(4096) + 6)


# ---- capacity
def test_grow_when_full_and_halve_below_a_quarter():
    s = sw.swag("reactive", Concat())
    for n in range(1, 65):
        s.insert("x")
        assert s.capacity == max(4, 1 << (n - 1).bit_length())
    assert s.capacity == 64
    for n in range(63, 0, -1):
        s.evict()
        s.check(["x"] * n)
        expected = 64 if n >= 16 else 32 if n >= 8 else 16 if n >= 4 else 8 if n >= 2 else 4
        assert s.capacity == expected, n


@pytest.mark.parametrize(("removed", "capacity"), [(3, 32), (4, 16), (5, 16)])
def test_a_full_buffer_with_holes_is_compacted_at_three_quarters(removed, capacity):
    """16 slots are taken: with 13 values it doubles, with 12 it closes the holes."""
    text = "abcdefghijklmnop"
    s = window_of(text)
    for time in range(1, 1 + 2 * removed, 2):
        s.remove(time=time)
    assert (s.capacity, s.holes) == (16, removed)
    s.insert("Z", time=99)
    assert (s.capacity, s.holes) == (capacity, 0)
    expected = [v for t, v in enumerate(text) if t not in range(1, 1 + 2 * removed, 2)] + ["Z"]
    s.check(expected)
    assert s.query() == "".join(expected)


def test_compaction_of_an_inverted_buffer():
    s = window_of("abcdefgh")
    for time, value in ((8, "i"), (9, "j"), (10, "k")):
        s.evict()
        s.insert(value, time=time)
    for time in (4, 6, 8):
        s.remove(time=time)
    s.insert("l", time=11)
    assert s.capacity == 8 and s.holes == 0 and s.front > 0
    s.check(list("dfhjkl"))
    assert s.query() == "dfhjkl"
    assert s.query(5, 10) == "fhjk"


# ---- times
@pytest.mark.parametrize(("aggregation", "draw"), COMMUTATIVE, ids=["sum", "max", "spread"])
@pytest.mark.parametrize("seed", range(4))
def test_values_in_any_order_leaving_from_anywhere(aggregation, draw, seed):
    timed_steps(aggregation, draw, seed, late=0.4)


@pytest.mark.parametrize("seed", range(4))
def test_values_in_order_leaving_from_anywhere(seed):
    aggregation, draw = CASES[2]
    assert not aggregation.commutative
    timed_steps(aggregation, draw, seed, late=0.0)


def timed_steps(aggregation, draw, seed, late):
    rng = random.Random(seed)
    s = sw.swag("reactive", aggregation)
    window = []  # (time, value) in the order of time, equal times in the order of arrival
    now = 0
    for step in range(1500):
        growing = step // 250 % 2 == 0
        dice = rng.random()
        if dice < (0.55 if growing else 0.2):
            now += rng.randrange(3)
            time = now - rng.randrange(60) if rng.random() < late else now
            value = None if rng.random() < 0.1 else draw(rng)
            s.insert(value, time=time)
            window.append((time, value))
            window.sort(key=lambda row: row[0])
        elif dice < 0.7 and window:
            s.evict()
            window.pop(0)
        elif dice < 0.76:
            time = window[0][0] + rng.randrange(8) if window else now
            s.evict(time=time)
            window = [row for row in window if row[0] > time]
        elif dice < 0.85 and window:
            time = rng.choice(window)[0]
            s.remove(time=time)
            window = [row for row in window if row[0] != time]
        elif dice < 0.93:
            assert agree(s.query(), recalculate(aggregation, [v for _, v in window]))
        else:
            start = now - rng.randrange(100)
            end = start + rng.randrange(100)
            inside = [v for t, v in window if start <= t <= end]
            assert agree(s.query(start, end), recalculate(aggregation, inside)), (start, end)
            assert agree(s.query(start=start), recalculate(aggregation, [v for t, v in window if t >= start]))
        s.check([v for _, v in window])
        assert (s.oldest, s.youngest) == ((window[0][0], window[-1][0]) if window else (None, None))
        if step % 300 == 299:
            s = s.from_bytes(s.to_bytes())


def test_a_late_value_is_one_leaf_and_a_range_puts_it_in_its_place():
    s = sw.swag("reactive", CountedSum())
    for time in range(1000):
        s.insert(1, time=2 * time)
    s.query()
    s.insert(1, time=1901)  # 49 values are younger
    assert counted(s.query) <= math.log2(s.capacity)
    assert counted(s.query, 0, 1901) <= 50 * (1 + math.ceil(math.log2(s.capacity / 50))) + 2 * 10
    assert s.query(1900, 1902) == 3
    assert counted(s.query, 0, 1901) <= 2 * math.log2(s.capacity)


def test_removals_are_one_update_too():
    s = sw.swag("reactive", CountedSum())
    for time in range(1024):
        s.insert(1, time=time)
    s.query()
    for time in range(100, 200):
        assert counted(s.remove, time) == 0
    assert counted(s.query) <= 100 * (1 + math.ceil(math.log2(1024 / 100)))
    assert s.query() == 924


def test_out_of_order_needs_a_commutative_aggregation():
    s = window_of("ab")
    with pytest.raises(sw.IllegalPair, match=r"commutative, and Concat is not: got the time 0 after 1. Use fiba"):
        s.insert("c", time=0)
    s.insert("c", time=1)
    assert s.query() == "abc"
    s.check(list("abc"))


def test_ranges_include_both_ends_and_take_an_argument():
    s = window_of("abcde")
    assert s.query(1, 3) == s.query(start=1, end=3) == "bcd"
    assert s.query(3, None) == "de"
    assert s.query(None, 1) == "ab"
    assert s.query(0.5, 0.7) is None
    assert s.query(None, None) == s.query() == "abcde"

    class Nth(Concat):
        unary_lower = False

        @staticmethod
        def lower(text, n=0):
            return text[n]

    nth = sw.swag("reactive", Nth())
    for time, value in enumerate("abcde"):
        nth.insert(value, time=time)
    assert (nth.query(), nth.query(2), nth.query(1, 3, 2)) == ("a", "c", "d")


def test_what_cannot_be_meant_is_refused():
    s = sw.swag("reactive", sw.sum())
    with pytest.raises(sw.InvalidInput, match="empty"):
        s.evict()
    s.evict(time=5)
    assert s.query(1, 2) is None
    s.insert(1)
    for operation in (lambda: s.insert(2, time=1), lambda: s.query(1, 2), lambda: s.evict(time=1), lambda: s.remove(1)):
        with pytest.raises(sw.InvalidInput, match="have no times"):
            operation()
    assert (s.query(), len(s)) == (1, 1)
    timed = window_of("abc")
    with pytest.raises(sw.InvalidInput, match=r"no value with the time 1.5. Held are times from 0 to 2"):
        timed.remove(time=1.5)
    with pytest.raises(sw.InvalidInput, match="starts at 2, after its end 1"):
        timed.query(2, 1)
    for time in (None, math.nan):
        with pytest.raises(sw.InvalidInput, match="a time that can be ordered"):
            timed.insert("d", time=time)
    timed.check(list("abc"))


def test_evicted_values_are_let_go():
    class Box:
        alive = 0

        def __init__(self):
            Box.alive += 1

        def __del__(self):
            Box.alive -= 1

    class Youngest(sw.Aggregation):
        @staticmethod
        def combine(a, b):
            return b

    s = sw.swag("reactive", Youngest())
    for _ in range(100):
        s.insert(Box())
        s.query()
    for left in range(99, -1, -1):
        s.evict()
        s.query()
        assert Box.alive == left
    assert len(s.tree) == 8


def test_spread_is_null_of_one_value():
    s = sw.swag("reactive", Deviation())
    s.insert(1.0)
    assert s.query() is None


# ---- a capacity for good
@pytest.mark.parametrize(("aggregation", "draw"), CASES, ids=IDS)
@pytest.mark.parametrize("capacity", [1, 3, 4, 5, 64, 100])
def test_a_window_of_fixed_capacity_agrees_with_recalculation(aggregation, draw, capacity):
    s = sw.swag("reactive", aggregation, capacity=capacity)
    fifo_steps(s, aggregation, draw, capacity, 600, capacity)
    assert s.moves == 0


def test_a_fixed_capacity_never_resizes():
    s = sw.swag("reactive", sw.sum(), capacity=100)
    assert len(s.tree) == 256
    for _ in range(3):
        for i in range(100):
            s.insert(i)
        assert s.query() == 4950
        for _ in range(100):
            s.evict()
        assert s.query() is None
    assert (s.moves, len(s.tree)) == (0, 256)
    growing = sw.swag("reactive", sw.sum())
    for i in range(100):
        growing.insert(i)
    assert growing.moves > 0  # which the count can tell


@pytest.mark.parametrize("timed", [False, True])
def test_a_value_beyond_the_capacity_is_refused_and_changes_nothing(timed):
    s = sw.swag("reactive", Concat(), capacity=5)
    for time, letter in enumerate("abcde"):
        s.insert(letter, time=time if timed else None)
    with pytest.raises(sw.InvalidInput, match=r"reactive has a capacity of 5, and holds as many.* larger capacity"):
        s.insert("f", time=9 if timed else None)
    s.check(list("abcde"))
    s.evict()
    s.insert("g", time=9 if timed else None)
    s.check(list("bcdeg"))
    assert s.query() == "bcdeg"


def test_holes_in_a_window_of_fixed_capacity():
    s = sw.swag("reactive", Concat(), capacity=8)
    for time, letter in enumerate("abcdefgh"):
        s.insert(letter, time=time)
    for time, letter in zip((3, 4, 6), "xyz", strict=True):
        s.remove(time)
        s.insert(letter, time=10 + time)
        assert s.capacity == 8
    s.check(list("abcfhxyz"))
    assert s.query() == "abcfhxyz"


@pytest.mark.parametrize("capacity", [0, -1, 2.5, "9", [4]])
def test_a_capacity_that_cannot_be(capacity):
    with pytest.raises(sw.InvalidInput, match="reactive has a fixed capacity, an integer from 1 on, got"):
        sw.swag("reactive", sw.sum(), capacity=capacity)


def test_state_of_another_capacity_is_refused():
    s = sw.swag("reactive", sw.sum(), capacity=10)
    for i in range(10):
        s.insert(i)
    again = sw.swag("reactive(capacity=10)", sw.sum()).from_bytes(s.to_bytes())
    with pytest.raises(sw.InvalidInput, match="capacity of 10"):
        again.insert(1)
    for other in ({}, {"capacity": 11}):
        with pytest.raises(sw.StateError, match="capacity=10"):
            sw.swag("reactive", sw.sum(), **other).from_bytes(s.to_bytes())


def test_a_capacity_over_columns():
    text = np.array(list("abcdefg") * 5, object)
    got = sw.rolling(text, sw.string_agg(), sw.rows(9), algorithm="reactive(capacity=9)")
    assert list(got) == ["".join(text[max(0, i - 8) : i + 1]) for i in range(len(text))]
    with pytest.raises(sw.InvalidInput, match="a capacity of 8 is given, and a frame has 9 rows"):
        sw.rolling(text, sw.string_agg(), sw.rows(9), algorithm="reactive(capacity=8)")


@pytest.mark.full
def test_a_capacity_over_columns_compiled():
    x = np.random.default_rng(0).random(3000)
    for n in (1, 9, 500):
        for capacity in (n, 2 * n, 3000):
            got = sw.rolling(x, sw.max(), sw.rows(n), algorithm=f"reactive(capacity={capacity})")
            assert np.array_equal(got, sw.rolling(x, sw.max(), sw.rows(n), algorithm="recalculate"))
