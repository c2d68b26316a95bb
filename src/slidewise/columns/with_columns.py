"""Columns in, columns out: every input row once, with new columns beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList, CollectSet, StringAgg
from slidewise.aggregations.over import Over
from slidewise.aggregations.ranks import Percentile
from slidewise.aggregations.sums import Count
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.batches.sort_check import require_sorted
from slidewise.columns.effects import (
    add_expired_rows,
    add_stream_columns,
    begin_lifetimes,
    find_changed_rows,
    leave_out_untimed,
    read_kind,
)
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.sources import ColumnSource, Origin, source_of
from slidewise.columns.stream_options import BatchEffects, read_effects
from slidewise.columns.threads import thread_count
from slidewise.errors import InvalidInput


def with_columns(
    data: Any,
    given: Mapping[str, Any],
    *,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    threads: int | None = None,
    algorithm: str = "auto",
    in_order: bool = False,
    **options: Any,
) -> Any:
    """Give a frame in memory the columns of some expressions; slidewise.with_columns says the rules.

    `options` are those for streams (stream_options.py). `in_order`: rows stand by key and order, which is checked.
    """
    incoming = source_of(data)
    if not given:
        raise InvalidInput('with_columns: name at least one new column, as in peak=sw.max("x").over(sw.rows(10))')
    expressions = {name: check_expression(name, over, algorithm) for name, over in given.items()}
    number = thread_count(threads)
    order = list_order(order_by)
    keys = list_names(partition_by, "partition_by")
    kind_of = partial(read_kind, incoming)
    effects = read_effects(options, "with_columns", expressions, incoming.names, order, kind_of)
    if in_order:
        require_sorted(incoming, "with_columns", keys, order)
    incoming = leave_out_untimed(incoming, effects)
    for name in expressions:
        incoming.require_one(name)
    if effects.empty:
        found = compute_expiring_rows(incoming, keys, order, expressions, effects, number)
        results = {name: found[name] for name in expressions}
        labels = {name: column for name, column in found.items() if name not in expressions}
        made_from = {name: Origin(name, "values") for name in labels} | find_origins(expressions)
        count = len(next(iter(results.values())))
        return incoming.table(labels, add_stream_columns(results, count, effects), made_from)
    rows = ArrangedFrame(incoming, keys, order, number)
    begin_lifetimes(rows, effects)
    for over in expressions.values():
        rows.require_reads(over)
    columns = Evaluation(rows, expressions.values(), number).columns(expressions)
    if effects.changes:
        changed = find_changed_rows(rows, columns, effects)
        incoming = incoming.filter(changed)
        columns = {name: column.filter(pa.array(changed)) for name, column in columns.items()}
    return incoming.with_columns(add_stream_columns(columns, len(incoming), effects), find_origins(expressions))


def compute_expiring_rows(
    incoming: ColumnSource,
    keys: list[str],
    order: list[OrderColumn],
    expressions: dict[str, Over],
    effects: BatchEffects,
    threads: int,
) -> dict[str, pa.Array]:
    """Compute the rows whose results have changed, and those of times at which rows leave, with all columns."""
    rows = ArrangedFrame(incoming, keys, order, threads)
    offsets = rows.offsets
    begin_lifetimes(rows, effects)
    for over in expressions.values():
        rows.require_reads(over)
    columns = Evaluation(rows, expressions.values(), threads).columns(expressions)
    return add_expired_rows(rows, offsets, columns, expressions, effects)


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
def list_names(given: Any, what: str) -> list[str]:
    """Return one or more names of columns as a list."""
    if given is None:
        return []
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise InvalidInput(f"{what} is a column's name or a list of names, got {given!r}")
    return list(dict.fromkeys(listed))


def list_order(given: Any) -> list[OrderColumn]:
    """Return the columns to order by."""
    if given is None:
        return []
    listed = (
        [given] if isinstance(given, str | OrderColumn) else list(given) if isinstance(given, Iterable) else [given]
    )
    wrong = [by for by in listed if not isinstance(by, str | OrderColumn)]
    if wrong:
        raise InvalidInput(f"order_by takes names, asc(name), desc(name), or a list of these, got {wrong[0]!r}")
    return [OrderColumn(by) if isinstance(by, str) else by for by in listed]


def check_expression(name: str, over: Any, algorithm: str) -> Over:
    """Check what was given for a new column."""
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
    if window.is_explicit:
        raise InvalidInput(
            f"with_columns: {name} has explicit frames, which number the rows of one array. Use sw.rolling, or columns "
            'as bounds: rows_between(col("back"), 0)'
        )
    chosen = over.algorithm == "auto" and not over.aggregation.own_frame
    return replace(over, algorithm=algorithm) if chosen else over


def find_origins(expressions: Mapping[str, Over]) -> dict[str, Origin]:
    """Return the first column that each result is made from; count() is made from none."""
    aggregations = {name: over.aggregation for name, over in expressions.items() if over.aggregation.columns}
    return {name: Origin(made.columns[0], held_values(made)) for name, made in aggregations.items()}


def held_values(aggregation: Aggregation) -> Literal["values", "lists"] | None:
    """Tell what a result holds of the first column."""
    if isinstance(aggregation, CollectSet | CollectList):
        return "lists"
    if not aggregation.keeps_type or isinstance(aggregation, StringAgg):  # a text is made from others
        return None
    return "lists" if isinstance(aggregation, Percentile) and aggregation.parts else "values"


def check_columns(aggregation: Aggregation, what: str) -> None:
    """Refuse an aggregation that does not say which columns it reads; only count() needs none."""
    if not aggregation.columns and not isinstance(aggregation, Count) and not aggregation.of_order:
        example = ", ".join(f'"{c}"' for c in "xyz"[: aggregation.arity])
        raise InvalidInput(
            f"{what}: {aggregation!r} does not say which column it reads. Name it: {aggregation.name}({example})"
        )
