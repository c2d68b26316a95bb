"""One row per key and slide of a stream, when the slide is complete.

Slides at rows, the k-th or those that a column tells, come out as rows do: when their frame is final. Slides by time
come out when the watermark has passed their end, whether or not rows of their key come: the rows that are known, and
that an open slide needs, are the history, and slides that end after the mark, up to which all have come out, are new.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slidewise.columns.aggregate import slide_labels
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.frames.slides import Slides, slides_of
from slidewise.errors import InvalidInput
from slidewise.spark.streams.finality import Arrived, first_needed
from slidewise.spark.streams.grid import grid_of, next_complete
from slidewise.spark.streams.pipeline import Processing, of_type
from slidewise.spark.streams.step_data import Fate, Joined, Part, Results, Sessions
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.windows.definitions import DeltaWindow, RowsWindow, TimeWindow

#: Before the first watermark, nothing has come out.
BEGIN = -(2**62)


class SlideProcessing(Processing):
    """What all slides have in common: their columns."""

    def __init__(self, task: StreamTask) -> None:
        super().__init__(task)
        [self.window] = task.windows
        assert self.window.every is not None
        self.every = self.window.every
        #: over the rows at hand
        self.expressions = task.expressions

    def _nothing(self) -> pa.Table:
        return self._empty(self.task.rows)

    def _empty(self, rows: pa.Schema) -> pa.Table:
        """No slides of rows with these columns."""
        none = self.task.as_computed(rows.empty_table())
        empty = Arrived(none, self.task.partition_by, self.task.order_by, np.zeros(1, np.int64))
        return self._table(empty, slides_of(self.window, empty))

    def _table(self, rows: Arrived, slides: Slides) -> pa.Table:
        """Slides as rows: the keys, which slide it is, and the results."""
        expressions = self.expressions
        rows.set_frames(self.window, slides.frames)
        out = self._labels(rows, slides)
        results = Evaluation(rows, expressions.values(), 1, slides.offsets).columns(expressions)
        for (name, column), kind in zip(results.items(), self.task.kinds, strict=True):
            out[name] = of_type(column, kind)
        return pa.table(out)

    def _labels(self, rows: Arrived, slides: Slides) -> dict[str, pa.Array]:
        return slide_labels(rows, slides)


class RowSlides(SlideProcessing):
    """Slides at rows: every so many, by delta, or by punctuation."""

    def __init__(self, task: StreamTask) -> None:
        super().__init__(task)
        self._counts = isinstance(self.every, RowsWindow)
        if not task.order_by or isinstance(self.every, RowsWindow | DeltaWindow):
            self._lookback = None  # one row stays, from which the next slide counts

    def _first_needed(self, rows: Arrived, first: np.ndarray, watermark: int | None) -> np.ndarray:
        needed = super()._first_needed(rows, first, watermark)
        if isinstance(self.every, RowsWindow):
            return np.minimum(needed, rows.end - 1)
        if isinstance(self.every, DeltaWindow):  # a slide is measured from the last one, which stays
            row = np.arange(rows.offsets[-1])
            fires = np.zeros(len(row), bool)
            fires[slides_of(self.window, rows).rows] = True
            fires[rows.begin] = True
            last = np.maximum.accumulate(np.where(fires, row, 0))
            return last[np.minimum(needed, rows.end - 1)]
        return needed

    def _output(self, joined: Joined, part: Part, out: np.ndarray) -> Results:
        slides = slides_of(self.window, part.rows)
        assert slides.rows is not None
        slides = slides.those(out[slides.rows])
        return Results(self._table(part.rows, slides), part.places[slides.rows])


class TimeSlides(SlideProcessing):
    """Slides by time: hopping windows, and any other size at boundaries."""

    def __init__(self, task: StreamTask) -> None:
        super().__init__(task)
        assert isinstance(self.every, TimeWindow) and task.time is not None
        self.grid = grid_of(task)
        every, hopping = self.grid.every, self.grid.size is not None
        self._lookback = None if hopping or self._lookback is None else self._lookback + every
        if not hopping and task.forget_after is not None and task.forget_after < every:
            raise InvalidInput(
                f"aggregate: forget_after is at least as long as the slide, {self.every.size!r}: a key would be "
                "forgotten before its slide is complete"
            )

    def _results(self, joined: Joined, watermark: int | None, mark: int | None, fate: Fate) -> Results | None:
        assert watermark is not None
        mark = BEGIN if mark is None else mark
        arrived = self._settle_slides(joined, watermark, mark, fate)
        fate.pending = fate.waits
        if arrived is None:
            return None
        rows, places = arrived
        slides = slides_of(self.window, rows)
        last = last_times(slides)
        chosen = (last <= watermark) & (last > mark)
        slides = slides.those(chosen)
        return Results(self._table(rows, slides), rows_of(slides, rows, places), last[chosen])

    def _settle_slides(
        self, joined: Joined, watermark: int, mark: int, fate: Fate
    ) -> tuple[Arrived, np.ndarray] | None:
        """Decide which rows wait, and which are still needed; the rows of keys with slides that close by then."""
        assert joined.times is not None
        hopping = self.grid.size is not None
        known = joined.known(watermark)
        sessions = self._sessions(joined, known, watermark)
        fate.due, fate.waits = next_complete(self.grid, joined.times, watermark), ~known
        is_open = fate.due != NEVER
        fate.history = known & (is_open if hopping else is_open | joined.emitted)
        if self._lookback is not None:
            fate.history &= joined.times >= watermark - self._lookback
        arrived = self._closing(joined, known, sessions, ~joined.emitted, watermark, mark)
        if arrived is not None and not hopping:
            rows, places = arrived
            needed = first_needed(self.window, rows, rows.first(is_open[places]), watermark)
            fate.history[places] = np.arange(len(places)) >= np.repeat(needed, np.diff(rows.offsets))
        if not hopping:
            fate.history &= ~sessions.ended[sessions.of]
        return arrived

    def _sessions(self, joined: Joined, known: np.ndarray, watermark: int | None) -> Sessions:
        if self.grid.size is None:
            return super()._sessions(joined, known, watermark)
        # A hopping window may reach over the time in which a key is forgotten; nothing stays for longer than it does.
        number = len(joined.begin)
        of = np.repeat(np.arange(number), np.diff(joined.offsets))
        return Sessions(joined.offsets, of, np.zeros(number, bool))

    def _closing(
        self, joined: Joined, known: np.ndarray, sessions: Sessions, fresh: np.ndarray, watermark: int, mark: int
    ) -> tuple[Arrived, np.ndarray] | None:
        """The known rows of sessions of which slides close, or some rows are fresh."""
        closing = known & ((next_complete(self.grid, joined.times, mark) <= watermark) | fresh)  # type: ignore[arg-type]
        news = np.bincount(sessions.of[closing], minlength=len(sessions.ended)) > 0
        places = np.flatnonzero(known & news[sessions.of])
        return (self._arrived(joined, places, sessions)[0], places) if len(places) else None

    def _over(self, joined: Joined) -> np.ndarray:
        # The rows of a hopping window go when it closes, and each has its time for that.
        return super()._over(joined) if self.grid.size is None else np.full(len(joined.offsets) - 1, NEVER)


def rows_of(slides: Slides, rows: Arrived, places: np.ndarray) -> np.ndarray:
    """A row at hand of the key of each slide."""
    return np.repeat(places[rows.begin], np.diff(slides.offsets))


def last_times(slides: Slides) -> np.ndarray:
    """The last time that belongs to each slide by time."""
    ends: np.ndarray = slides.labels["window_end"].cast(pa.int64()).to_numpy()
    return ends - 1
