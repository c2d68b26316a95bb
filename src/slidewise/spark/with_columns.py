"""New columns for Spark DataFrames: one shuffle, one sort and one pass through Python per partitioning and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.spark.conditions import hoist_conditions
from slidewise.spark.expiry import compute_rows
from slidewise.spark.input import read_input
from slidewise.spark.layouts import find_layout, record_layout
from slidewise.spark.named_expressions import is_expression
from slidewise.spark.plan import (
    add_stream_columns,
    fit_offsets,
    group_expressions,
    join_groups,
    plan_columns,
    read_batch_effects,
)
from slidewise.spark.pyspark_internals import is_column
from slidewise.spark.requirements import require_packages
from slidewise.spark.window import SpecifiedOver
from slidewise.spark.window_columns import Windows, build_marker, compute, find_markers, list_reads, read_marker

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    NewColumn: TypeAlias = Over | SpecifiedOver | Column

#: classic or of Spark Connect: the same kind comes back
DataFrameT = TypeVar("DataFrameT", bound="DataFrame")

ENGINES = ("auto", "slidewise", "spark")


def with_columns(
    df: DataFrameT,
    expressions: Mapping[str, NewColumn] | None = None,
    /,
    *,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    algorithm: str = "auto",
    engine: str = "auto",
    hot_keys: str | bool = "auto",
    max_delay: Any = None,
    emit: str | None = None,
    empty: bool | Over | SpecifiedOver | None = None,
    late: str | None = None,
    keep: Any = None,
    forget_after: Any = None,
    buckets: int | None = None,
    metrics: str | None = None,
    max_ahead: Any = None,
    checkpoint: str | None = None,
    history: DataFrame | Over | SpecifiedOver | None = None,
    history_until: Any = None,
    schema: StructType | str | None = None,
    streaming: bool | None = None,
    **columns: NewColumn,
) -> DataFrameT:
    """Add columns to a DataFrame: aggregations over windows. Nothing runs before an action.

        slidewise.spark.with_columns(df, partition_by="sensor", order_by="ts",
            peak=sw.max("temp").over(sw.rows(1000)))

    - Expressions come by name, or as a dict where names are no identifiers. Those in PySpark's spelling, which may be
      Columns with windows anywhere inside, bring their own partitioning and order; the others have `partition_by` and
      `order_by`, as for sw.with_columns. Each distinct partitioning and order is sorted once.
    - `where=` of an aggregation is the name of a boolean column, or else a condition in Spark SQL.
    - All other columns stay as they are. A new column with the name of an old one takes its place.
    - Rows of equal order come in any order, as in Spark's own windows.
    - An executor holds the rows of a task up to Spark's limit for Python workers (`spark.python.worker.memory`), puts
      them in order by way of its disk above it, and holds the rows of the longest window. Frames that end with their
      key, whose bounds are columns, or that grow with it and are of aggregates such as median, of which no part of
      fixed size can stand for the rows gone, hold the rows of a key.
    - `engine` is "slidewise", "spark" for Spark's own operator, or "auto" for the faster of the two.
    - `hot_keys=True` spreads a key of more than about a million rows over all cores. To find such keys in a sample,
      the input is read one more time. "auto" does so without keys, where one core would have everything, and where the
      input is cached; False never.
    - `max_delay`, `max_ahead`, `emit`, `empty`, `late`, `keep`, `forget_after`, `buckets`, `metrics`, `checkpoint`,
      `history` and `history_until` are for streams: see docs/spark-streams.md, also for what they do on a batch.
    - With `schema`, a StructType or text such as "sensor string, ts timestamp, temp double", nothing is asked of the
      DataFrame, as flows of Spark's Declarative Pipelines demand (docs/pipelines.md); `streaming` then says whether it
      is a stream. A schema that is not the DataFrame's is an error once it runs.
    """
    require_packages()
    options: dict[str, Any] = {
        "max_delay": max_delay, "emit": emit, "empty": empty, "late": late, "keep": keep, "forget_after": forget_after,
        "buckets": buckets, "metrics": metrics, "max_ahead": max_ahead, "checkpoint": checkpoint,
        "history": history, "history_until": history_until, "schema": schema, "streaming": streaming,
    }  # fmt: skip
    named = {name: value for name, value in options.items() if _is_expression(value)}
    given = {**dict(expressions or {}), **columns, **named}  # a new column may have the name of an option
    streams = {name: value for name, value in options.items() if value is not None and name not in named}
    call = _Call(partition_by, order_by, algorithm, engine, hot_keys, streams)
    if any(is_column(made) or _reads_expressions(made) for made in given.values()):
        return _add_columns(df, given, call)
    return _add_windows(df, given, call)


@dataclass(frozen=True)
class _Call:
    """The arguments of a call, besides the DataFrame and its new columns."""

    partition_by: Any = None
    order_by: Any = None
    algorithm: str = "auto"
    engine: str = "auto"
    hot_keys: str | bool = "auto"
    #: of streams, and the schema that was given
    options: Mapping[str, Any] = field(default_factory=dict)


def _is_expression(value: Any) -> bool:
    return isinstance(value, Over | SpecifiedOver) or is_column(value)


def _reads_expressions(made: Any) -> bool:
    """Tell whether a window in PySpark's spelling is by more than names: `Window.partitionBy(F.upper("k"))`."""
    return isinstance(made, SpecifiedOver) and any(map(is_expression, list_reads(made)))


def _add_windows(df: Any, given: dict[str, Any], call: _Call) -> Any:
    """Add columns that are aggregates over windows."""
    streams, engine, hot_keys = dict(call.options), call.engine, call.hot_keys
    source = read_input(df, "with_columns", streams.pop("schema", None), streams.pop("streaming", None))
    source = hoist_conditions(source, "with_columns", given.values())
    given = {name: fit_offsets(made, source.schema) for name, made in given.items()}
    if source.streaming:
        from slidewise.spark.streams.query import stream_with_columns

        if engine == "spark" or hot_keys is True:
            raise InvalidInput(
                'with_columns: engine="spark" and hot_keys are for batches: Spark has no OVER on streams'
            )
        return stream_with_columns(source, given, call.partition_by, call.order_by, call.algorithm, **streams)
    if engine not in ENGINES:
        raise InvalidInput(f"with_columns: engine is one of {', '.join(ENGINES)}, got {engine!r}")
    if hot_keys not in ("auto", True, False):
        raise InvalidInput(f'with_columns: hot_keys is True, False or "auto", got {hot_keys!r}')
    groups = group_expressions(given, call.partition_by, call.order_by, call.algorithm)
    effects = read_batch_effects(source, "with_columns", streams, join_groups(groups), source.schema.names)
    if effects.empty:
        out = compute_rows(source, groups, engine, hot_keys, effects, list(given))
    else:
        out = plan_columns(source, groups, engine, hot_keys, effects).finish(given)
    return add_stream_columns(out, effects)


# ---- Columns with windows inside
def _add_columns(df: Any, given: dict[str, Any], call: _Call) -> Any:
    """Add columns of which some are Columns of PySpark's, with windows inside."""
    columns = {n: made if is_column(made) else build_marker(made) for n, made in given.items()}
    windows = Windows(find_markers(columns.values()))
    if call.partition_by is None and call.order_by is None:
        windows.require_specs("with_columns")
    with compute():
        markers = {name: read_marker(column) for name, column in columns.items()}
        if not windows.inputs and all(marker is not None for marker in markers.values()):
            plain = {name: windows.by_marker[marker].definition for name, marker in markers.items() if marker}
            try:
                return _add_windows(df, plain, _name_metrics(df, windows, call))
            except InvalidInput:
                if not windows.left_to_spark(df):
                    raise
        if "schema" in call.options:
            raise InvalidInput(
                "with_columns: with schema= nothing is asked of the DataFrame, and so new columns are windows alone, "
                'as in F.median("x").over(w). Add expressions before, by select, or after'
            )
        if not windows.by_marker:
            return df.withColumns(columns)
        return windows.pass_self_joins(lambda: _add_by_windows(df, columns, windows, call))


def _add_by_windows(df: Any, columns: Mapping[str, Any], windows: Windows, call: _Call) -> Any:
    hoisted = zip(columns.items(), windows.hoist(df, columns.values()), strict=True)
    named = {name: found[0] if len(found) == 1 else column for (name, column), found in hoisted}
    out = compute_windows(df, windows, call)
    made = windows.use(df, lambda: windows.with_columns(out, named)).drop(*windows.temporary)
    return record_layout(made, find_layout(out), columns)


def _name_metrics(df: Any, windows: Windows, call: _Call) -> _Call:
    """Name the metrics of a step after another one: `df.withColumn(...).withColumn(...)` are two, and share no name."""
    from slidewise.spark.streams.query import BEHIND, RELEASED

    if "metrics" in call.options or "schema" in call.options or not df.isStreaming:
        return call
    if not any(RELEASED in field.metadata or BEHIND in field.metadata for field in df.schema.fields):
        return call
    first = next(iter(windows.stable.values())).removeprefix("__slidewise_window_")
    return replace(call, options={**call.options, "metrics": f"slidewise_{first}"})


def compute_windows(df: Any, windows: Windows, call: _Call | None = None) -> Any:
    """Give a DataFrame the columns of markers, and those that windows read: what holds markers can be selected then."""
    wide, there = windows.add_early(df)
    return _compute_in_steps(wide, windows, call or _Call(), there)


def _compute_in_steps(df: Any, windows: Windows, call: _Call, there: set[str]) -> Any:
    """Compute windows, and before them those inside of them; `there` are names of what they read."""
    if windows.inner is not None:
        df = _compute_in_steps(df, windows.inner, call, there)
    wide, definitions = windows.add_inputs(df, there)
    call = _name_metrics(wide, windows, call)
    try:
        out = _add_windows(wide, definitions, call)
        return windows.restore_markers(out) if df.isStreaming else out
    except InvalidInput:
        # What an ordinary program computes goes on working: sums of texts, which Spark reads as numbers, and the like.
        theirs = windows.left_to_spark(wide)
        if not theirs:
            raise
    ours = {marker: made for marker, made in definitions.items() if marker not in theirs}
    out = _add_windows(wide, ours, call) if ours else wide
    return out.select("*", *(column.alias(marker) for marker, column in theirs.items()))
