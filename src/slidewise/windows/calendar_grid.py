"""CalendarGrid: boundaries of slides on days or months of the calendar, by the clocks of a time zone.

A day has 23 or 25 hours where clocks change, and months differ: boundaries are found on local dates, and each becomes
the instant at which clocks show it. One that clocks skip is the instant of the change, one that they show twice the
earlier: Python's and Java's rule.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slidewise.errors import InvalidInput
from slidewise.windows.clock import ENDS, EPOCH, add_months, month_of
from slidewise.windows.durations import UNITS, CalendarDuration, Duration, Length

_DAY = UNITS["d"]
#: boundaries that are remembered: those of open windows are asked for again and again
_REMEMBERED = 4096


def read_zone(name: Any, what: str) -> str:
    """Check the name of a time zone."""
    if not isinstance(name, str) or not name:
        raise InvalidInput(f'{what}: zone= names a time zone, as in zone="Europe/Berlin", got {name!r}')
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f'{what}: there is no time zone {name!r}. Names are those of the IANA database: "Europe/Berlin", "UTC"'
        ) from None
    return name


def check_calendar(size: Length, slide: Any, zone: Any, cumulative: bool) -> str | None:
    """Check a window whose slides are days or months of the calendar, and return its zone."""
    if cumulative:
        raise InvalidInput(
            "time: cumulative windows are of fixed lengths: leave out zone= and months, and use days, or no cumulative="
        )
    if slide is None or slide.slide_kind != "row" or slide.size_kind != "time":
        raise InvalidInput(
            f'time: zone= is for windows that begin on days or months of it: give every= by time, as in every="1d", '
            f"got {slide!r}"
        )
    for name, length in (("the size", size), ("every", slide.size)):
        if not isinstance(length, CalendarDuration) and not (
            isinstance(length, Duration) and length.nanoseconds > 0 and length.nanoseconds % _DAY == 0
        ):
            raise InvalidInput(
                f"time: windows on days or months of the calendar last whole days or months, and {name} is {length!r}. "
                'Leave out zone= for hours, which are the same everywhere, or write "1d", "1w", "1mo", "1q" or "1y"'
            )
    return None if zone is None else read_zone(zone, "time")


def build_calendar_grid(window: Any, has_zone: bool, unit: int, what: str) -> CalendarGrid:
    """Build the grid of a window over times of `unit` nanoseconds, which are instants where they have a zone."""
    if window.zone is not None and not has_zone:
        raise InvalidInput(
            f"{window!r} is by the clocks of {window.zone}, and {what} has no time zone: what clocks show there is the "
            "time itself. Leave out zone=, or give times with a zone"
        )
    offset = window.offset
    if offset == 0:
        offset = None
    if offset is not None and offset.nanoseconds % unit:
        raise InvalidInput(f"time: offset={offset!r} is not a whole number of the units of {what}")
    zone = ZoneInfo(window.zone or "UTC") if has_zone else None
    return CalendarGrid(window.every.size, window.size, offset, zone, unit)


class CalendarGrid:
    """Boundary k is k steps of days or months after 1970-01-01, moved by offset; windows begin there.

    >>> from slidewise.windows.durations import duration
    >>> grid = CalendarGrid(duration("1mo"), duration("1mo"), zone=ZoneInfo("Europe/Berlin"), unit=UNITS["s"])
    >>> [grid.end_of(k) - grid.at(k) for k in (0, 602)]   # January 1970, and March 2020, which lacks an hour
    [2678400, 2674800]
    >>> grid.step(0)
    0

    Times are whole numbers of `unit` nanoseconds: one by one, or as arrays.
    """

    __slots__ = ("_ends", "_last", "_starts", "every", "offset", "size", "unit", "zone")

    #: as of a Grid: windows are not cumulative
    steps = None

    def __init__(
        self, every: Length, size: Length, offset: Length | None = None, zone: tzinfo | None = None, unit: int = 1
    ) -> None:
        assert isinstance(offset, Duration | None)
        self.every, self.size, self.offset = every, size, 0 if offset is None else offset.nanoseconds
        self.zone, self.unit = zone, unit
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        #: the last step that was found, and where it begins and ends
        self._last = (0, 0, 0)

    # ---- boundaries
    def at(self, k: Any) -> Any:
        """Compute boundary number k. O(1)."""
        return self._compute(k, self._starts, lambda k: self._find_day(k))

    def end_of(self, k: Any) -> Any:
        """Return where window k ends. O(1)."""
        return self._compute(k, self._ends, lambda k: _move(self._find_day(k), self.size))

    def _find_day(self, k: int) -> int:
        return _move(0, self.every, k)

    def _compute(self, k: Any, known: dict[int, int], find_day: Callable[[int], int]) -> Any:
        if hasattr(k, "dtype") and k.ndim:
            import numpy as np

            found, places = np.unique(k, return_inverse=True)
            made = [self._compute(int(each), known, find_day) for each in found]
            return np.array(made, np.int64)[places]
        if k not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[k] = self._find_instant(find_day(k))
        return known[k]

    def _find_instant(self, day: int) -> int:
        """Find when clocks show the beginning of a day, moved by the offset."""
        local = day * _DAY + self.offset
        if self.zone is not None:
            first, last = ENDS["aware datetime"]
            near = EPOCH + timedelta(microseconds=max(first, min(local, last)) // 1000)
            local -= _offset_of(near.replace(tzinfo=self.zone))
        return local // self.unit

    # ---- windows of a time
    def step(self, x: Any) -> Any:
        """Find the number of the last boundary at or before x. O(1); of an array O(log boundaries) each."""
        if hasattr(x, "dtype") and x.ndim:
            return self._search(x, self.step, self.at, 1)
        k, begin, end = self._last
        if begin <= x < end:
            return k
        day = (int(x) * self.unit - self.offset) // _DAY
        k = (month_of(day) if isinstance(self.every, CalendarDuration) else day) // _count(self.every)
        while self.at(k) > x:
            k -= 1
        while self.at(k + 1) <= x:
            k += 1
        self._last = (k, self.at(k), self.at(k + 1))
        return k

    def first_window(self, x: Any) -> Any:
        """Find the number of the first window that has x: the first that ends after it. O(log windows of a row)."""
        if hasattr(x, "dtype") and x.ndim:
            return self._search(x, self.first_window, self.end_of, 0)
        last = self.step(x)
        reach = range(last - self.windows_per_row - 1, last + 2)
        return reach[bisect_right(reach, x, key=self.end_of)]

    def last_window(self, x: Any) -> Any:
        """Find the number of the last window that has x, where that has a window. O(1)."""
        return self.step(x)

    def _search(self, x: Any, find: Any, boundary: Any, back: int) -> Any:
        """Search many times among the boundaries that they are between."""
        import numpy as np

        if not len(x):
            return np.zeros(0, np.int64)
        numbers = np.arange(find(int(x.min())), find(int(x.max())) + 1 + back)
        return numbers[0] + np.searchsorted(boundary(numbers), x, side="right") - back

    @property
    def windows_per_row(self) -> int:
        """In how many windows a row can be, at most."""
        return -(-_longest(self.size) // _shortest(self.every)) + 1

    @property
    def longest_days(self) -> int:
        """How many days a window has, at most."""
        return _longest(self.size)

    @property
    def has_gaps(self) -> bool:
        """Whether a row may be in no window."""
        return _shortest(self.size) < _longest(self.every) and self.slices != 1

    @property
    def far(self) -> int:
        """Further than any window of a time begins before it, or ends after it."""
        return (_longest(self.size) + 2 * _longest(self.every) + 2) * _DAY // self.unit + abs(self.offset) // self.unit

    def is_inside(self, times: Any) -> Any:
        """Tell which times are in a window."""
        return self.first_window(times) <= self.step(times)

    def last_end(self, times: Any) -> Any:
        """Return where the last window ends that has each time."""
        return self.end_of(self.step(times))

    def next_end(self, times: Any, after: int) -> tuple[Any, Any]:
        """Find where the first window ends that has each time and ends after `after`, and whether there is one."""
        import numpy as np

        k = self.first_window(np.maximum(times, after))
        return self.end_of(k), self.at(k) <= times

    # ---- slices
    @property
    def slices(self) -> int | None:
        """How many slices a window has; None where windows do not end where others begin."""
        if isinstance(self.size, CalendarDuration) != isinstance(self.every, CalendarDuration):
            return None
        whole, rest = divmod(_count(self.size), _count(self.every))
        return None if rest else whole

    def slice_of(self, times: Any) -> Any:
        """Find where the slice of each time begins: the last boundary."""
        return self.at(self.step(times))


def _move(day: int, length: Length, times: int = 1) -> int:
    """Move a day by a number of days or months, some times."""
    return (
        add_months(day, times * _count(length))
        if isinstance(length, CalendarDuration)
        else day + times * _count(length)
    )


def _count(length: Length) -> int:
    """Count the days or months of a length."""
    if isinstance(length, CalendarDuration):
        return length.months
    assert isinstance(length, Duration)
    return length.nanoseconds // _DAY


def _longest(length: Length) -> int:
    """Return how many days a length has at most."""
    return 31 * _count(length) if isinstance(length, CalendarDuration) else _count(length)


def _shortest(length: Length) -> int:
    return 28 * _count(length) if isinstance(length, CalendarDuration) else _count(length)


def _offset_of(time: datetime) -> int:
    """Return how far clocks are ahead of UTC, in nanoseconds."""
    return (time.utcoffset() or timedelta()) // timedelta(microseconds=1) * 1000
