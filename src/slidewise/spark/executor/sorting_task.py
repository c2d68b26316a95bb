"""Sorting task: what runs on an executor where Spark has not sorted. Rows as they come, and results in that order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.spark.executor.arrival_order import ArrivalOrder
from slidewise.spark.executor.row_sorter import RowOrder, RowSorter
from slidewise.spark.executor.task import Task, TaskRun

#: the least limit, however little a process may still allocate
LEAST = 1 << 20


@dataclass(frozen=True)
class SortingTask:
    """A task over rows that it puts in order itself."""

    task: Task
    #: the columns that come in: those of the task first, and then what the order needs besides
    reads: pa.Schema
    order: RowOrder
    #: the most bytes that rows may take in memory
    limit: int

    def run(self, batches: Iterable[Any]) -> Iterator[pa.StructArray]:
        """Compute the results of the rows of a partition. Spark calls it."""
        limit = fit_limit(self.limit)
        with closing(RowSorter(self.reads, self.order, self.task.reads.names, limit)) as sorter:
            for arrays in batches:
                columns = arrays if isinstance(arrays, tuple) else (arrays,)
                sorter.add(pa.table([cast_to(a, f.type) for a, f in zip(columns, self.reads, strict=True)], self.reads))
            if sorter.finish():
                yield from TaskRun(self.task).run(tuple(map(in_one_piece, rows.columns)) for rows, _ in sorter.read())
                return
            kinds = pa.struct([(str(k), kind) for k, kind in enumerate(self.task.kinds)])
            with closing(ArrivalOrder(kinds, sorter.rows, sorter.room)) as results:
                self._compute(sorter, results)
                sorter.close()
                yield from results.emit()

    def _compute(self, sorter: RowSorter, results: ArrivalOrder) -> None:
        """Compute the results of all rows, in their order."""
        places: deque[np.ndarray] = deque()

        def read() -> Iterator[tuple[pa.Array, ...]]:
            for rows, came_at in sorter.read():
                places.append(came_at)
                yield tuple(map(in_one_piece, rows.columns))

        for found in TaskRun(self.task).run(read()):
            results.add(found, _take_first(places, len(found)))


def _take_first(places: deque[np.ndarray], count: int) -> np.ndarray:
    """Take the first places of those that wait for their results."""
    parts = []
    while count:
        part = places.popleft()
        parts.append(part[:count])
        if len(part) > count:
            places.appendleft(part[count:])
        count -= len(parts[-1])
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def fit_limit(limit: int) -> int:
    """Lower a limit to a third of what this process may still allocate, where its address space is limited."""
    try:
        import resource
    except ImportError:  # Windows, where there is no such limit
        return limit
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return limit
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return min(limit, max(LEAST, (most - used) // 3))
