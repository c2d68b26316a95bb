"""Covariance and correlation of two columns, by merging central co-moments; see moments for why."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import TwoColumns
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import as_float, numeric

if TYPE_CHECKING:
    import numpy as np


def _lift_pair(x: Any, y: Any) -> Any:
    none = (x * 1.0 - x) + (y * 1.0 - y)  # zero, or NaN where one of them is not finite
    return (1, x + none, y + none, none)


def _lift_pair_with_squares(x: Any, y: Any) -> Any:
    # Each column on its own: one that does not vary gives null, whatever the other has.
    of_x, of_y = x * 1.0 - x, y * 1.0 - y
    return (1, x + of_x, y + of_y, of_x, of_y, of_x + of_y)


class CovarSamp(TwoColumns):
    """The sample covariance of two columns; null for one row.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.covar_samp())
    >>> for row in ((1, 2), (2, 4), (3, 6)): s.insert(row)
    >>> s.query()
    2.0
    """

    name = "covar_samp"
    spark_call = "covar_samp({0}, {1})"
    accepts = ("number",)
    identity = (0, 0.0, 0.0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any, y: Any) -> Any:
        return _lift_pair(as_float(x, "covar_samp"), as_float(y, "covar_samp"))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        if n == 0:
            return a
        dx, dy = b[1] - a[1], b[2] - a[2]
        w = b[0] / n
        return (n, a[1] + dx * w, a[2] + dy * w, a[3] + b[3] + dx * a[0] * (dy * w))

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        n = total[0] - oldest[0]
        if n <= 0:
            return (0, 0.0, 0.0, 0.0)
        back = oldest[0] / n
        x = total[1] + (total[1] - oldest[1]) * back
        y = total[2] + (total[2] - oldest[2]) * back
        dx, dy = x - oldest[1], y - oldest[2]
        return (n, x, y, total[3] - oldest[3] - dx * oldest[0] * (dy * (n / total[0])))

    @staticmethod
    def lower(s: Any) -> Any:
        return s[3] / (s[0] - 1)

    @staticmethod
    def defined(s: Any) -> bool:
        return s[0] > 1

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_pair) if numeric(columns) else None


class Corr(TwoColumns):
    """Pearson's correlation of two columns; null where one of them does not vary.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.corr())
    >>> for row in ((1, 6), (2, 4), (3, 2)): s.insert(row)
    >>> round(s.query(), 12)
    -1.0
    """

    name = "corr"
    spark_call = "corr({0}, {1})"
    accepts = ("number",)
    identity = (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    commutative = True
    invertible = True

    @staticmethod
    def lift(x: Any, y: Any) -> Any:
        return _lift_pair_with_squares(as_float(x, "corr"), as_float(y, "corr"))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a[0] + b[0]
        if n == 0:
            return a
        dx, dy = b[1] - a[1], b[2] - a[2]
        w = b[0] / n
        return (
            n,
            a[1] + dx * w,
            a[2] + dy * w,
            a[3] + b[3] + dx * a[0] * (dx * w),
            a[4] + b[4] + dy * a[0] * (dy * w),
            a[5] + b[5] + dx * a[0] * (dy * w),
        )

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        n = total[0] - oldest[0]
        if n <= 0:
            return (0, 0.0, 0.0, 0.0, 0.0, 0.0)
        back, share = oldest[0] / n, n / total[0]
        x = total[1] + (total[1] - oldest[1]) * back
        y = total[2] + (total[2] - oldest[2]) * back
        dx, dy = x - oldest[1], y - oldest[2]
        xx = total[3] - oldest[3] - dx * oldest[0] * (dx * share)
        yy = total[4] - oldest[4] - dy * oldest[0] * (dy * share)
        xy = total[5] - oldest[5] - dx * oldest[0] * (dy * share)
        return (n, x, y, 0.0 if xx < 0.0 else xx, 0.0 if yy < 0.0 else yy, xy)

    @staticmethod
    def lower(s: Any) -> Any:
        r = s[5] / math.sqrt(s[3]) / math.sqrt(s[4])
        return 1.0 if r > 1.0 else -1.0 if r < -1.0 else r  # rounding must not leave [-1, 1]

    @staticmethod
    def defined(s: Any) -> bool:
        return s[0] > 1 and s[3] != 0.0 and s[4] != 0.0

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_pair_with_squares) if numeric(columns) else None
