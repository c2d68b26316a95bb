"""Plan: a DataFrame that gets new columns with one shuffle, one sort and one pass per partitioning and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slidewise.aggregations.over import Over
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.with_columns import check_expression, list_names, list_order
from slidewise.errors import InvalidInput
from slidewise.spark.column_names import find_unused_prefix
from slidewise.spark.executor.halo import HaloSize, measure_halo
from slidewise.spark.executor.task import Task
from slidewise.spark.schema import Schema, infer_result_types
from slidewise.spark.spark_operator import choose_engine, quote, to_sql
from slidewise.spark.window import SpecifiedOver


@dataclass
class Group:
    """Expressions of one partitioning and order, by the names of their columns."""

    partition_by: tuple[str, ...] = ()
    order_by: tuple[OrderColumn, ...] = ()
    expressions: dict[str, Over] = field(default_factory=dict)


def group_expressions(
    given: Mapping[str, Any], partition_by: Any, order_by: Any, algorithm: str = "auto"
) -> list[Group]:
    """Group the expressions of a call by partitioning and order; those that bring none of their own have the call's."""
    if not given:
        raise InvalidInput('with_columns: name at least one new column, as in peak=sw.max("x").over(sw.rows(10))')
    return _group_by_order(
        given, tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), algorithm
    )


def _group_by_order(
    given: Mapping[str, Any], keys: tuple[str, ...], order: tuple[OrderColumn, ...], algorithm: str
) -> list[Group]:
    """Group expressions by partitioning and order, those of one partitioning side by side."""
    groups: dict[Any, Group] = {}
    for name, made in given.items():
        if isinstance(made, SpecifiedOver):
            by, over = (made.partition_by, made.order_by), made.over
        else:
            by, over = (keys, order), made
        groups.setdefault(by, Group(*by)).expressions[name] = check_expression(name, over, algorithm)
    first = {by[0]: number for number, by in reversed(list(enumerate(groups)))}
    return sorted(groups.values(), key=lambda group: first[group.partition_by])


# ---- the plan
def plan_columns(df: Any, groups: list[Group], engine: str, hot_keys: str | bool) -> ColumnsPlan:
    """Plan how the DataFrame gets the columns of all groups."""
    plan = ColumnsPlan(df, [name for group in groups for name in group.expressions])
    for group in groups:
        decided = choose_engine(group.expressions.values(), engine, plan.schema.wraps)
        if decided.engine == "spark":
            plan.add_by_spark(group)
        elif engine == "spark":
            raise InvalidInput(f'with_columns: engine="spark" cannot compute this: {decided.because}')
        else:
            plan.add(group, hot_keys)
    return plan


class ColumnsPlan:
    """A DataFrame that gets the columns of one group after the other."""

    def __init__(self, df: Any, new: Iterable[str]) -> None:
        self.df = df
        self.schema = Schema(df)
        self._prefix = find_unused_prefix([*self.schema.names, *new])
        #: results until all groups have read what they read: a new column may take the place of an old one
        self._made: list[str] = []
        self._new: dict[str, Any] = {}
        self._partitioned: tuple[str, ...] | None = None

    def add_by_spark(self, group: Group) -> None:
        """Add the columns of a group by Spark's own window operator."""
        from pyspark.sql import functions as F  # noqa: N812

        _, kinds = plan_task(self.schema, group)  # the types, and the errors, that our engine would give
        computed = {}
        for (out, over), kind in zip(group.expressions.items(), kinds, strict=True):
            name = self._name_result()
            computed[name] = F.expr(to_sql(over, group.partition_by, group.order_by)).cast(kind)
            self._new[out] = F.col(name)
        # All at once: Spark looks at every column of every step, and its stack holds less than 300 steps.
        self.df = self.df.withColumns(computed)
        self._partitioned = None

    def add(self, group: Group, hot_keys: str | bool) -> None:
        """Add the columns of a group by one sort and one pass through Python."""
        from pyspark.sql import functions as F  # noqa: N812

        task, kinds = plan_task(self.schema, group)
        reach = choose_halo(self.df, group, hot_keys)
        if reach is not None:
            from slidewise.spark.hot_keys import spread

            task = task.with_halo(reach, self._prefix)
            self.df = spread(self.df, group.partition_by, group.order_by[0], reach, self._prefix)
            self._partitioned = None
        if task.partition_by != self._partitioned:
            self.df = repartition_by_keys(self.df, task.partition_by, group.order_by)
            self._partitioned = task.partition_by
        self.df = sort_by_order(self.df, task.partition_by, group.order_by)
        name = self._name_result()
        results = _build_udf(self.schema.spark, task, kinds)(*(column(read) for read in task.reads.names))
        self.df = self.df.withColumn(name, results)
        if task.halo is not None:
            self.df = self.df.where(column(task.halo.own)).drop(task.halo.own, task.halo.bucket)
        self._new |= {out: F.col(name).getField(str(k)) for k, out in enumerate(group.expressions)}

    def finish(self, names: Iterable[str]) -> Any:
        """Build the DataFrame with all new columns, in the order of their names."""
        return self.df.withColumns({name: self._new[name] for name in names}).drop(*self._made)

    def _name_result(self) -> str:
        self._made.append(f"{self._prefix}{len(self._made)}")
        return self._made[-1]


def choose_halo(df: Any, group: Group, hot_keys: str | bool) -> HaloSize | None:
    """Choose how large a halo is where large keys are to be spread; None where they are not."""
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


def repartition_by_keys(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """Repartition so that all rows of a key are in one partition. Without keys or an order, rows stay as they stand."""
    if partition_by:
        return df.repartition(*(column(name) for name in partition_by))
    return df.repartition(1) if order_by else df.coalesce(1)


def sort_by_order(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """Sort the rows of each partition by key and order."""
    order = [column(key) for key in partition_by] + [_build_sort_column(by) for by in order_by]
    return df.sortWithinPartitions(*order) if order else df


def _build_udf(spark: Any, task: Task, kinds: list[Any]) -> Any:
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import StructField, StructType

    from slidewise.spark.shipping import build_executor_function, ship

    run = build_executor_function(cloudpickle.dumps(task), ship(spark))
    returns = StructType([StructField(str(k), kind) for k, kind in enumerate(kinds)])
    # Not deterministic, as far as the optimizer knows: it may neither drop the sort below, nor move or repeat the call.
    return arrow_udf(run, returns).asNondeterministic()


def column(name: str) -> Any:
    """Build a reference to a column by its exact name, whatever characters it has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quote(name))


def _build_sort_column(by: OrderColumn) -> Any:
    way = ("desc" if by.descending else "asc") + ("_nulls_first" if by.nulls_lead else "_nulls_last")
    return getattr(column(by.name), way)()


def plan_task(schema: Schema, group: Group) -> tuple[Task, list[Any]]:
    """Plan what the executors do for a group, and find the types of its results in Spark."""
    overs = tuple(group.expressions.values())
    columns = schema.to_arrow(schema.find_read_columns(group))
    arrows = tuple(infer_result_types(columns, group))
    order = () if all(over.window.counts_rows for over in overs) else group.order_by
    reads = schema.to_arrow(schema.find_read_columns(replace(group, order_by=order)))
    return Task(reads, group.partition_by, order, overs, arrows), schema.to_spark_types(arrows, columns)
