"""The grid of a stream's slides, in microseconds, and when they are complete."""

from __future__ import annotations

import numpy as np

from slidewise.columns.frames.deltas import units
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.windows.definitions import TimeWindow
from slidewise.windows.grid import Grid


def grid_of(task: StreamTask) -> Grid:
    """The grid of slides by time."""
    [window] = task.windows
    assert isinstance(window.every, TimeWindow) and task.time is not None
    name, kind = task.time, task.rows.field(task.time).type
    offset = 0 if window.offset is None else units(window.offset, kind, name)
    size = units(window.size, kind, name) if isinstance(window, TimeWindow) else None
    return Grid(units(window.every.size, kind, name), offset, size)


def next_complete(grid: Grid, times: np.ndarray, mark: int) -> np.ndarray:
    """The time after the mark with which the next slide of each row is complete; NEVER: there is none."""
    if grid.size is None:
        last = grid.at_or_after(times + 1) - 1
        return np.where(last > mark, last, NEVER)
    start = grid.at_or_after(np.maximum(times - grid.size + 1, mark + 2 - grid.size))
    return np.where(start <= times, start + grid.size - 1, NEVER)
