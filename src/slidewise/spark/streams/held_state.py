"""Held state: what the state of one bucket holds of each key, and its results as of today. Nothing is changed.

Rows of a stream are kept for frames to come, and so not every frame of today is there: one by rows whose last row was
emitted has lost its oldest row. Such a result is null, and `complete` says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.evaluate import Evaluation, pieces_of
from slidewise.columns.frames.bounds import Frames, Pieces
from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.frames.slides import Slides
from slidewise.columns.sorting import key_codes
from slidewise.columns.stream_options import FINAL, LATE, LATE_ROW, REVISION
from slidewise.spark.streams.finality import find_lifetimes
from slidewise.spark.streams.history import StreamHistory
from slidewise.spark.streams.micro_batches import MicroBatches, join_rows
from slidewise.spark.streams.results import choose_results
from slidewise.spark.streams.state_store import Bucket
from slidewise.spark.streams.step_data import ArrangedRows, JoinedRows
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.windows.definitions import WindowDefinition

#: what is told of each key besides its results: a struct; of slides, those that are open: a list of structs
HELD, OPEN = "held", "open"
#: By then all slides of today are complete: 1,000 years, in microseconds.
_LATER = 1000 * 366 * 86_400_000_000
#: columns of emitted slides that are none of the slide
_MARKS = (REVISION, FINAL, LATE, LATE_ROW)


class BucketCopy:
    """The values of one bucket in memory, where steps may write: the checkpoint never sees it."""

    def __init__(self, meta: bytes, values: dict[int, bytes]) -> None:
        self._meta, self._values = meta, dict(values)

    def copy(self) -> BucketCopy:
        """Copy the values as they are."""
        return BucketCopy(self._meta, self._values)

    def read_meta(self) -> bytes:
        return self._meta

    def write_meta(self, data: bytes) -> None:
        self._meta = data

    def read(self, piece: int) -> bytes | None:
        return self._values.get(piece)

    def write(self, piece: int, data: bytes) -> None:
        self._values[piece] = data

    def remove(self, piece: int) -> None:
        self._values.pop(piece, None)


def read_bucket(task: StreamTask, store: BucketCopy, watermark: int | None) -> pa.Table:
    """Read one row per key: the key, its results as of the watermark in microseconds, and what is held of it."""
    if task.begins is not None:
        store = store.copy()
        history = StreamHistory(MicroBatches(task), store)
        history.fill()
        watermark = max(watermark or 0, history.until)
    rows = _join_all(task, store.copy())
    names = list(task.partition_by)
    keys = rows.table.select(names).take(pa.array(rows.begin)) if names else None
    number = len(rows.begin)
    out = {} if keys is None else {name: in_one_piece(keys[name]) for name in names}
    if task.slides:
        complete = np.ones(number, bool)
        out[OPEN] = _list_open_slides(task, store.copy(), rows)
    else:
        results, complete = _compute_results(task, rows, watermark)
        out |= results
    out[HELD] = _describe(task, rows, watermark, complete)
    return pa.table(out)


def _join_all(task: StreamTask, store: BucketCopy) -> JoinedRows:
    """Join all rows of a bucket, those ahead of the watermark included, by key and order."""
    bucket = Bucket(store, task)
    results = choose_results(task)
    ahead, hashes = results.receive(task.rows.empty_table(), np.empty(0, np.int64))
    if task.waits_for_watermark:
        ahead, hashes = bucket.exchange(ahead, hashes, NEVER - 1)
    state = bucket.read(bucket.find_all())
    bucket.release()
    rows = results.merge(join_rows(task, state, ahead, hashes))
    if task.forget_after is None or not len(rows.table):
        return rows
    # Of a key that was forgotten and began anew, the last lifetime is that of today.
    lifetimes = find_lifetimes(task, rows, np.ones(len(rows.table), bool), bucket.watermark)
    last = np.isin(lifetimes.offsets[1:], rows.offsets) & ~lifetimes.ended
    return rows.take(np.flatnonzero(last[lifetimes.of]))


# ---- results per row
def _compute_results(
    task: StreamTask, rows: JoinedRows, watermark: int | None
) -> tuple[dict[str, pa.Array], np.ndarray]:
    """Compute the results of each key as of today, and tell for which keys all of them could be."""
    number, complete = len(rows.begin), np.ones(len(rows.begin), bool)
    arranged = ArrangedRows(task.cast_to_zone(rows.table), task.partition_by, task.order_by, rows.offsets)
    last, found = rows.offsets[1:] - 1, {}
    whole = {window: _find_whole(task, window, arranged, rows, watermark) for window in task.windows}
    frames = {window: _find_frames(task, window, arranged, rows, watermark) for window in task.windows}
    for window, own in frames.items():
        arranged.set_frames(window, own)
        complete &= whole[window]
    slides = Slides(Frames(last, last + 1), np.arange(number + 1), {}, last)
    results = Evaluation(arranged, task.expressions.values(), 1, slides).columns(task.expressions)
    for (name, column), kind in zip(results.items(), task.kinds, strict=True):
        window = task.expressions[name].window
        seen = whole[window] & (np.diff(rows.offsets) >= window.min_rows)
        found[name] = pc.if_else(pa.array(seen), cast_to(column, kind), pa.scalar(None, kind))
    return found, complete


def _find_frames(
    task: StreamTask, window: WindowDefinition, arranged: ArrangedRows, rows: JoinedRows, watermark: int | None
) -> Frames:
    """Find one frame for each key: that of its last row, and by time that of a row at the watermark, if it is later."""
    last = rows.offsets[1:] - 1
    frames = arranged.frames(window).take(last)
    reach = window.reach
    if reach is None or reach.unit != "range" or watermark is None or rows.times is None or not len(last):
        return frames
    # A row at the watermark comes after those of each key, and goes again: its frame is what it would see.
    ahead = rows.times[last] < watermark
    times = np.insert(rows.times, rows.offsets[1:], np.maximum(rows.times[last], watermark))
    assert task.time is not None
    column = pa.array(times).cast(task.rows.field(task.time).type)
    offsets = rows.offsets + np.arange(len(rows.offsets))
    moved = ArrangedRows(task.cast_to_zone(pa.table({task.time: column})), (), task.order_by[:1], offsets)
    made, key = moved.frames(window).take(offsets[1:] - 1), np.arange(len(last))
    pieces = [
        Frames(
            np.where(ahead, np.minimum(piece.start - key, last + 1), own.start),
            np.where(ahead, np.minimum(piece.end - key, last + 1), own.end),
        )
        for piece, own in zip(pieces_of(made), pieces_of(frames), strict=True)
    ]
    return pieces[0] if len(pieces) == 1 else Pieces(pieces)


def _find_whole(
    task: StreamTask, window: WindowDefinition, arranged: ArrangedRows, rows: JoinedRows, watermark: int | None
) -> np.ndarray:
    """Tell of which keys the state has all rows of today's frame."""
    number = len(rows.begin)
    if window.session_gap is not None and watermark is not None and rows.times is not None:
        assert task.time is not None
        gap = measure_length(window.session_gap, task.rows.field(task.time).type, task.time)
        still_open: np.ndarray = rows.times[rows.offsets[1:] - 1] + gap > watermark
        return still_open
    reach = window.reach
    if reach is None or reach.unit == "range" or not number:
        return np.ones(number, bool)
    # Frames to come reach so many rows, or groups, back, and as many stay of a key whose rows were all emitted. Where
    # fewer are there than the longest frame reaches, there never were more.
    emitted = np.logical_and.reduceat(rows.emitted, rows.begin)
    never_more = np.zeros(number, bool)
    held = {}
    for unit in {own.reach.unit for own in task.windows if own.reach is not None} & {"rows", "groups"}:
        group = np.arange(rows.offsets[-1]) if unit == "rows" else arranged.number_groups()
        held[unit] = group[rows.offsets[1:] - 1] - group[rows.begin] + 1
        longest = max(own.reach.back for own in task.windows if own.reach is not None and own.reach.unit == unit)
        never_more |= held[unit] < longest
    lacks: np.ndarray = emitted & ~never_more & (held[reach.unit] == reach.back) & (reach.back > 0)
    return ~lacks


# ---- slides
def _list_open_slides(task: StreamTask, store: BucketCopy, rows: JoinedRows) -> pa.Array:
    """List the slides of each key that are not complete yet, over the rows that are there."""
    pipeline = MicroBatches(task, whatever_was=True)
    none = task.incoming.empty_table()
    newest = 0 if rows.times is None else int(rows.times.max(initial=0))
    emitted = pipeline.advance(store, none, np.empty(0, np.int64), None if task.time is None else newest + _LATER).rows
    names = [name for name in emitted.column_names if name not in (*task.partition_by, *_MARKS)]
    slides = emitted.select(names).combine_chunks()
    made = pa.StructArray.from_arrays(
        [in_one_piece(slides[name]) for name in names], fields=[slides.schema.field(name) for name in names]
    )
    number = _number_keys(task, rows, emitted)
    order = np.argsort(number, kind="stable")
    order = order[number[order] >= 0]  # without those of keys that are forgotten
    ends = np.searchsorted(number[order], np.arange(len(rows.begin) + 1))
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), made.take(pa.array(order)))


def _number_keys(task: StreamTask, rows: JoinedRows, emitted: pa.Table) -> np.ndarray:
    """Find the number of the key of each slide."""
    names = list(task.partition_by)
    if not names or not len(emitted):
        return np.zeros(len(emitted), np.int64)
    keys = rows.table.select(names).take(pa.array(rows.begin))
    columns = [pa.chunked_array([*keys[name].chunks, *emitted[name].chunks]) for name in names]
    codes, number = key_codes([in_one_piece(column) for column in columns])
    place = np.full(number, -1)
    place[codes[: len(keys)]] = np.arange(len(keys))
    found: np.ndarray = place[codes[len(keys) :]]
    return found


# ---- what is held
def _describe(task: StreamTask, rows: JoinedRows, watermark: int | None, complete: np.ndarray) -> pa.Array:
    """Describe the rows of each key."""
    begin, number = rows.begin, len(rows.begin)
    size = np.zeros(len(rows.table))
    kept = rows.table.select([name for name in task.history.names if name in rows.table.column_names])
    pending = np.flatnonzero(~rows.emitted)
    size[:] = measure_rows(kept)
    if not task.slides and len(pending):
        names = [name for name in rows.whole.column_names if name not in task.partition_by]
        size[pending] = measure_rows(rows.whole.select(names).take(pa.array(rows.origin[pending])))
    held: dict[str, Any] = {
        "rows": pa.array(np.diff(rows.offsets).astype(np.int64)),
        "bytes": pa.array(np.add.reduceat(np.append(size, 0), begin)[:number].astype(np.int64)),
    }
    kind = pa.timestamp("us", "UTC") if task.time is None else task.rows.field(task.time).type
    oldest, newest, as_of = (pa.nulls(number, pa.int64()) for _ in range(3))
    if rows.times is not None and number:
        first, last = rows.times[begin], rows.times[rows.offsets[1:] - 1]
        #: of frames by rows, rows that were emitted are kept without their time
        timed = np.ones(len(rows.times), bool) if task.time in task.history.names else ~rows.emitted
        oldest = pa.array(first, mask=~timed[begin])
        newest = pa.array(last, mask=~timed[rows.offsets[1:] - 1])
        at = np.where(timed[rows.offsets[1:] - 1], last, np.iinfo(np.int64).min)
        at = at if watermark is None else np.maximum(at, watermark)
        as_of = pa.array(at)
    held |= {"oldest": oldest.cast(kind), "newest": newest.cast(kind), "as_of": as_of.cast(kind)}
    held["complete"] = pa.array(complete)
    return pa.StructArray.from_arrays(list(held.values()), list(held))


def measure_rows(table: pa.Table) -> np.ndarray:
    """Measure the bytes of each row of a table, as Arrow has them; values within lists and structs on average."""
    total = np.zeros(len(table))
    for name in table.column_names:
        column = in_one_piece(table[name])
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            total += 4 + pc.binary_length(column).fill_null(0).to_numpy()
        else:
            total += column.nbytes / max(1, len(column))
    return total
