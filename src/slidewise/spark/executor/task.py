"""Task: what runs on an executor. Sorted rows in, batch by batch, one struct of results per row out, in the same order.

What is computed, and how, is a pass over sorted batches (columns/batches/row_pass.py). A task adds what Spark needs:
how it is called, and the halo of buckets of large keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from slidewise.columns.batches.row_pass import RowPass, RowPassRun
from slidewise.spark.executor.halo import BUCKET_COLUMN, OWN_COLUMN, Halo, HaloCheck, HaloSize


@dataclass(frozen=True)
class Task(RowPass):
    """What is computed of the rows of one partitioning and order."""

    #: where large keys are cut into buckets
    halo: Halo | None = None

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


class TaskRun(RowPassRun):
    """One run of a task: the sorted rows of a partition, chunk by chunk."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._halo = HaloCheck(task.halo) if task.halo is not None else None

    def _take(self, arrays: tuple[pa.Array, ...]) -> pa.Table:
        batch = super()._take(arrays)
        if self._halo is not None:
            self._halo.count(batch)
        return batch
