"""Finality: which results of a stream are final, and which rows later frames can still reach.

All rows up to the watermark are there, so that a frame is final when it ends there. Everything is found for all keys
at once: an answer is an array with one row number per key. A row that is yet to come is later than the watermark; its
frame reaches as far back as that of a row in the first place that is not final, and not further.

There are two rules, and each kind of result has one (results.py): `FrameFinality` for results at rows, and
`BoundaryFinality` for slides by time. Both answer the same four questions about a `WatermarkView`, the current rows as
of a watermark: which rows have something new (`select`), which stay in the state (`retain`), when the next result is
due (`schedule`), and when a key without further rows is of no use any more (`expire`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from slidewise.columns.frames.bounds import Scattered
from slidewise.columns.frames.deltas import measure_delta, measure_length
from slidewise.columns.frames.from_window import step_in_units
from slidewise.columns.frames.slides import build_column_grid
from slidewise.spark.streams.running_totals import RunningTotals
from slidewise.spark.streams.step_data import (
    ArrangedRows,
    JoinedRows,
    Lifetimes,
    Progress,
    RowDecisions,
    Selection,
    WatermarkView,
    find_next_complete,
)
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.cumulative import CumulativeWindow
from slidewise.windows.definitions import DeltaWindow, TimeWindow, WindowDefinition
from slidewise.windows.durations import CalendarDuration, sign
from slidewise.windows.grid import Grid
from slidewise.windows.reach import Reach
from slidewise.windows.sessions import SessionWindow

#: no month is longer, and no clock is set by more than the day that is added
_MONTH, _DAY = 31 * 86_400_000_000, 86_400_000_000
#: before the first watermark, nothing was emitted
_BEGIN = -(2**62)
#: moves the first needed row of each lifetime further back
Extension = Callable[[ArrangedRows, np.ndarray], np.ndarray]


class Finality(Protocol):
    """Which rows are new, needed and due, as of a watermark."""

    def view(self, rows: JoinedRows, progress: Progress) -> WatermarkView:
        """See the current rows as of a watermark."""

    def select(self, view: WatermarkView, fresh: np.ndarray) -> Selection | None:
        """Select the rows of lifetimes in which results may be new; `fresh` rows make results new. None: none are."""

    def retain(self, view: WatermarkView, selection: Selection | None, decisions: RowDecisions) -> None:
        """Decide which rows stay in the state, as history or as pending rows."""

    def schedule(
        self, view: WatermarkView, selection: Selection | None, emitted: np.ndarray, decisions: RowDecisions
    ) -> None:
        """Decide of which rows nothing was emitted yet, and when the next result of each row is due."""

    def expire(self, rows: JoinedRows) -> np.ndarray:
        """Tell when nothing of each key is needed any more, if no more rows come."""

    def arrange(self, view: WatermarkView, places: np.ndarray) -> tuple[ArrangedRows, np.ndarray]:
        """Take whole lifetimes, as far as their rows are in `places`, and the numbers of these lifetimes."""


class FrameFinality:
    """Results at rows: one is final when no row can enter its frame any more."""

    def __init__(
        self,
        task: StreamTask,
        lookback: int | None,
        counts_rows: bool = False,
        extend: Extension | None = None,
        silence: int | None = None,
        totals: RunningTotals | None = None,
    ) -> None:
        """Take `lookback`, how far back in time frames reach; None where some count rows.

        With `counts_rows` the place of a row in its key matters. `extend` is for slides that need rows besides frames.
        `silence` is after how long without rows nothing of a key is needed, where that is not `lookback`. `totals` are
        those of running frames, where there are some.
        """
        self._task, self._lookback, self._counts_rows, self._extend = task, lookback, counts_rows, extend
        self._silence = lookback if silence is None else silence
        self._totals = totals

    def view(self, rows: JoinedRows, progress: Progress) -> WatermarkView:
        """See the current rows as of a watermark."""
        return _view(self._task, rows, progress)

    def select(self, view: WatermarkView, fresh: np.ndarray) -> Selection | None:
        """Select the known rows, at arrival all rows, of lifetimes in which some are fresh."""
        ready = np.ones(len(view.known), bool) if view.at_arrival else view.known
        places = np.flatnonzero(ready & view.lifetimes.find_rows_of_any(ready & fresh))
        if not len(places):
            return None
        rows, numbers = self.arrange(view, places)
        first, due = self.find_first_open(rows, view.progress.watermark)
        if view.at_arrival:  # a row that is to come may yet take a place among those that are not known
            first = np.minimum(first, rows.find_first(~view.known[places]))
        if self._task.forget_after is not None:
            due = np.minimum(due, find_lifetime_ends(self._task, view.rows, view.lifetimes.offsets)[numbers])
        ended = view.lifetimes.ended[numbers]
        return Selection(rows, places, np.where(ended, rows.end, first), due, ended, view.at_arrival)

    def retain(self, view: WatermarkView, selection: Selection | None, decisions: RowDecisions) -> None:
        """Keep final rows that frames which are not final, or are to come, can reach; and all that are not final."""
        watermark, times = view.progress.watermark, view.rows.times
        decisions.history &= ~view.lifetimes.ended[view.lifetimes.of]
        if self._lookback is not None and watermark is not None and times is not None:
            decisions.history &= times >= watermark - self._lookback
        elif self._silence is not None and watermark is not None:
            decisions.history &= np.repeat(self.expire(view.rows) > watermark, np.diff(view.rows.offsets))
        if selection is None:
            if self._totals is not None:
                self._totals.carry(view.rows, view.lifetimes, None, None, decisions)
            return
        rows, places, final = selection.rows, selection.places, selection.final
        needed = np.where(selection.ended, rows.end, self._find_first_needed(rows, selection.first, watermark))
        if self._totals is not None:
            self._totals.carry(view.rows, view.lifetimes, selection, needed, decisions)
        since = np.arange(len(places)) >= selection.repeat(needed)
        decisions.history[places] = final & since
        decisions.pending[places] = ~final
        if self._counts_rows:  # of the last lifetime of a key, which is the only one that stays
            keys = view.rows.number_keys(places[rows.begin])
            decisions.dropped[keys] = rows.places[rows.begin] + needed - rows.begin

    def schedule(
        self, view: WatermarkView, selection: Selection | None, emitted: np.ndarray, decisions: RowDecisions
    ) -> None:
        """Schedule rows at their time, and known ones when their frame is final."""
        unemitted = ~(view.known | emitted)
        if selection is not None:
            unemitted[selection.places] = ~(selection.final | emitted[selection.places])
        decisions.unemitted = unemitted
        if view.rows.times is not None:
            decisions.due = np.where(unemitted, view.rows.times, NEVER)
        if selection is not None:
            places = selection.places
            decisions.due[places] = np.where(unemitted[places], selection.repeat(selection.due), NEVER)

    def expire(self, rows: JoinedRows) -> np.ndarray:
        """Tell when nothing of each key is needed any more, if no more rows come."""
        return _expire(self._task, self._silence, rows)

    def arrange(self, view: WatermarkView, places: np.ndarray) -> tuple[ArrangedRows, np.ndarray]:
        """Take whole lifetimes, as far as their rows are in `places`, and the numbers of these lifetimes."""
        return _arrange(self._task, view, places, self._counts_rows)

    def find_first_open(self, rows: ArrangedRows, watermark: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Find the first row of each lifetime that is not final, and when time alone makes it so."""
        first, due = rows.end, np.full(len(rows.end), NEVER)
        for window in self._task.windows:
            own = find_first_open(window, rows, watermark)
            closes = find_next_final(window, rows, own)
            first, due = np.minimum(first, own), due if closes is None else np.minimum(due, closes)
        return first, due

    def _find_first_needed(self, rows: ArrangedRows, first: np.ndarray, watermark: int | None) -> np.ndarray:
        """Find the first row of each lifetime that rows which are not final, or are to come, can reach."""
        needed = first
        for window in self._task.windows:
            needed = np.minimum(needed, find_first_needed(window, rows, first, watermark))
        return needed if self._extend is None else self._extend(rows, needed)


class BoundaryFinality:
    """Slides by time: one is final when the watermark has passed its end, whether or not rows of its key come.

    The known rows that an open slide needs are the history; slides that end after the previous watermark are new.
    Slices do not wait until they are known: the order of rows within them does not matter.
    """

    def __init__(self, task: StreamTask, grid: Grid | CalendarGrid, lookback: int | None) -> None:
        """Take `lookback`, how far back in time frames reach; None where some count rows, or windows hop."""
        [self._window] = task.windows
        self._task, self._grid, self._lookback = task, grid, lookback
        self._hopping = grid.size is not None

    def view(self, rows: JoinedRows, progress: Progress) -> WatermarkView:
        """See the current rows as of a watermark."""
        if not self._hopping:
            return replace(_view(self._task, rows, progress), grid=self._grid)
        # A hopping window may reach over the time in which a key is forgotten; nothing stays for longer than it does.
        number = len(rows.begin)
        of = np.repeat(np.arange(number), np.diff(rows.offsets))
        whole_keys = Lifetimes(rows.offsets, of, np.zeros(number, bool))
        return WatermarkView(rows, progress, rows.find_known(progress.watermark), whole_keys, grid=self._grid)

    def select(self, view: WatermarkView, fresh: np.ndarray) -> Selection | None:
        """Select the known rows of lifetimes of which slides close, or some rows are fresh."""
        watermark, times = _require_time(view)
        new = find_next_complete(self._grid, times, _start_after(view.progress.previous)) <= watermark
        if not self._task.slices:
            new |= fresh
        places = np.flatnonzero(view.known & view.lifetimes.find_rows_of_any(view.known & new))
        if not len(places):
            return None
        rows, numbers = self.arrange(view, places)
        complete = view.next_complete[places]
        first = rows.find_first(complete != NEVER)
        due = np.where(first < rows.end, complete[np.minimum(first, rows.end - 1)], NEVER)
        return Selection(rows, places, first, due, view.lifetimes.ended[numbers])

    def retain(self, view: WatermarkView, selection: Selection | None, decisions: RowDecisions) -> None:
        """Keep the rows of slides that are open, and those that the frames of other slides can reach."""
        watermark, times = _require_time(view)
        is_open = view.next_complete != NEVER
        if self._task.slices:
            decisions.history, decisions.pending = is_open, np.zeros(len(times), bool)
            return
        decisions.pending = ~view.known
        decisions.history = view.known & (is_open if self._hopping else is_open | view.rows.emitted)
        if self._lookback is not None:
            decisions.history &= times >= watermark - self._lookback
        if self._hopping:
            return
        if selection is not None:
            needed = find_first_needed(self._window, selection.rows, selection.first, watermark)
            decisions.history[selection.places] = np.arange(len(selection.places)) >= selection.repeat(needed)
        decisions.history &= ~view.lifetimes.ended[view.lifetimes.of]

    def schedule(
        self, view: WatermarkView, selection: Selection | None, emitted: np.ndarray, decisions: RowDecisions
    ) -> None:
        """Schedule rows for when their next slide is complete."""
        decisions.due = view.next_complete
        decisions.unemitted = np.zeros(len(view.known), bool) if self._task.slices else ~view.known

    def expire(self, rows: JoinedRows) -> np.ndarray:
        """Tell when nothing of each key is needed any more, if no more rows come."""
        if not self._hopping:
            return _expire(self._task, self._lookback, rows)
        assert rows.times is not None
        last = rows.times[rows.offsets[1:] - 1]
        by_calendar = isinstance(self._grid, CalendarGrid)
        ends: np.ndarray = self._grid.last_end(last) if by_calendar else last + self._grid.size
        return ends + (self._task.keep or 0)

    def find_open_until(self, times: np.ndarray) -> np.ndarray:
        """Find up to which watermark a row of each time is not late: while a hopping window that has it is open.

        A row between two windows belongs to none, and is late at the watermark, as any row.
        """
        ends: np.ndarray = np.maximum(self._grid.last_end(times) - 1, times)
        return ends

    def arrange(self, view: WatermarkView, places: np.ndarray) -> tuple[ArrangedRows, np.ndarray]:
        """Take whole lifetimes, as far as their rows are in `places`, and the numbers of these lifetimes."""
        return _arrange(self._task, view, places, counts_rows=False)


def _require_time(view: WatermarkView) -> tuple[int, np.ndarray]:
    """Read the watermark and the times, which slides by time never go without."""
    assert view.progress.watermark is not None and view.rows.times is not None
    return view.progress.watermark, view.rows.times


def _start_after(previous: int | None) -> int:
    return _BEGIN if previous is None else previous


# ---- lifetimes
def _view(task: StreamTask, rows: JoinedRows, progress: Progress) -> WatermarkView:
    known = rows.find_known(progress.watermark)
    return WatermarkView(rows, progress, known, find_lifetimes(task, rows, known, progress.watermark))


def find_lifetimes(task: StreamTask, rows: JoinedRows, known: np.ndarray, watermark: int | None) -> Lifetimes:
    """Find where keys begin, or begin anew after they were forgotten."""
    offsets = rows.offsets
    ended = np.zeros(len(offsets) - 1, bool)
    if task.forget_after is not None and rows.times is not None:
        anew = np.zeros(len(known) + 1, bool)
        anew[1:-1] = known[1:] & (np.diff(rows.times) > task.forget_after)
        anew[rows.offsets] = True
        offsets = np.flatnonzero(anew)
        ended = ~np.isin(offsets[1:], rows.offsets)
        if watermark is not None:
            ended |= find_lifetime_ends(task, rows, offsets) <= watermark
    return Lifetimes(offsets, np.repeat(np.arange(len(ended)), np.diff(offsets)), ended)


def find_lifetime_ends(task: StreamTask, rows: JoinedRows, offsets: np.ndarray) -> np.ndarray:
    """Find when each lifetime ends, if no more rows come."""
    assert rows.times is not None and task.forget_after is not None
    return rows.times[offsets[1:] - 1] + task.forget_after + 1


def _expire(task: StreamTask, lookback: int | None, rows: JoinedRows) -> np.ndarray:
    lengths = [length for length in (task.forget_after, lookback) if length is not None]
    if rows.times is None or not lengths:
        return np.full(len(rows.offsets) - 1, NEVER)
    return rows.times[rows.offsets[1:] - 1] + min(lengths) + (task.keep or 0) + 1


def _arrange(
    task: StreamTask, view: WatermarkView, places: np.ndarray, counts_rows: bool
) -> tuple[ArrangedRows, np.ndarray]:
    current, lifetimes = view.rows, view.lifetimes
    numbers = lifetimes.of[places]
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    numbers = numbers[firsts]
    dropped = None
    if counts_rows:
        begins = lifetimes.offsets[numbers]
        key = current.number_keys(begins)
        dropped = np.where(begins == current.offsets[key], current.dropped[key], 0)
    table = current.table if len(places) == len(current.table) else current.table.take(pa.array(places))
    offsets = np.append(firsts, len(places))
    return ArrangedRows(task.cast_to_zone(table), task.partition_by, task.order_by, offsets, dropped), numbers


# ---- which rows are final
def find_first_open(window: WindowDefinition, rows: ArrangedRows, watermark: int | None) -> np.ndarray:
    """Find the first row of each key whose frame can still gain a row; the key's end where none can."""
    reach = window.reach
    if reach is None or not reach.waits:
        return rows.end
    following: Any = reach.ahead
    if reach.unit == "rows":
        return np.maximum(rows.begin, rows.end - min(following, len(rows.source)))
    if reach.unit == "groups":
        group = rows.number_groups()
        open_from = np.maximum(group[rows.end - 1] - following + 1, group[rows.begin])
        return np.searchsorted(group, open_from)
    assert watermark is not None
    return rows.find_first(rows.add_to_times(following) > watermark)


def find_next_final(window: WindowDefinition, rows: ArrangedRows, first: np.ndarray) -> np.ndarray | None:
    """Tell when the frame of the first open row of each key is complete; None where no time tells."""
    reach = window.reach
    if reach is None or reach.unit != "range" or not reach.waits:
        return None
    return np.where(first < rows.end, rows.add_to_times(reach.end)[np.minimum(first, rows.end - 1)], NEVER)


# ---- which rows are still needed
def measure_lookback(task: StreamTask) -> int | None:
    """Measure how far back in time all frames reach; None where some are not measured in time."""
    if task.time is None:
        return None
    kind = task.rows.field(task.time).type
    found = [measure_window_lookback(window, kind, task.time) for window in task.windows]
    return None if None in found else max(back for back in found if back is not None)


def measure_silence(task: StreamTask) -> int | None:
    """Measure after how long without rows nothing of a key is needed; None where that is not measured in time."""
    if task.time is None:
        return None
    name, kind = task.time, task.rows.field(task.time).type
    found = [
        measure_length(window.gap, kind, name)
        if isinstance(window, SessionWindow)
        else measure_window_lookback(window, kind, name)
        for window in task.windows
    ]
    return None if None in found else max(length for length in found if length is not None)


def measure_window_lookback(window: WindowDefinition, kind: pa.DataType, name: str) -> int | None:
    """Measure how far back in time frames reach; None where that is not measured in time."""
    reach = window.reach
    if reach is None or reach.unit != "range" or reach.from_first_row:
        return None
    return max(0, -_measure_back(reach.start, kind, name))


def find_first_needed(
    window: WindowDefinition, rows: ArrangedRows, first: np.ndarray, watermark: int | None
) -> np.ndarray:
    """Find the first row of each key that the frame of row `first`, or of a row to come, can reach."""
    reach = window.reach
    if reach is not None and reach.from_first_row:
        return _find_first_after_total(reach, rows, first, watermark)
    if reach is not None:
        if reach.unit == "range":
            return _find_first_in_range(reach.start, rows, first, watermark)
        preceding: Any = reach.start
        if reach.unit == "rows":
            return np.clip(first + max(preceding, -len(rows.source)), rows.begin, first)
        group = rows.number_groups()
        own = np.where(first < rows.end, group[np.minimum(first, rows.end - 1)], group[rows.end - 1] + 1)
        return np.minimum(first, np.searchsorted(group, np.maximum(own + preceding, group[rows.begin])))
    frames = rows.frames(window)
    if isinstance(window, SessionWindow):
        assert watermark is not None
        joins = rows.find_first(rows.add_to_times(window.gap) > watermark)
        return np.where(joins < rows.end, np.minimum(first, frames.start[np.minimum(joins, rows.end - 1)]), first)
    if isinstance(frames, Scattered):
        assert isinstance(window, DeltaWindow)
        return _find_first_in_delta(window, rows, first)
    # By the row before: what is to come may yet take the place of row `first`, and hold more than that does.
    return frames.start[np.maximum(first - 1, rows.begin)]


def _find_first_in_range(bound: Any, rows: ArrangedRows, first: np.ndarray, watermark: int | None) -> np.ndarray:
    since = np.repeat(_add_to_first(bound, rows, first, watermark), np.diff(rows.offsets))
    return np.minimum(first, rows.find_first(rows.read_times() >= since))


def _add_to_first(bound: Any, rows: ArrangedRows, first: np.ndarray, watermark: int | None) -> np.ndarray:
    """Add a bound to the time of row `first` of each key, or of the first that may come."""
    times = rows.read_times()
    assert watermark is not None
    own = np.where(first < rows.end, np.minimum(times[np.minimum(first, rows.end - 1)], watermark), watermark)
    by = rows.order_by[0].name
    return own + _measure_back(bound, rows.array(by).type, by)


def _find_first_after_total(reach: Reach, rows: ArrangedRows, first: np.ndarray, watermark: int | None) -> np.ndarray:
    """Find the first row of each key that the running frame of row `first`, or of one to come, may end before."""
    if reach.waits or sign(reach.end) == 0:  # type: ignore[arg-type]
        return first
    behind: Any = reach.end
    if reach.unit == "range":
        until = np.repeat(_add_to_first(behind, rows, first, watermark), np.diff(rows.offsets))
        return np.minimum(first, rows.find_first(rows.read_times() > until))
    if reach.unit == "rows":
        return np.clip(first + max(behind + 1, -len(rows.source)), rows.begin, first)
    group = rows.number_groups()
    own = np.where(first < rows.end, group[np.minimum(first, rows.end - 1)], group[rows.end - 1] + 1)
    return np.minimum(first, np.searchsorted(group, np.maximum(own + behind + 1, group[rows.begin])))


def _measure_back(bound: Any, kind: pa.DataType, name: str) -> int:
    """Measure a bound of a frame by range in the unit of the times, or a little before it."""
    if isinstance(bound, CalendarDuration):
        return min(0, bound.months) * _MONTH - _DAY
    return 0 if sign(bound) == 0 else step_in_units(bound, kind, name)


def _find_first_in_delta(window: DeltaWindow, rows: ArrangedRows, first: np.ndarray) -> np.ndarray:
    """Find the first row of each key that a delta window still holds before row `first` enters."""
    name = rows.delta_column(window)
    values, size = measure_delta(rows.arrange(name), window.size, name)
    found = rows.begin.copy()
    for key, (begin, end) in enumerate(zip(rows.begin, first, strict=True)):
        if begin < end:
            here = values[begin:end]
            highest = np.maximum.accumulate(here[::-1])[::-1]
            found[key] += int(np.argmax(highest - here <= size))
    return found


# ---- slides by time
def build_grid(task: StreamTask) -> Grid | CalendarGrid:
    """Build the grid of slides by time, in microseconds."""
    [window] = task.windows
    assert isinstance(window.every, TimeWindow) and task.time is not None
    name, kind = task.time, task.rows.field(task.time).type
    if window.by_calendar:
        return build_column_grid(window, kind, name)
    offset = 0 if window.offset is None else measure_length(window.offset, kind, name)
    size = measure_length(window.size, kind, name) if isinstance(window, TimeWindow | CumulativeWindow) else None
    steps = window.steps if isinstance(window, CumulativeWindow) else None
    return Grid(measure_length(window.every.size, kind, name), offset, size, steps)
