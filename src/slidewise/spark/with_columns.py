"""New columns for Spark DataFrames: one shuffle, one sort and one pass through Python per partitioning and order."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arranged import Data
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.sources import source
from slidewise.columns.with_columns import expression, names, ordering
from slidewise.errors import CompileFallback, InvalidInput
from slidewise.spark.executor.halo import HaloSize, measure_halo
from slidewise.spark.executor.task import Task
from slidewise.spark.names import unused_prefix
from slidewise.spark.requirements import is_stream, require_batch, require_packages
from slidewise.spark.spark_operator import ANSI, quoted, sql_of, verdict
from slidewise.spark.window import SpecifiedOver
from slidewise.windows.definitions import PunctuationWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: classic or of Spark Connect: the same kind comes back
DataFrameT = TypeVar("DataFrameT", bound="DataFrame")

ENGINES = ("auto", "slidewise", "spark")


@dataclass
class Group:
    """Expressions of one partitioning and order, by the names of their columns."""

    partition_by: tuple[str, ...] = ()
    order_by: tuple[OrderColumn, ...] = ()
    expressions: dict[str, Over] = field(default_factory=dict)


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
    """The DataFrame with new columns: aggregations over windows. Nothing runs before an action.

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
    return evaluate(df, groups_of(given, partition_by, order_by, algorithm), engine, hot_keys).finish(given)


def groups_of(given: Mapping[str, Any], partition_by: Any, order_by: Any, algorithm: str = "auto") -> list[Group]:
    """The expressions of a call by partitioning and order; those that bring none of their own have the call's."""
    if not given:
        raise InvalidInput('with_columns: name at least one new column, as in peak=sw.max("x").over(sw.rows(10))')
    return _groups(given, tuple(names(partition_by, "partition_by")), tuple(ordering(order_by)), algorithm)


def _groups(
    given: Mapping[str, Any], keys: tuple[str, ...], order: tuple[OrderColumn, ...], algorithm: str
) -> list[Group]:
    """Expressions by partitioning and order, those of one partitioning side by side."""
    groups: dict[Any, Group] = {}
    for name, made in given.items():
        if isinstance(made, SpecifiedOver):
            by, over = (made.partition_by, made.order_by), made.over
        else:
            by, over = (keys, order), made
        groups.setdefault(by, Group(*by)).expressions[name] = expression(name, over, algorithm)
    first = {by[0]: number for number, by in reversed(list(enumerate(groups)))}
    return sorted(groups.values(), key=lambda group: first[group.partition_by])


# ---- the plan
def evaluate(df: Any, groups: list[Group], engine: str, hot_keys: str | bool) -> Plan:
    """What gives the DataFrame the columns of all groups."""
    plan = Plan(df, [name for group in groups for name in group.expressions])
    for group in groups:
        decided = verdict(group.expressions.values(), engine, plan.schema.wraps)
        if decided.engine == "spark":
            plan.add_by_spark(group)
        elif engine == "spark":
            raise InvalidInput(f'with_columns: engine="spark" cannot compute this: {decided.because}')
        else:
            plan.add(group, hot_keys)
    return plan


class Plan:
    """A DataFrame that gets the columns of one group after the other."""

    def __init__(self, df: Any, new: Iterable[str]) -> None:
        self.df = df
        self.schema = Schema(df)
        self._prefix = unused_prefix([*self.schema.names, *new])
        #: results until all groups have read what they read: a new column may take the place of an old one
        self._made: list[str] = []
        self._new: dict[str, Any] = {}
        self._partitioned: tuple[str, ...] | None = None

    def add_by_spark(self, group: Group) -> None:
        """Spark's own window operator."""
        from pyspark.sql import functions as F  # noqa: N812

        _, kinds = self.schema.task(group)  # the types, and the errors, that our engine would give
        computed = {}
        for (out, over), kind in zip(group.expressions.items(), kinds, strict=True):
            name = self._unused()
            computed[name] = F.expr(sql_of(over, group.partition_by, group.order_by)).cast(kind)
            self._new[out] = F.col(name)
        # All at once: Spark looks at every column of every step, and its stack holds less than 300 steps.
        self.df = self.df.withColumns(computed)
        self._partitioned = None

    def add(self, group: Group, hot_keys: str | bool) -> None:
        """Sort once, and one pass through Python."""
        from pyspark.sql import functions as F  # noqa: N812

        task, kinds = self.schema.task(group)
        reach = halo_for(self.df, group, hot_keys)
        if reach is not None:
            from slidewise.spark.hot_keys import spread

            task = task.with_halo(reach, self._prefix)
            self.df = spread(self.df, group.partition_by, group.order_by[0], reach, self._prefix)
            self._partitioned = None
        if task.partition_by != self._partitioned:
            self.df = partitioned(self.df, task.partition_by, group.order_by)
            self._partitioned = task.partition_by
        self.df = in_order(self.df, task.partition_by, group.order_by)
        name = self._unused()
        results = _udf(self.schema.spark, task, kinds)(*(column(read) for read in task.reads.names))
        self.df = self.df.withColumn(name, results)
        if task.halo is not None:
            self.df = self.df.where(column(task.halo.own)).drop(task.halo.own, task.halo.bucket)
        self._new |= {out: F.col(name).getField(str(k)) for k, out in enumerate(group.expressions)}

    def finish(self, names: Iterable[str]) -> Any:
        """The DataFrame with all new columns, in the order of their names."""
        return self.df.withColumns({name: self._new[name] for name in names}).drop(*self._made)

    def _unused(self) -> str:
        self._made.append(f"{self._prefix}{len(self._made)}")
        return self._made[-1]


def halo_for(df: Any, group: Group, hot_keys: str | bool) -> HaloSize | None:
    """How far frames reach where large keys are to be spread; None: they are not."""
    if hot_keys is False:
        return None
    found: HaloSize | str = measure_halo(over.window for over in group.expressions.values())
    if len(group.order_by) != 1:
        found = "rows are cut by one order column"
    if hot_keys is True and isinstance(found, str):
        raise InvalidInput(f"with_columns: hot_keys=True cannot spread a key here: {found}")
    wanted = hot_keys is True or not group.partition_by or _is_cached(df)
    return found if wanted and not isinstance(found, str) else None


def _is_cached(df: Any) -> bool:
    level = df.storageLevel
    return bool(level.useMemory or level.useDisk)


def partitioned(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """All rows of a key in one partition. Without keys or an order, rows stay as they stand."""
    if partition_by:
        return df.repartition(*(column(name) for name in partition_by))
    return df.repartition(1) if order_by else df.coalesce(1)


def in_order(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """The rows of each partition by key and order."""
    order = [column(key) for key in partition_by] + [_sort_column(by) for by in order_by]
    return df.sortWithinPartitions(*order) if order else df


def _udf(spark: Any, task: Task, kinds: list[Any]) -> Any:
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import StructField, StructType

    from slidewise.spark.shipping import on_executor, ship

    run = on_executor(cloudpickle.dumps(task), ship(spark))
    returns = StructType([StructField(str(k), kind) for k, kind in enumerate(kinds)])
    # Not deterministic, as far as the optimizer knows: it may neither drop the sort below, nor move or repeat the call.
    return arrow_udf(run, returns).asNondeterministic()


def column(name: str) -> Any:
    """A column by its exact name, whatever characters it has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quoted(name))


def _sort_column(by: OrderColumn) -> Any:
    way = ("desc" if by.descending else "asc") + ("_nulls_first" if by.nulls_lead else "_nulls_last")
    return getattr(column(by.name), way)()


# ---- types
class Schema:
    """The columns of a DataFrame, as they travel to Python."""

    def __init__(self, df: Any) -> None:
        self.spark = df.sparkSession
        self.names: list[str] = df.columns
        self._fields = {f.name: f for f in df.schema.fields}
        self.heeds_capitals: bool = self.spark.conf.get("spark.sql.caseSensitive") == "true"
        self._folded = {} if self.heeds_capitals else {name.lower(): name for name in self.names}
        self.zone: str = self.spark.conf.get("spark.sql.session.timeZone")

    @cached_property
    def _ansi(self) -> bool:
        return bool(self.spark.conf.get(ANSI) == "true")  # over Connect, asking takes a while

    def field(self, name: str) -> Any:
        """A column by name, as Spark would find it."""
        known = name if name in self._fields else self._folded.get(str(name).lower())
        if known is not None:
            return self._fields[known]
        near = difflib.get_close_matches(str(name), self.names, 1)
        hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(self.names)}"
        raise InvalidInput(f"there is no column {name!r}.{hint}")

    def wraps(self, over: Over) -> bool:
        """Whether Spark's own operator would not notice that a sum is too large."""
        aggregation = over.aggregation
        if aggregation.name != "sum" or self._ansi:
            return False
        return self.field(aggregation.columns[0]).dataType.typeName() in ("byte", "short", "integer", "long")

    def task(self, group: Group) -> tuple[Task, list[Any]]:
        """What the executors do for a group, and the types of its results in Spark."""
        overs = tuple(group.expressions.values())
        schema = self.arrow(self.reads(group))
        arrows = tuple(_result_types(schema, group))
        order = () if all(over.window.counts_rows for over in overs) else group.order_by
        reads = self.arrow(self.reads(replace(group, order_by=order)))
        return Task(reads, group.partition_by, order, overs, arrows), self.kinds(arrows, schema)

    def arrow(self, names: Iterable[str]) -> pa.Schema:
        """Columns as they travel."""
        from slidewise.spark.schema import arrow_type

        return pa.schema([(name, arrow_type(self.field(name).dataType, self.zone, name)) for name in names])

    def kinds(self, results: Iterable[pa.DataType], reads: pa.Schema) -> list[Any]:
        """The types of results in Spark; what is of the type of a column is of its very type there."""
        from slidewise.spark.schema import spark_type

        known = {field.type: self.field(field.name).dataType for field in reversed(list(reads))}
        return [spark_type(kind, known) for kind in results]

    def reads(self, group: Group) -> list[str]:
        """The columns that executors need, and no others; Python must get at least one to count rows by."""
        named = [*group.partition_by, *(by.name for by in group.order_by)]
        for over in group.expressions.values():
            named += [*over.aggregation.columns, *over.window.columns]
            named += [over.aggregation.where] if over.aggregation.where is not None else []
            windows = (over.window, over.window.every)
            if any(isinstance(w, PunctuationWindow) and callable(w.predicate) for w in windows):
                named += self.names  # the function sees whole rows
        return list(dict.fromkeys(named)) or self.names[:1]


def _result_types(schema: pa.Schema, group: Group) -> list[pa.DataType]:
    """The types of results, by computing those of no rows."""
    rows = Data(source(schema.empty_table()), list(group.partition_by), list(group.order_by))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileFallback)  # the executors say so, where it matters
        made = Evaluation(rows, group.expressions.values(), 1).columns(group.expressions)
    return [made[name].type for name in group.expressions]
