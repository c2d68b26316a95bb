"""Values and numbers by a row's place in its key: lag, lead, row_number, rank and its kin, as in SQL.

Each brings its own frame, and so stands without `.over`: what SQL computes over a partition and its order, by the
`partition_by` and `order_by` of a call.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.aggregations.arguments import collect_columns, whole
from slidewise.aggregations.base import Aggregation, Nulls
from slidewise.aggregations.over import Over
from slidewise.aggregations.positions import NthValue
from slidewise.aggregations.sums import Count
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import rows_between
from slidewise.windows.reach import UNBOUNDED

if TYPE_CHECKING:
    import numpy as np

_SO_FAR = rows_between(-UNBOUNDED, 0)
_WHOLE_KEY = rows_between(-UNBOUNDED, UNBOUNDED)


# ---- offsets
def lag(column: str | None = None, offset: int = 1, default: Any = None, ignore_nulls: bool = False) -> Over:
    """Take the value of the row `offset` rows before, in the order of the key; `default` where there is none.

    >>> import slidewise as sw
    >>> sw.with_columns({"x": [3, 5, 4]}, before=sw.lag("x", default=0))["before"]
    array([0, 3, 5])
    >>> w = sw.Window(sw.lag())
    >>> [result.value for x in (3, 5, 4) for result in w.push(x)]
    [None, 3, 5]

    Nulls are values. With `ignore_nulls` rows of nulls are not counted: the last value but null, with an offset of 1.
    """
    return _shift(Lag, column, offset, default, ignore_nulls, -1)


def lead(column: str | None = None, offset: int = 1, default: Any = None, ignore_nulls: bool = False) -> Over:
    """Take the value of the row `offset` rows after, in the order of the key; `default` where there is none.

    >>> import slidewise as sw
    >>> sw.with_columns({"x": [3, 5, 4]}, after=sw.lead("x", default=0))["after"]
    array([5, 4, 0])

    Nulls are values. With `ignore_nulls` rows of nulls are not counted. Event by event, and on a stream, a result comes
    with the row that it is the value of.
    """
    return _shift(Lead, column, offset, default, ignore_nulls, 1)


def _shift(
    of: type[_Offset], column: str | None, offset: int, default: Any, ignore_nulls: bool, direction: int
) -> Over:
    steps = direction * whole(of.name, "offset", offset, least=-sys.maxsize)
    aggregation = of(column, offset, default, ignore_nulls)
    if not ignore_nulls or not steps:
        return Over(aggregation, rows_between(steps, steps))
    return Over(aggregation, rows_between(1, UNBOUNDED) if steps > 0 else rows_between(-UNBOUNDED, -1))


class _Offset(NthValue):
    """The value of a row that stands some rows away: the only one of its frame, or the n-th that is not null."""

    needs_only_bounds = True
    own_frame = True
    direction: ClassVar[int]

    def __init__(
        self, column: str | None, offset: int, default: Any = None, ignore_nulls: bool = False, *, where: None = None
    ) -> None:
        given = {"offset": offset, "default": default, "ignore_nulls": ignore_nulls}
        usual = {"default": None, "ignore_nulls": False}
        Aggregation.__init__(
            self, *collect_columns(column), **{k: x for k, x in given.items() if k not in usual or x != usual[k]}
        )
        steps = self.direction * offset
        self._count_from(steps if ignore_nulls and steps else 1, ignore_nulls and steps != 0, default)


class Lag(_Offset):
    """The value of a row before."""

    name = "lag"
    needs_only_bounds = True
    spark_call = "lag({0}, {offset})"
    direction = -1


class Lead(_Offset):
    """The value of a row after."""

    name = "lead"
    needs_only_bounds = True
    spark_call = "lead({0}, {offset})"
    direction = 1


# ---- numbers
def row_number() -> Over:
    """Give the rows of a key their numbers from 1, in their order.

    >>> import slidewise as sw
    >>> sw.with_columns({"k": ["a", "b", "a"], "t": [2, 1, 1]}, partition_by="k", order_by="t", n=sw.row_number())["n"]
    array([2, 1, 1])
    """
    return Over(Count(), _SO_FAR)


def rank() -> Over:
    """Give the rows of a key their places by the order, rows of equal order alike: 1, 2, 2, 4.

    >>> import slidewise as sw
    >>> sw.with_columns({"t": [10, 20, 20, 30]}, order_by="t", place=sw.rank())["place"]
    array([1, 2, 2, 4])
    """
    return Over(Rank(), _SO_FAR)


def dense_rank() -> Over:
    """Give the different orders of a key's rows their numbers: 1, 2, 2, 3.

    >>> import slidewise as sw
    >>> sw.with_columns({"t": [10, 20, 20, 30]}, order_by="t", place=sw.dense_rank())["place"]
    array([1, 2, 2, 3])
    """
    return Over(DenseRank(), _SO_FAR)


def percent_rank() -> Over:
    """Tell which share of the other rows of a key comes before, by the order: (rank - 1) / (rows - 1).

    >>> import slidewise as sw
    >>> sw.with_columns({"t": [10, 20, 20, 30, 40]}, order_by="t", share=sw.percent_rank())["share"]
    array([0.  , 0.25, 0.25, 0.75, 1.  ])

    It needs all rows of the key, and so is not for streams, nor event by event.
    """
    return Over(PercentRank(), _WHOLE_KEY)


def cume_dist() -> Over:
    """Tell which share of the rows of a key is at or before a row, by the order.

    >>> import slidewise as sw
    >>> sw.with_columns({"t": [10, 20, 20, 30]}, order_by="t", share=sw.cume_dist())["share"]
    array([0.25, 0.75, 0.75, 1.  ])

    It needs all rows of the key, and so is not for streams, nor event by event.
    """
    return Over(CumeDist(), _WHOLE_KEY)


def ntile(n: int) -> Over:
    """Divide the rows of a key, in their order, into n parts of equal size, and number these; the first have one more.

    >>> import slidewise as sw
    >>> sw.with_columns({"t": [1, 2, 3, 4, 5]}, order_by="t", half=sw.ntile(2))["half"]
    array([1, 1, 1, 2, 2])

    It needs all rows of the key, and so is not for streams, nor event by event.
    """
    return Over(Ntile(n=whole("ntile", "n", n)), _WHOLE_KEY)


class Place(Aggregation):
    """A number of a row's place in its key. It reads no column but those of the order, to which an engine binds it.

    Over columns, frames tell all of it (`number_rows`). A partial is of the rows so far: the order of the first and of
    the last of them, how many different orders there are, how many rows, and how many of the last order.
    """

    of_order = True
    own_frame = True
    accepts = ("any",)
    nulls: Nulls = "keep"
    size_limit = 8
    #: whether the number depends on rows that follow
    needs_all_rows: ClassVar[bool] = False

    def bind(self, *columns: str) -> Place:
        """Return the same of rows in the order of these columns."""
        return type(self)(*columns, **self.parameters)

    @property
    def arity(self) -> int:
        """One value for each column of the order."""
        return max(1, len(self.columns))

    def require_order(self, order: Any, what: str) -> None:
        """Refuse an order of nothing."""
        if not order:
            raise InvalidInput(
                f"{what}: {self.name} is by the order of rows. Name the columns in order_by, or take row_number()"
            )

    @staticmethod
    def number_rows(
        row: np.ndarray, rows: np.ndarray, first: np.ndarray, after: np.ndarray, group: np.ndarray
    ) -> np.ndarray:
        """Compute results: each is row `row` of `rows`, its peers `first` to `after` - 1 are group `group`, from 0."""
        raise NotImplementedError

    @staticmethod
    def lift(*order: Any) -> Any:
        return (order, order, 1, 1, 1)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        joins = _are_peers(a[1], b[0])
        return (a[0], b[1], a[2] + b[2] - joins, a[3] + b[3], b[4] + a[4] if joins and b[2] == 1 else b[4])

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None


def _are_peers(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return all(x == y or (x != x and y != y) for x, y in zip(a, b, strict=True))


class Rank(Place):
    """One more than the number of rows that come before by the order."""

    name = "rank"
    needs_only_bounds = True
    spark_call = "rank()"

    @staticmethod
    def number_rows(row: Any, rows: Any, first: Any, after: Any, group: Any) -> Any:
        return first + 1

    @staticmethod
    def lower(s: Any) -> Any:
        return s[3] - s[4] + 1


class DenseRank(Place):
    """The number of different orders so far."""

    name = "dense_rank"
    needs_only_bounds = True
    spark_call = "dense_rank()"

    @staticmethod
    def number_rows(row: Any, rows: Any, first: Any, after: Any, group: Any) -> Any:
        return group + 1

    @staticmethod
    def lower(s: Any) -> Any:
        return s[2]


class PercentRank(Place):
    """The share of the other rows that come before; 0 where there is no other."""

    name = "percent_rank"
    needs_only_bounds = True
    spark_call = "percent_rank()"
    needs_all_rows = True

    @staticmethod
    def number_rows(row: Any, rows: Any, first: Any, after: Any, group: Any) -> Any:
        others = rows - 1
        return first / (others + (others == 0))


class CumeDist(Place):
    """The share of the rows at or before a row."""

    name = "cume_dist"
    needs_only_bounds = True
    spark_call = "cume_dist()"
    needs_all_rows = True

    @staticmethod
    def number_rows(row: Any, rows: Any, first: Any, after: Any, group: Any) -> Any:
        return after / rows


class Ntile(Place):
    """The part of its key, of n, in which a row is."""

    name = "ntile"
    needs_only_bounds = True
    spark_call = "ntile({n})"
    needs_all_rows = True

    def __init__(self, *columns: str, n: int) -> None:
        super().__init__(*columns, n=n)

        def number_rows(row: Any, rows: Any, first: Any, after: Any, group: Any) -> Any:
            size, more = rows // n, rows % n
            longer = more * (size + 1)
            return (
                1
                + (row < longer) * (row // (size + 1))
                + (row >= longer) * (more + (row - longer) // (size + (size == 0)))
            )

        self.number_rows = number_rows  # type: ignore[method-assign]
