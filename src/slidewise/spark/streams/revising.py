"""late="revise": late rows are taken, and results whose frames they change come out again.

With F the watermark less `keep`, rows up to F are late for good, and what is kept is what a stream with the watermark F
keeps: rows that are final by then are history, and all others wait, whether or not they have come out. What comes out
follows the watermark itself: results that are final for the first time, and those whose frames were others in the step
before. Rows stand in one order, and so the frames of both steps are compared by counting: a frame is the same one if it
has no row that was not there before, and as many of those that were, before its start and before its end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from slidewise.columns.evaluate import pieces_of
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.slides import Slides, slides_of
from slidewise.spark.streams.finality import Arrived
from slidewise.spark.streams.grid import next_complete
from slidewise.spark.streams.last_results import key_numbers, noted
from slidewise.spark.streams.pipeline import Processing
from slidewise.spark.streams.slides import BEGIN, RowSlides, SlideProcessing, TimeSlides, last_times, rows_of
from slidewise.spark.streams.state_store import Held
from slidewise.spark.streams.step_data import Fate, Joined, Part, Results
from slidewise.spark.streams.stream_task import NEVER, NOTE, REVISION, REVISIONS, ROW, StreamTask


class Revising(Processing):
    """What rows and slides that are revised have in common."""

    def __init__(self, task: StreamTask) -> None:
        super().__init__(task)
        assert task.keep is not None
        self.keep = task.keep

    def _nothing(self) -> pa.Table:
        return super()._nothing().append_column(REVISION, pa.array([], pa.int32()))

    def _before(self, joined: Joined, places: np.ndarray, mark: int | None) -> Before:
        """The rows of some places that were known in the step before."""
        seen = joined.seen(mark)[places]
        there = places[seen]
        then = joined.those(there)
        everywhere = np.ones(len(there), bool)
        rows, _ = self._arrived(then, np.arange(len(there)), self._sessions(then, everywhere, mark))
        return Before(rows, there, seen)


class Before:
    """Rows as they were in the step before."""

    def __init__(self, rows: Arrived, places: np.ndarray, seen: np.ndarray) -> None:
        self.rows, self.places, self.seen = rows, places, seen
        #: how many of the first k rows of now were there
        self.rank = np.concatenate(([0], np.cumsum(seen)))

    def now(self, rows: np.ndarray) -> np.ndarray:
        """Where rows of then are now."""
        return np.flatnonzero(self.seen)[rows]

    def differ(self, now: Frames, then: Frames) -> np.ndarray:
        """Which frames have gained or lost a row."""
        out = np.zeros(len(now), bool)
        for piece, was in zip(pieces_of(now), pieces_of(then), strict=True):
            start, end = self.rank[piece.start], self.rank[piece.end]
            out |= (end - start != piece.count) | (start != was.start) | (end != was.end)
        return out


class RevisedRows(Revising):
    """A result per row, and the number of its revision with the row."""

    def _join(self, held: Held, new: pa.Table, hashes: np.ndarray) -> Joined:
        joined = super()._join(held, new, hashes)
        waits = ~joined.emitted
        revisions = np.zeros(len(waits), np.int32)
        before = np.append(held.waiting[REVISIONS].to_numpy(), np.full(len(new), -1, np.int32))
        revisions[waits] = before[joined.origin[waits]]
        return replace(joined, revisions=revisions)

    def _results(self, joined: Joined, watermark: int | None, mark: int | None, fate: Fate) -> Results | None:
        assert watermark is not None and joined.times is not None and joined.revisions is not None
        self._settle(joined, watermark - self.keep, fate)
        known, unseen = joined.known(watermark), joined.revisions < 0
        fate.revisions, fate.due = joined.revisions.copy(), np.where(unseen, joined.times, NEVER)
        part = self._part(joined, self._sessions(joined, known, watermark), known, unseen, watermark)
        results = None
        if part is not None:
            places, first_time = part.places, unseen[part.places]
            again = self._changed(joined, part, mark) & ~joined.emitted[places] & ~first_time
            out = again | (part.final & first_time)
            fate.revisions[places] += out
            fate.due[places] = np.where(first_time & ~out, part.each(part.due), NEVER)
            results = self._output(joined, part, out)
            table = results.table.append_column(REVISION, pa.array(fate.revisions[places[out]]))
            results = replace(results, table=table)
        fate.pending = fate.waits & (fate.revisions < 0)
        return results

    def _changed(self, joined: Joined, part: Part, mark: int | None) -> np.ndarray:
        """Which rows have other frames than in the step before."""
        out = np.zeros(len(part.places), bool)
        before = self._before(joined, part.places, mark)
        rows = np.flatnonzero(before.seen)
        if len(rows):
            for window in self.task.windows:
                then = before.rows.frames(window).take(before.rank[rows])
                out[rows] |= before.differ(part.rows.frames(window).take(rows), then)
        return out

    def _waiting(self, joined: Joined, fate: Fate) -> pa.Table:
        rows = joined.whole.take(pa.array(joined.origin[fate.waits]))
        assert fate.revisions is not None
        return rows.append_column(REVISIONS, pa.array(fate.revisions[fate.waits])).select(self.task.waiting.names)


class RevisedSlides(Revising, SlideProcessing):
    """A result per slide. A slide has come out if it was complete in the step before; revisions are notes."""

    def _complete(self, rows: Arrived, watermark: int) -> tuple[Slides, np.ndarray]:
        """The slides that are complete, and what tells those of one key apart: numbers that ascend."""
        raise NotImplementedError

    def _revised(
        self, joined: Joined, rows: Arrived, places: np.ndarray, watermark: int, mark: int | None, fate: Fate
    ) -> Results:
        slides, ids = self._complete(rows, watermark)
        keys = joined.key_of(rows_of(slides, rows, places))
        revisions, changed = np.zeros(len(keys), np.int32), np.ones(len(keys), bool)
        before = self._before(joined, places, mark)
        if mark is not None and len(before.places):
            then, were = self._complete(before.rows, mark)
            found, at = _found(keys, ids, joined.key_of(rows_of(then, before.rows, before.places)), were)
            changed[found] = before.differ(slides.frames.take(found), then.frames.take(at))
            if slides.rows is not None and then.rows is not None:  # what comes out has the order of its row
                group = rows.groups()
                changed[found] |= group[slides.rows[found]] != group[before.now(then.rows[at])]
            revisions[found] = 1
        notes, key = fate.notes, key_numbers(fate.notes, joined, self.task.partition_by)
        again = np.flatnonzero(changed & (revisions > 0))
        found, at = _found(keys[again], ids[again], key, notes[f"{NOTE}0"].to_numpy())
        revisions[again[found]] += notes[f"{NOTE}1"].to_numpy()[at]
        slides, ids, keys, revisions = slides.those(changed), ids[changed], keys[changed], revisions[changed]
        times = self._times(joined, places, slides)
        stay = np.ones(len(notes), bool)
        stay[at] = False
        more = revisions > 0
        columns = [pa.array(ids[more]), pa.array(revisions[more])]
        fate.notes = noted(self.task, joined, keys[more], times[more], columns, notes.filter(pa.array(stay)))
        return Results(
            self._table(rows, slides).append_column(REVISION, pa.array(revisions)), joined.begin[keys], times
        )

    def _times(self, joined: Joined, places: np.ndarray, slides: Slides) -> np.ndarray:
        """The time of each slide."""
        raise NotImplementedError


def _found(
    keys: np.ndarray, ids: np.ndarray, other_keys: np.ndarray, other_ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where two lists of slides have the same ones."""
    numbers = np.unique(np.concatenate([ids, other_ids]), return_inverse=True)[1]
    slides = np.concatenate([keys, other_keys]) * (len(numbers) + 1) + numbers
    _, one, other = np.intersect1d(slides[: len(keys)], slides[len(keys) :], return_indices=True)
    return one, other


class RevisedTimeSlides(RevisedSlides, TimeSlides):
    """Slides by time, told apart by their end."""

    def _results(self, joined: Joined, watermark: int | None, mark: int | None, fate: Fate) -> Results | None:
        assert watermark is not None and joined.times is not None
        begin = BEGIN if mark is None else mark
        self._settle_slides(joined, watermark - self.keep, begin - self.keep, fate)
        known = joined.known(watermark)
        fate.due, fate.pending = next_complete(self.grid, joined.times, watermark), ~known
        sessions = self._sessions(joined, known, watermark)
        arrived = self._closing(joined, known, sessions, ~joined.seen(mark), watermark, begin)
        return None if arrived is None else self._revised(joined, *arrived, watermark, mark, fate)

    def _complete(self, rows: Arrived, watermark: int) -> tuple[Slides, np.ndarray]:
        slides = slides_of(self.window, rows)
        last = last_times(slides)
        return slides.those(last <= watermark), last[last <= watermark]

    def _times(self, joined: Joined, places: np.ndarray, slides: Slides) -> np.ndarray:
        return last_times(slides)

    def _over(self, joined: Joined) -> np.ndarray:
        if self.grid.size is None:
            return super()._over(joined)
        assert joined.times is not None
        return joined.times[joined.offsets[1:] - 1] + self.grid.size + self.keep


class RevisedRowSlides(RevisedSlides, RowSlides):
    """Slides at every so many rows, told apart by the number of their row: a late row moves them to other rows."""

    def _results(self, joined: Joined, watermark: int | None, mark: int | None, fate: Fate) -> Results | None:
        assert watermark is not None and joined.times is not None
        self._settle(joined, watermark - self.keep, fate)
        known = joined.known(watermark)
        fate.due, fate.pending = np.where(known, NEVER, joined.times), ~known
        # Of frames with following rows, a slide may be known and not complete: time alone may make it so.
        fresh = ~joined.emitted if self.window.waits else ~joined.seen(mark)
        part = self._part(joined, self._sessions(joined, known, watermark), known, fresh, watermark)
        if part is None:
            return None
        fate.due[part.places] = np.where(part.final, NEVER, part.each(part.due))
        fate.pending[part.places] = ~part.final
        return self._revised(joined, part.rows, part.places, watermark, mark, fate)

    def _complete(self, rows: Arrived, watermark: int) -> tuple[Slides, np.ndarray]:
        slides = slides_of(self.window, rows)
        assert slides.rows is not None
        first, _ = self._first_open(rows, watermark)
        complete = slides.rows < np.repeat(first, np.diff(slides.offsets))
        slides = slides.those(complete)
        return slides, rows.places[slides.rows] + 1

    def _times(self, joined: Joined, places: np.ndarray, slides: Slides) -> np.ndarray:
        assert joined.times is not None and slides.rows is not None
        return joined.times[places[slides.rows]]

    def _labels(self, rows: Arrived, slides: Slides) -> dict[str, pa.Array]:
        return super()._labels(rows, slides) | {ROW: pa.array(rows.places[slides.rows] + 1)}
