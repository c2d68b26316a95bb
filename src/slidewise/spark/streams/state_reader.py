"""State reader: what the checkpoint of a stream holds of each key, as a DataFrame.

Spark's own reader of state gives the values of all buckets, as of one micro-batch, and executors read them as the
stateful operator does (held_state.py). The query may run meanwhile: nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from slidewise.columns.stream_options import FINAL, LATE, LATE_ROW, REVISION, check_path
from slidewise.errors import InvalidInput, StateError
from slidewise.spark.plan import repartition_by_keys
from slidewise.spark.streams.checkpoint import META, PIECES, check_operators, find_task, measure_agreement
from slidewise.spark.streams.held_state import HELD, OPEN, BucketCopy, read_bucket
from slidewise.spark.streams.stream_task import StreamTask
from slidewise.spark.streams.wire import BUCKET, from_text

_MARKS = (REVISION, FINAL, LATE, LATE_ROW)


def read_state(df: Any, checkpoint: str) -> Any:
    """Read what a checkpoint holds of each key: a DataFrame of one row per key. The checkpoint stays as it is.

        out = sw.with_columns(stream, partition_by="sensor", order_by="at", max_delay="30s", peak=...)
        slidewise.spark.read_state(out, "/checkpoints/features").show()
        # sensor | peak | held: rows, bytes, oldest, newest, as_of, complete

    - `df` is what with_columns or aggregate gave for the stream, as for `check`: a checkpoint has the definition in
      words only, and no code. Its query may run, or have stopped: the last micro-batch that has ended is read.
    - With a result per row, results are those of the newest row of each key, or, by time, those at the watermark where
      that is later: `held.as_of`. A frame by rows whose last row was emitted lacks its oldest row, which no frame to
      come needs: its results are null then, and `held.complete` is false.
    - Slides that are not complete are in `open`, an array of structs: the slide, and its results so far.
    - `held` is the rows of the key, or slices, their bytes as Arrow data without the key, and the oldest and the
      newest time; null where only rows are left that are kept without it.
    """
    task = find_task(df, "read_state")
    check_path(checkpoint)
    spark = df.sparkSession
    output = _build_schema(task, df.schema)
    operator = _find_operator(spark, task, checkpoint)
    batch = _find_batch(spark, checkpoint, operator)
    watermark = None if task.time is None else _read_watermark(spark, checkpoint, batch)
    return _plan(spark, task, checkpoint, operator, batch, watermark, output)


def _find_operator(spark: Any, task: StreamTask, path: str) -> int:
    """Find which state of a checkpoint is that of a task."""
    checks = check_operators(spark, task, path)
    if not checks:
        raise StateError(
            f"there is no state in {path}: no micro-batch of a query has ended with this checkpointLocation"
        )
    best = max(map(measure_agreement, checks.values()))
    chosen = [number for number, check in checks.items() if measure_agreement(check) == best]
    refused = checks[chosen[0]].refused
    if refused is not None:
        raise StateError(f"the state in the checkpoint {path} is not that of this call: {refused}")
    if len(chosen) > 1:
        raise StateError(
            f"the checkpoint {path} has the state of {len(chosen)} calls with this definition, and nothing tells which "
            "one is meant. Give one of them a result of another name"
        )
    return chosen[0]


def _find_batch(spark: Any, path: str, operator: int) -> int:
    """Find the last micro-batch that has ended, so that all values are read as of one."""
    found = spark.read.format("state-metadata").load(path).where(f"operatorId = {operator}")
    return int(found.select("maxBatchId").head()[0])


def _read_watermark(spark: Any, path: str, batch: int) -> int:
    """Read the watermark of a micro-batch, in microseconds, from where Spark has written it before it ran."""
    lines = [row[0] for row in spark.read.text(f"{path}/offsets/{batch}").collect()]
    told = next(json.loads(line) for line in lines if line.startswith("{") and "batchWatermarkMs" in line)
    return int(told["batchWatermarkMs"]) * 1000


def _build_schema(task: StreamTask, schema: Any) -> Any:
    """Build the columns that are given."""
    from pyspark.sql.types import (
        ArrayType,
        BooleanType,
        LongType,
        StructField,
        StructType,
        TimestampNTZType,
        TimestampType,
    )

    keys = [StructField(name, schema[name].dataType) for name in task.partition_by]
    results = [StructField(name, schema[name].dataType) for name in task.expressions]
    taken = {name.lower() for name in (*task.partition_by, *(() if task.slides else task.expressions))}
    for added in (HELD, OPEN) if task.slides else (HELD,):
        if added in taken:
            raise InvalidInput(f"read_state gives a column {added!r}, and there is one of that name. Rename it")
    if task.slides:
        left_out = {*task.partition_by, *_MARKS}
        slides = [StructField(field.name, field.dataType) for field in schema if field.name not in left_out]
        results = [StructField(OPEN, ArrayType(StructType(slides)))]
    zoned = task.time is None or task.rows.field(task.time).type.tz is not None
    time = TimestampType() if zoned else TimestampNTZType()
    held = StructType(
        [StructField("rows", LongType()), StructField("bytes", LongType()), StructField("oldest", time),
         StructField("newest", time), StructField("as_of", time), StructField("complete", BooleanType())]
    )  # fmt: skip
    return StructType([*keys, *results, StructField(HELD, held)])


def _plan(
    spark: Any, task: StreamTask, path: str, operator: int, batch: int, watermark: int | None, output: Any
) -> Any:
    """Plan the reading: the values of a bucket come together, and one pass reads them."""
    from pyspark import cloudpickle
    from pyspark.sql import functions as F  # noqa: N812

    from slidewise.spark.shipping import build_executor_function, ship

    def load(name: str) -> Any:
        reader = spark.read.format("statestore").option("path", path).option("operatorId", operator)
        return reader.option("stateVarName", name).option("batchId", batch).load()

    bucket = F.col(f"key.{BUCKET}").alias(BUCKET)
    metas = load(META).select(bucket, F.lit(None).cast("long").alias("piece"), F.col("value.data").alias("data"))
    pieces = load(PIECES).select(
        bucket, F.col("user_map_key.piece").alias("piece"), F.col("user_map_value.data").alias("data")
    )
    values = repartition_by_keys(metas.unionByName(pieces), [BUCKET], ()).sortWithinPartitions(BUCKET)
    package = ship(spark)
    reading = build_executor_function(cloudpickle.dumps(Reading(task, watermark)), package)
    return values.mapInArrow(reading, output)


@dataclass(frozen=True)
class Reading:
    """The reading of the buckets of a partition."""

    task: StreamTask
    watermark: int | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read buckets, whose values come one after the other."""
        current, values = None, dict[int | None, bytes]()
        for batch in batches:
            for bucket, piece, text in zip(*(batch.column(k).to_pylist() for k in range(3)), strict=True):
                if bucket != current and values:
                    yield from self._read(values)
                    values = {}
                current = bucket
                values[piece] = from_text(text)
        if values:
            yield from self._read(values)

    def _read(self, values: dict[int | None, bytes]) -> Iterator[pa.RecordBatch]:
        meta = values.get(None)
        if meta is None:
            raise StateError("saved state is damaged: a bucket has pieces and no meta value")
        pieces = {piece: data for piece, data in values.items() if piece is not None}
        yield from read_bucket(self.task, BucketCopy(meta, pieces), self.watermark).to_batches()
