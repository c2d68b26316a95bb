"""Cumulative windows: one partial, which is given at every step and leaves with the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.partials import RunningHolder
from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


class Cumulative(Engine):
    """The rows of one key since the last window of all steps has ended."""

    __slots__ = ("holder", "key", "next", "plan")
    keeps_rows = False

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.holder = RunningHolder(plan.measures)
        #: the step of the grid with which the next window ends that has rows
        self.next: int | None = None

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. 1 combine."""
        self.release(mark, out)
        if self.next is None:
            self.next = self.plan.grid.step(row.time)
        self.holder.insert(row.items)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the windows that time has passed. O(1) each."""
        plan, grid = self.plan, self.plan.grid
        assert grid.steps is not None
        while self.next is not None and mark.has_reached(end := grid.at(self.next + 1)):
            first = self.next // grid.steps * grid.steps
            start, stop = plan.clock.write(grid.at(first)), plan.clock.write(end)
            values, count = self.holder.query(), self.holder.count
            out.append((end, plan.result(values, count, self.key, time=stop, start=start, end=stop)))
            self.next += 1
            if self.next == first + grid.steps:
                self.holder.clear()
                self.next = None

    def deadline(self) -> Deadline | None:
        """Return the end of the next window."""
        return None if self.next is None else (self.plan.grid.at(self.next + 1), False)

    @property
    def idle(self) -> bool:
        return self.next is None

    def partials(self) -> int:
        return self.holder.partials()
