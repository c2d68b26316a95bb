"""Compatibility: what may change when a query starts again from its checkpoint.

Results may, as far as the state has what they need.

State is rows, or partials of slices. A new result is sound where the columns that it reads, or its partials, are kept,
and where its frames reach no further than those of another result of the same kind, so that all rows of its first
frames are there.
"""

from __future__ import annotations

import pyarrow as pa

from slidewise.errors import StateError
from slidewise.serialization.state_definition import Definition, differences
from slidewise.spark.streams.finality import measure_window_lookback
from slidewise.spark.streams.stream_task import RESULT, TOTAL, ZONE, StreamTask, define_window
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import CalendarDuration, Duration
from slidewise.windows.reach import Reach

#: how far frames reach back and ahead, in rows, groups or microseconds, by the kind of window
Extents = dict[str, tuple[int, int]]
#: before the unit, in the kind of running frames
RUNNING = "running "


def measure_extents(task: StreamTask) -> Extents:
    """Measure how far the frames of a task reach, by kind of window."""
    found: Extents = {}
    for window in task.windows:
        # Slides are those of one window.
        kind, back, ahead = (identify_window(window), 0, 0) if task.slides else measure_extent(window, task)
        before = found.get(kind, (0, 0))
        found[kind] = max(before[0], back), max(before[1], ahead)
    return found


def measure_extent(window: WindowDefinition, task: StreamTask) -> tuple[str, int, int]:
    """Measure how far the frames of a window reach back and ahead, and tell its kind."""
    reach = window.reach
    if reach is None or isinstance(reach.end, CalendarDuration):
        return identify_window(window), 0, 0
    if reach.from_first_row:
        return _measure_running(reach, task)
    if reach.unit != "range":
        return reach.unit, reach.back, reach.ahead
    assert task.time is not None
    back = measure_window_lookback(window, task.rows.field(task.time).type, task.time)
    assert back is not None
    return "time", back, max(0, reach.end.nanoseconds // 1000) if isinstance(reach.end, Duration) else 0


def _measure_running(reach: Reach, task: StreamTask) -> tuple[str, int, int]:
    """Measure how far before its row a running frame ends, up to where no total may hold rows, and how far ahead."""
    kind, end = f"{RUNNING}{reach.unit}", reach.end
    if isinstance(end, int):
        return kind, max(0, -end), max(0, end)
    assert task.time is not None and isinstance(end, Duration)
    microseconds = end.nanoseconds // 1000
    return kind, max(0, -microseconds), max(0, microseconds)


def identify_window(window: WindowDefinition) -> str:
    """Identify a window whose kind is all that tells what it holds."""
    return " | ".join(define_window(window))


def require_sound(task: StreamTask, saved: Definition, kept: pa.Schema | None, totals: pa.Schema, had: Extents) -> None:
    """Refuse a state of another definition, unless only results differ, and it has what those need."""
    here = task.build_definition()
    fixed = {part for part in {**saved, **here} if not part.startswith(RESULT) and part != ZONE}
    if len({saved.get(ZONE), here.get(ZONE)} - {None}) > 1:
        raise StateError(
            f"this state is of another time zone: spark.sql.session.timeZone was {saved[ZONE]}, and is {here[ZONE]} "
            "here, and results depend on it: months are counted on its clocks, and your own functions see datetimes in "
            f"it. Set it to {saved[ZONE]}, or start with a new checkpoint"
        )
    why = "Load it with the definition that saved it, or start with a new checkpoint"
    if all(saved.get(part) == here.get(part) for part in fixed):
        missing = _find_missing(task, kept, totals, had)
        if missing is None:
            return
        why = (
            f"Results can be added to a running query, or leave it, where its state has what they need, and {missing}. "
            "Compute them in a query with a checkpoint of its own, or start this one with a new checkpoint"
        )
    what = differences(saved, here) or "its results stand in another order"
    raise StateError(f"this state is of another definition: {what}. {why}")


def require_columns_kept(task: StreamTask, kept: pa.Schema | None) -> None:
    """Refuse a state of this definition that keeps other columns: of slides, a definition does not tell their types."""
    if kept is None:  # a state that was saved before states said what they have
        return
    saved, here = ({"columns": ", ".join(f"{f.name} {f.type}" for f in schema)} for schema in (kept, task.history))
    if saved != here:
        raise StateError(
            f"this state is of another definition: of what is kept, {differences(saved, here)}. "
            "Load it with the definition that saved it, or start with a new checkpoint"
        )


def _find_missing(task: StreamTask, kept: pa.Schema | None, totals: pa.Schema, had: Extents) -> str | None:
    """Find why a state cannot serve other results; None where it can."""
    if kept is None:
        return "this state was saved before states said what they have"
    if task.emit == "changes":
        return 'with emit="changes" the last results of each key are state'
    missing = [field.name for field in task.history if field not in kept]
    if missing:
        return f"no {'slices' if task.slices else 'rows'} are kept with {', '.join(map(repr, missing))}"
    for name, carrier in task.carriers.items():
        if any(pa.field(TOTAL + part, kind) not in totals for part, kind in carrier.columns.items()):
            return f"no total is kept of {task.expressions[name].aggregation!r} over the rows that are gone"
    ours = measure_extents(task)
    for kind, (back, ahead) in ours.items():
        if kind not in had:
            return f"no rows are kept for a window of this kind ({kind})"
        if back > had[kind][0] or ahead > had[kind][1]:
            far = [write_extent(n, kind) for n in (back, ahead, *had[kind])]
            return "a frame reaches {} back and {} ahead, further than any did: {} and {}".format(*far)
    if task.keep is None and any(ahead for _, ahead in had.values()) and not any(ahead for _, ahead in ours.values()):
        return "rows that wait for following ones would be emitted behind the watermark, which is now passed on"
    return None


def write_extent(number: int, kind: str) -> str:
    """Write how far frames of a kind reach."""
    unit = kind.removeprefix(RUNNING)
    return str(Duration(number * 1000)) if unit in ("time", "range") else f"{number} {unit}"
