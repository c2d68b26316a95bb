"""Rows of a stream in, final rows out: the stateful logic, without Spark.

State is raw rows, as in the worker of batches, and so no aggregate is written twice: rows of a key that later frames
can still reach, rows whose frames can still grow, and, apart from their keys, rows ahead of the watermark (waiting.py).
A step joins the rows whose time has come with those of the same keys, lets the engine of columns compute them all at
once, gives the rows that are final, and keeps what is still needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sorting import arrange, sortable
from slidewise.spark.streams.finality import Arrived, first_needed, first_open, lookback, next_final
from slidewise.spark.streams.last_results import news, remaining
from slidewise.spark.streams.state_store import Bucket, Held, Store, together
from slidewise.spark.streams.step_data import Fate, Joined, Part, Results, Sessions, Step
from slidewise.spark.streams.stream_task import BEFORE, HASH, KEPT, NEVER, WAITING, StreamTask


class Processing:
    """One task over the rows of a bucket, step by step."""

    def __init__(self, task: StreamTask) -> None:
        self.task = task
        #: whether the number of rows that a key has had matters
        self._counts = False
        #: how far back in time all frames reach; None where some count rows
        self._lookback: int | None = None
        if task.time is not None:
            kind = task.rows.field(task.time).type
            reach = [lookback(window, kind, task.time) for window in task.windows]
            self._lookback = None if None in reach else max(r for r in reach if r is not None)

    def advance(self, store: Store, new: pa.Table, hashes: np.ndarray, watermark: int | None) -> Step:
        """Take new rows and the hashes of their keys; the watermark is in microseconds, None without one."""
        bucket = Bucket(store, self.task)
        was_due = bucket.deadline
        rows, hashes, late, untimed = self._in_time(new, hashes, watermark)
        waited = False
        if self.task.waits_for_watermark and watermark is not None:
            waited = len(rows) > 0 or was_due <= watermark
            rows, hashes = bucket.exchange(rows, hashes, watermark)
        touched = set(np.unique(bucket.leaves(hashes)).tolist())
        if watermark is not None:
            touched |= {piece for piece, due in bucket.due.items() if due <= watermark}
        out = self._nothing()
        if touched:
            held = together((bucket.read(piece) for piece in sorted(touched)), bucket.empty)
            out, left = self._step(held, rows, hashes, watermark, bucket.mark)
            bucket.replace(touched, left)
            bucket.mark = watermark
        if touched or waited:
            bucket.save()
        return Step(out, late, untimed, *(None if at == NEVER else at for at in (was_due, bucket.deadline)))

    def _in_time(
        self, new: pa.Table, hashes: np.ndarray, watermark: int | None
    ) -> tuple[pa.Table, np.ndarray, int, int]:
        """The new rows without those that are late, or have no time."""
        if self.task.time is None:
            return new, hashes, 0, 0
        column = new[self.task.time]
        untimed = column.null_count
        times = column.cast(pa.int64())
        if watermark is None or self.task.released:
            good = pc.is_valid(times)
        else:
            good = pc.greater(times, watermark - (self.task.keep or 0)).fill_null(False)
        mask = good.to_numpy()
        dropped = len(mask) - int(mask.sum())
        return (new.filter(good), hashes[mask], dropped - untimed, untimed) if dropped else (new, hashes, 0, 0)

    def _nothing(self) -> pa.Table:
        kinds = zip(self.task.expressions, self.task.kinds, strict=True)
        table = self.task.rows.empty_table()
        for name, kind in kinds:
            table = _with(table, name, pa.array([], kind))
        return table

    # ---- one step
    def _step(
        self, held: Held, new: pa.Table, hashes: np.ndarray, watermark: int | None, mark: int | None
    ) -> tuple[pa.Table, Held]:
        """`mark` is the watermark of the step before."""
        joined = self._join(held, new, hashes)
        waits = ~joined.emitted
        due = np.full(len(waits), NEVER)
        if joined.times is not None:
            due = np.where(waits, joined.times, due)
        fate = Fate(joined.emitted, waits, due, waits, joined.before.copy(), held.notes)
        if not len(joined.table):
            notes, over = remaining(self.task, joined, fate, watermark)
            return self._nothing(), replace(held, notes=notes, notes_over=over)
        results = self._results(joined, watermark, mark, fate)
        if results is None:
            out = self._nothing()
        else:
            out = news(self.task, joined, results, fate) if self.task.emit == "changes" else results.table
        return out, self._left(joined, fate, watermark)

    def _join(self, held: Held, new: pa.Table, hashes: np.ndarray) -> Joined:
        task = self.task
        kept, waiting = (
            held.keys.take(pa.array(np.repeat(np.arange(len(held.keys)), held.counts(name))))
            for name in (KEPT, WAITING)
        )
        keys = {
            name: pa.chunked_array([*kept[name].chunks, *waiting[name].chunks, *new[name].chunks], new[name].type)
            for name in task.partition_by
        }
        others = {
            name: pa.chunked_array(
                [*held.kept[name].chunks, *held.waiting[name].chunks, *new[name].chunks], new[name].type
            )
            for name in task.history.names
        }
        table = pa.table({name: in_one_piece(column) for name, column in (keys | others).items()})
        every_hash = np.concatenate([kept[HASH].to_numpy(), waiting[HASH].to_numpy(), hashes])
        gone = np.concatenate([kept[BEFORE].to_numpy(), waiting[BEFORE].to_numpy(), np.zeros(len(new), np.int64)])
        whole = pa.table(
            {
                name: pa.chunked_array([*_source(name, waiting, held.waiting).chunks, *new[name].chunks])
                for name in new.column_names
            },
            new.schema,
        )
        column = {name: in_one_piece(table[name]) for name in table.column_names}
        for by in task.order_by:
            if by.name not in column:
                column[by.name] = self._after_history(len(held.kept), whole[by.name])
        order = [numbers for by in task.order_by for numbers in sortable(column[by.name], by)]
        arranged = arrange(len(table), [column[name] for name in task.partition_by], order)
        permutation = np.arange(len(table)) if arranged.in_order else arranged.permutation
        assert permutation is not None
        times = column[task.time].cast(pa.int64()).to_numpy()[permutation] if task.time is not None else None
        return Joined(
            table if arranged.in_order else table.take(pa.array(permutation)),
            permutation - len(held.kept),
            whole,
            len(held.waiting),
            every_hash[permutation],
            np.maximum.reduceat(gone[permutation], arranged.offsets[:-1]) if len(table) else gone,
            arranged.offsets,
            times,
        )

    def _after_history(self, kept: int, others: pa.ChunkedArray) -> pa.Array:
        """A column of the order that history is kept without: its rows are before all others."""
        before = pa.nulls(kept, others.type)
        if pa.types.is_timestamp(others.type):
            first = pc.min(others).cast(pa.int64()).as_py() or 0
            before = pa.array(np.full(kept, first - 1)).cast(others.type)
        return in_one_piece(pa.chunked_array([before, *others.chunks], others.type))

    def _results(self, joined: Joined, watermark: int | None, mark: int | None, fate: Fate) -> Results | None:
        """Compute the rows of keys that have news, and decide what becomes of all rows."""
        part = self._settle(joined, watermark, fate)
        fate.pending = fate.waits
        if part is None:
            return None
        fate.due[part.places] = part.each(part.due)
        fate.due[~fate.waits] = NEVER
        return self._output(joined, part, ~joined.emitted[part.places] & ~fate.waits[part.places])

    def _settle(self, joined: Joined, watermark: int | None, fate: Fate) -> Part | None:
        """Decide which rows wait, and which are still needed, as of a watermark."""
        known = joined.known(watermark)
        sessions = self._sessions(joined, known, watermark)
        fate.history &= ~sessions.ended[sessions.of]
        if self._lookback is not None and watermark is not None and joined.times is not None:
            fate.history &= joined.times >= watermark - self._lookback
        part = self._part(joined, sessions, known, ~joined.emitted, watermark)
        if part is None:
            return None
        rows, places = part.rows, part.places
        needed = np.where(part.ended, rows.end, self._first_needed(rows, part.first, watermark))
        since = np.arange(len(places)) >= part.each(needed)
        at_once = self.task.emit == "arrival"
        fate.history[places] = since if at_once else part.final & since
        fate.waits[places] = False if at_once else ~part.final
        if self._counts:  # of the last session of a key, which is the only one that stays
            fate.before[joined.key_of(places[rows.begin])] = rows.places[rows.begin] + needed - rows.begin
        return part

    def _part(
        self, joined: Joined, sessions: Sessions, known: np.ndarray, fresh: np.ndarray, watermark: int | None
    ) -> Part | None:
        """The known rows of sessions in which some are fresh."""
        at_once = self.task.emit == "arrival"
        ready = np.ones(len(known), bool) if at_once else known
        news = np.bincount(sessions.of[ready & fresh], minlength=len(sessions.ended)) > 0
        places = np.flatnonzero(ready & news[sessions.of])
        if not len(places):
            return None
        rows, numbers = self._arrived(joined, places, sessions)
        if at_once:
            first, due = rows.first(~known[places]), np.full(len(rows.end), NEVER)
        else:
            first, due = self._first_open(rows, watermark)
            if self.task.forget_after is not None:
                due = np.minimum(due, self._forgotten(joined, sessions.offsets)[numbers])
        ended = sessions.ended[numbers]
        return Part(rows, places, np.where(ended, rows.end, first), due, ended)

    def _arrived(self, joined: Joined, places: np.ndarray, sessions: Sessions) -> tuple[Arrived, np.ndarray]:
        """Some rows, whole sessions as far as they are known, and the numbers of these sessions."""
        numbers = sessions.of[places]
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        numbers = numbers[firsts]
        before = None
        if self._counts:
            begins = sessions.offsets[numbers]
            key = joined.key_of(begins)
            before = np.where(begins == joined.offsets[key], joined.before[key], 0)
        table = joined.table if len(places) == len(joined.table) else joined.table.take(pa.array(places))
        offsets = np.append(firsts, len(places))
        table = self.task.as_computed(table)
        return Arrived(table, self.task.partition_by, self.task.order_by, offsets, before), numbers

    def _output(self, joined: Joined, part: Part, out: np.ndarray) -> Results:
        """Rows that are final: all of their columns, and their results."""
        results = Evaluation(part.rows, self.task.expressions.values(), 1).columns(self.task.expressions)
        chosen = np.flatnonzero(out)
        places = part.places[chosen]
        table = joined.whole.take(pa.array(joined.origin[places]))
        for (name, column), kind in zip(results.items(), self.task.kinds, strict=True):
            table = _with(table, name, of_type(column.take(pa.array(chosen)), kind))
        return Results(table, places)

    def _sessions(self, joined: Joined, known: np.ndarray, watermark: int | None) -> Sessions:
        """Where keys begin, or begin anew after they were forgotten."""
        forget_after = self.task.forget_after
        offsets, number = joined.offsets, len(joined.offsets) - 1
        ended = np.zeros(number, bool)
        if forget_after is not None and joined.times is not None:
            anew = np.zeros(len(known) + 1, bool)
            anew[1:-1] = known[1:] & (np.diff(joined.times) > forget_after)
            anew[joined.offsets] = True
            offsets = np.flatnonzero(anew)
            ended = ~np.isin(offsets[1:], joined.offsets)
            if watermark is not None:
                ended |= self._forgotten(joined, offsets) <= watermark
        return Sessions(offsets, np.repeat(np.arange(len(ended)), np.diff(offsets)), ended)

    def _forgotten(self, joined: Joined, sessions: np.ndarray) -> np.ndarray:
        """When each session is forgotten, if no more rows come."""
        assert joined.times is not None and self.task.forget_after is not None
        return joined.times[sessions[1:] - 1] + self.task.forget_after + 1

    def _first_open(self, rows: Arrived, watermark: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The first row of each session that is not final, and when time alone makes it so."""
        assert watermark is not None
        first, due = rows.end, np.full(len(rows.end), NEVER)
        for window in self.task.windows:
            own = first_open(window, rows, watermark)
            closes = next_final(window, rows, own)
            first, due = np.minimum(first, own), due if closes is None else np.minimum(due, closes)
        return first, due

    def _first_needed(self, rows: Arrived, first: np.ndarray, watermark: int | None) -> np.ndarray:
        """The first row of each session that rows which are not final, or are to come, can reach."""
        needed = first
        for window in self.task.windows:
            needed = np.minimum(needed, first_needed(window, rows, first, watermark))
        return needed

    # ---- what is left
    def _left(self, joined: Joined, fate: Fate, watermark: int | None) -> Held:
        """The state of all keys that have something left."""
        begin = joined.begin
        kept, waiting, pending = (
            np.add.reduceat(mask.astype(np.int32), begin, dtype=np.int32)
            for mask in (fate.history, fate.waits, fate.pending)
        )
        stays = (kept > 0) | (waiting > 0)
        keys = joined.table.select(list(self.task.partition_by)).take(pa.array(begin[stays]))
        for name, column in ((HASH, joined.hashes[begin]), (BEFORE, fate.before), (KEPT, kept), (WAITING, waiting)):
            keys = (
                keys.append_column(name, pa.array(column[stays]))
                if keys.num_columns
                else pa.table({name: column[stays]})
            )
        due = np.minimum.reduceat(np.where(fate.waits | fate.history, fate.due, NEVER), begin)
        notes, notes_over = remaining(self.task, joined, fate, watermark)
        return Held(
            keys,
            joined.table.select(self.task.history.names).filter(pa.array(fate.history)),
            self._waiting(joined, fate),
            notes,
            due[stays],
            np.where(pending > 0, NEVER, self._over(joined))[stays],
            notes_over,
            np.logical_or.reduceat((joined.origin >= joined.waited) | ~(joined.emitted | fate.waits), begin)[stays],
        )

    def _waiting(self, joined: Joined, fate: Fate) -> pa.Table:
        return joined.whole.select(self.task.waiting.names).take(pa.array(joined.origin[fate.waits]))

    def _over(self, joined: Joined) -> np.ndarray:
        """When nothing of each key is needed any more, if no more rows come."""
        lengths = [length for length in (self.task.forget_after, self._lookback) if length is not None]
        if joined.times is None or not lengths:
            return np.full(len(joined.offsets) - 1, NEVER)
        return joined.times[joined.offsets[1:] - 1] + min(lengths) + (self.task.keep or 0) + 1


def of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column of the type that was promised."""
    return column if column.type == kind else column.cast(kind)


def _source(name: str, keys: pa.Table, others: pa.Table) -> pa.ChunkedArray:
    return others[name] if name in others.column_names else keys[name]


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    """A table with a new column, in the place of one of that name."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)
