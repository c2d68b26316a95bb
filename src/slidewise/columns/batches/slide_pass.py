"""Slide pass: sorted rows in, batch by batch, one row per key and slide out, for `aggregate`.

As in row_pass.py, the engine of columns computes chunk by chunk, and the rows that later slides can still reach stay
for the next chunk. A slide is emitted once, as soon as no later row can change it. Most slides are at a row: the frame
of the row that triggers, which is known by its number. Windows [start, end) are known by their end, and final once a
row stands there or after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.aggregate import number_slide_rows, slide_labels
from slidewise.columns.arrays import cast_to
from slidewise.columns.batches.chunk import Chunk
from slidewise.columns.batches.frontier import Frontier
from slidewise.columns.batches.row_pass import RowPass, RowPassRun, Tail
from slidewise.columns.batches.running_evaluation import RunningEvaluation
from slidewise.columns.effects import find_changed
from slidewise.columns.frames.deltas import measure_delta
from slidewise.columns.frames.slides import Slides, slides_of
from slidewise.columns.stream_options import ROW
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.definitions import DeltaWindow, WindowDefinition
from slidewise.windows.durations import Duration

#: A chunk has no more new rows than make so many slides: a row is in size / every hopping windows.
CHUNK_SLIDES = 1 << 21


@dataclass(frozen=True, kw_only=True)
class SlidePass(RowPass):
    """What is computed of slides; all expressions are over the same window, and `kinds` are of all columns."""

    #: the columns that go out: keys, what says which slide it is, and results
    names: tuple[str, ...]


class SlidePassRun(RowPassRun):
    """One run of a pass: the slides of the sorted rows."""

    def __init__(self, plan: SlidePass, chunk_rows: int | None = None) -> None:
        super().__init__(plan, chunk_rows)
        self.window, self._names = plan.expressions[0].window, plan.names
        #: the end of the last window [start, end) of the tail's key that was emitted: an array of one, or of none
        self._last_end: pa.Array | None = None
        #: the last value that triggered a slide by delta before the first row to come: an array of one, or of none
        self._trigger: pa.Array | None = None
        self._chunk_rows = min(self._chunk_rows, max(1, CHUNK_SLIDES // _count_slides_per_row(self.window)))

    def run(self, batches: Iterable[tuple[pa.Array, ...]]) -> Iterator[pa.StructArray]:
        """Compute one struct per key and slide."""
        return super().run(piece for batch in batches for piece in self._cut(batch))

    def _cut(self, batch: tuple[pa.Array, ...]) -> Iterator[tuple[pa.Array, ...]]:
        for first in range(0, len(batch[0]), self._chunk_rows):
            yield tuple(column[first : first + self._chunk_rows] for column in batch)

    # ---- one chunk
    def _compute(self, table: pa.Table, chunk: Chunk, tail: Tail) -> Iterator[pa.StructArray]:
        if self.window.gives_windows:
            slides, final = self._find_windows(chunk)
        else:
            slides, final = self._find_slides_at_rows(chunk, tail.emitted)
        chunk.set_frames(self.window, slides.frames)
        overs, gone = self.plan.expressions, tail.before + len(table)
        evaluation = RunningEvaluation(chunk, overs, tail.kept, self._carried, gone, slides)
        results = evaluation.columns({str(k): over for k, over in enumerate(overs)})
        labels = slide_labels(chunk, slides)
        if self.plan.effects.revises and self.window.slide_kind == "count":
            labels[ROW] = number_slide_rows(chunk, slides)
        columns = [*labels.values(), *results.values()]
        if self._changes is not None:
            columns = self._filter_changes(columns)
        yield from self._emit_results(columns, 0, len(columns[0]))
        if not chunk.ends:
            self._keep(table, chunk, evaluation, final)

    def _filter_changes(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Filter the slides whose results differ from those of the slide before of their key."""
        assert self._changes is not None
        found = {n: cast_to(c, k) for n, c, k in zip(self._names, columns, self.plan.kinds, strict=True)}
        results = self._names[len(columns) - len(self.plan.expressions) :]
        changed = find_changed(self._changes, found, self.plan.partition_by, results, self.plan.effects.time)
        return [column.filter(pa.array(changed)) for column in found.values()]

    # ---- slides at rows
    def _find_slides_at_rows(self, chunk: Chunk, first: int) -> tuple[Slides, int]:
        """Find the slides that rows from `first` on trigger, and the first row that is not final."""
        window, count = self.window, len(chunk.source)
        delta = window.every if isinstance(window.every, DeltaWindow) else None
        fires = None if delta is None else self._find_triggers(chunk, delta, first)
        slides = slides_of(window, chunk, fires)
        final = count if chunk.ends else chunk.frontiers[window].final
        if window.slide_kind == "time" and not chunk.ends:
            final = min(final, count - 1)  # the next row tells whether a boundary follows
        if delta is not None and fires is not None:
            self._trigger = None if chunk.ends else self._find_last_trigger(chunk, delta, fires, final)
        assert slides.rows is not None
        return slides.filter((slides.rows >= first) & (slides.rows < final)), final

    def _find_triggers(self, chunk: Chunk, delta: DeltaWindow, first: int) -> np.ndarray:
        """Find the rows from `first` on that trigger: those a delta above the row that triggered last."""
        from slidewise.columns.frames.slide_kernels import every_delta

        column = chunk.arrange(chunk.delta_column(delta))[first:]
        before = column[:0] if self._trigger is None else self._trigger
        values, size = measure_delta(pa.concat_arrays([before, column]), delta.size, str(delta.column))
        offsets = np.concatenate(([0], chunk.offsets[1:] - first + len(before)))
        fires = np.zeros(len(values), bool)
        every_delta(offsets, values, size, fires)
        return np.concatenate((np.zeros(first, bool), fires[len(before) :]))

    def _find_last_trigger(self, chunk: Chunk, delta: DeltaWindow, fires: np.ndarray, final: int) -> pa.Array | None:
        """Find the value from which rows of the last key from `final` on are measured; None: its first row triggers."""
        begin = int(chunk.offsets[-2])
        fired = np.flatnonzero(fires[begin:final])
        if not len(fired) and begin == 0 and self._trigger is not None:
            return self._trigger
        row = begin + (int(fired[-1]) if len(fired) else 0)
        return chunk.arrange(chunk.delta_column(delta))[row : row + 1] if row < final else None

    # ---- windows [start, end)
    def _find_windows(self, chunk: Chunk) -> tuple[Slides, int]:
        """Find the windows that are final and not emitted yet, and count the rows: each is in all of its windows."""
        count = len(chunk.source)
        slides = slides_of(self.window, chunk)
        ends, last_key = slides.labels["window_end"], int(slides.offsets[-2])
        chosen = np.ones(len(ends), bool)
        if self._last_end is not None:
            of_first_key = int(slides.offsets[1])
            later = pc.greater(ends[:of_first_key], self._last_end[0])
            chosen[:of_first_key] = later.to_numpy(zero_copy_only=False)
        if chunk.ends:
            self._last_end = None
            return slides.filter(chosen), count
        is_open = slides.frames.end[last_key:] >= count
        chosen[last_key:] &= ~is_open
        reach = int(slides.frames.start[last_key:][is_open].min(initial=count))
        # What says how far frames per row go has no place here.
        chunk.frontiers[self.window] = Frontier(count, lambda row: reach)
        fresh = np.flatnonzero(chosen[last_key:])
        if len(fresh):
            self._last_end = ends[last_key + int(fresh[-1]) :][:1]
        elif len(chunk.offsets) > 2:
            self._last_end = None
        return slides.filter(chosen), count


def _count_slides_per_row(window: WindowDefinition) -> int:
    """Count the slides that a row can be in and trigger, at most."""
    if not window.gives_windows or window.slide_size is None:
        return 1
    if window.by_calendar and window.slide_size is not None:
        return CalendarGrid(window.slide_size, window.lengths[0]).windows_per_row
    size, every = (length.nanoseconds if isinstance(length, Duration) else length for length in window.lengths[:2])
    return math.ceil(size / every)  # type: ignore[operator]
