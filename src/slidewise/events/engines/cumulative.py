"""Cumulative windows: one partial, or the rows, given at every step; all leave with the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.late_slices import build_slices
from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


#: all rows of the windows that begin together are one slice
_SLICE = 0


class Cumulative(Engine):
    """The rows of one key since the last window of all steps has ended."""

    __slots__ = ("count", "holder", "key", "next", "plan")
    keeps_rows = False

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.holder = build_slices(plan.measures)
        self.count = 0
        #: the step of the grid with which the next window ends that has rows; where empty windows are given, too, the
        #: first one without rows
        self.next: int | None = None

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. 1 combine."""
        self.release(mark, out)
        if self.next is None:
            self.next = self.plan.grid.step(row.time)
        self.count += 1
        self.holder.insert_at(row.items, _SLICE, row.time)

    def insert_late(self, row: Row, mark: Mark) -> None:
        """Take a late row into those of its windows that are open: they end after `mark`, and begin with all others."""
        if self.next is None:
            self.next = self.plan.grid.step(mark.time)
        self.count += 1
        self.holder.insert_late(row.items, _SLICE, row.time)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the windows that time has passed. O(1) each."""
        plan, grid = self.plan, self.plan.grid
        assert grid.steps is not None
        while self.next is not None and mark.has_reached(end := grid.at(self.next + 1)):
            first = self.next // grid.steps * grid.steps
            start, stop = plan.clock.write(grid.at(first)), plan.clock.write(end)
            had_rows = self.count > 0
            values = self.holder.query()
            out.append((end, plan.result(values, self.count, self.key, time=stop, start=start, end=stop)))
            self.next += 1
            if self.next == first + grid.steps:
                self.holder.evict_before(_SLICE + 1)
                self.count = 0
            if not self.count and not (plan.empties and had_rows):
                self.next = None

    def deadline(self) -> Deadline | None:
        """Return the end of the next window."""
        return None if self.next is None else (self.plan.grid.at(self.next + 1), False)

    @property
    def idle(self) -> bool:
        return self.next is None

    def partials(self) -> int:
        return self.holder.partials()
