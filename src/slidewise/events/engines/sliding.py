"""Frames with constant bounds, in rows, by time or in groups: results wait for their frames to be complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.partials import RowHolder, RunningHolder
from slidewise.events.row_reader import Row
from slidewise.events.shared_partials import SharedRowHolder, Stores
from slidewise.events.small_queue import SmallQueue, enqueue
from slidewise.events.triggers import EveryCount, row_slide
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


class Sliding(Engine):
    """The rows of one key. Neither bound ever moves back, so that a row enters and leaves once."""

    __slots__ = (
        "ahead",
        "group",
        "holder",
        "inside",
        "key",
        "last",
        "plan",
        "seen",
        "slide",
        "step",
        "waiting",
    )

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        self.group = 0
        #: the last row, where something is measured from it: results that wait for the next boundary or the next group
        self.last: Row | None = None
        #: the step of the grid that has rows and no result yet, where the slide is by time
        self.step: int | None = None
        #: the rows whose results wait, with the boundary where the slide is by time
        self.waiting: SmallQueue = ()
        #: rows that have not entered the holder yet, and the coordinates of those inside
        self.ahead: SmallQueue = ()
        self.inside: SmallQueue = ()
        running = plan.frame.reach.from_first_row  # type: ignore[union-attr]
        self.holder: Any = RunningHolder(plan.measures) if running else RowHolder(plan.measures)
        self.slide = row_slide(plan.definition, plan.reader.slide_clock)

    def share(self, stores: Stores) -> None:
        self.holder = SharedRowHolder(self.plan.measures, stores)

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row, and give the results that it completes. O(1) amortised with daba_lite."""
        if self.waiting or self.step is not None:
            self.release(mark, out)  # a boundary before this row belongs to the row before it
        self.seen += 1
        row.number, row.key = self.seen, self.key  # of 1 and True, which are one key, the one that came first
        row.x = row.time if self.plan.frame.unit == "range" else self._coordinate(row)  # type: ignore[union-attr]
        self.last = row
        self.ahead = enqueue(self.ahead, row)
        if self.plan.slides_by_time:
            self.step = self.plan.grid.step(row.time)
        elif self.slide.fires(row):
            self.waiting = enqueue(self.waiting, (row, None))
        self.release(mark, out)

    def _coordinate(self, row: Row) -> Any:
        if self.plan.frame.unit == "rows":  # type: ignore[union-attr]
            return row.number
        if self.last is None or row.time != self.last.time:
            self.group += 1
        return self.group

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the results whose frames are complete, in the order of their rows. O(1) amortised each."""
        plan, last = self.plan, self.last
        assert plan.frame is not None
        if self.step is not None and mark.has_reached(boundary := plan.grid.at(self.step + 1)):
            assert last is not None
            self.waiting = enqueue(self.waiting, (last, boundary))
            self.step = None
        while self.waiting and plan.frame.is_complete(self.waiting[0][0], last, mark):  # type: ignore[arg-type]
            row, boundary = self.waiting[0]
            del self.waiting[0]
            self._move(row)
            values, count = self.holder.query(row.asked), self.holder.count
            if boundary is None:
                out.append((row.time, plan.result(values, count, self.key, row.stamp, row.number)))
            else:
                out.append((boundary, plan.result(values, count, self.key, time=plan.clock.write(boundary))))
        if not self.waiting:
            self.waiting = ()
            if self.step is None and plan.frame.unit == "range":
                self.last = None
            if plan.empties:
                self._expire(mark, out)

    # ---- as time passes without rows
    def next_change(self) -> Any:
        """Return the next time at which rows leave the frame, or enter it; None: at none. O(1).

        Only where frames are by time, and all results of rows have been given.
        """
        frame = self.plan.frame
        assert frame is not None
        leaves = frame.leaves_at(self.inside[0]) if self.inside else None
        if not self.ahead:
            return leaves
        enters = frame.enters_at(self.ahead[0].x)
        return enters if leaves is None else min(leaves, enters)

    def see_at(self, time: Any) -> tuple[Any, int]:
        """Return what a row of this time would see, and of how many rows. O(1) amortised with daba_lite."""
        probe = Row([], self.key)
        probe.x = probe.time = time
        self._move(probe)
        return self.holder.query(), self.holder.count

    def _expire(self, mark: Mark, out: list[Due]) -> None:
        """Give the results of the times at which rows have left, up to `mark`. O(1) amortised each."""
        while (at := self.next_change()) is not None and mark.has_passed(at):
            values, count = self.see_at(at)
            out.append((at, self.plan.result(values, count, self.key, self.plan.clock.write(at))))

    def _move(self, row: Row) -> None:
        """Make the holder hold the frame of the row."""
        frame, holder = self.plan.frame, self.holder
        assert frame is not None
        low, high = frame.low(row), frame.high(row)
        inside, ahead = self.inside, self.ahead
        if low is not None:
            open_start = frame.open_start
            while inside and (inside[0] < low or (open_start and inside[0] == low)):
                del inside[0]
                holder.evict()
            while ahead and frame.starts_after(low, ahead[0].x):
                holder.skip(ahead[0].items)
                del ahead[0]
        open_end = frame.open_end
        while ahead and (high is None or ahead[0].x < high or (not open_end and ahead[0].x == high)):
            entering = ahead[0]
            del ahead[0]
            holder.insert(entering.items)
            if low is not None:
                self.inside = enqueue(self.inside, entering.x)
        if not ahead:
            self.ahead = ()

    def newest(self) -> Any:
        return self.ahead[-1].time if self.ahead else self.inside[-1] if self.inside else None

    def resume(self, seen: int) -> None:
        self.seen = seen
        if isinstance(self.slide, EveryCount):
            self.slide.seen = seen
        if isinstance(self.holder, SharedRowHolder):
            self.holder.first = seen

    def deadline(self) -> Deadline | None:
        """Return the time at which the next result may be due; None where it depends on rows."""
        if self.waiting:
            return self.plan.frame.deadline(self.waiting[0][0], self.last)  # type: ignore
        if self.plan.empties and (at := self.next_change()) is not None:
            return (at, True)
        return None if self.step is None else (self.plan.grid.at(self.step + 1), False)

    def partials(self) -> int:
        partials: int = self.holder.partials()
        return partials + len(self.ahead) * self.plan.held
