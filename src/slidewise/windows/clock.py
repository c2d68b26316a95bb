"""Times as numbers along one axis: plain numbers as they are, datetimes in nanoseconds, dates in days.

The first time that a clock reads decides its kind; every later one must be of the same kind.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

from slidewise.errors import InvalidInput
from slidewise.windows.durations import UNITS, CalendarDuration, Duration, Length, sign

Kind = Literal["number", "datetime", "aware datetime", "datetime64", "date"]

EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = ((day - EPOCH) // _MICROSECOND * 1000 for day in (datetime.min, datetime.max))
_DAYS_IN_400_YEARS = 146_097
#: between which numbers every time can be written, by kind; a day less where clocks differ
ENDS = {
    "datetime": (_FIRST, _LAST),
    "aware datetime": (_FIRST + UNITS["d"], _LAST - UNITS["d"]),
    "datetime64": (-(2**63) + 1, 2**63 - 1),
    "date": (date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY),
}


class Clock:
    """Reads times of one kind as numbers, and writes numbers as times again."""

    __slots__ = ("kind", "lengths", "what", "zone")

    def __init__(self, what: str, lengths: Iterable[Length] = ()) -> None:
        self.what = what
        #: the lengths that will be measured with this clock, checked as soon as its kind is known
        self.lengths = tuple(lengths)
        self.kind: Kind | None = None
        self.zone: tzinfo | None = None

    def read(self, time: Any) -> Any:
        """Convert a time to a number. O(1)."""
        if type(time) is int and self.kind == "number":
            return time
        kind = self.kind_of(time)
        if kind != self.kind:
            self._settle(kind, time)
        if kind == "number":
            return time.item() if hasattr(time, "item") else time
        if kind == "date":
            return time.toordinal() - _EPOCH_DAY
        if kind == "datetime64":
            return _to_nanoseconds(time, self.what)
        past = time - (EPOCH if kind == "datetime" else _EPOCH_UTC)
        return (past // _MICROSECOND) * 1000 + getattr(past, "nanoseconds", 0)

    def write(self, x: Any) -> Any:
        """Convert a number along the axis to a time; datetimes in the zone of the first one read. O(1)."""
        if self.kind == "number":
            return x
        if self.kind == "date":
            return date.fromordinal(x + _EPOCH_DAY)
        if self.kind == "datetime64":
            return _to_datetime64(x)
        if self.kind == "datetime":
            return EPOCH + timedelta(microseconds=x // 1000)
        first, last = ENDS["aware datetime"]
        if first <= x <= last:
            return (_EPOCH_UTC + timedelta(microseconds=x // 1000)).astimezone(self.zone)
        # In UTC it may be of the year 0 or 10000: the distance from UTC is that of a day nearer.
        local = x + self._offset(self.write(max(first, min(x, last))))
        return (EPOCH + timedelta(microseconds=local // 1000)).replace(tzinfo=self.zone)

    def can_write(self, x: Any) -> bool:
        """Tell whether there is a time for a number along the axis: datetimes end with the year 9999. O(1)."""
        try:
            self.write(x)
        except (OverflowError, ValueError):
            return False
        return True

    def next_after(self, x: Any) -> Any:
        """Return the first number after x along the axis that is a time: of floats the next one. O(1)."""
        if isinstance(x, float):
            return math.nextafter(x, math.inf)
        unit = self._unit
        return (x // unit + 1) * unit

    def next_from(self, x: Any) -> Any:
        """Return the first number at or after x along the axis that is a time. O(1)."""
        return x if isinstance(x, float) else -(-x // self._unit) * self._unit

    @property
    def _unit(self) -> int:
        """The finest unit of times, where they are integers along the axis."""
        return 1000 if self.kind in ("datetime", "aware datetime") else 1

    def measure(self, length: Length) -> Any:
        """Convert a fixed length to a number along the axis. O(1)."""
        if isinstance(length, Decimal):  # which floats cannot be added to
            return int(length) if length == int(length) else float(length)
        if not isinstance(length, Duration):
            return length
        return length.nanoseconds // UNITS["d"] if self.kind == "date" else length.nanoseconds

    def shift(self, x: Any, length: Length) -> Any:
        """Move x by `length`; by months of the calendar in the zone of the first time read. O(1)."""
        if not isinstance(length, CalendarDuration):
            return x + self.measure(length)
        if self.kind == "date":
            return add_months(x, length.months)
        if self.kind != "aware datetime":
            day, rest = divmod(x, UNITS["d"])
            return add_months(day, length.months) * UNITS["d"] + rest
        before = self._offset(self.write(x))
        day, rest = divmod(x + before, UNITS["d"])
        local = add_months(day, length.months) * UNITS["d"] + rest
        if not _FIRST <= local <= _LAST:  # where no clocks change
            return local - before
        there = (EPOCH + timedelta(microseconds=local // 1000)).replace(tzinfo=_add_folds(self.zone))
        return local - offset_after_months(before, self._offset(there), self._offset(there.replace(fold=1)))

    @staticmethod
    def _offset(time: datetime) -> int:
        """Return how far a local time is ahead of UTC, in nanoseconds."""
        return (time.utcoffset() or timedelta()) // _MICROSECOND * 1000

    def kind_of(self, time: Any) -> Kind:
        """Tell what a time is; refuse what cannot be ordered."""
        if isinstance(time, datetime):
            if time != time:  # pandas' NaT
                raise InvalidInput(f"{self.what} is missing: {time!r} has no place in the order")
            return "datetime" if time.tzinfo is None else "aware datetime"
        if isinstance(time, date):
            return "date"
        if type(time).__name__ == "datetime64":
            if time != time:
                raise InvalidInput(f"{self.what} is missing: {time!r} has no place in the order")
            return "datetime64"
        plain = time.item() if hasattr(time, "item") else time
        if isinstance(plain, bool) or not isinstance(plain, int | float):
            text = ", which is text: parse it, as in datetime.fromisoformat(...)" if isinstance(plain, str) else ""
            raise InvalidInput(f"{self.what} is a number, a datetime or a date, got {time!r}{text}")
        if isinstance(plain, float) and not math.isfinite(plain):
            raise InvalidInput(f"{self.what} must be finite, got {time!r}: it has no place in the order")
        return "number"

    def _settle(self, kind: Kind, time: Any) -> None:
        """Take the kind of the first time; refuse lengths that do not go with it, and times of other kinds."""
        if self.kind is not None:
            raise InvalidInput(
                f"{self.what} was a {self.kind} before, and is a {kind} now: {time!r}. All of them must be of one kind"
            )
        for length in self.lengths:
            if not sign(length):
                continue
            if kind == "number":
                if isinstance(length, Duration | CalendarDuration):
                    raise InvalidInput(
                        f"{self.what} is a plain number ({time!r}), and {length!r} is a length of time. "
                        "Give the length as a number in the same unit, or give datetimes"
                    )
            elif not isinstance(length, Duration | CalendarDuration):
                raise InvalidInput(
                    f"{self.what} is a {kind} ({time!r}), and {length!r} is a plain number without a unit. "
                    'Write the length with its unit, as in "10s"'
                )
            elif isinstance(length, Duration):
                finest = {"date": "d", "datetime64": "ns"}.get(kind, "us")
                if length.nanoseconds % UNITS[finest]:
                    raise InvalidInput(
                        f"{self.what} is a {kind}, with 1{finest} as finest unit: {length!r} is no multiple of it"
                    )
        self.kind = kind
        self.zone = getattr(time, "tzinfo", None)


# ---- months
def offset_after_months(before: Any, first: Any, second: Any) -> Any:
    """Compute the offset from UTC of a local time found by moving another by months: of integers, or arrays of them.

    The one rule of months, for events and for columns, that of java.time and so of Spark: a time moves by months on the
    clocks of its zone, and a day that the month does not have becomes its last. `before` is the distance from UTC of
    the time that is moved; `first` and `second` are those of the time that it becomes, which differ where the clocks
    change just then. A time that they skip has the distance before the change, which moves it on by as much as they
    skip. Of a time that comes twice, the one with the same distance as before is taken, otherwise the earlier.
    """
    twice = first > second
    return first + (second - first) * (twice & (before == second))


def month_of(day: int) -> int:
    """Count the months from January 1970 to that of a day since the epoch."""
    before, place = divmod(day + _EPOCH_DAY - 1, _DAYS_IN_400_YEARS)
    found = date.fromordinal(place + 1)
    return (found.year + 400 * before - 1970) * 12 + found.month - 1


def add_months(day: int, months: int) -> int:
    """Move a day since the epoch by months, at most to the last of the month."""
    # Every 400 years the calendar begins again: so years before 1 and after 9999 have days, too.
    before, place = divmod(day + _EPOCH_DAY - 1, _DAYS_IN_400_YEARS)
    start = date.fromordinal(place + 1)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    after, year = divmod(year - 1, 400)
    last = calendar.monthrange(year + 1, month + 1)[1]
    there = date(year + 1, month + 1, min(start.day, last)).toordinal() - _EPOCH_DAY
    return there + (before + after) * _DAYS_IN_400_YEARS


# ---- NumPy's times
def _to_nanoseconds(time: Any, what: str) -> int:
    """Convert a datetime64 to nanoseconds, of any size: NumPy's own cast wraps around before 1678 and after 2261."""
    import numpy as np

    unit, many = np.datetime_data(time.dtype)
    if unit in ("Y", "M"):
        time, (unit, many) = time.astype("datetime64[D]"), ("D", 1)
    if unit.lower() not in UNITS:
        raise InvalidInput(f"{what} is a datetime64 of weeks to nanoseconds, got {time!r} in {unit}")
    return int(time.astype(np.int64)) * many * UNITS[unit.lower()]


def _to_datetime64(nanoseconds: int) -> Any:
    """Build the datetime64 in the finest unit that reaches so far."""
    import numpy as np

    for unit in ("ns", "us", "ms", "s"):
        number, rest = divmod(nanoseconds, UNITS[unit])
        if not rest and -(2**63) < number < 2**63:
            return np.datetime64(number, unit)
    raise OverflowError(f"{nanoseconds} ns since 1970 are beyond datetime64")


def _add_folds(zone: tzinfo | None) -> tzinfo | None:
    """Return the zone as one that tells the two times apart that come twice; those of pytz do not."""
    if hasattr(zone, "localize") and getattr(zone, "zone", None):
        return ZoneInfo(zone.zone)  # type: ignore[union-attr]
    return zone
