"""Carriers: how the rows that a running frame holds and a stream keeps no longer go on, one small total per key.

A frame that begins with its key would need all rows of it. In their place stands a total: a partial of numbers, the
very rows that the aggregation picks (first, max_by...), or a partial as bytes. The results of the rows that are there
are computed with the total in front of them, and the total of the next step is folded in the same way.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.extremes import M4, Max, MaxBy, MaxCount, Min, MinBy, MinCount
from slidewise.aggregations.over import Over
from slidewise.aggregations.positions import First, Last, NthValue
from slidewise.aggregations.sums import Avg, Count, Sum
from slidewise.columns import encoding
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.changes import find_unlike
from slidewise.columns.evaluate import Evaluation, divide_exactly
from slidewise.columns.execute import as_arrays, compute
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.slides import Slides
from slidewise.columns.sorting import Arrangement
from slidewise.columns.sources import source_of
from slidewise.columns.two_phase import Division, divide, divide_by_numbers, name_partials
from slidewise.planner.sharing import read_off
from slidewise.serialization import codec
from slidewise.templates.interpret import optional_names
from slidewise.windows.definitions import rows as rows_window

#: frames of one row, by which rows become partials
_ROW = rows_window(1)


@dataclass(frozen=True)
class RunningFrames:
    """Frames over rows of some keys, each from the first row of its key that is there."""

    #: the row after the last of each frame
    end: np.ndarray
    #: frames offsets[k] to offsets[k + 1] - 1 are those of key k
    offsets: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        """The key of each frame."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class Carrier(Protocol):
    """How one aggregation goes on from rows that are gone."""

    #: the columns of a total, by what tells them apart
    columns: dict[str, pa.DataType]

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames; `totals` has one row per key, of nulls where nothing is carried."""

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""


def choose_carrier(over: Over, kinds: Mapping[str, pa.DataType]) -> Carrier | None:
    """Choose how the rows of a running frame are carried; None: no total of a fixed size stands for them."""
    aggregation = over.aggregation
    own = [kinds[name] for name in aggregation.columns]
    if over.algorithm != "auto" or not aggregation.size_preserving or aggregation.asks:
        return None
    division = divide(aggregation, own) or divide_by_numbers(aggregation, own)
    if division is not None:
        return PartialCarrier(division)
    if isinstance(aggregation, Avg) and encoding.family(own[0]) in ("decimal", "duration"):
        return MeanCarrier(aggregation, own[0])
    if aggregation.picks_row or isinstance(aggregation, NthValue):
        return RowCarrier(aggregation, kinds)
    if all(_encodes_alike(aggregation, k, kind) for k, kind in enumerate(own)):
        return ObjectCarrier(aggregation)
    # Texts, and decimals of many digits, are encoded by their order among the rows that are there.
    if encoding.family(own[0]) == "null":
        return None
    if type(aggregation) is M4:
        return RowCarrier(aggregation, kinds)
    return ExtremeCountCarrier(aggregation, own[0]) if type(aggregation) in (MaxCount, MinCount) else None


def _encodes_alike(aggregation: Aggregation, position: int, kind: pa.DataType) -> bool:
    """Tell whether a value is encoded as the same number, or object, whatever rows are beside it."""
    how, of = encoding.encoding_for(aggregation, position, "", kind), encoding.family(kind)
    if how == "order":
        nulls = aggregation.nulls == "skip"
        return nulls and of not in ("string", "binary", "null") and not (of == "decimal" and kind.precision > 18)
    return how in ("number", "double", "object", "nanoseconds") and of != "null"


# ---- rows behind others
class _Extended:
    """Rows of some keys, with others in front of those of each: what stands for the rows that are gone."""

    def __init__(self, rows: ArrangedFrame, in_front: np.ndarray) -> None:
        """Put so many rows in front of those of each key."""
        before = np.concatenate(([0], np.cumsum(in_front)))
        self._rows, self._in_front = rows, in_front
        self.offsets = rows.offsets + before
        number = int(rows.offsets[-1])
        own = np.arange(number) + np.repeat(before[1:], np.diff(rows.offsets))
        is_front = np.ones(number + int(before[-1]), bool)
        is_front[own] = False
        #: of each row, its place among those in front, and then those behind
        self._places = np.empty(len(is_front), np.int64)
        self._places[is_front] = np.arange(int(before[-1]))
        self._places[own] = int(before[-1]) + np.arange(number)

    def join(self, front: Mapping[str, pa.Array], behind: Mapping[str, pa.Array]) -> ArrangedFrame:
        """Join columns of the rows in front with those of the rows behind, which have the types."""
        places = pa.array(self._places)
        columns = {
            name: pa.concat_arrays([front[name].cast(column.type), column]).take(places)
            for name, column in behind.items()
        }
        return ArrangedFrame(source_of(pa.table(columns)), [], [], 1, Arrangement(None, self.offsets))

    def move(self, frames: RunningFrames) -> Frames:
        """Move the bounds of frames, which begin with the rows in front."""
        keys = frames.keys
        start, begin = self.offsets[keys], self._rows.offsets[keys]
        return Frames(start, start + self._in_front[keys] + np.maximum(frames.end - begin, 0))


def _evaluate(rows: ArrangedFrame, over: Over, frames: Frames, offsets: np.ndarray) -> pa.Array:
    rows.set_frames(over.window, frames)
    return Evaluation(rows, [over], 1, Slides(frames, offsets, {})).column(over)


def _read_once(aggregation: Aggregation) -> Over:
    """Choose how rows are folded that are read once: by what bounds tell, or one by one."""
    read = Over(aggregation, _ROW)
    return read if read_off(read) else Over(aggregation, _ROW, "recalculate")


def _take_apart(column: pa.Array, kinds: Mapping[str, pa.DataType]) -> list[pa.Array]:
    parts = column.flatten() if pa.types.is_struct(column.type) and len(kinds) > 1 else [column]
    return [cast_to(part, kind) for part, kind in zip(parts, kinds.values(), strict=True)]


# ---- what a total is
class PartialCarrier:
    """A total is a partial: some numbers, or a value of the column's own type."""

    def __init__(self, division: Division) -> None:
        self._division = division
        self.columns = division.columns

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames."""
        return self._evaluate(Over(self._division.whole, _ROW), rows, totals, frames)

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""
        return _take_apart(self._evaluate(_read_once(self._division.merged), rows, totals, frames), self.columns)

    def _evaluate(self, over: Over, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Aggregate partials of rows behind those of totals. One of nulls is skipped, as any row of nulls is."""
        extended = _Extended(rows, np.ones(len(totals), np.int64))
        parts = dict(zip(self.columns, self._lift(rows), strict=True))
        joined = extended.join({name: in_one_piece(totals[name]) for name in self.columns}, parts)
        return _evaluate(joined, over, extended.move(frames), frames.offsets)

    def _lift(self, rows: ArrangedFrame) -> list[pa.Array]:
        over = _read_once(self._division.part)
        return _take_apart(Evaluation(rows, [over], 1).column(over), self.columns)


class MeanCarrier:
    """The mean of decimals or durations, which is made of their exact sum and their number."""

    def __init__(self, mean: Avg, kind: pa.DataType) -> None:
        self._kind = kind
        sums, counts = (divide(of(*mean.columns, where=mean.where), [kind]) for of in (Sum, Count))
        assert sums is not None and counts is not None
        self._sum, self._count = PartialCarrier(sums), PartialCarrier(counts)
        self.columns = self._sum.columns | self._count.columns

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames."""
        total = self._sum.compute(rows, totals, frames)
        count = self._count.compute(rows, totals, frames).to_numpy(zero_copy_only=False)
        if not pa.types.is_decimal(self._kind):
            words = divide_exactly(total.cast(pa.int64()).fill_null(0).to_numpy(), count, 1)
            return encoding.words_as_arrow(words, count > 0, self._kind)
        kind = encoding.decimal_avg_type(self._kind)
        with decimal.localcontext(prec=100):
            means = [
                None if value is None else encoding.exact_decimal(value / int(n), kind)
                for value, n in zip(total.to_pylist(), count, strict=True)
            ]
        return pa.array(means, kind)

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""
        return [*self._sum.fold(rows, totals, frames), *self._count.fold(rows, totals, frames)]


class RowCarrier:
    """A total is the row that the aggregation picks, the first or last n rows, or the four of m4: what it reads."""

    def __init__(self, aggregation: Aggregation, kinds: Mapping[str, pa.DataType]) -> None:
        self._aggregation = aggregation
        self._row = pa.struct([(name, kinds[name]) for name in dict.fromkeys(aggregation.reads)])
        self._name = name_partials(aggregation)
        self.columns = {self._name: pa.list_(self._row)}

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames."""
        extended, joined = self._join(rows, totals)
        return _evaluate(joined, Over(self._aggregation, _ROW), extended.move(frames), frames.offsets)

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""
        extended, joined = self._join(rows, totals)
        picked, counts = self._pick(joined, extended.move(frames))
        fields = [joined.array(field.name).take(pa.array(picked)).cast(field.type) for field in self._row]
        values = pa.StructArray.from_arrays(fields, fields=list(self._row))
        offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
        return [pa.ListArray.from_arrays(offsets, values).cast(self.columns[self._name])]

    def _join(self, rows: ArrangedFrame, totals: pa.Table) -> tuple[_Extended, ArrangedFrame]:
        kept = in_one_piece(totals[self._name])
        extended = _Extended(rows, pc.list_value_length(kept).fill_null(0).cast(pa.int64()).to_numpy())
        front = kept.flatten()
        names = [field.name for field in self._row]
        return extended, extended.join(
            {name: front.field(k) for k, name in enumerate(names)}, {name: rows.array(name) for name in names}
        )

    def _pick(self, joined: ArrangedFrame, frames: Frames) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows that stand for those of each frame, one frame after the other, and how many they are."""
        aggregation = self._aggregation
        view = joined.view(aggregation)
        joined.set_frames(_ROW, frames)
        start, end = (within := view.frames(_ROW)).start, within.end
        most = abs(aggregation.n) if isinstance(aggregation, NthValue) else 1
        counts = np.minimum(end - start, most)
        if isinstance(aggregation, NthValue):
            begin = start if aggregation.n > 0 else end - counts
            first = np.repeat(begin - (np.cumsum(counts) - counts), counts)
            return view.row(first + np.arange(int(counts.sum()))), counts
        has = counts > 0
        if isinstance(aggregation, First):
            return view.row((end - 1 if isinstance(aggregation, Last) else start)[has]), counts
        within = within.take(np.flatnonzero(has))
        if not isinstance(aggregation, M4):
            codes = view.arguments(aggregation)[-1].values
            return view.row(
                _pick_extremes(MinBy() if isinstance(aggregation, MinBy) else MaxBy(), codes, within)
            ), counts
        codes = view.arguments(aggregation)[0].values
        extremes = [_pick_extremes(pick, codes, within) for pick in (MinBy(), MaxBy())]
        chosen = np.sort(np.stack([*extremes, within.start, within.end - 1], axis=1), axis=1)
        new = np.diff(chosen, axis=1, prepend=-1) != 0
        counts[has] = new.sum(axis=1)
        return view.row(chosen[new]), counts


def _pick_extremes(pick: Aggregation, codes: np.ndarray, frames: Frames) -> np.ndarray:
    """Pick the first row of each frame whose code is the smallest, or the largest."""
    found, _ = compute(pick, (np.arange(len(codes)), codes), frames, "recalculate")
    return found.astype(np.int64)


class ExtremeCountCarrier:
    """How many rows have the largest value, or the smallest: a total is that value, and their number."""

    def __init__(self, aggregation: Aggregation, kind: pa.DataType) -> None:
        self._aggregation = aggregation
        self._extreme = (Min if isinstance(aggregation, MinCount) else Max)(
            *aggregation.columns, where=aggregation.where
        )
        name = name_partials(aggregation)
        self._value, self._count = f"{name} value", f"{name} count"
        self.columns = {self._value: kind, self._count: pa.int64()}

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames."""
        return self._evaluate(rows, totals, frames)[1]

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""
        return list(self._evaluate(rows, totals, frames))

    def _evaluate(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> tuple[pa.Array, pa.Array]:
        """Find the extreme of each frame, and how many rows have it: a row in front stands for those that are gone."""
        value, count = (in_one_piece(totals[name]) for name in (self._value, self._count))
        gone = count.fill_null(0).to_numpy()
        extended = _Extended(rows, (gone > 0).astype(np.int64))
        [column], where = self._aggregation.columns, self._aggregation.where
        front = {column: value.filter(pa.array(gone > 0))}
        if where is not None:
            front[where] = pa.array(np.ones(int((gone > 0).sum()), bool))
        joined = extended.join(front, {name: rows.array(name) for name in front})
        within = extended.move(frames)
        found, number = (
            _evaluate(joined, Over(each, _ROW), within, frames.offsets) for each in (self._extreme, self._aggregation)
        )
        before = value.take(pa.array(frames.keys))
        is_gone = (gone[frames.keys] > 0) & ~find_unlike(cast_to(found, before.type), before)
        number = pc.add(number.cast(pa.int64()), pa.array(np.where(is_gone, gone[frames.keys] - 1, 0)))
        return cast_to(found, before.type), number


class ObjectCarrier:
    """A total is a partial of any kind, as bytes: a sketch, or what functions of your own make. Row by row."""

    def __init__(self, aggregation: Aggregation) -> None:
        self._aggregation = aggregation
        #: for which None is the partial of no rows
        self._functions = optional_names(aggregation)
        self._name = name_partials(aggregation)
        self.columns = {self._name: pa.binary()}

    def compute(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> pa.Array:
        """Compute the results of frames."""
        lower = self._functions["lower"]
        results = [lower(partial) for partial in self._scan(rows, totals, frames)]
        values, valid = as_arrays(results, lambda: np.dtype(object))
        over = Over(self._aggregation, _ROW)
        return _Decoding(rows, [over], 1).decode(self._aggregation, values, valid)

    def fold(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[pa.Array]:
        """Compute the totals of frames, one per key."""
        dump = self._aggregation.dump
        found = [None if p is None else codec.encode(dump(p)) for p in self._scan(rows, totals, frames)]
        return [pa.array(found, pa.binary())]

    def _scan(self, rows: ArrangedFrame, totals: pa.Table, frames: RunningFrames) -> list[Any]:
        """Compute the partials of frames."""
        aggregation, found = self._aggregation, list[Any]()
        lift, combine = self._functions["lift"], self._functions["combine"]
        view = rows.view(aggregation)
        columns = [encoded.values.tolist() for encoded in view.arguments(aggregation)]
        values = columns[0] if aggregation.arity == 1 else list(zip(*columns, strict=True))
        selected = np.arange(int(rows.offsets[-1]) + 1)
        if view.left_out is not None:
            selected = np.concatenate(([0], np.cumsum(~view.left_out)))
        begin, end = selected[rows.offsets].tolist(), selected[frames.end].tolist()
        for key, saved in enumerate(totals[self._name].to_pylist()):
            partial, row = self._load(saved), begin[key]
            for k in range(int(frames.offsets[key]), int(frames.offsets[key + 1])):
                if end[k] < row:  # counted in months, where the clocks of a zone change
                    partial, row = self._load(saved), begin[key]
                while row < end[k]:
                    partial = combine(partial, lift(values[row]))
                    row += 1
                found.append(partial)
        return found

    def _load(self, saved: bytes | None) -> Any:
        if saved is None:
            return None
        with codec.refuse_damage():
            return self._aggregation.load(codec.decode(saved))


class _Decoding(Evaluation):
    """Results as a column, with the type that an aggregation gives them."""

    def decode(self, aggregation: Aggregation, results: np.ndarray, valid: np.ndarray) -> pa.Array:
        return self._decoder(aggregation, self.data.view(aggregation))(results, valid)
