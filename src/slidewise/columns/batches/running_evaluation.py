"""Running evaluation: frames that begin with their key, chunk by chunk, and what is carried from one to the next.

A frame that begins with its key would need all of it. Instead, where the aggregation allows it, one of two things is
carried from chunk to chunk: a partial of the rows that are gone, or, for those that pick a row (max, first, max_by...),
that very row, which stays at the front of the next chunk. The rest keeps the rows of its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.extremes import Max, MaxBy, MinBy
from slidewise.aggregations.over import Over
from slidewise.aggregations.positions import First, Last
from slidewise.aggregations.sums import Count
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.columns import encoding
from slidewise.columns.arranged import RowView
from slidewise.columns.batches.chunk import Chunk
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.execute import compute
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.slides import Slides
from slidewise.templates import scan
from slidewise.templates.compile import kernel

#: the most rows of a key that compiled partials are proven for
MOST_ROWS = 2**31 - 1


def carries_row(over: Over) -> bool:
    """Tell whether the row that the aggregation picks can stand for all rows that are gone."""
    return over.algorithm == "auto" and over.aggregation.picks_row


def carries_partial(over: Over, kinds: Mapping[str, pa.DataType]) -> bool:
    """Tell whether a partial can stand for the rows that are gone: it must not grow, nor have codes of one chunk.

    Nor may frames end earlier again, as they do where months are counted and clocks go back.
    """
    aggregation, reach = over.aggregation, over.window.reach
    if over.algorithm != "auto" or not aggregation.size_preserving or aggregation.nulls != "skip" or aggregation.asks:
        return False
    if reach is None or not reach.monotone:
        return False
    if isinstance(aggregation, Count):
        return True
    return all(_encodes_alike(aggregation, k, kinds[name]) for k, name in enumerate(aggregation.columns))


def _encodes_alike(aggregation: Aggregation, position: int, kind: pa.DataType) -> bool:
    """Tell whether a value is encoded as the same number in every chunk."""
    how = encoding.encoding_for(aggregation, position, "", kind)
    of = encoding.family(kind)
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if of == "null" or plain == pa.uint64():  # all of a chunk are encoded otherwise where one is above int64
        return False
    if how == "order":  # or by ranks; sums of durations are made apart
        ranked = of in ("string", "binary") or (of == "decimal" and plain.precision > 18)
        ranked |= plain != kind and of != "float"
        return not ranked and not aggregation.exact_in_units
    # Sums of decimals are made apart, too; the numbers of rows are of one chunk.
    return how in ("number", "double", "object") and of != "duration"


@dataclass
class Carried:
    """The partial of one aggregation over the rows that are gone."""

    #: one partial, as an array for kernels or as any object; None: nothing is carried yet
    partial: Any = None


class RunningEvaluation(Evaluation):
    """The columns of one chunk, with running frames that go on from the chunk before."""

    def __init__(
        self,
        chunk: Chunk,
        expressions: Iterable[Over],
        kept: int,
        carried: Mapping[Over, Carried],
        gone: int,
        slides: Slides | None = None,
    ) -> None:
        super().__init__(chunk, expressions, 1, slides)
        #: the first rows of the chunk that are already part of what is carried
        self.kept = kept
        self.carried, self.gone = carried, gone

    def column(self, over: Over) -> pa.Array:
        if over not in self.carried:
            return super().column(over)
        view = self.data.view(over.aggregation)
        values, valid = _Scan(over.aggregation, view, self.gone).run(
            view.frames(over.window).end, self._find_keys(view)[0], self._find_first(view), self.carried[over]
        )
        if over.aggregation.empty is not None:
            values[~valid] = over.aggregation.empty
            valid = np.ones(len(valid), bool)
        decode = (
            encoding.results_as_arrow if isinstance(over.aggregation, Count) else self._decoder(over.aggregation, view)
        )
        return self._finish(values, valid, self.data.due(over.window), decode)

    def carry(self, over: Over, last: int) -> Carried:
        """Compute what is carried of the last key once its rows before row `last` are gone."""
        view = self.data.view(over.aggregation)
        goes_on = len(self.data.offsets) == 2
        before = self.carried[over] if goes_on else Carried()
        first = self._find_first(view) if goes_on else int(view.offsets[-2])
        return _Scan(over.aggregation, view, self.gone).fold(first, _count_before(view, last), before)

    def pick_row(self, over: Over, last: int) -> int | None:
        """Find the row of the last key that the aggregation picks of those before row `last`; None: it picks none."""
        aggregation = over.aggregation
        view = self.data.view(aggregation)
        first, last = int(view.offsets[-2]), _count_before(view, last)
        if first >= last:
            return None
        if isinstance(aggregation, First):
            return int(view.row(np.array([last - 1 if isinstance(aggregation, Last) else first]))[0])
        codes = view.arguments(aggregation)[-1].values
        pick = MaxBy() if isinstance(aggregation, Max | MaxBy) and not isinstance(aggregation, MinBy) else MinBy()
        frame = Frames(np.array([first]), np.array([last]))
        rows, _ = compute(pick, (np.arange(len(codes)), codes), frame, "recalculate")
        return int(view.row(rows)[0])

    def _find_first(self, view: RowView) -> int:
        return _count_before(view, self.kept)


def _count_before(view: RowView, row: int) -> int:
    """Count the rows of a view before a row of the chunk."""
    return row if view.left_out is None else int(np.count_nonzero(~view.left_out[:row]))


class _Scan:
    """Folding rows of a view into a partial: compiled where numba can, interpreted where not."""

    def __init__(self, aggregation: Aggregation, view: RowView, gone: int) -> None:
        self.aggregation, self.view = aggregation, view
        self.columns = tuple(encoded.values for encoded in view.arguments(aggregation))
        numeric = all(c.dtype.kind in "biuf" for c in self.columns)
        # The variant for columns of the largest values that there are is right for every chunk.
        self.op = aggregation.compiled(tuple(map(_find_extremes, self.columns)), MOST_ROWS) if numeric else None
        if gone + len(self.columns[0]) > MOST_ROWS:
            raise OverflowError(f"{aggregation!r} over a running frame of more than {MOST_ROWS} rows of one key")
        self.partial = None if self.op is None else partial_dtype(self.op, self.columns)

    def run(self, end: np.ndarray, frames: np.ndarray, first: int, before: Carried) -> tuple[np.ndarray, np.ndarray]:
        """Compute the results of running frames that end before the rows `end`."""
        valid = np.zeros(len(end), bool)
        if self.op is not None and self.partial is not None:
            out = np.zeros(len(end), result_dtype(self.op, self.columns, self.partial))
            carried, has = self._copy_partial(before)
            arguments = (self.columns, self.view.offsets, first, frames, end, carried, has, out, valid)
            if self._call(scan.run, arguments):
                return out, valid
        return self._run_interpreted(end, frames, first, before)

    def fold(self, first: int, last: int, before: Carried) -> Carried:
        """Fold rows first to last - 1 into what is carried."""
        if first >= last:
            return before
        if self.op is not None:
            carried, has = self._copy_partial(before)
            if self._call(scan.fold, (self.columns, first, last, carried, has)):
                return Carried(carried)
        total = before.partial
        for row in self._iterate_rows(first, last):
            total = self._add(total, row)
        return Carried(total)

    def _copy_partial(self, before: Carried) -> tuple[np.ndarray, bool]:
        has = isinstance(before.partial, np.ndarray)
        return (before.partial.copy() if has else np.zeros(1, self.partial)), has

    def _call(self, driver: Any, arguments: tuple[Any, ...]) -> bool:
        assert self.op is not None and self.partial is not None
        function = kernel(driver, None, self.op, self.partial, arguments)
        if function is not None:
            function(*arguments)
        return function is not None

    # ---- interpreted
    def _run_interpreted(
        self, end: np.ndarray, frames: np.ndarray, first: int, before: Carried
    ) -> tuple[np.ndarray, np.ndarray]:
        results: list[Any] = [None] * len(end)
        for k, begin in enumerate(self.view.offsets[:-1].tolist()):
            at, total = (first, before.partial) if k == 0 and before.partial is not None else (begin, None)
            for i in range(int(frames[k]), int(frames[k + 1])):
                for row in self._iterate_rows(at, int(end[i])):
                    total = self._add(total, row)
                at = max(at, int(end[i]))
                if total is not None and self.aggregation.defined(total):
                    results[i] = self.aggregation.lower(total)
        out = np.empty(len(results), object)
        for i, result in enumerate(results):  # a slice would take lists apart
            out[i] = result
        return out, np.array([r is not None for r in results], bool)

    def _iterate_rows(self, first: int, last: int) -> Iterable[tuple[Any, ...]]:
        return zip(*(c[first:last].tolist() for c in self.columns), strict=True)

    def _add(self, total: Any, row: tuple[Any, ...]) -> Any:
        lifted = self.aggregation.lift(*row)
        return lifted if total is None else self.aggregation.combine(total, lifted)


def _find_extremes(column: np.ndarray) -> np.ndarray:
    """Find the least and the largest value of a column's type."""
    if column.dtype.kind not in "iu":
        return column[:0]
    limits = np.iinfo(column.dtype)
    return np.array([limits.min, limits.max], column.dtype)
