"""Cumulative windows: the results of a day so far, hour by hour (Flink's CUMULATE)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from slidewise.errors import InvalidInput
from slidewise.windows.definitions import TimeWindow, WindowDefinition
from slidewise.windows.durations import CalendarDuration, Duration, Length


@dataclass(frozen=True, repr=False)
class CumulativeWindow(WindowDefinition):
    """Windows that begin on multiples of `size` and end at each step of `every` in it."""

    size: Length
    every: TimeWindow
    offset: Length | None = None
    size_kind: ClassVar[str] = "cumulative"

    @property
    def gives_windows(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        """How many windows begin together."""
        return int(_plain(self.size) / _plain(self.every.size))

    @property
    def _sizes(self) -> list[Length]:
        return [self.size]

    def __repr__(self) -> str:
        offset = "" if self.offset is None else f", offset={self.offset!r}"
        return f"time({self.size!r}, every={self.every.size!r}{offset}, cumulative=True)"


def build_cumulative(size: Length, every: WindowDefinition | None, offset: Length | None) -> CumulativeWindow:
    """Check what `time(..., cumulative=True)` was given, and build the window."""
    if not isinstance(every, TimeWindow):
        raise InvalidInput(
            f"time: cumulative=True needs every= by time, the steps in which {size!r} grows, got {every!r}"
        )
    if _plain(size) % _plain(every.size):
        raise InvalidInput(
            f"time: with cumulative=True the size is a multiple of every, got {size!r} and {every.size!r}: the last "
            "step would not end with the window"
        )
    return CumulativeWindow(size, every, offset)


def _plain(length: Length) -> Decimal:
    assert not isinstance(length, CalendarDuration)
    return Decimal(str(length.nanoseconds if isinstance(length, Duration) else length))
