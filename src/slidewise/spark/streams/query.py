"""Calls on streaming DataFrames: what is checked before the query starts, and the plan.

df -> watermark -> pack (mapInArrow) -> one stateful operator over buckets -> rows, late ones counted
"""

from __future__ import annotations

import warnings
from typing import Any

from slidewise.aggregations.over import Over
from slidewise.columns.with_columns import names, ordering
from slidewise.errors import InvalidInput
from slidewise.spark.checks import require_packages
from slidewise.spark.native import quoted
from slidewise.spark.streams.definition import EMITS, StreamTask, check_windows, reaches_ahead
from slidewise.spark.streams.pack import BLOB, BUCKET, KEY_HASH, Packing, bucket_labels
from slidewise.spark.with_columns import Group, Schema, _result_types, column, groups_of
from slidewise.windows.durations import Duration, length

WATERMARK = "spark.watermarkDelayMs"
#: in the metadata of a time column: rows come when the watermark has passed them, and are not late for that
RELEASED = "slidewise.released"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BUCKETS = 16
#: what a call on a stream may say besides
OPTIONS = ("max_delay", "emit", "late", "forget_after", "buckets", "metrics")
#: Spark's default of shuffle partitions, which is many for small batches
MANY_PARTITIONS = 200


def stream_with_columns(
    df: Any,
    given: dict[str, Any],
    partition_by: Any,
    order_by: Any,
    algorithm: str,
    *,
    max_delay: Any = None,
    emit: str | None = None,
    forget_after: Any = None,
    late: str = "drop",
    buckets: int = BUCKETS,
    metrics: str = "slidewise",
) -> Any:
    """with_columns on a stream."""
    groups = groups_of(given, partition_by, order_by, algorithm)
    if len(groups) > 1:
        raise InvalidInput(
            "with_columns: a call on a stream has one partitioning and one order, and its expressions bring "
            f"{len(groups)}. Make one call for each"
        )
    [group] = groups
    df, group, options = prepared(df, group, "with_columns", max_delay, emit, forget_after, late, buckets)
    schema = Schema(df)
    rows = schema.arrow(schema.names)
    kinds = _result_types(rows, group)
    task = StreamTask(
        rows,
        group.partition_by,
        group.order_by,
        group.expressions,
        tuple(kinds),
        tuple(schema.field(name).name for name in schema.reads(group)),
        **options,
    )
    check_windows(task)
    fields = dict(zip(group.expressions, schema.kinds(kinds, rows), strict=True))
    # Rows that have waited for later ones are older than Spark's watermark, which it would refuse.
    event_time = None if any(map(reaches_ahead, task.windows)) else task.time
    return planned(df, task, _output(df, fields), event_time, metrics)


def stream_aggregate(
    df: Any,
    expressions: dict[str, Over],
    partition_by: Any,
    order_by: Any,
    *,
    max_delay: Any = None,
    emit: str | None = None,
    forget_after: Any = None,
    late: str = "drop",
    buckets: int = BUCKETS,
    metrics: str = "slidewise",
) -> Any:
    """aggregate on a stream."""
    from slidewise.spark.aggregate import _output as slides_output
    from slidewise.spark.types import arrow_type

    group = Group(tuple(names(partition_by, "partition_by")), tuple(ordering(order_by)), expressions)
    df, group, options = prepared(df, group, "aggregate", max_delay, emit, forget_after, late, buckets)
    schema = Schema(df)
    read = tuple(schema.field(name).name for name in schema.reads(group))
    rows = schema.arrow(read)
    output = _unmarked(slides_output(schema, rows, group))
    kinds = tuple(arrow_type(output[name].dataType, schema.zone, name) for name in expressions)
    task = StreamTask(rows, group.partition_by, group.order_by, expressions, kinds, read, slides=True, **options)
    check_windows(task)
    [window] = task.windows
    event_time = "window_end" if window.slide_kind == "time" else task.time
    return planned(df, task, output, None if reaches_ahead(window) else event_time, metrics)


# ---- checks
def prepared(
    df: Any, group: Group, what: str, max_delay: Any, emit: str | None, forget_after: Any, late: str, buckets: int
) -> tuple[Any, Group, dict[str, Any]]:
    """The stream with its watermark, its columns by their own names, and what StreamTask is told."""
    require_packages(protobuf=True)
    schema = Schema(df)
    require_settings(schema.spark)
    if late != "drop":
        raise InvalidInput(f'{what}: on a stream late="drop" is what there is, got {late!r}: late rows are counted')
    if emit not in (None, *EMITS):
        raise InvalidInput(f"{what}: emit is one of {', '.join(EMITS)}, got {emit!r}")
    if isinstance(buckets, bool) or not isinstance(buckets, int) or not 1 <= buckets <= 4096:
        raise InvalidInput(f"{what}: buckets is a number from 1 to 4096, got {buckets!r}")
    keys = tuple(schema.field(name).name for name in group.partition_by)
    order = tuple(type(by)(schema.field(by.name).name, by.descending, by.nulls_first) for by in group.order_by)
    group = Group(keys, order, group.expressions)
    marked = [field.name for field in df.schema.fields if WATERMARK in field.metadata]
    options: dict[str, Any] = {"emit": emit or "watermark", "forget_after": None, "buckets": buckets}
    if not order:
        if emit != "arrival":
            raise InvalidInput(
                f"{what}: name the column of event times in order_by. Rows of a stream have no other order than "
                'that of their arrival, which emit="arrival" takes'
            )
        if max_delay is not None or forget_after is not None:
            raise InvalidInput(f"{what}: max_delay and forget_after are measured in event time: name it in order_by")
        return df, group, options
    time = order[0]
    if schema.field(time.name).dataType.simpleString() != "timestamp":  # Spark's watermarks take no other type
        raise InvalidInput(
            f"{what}: order_by begins with the time of events, a timestamp, and {time.name!r} is "
            f"{schema.field(time.name).dataType.simpleString()}. Cast it first"
        )
    if time.descending:
        raise InvalidInput(f"{what}: a stream goes forward in time, and order_by has {time.name!r} descending")
    if forget_after is not None:
        options["forget_after"] = _microseconds(forget_after, f"{what}: forget_after")
    if marked and marked != [time.name]:
        raise InvalidInput(
            f"{what}: the stream's watermark is on {', '.join(map(repr, marked))}, and order_by begins with "
            f"{time.name!r}. Order by the column that has the watermark"
        )
    if marked and max_delay is not None:
        raise InvalidInput(
            f"{what}: the stream has a watermark on {time.name!r} already, and Spark takes no second one. "
            f"Leave out max_delay={max_delay!r}"
        )
    options["released"] = bool(marked) and RELEASED in schema.field(time.name).metadata
    if not marked:
        if max_delay is None:
            raise InvalidInput(
                f"{what}: without a watermark nothing on a stream is ever final, and its state only grows. Say how "
                f'late rows may come, as in max_delay="30s", or df.withWatermark({time.name!r}, "30 seconds")'
            )
        delay = _microseconds(max_delay, f"{what}: max_delay")
        if delay % 1000:
            raise InvalidInput(f"{what}: Spark's watermark counts milliseconds, got max_delay={max_delay!r}")
        df = df.withWatermark(quoted(time.name), f"{delay // 1000} milliseconds")
    return df, group, options


def _microseconds(given: Any, what: str) -> int:
    found = length(given, what)
    if not isinstance(found, Duration) or found.nanoseconds < 0 or found.nanoseconds % 1000:
        raise InvalidInput(f'{what} is a length of time such as "30s", got {given!r}')
    return found.nanoseconds // 1000


def require_settings(spark: Any) -> None:
    """Refuse settings with which Spark would fail, or hardly move, once the query has started."""
    provider = spark.conf.get(PROVIDER, "")
    if "RocksDB" not in provider:
        raise InvalidInput(
            f"windows over streams need Spark's RocksDB state store, and {PROVIDER} is {provider or 'not set'}. Build "
            f"the session with slidewise.spark.configure(builder), or spark.conf.set({PROVIDER!r}, {ROCKSDB!r})"
        )
    partitions = int(spark.conf.get(PARTITIONS, "200"))
    if partitions >= MANY_PARTITIONS:
        warnings.warn(
            f"{PARTITIONS} is {partitions}: a micro-batch takes about 75 ms for each, and the number is frozen in the "
            "checkpoint. Set it to about the number of cores before the query starts for the first time",
            UserWarning,
            stacklevel=5,
        )


# ---- the plan
def planned(df: Any, task: StreamTask, output: Any, event_time: str | None, metrics: str) -> Any:
    """Pack, the stateful operator, and the counts of rows left out."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import LongType, StructField, StructType

    from slidewise.spark.streams.processor import LATE, UNTIMED, Processor

    packing = Packing(task.rows, bucket_labels(task.buckets))
    keys = [column(name) for name in task.partition_by]
    hashed = (F.xxhash64(*keys) if keys else F.lit(0).cast("long")).alias(KEY_HASH)
    rows = df.select(*(column(name) for name in task.rows.names), hashed)
    # Under plain names: mapInArrow cannot find columns whose names have dots.
    plain = rows.toDF(*map(str, range(len(task.rows) + 1)))
    packed = plain.mapInArrow(_packer(packing), f"{BUCKET} int, {BLOB} binary")
    if event_time is not None and task.emit != "arrival":
        released = output[event_time]
        released.metadata = {**released.metadata, RELEASED: True}
    counted = StructType([*output.fields, StructField(LATE, LongType()), StructField(UNTIMED, LongType())])
    timed = task.time is not None
    out = packed.groupBy(BUCKET).transformWithStateInPandas(
        Processor(task, packing, event_time),
        outputStructType=counted,
        outputMode="Append",
        timeMode="EventTime" if timed else "None",
        eventTimeColumnName=event_time or "",
    )
    if not timed:
        return out.drop(LATE, UNTIMED)
    total = [F.coalesce(F.sum(name), F.lit(0)).alias(as_) for name, as_ in ((LATE, "late"), (UNTIMED, "untimed"))]
    return out.observe(metrics, *total).where(column(LATE).isNull()).drop(LATE, UNTIMED)


def _packer(packing: Packing) -> Any:
    def pack(batches: Any) -> Any:
        return packing.run(batches)

    return pack


def _output(df: Any, results: dict[str, Any]) -> Any:
    """The columns that come out."""
    from pyspark.sql.types import StructField, StructType

    fields = {field.name: field for field in df.schema.fields}
    return _unmarked(StructType(list((fields | {n: StructField(n, kind) for n, kind in results.items()}).values())))


def _unmarked(schema: Any) -> Any:
    """Columns without the mark of a watermark, which Spark sets where it is kept; a marker row has nulls in them."""
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in schema.fields:
        metadata = {name: value for name, value in field.metadata.items() if name not in (WATERMARK, RELEASED)}
        fields.append(StructField(field.name, field.dataType, True, metadata))
    return StructType(fields)
