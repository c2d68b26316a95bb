"""Variance and its relatives, by merging central moments.

Partials are (n, mean, M2, ...), where Mk is the sum of (x - mean)^k. Sums of squares would cancel
catastrophically where the mean is large beside the deviation. An infinity has no variance: its partial is NaN
throughout (x - x is zero or NaN), which spreads by itself, and leaves with its row, since nothing is
subtracted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import OneColumn
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import as_float, numeric

if TYPE_CHECKING:
    import numpy as np


def _lift_two(x: Any) -> Any:
    none = x * 1.0 - x
    return (1, x + none, none)


def _lift_three(x: Any) -> Any:
    none = x * 1.0 - x
    return (1, x + none, none, none)


def _lift_four(x: Any) -> Any:
    none = x * 1.0 - x
    return (1, x + none, none, none, none)


# ---- frames of a known number of rows: sums of deviations from an anchor, and of their squares
#: M2 is the difference of two sums. While it is at least this share of the larger, it is good to 1e-12; the anchor is a
#: row of the frame, so that the share is never below 1 / count, and only an outlier as the anchor makes it that small.
LEAST_SHARE = 1e-4


def _lift_about(x: Any, anchor: Any) -> Any:
    d = x * 1.0 - anchor * 1.0
    return (d, d * d)


def _add_deviations(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1])


def _moment_about(s: Any, share: Any) -> Any:
    """M2, or NaN where it cannot be told, of infinite squares too: the frame is then computed by merging."""
    m2 = s[1] - s[0] * s[0] * share
    return m2 if m2 - s[1] * LEAST_SHARE >= 0.0 else math.nan


def _squares_about(s: Any, count: Any, share: Any) -> Any:
    return _moment_about(s, share)


def _var_pop_about(s: Any, count: Any, share: Any) -> Any:
    return _moment_about(s, share) * share


def _stddev_pop_about(s: Any, count: Any, share: Any) -> Any:
    return math.sqrt(_moment_about(s, share) * share)


def _var_samp_about(s: Any, count: Any, share: Any) -> Any:
    return _moment_about(s, share) * (1.0 / (count - 1.0))


def _stddev_about(s: Any, count: Any, share: Any) -> Any:
    return math.sqrt(_moment_about(s, share) * (1.0 / (count - 1.0)))


def _has_one(count: Any) -> bool:
    return count > 0


def _has_two(count: Any) -> bool:
    return count > 1


class VarPop(OneColumn):
    """The population variance.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.var_pop())
    >>> for x in (2, 4, 4, 4, 5, 5, 7, 9): s.insert(x)
    >>> s.query()
    4.0
    """

    name = "var_pop"
    compiled_alike = True
    from_squares = (0, False)
    spark_call = "var_pop({0})"
    accepts = ("number",)
    identity = (0, 0.0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any) -> Any:
        return _lift_two(as_float(x, "variance"))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        if n == 0:
            return a
        d = b[1] - a[1]
        w = b[0] / n
        # d * a[0] comes first: d * d may overflow where a[0] is 0
        return (n, a[1] + d * w, a[2] + b[2] + d * a[0] * (d * w))

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        n = total[0] - oldest[0]
        if n <= 0:
            return (0, 0.0, 0.0)
        mean = total[1] + (total[1] - oldest[1]) * (oldest[0] / n)
        d = mean - oldest[1]
        m2 = total[2] - oldest[2] - d * oldest[0] * (d * (n / total[0]))
        return (n, mean, 0.0 if m2 < 0.0 else m2)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[2] / s[0]

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        if not numeric(columns):
            return None
        lower, defined = _COUNTED[self.name]
        about = {"identity": (0.0, 0.0), "lift": _lift_about, "combine": _add_deviations, "by_lanes": True}
        return self.variant(lift=_lift_two, counted=self.variant(**about, lower=lower, defined=defined))


class StddevPop(VarPop):
    """The population standard deviation.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.stddev_pop())
    >>> for x in (2, 4, 4, 4, 5, 5, 7, 9): s.insert(x)
    >>> s.query()
    2.0
    """

    name = "stddev_pop"
    compiled_alike = True
    from_squares = (0, True)
    spark_call = "stddev_pop({0})"

    @staticmethod
    def lower(s: Any) -> Any:
        return math.sqrt(s[2] / s[0])


class VarSamp(VarPop):
    """The sample variance; null for one value.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.var_samp())
    >>> for x in (1, 2, 3): s.insert(x)
    >>> s.query()
    1.0
    """

    name = "var_samp"
    compiled_alike = True
    from_squares = (1, False)
    spark_call = "var_samp({0})"

    @staticmethod
    def lower(s: Any) -> Any:
        return s[2] / (s[0] - 1)

    @staticmethod
    def defined(s: Any) -> bool:
        return s[0] > 1


class Stddev(VarSamp):
    """The sample standard deviation, also called `std`; null for one value.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.stddev())
    >>> for x in (1, 2, 3): s.insert(x)
    >>> s.query()
    1.0
    """

    name = "stddev"
    compiled_alike = True
    from_squares = (1, True)
    spark_call = "stddev_samp({0})"

    @staticmethod
    def lower(s: Any) -> Any:
        return math.sqrt(s[2] / (s[0] - 1))


class SquaredDeviations(VarPop):
    """The sum of (x - mean)^2, from which all variances of a frame follow: what several of them share over columns."""

    name = "squared_deviations"

    @staticmethod
    def lower(s: Any) -> Any:
        return s[2]


for _variance in (VarPop, StddevPop, VarSamp, Stddev):
    _variance.derived_from = SquaredDeviations

_COUNTED = {
    "squared_deviations": (_squares_about, _has_one),
    "var_pop": (_var_pop_about, _has_one),
    "stddev_pop": (_stddev_pop_about, _has_one),
    "var_samp": (_var_samp_about, _has_two),
    "stddev": (_stddev_about, _has_two),
}


class Skewness(OneColumn):
    """The population skewness; null where the variance is zero.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.skewness())
    >>> for x in (1, 2, 6): s.insert(x)
    >>> round(s.query(), 4)
    0.5952
    """

    name = "skewness"
    spark_call = "skewness({0})"
    accepts = ("number",)
    identity = (0, 0.0, 0.0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any) -> Any:
        return _lift_three(as_float(x, "skewness"))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        if a[0] == 0:
            return b
        if b[0] == 0:
            return a
        d = b[1] - a[1]
        u, w = a[0] / n, b[0] / n
        return (
            n,
            a[1] + d * w,
            a[2] + b[2] + d * a[0] * (d * w),
            a[3] + b[3] + d * (d * a[0] * (d * w) * (u - w) + 3.0 * (u * b[2] - w * a[2])),
        )

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        n = total[0] - oldest[0]
        if n <= 0:
            return (0, 0.0, 0.0, 0.0)
        mean = total[1] + (total[1] - oldest[1]) * (oldest[0] / n)
        d = mean - oldest[1]
        u, w = oldest[0] / total[0], n / total[0]
        between = d * oldest[0] * (d * w)
        m2 = total[2] - oldest[2] - between
        m2 = 0.0 if m2 < 0.0 else m2
        m3 = total[3] - oldest[3] - d * (between * (u - w) + 3.0 * (u * m2 - w * oldest[2]))
        return (n, mean, m2, m3)

    @staticmethod
    def lower(s: Any) -> Any:
        # Divided in steps: m2 ** 1.5 underflows to zero for tiny deviations
        return math.sqrt(s[0]) * (s[3] / s[2]) / math.sqrt(s[2])

    @staticmethod
    def defined(s: Any) -> bool:
        return s[2] != 0.0

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_three) if numeric(columns) else None


class Kurtosis(OneColumn):
    """The excess kurtosis of the population (0 for a normal distribution); null where the variance is zero.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.kurtosis())
    >>> for x in (1, 2, 3, 10): s.insert(x)
    >>> round(s.query(), 4)
    -0.7696
    """

    name = "kurtosis"
    spark_call = "kurtosis({0})"
    accepts = ("number",)
    identity = (0, 0.0, 0.0, 0.0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any) -> Any:
        return _lift_four(as_float(x, "kurtosis"))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        if a[0] == 0:
            return b
        if b[0] == 0:
            return a
        d = b[1] - a[1]
        u, w = a[0] / n, b[0] / n
        between = d * a[0] * (d * w)
        return (
            n,
            a[1] + d * w,
            a[2] + b[2] + between,
            a[3] + b[3] + d * (between * (u - w) + 3.0 * (u * b[2] - w * a[2])),
            a[4]
            + b[4]
            + d
            * (
                d * (between * (u * u - u * w + w * w) + 6.0 * (u * u * b[2] + w * w * a[2]))
                + 4.0 * (u * b[3] - w * a[3])
            ),
        )

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        n = total[0] - oldest[0]
        if n <= 0:
            return (0, 0.0, 0.0, 0.0, 0.0)
        mean = total[1] + (total[1] - oldest[1]) * (oldest[0] / n)
        d = mean - oldest[1]
        u, w = oldest[0] / total[0], n / total[0]
        between = d * oldest[0] * (d * w)
        m2 = total[2] - oldest[2] - between
        m2 = 0.0 if m2 < 0.0 else m2
        m3 = total[3] - oldest[3] - d * (between * (u - w) + 3.0 * (u * m2 - w * oldest[2]))
        m4 = (
            total[4]
            - oldest[4]
            - d
            * (
                d * (between * (u * u - u * w + w * w) + 6.0 * (u * u * m2 + w * w * oldest[2]))
                + 4.0 * (u * m3 - w * oldest[3])
            )
        )
        return (n, mean, m2, m3, 0.0 if m4 < 0.0 else m4)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[0] * (s[4] / s[2]) / s[2] - 3.0

    @staticmethod
    def defined(s: Any) -> bool:
        return s[2] != 0.0

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_four) if numeric(columns) else None
