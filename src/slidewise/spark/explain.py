"""Which engine computes which column of a call on a Spark DataFrame, and what decided; of a stream, what is kept."""

from __future__ import annotations

from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import slide_expressions
from slidewise.display import Table
from slidewise.planner.choose import choose, situation_of
from slidewise.planner.sharing import read_off
from slidewise.spark.executor.running_evaluation import carries_partial, carries_row
from slidewise.spark.plan import Group, choose_halo, group_expressions, plan_task
from slidewise.spark.requirements import is_stream, require_batch
from slidewise.spark.schema import Schema
from slidewise.spark.spark_operator import Verdict, choose_engine
from slidewise.spark.streams.explain import explain_task
from slidewise.spark.streams.query import OPTIONS, build_rows_query, build_slides_query
from slidewise.spark.window import SpecifiedOver

#: of a call, besides its columns
ARGUMENTS = ("partition_by", "order_by", "algorithm", "engine", "hot_keys", "window", *OPTIONS)


def explain(df: Any, call: dict[str, Any]) -> Table:
    """Explain a call, one line per new column, as it is written. Nothing runs."""
    columns = {
        name: value
        for name, value in call.items()
        if name not in ARGUMENTS or isinstance(value, Over | SpecifiedOver | Aggregation)
    }
    arguments = {name: value for name, value in call.items() if name not in columns}
    if is_stream(df):
        return _explain_stream(df, columns, **{n: v for n, v in arguments.items() if n not in ("engine", "hot_keys")})
    require_batch(df, "explain", {name: value for name, value in arguments.items() if name in OPTIONS})
    return _explain_batch(df, columns, **arguments)


def _explain_stream(
    df: Any,
    columns: dict[str, Any],
    *,
    partition_by: Any = None,
    order_by: Any = None,
    algorithm: str = "auto",
    window: Any = None,
    **options: Any,
) -> Table:
    if window is None:
        return explain_task(build_rows_query(df, columns, partition_by, order_by, algorithm, **options).task)
    return explain_task(
        build_slides_query(df, slide_expressions(window, columns, algorithm), partition_by, order_by, **options).task
    )


def _explain_batch(
    df: Any,
    columns: dict[str, Any],
    *,
    partition_by: Any = None,
    order_by: Any = None,
    algorithm: str = "auto",
    engine: str = "auto",
    hot_keys: str | bool = "auto",
) -> Table:
    schema = Schema(df)
    lines = []
    groups = group_expressions(columns, partition_by, order_by, algorithm)
    for group in groups:
        decided = choose_engine(group.expressions.values(), engine, schema.wraps)
        spread = decided.engine == "slidewise" and choose_halo(df, group, hot_keys) is not None
        for name, over in group.expressions.items():
            lines.append(_build_line(name, over, group, decided, schema, spread))
    sorts = (
        "one shuffle and one sort" if len(groups) == 1 else f"{len(groups)} sorts, one for each partitioning and order"
    )
    order = {name: k for k, name in enumerate(columns)}
    return Table.of(
        "with_columns on Spark", sorted(lines, key=lambda line: order[line["column"]]), f"{sorts}; nothing has run"
    )


def _build_line(name: str, over: Over, group: Group, decided: Verdict, schema: Schema, spread: bool) -> dict[str, str]:
    by = ", ".join(group.partition_by) or "no key"
    order = ", ".join(f"{o.name}{' desc' * o.descending}" for o in group.order_by) or "as rows stand"
    ours = decided.engine == "slidewise"
    return {
        "column": name,
        "computes": repr(over),
        "by": f"{by}; {order}",
        "engine": decided.engine,
        "decided by": decided.because,
        "algorithm": _describe_algorithm(over) if ours else "-",
        "an executor holds": _describe_state(over, group, schema)
        if ours
        else "what Spark's operator does: the rows of a key",
        "large keys": "spread over all cores" if spread else "on one core each",
    }


def _describe_algorithm(over: Over) -> str:
    if over.algorithm != "auto":
        return over.algorithm
    return (
        "none: the bounds tell"
        if read_off(over)
        else choose(over.aggregation, situation_of(over.window, "columns")).algorithm
    )


def _describe_state(over: Over, group: Group, schema: Schema) -> str:
    if over.window.needs_whole_key:
        return "the rows of a key"
    if not over.window.running:
        return "the rows of a window, several times"
    task, _ = plan_task(schema, group)
    kinds = {field.name: field.type for field in task.reads}
    return "one partial" if carries_row(over) or carries_partial(over, kinds) else "the rows of a key"
