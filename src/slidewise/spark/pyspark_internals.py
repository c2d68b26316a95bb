"""PySpark's private names: how its columns and windows are looked into, and how its DataFrames take windows of ours.

This is the one exception to "public interface only", and all of it is here. PySpark has two kinds of everything, of
classic sessions, behind which stands an object of the JVM, and of Spark Connect, which are plain Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SortOrder:
    """A column of an order, and how it is ordered."""

    column: Any
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TheirWindow:
    """What a WindowSpec of PySpark's says; the frame is its unit, start and end."""

    partition: list[Any]
    order: list[Any]
    frame: tuple[str, int | None, int | None] | None


# ---- columns
def is_column(value: Any) -> bool:
    """Tell whether this is a Column of PySpark's, without importing it."""
    return any(c.__module__ == "pyspark.sql.column" and c.__name__ == "Column" for c in type(value).__mro__)


def is_window(value: Any) -> bool:
    """Tell whether this is a WindowSpec of PySpark's, without importing it."""
    return any(c.__module__ == "pyspark.sql.window" and c.__name__ == "WindowSpec" for c in type(value).__mro__)


def _is_classic(column: Any) -> bool:
    return "_jc" in vars(column)


def read_name(column: Any) -> list[str] | str | None:
    """Read the name of a column that is nothing but that: its parts, or as it is written. None for all else.

    One that is bound to a DataFrame, as `df["x"]` is, is more than its name.
    """
    if not _is_classic(column):
        expression = column._expr
        if type(expression).__name__ == "UnresolvedStar" and expression._unparsed_target is None:
            return ["*"]
        if type(expression).__name__ != "ColumnReference" or expression._plan_id is not None:
            return None
        written = None if expression._is_metadata_column else expression._unparsed_identifier
        return str(written) if written is not None else None
    node = column._jc.node()
    kind = node.getClass().getSimpleName()
    if kind == "UnresolvedStar" and node.unparsedTarget().isEmpty():
        return ["*"]
    if kind != "UnresolvedAttribute" or node.planId().isDefined() or node.isMetadataColumn():
        return None
    return [str(part) for part in _list_scala(node.nameParts())]


def split_order(column: Any) -> SortOrder | None:
    """Split `F.desc("x")` into the column and its way; None for a column that says nothing of an order."""
    if not _is_classic(column):
        expression = column._expr
        if type(expression).__name__ != "SortOrder":
            return None
        return SortOrder(type(column)(expression._child), not expression._ascending, bool(expression._nullsFirst))
    node = column._jc.node()
    if node.getClass().getSimpleName() != "SortOrder":
        return None
    descending = node.sortDirection().getClass().getSimpleName().startswith("Descending")
    nulls_first = node.nullOrdering().getClass().getSimpleName().startswith("NullsFirst")
    return SortOrder(_build_classic(node.child()), descending, nulls_first)


def split_cast_to_long(column: Any) -> Any:
    """Split `F.col("ts").cast("long")`: the Column that is cast; None for all else."""
    if not _is_classic(column):
        expression = column._expr
        if type(expression).__name__ != "CastExpression" or expression._eval_mode is not None:
            return None
        kind = expression._data_type
        to_long = (kind if isinstance(kind, str) else kind.simpleString()).lower() in ("long", "bigint")
        return type(column)(expression._expr) if to_long else None
    node = column._jc.node()
    if node.getClass().getSimpleName() != "Cast" or node.dataType().toString() != "LongType":
        return None
    return _build_classic(node.child())


def identify(column: Any) -> Hashable:
    """Give what two columns share only where they are the same expression, of the same DataFrames."""
    if _is_classic(column):
        return _JavaColumn(column._jc, int(column._jc.hashCode()))
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.getActiveSession()
    plan = column._expr.to_plan(session.client if session is not None else None)
    _drop_origins(plan)
    return bytes(plan.SerializeToString(deterministic=True))


@dataclass(frozen=True)
class _JavaColumn:
    """A Column of the JVM, compared by its expression and not by where it was written."""

    column: Any = field(hash=False)
    hashed: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _JavaColumn) and bool(self.column.equals(other.column))


def _drop_origins(message: Any) -> None:
    """Drop from a plan of Connect's where in the program it was written."""
    if any(described.name == "common" for described in message.DESCRIPTOR.fields):
        message.ClearField("common")
    for described, value in message.ListFields():
        if described.message_type is None:
            continue
        if described.message_type.GetOptions().map_entry:
            parts: Any = value.values() if described.message_type.fields_by_name["value"].message_type else ()
        else:
            parts = value if not hasattr(value, "ListFields") else [value]
        for part in parts:
            _drop_origins(part)


def _build_classic(node: Any) -> Any:
    from pyspark import SparkContext
    from pyspark.sql.classic.column import Column

    active: Any = SparkContext._active_spark_context
    return Column(active._jvm.org.apache.spark.sql.Column(node))


def _list_scala(sequence: Any) -> list[Any]:
    return [sequence.apply(k) for k in range(sequence.size())]


# ---- windows
def read_their_window(window: Any) -> TheirWindow:
    """Read what a WindowSpec of PySpark's says."""
    if "_jspec" not in vars(window):
        from pyspark.sql.connect.column import Column

        frame = window._frame
        return TheirWindow(
            [Column(expression) for expression in window._partitionSpec],
            [Column(expression) for expression in window._orderSpec],
            None if frame is None else ("rows" if frame._isRowFrame else "range", frame._start, frame._end),
        )
    from pyspark.sql import functions as theirs

    # Its fields are private to Scala as well, but not those of a column over it.
    spec = window._jspec.withAggregate(theirs.lit(1)._jc).node().windowSpec()
    return TheirWindow(
        [_build_classic(node) for node in _list_scala(spec.partitionColumns())],
        [_build_classic(node) for node in _list_scala(spec.sortColumns())],
        _read_frame(spec.frame().get()) if spec.frame().isDefined() else None,
    )


def _read_frame(frame: Any) -> tuple[str, int | None, int | None]:
    unit = "rows" if frame.frameType().getClass().getSimpleName().startswith("Row") else "range"
    return unit, _read_bound(frame.lower()), _read_bound(frame.upper())


def _read_bound(bound: Any) -> int | None:
    """Read one end of a frame; None where there is no bound."""
    kind = bound.getClass().getSimpleName()
    if kind.startswith("Unbounded"):
        return None
    return 0 if kind.startswith("CurrentRow") else bound.value().value()


# ---- plans
def has_subquery(df: Any, alias: str) -> bool:
    """Tell whether a DataFrame is computed from one with this alias."""
    if "_jdf" in vars(df):
        return f"SubqueryAlias {alias}" in df._jdf.queryExecution().logical().toString()
    from pyspark.sql.connect.plan import LogicalPlan, SubqueryAlias

    waiting: list[Any] = [df._plan]
    seen: set[int] = set()
    while waiting:
        plan = waiting.pop()
        if isinstance(plan, list):
            waiting += plan
        elif isinstance(plan, LogicalPlan) and id(plan) not in seen:
            seen.add(id(plan))
            if isinstance(plan, SubqueryAlias) and plan._alias == alias:
                return True
            waiting += vars(plan).values()
    return False


# ---- the hook in PySpark's DataFrames
_hooks: list[Mapping[str, Callable[..., Any]]] = []
_replaced: dict[tuple[type, str], Any] = {}
_disabled = False


def install_hook(*hooks: Mapping[str, Callable[..., Any]]) -> None:
    """Have methods of PySpark's DataFrames, grouped data and Columns take windows of ours, unless `disable` was called.

    Each is replaced by one that asks ours, which is given the method, its object and the arguments.

    Not when the first window is made: Python finds `df.withColumn` before the arguments of the call, in which it is.
    """
    _hooks[:] = hooks
    if _replaced or _disabled:
        return
    for kinds in _find_classes():
        for kind, taken in zip(kinds, hooks, strict=True):
            for name, take in taken.items():
                _replace(kind, name, take)


def disable() -> None:
    """Give PySpark's DataFrames back their own methods, for good.

    `slidewise.spark.select`, `with_column`, `with_columns` and `filter` go on taking windows.

    >>> from slidewise import spark as sws
    >>> sws.disable(); sws.enable()
    """
    global _disabled
    _disabled = True
    for (kind, name), method in _replaced.items():
        setattr(kind, name, method)
    _replaced.clear()


def enable() -> None:
    """Take back `disable`: PySpark's DataFrames take windows again.

    >>> from slidewise import spark as sws
    >>> sws.enable()
    """
    global _disabled
    _disabled = False
    if _hooks:
        install_hook(*_hooks)


def _find_classes() -> Iterator[tuple[type, type, type]]:
    """Find the classes of DataFrames, grouped data and Columns. Where what one kind needs is not installed, is none."""
    with suppress(ImportError):
        from pyspark.sql.classic.column import Column
        from pyspark.sql.classic.dataframe import DataFrame
        from pyspark.sql.group import GroupedData

        yield DataFrame, GroupedData, Column
    with suppress(ImportError):
        from pyspark.sql.connect.column import Column as ColumnOfConnect
        from pyspark.sql.connect.dataframe import DataFrame as OfConnect
        from pyspark.sql.connect.group import GroupedData as GroupedOfConnect

        yield OfConnect, GroupedOfConnect, ColumnOfConnect


def _replace(kind: type, name: str, take: Callable[..., Any]) -> None:
    method = kind.__dict__[name]
    _replaced[kind, name] = method

    @functools.wraps(method)
    def replacing(self: Any, *args: Any, **kwargs: Any) -> Any:
        return take(functools.partial(method, self), self, *args, **kwargs)

    setattr(kind, name, replacing)
