"""A history before a stream: what comes out is that of a batch over both, without the rows of the history."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batch, batches, expect, hashes_of, row, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.spark.streams.held_state import BucketCopy, read_bucket
from slidewise.spark.streams.history import UNKNOWN, StreamHistory
from slidewise.spark.streams.micro_batches import MicroBatches


class AfterHistory(Stream):
    """A stream with a history, which comes in several pieces."""

    watermark: int
    late: int
    newest: int | None

    def __init__(self, task, delay, pieces, until):
        super().__init__(task, delay)
        self.in_history, self.until = 0, until
        for piece in pieces:
            piece = piece.select(task.incoming.names)
            self._history().take(piece, hashes_of(piece, task.partition_by), until)

    def _history(self):
        return StreamHistory(MicroBatches(self.task), self.memory)

    def push(self, rows, told=False):
        rows = rows.select(self.task.incoming.names)
        step, in_history = self._history().advance(rows, hashes_of(rows, self.task.partition_by), self.watermark)
        self.late, self.in_history = self.late + step.late, self.in_history + in_history
        self.out.append(step.rows)
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        self.newest = max([*times, *([] if self.newest is None else [self.newest])], default=None)
        if self.newest is not None:
            self.watermark = max(self.watermark, (self.newest - self.delay) // 1000 * 1000)

    def flush(self):
        self.watermark = max(self.watermark, self.until)
        super().flush()


def times_of(table):
    return table["ts"].cast(pa.int64())


def divide(parts):
    """History from the first half of the parts, what of the others is after it, and what is not."""
    half = max(1, len(parts) // 2)
    until = pc.max(times_of(pa.concat_tables(parts[:half]))).as_py()
    assume(until is not None and parts[half:])
    after = [part.filter(pc.greater(times_of(part), until)) for part in parts[half:]]
    inside = sum(map(len, parts[half:])) - sum(map(len, after))
    return parts[:half], until, parts[half:], after, inside


def run(task, parts, delay):
    before, until, stream_parts, after, inside = divide(parts)
    stream = AfterHistory(task, delay * SECOND, before, until)
    for part in stream_parts:
        stream.push(part)
    stream.flush()
    stream.flush()
    assert stream.in_history == inside
    return stream, before, until, after


ROWS = {
    "span": sw.collect_list("seq").over(sw.time("10s")),
    "typical": sw.median("odo").over(sw.rows(4)),
    "trip": sw.count().over(sw.punctuation("mark")),
}
WAITING = {"next": sw.collect_list("seq").over(sw.rows_between(-2, 2)), "n": sw.count().over(sw.rows(3))}


@pytest.mark.parametrize("over", [ROWS, WAITING, {"session": sw.count().over(sw.session("3s"))}])
@examples(20)
@given(batches(), st.sampled_from([2, 10, 1000]))
def test_rows_after_a_history_are_those_of_a_batch_over_both(over, parts, delay):
    task = task_of(over, forget_after=10**11)  # by which all rows come out that wait for following ones
    stream, before, until, after = run(task, parts, delay)
    # Late rows are those of the stream alone: with the longest delay there are none.
    expected = batch(task, pa.concat_tables([*before, *kept(after, parts, delay)]))
    same(stream.result(), expected.filter(pc.greater(times_of(expected), until)))


def kept(after, parts, delay):
    """The rows after the history that were not late, by the watermark of all rows that came."""
    half, newest, watermark, found = max(1, len(parts) // 2), None, 0, []
    for came, rows in zip(parts[half:], after, strict=True):
        found.append(rows.filter(pc.greater(times_of(rows), watermark)))
        top = pc.max(times_of(came)).as_py()
        newest = max(t for t in (newest, top, 0) if t is not None)
        watermark = max(watermark, (newest - delay * SECOND) // 1000 * 1000)
    return found


@pytest.mark.parametrize(
    "window", [sw.time("10s", every="3s"), sw.rows(4, every="7s"), sw.rows(5, every=3), sw.session("3s")]
)
@pytest.mark.parametrize("slices", [False, True])
@examples(10)
@given(parts=batches())
def test_slides_after_a_history_are_those_of_a_batch_over_both(window, slices, parts):
    task = task_of({"n": sw.count(), "top": sw.max("seq")}, window=window, slices=slices and window.hopping)
    stream, before, until, after = run(task, parts, 1000)
    expected = batch(task, pa.concat_tables([*before, *after]))
    end = expected["ts" if "ts" in expected.column_names else "window_end"].cast(pa.int64())
    last = until if "ts" in expected.column_names else until + 1  # the end itself is outside of the window
    by = ("k", "ts") if "ts" in expected.column_names else ("k", "window_end")
    same(stream.result(), expected.filter(pc.greater(end, last)), by=by)


@examples(10)
@given(parts=batches())
def test_revisions_after_a_history_are_of_rows_after_it(parts):
    task = task_of(WAITING, keep=1000 * SECOND, forget_after=10**11)
    stream, before, until, after = run(task, parts, 0)
    last = {}
    for each in stream.result().to_pylist():
        last[each["seq"]] = each
    expected = batch(task, pa.concat_tables([*before, *after]))
    expected = expected.filter(pc.greater(times_of(expected), until))
    found = pa.Table.from_pylist(list(last.values()), schema=stream.result().schema).drop_columns(["revision"])
    same(found, expected)


@examples(10)
@given(parts=batches())
def test_changes_after_a_history_go_on_from_its_last_results(parts):
    task = task_of({"n": sw.count("x").over(sw.rows(2))}, emit="changes")
    stream, before, until, after = run(task, parts, 1000)
    both = pa.concat_tables([*before, *after])
    keys, order = task.partition_by, list(task.order_by)
    expected = sw.with_columns(both, partition_by=keys, order_by=order, emit="changes", **task.expressions)
    same(stream.result(), expected.filter(pc.greater(times_of(expected), until)))


def test_the_state_can_be_read_before_the_first_row_of_the_stream():
    part = pa.Table.from_pylist([row("a", s, seq=s) for s in (1, 2, 8)], schema=SCHEMA)
    until = pc.max(times_of(part)).as_py()
    stream = AfterHistory(task_of({"span": sw.collect_list("seq").over(sw.time("6s"))}), 0, [part[:1], part[1:]], until)
    found = read_bucket(stream.task, BucketCopy(stream.memory.meta, stream.memory.pieces), 0)
    assert found["span"].to_pylist() == [[2, 8]]


def test_an_empty_history_changes_nothing():
    part = pa.Table.from_pylist([row("a", s) for s in (1, 2, 30)], schema=SCHEMA)
    task = task_of(ROWS)
    stream = AfterHistory(task, 0, [SCHEMA.empty_table()], UNKNOWN)
    stream.push(part)
    stream.flush()
    same(stream.result(), expect(task, [part], 0))
