"""Sessions: rows that follow one another by at most a gap. All of them leave together, and so one partial is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.partials import RunningHolder
from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


class Sessions(Engine):
    """The rows of one key: a result for each session, or for each row over those of its session so far."""

    __slots__ = ("begin", "holder", "key", "newest", "plan", "seen", "waiting")

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        #: of the open session: one partial, and the times of its first and of its last row
        self.holder = RunningHolder(plan.measures)
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
        self.holder.insert(row.items)
        if not self.plan.gives_windows:
            self.waiting.append(row)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the results of rows whose peers are all there, or of the session that no row can join any more. O(1)."""
        plan = self.plan
        if self.waiting and mark.has_passed(self.newest):
            count = self.holder.count
            for row in self.waiting:
                values = self.holder.query(row.asked)
                out.append((row.time, plan.result(values, count, self.key, time=row.stamp, row=row.number)))
            self.waiting = []
        if self.begin is None or not mark.has_passed(end := self.newest + plan.gap):
            return
        if plan.gives_windows:
            start, stop = plan.clock.write(self.begin), plan.clock.write(end)
            values, count = self.holder.query(), self.holder.count
            out.append((end, plan.result(values, count, self.key, time=stop, start=start, end=stop)))
        self.holder.clear()
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
