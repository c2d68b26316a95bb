"""Partials of one key that several windows are answered from, each held once.

A window over them is two positions: rows enter it and leave it, and nothing moves but these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slidewise.events.measure import Measure
from slidewise.events.partials import Asked, Items, RangeHolder, RowHolder
from slidewise.events.result import Failed


class SharedPartials:
    """The partials of rows first..end-1 of a key, counted from 0.

    Where windows end with the newest row, rows enter as they come. Where all end with the same earlier row they are
    `behind`: a row enters with the first window that it enters, so that it is still the end which all are asked for.
    """

    __slots__ = ("behind", "end", "first", "measure", "structure")

    def __init__(self, measure: Measure, behind: bool) -> None:
        self.measure = measure
        self.behind = behind
        self.structure: Any = measure.structure()
        self.first = self.end = 0

    def insert(self, item: Any) -> None:
        """Add the youngest row. The costs are those of the structure."""
        if self.measure.entry.ranges:
            self.structure.insert(item, time=self.end)
        else:
            self.structure.insert(item)
        self.end += 1

    def evict_before(self, first: int) -> None:
        """Remove the rows before that one. O(1) amortised for each."""
        while self.first < first:
            self.structure.evict()
            self.first += 1

    def product(self, lo: int, hi: int) -> Any:
        """Combine the partials of rows lo..hi-1; None where there are none. A query of the structure."""
        structure = self.structure
        if hi == self.end and "query_youngest" in structure.functions:
            return structure.functions["query_youngest"](structure, hi - lo)
        return structure.query(lo, hi - 1) if lo < hi else None


Stores = Sequence[SharedPartials | None]


class SharedRowHolder(RowHolder):
    """A window whose rows enter at one end and leave at the other; `stores` have the partials that others share."""

    __slots__ = ("first", "stores", "takes_items")

    def __init__(self, measures: Sequence[Measure], stores: Stores) -> None:
        self.measures = measures
        #: whether it has a use for the items of rows
        self.takes_items = any(store is None or store.behind for store in stores)
        #: for each measure, where its partials are; its own structure where there is None
        self.stores = stores
        self.structures: list[Any] = [
            m.structure() if store is None else None for m, store in zip(measures, stores, strict=True)
        ]
        self.rows, self.few = (), 0  # what is shared is not held again
        #: the oldest row of the window, or the next to enter
        self.first = 0
        self.count = 0

    def insert(self, items: Items) -> None:
        """Let the next row enter. O(1) where all is shared."""
        if self.takes_items:
            self._pass_on(items)
            for structure, item in zip(self.structures, items, strict=True):
                if structure is not None:
                    structure.insert(item)
        self.count += 1

    def _pass_on(self, items: Items) -> None:
        """Give the next row to those stores that are behind, and have it not from another window."""
        place = self.first + self.count
        for store, item in zip(self.stores, items, strict=True):
            if store is not None and store.behind and store.end == place:
                store.insert(item)

    def evict(self) -> None:
        """Let the oldest row leave. O(1) where all is shared."""
        for structure in self.structures:
            if structure is not None:
                structure.evict()
        self.first += 1
        self.count -= 1

    def skip(self, items: Items) -> None:
        """Let the next row not enter; the window is empty. O(1)."""
        if self.takes_items:
            self._pass_on(items)
        self.first += 1

    def query(self, asked: Asked = None) -> list[Any] | Failed:
        """Return the results over the window: a query of each structure."""
        lo, hi = self.first, self.first + self.count
        try:
            return [
                structure.query() if store is None else measure.lower(store.product(lo, hi))
                for measure, structure, store in zip(self.measures, self.structures, self.stores, strict=True)
            ]
        except Exception as error:
            return Failed(error)

    def partials(self) -> int:
        return self.count * sum(structure is not None for structure in self.structures)


class SharedRangeHolder(RangeHolder):
    """Rows in order, and results over any ranges of them; `stores` have the partials that others share."""

    __slots__ = ("first", "stores")

    def __init__(self, measures: Sequence[Measure], stores: Stores) -> None:
        super().__init__(measures)
        self.stores = stores
        self.structures = [s if store is None else None for s, store in zip(self.structures, stores, strict=True)]
        #: the oldest row that a result may still be over
        self.first = 0

    def evict_up_to(self, place: tuple[Any, int]) -> None:
        """Remove the rows up to and including that place. O(log n) with fiba."""
        super().evict_up_to(place)
        self.first = place[1]

    def _value(self, k: int, ranges: list[list[Any]], question: tuple[Any, ...]) -> Any:
        store, measure = self.stores[k], self.measures[k]
        if store is None:
            return super()._value(k, ranges, question)
        total = None
        for rows in ranges:
            total = measure.combine(total, store.product(rows[0].number - 1, rows[-1].number))
        return measure.lower(total)
