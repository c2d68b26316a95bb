"""Results: what a result of a stream is. A row, a slide at rows, a slide by time, or a slide of slices.

`choose_results` picks the kind of a task. A kind has its rule of finality (finality.py), and knows how to find and
compute its results in the rows that were selected. When they are emitted is not its business (emission.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import number_slide_rows, slide_labels
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.evaluate import Evaluation, pieces_of
from slidewise.columns.frames.slides import Slides, slides_of
from slidewise.columns.stream_options import ROW, check_slices, require_slices
from slidewise.spark.streams.finality import (
    BoundaryFinality,
    Finality,
    FrameFinality,
    build_grid,
    measure_lookback,
    measure_silence,
)
from slidewise.spark.streams.running_totals import RunningTotals
from slidewise.spark.streams.slices import SliceFolding
from slidewise.spark.streams.step_data import ArrangedRows, Emitted, JoinedRows, Selection, WatermarkView
from slidewise.spark.streams.stream_task import SLICE_ROWS, StreamTask
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.grid import Grid

#: Up to so many slices to a window, a key has more rows than slices in all likelihood. A slice is wider than a row
#: where there are several results.
FEW_SLICES = 64


class Results(Protocol):
    """What a result is."""

    @property
    def finality(self) -> Finality:
        """When results are final, and which rows they need."""

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""

    def receive(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Turn new rows, and the hashes of their keys, into what goes on: the rows themselves, or slices of them."""

    def merge(self, rows: JoinedRows) -> JoinedRows:
        """Merge the current rows that are one in the state: those of a slice."""

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the results that are complete by the watermark, and were not by the previous one."""


class SlideResults(Results, Protocol):
    """A result that is a slide, and can be told from others of its key."""

    def find_complete(self, rows: ArrangedRows, watermark: int) -> FoundSlides:
        """Find the slides that are complete by a watermark."""

    def time_slides(self, rows: JoinedRows, selection: Selection, slides: Slides) -> np.ndarray:
        """Tell the time of each slide."""

    def build(self, rows: ArrangedRows, slides: Slides) -> pa.Table:
        """Compute slides as rows: the keys, which slide it is, and the results."""


@dataclass(frozen=True)
class FoundSlides:
    """Slides, and numbers that tell those of one key apart and ascend."""

    slides: Slides
    ids: np.ndarray


def choose_results(task: StreamTask) -> Results:
    """Choose what a result of a task is."""
    from slidewise.spark.streams.session_results import SessionSlides

    if not task.slides:
        return RowResults(task)
    if task.slices:
        return SliceSlides(task)
    [window] = task.windows
    if window.session_gap is not None:
        return SessionSlides(task)
    return TimeSlides(task) if window.slide_kind == "time" else RowSlides(task)


class OfRows:
    """Results of rows, which go through the pipeline as they are."""

    def receive(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Take new rows as they are."""
        return rows, hashes

    def merge(self, rows: JoinedRows) -> JoinedRows:
        """Leave the current rows as they are."""
        return rows


# ---- a row
class RowResults(OfRows):
    """A result per row: all of its columns, and what is computed over its frames."""

    def __init__(self, task: StreamTask) -> None:
        self._task = task
        self._totals = RunningTotals(task) if task.totals else None
        silence = measure_silence(task)
        self.finality: Finality = FrameFinality(task, measure_lookback(task), silence=silence, totals=self._totals)
        #: the results of rows that are there
        self._within = {name: over for name, over in task.expressions.items() if name not in task.carriers}

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        table = self._task.rows.empty_table()
        for name, kind in zip(self._task.expressions, self._task.kinds, strict=True):
            table = _set_column(table, name, pa.array([], kind))
        return table

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the rows that are final, and not history."""
        return self.compute(view.rows, selection, selection.final & ~view.rows.emitted[selection.places])

    def compute(self, rows: JoinedRows, selection: Selection, chosen: np.ndarray) -> Emitted:
        """Compute the selected rows of a mask."""
        at = np.flatnonzero(chosen)
        places = selection.places[at]
        results: dict[str, pa.Array] = {}
        if self._within:
            found = Evaluation(selection.rows, self._within.values(), 1).columns(self._within)
            results = {name: column.take(pa.array(at)) for name, column in found.items()}
        if self._totals is not None:
            results |= self._totals.compute(rows, selection, at)
        table = rows.whole.take(pa.array(rows.origin[places]))
        for name, kind in zip(self._task.expressions, self._task.kinds, strict=True):
            table = _set_column(table, name, cast_to(results[name], kind))
        return Emitted(table, places)


# ---- a slide
class SlideTable:
    """Slides as rows: the keys, which slide it is, and the results."""

    def __init__(self, task: StreamTask, expressions: dict[str, Over], row_numbers: bool = False) -> None:
        """Build slides of a task; with `row_numbers`, the number of the row that triggers tells which slide it is."""
        [self._window] = task.windows
        self._task, self._expressions, self._row_numbers = task, expressions, row_numbers

    def build_empty(self, rows: pa.Schema) -> pa.Table:
        """Build the output without slides, of rows with these columns."""
        task = self._task
        none = task.cast_to_zone(rows.empty_table())
        empty = ArrangedRows(none, task.partition_by, task.order_by, np.zeros(1, np.int64))
        return self.build(empty, slides_of(self._window, empty))

    def build(self, rows: ArrangedRows, slides: Slides) -> pa.Table:
        """Compute some slides."""
        rows.set_frames(self._window, slides.frames)
        out = slide_labels(rows, slides)
        if self._row_numbers:
            out[ROW] = number_slide_rows(rows, slides)
        results = Evaluation(rows, self._expressions.values(), 1, slides).columns(self._expressions)
        for (name, column), kind in zip(results.items(), self._task.kinds, strict=True):
            out[name] = cast_to(column, kind)
        return pa.table(out)


class RowSlides(OfRows):
    """Slides at rows: every so many, by delta, or by punctuation. They are final when the frame of their row is."""

    def __init__(self, task: StreamTask) -> None:
        [self._window] = task.windows
        self._task = task
        # One row stays, from which the next slide counts.
        lookback = None if self._window.slide_kind in ("count", "delta") else measure_lookback(task)
        by_count = self._window.slide_kind == "count"
        self._frames = FrameFinality(task, lookback, by_count, self._keep_for_next_slide)
        self.finality: Finality = self._frames
        # Late rows move slides to other rows: only the number of the row tells which one it was.
        self._table = SlideTable(task, task.expressions, row_numbers=task.keep is not None)

    def build_empty(self) -> pa.Table:
        """Build the output without slides."""
        return self._table.build_empty(self._task.rows)

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the slides whose rows are final, and not history."""
        new = selection.final & ~view.rows.emitted[selection.places]
        slides = slides_of(self._window, selection.rows)
        assert slides.rows is not None
        slides = slides.filter(new[slides.rows])
        return Emitted(self.build(selection.rows, slides), selection.places[slides.rows])

    def find_complete(self, rows: ArrangedRows, watermark: int) -> FoundSlides:
        """Find the slides whose rows are final; the number of a row in its key tells them apart."""
        slides = slides_of(self._window, rows)
        assert slides.rows is not None
        first, _ = self._frames.find_first_open(rows, watermark)
        slides = slides.filter(slides.rows < np.repeat(first, np.diff(slides.offsets)))
        return FoundSlides(slides, rows.places[slides.rows] + 1)

    def time_slides(self, rows: JoinedRows, selection: Selection, slides: Slides) -> np.ndarray:
        """Tell the time of the row of each slide."""
        assert rows.times is not None and slides.rows is not None
        return rows.times[selection.places[slides.rows]]

    def build(self, rows: ArrangedRows, slides: Slides) -> pa.Table:
        """Compute slides as rows."""
        return self._table.build(rows, slides)

    def _keep_for_next_slide(self, rows: ArrangedRows, needed: np.ndarray) -> np.ndarray:
        """Move the first needed row of each lifetime back to the one from which the next slide is counted."""
        if self._window.slide_kind == "count":
            return np.minimum(needed, rows.end - 1)
        if self._window.slide_kind == "delta":  # a slide is measured from the last one, which stays
            row = np.arange(rows.offsets[-1])
            fires = np.zeros(len(row), bool)
            fires[slides_of(self._window, rows).rows] = True
            fires[rows.begin] = True
            last = np.maximum.accumulate(np.where(fires, row, 0))
            return last[np.minimum(needed, rows.end - 1)]
        return needed


class TimeSlides(OfRows):
    """Slides by time, of rows: hopping windows, and any other size at boundaries."""

    def __init__(self, task: StreamTask) -> None:
        [self._window] = task.windows
        self._task, self._grid = task, build_grid(task)
        grid = self._grid
        lookback = None
        if isinstance(grid, Grid) and grid.size is None and (back := measure_lookback(task)) is not None:
            lookback = back + grid.every
        self.finality: Finality = BoundaryFinality(task, grid, lookback)
        self._table = SlideTable(task, task.expressions)

    def build_empty(self) -> pa.Table:
        """Build the output without slides."""
        return self._table.build_empty(self._task.rows)

    def receive(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Take new rows as they are, but for those between two windows."""
        return _leave_out_gaps(self._task, self._grid, rows, hashes)

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the slides that end after the previous watermark, and up to this one."""
        return _compute_passed(self._table, view, selection, slides_of(self._window, selection.rows))

    def compute_open(self, view: WatermarkView, new: np.ndarray) -> pa.Table | None:
        """Compute the slides that end after the watermark and have new rows, over the rows that are there."""
        return _compute_open(self.finality, self._table, self._window, view, new)

    def find_complete(self, rows: ArrangedRows, watermark: int) -> FoundSlides:
        """Find the slides that end up to the watermark; their end tells them apart."""
        slides = slides_of(self._window, rows)
        last = find_last_times(slides)
        return FoundSlides(slides.filter(last <= watermark), last[last <= watermark])

    def time_slides(self, rows: JoinedRows, selection: Selection, slides: Slides) -> np.ndarray:
        """Tell the last time that belongs to each slide."""
        return find_last_times(slides)

    def build(self, rows: ArrangedRows, slides: Slides) -> pa.Table:
        """Compute slides as rows."""
        return self._table.build(rows, slides)


class SliceSlides:
    """Hopping windows by slices: partials of the rows between two boundaries, and not the rows themselves.

    The boundaries at which windows begin and end cut time into slices, and a window holds a slice whole or not at all.
    So the rows of a key and slice are one row of partials from the step they come in, at the time at which the slice
    begins, and the same windows over these rows, with the partials merged, give the same results. What a key keeps has
    a bound that does not depend on how many rows come. Nothing waits for the watermark, either: the order of rows
    within a slice does not matter.
    """

    def __init__(self, task: StreamTask) -> None:
        [self._window] = task.windows
        self._task, self._grid, self._folding = task, build_grid(task), SliceFolding(task)
        self.finality: Finality = BoundaryFinality(task, self._grid, None)
        merged = {name: Over(made.whole, self._window) for name, made in task.divisions.items()}
        self._table = SlideTable(task, merged)

    def build_empty(self) -> pa.Table:
        """Build the output without slides."""
        return self._table.build_empty(self._folding.schema)

    def receive(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Fold new rows into slices: one row of partials for each key and slice."""
        if SLICE_ROWS in rows.column_names:  # they were folded before the exchange
            return rows.drop_columns([SLICE_ROWS]), hashes
        return self._folding.fold(*_leave_out_gaps(self._task, self._grid, rows, hashes))

    def merge(self, rows: JoinedRows) -> JoinedRows:
        """Merge the partials of each key and slice."""
        if not len(rows.table):
            return rows
        assert rows.times is not None
        table, first = self._folding.merge(rows.table, rows.times, rows.offsets)
        return replace(
            rows,
            table=table,
            origin=np.maximum.reduceat(rows.origin, first),
            hashes=rows.hashes[first],
            offsets=np.searchsorted(first, rows.offsets),
            times=rows.times[first],
        )

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the slides that end after the previous watermark, and up to this one."""
        return _compute_passed(self._table, view, selection, slides_of(self._window, selection.rows))

    def compute_open(self, view: WatermarkView, new: np.ndarray) -> pa.Table | None:
        """Compute the slides that end after the watermark and have new slices, over what is there."""
        return _compute_open(self.finality, self._table, self._window, view, new)


def _leave_out_gaps(
    task: StreamTask, grid: Grid | CalendarGrid, rows: pa.Table, hashes: np.ndarray
) -> tuple[pa.Table, np.ndarray]:
    """Leave out the rows that are in no window, where there are gaps between windows: nothing would ever be due."""
    if grid.size is None or not grid.has_gaps or not len(rows):
        return rows, hashes
    assert task.time is not None
    inside = grid.is_inside(in_one_piece(rows[task.time]).cast(pa.int64()).to_numpy())
    return rows.filter(pa.array(inside)), hashes[inside]


def _compute_passed(table: SlideTable, view: WatermarkView, selection: Selection, slides: Slides) -> Emitted:
    """Compute the slides by time that the watermark has passed in this step."""
    watermark, previous = view.progress.watermark, view.progress.previous
    assert watermark is not None
    last = find_last_times(slides)
    new = last <= watermark
    if previous is not None:
        new &= last > previous
    slides = slides.filter(new)
    return Emitted(
        table.build(selection.rows, slides), find_key_rows(slides, selection.rows, selection.places), last[new]
    )


def _compute_open(
    finality: Finality, table: SlideTable, window: WindowDefinition, view: WatermarkView, new: np.ndarray
) -> pa.Table | None:
    """Compute the open slides by time in which a mask of the current rows holds for some row."""
    assert view.progress.watermark is not None
    places = np.flatnonzero(view.lifetimes.find_rows_of_any(new))
    if not len(places):
        return None
    rows, _ = finality.arrange(view, places)
    slides = slides_of(window, rows)
    before = np.concatenate(([0], np.cumsum(new[places])))
    [frames] = pieces_of(slides.frames)
    changed = before[frames.end] > before[frames.start]
    return table.build(rows, slides.filter(changed & (find_last_times(slides) > view.progress.watermark)))


def find_key_rows(slides: Slides, rows: ArrangedRows, places: np.ndarray) -> np.ndarray:
    """Find any current row with the same key, for each slide."""
    return np.repeat(places[rows.begin], np.diff(slides.offsets))


def find_last_times(slides: Slides) -> np.ndarray:
    """Find the last time that belongs to each slide by time."""
    ends: np.ndarray = slides.labels["window_end"].cast(pa.int64()).to_numpy()
    return ends - 1


def _set_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Add a column to a table, or replace the one of that name."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


# ---- slices or rows
def choose_slices(task: StreamTask, wanted: bool | None) -> bool:
    """Choose whether the state is slices, as the caller wants it; None: slices where they can be, and are few."""
    why = check_slices(task.expressions, task.keep is not None, task.divisions.__contains__)
    require_slices(wanted, why)
    if wanted is None:
        return why is None and (build_grid(task).slices or 0) <= FEW_SLICES
    return wanted
