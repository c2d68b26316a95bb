"""Rows out of order: held back until time has come far enough, or late."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any, Literal

from slidewise.errors import InvalidInput, LateRow
from slidewise.events.drifting_sources import Sources
from slidewise.events.row_reader import Row
from slidewise.events.watermark import BEGIN, Mark, before
from slidewise.windows.clock import Clock
from slidewise.windows.durations import CalendarDuration, Length, length, sign

Late = Literal["error", "drop", "mark", "revise"]


class Ordering:
    """How far time has come over all keys, and the rows that wait for it.

    Without max_delay rows come in order: one that is older than the newest is late, one of equal time is not.
    With it a row is late at or before the watermark, the newest time less max_delay. With sources that is the least of
    theirs, and rows wait for it.
    """

    __slots__ = (
        "ahead", "clock", "dropped", "entries", "held", "keep", "late", "mark", "max_delay", "newest", "sources",
    )  # fmt: skip

    def __init__(
        self, clock: Clock, max_delay: Length | None, late: Late, keep: Length | None, sources: Sources | None = None
    ) -> None:
        self.clock = clock
        self.max_delay = max_delay
        self.late = late
        self.keep = keep
        #: the sources of rows, each with its own watermark; None: there is one stream
        self.sources = sources
        self.mark = BEGIN
        self.newest: Any = None
        #: rows that were left out: late ones, and those ahead of the clock
        self.dropped = 0
        self.ahead = 0
        #: a heap of (time, entry number, row): rows of equal time come out as they came in
        self.held: list[tuple[Any, int, Row]] = []
        self.entries = 0

    def is_late(self, row: Row) -> bool:
        time, inclusive = self.mark
        return bool(row.time < time or (inclusive and row.time == time))

    def accept_late(self, row: Row, by_window: bool) -> bool:
        """Tell whether a late row revises results; False where it is dropped, or an error.

        `by_window`: late rows enter windows that are open, and this one belongs to none.
        """
        if self.late == "error":
            raise LateRow(self._explain(row, by_window))
        kept = self.late == "revise" and (
            self.keep is None or row.time > self.mark.time - self.clock.measure(self.keep)
        )
        self.dropped += not kept and self.late != "mark"
        return kept

    def _explain(self, row: Row, by_window: bool) -> str:
        if by_window:
            why = f"all of its windows were given, which end up to {self.clock.write(self.mark.time)!r}"
        elif self.sources is not None:
            why = f"all sources have come as far as {self.clock.write(self.mark.time)!r}"
        elif self.max_delay is None and not self.mark.inclusive:
            why = f"rows come in the order of time, and the newest is of {self.clock.write(self.mark.time)!r}"
        else:
            why = f"it is at or before the watermark {self.clock.write(self.mark.time)!r}"
        return (
            f"the row of {row.stamp!r} is late: {why}. The row was not taken, and nothing else was lost. "
            "A larger max_delay= waits for such rows, late='drop' leaves them out and counts them, late='mark' gives "
            "them back, late='revise' corrects the results they belong to"
        )

    def take_next(self, row: Row) -> Mark:
        """Take a row that is not late, where rows come in order; gives the watermark. O(1)."""
        time, mark = row.time, self.mark
        if self.newest is None or time > self.newest:
            self.newest = time
        if time != mark[0] or mark[1]:
            self.mark = mark = before(time)
        return mark

    @property
    def holds_rows(self) -> bool:
        """Whether rows wait until time has come as far as theirs."""
        return self.max_delay is not None or self.sources is not None

    def take(self, row: Row, source: str | None = None) -> Iterator[Row]:
        """Take a row that is not late, where rows wait; gives the rows that are next in order. O(log rows held)."""
        if self.newest is None or row.time > self.newest:
            self.newest = row.time
        self.entries += 1
        heappush(self.held, (row.time, self.entries, row))
        newest = self.newest if self.sources is None else row.time
        if self.max_delay is None:
            yield from self.advance(before(newest), source)
        else:
            yield from self.advance(Mark(newest - self.clock.measure(self.max_delay), True), source)

    def advance(self, mark: Mark, source: str | None = None) -> Iterator[Row]:
        """Advance the watermark to `mark`, or keep a later one; yield rows it releases. O(log pending rows) each.

        With a source it is that of the source, and the watermark is that of the slowest.
        """
        if self.sources is not None:
            mark = self.sources.move(source, mark)
        self.mark = max(self.mark, mark)
        while self.held and self.mark.has_passed(self.held[0][0]):
            yield heappop(self.held)[2]


def check_length(value: Any, what: str) -> Length | None:
    """Check max_delay, keep or max_ahead as the user gave it."""
    if value is None:
        return None
    found = length(value, what)
    if isinstance(found, CalendarDuration):
        raise InvalidInput(f"{what} must be a fixed length, got {found!r}: months differ. Use days")
    if sign(found) < 0:
        raise InvalidInput(f"{what} must not be negative, got {found!r}")
    return found
