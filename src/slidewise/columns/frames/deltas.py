"""Windows by delta over columns.

A row enters a delta window after every row that is more than the size below it has left. Where the column never falls
within a key, rows leave from the front, and a frame is a range of rows. Where it falls, they leave from the middle
too: then frames are lists of rows, made a batch at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.frames.bounds import Frames, Scattered
from slidewise.columns.frames.from_window import float_step, how_to_parse, step_in_units
from slidewise.columns.sorting import OrderColumn, as_doubles, as_plain, as_sortable, unscale
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import DeltaWindow


def as_axis(column: pa.Array, name: str) -> np.ndarray:
    """Convert a column of numbers or times to numbers with the same distances; undefined where null."""
    column = as_plain(column)
    kind = column.type
    if pa.types.is_floating(kind):
        return as_doubles(column)
    if pa.types.is_decimal(kind):
        return unscale(column)
    if pa.types.is_uint64(kind):
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        if values.max(initial=0) >= 2**63:
            raise InvalidInput(f"the column {name!r} has values above int64: cast it to float64 or decimal")
        return values.astype(np.int64)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return as_sortable(column, OrderColumn(name))[-1]
    needed = f"the column {name!r} is of {kind}, and distances need numbers or times"
    raise InvalidInput(". ".join(filter(None, (needed, how_to_parse(kind, name)))))


def measure_length(length: Any, kind: pa.DataType, name: str) -> Any:
    """Convert a length to the unit of a column."""
    return float_step(length, kind, name) if pa.types.is_floating(kind) else step_in_units(length, kind, name)


def measure_delta(column: pa.Array, size: Any, name: str) -> tuple[np.ndarray, Any]:
    """Convert the column of a delta to numbers, and the size to their unit."""
    if column.null_count:
        raise InvalidInput(
            f"delta: the column {name!r} has {column.null_count} nulls, which have no distance: fill them"
        )
    values = as_axis(column, name)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise InvalidInput(
                f"delta: the column {name!r} has NaN or infinity, which have no distance: fill them first"
            )
    elif len(values) and int(values.max()) - int(values.min()) >= 2**63:
        raise InvalidInput(
            f"delta: the values of the column {name!r} are further apart than int64 reaches. Cast to float64"
        )
    return values, measure_length(size, as_plain(column).type, name)


def delta_frames(window: DeltaWindow, column: pa.Array, offsets: np.ndarray) -> Frames:
    """Find the frame of every arranged row."""
    from slidewise.columns.frames import slide_kernels as kernels

    values, size = measure_delta(column, window.size, str(window.column))
    start = np.zeros(len(values), np.int64)
    if kernels.within_delta(offsets, values, size, start):
        return Frames(start, np.arange(1, len(values) + 1))
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    return DeltaFrames(begin, values, size, np.arange(len(values)))


class DeltaFrames(Scattered):
    """The rows that a delta window holds after each row, where they need not be neighbours."""

    def __init__(self, begin: np.ndarray, values: np.ndarray, size: Any, kept: np.ndarray, ends: Any = None) -> None:
        self._begin, self._values, self._size = begin, values, size
        #: the number of each row among those that an aggregation sees; -1: it does not
        self._kept = kept
        #: the rows that give a result; None: all
        self._ends = ends
        from slidewise.columns.frames import slide_kernels

        self._kernels = slide_kernels

    def __len__(self) -> int:
        return len(self._values) if self._ends is None else len(self._ends)

    @property
    def count(self) -> np.ndarray:
        counts = self._counts
        return counts if self._ends is None else counts[self._ends]

    @property
    def _counts(self) -> np.ndarray:
        ends = np.zeros(len(self._values), np.int64)
        self._fill(0, len(self._values), self._room(), 0, np.empty(0, np.int64), ends)
        return np.diff(ends, prepend=0)

    def without(self, left_out: np.ndarray) -> Frames:
        kept = np.where(left_out, -1, np.cumsum(~left_out) - 1)
        return DeltaFrames(self._begin, self._values, self._size, kept, self._ends)

    def take(self, rows: np.ndarray) -> Frames:
        rows = rows if self._ends is None else self._ends[rows]
        return DeltaFrames(self._begin, self._values, self._size, self._kept, rows)

    def batches(self, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        counts = self._counts
        total = np.cumsum(counts)
        held, number, first = self._room(), 0, 0
        while first < len(counts):
            before = int(total[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(total, before + most)))
            rows = np.empty(int(total[last - 1]) - before, np.int64)
            ends = np.empty(last - first, np.int64)
            number = self._fill(first, last, held, number, rows, ends)
            offsets = np.concatenate(([0], ends))
            if self._ends is None:
                yield rows, offsets
            else:
                wanted = self._ends[(self._ends >= first) & (self._ends < last)] - first
                chosen = Frames(offsets[wanted], offsets[wanted + 1])
                inside, begins = chosen.rows_of_all()
                if len(wanted):
                    yield rows[inside], begins
            first = last

    def _room(self) -> np.ndarray:
        return np.empty(len(self._values), np.int64)

    def _fill(self, first: int, last: int, held: np.ndarray, number: int, rows: np.ndarray, ends: np.ndarray) -> int:
        arguments = (self._begin, self._values, self._size, self._kept, first, last, held, number, rows, ends)
        return int(self._kernels.held_by_delta(*arguments))
