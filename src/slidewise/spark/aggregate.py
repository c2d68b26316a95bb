"""One row per key and slide for Spark DataFrames: one shuffle, one sort and one pass through Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.columns.aggregate import compute_slides, slide_expressions
from slidewise.columns.with_columns import list_names, list_order
from slidewise.spark.column_names import require_distinct
from slidewise.spark.conditions import hoist_conditions
from slidewise.spark.executor.slide_task import SlideTask
from slidewise.spark.expiry import compute
from slidewise.spark.input import Input, read_input, tell_columns
from slidewise.spark.plan import (
    Group,
    add_stream_columns,
    build_plain_columns,
    column,
    leave_out_untimed,
    read_batch_effects,
    repartition_by_keys,
    sort_by_order,
)
from slidewise.spark.requirements import require_packages
from slidewise.spark.schema import Schema, compute_on_no_rows
from slidewise.spark.spark_windows import check_engine, plan_spark_windows, require_spark_windows
from slidewise.spark.with_columns import DataFrameT
from slidewise.windows.definitions import WindowDefinition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def aggregate(
    df: DataFrameT,
    aggregations: Mapping[str, Aggregation] | None = None,
    /,
    *,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    window: WindowDefinition | int,
    algorithm: str = "auto",
    engine: str | Aggregation | None = None,
    max_delay: Any = None,
    max_ahead: Any = None,
    emit: str | None = None,
    empty: bool | Aggregation | None = None,
    late: str | None = None,
    keep: Any = None,
    forget_after: Any = None,
    buckets: int | None = None,
    slices: bool | None = None,
    metrics: str | None = None,
    checkpoint: str | None = None,
    history: DataFrame | Aggregation | None = None,
    history_until: Any = None,
    schema: StructType | str | None = None,
    streaming: bool | None = None,
    **columns: Aggregation,
) -> DataFrameT:
    """Aggregate over a window with a slide: a DataFrame of one row per key and slide. Nothing runs before an action.

        slidewise.spark.aggregate(df, partition_by="sensor", order_by="ts", window=sw.time("1h", every="1m"),
            peak=sw.max("temp"), users=sw.count_distinct("user"))

    - Windows, slides and the columns that come out are those of sw.aggregate; a hopping window is Spark's own. Keys and
      order columns keep their types and metadata. Rows come in no particular order, as from any shuffle.
    - Results come by name, or as a dict where names are no identifiers.
    - Rows of equal order come in any order, as in Spark's own windows.
    - `max_delay`, `max_ahead`, `emit`, `empty`, `late`, `keep`, `forget_after`, `buckets`, `slices`, `metrics`,
      `checkpoint`, `history` and `history_until` are for streams: see docs/spark-streams.md, also for what they do on
      a batch.
    - `engine="spark"` takes Spark's own `window()` for hopping windows of what Spark has, on a batch and on a stream:
      where windows do not overlap it takes less time. It is refused where its answer would not be ours.
    - `schema` and `streaming` are those of `with_columns`: nothing is then asked of the DataFrame.
    - An executor holds the rows of one window. Frames that end with their key, whose bounds are columns, or that grow
      with it and are of aggregates such as median, of which no part of fixed size can stand for the rows gone, hold the
      rows of a key.
    """
    require_packages()
    from slidewise.spark.arrow_types import to_arrow_type
    from slidewise.spark.streams.query import stream_aggregate

    options: dict[str, Any] = {
        "max_delay": max_delay, "max_ahead": max_ahead, "emit": emit, "empty": empty, "late": late, "keep": keep,
        "forget_after": forget_after, "buckets": buckets, "slices": slices, "metrics": metrics,
        "checkpoint": checkpoint, "history": history, "history_until": history_until, "schema": schema,
        "streaming": streaming, "engine": engine,
    }  # fmt: skip
    named = {name: value for name, value in options.items() if isinstance(value, Aggregation)}
    given = {**dict(aggregations or {}), **columns, **named}  # a result may have the name of an option
    streams = {name: value for name, value in options.items() if value is not None and name not in named}
    expressions = slide_expressions(window, given, algorithm)
    chosen = check_engine(streams.pop("engine", "auto"))
    source = read_input(df, "aggregate", streams.pop("schema", None), streams.pop("streaming", None))
    source = hoist_conditions(source, "aggregate", given.values())
    if source.streaming:
        return stream_aggregate(source, expressions, partition_by, order_by, chosen, **streams)
    group = Group(tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), expressions)
    labels = [*group.partition_by, *(by.name for by in group.order_by)]
    effects = read_batch_effects(source, "aggregate", streams, group, labels)
    known = source.schema
    reads = known.to_arrow(known.find_read_columns(group))
    output = build_slides_schema(known, reads, group, effects.revises)
    if chosen == "spark":
        require_spark_windows(known, group, streams)
        return plan_spark_windows(source.df, group, output)
    late_row = build_late_row(source) if effects.marks else None
    if effects.empty:
        return add_stream_columns(compute(source, reads, output, group, effects, slides=True), effects, late_row)
    kinds = tuple(to_arrow_type(field.dataType, known.zone, field.name) for field in output)
    overs = tuple(expressions.values())
    task = SlideTask(
        reads, group.partition_by, group.order_by, overs, kinds, effects=effects, names=tuple(output.names)
    )
    by = group.partition_by, group.order_by
    timed = leave_out_untimed(source, effects).df
    rows = repartition_by_keys(timed.select(*(column(name) for name in reads.names)), *by)
    plain = sort_by_order(rows, *by).select(*build_plain_columns(reads.names))
    if source.given:
        plain = tell_columns(plain, {str(k): known.field(name).dataType for k, name in enumerate(reads.names)})
    return add_stream_columns(plain.mapInArrow(_build_function(source, task), output), effects, late_row)


def build_late_row(source: Input) -> Any:
    """Build the type of a late row of slides: all columns that come in, but for conditions of `where`."""
    from pyspark.sql.types import StructField, StructType

    shown = [name for name in source.schema.names if name not in source.hidden]
    return StructType([StructField(name, source.schema.field(name).dataType) for name in shown])


def build_slides_schema(schema: Schema, reads: pa.Schema, group: Group, row_numbers: bool = False) -> Any:
    """Build the schema of the output: the columns that the slides of no rows have."""
    from pyspark.sql.types import StructField, StructType

    made = compute_on_no_rows(reads, group, lambda rows: compute_slides(rows, group.expressions, 1, row_numbers))
    require_distinct(made, schema.heeds_capitals, "aggregate")
    window = next(iter(group.expressions.values())).window
    at_rows = window.slide_kind != "time" and not window.gives_windows
    came_in = {*group.partition_by, *(by.name for by in group.order_by if at_rows)}
    fields = []
    for name, kind in zip(made, schema.to_spark_types([array.type for array in made.values()], reads), strict=True):
        if name in came_in:
            before = schema.field(name)
            fields.append(StructField(name, before.dataType, before.nullable, before.metadata))
        else:
            fields.append(StructField(name, kind))
    return StructType(fields)


def _build_function(source: Input, task: SlideTask) -> Any:
    from pyspark import cloudpickle

    from slidewise.spark.shipping import build_executor_function, ship

    return build_executor_function(cloudpickle.dumps(task), ship(source.schema.spark, cloned=source.given))
