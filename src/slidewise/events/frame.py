"""Which rows a result is over, where frames are measured along a coordinate: number, time or group of a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark
from slidewise.windows.clock import Clock
from slidewise.windows.durations import UNITS, CalendarDuration, Duration, sign
from slidewise.windows.reach import OffsetColumn, Reach, Unbounded


class Frame:
    """The rows with low <= x <= high, x being the coordinate of a row; an open end leaves out its bound.

    rows(n) is the frame of the rows -(n - 1) to 0, and time(size) that of the range -size to 0.
    """

    __slots__ = (
        "_high_by",
        "_low_by",
        "_settled",
        "clock",
        "end",
        "exclude",
        "open_end",
        "open_start",
        "reach",
        "start",
        "unit",
    )

    def __init__(self, reach: Reach, clock: Clock) -> None:
        self.reach, self.clock = reach, clock
        self.unit, self.exclude = reach.unit, reach.exclude
        self.start: Any = reach.start
        self.end: Any = reach.end
        self.open_start, self.open_end = reach.open_start, reach.open_end
        #: the bounds as numbers, where they are, once a row has told what times are
        self._low_by: Any = None
        self._high_by: Any = None
        self._settled = False

    def _settle(self) -> None:
        """Measure the bounds that are the same for all rows."""
        if self.unit == "range" and self.clock.kind is None:
            return
        self._settled = True
        self._low_by, self._high_by = self._number(self.start), self._number(self.end)

    def _number(self, bound: Any) -> Any:
        if isinstance(bound, Unbounded | OffsetColumn | CalendarDuration):
            return None
        return self.clock.measure(bound) if self.unit == "range" else bound

    def low(self, row: Row) -> Any:
        """Return the coordinate at which the row's frame starts; None: at the first row."""
        if not self._settled:
            self._settle()
        by = self._low_by
        return self._bound(self.start, row.x, row.start) if by is None else row.x + by

    def high(self, row: Row) -> Any:
        """Return the coordinate at which the row's frame ends; None: at the last row."""
        if not self._settled:
            self._settle()
        by = self._high_by
        return self._bound(self.end, row.x, row.end) if by is None else row.x + by

    def _bound(self, bound: Any, x: Any, own: Any) -> Any:
        if isinstance(bound, Unbounded):
            return None
        offset = own if isinstance(bound, OffsetColumn) else bound
        return self.clock.shift(x, offset) if self.unit == "range" else x + offset

    def starts_after(self, low: Any, x: Any) -> bool:
        """Tell whether x lies before the start of a frame."""
        return low is not None and (x <= low if self.open_start else x < low)

    def reaches(self, high: Any, x: Any) -> bool:
        """Tell whether x lies at or before the end of a frame."""
        return high is None or (x < high if self.open_end else x <= high)

    # ---- when rows leave, as time passes
    @property
    def ends_before_row(self) -> bool:
        """Whether a row is not in the frame of its own time, but in those of later ones."""
        return self.open_end or sign(self.end) < 0

    def leaves_at(self, x: Any) -> Any:
        """Return the first time in whose frame a row of time x is no more. O(1)."""
        if not self._settled:
            self._settle()
        by = self._low_by
        return self._find_first(x, by, self.open_start, lambda at: self.starts_after(at + by, x))

    def enters_at(self, x: Any) -> Any:
        """Return the first time in whose frame a row of time x is, but for the start of the frame. O(1)."""
        if not self._settled:
            self._settle()
        by = self._high_by
        return self._find_first(x, by, not self.open_end, lambda at: self.reaches(at + by, x))

    def _find_first(self, x: Any, by: Any, at_once: bool, holds: Callable[[Any], bool]) -> Any:
        """Find the first time for which a condition holds, which is about x - by, or after it unless `at_once`."""
        near = x - by
        if not isinstance(near, float):
            return self.clock.next_from(near) if at_once else self.clock.next_after(near)
        if isinstance(x, int):  # the length is no integer, and times are
            found = math.ceil(near)
            return found if holds(found) else found + 1
        if not math.isfinite(near):
            return near
        while not holds(near):  # floats are rounded, and may be some off
            near = math.nextafter(near, math.inf)
        while holds(before := math.nextafter(near, -math.inf)):
            near = before
        return near

    def is_complete(self, row: Row, last: Row, mark: Mark) -> bool:
        """Tell whether all rows of the frame are there; `last` is the last row of the key so far."""
        time, inclusive = mark
        high = self.high(row)
        if self.unit == "range" and high is not None:
            return bool(high < time or (high == time and (inclusive or self.open_end)))
        if mark.ended:
            return True
        if high is None:
            return False
        if self.unit == "rows":
            return bool(last.x >= high)
        return bool(last.x > high) or (last.x == high and mark.has_passed(last.time))

    def deadline(self, row: Row, last: Row) -> Deadline | None:
        """Return when the frame will be complete; None where only more rows can complete it."""
        high = self.high(row)
        if high is None or self.unit == "rows":
            return None
        if self.unit == "range":
            return (high, not self.open_end)
        return (last.time, True) if last.x >= high else None

    def extent(self) -> tuple[Any, Any] | None:
        """Return how far frames reach along the axis at most, back (at most 0) and ahead (at least 0); None: any."""
        if not self.reach.fixed:
            return None
        return min(self._farthest(self.start), 0), max(self._farthest(self.end), 0)

    def _farthest(self, length: Any) -> Any:
        """Convert a length to a number along the axis; months to one that they never exceed in either direction."""
        if isinstance(length, CalendarDuration):  # a day for the clocks that change
            days = 31 * length.months + sign(length)
            length = Duration(days * UNITS["d"])
        return self.clock.measure(length)
