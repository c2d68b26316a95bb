"""Session results: sessions of a stream, each once, when no row can join it any more.

A session has ended when the watermark has come to its last row + gap: a row that joins it is not later than that.
Until then its rows are history, and late rows join them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.frames.slides import slides_of
from slidewise.spark.streams.results import OfRows, SlideTable, find_key_rows, find_last_times
from slidewise.spark.streams.step_data import (
    ArrangedRows,
    Emitted,
    JoinedRows,
    Lifetimes,
    Progress,
    RowDecisions,
    Selection,
    WatermarkView,
)
from slidewise.spark.streams.stream_task import NEVER, StreamTask


class SessionFinality:
    """Sessions: one is final when the watermark has come to its end, whether or not rows of its key come."""

    def __init__(self, task: StreamTask) -> None:
        [window] = task.windows
        assert task.time is not None
        self._task = task
        self._gap = measure_length(window.session_gap, task.rows.field(task.time).type, task.time)

    def view(self, rows: JoinedRows, progress: Progress) -> WatermarkView:
        """See the current rows as of a watermark. A session ends by its gap, and not where its key is forgotten."""
        number = len(rows.begin)
        of = np.repeat(np.arange(number), np.diff(rows.offsets))
        whole_keys = Lifetimes(rows.offsets, of, np.zeros(number, bool))
        return WatermarkView(rows, progress, rows.find_known(progress.watermark), whole_keys)

    def select(self, view: WatermarkView, fresh: np.ndarray) -> Selection | None:
        """Select the rows of sessions that have ended."""
        places = np.flatnonzero(self._find_ended(view))
        if not len(places):
            return None
        rows, numbers = self.arrange(view, places)
        return Selection(rows, places, rows.end, np.full(len(numbers), NEVER), np.zeros(len(numbers), bool))

    def retain(self, view: WatermarkView, selection: Selection | None, decisions: RowDecisions) -> None:
        """Keep the rows of sessions that have not ended."""
        decisions.history = view.known & ~self._find_ended(view)
        decisions.pending = ~view.known

    def schedule(
        self, view: WatermarkView, selection: Selection | None, emitted: np.ndarray, decisions: RowDecisions
    ) -> None:
        """Schedule rows for the end of their session."""
        decisions.due = np.where(self._find_ended(view), NEVER, self._find_ends(view))
        decisions.unemitted = ~view.known

    def expire(self, rows: JoinedRows) -> np.ndarray:
        """Tell when nothing of each key is needed any more, if no more rows come."""
        assert rows.times is not None
        ends: np.ndarray = rows.times[rows.offsets[1:] - 1] + self._gap + 1
        return ends

    def find_open_until(self, times: np.ndarray) -> np.ndarray:
        """Find up to which watermark a row of each time joins a session."""
        return times + self._gap

    def arrange(self, view: WatermarkView, places: np.ndarray) -> tuple[ArrangedRows, np.ndarray]:
        """Take the rows of `places`, and the numbers of their keys."""
        task, rows = self._task, view.rows.take(places)
        numbers = view.rows.number_keys(places[rows.begin])
        return ArrangedRows(task.cast_to_zone(rows.table), task.partition_by, task.order_by, rows.offsets), numbers

    def _find_ended(self, view: WatermarkView) -> np.ndarray:
        """Find the rows of sessions that no row can join any more."""
        assert view.progress.watermark is not None
        ended: np.ndarray = view.known & (self._find_ends(view) <= view.progress.watermark)
        return ended

    def _find_ends(self, view: WatermarkView) -> np.ndarray:
        """Find the end of each row's session, as far as rows are known; of others, the time at which they are."""
        times = view.rows.times
        assert times is not None
        begins = np.append(True, times[1:] - times[:-1] > self._gap)
        begins[1:] |= view.known[1:] != view.known[:-1]
        begins[view.rows.begin] = True
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(times)) - 1
        ends = np.repeat(times[last] + self._gap, np.diff(np.append(first, len(times))))
        return np.where(view.known, ends, times)


class SessionSlides(OfRows):
    """Sessions, of rows."""

    def __init__(self, task: StreamTask) -> None:
        [self._window] = task.windows
        self._task = task
        self.finality = SessionFinality(task)
        self._table = SlideTable(task, task.expressions)

    def build_empty(self) -> pa.Table:
        """Build the output without sessions."""
        return self._table.build_empty(self._task.rows)

    def compute_new(self, view: WatermarkView, selection: Selection) -> Emitted:
        """Compute the sessions that have ended: none of them was there before, since their rows leave with them."""
        slides = slides_of(self._window, selection.rows)
        places = find_key_rows(slides, selection.rows, selection.places)
        return Emitted(self._table.build(selection.rows, slides), places, find_last_times(slides))
