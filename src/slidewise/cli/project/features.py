"""Aggregations of your own. A pipeline names one as `use: "features:Vwap"`."""

import slidewise as sw


class Vwap(sw.Aggregation):
    """The average price, weighted by size."""

    identity = (0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(price: float, size: float) -> tuple[float, float]:
        """Make a partial of one row."""
        return price * size, size

    @staticmethod
    def combine(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        """Make one partial of two."""
        return a[0] + b[0], a[1] + b[1]

    @staticmethod
    def lower(partial: tuple[float, float]) -> float:
        """Make the result."""
        return partial[0] / partial[1] if partial[1] else float("nan")
