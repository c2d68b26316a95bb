"""Rows ahead of the clock: one from the year 2999 would make every row after it late, and so is left out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.events.ordering import check_length
from slidewise.windows.clock import Clock
from slidewise.windows.durations import Duration

#: gives the time of now
Now = Callable[[], datetime]


class ClockGuard:
    """Tells which rows are further ahead of the clock than `max_ahead`.

    It is the clock that they are measured by, and never the newest row: after a quiet night every row would be further
    ahead of that than a guard allows, and none would ever be taken again.
    """

    __slots__ = ("clock", "max_ahead", "now")

    def __init__(self, clock: Clock, max_ahead: Duration, now: Now | None) -> None:
        """Compare rows with `now`; without it, with the system's time. `clock` is that of the rows."""
        self.clock, self.max_ahead, self.now = clock, max_ahead, now

    def leaves_out(self, time: Any) -> bool:
        """Tell whether the row of this time is left out. O(1)."""
        kind = self.clock.kind_of(time)
        if kind == "number":
            raise InvalidInput(
                f"push: max_ahead={self.max_ahead!r} is measured by the clock, and the time {time!r} is a plain "
                "number, of which no clock tells how far ahead it is. Give datetimes, or leave out max_ahead"
            )
        zoned = kind == "aware datetime"
        if self.now is None and not zoned and kind != "date":
            raise InvalidInput(
                f"push: the time {time!r} has no time zone, and so nothing tells how far ahead of the clock it is, "
                "which max_ahead= measures. Give times with a zone, or the clock that they are of: clock=datetime.now "
                "for local times, clock=lambda: datetime.now(UTC).replace(tzinfo=None) for those of UTC"
            )
        now = datetime.now(UTC) if self.now is None else self.now()
        if not isinstance(now, datetime):
            raise InvalidInput(f"push: clock= gives the time of now as a datetime, and it gave {now!r}")
        if kind != "date" and zoned != (now.tzinfo is not None):
            have = {True: "a time zone", False: "none"}
            raise InvalidInput(
                f"push: the time {time!r} has {have[zoned]}, and what clock= gives, {now!r}, has {have[not zoned]}: "
                "they cannot be compared. Give both a zone, or neither"
            )
        here = Clock("now")
        limit = here.read(now.date() if kind == "date" else now) + here.measure(self.max_ahead)
        return bool(self.clock.read(time) > limit)


def guard_of(clock: Clock, max_ahead: Any, now: Any) -> ClockGuard | None:
    """Check what was given, and build the guard of a window; None where it has none."""
    if max_ahead is None:
        if now is not None:
            raise InvalidInput("Window: clock= is what max_ahead= is measured by, and there is none. Give both")
        return None
    found = check_length(max_ahead, "max_ahead")
    if not isinstance(found, Duration):
        raise InvalidInput(
            f'Window: max_ahead is measured by the clock: a length of time such as "1h", got {max_ahead!r}'
        )
    if now is not None and not callable(now):
        raise InvalidInput(f"Window: clock= is a function that gives the time of now as a datetime, got {now!r}")
    return ClockGuard(clock, found, now)
