"""Plan: a DataFrame that gets new columns with one shuffle, one sort and one pass per partitioning and order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.aggregations.places import Place
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.stream_options import FINAL, LATE, LATE_ROW, NO_EFFECTS, REVISION, BatchEffects, read_effects
from slidewise.columns.with_columns import check_expression, list_names, list_order
from slidewise.errors import InvalidInput
from slidewise.spark.column_names import find_unused_prefix, require_distinct
from slidewise.spark.executor.halo import BUCKETS, HaloSize, measure_halo
from slidewise.spark.executor.sorting_task import SortingTask
from slidewise.spark.executor.task import OneResult, Task
from slidewise.spark.input import Input
from slidewise.spark.layouts import find_layout, record_layout
from slidewise.spark.pyspark_internals import has_subquery
from slidewise.spark.schema import Schema, infer_result_types
from slidewise.spark.sorting import add_sort, choose_sort
from slidewise.spark.spark_operator import choose_engine, quote, to_sql
from slidewise.spark.window import SpecifiedOver
from slidewise.windows.definitions import Between
from slidewise.windows.durations import Duration

_DAY = 86_400 * 1_000_000_000

#: aggregations of Spark's whose lists have no nulls
_LISTS = ("collect_list", "collect_set", "percentile", "percentile_disc")

#: why options for streams that change rows need one pass of ours
LOOKS_BACK = 'emit="changes" and forget_after look at the row before of a key'


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
        checked = check_expression(name, over, algorithm)
        groups.setdefault(by, Group(*by)).expressions[name] = bind_order(name, checked, by[1])
    first = {by[0]: number for number, by in reversed(list(enumerate(groups)))}
    return sorted(groups.values(), key=lambda group: first[group.partition_by])


def bind_order(name: str, over: Over, order: tuple[OrderColumn, ...]) -> Over:
    """Bind an expression of rows' places to the columns of their order."""
    place = over.aggregation
    if not isinstance(place, Place):
        return over
    place.require_order(order, f"with_columns: {name}")
    return replace(over, aggregation=place.bind(*(by.name for by in order)))


def fit_offsets(made: Any, schema: Schema) -> Any:
    """Fit the offsets of a window to the unit of its order: along dates a number is one of days, as in Spark."""
    if not (isinstance(made, SpecifiedOver) and len(made.order_by) == 1):
        return made
    window = made.over.window
    if not (isinstance(window, Between) and window.unit == "range"):
        return made
    if schema.field(made.order_by[0].name).dataType.typeName() != "date":
        return made
    start, end = (Duration(bound * _DAY) if isinstance(bound, int) else bound for bound in (window.start, window.end))
    return replace(made, over=replace(made.over, window=replace(window, start=start, end=end)))


# ---- the plan
def plan_columns(
    source: Input, groups: list[Group], engine: str, hot_keys: str | bool, effects: BatchEffects = NO_EFFECTS
) -> ColumnsPlan:
    """Plan how the DataFrame gets the columns of all groups."""
    if effects.on_rows:
        return _plan_with_effects(source, groups, engine, hot_keys, effects)
    plan = ColumnsPlan(source, [name for group in groups for name in group.expressions])
    for group in groups:
        decided = choose_engine(group.expressions.values(), engine, plan.schema.wraps)
        if decided.engine == "spark":
            plan.add_by_spark(group)
        elif engine == "spark":
            raise InvalidInput(f'with_columns: engine="spark" cannot compute this: {decided.because}')
        else:
            plan.add(group, hot_keys)
    return plan


def _plan_with_effects(
    source: Input, groups: list[Group], engine: str, hot_keys: str | bool, effects: BatchEffects
) -> ColumnsPlan:
    """Plan how the DataFrame gets columns, where options for streams change its rows."""
    require_one_pass(groups, engine, hot_keys)
    [group] = groups
    plan = ColumnsPlan(leave_out_untimed(source, effects), group.expressions)
    plan.add(group, False, effects)
    return plan


def require_one_pass(groups: list[Group], engine: str, hot_keys: str | bool) -> None:
    """Refuse what does not see the rows of a key one after the other, in one pass of ours."""
    if len(groups) > 1:
        raise InvalidInput(
            f"with_columns: {LOOKS_BACK}, and the expressions bring {len(groups)} partitionings and orders. Make one "
            "call for each"
        )
    if engine == "spark":
        raise InvalidInput(
            f'with_columns: engine="spark" cannot compute this: {LOOKS_BACK}, which Spark\'s frames do not'
        )
    if hot_keys is True:
        raise InvalidInput(f"with_columns: hot_keys=True cannot spread a key here: {LOOKS_BACK}")


def join_groups(groups: list[Group]) -> Group:
    """Join the expressions of all groups, with the keys and the order of the first."""
    return replace(groups[0], expressions={name: o for group in groups for name, o in group.expressions.items()})


def leave_out_untimed(source: Input, effects: BatchEffects) -> Input:
    """Leave out rows without a time where the options have an effect on rows: a stream has no place for them."""
    if not effects.on_rows or effects.time is None:
        return source
    return replace(source, df=source.df.where(column(effects.time).isNotNull()))


def read_batch_effects(
    source: Input, what: str, options: Mapping[str, Any], group: Group, came_in: Sequence[str]
) -> BatchEffects:
    """Check options for streams on a batch, and find which have an effect there."""
    schema = source.schema

    def read_kind(name: str) -> Any:
        return schema.to_arrow([name]).field(0).type

    effects = read_effects(options, what, group.expressions, came_in, group.order_by, read_kind)
    if effects.changes and effects.time is None:
        raise InvalidInput(
            f'{what}: emit="changes" compares with the row before, and rows of a DataFrame have no order of their own. '
            "Name one in order_by"
        )
    return effects


class ColumnsPlan:
    """A DataFrame that gets the columns of one group after the other."""

    def __init__(self, source: Input, new: Iterable[str]) -> None:
        self._source = source
        self.df = source.df
        self.schema = source.schema
        self._prefix = find_unused_prefix([*self.schema.names, *new])
        #: results until all groups have read what they read: a new column may take the place of an old one
        self._made: list[str] = []
        self._new: dict[str, Any] = {}
        #: how the rows lie
        self._layout = find_layout(source.df)

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
        self._add_results(computed)
        self._layout = None

    def add(self, group: Group, hot_keys: str | bool, effects: BatchEffects = NO_EFFECTS) -> None:
        """Add the columns of a group by one pass through Python, over rows that are sorted there or before."""
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.types import BooleanType

        task, kinds = plan_task(self.schema, group, effects)
        reach = choose_halo(self._source, group, hot_keys)
        if reach is not None:
            from slidewise.spark.hot_keys import spread

            task = task.with_halo(reach, self._prefix)
            self.df = spread(self.df, group.partition_by, group.order_by[0], reach, self._prefix)
            self._layout = None
        if self._layout is not None and self._layout.partition_by != task.partition_by:
            self._layout = None
        sort = choose_sort(self.schema, group.partition_by, group.order_by, len(kinds), self._layout)
        if sort.by == "window":
            self.df = demand_order(self.df, task.partition_by, group.order_by, f"{self._prefix}row")
        elif self._layout is None:
            self.df = repartition_by_keys(self.df, task.partition_by, group.order_by)
        run: Task | SortingTask = task
        if sort.by == "python":
            run = add_sort(self.schema, task, group.order_by)
        if sort.by == "spark":
            self.df = sort_by_order(self.df, task.partition_by, group.order_by)
        self._layout = sort.find_layout(self._layout, task.partition_by, group.order_by)
        name = self._name_result()
        if effects.changes:
            kinds = [*kinds, BooleanType()]
        results = _build_udf(self._source, OneResult(run) if len(kinds) == 1 else run, kinds)
        self._add_results({name: results(*(column(read) for read in run.reads.names))})
        if effects.changes:
            self.df = self.df.where(F.col(name).getField(str(len(group.expressions))))
        if task.halo is not None:
            self.df = self.df.where(column(task.halo.own)).drop(task.halo.own, task.halo.bucket)
            self._layout = None
        for k, ((out, over), kind) in enumerate(zip(group.expressions.items(), kinds, strict=False)):
            result = F.col(name) if len(kinds) == 1 else F.col(name).getField(str(k))
            self._new[out] = declare_never_null(result, over, kind)

    def finish(self, names: Iterable[str]) -> Any:
        """Build the DataFrame with all new columns, in the order of their names."""
        new = {name: self._new[name] for name in names}
        hidden = self._source.hidden
        if not self._source.given:
            out = self.df.withColumns(new).drop(*self._made, *map(column, hidden))
            return record_layout(out, self._layout, [*new, *hidden])
        require_distinct(new, self.schema.heeds_capitals, "with_columns")
        kept = {self.schema.fold(name): column(name) for name in self.schema.names if name not in hidden}
        return self.df.select(
            *(kept | {self.schema.fold(name): value.alias(name) for name, value in new.items()}).values()
        )

    def _add_results(self, computed: Mapping[str, Any]) -> None:
        """Add columns under names of our own.

        Not by withColumns: over Connect, and so in flows of Spark's pipelines, that analyses the DataFrame before it.
        """
        self.df = self.df.select("*", *(value.alias(name) for name, value in computed.items()))

    def _name_result(self) -> str:
        self._made.append(f"{self._prefix}{len(self._made)}")
        return self._made[-1]


def declare_never_null(result: Any, over: Over, kind: Any) -> Any:
    """Have Spark know that results are not null where none is, as it knows of its own: of counts and lists."""
    from pyspark.sql import functions as F  # noqa: N812

    empty, window = over.aggregation.empty, over.window
    # The default of a lag is for rows that are not there: a row that is may have a null.
    if empty is None or over.aggregation.own_frame or window.min_rows != 1 or window.every is not None:
        return result
    return F.coalesce(result, (F.array() if isinstance(empty, list | tuple) else F.lit(empty)).cast(kind))


def choose_halo(source: Input, group: Group, hot_keys: str | bool) -> HaloSize | None:
    """Choose how large a halo is where large keys are to be spread; None where they are not."""
    if source.given and hot_keys is True:
        raise InvalidInput(
            "with_columns: hot_keys=True looks at the DataFrame, and with schema= nothing is asked of it. Leave one out"
        )
    if hot_keys is False or source.given:
        return None
    found: HaloSize | str = measure_halo(over.window for over in group.expressions.values())
    if len(group.order_by) != 1:
        found = "rows are cut by one order column"
    if hot_keys is True and isinstance(found, str):
        raise InvalidInput(f"with_columns: hot_keys=True cannot spread a key here: {found}")
    wanted = hot_keys is True or _is_worth_a_sample(source.df, group)
    return found if wanted and not isinstance(found, str) else None


def _is_worth_a_sample(df: Any, group: Group) -> bool:
    """Tell whether to look for large keys unasked: the plan of the DataFrame is in the result's plan twice then.

    Once: `df.withColumn(...).withColumn(...)` of windows without keys would have it 2, 4, 8, 16 times.
    """
    if group.partition_by:
        level = df.storageLevel
        return bool(level.useMemory or level.useDisk)
    return not has_subquery(df, BUCKETS)


def add_stream_columns(df: Any, effects: BatchEffects, late_row: Any = None) -> Any:
    """Add the columns of revisions and of late rows, where a stream has them: in a batch no row is late."""
    from pyspark.sql import functions as F  # noqa: N812

    if effects.early:
        df = df.select("*", F.lit(True).alias(FINAL))
    if effects.revises:
        return df.select("*", F.lit(0).alias(REVISION))
    if not effects.marks:
        return df
    marked = df.select("*", F.lit(False).alias(LATE))
    return marked if late_row is None else marked.select("*", F.lit(None).cast(late_row).alias(LATE_ROW))


def repartition_by_keys(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """Repartition so that all rows of a key are in one partition. Without keys or an order, rows stay as they stand.

    Spark leaves a repartition out where rows lie by the very same columns, of a join or of buckets, and forgets that
    anybody needs them so: then it splits a partition of a skewed join, or reads buckets as plain files, and a key is in
    several tasks. No join and no table has a number among its keys.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if partition_by:
        return df.repartition(*map(column, partition_by), F.lit(0))
    return df.repartition(1) if order_by else df.coalesce(1)


def demand_order(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn], name: str) -> Any:
    """Have rows by key and order by way of Spark's window operator, which says so in the plan.

    Spark then shuffles and sorts only where rows do not lie so already, and keeps them so. The row numbers are of no
    use, and true of the filter, without which Spark would leave the operator out.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    keys = [column(key) for key in partition_by]
    window = Window.partitionBy(*keys).orderBy(*([_build_sort_column(by) for by in order_by] or keys))
    return df.select("*", F.row_number().over(window).alias(name)).where(F.col(name) > 0).drop(name)


def sort_by_order(df: Any, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> Any:
    """Sort the rows of each partition by key and order."""
    order = [column(key) for key in partition_by] + [_build_sort_column(by) for by in order_by]
    return df.sortWithinPartitions(*order) if order else df


def build_plain_columns(names: Iterable[str]) -> list[Any]:
    """Build references to columns, named by their numbers: mapInArrow cannot find those whose names have dots."""
    return [column(name).alias(str(k)) for k, name in enumerate(names)]


def _build_udf(source: Input, task: Task | SortingTask | OneResult, kinds: list[Any]) -> Any:
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import StructField, StructType

    from slidewise.spark.shipping import build_executor_function, ship

    run = build_executor_function(cloudpickle.dumps(task), ship(source.schema.spark, cloned=source.given))
    returns = kinds[0] if len(kinds) == 1 else StructType([StructField(str(k), kind) for k, kind in enumerate(kinds)])
    # Not deterministic, as far as the optimizer knows: it may neither drop a sort below, nor move or repeat the call.
    return arrow_udf(run, returns).asNondeterministic()


def column(name: str) -> Any:
    """Build a reference to a column by its exact name, whatever characters it has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quote(name))


def _build_sort_column(by: OrderColumn) -> Any:
    way = ("desc" if by.descending else "asc") + ("_nulls_first" if by.nulls_lead else "_nulls_last")
    return getattr(column(by.name), way)()


def plan_task(schema: Schema, group: Group, effects: BatchEffects = NO_EFFECTS) -> tuple[Task, list[Any]]:
    """Plan what the executors do for a group, and find the types of its results in Spark."""
    overs = tuple(group.expressions.values())
    columns = schema.to_arrow(schema.find_read_columns(group))
    arrows = tuple(infer_result_types(columns, group))
    by_rows = all(over.window.counts_rows and not over.aggregation.of_order for over in overs)
    counts_rows = by_rows and effects.forget_after is None
    order = () if counts_rows else group.order_by
    reads = schema.to_arrow(schema.find_read_columns(replace(group, order_by=order)))
    kinds = (*arrows, pa.bool_()) if effects.changes else arrows
    task = Task(reads, group.partition_by, order, overs, kinds, effects=effects)
    types = schema.to_spark_types(arrows, columns)
    return task, [_leave_out_nulls(kind, over) for kind, over in zip(types, overs, strict=True)]


def _leave_out_nulls(kind: Any, over: Over) -> Any:
    """Have the type of lists say what Spark's own says: there are no nulls in them."""
    from pyspark.sql.types import ArrayType

    without_nulls = isinstance(kind, ArrayType) and over.aggregation.name in _LISTS
    return ArrayType(kind.elementType, False) if without_nulls else kind
