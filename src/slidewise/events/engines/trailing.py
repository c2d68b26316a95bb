"""Frames that end with their own row and are complete when it arrives: the last n rows, those within a delta,
those since a punctuation."""

from __future__ import annotations

import functools
from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.partials import RowHolder, RunningHolder
from slidewise.events.row_reader import Row
from slidewise.events.shared_partials import SharedRowHolder, Stores
from slidewise.events.triggers import row_slide
from slidewise.events.watermark import Deadline, Mark
from slidewise.windows.definitions import DeltaWindow, PunctuationWindow

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan


class LastRows:
    """At most n rows."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n

    def make_room(self, holder: RowHolder, row: Row) -> None:
        if holder.count == self.n:
            holder.evict()


#: one for all keys: it has nothing of theirs
_last_rows = functools.lru_cache(maxsize=256)(LastRows)


class WithinDelta:
    """Rows that are at most `size` below the newest. Where the column falls, rows may leave from the middle.

    A row that leaves from the middle rebuilds the structure, O(n). A tree that removes anywhere would take
    O(log n) for that, and 5.0 us instead of 2.8 for each slide of a column that only grows, the ordinary case.
    """

    __slots__ = ("lowest", "rows", "size")

    def __init__(self, size: Any) -> None:
        self.size = size
        #: (number, items) of the rows held, oldest first; and a heap of (value, number)
        self.rows: deque[tuple[int, list[Any]]] = deque()
        self.lowest: list[tuple[Any, int]] = []

    def make_room(self, holder: RowHolder, row: Row) -> None:
        leaving = set()
        while self.lowest and row.size_value - self.lowest[0][0] > self.size:
            leaving.add(heappop(self.lowest)[1])
        while leaving and self.rows[0][0] in leaving:
            leaving.remove(self.rows.popleft()[0])
            holder.evict()
        if leaving:
            self.rows = deque(kept for kept in self.rows if kept[0] not in leaving)
            holder.rebuild([items for _, items in self.rows])
        self.rows.append((row.number, row.items))
        heappush(self.lowest, (row.size_value, row.number))


class SincePunctuation:
    """The rows after the last punctuation."""

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False

    def make_room(self, holder: RunningHolder, row: Row) -> None:
        if self.ended:
            holder.clear()
        self.ended = row.size_value


class Trailing(Engine):
    """The rows of one key under such a window."""

    __slots__ = ("holder", "key", "plan", "seen", "size", "slide", "step")
    keeps_rows = False

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        #: the step of the grid that has rows and no result yet, where the slide is by time
        self.step: int | None = None
        definition = plan.definition
        self.slide = row_slide(definition, plan.reader.slide_clock)
        self.size: Any
        self.holder: Any = RowHolder(plan.measures)
        if definition.trailing_rows is not None:
            self.size = _last_rows(definition.trailing_rows)
        elif isinstance(definition, DeltaWindow):
            assert plan.reader.size_clock is not None
            self.size = WithinDelta(plan.reader.size_clock.measure(definition.size))
        else:
            assert isinstance(definition, PunctuationWindow)
            self.size = SincePunctuation()
            self.holder = RunningHolder(plan.measures)

    def share(self, stores: Stores) -> None:
        self.holder = SharedRowHolder(self.plan.measures, stores)

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. O(1) with daba_lite; a slide by time also finds its boundary."""
        self.seen += 1
        row.number = self.seen
        self.size.make_room(self.holder, row)
        self.holder.insert(row.items)
        if self.plan.slides_by_time:
            self.step = self.plan.grid.step(row.time)
        elif self.slide.fires(row) and self.seen >= self.plan.least:
            values, count = self.holder.query(row.asked), self.holder.count
            out.append((row.time, self.plan.result(values, count, self.key, row.stamp, row.number)))

    def resume(self, seen: int) -> None:
        self.seen = seen

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the result of a boundary that time has reached. O(1)."""
        deadline = self.deadline()
        if deadline is None or not mark.meets(deadline):
            return
        boundary, self.step = deadline[0], None
        if self.seen >= self.plan.least:
            time = self.plan.clock.write(boundary)
            out.append((boundary, self.plan.result(self.holder.query(), self.holder.count, self.key, time=time)))

    def deadline(self) -> Deadline | None:
        """Return the time at which the next result is due; None where it depends on rows."""
        return None if self.step is None else (self.plan.grid.at(self.step + 1), False)

    def partials(self) -> int:
        partials: int = self.holder.partials()
        return partials
