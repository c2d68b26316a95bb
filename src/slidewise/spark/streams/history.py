"""History: rows of a batch that are in the state of a stream before its first micro-batch. Without Spark.

They go through the pipeline as rows of a stream do: first all of them, while the watermark stands still, and then the
watermark comes to the last time of the history. What that emits goes nowhere, and what it leaves is the state. Spark
hands the history of a bucket over in pieces and does not tell the last one: it is filled in with the first rows, or
the first watermark, after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.errors import StateError
from slidewise.serialization import envelope
from slidewise.spark.streams.micro_batches import MicroBatches
from slidewise.spark.streams.pending_rows import require_times
from slidewise.spark.streams.state_store import Store
from slidewise.spark.streams.step_data import StepResult
from slidewise.spark.streams.stream_task import NEVER, StreamTask
from slidewise.spark.streams.wire import MOST_BYTES, MOST_ROWS, PACKED, Packing

#: the column of packed history that tells until when it goes, and its value where nothing tells
UNTIL, UNKNOWN = "until", -NEVER
PACKED_HISTORY = PACKED.append(pa.field(UNTIL, pa.int64()))
#: when a bucket without rows takes its history in, in milliseconds: with the first watermark
FIRST_TIMER = 1
#: the key of what is told of the history among the values of a bucket: pieces have positive ones, and entries negative
_RECORD, _KIND = 0, "stream history"


@dataclass(frozen=True)
class HistoryPacking:
    """How the rows of a history are packed."""

    packing: Packing
    time: str
    #: microseconds; None: its newest time
    until: int | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the rows of a partition, and tell all buckets until when these go."""
        pending: list[pa.RecordBatch] = []
        newest, rows, size = UNKNOWN, 0, 0
        for batch in batches:
            times = batch.column(self.packing.rows.names.index(self.time)).cast(pa.int64())
            if self.until is not None:
                batch = batch.filter(pc.less_equal(times, self.until))
            elif len(times) > times.null_count:
                newest = max(newest, pc.max(times).as_py())
            pending.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
            if rows >= MOST_ROWS or size >= MOST_BYTES:
                yield _tell(self.packing.pack(pending), UNKNOWN)
                pending, rows, size = [], 0, 0
        if rows:
            yield _tell(self.packing.pack(pending), UNKNOWN)
        yield _tell(self.packing.pack_empty(), newest if self.until is None else self.until)


def _tell(packed: pa.RecordBatch, until: int) -> pa.RecordBatch:
    told = pa.array(np.full(len(packed), until, np.int64))
    return pa.RecordBatch.from_arrays([*packed.columns, told], schema=PACKED_HISTORY)


class StreamHistory:
    """The history of one bucket."""

    def __init__(self, pipeline: MicroBatches, store: Store) -> None:
        self._pipeline, self._store, self._task = pipeline, store, pipeline.task
        #: the last time that belongs to it, in microseconds, and whether the state is that of then
        self.until, self._filled = UNKNOWN, False
        self._has_just_filled = False
        saved = store.read(_RECORD)
        if saved is not None:
            self._load(saved)

    def take(self, rows: pa.Table, hashes: np.ndarray, until: int) -> None:
        """Take some rows, and until when rows go that some partition has had."""
        if len(rows):
            self._pipeline.advance(self._store, rows, hashes, 0)
        self.until = max(self.until, until)
        self._save()

    def fill(self) -> None:
        """Bring the state to the end of the history, when all of its rows are there."""
        if self._filled:
            return
        if self.until > 0:
            none = self._task.incoming.empty_table()
            self._pipeline.advance(self._store, none, np.empty(0, np.int64), self.until)
        self._filled = self._has_just_filled = True
        self._save()

    def advance(self, new: pa.Table, hashes: np.ndarray, watermark: int) -> tuple[StepResult, int]:
        """Advance with the rows after the history; also count the rows that are in it."""
        self.fill()
        assert self._task.time is not None
        after = pc.greater(new[self._task.time].cast(pa.int64()), self.until).fill_null(True)
        in_history = len(new) - int(pc.sum(after).as_py() or 0)
        if in_history:
            new, hashes = new.filter(after), hashes[after.to_numpy()]
        step = self._pipeline.advance(self._store, new, hashes, max(watermark, self.until))
        if emits_rows_again(self._task):
            times = step.rows[self._task.time].cast(pa.int64())
            step = replace(step, rows=step.rows.filter(pc.greater(times, self.until)))
        if self._has_just_filled:
            step = replace(step, was_due=FIRST_TIMER * 1000)
        return step, in_history

    def _load(self, data: bytes) -> None:
        saved = envelope.unseal(data, _KIND, _define(self._task))
        if not (isinstance(saved, tuple) and len(saved) == 2 and type(saved[1]) is bool):
            raise StateError("saved state is damaged: what it tells of its history is not that")
        require_times(saved[:1])
        self.until, self._filled = saved

    def _save(self) -> None:
        self._store.write(_RECORD, envelope.seal(_KIND, _define(self._task), (self.until, self._filled)))


def _define(task: StreamTask) -> dict[str, str]:
    return {"history": task.begins or ""}


def emits_rows_again(task: StreamTask) -> bool:
    """Tell whether results at rows of the history may be emitted after it: with following rows, or revised."""
    at_rows = not task.slides or task.windows[0].slide_kind not in ("time", None)
    return at_rows and (task.keep is not None or any(window.waits for window in task.windows))
