"""Spark's own window operator: which expressions it can compute as we define them, and where it is the better choice.

An expression becomes Spark SQL text, since that reaches every frame in both classic mode and Connect. Only what gives
our answer is translated: `max_by` is not (ties go to the latest row there), nor anything over groups, with an exclusion
or with bounds that are columns, which Spark does not have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.sorting import OrderColumn
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import CalendarDuration, Duration
from slidewise.windows.reach import Reach, Unbounded, crosses

ANSI = "spark.sql.ansi.enabled"


@dataclass(frozen=True)
class OperatorVerdict:
    """Which engine computes a group of expressions, and what decided."""

    engine: str
    because: str


def find_call_refusal(over: Over) -> str | None:
    """Find why Spark's own function does not compute this aggregation as we define it; None where it does."""
    aggregation = over.aggregation
    if aggregation.spark_call is None:
        return f"{aggregation.name} over a frame is not Spark's, or not with our rules"
    if aggregation.where is not None and "carried" in aggregation.accepts:
        return f"Spark takes no FILTER with {aggregation.name}"
    if over.algorithm != "auto":
        return f"{over.algorithm} is asked for by name"
    return None


def find_refusal(over: Over) -> str | None:
    """Find why Spark's operator cannot compute this as we define it; None where it can."""
    aggregation, window = over.aggregation, over.window
    refused = find_call_refusal(over)
    if refused is not None:
        return refused
    if aggregation.own_frame:
        known = aggregation.empty is None or type(aggregation.empty) in (bool, int, str)
        return None if known else f"the default {aggregation.empty!r} is not written in SQL"
    if window.every is not None:
        return "Spark's frames have no slide"
    if window.min_rows != 1:
        return "Spark's frames have no min_rows"
    reach = window.reach
    if reach is None:
        return f"Spark has no {window.size_kind} windows"
    if any(isinstance(bound, Duration) and bound.nanoseconds % 1000 for bound in reach.bounds):
        return "Spark's times are of microseconds"
    if reach.open_start or reach.open_end:
        return f"Spark's frames by range are closed on both sides, unlike {window!r}"
    if reach.unit == "groups":
        return "Spark has no GROUPS"
    if reach.exclude is not None:
        return "Spark has no EXCLUDE"
    if reach.offset_columns:
        return "Spark's bounds are constants"
    if crosses(*reach.bounds):
        return "Spark refuses bounds that cross, but for some"
    return None


def choose_engine(
    expressions: Iterable[Over], engine: str, wraps: Callable[[Over], bool] = lambda over: False
) -> OperatorVerdict:
    """Choose the engine for expressions of one partitioning and order. One pass for all of them: they go together.

    `wraps` tells whether Spark would go on below the smallest integer where a sum is above the largest.
    """
    overs = list(expressions)
    if engine == "slidewise":
        return OperatorVerdict("slidewise", "asked for")
    refused = next((why for over in overs if (why := find_refusal(over)) is not None), None)
    if any(map(wraps, overs)):
        refused = f"Spark's sums of integers wrap around while {ANSI} is false, and ours say so"
    if engine == "spark":
        return OperatorVerdict("spark", "asked for") if refused is None else OperatorVerdict("refused", refused)
    if refused is not None:
        return OperatorVerdict("slidewise", refused)
    windows = {over.window for over in overs if not over.aggregation.own_frame}
    if all(_reads_each_row_once(window) for window in windows):
        return OperatorVerdict(
            "spark", "running and whole frames: each row is read once, and no row goes through Python"
        )
    widths = [window.reach.width if window.reach is not None else None for window in windows]
    most = read_break_even()
    if len(overs) == 1 and widths[0] is not None and widths[0] <= most:
        return OperatorVerdict(
            "spark", f"one aggregate over {widths[0]} rows: up to {most}, reading them again costs less than Python"
        )
    return OperatorVerdict("slidewise", "Spark reads the whole frame again for every row")


@cache
def read_break_even() -> int:
    """Read the widest frame by rows for which Spark's operator is as fast, for one aggregate, from break_even.json."""
    measured = json.loads(files("slidewise.spark").joinpath("break_even.json").read_text())
    faster = [line["rows"] for line in measured["widths"] if line["spark"] <= line["slidewise"]]
    return max(faster, default=0)


def _reads_each_row_once(window: WindowDefinition) -> bool:
    """Tell whether frames are from the first row to the current one, or all rows of the key."""
    reach = window.reach
    return reach is not None and reach.from_first_row and (reach.to_last_row or reach.end == 0)


# ---- as Spark SQL
def quote(name: str) -> str:
    """Quote a column's exact name."""
    return "`" + name.replace("`", "``") + "`"


def write_call(aggregation: Aggregation) -> str:
    """Write the call of Spark's own function, with its condition."""
    columns = [quote(name) for name in aggregation.columns] or ["*"]
    assert aggregation.spark_call is not None
    call = aggregation.spark_call.format(*columns, **aggregation.parameters)
    if aggregation.parameters.get("ignore_nulls"):
        call += " IGNORE NULLS"
    if aggregation.where is not None:
        call += f" FILTER (WHERE {quote(aggregation.where)})"
    return call


def to_sql(over: Over, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> str:
    """Translate an expression that `find_refusal` lets through to Spark SQL."""
    reach = over.window.reach
    assert reach is not None
    if over.aggregation.own_frame:
        return _write_place(over, partition_by, order_by)
    call = write_call(over.aggregation)
    parts = [_write_keys_and_order(partition_by, order_by, _needs_order(reach)), _write_frame(reach)]
    return f"{call} OVER ({' '.join(filter(None, parts))})"


def _write_place(over: Over, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> str:
    """Translate what has no frame in SQL; places are 64-bit integers, as everywhere in slidewise."""
    aggregation = over.aggregation
    assert aggregation.spark_call is not None
    call = aggregation.spark_call.format(*map(quote, aggregation.columns), **aggregation.parameters)
    if aggregation.empty is not None:
        call = f"{call[:-1]}, {_write_literal(aggregation.empty)})"
    if aggregation.parameters.get("ignore_nulls"):
        call += " IGNORE NULLS"
    made = f"{call} OVER ({_write_keys_and_order(partition_by, order_by, True)})"
    return f"CAST({made} AS BIGINT)" if aggregation.name in ("rank", "dense_rank", "ntile") else made


def _write_literal(value: Any) -> str:
    """Write a default; a text as the bytes it is made of, since how quotes are escaped is a setting of Spark's."""
    if isinstance(value, str):
        return f"decode(X'{value.encode().hex()}', 'UTF-8')"
    return str(value)


def _write_keys_and_order(partition_by: Sequence[str], order_by: Sequence[OrderColumn], needs_order: bool) -> str:
    parts = []
    if partition_by:
        parts.append("PARTITION BY " + ", ".join(map(quote, partition_by)))
    if order_by:
        parts.append("ORDER BY " + ", ".join(map(_write_ordering, order_by)))
    elif needs_order:
        # As the rows stand: an order that tells no row apart, which Spark asks for with frames by rows.
        parts.append("ORDER BY NULL")
    return " ".join(parts)


def _needs_order(reach: Reach) -> bool:
    return not (reach.from_first_row and reach.to_last_row)


def _write_ordering(by: OrderColumn) -> str:
    return f"{quote(by.name)} {'DESC' if by.descending else 'ASC'} NULLS {'FIRST' if by.nulls_lead else 'LAST'}"


def _write_frame(reach: Reach) -> str:
    start, end = _write_bound(reach.start, "PRECEDING"), _write_bound(reach.end, "FOLLOWING")
    return f"{reach.unit.upper()} BETWEEN {start} AND {end}"


def _write_bound(bound: Any, unbounded: str) -> str:
    if isinstance(bound, Unbounded):
        return f"UNBOUNDED {unbounded}"
    if isinstance(bound, CalendarDuration):
        size, text = bound.months, f"INTERVAL '{abs(bound.months)}' MONTH"
    elif isinstance(bound, Duration):
        size, text = bound.nanoseconds, write_interval(bound)
    else:
        size, text = bound, str(abs(bound))
    if size == 0:
        return "CURRENT ROW"
    return f"{text} {'PRECEDING' if size < 0 else 'FOLLOWING'}"


def write_interval(length: Duration) -> str:
    """Write a length of time as an interval, whatever its sign; Spark's times are of microseconds."""
    seconds, rest = divmod(abs(length.nanoseconds), 1_000_000_000)
    return f"INTERVAL '{seconds}.{rest // 1000:06d}' SECOND"
