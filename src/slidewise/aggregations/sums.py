"""Sum-like aggregations: count, sum, avg, product, geomean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slidewise.aggregations import integer_sums
from slidewise.aggregations.arguments import OneColumn, collect_columns
from slidewise.aggregations.arithmetic import divide
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import INT64_MAX, INT64_MIN, as_float, number, numeric

if TYPE_CHECKING:
    import numpy as np

#: exp() of more than this is above the largest float
LARGEST_EXPONENT = 709.782712893384


def _lift_float(x: Any) -> Any:
    return x * 1.0  # float32 is summed in double precision, as Spark does


def _lift_counted_float(x: Any) -> Any:
    return (1, x * 1.0)


def _lift_logarithm(x: Any) -> Any:
    return (1, _logarithm(x * 1.0))


def _logarithm(x: Any) -> Any:
    """log(x) where Python's would raise: -inf for zero, NaN below it."""
    if x > 0.0 or x != x:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def _lift_uncounted(x: Any, anchor: Any) -> Any:
    return x * 1.0


def _add(a: Any, b: Any) -> Any:
    return a + b


def _whole_sum(s: Any, count: Any, share: Any) -> Any:
    return s


def _mean_of_sum(s: Any, count: Any, share: Any) -> Any:
    return divide(s, count, share)


def _add_pairs(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1])


def _divide_pair(s: Any) -> Any:
    return s[1] / s[0]


class Count(Aggregation):
    """The number of rows; `count("x")` counts those where x is not null.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.count())
    >>> for word in ("a", "b", "c"): s.insert(word)
    >>> s.query()
    3
    """

    name = "count"
    needs_only_bounds = True
    counts_rows = True
    merges_as = "sum"
    spark_call = "count({0})"
    kind = "distributive"
    identity = 0
    empty = 0
    commutative = True
    invertible = True
    exactly_invertible = True

    def __init__(self, column: str | None = None, *, where: str | None = None) -> None:
        columns = collect_columns(column if column != "*" else None)
        super().__init__(*columns)
        self.nulls = "skip" if columns else "keep"

    @staticmethod
    def lift(row: Any) -> Any:
        return 1

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return total - oldest

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self if numeric(columns, "biuf") else None


class Sum(OneColumn):
    """The sum. Integers are summed exactly; a total outside 64 bits is an OverflowError, never wrapped.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.sum())
    >>> for x in (1, 2, 3): s.insert(x)
    >>> s.query()
    6
    """

    name = "sum"
    compiled_alike = True
    exact_in_units = True
    spark_call = "sum({0})"
    accepts = ("amount",)
    kind = "distributive"
    identity = 0
    commutative = True
    invertible = True
    exactly_invertible = "integers"

    @staticmethod
    def lift(x: Any) -> Any:
        return number(x, "sum")

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return total - oldest

    @staticmethod
    def lower(s: Any) -> Any:
        if type(s) is int and not INT64_MIN <= s <= INT64_MAX:
            raise OverflowError(
                f"sum: the sum of a frame, {s}, leaves 64-bit integers; convert the column to float or decimal"
            )
        return s

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        if numeric(columns, "f"):
            counted = self.variant(identity=0.0, lift=_lift_uncounted, lower=_whole_sum, by_lanes=True)
            return self.variant(identity=0.0, lift=_lift_float, lower=_same, counted=counted)
        return _integers(
            self,
            columns,
            longest,
            plain={"identity": 0, "lift": integer_sums.lift, "lower": _same},
            halves={
                "identity": (0, 0),
                "lift": integer_sums.lift_halves,
                "combine": integer_sums.combine_halves,
                "inverse": integer_sums.inverse_halves,
                "lower": integer_sums.lower_halves,
            },
        )


class Avg(OneColumn):
    """The arithmetic mean, also called `mean`. Integers are summed exactly before they are divided.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.avg())
    >>> for x in (1, 2, 6): s.insert(x)
    >>> s.query()
    3.0
    """

    name = "avg"
    compiled_alike = True
    derived_from = Sum
    exact_in_units = True
    spark_call = "avg({0})"
    accepts = ("amount",)
    identity = (0, 0)
    commutative = True
    invertible = True
    exactly_invertible = "integers"

    @staticmethod
    def lift(x: Any) -> Any:
        return (1, number(x, "avg"))

    combine = staticmethod(_add_pairs)

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return (total[0] - oldest[0], total[1] - oldest[1])

    @staticmethod
    def lower(s: Any) -> Any:
        return integer_sums.mean(s[1], s[0]) if type(s[1]) is int else s[1] / s[0]

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        if numeric(columns, "f"):
            counted = self.variant(identity=0.0, lift=_lift_uncounted, combine=_add, lower=_mean_of_sum, by_lanes=True)
            return self.variant(identity=(0, 0.0), lift=_lift_counted_float, lower=_divide_pair, counted=counted)
        return _integers(
            self,
            columns,
            longest,
            plain={"lift": integer_sums.lift_mean, "lower": integer_sums.lower_mean},
            halves={
                "identity": (0, 0, 0),
                "lift": integer_sums.lift_mean_halves,
                "combine": integer_sums.combine_mean_halves,
                "inverse": integer_sums.inverse_mean_halves,
                "lower": integer_sums.lower_mean_halves,
            },
        )


Count.part_of, Sum.part_of = (Avg, 0), (Avg, 1)


class Product(OneColumn):
    """The product, in double precision as PySpark's. It has no inverse: a zero cannot be divided out.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.product())
    >>> for x in (2, 3, 4): s.insert(x)
    >>> s.query()
    24.0
    """

    name = "product"
    compiled_alike = True
    accepts = ("number",)
    kind = "distributive"
    identity = 1.0
    commutative = True

    @staticmethod
    def lift(x: Any) -> Any:
        return as_float(x, "product")

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a * b

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_float) if numeric(columns) else None


class Geomean(OneColumn):
    """The geometric mean, by the mean of the logarithms, which cannot overflow as a product does.

    A zero makes it 0.0, a negative value NaN.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.geomean())
    >>> for x in (1, 10, 100): s.insert(x)
    >>> round(s.query(), 12)
    10.0
    """

    name = "geomean"
    accepts = ("number",)
    identity = (0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any) -> Any:
        return (1, _logarithm(as_float(x, "geomean")))

    combine = staticmethod(_add_pairs)

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return (total[0] - oldest[0], total[1] - oldest[1])

    @staticmethod
    def lower(s: Any) -> Any:
        exponent = s[1] / s[0]
        return math.inf if exponent > LARGEST_EXPONENT else math.exp(exponent)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_logarithm) if numeric(columns) else None

    def by_columns(self, columns: tuple[np.ndarray, ...]) -> tuple[Aggregation, tuple[np.ndarray, ...], Any]:
        """Logarithms and powers of whole columns: 12 ns a row, and 28 where kernels compute one at a time."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            return Avg(), (np.log(columns[0], dtype=np.float64),), _powers


def _powers(exponents: np.ndarray) -> np.ndarray:
    import numpy as np

    with np.errstate(over="ignore"):
        return np.exp(exponents, out=exponents)


def _same(s: Any) -> Any:
    return s


def _integers(
    aggregation: Aggregation,
    columns: tuple[np.ndarray, ...],
    longest: int,
    plain: dict[str, Any],
    halves: dict[str, Any],
) -> Aggregation | None:
    """Make the variant that sums these integers exactly; none for other types, nor for uint64."""
    if not numeric(columns, "iu") or columns[0].dtype.str[1:] == "u8":
        return None
    if integer_sums.proven(columns[0], longest):
        return aggregation.variant(**plain)
    return aggregation.variant(**halves) if longest <= integer_sums.MOST_ROWS else None
