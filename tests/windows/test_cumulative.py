"""Cumulative windows, and hopping windows with gaps between them: against recalculation."""

import datetime as dt

import pyarrow as pa
import pytest
import window_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Listed
from support.tiers import examples
from window_streams import by_key, rows

import slidewise as sw
from slidewise.errors import InvalidInput


def expected(stream, starts, lengths):
    """(start, end, values) of every window that has rows, in the order of their ends."""
    found = {}
    for key, own in by_key(stream).items():
        windows = [(a, a + n, [r for r in own if a <= r["t"] < a + n]) for a in starts for n in lengths]
        found[key] = [(a, b, oracle.values(frame)) for a, b, frame in windows if frame]
    return found


def check(window, stream, wanted):
    w = sw.Window(Listed("v"), window, partition_by="key")
    found = {}
    for r in [r for row in stream for r in w.push(row, time=row["t"])] + w.flush():
        found.setdefault(r.key, []).append((r.start, r.end, r.value))
    assert found == {key: own for key, own in wanted.items() if own}
    assert not w._engines
    if stream:
        call = {"partition_by": "key", "order_by": "t", "window": window, "all": sw.collect_list("v")}
        out = sw.aggregate(pa.Table.from_pylist(stream), **call).to_pylist()
        by_column = {}
        for r in out:
            by_column.setdefault(r["key"], []).append((r["window_start"], r["window_end"], tuple(r["all"])))
        assert by_column == found


@examples(150)
@given(rows, st.sampled_from([(4, 3), (1, 5), (5, 1), (3, 8)]), st.sampled_from([0, 2, -7]))
def test_every_step_of_a_period_that_has_rows_so_far(stream, shape, offset):
    every, steps = shape
    size = every * steps
    window = sw.time(size, every=every, offset=offset, cumulative=True)
    starts = range(-600 // size * size + offset, 600, size)
    check(window, stream, expected(stream, starts, range(every, size + 1, every)))


@examples(150)
@given(rows, st.sampled_from([(1, 4), (3, 7), (2, 3), (5, 60)]), st.sampled_from([0, 2, -7]))
def test_rows_between_two_windows_are_in_none(stream, shape, offset):
    size, every = shape
    starts = range(-600 // every * every + offset, 600, every)
    check(sw.time(size, every=every, offset=offset), stream, expected(stream, starts, [size]))


def test_a_day_so_far_every_hour():
    w = sw.Window(sw.sum(), sw.time("1d", every="6h", cumulative=True))
    day = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    assert w.push(1, time=day + dt.timedelta(hours=7)) == []
    found = w.push(2, time=day + dt.timedelta(hours=19))
    found += w.push(4, time=day + dt.timedelta(hours=25))
    assert [(r.start == day, (r.end - day).total_seconds() / 3600, r.value) for r in found] == [
        (True, 12, 1), (True, 18, 1), (True, 24, 3),
    ]  # fmt: skip


def test_floats_and_windows_beyond_the_ends_of_time():
    table = pa.table({"t": [0.05, 0.25, 0.31], "x": [1, 2, 4]})
    out = sw.aggregate(table, order_by="t", window=sw.time(0.3, every=0.1, cumulative=True), s=sw.sum("x"))
    assert out["s"].to_pylist() == [1, 1, 3, 4, 4, 4]
    for year, message in ((9999, "end after the last"), (1, "begin before the first")):
        time = dt.datetime(year, 12 if year > 1 else 1, 31 if year > 1 else 1)
        with pytest.raises(InvalidInput, match=message):
            sw.Window(sw.sum(), sw.time("50d", every="1d", cumulative=True)).push(1, time=time)
    with pytest.raises(InvalidInput, match="64 bits"):
        window = sw.time(10, every=5, cumulative=True)
        sw.aggregate(pa.table({"t": [2**63 - 2]}), order_by="t", window=window, n=sw.count())


# ---- late rows
def recalculate_open(rows, delay, size, every):
    """(key, start, end, n, first, last, values by time) of every window, over the rows that came while it was open.

    A window closes when the watermark reaches its end: the newest time, less the delay. Also the number of rows that
    belong to no open window.
    """
    came, newest, dropped = [], None, 0
    for key, time, x in rows:
        watermark = None if newest is None else newest - delay
        start = time // size * size
        ends = [end for end in range(start + every, start + size + 1, every) if end > time]
        is_open = [end for end in ends if watermark is None or end > watermark]
        dropped += not is_open
        came.append((key, time, x, is_open))
        newest = time if newest is None else max(newest, time)
    found = []
    for key in {key for key, *_ in rows}:
        for start in {time // size * size for k, time, *_ in came if k == key}:
            for end in range(start + every, start + size + 1, every):
                inside = [
                    (t, n, x) for n, (k, t, x, ends) in enumerate(came) if k == key and start <= t and end in ends
                ]
                if inside:
                    values = [x for _, _, x in sorted(inside, key=lambda row: row[:2])]
                    found.append((key, start, end, len(values), values[0], values[-1], max(values), values))
    return sorted(found), dropped


LATE_ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 14), st.integers(0, 9)), max_size=25
)


@examples(300)
@given(LATE_ROWS, st.sampled_from([0, 4]), st.sampled_from([(12, 4), (6, 2), (5, 5)]), st.sets(st.integers(0, 24)))
def test_late_rows_enter_open_windows(drawn, delay, sizes, saves):
    """In process, with the state saved in between, against recalculation; of partials, of rows, and of both."""
    now, rows = 0, []
    for key, step, back, x in drawn:
        now += step
        rows.append((key, max(0, now - back), x))
    expected, dropped = recalculate_open(rows, delay, *sizes)
    window = sw.time(sizes[0], every=sizes[1], cumulative=True)
    merged = {"n": sw.count(), "first": sw.first("x"), "last": sw.last("x"), "top": sw.max("x")}
    for ours in (merged, {**merged, "all": sw.collect_list("x")}):
        w = sw.Window(ours, window, partition_by="k", late="drop", max_delay=delay or None)
        out = []
        for k, (key, time, x) in enumerate(rows):
            out += w.push({"k": key, "x": x}, time=time)
            if k in saves:
                w = w.from_bytes(w.to_bytes())
        out += w.flush()
        found = sorted((r.key, r.start, r.end, *r.value.values()) for r in out)
        assert found == [row if "all" in ours else row[:-1] for row in expected]
        assert w.dropped == dropped
