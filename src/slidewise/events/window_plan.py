"""WindowPlan: what all keys of a window share, which engine holds their rows, and which algorithm each aggregation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.events.engines.engine import Engine
from slidewise.events.engines.hopping import Hopping, SlicedRows
from slidewise.events.engines.retained import Retained
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import Trailing
from slidewise.events.frame import Frame
from slidewise.events.measure import Measure, choose_entry, name_aggregations
from slidewise.events.result import Failed, Result
from slidewise.events.row_reader import Row, RowReader
from slidewise.planner.choose import Situation
from slidewise.registry.entries import AlgorithmEntry
from slidewise.windows.clock import ENDS, Clock
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import Length
from slidewise.windows.grid import Grid

#: (when it is due along the axis of time, the result)
Due = tuple[Any, Result | Failed]


class WindowPlan:
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
        reader: RowReader,
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
        self.least = definition.min_rows

    @property
    def grid(self) -> Grid:
        """The boundaries of a slide by time, once a row has told what times are."""
        if self._grid is None:
            definition, measure = self.definition, self.clock.measure
            every, offset, size = definition.slide_size, definition.offset, definition.hop_size
            assert every is not None
            self._grid = Grid(
                measure(every), 0 if offset is None else measure(offset), None if size is None else measure(size)
            )
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
        """Build a result over the values of all measures."""
        if isinstance(values, Failed):
            self.failed = True
            values.error.add_note(f"in {Result(None, key, **where)!r}; other results now due come with the next call")
            return values
        if self.single:
            return Result(values[0], key, **where)
        return Result({m.name: v for m, v in zip(self.measures, values, strict=True)}, key, **where)


def frame_of(definition: WindowDefinition, clock: Clock) -> Frame | None:
    """Build the frame of a window that is measured along a coordinate; deltas and punctuations are not."""
    return None if definition.reach is None else Frame(definition.reach, clock)


# ---- from a definition to a plan
def engine_class(window: WindowDefinition, frame: Frame | None, revises: bool) -> type[Engine]:
    """Choose the engine that holds the rows of a key under this window."""
    if revises or (frame is not None and not frame.reach.monotone):
        return Retained
    if window.hopping:
        return Hopping
    if frame is not None and frame.unit == "rows" and window.slide_kind == "count":
        if isinstance(frame.end, int) and frame.end >= 0:
            return SlicedRows
    elif frame is None or window.trailing_rows is not None:
        return Trailing
    return Sliding


def plan_for(
    aggregation: Any,
    window: WindowDefinition,
    clock: Clock,
    partition_by: str | Iterable[str] | None,
    *,
    revises: bool,
    keep: Length | None,
    algorithm: str,
) -> WindowPlan:
    """Plan a window."""
    named, single = name_aggregations(aggregation)
    engine = engine_class(window, frame_of(window, clock), revises)
    rows = window.trailing_rows if engine is Trailing else None
    situation = Situation("events", rows=rows, monotone=engine is not Retained, out_of_order=engine is Retained)
    measures = []
    for name, op in named.items():
        entry = choose_entry(op, algorithm, situation)
        measures.append(Measure(name, op, entry, _options(entry, op, window, engine)))
    reader = RowReader(measures, window, _key_columns(partition_by))
    return WindowPlan(window, measures, single, reader, clock, revises, keep)


def _options(
    entry: AlgorithmEntry, aggregation: Aggregation, window: WindowDefinition, engine: type[Engine]
) -> dict[str, Any]:
    """Return what a structure must know at its start: the most entries that the window holds."""
    if "capacity" not in entry.options:
        return {}
    rows = window.trailing_rows
    if rows is not None and engine is Trailing:
        return {"capacity": rows}
    if rows is not None and window.slide_rows is not None and engine is SlicedRows and aggregation.associative:
        return {"capacity": rows // window.slide_rows + 2}
    if engine is Hopping and aggregation.associative:
        lengths: Any = (window.hop_size, window.slide_size)
        size, every = (getattr(x, "nanoseconds", x) for x in lengths)
        return {"capacity": int(size // every) + 2}
    raise IllegalPair(
        f"{entry.name} must know at its start how much it will hold, and {window!r} sets no limit. Use daba_lite"
    )


def _key_columns(partition_by: Any) -> str | list[str] | None:
    if partition_by is None or isinstance(partition_by, str):
        return partition_by
    columns = list(partition_by)
    if not columns or not all(isinstance(c, str) for c in columns):
        raise InvalidInput(f"Window: partition_by is a column's name or a list of names, got {partition_by!r}")
    return columns
