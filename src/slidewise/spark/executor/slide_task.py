"""Slide task: what runs on an executor for `aggregate`. Sorted rows in, one row per key and slide out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from slidewise.columns.batches.slide_pass import SlidePass, SlidePassRun


@dataclass(frozen=True, kw_only=True)
class SlideTask(SlidePass):
    """What is computed of the slides of the rows of one partitioning and order."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compute the slides of the rows of a partition. Spark calls it."""
        for rows in SlidePassRun(self).run(tuple(batch.columns) for batch in batches):
            yield pa.RecordBatch.from_arrays(rows.flatten(), self.names)
