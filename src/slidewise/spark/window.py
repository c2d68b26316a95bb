"""Window: PySpark's spelling of windows, `Window.partitionBy("k").orderBy("ts").rowsBetween(-999, 0)`.

The names, defaults and signs are PySpark's; GROUPS frames, EXCLUDE and offsets that are columns come on top. A spec is
a plain value, and needs no Spark where columns are named by strings. `F.sum("x").over(spec)` is a Column of PySpark's;
for an aggregation of slidewise's, or your own, it is what `slidewise.spark.with_columns` takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.spark.named_expressions import build_column, name_column
from slidewise.spark.pyspark_internals import is_column, read_their_window, split_order
from slidewise.windows.definitions import Between, col, groups_between, range_between, rows_between
from slidewise.windows.reach import UNBOUNDED, Exclude, OffsetColumn, Unbounded

if TYPE_CHECKING:
    from pyspark.sql.window import WindowSpec as TheirSpec  # to a type checker, ours goes wherever theirs does
else:
    TheirSpec = object

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
class WindowSpec(TheirSpec):  # type: ignore[misc]  # PySpark's has no types where it is not installed
    """Partitioning, order and frame. Every method gives a new spec; made by `Window`.

    >>> import slidewise as sw
    >>> from slidewise.spark import Window
    >>> hour = Window.partitionBy("sensor").orderBy("ts").rangeBetween("-1h", Window.currentRow)
    >>> sw.median("temp").over(hour)
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
        return replace(self, partition_by=tuple(name_column(c, "partitionBy") for c in _flatten(cols)))

    def orderBy(self, *cols: Any) -> WindowSpec:  # noqa: N802
        """Order by columns: names, `F.desc("x")`, `F.asc_nulls_last("x")`, `F.col("x").cast("long").desc()`.

        >>> Window.orderBy("ts", "price").order_by[1].descending
        False
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

    >>> from slidewise.spark import Window
    >>> last_1000 = Window.partitionBy("k").orderBy("ts").rowsBetween(-999, 0)
    >>> last_1000.partition_by, last_1000.window
    (('k',), rows_between(-999, 0))
    """

    unboundedPreceding: ClassVar[Unbounded] = -UNBOUNDED  # noqa: N815
    unboundedFollowing: ClassVar[Unbounded] = UNBOUNDED  # noqa: N815
    currentRow: ClassVar[int] = 0  # noqa: N815

    @staticmethod
    def partitionBy(*cols: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this partitioning; see `WindowSpec.partitionBy`.

        >>> Window.partitionBy("country", "city").partition_by
        ('country', 'city')
        """
        return WindowSpec().partitionBy(*cols)

    @staticmethod
    def orderBy(*cols: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this order; see `WindowSpec.orderBy`.

        >>> [by.name for by in Window.orderBy("ts", "price").order_by]
        ['ts', 'price']
        """
        return WindowSpec().orderBy(*cols)

    @staticmethod
    def rowsBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame in rows; see `WindowSpec.rowsBetween`.

        >>> Window.rowsBetween(-9, Window.currentRow).window
        rows_between(-9, 0)
        """
        return WindowSpec().rowsBetween(start, end)

    @staticmethod
    def rangeBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame by the order's values; see `WindowSpec.rangeBetween`.

        >>> Window.rangeBetween(Window.unboundedPreceding, 0).window
        range_between(-UNBOUNDED, 0)
        """
        return WindowSpec().rangeBetween(start, end)

    @staticmethod
    def groupsBetween(start: Any, end: Any) -> WindowSpec:  # noqa: N802
        """Create a spec with this frame in groups of equal rows; see `WindowSpec.groupsBetween`.

        >>> Window.groupsBetween(-6, 0).window
        groups_between(-6, 0)
        """
        return WindowSpec().groupsBetween(start, end)


# ---- columns and bounds
def _read_order_column(value: Any) -> OrderColumn:
    if isinstance(value, OrderColumn):
        return value
    found = split_order(value) if is_column(value) else None
    if found is None:
        return OrderColumn(name_column(value, "orderBy"))
    usual = found.nulls_first is not found.descending  # the same order is to be the same spec, however it is written
    nulls_first = None if usual else found.nulls_first
    return OrderColumn(name_column(found.column, "orderBy"), found.descending, nulls_first)


def _flatten(cols: tuple[Any, ...]) -> tuple[Any, ...]:
    """Flatten the columns, which may come as one list."""
    if len(cols) == 1 and isinstance(cols[0], Iterable) and not isinstance(cols[0], str) and not is_column(cols[0]):
        return tuple(cols[0])
    return cols


def _read_bound(value: Any) -> Any:
    """Read a bound as slidewise takes it: PySpark's least and largest numbers are no bounds."""
    if isinstance(value, OffsetColumn) or is_column(value):
        return col(name_column(value, "the frame"))
    if isinstance(value, int) and not isinstance(value, bool):
        least, most = _JAVA_LONGS
        return -UNBOUNDED if value <= least else UNBOUNDED if value >= most else value
    return value


def _describe_order(by: OrderColumn) -> str:
    nulls = "" if by.nulls_first is None else " nulls first" if by.nulls_first else " nulls last"
    return f"{by.name}{' desc' * by.descending}{nulls}"


# ---- PySpark's own windows
def read_spec(theirs: Any) -> WindowSpec:
    """Read a window of PySpark's as a spec of ours."""
    said = read_their_window(theirs)
    spec = WindowSpec().partitionBy(*said.partition).orderBy(*said.order)
    if said.frame is None:
        return spec
    unit, start, end = said.frame
    between = spec.rowsBetween if unit == "rows" else spec.rangeBetween
    return between(-UNBOUNDED if start is None else start, UNBOUNDED if end is None else end)


def build_their_window(spec: WindowSpec, what: str, by_names: bool = False) -> Any:
    """Build the window of PySpark's that a spec says, for functions that are Spark's own.

    With `by_names` the expressions that it reads are columns already.
    """
    from pyspark.sql import Window as Theirs

    if by_names:
        order = tuple(replace(by, name=str(by.name)) for by in spec.order_by)
        spec = replace(spec, partition_by=tuple(map(str, spec.partition_by)), order_by=order)
    made = Theirs.partitionBy(*map(build_column, spec.partition_by))
    if spec.order_by:
        made = made.orderBy(*map(build_sort_column, spec.order_by))
    if spec.frame is None and spec.excluded is None:
        return made
    window = spec.window
    bounds = [_write_bound(bound) for bound in (window.start, window.end)]
    if window.unit == "groups" or window.exclude is not None or None in bounds:
        raise InvalidInput(
            f"{what} is Spark's own, and Spark has no windows such as {window!r}. Give it rowsBetween or rangeBetween "
            "with numbers"
        )
    return made.rowsBetween(*bounds) if window.unit == "rows" else made.rangeBetween(*bounds)


def build_sort_column(by: OrderColumn) -> Any:
    """Build the Column that sorts as an order says."""
    way = ("desc" if by.descending else "asc") + ("_nulls_first" if by.nulls_lead else "_nulls_last")
    return getattr(build_column(by.name), way)()


def _write_bound(bound: Any) -> int | None:
    """Write a bound as PySpark takes it; None where it takes none."""
    if isinstance(bound, Unbounded):
        return _JAVA_LONGS[1] if bound == UNBOUNDED else _JAVA_LONGS[0] - 1
    return bound if isinstance(bound, int) else None
