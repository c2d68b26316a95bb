"""Slides on days and months of the calendar: the answers of Python's own dates and clocks, everywhere."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from support.tiers import share

import slidewise as sw
from slidewise.errors import InvalidInput, StateError
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.durations import UNITS, duration

#: clocks change at 2 and 3, at midnight (Cairo, Havana twice), by half an hour, by a day that was left out; and never
ZONES = ["Europe/Berlin", "America/New_York", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia",
         "Asia/Kathmandu", "UTC"]  # fmt: skip
WINDOWS = [("1mo", "1mo"), ("3mo", "1mo"), ("1q", "1q"), ("1y", "1y"), ("1d", "1d"), ("7d", "1d"), ("2w", "1w"),
           ("1d", "1mo"), ("1mo", "1d"), ("40d", "1mo"), ("5d", "3d")]  # fmt: skip
OFFSETS = [None, "6h", "-90m", "3d"]
DAY = dt.timedelta(days=1)
EPOCH = dt.date(1970, 1, 1)


def months_later(day, months):
    """A day so many months later; a day that the month does not have is its last."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for number in (day.day, 30, 29, 28):
        try:
            return dt.date(year, month + 1, number)
        except ValueError:
            continue
    raise AssertionError


def move(day, text, times=1):
    number, unit = int(text.rstrip("dwmoqy")), text.lstrip("0123456789")
    if unit in ("d", "w"):
        return day + times * number * (7 if unit == "w" else 1) * DAY
    return months_later(day, times * number * {"mo": 1, "q": 3, "y": 12}[unit])


def instant(day, zone, offset):
    """When clocks show this day's midnight and the offset: what Python's zoneinfo says."""
    local = dt.datetime.combine(day, dt.time()) + offset
    return local.replace(tzinfo=zone).astimezone(dt.UTC) if zone is not None else local


def expected(times, size, every, zone=None, offset=dt.timedelta()):
    """All windows with rows, as (start, end, rows), by trying all that may be."""
    if not times:
        return []
    low, high = (t.date() if isinstance(t, dt.datetime) else t for t in (min(times), max(times)))
    day, k = EPOCH, 0
    step = 1 if low - 1200 * DAY > EPOCH else -1
    # begin long before the first row
    while (day < low - 1200 * DAY) if step > 0 else (day > low - 1200 * DAY):
        k += step
        day = move(EPOCH, every, k)
    found = []
    while day <= high + 40 * DAY:
        begin, end = instant(day, zone, offset), instant(move(day, size), zone, offset)
        rows = sum(begin <= t < end for t in times)
        if rows:
            found.append((begin, end, rows))
        k += 1
        day = move(EPOCH, every, k)
    return found


def draw(pick, zone):
    """Times around changes of clocks and ends of months, also before 1970."""
    near = pick.choice([dt.datetime(2024, 3, 31), dt.datetime(2023, 10, 29), dt.datetime(2011, 12, 30),
                        dt.datetime(1969, 12, 31), dt.datetime(2020, 2, 29), dt.datetime(1944, 4, 2)])  # fmt: skip
    spread = pick.choice([2, 20, 400])
    return sorted(
        near.replace(tzinfo=zone and dt.UTC)
        + dt.timedelta(hours=pick.randrange(-24 * spread, 24 * spread), minutes=pick.choice([0, 0, 30, 59]))
        for _ in range(pick.randrange(1, 12))
    )


def read_offset(text):
    return dt.timedelta() if text is None else dt.timedelta(microseconds=duration(text).nanoseconds // 1000)  # type: ignore[union-attr]


@pytest.mark.parametrize("block", range(4))
def test_as_dates_and_clocks_have_it(block):
    for seed in range(block * share(100), (block + 1) * share(100)):
        pick = random.Random(seed)
        name = pick.choice([None, *ZONES])
        zone = None if name is None else ZoneInfo(name)
        (size, every), offset = pick.choice(WINDOWS), pick.choice(OFFSETS)
        if name is None and every[-1] in "dw":
            continue  # without a zone days are of a fixed length
        times = draw(pick, zone)
        window = sw.time(size, every=every, offset=offset, zone=name)
        want = expected(times, size, every, zone, read_offset(offset))
        # over columns
        kind = pa.timestamp("us", "Asia/Tokyo" if zone else None)
        out = sw.aggregate(pa.table({"t": pa.array(times, kind)}), order_by="t", window=window, n=sw.count())
        found = [(r["window_start"], r["window_end"], r["n"]) for r in out.to_pylist()]
        assert found == want, (seed, window)
        # event by event, with state saved
        events, results = sw.Window({"n": sw.count(), "last": sw.last("t")}, window), []
        for t in times:
            results += events.push({"t": t}, time=t)
            if pick.random() < 0.3:
                events = events.from_bytes(events.to_bytes())
        results += events.flush()
        assert [(r.start, r.end, r.value["n"]) for r in results] == want, (seed, window)


def test_the_grid_goes_by_arrays_as_one_by_one():
    for seed in range(share(100)):
        pick = random.Random(seed)
        (size, every), zone = pick.choice(WINDOWS), ZoneInfo(pick.choice(ZONES))
        grid = CalendarGrid(duration(every), duration(size), duration("6h"), zone, UNITS["s"])
        times = np.array([pick.randrange(-(10**9), 2 * 10**9) for _ in range(20)])
        each = [int(t) for t in times]
        assert grid.step(times).tolist() == [grid.step(t) for t in each]
        assert grid.first_window(times).tolist() == [grid.first_window(t) for t in each]
        assert grid.at(grid.step(times)).tolist() == [grid.at(grid.step(t)) for t in each]
        for t in each:
            k, first = grid.step(t), grid.first_window(t)
            assert grid.at(k) <= t < grid.at(k + 1)
            assert grid.end_of(first - 1) <= t < grid.end_of(first)
            assert k - first + 1 <= grid.windows_per_row
            assert grid.at(first) > t or (t - grid.far < grid.at(first) and grid.end_of(k) < t + grid.far)


def test_as_pandas_and_polars_have_it():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pick = np.random.default_rng(3)
    times = np.sort(pick.integers(0, 3 * 365 * 86_400, 500)) + 1_640_000_000
    zone = "Europe/Berlin"
    stamps = pd.to_datetime(times, unit="s", utc=True).tz_convert(zone)
    table = pa.table({"t": pa.array(stamps.tz_convert("UTC").to_pydatetime().tolist(), pa.timestamp("us", zone))})
    for every, theirs, dynamic in (("1mo", "MS", "1mo"), ("1d", "D", "1d"), ("1q", "QS", "1q"), ("1y", "YS", "1y")):
        out = sw.aggregate(table, order_by="t", window=sw.time(every, every=every, zone=zone), n=sw.count())
        counted = pd.Series(1, index=stamps).resample(theirs).sum()
        counted = counted[counted > 0]
        assert out["n"].to_pylist() == counted.tolist()
        assert out["window_start"].to_pylist() == [t.to_pydatetime() for t in counted.index]
        frame = pl.from_arrow(table).group_by_dynamic("t", every=dynamic).agg(pl.len())
        assert out["window_start"].to_pylist() == frame["t"].to_list()
        assert out["n"].to_pylist() == frame["len"].to_list()


def test_dates_and_times_without_a_zone():
    days = [dt.date(1968, 2, 29), dt.date(1969, 12, 31), dt.date(2024, 3, 31), dt.date(2024, 4, 1)]
    for size, every in (("1mo", "1mo"), ("1q", "1mo"), ("1y", "1y")):
        window = sw.time(size, every=every)
        want = [
            (a.date(), b.date(), n)
            for a, b, n in expected([dt.datetime.combine(d, dt.time()) for d in days], size, every)
        ]
        out = sw.aggregate({"t": pa.array(days)}, order_by="t", window=window, n=sw.count())
        assert (
            list(zip(out["window_start"].tolist(), out["window_end"].tolist(), out["n"].tolist(), strict=True)) == want
        )
        events = sw.Window(sw.count(), window)
        results = [r for d in days for r in events.push(1, time=d)] + events.flush()
        assert [(r.start, r.end, r.value) for r in results] == want
    out = sw.aggregate(
        {"t": np.array(["2024-01-31", "2024-02-01"], "M8[ns]")}, order_by="t", window=sw.time("1mo", every="1mo"),
        n=sw.count(),
    )  # fmt: skip
    assert out["window_start"].astype("M8[D]").astype(str).tolist() == ["2024-01-01", "2024-02-01"]


@pytest.mark.parametrize("late", ["drop", "revise"])
def test_rows_out_of_order(late):
    """Open windows take late rows; with late="revise" those that were given are given again."""
    pick = random.Random(5)
    zone, window = ZoneInfo("Europe/Berlin"), sw.time("2mo", every="1mo", zone="Europe/Berlin")
    times = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=pick.randrange(5000)) for _ in range(80)]
    events, last = sw.Window(sw.count(), window, late=late, max_delay=None if late == "revise" else "300d"), {}
    for t in times:
        for r in events.push(1, time=t):
            last[r.start, r.end] = r.value
        events = events.from_bytes(events.to_bytes())
    for r in events.flush():
        last[r.start, r.end] = r.value
    assert sorted((*bounds, n) for bounds, n in last.items()) == expected(times, "2mo", "1mo", zone)


def test_another_zone_is_another_definition():
    window = sw.Window(sw.count(), sw.time("1mo", every="1mo", zone="Europe/Berlin"))
    window.push(1, time=dt.datetime(2024, 1, 1, tzinfo=dt.UTC))
    for other in (sw.time("1mo", every="1mo", zone="Europe/Paris"), sw.time("1mo", every="1mo")):
        with pytest.raises(StateError):
            sw.Window(sw.count(), other).from_bytes(window.to_bytes())
    same = sw.Window(sw.count(), sw.time("1 month", every="1mo", zone="Europe/Berlin"))
    assert same.from_bytes(window.to_bytes()).flush()[0].value == 1


def test_algorithms_that_must_know_their_size():
    window = sw.time("40d", every="1d", zone="Europe/Berlin")
    times = [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + k * 7 * dt.timedelta(hours=1) for k in range(300)]
    want = [r.value for r in _push(sw.Window(sw.sum(), window), times)]
    for algorithm in ("flat_fat", "b_int", "two_stacks_lite"):
        assert [r.value for r in _push(sw.Window(sw.sum(), window, algorithm=algorithm), times)] == want


def _push(window, times):
    return [r for t in times for r in window.push(1, time=t)] + window.flush()


AWARE = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: sw.time("1mo", every="1M"), 'Write "1m" for minutes, "1mo" for months'),
        (lambda: sw.time("1mo", every="1mo", zone="Europe/Berli"), "there is no time zone 'Europe/Berli'"),
        (lambda: sw.time("1mo", every="1mo", zone="../etc/passwd"), "there is no time zone"),
        (lambda: sw.time("1mo", every="1mo", zone=3), "zone= names a time zone"),  # type: ignore[call-overload]
        (lambda: sw.time("1h", every="1h", zone="UTC"), 'whole days or months, and the size is "1h"'),
        (lambda: sw.time("1mo", every="1h"), 'is a length by the calendar, and "1h" is not'),
        (lambda: sw.time("1h", zone="UTC"), "give every= by time"),
        (lambda: sw.time("1d", every=sw.rows(5), zone="UTC"), "give every= by time"),
        (lambda: sw.rows(3, every="1mo"), "every= needs a fixed length"),
        (lambda: sw.time("1y", every="1mo", cumulative=True), "every= needs a fixed length"),
        (lambda: sw.time("1d", every="1d", cumulative=True, zone="UTC"), "cumulative windows are of fixed lengths"),
        (lambda: sw.time("1mo", every="1mo", offset="1mo"), "offset= is of the kind of every"),
        (lambda: sw.time("1mo", every="1mo", closed="left"), "closed='left' has no place there"),
        (
            lambda: sw.Window(sw.count(), sw.time("1d", every="1d", zone="UTC")).push(1, time=dt.datetime(2024, 1, 1)),
            "has no time zone: what clocks show there is the time itself",
        ),
        (
            lambda: sw.aggregate(
                {"t": pa.array([AWARE.date()])},
                order_by="t",
                window=sw.time("1d", every="1d", zone="UTC"),
                n=sw.count(),
            ),
            "the order column 't', of date32.*has no time zone",
        ),
        (
            lambda: sw.aggregate({"t": [1]}, order_by="t", window=sw.time("1mo", every="1mo"), n=sw.count()),
            "slides by the calendar, and the order column 't' is of int64",
        ),
        (lambda: sw.Window(sw.count(), sw.time("1mo", every="1mo")).push(1, time=5), "the time is a plain number"),
    ],
)
def test_refusals(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        wrong()


def test_the_ends_of_time():
    """Where windows would begin or end beyond the years of Python, a row is refused, and nothing has changed."""
    window = sw.Window(sw.count(), sw.time("1y", every="1y", zone="Europe/Berlin"))
    for t in (dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 30, tzinfo=dt.UTC)):
        with pytest.raises(InvalidInput, match="and so have no name"):
            window.push(1, time=t)
    window.push(1, time=AWARE)
    assert [r.value for r in window.flush()] == [1]
