"""An aggregation of the plant's own. The pipeline names it: `use: "climb:Climb"`."""

import math

import slidewise as sw

Partial = tuple[float, float, float]


class Climb(sw.Aggregation):
    """How far a value has climbed at most: from one row to another after it.

    A partial is the lowest and the highest value of some rows, and the climb within them. It is not commutative: what
    comes first matters.
    """

    identity = (math.inf, -math.inf, 0.0)

    @staticmethod
    def lift(value: float) -> Partial:
        """Make a partial of one row."""
        return value, value, 0.0

    @staticmethod
    def combine(a: Partial, b: Partial) -> Partial:
        """Make one partial of two, of which b is the later: a climb is within one, or from one into the other."""
        return min(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2], b[1] - a[0])

    @staticmethod
    def lower(partial: Partial) -> float:
        """Make the result."""
        return partial[2]
