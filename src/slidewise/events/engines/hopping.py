"""Windows whose starts are known in advance: their rows are combined into slices on arrival (Cutty).

A window of n rows that slides by k holds n / k partials, and a hopping window size / every, however many rows
come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.late_slices import build_slices
from slidewise.events.partials import SliceHolder
from slidewise.events.row_reader import Row
from slidewise.events.small_queue import SmallQueue, enqueue
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


class SlicedRows(Engine):
    """Frames counted in rows, at every k-th row: the rows of one key."""

    __slots__ = ("first", "holder", "k", "key", "last", "plan", "seen", "waiting")

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        self.holder = SliceHolder(plan.measures)
        #: rows at which results are due, and whose frames are not complete yet
        self.waiting: SmallQueue = ()
        every, frame = plan.definition.slide_rows, plan.frame
        assert every is not None and frame is not None
        self.k = every
        #: where frames start and end, from their own rows; None: at the first row
        self.first: int | None = None if frame.reach.from_first_row else frame.start
        self.last: int = frame.end

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. 1 combine; at a slide also an insert, an evict and a query."""
        self.seen += 1
        row.number = self.seen
        first = self.first
        self.holder.insert(row.items, 0 if first is None else row.number - (row.number - first) % self.k)
        if row.number % self.k == 0:
            self.waiting = enqueue(self.waiting, row)
        if self.waiting and row.number >= self.waiting[0].number + self.last:
            self._emit_next(out)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Emit what is still pending at the end, when no rows follow. O(1) each."""
        while mark.ended and self.waiting:
            self._emit_next(out)

    def _emit_next(self, out: list[Due]) -> None:
        row = self.waiting[0]
        del self.waiting[0]
        if not self.waiting:
            self.waiting = ()
        if self.first is not None:
            self.holder.evict_before(row.number + self.first)
        if row.number >= self.plan.least:
            values = self.holder.query(row.asked)
            out.append((row.time, self.plan.result(values, None, self.key, time=row.stamp, row=row.number)))
        if self.first is not None:
            self.holder.evict_before(row.number + self.first + self.k)

    def partials(self) -> int:
        return self.holder.partials()


class Hopping(Engine):
    """Spark's hopping windows [start, end): the rows of one key."""

    __slots__ = ("holder", "key", "next", "plan")
    keeps_rows = False

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.holder = build_slices(plan.measures)
        #: the number of the next window with rows; window k starts at boundary k of the grid
        self.next: int | None = None

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. 1 combine; in a new slice also an insert."""
        grid = self.plan.grid
        step = grid.step(row.time)
        if self.next is None or grid.has_gaps:
            first = grid.first_window(row.time)
            if step < first:  # between two windows
                return
            if self.next is None:
                self.next = first
        self.holder.insert_at(row.items, step, row.time)

    def insert_late(self, row: Row, mark: Mark) -> None:
        """Take a late row into those of its windows that are open: they end after `mark`, and after all rows held."""
        grid = self.plan.grid
        if self.next is None:
            self.next = max(grid.first_window(row.time), grid.first_window(mark.time))
        self.holder.insert_late(row.items, grid.step(row.time), row.time)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the windows that time has passed. O(1) each with daba_lite."""
        plan, grid = self.plan, self.plan.grid
        while self.next is not None and mark.has_reached(end := grid.end_of(self.next)):
            start, stop = plan.clock.write(grid.at(self.next)), plan.clock.write(end)
            values = self.holder.query()
            out.append((end, plan.result(values, None, self.key, time=stop, start=start, end=stop)))
            had_rows = not self.holder.empty
            self.next += 1
            self.holder.evict_before(self.next)
            if self.holder.empty and not (plan.empties and had_rows):  # the first one without rows is given, too
                self.next = None

    def deadline(self) -> Deadline | None:
        """Return the end of the next window."""
        if self.next is None:
            return None
        return (self.plan.grid.end_of(self.next), False)

    @property
    def idle(self) -> bool:
        return self.next is None

    def partials(self) -> int:
        return self.holder.partials()
