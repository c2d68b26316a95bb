"""Layouts: by which keys the rows of a DataFrame lie in partitions, and in which order, where slidewise put them so.

`df.withColumn(...).withColumn(...)` of windows with the same keys and order are two steps, of which the second finds
the rows as the first left them: it needs no shuffle, and no sort where Spark has sorted them. A layout is known of the
very DataFrame that a step gave, and of no other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from slidewise.columns.sorting import OrderColumn
from slidewise.spark.named_expressions import ExpressionName
from slidewise.spark.pyspark_internals import is_column, read_name, split_cast_to_long


@dataclass(frozen=True)
class Layout:
    """Partitions by keys, sorted by key and order."""

    partition_by: tuple[str, ...]
    #: None: rows lie in no order
    order_by: tuple[OrderColumn, ...] | None

    def serves(self, partition_by: tuple[str, ...], order_by: tuple[OrderColumn, ...]) -> bool:
        """Tell whether rows are in this order, within the keys."""
        in_order = self.order_by is not None and self.order_by[: len(order_by)] == order_by
        return self.partition_by == partition_by and in_order

    def survives(self, changed: Collection[str]) -> bool:
        """Tell whether it is known that rows still lie so when columns of these names, in small letters, are others."""
        names = [_find_source(name) for name in (*self.partition_by, *(by.name for by in self.order_by or ()))]
        return all(name is not None and name.lower() not in changed for name in names)


_layouts: WeakKeyDictionary[Any, Layout] = WeakKeyDictionary()


def find_layout(df: Any) -> Layout | None:
    """Find how the rows of a DataFrame lie, where that is known."""
    return _layouts.get(df)


def record_layout(df: Any, layout: Layout | None, changed: Collection[str] = ()) -> Any:
    """Record how the rows of a DataFrame lie, in which columns of some names are new, or others; give the DataFrame."""
    if layout is not None and layout.survives({name.lower() for name in changed}):
        _layouts[df] = layout
    return df


def _find_source(name: str) -> str | None:
    """Find the column that a name stands for; None where it stands for an expression that may differ by the next step.

    Of expressions only the cast of a column to whole seconds is looked into: it is in every other program.
    """
    if not isinstance(name, ExpressionName):
        return name
    cast = split_cast_to_long(name.expression) if is_column(name.expression) else None
    source = None if cast is None else read_name(cast)
    if isinstance(source, list):
        return source[0] if len(source) == 1 else None
    return source if source is not None and source.isidentifier() else None
