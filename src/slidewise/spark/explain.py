"""Which engine computes which column of a call on a Spark DataFrame, and what decided; of a stream, what is kept."""

from __future__ import annotations

from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.batches.running_evaluation import carries_partial, carries_row
from slidewise.columns.stream_options import OPTIONS, describe_options
from slidewise.columns.with_columns import list_names, list_order
from slidewise.display import Table
from slidewise.planner.choose import choose, situation_of
from slidewise.planner.sharing import read_off
from slidewise.spark.conditions import hoist_conditions
from slidewise.spark.input import Input, read_input
from slidewise.spark.layouts import find_layout
from slidewise.spark.plan import (
    LOOKS_BACK,
    Group,
    choose_halo,
    group_expressions,
    join_groups,
    plan_task,
    read_batch_effects,
    require_one_pass,
)
from slidewise.spark.pyspark_internals import is_column
from slidewise.spark.schema import Schema
from slidewise.spark.sorting import choose_sort
from slidewise.spark.spark_operator import OperatorVerdict, choose_engine
from slidewise.spark.spark_windows import check_engine, recommend, require_spark_windows
from slidewise.spark.streams.explain import explain_task
from slidewise.spark.streams.query import build_rows_query, build_slides_query
from slidewise.spark.window import SpecifiedOver
from slidewise.spark.window_columns import Windows, compute, find_markers
from slidewise.spark.with_columns import compute_windows

#: of a call, besides its columns
ARGUMENTS = ("partition_by", "order_by", "algorithm", "engine", "hot_keys", "window", "schema", "streaming", *OPTIONS)


def explain(df: Any, call: dict[str, Any]) -> Table:
    """Explain a call, one line per new column, as it is written. Nothing runs."""
    columns = {
        name: value
        for name, value in call.items()
        if name not in ARGUMENTS or isinstance(value, Over | SpecifiedOver | Aggregation) or is_column(value)
    }
    arguments = {name: value for name, value in call.items() if name not in columns}
    df, columns = _list_windows(df, columns)
    source = read_input(df, "explain", arguments.pop("schema", None), arguments.pop("streaming", None))
    source = hoist_conditions(source, "explain", columns.values())
    if source.streaming:
        of_streams = {name: value for name, value in arguments.items() if name != "hot_keys"}
        return _explain_stream(source, columns, **of_streams)
    options = {name: arguments.pop(name) for name in OPTIONS if arguments.get(name) is not None}
    return _explain_batch(source, columns, options, **arguments)


def _list_windows(df: Any, columns: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """List the windows of expressions in PySpark's spelling, by the columns that they are in."""
    windows = Windows(find_markers(columns.values()))
    listed: dict[str, Any] = {}
    with compute():
        if windows.inner is not None:
            df = compute_windows(df, windows.inner)
        df, definitions = windows.add_inputs(df)
    for name, value in columns.items():
        if not is_column(value):
            listed[name] = value
            continue
        markers = find_markers([value])
        for number, marker in enumerate(markers, 1):
            made = definitions.get(marker, windows.by_marker[marker].definition)  # one may be inside of another, too
            listed[name if len(markers) == 1 else f"{name} ({number})"] = made
    return df, listed


def _explain_stream(
    source: Input,
    columns: dict[str, Any],
    *,
    partition_by: Any = None,
    order_by: Any = None,
    algorithm: str = "auto",
    engine: str = "auto",
    window: Any = None,
    **options: Any,
) -> Table:
    if window is None:
        return explain_task(build_rows_query(source, columns, partition_by, order_by, algorithm, **options).task)
    expressions = slide_expressions(window, columns, algorithm)
    group = Group(tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), expressions)
    check_engine(engine)
    if engine == "spark":
        require_spark_windows(source.schema, group, options)
        return _explain_spark_windows(group, options)
    query = build_slides_query(source, expressions, partition_by, order_by, **options)
    advice = recommend(source.schema, group, options) if engine == "auto" else None
    return explain_task(query.task, advice)


def _explain_spark_windows(group: Group, options: dict[str, Any]) -> Table:
    """Explain slides that Spark's own `window()` computes, of a batch or of a stream."""
    lines = [
        {
            "column": name, "computes": repr(over), "by": ", ".join(group.partition_by) or "no key",
            "engine": "spark", "decided by": "asked for", "held": "one partial per key and open window",
        }
        for name, over in group.expressions.items()
    ]  # fmt: skip
    said = [describe_options(options)] if options else []
    return Table.of("aggregate by Spark's window()", lines, "; ".join([*said, "nothing has run"]))


def _explain_batch(
    source: Input,
    columns: dict[str, Any],
    options: dict[str, Any],
    *,
    partition_by: Any = None,
    order_by: Any = None,
    algorithm: str = "auto",
    engine: str = "auto",
    hot_keys: str | bool = "auto",
    window: Any = None,
) -> Table:
    schema = source.schema
    lines = []
    if window is None:
        groups = group_expressions(columns, partition_by, order_by, algorithm)
        came_in = schema.names
    else:
        expressions = slide_expressions(window, columns, algorithm)
        group = Group(tuple(list_names(partition_by, "partition_by")), tuple(list_order(order_by)), expressions)
        groups, came_in = [group], [*group.partition_by, *(by.name for by in group.order_by)]
        hot_keys = False
        check_engine(engine)
        if engine == "spark":
            require_spark_windows(schema, group, options)
            return _explain_spark_windows(group, options)
    effects = read_batch_effects(source, "explain", options, join_groups(groups), came_in)
    if effects.on_rows:
        require_one_pass(groups, engine, hot_keys)
        hot_keys = False
    layout = find_layout(source.df)
    for group in groups:
        decided = choose_engine(group.expressions.values(), engine, schema.wraps)
        if effects.on_rows:
            decided = OperatorVerdict("slidewise", LOOKS_BACK)
        spread = decided.engine == "slidewise" and choose_halo(source, group, hot_keys) is not None
        sort = "spark: by keys and order, before rows come to Python"
        if decided.engine == "spark":
            sort, layout = "spark: for its own operator", None
        elif window is None and not effects.empty:
            layout = layout if layout is not None and layout.partition_by == group.partition_by and not spread else None
            choice = choose_sort(schema, group.partition_by, group.order_by, len(group.expressions), layout)
            sort = choice.describe()
            layout = None if spread else choice.find_layout(layout, group.partition_by, group.order_by)
        for name, over in group.expressions.items():
            lines.append(_build_line(name, over, group, decided, schema, spread, sort))
    sorts = (
        "one shuffle and one sort" if len(groups) == 1 else f"{len(groups)} sorts, one for each partitioning and order"
    )
    order = {name: k for k, name in enumerate(columns)}
    name = "with_columns" if window is None else "aggregate"
    note = "; ".join([sorts, *([describe_options(options)] if options else []), "nothing has run"])
    return Table.of(f"{name} on Spark", sorted(lines, key=lambda line: order[line["column"]]), note)


def _build_line(
    name: str, over: Over, group: Group, decided: OperatorVerdict, schema: Schema, spread: bool, sort: str
) -> dict[str, str]:
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
        "sorted by": sort,
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
