"""Frontier: how far a window's frames are known while rows still come. Which rows are final, and which still needed.

Frames move on with the rows: for every window that is not held to the end of its key, neither bound of a frame moves
back. So the rows before the frame of the first row that is not final are never needed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.batches.chunk import Chunk
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.deltas import measure_delta
from slidewise.columns.frames.from_window import find_unit
from slidewise.windows.definitions import DeltaWindow, WindowDefinition
from slidewise.windows.reach import Reach

#: Calendar months are moved in local time. Where clocks go back, frames may move back by as much: by no more than a
#: day, in nanoseconds.
_DAY = 86_400 * 1_000_000_000


@dataclass(frozen=True)
class Frontier:
    """Which rows of the last, unfinished key of a chunk are final for a window, and which it still reaches."""

    #: the first row that is not final; the number of rows where all are
    final: int
    #: the first row that frames from a row on, and those of rows to come, can reach
    reach: Callable[[int], int]


def find_frontier(window: WindowDefinition, frames: Frames, data: Chunk) -> Frontier:
    """Find the frontier of a window from its frames."""
    begin, count = int(data.offsets[-2]), int(data.offsets[-1])
    spec = window.reach
    if spec is not None and spec.unit == "rows":
        final, reach = _find_by_rows(spec, begin, count)
    elif isinstance(window, DeltaWindow):
        final, reach = count, _reach_by_delta(window, data, begin)
    else:
        final, reach = _find_by_frames(window, frames, data, begin, count)
    if spec is not None and spec.looks_at_peers:
        final = min(final, _find_last_peers(data, begin, count))
    return Frontier(final, lambda row: max(begin, reach(row)))


_Known = tuple[int, Callable[[int], int]]


# ---- by rows: arithmetic
def _find_by_rows(spec: Reach, begin: int, count: int) -> _Known:
    first: Any = spec.start
    last: Any = spec.end
    final = max(begin, count - max(last, 0))
    if spec.from_first_row:  # what lies before the end of a running frame is carried
        return final, lambda row: row + last + 1
    return final, lambda row: row + first


# ---- by what the frames are
def _find_by_frames(window: WindowDefinition, frames: Frames, data: Chunk, begin: int, count: int) -> _Known:
    start, end = frames.start[begin:], frames.end[begin:]
    open_ended = end >= count
    ends_with_row = window.size_kind == "punctuation"  # the row itself is the frame's last
    if ends_with_row:
        open_ended = np.zeros(0, bool)
    final = begin + int(np.argmax(open_ended)) if open_ended.any() else count
    spec = window.reach
    edge = end if window.running else start

    def reach(row: int) -> int:
        row = min(row, count - 1)
        found = int(edge[row - begin :].min())
        if ends_with_row:
            return found - 1  # the mark before it, where the window began
        return _find_day_before(found, data, begin) if spec is not None and spec.by_calendar else found

    return final, reach


def _find_day_before(row: int, data: Chunk, begin: int) -> int:
    order = data.read_order().sortable
    if len(order) != 1 or row >= len(order[0]):  # rows without an order are few, or at an end: keep them all
        return begin
    kind: Any = data.read_order().kind
    day = _DAY // (find_unit(kind.value_type if pa.types.is_dictionary(kind) else kind) or 1)
    return begin + int(np.searchsorted(order[0][begin : row + 1], order[0][row] - day))


def _find_last_peers(data: Chunk, begin: int, count: int) -> int:
    """Find the first of the last row's peers: later rows may join them."""
    changes = np.flatnonzero(data.read_order().changes()[begin:count])
    return begin + int(changes[-1]) if len(changes) else begin


# ---- delta: what is held
def _reach_by_delta(window: DeltaWindow, data: Chunk, begin: int) -> Callable[[int], int]:
    def reach(row: int) -> int:
        """Find the first row that stays once `row` has entered: no later one is more than the size above it."""
        name = data.delta_column(window)
        held = data.arrange(name)[begin:]
        values, size = measure_delta(held, window.size, name)
        values = values[: row - begin + 1]
        highest = np.maximum.accumulate(values[::-1])[::-1]
        return begin + int(np.argmax(highest - values <= size))

    return reach
