"""Row pass: sorted rows in, batch by batch, one struct of results per row out, in the same order.

No aggregate is written twice. Batches are joined into chunks, and the engine of columns computes each chunk. The rows
of the last key that later frames can still reach, the tail, stay for the next chunk as they are; rows whose frames can
still grow are pending there. A chunk is several times as long as its tail, so that all of it costs O(1) per row for
a window of any size, and memory is the window's and not the key's (see frontier.py and running_evaluation.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.batches.chunk import Chunk, find_key_offsets
from slidewise.columns.batches.frontier import Frontier
from slidewise.columns.batches.running_evaluation import Carried, RunningEvaluation, carries_partial, carries_row
from slidewise.columns.changes import ChangeFinder
from slidewise.columns.effects import read_times
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.stream_options import NO_EFFECTS, BatchEffects
from slidewise.windows.definitions import PunctuationWindow, WindowDefinition

#: A chunk has at least so many new rows, or bytes, and so many times the rows of the tail.
CHUNK_ROWS = 1 << 17
CHUNK_BYTES = 1 << 26
TAILS = 4
#: the column of numbers of lifetimes, where keys are forgotten
LIFETIME = "__slidewise_lifetime"
#: rows of one batch of results
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class RowPass:
    """What is computed of rows that are sorted by keys and order."""

    #: the columns that come in, by name and type
    reads: pa.Schema
    partition_by: tuple[str, ...]
    order_by: tuple[OrderColumn, ...]
    expressions: tuple[Over, ...]
    #: the types of the results
    kinds: tuple[pa.DataType, ...]
    #: what options for streams change; with emit="changes", a last column tells which rows go out
    effects: BatchEffects = NO_EFFECTS


def find_read_columns(
    names: Sequence[str], partition_by: Iterable[str], order_by: Iterable[OrderColumn], expressions: Iterable[Over]
) -> list[str]:
    """Find the columns that a pass needs of those that there are; at least one, by which rows are counted."""
    named = [*partition_by, *(by.name for by in order_by)]
    for over in expressions:
        named += [*over.aggregation.reads, *over.window.columns]
        if reads_whole_rows(over.window):
            named += names
    return list(dict.fromkeys(named)) or list(names[:1])


def needs_whole_key(over: Over, kinds: Mapping[str, pa.DataType]) -> bool:
    """Tell whether the rows of a key are held until it has ended: neither a row nor a partial can stand for them."""
    if over.window.running:
        return not (carries_row(over) or carries_partial(over, kinds))
    return over.window.needs_whole_key


def reads_whole_rows(window: WindowDefinition) -> bool:
    """Tell whether a window or its slide has a predicate that is a function: it is called with whole rows."""
    return any(isinstance(w, PunctuationWindow) and callable(w.predicate) for w in (window, window.every))


@dataclass(frozen=True)
class Tail:
    """What stays of a chunk for the next one, all of its last key."""

    table: pa.Table
    #: how many of its rows have their results already
    emitted: int
    #: its first rows, which stay for running frames alone: the rows after them are those that the next frames reach
    kept: int
    #: how many rows of the key came before it
    before: int


class RowPassRun:
    """One run of a pass: the sorted rows, chunk by chunk."""

    def __init__(self, plan: RowPass, chunk_rows: int | None = None) -> None:
        """Take a pass, and how many new rows a chunk has at least; None: as many as fit into a task of Spark's."""
        self.plan = plan
        kinds = {field.name: field.type for field in plan.reads}
        #: where keys begin anew after they were forgotten, across batches; None: they are never forgotten
        self._forgetting = ChangeFinder(plan.effects.forget_after) if self._forgets else None
        self._lifetime = 0
        self._changes = ChangeFinder(plan.effects.forget_after) if plan.effects.changes else None
        running = [over for over in dict.fromkeys(plan.expressions) if over.window.running]
        self._picking = [over for over in running if carries_row(over)]
        self._folding = [over for over in running if over not in self._picking and carries_partial(over, kinds)]
        #: whether rows can only be dropped, and results be emitted, when their key has ended
        self._whole_keys = any(needs_whole_key(over, kinds) for over in plan.expressions)
        self._chunk_rows = chunk_rows or CHUNK_ROWS
        self._tail = Tail(self._number_lifetimes(plan.reads.empty_table()), 0, 0, 0)
        self._carried = {over: Carried() for over in self._folding}

    def run(self, batches: Iterable[tuple[pa.Array, ...]]) -> Iterator[pa.StructArray]:
        """Compute the results of all rows: one struct per row, in the same order."""
        pending: list[pa.Table] = []
        rows = size = 0
        for arrays in batches:
            batch = self._number_lifetimes(self._take(arrays))
            if not len(batch):  # as the first one it would never tell that its key has ended
                continue
            pending.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
            if self._has_enough(rows, size) and self._has_ended_key(pending):
                yield from self._advance(pa.concat_tables([self._tail.table, *pending]), ends=False)
                pending, rows, size = [], 0, 0
        yield from self._advance(pa.concat_tables([self._tail.table, *pending]), ends=True)

    def _take(self, arrays: tuple[pa.Array, ...]) -> pa.Table:
        """Take the next batch, of the types that were declared."""
        return pa.table([cast_to(a, f.type) for a, f in zip(arrays, self.plan.reads, strict=True)], self.plan.reads)

    def _has_enough(self, rows: int, size: int) -> bool:
        # Where whole keys are needed, the tail is not computed before its key has ended: nothing is done twice.
        tails = 0 if self._whole_keys else TAILS
        return (rows >= self._chunk_rows or size >= CHUNK_BYTES) and rows >= tails * len(self._tail.table)

    def _has_ended_key(self, pending: list[pa.Table]) -> bool:
        """Tell whether at least one key has ended, where whole keys are needed."""
        if not self._whole_keys:
            return True
        first = self._tail.table if len(self._tail.table) else pending[0]
        return len(self._find_offsets(pa.concat_tables([first[:1], pending[-1][-1:]]))) > 2

    def _find_offsets(self, table: pa.Table) -> np.ndarray:
        names = [*self.plan.partition_by, *([LIFETIME] if self._forgets else [])]
        return find_key_offsets([in_one_piece(table[name]) for name in names], len(table))

    @property
    def _forgets(self) -> bool:
        # Hopping windows and sessions may reach over the time in which a key is forgotten, as on a stream.
        window = self.plan.expressions[0].window
        return self.plan.effects.forget_after is not None and not window.gives_windows

    def _number_lifetimes(self, batch: pa.Table) -> pa.Table:
        """Give lifetimes of keys their numbers: a key that was forgotten is another one for all that follows."""
        time = self.plan.effects.time
        if self._forgetting is None or time is None:
            return batch
        keys = [in_one_piece(batch[name]) for name in self.plan.partition_by]
        new = self._forgetting.find(keys, read_times(in_one_piece(batch[time]), time), [])
        numbers = self._lifetime + np.cumsum(new)
        self._lifetime = int(numbers[-1]) if len(numbers) else self._lifetime
        return batch.append_column(LIFETIME, pa.array(numbers, pa.int64()))

    # ---- one chunk
    def _advance(self, table: pa.Table, ends: bool) -> Iterator[pa.StructArray]:
        """Emit the results that are final, and keep what the next chunk needs. `ends`: no more rows come."""
        if not len(table):
            return
        offsets = self._find_offsets(table)
        tail = self._tail
        if self._whole_keys and not ends:
            begin = int(offsets[-2])
            self._tail = Tail(table[begin:], 0, 0, 0)
            table, offsets, ends = table[:begin], offsets[:-1], True
        plan = self.plan
        chunk = Chunk(table, list(plan.partition_by), list(plan.order_by), offsets, tail.before, ends)
        yield from self._compute(table, chunk, tail)

    def _compute(self, table: pa.Table, chunk: Chunk, tail: Tail) -> Iterator[pa.StructArray]:
        """Compute the results of a chunk, which begins with a tail."""
        plan = self.plan
        evaluation = RunningEvaluation(chunk, plan.expressions, tail.kept, self._carried, tail.before + len(table))
        columns = evaluation.columns({str(k): over for k, over in enumerate(plan.expressions)})
        final = len(table) if chunk.ends else min(frontier.final for frontier in chunk.frontiers.values())
        found = list(columns.values())
        if self._changes is not None:
            found.append(self._find_changed(table, found, tail.emitted, final))
        yield from self._emit_results(found, tail.emitted, final)
        if not chunk.ends:
            self._keep(table, chunk, evaluation, final)

    def _find_changed(self, table: pa.Table, columns: list[pa.Array], first: int, last: int) -> pa.Array:
        """Find the rows from `first` on whose results differ from those of the row before of their key."""
        assert self._changes is not None
        time = self.plan.effects.time if self._forgets else None
        rows = table[first:last]
        keys = [in_one_piece(rows[name]) for name in self.plan.partition_by]
        times = None if time is None else read_times(in_one_piece(rows[time]), time)
        results = [cast_to(c[first:last], kind) for c, kind in zip(columns, self.plan.kinds[:-1], strict=True)]
        changed = np.zeros(len(table), bool)
        changed[first:last] = self._changes.find(keys, times, results)
        return pa.array(changed)

    def _emit_results(self, columns: list[pa.Array], first: int, last: int) -> Iterator[pa.StructArray]:
        names = [str(k) for k in range(len(columns))]
        for begin in range(first, last, BATCH_ROWS):
            size = min(BATCH_ROWS, last - begin)
            parts = [
                cast_to(column.slice(begin, size), kind) for column, kind in zip(columns, self.plan.kinds, strict=True)
            ]
            yield pa.StructArray.from_arrays(parts, names)

    def _keep(self, table: pa.Table, chunk: Chunk, evaluation: RunningEvaluation, final: int) -> None:
        frontiers: list[Frontier] = list(chunk.frontiers.values())
        begin = int(chunk.offsets[-2])
        # One row stays in any case: it tells whether the next row is of the same key. Those in front that stay for
        # running frames are gone for all others, also where they are of the day before a month (frontier.py).
        needed = min(final, len(table) - 1, *(frontier.reach(final) for frontier in frontiers))
        first = max(begin, evaluation.kept, needed)
        picked = {evaluation.pick_row(over, first) for over in self._picking} - {None}
        rows = np.array(sorted(picked), np.int64)  # type: ignore[type-var]
        self._carried = {over: evaluation.carry(over, first) for over in self._folding}
        before = first - begin + (chunk.before if begin == 0 else 0)
        kept = pa.concat_tables([table.take(pa.array(rows)), table[first:]]) if len(rows) else table[first:]
        self._tail = Tail(kept, final - first + len(rows), len(rows), before - len(rows))
