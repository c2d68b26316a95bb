"""What a window is: its size, its slide, and how both are measured.

Every definition has `size_kind` ("count", "time", "delta", "punctuation", "session", "rows", "range", "groups" or
"bounds") and `slide_kind` ("row", "count", "time", "delta", "punctuation" or "session"). A slide other than every
row is kept in `every`, as one of the plain windows of which only the size counts; `offset` moves the boundaries of a
slide by time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from slidewise.errors import InvalidInput
from slidewise.windows.calendar_grid import check_calendar
from slidewise.windows.durations import CalendarDuration, Duration, Length, length, same_kind, sign
from slidewise.windows.reach import UNBOUNDED, Bound, Exclude, OffsetColumn, Reach, Unbounded, Unit, crosses

if TYPE_CHECKING:
    import numpy as np

Closed = Literal["both", "right", "left", "neither"]


# ---- windows
class WindowDefinition:
    """The base of all windows."""

    size_kind: ClassVar[str]
    every: WindowDefinition | None
    offset: Length | None
    #: how many rows a key must have had before its first result
    min_rows: int = 1
    #: whether the values of rows decide which of them belong together, and not their order
    looks_at_values: ClassVar[bool] = False

    @property
    def slide_kind(self) -> str:
        """How the slide is measured: "row" where every row slides."""
        return "row" if self.every is None else self.every.size_kind

    @property
    def hopping(self) -> bool:
        """Whether this is Spark's hopping window: size and slide both by time, one result per slide."""
        return self.hop_size is not None

    @property
    def hop_size(self) -> Length | None:
        """The length of a hopping window; None for others."""
        return None

    @property
    def by_calendar(self) -> bool:
        """Whether hopping windows begin on days or months of the calendar, whose lengths differ."""
        return False

    @property
    def session_gap(self) -> Length | None:
        """The gap that ends a session, where there is one result for each; None for other windows."""
        return None

    @property
    def gives_windows(self) -> bool:
        """Whether a result is that of a window [start, end), and of no row: hopping or cumulative ones, sessions."""
        return self.hopping or self.session_gap is not None

    def per_window(self) -> WindowDefinition:
        """Return the window as `window=` asks for it: a session gives one result, and not one for each row."""
        return self

    @property
    def slide_size(self) -> Length | None:
        """The length of a slide by time; None where it is measured otherwise."""
        return self.every.size if isinstance(self.every, TimeWindow) else None

    @property
    def slide_rows(self) -> int | None:
        """The number of rows of a slide by count; None where it is measured otherwise."""
        return self.every.trailing_rows if self.every is not None else None

    @property
    def trailing_rows(self) -> int | None:
        """The n of `rows(n)`, whose frames are the row and the n - 1 before it; None for other kinds."""
        return None

    @property
    def is_explicit(self) -> bool:
        """Whether frames are given as row numbers of one array."""
        return self.size_kind == "bounds"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the window itself reads, besides the order."""
        return self.every.columns if self.every is not None else ()

    @property
    def reach(self) -> Reach | None:
        """Which rows the frame of a row has, measured from the row; None where their values decide."""
        return None

    @property
    def counts_rows(self) -> bool:
        """Whether rows in order are all that frames ask for, and not by what they are ordered."""
        return self.every is None and self.reach is not None and self.reach.counts_rows

    @property
    def looks_at_order(self) -> bool:
        """Whether frames depend on the values of the order, and not on the places of rows alone."""
        reach = self.reach
        return reach is not None and not (reach.unit == "rows" and reach.exclude is None)

    @property
    def waits(self) -> bool:
        """Whether a frame may reach beyond its own row, so that its result waits for later rows."""
        return self.reach is not None and self.reach.waits

    @property
    def running(self) -> bool:
        """Whether frames begin with the key, and end somewhere that moves on with the rows."""
        return self.reach is not None and self.reach.running

    @property
    def needs_whole_key(self) -> bool:
        """Whether no row can be evicted before its key has ended: bounds by column, or without an end."""
        return self.reach is not None and self.reach.needs_whole_key

    @property
    def sliced(self) -> bool:
        """Whether windows start at places known in advance, so that rows can be combined into slices on arrival."""
        reach = self.reach
        if reach is None or not reach.monotone or self.hopping:
            return self.hopping
        return self.slide_kind == "count" and reach.unit == "rows" and isinstance(reach.end, int) and reach.end >= 0

    @property
    def holds_rows(self) -> bool:
        """Whether frames are ranges of a key's rows that begin and end anywhere, so that rows are held one by one."""
        reach = self.reach
        return reach is not None and not self.sliced and not (reach.monotone and reach.from_first_row)

    @property
    def common_end(self) -> str | None:
        """What frames end with when they are complete, where they are held as rows: see `Reach.common_end`."""
        return self.reach.common_end if self.reach is not None and self.holds_rows else None

    @property
    def lengths(self) -> list[Length]:
        """Every length that is measured along the order, as the user gave it: of frames by range, of slides by time."""
        return [*self._sizes, *(length for length in (self.slide_size, self.offset) if length is not None)]

    @property
    def _sizes(self) -> list[Length]:
        """The lengths of the frame itself."""
        bounds = self.reach.bounds if self.reach is not None and self.reach.unit == "range" else ()
        return [bound for bound in bounds if not isinstance(bound, Unbounded | OffsetColumn) and sign(bound)]

    def _list_slide_arguments(self) -> list[str]:
        """List the arguments of the slide, for repr; a slide of the window's own kind is written plainly."""
        if self.every is None:
            return []
        plain = _write_plain_slide(self, self.every)
        offset = [] if self.offset is None else [f"offset={self.offset!r}"]
        return [f"every={self.every!r}" if plain is None else f"every={plain!r}", *offset]


@dataclass(frozen=True, repr=False)
class RowsWindow(WindowDefinition):
    """The current row and the n - 1 before it."""

    n: int
    every: WindowDefinition | None = None
    min_rows: int = 1
    offset: Length | None = None
    size_kind: ClassVar[str] = "count"

    @property
    def reach(self) -> Reach:
        return Reach("rows", 1 - self.n, 0)

    @property
    def trailing_rows(self) -> int:
        return self.n

    def __repr__(self) -> str:
        least = [f"min_rows={self.min_rows}"] if self.min_rows != 1 else []
        return f"rows({', '.join([str(self.n), *self._list_slide_arguments(), *least])})"


@dataclass(frozen=True, repr=False)
class TimeWindow(WindowDefinition):
    """The last `size` by the order column: SQL's RANGE per row, or Spark's hopping window."""

    size: Length
    every: WindowDefinition | None = None
    offset: Length | None = None
    closed: Closed = "both"
    #: the time zone by whose clocks slides are days or months; None: UTC, or the clocks of times without a zone
    zone: str | None = None
    size_kind: ClassVar[str] = "time"

    @property
    def by_calendar(self) -> bool:
        slide = self.slide_size
        return slide is not None and (self.zone is not None or isinstance(slide, CalendarDuration))

    @property
    def reach(self) -> Reach:
        return Reach("range", -self.size, 0, self.closed in ("right", "neither"), self.closed in ("left", "neither"))

    @property
    def hop_size(self) -> Length | None:
        return None if self.slide_size is None else self.size

    @property
    def _sizes(self) -> list[Length]:
        return [self.size]

    def __repr__(self) -> str:
        closed = [f'closed="{self.closed}"'] if self.closed != "both" else []
        zone = [f'zone="{self.zone}"'] if self.zone is not None else []
        return f"time({', '.join([repr(self.size), *self._list_slide_arguments(), *closed, *zone])})"


@dataclass(frozen=True, repr=False)
class DeltaWindow(WindowDefinition):
    """The rows whose column is at most `size` below that of the newest row; None is the value itself."""

    column: str | None
    size: Length
    every: WindowDefinition | None = None
    offset: Length | None = None
    size_kind: ClassVar[str] = "delta"
    looks_at_values: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (*((self.column,) if self.column is not None else ()), *super().columns)

    def __repr__(self) -> str:
        column = "None" if self.column is None else f'"{self.column}"'
        return f"delta({', '.join([column, repr(self.size), *self._list_slide_arguments()])})"


@dataclass(frozen=True, repr=False)
class PunctuationWindow(WindowDefinition):
    """The rows after the last one for which the predicate held, up to and including the next."""

    predicate: Callable[[Any], bool] | str
    every: WindowDefinition | None = None
    offset: Length | None = None
    size_kind: ClassVar[str] = "punctuation"
    looks_at_values: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (*((self.predicate,) if isinstance(self.predicate, str) else ()), *super().columns)

    def __repr__(self) -> str:
        predicate = self.predicate
        shown = f'"{predicate}"' if isinstance(predicate, str) else getattr(predicate, "__name__", repr(predicate))
        return f"punctuation({', '.join([shown, *self._list_slide_arguments()])})"


@dataclass(frozen=True, repr=False)
class Between(WindowDefinition):
    """An SQL frame from `start` to `end`, both included: in rows, by the order's values, or in groups."""

    unit: Unit
    start: Bound
    end: Bound
    exclude: Exclude | None = None
    every: WindowDefinition | None = None
    offset: Length | None = None

    @property
    def size_kind(self) -> str:  # type: ignore[override]
        return self.unit

    @property
    def reach(self) -> Reach:
        return Reach(self.unit, self.start, self.end, exclude=self.exclude)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.reach.offset_columns, *super().columns)

    def __repr__(self) -> str:
        exclude = [f'exclude="{self.exclude}"'] if self.exclude is not None else []
        arguments = [repr(self.start), repr(self.end), *self._list_slide_arguments(), *exclude]
        return f"{self.unit}_between({', '.join(arguments)})"


@dataclass(frozen=True, repr=False, eq=False)
class FramesWindow(WindowDefinition):
    """Explicit frames: row i sees rows start[i] to end[i] - 1."""

    start: Sequence[int] | np.ndarray
    end: Sequence[int] | np.ndarray
    size_kind: ClassVar[str] = "bounds"
    every: ClassVar[None] = None  # type: ignore[misc]
    offset: ClassVar[None] = None  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"frames(<start of {len(self.start)} rows>, <end of {len(self.end)} rows>)"


def canonical(value: Any) -> Any:
    """Return a window or a length in the spelling that all equal ones share, "1w" for "7d"; anything else as it is."""
    if isinstance(value, Duration | CalendarDuration):
        return value.canonical()
    if isinstance(value, WindowDefinition) and is_dataclass(value):
        return replace(value, **{f.name: canonical(getattr(value, f.name)) for f in fields(value)})
    return value


# ---- the public functions
def rows(n: int, every: Any = None, min_rows: int = 1, offset: Any = None) -> RowsWindow:
    """Define a window of the current row and the n - 1 before it.

    >>> rows(1000)
    rows(1000)
    >>> rows(100, every=10)           # at rows 10, 20, 30, ...
    rows(100, every=10)
    >>> rows(100, every="1m")         # the last 100 rows, every minute
    rows(100, every="1m")
    >>> rows(100, min_rows=100)       # nothing until the window is full
    rows(100, min_rows=100)
    """
    n = _check_count(n, "rows: the size")
    least = _check_count(min_rows, "rows: min_rows")
    if least > n:
        raise InvalidInput(
            f"rows: min_rows is at most the size, got min_rows={least} with {n} rows: no window is ever due"
        )
    slide = _slide_of(every, "rows", own="count")
    return RowsWindow(n, slide, least, _check_offset(offset, slide, "rows"))


@overload
def time(
    size: Any, every: Any = None, offset: Any = None, closed: Closed = "both", cumulative: Literal[False] = False,
    zone: str | None = None,
) -> TimeWindow: ...  # fmt: skip


@overload
def time(
    size: Any, every: Any = None, offset: Any = None, closed: Closed = "both", cumulative: bool = False,
    zone: str | None = None,
) -> WindowDefinition: ...  # fmt: skip


def time(
    size: Any, every: Any = None, offset: Any = None, closed: Closed = "both", cumulative: bool = False,
    zone: str | None = None,
) -> WindowDefinition:  # fmt: skip
    """Define a window of the last `size` by the order column: [t - size, t] per row, rows of equal time included.

    With `every` by time it is Spark's hopping window: [start, end), with starts on multiples of every since
    the epoch, moved by `offset`. Where `every` is longer than the size, rows between two windows belong to none. With
    `cumulative` windows begin on multiples of the size, and one ends with every step of `every` (Flink's CUMULATE).
    Windows every so many months, and with a `zone` every so many days, begin on days of the calendar, at midnight by
    the clocks of the zone; a day has 23 or 25 hours where these change. Without a zone they are those of UTC, or of the
    times themselves where these have none.

    >>> time("1h")
    time("1h")
    >>> time("1h", every="1m")
    time("1h", every="1m")
    >>> time("1m", every="1h")        # the first minute of every hour: other rows are in no window
    time("1m", every="1h")
    >>> time("1d", every="1h", cumulative=True)      # the day so far, every hour
    time("1d", every="1h", cumulative=True)
    >>> time("1mo", every="1mo", zone="Europe/Berlin")      # months of the calendar, by the clocks of a zone
    time("1mo", every="1mo", zone="Europe/Berlin")
    >>> time("7d", every="1d", zone="Europe/Berlin")        # a week, every midnight there
    time("7d", every="1d", zone="Europe/Berlin")
    >>> time(60, every=rows(10))      # times are plain numbers; a result at every 10th row
    time(60, every=rows(10))
    """
    size = length(size, "time: the size")
    if sign(size) <= 0:
        raise InvalidInput(
            f"time: the size must be positive, got {size!r}. The window always reaches back from the row"
        )
    if closed not in ("both", "right", "left", "neither"):
        raise InvalidInput(f'time: closed is "both", "right", "left" or "neither", got {closed!r}')
    slide = _slide_of(every, "time", own="time", months=not cumulative)
    moved = _check_offset(offset, slide, "time")
    if zone is not None or (isinstance(slide, TimeWindow) and isinstance(slide.size, CalendarDuration)):
        zone = check_calendar(size, slide, zone, cumulative)
    elif isinstance(slide, TimeWindow):
        if isinstance(size, CalendarDuration):
            raise InvalidInput(
                f"time: {size!r} is a length by the calendar, and {slide.size!r} is not: months differ. Slide by "
                f'months, as in every="1mo", or by days of a time zone: every="1d", zone="UTC"'
            )
        if not same_kind(size, slide.size):
            raise InvalidInput(
                f"time: size and every are both durations or both numbers, got {size!r} and {slide.size!r}. "
                "A count of rows is written every=sw.rows(k)"
            )
    if isinstance(slide, TimeWindow) and closed != "both":
        raise InvalidInput(f"time: a window with every= by time is [start, end); closed={closed!r} has no place there")
    if cumulative:
        from slidewise.windows.cumulative import build_cumulative

        return build_cumulative(size, slide, moved)
    return TimeWindow(size, slide, moved, closed, zone)


def delta(column: str | None, size: Any, every: Any = None, offset: Any = None) -> DeltaWindow:
    """Define a window of rows whose `column` is at most `size` below the newest row's; None measures the value itself.

    >>> delta("odometer", 100)
    delta("odometer", 100)
    >>> delta("odometer", 100, every=10)
    delta("odometer", 100, every=10)
    """
    column = _check_column(column, "delta")
    size = length(size, "delta: the size")
    if isinstance(size, CalendarDuration):
        raise InvalidInput(f"delta: the size must be a fixed length, got {size!r}: months differ. Use days")
    if sign(size) < 0:
        raise InvalidInput(f"delta: the size must not be negative, got {size!r}")
    slide = _slide_of(every, "delta", own="delta", column=column)
    return DeltaWindow(column, size, slide, _check_offset(offset, slide, "delta"))


def punctuation(predicate: Callable[[Any], bool] | str, every: Any = None, offset: Any = None) -> PunctuationWindow:
    """Define a window that ends with the row for which the predicate holds, which is its last.

    The predicate is a function of the row (of the value, where rows are plain values), or the name of a
    boolean column.

    >>> punctuation("end_of_trip")
    punctuation("end_of_trip")
    """
    if not (callable(predicate) or (isinstance(predicate, str) and predicate)):
        raise InvalidInput(f"punctuation takes a function of the row or the name of a column, got {predicate!r}")
    slide = _slide_of(every, "punctuation", own="count")
    return PunctuationWindow(predicate, slide, _check_offset(offset, slide, "punctuation"))


def rows_between(
    start: Any, end: Any, exclude: Exclude | None = None, every: Any = None, offset: Any = None
) -> Between:
    """Define SQL's ROWS frame with PySpark's signs: negative is preceding, 0 the current row.

    >>> rows_between(-50, 50)
    rows_between(-50, 50)
    >>> rows_between(-UNBOUNDED, 0)
    rows_between(-UNBOUNDED, 0)
    >>> rows_between(col("back"), 0)
    rows_between(col("back"), 0)
    """
    slide = _slide_of(every, "rows_between", own="count")
    return _build_between("rows", start, end, exclude, slide, offset)


def range_between(
    start: Any, end: Any, exclude: Exclude | None = None, every: Any = None, offset: Any = None
) -> Between:
    """Define SQL's RANGE frame: rows whose order is within [own + start, own + end], in the order column's unit.

    >>> range_between("-1h", 0)
    range_between("-1h", 0)
    >>> range_between(-5, 5)
    range_between(-5, 5)
    """
    slide = _slide_of(every, "range_between", own="time")
    return _build_between("range", start, end, exclude, slide, offset)


def groups_between(
    start: Any, end: Any, exclude: Exclude | None = None, every: Any = None, offset: Any = None
) -> Between:
    """Define SQL's GROUPS frame: as rows_between, counted in groups of rows of equal order.

    >>> groups_between(-2, 0)
    groups_between(-2, 0)
    """
    slide = _slide_of(every, "groups_between", own="count")
    return _build_between("groups", start, end, exclude, slide, offset)


def col(name: str) -> OffsetColumn:
    """Name a column of offsets, so that every row has its own frame: `rows_between(col("back"), 0)`.

    >>> import slidewise as sw
    >>> rows = {"x": [1, 2, 3], "back": [0, -1, -1]}
    >>> sw.with_columns(rows, total=sw.sum("x").over(sw.rows_between(sw.col("back"), 0)))["total"]
    array([1, 3, 5])
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"col takes the name of a column, got {name!r}")
    return OffsetColumn(name)


def frames(start: Sequence[int] | np.ndarray, end: Sequence[int] | np.ndarray) -> FramesWindow:
    """Define explicit frames, for `rolling`: row i sees rows start[i] to end[i] - 1.

    >>> frames([0, 0, 1], [1, 2, 3])
    frames(<start of 3 rows>, <end of 3 rows>)
    """
    if len(start) != len(end):
        raise InvalidInput(f"frames: start and end have one entry per row each, got {len(start)} and {len(end)}")
    return FramesWindow(start, end)


# ---- checks
def window_of(given: Any, what: str) -> WindowDefinition:
    """Return a window as the user gave it: a definition, or a number of rows.

    >>> window_of(5, "rolling")
    rows(5)
    """
    if isinstance(given, WindowDefinition):
        return given
    number = given.item() if hasattr(given, "item") else given
    if isinstance(number, int) and not isinstance(number, bool):
        return RowsWindow(_check_count(number, f"{what}: a window of rows"))
    raise InvalidInput(
        f'{what} takes a window such as sw.rows(100) or sw.time("1h"), or a number of rows, got {given!r}'
    )


def require_results_that_stay(window: WindowDefinition, where: str) -> None:
    """Refuse to revise windows whose results a late row moves, and those that cannot do it."""
    if window.size_kind == "cumulative":
        raise InvalidInput(
            f'{where}: {window!r} gives each result once: late="revise" is not there for cumulative windows. Use '
            'late="drop"'
        )
    moved = {window.size_kind, window.slide_kind} & {"delta", "punctuation", "session"}
    if moved:
        raise InvalidInput(
            f'{where}: late="revise" needs results that stay apart when a row comes between, and those of {window!r} '
            f'do not: a late row moves every {" and ".join(sorted(moved))} after it. Use late="drop"'
        )


def _check_count(value: Any, what: str) -> int:
    if hasattr(value, "item") and not isinstance(value, int):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what} is a number of rows (an int), got {value!r}")
    if value < 1:
        raise InvalidInput(f"{what} must be at least 1, got {value}")
    return value


def _check_column(column: Any, what: str) -> str | None:
    if column is not None and (not isinstance(column, str) or not column):
        raise InvalidInput(f"{what}: the column is a name, or None for the value itself, got {column!r}")
    return column


def _slide_of(
    every: Any, what: str, own: str, column: str | None = None, months: bool = False
) -> WindowDefinition | None:
    """Build the slide from what the user gave; a bare number is of the window's own kind, `months` may be a slide."""
    if every is None:
        return None
    if isinstance(every, WindowDefinition):
        if every.every is not None or every.size_kind not in ("count", "time", "delta", "punctuation"):
            raise InvalidInput(
                f"{what}: every= takes rows(k), time(length), delta(column, size) or punctuation(predicate), "
                f"without a slide of its own, got {every!r}"
            )
        slide: WindowDefinition = every
    else:
        try:
            slide = _read_plain_slide(every, own, column)
        except InvalidInput as error:
            raise InvalidInput(f"{what}: every={every!r} is no slide. {error}") from None
    if isinstance(slide, TimeWindow) and isinstance(slide.size, CalendarDuration) and not months:
        raise InvalidInput(
            f"{what}: every= needs a fixed length, and {slide.size!r} is not: months differ. Windows by time slide by "
            f"months, as in sw.time({slide.size!r}, every={slide.size!r})"
        )
    return slide


def _read_plain_slide(every: Any, own: str, column: str | None) -> WindowDefinition:
    step = length(every, "every")
    if isinstance(step, Duration | CalendarDuration) or own == "time":
        return time(step)
    return delta(column, step) if own == "delta" else rows(step)  # type: ignore[arg-type]


def _write_plain_slide(window: WindowDefinition, every: WindowDefinition) -> Any:
    """Return what `every=` may be written as without a constructor; None where it needs one."""
    own = {"delta": "delta", "time": "time", "range": "time"}.get(window.size_kind, "count")
    if isinstance(every, RowsWindow) and own == "count" and every.min_rows == 1:
        return every.n
    if isinstance(every, TimeWindow) and (own == "time" or isinstance(every.size, Duration)):
        return every.size
    if isinstance(every, DeltaWindow) and isinstance(window, DeltaWindow) and every.column == window.column:
        return None if isinstance(every.size, Duration) else every.size
    return None


def _check_offset(offset: Any, slide: WindowDefinition | None, what: str) -> Length | None:
    if offset is None:
        return None
    if not isinstance(slide, TimeWindow):
        raise InvalidInput(f"{what}: offset= moves the boundaries of every= by time, and there are none")
    value = length(offset, f"{what}: offset")
    kind = Duration(1) if isinstance(slide.size, CalendarDuration) else slide.size
    if isinstance(value, CalendarDuration) or not (same_kind(value, kind) or value == 0):
        raise InvalidInput(f"{what}: offset= is of the kind of every ({slide.size!r}), got {value!r}")
    return value


def _build_between(
    unit: Unit,
    start: Any,
    end: Any,
    exclude: Exclude | None,
    every: WindowDefinition | None,
    offset: Any,
) -> Between:
    what = f"{unit}_between"
    first, last = _check_bound(start, unit, f"{what}: start"), _check_bound(end, unit, f"{what}: end")
    if first is UNBOUNDED or last == -UNBOUNDED:
        raise InvalidInput(
            f"{what}: no row is in a frame from {first!r} to {last!r}. Write -UNBOUNDED before UNBOUNDED"
        )
    if not isinstance(first, Unbounded | OffsetColumn) and not isinstance(last, Unbounded | OffsetColumn):
        _check_order(first, last, what)
    if exclude not in (None, "current row", "group", "ties"):
        raise InvalidInput(f'{what}: exclude is "current row", "group", "ties" or None, got {exclude!r}')
    return Between(unit, first, last, exclude, every, _check_offset(offset, every, what))


def _check_order(first: Length, last: Length, what: str) -> None:
    """Refuse constant bounds of which the start is after the end."""
    if sign(first) and sign(last) and not same_kind(first, last):
        raise InvalidInput(f"{what}: both bounds must be of one kind, got {first!r} and {last!r}")
    if crosses(first, last):
        raise InvalidInput(
            f"{what}: the start {first!r} is after the end {last!r}, so that every frame is empty. "
            "Negative is preceding, positive is following"
        )


def _check_bound(value: Any, unit: str, what: str) -> Bound:
    if isinstance(value, Unbounded | OffsetColumn):
        return value
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise InvalidInput(f"{what}: got {value!r}. Write UNBOUNDED or -UNBOUNDED")
    if unit == "range":
        return length(value, what)
    if hasattr(value, "item") and not isinstance(value, int):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what} is a number of {unit} (an int), UNBOUNDED or col(name), got {value!r}")
    return value
