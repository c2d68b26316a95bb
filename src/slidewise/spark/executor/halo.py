"""Halo: the rows that a bucket of a large key needs around its own, since frames reach them; and the check of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.errors import SlidewiseError
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import sign

#: the columns that tell the bucket of a row, and whether it is the bucket's own, after a prefix that no column has
BUCKET_COLUMN, OWN_COLUMN = "bucket", "own"
#: the alias of the table of buckets, by which a plan tells that it has one
BUCKETS = "__slidewise_buckets"


@dataclass(frozen=True)
class HaloSize:
    """What a bucket needs around its own rows: so many rows, and such lengths of the order column, on either side."""

    rows_before: int = 0
    rows_after: int = 0
    before: Any = None
    after: Any = None


def measure_halo(windows: Iterable[WindowDefinition]) -> HaloSize | str:
    """Measure what the frames of all windows reach beyond a bucket; a text says why that cannot be told."""
    rows_before = rows_after = 0
    before: list[Any] = []
    after: list[Any] = []
    for window in windows:
        reach = window.reach
        if window.every is not None or window.min_rows != 1:
            return f"{window!r} counts rows from the first of the key"
        if reach is None or reach.unit == "groups":
            return f"{window!r} has no length that is known before"
        if not reach.fixed:
            return f"{window!r} has no fixed length"
        if reach.by_calendar:
            return "months differ in length"
        if reach.unit == "rows":
            rows_before, rows_after = max(rows_before, reach.back), max(rows_after, reach.ahead)
        else:
            before += [reach.back] if sign(reach.back) else []
            after += [reach.ahead] if sign(reach.ahead) else []
    return HaloSize(rows_before, rows_after, max(before, default=None), max(after, default=None))


@dataclass(frozen=True)
class Halo:
    """The columns that tell a bucket's own rows from its halo, and how many rows a halo must have."""

    bucket: str
    own: str
    rows_before: int
    rows_after: int


class HaloCheck:
    """Counts the rows around a bucket's own rows, batch by batch: a short halo would give wrong results unseen."""

    def __init__(self, halo: Halo) -> None:
        self._halo = halo
        self._bucket, self._before, self._after, self._own = 0, 0, 0, False

    def count(self, batch: pa.Table) -> None:
        """Count the next rows of a partition, sorted by key and bucket. Every key begins with bucket 0."""
        if not len(batch):
            return
        bucket, own = batch[self._halo.bucket].to_numpy(), batch[self._halo.own].to_numpy()
        cuts = np.flatnonzero((bucket[1:] != bucket[:-1]) | (own[1:] != own[:-1])) + 1
        for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(bucket)], strict=True):
            self._count_run(int(bucket[first]), bool(own[first]), last - first)

    def _count_run(self, bucket: int, own: bool, rows: int) -> None:
        if bucket != self._bucket:
            self.check_end()
            self._bucket, self._before, self._after, self._own = bucket, 0, 0, False
        if own:
            if not self._own and bucket > 0 and self._before < self._halo.rows_before:
                raise self._build_error(self._before, self._halo.rows_before)
            self._own = True
        elif self._own:
            self._after += rows
        else:
            self._before += rows

    def check_end(self) -> None:
        """Check a bucket that has no more rows. The last bucket of a key has no halo after it."""
        if self._own and 0 < self._after < self._halo.rows_after:
            raise self._build_error(self._after, self._halo.rows_after)

    @staticmethod
    def _build_error(rows: int, needed: int) -> SlidewiseError:
        return SlidewiseError(
            f"a key was cut where only {rows} of the {needed} rows that frames reach were at hand: the sample misled, "
            "or the input differs each time it is read. Run it with hot_keys=False"
        )
