"""Frames over arranged rows: months and zones, the ends of 64 bits, bounds that are columns, and what is refused."""

import calendar
import datetime as dt
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.columns.frames import bounds
from slidewise.columns.frames import bounds_kernels as kernels
from slidewise.columns.sorting import OrderColumn

RNG = np.random.default_rng(5)


def seen(order, window, order_by=None, **columns):
    """For every row, the numbers of the rows in its frame."""
    table = pa.table({"t": order, "row": pa.array(range(len(order))), **columns})
    return sw.with_columns(table, order_by=order_by or "t", r=sw.collect_list("row").over(window))["r"].to_pylist()


# ---- months
def moved(time, months, zone):
    """A time moved by months as java.time does, which Spark uses."""
    local = time.astimezone(zone).replace(tzinfo=None)
    year, month = divmod(local.year * 12 + local.month - 1 + months, 12)
    day = min(local.day, calendar.monthrange(year, month + 1)[1])
    local = local.replace(year=year, month=month + 1, day=day)
    either = [local.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    real = [t for t in either if t.astimezone(dt.UTC).astimezone(zone).replace(tzinfo=None) == local]
    same = [t for t in real if t.utcoffset() == time.astimezone(zone).utcoffset()]
    return (same or real or either)[0].astimezone(dt.UTC)


@pytest.mark.covering(2)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("months", [1, 5, 12])
def test_months_in_a_zone(zone, unit, months):
    place = ZoneInfo(zone)
    clock_changes = [
        dt.datetime(2024, m, d, tzinfo=dt.UTC) for m, d in ((3, 31), (10, 27), (3, 10), (11, 3), (4, 6), (10, 5))
    ]
    centres = [*clock_changes, dt.datetime(2024, 1, 31, tzinfo=dt.UTC), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)]
    spread = [dt.timedelta(minutes=30 * int(k)) for k in RNG.integers(-60, 60, 200)]
    shift = [0, 0, 1, -1, months, -months]
    times = [moved(centres[i % len(centres)] + spread[i], shift[i % 6], place) for i in range(200)]
    column = pa.array(times, pa.timestamp(unit, zone))
    back, ahead = ([moved(t, m, place) for t in times] for m in (-months, months))
    order = sorted(range(200), key=lambda i: times[i])
    found = seen(column, sw.range_between(f"-{months}mo", f"{months}mo"))
    assert found == [[j for j in order if back[i] <= times[j] <= ahead[i]] for i in range(200)]
    found = seen(column, sw.range_between(f"-{months}mo", 0), sw.desc("t"))
    order = sorted(range(200), key=lambda i: times[i], reverse=True)
    assert found == [[j for j in order if times[i] <= times[j] <= ahead[i]] for i in range(200)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "pytz"])
@pytest.mark.parametrize("months", [1, 7])
def test_months_near_changes_of_the_clocks_are_the_same_for_events_and_columns(zone, months):
    """One rule, two implementations of it: events move single datetimes, columns move Arrow's."""
    name = "Europe/Zurich" if zone == "pytz" else zone
    place = pytest.importorskip("pytz").timezone(name) if zone == "pytz" else ZoneInfo(name)
    changes = [
        dt.datetime(2024, m, d, tzinfo=dt.UTC) for m, d in ((3, 31), (10, 27), (3, 10), (11, 3), (4, 6), (10, 5))
    ]
    near = [t + dt.timedelta(minutes=15 * k) for t in changes for k in range(-8, 20)]
    shifts = [0, months, -months]
    times = sorted(moved(t, shifts[k % 3], ZoneInfo(name)) for k, t in enumerate(near))
    for window in (sw.time(f"{months}mo"), sw.range_between(f"-{months}mo", f"{months}mo")):
        events = sw.Window(sw.collect_list(), window)
        found = [r for row, t in enumerate(times) for r in events.push(row, time=t.astimezone(place))] + events.flush()
        columns = seen(pa.array(times, pa.timestamp("us", name)), window)
        assert {r.row - 1: r.value for r in found} == dict(enumerate(columns))


def test_events_of_months_that_have_passed_are_forgotten():
    events = sw.Window(sw.max(), sw.time("1mo"))
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(400)]
    found = [r.value for day, date in enumerate(days) for r in events.push(-day, time=date)]
    assert found[200] == -170  # 19 July: from 19 June on
    assert events.partials() < 120


def test_a_time_that_the_clocks_skip_and_one_that_comes_twice():
    zurich = ZoneInfo("Europe/Zurich")
    # 31 March 2024 has no 2:30: the clocks went on to 3:30
    may = dt.datetime(2024, 5, 31, 2, 30, tzinfo=zurich)
    gap = [dt.datetime(2024, 3, 31, h, m, tzinfo=zurich) for h, m in ((1, 59), (3, 0), (3, 29), (3, 30))]
    assert seen(pa.array([*gap, may], pa.timestamp("s", "Europe/Zurich")), sw.range_between("-2mo", 0))[-1] == [3, 4]
    # 27 October 2024, 2:30 comes twice: in summer time first
    summer, winter = (dt.datetime(2024, 10, 27, 2, 30, tzinfo=zurich, fold=f).astimezone(dt.UTC) for f in (0, 1))
    later, earlier = dt.datetime(2024, 11, 27, 2, 30, tzinfo=zurich), dt.datetime(2024, 9, 27, 2, 30, tzinfo=zurich)
    column = pa.array([summer, winter, later, earlier], pa.timestamp("s", "Europe/Zurich"))
    assert seen(column, sw.range_between("-1mo", 0))[2] == [1, 2]  # winter time, as the row itself
    assert seen(column, sw.range_between(0, "1mo"))[3] == [3, 0]  # summer time


def test_months_of_dates_and_plain_timestamps():
    days = [
        dt.date(2023, 1, 28),
        dt.date(2023, 1, 31),
        dt.date(2023, 2, 28),
        dt.date(2023, 3, 31),
        dt.date(1969, 12, 31),
    ]
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ms", "+02:00")):
        found = seen(pa.array(days, pa.date32()).cast(pa.timestamp("s")).cast(kind, safe=False), sw.time("1mo"))
        assert found == [[0], [0, 1], [0, 1, 2], [2, 3], [4]], kind
    assert seen(pa.array([None, *days[:2]], pa.date32()), sw.time("1y")) == [[0], [1], [1, 2]]


def test_months_at_the_ends_of_time():
    ends = pa.array([-(2**63) + 1, 0, 2**63 - 1]).cast(pa.timestamp("ns"))
    assert seen(ends, sw.range_between("-9999y", "9999y")) == [[0, 1, 2]] * 3
    assert seen(ends, sw.range_between("1mo", "9999y")) == [[1, 2], [2], []]


# ---- distances
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "kind, values",
    [
        (pa.int64(), [-(2**63), -(2**63) + 1, -1, 0, 5, 2**63 - 2, 2**63 - 1, 2**63 - 1]),
        (pa.uint64(), [0, 1, 5, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 2**64 - 1]),
        (pa.int8(), [-128, -127, -1, 0, 1, 126, 127, 127]),
    ],
)
def test_distances_at_the_ends_of_integers(kind, values, descending):
    column = pa.array(values, kind)
    sign = -1 if descending else 1
    rows = sorted(range(len(values)), key=lambda i: values[i], reverse=descending)
    for first, last in (
        (-1, 1),
        (1, 2),
        (-3, -1),
        (-(2**62), 2**62),
        (-(2**63), 2**63),
        (2**63, 2**65),
        (-(2**70), -(2**64)),
    ):
        found = seen(column, sw.range_between(first, last), sw.desc("t") if descending else "t")
        expected = [[j for j in rows if first <= sign * (values[j] - own) <= last] for own in values]
        assert found == expected, (first, last)


def test_decimals_dates_and_durations():
    assert seen(pa.array([Decimal("1.10"), Decimal("1.25"), Decimal("1.40")]), sw.range_between(-0.15, 0)) == [
        [0],
        [0, 1],
        [1, 2],
    ]
    days = pa.array([1, 3, 4], pa.int32()).cast(pa.date32())
    assert seen(days, sw.range_between("-1d", "24h")) == [[0], [1, 2], [1, 2]]
    clock = pa.array([1, 3, 4]).cast(pa.time64("us"))
    assert seen(clock, sw.time("2us")) == [[0], [0, 1], [1, 2]]
    elapsed = pa.array([1, 3, 4]).cast(pa.duration("ms"))
    assert seen(elapsed, sw.time("2ms", closed="right")) == [[0], [1], [1, 2]]


@pytest.mark.parametrize(
    "order, offset",
    [
        (pa.array([10, 12, 13]).cast(pa.timestamp("us")), pa.array([0, 2, 1]).cast(pa.duration("us"))),
        (pa.array([10, 12, 13], pa.int32()).cast(pa.date32()), pa.array([0, 172800, 86400]).cast(pa.duration("s"))),
        (pa.array([10, 12, 13]).cast(pa.duration("ns")), pa.array([0, 2, 1]).cast(pa.duration("ns"))),
        (pa.array([10, 12, 13], pa.uint64()), pa.array([0, 2, 1], pa.uint8())),
        (pa.array([10, 12, 13], pa.int32()), pa.array([0.0, 2.0, 1.0])),
        (pa.array([10, 12, 13], pa.int32()).cast(pa.decimal128(12, 1)), pa.array([0, 2, 1])),
        (pa.array([10.0, 12.0, 13.0], pa.float32()), pa.array([0, 2, 1])),
    ],
)
def test_distances_that_are_columns(order, offset):
    assert seen(order, sw.range_between(0, sw.col("ahead")), ahead=offset) == [[0], [1, 2], [2]]


def test_rows_and_groups_by_columns_of_any_width():
    order = pa.array([1, 1, 2, 3])
    far = pa.array([2**64 - 1, 0, 1, 2**63], pa.uint64())
    assert seen(order, sw.rows_between(0, sw.col("ahead")), ahead=far) == [[0, 1, 2, 3], [1], [2, 3], [3]]
    assert seen(order, sw.groups_between(0, sw.col("ahead")), ahead=far) == [[0, 1, 2, 3], [0, 1], [2, 3], [3]]
    assert seen(order, sw.rows_between(sw.col("back"), -1), back=pa.array([-1, -9, 5, -1], pa.int8())) == [
        [],
        [0],
        [],
        [2],
    ]


def test_closed_and_null_peers():
    order = pa.array([1, 2, 2, None, None, 4])
    expected = {
        "both": [[0], [0, 1, 2], [0, 1, 2], [3, 4], [3, 4], [1, 2, 5]],
        "right": [[0], [0, 1, 2], [0, 1, 2], [3, 4], [3, 4], [5]],
        "left": [[], [0], [0], [3, 4], [3, 4], [1, 2]],
        "neither": [[], [0], [0], [3, 4], [3, 4], []],
    }
    for closed, frames in expected.items():
        assert seen(order, sw.time(2, closed=closed)) == frames, closed  # type: ignore[call-overload]


def test_nan_and_infinity_are_places_too():
    order = pa.array([1.0, float("nan"), float("inf"), float("nan"), -float("inf"), 1e308, -0.0])
    assert seen(order, sw.range_between(-1, 1)) == [[6, 0], [1, 3], [2], [1, 3], [4], [5], [6, 0]]
    assert seen(order, sw.range_between(1, sw.UNBOUNDED))[5] == [5, 2, 1, 3]
    assert seen(order, sw.range_between(-1e308, 1e308))[5] == [6, 0, 5, 2]


def test_punctuation_by_a_column():
    marks = pa.array([False, True, False, None, True, False])
    found = seen(pa.array(range(6)), sw.punctuation("end"), end=marks)
    assert found == [[0], [0, 1], [2], [2, 3], [2, 3, 4], [5]]


# ---- refusals
@pytest.mark.parametrize(
    "order, window, reason",
    [
        (pa.array(["a", "b"]), sw.range_between(-1, 0), "numbers or times, and 't' is of string"),
        (pa.array([True, False]), sw.range_between(-1, 0), "numbers or times"),
        (pa.array([1, 2]), sw.time("1h"), "is a length of time"),
        (pa.array([1.0, 2.0]), sw.time("1h"), "is a length of time"),
        (pa.array([1, 2]), sw.range_between(-1.5, 0), "multiple of its last digit"),
        (pa.array([1, 2]), sw.time("1mo"), "dates or timestamps"),
        (pa.array([1, 2]).cast(pa.timestamp("s")), sw.time(5), "give a length of time"),
        (pa.array([1, 2]).cast(pa.timestamp("s")), sw.time("1500ms"), "not a whole number"),
        (pa.array([1, 2], pa.int32()).cast(pa.date32()), sw.time("1h"), "not a whole number"),
        (pa.array([1, 2]), sw.range_between(sw.col("half"), 0), "does not fit"),
        (pa.array([1, 2]), sw.range_between(sw.col("gap"), 0), "nulls: fill them"),
        (pa.array([1, 2]), sw.rows_between(sw.col("half"), 0), "must be of integers"),
        (pa.array([1.0, 2.0]), sw.range_between(sw.col("endless"), 0), "must be finite"),
        (pa.array([1, 2]).cast(pa.timestamp("s")), sw.range_between(sw.col("half"), 0), "cannot be added"),
        (pa.array([Decimal(10**30), Decimal(1)]), sw.range_between(-1, 0), "at most 18 digits"),
        (pa.array([1, 2]), sw.punctuation("half"), "must be boolean"),
    ],
)
def test_what_does_not_fit_is_refused(order, window, reason):
    more = {"half": pa.array([0.5, 1.0]), "gap": pa.array([None, 1]), "endless": pa.array([float("-inf"), 1.0])}
    with pytest.raises(sw.InvalidInput, match=reason):
        seen(order, window, **more)


def test_range_needs_one_order_column_and_groups_need_one_at_least():
    table = pa.table({"t": [1, 2], "u": [1, 2]})
    with pytest.raises(sw.InvalidInput, match="exactly one order column"):
        sw.with_columns(table, order_by=["t", "u"], n=sw.count().over(sw.range_between(-1, 0)))
    with pytest.raises(sw.InvalidInput, match="exactly one order column"):
        sw.with_columns(table, n=sw.count().over(sw.time(1)))
    with pytest.raises(sw.InvalidInput, match="no order_by"):
        sw.with_columns(table, n=sw.count().over(sw.groups_between(-1, 0)))
    peers = sw.with_columns(table, order_by=["t", "u"], n=sw.count().over(sw.range_between(-sw.UNBOUNDED, 0)))
    assert peers["n"].to_pylist() == [1, 2]


# ---- kernels
def test_search_from_anywhere_to_anywhere():
    for _ in range(200):
        sizes = RNG.integers(0, 40, 3)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        order = np.concatenate([np.sort(RNG.integers(0, RNG.integers(1, 60), n)) for n in sizes]).astype(np.int64)
        targets = RNG.integers(-2, 62, len(order))
        for beyond in (False, True):
            out = np.zeros(len(order), np.int64)
            kernels.search(offsets[:-1], offsets[1:], order, targets, beyond, out)
            expected = [
                lo + np.searchsorted(order[lo:hi], targets[i], "right" if beyond else "left")
                for lo, hi in pairwise(offsets)
                for i in range(lo, hi)
            ]
            assert out.tolist() == expected


def test_frames_that_move_on_with_the_rows_are_known_to():
    """Empty frames at the ends of a key must not look like frames that move back: monotone ones are far quicker."""
    from slidewise.columns.frames.from_window import Arranged, frames_of

    order = np.array([1, 1, 2, 5, 1, 2, 2, 9])
    rows = Arranged(np.array([0, 4, 8]), [OrderColumn("t")], [order], pa.int64(), lambda name: None)
    for between in (sw.rows_between, sw.range_between, sw.groups_between):
        for first, last in ((-2, 1), (2, 3), (-3, -2), (1, 1), (-sw.UNBOUNDED, -2), (2, sw.UNBOUNDED)):
            frames = frames_of(between(first, last), rows)
            assert frames.monotone, (between, first, last)
            assert np.all(frames.start <= frames.end)


def test_huge_numbers_of_rows():
    x = np.arange(4.0)
    assert sw.rolling(x, sw.sum(), sw.rows(2**70)).tolist() == [0, 1, 3, 6]
    assert sw.rolling(x, sw.sum(), sw.rows_between(-(2**70), 0)).tolist() == [0, 1, 3, 6]
    assert bounds.rows_between(2, 2**70, 2**71).count.tolist() == [0, 0]
    table = {"k": np.array([1, 2, 1, 2]), "x": x}
    windows = {"a": sw.rows(2**70), "b": sw.rows_between(-(2**80), 0), "c": sw.rows_between(-sw.UNBOUNDED, 2**80)}
    out = sw.with_columns(table, partition_by="k", **{n: sw.sum("x").over(w) for n, w in windows.items()})
    assert [out[n].tolist() for n in "abc"] == [[0, 1, 2, 4], [0, 1, 2, 4], [2, 4, 2, 4]]


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("descending", [False, True])
def test_offsets_on_floats_have_the_digits_of_their_type(kind, descending):
    """A frame is what `order - 0.1` gives in the order's own type, as in Spark and DuckDB, and not in doubles."""
    own = np.dtype(kind.to_pandas_dtype()).type
    values = [own(k / 10) for k in (0, 1, 11, 12, 50, 51, 70)]
    table = pa.table({"t": pa.array(values, kind)})
    got = sw.with_columns(
        table,
        order_by=OrderColumn("t", descending),
        n=sw.count().over(sw.range_between(-0.1, 0)),
        m=sw.count().over(sw.range_between(-1.1, 0.1)),
    )
    step = [own(-v) if descending else own(v) for v in (0.1, 1.1)]

    def between(low, high):
        low, high = min(low, high), max(low, high)
        return sum(low <= v <= high for v in values)

    assert got["n"].to_pylist() == [between(v - step[0], v) for v in values]
    assert got["m"].to_pylist() == [between(v - step[1], v + step[0]) for v in values]
