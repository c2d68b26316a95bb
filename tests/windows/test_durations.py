"""Lengths of time: what a text means, what is refused as it means two things, and that a text comes back as it was."""

from datetime import datetime, timedelta

import numpy as np
import pytest

import slidewise as sw
from slidewise.windows.durations import UNITS, Duration, duration, length


@pytest.mark.parametrize(
    ("text", "same"),
    [
        *[("1H", "1h"), ("1D", "1d"), ("2W", "2w"), ("3S", "3s"), ("1Y", "1y"), ("5 MINUTES", "5m"), ("1MIN", "1m")],
        *[("1 Month", "1mo"), ("2MO", "2mo"), ("7US", "7us"), ("7NS", "7ns"), ("1 DAY 2 HOURS", "1d2h")],
    ],
)
def test_capitals_that_mean_one_thing_are_taken(text, same):
    assert duration(text) == duration(same)


@pytest.mark.parametrize(
    ("text", "small"),
    [("1M", "1m"), ("30M", "30m"), ("1h30M", "30m"), ("1MS", "1ms"), ("1.5Ms", "1.5ms"), ("-2 M", "2m")],
)
def test_capitals_that_may_be_months_are_refused_with_both_spellings(text, small):
    number = small.rstrip("ms")
    with pytest.raises(sw.InvalidInput, match=rf'"{small}" for (minutes|milliseconds), "{number}mo" for months'):
        duration(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda text: sw.time(text),
        lambda text: sw.time("1d", every=text),
        lambda text: sw.time("1d", every="1h", offset=text),
        lambda text: sw.rows(5, every=text),
        lambda text: sw.delta("at", text),
        lambda text: sw.delta("at", "1d", every=text),
        lambda text: sw.range_between(f"-{text}", 0),
        lambda text: sw.range_between(0, text),
        lambda text: sw.Window(sw.max(), sw.rows(2), max_delay=text),
        lambda text: sw.Window(sw.max(), sw.rows(2), late="revise", keep=text),
    ],
)
def test_every_place_that_takes_a_duration_refuses_a_capital_m(make):
    make("1m")
    with pytest.raises(sw.InvalidInput, match='"1m" for minutes, "1mo" for months'):
        make("1M")


@pytest.mark.parametrize("text", ["1T", "1L", "1U", "1N", "1QS", "1ME", "1B"])
def test_short_names_of_pandas_that_are_no_units_are_refused(text):
    with pytest.raises(sw.InvalidInput, match="not a duration"):
        duration(text)


TEXTS = ["7d", "1w", "60s", "1m", "90m", "1h30m", "24h", "1000ms", "1.5h", "-7d", "12 months", "1y", "2 days 3 hours"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_as_it_was_written(text):
    assert repr(duration(text)) == f'"{text}"'
    back = -duration(text)
    assert duration(str(back)) == back
    assert -back == duration(text)
    assert repr(-back) == repr(duration(text))


def test_windows_show_their_lengths_as_they_were_written():
    shown = [
        'time("7d")', 'time("7d", every="60s", offset="90s")', 'rows(5, every="24h")', 'range_between("-7d", "1000ms")',
        'delta("at", "7d")', 'time("1w", closed="left")',
    ]  # fmt: skip
    for text in shown:
        assert repr(eval(f"sw.{text}")) == text
    assert 'time("7d")' in str(sw.explain(sw.max(), sw.time("7d")))


def test_lengths_of_other_libraries_are_shown_in_days_and_less():
    pd = pytest.importorskip("pandas")
    for week in (timedelta(days=7), np.timedelta64(1, "W"), np.timedelta64(7, "D"), pd.Timedelta(days=7)):
        assert repr(sw.time(week)) == 'time("7d")'


def test_equal_lengths_are_equal_however_they_are_written():
    assert sw.time("7d") == sw.time("1w") == sw.time(timedelta(days=7))
    assert hash(sw.time("7d")) == hash(sw.time("1w"))
    saved = sw.Window(sw.max(), sw.time("7d", every="24h"), max_delay="60s", late="revise", keep="7d")
    saved.push(1, time=datetime(2024, 1, 1))
    again = sw.Window(sw.max(), sw.time("1w", every="1d"), max_delay="1m", late="revise", keep="168h")
    assert again.from_bytes(saved.to_bytes()).flush() == saved.flush() != []


def test_months_of_numpy_are_months():
    assert length(np.timedelta64(1, "M"), "size") == duration("1mo")
    assert length(np.timedelta64(2, "Y"), "size") == duration("2y")


@pytest.mark.parametrize("unit", ["W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_lengths_of_numpy_do_not_wrap_around(unit):
    most = 2**63 - 1
    for sign in (1, -1):
        found = length(np.timedelta64(sign * most, unit), "size")
        assert isinstance(found, Duration)
        assert found.nanoseconds == sign * most * UNITS[unit.lower()]


def test_lengths_of_numpy_without_a_length_are_refused():
    for bad in (np.timedelta64("NaT"), np.timedelta64(5), np.timedelta64(5, "ps")):
        with pytest.raises(sw.InvalidInput, match="size"):
            length(bad, "size")
