"""Columns in, columns out: every input row once, with new columns beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList, CollectSet, StringAgg
from slidewise.aggregations.over import Over
from slidewise.aggregations.ranks import Percentile
from slidewise.aggregations.sums import Count
from slidewise.columns.data import Data
from slidewise.columns.interchange import Origin, is_spark, source
from slidewise.columns.order import OrderColumn
from slidewise.columns.plan import Evaluation
from slidewise.columns.threads import thread_count
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import Frames


def with_columns(
    data: Any,
    /,
    *,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    threads: int | None = None,
    algorithm: str = "auto",
    **columns: Over,
) -> Any:
    """The data with new columns: aggregations over windows. Every input row once, in the input's order.

    >>> import numpy as np, slidewise as sw
    >>> trades = {"stock": np.array(list("ABAA")), "ts": np.array([1, 2, 3, 9]), "price": np.array([5, 7, 4, 6])}
    >>> out = sw.with_columns(trades, partition_by="stock", order_by="ts",
    ...     peak=sw.max("price").over(sw.rows(2)),
    ...     recent=sw.count().over(sw.time(5)))
    >>> out["peak"], out["recent"]
    (array([5, 7, 5, 6]), array([1, 1, 2, 1]))

    - `data` is a pandas or polars DataFrame, a pyarrow Table, a DuckDB relation, a dict of arrays, or anything with
      `__arrow_c_stream__`; the same kind comes back, and columns that nobody reads are those that came. A Spark
      DataFrame comes back lazily and in no particular order, as from any shuffle (see slidewise.spark.with_columns).
    - `partition_by` is a column or several: windows never reach from one key into another.
    - `order_by` is a column, `asc(name, nulls=...)`, `desc(...)`, or a list of these; None takes rows as they stand.
    - `threads` is how many threads to use, by default all cores; results do not depend on it.
    - `algorithm` is "auto" or a name from `sw.algorithms()`, "recalculate" for the naive way; `.over(window,
      algorithm=)` sets it for one column.
    """
    refuse_expressions(
        "with_columns", partition_by=partition_by, order_by=order_by, threads=threads, algorithm=algorithm
    )
    if is_spark(data):
        from slidewise.spark.with_columns import with_columns as on_spark

        if threads is not None:
            raise InvalidInput(f"with_columns: Spark's tasks use its own cores: leave out threads={threads!r}")
        return on_spark(data, partition_by=partition_by, order_by=order_by, algorithm=algorithm, **columns)  # type: ignore[arg-type]
    incoming = source(data)
    if not columns:
        raise InvalidInput('with_columns: name at least one new column, as in peak=sw.max("x").over(sw.rows(10))')
    expressions = {name: expression(name, over, algorithm) for name, over in columns.items()}
    number = thread_count(threads)
    rows = Data(incoming, names(partition_by, "partition_by"), ordering(order_by), number)
    for over in expressions.values():
        for column in (*over.aggregation.columns, *over.window.columns, over.aggregation.where):
            if column is not None:
                rows.known(column)
    for name in expressions:
        incoming.require_one(name)
    evaluation = Evaluation(rows, expressions.values(), number)
    return incoming.with_columns(evaluation.columns(expressions), origins(expressions))


def asc(column: str, nulls: str | None = None) -> OrderColumn:
    """Order by a column, the smallest first; nulls "first" (the default, as in Spark) or "last".

    >>> asc("ts", nulls="last")
    OrderColumn(name='ts', descending=False, nulls_first=False)
    """
    return _order(column, False, nulls, "asc")


def desc(column: str, nulls: str | None = None) -> OrderColumn:
    """Order by a column, the largest first; nulls "last" (the default, as in Spark) or "first".

    >>> desc("ts")
    OrderColumn(name='ts', descending=True, nulls_first=None)
    """
    return _order(column, True, nulls, "desc")


def _order(column: Any, descending: bool, nulls: str | None, what: str) -> OrderColumn:
    if not isinstance(column, str) or not column:
        raise InvalidInput(f"{what} takes the name of a column, got {column!r}")
    if nulls not in (None, "first", "last"):
        raise InvalidInput(f'{what}: nulls is "first", "last" or None, got {nulls!r}')
    return OrderColumn(column, descending, None if nulls is None else nulls == "first")


# ---- what was given
def names(given: Any, what: str) -> list[str]:
    """One or more names of columns as a list."""
    if given is None:
        return []
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise InvalidInput(f"{what} is a column's name or a list of names, got {given!r}")
    return list(dict.fromkeys(listed))


def ordering(given: Any) -> list[OrderColumn]:
    """The columns to order by."""
    if given is None:
        return []
    listed = (
        [given] if isinstance(given, str | OrderColumn) else list(given) if isinstance(given, Iterable) else [given]
    )
    wrong = [by for by in listed if not isinstance(by, str | OrderColumn)]
    if wrong:
        raise InvalidInput(f"order_by takes names, asc(name), desc(name), or a list of these, got {wrong[0]!r}")
    return [OrderColumn(by) if isinstance(by, str) else by for by in listed]


def expression(name: str, over: Any, algorithm: str) -> Over:
    """What was given for a new column, checked."""
    if isinstance(over, Aggregation):
        raise InvalidInput(
            f"with_columns: {name}={over!r} has no window. Write {over!r}.over(sw.rows(100)), for example"
        )
    if not isinstance(over, Over):
        raise InvalidInput(
            f'with_columns: {name}= takes an expression such as sw.max("x").over(sw.rows(10)), got {over!r}'
        )
    check_columns(over.aggregation, f"with_columns: {name}")
    window = over.window
    if window.every is not None:
        raise InvalidInput(
            f"with_columns: {name} has the window {window!r}, which gives one result per slide and not per row. "
            "Use sw.aggregate, or leave out every="
        )
    if isinstance(window, Frames):
        raise InvalidInput(
            f"with_columns: {name} has explicit frames, which number the rows of one array. Use sw.rolling, or columns "
            'as bounds: rows_between(col("back"), 0)'
        )
    return replace(over, algorithm=algorithm) if over.algorithm == "auto" else over


def refuse_expressions(what: str, **parameters: Any) -> None:
    """Refuse a new column that has the name of a parameter."""
    for name, given in parameters.items():
        if isinstance(given, Over | Aggregation):
            raise InvalidInput(
                f"{what}: {name}= is a parameter, and no new column can be named so, got {given!r}. Give the column "
                "another name, and rename it afterwards"
            )


def origins(expressions: Mapping[str, Over]) -> dict[str, Origin]:
    """The first column that a result is made from; count() is made from none."""
    aggregations = {name: over.aggregation for name, over in expressions.items() if over.aggregation.columns}
    return {name: Origin(made.columns[0], held(made)) for name, made in aggregations.items()}


def held(aggregation: Aggregation) -> Literal["values", "lists"] | None:
    """What a result holds of the first column."""
    if isinstance(aggregation, CollectSet | CollectList):
        return "lists"
    if not aggregation.keeps_type or isinstance(aggregation, StringAgg):  # a text is made from others
        return None
    return "lists" if isinstance(aggregation, Percentile) and aggregation.parts else "values"


def check_columns(aggregation: Aggregation, what: str) -> None:
    """Refuse an aggregation that does not say which columns it reads; only count() needs none."""
    if not aggregation.columns and not isinstance(aggregation, Count):
        example = ", ".join(f'"{c}"' for c in "xyz"[: aggregation.arity])
        raise InvalidInput(
            f"{what}: {aggregation!r} does not say which column it reads. Name it: {aggregation.name}({example})"
        )
