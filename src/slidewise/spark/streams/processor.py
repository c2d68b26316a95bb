"""Processor: what Spark's stateful operator calls for each bucket of keys, blobs in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType, StringType, StructField, StructType

from slidewise.spark.shipping import build_importer
from slidewise.spark.streams.checkpoint import META, PIECES
from slidewise.spark.streams.history import FIRST_TIMER, UNTIL, StreamHistory
from slidewise.spark.streams.metrics import IN_HISTORY
from slidewise.spark.streams.micro_batches import MicroBatches
from slidewise.spark.streams.step_data import StepResult
from slidewise.spark.streams.stream_task import StreamTask
from slidewise.spark.streams.wire import BLOB, Packing, from_text, to_text

#: the types of state; Spark would parse their names anew in every micro-batch
_PIECE, _DATA = StructType([StructField("piece", LongType())]), StructType([StructField("data", StringType())])
#: rows of one DataFrame that goes to Spark
_ROWS = 1 << 17


def build_processor(processor: Processor, package: str | None) -> StatefulProcessor:
    """Build what Spark calls: a class that travels by value, and with it a copy of the processor for each partition.

    Spark asks for the schemas of state in a process on the driver's side, in which a package that was shipped cannot be
    imported: nothing of ours is, before there are rows.
    """
    from pyspark import cloudpickle

    # Pickled here, in a form of our own choice: Spark sends all of it along with every batch.
    pickled, arrive = cloudpickle.dumps(processor), build_importer(package)
    (meta, data), (pieces, piece) = (META, _DATA), (PIECES, _PIECE)

    class Slidewise(StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None:
            self._handle = handle
            self._states = handle.getValueState(meta, data), handle.getMapState(pieces, piece, data)
            self._processor: Any = None

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803
            yield from self._unpickle().handle_rows(rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: N802, N803
            yield from self._unpickle().handle_timer(timerValues, expiredTimerInfo.getExpiryTimeInMs())

        def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
            self._unpickle().handle_history(initialState)

        def close(self) -> None:
            pass

        def _unpickle(self) -> Any:
            import pickle

            if self._processor is None:
                arrive()
                self._processor = pickle.loads(pickled)
                self._processor.bind(self._handle, *self._states)
            return self._processor

    return Slidewise()


class Processor:
    """One task over the buckets of a partition.

    `left_out` is the column of marker rows, which tell how many rows were left out: late ones, or, below zero, those
    without a time, or, from IN_HISTORY on, those of the history; null in all others. Every column costs every row.
    """

    def __init__(self, task: StreamTask, packing: Packing, event_time: str | None, left_out: str) -> None:
        self._task, self._packing, self._event_time, self._left_out = task, packing, event_time, left_out

    @cached_property
    def _pipeline(self) -> MicroBatches:
        return MicroBatches(self._task)

    def bind(self, handle: Any, meta: Any, pieces: Any) -> None:
        """Take Spark's handle of timers, and the state of the current bucket."""
        self._handle, self._states = handle, SparkStore(meta, pieces)

    def handle_rows(self, frames: Iterable[Any], timers: Any) -> Iterator[Any]:
        """Take new rows of a bucket."""
        yield from self._advance([blob for frame in frames for blob in frame[BLOB]], timers)

    def handle_history(self, frame: Any) -> None:
        """Take some rows of the history of a bucket."""
        new, pieces = self._packing.unpack(frame[BLOB])
        StreamHistory(self._pipeline, self._states).take(new, pieces, int(frame[UNTIL].max()))
        self._handle.registerTimer(FIRST_TIMER)

    def handle_timer(self, timers: Any, fired: int) -> Iterator[Any]:
        """Take a watermark that has come to where results of a bucket are due."""
        yield from self._advance([], timers, fired)

    def _advance(self, blobs: Iterable[bytes], timers: Any, fired: int | None = None) -> Iterator[Any]:
        new, pieces = self._packing.unpack(blobs)
        milliseconds = timers.getCurrentWatermarkInMs()
        watermark = milliseconds * 1000 if self._task.time is not None else None
        in_history = 0
        if self._task.begins is None:
            step = self._pipeline.advance(self._states, new, pieces, watermark)
        else:
            assert watermark is not None
            step, in_history = StreamHistory(self._pipeline, self._states).advance(new, pieces, watermark)
        self._set_timer(step, fired)
        for first in range(0, len(step.rows), _ROWS):
            rows = step.rows[first : first + _ROWS].combine_chunks()  # Spark takes no column in several pieces
            yield to_pandas(self._add_marker_column(rows))
        counts = [count for count in (step.late, -step.untimed) if count]
        counts += [IN_HISTORY + in_history] * (in_history > 0)
        if counts:
            yield to_pandas(self._build_markers(step.rows.schema, counts, milliseconds))

    def _add_marker_column(self, rows: pa.Table) -> pa.Table:
        return rows.append_column(self._left_out, pa.nulls(len(rows), pa.int64()))

    def _build_markers(self, rows: pa.Schema, counts: list[int], watermark: int) -> pa.Table:
        """Build rows that count, and are filtered out. They have a time: Spark looks for rows that are too old."""
        made = {self._left_out: pa.array(counts)}
        time = self._event_time
        if time is not None:
            times = pa.array([watermark * 1000 + 1000] * len(counts), pa.int64())
            made[time] = times.cast(pa.timestamp("us")).cast(rows.field(time).type)
        schema = self._add_marker_column(rows.empty_table()).schema
        return pa.table([made.get(field.name, pa.nulls(len(counts), field.type)) for field in schema], schema=schema)

    def _set_timer(self, step: StepResult, fired: int | None) -> None:
        """Set one timer per bucket, at its next deadline: the first millisecond at or after it."""
        before, after = (None if at is None else -(-at // 1000) for at in (step.was_due, step.deadline))
        if before == after:
            return
        if before is not None and before != fired:  # Spark itself removes the timer that fires
            self._handle.deleteTimer(before)
        if after is not None:
            self._handle.registerTimer(after)


class SparkStore:
    """The state of the current bucket; bytes are text on their way to Spark."""

    def __init__(self, meta: Any, pieces: Any) -> None:
        self._meta, self._pieces = meta, pieces

    def read_meta(self) -> bytes | None:
        found = self._meta.get()
        return None if found is None else from_text(found[0])

    def write_meta(self, data: bytes) -> None:
        self._meta.update((to_text(data),))

    def read(self, piece: int) -> bytes | None:
        found = self._pieces.getValue((piece,))
        return None if found is None else from_text(found[0])

    def write(self, piece: int, data: bytes) -> None:
        self._pieces.updateValue((piece,), (to_text(data),))

    def remove(self, piece: int) -> None:
        self._pieces.removeKey((piece,))


# ---- emitted rows
def to_pandas(table: pa.Table) -> Any:
    """Turn a table into a DataFrame of pandas, which Spark then reads, without loss.

    By itself pandas turns NaN into null, and large integers with nulls into floats. Within lists, maps and structs it
    would do so whatever the types are, and leave the zone of timestamps out, which Spark then takes for the session's:
    these go as Python objects.
    """
    return pd.DataFrame(
        {name: _to_series(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    )


def _to_series(column: pa.ChunkedArray) -> Any:
    if not pa.types.is_nested(column.type):
        return column.to_pandas(types_mapper=pd.ArrowDtype)
    values = column.to_pylist(maps_as_pydicts="strict")
    return pd.Series([_keep_nans(value) for value in values], dtype=object)


#: Spark takes Python's NaN within an object for null, and NumPy's of 32 bits for what it is.
_NAN = np.float32("nan")


def _keep_nans(value: Any) -> Any:
    if isinstance(value, list):
        return [_keep_nans(each) for each in value]
    if isinstance(value, dict):
        return {name: _keep_nans(each) for name, each in value.items()}
    return _NAN if value != value else value
