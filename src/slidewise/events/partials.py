"""How the partials of one key are held: row by row, as one running partial, in slices, or for any range.

Each holder has one structure per measure, so that a window computes many aggregations from one pass over its
rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from slidewise.events.measure import Measure, Question
from slidewise.events.result import Failed

Items = list[Any]
#: what the row of a result asks of each measure; None: nothing
Asked = list[Question] | None


class RowHolder:
    """Rows enter at one end and leave at the other."""

    __slots__ = ("count", "measures", "structures")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        self.structures: list[Any] = [m.structure() for m in measures]
        self.count = 0

    def insert(self, items: Items) -> None:
        """Add the youngest row. O(1) with daba_lite."""
        for structure, item in zip(self.structures, items, strict=True):
            structure.insert(item)
        self.count += 1

    def evict(self) -> None:
        """Remove the oldest row. O(1) with daba_lite."""
        for structure in self.structures:
            structure.evict()
        self.count -= 1

    def skip(self, items: Items) -> None:
        """Leave out a row that came before any that is to enter. O(1)."""

    def rebuild(self, rows: Sequence[Items]) -> None:
        """Hold just these rows. O(n)."""
        self.structures = [m.structure() for m in self.measures]
        self.count = 0
        for items in rows:
            self.insert(items)

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the rows held, for a row that asks this. O(1) with daba_lite."""
        try:
            if asked is None:
                return [structure.query() for structure in self.structures]
            return [
                q if q is None else structure.query(*q) for structure, q in zip(self.structures, asked, strict=True)
            ]
        except Exception as error:
            return Failed(error)

    def partials(self) -> int:
        return self.count * len(self.measures)


class RunningHolder:
    """Rows only ever enter, or all leave together: one partial is enough."""

    __slots__ = ("count", "measures", "totals")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        self.count = 0
        self.totals: list[Any] = []
        self.clear()

    def clear(self) -> None:
        """Let all rows leave. O(1)."""
        self.count = 0
        self.totals = [m.structure() if m.raw else None for m in self.measures]

    def insert(self, items: Items) -> None:
        """Add the youngest row. 1 combine."""
        for k, (measure, item) in enumerate(zip(self.measures, items, strict=True)):
            if measure.raw:
                self.totals[k].insert(item)
            else:
                self.totals[k] = measure.combine(self.totals[k], item)
        self.count += 1

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the rows held, for a row that asks this. O(1)."""
        totals = zip(self.measures, self.totals, asked or [()] * len(self.measures), strict=True)
        try:
            return [q if q is None else total.query(*q) if m.raw else m.lower(total, *q) for m, total, q in totals]
        except Exception as error:
            return Failed(error)

    def partials(self) -> int:
        return sum(self.count if m.raw else min(1, self.count) for m in self.measures)


class SliceHolder:
    """Rows are combined into slices on arrival (Cutty), and slices leave as wholes.

    A new slice starts where a window starts, and nowhere else: a window that ends within a slice is asked for
    before the rows after its end arrive. Aggregations that cannot be merged keep their rows.
    """

    __slots__ = ("measures", "open", "open_rows", "open_start", "slices", "structures")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        self.structures = [m.structure() for m in measures]
        #: (where it starts, how many rows it has) of every closed slice
        self.slices: deque[tuple[Any, int]] = deque()
        self.open_start: Any = None
        self.open_rows = 0
        self.open: list[Any] = [None] * len(measures)

    def insert(self, items: Items, start: Any) -> None:
        """Add the youngest row to the slice of that start. 1 combine; at a new slice also an insert."""
        if start != self.open_start and self.open_rows:
            self._close()
        self.open_start = start
        self.open_rows += 1
        for k, (measure, item) in enumerate(zip(self.measures, items, strict=True)):
            if measure.mergeable:
                self.open[k] = measure.combine(self.open[k], item)
            else:
                self.structures[k].insert(item)

    def _close(self) -> None:
        self.slices.append((self.open_start, self.open_rows))
        self.open_rows = 0
        for k, measure in enumerate(self.measures):
            if measure.mergeable:
                self.structures[k].insert(self.open[k])
                self.open[k] = None

    def evict_before(self, start: Any) -> None:
        """Remove the slices that start before `start`. O(1) each with daba_lite, where rows can be merged."""
        if self.open_rows and self.open_start < start:
            self._close()
        while self.slices and self.slices[0][0] < start:
            _, rows = self.slices.popleft()
            for measure, structure in zip(self.measures, self.structures, strict=True):
                for _ in range(1 if measure.mergeable else rows):
                    structure.evict()

    @property
    def empty(self) -> bool:
        return not self.slices and not self.open_rows

    def list_starts(self) -> list[Any]:
        """List where the slices start that have rows, in order."""
        return [start for start, _ in self.slices] + ([self.open_start] if self.open_rows else [])

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the slices held, for a row that asks this. 1 combine more than the structure's."""
        try:
            return [self._ask(k, measure, asked[k] if asked else ()) for k, measure in enumerate(self.measures)]
        except Exception as error:
            return Failed(error)

    def _ask(self, k: int, measure: Measure, question: Question) -> Any:
        structure = self.structures[k]
        if question is None:
            return None
        if not measure.mergeable:
            return structure.query(*question)
        closed = structure.functions["query"](structure) if len(structure) else None
        return measure.lower(measure.combine(closed, self.open[k]), *question)

    def partials(self) -> int:
        held = len(self.slices) + (self.open_rows > 0)
        rows = sum(rows for _, rows in self.slices) + self.open_rows
        return sum(held if m.mergeable else rows for m in self.measures)


class RangeHolder:
    """Rows in any order, and results over any range of them: fiba, or recalculation from the rows.

    Rows are given by their places, pairs of (time, number) that are in order and unique.
    """

    __slots__ = ("measures", "structures")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        self.structures = [m.structure() if _answers_ranges(m) else None for m in measures]

    def insert(self, items: Items, place: tuple[Any, int]) -> None:
        """Add a row. Amortised O(log d) with fiba, d = rows after it."""
        for structure, item in zip(self.structures, items, strict=True):
            if structure is not None:
                structure.insert(item, time=place)

    def evict_up_to(self, place: tuple[Any, int]) -> None:
        """Remove the rows up to and including that place. O(log n) with fiba."""
        for structure in self.structures:
            if structure is not None:
                structure.evict(time=place)

    def query(self, ranges: list[list[Any]], asked: Asked = None) -> list[Any] | Failed:
        """Return the results over slices of rows: O(log n) for one with fiba, O(rows) for more or without."""
        try:
            questions = asked or [()] * len(self.measures)
            return [None if q is None else self._value(k, ranges, q) for k, q in enumerate(questions)]
        except Exception as error:
            return Failed(error)

    def _value(self, k: int, ranges: list[list[Any]], question: tuple[Any, ...]) -> Any:
        structure = self.structures[k]
        if structure is not None and len(ranges) == 1:
            rows = ranges[0]
            return structure.query(rows[0].place, rows[-1].place, *question)
        return self.measures[k].fold((row.items[k] for rows in ranges for row in rows), question)


def _answers_ranges(measure: Measure) -> bool:
    return measure.entry.ranges and measure.entry.out_of_order
