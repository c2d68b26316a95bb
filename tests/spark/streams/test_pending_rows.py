"""Rows ahead of the watermark come out when it has passed them, each once and in the order of arrival."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, row, task_of

import slidewise as sw
from slidewise.errors import StateError
from slidewise.spark.streams import pending_rows
from slidewise.spark.streams.pending_rows import PendingRows
from slidewise.spark.streams.stream_task import NEVER

TASK = task_of({"n": sw.count().over(sw.rows(2))})


class Saved(dict):
    """Entries in memory."""

    read_entry = dict.__getitem__
    remove_entry = dict.__delitem__

    def write_entry(self, number, tables):
        self[number] = tables
        return hashlib.sha256(b"".join(tables)).digest()


def rows_of(times, first):
    """Rows of some seconds; `seq` counts all of them."""
    made = [{"k": f"key {(first + n) % 3}", "ts": SECOND * t, "seq": first + n} for n, t in enumerate(times)]
    columns = {f.name: pa.array([row.get(f.name) for row in made], f.type) for f in TASK.rows}
    return pa.table(columns, TASK.rows)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 8)), max_size=25),
    st.sampled_from([0, 3_000, 1 << 16]),
)
def test_rows_come_out_once_and_in_the_order_of_arrival(steps, small):
    saved, waits, seen, now = Saved(), [], 0, 0
    room = PendingRows(TASK, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pending_rows, "SMALL", small)
        for times, forward in steps:
            now += forward
            waits += [(time, seen + n) for n, time in enumerate(times)]
            rows = rows_of(times, seen)
            seen += len(times)
            out, hashes = room.exchange(saved, rows, np.arange(seen - len(times), seen) % 3, SECOND * now)
            expected = [number for time, number in waits if time <= now]
            waits = [(time, number) for time, number in waits if time > now]
            assert out["seq"].to_pylist() == expected
            assert hashes.tolist() == [number % 3 for number in expected]
            assert out["k"].to_pylist() == [f"key {number % 3}" for number in expected]
            assert room.deadline == min((SECOND * t for t, _ in waits), default=NEVER)
            assert set(saved) == {number for number, *_ in room.saved}
            assert sum(entry[2] for entry in room.saved) <= 2 * len(waits)
            room = PendingRows(TASK, room.saved)
            if forward % 2:  # a process that has written none of it
                pending_rows.recent.clear()


def test_many_small_entries_are_one():
    saved, room = Saved(), PendingRows(TASK, [])
    for n in range(50):
        room.exchange(saved, rows_of([100], n), np.array([n % 3]), 0)
    assert len(saved) == 1
    [entry] = room.saved
    assert pending_rows.recent.find(entry[-1])["seq"].num_chunks == 1


def test_rows_far_ahead_hold_no_others():
    """One row of each batch has a clock that is wrong."""
    saved, room = Saved(), PendingRows(TASK, [])
    for n in range(100):
        times = [n + 1] * 2_000 + [10_000]
        room.exchange(saved, rows_of(times, 0), np.arange(len(times)) % 3, SECOND * n)
    assert len(saved) < 10
    assert sum(entry[2] for entry in room.saved) < 3_000


def test_rows_in_memory_hold_no_columns_that_do_not_wait():
    """With late="mark" rows come with all columns, in one piece of memory."""
    task = task_of({"n": sw.median("odo")}, window=sw.rows(5, every=3), late_row=SCHEMA)
    some = pa.Table.from_pylist([row("a", second, note="long " * 200) for second in range(100)], schema=SCHEMA)
    blob = pa.py_buffer(some.combine_chunks().to_batches()[0].serialize().to_pybytes())
    rows = pa.Table.from_batches([pa.ipc.read_record_batch(blob, SCHEMA)]).select(task.rows.names)
    room = PendingRows(task, [])
    room.exchange(Saved(), rows, np.zeros(100, np.int64), 0)
    [entry] = room.saved
    for column in pending_rows.recent.find(entry[-1]).columns:
        for buffer in filter(None, column.chunk(0).buffers()):
            assert not blob.address <= buffer.address < blob.address + blob.size


def test_a_damaged_entry_is_refused():
    saved, room = Saved(), PendingRows(TASK, [])
    room.exchange(saved, rows_of([1, 2], 0), np.arange(2) % 3, 0)
    [number] = saved
    saved[number][1] = saved[number][1][:50]
    pending_rows.recent.clear()
    with pytest.raises(StateError, match="saved state is damaged"):
        room.exchange(saved, rows_of([], 0), np.arange(0), 2 * SECOND)


def test_an_entry_with_other_rows_than_were_written_is_refused():
    """Of a micro-batch that was run twice, Spark may go on from the changes of one run on the state of the other."""
    saved, other, room = Saved(), Saved(), PendingRows(TASK, [])
    room.exchange(saved, rows_of([1, 9], 0), np.arange(2) % 3, 0)
    PendingRows(TASK, []).exchange(other, rows_of([9], 1), np.ones(1, np.int64), 0)
    assert saved.keys() == other.keys()
    pending_rows.recent.clear()
    with pytest.raises(StateError, match="2 rows wait, and 1 are there"):
        room.exchange(other, rows_of([], 0), np.arange(0), 9 * SECOND)


def test_rows_that_a_process_has_written_are_read_only_where_others_are_saved(monkeypatch):
    saved, room, reads = Saved(), PendingRows(TASK, []), []
    room.exchange(saved, rows_of([1, 9], 0), np.arange(2) % 3, 0)
    # A step that is never committed has written other rows under the same number.
    PendingRows(TASK, []).exchange(Saved(), rows_of([9], 7), np.zeros(1, np.int64), 0)
    monkeypatch.setattr(
        Saved, "read_entry", lambda self, number: reads.append(number) or dict.__getitem__(self, number)
    )
    for forget in (False, True):
        if forget:
            pending_rows.recent.clear()
        again = PendingRows(TASK, room.saved)
        out, _ = again.exchange(Saved(saved), rows_of([], 0), np.arange(0), 9 * SECOND)
        assert out["seq"].to_pylist() == [0, 1]
        assert bool(reads) is forget
