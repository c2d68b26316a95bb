"""Rows ahead of the clock are left out and counted, and change nothing else."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import InvalidInput

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)


def second(n):
    return NOON + dt.timedelta(seconds=n)


def test_one_row_of_a_wrong_year_does_not_make_all_others_late():
    for guard, taken in (({}, 0), ({"max_ahead": "1h", "clock": lambda: NOON}, 5)):
        window = sw.Window(sw.count(), sw.rows(9), late="drop", max_delay="1m", **guard)
        window.push("x", time=NOON.replace(year=2999))
        for n in range(5):
            window.push("x", time=second(n))
        assert (window.dropped, window.ahead) == (5 - taken, 1 if guard else 0)
        assert len(window.flush()) == (taken or 1)


def test_the_limit_itself_is_not_ahead():
    window = sw.Window(sw.count(), sw.rows(9), max_ahead="10s", clock=lambda: NOON)
    assert window.push("x", time=second(10))
    assert not window.push("x", time=second(10) + dt.timedelta(microseconds=1))
    assert window.ahead == 1


def test_a_quiet_night_does_not_shut_the_stream():
    now = NOON
    window = sw.Window(sw.count(), sw.rows(9), max_ahead="1s", clock=lambda: now)
    window.push("x", time=now)
    now += dt.timedelta(days=1)
    assert window.push("x", time=now)[0].value == 2


def test_the_clock_is_by_default_that_of_the_system():
    window = sw.Window(sw.count(), sw.rows(9), max_ahead="1h")
    now = dt.datetime.now(dt.timezone(dt.timedelta(hours=9)))
    assert window.push("x", time=now)
    assert not window.push("x", time=now + dt.timedelta(hours=2))
    days = sw.Window(sw.count(), sw.rows(9), max_ahead="2d")
    assert days.push("x", time=dt.datetime.now(dt.UTC).date())
    assert not days.push("x", time=dt.datetime.now(dt.UTC).date() + dt.timedelta(days=4))


LATE = st.sampled_from([{"late": "drop"}, {"late": "revise"}, {"late": "drop", "max_delay": "5s"}])
WINDOWS = st.sampled_from([sw.rows(3), sw.time("10s"), sw.time("10s", every="5s"), sw.rows_between(-1, 1)])


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(-30, 60)), max_size=40), LATE, WINDOWS, st.integers(0, 40))
def test_results_are_those_of_the_rows_that_are_not_ahead(steps, late, window, cut):
    """The clock goes on by some seconds, and then a row comes of some seconds before or after it."""
    now = 0
    guarded = sw.Window(sw.collect_list(), window, **late, max_ahead="20s", clock=lambda: second(now))
    plain = sw.Window(sw.collect_list(), window, **late)
    ahead = 0
    for n, (pause, distance) in enumerate(steps):
        now += pause
        got = guarded.push(n, time=second(now + distance))
        if distance > 20:
            ahead += 1
            assert got == []
        else:
            assert got == plain.push(n, time=second(now + distance))
        if n == cut:  # state has the count, and goes on with the same clock
            guarded = guarded.from_bytes(guarded.to_bytes())
    assert guarded.flush() == plain.flush()
    assert (guarded.ahead, guarded.dropped) == (ahead, plain.dropped)


def test_a_guard_comes_and_goes_with_the_same_state():
    plain = sw.Window(sw.sum(), sw.rows(3))
    plain.push(1, time=NOON)
    guarded = sw.Window(sw.sum(), sw.rows(3), max_ahead="1h", clock=lambda: NOON).from_bytes(plain.to_bytes())
    assert not guarded.push(7, time=NOON.replace(year=2999))
    assert guarded.push(2, time=NOON)[0].value == 3
    again = plain.from_bytes(guarded.to_bytes())
    assert again.push(3, time=NOON)[0].value == 6
    assert again.ahead == 1


NAIVE = NOON.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("clock", "time", "why"),
    [
        (None, 5, "5 is a plain number, of which no clock"),
        (None, NAIVE, "has no time zone.*clock=datetime.now for local times"),
        (None, np.datetime64("2024-01-01"), "has no time zone"),
        (lambda: NOON, NAIVE, "has none, and what clock= gives.*has a time zone"),
        (lambda: NAIVE, NOON, "has a time zone, and what clock= gives.*has none"),
        (lambda: 5, NOON, "as a datetime, and it gave 5"),
        (lambda: NOON, None, "needs the time of every row"),
    ],
)
def test_what_cannot_be_compared_is_refused(clock, time, why):
    window = sw.Window(sw.count(), sw.rows(3), max_ahead="1h", clock=clock)
    with pytest.raises(InvalidInput, match=why):
        window.push("x", time=time)
    assert window.ahead == 0


def test_times_without_a_zone_take_a_clock_without_one():
    for time in (NAIVE, np.datetime64(NAIVE)):
        window = sw.Window(sw.count(), sw.rows(3), max_ahead="1h", clock=lambda: NAIVE)
        assert window.push("x", time=time)
        assert not window.push("x", time=time + np.timedelta64(61, "m"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_ahead": 60}, 'a length of time such as "1h", got 60'),
        ({"max_ahead": "1mo"}, "months differ"),
        ({"max_ahead": "-1s"}, "must not be negative"),
        ({"clock": lambda: NOON}, "clock= is what max_ahead= is measured by"),
        ({"max_ahead": "1h", "clock": NOON}, "clock= is a function"),
    ],
)
def test_guards_that_cannot_be_meant_are_refused(options, why):
    with pytest.raises(InvalidInput, match=why):
        sw.Window(sw.count(), sw.rows(3), **options)


def test_a_day_is_the_finest_length_for_dates():
    window = sw.Window(sw.count(), sw.rows(3), max_ahead="1h")
    with pytest.raises(InvalidInput, match="1d as finest unit"):
        window.push("x", time=dt.date(2024, 1, 1))
