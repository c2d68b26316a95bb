"""SharedPlan: several windows over one stream, what they hold together, and what each holds for itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.events.engines.engine import Engine
from slidewise.events.engines.shared import SharedWindows
from slidewise.events.measure import Measure, Output, Unlowered, choose_entry, name_aggregations
from slidewise.events.result import Failed, Result
from slidewise.events.row_reader import Row, RowReader, SharedReader
from slidewise.events.watermark import Mark
from slidewise.events.window_plan import (
    WindowPlan,
    are_plain,
    build_measure,
    key_columns,
    situation_in,
    structure_options,
)
from slidewise.planner.choose import Situation
from slidewise.planner.sharing import Structure, plan_structures
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import WindowDefinition, canonical, window_of
from slidewise.windows.expiry import leaves_with_time


class PartPlan(WindowPlan):
    """One of several windows, ready for use: its results by name, and where the partials of each measure are."""

    __slots__ = ("each_row", "items", "shared", "takes_any_row")

    def __init__(self, definition: WindowDefinition, reader: RowReader, clock: Clock) -> None:
        super().__init__(definition, [], [], False, reader, clock)
        #: whether every row has a result, which comes together with those of other windows
        self.each_row = definition.every is None
        #: for each measure, which of a row's items it takes
        self.items: list[int] = []
        #: for each measure, the number of the structure that it shares; None: it has its own
        self.shared: list[int | None] = []
        #: whether rows as all windows see them will do: it keeps none, looks at none, and has no items of its own
        self.takes_any_row = False

    def finish(self) -> None:
        """Note what follows from the outputs and measures, now that all are there."""
        self.plain = are_plain(self.outputs, self.measures)
        self.names = tuple(output.name for output in self.outputs)
        self.takes_any_row = not (self.engine.keeps_rows or self.reader.looks or self.held)

    @property
    def held(self) -> int:
        return sum(shared is None for shared in self.shared)

    @property
    def shares(self) -> bool:
        """Whether it asks structures of which other windows ask, too."""
        return any(shared is not None for shared in self.shared)

    def result(self, values: list[Any] | Failed, rows: int | None, key: Any, *where: Any, **named: Any) -> Any:
        """Build a result; of a row, only the values by name, which are put together with those of other windows."""
        if not self.each_row or isinstance(values, Failed):
            return super().result(values, rows, key, *where, **named)
        if self.plain:
            return dict(zip(self.names, values, strict=True))
        return self.read_outputs(values, rows)


class Stored(NamedTuple):
    """A structure that windows share."""

    #: which of a row's items it holds
    measure: int
    #: the windows that ask it, by number
    asking: list[int]
    #: whether all of them end with the same row, which is not the newest
    behind: bool


class SharedPlan:
    """Several windows over one stream, ready for use."""

    __slots__ = (
        "clock",
        "empties",
        "failed",
        "given",
        "joined",
        "joining",
        "least",
        "leaving",
        "measures",
        "outputs",
        "parts",
        "reader",
        "revises",
        "single",
        "stored",
    )

    def __init__(self, given: dict[str, Over], parts: list[PartPlan], clock: Clock) -> None:
        #: all aggregations with their windows, by name
        self.given = given
        self.parts = parts
        self.clock = clock
        #: whatever is held of a row, by any window
        self.measures: list[Measure] = []
        self.outputs: list[Output] = []
        #: the structures that windows share
        self.stored: list[Stored] = []
        self.failed = self.single = self.revises = False
        #: whether results are given again when rows leave with time, down to those of none
        self.empties = False
        #: the numbers of the windows with a result per row that rows leave with time
        self.leaving = [k for k, part in enumerate(parts) if leaves_with_time(part.definition)]
        #: the names whose results come together for every row
        self.joined = [name for name, over in given.items() if over.window.every is None]
        #: how many windows these are of, and the row from which on all of them have enough
        self.joining = sum(part.each_row for part in parts)
        self.least = max(part.least for part in parts)
        self.reader: SharedReader

    def add_outputs(self, part: int, outputs: list[Output], measure: int | None) -> None:
        """Add results to one window; `measure` is where they are read from among all that is held."""
        self.parts[part].outputs += outputs
        self.outputs += [output._replace(measure=measure) for output in outputs]

    def finish(self, keys: str | list[str] | None) -> None:
        """Put results into the order in which they were given, now that all is there, and prepare to read rows."""
        order = [*self.given]
        for outputs in (self.outputs, *(part.outputs for part in self.parts)):
            outputs.sort(key=lambda output: order.index(output.name))
        for part in self.parts:
            part.finish()
        self.reader = SharedReader(self.measures, [part.reader for part in self.parts], keys)

    @property
    def windows(self) -> dict[str, WindowDefinition]:
        """The window of each aggregation, by name."""
        return {name: over.window for name, over in self.given.items()}

    @property
    def clocks(self) -> dict[str, Clock]:
        """The clocks by name: that of time, and those of columns that windows look at."""
        parts = {f"{name} {k}": clock for k, part in enumerate(self.parts) for name, clock in part.clocks.items()}
        return {"order": self.clock} | {name: clock for name, clock in parts.items() if clock is not self.clock}

    @property
    def releases_keys(self) -> bool:
        """Whether the rows of a key leave all windows with time."""
        return all(part.releases_keys for part in self.parts)

    def measure_reach(self) -> Any:
        """Measure how long after its time a row may be in a frame of any window, where keys are released."""
        return max(part.measure_reach() for part in self.parts)

    @property
    def numbers_rows(self) -> bool:
        """Whether results tell the numbers of rows, or depend on them."""
        return any(part.numbers_rows for part in self.parts)

    @property
    def frame(self) -> None:
        """Frames are those of the parts."""
        return None

    def give_empties(self) -> None:
        """Give results again when rows leave with time: of slides each for itself, of rows together."""
        self.empties = True
        for part in self.parts:
            part.give_empties()
            part.empties = not part.each_row

    def stop_empties(self) -> None:
        """Give no results again from now on."""
        self.empties = False
        for part in self.parts:
            part.stop_empties()

    def find_empty_value(self, result: Result) -> dict[str, Any]:
        """Find what a result would be over no rows. O(results)."""
        found: dict[str, Any] = {}
        for part in self.parts:
            if not result.value.keys().isdisjoint(part.names):
                found |= part.find_empty_values()
        return {name: found[name] for name in result.value}

    @property
    def takes_late_rows(self) -> bool:
        """Whether late rows enter windows that are still open: where all are hopping, so that none gets half a row."""
        return all(part.takes_late_rows for part in self.parts)

    def is_open(self, row: Row, mark: Mark) -> bool:
        """Tell whether a window that the row belongs to has not been given yet. O(windows)."""
        return any(part.is_open(row, mark) for part in self.parts)

    @property
    def engine(self) -> type[Engine]:
        """What holds the rows of a key."""
        return SharedWindows

    @property
    def needs_time(self) -> bool:
        """Whether every row must have a time."""
        return any(part.needs_time for part in self.parts)

    @property
    def definition(self) -> WindowDefinition:
        """The window that decides whether rows need times."""
        return next((part for part in self.parts if part.needs_time), self.parts[0]).definition

    @property
    def algorithms(self) -> dict[str, str]:
        """The algorithm of each aggregation, by name."""
        return {o.name: "none" if o.measure is None else self.measures[o.measure].entry.name for o in self.outputs}

    def mark_late(self, row: Row) -> Result:
        """Build what comes for a late row that no result is over."""
        return Result(dict.fromkeys(self.given), row.key, time=row.stamp, late=True)

    def count_results(self, number: int) -> int:
        """Tell how many windows give a result for the row of this number."""
        if number >= self.least:
            return self.joining
        return sum(part.each_row and number >= part.least for part in self.parts)

    def stream_of(self, result: Result) -> Any:
        """Tell which results follow one another, where only changes are emitted: those of the same windows."""
        return (result.key, next(iter(result.value)))

    @property
    def names_windows(self) -> bool:
        """Whether windows of a row may begin or end where there are no times."""
        return any(part.names_windows for part in self.parts)

    def require_within(self, row: Row) -> None:
        """Refuse a row near the ends of time whose windows begin or end where there are no times. O(windows)."""
        for part in self.parts:
            part.require_within(row)


# ---- from definitions to a plan
class OneWindow(NamedTuple):
    """A window of one aggregation or several, as it is to be planned."""

    aggregation: Any
    window: WindowDefinition
    algorithm: str

    @property
    def windows(self) -> list[WindowDefinition]:
        return [self.window]

    @property
    def named(self) -> dict[str, WindowDefinition]:
        return {"": self.window}


class SeveralWindows(NamedTuple):
    """Several windows over one stream, as they are to be planned."""

    given: dict[str, Over]

    @property
    def windows(self) -> list[WindowDefinition]:
        return list(dict.fromkeys(over.window for over in self.given.values()))

    @property
    def named(self) -> dict[str, WindowDefinition]:
        return {name: over.window for name, over in self.given.items()}


def read_windows(aggregation: Any, window: WindowDefinition | int | None, algorithm: str) -> OneWindow | SeveralWindows:
    """Tell from the arguments of a Window whether all aggregations are over one window, or some bring their own."""
    if isinstance(aggregation, Over) and window is None:
        return OneWindow(aggregation.aggregation, aggregation.window, _algorithm_of(aggregation, algorithm))
    bring = isinstance(aggregation, Mapping) and any(isinstance(given, Over) for given in aggregation.values())
    if window is not None or not bring:
        return OneWindow(aggregation, window_of(window, "Window").per_window(), algorithm)
    without = [given for given in aggregation.values() if not isinstance(given, Over)]
    if without:
        raise InvalidInput(
            f"Window: {without[0]!r} has no window, while others bring their own. Give it one too: "
            f"{without[0]!r}.over(...)"
        )
    named, _ = name_aggregations({name: over.aggregation for name, over in aggregation.items()})
    given = {
        name: Over(op, canonical(aggregation[name].window), _algorithm_of(aggregation[name], algorithm))
        for name, op in named.items()
    }
    if len({(over.window, over.algorithm) for over in given.values()}) == 1:
        first = next(iter(given.values()))
        return OneWindow(named, first.window, first.algorithm)
    return SeveralWindows(given)


def _algorithm_of(over: Over, algorithm: str) -> str:
    return algorithm if over.algorithm == "auto" else over.algorithm


def plan_windows(several: SeveralWindows, clock: Clock, partition_by: str | Iterable[str] | None) -> SharedPlan:
    """Plan several windows over one stream."""
    keys, given, windows = key_columns(partition_by), several.given, several.windows
    plan = SharedPlan(given, [PartPlan(window, RowReader((), window, keys), clock) for window in windows], clock)
    named = {name: over.aggregation for name, over in given.items()}
    for name, op in named.items():
        if op.asks:
            raise InvalidInput(
                f"Window: {name!r} is {op!r}, of which each row asks something else, and several windows do not answer "
                "that. Give it a Window of its own"
            )
    structures, counted = plan_structures(given)
    for structure in structures:
        _add_structure(plan, structure, named)
    for name in counted:
        plan.add_outputs(windows.index(given[name].window), [Output(name, named[name], None, None)], None)
    plan.finish(keys)
    return plan


def _add_structure(plan: SharedPlan, structure: Structure, named: Mapping[str, Aggregation]) -> None:
    """Add a structure to the plan, and its readers to their windows."""
    base, index = structure.partials.aggregation, len(plan.measures)
    windows = [part.definition for part in plan.parts]
    asking = [windows.index(window) for window in structure.windows]
    number = None
    if structure.shared:
        entry = choose_entry(base, structure.algorithm, Situation("events", windows=len(asking)))
        options = {"capacity": structure.rows + 1} if "capacity" in entry.required and structure.rows else {}
        plan.measures.append(Measure(base, entry, options, Unlowered(base)))
        number = len(plan.stored)
        behind = not entry.ranges and structure.windows[0].common_end != "newest"
        plan.stored.append(Stored(index, asking, behind))
    for k in asking:
        part = plan.parts[k]
        if not structure.shared:
            entry = choose_entry(base, structure.algorithm, situation_in(part.engine, part.definition))
            options = structure_options(entry, base, part.definition, part.engine)
        mine = structure.read_by({n for n, over in plan.given.items() if over.window == part.definition})
        measure, outputs = build_measure(len(part.measures), mine, entry, options, named)
        part.measures.append(measure)
        part.items.append(index)
        part.shared.append(number)
        plan.add_outputs(k, outputs, index)
        if not structure.shared:
            plan.measures.append(measure)
