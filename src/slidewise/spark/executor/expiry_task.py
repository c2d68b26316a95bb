"""Expiry task: what runs on an executor for empty=True. Sorted rows in, batch by batch, rows and expired results out.

Results of times without rows are more rows than came in, and so all columns go through Python. The engine of columns
computes whole keys: memory is that of the longest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import compute_expiring_slides
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.batches.chunk import find_key_offsets
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.sources import source_of
from slidewise.columns.stream_options import BatchEffects
from slidewise.columns.with_columns import compute_expiring_rows

#: rows of one chunk, and of one batch of results
CHUNK_ROWS, BATCH_ROWS = 1 << 17, 1 << 16


@dataclass(frozen=True)
class ExpiryTask:
    """What is computed of the rows of one partitioning and order."""

    #: the columns that come in, and those that go out
    reads: pa.Schema
    output: pa.Schema
    partition_by: tuple[str, ...]
    order_by: tuple[OrderColumn, ...]
    expressions: Mapping[str, Over]
    effects: BatchEffects
    #: whether a result is one of a window [start, end), and not of a row
    slides: bool = False

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the results of the rows of a partition. Spark calls it."""
        pending, rows = self.reads.empty_table(), 0
        for batch in batches:
            columns = [cast_to(column, field.type) for column, field in zip(batch.columns, self.reads, strict=True)]
            pending = pa.concat_tables([pending, pa.table(columns, self.reads)])
            rows += len(batch)
            if rows >= CHUNK_ROWS:
                rows = 0
                if len(self._find_offsets(pa.concat_tables([pending[:1], pending[-1:]]))) > 2:
                    last = int(self._find_offsets(pending)[-2])  # where the last key begins, of which more may come
                    yield from self._compute(pending[:last])
                    pending = pending[last:]
        if len(pending):
            yield from self._compute(pending)

    def _find_offsets(self, table: pa.Table) -> Any:
        return find_key_offsets([in_one_piece(table[name]) for name in self.partition_by], len(table))

    def _compute(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Compute the results of whole keys."""
        compute = compute_expiring_slides if self.slides else compute_expiring_rows
        keys, order = list(self.partition_by), list(self.order_by)
        found = compute(source_of(table), keys, order, dict(self.expressions), self.effects, 1)
        made = pa.table([cast_to(found[field.name], field.type) for field in self.output], self.output)
        yield from made.combine_chunks().to_batches(BATCH_ROWS)
