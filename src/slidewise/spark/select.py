"""Select: `select`, `with_column` and `filter` of DataFrames by expressions with windows anywhere inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from slidewise.errors import InvalidInput
from slidewise.spark.analysis import analyse, silence_pyspark
from slidewise.spark.layouts import find_layout, record_layout
from slidewise.spark.own_windows import holds_own, record_own
from slidewise.spark.pyspark_internals import is_column
from slidewise.spark.window import WindowSpec, build_their_window
from slidewise.spark.window_columns import Windows, compute, find_markers, is_computing
from slidewise.spark.with_columns import compute_windows, with_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: classic or of Spark Connect: the same kind comes back
DataFrameT = TypeVar("DataFrameT", bound="DataFrame")

_CONDITION = "__slidewise_condition"


def select(df: DataFrameT, *columns: Column | str) -> DataFrameT:
    """Select columns and expressions as `df.select` does, with windows of `slidewise.spark.functions` inside.

        slidewise.spark.select(df, "id", (F.col("v") - F.avg("v").over(w)) / F.stddev("v").over(w))

    The windows are computed with one shuffle, one sort and one pass per partitioning and order. A column that no alias
    names is named as Spark names windows.
    """
    chosen = columns[0] if len(columns) == 1 and isinstance(columns[0], list | tuple) else columns
    windows = Windows(find_markers(chosen))
    if not windows.by_marker:
        return df.select(*chosen)
    windows.require_specs("select")
    with compute():
        return windows.pass_self_joins(lambda: _select(df, chosen, windows))


def _select(df: Any, chosen: Any, windows: Windows) -> Any:
    found = [column for columns in windows.hoist(df, chosen) for column in columns]
    wide = compute_windows(df, windows)
    out = windows.use(df, lambda: windows.select(wide, *found))
    # Stars among the columns bring the windows and what they read along.
    return windows.rename(out.drop(*windows.temporary))


def with_column(df: DataFrameT, name: str, column: Any) -> DataFrameT:
    """Add a column as `df.withColumn` does, by an expression with windows of `slidewise.spark.functions` inside.

    slidewise.spark.with_column(df, "z", (F.col("v") - F.avg("v").over(w)) / F.stddev("v").over(w))
    """
    return with_columns(df, {name: column})


def filter(df: DataFrameT, condition: Any) -> DataFrameT:
    """Filter rows by a condition with windows inside: SQL's QUALIFY. Windows see all rows, those left out as well.

        slidewise.spark.filter(df, F.col("v") > 3 * F.median("v").over(w))

    Functions of Spark's own may be over windows there, too: `F.row_number().over(w) == 1`.
    """
    if not is_column(condition):
        return df.filter(condition)
    windows = Windows(find_markers([condition]))
    windows.require_specs("filter")
    with compute():
        return windows.pass_self_joins(lambda: _filter(df, condition, windows))


def _filter(df: Any, condition: Any, windows: Windows) -> Any:
    out = compute_windows(df, windows) if windows.by_marker else df
    held = windows.use(df, lambda: windows.select(out, "*", condition.alias(_CONDITION))).filter(_CONDITION)
    return record_layout(held.drop(_CONDITION, *windows.temporary), find_layout(out))


# ---- as methods of PySpark's DataFrames: each is given the method, the DataFrame and the arguments
def select_by_hook(method: Callable[..., Any], df: Any, *columns: Any) -> Any:
    """Select, where a window of ours is among the columns."""
    chosen = columns[0] if len(columns) == 1 and isinstance(columns[0], list | tuple) else columns
    return select(df, *chosen) if find_markers(chosen) else method(*columns)


def with_column_by_hook(method: Callable[..., Any], df: Any, colName: Any, col: Any) -> Any:  # noqa: N803
    """Add a column, where a window of ours is in it."""
    return with_columns(df, {colName: col}) if find_markers([col]) else method(colName, col)


def with_columns_by_hook(method: Callable[..., Any], df: Any, *colsMap: Any) -> Any:  # noqa: N803
    """Add columns, where a window of ours is among them."""
    given = colsMap[0] if len(colsMap) == 1 and isinstance(colsMap[0], dict) else {}
    return with_columns(df, given) if find_markers(given.values()) else method(*colsMap)


def filter_by_hook(method: Callable[..., Any], df: Any, condition: Any) -> Any:
    """Filter, where a window of ours is in the condition, or one of Spark's own that our spelling made."""
    if find_markers([condition]) or (not is_computing() and holds_own(condition)):
        return filter(df, condition)
    return method(condition)


def select_text_by_hook(method: Callable[..., Any], df: Any, *expr: Any) -> Any:
    """Select by SQL text, where Spark refuses a window in it."""
    texts = expr[0] if len(expr) == 1 and isinstance(expr[0], list) else expr
    if is_computing() or not any(isinstance(text, str) and " over" in text.casefold() for text in texts):
        return method(*expr)
    from pyspark.errors import AnalysisException

    from slidewise.spark.sql import sql

    with compute():
        try:
            with silence_pyspark():
                return analyse(method(*expr))
        except AnalysisException as refused:
            try:
                return sql(df.sparkSession, f"SELECT {', '.join(texts)} FROM {{df}}", df=df)
            except (AnalysisException, InvalidInput):
                raise refused from None


def refuse_in_aggregate(method: Callable[..., Any], grouped: Any, *exprs: Any) -> Any:
    """Refuse windows of ours among the aggregates of groups, which come before all windows."""
    if find_markers(exprs):
        raise InvalidInput(
            "agg: a window of slidewise's among the aggregates of groups, which come before all windows. Aggregate "
            'first, then add it: df.groupBy("k").agg(F.sum("x").alias("total")).withColumn("m", '
            'F.median("total").over(w))'
        )
    return method(*exprs)


def refuse_elsewhere(name: str) -> Callable[..., Any]:
    """Build what refuses windows of ours where there are no windows."""

    def refuse(method: Callable[..., Any], df: Any, *given: Any, **options: Any) -> Any:
        columns = [part for each in (*given, *options.values()) for part in (each if _is_list(each) else [each])]
        if find_markers(columns):
            raise InvalidInput(
                f"{name}: there is a window among the columns, which it does not take. Add it as a column first, "
                f'df.withColumn("m", F.median("x").over(w)), and give {name} that one'
            )
        return method(*given, **options)

    return refuse


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def over_by_hook(method: Callable[..., Any], column: Any, window: Any) -> Any:
    """Put a column of PySpark's over a window in our spelling: `from pyspark.sql.functions import lag`."""
    if not isinstance(window, WindowSpec):
        return method(window)
    return record_own(method(build_their_window(window, str(column))))


#: methods that take columns, and no windows
_ELSEWHERE = (
    "cube", "groupBy", "join", "orderBy", "repartition", "repartitionByRange", "rollup", "sort", "sortWithinPartitions",
)  # fmt: skip

#: what the methods of DataFrames, of grouped data and of columns become
HOOKS: dict[str, Callable[..., Any]] = {
    "select": select_by_hook,
    "selectExpr": select_text_by_hook,
    "withColumn": with_column_by_hook,
    "withColumns": with_columns_by_hook,
    "filter": filter_by_hook,
    "where": filter_by_hook,
    **{name: refuse_elsewhere(name) for name in _ELSEWHERE},
}
GROUP_HOOKS: dict[str, Callable[..., Any]] = {"agg": refuse_in_aggregate}
COLUMN_HOOKS: dict[str, Callable[..., Any]] = {"over": over_by_hook}
