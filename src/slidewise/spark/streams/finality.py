"""How far each key of a stream has come: which rows are final, and which rows later frames can still reach.

All rows up to the watermark are there, so that a frame is final when it ends there. Everything is found for all keys
at once: an answer is an array with one row number per key. A row that is yet to come is later than the watermark; its
frame reaches as far back as that of a row in the first place that is not final, and not further.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.arranged import Data
from slidewise.columns.frames.bounds import Scattered
from slidewise.columns.frames.deltas import measured
from slidewise.columns.frames.from_window import step_in_units, targets_of
from slidewise.columns.sorting import Arrangement, OrderColumn
from slidewise.columns.sources import source
from slidewise.spark.streams.stream_task import NEVER
from slidewise.windows.definitions import DeltaWindow, WindowDefinition
from slidewise.windows.durations import CalendarDuration, sign

#: no month is longer, and no clock is set by more than the day that is added
_MONTH, _DAY = 31 * 86_400_000_000, 86_400_000_000


class Arrived(Data):
    """Rows that stand by key and order."""

    def __init__(
        self,
        table: pa.Table,
        partition_by: tuple[str, ...],
        order_by: tuple[OrderColumn, ...],
        offsets: np.ndarray,
        before: np.ndarray | None = None,
    ) -> None:
        """`before` is how many rows of each key are gone; None: that is of no interest."""
        super().__init__(source(table), list(partition_by), list(order_by), 1, Arrangement(None, offsets))
        if before is not None:
            self.__dict__["places"] = super().places + np.repeat(before, np.diff(offsets))

    @property
    def begin(self) -> np.ndarray:
        """The first row of each key. A key has at least one row."""
        return self.offsets[:-1]

    @property
    def end(self) -> np.ndarray:
        """The row after the last of each key."""
        return self.offsets[1:]

    def times(self) -> np.ndarray:
        """The time of every arranged row."""
        return self._arranged().sortable[0]

    def groups(self) -> np.ndarray:
        """The number of the group of equal order of every arranged row, going on from key to key."""
        changes = self._arranged().changes()
        changes[self.begin] = True
        return np.cumsum(changes)

    def targets(self, bound: Any) -> np.ndarray:
        """The time of every arranged row, plus a bound of its frame."""
        moved, below, above = targets_of(bound, self._arranged())
        limits = np.iinfo(np.int64)
        return np.where(above, limits.max, np.where(below, limits.min, moved))

    def first(self, mask: np.ndarray) -> np.ndarray:
        """The first row of each key for which a mask holds; the key's end where it holds for none."""
        rows = np.where(mask, np.arange(len(mask)), len(mask))
        return np.minimum(np.minimum.reduceat(rows, self.begin), self.end)


# ---- which rows are final
def first_open(window: WindowDefinition, rows: Arrived, watermark: int) -> np.ndarray:
    """The first row of each key whose frame can still gain a row; the key's end where none can."""
    reach = window.reach
    if reach is None or not reach.waits:
        return rows.end
    following: Any = reach.ahead
    if reach.unit == "rows":
        return np.maximum(rows.begin, rows.end - min(following, len(rows.source)))
    if reach.unit == "groups":
        group = rows.groups()
        open_from = np.maximum(group[rows.end - 1] - following + 1, group[rows.begin])
        return np.searchsorted(group, open_from)
    return rows.first(rows.targets(following) > watermark)


def next_final(window: WindowDefinition, rows: Arrived, first: np.ndarray) -> np.ndarray | None:
    """When the frame of the first open row of each key is complete; None where no time tells."""
    reach = window.reach
    if reach is None or reach.unit != "range" or not reach.waits:
        return None
    return np.where(first < rows.end, rows.targets(reach.end)[np.minimum(first, rows.end - 1)], NEVER)


# ---- which rows are still needed
def first_needed(window: WindowDefinition, rows: Arrived, first: np.ndarray, watermark: int | None) -> np.ndarray:
    """The first row of each key that the frame of row `first`, or of a row to come, can reach."""
    reach = window.reach
    if reach is not None:
        if reach.unit == "range":
            return _since(reach.start, rows, first, watermark)
        preceding: Any = reach.start
        if reach.unit == "rows":
            return np.clip(first + max(preceding, -len(rows.source)), rows.begin, first)
        group = rows.groups()
        own = np.where(first < rows.end, group[np.minimum(first, rows.end - 1)], group[rows.end - 1] + 1)
        return np.minimum(first, np.searchsorted(group, np.maximum(own + preceding, group[rows.begin])))
    frames = rows.frames(window)
    if isinstance(frames, Scattered):
        assert isinstance(window, DeltaWindow)
        return _held(window, rows, first)
    # By the row before: what is to come may yet take the place of row `first`, and hold more than that does.
    return frames.start[np.maximum(first - 1, rows.begin)]


def lookback(window: WindowDefinition, kind: pa.DataType, name: str) -> int | None:
    """How far back in time frames reach; None where that is not measured in time."""
    reach = window.reach
    return max(0, -_back(reach.start, kind, name)) if reach is not None and reach.unit == "range" else None


def _since(bound: Any, rows: Arrived, first: np.ndarray, watermark: int | None) -> np.ndarray:
    times = rows.times()
    assert watermark is not None
    own = np.where(first < rows.end, np.minimum(times[np.minimum(first, rows.end - 1)], watermark), watermark)
    by = rows.order_by[0].name
    since = own + _back(bound, rows.array(by).type, by)
    return np.minimum(first, rows.first(times >= np.repeat(since, np.diff(rows.offsets))))


def _back(bound: Any, kind: pa.DataType, name: str) -> int:
    """A bound of a frame by range in the unit of the times, or a little before it."""
    if isinstance(bound, CalendarDuration):
        return min(0, bound.months) * _MONTH - _DAY
    return 0 if sign(bound) == 0 else step_in_units(bound, kind, name)


def _held(window: DeltaWindow, rows: Arrived, first: np.ndarray) -> np.ndarray:
    """The first row of each key that a delta window still holds before row `first` enters."""
    name = rows.delta_column(window)
    values, size = measured(rows.arranged(name), window.size, name)
    found = rows.begin.copy()
    for key, (begin, end) in enumerate(zip(rows.begin, first, strict=True)):
        if begin < end:
            here = values[begin:end]
            highest = np.maximum.accumulate(here[::-1])[::-1]
            found[key] += int(np.argmax(highest - here <= size))
    return found
