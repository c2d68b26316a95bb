"""The least-squares line through pairs (y, x), SQL's regr_*: y, the first column, as a function of x, the second.

Pairs in which one of the two is null are left out. Sums of squares and products are of deviations from the means, and
merged as such; see moments for why. A value that is not finite has no deviation: what depends on it is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.aggregations.arguments import TwoColumns
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.covariance import Corr, CovarSamp
from slidewise.aggregations.moments import VarPop
from slidewise.aggregations.values import as_float, numeric

if TYPE_CHECKING:
    import numpy as np


def _lift_count(y: Any, x: Any) -> Any:
    return 1


def _lift_x(y: Any, x: Any) -> Any:
    return (1, x * 1.0)


def _lift_y(y: Any, x: Any) -> Any:
    return (1, y * 1.0)


def _lift_squares_of_x(y: Any, x: Any) -> Any:
    none = x * 1.0 - x  # zero, or NaN where it is not finite
    return (1, x + none, none)


def _lift_squares_of_y(y: Any, x: Any) -> Any:
    none = y * 1.0 - y
    return (1, y + none, none)


def _lift_products(y: Any, x: Any) -> Any:
    none = (y * 1.0 - y) + (x * 1.0 - x)
    return (1, y + none, x + none, none)


def _lift_line(y: Any, x: Any) -> Any:
    of_y, of_x = y * 1.0 - y, x * 1.0 - x
    return (1, y + of_y, x + of_x, of_y, of_x, of_y + of_x)


class _Pairs(TwoColumns):
    """An aggregation of pairs (y, x) of numbers."""

    accepts = ("number",)
    commutative = True
    invertible = True
    #: lift for numbers that kernels take as they are
    of_numbers: ClassVar[Callable[..., Any]]

    def __init__(self, y: str | None = None, x: str | None = None, *, where: str | None = None) -> None:
        name, lifted = self.name, type(self).of_numbers
        self.lift = lambda y, x: lifted(as_float(y, name), as_float(x, name))
        super().__init__(y, x)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=type(self).of_numbers) if numeric(columns) else None


class RegrCount(_Pairs):
    """The number of pairs.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_count())
    >>> for pair in ((1, 2), (2, None), (3, 6)): s.insert(pair)
    >>> s.query()
    2
    """

    name = "regr_count"
    spark_call = "regr_count({0}, {1})"
    kind = "distributive"
    identity = 0
    empty = 0
    exactly_invertible = True
    of_numbers = staticmethod(_lift_count)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return total - oldest


class RegrAvgx(_Pairs):
    """The mean of x.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_avgx())
    >>> for pair in ((1, 2), (2, 3), (3, 7)): s.insert(pair)
    >>> s.query()
    4.0
    """

    name = "regr_avgx"
    identity = (0, 0.0)
    of_numbers = staticmethod(_lift_x)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return (total[0] - oldest[0], total[1] - oldest[1])

    @staticmethod
    def lower(s: Any) -> Any:
        return s[1] / s[0]


class RegrAvgy(RegrAvgx):
    """The mean of y.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_avgy())
    >>> for pair in ((1, 2), (2, 3), (3, 7)): s.insert(pair)
    >>> s.query()
    2.0
    """

    name = "regr_avgy"
    of_numbers = staticmethod(_lift_y)


class RegrSxx(_Pairs):
    """The sum of squares of the deviations of x from its mean.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_sxx())
    >>> for pair in ((1, 2), (2, 3), (3, 7)): s.insert(pair)
    >>> s.query()
    14.0
    """

    name = "regr_sxx"
    spark_call = "regr_sxx({0}, {1})"
    identity = (0, 0.0, 0.0)
    of_numbers = staticmethod(_lift_squares_of_x)
    combine = staticmethod(VarPop.combine)
    inverse = staticmethod(VarPop.inverse)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[2]


class RegrSyy(RegrSxx):
    """The sum of squares of the deviations of y from its mean.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_syy())
    >>> for pair in ((1, 2), (2, 3), (3, 7)): s.insert(pair)
    >>> s.query()
    2.0
    """

    name = "regr_syy"
    spark_call = "regr_syy({0}, {1})"
    of_numbers = staticmethod(_lift_squares_of_y)


class RegrSxy(_Pairs):
    """The sum of products of the deviations of x and of y from their means.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_sxy())
    >>> for pair in ((1, 2), (2, 3), (3, 7)): s.insert(pair)
    >>> s.query()
    5.0
    """

    name = "regr_sxy"
    spark_call = "regr_sxy({0}, {1})"
    identity = (0, 0.0, 0.0, 0.0)
    of_numbers = staticmethod(_lift_products)
    combine = staticmethod(CovarSamp.combine)
    inverse = staticmethod(CovarSamp.inverse)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[3]


class CovarPop(RegrSxy):
    """The population covariance of two columns.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.covar_pop())
    >>> for row in ((1, 2), (2, 4), (3, 6)): s.insert(row)
    >>> round(s.query(), 12)
    1.333333333333
    """

    name = "covar_pop"
    spark_call = "covar_pop({0}, {1})"

    def __init__(self, column1: str | None = None, column2: str | None = None, *, where: str | None = None) -> None:
        super().__init__(column1, column2)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[3] / s[0]


class RegrSlope(_Pairs):
    """The slope of the line; null where x does not vary. Partials are (n, means of y and x, Syy, Sxx, Sxy).

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_slope())
    >>> for pair in ((1, 0), (3, 1), (5, 2)): s.insert(pair)
    >>> s.query()
    2.0
    """

    name = "regr_slope"
    spark_call = "regr_slope({0}, {1})"
    identity = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    of_numbers = staticmethod(_lift_line)
    combine = staticmethod(Corr.combine)
    inverse = staticmethod(Corr.inverse)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[5] / s[4]

    @staticmethod
    def defined(s: Any) -> bool:
        return s[4] != 0.0


class RegrIntercept(RegrSlope):
    """Where the line is at x = 0; null where x does not vary.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_intercept())
    >>> for pair in ((1, 0), (3, 1), (5, 2)): s.insert(pair)
    >>> s.query()
    1.0
    """

    name = "regr_intercept"
    spark_call = "regr_intercept({0}, {1})"

    @staticmethod
    def lower(s: Any) -> Any:
        return s[1] - s[5] / s[4] * s[2]


class RegrR2(RegrSlope):
    """The share of y's variance that the line explains; 1 where y does not vary, null where x does not.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.regr_r2())
    >>> for pair in ((1, 0), (3, 1), (5, 2)): s.insert(pair)
    >>> s.query()
    1.0
    """

    name = "regr_r2"
    spark_call = "regr_r2({0}, {1})"

    @staticmethod
    def lower(s: Any) -> Any:
        if s[3] == 0.0:
            return 1.0
        share = s[5] / s[4] * (s[5] / s[3])
        return 1.0 if share > 1.0 else share  # rounding must not leave [0, 1]
