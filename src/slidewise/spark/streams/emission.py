"""Emission: when results of a stream are emitted. With the watermark, only changes, at arrival, or with revisions.

`choose_emission` picks the way of a task. Each takes the current rows, decides what becomes of them, and gives the
results that are emitted in this micro-batch. What a result is is not its business (results.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from slidewise.columns.evaluate import pieces_of
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.stream_options import FINAL, REVISION
from slidewise.spark.streams.expiry import Expiry
from slidewise.spark.streams.finality import Finality
from slidewise.spark.streams.last_results import filter_changes, find_keys, record_results
from slidewise.spark.streams.results import (
    FoundSlides,
    Results,
    RowResults,
    RowSlides,
    SliceSlides,
    SlideResults,
    TimeSlides,
    find_key_rows,
)
from slidewise.spark.streams.step_data import Emitted, JoinedRows, Progress, RowDecisions, Selection
from slidewise.spark.streams.stream_task import RESULT_VALUE, StreamTask


class Emission(Protocol):
    """When results are emitted."""

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute what is emitted in this micro-batch, None for nothing, and decide what becomes of all rows."""


def choose_emission(task: StreamTask, results: Results) -> Emission:
    """Choose when the results of a task are emitted."""
    if task.early:
        assert isinstance(results, TimeSlides | SliceSlides)
        return EarlySlides(results)
    if task.keep is None:
        ways: dict[str, Callable[[StreamTask, Results], Emission]] = {
            "watermark": WithWatermark,
            "changes": ChangesOverTime if task.empty else OnlyChanges,
            "arrival": AtArrival,
        }
        return ways[task.emit](task, results)
    if isinstance(results, RowResults):
        return ReviseRows(task, results)
    assert isinstance(results, RowSlides | TimeSlides)
    return ReviseSlides(task, results)


class WithWatermark:
    """Each result once, when it is final."""

    def __init__(self, task: StreamTask, results: Results) -> None:
        self._results = results

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        return self._results.build_empty()

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the results that the watermark has made final."""
        emitted = emit_once(self._results, rows, progress, decisions)
        return None if emitted is None else emitted.table


class OnlyChanges:
    """Each result once, when it is final, unless it is as the one before of its key."""

    def __init__(self, task: StreamTask, results: Results) -> None:
        self._task, self._results = task, results

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        return self._results.build_empty()

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the final results that differ from the one before of their key."""
        emitted = emit_once(self._results, rows, progress, decisions)
        return None if emitted is None else filter_changes(self._task, rows, emitted, decisions)


class ChangesOverTime:
    """Each result that is not as the one before of its key, also of times at which rows leave and none comes."""

    def __init__(self, task: StreamTask, results: Results) -> None:
        self._results, self._expiry = results, Expiry(task, results)

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        return self._results.build_empty()

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute what has changed since the previous watermark, also of keys without rows."""
        emitted = emit_once(self._results, rows, progress, decisions) if len(rows.table) else None
        return self._expiry.emit(rows, progress, emitted, decisions)


class AtArrival:
    """Each result once, in the micro-batch of its row, over the rows that are there."""

    def __init__(self, task: StreamTask, results: Results) -> None:
        self._results = results

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        return self._results.build_empty()

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the results of all new rows."""
        emitted = emit_once(self._results, rows, progress, decisions, at_arrival=True)
        return None if emitted is None else emitted.table


class EarlySlides:
    """Hopping windows: each when it is final, and before that with each micro-batch that brings rows for it."""

    def __init__(self, results: TimeSlides | SliceSlides) -> None:
        self._results = results

    def build_empty(self) -> pa.Table:
        """Build the output without slides."""
        return _add_final(self._results.build_empty(), True)

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the slides that the watermark has made final, and the open ones that have new rows."""
        emitted = emit_once(self._results, rows, progress, decisions)
        view = self._results.finality.view(rows, progress)
        early = self._results.compute_open(view, rows.origin >= rows.were_pending)
        found = [] if emitted is None else [_add_final(emitted.table, True)]
        found += [] if early is None else [_add_final(early, False)]
        return pa.concat_tables(found) if found else None


def emit_once(
    results: Results, rows: JoinedRows, progress: Progress, decisions: RowDecisions, at_arrival: bool = False
) -> Emitted | None:
    """Compute the results that are new, and keep no row longer than their frames need it."""
    finality = results.finality
    view = replace(finality.view(rows, progress), at_arrival=at_arrival)
    selection = finality.select(view, fresh=~rows.emitted)
    finality.retain(view, selection, decisions)
    finality.schedule(view, selection, rows.emitted, decisions)
    return None if selection is None else results.compute_new(view, selection)


# ---- late="revise"
# Late rows are taken, and results whose frames they change are emitted again, with the number of their revision.
#
# With F the watermark less `keep`, rows up to F are late for good, and the state is that of a stream with the watermark
# F: rows that are final by then are history, and all others are pending, whether or not they were emitted. What is
# emitted follows the watermark itself: results that are final for the first time, and those whose frames were others in
# the step before. Rows stand in one order, and so the frames of both steps are compared by counting: a frame is the
# same one if it has no row that was not there before, and as many of those that were, before its start and its end.
class ReviseRows:
    """A result per row; the state has the number of its last revision with the row."""

    def __init__(self, task: StreamTask, results: RowResults) -> None:
        self._task, self._results = task, results

    def build_empty(self) -> pa.Table:
        """Build the output without rows."""
        return _add_revisions(self._results.build_empty(), np.empty(0, np.int32))

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the rows that are final for the first time, and those whose frames have changed."""
        assert rows.revisions is not None
        finality, unemitted = self._results.finality, rows.revisions < 0
        _retain_for_late_rows(self._task, finality, rows, progress, decisions)
        view = finality.view(rows, progress)
        selection = finality.select(view, fresh=unemitted)
        finality.schedule(view, selection, ~unemitted, decisions)
        decisions.revisions = rows.revisions.copy()
        if selection is None:
            return None
        places = selection.places
        changed = self._find_changed(rows, selection, progress.previous) & ~rows.emitted[places]
        chosen = np.where(unemitted[places], selection.final, changed)
        decisions.revisions[places] += chosen
        emitted = self._results.compute(rows, selection, chosen)
        return _add_revisions(emitted.table, decisions.revisions[places[chosen]])

    def _find_changed(self, rows: JoinedRows, selection: Selection, previous: int | None) -> np.ndarray:
        """Find the selected rows that have other frames than in the step before."""
        changed = np.zeros(len(selection.places), bool)
        before = PreviousRows(self._results.finality, rows, selection.places, previous)
        at = np.flatnonzero(before.seen)
        if len(at):
            for window in self._task.windows:
                then = before.rows.frames(window).take(before.rank[at])
                changed[at] |= before.find_changed(selection.rows.frames(window).take(at), then)
        return changed


class ReviseSlides:
    """A result per slide. It was emitted if it was complete in the step before; the state has revisions by slide."""

    def __init__(self, task: StreamTask, results: SlideResults) -> None:
        self._task, self._results = task, results
        [self._window] = task.windows

    def build_empty(self) -> pa.Table:
        """Build the output without slides."""
        return _add_revisions(self._results.build_empty(), np.empty(0, np.int32))

    def emit(self, rows: JoinedRows, progress: Progress, decisions: RowDecisions) -> pa.Table | None:
        """Compute the slides that are complete for the first time, and those whose frames have changed."""
        finality = self._results.finality
        _retain_for_late_rows(self._task, finality, rows, progress, decisions)
        view = finality.view(rows, progress)
        # Of frames with following rows, a slide may be known and not complete: time alone may make it so.
        fresh = ~rows.emitted if self._window.waits else ~rows.find_seen(progress.previous)
        selection = finality.select(view, fresh)
        finality.schedule(view, selection, rows.emitted, decisions)
        return None if selection is None else self._compute(rows, selection, progress, decisions)

    def _compute(self, rows: JoinedRows, selection: Selection, progress: Progress, decisions: RowDecisions) -> pa.Table:
        assert progress.watermark is not None
        found = self._results.find_complete(selection.rows, progress.watermark)
        keys = rows.number_keys(find_key_rows(found.slides, selection.rows, selection.places))
        was_emitted, changed = self._compare(rows, selection, found, keys, progress.previous)
        revisions = was_emitted.astype(np.int32)
        again = np.flatnonzero(changed & was_emitted)
        revisions[again] += self._withdraw_revisions(rows, keys[again], found.ids[again], decisions)
        slides, ids, keys, revisions = (
            found.slides.filter(changed),
            found.ids[changed],
            keys[changed],
            revisions[changed],
        )
        times = self._results.time_slides(rows, selection, slides)
        more = revisions > 0
        columns = [pa.array(ids[more]), pa.array(revisions[more])]
        decisions.last_results = record_results(
            self._task, rows, keys[more], times[more], columns, decisions.last_results
        )
        return _add_revisions(self._results.build(selection.rows, slides), revisions)

    def _compare(
        self, rows: JoinedRows, selection: Selection, now: FoundSlides, keys: np.ndarray, previous: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the slides that were emitted before, and those that were not, or whose frames have changed since."""
        was_emitted, changed = np.zeros(len(keys), bool), np.ones(len(keys), bool)
        before = PreviousRows(self._results.finality, rows, selection.places, previous)
        if previous is None or not len(before.places):
            return was_emitted, changed
        then = self._results.find_complete(before.rows, previous)
        keys_then = rows.number_keys(find_key_rows(then.slides, before.rows, before.places))
        found, at = _match(keys, now.ids, keys_then, then.ids)
        was_emitted[found] = True
        changed[found] = before.find_changed(now.slides.frames.take(found), then.slides.frames.take(at))
        if now.slides.rows is not None and then.slides.rows is not None:  # what is emitted has the order of its row
            group = selection.rows.number_groups()
            changed[found] |= group[now.slides.rows[found]] != group[before.index_in_selection(then.slides.rows[at])]
        return was_emitted, changed

    def _withdraw_revisions(
        self, rows: JoinedRows, keys: np.ndarray, ids: np.ndarray, decisions: RowDecisions
    ) -> np.ndarray:
        """Take the recorded revisions of some slides out of the state; 0 where none was recorded."""
        last = decisions.last_results
        recorded = find_keys(last, rows, self._task.partition_by)
        found, at = _match(keys, ids, recorded, last[f"{RESULT_VALUE}0"].to_numpy())
        revisions = np.zeros(len(keys), np.int32)
        revisions[found] = last[f"{RESULT_VALUE}1"].to_numpy()[at]
        stay = np.ones(len(last), bool)
        stay[at] = False
        decisions.last_results = last.filter(pa.array(stay))
        return revisions


class PreviousRows:
    """The rows of a selection that were known in the step before, as they were then."""

    def __init__(self, finality: Finality, rows: JoinedRows, places: np.ndarray, previous: int | None) -> None:
        #: which of the selected rows these are, and their index in the current rows
        self.seen = rows.find_seen(previous)[places]
        self.places = places[self.seen]
        view = finality.view(rows.take(self.places), Progress(previous, None))
        self.rows, _ = finality.arrange(view, np.arange(len(self.places)))
        #: how many of the first k selected rows these are
        self.rank = np.concatenate(([0], np.cumsum(self.seen)))

    def index_in_selection(self, rows: np.ndarray) -> np.ndarray:
        """Index these rows in the selection."""
        return np.flatnonzero(self.seen)[rows]

    def find_changed(self, now: Frames, then: Frames) -> np.ndarray:
        """Find the frames that have gained or lost a row."""
        changed = np.zeros(len(now), bool)
        for piece, was in zip(pieces_of(now), pieces_of(then), strict=True):
            start, end = self.rank[piece.start], self.rank[piece.end]
            changed |= (end - start != piece.count) | (start != was.start) | (end != was.end)
        return changed


def _retain_for_late_rows(
    task: StreamTask, finality: Finality, rows: JoinedRows, progress: Progress, decisions: RowDecisions
) -> None:
    """Keep what results need that late rows may still change: that of a stream whose watermark is `keep` behind."""
    assert task.keep is not None
    view = finality.view(rows, progress.move_back(task.keep))
    finality.retain(view, finality.select(view, fresh=~rows.emitted), decisions)


def _match(
    keys: np.ndarray, ids: np.ndarray, other_keys: np.ndarray, other_ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find where two lists of slides have the same ones."""
    numbers = np.unique(np.concatenate([ids, other_ids]), return_inverse=True)[1]
    slides = np.concatenate([keys, other_keys]) * (len(numbers) + 1) + numbers
    _, one, other = np.intersect1d(slides[: len(keys)], slides[len(keys) :], return_indices=True)
    return one, other


def _add_final(table: pa.Table, final: bool) -> pa.Table:
    return table.append_column(FINAL, pa.array(np.full(len(table), final)))


def _add_revisions(table: pa.Table, revisions: np.ndarray) -> pa.Table:
    return table.append_column(REVISION, pa.array(revisions, pa.int32()))
