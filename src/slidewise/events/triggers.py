"""When a result is due: at which rows, or at which boundaries of time. One small class per kind of slide."""

from __future__ import annotations

from typing import Any

from slidewise.events.row_reader import Row
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import DeltaWindow, WindowDefinition


class EachRow:
    """Every row slides."""

    __slots__ = ()

    def fires(self, row: Row) -> bool:
        return True


class EveryCount:
    """Rows k, 2k, 3k, ... of the key."""

    __slots__ = ("k", "seen")

    def __init__(self, k: int) -> None:
        self.k = k
        self.seen = 0

    def fires(self, row: Row) -> bool:
        self.seen += 1
        return self.seen % self.k == 0


class EveryDelta:
    """Rows whose column is more than `size` above that of the last trigger; the first row only starts it."""

    __slots__ = ("last", "size")

    def __init__(self, size: Any) -> None:
        self.size = size
        self.last: Any = None

    def fires(self, row: Row) -> bool:
        if self.last is None:
            self.last = row.slide_value
            return False
        fires = bool(row.slide_value - self.last > self.size)
        if fires:
            self.last = row.slide_value
        return fires


class EveryPunctuation:
    """The rows for which the predicate holds."""

    __slots__ = ()

    def fires(self, row: Row) -> bool:
        return bool(row.slide_value)


#: it has nothing of its own, and so is that of every key
EACH_ROW = EachRow()

RowSlide = EachRow | EveryCount | EveryDelta | EveryPunctuation


def row_slide(definition: WindowDefinition, clock: Clock | None) -> RowSlide:
    """Build a new slide by rows, for one key. Slides by time do not look at rows: see windows/grid.py."""
    every = definition.every
    if every is None or definition.slide_size is not None:
        return EACH_ROW
    if definition.slide_rows is not None:
        return EveryCount(definition.slide_rows)
    if isinstance(every, DeltaWindow):
        assert clock is not None
        return EveryDelta(clock.measure(every.size))
    return EveryPunctuation()
