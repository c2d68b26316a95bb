"""WindowPlan: what all keys of a window share, which engine holds their rows, and which algorithm each aggregation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.events.engines.cumulative import Cumulative
from slidewise.events.engines.engine import Engine
from slidewise.events.engines.hopping import Hopping, SlicedRows
from slidewise.events.engines.retained import Retained
from slidewise.events.engines.sessions import Sessions
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import Trailing
from slidewise.events.frame import Frame
from slidewise.events.measure import Measure, Output, ReadBySeveral, choose_entry, name_aggregations
from slidewise.events.partials import RowHolder
from slidewise.events.result import Failed, Result, build_result
from slidewise.events.row_reader import Row, RowReader
from slidewise.events.watermark import Mark
from slidewise.planner.choose import Situation
from slidewise.planner.sharing import Partials, group_by_partials
from slidewise.registry.entries import AlgorithmEntry
from slidewise.windows.calendar_grid import CalendarGrid, build_calendar_grid
from slidewise.windows.clock import ENDS, Clock
from slidewise.windows.cumulative import CumulativeWindow
from slidewise.windows.definitions import DeltaWindow, WindowDefinition
from slidewise.windows.durations import UNITS, Length
from slidewise.windows.expiry import leaves_with_time
from slidewise.windows.grid import Grid
from slidewise.windows.sessions import SessionWindow

#: (when it is due along the axis of time, the result)
Due = tuple[Any, Result | Failed]


class WindowPlan:
    """The definition of a window, ready for use."""

    __slots__ = (
        "_empty_values",
        "_gap",
        "_grid",
        "clock",
        "definition",
        "empties",
        "failed",
        "frame",
        "gives_windows",
        "keep",
        "least",
        "measures",
        "names",
        "names_windows",
        "outputs",
        "plain",
        "reader",
        "revises",
        "single",
        "slides_by_time",
        "tells_leaving",
    )

    def __init__(
        self,
        definition: WindowDefinition,
        measures: list[Measure],
        outputs: list[Output],
        single: bool,
        reader: RowReader,
        clock: Clock,
        revises: bool = False,
        keep: Length | None = None,
    ) -> None:
        self.definition = definition
        #: whether results are given again when rows leave with time, down to those of none
        self.empties = False
        self._empty_values: dict[str, Any] | None = None
        #: whether such results are of the times at which rows leave, which must be there
        self.tells_leaving = False
        #: a result has failed that the window has not yet told of
        self.failed = False
        #: what is held, and what is read from it; each output is a measure of its own where that is plain
        self.measures = measures
        self.outputs = outputs
        self.plain = are_plain(outputs, measures)
        #: the names of the results, where they are plain
        self.names = tuple(output.name for output in outputs)
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
        self._grid: Grid | CalendarGrid | None = None
        #: whether results are of windows, and not of rows
        self.gives_windows = definition.gives_windows
        self._gap: Any = None
        #: rows that a window must have seen before its first result
        self.least = definition.min_rows
        #: whether windows of a row may begin or end where there are no times: see require_within
        self.names_windows = self.slides_by_time or definition.session_gap is not None

    @property
    def grid(self) -> Grid | CalendarGrid:
        """The boundaries of a slide by time, once a row has told what times are."""
        if self._grid is None:
            definition, measure = self.definition, self.clock.measure
            if definition.by_calendar:
                unit = UNITS["d"] if self.clock.kind == "date" else 1
                self._grid = build_calendar_grid(
                    definition, self.clock.kind == "aware datetime", unit, f"the time ({self.clock.kind})"
                )
                return self._grid
            every, offset, size = definition.slide_size, definition.offset, definition.hop_size
            assert every is not None
            steps = None
            if isinstance(definition, CumulativeWindow):
                size, steps = definition.size, definition.steps
            offset = 0 if offset is None else measure(offset)
            self._grid = Grid(measure(every), offset, None if size is None else measure(size), steps)
        return self._grid

    @property
    def gap(self) -> Any:
        """The gap of sessions as a number along the axis, once a row has told what times are."""
        if self._gap is None:
            assert isinstance(self.definition, SessionWindow)
            self._gap = self.clock.measure(self.definition.gap)
        return self._gap

    def require_within(self, row: Row) -> None:
        """Refuse a row near the ends of time whose windows begin or end where there are no times. O(1)."""
        clock = self.clock
        if self.definition.session_gap is not None and not clock.can_write(row.time + self.gap):
            raise InvalidInput(
                f"push: the session of the row of {row.stamp!r} ends after the last {clock.kind} that there is, and so "
                "has no name. Leave such rows out, or give times as plain numbers"
            )
        if self.tells_leaving:
            leaves = self.frame.leaves_at(row.time)  # type: ignore[union-attr]
            if leaves == math.inf or not clock.can_write(leaves):
                raise InvalidInput(
                    f"push: the row of {row.stamp!r} leaves its window after the last {clock.kind} that there is, and "
                    "so there is no time for the result without it. Leave such rows out, or give times as plain numbers"
                )
            return
        if not self.slides_by_time or clock.kind is None or clock.kind == "number":
            return
        grid, (first, last) = self.grid, ENDS[clock.kind]
        far = grid.far
        if first + far <= row.time <= last - far:
            return
        step = grid.step(row.time)
        if grid.steps is not None:
            step = step // grid.steps * grid.steps
        ends = grid.at(step + 1) if grid.size is None else grid.end_of(step)
        if self.empties:  # the window after the last one that has rows
            ends += grid.every
        begins = ends if grid.size is None else grid.at(step if grid.steps else grid.first_window(row.time))
        if not (clock.can_write(ends) and clock.can_write(begins)):
            side = "begin before the first" if clock.can_write(ends) else "end after the last"
            raise InvalidInput(
                f"push: windows of the row of {row.stamp!r} {side} {clock.kind} that there is, and so have no name. "
                "Leave such rows out, or give times as plain numbers"
            )

    def give_empties(self) -> None:
        """Give results again when rows leave with time."""
        self.empties = self.names_windows = True
        self.tells_leaving = leaves_with_time(self.definition)

    def stop_empties(self) -> None:
        """Give no results again from now on."""
        self.empties = False

    def find_empty_values(self) -> dict[str, Any]:
        """Find the results over no rows by name; computed once."""
        if self._empty_values is None:
            values = RowHolder(self.measures).query()
            if isinstance(values, Failed):
                raise values.error
            self._empty_values = self.read_outputs(values, 0)
        return self._empty_values

    def find_empty_value(self, result: Result) -> Any:
        """Find what a result would be over no rows."""
        found = self.find_empty_values()
        return next(iter(found.values())) if self.single else found

    @property
    def takes_late_rows(self) -> bool:
        """Whether late rows enter windows that are open: hopping and cumulative ones, and sessions."""
        return self.gives_windows and not self.revises

    def is_open(self, row: Row, mark: Mark) -> bool:
        """Tell whether a window that the row belongs to has not been given yet. O(1)."""
        if self.definition.session_gap is not None:
            return not mark.has_passed(row.time + self.gap)
        return not mark.has_reached(self.grid.end_of(self.grid.last_window(row.time)))

    @property
    def releases_keys(self) -> bool:
        """Whether the rows of a key leave with time, so that nothing is held for it any more.

        They do where frames have bounds along time; a slide by delta goes on from its last row, however long ago.
        """
        by_time = self.frame is not None and self.frame.unit == "range" and self.frame.reach.fixed
        return by_time and self.engine is Sliding and not isinstance(self.definition.every, DeltaWindow)

    def measure_reach(self) -> Any:
        """Measure how long after its time a row may be in a frame, along the axis; only where keys are released."""
        extent = self.frame.extent()  # type: ignore[union-attr]
        assert extent is not None
        return extent[1] - extent[0]

    @property
    def numbers_rows(self) -> bool:
        """Whether results tell the numbers of rows, or depend on them: so a key's count is kept when it is released."""
        return not self.slides_by_time or self.least > 1

    @property
    def engine(self) -> type[Engine]:
        """What holds the rows of a key."""
        return engine_class(self.definition, self.frame, self.revises)

    @property
    def windows(self) -> dict[str, WindowDefinition]:
        """The window, without a name: it is that of all aggregations."""
        return {"": self.definition}

    @property
    def clocks(self) -> dict[str, Clock]:
        """The clocks by name: that of time, and those of columns that the window looks at."""
        found = {"order": self.clock, "size": self.reader.size_clock, "slide": self.reader.slide_clock}
        return {name: clock for name, clock in found.items() if clock is not None}

    @property
    def held(self) -> int:
        """How many partials stand for a row."""
        return len(self.measures)

    @property
    def needs_time(self) -> bool:
        """Whether every row must have a time."""
        definition = self.definition
        peers = definition.reach is not None and definition.reach.looks_at_peers
        by_time = definition.size_kind in ("time", "range", "groups", "session") or definition.slide_kind == "time"
        return peers or by_time or self.revises or any(output.aggregation.of_order for output in self.outputs)

    @property
    def given(self) -> Any:
        """The aggregation, or all by name, as they were given."""
        return self.outputs[0].aggregation if self.single else {o.name: o.aggregation for o in self.outputs}

    @property
    def algorithms(self) -> dict[str, str]:
        """The algorithm of each aggregation, by name."""
        return {
            o.name or o.aggregation.name: "none" if o.measure is None else self.measures[o.measure].entry.name
            for o in self.outputs
        }

    def stream_of(self, result: Result) -> Any:
        """Tell which results follow one another, where only changes are emitted."""
        return result.key

    def result(
        self,
        values: list[Any] | Failed,
        rows: int | None,
        key: Any,
        time: Any = None,
        row: int | None = None,
        start: Any = None,
        end: Any = None,
        revision: int = 0,
    ) -> Result | Failed:
        """Build a result over the values of all measures, and the number of rows; None where slices are held."""
        if type(values) is Failed:
            self.failed = True
            at = build_result(None, key, time, row, start, end, revision)
            values.error.add_note(f"in {at!r}; other results now due come with the next call")
            return values
        if self.single:
            return build_result(values[0], key, time, row, start, end, revision)  # type: ignore[index]
        if self.plain:
            return build_result(dict(zip(self.names, values, strict=True)), key, time, row, start, end, revision)  # type: ignore[arg-type]
        return build_result(self.read_outputs(values, rows), key, time, row, start, end, revision)  # type: ignore[arg-type]

    def mark_late(self, row: Row) -> Result:
        """Build what comes for a late row that no result is over."""
        value = None if self.single else {output.name: None for output in self.outputs}
        return Result(value, row.key, time=row.stamp, late=True)

    def read_outputs(self, values: list[Any], rows: int | None) -> dict[str, Any]:
        """Read the results by name from the values of all measures, and the number of rows."""
        found = {}
        for name, _, measure, part in self.outputs:
            value: Any = rows if measure is None else values[measure]
            found[name] = value if part is None else value[part]
        return found


def are_plain(outputs: list[Output], measures: list[Measure]) -> bool:
    """Tell whether each output is the result of a measure of its own, in this order."""
    return [(output.measure, output.part) for output in outputs] == [(k, None) for k in range(len(measures))]


def frame_of(definition: WindowDefinition, clock: Clock) -> Frame | None:
    """Build the frame of a window that is measured along a coordinate; deltas and punctuations are not."""
    return None if definition.reach is None else Frame(definition.reach, clock)


# ---- from a definition to a plan
def engine_class(window: WindowDefinition, frame: Frame | None, revises: bool) -> type[Engine]:
    """Choose the engine that holds the rows of a key under this window."""
    if revises or (frame is not None and not frame.reach.monotone and not window.hopping):
        return Retained
    if isinstance(window, SessionWindow):
        return Sessions
    if isinstance(window, CumulativeWindow):
        return Cumulative
    if window.sliced:
        return Hopping if window.hopping else SlicedRows
    return Trailing if frame is None or window.trailing_rows is not None else Sliding


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
    for op in named.values():
        op.require_own_row(window)
    entries = {name: choose_entry(op, algorithm, situation_in(engine, window)) for name, op in named.items()}
    groups, counted = group_by_partials({name: Over(op, window, algorithm) for name, op in named.items()})
    measures: list[Measure] = []
    outputs = [Output(name, named[name], None, None) for name in counted]
    for group in groups:
        entry = entries[next(iter(group.readers))]
        options = structure_options(entry, group.aggregation, window, engine)
        measure, read = build_measure(len(measures), group, entry, options, named)
        measures.append(measure)
        outputs += read
    outputs.sort(key=lambda output: [*named].index(output.name))
    reader = RowReader(measures, window, key_columns(partition_by))
    return WindowPlan(window, measures, outputs, single, reader, clock, revises, keep)


def situation_in(engine: type[Engine], window: WindowDefinition) -> Situation:
    """Describe what a window means for the choice of an algorithm, in the engine that holds its rows."""
    rows = window.trailing_rows if engine is Trailing else None
    return Situation("events", rows=rows, monotone=engine is not Retained, out_of_order=engine is Retained)


def build_measure(
    index: int,
    partials: Partials,
    entry: AlgorithmEntry,
    options: dict[str, Any],
    named: Mapping[str, Aggregation],
) -> tuple[Measure, list[Output]]:
    """Build the measure that holds some partials, as number `index` of its window, and the outputs read from it."""
    base, readers = partials.aggregation, [(named[name], part) for name, part in partials.readers.items()]
    if all(reader == base for reader, _ in readers):  # their results are the same one
        return Measure(base, entry, options), [Output(name, base, index, None) for name in partials.readers]
    outputs = [Output(name, named[name], index, k) for k, name in enumerate(partials.readers)]
    return Measure(base, entry, options, ReadBySeveral(base, readers)), outputs


def structure_options(
    entry: AlgorithmEntry, aggregation: Aggregation, window: WindowDefinition, engine: type[Engine]
) -> dict[str, Any]:
    """Return what a structure must know at its start: the most entries that the window holds."""
    if "capacity" not in entry.required:
        return dict(entry.given)
    rows = window.trailing_rows
    if rows is not None and engine is Trailing:
        return {"capacity": rows}
    if rows is not None and window.slide_rows is not None and engine is SlicedRows and aggregation.associative:
        return {"capacity": rows // window.slide_rows + 2}
    if engine is Hopping and aggregation.associative:
        if window.by_calendar:
            return {"capacity": build_calendar_grid(window, window.zone is not None, 1, "").windows_per_row + 2}  # type: ignore[attr-defined]
        lengths: Any = (window.hop_size, window.slide_size)
        size, every = (getattr(x, "nanoseconds", x) for x in lengths)
        return {"capacity": int(size // every) + 2}
    raise IllegalPair(
        f"{entry.name} must know at its start how much it will hold, and {window!r} sets no limit. Use daba_lite"
    )


def key_columns(partition_by: Any) -> str | list[str] | None:
    if partition_by is None or isinstance(partition_by, str):
        return partition_by
    columns = list(partition_by)
    if not columns or not all(isinstance(c, str) for c in columns):
        raise InvalidInput(f"Window: partition_by is a column's name or a list of names, got {partition_by!r}")
    return columns
