"""Task: what runs on an executor. Sorted rows in, batch by batch, one struct of results per row out, in the same order.

No aggregate is written twice. Batches are joined into chunks, and the engine of columns computes each chunk. The rows
of the last key that later frames can still reach, the tail, stay for the next chunk as they are; rows whose frames can
still grow are pending there. A chunk is several times as long as its tail, so that all of it costs O(1) per row for
a window of any size, and memory is the window's and not the key's (see frontier.py and running_evaluation.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.changes import ChangeFinder
from slidewise.columns.effects import read_times
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.stream_options import NO_EFFECTS, BatchEffects
from slidewise.spark.executor.chunk import Chunk, find_key_offsets
from slidewise.spark.executor.frontier import Frontier
from slidewise.spark.executor.halo import BUCKET_COLUMN, OWN_COLUMN, Halo, HaloCheck, HaloSize
from slidewise.spark.executor.running_evaluation import Carried, RunningEvaluation, carries_partial, carries_row

#: A chunk has at least so many new rows, or bytes, and so many times the rows of the tail.
CHUNK_ROWS = 1 << 17
CHUNK_BYTES = 1 << 26
TAILS = 4
#: the column of numbers of lifetimes, where keys are forgotten
LIFETIME = "__slidewise_lifetime"
#: rows of one batch of results
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Task:
    """What is computed of the rows of one partitioning and order."""

    #: the columns that come in, by name and type
    reads: pa.Schema
    partition_by: tuple[str, ...]
    order_by: tuple[OrderColumn, ...]
    expressions: tuple[Over, ...]
    #: the types of the results
    kinds: tuple[pa.DataType, ...]
    #: where large keys are cut into buckets
    halo: Halo | None = None
    #: what options for streams change; with emit="changes", a last column tells which rows go out
    effects: BatchEffects = NO_EFFECTS

    def run(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Compute the results of the rows of a partition. Spark calls it."""
        return TaskRun(self).run(batch if isinstance(batch, tuple) else (batch,) for batch in batches)

    def with_halo(self, reach: HaloSize, prefix: str) -> Task:
        """Build the task over rows that hot_keys.spread has cut into buckets."""
        halo = Halo(prefix + BUCKET_COLUMN, prefix + OWN_COLUMN, reach.rows_before, reach.rows_after)
        reads = self.reads.append(pa.field(halo.bucket, pa.int32())).append(pa.field(halo.own, pa.bool_()))
        return replace(self, reads=reads, partition_by=(*self.partition_by, halo.bucket), halo=halo)


@dataclass(frozen=True)
class OneResult:
    """A task whose rows have one result each, without a struct around it: Spark would copy that as a row in a row."""

    task: Any

    def run(self, batches: Iterable[Any]) -> Iterator[pa.Array]:
        """Compute the result of every row. Spark calls it."""
        return (results.field(0) for results in self.task.run(batches))


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


class TaskRun:
    """One run of a task: the sorted rows of a partition, chunk by chunk."""

    def __init__(self, task: Task) -> None:
        self.task = task
        kinds = {field.name: field.type for field in task.reads}
        #: where keys begin anew after they were forgotten, across batches; None: they are never forgotten
        self._forgetting = ChangeFinder(task.effects.forget_after) if self._forgets else None
        self._lifetime = 0
        self._changes = ChangeFinder(task.effects.forget_after) if task.effects.changes else None
        running = [over for over in dict.fromkeys(task.expressions) if over.window.running]
        self._picking = [over for over in running if carries_row(over)]
        self._folding = [over for over in running if over not in self._picking and carries_partial(over, kinds)]
        #: whether rows can only be dropped, and results be emitted, when their key has ended
        self._whole_keys = any(over.window.needs_whole_key for over in task.expressions) or len(running) > len(
            self._picking
        ) + len(self._folding)
        self._chunk_rows = CHUNK_ROWS
        self._tail = Tail(self._number_lifetimes(task.reads.empty_table()), 0, 0, 0)
        self._carried = {over: Carried() for over in self._folding}
        self._halo = HaloCheck(task.halo) if task.halo is not None else None

    def run(self, batches: Iterable[tuple[pa.Array, ...]]) -> Iterator[pa.StructArray]:
        """Compute the results of all rows: one struct per row, in the same order."""
        pending: list[pa.Table] = []
        rows = size = 0
        for arrays in batches:
            batch = pa.table(
                [cast_to(a, f.type) for a, f in zip(arrays, self.task.reads, strict=True)], self.task.reads
            )
            if self._halo is not None:
                self._halo.count(batch)
            batch = self._number_lifetimes(batch)
            pending.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
            if self._has_enough(rows, size) and self._has_ended_key(pending):
                yield from self._advance(pa.concat_tables([self._tail.table, *pending]), ends=False)
                pending, rows, size = [], 0, 0
        yield from self._advance(pa.concat_tables([self._tail.table, *pending]), ends=True)

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
        names = [*self.task.partition_by, *([LIFETIME] if self._forgets else [])]
        return find_key_offsets([table[name].combine_chunks() for name in names], len(table))

    @property
    def _forgets(self) -> bool:
        # Hopping windows and sessions may reach over the time in which a key is forgotten, as on a stream.
        window = self.task.expressions[0].window
        return self.task.effects.forget_after is not None and not window.gives_windows

    def _number_lifetimes(self, batch: pa.Table) -> pa.Table:
        """Give lifetimes of keys their numbers: a key that was forgotten is another one for all that follows."""
        time = self.task.effects.time
        if self._forgetting is None or time is None:
            return batch
        keys = [in_one_piece(batch[name]) for name in self.task.partition_by]
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
        task = self.task
        chunk = Chunk(table, list(task.partition_by), list(task.order_by), offsets, tail.before, ends)
        yield from self._compute(table, chunk, tail)

    def _compute(self, table: pa.Table, chunk: Chunk, tail: Tail) -> Iterator[pa.StructArray]:
        """Compute the results of a chunk, which begins with a tail."""
        task = self.task
        evaluation = RunningEvaluation(chunk, task.expressions, tail.kept, self._carried, tail.before + len(table))
        columns = evaluation.columns({str(k): over for k, over in enumerate(task.expressions)})
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
        time = self.task.effects.time if self._forgets else None
        rows = table[first:last]
        keys = [in_one_piece(rows[name]) for name in self.task.partition_by]
        times = None if time is None else read_times(in_one_piece(rows[time]), time)
        results = [cast_to(c[first:last], kind) for c, kind in zip(columns, self.task.kinds[:-1], strict=True)]
        changed = np.zeros(len(table), bool)
        changed[first:last] = self._changes.find(keys, times, results)
        return pa.array(changed)

    def _emit_results(self, columns: list[pa.Array], first: int, last: int) -> Iterator[pa.StructArray]:
        names = [str(k) for k in range(len(columns))]
        for begin in range(first, last, BATCH_ROWS):
            size = min(BATCH_ROWS, last - begin)
            parts = [
                cast_to(column.slice(begin, size), kind) for column, kind in zip(columns, self.task.kinds, strict=True)
            ]
            yield pa.StructArray.from_arrays(parts, names)

    def _keep(self, table: pa.Table, chunk: Chunk, evaluation: RunningEvaluation, final: int) -> None:
        frontiers: list[Frontier] = list(chunk.frontiers.values())
        begin = int(chunk.offsets[-2])
        # One row stays in any case: it tells whether the next row is of the same key.
        first = max(begin, min(final, len(table) - 1, *(frontier.reach(final) for frontier in frontiers)))
        picked = {evaluation.pick_row(over, first) for over in self._picking} - {None}
        rows = np.array(sorted(picked), np.int64)  # type: ignore[type-var]
        self._carried = {over: evaluation.carry(over, first) for over in self._folding}
        before = first - begin + (chunk.before if begin == 0 else 0)
        kept = pa.concat_tables([table.take(pa.array(rows)), table[first:]]) if len(rows) else table[first:]
        self._tail = Tail(kept, final - first + len(rows), len(rows), before - len(rows))
