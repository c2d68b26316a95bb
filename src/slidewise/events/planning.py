"""From a definition to a plan: which engine holds the rows, and which algorithm each aggregation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.events.engines.base import Engine
from slidewise.events.engines.hopping import Hopping, SlicedRows
from slidewise.events.engines.retained import Kept
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import Trailing
from slidewise.events.frame import Frame
from slidewise.events.measure import Measure, chosen, named_aggregations
from slidewise.events.plan import Plan, frame_of
from slidewise.events.row_reader import Reader
from slidewise.registry.entries import AlgorithmEntry
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import RowsWindow, TimeWindow, WindowDefinition
from slidewise.windows.durations import Length


def engine_class(window: WindowDefinition, frame: Frame | None, revises: bool) -> type[Engine]:
    """What holds the rows of a key under this window."""
    if revises or (frame is not None and not frame.reach.monotone):
        return Kept
    if window.hopping:
        return Hopping
    if frame is not None and frame.unit == "rows" and window.slide_kind == "count":
        if isinstance(frame.end, int) and frame.end >= 0:
            return SlicedRows
    elif frame is None or isinstance(window, RowsWindow):
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
) -> Plan:
    """The plan of a window."""
    from slidewise.planner.choose import Situation

    named, single = named_aggregations(aggregation)
    engine = engine_class(window, frame_of(window, clock), revises)
    rows = window.n if isinstance(window, RowsWindow) and engine is Trailing else None
    situation = Situation("events", rows=rows, monotone=engine is not Kept, out_of_order=engine is Kept)
    measures = []
    for name, op in named.items():
        entry = chosen(op, algorithm, situation)
        measures.append(Measure(name, op, entry, _options(entry, op, window, engine)))
    reader = Reader(measures, window, _key_columns(partition_by))
    return Plan(window, measures, single, reader, clock, revises, keep)


def _options(
    entry: AlgorithmEntry, aggregation: Aggregation, window: WindowDefinition, engine: type[Engine]
) -> dict[str, Any]:
    """What a structure must know at its start: the most entries that the window holds."""
    if "capacity" not in entry.options:
        return {}
    if isinstance(window, RowsWindow) and engine is Trailing:
        return {"capacity": window.n}
    if isinstance(window, RowsWindow) and engine is SlicedRows and aggregation.associative:
        return {"capacity": window.n // window.every.n + 2}  # type: ignore[union-attr]
    if isinstance(window, TimeWindow) and engine is Hopping and aggregation.associative:
        lengths: Any = (window.size, window.every.size)  # type: ignore[union-attr]
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
