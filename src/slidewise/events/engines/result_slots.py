"""The results of a window that keeps its rows: which there are, when they are due, how often each was given.

A slot is what a result is told apart by: the row it belongs to, its number where the slide is by count, the step
of the grid, the number of the hopping window.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slidewise.events.row_reader import Row
from slidewise.events.triggers import row_slide
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.engines.retained import Retained
    from slidewise.events.window_plan import WindowPlan

Where = tuple[Any, dict[str, Any]]


def _place(row: Row) -> tuple[Any, int]:
    return row.place


class RowSlots:
    """One result per row, or per row at which a delta or a punctuation slides."""

    __slots__ = ("early", "least", "pending", "slide")

    def __init__(self, plan: WindowPlan) -> None:
        self.slide = row_slide(plan.definition, plan.reader.slide_clock)
        self.least = plan.least
        #: rows whose results are not due yet, and rows before which there were too few
        self.pending: list[Row] = []
        self.early: list[Row] = []

    def arrive(self, kept: Retained, row: Row) -> None:
        if self.slide.fires(row):
            insort(self.pending, row, key=_place)

    def arrive_late(self, kept: Retained, row: Row, mark: Mark) -> None:
        # A row more stands before each of these: the last of them may have enough now.
        self.pending = sorted([*self.early, *self.pending], key=_place)
        self.early = []
        self.arrive(kept, row)

    def due(self, kept: Retained, mark: Mark) -> list[Row]:
        done, ready = 0, []
        for row in self.pending:
            if self.least > 1 and kept.base + kept.index(row) + 1 < self.least:
                self.early.append(row)
            elif kept.is_complete(row, mark):
                ready.append(row)
            else:
                break
            done += 1
        del self.pending[:done]
        return ready

    def find_touched(self, kept: Retained, row: Row, index: int) -> list[Row]:
        return [kept.rows[k] for k in kept.neighbours(row, index) if kept.rows[k].revision >= 0]

    def row(self, kept: Retained, slot: Row) -> Row:
        return slot

    def is_complete(self, kept: Retained, slot: Row, mark: Mark) -> bool:
        return True

    def find_ranges(self, kept: Retained, slot: Row) -> list[tuple[int, int]]:
        return kept.find_ranges(slot)

    def where(self, kept: Retained, slot: Row) -> Where:
        return slot.time, {"time": slot.stamp, "row": slot.number}

    def count(self, slot: Row) -> int:
        slot.revision += 1
        return slot.revision

    def deadline(self, kept: Retained) -> Deadline | None:
        return kept.completed_at(self.pending[0]) if self.pending else None

    def oldest(self, kept: Retained) -> Row | None:
        return self.pending[0] if self.pending else None

    def forget(self, kept: Retained) -> None:
        first = kept.rows[0].place if kept.rows else None
        self.early = [row for row in self.early if first is not None and row.place >= first]


class NumberedSlots:
    """What slots that are numbers share: a table of how often each result was given."""

    __slots__ = ("revisions",)

    def __init__(self) -> None:
        self.revisions: dict[int, int] = {}

    def row(self, kept: Retained, slot: int) -> Row:
        """Return the row whose frame the result is over."""
        raise NotImplementedError

    def is_complete(self, kept: Retained, slot: int, mark: Mark) -> bool:
        return kept.is_complete(self.row(kept, slot), mark)

    def count(self, slot: int) -> int:
        self.revisions[slot] = self.revisions.get(slot, -1) + 1
        return self.revisions[slot]

    def _forget(self, slots: Iterable[int]) -> None:
        for slot in slots:
            del self.revisions[slot]


class CountSlots(NumberedSlots):
    """Results at rows k, 2k, ...: slot j is the result at row j k."""

    __slots__ = ("k", "least", "next")

    def __init__(self, plan: WindowPlan, k: int) -> None:
        super().__init__()
        self.k = k
        self.least = plan.least
        self.next = -(-plan.least // k)

    def _index(self, kept: Retained, slot: int) -> int:
        return slot * self.k - 1 - kept.base

    def row(self, kept: Retained, slot: int) -> Row:
        return kept.rows[self._index(kept, slot)]

    def arrive(self, kept: Retained, row: Row) -> None:
        return

    def arrive_late(self, kept: Retained, row: Row, mark: Mark) -> None:
        return

    def due(self, kept: Retained, mark: Mark) -> list[int]:
        ready: list[int] = []
        while self._index(kept, self.next) < len(kept.rows):
            if not kept.is_complete(self.row(kept, self.next), mark):
                break
            ready.append(self.next)
            self.next += 1
        return ready

    def find_touched(self, kept: Retained, row: Row, index: int) -> list[int]:
        # Every later result is at another row now.
        first = min(kept.neighbours(row, index), default=index)
        return [j for j in self.revisions if self._index(kept, j) >= min(first, index)]

    def find_ranges(self, kept: Retained, slot: int) -> list[tuple[int, int]]:
        return kept.find_ranges(self.row(kept, slot))

    def where(self, kept: Retained, slot: int) -> Where:
        row = self.row(kept, slot)
        return row.time, {"time": row.stamp, "row": slot * self.k}

    def deadline(self, kept: Retained) -> Deadline | None:
        row = self.oldest(kept)
        return None if row is None else kept.completed_at(row)

    def oldest(self, kept: Retained) -> Row | None:
        index = self._index(kept, self.next)
        return kept.rows[index] if index < len(kept.rows) else None

    def forget(self, kept: Retained) -> None:
        self._forget([j for j in self.revisions if self._index(kept, j) < 0])


class BoundarySlots(NumberedSlots):
    """Results at boundaries of time with rows since the one before: slot s ends at boundary s + 1."""

    __slots__ = ("early", "least", "open")

    def __init__(self, plan: WindowPlan) -> None:
        super().__init__()
        self.least = plan.least
        #: steps that have rows and no result yet, in order; and steps at which there were too few rows
        self.open: list[int] = []
        self.early: list[int] = []

    def arrive(self, kept: Retained, row: Row) -> None:
        step = kept.plan.grid.step(row.time)
        index = bisect_left(self.open, step)
        if step not in self.revisions and (index == len(self.open) or self.open[index] != step):
            self.open.insert(index, step)

    def arrive_late(self, kept: Retained, row: Row, mark: Mark) -> None:
        self.open = sorted([*self.early, *self.open])
        self.early = []
        self.arrive(kept, row)

    def _index(self, kept: Retained, slot: int) -> int:
        return bisect_left(kept.times, kept.plan.grid.at(slot + 1)) - 1

    def row(self, kept: Retained, slot: int) -> Row:
        return kept.rows[self._index(kept, slot)]

    def due(self, kept: Retained, mark: Mark) -> list[int]:
        ready: list[int] = []
        while self.open and mark.has_reached(kept.plan.grid.at(self.open[0] + 1)):
            row = self.row(kept, self.open[0])
            if not kept.is_complete(row, mark):
                break
            enough = kept.base + kept.index(row) + 1 >= self.least
            (ready if enough else self.early).append(self.open.pop(0))
        return ready

    def find_touched(self, kept: Retained, row: Row, index: int) -> list[int]:
        return sorted(self.revisions)  # one of a forgotten row is not among them, see forget()

    def find_ranges(self, kept: Retained, slot: int) -> list[tuple[int, int]]:
        return kept.find_ranges(self.row(kept, slot))

    def where(self, kept: Retained, slot: int) -> Where:
        boundary = kept.plan.grid.at(slot + 1)
        return boundary, {"time": kept.plan.clock.write(boundary)}

    def deadline(self, kept: Retained) -> Deadline | None:
        row = self.oldest(kept)
        if row is None:
            return None
        return max((kept.plan.grid.at(self.open[0] + 1), False), kept.completed_at(row))

    def oldest(self, kept: Retained) -> Row | None:
        return self.row(kept, self.open[0]) if self.open else None

    def forget(self, kept: Retained) -> None:
        self._forget([s for s in self.revisions if self._index(kept, s) < 0])


class HoppingSlots(NumberedSlots):
    """Hopping windows by number: window k is [boundary k, boundary k + size)."""

    __slots__ = ("extra", "next")

    def __init__(self) -> None:
        super().__init__()
        #: the first window that is not due yet; windows before it that were empty until a late row came
        self.next: int | None = None
        self.extra: list[int] = []

    def _windows(self, kept: Retained, time: Any) -> range:
        """Return the windows that a row belongs to."""
        grid = kept.plan.grid
        return range(grid.first_window(time), grid.step(time) + 1)

    def arrive(self, kept: Retained, row: Row) -> None:
        if self.next is None:
            self.next = self._windows(kept, row.time).start

    def arrive_late(self, kept: Retained, row: Row, mark: Mark) -> None:
        self.arrive(kept, row)
        assert self.next is not None
        self.extra = [k for k in self._windows(kept, row.time) if k < self.next and k not in self.revisions]

    def due(self, kept: Retained, mark: Mark) -> list[int]:
        ready, self.extra = self.extra, []
        while self.next is not None and mark.has_reached(kept.plan.grid.end_of(self.next)):
            lo, hi = self._bounds(kept, self.next)
            if lo < hi:
                ready.append(self.next)
                self.next += 1
            elif lo < len(kept.rows):  # over the gap, to the windows of the next row
                self.next = max(self.next, self._windows(kept, kept.times[lo]).start)
            else:
                break
        return ready

    def _bounds(self, kept: Retained, slot: int) -> tuple[int, int]:
        start = kept.plan.grid.at(slot)
        return bisect_left(kept.times, start), bisect_left(kept.times, kept.plan.grid.end_of(slot))

    def is_complete(self, kept: Retained, slot: int, mark: Mark) -> bool:
        return True

    def find_touched(self, kept: Retained, row: Row, index: int) -> list[int]:
        return [k for k in self._windows(kept, row.time) if k in self.revisions]

    def find_ranges(self, kept: Retained, slot: int) -> list[tuple[int, int]]:
        lo, hi = self._bounds(kept, slot)
        return [(lo, hi)] if lo < hi else []

    def where(self, kept: Retained, slot: int) -> Where:
        end = kept.plan.grid.end_of(slot)
        start, stop = kept.plan.clock.write(kept.plan.grid.at(slot)), kept.plan.clock.write(end)
        return end, {"time": stop, "start": start, "end": stop}

    def deadline(self, kept: Retained) -> Deadline | None:
        if self.next is None or not kept.times or kept.times[-1] < kept.plan.grid.at(self.next):
            return None
        return (kept.plan.grid.end_of(self.next), False)

    def oldest(self, kept: Retained) -> Row | None:
        return None  # windows that are not due yet end after the watermark, and rows are kept that far

    def forget(self, kept: Retained) -> None:
        first = kept.times[0] if kept.times else None
        self._forget([k for k in self.revisions if first is not None and kept.plan.grid.end_of(k) <= first])


Slots = RowSlots | CountSlots | BoundarySlots | HoppingSlots


def slots_for(plan: WindowPlan) -> Slots:
    """Build new slots for one key."""
    definition, every = plan.definition, plan.definition.slide_rows
    if definition.hopping:
        return HoppingSlots()
    if plan.slides_by_time:
        return BoundarySlots(plan)
    return RowSlots(plan) if every is None else CountSlots(plan, every)
