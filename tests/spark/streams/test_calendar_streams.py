"""Slides on days and months of the calendar on streams: as in process, and as of a batch, with late rows and state."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, START, Stream, batch, batches, equal, expect, on_time, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples
from test_open_windows import RESULTS, Buckets, in_process

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.spark.streams.explain import explain_task

#: the times of the drawn rows, a second as half a day: over changes of clocks and ends of months
BEGIN, STRETCH = dt.datetime(2024, 3, 20, 5, tzinfo=dt.UTC), 43_200
WINDOWS = {
    "months": sw.time("1mo", every="1mo", zone="Europe/Berlin"),
    "quarters by month": sw.time("1q", every="1mo", zone="Africa/Cairo"),
    "weeks by day": sw.time("7d", every="1d", zone="Europe/Berlin"),
    "days from six": sw.time("1d", every="1d", offset="6h", zone="America/New_York"),
    "first days": sw.time("1d", every="1mo"),
    "months by day": sw.time("1mo", every="1d", zone="Europe/Berlin"),
}


def stretch(rows):
    times = [
        None if t is None else BEGIN + dt.timedelta(seconds=(t - START).total_seconds() * STRETCH)
        for t in rows["ts"].to_pylist()
    ]
    return rows.set_column(1, SCHEMA.field("ts"), pa.array(times, SCHEMA.field("ts").type))


@pytest.mark.parametrize("kept", RESULTS)
@pytest.mark.parametrize("name", WINDOWS)
@examples(10)
@given(batches(), st.sampled_from([0, 2, 10]), st.integers(1, 2))
def test_as_in_process_and_as_over_the_rows_that_came_in_time(name, kept, parts, delay, number):
    window, parts, delay = WINDOWS[name], [stretch(part) for part in parts], delay * STRETCH * SECOND
    slices = kept == "slices" and name not in ("first days", "months by day")
    task = task_of(RESULTS[kept], window=window, slices=slices)
    stream = Buckets(task, delay, number)
    for part in parts:
        stream.push(part)
    for each in stream.streams:
        each.watermark += 10**15
        each.push(task.incoming.empty_table())
        assert not each.memory.pieces  # nothing is kept of windows that were emitted
    same(stream.result(), expect(task, parts, delay), by=("k", "window_end"))
    results, dropped = in_process(window, RESULTS[kept], parts, delay)
    wanted = {(r.key, r.start, r.end): r.value for r in results}
    found = stream.result().to_pylist()
    assert len(found) == len(wanted)
    for each in found:
        value = wanted[each["k"], each["window_start"], each["window_end"]]
        assert all(equal(each[name], value[name]) for name in RESULTS[kept]), (each, value)
    assert sum(each.late for each in stream.streams) == dropped


@pytest.mark.parametrize("name", ["months", "days from six", "first days"])
@examples(10)
@given(parts=batches(), keep=st.sampled_from([5, 60]))
def test_late_rows_revise_windows(name, parts, keep):
    parts, keep = [stretch(part) for part in parts], keep * STRETCH * SECOND
    task = task_of({"n": sw.count(), "total": sw.sum("odo")}, window=WINDOWS[name], keep=keep)
    stream, last = Stream(task, 0), {}
    for part in parts:
        stream.push(part)
    for _ in range(2):
        stream.watermark += 10**15
        stream.push(task.incoming.empty_table())
    for r in stream.result().to_pylist():
        if r["revision"] >= last.get((r["k"], r["window_end"]), r)["revision"]:
            last[r["k"], r["window_end"]] = r
    want = batch(task, on_time(parts, 0, keep)).to_pylist()
    assert len(want) == len(last)
    assert all(
        last[r["k"], r["window_end"]] == r | {"revision": last[r["k"], r["window_end"]]["revision"]} for r in want
    )


def test_the_zone_is_part_of_the_definition():
    tasks = [
        task_of({"n": sw.count()}, window=sw.time("1mo", every="1mo", zone=zone))
        for zone in ("Europe/Berlin", "Europe/Paris", None)
    ]
    assert len({str(task.build_definition()) for task in tasks}) == 3


def test_windows_that_do_not_end_on_slides_keep_rows():
    from slidewise.columns.stream_options import check_slices, require_slices

    task = task_of({"n": sw.count()}, window=WINDOWS["months by day"])
    why = check_slices(task.expressions, False, task.divisions.__contains__)
    with pytest.raises(InvalidInput, match="do not end where others begin"):
        require_slices(True, why)
    told = str(explain_task(task_of({"n": sw.count()}, window=WINDOWS["weeks by day"], slices=True)))
    assert "7 slices" in told
