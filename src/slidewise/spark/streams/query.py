"""Query: a call on a streaming DataFrame, what is checked before it starts, and its plan.

df -> watermark -> pack (mapInArrow) -> one stateful operator over buckets -> rows, late ones counted
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.stream_options import (
    FINAL,
    LATE,
    LATE_ROW,
    REVISION,
    ROW,
    StreamOptions,
    check_delay,
    check_empty,
    check_final,
    check_marks,
    check_options,
    read_microseconds,
    require_time,
)
from slidewise.columns.with_columns import list_names, list_order
from slidewise.errors import InvalidInput
from slidewise.spark.column_names import find_unused_prefix, require_distinct
from slidewise.spark.input import Input, tell_columns
from slidewise.spark.plan import Group, build_plain_columns, column, group_expressions
from slidewise.spark.requirements import require_packages
from slidewise.spark.schema import Schema, infer_result_types
from slidewise.spark.session import PARTITIONS, PROVIDER, ROCKSDB
from slidewise.spark.spark_operator import quote
from slidewise.spark.spark_windows import plan_spark_windows, require_spark_windows
from slidewise.spark.streams.checkpoint import remember, require_compatible, require_no_state
from slidewise.spark.streams.history import PACKED_HISTORY, UNTIL, HistoryPacking
from slidewise.spark.streams.history_input import NEWEST, read_begins, read_history
from slidewise.spark.streams.metrics import AHEAD, IN_HISTORY
from slidewise.spark.streams.results import choose_slices
from slidewise.spark.streams.slices import choose_folding
from slidewise.spark.streams.stream_task import (
    StreamTask,
    check_names,
    check_windows,
    depends_on_zone,
    to_state_type,
)
from slidewise.spark.streams.wire import BLOB, BUCKET, Packing, choose_bucket_labels
from slidewise.spark.whole_seconds import SECONDS_OF

WATERMARK = "spark.watermarkDelayMs"
#: in the metadata of a time column: rows come when the watermark has passed them, and are not late for that
RELEASED = "slidewise.released"
#: in the metadata of a time column: rows come behind the watermark, and no second one can be declared
BEHIND = "slidewise.behind"
_MARKS = (WATERMARK, RELEASED, BEHIND, SECONDS_OF)
#: Spark's default of shuffle partitions, which is many for small batches
MANY_PARTITIONS = 200


@dataclass(frozen=True)
class Query:
    """A call on a stream, checked."""

    #: with a watermark
    df: Any
    task: StreamTask
    #: the columns of the output
    output: Any
    options: StreamOptions
    #: the schema that the caller has given
    given: Schema | None = None
    #: a batch that is in the state before the first row
    history: Any = None

    @property
    def event_time(self) -> str | None:
        """The output column that keeps the watermark; None: rows are emitted that Spark would refuse as too old."""
        task = self.task
        if task.keep is not None or task.late_row is not None or any(window.waits for window in task.windows):
            return None
        if task.time is not None and task.rows.field(task.time).type.tz is None:  # Spark's watermarks are of instants
            return None
        window = task.windows[0]
        by_time = window.slide_kind == "time" or window.gives_windows
        return "window_end" if task.slides and by_time else task.time


def stream_with_columns(
    source: Input, given: dict[str, Any], partition_by: Any, order_by: Any, algorithm: str, **options: Any
) -> Any:
    """Plan with_columns on a stream."""
    require_settings(source.schema.spark)
    query = build_rows_query(source, given, partition_by, order_by, algorithm, **options)
    return _check_and_plan(query, source.hidden)


def stream_aggregate(
    source: Input, expressions: dict[str, Over], partition_by: Any, order_by: Any, engine: str = "auto", **options: Any
) -> Any:
    """Plan aggregate on a stream."""
    if engine == "spark":
        return _plan_by_spark(source, expressions, partition_by, order_by, options)
    require_settings(source.schema.spark)
    return _check_and_plan(build_slides_query(source, expressions, partition_by, order_by, **options))


def _plan_by_spark(
    source: Input, expressions: dict[str, Over], partition_by: Any, order_by: Any, options: dict[str, Any]
) -> Any:
    """Plan aggregate on a stream by Spark's own `window()`, which counts late rows itself."""
    from pyspark.sql import functions as F  # noqa: N812

    from slidewise.spark.aggregate import build_slides_schema

    chosen, schema = StreamOptions(**options), source.schema
    group = Group(tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), expressions)
    require_spark_windows(schema, group, options)
    df, group, _ = prepare(source, group, "aggregate", chosen)
    if chosen.checkpoint is not None:
        require_no_state(df.sparkSession, chosen.checkpoint)
    untimed = F.count_if(column(group.order_by[0].name).isNull()).alias("untimed")
    output = _drop_marks(build_slides_schema(schema, schema.to_arrow(schema.find_read_columns(group)), group))
    for field in output.fields:
        if field.name in ("window_start", "window_end"):
            field.metadata = {**field.metadata, BEHIND: True}
    return plan_spark_windows(df.observe(chosen.metrics, untimed), group, output)


def _check_and_plan(query: Query, hidden: tuple[str, ...] = ()) -> Any:
    """Plan a query, which must be able to go on from its checkpoint, where one is named."""
    path = query.options.checkpoint
    if path is not None:
        require_compatible(query.df.sparkSession, query.task, path)
    out = plan_query(query)
    out = out.drop(*map(column, hidden)) if hidden else out
    remember(out, query.task)
    return out


def build_rows_query(
    source: Input, given: dict[str, Any], partition_by: Any, order_by: Any, algorithm: str, **options: Any
) -> Query:
    """Check a call of with_columns, and build its query."""
    from pyspark.sql.types import BooleanType, IntegerType

    groups = group_expressions(given, partition_by, order_by, algorithm)
    if len(groups) > 1:
        raise InvalidInput(
            "with_columns: a call on a stream has one partitioning and one order, and its expressions bring "
            f"{len(groups)}. Make one call for each"
        )
    chosen = StreamOptions(**options)
    df, group, told = prepare(source, groups[0], "with_columns", chosen)
    schema = source.schema
    new = [name for name in group.expressions if name not in schema.names]
    require_distinct([*schema.names, *new], schema.heeds_capitals, "with_columns")
    rows = _to_state_types(schema.to_arrow(schema.names))
    kinds = infer_result_types(rows, group)
    reads = tuple(schema.field(name).name for name in schema.find_read_columns(group))
    told["late_row"] = rows if chosen.late == "mark" else None
    task = StreamTask(rows, group.partition_by, group.order_by, group.expressions, tuple(kinds), reads, **told)
    check_names(task)
    check_windows(task)
    task = replace(_set_zone(task, schema), begins=read_begins(task, chosen, "with_columns"))
    history = read_history(source, given.values(), chosen, "with_columns")
    results = dict(zip(group.expressions, schema.to_spark_types(kinds, rows), strict=True))
    if task.keep is not None:
        results[REVISION] = IntegerType()
    if task.late_row is not None:
        check_marks([*schema.names, *group.expressions], slides=False)
        results[LATE] = BooleanType()
    return Query(df, task, _build_output(schema, results), chosen, schema if source.given else None, history)


def build_slides_query(
    source: Input, expressions: dict[str, Over], partition_by: Any, order_by: Any, **options: Any
) -> Query:
    """Check a call of aggregate, and build its query."""
    from pyspark.sql.types import BooleanType, IntegerType, LongType, StructField, StructType

    from slidewise.spark.aggregate import build_late_row, build_slides_schema
    from slidewise.spark.arrow_types import to_arrow_type

    chosen = StreamOptions(**options)
    group = Group(tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), expressions)
    df, group, told = prepare(source, group, "aggregate", chosen)
    schema = source.schema
    reads = tuple(schema.field(name).name for name in schema.find_read_columns(group))
    rows = _to_state_types(schema.to_arrow(reads))
    output = _drop_marks(build_slides_schema(schema, rows, group))
    kinds = tuple(to_state_type(to_arrow_type(output[name].dataType, schema.zone, name)) for name in expressions)
    told["late_row"] = _to_state_types(schema.to_arrow(schema.names)) if chosen.late == "mark" else None
    task = StreamTask(rows, group.partition_by, group.order_by, expressions, kinds, reads, slides=True, **told)
    check_names(task)
    check_windows(task)
    task = replace(_set_zone(task, schema), begins=read_begins(task, chosen, "aggregate"))
    task = replace(task, slices=choose_slices(task, chosen.slices))
    history = read_history(source, expressions.values(), chosen, "aggregate")
    if task.keep is not None:
        labels, results = output.fields[: -len(expressions)], output.fields[-len(expressions) :]
        row = [StructField(ROW, LongType())] if task.windows[0].slide_kind == "count" else []
        output = StructType([*labels, *row, *results, StructField(REVISION, IntegerType())])
    if task.early:
        check_final(output.names)
        output = StructType([*output.fields, StructField(FINAL, BooleanType())])
    if task.late_row is not None:
        check_marks(output.names, slides=True)
        late = [StructField(LATE, BooleanType()), StructField(LATE_ROW, build_late_row(source))]
        output = StructType([*output.fields, *late])
    return Query(df, task, output, chosen, schema if source.given else None, history)


# ---- checks
def prepare(source: Input, group: Group, what: str, options: StreamOptions) -> tuple[Any, Group, dict[str, Any]]:
    """Prepare the stream with its watermark, its columns by their own names, and options of StreamTask."""
    require_packages(protobuf=True)
    df, schema = source.df, source.schema
    emit, max_delay = options.emit, options.max_delay
    check_options(options, what)
    check_empty(group.expressions, options, what)
    keys = tuple(schema.field(name).name for name in group.partition_by)
    order = tuple(type(by)(schema.field(by.name).name, by.descending, by.nulls_first) for by in group.order_by)
    group = Group(keys, order, group.expressions)
    keep = None if options.keep is None else read_microseconds(options.keep, f"{what}: keep")
    told: dict[str, Any] = {"emit": emit or "watermark", "keep": keep, "buckets": options.buckets}
    told["empty"] = bool(options.empty)
    if not order:
        if emit != "arrival":
            raise InvalidInput(
                f"{what}: name the column of event times in order_by. Rows of a stream have no other order than "
                'that of their arrival, which emit="arrival" takes'
            )
        require_time(options, what)
        return df, group, told
    time = order[0]
    kind = schema.field(time.name).dataType.simpleString()
    if kind not in ("timestamp", "timestamp_ntz"):
        raise InvalidInput(
            f"{what}: order_by begins with the time of events, a timestamp, and {time.name!r} is {kind}. Cast it first"
        )
    if time.descending:
        raise InvalidInput(f"{what}: a stream goes forward in time, and order_by has {time.name!r} descending")
    if options.forget_after is not None:
        told["forget_after"] = read_microseconds(options.forget_after, f"{what}: forget_after")
    metadata = schema.field(time.name).metadata
    marked = [
        field.name for field in schema.fields if WATERMARK in field.metadata and field.name != metadata.get(SECONDS_OF)
    ]
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
    if marked and options.max_ahead is not None:
        raise InvalidInput(
            f"{what}: the stream has a watermark on {time.name!r} already, which follows the newest time: after it, "
            "rows are left out in vain. Leave out withWatermark, and give max_delay beside max_ahead="
            f"{options.max_ahead!r}; or filter such rows before withWatermark"
        )
    told["released"] = bool(marked) and RELEASED in metadata
    if not marked and BEHIND in metadata:
        raise InvalidInput(
            f'{what}: the rows come from a call with late="revise" or "mark", with frames of following rows, or with '
            f"times without a zone, and may be older than the stream's watermark: {time.name!r} has none any more, and "
            "Spark takes no second one. Compute all of it in one call, or write the first result out and read it as a "
            "stream of its own"
        )
    if not marked:
        if max_delay is None:
            raise InvalidInput(
                f"{what}: without a watermark nothing on a stream is ever final, and its state only grows. Say how "
                f'late rows may come, as in max_delay="30s", or df.withWatermark({time.name!r}, "30 seconds")'
            )
        delay = read_microseconds(max_delay, f"{what}: max_delay")
        check_delay(max_delay, what)
        if options.max_ahead is not None and kind == "timestamp_ntz":
            raise InvalidInput(
                f"{what}: {time.name!r} is a timestamp without a zone, and so nothing tells how far ahead of the clock "
                "it is, which max_ahead= measures. Cast it to timestamp, or leave out max_ahead"
            )
        if options.max_ahead is not None:
            limit = read_microseconds(options.max_ahead, f"{what}: max_ahead")
            df = drop_rows_ahead(df, time.name, limit, options.metrics)
        marked_by = time.name
        if kind == "timestamp_ntz":
            df, marked_by = _add_instants(df, time.name, schema.names)
        df = df.withWatermark(quote(marked_by), f"{delay // 1000} milliseconds")
    return df, group, told


def _add_instants(df: Any, time: str, names: list[str]) -> tuple[Any, str]:
    """Add the times without a zone as those of UTC, on which Spark can have a watermark; return the column's name.

    By a difference, and not by a cast: that would go by the clocks of the session's zone, where times are skipped.
    """
    from pyspark.sql import functions as F  # noqa: N812

    name = find_unused_prefix(names) + "instant"
    since = f"CAST({quote(time)} - TIMESTAMP_NTZ'1970-01-01 00:00:00' AS INTERVAL SECOND)"
    instant = f"timestamp_micros(CAST(CAST({since} AS DECIMAL(20, 6)) * 1000000 AS BIGINT))"
    return df.select("*", F.expr(instant).alias(name)), name


def drop_rows_ahead(df: Any, time: str, limit: int, metrics: str) -> Any:
    """Drop and count the rows of more than so many microseconds ahead of the clock.

    The clock is that of the micro-batch, which Spark has in the checkpoint: one that is run again sees it again. It is
    never the newest row: after a quiet night all rows would be too far ahead of that.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ahead = F.unix_micros(column(time)) > F.unix_micros(F.current_timestamp()) + limit
    ahead = F.coalesce(ahead, F.lit(False))  # a row without a time is counted as such
    return df.observe(metrics + AHEAD, F.count_if(ahead).alias("ahead")).where(~ahead)


def _to_state_types(rows: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, to_state_type(field.type)) for field in rows])


def _set_zone(task: StreamTask, schema: Schema) -> StreamTask:
    """Give the task the session's time zone, where its results depend on that."""
    return replace(task, zone=schema.zone) if depends_on_zone(task) else task


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
            stacklevel=4,
        )


# ---- the plan
def plan_query(query: Query) -> Any:
    """Plan a query: pack rows, run the stateful operator, count rows left out."""
    from pyspark import cloudpickle
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

    from slidewise.spark.shipping import build_executor_function, ship
    from slidewise.spark.streams.processor import Processor, build_processor

    df, task, output, event_time = query.df, query.task, query.output, query.event_time
    packing = Packing(task.incoming, choose_bucket_labels(task.buckets), task.takes_late_rows, choose_folding(task))
    names = task.incoming.names
    plain = _select_plain(df, task)
    if query.given is not None:
        kinds = [query.given.field(name).dataType for name in names]
        plain = tell_columns(plain, {str(k): kind for k, kind in enumerate([*kinds, LongType()])})
    package = ship(df.sparkSession, cloned=True)
    blobs = StructType([StructField(BUCKET, IntegerType()), StructField(BLOB, BinaryType())])
    packed = plain.mapInArrow(build_executor_function(cloudpickle.dumps(packing), package), blobs)
    for field in output.fields:
        if field.name == event_time and task.emit != "arrival":
            field.metadata = {**field.metadata, RELEASED: True}
        if field.dataType.typeName().startswith("timestamp") and event_time is None and task.time is not None:
            field.metadata = {**field.metadata, BEHIND: True}
    left_out = find_unused_prefix(output.names) + "left_out"
    counted = StructType([*output.fields, StructField(left_out, LongType())])
    timed = task.time is not None
    history = None if query.history is None else plan_history(query, packing, package)
    out = packed.groupBy(BUCKET).transformWithStateInPandas(
        build_processor(Processor(task, packing, event_time, left_out), package),
        outputStructType=counted,
        outputMode="Append",
        timeMode="EventTime" if timed else "None",
        eventTimeColumnName=event_time or "",
        **({} if history is None else {"initialState": history}),
    )
    if not timed:
        return out.drop(left_out)
    count, none = column(left_out), F.lit(0)
    counts = {"late": count, "untimed": -count}
    if history is not None:
        in_history = count - F.lit(IN_HISTORY)
        counts |= {"late": F.when(in_history < 0, count), "in_history": in_history}
    total = [F.coalesce(F.sum(F.greatest(counted, none)), none).alias(name) for name, counted in counts.items()]
    return out.observe(query.options.metrics, *total).where(count.isNull()).drop(left_out)


def plan_history(query: Query, packing: Packing, package: str | None) -> Any:
    """Plan the history: packed as rows of the stream are. Spark reads it with the first micro-batch alone.

    There is no join and no subquery in it, such as would tell its newest time: Spark would run those every time.
    """
    from pyspark import cloudpickle
    from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

    from slidewise.spark.shipping import build_executor_function

    task = query.task
    assert task.time is not None and task.begins is not None
    until = None if task.begins == NEWEST else int(task.begins)
    packs = cloudpickle.dumps(HistoryPacking(packing, task.time, until))
    kinds = {BUCKET: IntegerType(), BLOB: BinaryType(), UNTIL: LongType()}
    blobs = StructType([StructField(name, kinds[name]) for name in PACKED_HISTORY.names])
    packed = _select_plain(query.history, task).mapInArrow(build_executor_function(packs, package), blobs)
    return packed.groupBy(BUCKET)


def _select_plain(df: Any, task: StreamTask) -> Any:
    """Select the columns of rows that come in, by number, and the hash of their key."""
    from pyspark.sql import functions as F  # noqa: N812

    keys = [column(name) for name in task.partition_by]
    hashed = F.xxhash64(*keys) if keys else F.lit(0).cast("long")
    names = task.incoming.names
    return df.select(*build_plain_columns(names), hashed.alias(str(len(names))))


def _build_output(schema: Schema, results: dict[str, Any]) -> Any:
    """Build the columns of the output."""
    from pyspark.sql.types import StructField, StructType

    fields = {field.name: field for field in schema.fields}
    return _drop_marks(StructType(list((fields | {n: StructField(n, kind) for n, kind in results.items()}).values())))


def _drop_marks(schema: Any) -> Any:
    """Drop the marks of a watermark, which Spark sets where it is kept, and allow nulls, which marker rows have."""
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in schema.fields:
        metadata = {name: value for name, value in field.metadata.items() if name not in _MARKS}
        fields.append(StructField(field.name, field.dataType, True, metadata))
    return StructType(fields)
