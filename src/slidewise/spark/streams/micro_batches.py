"""Pipeline: rows of a stream in, results out, micro-batch by micro-batch; the stateful logic, without Spark.

State is raw rows, as in the worker of batches, and so no aggregate is written twice: rows of a key that later frames
can still reach (history), rows that are to be emitted (pending), and, apart from their keys, rows ahead of the
watermark (pending_rows.py). README.md draws the steps. What a result is (results.py) and when it is emitted
(emission.py) are two strategies that are given to the one pipeline.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.sorting import arrange, as_sortable
from slidewise.columns.stream_options import LATE, LATE_ROW
from slidewise.spark.streams.emission import ChangesOverTime, Emission, WithWatermark, choose_emission
from slidewise.spark.streams.finality import BoundaryFinality
from slidewise.spark.streams.keyed_state import KeyedState
from slidewise.spark.streams.last_results import find_keys, retain_results
from slidewise.spark.streams.results import Results, choose_results
from slidewise.spark.streams.running_totals import retain_totals
from slidewise.spark.streams.session_results import SessionFinality
from slidewise.spark.streams.state_store import Bucket, Store
from slidewise.spark.streams.step_data import JoinedRows, Progress, RowDecisions, StepResult
from slidewise.spark.streams.stream_task import (
    DROPPED_ROWS,
    HASH,
    HISTORY_ROWS,
    NEVER,
    PENDING_ROWS,
    REVISIONS,
    SLICE_ROWS,
    StreamTask,
)

#: Spark's watermark is in milliseconds
MILLISECOND = 1000


class MicroBatches:
    """One task over the rows of a bucket, micro-batch by micro-batch."""

    def __init__(self, task: StreamTask, whatever_was: bool = False) -> None:
        """Take a task; with `whatever_was`, results are emitted even where they are as the ones before."""
        self.task = task
        self._results: Results = choose_results(task)
        once = whatever_was and task.emit == "changes"
        self._emission: Emission = WithWatermark(task, self._results) if once else choose_emission(task, self._results)

    def advance(self, store: Store, new: pa.Table, hashes: np.ndarray, watermark: int | None) -> StepResult:
        """Take new rows, or slices of them, and the hashes of their keys.

        The watermark is in microseconds, None without one.
        """
        bucket = Bucket(store, self.task)
        was_due, timer = bucket.deadline, self._find_timer(bucket)
        rows, hashes, late, untimed = self._drop_late(new, hashes, Progress(watermark, bucket.watermark))
        dropped = count_rows(late)
        rows = rows if SLICE_ROWS in rows.column_names else rows.select(self.task.rows.names)
        rows, hashes = self._results.receive(rows, hashes)
        exchanged = False
        if self.task.waits_for_watermark and watermark is not None:
            exchanged = len(rows) > 0 or was_due <= watermark
            rows, hashes = bucket.exchange(rows, hashes, watermark)
        touched = bucket.find_touched(hashes, watermark)
        out = None
        if touched:
            out, state = self._step(bucket.read(touched), rows, hashes, Progress(watermark, bucket.watermark))
            bucket.replace(touched, state)
        moved = self.task.takes_late_rows and bucket.watermark != watermark
        if touched or moved:
            bucket.watermark = watermark
        if touched or moved or exchanged:
            bucket.save()
        out = self._emission.build_empty() if out is None else out
        if self.task.late_row is not None:
            out, dropped = mark_late(self.task, out, late), 0
        timers = (None if at == NEVER else at for at in (timer, self._find_timer(bucket)))
        return StepResult(out, dropped, untimed, *timers)

    def _find_timer(self, bucket: Bucket) -> int:
        """Find the next watermark at which something is due.

        Where late rows enter open windows, a bucket must know the watermark of the micro-batch before: which windows
        are closed there, even if none of them had rows here. It sees every one, with rows (wire.py) or with its timer.
        """
        if not self.task.takes_late_rows:
            return bucket.deadline
        return NEVER if bucket.watermark is None else bucket.watermark + MILLISECOND

    def _drop_late(
        self, new: pa.Table, hashes: np.ndarray, progress: Progress
    ) -> tuple[pa.Table, np.ndarray, pa.Table, int]:
        """Take out the new rows that are late, or have no time, of which only the number is told.

        Spark's own windows judge rows by the watermark of the micro-batch before, by which they were closed. All rows
        of a slice are in the same windows, and so are late or not together.
        """
        watermark = progress.watermark
        if self.task.time is None:
            return new, hashes, new[:0], 0
        column = new[self.task.time]
        untimed = column.null_count
        times = column.cast(pa.int64())
        if watermark is None or self.task.released:
            good = pc.is_valid(times)
        elif self.task.takes_late_rows:
            finality = self._results.finality
            assert isinstance(finality, BoundaryFinality | SessionFinality)
            open_until = finality.find_open_until(times.fill_null(0).to_numpy())
            good = pc.and_(pc.is_valid(times), pa.array(open_until > (progress.previous or 0)))
        else:
            good = pc.greater(times, watermark - (self.task.keep or 0)).fill_null(False)
        mask = good.to_numpy()
        if mask.all():
            return new, hashes, new[:0], 0
        return new.filter(good), hashes[mask], new.filter(pc.and_(pc.is_valid(times), pc.invert(good))), untimed

    def _step(
        self, state: KeyedState, new: pa.Table, hashes: np.ndarray, progress: Progress
    ) -> tuple[pa.Table | None, KeyedState]:
        """Join new rows with the state of their keys, emit what is due, and build the state that stays."""
        rows = self._results.merge(join_rows(self.task, state, new, hashes))
        decisions = RowDecisions.before_step(rows, state.last_results)
        if not len(rows.table):
            expires = isinstance(self._emission, ChangesOverTime)
            out = self._emission.emit(rows, progress, decisions) if expires else None
            last, expire = retain_results(self.task, rows, decisions, progress.watermark)
            totals, totals_expire = retain_totals(self.task, rows, decisions, progress.watermark)
            changed = np.zeros(len(totals), bool)
            return out, replace(
                state,
                last_results=last,
                results_expire=expire,
                totals=totals,
                totals_expire=totals_expire,
                totals_changed=changed,
                tells_expiry=self.task.empty,
            )
        out = self._emission.emit(rows, progress, decisions)
        return out, self._build_state(rows, decisions, progress.watermark)

    def _build_state(self, rows: JoinedRows, decisions: RowDecisions, watermark: int | None) -> KeyedState:
        """Build the state of all keys of which something stays."""
        begin = rows.begin
        history, pending, unemitted = (
            np.add.reduceat(mask.astype(np.int32), begin, dtype=np.int32)
            for mask in (decisions.history, decisions.pending, decisions.unemitted)
        )
        stay = (history > 0) | (pending > 0)
        keys = rows.table.select(list(self.task.partition_by)).take(pa.array(begin[stay]))
        columns = {
            HASH: rows.hashes[begin],
            DROPPED_ROWS: decisions.dropped,
            HISTORY_ROWS: history,
            PENDING_ROWS: pending,
        }
        for name, column in columns.items():
            keys = (
                keys.append_column(name, pa.array(column[stay])) if keys.num_columns else pa.table({name: column[stay]})
            )
        due = np.minimum.reduceat(np.where(decisions.pending | decisions.history, decisions.due, NEVER), begin)
        last, results_expire = retain_results(self.task, rows, decisions, watermark)
        totals, totals_expire = retain_totals(self.task, rows, decisions, watermark)
        came_or_went = (rows.origin >= rows.were_pending) | ~(rows.emitted | decisions.pending)
        return KeyedState(
            keys,
            rows.table.select(self.task.history.names).filter(pa.array(decisions.history)),
            self._take_pending(rows, decisions),
            last,
            totals,
            due[stay],
            np.where(unemitted > 0, NEVER, self._results.finality.expire(rows))[stay],
            results_expire,
            np.logical_or.reduceat(came_or_went, begin)[stay],
            totals_expire,
            find_keys(totals, rows, self.task.partition_by) >= 0,
            self.task.empty,
        )

    def _take_pending(self, rows: JoinedRows, decisions: RowDecisions) -> pa.Table:
        """Take the pending rows with all of their columns."""
        names, at = self.task.pending.names, pa.array(rows.origin[decisions.pending])
        if decisions.revisions is None:
            return rows.whole.select(names).take(at)
        revisions = pa.array(decisions.revisions[decisions.pending])
        return rows.whole.take(at).append_column(REVISIONS, revisions).select(names)


# ---- late rows
def count_rows(table: pa.Table) -> int:
    """Count rows, or those that slices are of."""
    return int(pc.sum(table[SLICE_ROWS]).as_py() or 0) if SLICE_ROWS in table.column_names else len(table)


def mark_late(task: StreamTask, emitted: pa.Table, late: pa.Table) -> pa.Table:
    """Add late rows to those that are emitted, and the column that tells them apart.

    A late row has its own columns, as far as rows that are emitted have them, and nulls in all others. Slides have none
    of the columns that results are computed of: there the row is a struct besides.
    """
    columns = [
        pa.nulls(len(late), field.type)
        if field.name in task.expressions or field.name not in late.column_names
        else in_one_piece(late[field.name]).cast(field.type)
        for field in emitted.schema
    ]
    rows = pa.concat_tables([emitted, pa.table(columns, schema=emitted.schema)])
    number = len(emitted)
    rows = rows.append_column(LATE, pa.array(np.arange(len(rows)) >= number))
    if not task.slides:
        return rows
    assert task.late_row is not None
    whole = pa.struct(list(task.late_row))
    made = pa.StructArray.from_arrays([in_one_piece(late[field.name]) for field in whole], fields=list(whole))
    return rows.append_column(LATE_ROW, pa.chunked_array([pa.nulls(number, whole), made], whole))


# ---- joining
def join_rows(task: StreamTask, state: KeyedState, new: pa.Table, hashes: np.ndarray) -> JoinedRows:
    """Join new rows with those of the state, and arrange all of them by key and order."""
    history, pending = (
        state.keys.take(pa.array(np.repeat(np.arange(len(state.keys)), state.read_counts(name))))
        for name in (HISTORY_ROWS, PENDING_ROWS)
    )
    keys = {
        name: pa.chunked_array([*history[name].chunks, *pending[name].chunks, *new[name].chunks], new[name].type)
        for name in task.partition_by
    }
    others = {
        name: pa.chunked_array(
            [*state.history[name].chunks, *state.pending[name].chunks, *new[name].chunks], new[name].type
        )
        for name in task.history.names
    }
    table = pa.table({name: in_one_piece(column) for name, column in (keys | others).items()})
    every_hash = np.concatenate([history[HASH].to_numpy(), pending[HASH].to_numpy(), hashes])
    dropped = np.concatenate(
        [history[DROPPED_ROWS].to_numpy(), pending[DROPPED_ROWS].to_numpy(), np.zeros(len(new), np.int64)]
    )
    whole = pa.table(
        {
            name: pa.chunked_array([*_find_pending_column(name, pending, state.pending).chunks, *new[name].chunks])
            for name in new.column_names
        },
        new.schema,
    )
    column = {name: in_one_piece(table[name]) for name in table.column_names}
    names = [by.name for by in task.order_by]
    sorts = {name: column[name] for name in names if name in column}
    if len(sorts) < len(names):  # history is in order, and a column that it has may sort after one that it lacks
        sorts = {name: _build_order_after_history(len(state.history), whole[name]) for name in names}
    order = [numbers for by in task.order_by for numbers in as_sortable(sorts[by.name], by)]
    arranged = arrange(len(table), [column[name] for name in task.partition_by], order)
    permutation = np.arange(len(table)) if arranged.in_order else arranged.permutation
    assert permutation is not None
    origin = permutation - len(state.history)
    return JoinedRows(
        table if arranged.in_order else table.take(pa.array(permutation)),
        origin,
        whole,
        len(state.pending),
        every_hash[permutation],
        np.maximum.reduceat(dropped[permutation], arranged.offsets[:-1]) if len(table) else dropped,
        arranged.offsets,
        (sorts | column)[task.time].cast(pa.int64()).to_numpy()[permutation] if task.time is not None else None,
        state.totals,
        _join_revisions(state.pending[REVISIONS], origin) if REVISIONS in state.pending.column_names else None,
    )


def _find_pending_column(name: str, keys: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    return others[name] if name in others.column_names else keys[name]


def _build_order_after_history(history: int, others: pa.ChunkedArray) -> pa.Array:
    """Build a column of the order that history is kept without: its rows are before all others."""
    before = pa.nulls(history, others.type)
    if pa.types.is_timestamp(others.type):
        first = pc.min(others).cast(pa.int64()).as_py() or 0
        before = pa.array(np.full(history, first - 1)).cast(others.type)
    return in_one_piece(pa.chunked_array([before, *others.chunks], others.type))


def _join_revisions(pending: pa.ChunkedArray, origin: np.ndarray) -> np.ndarray:
    """Tell the last revision of each row that was emitted: -1 for new rows, and 0 for history, where it is unused."""
    revisions = np.zeros(len(origin), np.int32)
    open_rows = origin >= 0
    before = np.append(pending.to_numpy(), np.full(int(open_rows.sum()) - len(pending), -1, np.int32))
    revisions[open_rows] = before[origin[open_rows]]
    return revisions
