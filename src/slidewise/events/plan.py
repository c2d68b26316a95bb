"""What all keys of a window share: the definition, the measures, and how results are put together."""

from __future__ import annotations

from typing import Any

from slidewise.events.frame import Frame
from slidewise.events.measure import Measure
from slidewise.events.result import Failed, Result
from slidewise.events.row_reader import Reader, Row
from slidewise.events.triggers import Grid
from slidewise.windows.clock import ENDS, Clock
from slidewise.windows.definitions import Between, RowsWindow, TimeWindow, WindowDefinition
from slidewise.windows.durations import Length

#: (when it is due along the axis of time, the result)
Due = tuple[Any, Result | Failed]


class Plan:
    """The definition of a window, ready for use."""

    __slots__ = (
        "clock",
        "definition",
        "failed",
        "frame",
        "grid",
        "keep",
        "least",
        "measures",
        "reader",
        "revises",
        "single",
    )

    def __init__(
        self,
        definition: WindowDefinition,
        measures: list[Measure],
        single: bool,
        reader: Reader,
        clock: Clock,
        revises: bool = False,
        keep: Length | None = None,
    ) -> None:
        self.definition = definition
        #: a result has failed that the window has not yet told of
        self.failed = False
        self.measures = measures
        #: one aggregation without a name
        self.single = single
        self.reader = reader
        self.clock = clock
        #: late rows change results that were emitted
        self.revises = revises
        #: how long a result may be revised; None: for ever
        self.keep = keep
        self.frame = frame_of(definition, clock)
        every = definition.every
        self.grid = Grid(clock, every.size, definition.offset) if isinstance(every, TimeWindow) else None
        #: rows that a window must have seen before its first result
        self.least = definition.min_rows if isinstance(definition, RowsWindow) else 1

    def require_within(self, row: Row) -> None:
        """Refuse a row near the ends of time whose windows cannot be named. O(1)."""
        grid, clock = self.grid, self.clock
        if grid is None or clock.kind is None or clock.kind == "number":
            return
        size = self.definition.size if isinstance(self.definition, TimeWindow) else None
        length = None if size is None else clock.measure(size)
        far = clock.measure(grid.every) + (length or 0)
        first, last = ENDS[clock.kind]
        if not first + far <= row.time <= last - far:
            grid.require_within(row, length)

    def result(self, values: list[Any] | Failed, key: Any, **where: Any) -> Result | Failed:
        """A result over the values of all measures."""
        if isinstance(values, Failed):
            self.failed = True
            values.error.add_note(f"in {Result(None, key, **where)!r}; other results now due come with the next call")
            return values
        if self.single:
            return Result(values[0], key, **where)
        return Result({m.name: v for m, v in zip(self.measures, values, strict=True)}, key, **where)


def frame_of(definition: WindowDefinition, clock: Clock) -> Frame | None:
    """The frame of a window that is measured along a coordinate; deltas and punctuations are not."""
    return Frame(definition, clock) if isinstance(definition, RowsWindow | TimeWindow | Between) else None
