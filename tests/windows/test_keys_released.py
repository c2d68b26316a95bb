"""Keys whose rows have left are released, and nobody can tell; and a key with one row takes few bytes."""

import gc
import tracemalloc
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, quick

import slidewise as sw
from slidewise.templates import background

RELEASED = {
    "time": lambda: sw.Window(sw.sum(), sw.time(10)),
    "two": lambda: sw.Window({"peak": sw.max(), "middle": sw.median(), "n": sw.count()}, sw.time(10)),
    "left": lambda: sw.Window(sw.sum(), sw.time(10, closed="left")),
    "around": lambda: sw.Window(sw.collect_list(), sw.range_between(-4, 6)),
    "before": lambda: sw.Window(sw.collect_list(), sw.range_between(-9, -5)),
    "every": lambda: sw.Window(sw.collect_list(), sw.time(10, every=sw.rows(3))),
    "changes": lambda: sw.Window(sw.max(), sw.time(10), emit="changes"),
    "delayed": lambda: sw.Window(sw.sum(), sw.time(10), max_delay=3, late="drop"),
    "several": lambda: sw.Window({"a": sw.sum().over(sw.time(10)), "b": sw.sum().over(sw.time(4))}),
}
HELD = {
    "rows": lambda: sw.Window(sw.sum(), sw.rows(3)),
    "running": lambda: sw.Window(sw.sum(), sw.range_between(-sw.UNBOUNDED, 0)),
    "delta": lambda: sw.Window(sw.sum(), sw.time(10, every=sw.delta(None, 2))),
    "groups": lambda: sw.Window(sw.sum(), sw.groups_between(-1, 0)),
    "mixed": lambda: sw.Window({"a": sw.sum().over(sw.time(10)), "b": sw.sum().over(sw.rows(3))}),
}


def keep_all(window):
    """The same window, which never lets go of a key."""
    window._releases = False
    return window


def push(window, rows):
    return [result for time, key, value in rows for result in window.push(value, time=time, key=key)]


@pytest.mark.parametrize("name", RELEASED)
@examples(150)
@given(
    steps=st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 7, 15, 40]), st.sampled_from("abc"), st.integers(0, 9))),
    saved=st.integers(0, 30),
)
def test_results_are_those_of_keys_that_stay(name, steps, saved):
    released, stays, rows, time = RELEASED[name](), keep_all(RELEASED[name]()), [], 0
    for step, key, value in steps:
        time += step
        rows.append((time, key, value))
    given_by_one, given_by_other = push(released, rows[:saved]), push(stays, rows[:saved])
    released = released.from_bytes(released.to_bytes())
    given_by_one += push(released, rows[saved:])
    given_by_other += push(stays, rows[saved:])
    for end in (released, stays):
        (given_by_one if end is released else given_by_other).extend(end.advance(time + 9) + end.flush())
    assert given_by_one == given_by_other


@pytest.mark.parametrize("name", RELEASED)
def test_nothing_is_held_for_a_key_whose_rows_have_left(name):
    w = RELEASED[name]()
    push(w, [(time, time % 50, 1) for time in range(200)])
    assert len(w._engines) <= 50
    push(w, [(time, "last", 1) for time in (240, 280)])
    w.advance(290)
    assert len(w._engines) <= 1
    assert w.partials() <= 4
    w.advance(400)
    assert not w._engines and not w.partials() and not w._agenda.deadlines


@pytest.mark.parametrize("name", HELD)
def test_windows_whose_rows_stay_keep_their_keys(name):
    w = HELD[name]()
    push(w, [(time, time % 5, 1) for time in range(50)])
    w.advance(1000)
    assert len(w._engines) == 5


def test_a_count_stays_only_where_results_tell_of_it():
    by_row, by_time = RELEASED["time"](), sw.Window(sw.sum(), sw.range_between(-10, 0, every=sw.time(5)))
    for w in (by_row, by_time):
        push(w, [(0, "a", 1), (1, "a", 1), (2, "b", 1)])
        w.advance(100)
        assert not w._engines
    assert by_row._counts == {"a": 2, "b": 1} and by_time._counts == {}
    assert [r.row for r in by_row.push(1, time=101, key="a") + by_row.flush()] == [3]


def test_a_key_is_looked_at_once_in_a_quarter_of_the_reach():
    """However many rows come: a deadline for each would be a step of a heap for each."""
    w, looked = sw.Window(sw.sum(), sw.time(100)), 0
    w.push(1, time=0, key="a")
    take = type(w._idle).take_due

    class Counted(type(w._idle)):
        __slots__ = ()

        def take_due(self, time):
            nonlocal looked
            found = take(self, time)
            looked += len(found)
            return found

    w._idle.__class__ = Counted
    push(w, [(time / 10, "a", 1) for time in range(1, 20_000)])  # for 20 times the reach
    assert 10 <= looked <= 80 and len(w._engines) == 1


def test_results_of_keys_are_in_order_when_one_of_them_is_released():
    w = sw.Window(sw.count(), sw.time(60, every=60), max_delay=100)
    push(w, [(0, "a", 1), (10, "b", 1), (70, "a", 1), (130, "a", 1)])
    ends = [r.end for r in w.advance(125)]  # "b" is released, and "a" is not
    assert ends == [60, 60, 120]


# ---- what a key takes
ONE_ROW = {
    "rows, max": (sw.max(), sw.rows(100)),
    "time, sum": (sw.sum(), sw.time("1h")),
    "two": ({"a": sw.max("x"), "b": sw.sum("x")}, sw.time("1h")),
    "four": ({f: getattr(sw, f)("x") for f in ("max", "min", "avg", "first")}, sw.rows(100)),
    "median": (sw.median(), sw.rows(100)),
    "median by time": (sw.median(), sw.time("1h")),
    "distinct": (sw.count_distinct(), sw.time("1h")),
    "hopping": (sw.sum(), sw.time("1h", every="1m")),
    "slices of rows": (sw.avg(), sw.rows(100, every=10)),
}


@pytest.mark.parametrize("name", quick(ONE_ROW, "distinct", "hopping"))
def test_a_key_with_one_row_takes_at_most_500_bytes(name):
    aggregation, window = ONE_ROW[name]
    w, start = sw.Window(aggregation, window), datetime(2026, 1, 1)
    row = {"x": 1.5} if isinstance(aggregation, dict) else 1.5
    w.push(row, time=start, key="warm")
    keys = [f"key {k}" for k in range(2000)]
    background.wait()  # what it compiles is not of a key
    gc.collect()
    tracemalloc.start()
    for k, key in enumerate(keys):
        w.push(row, time=start + timedelta(milliseconds=k), key=key)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / len(keys) <= 500


def test_what_a_key_takes_follows_its_rows():
    """A ring that doubles: 100 rows take a few thousand bytes, and not the 25 KB of a table of pages."""
    w, keys = sw.Window(sw.max(), sw.rows(100)), range(10_000, 10_050)
    for value in range(2 * background.AFTER):
        w.push(float(value), key="warm")
    background.wait()  # what it compiles is not of a key
    gc.collect()
    tracemalloc.start()
    for value in range(300):
        for key in keys:
            w.push(float(value), key=key)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken / len(keys) <= 6_000
