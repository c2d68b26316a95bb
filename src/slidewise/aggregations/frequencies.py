"""How often values occur: count_distinct, mode. A partial is a table of counts; all NaNs are one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import OneColumn
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import NAN, hashable, plain

if TYPE_CHECKING:
    import numpy as np


def lowest_value(values: Any) -> Any:
    """Find the least of some different values, NaN above all others."""
    return min((v for v in values if v == v), default=NAN)


class _Counted(OneColumn):
    kind = "holistic"
    identity: Any = {}
    commutative = True
    invertible = True
    exactly_invertible = True
    size_preserving = False

    @staticmethod
    def lift(x: Any) -> Any:
        return {hashable(x): 1}

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        counts = dict(a)
        for value, n in b.items():
            counts[value] = counts.get(value, 0) + n
        return counts

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        counts = dict(total)
        for value, n in oldest.items():
            counts[value] -= n
            if counts[value] == 0:
                del counts[value]
        return counts

    @staticmethod
    def load(counts: Any) -> Any:
        return {plain(value): n for value, n in counts.items()}  # the one NaN again

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None


class CountDistinct(_Counted):
    """How many different values there are, also called `nunique`. All NaNs are one value, and -0.0 is 0.0.

    >>> import slidewise as sw
    >>> s = sw.swag("incremental_count_distinct", sw.count_distinct())
    >>> for user in ("Ann", "Bob", "Ann"): s.insert(user)
    >>> s.query()
    2
    """

    name = "count_distinct"
    empty = 0
    distinct_values = True

    @staticmethod
    def lower(s: Any) -> Any:
        return len(s)


class Mode(_Counted):
    """The most frequent value; among equally frequent ones the lowest.

    >>> import slidewise as sw
    >>> s = sw.swag("incremental_mode", sw.mode())
    >>> for x in (3, 1, 3, 1, 2): s.insert(x)
    >>> s.query()
    1
    """

    name = "mode"
    accepts = ("ordered",)
    keeps_type = True
    most_frequent = True

    @staticmethod
    def lower(s: Any) -> Any:
        most = max(s.values())
        return lowest_value(value for value, n in s.items() if n == most)
