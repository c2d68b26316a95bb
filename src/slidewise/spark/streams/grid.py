"""The boundaries of slides by time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slidewise.columns.frames.deltas import units
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.windows.definitions import TimeWindow


@dataclass(frozen=True)
class Grid:
    """The boundaries of slides; with a size, windows begin there and are so long, without one they end there."""

    every: int
    offset: int
    size: int | None

    @classmethod
    def of(cls, task: StreamTask) -> Grid:
        """The grid of slides by time."""
        [window] = task.windows
        assert isinstance(window.every, TimeWindow) and task.time is not None
        name, kind = task.time, task.rows.field(task.time).type
        offset = 0 if window.offset is None else units(window.offset, kind, name)
        size = units(window.size, kind, name) if isinstance(window, TimeWindow) else None
        return cls(units(window.every.size, kind, name), offset, size)

    @property
    def slices(self) -> int:
        """How many slices a window has: two to a slide where windows do not end where others begin."""
        assert self.size is not None
        whole, rest = divmod(self.size, self.every)
        return whole if not rest else 2 * whole + 1

    def closes(self, times: np.ndarray, mark: int) -> np.ndarray:
        """The time after the mark with which the next slide of each row is complete; NEVER: there is none."""
        if self.size is None:
            last = self._at_or_after(times + 1) - 1
            return np.where(last > mark, last, NEVER)
        start = self._at_or_after(np.maximum(times - self.size + 1, mark + 2 - self.size))
        return np.where(start <= times, start + self.size - 1, NEVER)

    def slice_of(self, times: np.ndarray) -> np.ndarray:
        """When the slice of each row begins: at the last boundary at which a window begins or ends."""
        assert self.size is not None
        within, rest = (times - self.offset) % self.every, self.size % self.every
        return times - within + np.where(within >= rest, rest, 0)

    def _at_or_after(self, times: np.ndarray) -> np.ndarray:
        return times + (self.offset - times) % self.every
