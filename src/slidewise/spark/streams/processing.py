"""Rows of a stream in, final rows out: the stateful logic, without Spark.

State is raw rows, as in the worker of batches, and so no aggregate is written twice: rows of a key that later frames
can still reach, and rows that wait for the watermark. A step joins them with the new rows of the same keys, lets the
engine of columns compute them all at once, gives the rows that are final, and keeps what is still needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.interchange import in_one_piece
from slidewise.columns.order import arrange, sortable
from slidewise.columns.plan import Evaluation
from slidewise.spark.streams.definition import StreamTask
from slidewise.spark.streams.horizon import Arrived, first_needed, first_open, lookback, next_final
from slidewise.spark.streams.pieces import BEFORE, HASH, KEPT, NEVER, WAITING, Bucket, Held, Store, together


@dataclass(frozen=True)
class Step:
    """What came of some rows and a watermark."""

    #: rows that are final, by key and in the order of each
    rows: pa.Table
    #: how many new rows were at or before the watermark, and how many had no time
    late: int
    untimed: int
    #: the next watermark at which something is due, before this step and after it; None: at none
    was_due: int | None
    deadline: int | None


@dataclass(frozen=True)
class Joined:
    """All rows at hand, arranged by key and order."""

    #: what aggregates read, keys included
    table: pa.Table
    #: where all columns of a row are in `whole`; negative: it has come out already
    origin: np.ndarray
    whole: pa.Table
    hashes: np.ndarray
    #: how many rows of each key are gone
    before: np.ndarray
    #: key k is rows offsets[k] to offsets[k + 1] - 1
    offsets: np.ndarray
    #: microseconds; None without an order
    times: np.ndarray | None

    @property
    def emitted(self) -> np.ndarray:
        """Which rows have come out."""
        return self.origin < 0


@dataclass
class Fate:
    """What becomes of each row: it comes out, it stays since frames reach it, it waits; and when it is due."""

    out: np.ndarray
    history: np.ndarray
    waits: np.ndarray
    due: np.ndarray
    #: how many rows of each key are gone by then
    before: np.ndarray


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
        touched = set(np.unique(bucket.leaves(hashes)).tolist())
        if watermark is not None:
            touched |= {piece for piece, due in bucket.due.items() if due <= watermark}
        out = self._nothing()
        if touched:
            held = together((bucket.read(piece) for piece in sorted(touched)), bucket.empty)
            out, left = self._step(held, rows, hashes, watermark, bucket.mark)
            bucket.replace(touched, left)
            bucket.mark = watermark
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
        all_on_time = watermark is None or self.task.released
        good = pc.is_valid(times) if all_on_time else pc.greater(times, watermark).fill_null(False)
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
        joined = self._join(held, new, hashes)
        if not len(joined.table):
            return self._nothing(), held
        known = self._known(joined, watermark)
        waits = ~joined.emitted
        due = np.full(len(known), NEVER)
        if joined.times is not None:
            due = np.where(waits, joined.times, due)
        fate = Fate(np.zeros(len(known), bool), joined.emitted, waits, due, joined.before.copy())
        out = self._settle(joined, known, watermark, mark, fate)
        return out, self._left(joined, fate)

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
        order = [numbers for by in task.order_by for numbers in sortable(column[by.name], by)]
        arranged = arrange(len(table), [column[name] for name in task.partition_by], order)
        permutation = np.arange(len(table)) if arranged.in_order else arranged.permutation
        assert permutation is not None
        times = table[task.time].cast(pa.int64()).to_numpy()[permutation] if task.time is not None else None
        return Joined(
            table if arranged.in_order else table.take(pa.array(permutation)),
            permutation - len(held.kept),
            whole,
            every_hash[permutation],
            np.maximum.reduceat(gone[permutation], arranged.offsets[:-1]) if len(table) else gone,
            arranged.offsets,
            times,
        )

    def _known(self, joined: Joined, watermark: int | None) -> np.ndarray:
        """Which rows have no unknown row before them."""
        if joined.times is None or watermark is None:
            return np.ones(len(joined.table), bool)
        return joined.times <= watermark

    def _settle(
        self, joined: Joined, known: np.ndarray, watermark: int | None, mark: int | None, fate: Fate
    ) -> pa.Table:
        """Compute the rows of keys that have news, and decide what becomes of them."""
        at_once = self.task.emit == "arrival"
        sessions = self._sessions(joined, known)
        session_of = np.repeat(np.arange(len(sessions) - 1), np.diff(sessions))
        gone = self._gone(joined, sessions, watermark)
        fate.history &= ~gone[session_of]
        if self._lookback is not None and watermark is not None and joined.times is not None:
            fate.history &= joined.times >= watermark - self._lookback
        ready = np.ones(len(known), bool) if at_once else known
        news = np.bincount(session_of[ready & ~joined.emitted], minlength=len(gone)) > 0
        places = np.flatnonzero(ready & news[session_of])
        if not len(places):
            return self._nothing()
        rows, numbers = self._arrived(joined, places, session_of, sessions)
        closed = gone[numbers]
        if at_once:
            first = rows.first(~known[places])
        else:
            first, due = self._first_open(rows, watermark)
            if self.task.forget_after is not None:
                due = np.minimum(due, self._forgotten(joined, sessions)[numbers])
            fate.due[places] = np.repeat(due, np.diff(rows.offsets))
        first = np.where(closed, rows.end, first)
        needed = np.where(closed, rows.end, self._first_needed(rows, first, watermark))
        row, each = np.arange(len(places)), np.diff(rows.offsets)
        before, since = row < np.repeat(first, each), row >= np.repeat(needed, each)
        emitted = joined.emitted[places]
        fate.out[places] = ~emitted if at_once else before & ~emitted
        fate.history[places] = since if at_once else before & since
        fate.waits[places] = False if at_once else ~before
        fate.due[~fate.waits] = NEVER
        if self._counts:  # of the last session of a key, which is the only one that stays
            key = np.searchsorted(joined.offsets, places[rows.begin], side="right") - 1
            fate.before[key] = rows.places[rows.begin] + needed - rows.begin
        return self._output(joined, rows, places, fate.out[places])

    def _arrived(
        self, joined: Joined, places: np.ndarray, session_of: np.ndarray, sessions: np.ndarray
    ) -> tuple[Arrived, np.ndarray]:
        """Some rows, whole sessions as far as they are known, and the numbers of these sessions."""
        numbers = session_of[places]
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        numbers = numbers[firsts]
        before = None
        if self._counts:
            begins = sessions[numbers]
            key = np.searchsorted(joined.offsets, begins, side="right") - 1
            before = np.where(begins == joined.offsets[key], joined.before[key], 0)
        table = joined.table if len(places) == len(joined.table) else joined.table.take(pa.array(places))
        offsets = np.append(firsts, len(places))
        return Arrived(table, self.task.partition_by, self.task.order_by, offsets, before), numbers

    def _output(self, joined: Joined, rows: Arrived, places: np.ndarray, out: np.ndarray) -> pa.Table:
        """Rows that are final: all of their columns, and their results."""
        results = Evaluation(rows, self.task.expressions.values(), 1).columns(self.task.expressions)
        chosen = np.flatnonzero(out)
        table = joined.whole.take(pa.array(joined.origin[places[chosen]]))
        for (name, column), kind in zip(results.items(), self.task.kinds, strict=True):
            table = _with(table, name, of_type(column.take(pa.array(chosen)), kind))
        return table

    def _sessions(self, joined: Joined, known: np.ndarray) -> np.ndarray:
        """Where keys begin, or begin anew after they were forgotten."""
        if self.task.forget_after is None or joined.times is None:
            return joined.offsets
        anew = np.zeros(len(known) + 1, bool)
        anew[1:-1] = known[1:] & (np.diff(joined.times) > self.task.forget_after)
        anew[joined.offsets] = True
        return np.flatnonzero(anew)

    def _gone(self, joined: Joined, sessions: np.ndarray, watermark: int | None) -> np.ndarray:
        """Which sessions have ended: no row that is to come belongs to them."""
        if self.task.forget_after is None or joined.times is None or watermark is None:
            return np.zeros(len(sessions) - 1, bool)
        return (self._forgotten(joined, sessions) <= watermark) | ~np.isin(sessions[1:], joined.offsets)

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
    def _left(self, joined: Joined, fate: Fate) -> Held:
        """The state of all keys that have rows left."""
        begin = joined.offsets[:-1]
        kept, waiting = (
            np.add.reduceat(mask.astype(np.int32), begin, dtype=np.int32) for mask in (fate.history, fate.waits)
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
        return Held(
            keys,
            joined.table.select(self.task.history.names).filter(pa.array(fate.history)),
            joined.whole.select(self.task.waiting.names).take(pa.array(joined.origin[fate.waits])),
            due[stays],
            np.where(waiting > 0, NEVER, self._over(joined))[stays],
        )

    def _over(self, joined: Joined) -> np.ndarray:
        """When nothing of each key is needed any more, if no more rows come."""
        lengths = [length for length in (self.task.forget_after, self._lookback) if length is not None]
        if joined.times is None or not lengths:
            return np.full(len(joined.offsets) - 1, NEVER)
        return joined.times[joined.offsets[1:] - 1] + min(lengths) + 1


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
