"""Numbers, sizes and times as a person reads them; `assets/format.js` writes the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_PREFIXES = ("", "k", "M", "G", "T", "P")


def count(number: float) -> str:
    """Write a number in three digits or so.

    >>> [count(n) for n in (0, 7, 2.5, 812, 12_345, 999_999, 3_400_000)]
    ['0', '7', '2.5', '812', '12.3k', '1M', '3.4M']
    """
    step = 0
    while abs(round(number / 1000**step, 1)) >= 1000 and step < len(_PREFIXES) - 1:
        step += 1
    return f"{_three_digits(number / 1000**step)}{_PREFIXES[step]}"


def size(number: float) -> str:
    """Write a number of bytes.

    >>> [size(n) for n in (0, 812, 1_200_000, 2_000_000_000)]
    ['0 B', '812 B', '1.2 MB', '2 GB']
    """
    text = count(number)
    digits = text.rstrip("kMGTP")
    return f"{digits} {text[len(digits) :]}B"


def span(seconds: float) -> str:
    """Write a length of time.

    >>> [span(s) for s in (0, 0.004, 0.42, 2.14, 42, 200, 725, 3900, 93_600, 8 * 86_400)]
    ['0 s', '4 ms', '0.42 s', '2.1 s', '42 s', '3 min 20 s', '12 min', '1 h 5 min', '1 d 2 h', '8 d']
    """
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds == 0:
        return "0 s"
    if seconds < 0.1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 1:
        return f"{_trimmed(seconds, 2)} s"
    if seconds < 9.95:
        return f"{_trimmed(seconds, 1)} s"
    whole = math.floor(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _two_units(whole, (60, "min", 10), (1, "s"))
    if whole < 86_400:
        return _two_units(whole, (3600, "h", 24), (60, "min"))
    return _two_units(whole, (86_400, "d", 7), (3600, "h"))


def clock(seconds: float, now: float) -> str:
    """Write a time of day in UTC, with its date where that is not today's.

    >>> now = 1_767_265_330
    >>> clock(now, now), clock(now - 86_400, now)
    ('11:02:10', '2025-12-31 11:02:10')
    """
    time = datetime.fromtimestamp(math.floor(seconds), UTC)
    today = time.date() == datetime.fromtimestamp(now, UTC).date()
    return f"{time:%H:%M:%S}" if today else f"{time:%Y-%m-%d %H:%M:%S}"


def seconds_of(text: str | None) -> float | None:
    """Read an ISO time as seconds since 1970; one without a zone is in UTC.

    >>> seconds_of("2026-01-01T11:02:10Z"), seconds_of("2026-01-01 11:02:10"), seconds_of("soon"), seconds_of(None)
    (1767265330.0, 1767265330.0, None, None)
    """
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _two_units(whole: int, large: tuple[int, str, int], small: tuple[int, str]) -> str:
    """Write a length in a unit, and what is left in a smaller one, up to so many of the large unit."""
    length, name, most = large
    many, rest = divmod(whole, length)
    few = rest // small[0]
    return f"{many} {name}" + (f" {few} {small[1]}" if few and many < most else "")


def _three_digits(number: float) -> str:
    return _trimmed(number, 0 if abs(number) >= 99.95 else 1)


def _trimmed(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
