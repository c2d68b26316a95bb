"""What all keys of a window share: the definition, the measures, and how results are put together."""

from __future__ import annotations

from typing import Any

from slidewise.errors import InvalidInput
from slidewise.events.frame import Frame
from slidewise.events.measure import Measure
from slidewise.events.result import Failed, Result
from slidewise.events.row_reader import Reader, Row
from slidewise.windows.clock import ENDS, Clock
from slidewise.windows.definitions import RowsWindow, TimeWindow, WindowDefinition
from slidewise.windows.durations import Length
from slidewise.windows.grid import Grid

#: (when it is due along the axis of time, the result)
Due = tuple[Any, Result | Failed]


class Plan:
    """The definition of a window, ready for use."""

    __slots__ = (
        "_grid",
        "clock",
        "definition",
        "failed",
        "frame",
        "keep",
        "least",
        "measures",
        "reader",
        "revises",
        "single",
        "slides_by_time",
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
        #: whether results are at boundaries of time, which are those of `grid`
        self.slides_by_time = definition.slide_kind == "time"
        self._grid: Grid | None = None
        #: rows that a window must have seen before its first result
        self.least = definition.min_rows if isinstance(definition, RowsWindow) else 1

    @property
    def grid(self) -> Grid:
        """The boundaries of a slide by time, once a row has told what times are."""
        if self._grid is None:
            definition, measure = self.definition, self.clock.measure
            assert isinstance(definition.every, TimeWindow)
            offset = 0 if definition.offset is None else measure(definition.offset)
            size = measure(definition.size) if isinstance(definition, TimeWindow) else None
            self._grid = Grid(measure(definition.every.size), offset, size)
        return self._grid

    def require_within(self, row: Row) -> None:
        """Refuse a row near the ends of time whose windows begin or end where there are no times. O(1)."""
        clock = self.clock
        if not self.slides_by_time or clock.kind is None or clock.kind == "number":
            return
        grid, (first, last) = self.grid, ENDS[clock.kind]
        far = grid.every + (grid.size or 0)
        if first + far <= row.time <= last - far:
            return
        step = grid.step(row.time)
        ends = grid.at(step + 1) if grid.size is None else grid.end_of(step)
        begins = ends if grid.size is None else grid.at(grid.first_window(row.time))
        if not (clock.can_write(ends) and clock.can_write(begins)):
            side = "begin before the first" if clock.can_write(ends) else "end after the last"
            raise InvalidInput(
                f"push: windows of the row of {row.stamp!r} {side} {clock.kind} that there is, and so have no name. "
                "Leave such rows out, or give times as plain numbers"
            )

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
    return None if definition.reach is None else Frame(definition.reach, clock)
