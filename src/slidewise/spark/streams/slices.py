"""Slices: the rows of a key between two boundaries of windows, folded into one row of partials.

Rows are folded in the partition that they come in, before the exchange, where that at least halves their bytes
(wire.py), and else in their bucket (results.py). There the slices of all partitions, and those of the state, are
merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import gcd

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.slides import Slides
from slidewise.columns.sorting import Arrangement, arrange, key_codes
from slidewise.columns.sources import source_of
from slidewise.planner.sharing import read_off
from slidewise.spark.streams.finality import build_grid
from slidewise.spark.streams.stream_task import NEVER, ROW_TIME, SLICE_ROWS, StreamTask
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.definitions import rows as rows_window
from slidewise.windows.grid import Grid

#: any window: the frames are given
_WINDOW = rows_window(1)
#: Whether folding pays is tried on about so many rows: all rows of some keys, or the first ones where keys are few.
_SAMPLE, _LEAST = 1 << 14, 1 << 10


class SliceFolding:
    """How the rows of a task are folded into slices, and slices are merged."""

    def __init__(self, task: StreamTask) -> None:
        self._task = task

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of slices: the keys, when each begins, and partials."""
        return pa.schema([*(self._task.rows.field(name) for name in self._task.partition_by), *self._task.history])

    @cached_property
    def counted(self) -> pa.Schema:
        """The columns of slices that are exchanged: with the number of rows of each, which may turn out to be late."""
        return self.schema.append(pa.field(SLICE_ROWS, pa.int64()))

    @cached_property
    def _grid(self) -> Grid | CalendarGrid:
        return build_grid(self._task)

    # ---- rows
    def fold(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Fold rows that have times, in the order of their arrival: one row of partials for each key and slice."""
        counted, hashes = self.fold_counted(rows, hashes)
        return counted.drop_columns([SLICE_ROWS]), hashes

    def fold_counted(self, rows: pa.Table, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Fold rows and count those of each slice. A row without a time is by itself, without partials."""
        assert self._task.time is not None
        times = in_one_piece(rows[self._task.time])
        if not times.null_count:
            return self._fold_timed(rows, times, hashes)
        timed = times.is_valid()
        slices, of_slices = self._fold_timed(rows.filter(timed), times.filter(timed), hashes[_as_mask(timed)])
        others = rows.filter(pc.invert(timed))
        one = pa.array(np.ones(len(others), np.int64))
        known = {name: others[name] for name in (*self._task.partition_by, self._task.time)} | {SLICE_ROWS: one}
        made = [known.get(field.name, pa.nulls(len(others), field.type)) for field in self.counted]
        untimed = pa.table(made, schema=self.counted)
        return pa.concat_tables([slices, untimed]), np.concatenate([of_slices, hashes[~_as_mask(timed)]])

    def _fold_timed(self, rows: pa.Table, times: pa.Array, hashes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        if not len(rows):
            return self.counted.empty_table(), hashes[:0]
        begins = self._grid.slice_of(times.cast(pa.int64()).to_numpy())
        codes = self._number_slices(begins)
        if self._task.partition_by:
            keys, number = key_codes([in_one_piece(rows[name]) for name in self._task.partition_by])
            if number * (int(codes.max()) + 1) > NEVER:  # of short slices, where a time is off by millennia
                codes = np.unique(codes, return_inverse=True)[1]
            codes += keys * (int(codes.max()) + 1)
        arranged = arrange(len(rows), [pa.array(codes)], [])
        parts = {columns: part for columns, (part, _) in self._parts.items()}
        made = self._compute(rows.append_column(ROW_TIME, times), arranged, parts)
        first = arranged.offsets[:-1]
        places = first if arranged.in_order else _require(arranged.permutation)[first]
        made |= {name: rows[name].take(pa.array(places)) for name in self._task.partition_by}
        made[str(self._task.time)] = pa.array(begins[places]).cast(times.type)
        made[SLICE_ROWS] = pa.array(np.diff(arranged.offsets))
        return pa.table([made[name] for name in self.counted.names], schema=self.counted), hashes[places]

    def _number_slices(self, begins: np.ndarray) -> np.ndarray:
        """Find the number of the slice of each row, in the order of time: few digits are then to be sorted by."""
        grid = self._grid
        step = gcd(grid.every, grid.size) if isinstance(grid, Grid) else 1
        numbers: np.ndarray = (begins - begins.min()) // step
        return numbers

    def pays(self, rows: pa.Table, hashes: np.ndarray) -> bool:
        """Tell whether slices of these rows have at most half of their bytes, as a sample of them shows."""
        chosen = (hashes >> 16) % max(1, len(rows) // _SAMPLE) == 0
        some = np.flatnonzero(chosen)
        if len(some) < min(_LEAST, len(rows)):
            some = np.arange(min(_SAMPLE, len(rows)))
        sample = rows.take(pa.array(some)).select(self._task.rows.names)
        slices, _ = self.fold_counted(sample, hashes[some])
        return bool(2 * slices.nbytes <= sample.nbytes)

    # ---- slices
    def merge(self, slices: pa.Table, begins: np.ndarray, offsets: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Merge the slices of one key that begin at one time; also tell the first row of each."""
        begins_slice = np.ones(len(begins), bool)
        begins_slice[1:] = begins[1:] != begins[:-1]
        begins_slice[offsets[:-1]] = True
        first = np.flatnonzero(begins_slice)
        if len(first) == len(slices):
            return slices.select(self.schema.names), first
        arranged = Arrangement(None, np.append(first, len(slices)))
        made = self._compute(slices, arranged, {columns: merged for columns, (_, merged) in self._parts.items()})
        for name in self.schema.names:
            if name not in made:
                made[name] = slices[name].take(pa.array(first))
        return pa.table([made[name] for name in self.schema.names], schema=self.schema), first

    @cached_property
    def _parts(self) -> dict[tuple[str, ...], tuple[Aggregation, Aggregation]]:
        """What makes the columns of a slice, of rows and of partials."""
        return {tuple(made.columns): (made.part, made.merged) for made in self._task.divisions.values()}

    def _compute(
        self, rows: pa.Table, arranged: Arrangement, how: Mapping[tuple[str, ...], Aggregation]
    ) -> dict[str, pa.Array]:
        """Compute the columns of slices, each of which is a key of the arrangement."""
        frame = ArrangedFrame(source_of(rows), [], [], 1, arranged)
        first = arranged.offsets[:-1]
        slices = Slides(Frames(first, arranged.offsets[1:]), np.arange(len(first) + 1), {})
        frame.set_frames(_WINDOW, slices.frames)
        overs = {str(k): _fold_once(part) for k, part in enumerate(how.values())}
        found = Evaluation(frame, overs.values(), 1, slices).columns(overs)
        made: dict[str, pa.Array] = {}
        for names, column in zip(how, found.values(), strict=True):
            parts = column.flatten() if len(names) > 1 and pa.types.is_struct(column.type) else [column]
            made |= {n: cast_to(part, self.schema.field(n).type) for n, part in zip(names, parts, strict=True)}
        return made


def _fold_once(part: Aggregation) -> Over:
    """Choose how slices are folded: each row is in one slice, and read once; where bounds tell all, not at all."""
    read = Over(part, _WINDOW)
    return read if read_off(read) else Over(part, _WINDOW, "recalculate")


def _as_mask(values: pa.Array) -> np.ndarray:
    mask: np.ndarray = values.to_numpy(zero_copy_only=False)
    return mask


def _require(permutation: np.ndarray | None) -> np.ndarray:
    assert permutation is not None
    return permutation


# ---- before the exchange
def choose_folding(task: StreamTask) -> SliceFolding | None:
    """Choose whether rows may be folded before they are exchanged; None: the rows themselves are needed."""
    return SliceFolding(task) if task.slices and find_obstacle(task) is None else None


def find_obstacle(task: StreamTask) -> str | None:
    """Find why the rows of slices are needed after the exchange, one by one; None where they are not."""
    if task.late_row is not None:
        return "late rows are emitted whole"
    if task.begins is not None:
        return "rows of the history are told by their own time"
    if build_grid(task).has_gaps:
        return "rows between windows are told by their own time"
    return None
