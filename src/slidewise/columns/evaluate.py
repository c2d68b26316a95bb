"""From expressions to columns: what is shared between them, and how each result is made.

Order, frames, codes and null masks are made once per call (arranged.py). Here equal aggregates are computed once, what
follows from others is derived from them, and what can be read off the bounds of a frame needs no algorithm at all.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations import integer_sums
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList, CollectSet
from slidewise.aggregations.distinct import AvgDistinct, OfDistinct, SumDistinct
from slidewise.aggregations.frequencies import CountDistinct
from slidewise.aggregations.over import Over
from slidewise.aggregations.places import Place
from slidewise.aggregations.positions import Last, NthValue
from slidewise.aggregations.ranks import Percentile
from slidewise.aggregations.sums import Avg, Count, Sum
from slidewise.columns import encoding, fused
from slidewise.columns.arranged import ArrangedFrame, RowView
from slidewise.columns.buffers import are_all_valid
from slidewise.columns.execute import goes_by_lanes
from slidewise.columns.frames.bounds import Frames, Pieces, Scattered
from slidewise.columns.frames.slides import Slides
from slidewise.columns.threads import compute_keys
from slidewise.errors import InvalidInput
from slidewise.planner.choose import Situation, choose
from slidewise.planner.sharing import base_of, may_join, read_off
from slidewise.windows.definitions import groups_between

#: the rows of equal order
_PEERS = groups_between(0, 0)

#: results in the arranged order, and which of them are not null
Result = tuple[np.ndarray, np.ndarray]


class Evaluation:
    """The columns of one call."""

    def __init__(
        self, data: ArrangedFrame, expressions: Iterable[Over], threads: int, slides: Slides | None = None
    ) -> None:
        self.data, self.threads = data, threads
        #: what results are for; None: every row has a frame, and results go back to the input's order
        self.slides = slides
        self.wanted = set(expressions)
        self._done: dict[Any, Result] = {}

    def columns(self, expressions: Mapping[str, Over]) -> dict[str, pa.Array]:
        """Compute the new columns, window by window, so that what is made for one of them can go before the next."""
        windows = list(dict.fromkeys(over.window for over in expressions.values()))
        windows.sort(key=lambda window: window.looks_at_order, reverse=True)
        done: dict[str, pa.Array] = {}
        for window, following in zip(windows, [*windows[1:], None], strict=True):
            self.data.frames(window)
            if following is None or not following.looks_at_order:
                self.data.forget()
            here = {name: over for name, over in expressions.items() if over.window == window}
            if len(self.data.source) * len(expressions) >= fused.MANY:
                self._join(list(dict.fromkeys(here.values())))
            done |= {name: self.column(over) for name, over in here.items()}
            self.data.forget(window)
            self._done.clear()
        return {name: done[name] for name in expressions}

    def column(self, over: Over) -> pa.Array:
        """Compute one new column, in the order of the input."""
        aggregation, window = over.aggregation, over.window
        if isinstance(aggregation, Percentile) and aggregation.parts:
            return encoding.zip_lists([self.column(Over(part, window, over.algorithm)) for part in aggregation.parts])
        if isinstance(aggregation, Place):
            return self._number_rows(aggregation)
        view = self.data.view(aggregation)
        frames = view.frames(window)
        due = self.data.due(window) if self.slides is None else None
        # Frames that are lists of rows have no bounds to read anything off.
        bounded = isinstance(frames, Pieces) or not isinstance(frames, Scattered)
        if (read_off(over) or aggregation.own_frame) and (bounded or isinstance(aggregation, Count)):
            if isinstance(aggregation, CollectList):
                return self._collect_lists(aggregation, view, frames, due)
            values, valid = _read_off(aggregation, view, frames)
            decode = encoding.results_as_arrow if isinstance(aggregation, Count) else self._row_decoder(aggregation)
            if isinstance(aggregation, NthValue) and aggregation.empty is not None:
                decode = _fill_missing(decode, aggregation)
            return self._finish(values, valid, due, decode)
        if self._is_exact(aggregation):
            return self._compute_exactly(over, view, frames, due)
        values, valid = self._compute_once(over, view, frames)
        return self._finish(values, valid, due, self._decoder(aggregation, view))

    def _number_rows(self, aggregation: Place) -> pa.Array:
        """Compute what the place of each row in its key tells. O(1) per row."""
        aggregation.require_order(self.data.order_by, "with_columns")
        peers, offsets = self.data.frames(_PEERS), self.data.offsets
        lengths = np.diff(offsets)
        begin, rows = np.repeat(offsets[:-1], lengths), np.repeat(lengths, lengths)
        row = np.arange(len(begin))
        groups = np.cumsum(peers.start == row)
        found = aggregation.number_rows(
            row - begin, rows, peers.start - begin, peers.end - begin, groups - groups[begin] if len(groups) else groups
        )
        return self._finish(found, np.ones(len(found), bool), None, encoding.results_as_arrow)

    # ---- computing
    def _compute_once(self, over: Over, view: RowView, frames: Frames) -> Result:
        if over not in self._done:
            self._done[over] = self._compute(over, view, frames)
        return self._done[over]

    def _compute(self, over: Over, view: RowView, frames: Frames) -> Result:
        aggregation = over.aggregation
        derived = self._derive(over, view, frames)
        if derived is not None:
            return derived
        encoded = view.arguments(aggregation)
        columns = tuple(e.values for e in encoded)
        if not aggregation.asks:
            return self._run(aggregation, columns, view, frames, over.algorithm)
        asked, known = self._read_questions(aggregation)
        values, valid = self._run(aggregation, columns, view, frames, over.algorithm, asked)
        return values, valid & known

    def _read_questions(self, aggregation: Aggregation) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Read what the row of each result asks, in numbers, and tell where no null is among them."""
        asked, known = [], np.ones(len(self.data.source), bool)
        for name in aggregation.asks:
            kind = self.data.array(name).type
            if encoding.family(kind) not in ("integer", "float", "decimal", "null"):
                raise InvalidInput(f"{aggregation!r}: the column {name!r} must be of numbers, and is of {kind}")
            null = self.data.mask(name)
            values = self.data.encode(self.data.encoding(name, "double")).values
            asked.append(values if null is None else np.where(null, 0.0, values))
            known &= True if null is None else ~null
        rows = slice(None) if self.slides is None else self.slides.rows
        assert rows is not None, "results of a window by time have no row to ask"
        questions = tuple(np.ascontiguousarray(values[rows], np.float64) for values in asked)
        aggregation.check_questions(questions)
        return questions, known[rows]

    def _run(
        self,
        aggregation: Aggregation,
        columns: tuple[np.ndarray, ...],
        view: RowView,
        frames: Frames,
        algorithm: str,
        asked: tuple[np.ndarray, ...] = (),
    ) -> Result:
        if algorithm == "auto":
            algorithm = _choose_algorithm(aggregation, columns, frames)
        if fused.minds_nan(aggregation) and algorithm == "sba" and not self._may_have_nan(aggregation, view):
            aggregation = aggregation.variant(knows_no_nan=True)
        found = compute_keys([aggregation], columns, frames, algorithm, self._find_keys(view), self.threads, asked)
        assert found is not None
        return _fill_empty(aggregation, frames, *found[0])

    def _find_keys(self, view: RowView) -> tuple[np.ndarray, np.ndarray]:
        """Return where each key begins among the frames and among the rows."""
        return (self.data.offsets if self.slides is None else self.slides.offsets), view.offsets

    # ---- several results in one pass
    def _join(self, overs: list[Over]) -> None:
        """Compute together what reads the same columns over the same frames by the same algorithm."""
        groups: dict[Any, list[Over]] = {}
        for over in overs:
            aggregation = over.aggregation
            if not may_join(over) or self._is_exact(aggregation):
                continue
            view = self.data.view(aggregation)
            frames = view.frames(over.window)
            columns = tuple(e.values for e in view.arguments(aggregation))
            if all(c.dtype.kind in "biuf" for c in columns) and not isinstance(frames, Scattered):
                algorithm = _choose_algorithm(aggregation, columns, frames)
                op = aggregation.compiled(columns, frames.longest)
                counted = frames.longest if algorithm == "sba" and frames.trailing is not None else 0
                alone = op.counted if op is not None and counted else None
                refused = alone is None or (alone.refuses_nan and self._may_have_nan(aggregation, view))
                if alone is not None and not refused and goes_by_lanes(alone, columns, counted):
                    continue  # it is as fast
                if algorithm in fused.ALGORITHMS and op is not None and fused.joinable(op, counted):
                    groups.setdefault((view.key, view.encodings(aggregation), algorithm), []).append(over)
        for (*_, algorithm), group in groups.items():
            for first in range(0, len(group) - 1, fused.MOST):
                self._run_jointly(group[first : first + fused.MOST], algorithm)

    def _run_jointly(self, group: list[Over], algorithm: str) -> None:
        view = self.data.view(group[0].aggregation)
        frames = view.frames(group[0].window)
        encodings = view.encodings(group[0].aggregation)
        columns = tuple(view.encode(encoding).values for encoding in encodings)
        aggregations = [over.aggregation for over in group]
        if any(map(fused.minds_nan, aggregations)) and not self._may_have_nan(aggregations[0], view):
            aggregations = list(map(fused.of_numbers, aggregations))
        found = compute_keys(aggregations, columns, frames, algorithm, self._find_keys(view), self.threads)
        for over, result in zip(group, found or [], strict=found is not None):
            self._done[over] = _fill_empty(over.aggregation, frames, *result)

    def _may_have_nan(self, aggregation: Aggregation, view: RowView) -> bool:
        """Tell whether the first column has a NaN, or is not of floats."""
        encoding = view.encodings(aggregation)[0]
        return view.encode(encoding).values.dtype.kind != "f" or view.has_nan(encoding)

    # ---- results that follow from others
    def _derive(self, over: Over, view: RowView, frames: Frames) -> Result | None:
        """Derive the result from another one of the call, which is then computed once for all that need it."""
        base = base_of(over, self.wanted)
        if base is None:
            return None
        if over.aggregation.from_squares is None:
            column = view.arguments(over.aggregation)[0].values
            if column.dtype.kind == "f" and frames.trailing is not None and base not in self.wanted:
                return None  # alone, it is as fast by itself
            if column.dtype.kind != "f" and not _exact_as_floats(column, frames.longest):
                return None
            total, valid = self._compute_once(base, view, frames)
            return divide_totals(total, frames), valid
        squares, valid = self._compute_once(base, view, frames)
        less, root = over.aggregation.from_squares
        counts = frames.count - less
        with np.errstate(invalid="ignore", divide="ignore"):
            out = squares / counts
        return (np.sqrt(out) if root else out), valid & (counts > 0)

    # ---- exact sums of decimals and durations
    def _is_exact(self, aggregation: Aggregation) -> bool:
        """Tell whether the aggregation is in the integers that the column's values are made of."""
        kinds = (encoding.family(self.data.array(name).type) for name in aggregation.columns[:1])
        return aggregation.exact_in_units and next(kinds) in ("decimal", "duration")

    def _compute_exactly(self, over: Over, view: RowView, frames: Frames, due: np.ndarray | None) -> pa.Array:
        """Compute sums and means in the integers that decimals and durations are made of."""
        aggregation = over.aggregation
        name = aggregation.columns[0]
        kind = self.data.array(name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        digits = view.arguments(aggregation)[0].values
        decimals = pa.types.is_decimal(kind)
        if decimals and (digits.dtype == object or not integer_sums.proven(digits, frames.longest)):
            return self._compute_decimals(over, view, frames, due, kind)
        distinct, mean = isinstance(aggregation, OfDistinct), isinstance(aggregation, Avg | AvgDistinct)
        try:
            total, valid = self._run(SumDistinct() if distinct else Sum(), (digits,), view, frames, over.algorithm)
        except OverflowError:  # of durations, whose mean may fit all the same
            if not mean or distinct:
                raise
            total, valid = self._run(Sum().variant(lower=int), (digits.astype(object),), view, frames, "auto")
            total = np.where(valid, total, 0)
        if mean:
            count = self._run(CountDistinct(), (digits,), view, frames, "auto")[0] if distinct else frames.count
            if not decimals:
                total = divide_exactly(total, count, 1)
            elif _largest(total) < 2**63 // 10**4:
                total = divide_exactly(total, count, 10 ** (encoding.decimal_avg_type(kind).scale - kind.scale))
            else:
                return self._compute_decimals(over, view, frames, due, kind)
        if not decimals:
            return self._finish(total, valid, due, lambda out, ok: encoding.words_as_arrow(out, ok, kind))
        result = encoding.decimal_avg_type(kind) if mean else encoding.decimal_sum_type(kind)
        return self._finish(total, valid, due, lambda out, ok: encoding.decimals_as_arrow(out, ok, result))

    def _compute_decimals(
        self, over: Over, view: RowView, frames: Frames, due: np.ndarray | None, kind: pa.DataType
    ) -> pa.Array:
        """Aggregate decimals that are too wide for 64 bits as Python's, with as many digits as it takes."""
        aggregation = over.aggregation
        values = view.encode((aggregation.columns[0], "object")).values
        mean = isinstance(aggregation, Avg | AvgDistinct)
        result = encoding.decimal_avg_type(kind) if mean else encoding.decimal_sum_type(kind)
        with decimal.localcontext(prec=100):
            out, valid = self._run(aggregation, (values,), view, frames, over.algorithm)
            if mean:
                out = np.array(
                    [encoding.exact_decimal(v, result) if ok else None for v, ok in zip(out, valid, strict=True)],
                    object,
                )
            return self._finish(out, valid, due, lambda values, ok: encoding.objects_as_arrow(values, ok, result))

    # ---- results as columns
    def _finish(
        self, values: np.ndarray, valid: np.ndarray, due: np.ndarray | None, decode: encoding.Decode
    ) -> pa.Array:
        if due is not None:
            valid = valid & due
        return decode(self._restore_order(values), valid if are_all_valid(valid) else self._restore_order(valid))

    def _restore_order(self, values: np.ndarray) -> np.ndarray:
        return values if self.slides is not None else self.data.arrangement.restore(values)

    def _row_decoder(self, aggregation: Aggregation) -> encoding.Decode:
        return self.data.encode((aggregation.columns[0], "row")).decode

    def _decoder(self, aggregation: Aggregation, view: RowView) -> encoding.Decode:
        first = view.arguments(aggregation)[0]
        if aggregation.keeps_type:
            return first.decode
        if isinstance(aggregation, CollectSet | CollectList):
            return lambda values, valid: encoding.lists_as_arrow(values, valid, first)
        kinds = [self.data.array(name).type for name in aggregation.columns]
        return lambda values, valid: encoding.results_as_arrow(
            values,
            valid,
            aggregation.result_fields,
            self._part_decoders(aggregation, view),
            lambda: encoding.type_by_trial(aggregation, kinds),
        )

    def _part_decoders(self, aggregation: Aggregation, view: RowView) -> list[encoding.Decode]:
        """Find how the parts of a result become values of the columns that they are of; none: they are numbers."""
        of = aggregation.parts_keep_type
        if not of:
            return []
        columns = view.arguments(aggregation)
        return [columns[k].decode for k in (of if isinstance(of, tuple) else (0,) * len(aggregation.result_fields))]

    def _collect_lists(
        self, aggregation: Aggregation, view: RowView, frames: Frames, due: np.ndarray | None
    ) -> pa.Array:
        """Collect all values of every frame: one take along the frames, in the order of the input."""
        restore = self._restore_order
        pieces = [Frames(restore(p.start), restore(p.end)) for p in pieces_of(frames)]
        late = None if due is None else restore(~due)
        if late is not None:
            pieces = [Frames(p.start, np.where(late, p.start, p.end)) for p in pieces]
        rows, offsets = Pieces(pieces).rows_of_all()
        values = self.data.take(aggregation.columns[0], view.row(rows), np.ones(len(rows), bool))
        mask = None if late is None else encoding.results_as_arrow(late, np.ones(len(late), bool))
        return encoding.build_lists(offsets, values, mask)


def _fill_empty(aggregation: Aggregation, frames: Frames, out: np.ndarray, valid: np.ndarray) -> Result:
    """Fill in the results of frames without rows."""
    empty = frames.empty
    if empty is None or aggregation.empty is None:
        return out, valid
    if out.dtype.kind == "O":
        for i in np.flatnonzero(empty):
            out[i] = aggregation.empty
    else:
        out[empty] = aggregation.empty
    return out, valid | empty


def _choose_algorithm(aggregation: Aggregation, columns: tuple[np.ndarray, ...], frames: Frames) -> str:
    """Return the algorithm that was asked for, or that the planner chooses."""
    algorithm = choose(aggregation, describe_situation(columns, frames)).algorithm
    if isinstance(frames, Scattered) and not isinstance(frames, Pieces) and algorithm == "flat_fat":
        return "recalculate"
    return algorithm


def describe_situation(columns: tuple[np.ndarray, ...], frames: Frames) -> Situation:
    """Describe columns and frames as the planner needs them to choose an algorithm."""
    return Situation(
        "columns",
        rows=frames.trailing,
        trailing=frames.trailing is not None,
        monotone=frames.monotone,
        numbers=all(c.dtype.kind in "biuf" for c in columns),
        integers=all(c.dtype.kind in "iu" for c in columns),
    )


def pieces_of(frames: Frames) -> list[Frames]:
    """Return the contiguous pieces that frames are made of."""
    return frames.pieces if isinstance(frames, Pieces) else [frames]


# ---- what the bounds alone tell
def _read_off(aggregation: Aggregation, view: RowView, frames: Frames) -> Result:
    """Compute what the bounds of frames tell: the number of rows, or the row of a position. O(1) per row."""
    if isinstance(aggregation, Count):
        return frames.count, np.ones(len(frames), bool)
    pieces = pieces_of(frames)
    if isinstance(aggregation, Last):
        row, found = np.zeros(len(frames), np.int64), np.zeros(len(frames), bool)
        for piece in pieces:
            has = piece.end > piece.start
            row, found = np.where(has, piece.end - 1, row), found | has
        return view.row(row), found
    n = aggregation.n if isinstance(aggregation, NthValue) else 1
    left = np.full(len(frames), n - 1) if n > 0 else sum(piece.end - piece.start for piece in pieces) + n
    row, found = np.zeros(len(frames), np.int64), np.zeros(len(frames), bool)
    for piece in pieces:
        here = ~found & (left >= 0) & (left < piece.end - piece.start)
        row = np.where(here, piece.start + left, row)
        found |= here
        left -= piece.end - piece.start
    return view.row(row), found


def _fill_missing(decode: encoding.Decode, aggregation: Aggregation) -> encoding.Decode:
    """Fill in the default where there is no row; a null that a row has stays."""

    def fill(rows: np.ndarray, valid: np.ndarray) -> pa.Array:
        values = decode(rows, valid)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        try:
            default = pa.array([aggregation.empty], values.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            raise InvalidInput(
                f"{aggregation!r}: the default is a value of the column, which is of {values.type}, got "
                f"{aggregation.empty!r}"
            ) from None
        at = np.where(valid, np.arange(len(valid)), len(valid))
        return pa.concat_arrays([values, default]).take(pa.array(at))

    return fill


# ---- divisions
def divide_totals(totals: np.ndarray, frames: Frames) -> np.ndarray:
    """Divide totals by the number of rows; most frames of trailing rows have one and the same."""
    n = frames.trailing
    if n is None:
        return totals / np.maximum(frames.count, 1)
    out = np.empty(len(totals))
    np.divide(totals[:n], np.arange(1, min(n, len(totals)) + 1), out=out[:n])
    np.divide(totals[n:], n, out=out[n:])
    return out


def _exact_as_floats(column: np.ndarray, longest: int) -> bool:
    """Tell whether no sum of so many of these integers is too large for a float."""
    return column.dtype.kind in "iu" and _largest(column) * longest <= integer_sums.EXACT


def divide_exactly(totals: np.ndarray, counts: np.ndarray, scale: int) -> np.ndarray:
    """Compute totals * scale / counts, rounded half away from zero, in integers: Python's where totals reach 2**63."""
    counts = np.maximum(counts, 1)
    if _largest(totals) >= 2**63:
        totals, counts = totals.astype(object), np.broadcast_to(counts, totals.shape).astype(object)
    size = np.abs(totals)
    whole, rest = size // counts, size % counts
    return (np.sign(totals) * (whole * scale + (2 * rest * scale + counts) // (2 * counts))).astype(
        np.int64, copy=False
    )


def _largest(values: np.ndarray) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
