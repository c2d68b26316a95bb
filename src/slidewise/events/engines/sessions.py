"""Sessions: rows that follow one another by at most a gap. All of them leave together, and so one partial is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.late_slices import build_slices
from slidewise.events.partials import RunningHolder
from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan

#: all rows of a session are one slice
_SLICE = 0


class Sessions(Engine):
    """The rows of one key: a result for each session, or for each row over those of its session so far."""

    __slots__ = ("begin", "count", "holder", "key", "newest", "plan", "seen", "waiting")

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        #: of the open session: its rows, or one partial of them, their number, and the times of the first and the last
        self.holder = build_slices(plan.measures) if plan.gives_windows else RunningHolder(plan.measures)
        self.count = 0
        self.begin: Any = None
        self.newest: Any = None
        #: of a result per row: the rows of the last time, which others of equal time may still join
        self.waiting: list[Row] = []

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. 1 combine."""
        self.release(mark, out)
        self.seen += 1
        row.number = self.seen
        if self.begin is None:
            self.begin = row.time
        self.newest = row.time
        self.count += 1
        if isinstance(self.holder, RunningHolder):
            self.holder.insert(row.items)
            self.waiting.append(row)
        else:
            self.holder.insert_at(row.items, _SLICE, row.time)

    def insert_late(self, row: Row, mark: Mark) -> None:
        """Take a late row into the session that is open: there is one at most, and every row that is open joins it.

        A row is open while its own gap goes beyond `mark`, and no row held is after `mark`.
        """
        assert not isinstance(self.holder, RunningHolder)
        self.seen += 1
        self.begin = row.time if self.begin is None else min(self.begin, row.time)
        self.newest = row.time if self.newest is None else max(self.newest, row.time)
        self.count += 1
        self.holder.insert_late(row.items, _SLICE, row.time)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the results of rows whose peers are all there, or of the session that no row can join any more. O(1)."""
        plan = self.plan
        if self.waiting and mark.has_passed(self.newest):
            count = self.count
            for row in self.waiting:
                values = self.holder.query(row.asked)
                out.append((row.time, plan.result(values, count, self.key, time=row.stamp, row=row.number)))
            self.waiting = []
        if self.begin is None or not mark.has_passed(end := self.newest + plan.gap):
            return
        if plan.gives_windows:
            start, stop = plan.clock.write(self.begin), plan.clock.write(end)
            values = self.holder.query()
            out.append((end, plan.result(values, self.count, self.key, time=stop, start=start, end=stop)))
        if isinstance(self.holder, RunningHolder):
            self.holder.clear()
        else:
            self.holder.evict_before(_SLICE + 1)
        self.count = 0
        self.begin = self.newest = None

    def deadline(self) -> Deadline | None:
        """Return when the peers of the last row are all there, or no row can join the session any more."""
        if self.begin is None:
            return None
        return (self.newest if self.waiting else self.newest + self.plan.gap, True)

    @property
    def idle(self) -> bool:
        # Of a result per row, the number of the next one is still to be known.
        return self.begin is None and self.plan.gives_windows

    def partials(self) -> int:
        return self.holder.partials()
