"""Windows that keep their rows: late rows revise results, every row has its own frame, or frames have holes.

The rows of a key are a list in the order of time, and a structure for ranges (fiba) holds their partials.
Which results there are, and how they are told apart, is the business of the slots (result_slots.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.engines.result_slots import slots_for
from slidewise.events.partials import RangeHolder
from slidewise.events.row_reader import Row
from slidewise.events.shared_partials import SharedRangeHolder, Stores
from slidewise.events.watermark import ALREADY, BEGIN, NEVER, Deadline, Mark
from slidewise.windows.reach import UNBOUNDED, OffsetColumn

if TYPE_CHECKING:
    from slidewise.events.window_plan import Due, WindowPlan

#: Rows are looked through for ones to forget when there are so many, and again when they have doubled.
FEWEST = 64


class Retained(Engine):
    """The rows of one key, in the order of time; those of equal time in the order of arrival."""

    __slots__ = ("again", "base", "groups", "holder", "key", "look_at", "plan", "rows", "seen", "slots", "times")

    def __init__(self, plan: WindowPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        #: how many rows before the first one kept were forgotten
        self.base = 0
        self.rows: list[Row] = []
        self.times: list[Any] = []
        #: the different times, where frames are counted in groups or leave out peers
        self.groups: list[Any] = []
        self.holder = RangeHolder(plan.measures)
        self.slots = slots_for(plan)
        self.look_at = FEWEST
        #: results that late rows may have changed, with the rows that they were over when they were last given
        self.again: dict[Any, Any] = {}

    # ---- rows
    def share(self, stores: Stores) -> None:
        self.holder = SharedRangeHolder(self.plan.measures, stores)

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row. Amortised O(1) with fiba, and O(log n) per result."""
        self._place(row)
        self.slots.arrive(self, row)
        self.release(mark, out)

    def revise(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take a late row: results whose frames have changed are given again. O(log n) for each of them."""
        index = bisect_right(self.times, row.time)
        before = {slot: self._signature(slot) for slot in self.slots.find_touched(self, row, index)}
        self._place(row)
        self.slots.arrive_late(self, row, mark)
        for slot, signature in before.items():
            self.again.setdefault(slot, signature)
        due: list[Due] = []
        self.release(mark, due)
        due.sort(key=lambda entry: entry[0])
        out += due

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the results whose frames are complete. O(log n) each."""
        if self.again:
            self._emit_again(mark, out)
        for slot in self.slots.due(self, mark):
            self._emit(slot, out)
        if len(self.rows) >= self.look_at:
            self._forget(mark)
            self.look_at = max(FEWEST, 2 * len(self.rows))

    def _emit_again(self, mark: Mark, out: list[Due]) -> None:
        """Give the results again that late rows have changed.

        A late row may make a result that of another row, whose own offsets reach further: that waits.
        """
        waiting = {}
        for slot, signature in self.again.items():
            if not self.slots.is_complete(self, slot, mark):
                waiting[slot] = signature
            elif self._signature(slot) != signature:
                self._emit(slot, out)
        self.again = waiting

    def deadline(self) -> Deadline | None:
        """Return when the next result is due; None where that depends on rows to come. O(log n)."""
        deadlines = [self.slots.deadline(self) or NEVER]
        deadlines += [self.completed_at(self.slots.row(self, slot)) for slot in self.again]
        return None if min(deadlines) == NEVER else min(deadlines)

    def partials(self) -> int:
        return len(self.rows) * self.plan.held

    def _place(self, row: Row) -> None:
        self.seen += 1
        row.number = self.seen
        if row.time is None or not self.times or self.times[-1] <= row.time:
            index = len(self.rows)
        else:
            index = bisect_right(self.times, row.time)
        self.rows.insert(index, row)
        self.times.insert(index, row.time)
        self.holder.insert(row.items, row.place)
        if row.time is not None and self.plan.frame is not None and self.plan.frame.unit == "groups":
            group = bisect_left(self.groups, row.time)
            if group == len(self.groups) or self.groups[group] != row.time:
                self.groups.insert(group, row.time)

    def index(self, row: Row) -> int:
        """Find the index of the row. O(log n)."""
        if row.time is None:
            return row.number - 1 - self.base
        return bisect_left(self.rows, row.place, key=lambda r: r.place)

    # ---- results
    def _emit(self, slot: Any, out: list[Due]) -> None:
        ranges = [self.rows[lo:hi] for lo, hi in self.slots.find_ranges(self, slot)]
        asks = self.plan.reader.asks
        values = self.holder.query(ranges, self.slots.row(self, slot).asked if asks else None)
        rows = sum(map(len, ranges))
        due, where = self.slots.where(self, slot)
        out.append((due, self.plan.result(values, rows, self.key, revision=self.slots.count(slot), **where)))

    def _signature(self, slot: Any) -> tuple[Any, list[tuple[int, int, int]]]:
        """Identify a result by its time and rows. A slice with the same ends and the same length has the same rows."""
        rows = self.rows
        ranges = self.slots.find_ranges(self, slot)
        time, _ = self.slots.where(self, slot)
        return time, [(rows[lo].number, rows[hi - 1].number, hi - lo) for lo, hi in ranges]

    # ---- frames of rows
    def bounds(self, row: Row, index: int) -> tuple[int, int]:
        """Find where the row's frame starts and ends: rows lo to hi - 1. O(log n)."""
        frame = self.plan.frame
        assert frame is not None
        start, end = self._offsets(row)
        if frame.unit == "rows":
            lo = 0 if start is None else index + start
            hi = len(self.rows) if end is None else index + end + 1
        elif frame.unit == "range":
            lo = 0 if start is None else self._first(frame.clock.shift(row.time, start), frame.open_start)
            hi = len(self.rows) if end is None else self._first(frame.clock.shift(row.time, end), not frame.open_end)
        else:
            group = bisect_left(self.groups, row.time)
            lo = 0 if start is None else self._group(group + start)
            hi = len(self.rows) if end is None else self._group(group + end + 1)
        return max(0, min(lo, len(self.rows))), max(0, min(hi, len(self.rows)))

    def _offsets(self, row: Row) -> tuple[Any, Any]:
        """Return the row's own offsets from the current row; None where there is no bound."""
        frame = self.plan.frame
        assert frame is not None
        start = (
            row.start if isinstance(frame.start, OffsetColumn) else None if frame.start == -UNBOUNDED else frame.start
        )
        end = row.end if isinstance(frame.end, OffsetColumn) else None if frame.end is UNBOUNDED else frame.end
        return start, end

    def _first(self, time: Any, after: bool) -> int:
        """Find the first row at this time, or after it."""
        return bisect_right(self.times, time) if after else bisect_left(self.times, time)

    def _group(self, group: int) -> int:
        """Find the first row of a group."""
        if group >= len(self.groups):
            return len(self.rows)
        return 0 if group < 0 else bisect_left(self.times, self.groups[group])

    def find_ranges(self, row: Row) -> list[tuple[int, int]]:
        """Find the row's frame without what is excluded, as slices of rows lo to hi - 1. O(log n)."""
        index = self.index(row)
        lo, hi = self.bounds(row, index)
        exclude = self.plan.frame.exclude  # type: ignore[union-attr]
        if exclude is None:
            return [(lo, hi)] if lo < hi else []
        if exclude == "current row":
            hole = (index, index + 1)
        else:
            hole = (bisect_left(self.times, row.time), bisect_right(self.times, row.time))
        pieces = [(lo, min(hi, hole[0])), (max(lo, hole[1]), hi)]
        if exclude == "ties" and lo <= index < hi:
            pieces.insert(1, (index, index + 1))
        return [(a, b) for a, b in pieces if a < b]

    def is_complete(self, row: Row, mark: Mark) -> bool:
        """Tell whether all rows of the row's frame are there, but for late ones."""
        if mark.ended:
            return True
        frame = self.plan.frame
        assert frame is not None
        end = self._offsets(row)[1]
        if end is None:
            return False
        if frame.unit == "rows":
            return bool(self.index(row) + end < len(self.rows))
        if frame.unit == "range":
            high = frame.clock.shift(row.time, end)
            return mark.has_reached(high) if frame.open_end else mark.has_passed(high)
        group = bisect_left(self.groups, row.time) + end
        last = len(self.groups) - 1
        return bool(group < last or (group == last and mark.has_passed(self.groups[last])))

    def completed_at(self, row: Row) -> Deadline:
        """Return when the row's frame will be complete; NEVER where only more rows can complete it."""
        frame = self.plan.frame
        assert frame is not None
        end = self._offsets(row)[1]
        if end is not None and frame.unit == "range":
            return (frame.clock.shift(row.time, end), not frame.open_end)
        if self.is_complete(row, BEGIN):
            return ALREADY
        if end is not None and frame.unit == "groups":
            last = len(self.groups) - 1
            if bisect_left(self.groups, row.time) + end == last:
                return (self.groups[last], True)
        return NEVER

    # ---- what a late row may concern, and what nothing concerns any more
    def neighbours(self, row: Row, index: int) -> range:
        """Find the rows whose frames may change when the row enters at `index`: all, without a fixed reach."""
        frame = self.plan.frame
        assert frame is not None
        everything = range(len(self.rows))
        reach = frame.extent()
        if reach is None:
            return everything
        back, ahead = reach
        if frame.unit == "rows":
            return everything[max(0, index - ahead) : index - back + 1]
        if frame.unit == "groups":
            group = bisect_left(self.groups, row.time)
            return everything[self._group(group - ahead) : self._group(group - back + 2)]
        return everything[bisect_left(self.times, row.time - ahead) : bisect_right(self.times, row.time - back)]

    def _forget(self, mark: Mark) -> None:
        """Forget the rows that no result will be over any more. O(rows forgotten)."""
        cut = self._first_needed(mark)
        if cut <= 0:
            return
        self.holder.evict_up_to(self.rows[cut - 1].place)
        del self.rows[:cut], self.times[:cut]
        self.base += cut
        if self.groups:
            first = self.times[0] if self.times else mark.time
            del self.groups[: bisect_left(self.groups, first)]
        self.slots.forget(self)

    def _first_needed(self, mark: Mark) -> int:
        """Find the first row that a result to come may be over, or one that a late row may still change."""
        frame, keep = self.plan.frame, self.plan.keep
        assert frame is not None
        reach = frame.extent()
        if reach is None or mark.ended or (self.plan.revises and keep is None):
            return 0
        back, ahead = reach
        waiting = self.slots.oldest(self)
        if self.times[-1] is None:
            return int((len(self.rows) if waiting is None else self.index(waiting)) - ahead + back)
        time = mark.time if keep is None else mark.time - self.plan.clock.measure(keep)
        if waiting is not None:
            time = min(time, waiting.time)
        if self.plan.definition.by_calendar:
            return bisect_left(self.times, time - self.plan.grid.far)
        if self.plan.definition.hopping:
            every = self.plan.clock.measure(self.plan.definition.every.size)  # type: ignore[union-attr]
            return bisect_left(self.times, time + back - every)
        if frame.unit == "rows":
            return int(bisect_left(self.times, time) - ahead + back - 1)
        if frame.unit == "groups":
            return self._group(bisect_left(self.groups, time) - ahead + back - 1)
        return bisect_left(self.times, time - ahead + back)
