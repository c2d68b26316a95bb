"""Aggregations of the different values of a frame, SQL's sum(DISTINCT x): sum_distinct, avg_distinct.

A partial is the values themselves, each once, in the order of their first rows. Values are told apart as count_distinct
does: all NaNs are one value, and -0.0 is 0.0. Over columns no such partials are made: see flat_fat.run_distinct.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import OneColumn
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.sums import Avg, Sum
from slidewise.aggregations.values import number, plain

if TYPE_CHECKING:
    import numpy as np


@contextmanager
def by_name(name: str, of: Aggregation) -> Iterator[None]:
    """Errors of the aggregation that the different values go through, under the name that the user wrote."""
    try:
        yield
    except OverflowError as error:
        raise OverflowError(f"{name}{str(error).removeprefix(of.name)}") from None


class OfDistinct(OneColumn):
    """The base: `of` is the aggregation that the different values go through."""

    accepts = ("amount",)
    kind = "holistic"
    identity = ()
    size_preserving = False
    of_distinct_values = True
    of: Aggregation

    def __init__(self, column: str | None = None, *, where: str | None = None) -> None:
        name, of = self.name, self.of
        self.lift = lambda x: (plain(number(x, name)),)

        def lower(s: tuple[Any, ...]) -> Any:
            with by_name(name, of):
                return of.lower(reduce(of.combine, map(of.lift, s)))

        self.lower = lower
        super().__init__(column)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return tuple(dict.fromkeys(a + b))

    @staticmethod
    def load(values: Any) -> Any:
        return tuple(map(plain, values))  # the one NaN again

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None  # partials of changing length


class SumDistinct(OfDistinct):
    """The sum of the different values. Integers are summed exactly, as by sum.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.sum_distinct())
    >>> for x in (3, 1, 3): s.insert(x)
    >>> s.query()
    4
    """

    name = "sum_distinct"
    exact_in_units = True
    of = Sum()


class AvgDistinct(OfDistinct):
    """The mean of the different values.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.avg_distinct())
    >>> for x in (3, 1, 3): s.insert(x)
    >>> s.query()
    2.0
    """

    name = "avg_distinct"
    exact_in_units = True
    of = Avg()
