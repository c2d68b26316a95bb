"""When a result is due: at which rows, or at which boundaries of time. One small class per kind of slide."""

from __future__ import annotations

from typing import Any

from slidewise.errors import InvalidInput
from slidewise.events.row_reader import Row
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import DeltaWindow, RowsWindow, TimeWindow, WindowDefinition
from slidewise.windows.durations import Length


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


RowSlide = EachRow | EveryCount | EveryDelta | EveryPunctuation


def row_slide(definition: WindowDefinition, clock: Clock | None) -> RowSlide:
    """A new slide by rows, for one key. Slides by time do not look at rows: see Grid."""
    every = definition.every
    if every is None or isinstance(every, TimeWindow):
        return EachRow()
    if isinstance(every, RowsWindow):
        return EveryCount(every.n)
    if isinstance(every, DeltaWindow):
        assert clock is not None
        return EveryDelta(clock.measure(every.size))
    return EveryPunctuation()


class Grid:
    """The boundaries of a slide by time: offset + k * every. Steps are counted: floats do not drift."""

    __slots__ = ("clock", "every", "offset")

    def __init__(self, clock: Clock, every: Length, offset: Length | None) -> None:
        self.clock = clock
        self.every = every
        self.offset = offset

    def at(self, k: int) -> Any:
        """Boundary number k."""
        every = self.clock.measure(self.every)
        return k * every if self.offset is None else k * every + self.clock.measure(self.offset)

    def require_within(self, row: Row, size: Any) -> None:
        """Refuse a row whose windows begin or end where there are no times; without a size, they only end. O(1)."""
        ends = self.at(self.step(row.time) + 1) if size is None else self.at(self.step(row.time)) + size
        first = ends if size is None else self.at(self.step(row.time - size) + 1)
        if self.clock.can_write(ends) and self.clock.can_write(first):
            return
        side = "begin before the first" if self.clock.can_write(ends) else "end after the last"
        raise InvalidInput(
            f"push: windows of the row of {row.stamp!r} {side} {self.clock.kind} that there is, and so have no name. "
            "Leave such rows out, or give times as plain numbers"
        )

    def step(self, x: Any) -> int:
        """The number of the last boundary at or before x."""
        offset = 0 if self.offset is None else self.clock.measure(self.offset)
        k = int((x - offset) // self.clock.measure(self.every))
        while self.at(k) > x:  # a rounded quotient may be one off
            k -= 1
        while self.at(k + 1) <= x:
            k += 1
        return k
