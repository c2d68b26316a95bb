"""Lengths of time: "1h30m", "500ms", a timedelta; and calendar lengths, "3 months", whose days vary."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, NoReturn

from slidewise.errors import InvalidInput

#: nanoseconds per unit, the largest first
UNITS = {
    "w": 604_800_000_000_000,
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_LONG_NAMES = {
    "w": ("week", "weeks"),
    "d": ("day", "days"),
    "h": ("hour", "hours", "hr", "hrs"),
    "m": ("minute", "minutes", "min", "mins"),
    "s": ("second", "seconds", "sec", "secs"),
    "ms": ("millisecond", "milliseconds", "milli", "millis"),
    "us": ("microsecond", "microseconds", "µs", "μs"),
    "ns": ("nanosecond", "nanoseconds"),
    "mo": ("month", "months"),
    "q": ("quarter", "quarters"),
    "y": ("year", "years"),
}
_UNIT_OF = {name: unit for unit, names in _LONG_NAMES.items() for name in (unit, *names)}
#: Capitals change the meaning of these: "M" is a month to pandas and numpy, "MS" the start of one to pandas. All other
#: units mean the same in capitals ("1H", "1D", "5 MINUTES"), there and here.
_AMBIGUOUS = ("m", "ms")
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµμ]+)\s*", re.IGNORECASE)


@dataclass(frozen=True, order=True, repr=False)
class Duration:
    """A fixed length of time; negative means before. It is shown as the user wrote it."""

    nanoseconds: int
    text: str = field(default="", compare=False)

    def __neg__(self) -> Duration:
        return Duration(-self.nanoseconds, _negate(self.text))

    def canonical(self) -> Duration:
        """Return the spelling that all equal durations share, for definitions that are compared as text."""
        return Duration(self.nanoseconds, self._in(UNITS))

    def _in(self, units: dict[str, int]) -> str:
        parts, rest = [], abs(self.nanoseconds)
        for unit, length in units.items():
            if rest >= length:
                parts.append(f"{rest // length}{unit}")
                rest %= length
        return "-" * (self.nanoseconds < 0) + ("".join(parts) or "0s")

    def __str__(self) -> str:
        # Weeks are for those who wrote them: timedelta(days=7) is "7d".
        return self.text or self._in({unit: length for unit, length in UNITS.items() if unit != "w"})

    def __repr__(self) -> str:
        return f'"{self}"'


@dataclass(frozen=True, order=True, repr=False)
class CalendarDuration:
    """A number of months: a length that depends on where it is measured. 12 months are a year."""

    months: int
    text: str = field(default="", compare=False)

    def __neg__(self) -> CalendarDuration:
        return CalendarDuration(-self.months, _negate(self.text))

    def canonical(self) -> CalendarDuration:
        """Return the spelling that all equal durations share, for definitions that are compared as text."""
        return CalendarDuration(self.months)

    def __str__(self) -> str:
        years, months = divmod(abs(self.months), 12)
        parts = f"{years}y" * (years > 0) + f"{months}mo" * (months > 0)
        return self.text or "-" * (self.months < 0) + (parts or "0mo")

    def __repr__(self) -> str:
        return f'"{self}"'


def _negate(text: str) -> str:
    return text[1:].lstrip() if text.startswith("-") else text and f"-{text}"


#: A length along the order column: fixed, by the calendar, or a number in the column's own unit.
Length = Duration | CalendarDuration | int | float | Decimal


def duration(text: str) -> Duration | CalendarDuration:
    """Parse a duration.

    >>> duration("1h30m")
    "1h30m"
    >>> duration("90s").nanoseconds
    90000000000
    >>> duration("-2 days"), duration("3 months")
    ("-2 days", "3 months")
    """
    stripped = text.strip()
    negative = stripped.startswith("-")
    body = stripped[1:] if negative else stripped
    parts = _split(body)
    if parts is None:
        raise InvalidInput(
            f"{text!r} is not a duration. Write a number and a unit, one or more times: "
            '"90s", "1h30m", "500ms", "2d", "1w", "3 months"'
        )
    if any(unit in _MONTHS for _, unit in parts):
        return _to_months(stripped, parts, negative)
    total = sum(_to_nanoseconds(text, number, UNITS[unit]) for number, unit in parts)
    return Duration(-total if negative else total, stripped)


def _split(body: str) -> list[tuple[str, str]] | None:
    """Split a text into numbers and units; None where something else stands in it."""
    parts, position = [], 0
    while position < len(body):
        match = _PART.match(body, position)
        unit = match and _UNIT_OF.get(match[2] if match[2] in _UNIT_OF else match[2].lower())
        if match is None or unit is None:
            return None
        if unit in _AMBIGUOUS and match[2] != unit and match[2].lower() == unit:
            _refuse_capitals(match[1], match[2], unit)
        parts.append((match[1], unit))
        position = match.end()
    return parts or None


def _refuse_capitals(number: str, given: str, unit: str) -> NoReturn:
    raise InvalidInput(
        f'the unit {given!r} of "{number}{given}" is a month to some and a {_LONG_NAMES[unit][0]} to others. '
        f'Write "{number}{unit}" for {_LONG_NAMES[unit][1]}, "{number}mo" for months'
    )


def _to_nanoseconds(text: str, number: str, unit: int) -> int:
    """Convert a decimal number of units to whole nanoseconds."""
    whole, _, fraction = number.partition(".")
    scale: int = 10 ** len(fraction)
    total, rest = divmod(int(whole + fraction) * unit, scale)
    if rest:
        raise InvalidInput(f"the duration {text!r} is not a whole number of nanoseconds, the finest unit there is")
    return total


def _to_months(text: str, parts: list[tuple[str, str]], negative: bool) -> CalendarDuration:
    if any(unit not in _MONTHS or "." in number for number, unit in parts):
        raise InvalidInput(
            f"the duration {text!r} mixes months with fixed lengths, or has a fraction of a month. "
            'Use whole months and years only ("1y6mo"), or days'
        )
    months = sum(int(number) * _MONTHS[unit] for number, unit in parts)
    return CalendarDuration(-months if negative else months, text)


def length(value: Any, what: str) -> Length:
    """Check a length as the user gave it: text, timedelta, or a plain number in the unit of the order column."""
    if isinstance(value, Duration | CalendarDuration):
        return value
    if isinstance(value, str):
        return duration(value)
    if isinstance(value, timedelta):
        return Duration((value // timedelta(microseconds=1)) * 1000 + getattr(value, "nanoseconds", 0))
    if type(value).__name__ == "timedelta64":
        return _read_timedelta64(value, what)
    if hasattr(value, "item") and not isinstance(value, int | float):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidInput(
            f'{what} is a duration ("1h30m", a timedelta) or a number in the unit of the order, got {value!r}'
        )
    if not math.isfinite(value):
        raise InvalidInput(f"{what} must be finite, got {value!r}")
    return value


def _read_timedelta64(value: Any, what: str) -> Duration | CalendarDuration:
    import numpy as np

    if np.isnat(value):
        raise InvalidInput(f"{what} must be a length of time, got {value!r}")
    unit, many = np.datetime_data(value.dtype)
    number = int(value.astype(int)) * many  # as Python's integer: numpy's casts to nanoseconds wrap around
    if unit in ("Y", "M"):
        return CalendarDuration(number * (12 if unit == "Y" else 1))
    if unit.lower() not in UNITS:
        raise InvalidInput(f'{what}: {value!r} has no unit from weeks to nanoseconds. Give it one, as in "10s"')
    return Duration(number * UNITS[unit.lower()])


def sign(value: Length) -> int:
    """Return -1, 0 or 1."""
    number = value.nanoseconds if isinstance(value, Duration) else value
    number = number.months if isinstance(number, CalendarDuration) else number
    return (number > 0) - (number < 0)


def same_kind(a: Length, b: Length) -> bool:
    """Tell whether two lengths can be compared: both fixed, both by the calendar, or both plain numbers."""
    kinds = (Duration, CalendarDuration)
    return [isinstance(a, k) for k in kinds] == [isinstance(b, k) for k in kinds]
