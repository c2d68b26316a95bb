"""Hopping windows of a stream by slices: partials of the rows between two boundaries, and not the rows themselves.

The boundaries at which windows begin and end cut time into slices, and a window holds a slice whole or not at all. So
the rows of a key and slice are one row of partials from the step they come in, at the time at which the slice begins,
and the same windows over these rows, with the partials merged, give the same results. What a key keeps has a bound that
does not depend on how many rows come. Nothing waits for the watermark, either: the order of rows within a slice does
not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.arrays import in_one_piece
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.sorting import arrange
from slidewise.planner.sharing import read_off
from slidewise.spark.streams.finality import Arrived
from slidewise.spark.streams.grid import next_complete
from slidewise.spark.streams.pipeline import of_type
from slidewise.spark.streams.slides import TimeSlides
from slidewise.spark.streams.state_store import Held
from slidewise.spark.streams.step_data import Fate, Joined
from slidewise.spark.streams.stream_task import NEVER, StreamTask


class SlicedSlides(TimeSlides):
    """Hopping windows over slices."""

    def __init__(self, task: StreamTask) -> None:
        super().__init__(task)
        self.expressions = {name: Over(made.whole, self.window) for name, made in task.divisions.items()}
        #: of rows, and of partials: what makes the columns of a slice
        self._parts = {tuple(made.columns): made.part for made in task.divisions.values()}
        self._merged = {tuple(made.columns): made.merged for made in task.divisions.values()}
        self.rows = pa.schema([*(task.rows.field(name) for name in task.partition_by), *task.history])

    def _in_time(
        self, new: pa.Table, hashes: np.ndarray, watermark: int | None
    ) -> tuple[pa.Table, np.ndarray, int, int]:
        """The new rows as slices, without those that are late."""
        rows, hashes, late, untimed = super()._in_time(new, hashes, watermark)
        if not len(rows):
            return self.rows.empty_table(), hashes, late, untimed
        time = self.task.time
        assert time is not None
        begins = self.grid.slice_of(in_one_piece(rows[time]).cast(pa.int64()).to_numpy())
        rows = rows.set_column(rows.column_names.index(time), rows.field(time), pa.array(begins).cast(rows[time].type))
        keys = [in_one_piece(rows[name]) for name in self.task.partition_by]
        arranged = arrange(len(rows), keys, [begins])
        if not arranged.in_order:
            rows = rows.take(pa.array(arranged.permutation))
            begins, hashes = begins[arranged.permutation], hashes[arranged.permutation]
        slices, first = self._together(rows, begins, arranged.offsets, self._parts)
        return slices, hashes[first], late, untimed

    def _join(self, held: Held, new: pa.Table, hashes: np.ndarray) -> Joined:
        joined = super()._join(held, new, hashes)
        if not len(joined.table):
            return joined
        assert joined.times is not None
        table, first = self._together(joined.table, joined.times, joined.offsets, self._merged)
        return replace(
            joined,
            table=table,
            origin=np.maximum.reduceat(joined.origin, first),
            hashes=joined.hashes[first],
            offsets=np.searchsorted(first, joined.offsets),
            times=joined.times[first],
        )

    def _together(
        self, rows: pa.Table, times: np.ndarray, offsets: np.ndarray, how: Mapping[tuple[str, ...], Aggregation]
    ) -> tuple[pa.Table, np.ndarray]:
        """One row for those of each key and slice, and where the first of them is."""
        changes = np.append(True, np.diff(times) != 0)
        changes[offsets[:-1]] = True
        first = np.flatnonzero(changes)
        arrived = Arrived(rows, self.task.partition_by, self.task.order_by, offsets)
        arrived.set_frames(self.window, Frames(first, np.append(first[1:], len(rows))))
        overs = {str(k): self._once(part) for k, part in enumerate(how.values())}
        found = Evaluation(arrived, overs.values(), 1, np.searchsorted(first, offsets)).columns(overs)
        columns = dict(zip(how, found.values(), strict=True))
        made = {name: rows[name].take(pa.array(first)) for name in self.rows.names if name in rows.column_names}
        for names, column in columns.items():
            parts = column.flatten() if pa.types.is_struct(column.type) and len(names) > 1 else [column]
            made |= {n: of_type(part, self.rows.field(n).type) for n, part in zip(names, parts, strict=True)}
        return pa.table([made[name] for name in self.rows.names], schema=self.rows), first

    def _once(self, part: Aggregation) -> Over:
        """Each row is in one slice, and to fold them is all there is to do; where bounds tell all, not even that."""
        read = Over(part, self.window)
        return read if read_off(read) else Over(part, self.window, "recalculate")

    def _nothing(self) -> pa.Table:
        return self._empty(self.rows)

    def _settle_slides(
        self, joined: Joined, watermark: int, mark: int, fate: Fate
    ) -> tuple[Arrived, np.ndarray] | None:
        assert joined.times is not None
        nowhere = np.zeros(len(joined.times), bool)
        fate.due, fate.waits = next_complete(self.grid, joined.times, watermark), nowhere
        fate.history = fate.due != NEVER
        known = joined.known(watermark)
        return self._closing(joined, known, self._sessions(joined, known, watermark), nowhere, watermark, mark)
