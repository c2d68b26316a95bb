"""Row sorter: the rows of a task by key and order, in memory up to a limit of bytes, and above it by runs on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.sorting import OrderColumn, arrange, as_sortable
from slidewise.spark.executor.sorted_runs import SortedRuns, join_rows, split

#: bytes per row that sorting takes beside the rows: their order as integers and the permutation, each of them twice
SCRATCH = 48
#: Results may take this part of the limit, where rows pass through memory from disk.
RESULTS = 4


@dataclass(frozen=True)
class RowOrder:
    """By which columns rows are sorted. Keys may be in any order, as long as the rows of each are together."""

    partition_by: tuple[str, ...]
    order_by: tuple[OrderColumn, ...]


class RowSorter:
    """Takes rows as they come, and gives them by key and order, ties as they came."""

    def __init__(self, reads: pa.Schema, order: RowOrder, gives: Sequence[str], limit: int) -> None:
        self._reads, self._order, self._limit = reads, order, limit
        #: the columns that come out
        self._gives = list(gives)
        self._pending: list[pa.Table] = []
        self._size = 0
        self._runs: SortedRuns | None = None
        #: all rows, where they are in memory, and the permutation that sorts them
        self._sorted = reads.empty_table()
        self._permutation: np.ndarray | None = None
        #: how many rows came
        self.rows = 0

    def add(self, rows: pa.Table) -> None:
        """Take the next rows."""
        if not len(rows):
            return
        self._pending.append(rows)
        self.rows += len(rows)
        self._size += rows.nbytes + SCRATCH * len(rows)
        if self._size > self._limit:
            self._write_run()

    def finish(self) -> bool:
        """Take no more rows; tell whether they stand in order as they came."""
        if self._runs is not None:
            if self._pending:
                self._write_run()
            return False
        self._sorted = join_rows(self._pending, self._reads)
        self._pending = []
        self._permutation = self._arrange(self._sorted)
        return self._permutation is None

    def read(self) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Give all rows in order, some at a time, with their places among the rows as they came, from 0."""
        if self._runs is not None:
            for table in self._runs.merge():
                yield table.select(self._gives), table[self._runs.place].to_numpy()
            return
        rows = self._sorted.select(self._gives)
        for first, last in split(len(rows)):
            if self._permutation is None:
                yield rows[first:last], np.arange(first, last)
            else:
                places = self._permutation[first:last]
                yield rows.take(pa.array(places)), places

    @property
    def room(self) -> int:
        """The bytes of the limit that rows leave: a part, where they went to disk and pass through memory."""
        return (
            self._limit // RESULTS if self._runs is not None else max(self._limit // RESULTS, self._limit - self._size)
        )

    def close(self) -> None:
        """Remove what is on disk."""
        if self._runs is not None:
            self._runs.close()

    def _arrange(self, rows: pa.Table) -> np.ndarray | None:
        """Find the permutation that puts rows in order; None where they are. Codes of keys are faster than values."""
        keys = [in_one_piece(rows[name]) for name in self._order.partition_by]
        order = [values for by in self._order.order_by for values in as_sortable(in_one_piece(rows[by.name]), by)]
        return arrange(len(rows), keys, order).permutation if len(rows) else None

    def _write_run(self) -> None:
        """Sort the rows that are in memory, and write them as a run. Values of keys are alike in all runs."""
        if self._runs is None:
            by_value = [*map(OrderColumn, self._order.partition_by), *self._order.order_by]
            self._runs = SortedRuns(self._reads, by_value, self._limit)
        rows = join_rows(self._pending, self._reads)
        self._pending, self._size = [], 0
        self._runs.write(rows, self.rows - len(rows))
