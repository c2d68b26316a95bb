"""Aggregations of a user's own, as tests of several directories need them."""

import math
from typing import Any

import slidewise as sw

# What aggregations cannot be built without, by name.
REQUIRED: dict[str, dict[str, Any]] = {
    **{key: {"fraction": 0.25} for key in ("percentile", "quantile", "percentile_disc", "approx_percentile")},
    **{key: {"n": 2} for key in ("nth_value", "nth_smallest")},
    "ewm_avg": {"half_life": 2},
}


def build(name: str, *columns: str, **options: Any) -> sw.Aggregation:
    """Build the aggregation of that name; what it requires is filled in."""
    return getattr(sw, name)(*columns, **(REQUIRED.get(name, {}) | options))


class Concat(sw.Aggregation):
    """Not commutative, and without an identity: finds operands in the wrong order."""

    @staticmethod
    def combine(a, b):
        return a + b


class Listed(sw.Aggregation):
    """The values of the frame, in order: shows exactly which rows are in it. Not commutative."""

    identity = ()
    size_preserving = False
    empty = ()

    @staticmethod
    def lift(v):
        return (v,)

    @staticmethod
    def combine(a, b):
        return a + b


class Total(sw.Aggregation):
    """The simplest one that is compiled."""

    identity = 0

    @staticmethod
    def combine(a, b):
        return a + b


class Highest(sw.Aggregation):
    """NaN is greater than every number."""

    identity = -math.inf
    selective = True

    @staticmethod
    def combine(a, b):
        return b if b > a or b != b else a


class Deviation(sw.Aggregation):
    """(n, mean, M2): a partial of several fields, and a result that needs two values."""

    identity = (0, 0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(x):
        return (1, float(x), 0.0)

    @staticmethod
    def combine(a, b):
        n = a[0] + b[0]
        if n == 0:
            return a
        d = b[1] - a[1]
        w = b[0] / n
        return (n, a[1] + d * w, a[2] + b[2] + d * d * a[0] * w)

    @staticmethod
    def lower(s):
        return math.sqrt(s[2] / (s[0] - 1))

    @staticmethod
    def defined(s):
        return s[0] > 1


class Ends(sw.Aggregation):
    """Oldest and youngest value, number of values and of descents: finds operands in the wrong order."""

    identity = (0, 0, 0, -1)  # the last field is -1 for nothing

    @staticmethod
    def lift(x):
        return (x, x, 1, 0)

    @staticmethod
    def combine(a, b):
        if a[3] < 0:
            return b
        if b[3] < 0:
            return a
        return (a[0], b[1], a[2] + b[2], a[3] + b[3] + (1 if a[1] > b[0] else 0))

    @staticmethod
    def lower(s):
        return s[0] * 1_000_003 + s[1] * 10_007 + s[2] * 101 + s[3]


class Vwap(sw.Aggregation):
    """The mean price, weighted with the size: an aggregation of two columns."""

    identity = (0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(price, size):
        return (price * size, size * 1.0)

    @staticmethod
    def combine(a, b):
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def lower(s):
        return s[0] / s[1]

    @staticmethod
    def defined(s):
        return s[1] != 0.0
