"""Sorted runs: more rows than memory takes, sorted part by part, written to disk, and merged.

No two rows are compared in Python. Of every run that is merged the next rows are in memory, its head. The least of the
last rows of all heads is the frontier: every row up to it is in memory. These are sorted as one table, and the rows
beyond the frontier stay in their heads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.sorting import OrderColumn, arrange, as_sortable
from slidewise.spark.column_names import find_unused_prefix
from slidewise.spark.executor.spill_file import Place, SpillFile

#: So many runs are merged at once; more are merged to larger ones before.
RUNS = 64
#: The heads of a merge have this part of the limit: beside them are the rows of a round, their copies and their order.
HEADS = 8
#: rows that are put in order at a time
BATCH_ROWS = 1 << 17


class SortedRuns:
    """Runs of rows, each sorted by value, in one file. The order of rows is (values, run): ties as they came."""

    def __init__(self, reads: pa.Schema, order: Sequence[OrderColumn], limit: int) -> None:
        #: the column of the places of rows among those of the task, as they came
        self.place = f"{find_unused_prefix(reads.names)}place"
        self._schema = reads.append(pa.field(self.place, pa.int64()))
        self._order = list(order)
        self._heads_bytes = limit // HEADS
        self._file = SpillFile(self._schema)
        self._runs: list[deque[Place]] = []

    def write(self, rows: pa.Table, first: int) -> None:
        """Sort rows that came after those of the runs so far, from place `first` on, and write them as the next run."""
        rows = rows.append_column(self.place, pa.array(np.arange(first, first + len(rows))))
        permutation = _sort_by_value(rows, self._order)
        self._runs.append(self._write_run(_take_in_parts(rows, permutation, len(rows))))

    def merge(self) -> Iterator[pa.Table]:
        """Give the rows of all runs in order."""
        while len(self._runs) > RUNS:
            groups = [self._runs[first : first + RUNS] for first in range(0, len(self._runs), RUNS)]
            self._runs = [self._write_run(self._merge_runs(group)) for group in groups]
        yield from self._merge_runs(self._runs)

    def close(self) -> None:
        """Remove what is on disk."""
        self._file.close()

    def _write_run(self, parts: Iterator[pa.Table]) -> deque[Place]:
        places: deque[Place] = deque()
        for part in parts:
            rows = max(1, len(part) * self._heads_bytes // max(1, 2 * RUNS * part.nbytes))
            for batch in part.combine_chunks().to_batches(rows):
                places.append(self._file.write(batch))
        return places

    def _merge_runs(self, runs: list[deque[Place]]) -> Iterator[pa.Table]:
        size = max(1, self._heads_bytes // len(runs))  # the fewer runs, the more rows are merged in a round
        heads = [_Head(run, self._file, self._schema, size) for run in runs]
        while heads:
            for head in heads:
                head.fill()
            yield from self._merge_heads(heads)
            heads = [head for head in heads if len(head.rows) or head.blocks]

    def _merge_heads(self, heads: list[_Head]) -> Iterator[pa.Table]:
        """Give the rows of the heads up to the frontier."""
        frontier = None
        if any(head.blocks for head in heads):
            ends = join_rows([rows for head in heads for rows in (head.rows[:1], head.rows[-1:])], self._schema)
            rank = _invert(_sort_by_value(ends, self._order), len(ends))
            frontier = min((k for k, head in enumerate(heads) if head.blocks), key=lambda k: rank[2 * k + 1])
            last = rank[2 * frontier + 1]
            heads, before = [head for k, head in enumerate(heads) if rank[2 * k] <= last], heads
            frontier = heads.index(before[frontier])
        rows = join_rows([head.rows for head in heads], self._schema)
        begins = np.cumsum([0, *(len(head.rows) for head in heads)])
        permutation = _sort_by_value(rows, self._order)
        count = len(rows)
        if frontier is not None:
            row = int(begins[frontier + 1]) - 1
            count = 1 + (row if permutation is None else int(np.flatnonzero(permutation == row)[0]))
        taken = np.arange(count) if permutation is None else permutation[:count]
        for head, number in zip(heads, np.histogram(taken, begins)[0].tolist(), strict=True):
            head.rows = head.rows[number:]
        yield from _take_in_parts(rows, permutation, count)


class _Head:
    """The next rows of a run: in memory, and, as far as they are not read yet, by their places in the file."""

    def __init__(self, blocks: deque[Place], file: SpillFile, schema: pa.Schema, size: int) -> None:
        self.blocks = blocks
        self.rows = schema.empty_table()
        self._file, self._size = file, size

    def fill(self) -> None:
        """Read on where less than half of what a head may have is left. A round then merges many rows."""
        if 2 * self.rows.nbytes >= self._size:
            return
        parts, size = [self.rows], self.rows.nbytes
        while self.blocks and size < self._size:
            parts.append(pa.Table.from_batches([self._file.read(self.blocks.popleft())]))
            size += parts[-1].nbytes
        self.rows = pa.concat_tables(parts).combine_chunks()


def _sort_by_value(rows: pa.Table, order: Sequence[OrderColumn]) -> np.ndarray | None:
    """Find the stable permutation that sorts rows by the values of columns; None where they are sorted."""
    columns = [values for by in order for values in as_sortable(in_one_piece(rows[by.name]), by)]
    return arrange(len(rows), [], columns).permutation if len(rows) else None


def join_rows(parts: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Join tables to one whose columns are in one piece."""
    return pa.concat_tables([schema.empty_table(), *parts]).combine_chunks()


def split(count: int) -> Iterator[tuple[int, int]]:
    """Split so many rows into parts: the first row of each, and its end."""
    for first in range(0, count, BATCH_ROWS):
        yield first, min(count, first + BATCH_ROWS)


def _take_in_parts(rows: pa.Table, permutation: np.ndarray | None, count: int) -> Iterator[pa.Table]:
    """Give the first rows of a permutation, some at a time."""
    for first, last in split(count):
        yield rows[first:last] if permutation is None else rows.take(pa.array(permutation[first:last]))


def _invert(permutation: np.ndarray | None, count: int) -> np.ndarray:
    out = np.arange(count)
    if permutation is not None:
        out[permutation] = np.arange(count)
    return out
