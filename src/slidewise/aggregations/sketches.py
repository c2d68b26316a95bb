"""Sketches of Apache DataSketches: HyperLogLog, count-min and KLL.

The library's merges change their target, so that combine merges into a copy: partials are never changed.
"""

from __future__ import annotations

import copy
import math
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import column_and_fraction, given, whole
from slidewise.aggregations.arguments import fraction as checked_fraction
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import NAN, as_float, sketch_key
from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np


@cache
def _library() -> ModuleType:
    try:
        return import_module("datasketches")
    except ImportError as error:
        raise ImportError("sketches need the package datasketches: pip install datasketches") from error


def _share(name: str, parameter: str, value: Any) -> float:
    """A share strictly between 0 and 1."""
    share = checked_fraction(name, value)
    if share in (0.0, 1.0):
        raise InvalidInput(f"{name}: {parameter} must be between 0 and 1, neither included, got {value!r}")
    return share


class _Sketch(Aggregation):
    commutative = True

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None


class ApproxCountDistinct(_Sketch):
    """About how many different values there are, by HyperLogLog; rsd is the relative standard deviation.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.approx_count_distinct(rsd=0.02))
    >>> for x in range(1000): s.insert(x % 300)
    >>> s.query()
    300
    """

    name = "approx_count_distinct"
    empty = 0

    def __init__(self, column: str | None = None, rsd: float = 0.05, *, where: str | None = None) -> None:
        rsd = _share("approx_count_distinct", "rsd", rsd)
        super().__init__(*given(column), rsd=rsd)
        log_k = max(4, math.ceil(2.0 * math.log2(1.04 / rsd)))
        if log_k > 21:
            raise InvalidInput(
                f"approx_count_distinct: rsd must be at least 0.00072, got {rsd}. "
                "Use count_distinct, which counts exactly"
            )
        self.size_limit = 2**log_k + 64

        def lift(x: Any) -> Any:
            sketches = _library()
            sketch = sketches.hll_sketch(log_k, sketches.HLL_8)
            sketch.update(sketch_key(x))
            return sketch

        def combine(a: Any, b: Any) -> Any:
            sketches = _library()
            union = sketches.hll_union(log_k)
            union.update(a)
            union.update(b)
            return union.get_result(sketches.HLL_8)

        def lower(s: Any) -> int:
            # The estimate of a sketch depends on how it was merged, that of a union of two does not: with
            # itself, then.
            union = _library().hll_union(log_k)
            union.update(s)
            union.update(s)
            return round(union.get_estimate())

        self.lift, self.combine, self.lower = lift, combine, lower

    @staticmethod
    def dump(s: Any) -> Any:
        return s.serialize_compact()

    @staticmethod
    def load(data: Any) -> Any:
        return _library().hll_sketch.deserialize(data)


class CountMinSketch(_Sketch):
    """About how often each value occurs: `query(x)` counts x, at most eps * n too high at the confidence.

    Without x, the number of rows.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.count_min_sketch(eps=0.01))
    >>> for word in ("to", "be", "or", "not", "to", "be"): s.insert(word)
    >>> s.query("to"), s.query()
    (2, 6)
    """

    name = "count_min_sketch"
    unary_lower = False

    def __init__(
        self,
        column: str | None = None,
        eps: float = 0.01,
        confidence: float = 0.95,
        seed: int = 9001,
        *,
        where: str | None = None,
    ) -> None:
        eps = _share("count_min_sketch", "eps", eps)
        confidence = _share("count_min_sketch", "confidence", confidence)
        seed = whole("count_min_sketch", "seed", seed, least=0)
        super().__init__(*given(column), eps=eps, confidence=confidence, seed=seed)
        rows, buckets = math.ceil(-math.log(1.0 - confidence)), math.ceil(math.e / eps)

        def lift(x: Any) -> Any:
            sketch = _library().count_min_sketch(rows, buckets, seed)
            sketch.update(sketch_key(x))
            return sketch

        self.lift = lift

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        merged = copy.copy(a)
        merged.merge(b)
        return merged

    @staticmethod
    def lower(s: Any, *x: Any) -> Any:
        return round(s.get_estimate(sketch_key(x[0])) if x else s.total_weight)

    @staticmethod
    def dump(s: Any) -> Any:
        return s.serialize()

    @staticmethod
    def load(data: Any) -> Any:
        return _library().count_min_sketch.deserialize(data)


class ApproxPercentile(_Sketch):
    """A value whose rank is within 1/accuracy of the fraction, by a KLL sketch. `query(q)`: another fraction.

    The default accuracy is Spark's; a smaller one makes smaller and faster sketches. A partial is the sketch
    and the number of NaNs, which are above every number and which the sketch would drop.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.approx_percentile(0.5, accuracy=100))
    >>> for x in range(101): s.insert(x)
    >>> s.query(), s.query(1.0)
    (50.0, 100.0)
    """

    name = "approx_percentile"
    accepts = ("number",)
    unary_lower = False

    def __init__(
        self,
        column: str | float | None = None,
        fraction: float | None = None,
        accuracy: int = 10000,
        *,
        where: str | None = None,
    ) -> None:
        column, q = column_and_fraction("approx_percentile", column, fraction)
        accuracy = whole("approx_percentile", "accuracy", accuracy, most=20000)
        super().__init__(*given(column), fraction=q, accuracy=accuracy)
        k = _sketch_size(accuracy)
        self.size_limit = 64 * k

        def lift(x: Any) -> tuple[Any, int]:
            sketch = _library().kll_doubles_sketch(k)
            value = as_float(x, "approx_percentile")
            sketch.update(value)
            return (sketch, int(value != value))

        def lower(s: tuple[Any, int], x: float | None = None) -> float:
            sketch, nans = s
            n = sketch.n + nans
            rank = max(1, math.ceil((q if x is None else checked_fraction("approx_percentile", x)) * n))
            return NAN if rank > sketch.n else float(sketch.get_quantile(rank / sketch.n, True))

        self.lift, self.lower = lift, lower

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        merged = copy.copy(a[0])
        merged.merge(b[0])
        return (merged, a[1] + b[1])

    @staticmethod
    def dump(s: Any) -> Any:
        return (s[0].serialize(), s[1])

    @staticmethod
    def load(data: Any) -> Any:
        return (_library().kll_doubles_sketch.deserialize(data[0]), data[1])


@cache
def _sketch_size(accuracy: int) -> int:
    """The smallest KLL size whose rank error is at most 1/accuracy."""
    error = _library().kll_doubles_sketch.get_normalized_rank_error
    small, large = 8, 65535
    while small < large:
        middle = (small + large) // 2
        if error(middle, False) <= 1.0 / accuracy:
            large = middle
        else:
            small = middle + 1
    return small
