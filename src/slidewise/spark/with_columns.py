"""New columns for Spark DataFrames: one shuffle, one sort and one pass through Python per partitioning and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.spark.plan import group_expressions, plan_columns
from slidewise.spark.requirements import is_stream, require_batch, require_packages
from slidewise.spark.window import SpecifiedOver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: classic or of Spark Connect: the same kind comes back
DataFrameT = TypeVar("DataFrameT", bound="DataFrame")

ENGINES = ("auto", "slidewise", "spark")


def with_columns(
    df: DataFrameT,
    expressions: Mapping[str, Over | SpecifiedOver] | None = None,
    /,
    *,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    algorithm: str = "auto",
    engine: str = "auto",
    hot_keys: str | bool = "auto",
    max_delay: Any = None,
    emit: str | None = None,
    late: str | None = None,
    keep: Any = None,
    forget_after: Any = None,
    buckets: int | None = None,
    metrics: str | None = None,
    max_ahead: Any = None,
    checkpoint: str | None = None,
    **columns: Over | SpecifiedOver,
) -> DataFrameT:
    """Add columns to a DataFrame: aggregations over windows. Nothing runs before an action.

        slidewise.spark.with_columns(df, partition_by="sensor", order_by="ts",
            peak=sw.max("temp").over(sw.rows(1000)))

    - Expressions come by name, or as a dict where names are no identifiers. Those in PySpark's spelling bring their own
      partitioning and order; the others have `partition_by` and `order_by`, as for sw.with_columns. Each distinct
      partitioning and order is sorted once.
    - All other columns stay as they are. A new column with the name of an old one takes its place.
    - Rows of equal order come in any order, as in Spark's own windows.
    - An executor holds the rows of the longest window. Frames that end with their key, whose bounds are columns, or
      that grow with it and are of aggregates such as median, of which no part of fixed size can stand for the rows
      gone, hold the rows of a key.
    - `engine` is "slidewise", "spark" for Spark's own operator, or "auto" for the faster of the two.
    - `hot_keys=True` spreads a key of more than about a million rows over all cores. To find such keys in a sample,
      the input is read one more time. "auto" does so without keys, where one core would have everything, and where the
      input is cached; False never.
    - `max_delay`, `max_ahead`, `emit`, `late`, `keep`, `forget_after`, `buckets`, `metrics` and `checkpoint` are for
      streams: see docs/spark-streams.md.
    """
    require_packages()
    options = {
        "max_delay": max_delay, "emit": emit, "late": late, "keep": keep, "forget_after": forget_after,
        "buckets": buckets, "metrics": metrics, "max_ahead": max_ahead, "checkpoint": checkpoint,
    }  # fmt: skip
    named = {name: value for name, value in options.items() if isinstance(value, Over | SpecifiedOver)}
    given = {**dict(expressions or {}), **columns, **named}  # a new column may have the name of an option
    streams = {name: value for name, value in options.items() if value is not None and name not in named}
    if is_stream(df):
        from slidewise.spark.streams.query import stream_with_columns

        if engine == "spark" or hot_keys is True:
            raise InvalidInput(
                'with_columns: engine="spark" and hot_keys are for batches: Spark has no OVER on streams'
            )
        return stream_with_columns(df, given, partition_by, order_by, algorithm, **streams)
    require_batch(df, "with_columns", streams)
    if engine not in ENGINES:
        raise InvalidInput(f"with_columns: engine is one of {', '.join(ENGINES)}, got {engine!r}")
    if hot_keys not in ("auto", True, False):
        raise InvalidInput(f'with_columns: hot_keys is True, False or "auto", got {hot_keys!r}')
    groups = group_expressions(given, partition_by, order_by, algorithm)
    return plan_columns(df, groups, engine, hot_keys).finish(given)
