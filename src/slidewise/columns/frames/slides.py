"""When `aggregate` gives a result: the frames of all slides, and the columns that say which slide it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns import encoding
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.deltas import as_axis, measure_delta, measure_length
from slidewise.columns.frames.from_window import add_to_floats, find_unit
from slidewise.columns.sorting import as_plain
from slidewise.errors import InvalidInput
from slidewise.windows.calendar_grid import CalendarGrid, build_calendar_grid
from slidewise.windows.cumulative import CumulativeWindow
from slidewise.windows.definitions import DeltaWindow, PunctuationWindow, WindowDefinition
from slidewise.windows.grid import Grid


@dataclass(frozen=True)
class Slides:
    """The results of a window, key by key."""

    frames: Frames
    #: the slides of key k are offsets[k] to offsets[k + 1] - 1
    offsets: np.ndarray
    #: which slide it is: the bounds of its window, the boundary, or the order of the row that triggers
    labels: dict[str, pa.Array]
    #: the arranged rows that trigger; None where slides are not at rows: those of a hopping window or a session
    rows: np.ndarray | None = None

    def filter(self, chosen: np.ndarray) -> Slides:
        """Return the slides that a mask selects."""
        offsets = np.concatenate(([0], np.cumsum(chosen)))[self.offsets]
        labels = {name: label.filter(pa.array(chosen)) for name, label in self.labels.items()}
        rows = None if self.rows is None else self.rows[chosen]
        return Slides(self.frames.take(np.flatnonzero(chosen)), offsets, labels, rows)


def slides_of(window: WindowDefinition, data: ArrangedFrame, fires: np.ndarray | None = None) -> Slides:
    """Find all slides of a window; `fires` says which rows trigger, where that is known already."""
    if window.hopping:
        return _slide_windows(window, data)
    if window.session_gap is not None:
        return _slide_sessions(window, data)
    if isinstance(window, CumulativeWindow):
        return _slide_cumulative(window, data)
    if window.slide_size is not None:
        return _slide_at_boundaries(window, data)
    return _slide_at_rows(window, data, _find_triggers(window, data) if fires is None else fires)


# ---- slides by rows: the frame of the row that triggers
def _find_triggers(window: WindowDefinition, data: ArrangedFrame) -> np.ndarray:
    """Tell which arranged rows trigger."""
    if window.slide_rows is not None:
        return data.places % window.slide_rows == window.slide_rows - 1
    every = window.every
    if isinstance(every, DeltaWindow):
        from slidewise.columns.frames import slide_kernels as kernels

        values, size = measure_delta(data.arrange(data.delta_column(every)), every.size, str(every.column))
        fires = np.zeros(len(values), bool)
        kernels.every_delta(data.offsets, values, size, fires)
        return fires
    assert isinstance(every, PunctuationWindow)
    return data.marks(every)


def _slide_at_rows(window: WindowDefinition, data: ArrangedFrame, fires: np.ndarray) -> Slides:
    due = data.due(window)
    rows = np.flatnonzero(fires if due is None else fires & due)
    everywhere = np.ones(len(rows), bool)
    labels = {by.name: data.take(by.name, rows, everywhere) for by in data.order_by}
    if not data.order_by:
        labels = {"row": pa.array(data.places[rows] + 1)}
    return Slides(data.frames(window).take(rows), np.searchsorted(rows, data.offsets), labels, rows)


# ---- slides by time
def _slide_at_boundaries(window: WindowDefinition, data: ArrangedFrame) -> Slides:
    """Find a slide at every boundary with rows since the one before: the frame of the last row before it."""
    from slidewise.columns.frames import slide_kernels as kernels

    clock = _Clock(data, window)
    step = np.zeros(clock.rows, np.int64)
    kernels.boundaries(clock.low, clock.high, clock.times, clock.grid.every, clock.grid.offset, step)
    fires = np.ones(clock.rows, bool)
    fires[:-1] = step[1:] != step[:-1]
    fires[data.offsets[1:][np.diff(data.offsets) > 0] - 1] = True
    if clock.null is not None:
        fires[clock.high[clock.high > clock.low] - 1] = True
        fires &= ~clock.null
    due = data.due(window)
    rows = np.flatnonzero(fires if due is None else fires & due)
    labels = {"window_end": clock.write_times(clock.grid.at(step[rows]))}
    return Slides(data.frames(window).take(rows), np.searchsorted(rows, data.offsets), labels, rows)


def _slide_windows(window: WindowDefinition, data: ArrangedFrame) -> Slides:
    """Find Spark's windows that have rows: [start, end), starts on multiples of every, moved by offset."""
    from slidewise.columns.frames import slide_kernels as kernels

    clock = _Clock(data, window)
    if isinstance(clock.grid, CalendarGrid):
        return _slide_calendar(clock, clock.grid)
    size = clock.grid.size
    grid = (clock.low, clock.high, clock.times, size, clock.grid.every, clock.grid.offset)
    counts = np.zeros(len(clock.low), np.int64)
    kernels.count_windows(*grid, counts)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    number, start, end = (np.empty(int(offsets[-1]), np.int64) for _ in range(3))
    kernels.fill_windows(*grid, offsets, number, start, end)
    opens = clock.grid.at(number)
    labels = {"window_start": clock.write_times(opens), "window_end": clock.write_times(opens + size)}
    return Slides(Frames(start, end), offsets, labels)


def _slide_calendar(clock: _Clock, grid: CalendarGrid) -> Slides:
    """Find the windows on days or months of the calendar that have rows."""
    from slidewise.columns.frames import slide_kernels as kernels

    timed = np.ones(clock.rows, bool) if clock.null is None else ~clock.null
    first, last = np.zeros(clock.rows, np.int64), np.full(clock.rows, -1)
    first[timed], last[timed] = grid.first_window(clock.times[timed]), grid.step(clock.times[timed])
    counts = np.zeros(len(clock.low), np.int64)
    kernels.count_found(clock.low, clock.high, first, last, counts)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    number = np.empty(int(offsets[-1]), np.int64)
    kernels.list_found(clock.low, clock.high, first, last, offsets, number)
    opens, closes = grid.at(number), grid.end_of(number)
    start, end = np.empty(len(number), np.int64), np.empty(len(number), np.int64)
    kernels.find_rows(clock.low, clock.high, clock.times, offsets, opens, closes, start, end)
    labels = {"window_start": clock.write_times(opens), "window_end": clock.write_times(closes)}
    return Slides(Frames(start, end), offsets, labels)


def _slide_cumulative(window: CumulativeWindow, data: ArrangedFrame) -> Slides:
    """Find the windows of each step that have rows so far. O(rows + windows)."""
    from slidewise.columns.frames import slide_kernels as kernels

    clock, steps = _Clock(data, window), window.steps
    timed = np.arange(clock.rows) if clock.null is None else np.flatnonzero(~clock.null)
    ends = np.zeros(clock.rows, np.int64)
    kernels.boundaries(clock.low, clock.high, clock.times, clock.grid.every, clock.grid.offset, ends)
    step = ends[timed] - 1
    key = np.repeat(np.arange(len(clock.low)), clock.high - clock.low)
    begins = np.append(True, (np.diff(step // steps) != 0) | (np.diff(key) != 0))[: len(step)]
    first = np.flatnonzero(begins)  # the first row of each key and period
    period = step[first] // steps
    counts = (period + 1) * steps - step[first]
    begin = np.cumsum(counts) - counts
    number = np.arange(int(counts.sum())) - np.repeat(
        begin - step[first], counts
    )  # the step that each window ends with
    group = np.repeat(np.arange(len(first)), counts)
    # Rows of all periods one after the other: how many are there up to a step of a period.
    place = (np.cumsum(begins) - 1) * steps + step % steps
    end = np.searchsorted(place, group * steps + number % steps, side="right")
    timed = np.append(timed, clock.rows)
    frames = Frames(timed[first][group], timed[end - 1] + 1) if len(first) else Frames(first, first)
    labels = {
        "window_start": clock.write_times(clock.grid.at(period[group] * steps)),
        "window_end": clock.write_times(clock.grid.at(number + 1)),
    }
    return Slides(frames, np.searchsorted(key[first][group], np.arange(len(clock.low) + 1)), labels)


def _slide_sessions(window: WindowDefinition, data: ArrangedFrame) -> Slides:
    """Find the sessions: [first row, last row + gap); rows without a time are in none."""
    clock = _Clock(data, window)
    begins = data.frames(window).start == np.arange(clock.rows)
    if clock.null is not None:
        begins &= ~clock.null
    start = np.flatnonzero(begins)
    offsets = np.searchsorted(start, data.offsets)
    end = np.append(start, clock.rows)[1:]
    last = offsets[1:][np.diff(offsets) > 0] - 1
    end[last] = clock.high[np.diff(offsets) > 0]
    labels = {
        "window_start": clock.write_times(clock.times[start]),
        "window_end": clock.write_times(clock.add(window.session_gap, end - 1)),
    }
    return Slides(Frames(start, end), offsets, labels)


def build_column_grid(window: WindowDefinition, kind: pa.DataType, name: str) -> CalendarGrid:
    """Build the grid of a window on days or months of the calendar, along a column."""
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise InvalidInput(
            f"{window!r} slides by the calendar, and the order column {name!r} is of {kind}, not of timestamps or dates"
        )
    unit = find_unit(kind)
    assert unit is not None
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return build_calendar_grid(window, zoned, unit, f"the order column {name!r}, of {kind},")


class _Clock:
    """The order column as times; rows without a time are outside of low[k] to high[k] - 1, and in no window."""

    def __init__(self, data: ArrangedFrame, window: WindowDefinition) -> None:
        if len(data.order_by) != 1 or data.order_by[0].descending:
            raise InvalidInput(
                f"aggregate: {window!r} slides by time: order_by names the one column of times, ascending, "
                f"got {[by.name for by in data.order_by] or None}"
            )
        by = data.order_by[0]
        self.name = by.name
        column = data.arrange(by.name)
        self.kind = as_plain(column).type
        self.rows = len(column)
        self.times = as_axis(column, by.name)
        self.null = data.mask(by.name)
        self.low, self.high = data.offsets[:-1], data.offsets[1:]
        if self.null is not None:
            nulls = np.diff(np.concatenate(([0], np.cumsum(self.null)))[data.offsets])
            self.low, self.high = (self.low + nulls, self.high) if by.nulls_lead else (self.low, self.high - nulls)
        if (
            self.times.dtype.kind == "f"
            and not np.isfinite(self.times[~self.null if self.null is not None else ...]).all()
        ):
            raise InvalidInput(f"aggregate: the order column {by.name!r} has NaN or infinity, which are in no window")
        self.grid: Grid | CalendarGrid
        if window.by_calendar:
            self.grid = build_column_grid(window, self.kind, self.name)
            self._require_room()
            return
        offset = (
            self._measure(window.offset) if window.offset is not None else 0.0 if self.times.dtype.kind == "f" else 0
        )
        sized = window.hopping or isinstance(window, CumulativeWindow)
        size = self._measure(window.lengths[0]) if sized else None
        every = window.slide_size if window.session_gap is None else window.session_gap
        self.grid = Grid(self._measure(every), offset, size)
        if self.times.dtype.kind == "i":
            self._require_room()

    def _require_room(self) -> None:
        """Refuse times so near to the ends of 64 bits that boundaries around them would wrap."""
        times = self.times if self.null is None else self.times[~self.null]
        far = self.grid.far
        if len(times) and not (-(2**63) + far <= int(times.min()) and int(times.max()) < 2**63 - far):
            raise self._build_error("64 bits")

    def _build_error(self, what: str) -> InvalidInput:
        return InvalidInput(
            f"aggregate: windows of rows of the order column {self.name!r} begin or end beyond {what}, which it is of, "
            "and so cannot be named. Leave out the rows that are so far away, or cast the column to a wider type"
        )

    def _measure(self, length: Any) -> Any:
        """Convert a length to the unit of the times."""
        return measure_length(length, self.kind, self.name)

    def add(self, length: Any, rows: np.ndarray) -> np.ndarray:
        """Compute the times of some rows plus a length."""
        times, step = self.times[rows], self._measure(length)
        return add_to_floats(pa.array(times).cast(self.kind), step) if times.dtype.kind == "f" else times + step

    def write_times(self, times: np.ndarray) -> pa.Array:
        """Convert times to the type of the order column; integers to 64 bits, as a boundary may lie beyond its type."""
        valid = np.ones(len(times), bool)
        if pa.types.is_decimal(self.kind):
            try:
                return encoding.decimals_as_arrow(times, valid, self.kind)
            except pa.ArrowInvalid:
                raise self._build_error(str(self.kind)) from None
        if pa.types.is_temporal(self.kind):
            narrow = pa.types.is_date32(self.kind)
            first, last = (-(2**31), 2**31) if narrow else (-(2**63), 2**63)
            if pa.types.is_time(self.kind):
                first, last = 0, 86_400 * 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[self.kind.unit]
            if len(times) and not (first <= times.min() and times.max() < last):
                raise self._build_error(str(self.kind))
            return encoding.words_as_arrow(times, valid, self.kind)
        return pa.array(times)
