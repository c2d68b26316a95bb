"""Order statistics: median, percentile, percentile_disc, nth_smallest.

Every one is a rule that says which of n sorted values to take: `position(n, x)` gives a rank k, counted from
0, and how far to go from there to the next value. The rules do not know how the values are kept, so that an
order-statistics tree, a kernel, and the sorted partials here answer alike. A partial is (sorted values,
number of NaNs), NaN being above all.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from slidewise.aggregations.arguments import collect_columns, column_and_fractions, whole
from slidewise.aggregations.arguments import fraction as checked_fraction
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import NAN, plain
from slidewise.errors import InvalidInput
from slidewise.windows.reach import OffsetColumn

if TYPE_CHECKING:
    import numpy as np


def continuous(n: int, q: float) -> tuple[int, float]:
    """Spark's percentile: between the neighbours of rank q (n - 1)."""
    rank = q * (n - 1)
    k = math.floor(rank)
    return k, rank - k


def discrete(n: int, q: float) -> tuple[int, float]:
    """Spark's percentile_disc: the first value whose share of rows at or below it reaches q."""
    return max(0, math.ceil(q * n) - 1), 0.0


def continuous_as_paper(n: int, q: float) -> tuple[int, float]:
    """Average the two neighbours of rank q (n - 1) (holistic-windows paper)."""
    k, rest = continuous(n, q)
    return k, 0.5 if rest > 0.0 else 0.0


def discrete_as_paper(n: int, q: float) -> tuple[int, float]:
    """Take the value of rank floor(q (n - 1)) (holistic-windows paper)."""
    return continuous(n, q)[0], 0.0


def between(low: Any, high: Any, share: float) -> Any:
    """Interpolate the value that lies `share` of the way from low to high."""
    if low == high:
        return low
    if isinstance(low, int | float):
        return low * (1.0 - share) + high * share
    try:
        return low + (high - low) * (Decimal(share) if isinstance(low, Decimal) else share)
    except TypeError:
        raise InvalidInput(
            f"cannot interpolate between {low!r} and {high!r}: use percentile_disc, which takes one of them"
        ) from None


class OrderStatistic(Aggregation):
    """The base of the aggregations that pick one of the sorted values, or a point between two."""

    kind = "holistic"
    identity = ((), 0)
    commutative = True
    invertible = True
    exactly_invertible = True
    size_preserving = False
    order_statistic = True
    #: the result is computed, and so a float where values are integers
    interpolates = False

    def __init__(self, *columns: str, **parameters: Any) -> None:
        super().__init__(*columns, **parameters)
        self.lower = lambda s, *x: self.select(len(s[0]) + s[1], lambda k: s[0][k] if k < len(s[0]) else NAN, *x)

    @staticmethod
    def lift(x: Any) -> Any:
        x = plain(x)
        return ((x,), 0) if x == x else ((), 1)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return (tuple(sorted(a[0] + b[0])), a[1] + b[1])  # sorting merges two sorted runs in linear time

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        values = list(total[0])
        for v in oldest[0]:
            del values[bisect_left(values, v)]
        return (tuple(values), total[1] - oldest[1])

    def position(self, n: int, x: Any = None) -> tuple[int, float] | None:
        """Choose one of n sorted values: its rank from 0, and the share of the way to the next; None for none."""
        raise NotImplementedError

    def select(self, n: int, kth: Callable[[int], Any], x: Any = None) -> Any:
        """Compute the result of n values, where kth(k) is the k-th smallest, counted from 0."""
        found = self.position(n, x) if n else None
        if found is None:
            return None
        k, share = found
        value = kth(k) if share == 0.0 else between(kth(k), kth(k + 1), share)
        return float(value) if self.interpolates and type(value) is int else value

    @property
    def rule_and_fraction(self) -> tuple[str, float]:
        """The rule by name and its fraction (or rank): what the kernels over columns are told."""
        raise NotImplementedError

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None  # partials of changing length


class Percentile(OrderStatistic):
    """The value at a fraction of the sorted values, between two of them if need be; also called `quantile`.

    A list of fractions gives a list of values. A column has a fraction for every row, that of the row which a result
    is for; where it is null, so is the result. method="paper" averages the two neighbours instead of weighting them.
    `query(q)` gives another fraction.

    >>> import slidewise as sw
    >>> s = sw.swag("order_statistic_tree", sw.percentile(0.25))
    >>> for x in (10, 40, 20, 30): s.insert(x)
    >>> s.query(), s.query(0.5)
    (17.5, 25.0)
    >>> sw.rolling([10, 40, 20, 30], sw.percentile([0.25, 0.75]), sw.rows(4))[-1]
    array([17.5, 32.5])
    >>> import pyarrow as pa
    >>> rows = pa.table({"x": [10, 40, 20, 30], "q": [0.0, 0.5, None, 1.0]})
    >>> sw.with_columns(rows, r=sw.percentile("x", sw.col("q")).over(sw.rows(4)))["r"].to_pylist()
    [10.0, 25.0, None, 40.0]
    """

    name = "percentile"
    compiled_alike = True
    accepts = ("number",)
    unary_lower = False
    interpolates = True
    rules = {"spark": continuous, "paper": continuous_as_paper}

    def __init__(
        self,
        column: str | float | Sequence[float] | None = None,
        fraction: float | Sequence[float] | OffsetColumn | None = None,
        *,
        method: Literal["spark", "paper"] = "spark",
        where: str | None = None,
    ) -> None:
        column, self.fraction = column_and_fractions(self.name, column, fraction)
        if method not in self.rules:
            raise InvalidInput(f'{self.name}: method must be "spark" or "paper", got {method!r}')
        self.rule = self.rules[method]
        super().__init__(
            *collect_columns(column), fraction=self.fraction, **({"method": method} if method != "spark" else {})
        )
        if isinstance(self.fraction, OffsetColumn):
            self.asks = (self.fraction.name,)

    def read_question(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if values[0] is None:
            return None
        return (checked_fraction(self.name, values[0], f"the fraction in the column {self.asks[0]!r}"),)

    def check_questions(self, values: tuple[np.ndarray, ...]) -> None:
        wrong = values[0][~((values[0] >= 0.0) & (values[0] <= 1.0))]
        if len(wrong):
            self.read_question((wrong[0].item(),))

    @property
    def parts(self) -> tuple[Percentile, ...]:
        """Where there are several fractions, one aggregation for each."""
        if not isinstance(self.fraction, list):
            return ()
        rest = {name: value for name, value in self.parameters.items() if name != "fraction"}
        column = self.columns[0] if self.columns else None
        return tuple(type(self)(column, q, where=self.where, **rest) for q in self.fraction)

    def position(self, n: int, x: Any = None) -> tuple[int, float]:
        fraction = self.fraction if x is None else checked_fraction(self.name, x)
        if isinstance(fraction, OffsetColumn):
            raise InvalidInput(f"{self!r} has a fraction for every row, and none is given here. Say which: query(0.5)")
        assert isinstance(fraction, float)  # select asks for several one by one
        return self.rule(n, fraction)

    def select(self, n: int, kth: Callable[[int], Any], x: Any = None) -> Any:
        if x is not None or not isinstance(self.fraction, list) or not n:
            return super().select(n, kth, x)
        return [super(Percentile, self).select(n, kth, q) for q in self.fraction]

    @property
    def rule_and_fraction(self) -> tuple[str, float]:
        if isinstance(self.fraction, OffsetColumn):
            return self.rule.__name__, math.nan  # every frame has its own
        assert isinstance(self.fraction, float)  # over columns, several are computed one by one
        return self.rule.__name__, self.fraction


class PercentileDisc(Percentile):
    """The first of the sorted values at or below which the fraction of the values lies: always one of them.

    method="paper" takes the value of rank floor(q (n - 1)). `query(q)` gives another fraction.

    >>> import slidewise as sw
    >>> s = sw.swag("order_statistic_tree", sw.percentile_disc(0.5))
    >>> for word in ("d", "a", "c", "b"): s.insert(word)
    >>> s.query(), s.query(0.75)
    ('b', 'c')
    """

    name = "percentile_disc"
    compiled_alike = True
    accepts = ("ordered",)
    interpolates = False
    keeps_type = True
    rules = {"spark": discrete, "paper": discrete_as_paper}


class Median(OrderStatistic):
    """The median: the middle value, or the mean of the two middle ones.

    >>> import slidewise as sw
    >>> s = sw.swag("order_statistic_tree", sw.median())
    >>> for x in (1, 9, 2): s.insert(x)
    >>> s.query()
    2.0
    """

    name = "median"
    compiled_alike = True
    accepts = ("number",)
    interpolates = True
    fraction = 0.5

    def __init__(self, column: str | None = None, *, where: str | None = None) -> None:
        super().__init__(*collect_columns(column))

    def position(self, n: int, x: Any = None) -> tuple[int, float]:
        return continuous(n, 0.5)

    @property
    def rule_and_fraction(self) -> tuple[str, float]:
        return "continuous", 0.5


class NthSmallest(OrderStatistic):
    """The n-th smallest value, counted from 1; null where there are fewer. `query(k)` gives the k-th.

    >>> import slidewise as sw
    >>> s = sw.swag("order_statistic_tree", sw.nth_smallest(n=2))
    >>> for x in (5, 3, 4): s.insert(x)
    >>> s.query(), s.query(1)
    (4, 3)
    """

    name = "nth_smallest"
    accepts = ("ordered",)
    unary_lower = False
    keeps_type = True

    def __init__(self, column: str | int | None = None, n: int | None = None, *, where: str | None = None) -> None:
        if n is None and not isinstance(column, str):  # nth_smallest(3): a number cannot be a column
            column, n = None, column
        if n is None:
            raise InvalidInput('nth_smallest: say which, as in nth_smallest("x", 3)')
        self.n = whole("nth_smallest", "n", n)
        super().__init__(*collect_columns(column), n=self.n)

    def position(self, n: int, x: Any = None) -> tuple[int, float] | None:
        k = self.n if x is None else whole("nth_smallest", "n", x)
        return (k - 1, 0.0) if k <= n else None

    @property
    def rule_and_fraction(self) -> tuple[str, float]:
        return "nth_smallest", self.n
