"""B-Int: base intervals of one long window, from which many shorter ones are answered."""

import math
import random

import pytest
from support.aggregations import Concat
from trees import CASES, IDS, Counted, agree, counted, fifo_steps, recalculate

import slidewise as sw


@pytest.mark.parametrize(("aggregation", "draw"), CASES, ids=IDS)
@pytest.mark.parametrize("capacity", [1, 2, 5, 8, 37, 128])
def test_the_whole_window_agrees_with_recalculation(aggregation, draw, capacity):
    fifo_steps(sw.swag("b_int", aggregation, capacity=capacity), aggregation, draw, capacity, 600, capacity)


@pytest.mark.parametrize(("aggregation", "draw"), CASES, ids=IDS)
def test_ten_windows_from_one_structure(aggregation, draw):
    rng = random.Random(11)
    lengths = (1, 2, 3, 7, 10, 16, 31, 50, 64, 100)
    s = sw.swag("b_int", aggregation, capacity=100)
    values = []
    for row in range(400):
        if len(s) == 100:
            s.evict()
        values.append(None if rng.random() < 0.1 else draw(rng))
        s.insert(values[-1], time=10 * row)
        for n in lengths:
            assert agree(s.query_last(n), recalculate(aggregation, values[-n:])), (row, n)
            by_time = s.query(10 * (row - n) + 1, 10 * row)
            assert agree(by_time, recalculate(aggregation, values[-n:])), (row, n)
        s.check(values[-100:])


def test_any_range_of_time_in_a_window_that_comes_and_goes():
    rng = random.Random(2)
    s = sw.swag("b_int", Concat(), capacity=60)
    window = []
    now = 0
    for step in range(1500):
        dice = rng.random()
        if dice < 0.5 and len(window) < 60:
            now += rng.randrange(3)
            window.append((now, chr(97 + step % 26)))
            s.insert(window[-1][1], time=now)
        elif dice < 0.7 and window:
            s.evict()
            window.pop(0)
        elif dice < 0.75:
            time = window[0][0] + rng.randrange(9) if window else now
            s.evict(time=time)
            window = [row for row in window if row[0] > time]
        start = now - rng.randrange(80)
        end = start + rng.randrange(80)
        assert (s.query(start, end) or "") == "".join(v for t, v in window if start <= t <= end)
        assert (s.oldest, s.youngest) == ((window[0][0], window[-1][0]) if window else (None, None))
        s.check([v for _, v in window])
        if step % 300 == 299:
            s = s.from_bytes(s.to_bytes())


@pytest.mark.parametrize("n", [1, 2, 3, 10, 64, 1000, 4096])
def test_costs(n):
    s = sw.swag("b_int", Counted(), capacity=n)
    slides = 3 * n
    inserts = []
    for row in range(slides):
        if len(s) == n:
            assert counted(s.evict) == 0
        inserts.append(counted(s.insert, "x"))
        if row % 7 == 0:
            assert counted(s.query) <= 2 * math.log2(len(s)) + 1
    assert max(inserts) <= math.log2(n)
    assert sum(inserts) < slides
    assert s.partials() < 2 * n
    for k in range(1, n + 1, 1 + n // 50):
        assert counted(s.query_last, k) <= 2 * math.log2(k) + 1
        assert s.query_last(k) == "x" * k


def test_the_tutorials_figure_5():
    """Items 49 to 66 of the stream are made up of 49, 50-51, 52-55, 56-63, 64-65 and 66: five combines."""
    s = sw.swag("b_int", Counted(), capacity=64)
    for position in range(67):
        if len(s) == 64:
            s.evict()
        s.insert(chr(position + 40), time=position)
    assert s.query(49, 66) == "".join(chr(p + 40) for p in range(49, 67))
    assert counted(s.query, 49, 66) == 5


def test_what_cannot_be_meant_is_refused():
    s = sw.swag("b_int", sw.sum(), capacity=2)
    with pytest.raises(sw.InvalidInput, match="empty"):
        s.evict()
    s.insert(1)
    with pytest.raises(sw.InvalidInput, match="have no times"):
        s.query(1, 2)
    s.insert(2)
    with pytest.raises(
        sw.InvalidInput, match=r"at most 2 values, and it is full. Evict first, or make it with a capacity"
    ):
        s.insert(3)
    for k in (-1, 3, 1.5, None):
        with pytest.raises(sw.InvalidInput, match="from 0 to 2 values here, got"):
            s.query_last(k)
    assert (s.query(), s.query_last(1), s.query_last(0), len(s)) == (3, 2, None, 2)
    for capacity in (0, 1.0, None):
        with pytest.raises(sw.InvalidInput, match="b_int has a fixed capacity"):
            sw.swag("b_int", sw.sum(), capacity=capacity)


def test_times_go_forward():
    s = sw.swag("b_int", sw.sum(), capacity=8)
    s.insert(1, time=5)
    s.insert(2, time=5)
    with pytest.raises(sw.IllegalPair, match=r"got 4 after 5. Use fiba"):
        s.insert(3, time=4)
    s.check([1, 2])
    assert s.query(5, 5) == 3


def test_evicted_values_are_let_go():
    s = sw.swag("b_int", Concat(), capacity=16)
    for _ in range(16):
        s.insert("x")
    for _ in range(16):
        s.evict()
    assert s.partials() == 0
