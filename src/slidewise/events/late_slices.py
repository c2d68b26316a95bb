"""Slices of hopping windows that late rows can still enter, at their place by time.

Which holder a window has depends on its aggregations. Where all of them can take a late row without the other rows
(`MergedSlices`), a slice stays one partial. Where one cannot (a list in the order of time, a median), the rows are kept
(`OrderedSlices`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from slidewise.aggregations.extremes import MaxBy, MinBy
from slidewise.aggregations.positions import First, Last
from slidewise.errors import StateError
from slidewise.events.measure import Measure, Question
from slidewise.events.partials import Asked, Items, SliceHolder
from slidewise.events.result import Failed

#: Their partial is that of one row of those combined, whatever stands behind it in the tuple: it can have its place.
_PICK_ONE_ROW = (First, Last, MaxBy, MinBy)


def has_place(measure: Measure) -> bool:
    """Tell whether partials carry the place of the row that they are of: its time, and when it came."""
    return type(measure.aggregation) in _PICK_ONE_ROW and measure.mergeable


def build_slices(measures: Sequence[Measure]) -> MergedSlices | OrderedSlices:
    """Build what holds the rows of one key, none at first."""
    merges = all(m.mergeable and (m.aggregation.commutative or has_place(m)) for m in measures)
    return MergedSlices(measures) if merges else OrderedSlices(measures)


class MergedSlices(SliceHolder):
    """One partial per slice, and another one for the late rows of a slice that was closed.

    Two partials are combined in either order where the aggregation is commutative. Those of first, last, max_by and
    min_by are of one row, and carry its place, by which they are put into order.
    """

    __slots__ = ("late", "placed", "seen")

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(measures)
        #: whether partials of some measure carry a place
        self.placed = any(map(has_place, measures))
        #: rows so far: those of equal time are in the order in which they came
        self.seen = 0
        #: of slices that were closed, where each starts, and the partials of its late rows
        self.late: dict[Any, list[Any]] = {}

    @classmethod
    def from_state_of_before(cls, found: SliceHolder) -> MergedSlices | OrderedSlices:
        """Take over what states had before late rows could enter; partials had no place then."""
        new = build_slices(found.measures)
        if isinstance(new, OrderedSlices) or any(map(has_place, found.measures)):
            raise StateError(
                "this state was saved by another version of slidewise, in which hopping windows took no late rows. "
                "Load it with the version that saved it"
            )
        for slot in SliceHolder.__slots__:
            setattr(new, slot, getattr(found, slot))
        return new

    def insert_at(self, items: Items, start: Any, time: Any) -> None:
        """Add the youngest row. 1 combine; at a new slice also an insert."""
        self.insert(self._add_place(items, time) if self.placed else items, start)

    def insert_late(self, items: Items, start: Any, time: Any) -> None:
        """Add a row that is older than others. 1 combine."""
        items = self._add_place(items, time) if self.placed else items
        if not self.open_rows or start > self.open_start:  # late, and yet the youngest of its key
            self.insert(items, start)
        elif start == self.open_start:
            self.open_rows += 1
            self.open = self._merge(self.open, items)
        else:
            self.late[start] = self._merge(self.late.get(start), items)

    def _add_place(self, items: Items, time: Any) -> Items:
        self.seen += 1
        return [
            (*item, time, self.seen) if item is not None and has_place(measure) else item
            for measure, item in zip(self.measures, items, strict=True)
        ]

    def _merge(self, held: list[Any] | None, items: Items) -> list[Any]:
        if held is None:
            return items
        return [self._combine(m, a, b) for m, a, b in zip(self.measures, held, items, strict=True)]

    @staticmethod
    def _combine(measure: Measure, a: Any, b: Any) -> Any:
        """Combine two partials of rows in any order."""
        if a is not None and b is not None and has_place(measure) and b[-2:] < a[-2:]:
            a, b = b, a
        return measure.combine(a, b)

    def evict_before(self, start: Any) -> None:
        """Remove the slices that start before `start`."""
        super().evict_before(start)
        if self.late:
            self.late = {at: partials for at, partials in self.late.items() if at >= start}

    @property
    def empty(self) -> bool:
        return not self.slices and not self.open_rows and not self.late

    def list_starts(self) -> list[Any]:
        """List where the slices start that have rows, in order."""
        return sorted({*super().list_starts(), *self.late})

    def _ask(self, k: int, measure: Measure, question: Question) -> Any:
        if not self.late or question is None:
            return super()._ask(k, measure, question)
        total = measure.combine(self._query_closed(k), self.open[k] if self.open_rows else None)
        for partials in self.late.values():
            total = self._combine(measure, total, partials[k])
        return measure.lower(total, *question)

    def partials(self) -> int:
        return super().partials() + len(self.late) * len(self.measures)


class OrderedSlices(SliceHolder):
    """Slices, and the rows that they are made of, in the order of time: a late row has them made again."""

    __slots__ = ("rows", "stale")

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(measures)
        #: (time, where its slice starts, items) of each row
        self.rows: list[tuple[Any, Any, Items]] = []
        #: whether slices are not those of the rows: a late row has come
        self.stale = False

    def insert_at(self, items: Items, start: Any, time: Any) -> None:
        """Add the youngest row. 1 combine; at a new slice also an insert."""
        self.rows.append((time, start, items))
        if not self.stale:
            self.insert(items, start)

    def insert_late(self, items: Items, start: Any, time: Any) -> None:
        """Add a row that is older than others, after those of its time. O(rows after it)."""
        self.rows.insert(bisect_right(self.rows, time, key=_time_of), (time, start, items))
        self.stale = True

    def evict_before(self, start: Any) -> None:
        """Remove the slices that start before `start`. O(rows) after late rows."""
        del self.rows[: bisect_left(self.rows, start, key=_start_of)]
        if not self.stale:
            super().evict_before(start)

    @property
    def empty(self) -> bool:
        return not self.rows

    def list_starts(self) -> list[Any]:
        """List where the slices start that have rows, in order."""
        return list(dict.fromkeys(start for _, start, _ in self.rows))

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the rows held. O(rows) after late rows, else 1 combine more than the structure's."""
        if self.stale:
            self._build_again()
        return super().query(asked)

    def _build_again(self) -> None:
        self.structures, self.slices = None, ()
        self.open_start, self.open_rows, self.open = None, 0, [None] * len(self.measures)
        for _, start, items in self.rows:
            self.insert(items, start)
        self.stale = False

    def partials(self) -> int:
        return len(self.rows) * len(self.measures)


def _time_of(row: tuple[Any, Any, Items]) -> Any:
    return row[0]


def _start_of(row: tuple[Any, Any, Items]) -> Any:
    return row[1]
