"""Stream options: what a call says for streams, checked for any data, and which of it has an effect on a batch.

One dict of features and options runs on a stream and on a batch. All options are checked alike; on a batch only
`emit="changes"`, `empty`, `forget_after`, `late="revise"` and `late="mark"` have an effect: rows and columns are then
those that a stream gives once its watermark has passed all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.slice_partials import divide_slices
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.definitions import TimeWindow, WindowDefinition, require_results_that_stay
from slidewise.windows.durations import CalendarDuration, Duration, Length, length
from slidewise.windows.expiry import require_expiry

EMITS = ("watermark", "changes", "arrival")
BUCKETS = 16
#: what late="revise" adds to the output; the latter to slides at every so many rows, which late rows move
REVISION, ROW = "revision", "row"
#: what late="mark" adds: whether it is a late row; the latter to slides, which have no place for its columns
LATE, LATE_ROW = "late", "late_row"
#: what emit="arrival" adds to hopping windows: whether it is the last result of its window
FINAL = "final"


@dataclass(frozen=True)
class StreamOptions:
    """The options of a call for streams, beside its columns, keys and order."""

    max_delay: Any = None
    max_ahead: Any = None
    emit: str | None = None
    late: str = "drop"
    keep: Any = None
    forget_after: Any = None
    buckets: int = BUCKETS
    #: of aggregate
    slices: bool | None = None
    metrics: str = "slidewise"
    #: where the query is to go on from, which is then checked at once
    checkpoint: str | None = None
    #: a batch whose rows are in the state before the first row, and the last time that belongs to it
    history: Any = None
    history_until: Any = None
    #: with emit="changes": results change, and go out, when rows leave their windows with time, too
    empty: bool | None = None


OPTIONS = tuple(field.name for field in fields(StreamOptions))
#: options that are lengths along the time of events
LENGTHS = ("max_delay", "max_ahead", "keep", "forget_after")


# ---- checks, the same for streams and batches
def check_options(options: StreamOptions, what: str) -> None:
    """Refuse options that are wrong whatever the data is."""
    emit, late, keep, buckets = options.emit, options.late, options.keep, options.buckets
    if emit not in (None, *EMITS):
        raise InvalidInput(f"{what}: emit is one of {', '.join(EMITS)}, got {emit!r}")
    if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= 4096:
        raise InvalidInput(f"{what}: buckets is a number from 1 to 4096, got {buckets!r}")
    if late not in ("drop", "mark", "revise"):
        raise InvalidInput(
            f'{what}: on a stream late is "drop", which counts late rows, "mark", which gives them back, or "revise", '
            f"got {late!r}"
        )
    if late != "revise" and keep is not None:
        raise InvalidInput(f'{what}: keep= bounds what late="revise" keeps, got keep={keep!r} with late="{late}"')
    if late == "revise" and keep is None:
        raise InvalidInput(
            f'{what}: late="revise" keeps rows for as long as a late one may change their results. Say how long after '
            'the watermark has passed them, as in keep="10m"'
        )
    if not isinstance(options.metrics, str) or not options.metrics:
        raise InvalidInput(f"{what}: metrics is the name of the counts in a query's progress, got {options.metrics!r}")
    if options.checkpoint is not None:
        check_path(options.checkpoint)
    if options.history_until is not None and options.history is None:
        raise InvalidInput(
            f"{what}: history_until= says when history= ends, and there is none, got {options.history_until!r}"
        )
    if options.slices not in (None, True, False):
        raise InvalidInput(
            f"aggregate: slices= is True or False, or None to choose by the window, got {options.slices!r}"
        )


def check_path(path: Any) -> None:
    """Refuse what is not the path of a checkpoint."""
    if not isinstance(path, str) or not path:
        raise InvalidInput(f"checkpoint= is the path of a checkpoint, as in checkpointLocation, got {path!r}")


def require_time(options: StreamOptions, what: str) -> None:
    """Refuse lengths along the time of events, where no column is named for it."""
    for name in ("max_delay", "max_ahead", "forget_after"):
        if getattr(options, name) is not None:
            raise InvalidInput(f"{what}: {name} is measured in event time: name its column in order_by")
    if options.empty:
        raise InvalidInput(f"{what}: empty=True goes by event time: name its column in order_by")


def read_duration(given: Any, what: str) -> Duration:
    """Read a length of time, of whole microseconds."""
    found = length(given, what)
    if not isinstance(found, Duration) or found.nanoseconds < 0 or found.nanoseconds % 1000:
        raise InvalidInput(f'{what} is a length of time such as "30s", got {given!r}')
    return found


def read_microseconds(given: Any, what: str) -> int:
    """Read a length of time, in microseconds."""
    return read_duration(given, what).nanoseconds // 1000


def read_length(given: Any, what: str, kind: pa.DataType) -> Length:
    """Read a length along an order of a type: of time where that has times, as on a stream, and else a number."""
    if pa.types.is_temporal(kind):
        return read_duration(given, what)
    found = length(given, what)
    if isinstance(found, Duration | CalendarDuration) or found < 0:
        raise InvalidInput(f"{what} is a length along order_by, which is of {kind}: give a number, got {given!r}")
    return found


def check_delay(given: Any, what: str) -> None:
    """Refuse a max_delay that Spark cannot count."""
    if isinstance(found := length(given, what), Duration) and found.nanoseconds % 1_000_000:
        raise InvalidInput(f"{what}: Spark's watermark counts milliseconds, got max_delay={given!r}")


def check_revisions(name: str, window: WindowDefinition, options: StreamOptions, columns: Iterable[str]) -> None:
    """Refuse what late="revise" cannot revise, and names of columns that it adds."""
    if options.emit not in (None, "watermark"):
        raise InvalidInput(
            f'late="revise" gives results again that came with the watermark, and emit is {options.emit!r}: use '
            'emit="watermark", or late="drop"'
        )
    require_results_that_stay(window, name)
    if window.slide_kind == "count" and options.forget_after is not None:
        raise InvalidInput(
            f"{name}: the slides of {window!r} are told apart by the number of their row, which begins anew when a key "
            'is forgotten. With late="revise" leave out forget_after, or slide by time'
        )
    taken = {column.lower() for column in columns}  # Spark finds columns in either case
    for added in (REVISION, ROW) if window.slide_kind == "count" else (REVISION,):
        if added in taken:
            raise InvalidInput(f'late="revise" adds a column {added!r}, and there is one of that name. Rename it')


def check_empty(expressions: Mapping[str, Over], options: StreamOptions, what: str) -> None:
    """Refuse empty=True where results do not become empty with time."""
    windows = {name: over.window for name, over in expressions.items()}
    require_expiry(windows, options.emit, options.empty, what, forgets=options.forget_after is not None)
    if options.empty:
        for over in expressions.values():
            over.aggregation.require_no_questions(what)


def check_marks(columns: Iterable[str], slides: bool) -> None:
    """Refuse names of columns that late="mark" adds."""
    taken = {column.lower() for column in columns}  # Spark finds columns in either case
    for added in (LATE, LATE_ROW) if slides else (LATE,):
        if added in taken:
            raise InvalidInput(f'late="mark" adds a column {added!r}, and there is one of that name. Rename it')


def check_final(columns: Iterable[str]) -> None:
    """Refuse a name of the column that emit="arrival" adds to hopping windows."""
    if FINAL in {column.lower() for column in columns}:
        raise InvalidInput(f'emit="arrival" adds a column {FINAL!r}, and there is one of that name. Rename it')


def check_slices(expressions: Mapping[str, Over], revises: bool, divided: Callable[[str], bool]) -> str | None:
    """Tell why a stream must keep rows and not partials of slices; None where it need not."""
    window = next(iter(expressions.values())).window
    if window.slide_size is None or not window.gives_windows:
        return f"{window!r} is not a hopping window"
    if isinstance(window, TimeWindow) and window.by_calendar and not _ends_on_slides(window):
        return f"windows of {window!r} do not end where others begin"
    if revises:
        return 'late="revise" takes late rows into account'
    for name, over in expressions.items():
        if over.algorithm != "auto":
            return f"algorithm={over.algorithm!r} is one for rows"
        if not divided(name):
            return f"{name}: {over.aggregation!r} has no partials that can be kept in place of its rows"
    return None


def _ends_on_slides(window: TimeWindow) -> bool:
    assert window.slide_size is not None
    return bool(CalendarGrid(window.slide_size, window.size).slices)


def require_slices(wanted: bool | None, why: str | None) -> None:
    """Refuse slices=True where rows must be kept."""
    if wanted and why is not None:
        raise InvalidInput(f"aggregate: slices=True keeps partials of slices, and {why}. Leave it out to keep rows")


def require_whole_slides(window: WindowDefinition, forget_after: Any, every: Any) -> None:
    """Refuse to forget keys within a slide by time; both lengths are in units of the time."""
    if forget_after is not None and not window.gives_windows and forget_after < every:
        raise InvalidInput(
            f"aggregate: forget_after is at least as long as the slide, {window.slide_size!r}: a key would be "
            "forgotten before its slide is complete"
        )


# ---- what has an effect on a batch
@dataclass(frozen=True)
class BatchEffects:
    """What options for streams change in the rows and columns of a batch."""

    #: emit="changes": only results that differ from the one before of their key
    changes: bool = False
    #: the first column of the order, along which keys are forgotten, and after how many of its units
    time: str | None = None
    forget_after: Any = None
    #: late="revise": the column `revision`, and `row` for slides at every so many rows
    revises: bool = False
    #: late="mark": the column `late`, and `late_row` for slides
    marks: bool = False
    #: emit="arrival" of hopping windows: the column `final`
    early: bool = False
    #: with changes, also those of times at which rows leave, and no row comes
    empty: bool = False

    @property
    def on_rows(self) -> bool:
        """Whether other rows are given, or of other values: rows without a time are then left out, as on a stream."""
        return self.changes or self.forget_after is not None


NO_EFFECTS = BatchEffects()


def read_effects(
    given: Mapping[str, Any],
    what: str,
    expressions: Mapping[str, Over],
    came_in: Sequence[str],
    order_by: Sequence[OrderColumn],
    kind_of: Callable[[str], pa.DataType],
) -> BatchEffects:
    """Check the options of a call on a batch, as on a stream, and find which have an effect there.

    `came_in` are the columns that go out beside results, and `kind_of` gives the type of a column that comes in.
    """
    if not given:
        return NO_EFFECTS
    options = StreamOptions(**given)
    check_options(options, what)
    if options.history is not None:
        raise InvalidInput(
            f"{what}: history= is what came before a stream, and this is a batch, which has all rows at once. Join "
            "both by union, and leave it out"
        )
    if not order_by:
        require_time(options, what)
    elif options.emit == "arrival" and what == "aggregate" and next(iter(expressions.values())).window.hopping:
        check_final((*expressions, *came_in))
    elif options.emit == "arrival":
        raise InvalidInput(
            f'{what}: with emit="arrival" a row sees the rows that have arrived by then, and a batch does not know '
            'when its rows arrived. Use emit="watermark" here, which gives what each row would see once all have '
            "arrived, or leave out order_by, so that rows count as they stand"
        )
    check_empty(expressions, options, what)
    time = kind_of(order_by[0].name) if order_by else pa.timestamp("us")
    for name in LENGTHS:
        if getattr(options, name) is not None:
            read_length(getattr(options, name), f"{what}: {name}", time)
    if options.max_delay is not None:
        check_delay(options.max_delay, what)
    revises = options.late == "revise"
    for name, over in expressions.items():
        if revises:
            check_revisions(name, over.window, options, (*expressions, *came_in))
    if options.late == "mark":
        check_marks((*expressions, *came_in), what == "aggregate")
    if options.slices:
        kinds = {name: [kind_of(column) for column in over.aggregation.columns] for name, over in expressions.items()}
        time = pa.field("time", kind_of(order_by[0].name) if order_by else pa.timestamp("us"))
        divided = {n: divide_slices(over.aggregation, kinds[n], time) is not None for n, over in expressions.items()}
        require_slices(True, check_slices(expressions, revises, divided.__getitem__))
    return _build_effects(options, what, expressions, order_by, kind_of)


def _build_effects(
    options: StreamOptions,
    what: str,
    expressions: Mapping[str, Over],
    order_by: Sequence[OrderColumn],
    kind_of: Callable[[str], pa.DataType],
) -> BatchEffects:
    changes, forget_after = options.emit == "changes", None
    time = order_by[0] if order_by else None
    if time is not None and time.descending and (changes or options.forget_after is not None):
        named = "emit" if changes else "forget_after"
        raise InvalidInput(
            f"{what}: {named}={getattr(options, named)!r} goes forward in time, and order_by has {time.name!r} "
            "descending. Order by it ascending"
        )
    if options.forget_after is not None:
        assert time is not None
        kind = kind_of(time.name)
        read = read_length(options.forget_after, f"{what}: forget_after", kind)
        forget_after = measure_length(read, kind, time.name)
        window = next(iter(expressions.values())).window
        if window.slide_kind == "time" and not window.gives_windows:
            require_whole_slides(window, forget_after, measure_length(window.slide_size, kind, time.name))
    early = options.emit == "arrival" and time is not None
    revises, marks = options.late == "revise", options.late == "mark"
    empty = bool(options.empty)
    return BatchEffects(changes, None if time is None else time.name, forget_after, revises, marks, early, empty)


def describe_options(given: Mapping[str, Any]) -> str:
    """Tell which options of a call have an effect on a batch, and which only on a stream."""
    effects, none = [], []
    for name, value in ((name, given[name]) for name in OPTIONS if name in given):
        written = f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}"
        if name in ("forget_after", "empty") or (name == "emit" and value == "changes"):
            effects.append(f"{written} as on a stream")
        elif name == "late" and value == "revise":
            effects.append(f"{written} adds the column {REVISION!r}, 0 in all rows")
        elif name == "late" and value == "mark":
            effects.append(f"{written} adds the column {LATE!r}, false in all rows")
        else:
            none.append(written)
    said = []
    if effects:
        said.append(f"with an effect on a batch: {', '.join(effects)}")
    if none:
        said.append(f"with an effect on a stream only: {', '.join(none)}")
    return "; ".join(said)
