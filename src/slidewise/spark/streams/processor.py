"""Spark's stateful operator over buckets of keys: blobs in, rows out."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import LongType, StringType, StructField, StructType

from slidewise.spark.streams.definition import StreamTask
from slidewise.spark.streams.pack import BLOB, Packing
from slidewise.spark.streams.processing import Processing
from slidewise.spark.streams.run import processing_of
from slidewise.spark.streams.step import Step
from slidewise.spark.streams.text import from_text, to_text

#: columns of marker rows, which tell how many rows were left out: null in all others
LATE, UNTIMED = "__slidewise_late", "__slidewise_untimed"
#: the types of state; Spark would parse their names anew in every micro-batch
_PIECE, _DATA = StructType([StructField("piece", LongType())]), StructType([StructField("data", StringType())])
#: rows of one DataFrame that goes to Spark
_ROWS = 1 << 17


class Processor(StatefulProcessor):  # type: ignore[misc]
    """One task; Spark makes a copy for each of its partitions."""

    def __init__(self, task: StreamTask, packing: Packing, event_time: str | None) -> None:
        # Pickled here, in a form of our own choice: Spark sends the processor along with every batch.
        self._pickled = pickle.dumps((packing, event_time))
        self._task = _dumped(task)

    @cached_property
    def _made(self) -> tuple[Processing, Packing, str | None]:
        packing, event_time = pickle.loads(self._pickled)
        return processing_of(pickle.loads(self._task)), packing, event_time

    def init(self, handle: Any) -> None:
        """Declare the state: the driver does so too, where it asks for the schemas alone."""
        self._handle = handle
        self._meta = handle.getValueState("meta", _DATA)
        self._pieces = handle.getMapState("pieces", _PIECE, _DATA)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """New rows of a bucket."""
        blobs = [blob for frame in rows for blob in frame[BLOB]]
        yield from self._advance(blobs, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The watermark has come to where rows of a bucket are due."""
        yield from self._advance([], timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is held open."""

    def _advance(self, blobs: Iterable[bytes], timers: Any, fired: int | None = None) -> Iterator[Any]:
        processing, packing, event_time = self._made
        new, pieces = packing.unpacked(blobs)
        milliseconds = timers.getCurrentWatermarkInMs()
        watermark = milliseconds * 1000 if processing.task.time is not None else None
        step = processing.advance(_States(self._meta, self._pieces), new, pieces, watermark)
        self._set_timer(step, fired)
        for first in range(0, len(step.rows), _ROWS):
            yield _frame(_marked(step.rows[first : first + _ROWS]))
        if step.late or step.untimed:
            yield _frame(_marker(step, event_time, milliseconds))

    def _set_timer(self, step: Step, fired: int | None) -> None:
        """One timer per bucket, at its next deadline: the first millisecond at or after it."""
        before, after = (None if at is None else -(-at // 1000) for at in (step.was_due, step.deadline))
        if before == after:
            return
        if before is not None and before != fired:  # Spark itself removes the timer that fires
            self._handle.deleteTimer(before)
        if after is not None:
            self._handle.registerTimer(after)


class _States:
    """The state of the bucket at hand; bytes are text on their way to Spark."""

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


def _dumped(task: StreamTask) -> bytes:
    """Aggregations of a notebook travel by value."""
    from pyspark import cloudpickle

    return bytes(cloudpickle.dumps(task))


# ---- rows that go out
def _marked(rows: pa.Table) -> pa.Table:
    nothing = pa.nulls(len(rows), pa.int64())
    return rows.append_column(LATE, nothing).append_column(UNTIMED, nothing)


def _marker(step: Step, event_time: str | None, watermark: int) -> pa.Table:
    """A row that counts, and is taken out again. It has a time, since Spark looks for rows that are too old."""
    row: dict[str, Any] = {LATE: pa.array([step.late]), UNTIMED: pa.array([step.untimed])}
    if event_time is not None:
        kind = step.rows.schema.field(event_time).type
        row[event_time] = pa.array([watermark * 1000 + 1000], pa.int64()).cast(pa.timestamp("us")).cast(kind)
    schema = _marked(step.rows).schema
    return pa.table([row.get(field.name, pa.nulls(1, field.type)) for field in schema], schema=schema)


def _frame(table: pa.Table) -> Any:
    """For pandas without loss: by itself it turns NaN into null, and large integers with nulls into floats."""
    return table.to_pandas(
        types_mapper=lambda kind: None if pa.types.is_nested(kind) else pd.ArrowDtype(kind), maps_as_pydicts="strict"
    )
