"""A row as a window sees it, and how it is read from what the user pushes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slidewise.aggregations.values import NAN
from slidewise.errors import InvalidInput
from slidewise.events.measure import Measure, Question, missing_column
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import Between, DeltaWindow, PunctuationWindow, WindowDefinition
from slidewise.windows.durations import length
from slidewise.windows.reach import OffsetColumn


class Row:
    """One row: what the aggregations take of it, and where it stands."""

    __slots__ = (
        "asked",
        "end",
        "items",
        "key",
        "number",
        "revision",
        "size_value",
        "slide_value",
        "stamp",
        "start",
        "time",
        "x",
    )

    #: what the row asks of each measure, as arguments of its result; None: of none
    asked: list[Question] | None
    #: the time as a number, and as it was given
    time: Any
    stamp: Any
    #: what delta and punctuation look at, for the size and for the slide
    size_value: Any
    slide_value: Any
    #: the row's own offsets, where bounds are columns
    start: Any
    end: Any
    #: rows are numbered from 1 as they enter: in the order of time, a late one under the next free number
    number: int
    #: the row's coordinate, by which frames are measured
    x: Any
    #: how often its result was emitted, less one
    revision: int

    def __init__(self, items: list[Any], key: Any) -> None:
        self.items = items
        self.key = key
        self.asked = self.time = self.stamp = self.size_value = self.slide_value = self.start = self.end = self.x = None
        self.number = 0
        self.revision = -1

    @property
    def place(self) -> tuple[Any, int]:
        """Where the row stands among all rows of its key, those of equal time in the order of arrival."""
        return (self.time, self.number)


#: what a window has looked at that does not look at rows
_NOTHING = (None, None, None, None)


class SharedRow(Row):
    """One row of several windows: what each of them looks at beside the items, see `RowReader.look_at`."""

    __slots__ = ("windows",)

    def __init__(self, items: list[Any], key: Any) -> None:
        super().__init__(items, key)
        self.windows: list[tuple[Any, ...]] = []


class RowReader:
    """Reads rows. Everything that can be wrong with a row is found here, before any state has changed."""

    __slots__ = (
        "asks", "definition", "looks", "measures", "only", "partition_by", "size_clock", "slide_clock", "timed",
        "whole_row",
    )  # fmt: skip

    def __init__(
        self, measures: Sequence[Measure], definition: WindowDefinition, partition_by: str | list[str] | None
    ) -> None:
        self.measures = measures
        #: how the items of rows are read, where there is one
        self.only = measures[0].item if len(measures) == 1 else None
        self.definition = definition
        self.partition_by = partition_by
        slide = definition.every
        self.size_clock, self.slide_clock = _delta_clock(definition), _delta_clock(slide)
        if self.size_clock and self.slide_clock and self.size_clock.what == self.slide_clock.what:  # of one column
            self.size_clock.lengths += self.slide_clock.lengths
            self.slide_clock = self.size_clock
        #: whether the window itself looks at rows: at their values, or at offsets of their own
        bounds = definition.reach is not None and bool(definition.reach.offset_columns)
        self.looks = bounds or definition.looks_at_values or (slide is not None and slide.looks_at_values)
        #: rows must be mappings
        self.whole_row = bool(partition_by or definition.columns or any(m.columns or m.where for m in measures))
        self.asks = any(m.asks for m in measures)
        #: the measures that take the time of a row, in place of its values
        self.timed = [k for k, m in enumerate(measures) if m.aggregation.of_order]

    def lift_time(self, row: Row) -> None:
        """Let the measures that take the time of a row have it, once it is known. O(1)."""
        for k in self.timed:
            row.items[k] = self.measures[k].lift(row.time)

    def read(self, value: Any, key: Any) -> Row:
        """Read a row from a value or a mapping. O(1)."""
        if self.whole_row and type(value) is not dict and not isinstance(value, Mapping):
            raise missing_column(value, self._columns(), "the window")
        if self.only is not None:
            items = [self.only(value)]
        else:
            items = [m.item(value) for m in self.measures]
        if self.partition_by is not None or key is not None:
            key = self._key(value, key)
        row = Row(items, key)
        if self.asks:
            row.asked = [m.read_question(value) for m in self.measures]
        if self.looks:
            self.look_at(row, value)
        return row

    def look_at(self, row: Row, value: Any) -> None:
        """Read what the window itself looks at: see `looks`."""
        definition = self.definition
        if isinstance(definition, Between):
            row.start = self._offset(definition.start, value)
            row.end = self._offset(definition.end, value)
        elif definition.looks_at_values:
            row.size_value = _read_value(definition, value, self.size_clock)
        slide = definition.every
        if slide is not None and slide.looks_at_values:
            row.slide_value = _read_value(slide, value, self.slide_clock)

    def _columns(self) -> tuple[str, ...]:
        keys = (self.partition_by,) if isinstance(self.partition_by, str) else tuple(self.partition_by or ())
        read = (c for m in self.measures for c in m.aggregation.reads)
        return tuple(dict.fromkeys((*keys, *self._window_columns(), *read)))

    def _window_columns(self) -> tuple[str, ...]:
        return self.definition.columns

    def _key(self, value: Any, key: Any) -> Any:
        column = self.partition_by
        if type(column) is str and key is None and type(value) is dict:
            found = value.get(column)
            if type(found) is str or type(found) is int:
                return found
        if self.partition_by is None:
            key = one_nan(key)
        elif key is not None:
            raise InvalidInput(f"push: the key comes from partition_by={self.partition_by!r}, got key={key!r} as well")
        elif isinstance(self.partition_by, str):
            key = one_nan(_cell(value, self.partition_by, "partition_by"))
        else:
            key = tuple(one_nan(_cell(value, column, "partition_by")) for column in self.partition_by)
        try:
            hash(key)
        except TypeError:
            raise InvalidInput(f"push: a key must be hashable, got {key!r}. Use a tuple instead of a list") from None
        return key

    def _offset(self, bound: Any, value: Any) -> Any:
        """Read a row's own offset, from the column that holds it."""
        if not isinstance(bound, OffsetColumn):
            return None
        what = f"the offset in {bound!r}"
        offset = _cell(value, bound.name, "the window")
        if self.definition.size_kind == "range":
            return length(offset, what)
        if hasattr(offset, "item"):
            offset = offset.item()
        if isinstance(offset, bool) or not isinstance(offset, int):
            raise InvalidInput(f"{what} is a number of {self.definition.size_kind} (an int), got {offset!r}")
        return offset


class SharedReader(RowReader):
    """Reads rows of several windows: the items once, and for each window what it looks at."""

    __slots__ = ("readers",)

    def __init__(
        self, measures: Sequence[Measure], readers: Sequence[RowReader], partition_by: str | list[str] | None
    ) -> None:
        super().__init__(measures, readers[0].definition, partition_by)
        #: one for each window, which reads no items
        self.readers = readers
        self.whole_row = self.whole_row or any(reader.whole_row for reader in readers)

    def read(self, value: Any, key: Any) -> SharedRow:
        """Read a row from a value or a mapping. O(windows)."""
        if self.whole_row and not isinstance(value, Mapping):
            raise missing_column(value, self._columns(), "the window")
        row = SharedRow([m.item(value) for m in self.measures], self._key(value, key))
        for reader in self.readers:
            if not reader.looks:
                row.windows.append(_NOTHING)
                continue
            reader.look_at(row, value)
            row.windows.append((row.size_value, row.slide_value, row.start, row.end))
            row.size_value = row.slide_value = row.start = row.end = None
        return row

    def _window_columns(self) -> tuple[str, ...]:
        return tuple(c for reader in self.readers for c in reader.definition.columns)


def _cell(row: Mapping[str, Any], column: str, who: str) -> Any:
    if column not in row:
        raise missing_column(row, (column,), who)
    return row[column]


def one_nan(key: Any) -> Any:
    """Replace every NaN by the same one: all of them are one value, and so one key."""
    return NAN if isinstance(key, float) and key != key else key


def _delta_clock(definition: WindowDefinition | None) -> Clock | None:
    if not isinstance(definition, DeltaWindow):
        return None
    what = "the value" if definition.column is None else f"the column {definition.column!r}"
    return Clock(f"{what} of delta", lengths=[definition.size])


def _read_value(definition: WindowDefinition, value: Any, clock: Clock | None) -> Any:
    """Read what a delta measures, or whether a row is a punctuation."""
    if isinstance(definition, DeltaWindow):
        assert clock is not None
        return clock.read(value if definition.column is None else _cell(value, definition.column, "delta"))
    assert isinstance(definition, PunctuationWindow)
    return _holds(definition, value)


def _holds(definition: PunctuationWindow, value: Any) -> bool:
    predicate = definition.predicate
    found = _cell(value, predicate, "punctuation") if isinstance(predicate, str) else predicate(value)
    if found is None:  # as everywhere in SQL, a null is not true
        return False
    if hasattr(found, "item"):
        found = found.item()
    if not isinstance(found, bool):
        raise InvalidInput(f"{definition!r} must give True or False, got {found!r} for {value!r}")
    return found
