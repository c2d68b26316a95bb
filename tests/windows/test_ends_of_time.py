"""Rows at the ends of time: a window is named rightly, or its row is refused before anything has changed."""

import random
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.windows.clock import add_months
from slidewise.windows.durations import UNITS

FAR_EAST, FAR_WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
TIMES = [
    *[datetime.min, datetime.max, datetime.max - timedelta(hours=5), datetime.min + timedelta(hours=5)],
    *[t.replace(tzinfo=z) for t in (datetime.min, datetime.max) for z in (UTC, FAR_EAST, FAR_WEST)],
    *[date.min, date.max, date.max - timedelta(days=3)],
    *[np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59"), np.datetime64(2**63 - 1, "ns")],
    *[np.datetime64(-(2**63) + 1, "ns"), np.datetime64("2024-05"), np.datetime64(2**62, "us")],
]
SLIDES = [
    sw.time("2d", every="1d"), sw.time("3d", every="1d", offset="1d"), sw.rows(2, every="1d"),
    sw.time("40d", every="1d"), sw.range_between("-1d", "1d", every="2d"),
]  # fmt: skip
FRAMES = [sw.time("2d"), sw.range_between("-1 month", "1 month"), sw.range_between("-3000y", "30000y"), sw.rows(2)]


def nanoseconds(time):
    """Since the epoch, as Python's integer: NumPy compares two units by a cast that may wrap."""
    if isinstance(time, np.datetime64):
        unit, many = np.datetime_data(time.astype("M8[D]") if np.datetime_data(time)[0] == "M" else time)
        time = time.astype("M8[D]") if unit == "D" else time
        return int(time.astype(int)) * many * UNITS[unit.lower()]
    if not isinstance(time, datetime):
        return (time - date(1970, 1, 1)).days * UNITS["d"]
    epoch = datetime(1970, 1, 1, tzinfo=None if time.tzinfo is None else UTC)
    return (time - epoch) // timedelta(microseconds=1) * 1000


@pytest.mark.covering(2)
@pytest.mark.parametrize("time", TIMES, ids=repr)
@pytest.mark.parametrize("window", [*SLIDES, *FRAMES], ids=repr)
@pytest.mark.parametrize("max_delay", [None, "1d"])
def test_a_row_at_the_end_of_time_has_its_windows_or_is_refused(time, window, max_delay):
    w = sw.Window(sw.count(), window, max_delay=max_delay)
    try:
        found = w.push(1, time=time)
    except sw.InvalidInput as refused:
        assert window in SLIDES and "that there is" in str(refused)
        assert w.flush() == []  # nothing has changed
        return
    assert w.watermark is None or nanoseconds(w.watermark) <= nanoseconds(time)
    found += w.flush()
    assert found and all(result.value == 1 for result in found)
    for result in found:
        if result.start is not None:
            start, end = map(nanoseconds, (result.start, result.end))
            assert start <= nanoseconds(time) < end
            assert end - start == window.size.nanoseconds


def test_a_refused_row_leaves_the_others():
    w = sw.Window(sw.sum(), sw.time("1h", every="1h"))
    w.push(1, time=datetime(2024, 1, 1))
    with pytest.raises(sw.InvalidInput, match=r"9999.*end after the last datetime that there is.*Leave such rows out"):
        w.push(2, time=datetime.max)
    w.push(4, time=datetime(2024, 1, 1, 0, 30))
    assert [r.value for r in w.flush()] == [5]


INT64 = 2**63 - 1


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.date32()])
def test_boundaries_over_columns_are_exact_or_refused(kind):
    """Python's integers, of any size, are the oracle."""
    rng = random.Random(str(kind))
    most = 2**31 - 1 if kind == pa.date32() else INT64
    length = (lambda n: n) if kind == pa.int64() else (lambda n: timedelta(days=n))
    unit = {pa.int64(): 1, pa.date32(): 1, pa.timestamp("ns"): 86_400 * 10**9}.get(kind, 86_400 * 10**6)
    refused = 0
    for _ in range(40):
        every = rng.randrange(1, 9)
        size = every + rng.randrange(9)
        at = rng.choice((1, -1)) * (most - rng.randrange(40) * unit)
        whole = pa.array([at], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
        starts = [k * every * unit for k in range((at - size * unit) // (every * unit) + 1, at // (every * unit) + 1)]
        window = sw.time(length(size), every=length(every))
        try:
            out = sw.aggregate(pa.table({"t": whole}), order_by="t", window=window, n=sw.count())
        except sw.InvalidInput as error:
            assert "beyond" in str(error) and "'t'" in str(error)
            # rows are refused a little before: as far as any window reaches, and a slide more on both sides
            assert abs(at) + (size + 2 * every) * unit >= most
            refused += 1
            continue
        found = [out[name].cast(whole.type).cast(whole.cast(pa.int32()).type if kind == pa.date32() else pa.int64())
                 for name in ("window_start", "window_end")]  # fmt: skip
        assert found[0].to_pylist() == starts
        assert found[1].to_pylist() == [start + size * unit for start in starts]
    assert 0 < refused < 40


def test_boundaries_that_a_narrow_type_cannot_hold_are_refused():
    cases = [
        (pa.array([datetime(2024, 1, 1, 0, 30).time()]), sw.time("2h", every="1h"), "time64"),
        (pa.array(["99.9"]).cast(pa.decimal128(3, 1)), sw.time(20, every=10), r"decimal128\(3, 1\)"),
    ]
    for column, window, kind in cases:
        with pytest.raises(sw.InvalidInput, match=f"'t' begin or end beyond {kind}"):
            sw.aggregate(pa.table({"t": column}), order_by="t", window=window, n=sw.count())


def test_months_go_on_beyond_the_calendar_of_datetime():
    rng = random.Random(5)
    for _ in range(300):
        day, months = rng.randrange(-1_000_000, 5_000_000), rng.randrange(-50_000, 50_000)
        there = np.datetime64(day, "D").astype("M8[M]")
        within = (np.datetime64(day, "D") - there.astype("M8[D]")).astype(int)
        first = (there + months).astype("M8[D]")
        last = ((there + months + 1).astype("M8[D]") - first).astype(int) - 1
        assert add_months(day, months) == int(first.astype(int)) + min(int(within), int(last))
