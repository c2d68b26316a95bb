"""Window: PySpark's spelling of windows, `Window.partitionBy("k").orderBy("ts").rowsBetween(-999, 0)`.

The names, defaults and signs are PySpark's; GROUPS frames, EXCLUDE and offsets that are columns come on top. A spec is
a plain value and needs no Spark; `aggregate.over(spec)` is what `slidewise.spark.with_columns` takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import Between, col, groups_between, range_between, rows_between
from slidewise.windows.reach import UNBOUNDED, Exclude, OffsetColumn, Unbounded

#: Offsets at or beyond these are PySpark's unboundedPreceding and unboundedFollowing; `-sys.maxsize` is common, too.
_JAVA_LONGS = (-(2**63) + 1, 2**63 - 1)


@dataclass(frozen=True)
class SpecifiedOver:
    """An aggregate over a window, with the partitioning and the order it brings along."""

    over: Over
    partition_by: tuple[str, ...] = ()
    order_by: tuple[OrderColumn, ...] = ()

    def __repr__(self) -> str:
        order = ", ".join(_describe_order(by) for by in self.order_by)
        return f"{self.over!r} partitioned by [{', '.join(self.partition_by)}] ordered by [{order}]"


@dataclass(frozen=True)
class WindowSpec:
    """Partitioning, order and frame. Every method gives a new spec; made by `Window`.

    >>> from slidewise.spark import Window, functions as F
    >>> hour = Window.partitionBy("sensor").orderBy("ts").rangeBetween("-1h", Window.currentRow)
    >>> F.median("temp").over(hour)
    median('temp').over(range_between("-1h", 0)) partitioned by [sensor] ordered by [ts]
    """

    partition_by: tuple[str, ...] = ()
    order_by: tuple[OrderColumn, ...] = ()
    frame: Between | None = None
    excluded: Exclude | None = None

    def partitionBy(self, *cols: Any) -> WindowSpec:  # noqa: N802 PySpark's name
        """Partition by columns: rows with other values in them are in other windows.

        >>> Window.partitionBy("country", "city").partition_by
        ('country', 'city')
        """
        return replace(self, partition_by=tuple(read_column_name(c, "partitionBy") for c in _flatten(cols)))

    def orderBy(self, *cols: Any) -> WindowSpec:  # noqa: N802
        """Order by columns: names, `F.desc("x")`, `F.asc_nulls_last("x")`, `F.col("x").desc()`.

        >>> from slidewise.spark import functions as F
        >>> Window.orderBy("ts", F.desc("price")).order_by[1].descending
        True
        """
        return replace(self, order_by=tuple(_read_order_column(c) for c in _flatten(cols)))

    def rowsBetween(self, start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Set the frame in rows, from `start` to `end`: negative is preceding, 0 the current row.

        >>> Window.orderBy("ts").rowsBetween(-999, Window.currentRow).window
        rows_between(-999, 0)
        """
        return replace(self, frame=rows_between(_read_bound(start), _read_bound(end)))

    def rangeBetween(self, start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Set the frame by the order's values: numbers in its own unit, or lengths of time.

        >>> Window.orderBy("ts").rangeBetween("-1h30m", "10 minutes").window
        range_between("-1h30m", "10 minutes")
        """
        return replace(self, frame=range_between(_read_bound(start), _read_bound(end)))

    def groupsBetween(self, start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Set the frame in groups of rows of equal order, SQL's GROUPS. PySpark has none.

        >>> Window.orderBy("day").groupsBetween(-6, 0).window
        groups_between(-6, 0)
        """
        return replace(self, frame=groups_between(_read_bound(start), _read_bound(end)))

    def exclude(self, rows: Exclude | Literal["no others"]) -> WindowSpec:
        """Leave out the "current row", its "group" of equal rows, or their "ties": SQL's EXCLUDE. PySpark has none.

        >>> Window.orderBy("ts").rowsBetween(-1, 1).exclude("current row").window
        rows_between(-1, 1, exclude="current row")
        """
        if rows not in ("current row", "group", "ties", "no others"):
            raise InvalidInput(f'exclude takes "current row", "group", "ties" or "no others", got {rows!r}')
        return replace(self, excluded=None if rows == "no others" else rows)

    @property
    def window(self) -> Between:
        """The frame; PySpark's default where none was given: up to the row and its peers, or all without an order.

        >>> Window.partitionBy("k").window, Window.orderBy("ts").window
        (rows_between(-UNBOUNDED, UNBOUNDED), range_between(-UNBOUNDED, 0))
        """
        frame = self.frame
        if frame is None:
            frame = range_between(-UNBOUNDED, 0) if self.order_by else rows_between(-UNBOUNDED, UNBOUNDED)
        return replace(frame, exclude=self.excluded)

    def specify(self, aggregation: Aggregation, algorithm: str) -> SpecifiedOver:
        """Build what `aggregation.over(spec)` is."""
        return SpecifiedOver(Over(aggregation, self.window, algorithm), self.partition_by, self.order_by)


class Window:
    """Where specs begin: PySpark's `Window`, with `groupsBetween` and `exclude` besides.

    >>> from slidewise.spark import Window, functions as F
    >>> last_1000 = Window.partitionBy("k").orderBy("ts").rowsBetween(-999, 0)
    >>> F.count_distinct("user").over(last_1000)
    count_distinct('user').over(rows_between(-999, 0)) partitioned by [k] ordered by [ts]
    """

    unboundedPreceding: ClassVar[Unbounded] = -UNBOUNDED  # noqa: N815
    unboundedFollowing: ClassVar[Unbounded] = UNBOUNDED  # noqa: N815
    currentRow: ClassVar[int] = 0  # noqa: N815

    @staticmethod
    def partitionBy(*cols: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this partitioning; see `WindowSpec.partitionBy`."""
        return WindowSpec().partitionBy(*cols)

    @staticmethod
    def orderBy(*cols: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this order; see `WindowSpec.orderBy`."""
        return WindowSpec().orderBy(*cols)

    @staticmethod
    def rowsBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame in rows; see `WindowSpec.rowsBetween`."""
        return WindowSpec().rowsBetween(start, end)

    @staticmethod
    def rangeBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame by the order's values; see `WindowSpec.rangeBetween`."""
        return WindowSpec().rangeBetween(start, end)

    @staticmethod
    def groupsBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame in groups of equal rows; see `WindowSpec.groupsBetween`."""
        return WindowSpec().groupsBetween(start, end)


# ---- columns
class Column(OffsetColumn):
    """A column by name, made by `F.col`; `.desc()` and its like are for `orderBy`.

    >>> from slidewise.spark import functions as F
    >>> F.col("ts").desc()
    OrderColumn(name='ts', descending=True, nulls_first=None)
    """

    def asc(self) -> OrderColumn:
        """Order by this column, the smallest first, nulls before all."""
        return OrderColumn(self.name)

    def asc_nulls_first(self) -> OrderColumn:
        """Order by this column, the smallest first, nulls before all."""
        return OrderColumn(self.name, nulls_first=True)

    def asc_nulls_last(self) -> OrderColumn:
        """Order by this column, the smallest first, nulls after all."""
        return OrderColumn(self.name, nulls_first=False)

    def desc(self) -> OrderColumn:
        """Order by this column, the largest first, nulls after all."""
        return OrderColumn(self.name, descending=True)

    def desc_nulls_first(self) -> OrderColumn:
        """Order by this column, the largest first, nulls before all."""
        return OrderColumn(self.name, descending=True, nulls_first=True)

    def desc_nulls_last(self) -> OrderColumn:
        """Order by this column, the largest first, nulls after all."""
        return OrderColumn(self.name, descending=True, nulls_first=False)


def read_column_name(value: Any, what: str) -> str:
    """Read the name of a column that was given by name or as `F.col(name)`."""
    if isinstance(value, OffsetColumn):
        return value.name
    if isinstance(value, str) and value:
        return value
    refuse_pyspark(value, what)
    raise InvalidInput(f"{what} takes names of columns or F.col(name), got {value!r}")


def refuse_pyspark(value: Any, what: str) -> None:
    """Refuse what belongs to PySpark, and say what to write instead."""
    if not type(value).__module__.startswith("pyspark."):
        return
    kind = type(value).__name__
    if kind == "WindowSpec":
        raise InvalidInput(
            f"{what}: got a WindowSpec of pyspark, which cannot be looked into. Write the same words with slidewise's "
            "Window: from slidewise.spark import Window"
        )
    if kind == "Column":
        raise InvalidInput(
            f"{what}: got a Column of pyspark ({value}), which cannot be looked into. Give the column's name or "
            "slidewise's F.col (from slidewise.spark import functions as F); for an expression, add it first: "
            'df.withColumn("y", expression), then "y"'
        )
    raise InvalidInput(f"{what}: got a {kind} of pyspark, {value!r}. Give the name of a column")


def _read_order_column(value: Any) -> OrderColumn:
    return value if isinstance(value, OrderColumn) else OrderColumn(read_column_name(value, "orderBy"))


def _flatten(cols: tuple[Any, ...]) -> tuple[Any, ...]:
    """Flatten the columns, which may come as one list."""
    if len(cols) == 1 and isinstance(cols[0], Iterable) and not isinstance(cols[0], str):
        refuse_pyspark(cols[0], "Window")
        return tuple(cols[0])
    return cols


def _read_bound(value: Any) -> Any:
    """Read a bound as slidewise takes it: PySpark's least and largest numbers are no bounds."""
    if isinstance(value, OffsetColumn):
        return col(value.name)
    refuse_pyspark(value, "the frame")
    if isinstance(value, int) and not isinstance(value, bool):
        least, most = _JAVA_LONGS
        return -UNBOUNDED if value <= least else UNBOUNDED if value >= most else value
    return value


def _describe_order(by: OrderColumn) -> str:
    nulls = "" if by.nulls_first is None else " nulls first" if by.nulls_first else " nulls last"
    return f"{by.name}{' desc' * by.descending}{nulls}"
