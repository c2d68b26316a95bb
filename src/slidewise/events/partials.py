"""How the partials of one key are held: row by row, as one running partial, in slices, or for any range.

Each holder has one structure per measure, so that a window computes many aggregations from one pass over its
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.events.measure import Measure, Question
from slidewise.events.result import Failed
from slidewise.events.small_queue import SmallQueue, enqueue

Items = list[Any]
#: so many rows are held as they are; folding 4 costs less than 3 operations of daba_lite
FEW = 4
#: what the row of a result asks of each measure; None: nothing
Asked = list[Question] | None


def count_few(measures: Sequence[Measure]) -> int:
    """Tell how many rows are held as they are: one where a fold builds a structure, as that of a median does."""
    return 1 if any(m.raw for m in measures) else FEW


class RowHolder:
    """Rows enter at one end and leave at the other.

    A few rows are held as they are, and each result is a fold of them: structures are built for more. A key of one row
    would otherwise take 250 to 1,300 bytes for each aggregation, and most keys of a large stream have few rows.
    """

    __slots__ = ("count", "few", "measures", "rows", "structures")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        #: one per measure; None while there are few rows
        self.structures: list[Any] | None = None
        #: the items of few rows, one row after the other
        self.rows: list[Any] | tuple[()] = ()
        self.few = count_few(measures)
        self.count = 0

    def insert(self, items: Items) -> None:
        """Add the youngest row. O(1) with daba_lite."""
        structures = self.structures
        if structures is None:
            if not self.count:
                self.rows, self.count = items[:], 1
                return
            if self.count < self.few:
                self.rows += items  # type: ignore[operator]
                self.count += 1
                return
            structures = self._build()
        if len(structures) == 1:
            structures[0].insert(items[0])
        else:
            for structure, item in zip(structures, items, strict=True):
                structure.insert(item)
        self.count += 1

    def _build(self) -> list[Any]:
        """Let structures hold the rows, which are no longer few."""
        self.structures = [m.structure() for m in self.measures]
        for k, structure in enumerate(self.structures):
            for item in self.rows[k :: len(self.structures)]:
                structure.insert(item)
        self.rows = ()
        return self.structures

    def evict(self) -> None:
        """Remove the oldest row. O(1) with daba_lite."""
        if self.structures is None:
            del self.rows[: len(self.measures)]  # type: ignore[union-attr]
        else:
            for structure in self.structures:
                structure.evict()
        self.count -= 1
        if not self.count:
            self.structures, self.rows = None, ()

    def skip(self, items: Items) -> None:
        """Leave out a row that came before any that is to enter. O(1)."""

    def rebuild(self, rows: Sequence[Items]) -> None:
        """Hold just these rows. O(n)."""
        self.structures, self.rows = None, ()
        self.count = 0
        for items in rows:
            self.insert(items)

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the rows held, for a row that asks this. O(1) with daba_lite."""
        if self.structures is None:
            return self._query_few(asked)
        try:
            if asked is None:
                if len(self.structures) == 1:
                    return [self.structures[0].query()]
                return [structure.query() for structure in self.structures]
            return [
                q if q is None else structure.query(*q) for structure, q in zip(self.structures, asked, strict=True)
            ]
        except Exception as error:
            return Failed(error)

    def _query_few(self, asked: Asked) -> list[Any] | Failed:
        """Return the results over few rows. A combine that fails ends the window, as it would in a structure."""
        n = len(self.measures)
        totals = [m.total(self.rows[k::n]) for k, m in enumerate(self.measures)]
        try:
            if asked is None:
                return [m.read(total) for m, total in zip(self.measures, totals, strict=True)]
            return [
                q if q is None else m.read(total, *q) for m, total, q in zip(self.measures, totals, asked, strict=True)
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
        #: one per measure; None while all rows are in one slice, and can be merged
        self.structures: list[Any] | None = None
        #: (where it starts, how many rows it has) of every closed slice
        self.slices: SmallQueue = ()
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
                (self.structures or self._build())[k].insert(item)

    def _build(self) -> list[Any]:
        self.structures = [m.structure() for m in self.measures]
        return self.structures

    def _close(self) -> None:
        structures = self.structures or self._build()
        self.slices = enqueue(self.slices, (self.open_start, self.open_rows))
        self.open_rows = 0
        for k, measure in enumerate(self.measures):
            if measure.mergeable:
                structures[k].insert(self.open[k])
                self.open[k] = None

    def evict_before(self, start: Any) -> None:
        """Remove the slices that start before `start`. O(1) each with daba_lite, where rows can be merged."""
        if self.open_rows and self.open_start < start:
            if self.structures is None:  # it is all that there is
                self.open_rows = 0
                self.open = [None] * len(self.measures)
                return
            self._close()
        while self.slices and self.slices[0][0] < start:
            rows = self.slices[0][1]
            del self.slices[0]
            for measure, structure in zip(self.measures, self.structures or (), strict=True):
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
        if question is None:
            return None
        if not measure.mergeable:
            return (measure.structure() if self.structures is None else self.structures[k]).query(*question)
        return measure.lower(measure.combine(self._query_closed(k), self.open[k]), *question)

    def _query_closed(self, k: int) -> Any:
        """Return the partial of a measure over the closed slices; None where there are none."""
        structure = None if self.structures is None else self.structures[k]
        return structure.functions["query"](structure) if structure is not None and len(structure) else None

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
