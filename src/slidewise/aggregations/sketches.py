"""Sketches of Apache DataSketches: HyperLogLog, count-min and KLL.

The library's merges change their target, so that combine merges into a copy: partials are never changed.
"""

from __future__ import annotations

import copy
import math
import struct
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns, column_and_fraction, whole
from slidewise.aggregations.arguments import fraction as checked_fraction
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.questions import Questions, require_value
from slidewise.aggregations.values import NAN, as_float, sketch_key
from slidewise.errors import InvalidInput, StateError

if TYPE_CHECKING:
    import numpy as np


@cache
def _library() -> ModuleType:
    try:
        return import_module("datasketches")
    except ImportError as error:
        raise ImportError("sketches need the package datasketches: pip install datasketches") from error


def _share(name: str, parameter: str, value: Any) -> float:
    """Check a share strictly between 0 and 1."""
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
    merges_as = "bytes"
    empty = 0

    def __init__(self, column: str | None = None, rsd: float = 0.05, *, where: str | None = None) -> None:
        rsd = _share("approx_count_distinct", "rsd", rsd)
        super().__init__(*collect_columns(column), rsd=rsd)
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

        def load(data: bytes) -> Any:
            _require_hyperloglog(data, log_k)
            sketch = _library().hll_sketch.deserialize(data)
            lower(sketch)  # what it cannot count is refused now
            return sketch

        self.load = load

    @staticmethod
    def dump(s: Any) -> Any:
        return s.serialize_compact()


class CountMinSketch(_Sketch):
    """About how often each value occurs: `query(x)` counts x, at most eps * n too high at the confidence.

    Without x, the number of rows; `counts_of=` asks about some values in every frame instead, one (the result is a
    number), several, or several by names of your own.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.count_min_sketch(eps=0.01))
    >>> for word in ("to", "be", "or", "not", "to", "be"): s.insert(word)
    >>> s.query("to"), s.query()
    (2, 6)
    >>> sw.rolling(["to", "be", "to"], sw.count_min_sketch(counts_of=["to", "not"]), sw.rows(3))[-1]
    {'to': 2, 'not': 0}
    """

    name = "count_min_sketch"
    merges_as = "bytes"
    unary_lower = False

    def __init__(
        self,
        column: str | None = None,
        eps: float = 0.01,
        confidence: float = 0.95,
        seed: int = 9001,
        counts_of: Any = None,
        *,
        where: str | None = None,
    ) -> None:
        eps = _share("count_min_sketch", "eps", eps)
        confidence = _share("count_min_sketch", "confidence", confidence)
        seed = whole("count_min_sketch", "seed", seed, least=0)
        name = "count_min_sketch"
        asked = None
        if counts_of is not None:
            asked = Questions(name, "counts_of", counts_of, partial(require_value, name, "counts_of"))
        more = {"counts_of": asked.parameter} if asked else {}
        super().__init__(*collect_columns(column), eps=eps, confidence=confidence, seed=seed, **more)
        self.result_fields = asked.names if asked else ()
        rows, buckets = math.ceil(-math.log(1.0 - confidence)), math.ceil(math.e / eps)

        def lift(x: Any) -> Any:
            sketch = _library().count_min_sketch(rows, buckets, seed)
            sketch.update(sketch_key(x))
            return sketch

        def dump(s: Any) -> bytes:
            if seed != _COUNT_MIN_SEED:
                raise StateError(
                    f"cannot save a count_min_sketch of seed={seed}: DataSketches reads those of its own seed, "
                    f"{_COUNT_MIN_SEED}, only. Leave seed= out where state is to be saved"
                )
            saved: bytes = s.serialize()
            return saved

        def load(data: bytes) -> Any:
            _require_count_min(data, rows, buckets)
            return _library().count_min_sketch.deserialize(data)

        def lower(s: Any, *x: Any) -> Any:
            if x:
                return round(s.get_estimate(sketch_key(x[0])))
            if asked is None:
                return round(s.total_weight)
            return asked.answer([round(s.get_estimate(sketch_key(value))) for value in asked.values])

        self.lift, self.lower, self.dump, self.load = lift, lower, dump, load

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        merged = copy.copy(a)
        merged.merge(b)
        return merged


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
    merges_as = "bytes"
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
        super().__init__(*collect_columns(column), fraction=q, accuracy=accuracy)
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

        def load(data: tuple[bytes, int]) -> tuple[Any, int]:
            saved, nans = data
            if type(nans) is not int or not 0 <= nans < 1 << 63:
                raise damaged_sketch("a KLL sketch")
            _require_kll(saved, k)
            return (_library().kll_doubles_sketch.deserialize(saved), nans)

        self.lift, self.lower, self.load = lift, lower, load

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        merged = copy.copy(a[0])
        merged.merge(b[0])
        return (merged, a[1] + b[1])

    @staticmethod
    def dump(s: Any) -> Any:
        return (s[0].serialize(), s[1])


@cache
def _sketch_size(accuracy: int) -> int:
    """Find the smallest KLL size whose rank error is at most 1/accuracy."""
    error = _library().kll_doubles_sketch.get_normalized_rank_error
    small, large = 8, 65535
    while small < large:
        middle = (small + large) // 2
        if error(middle, False) <= 1.0 / accuracy:
            large = middle
        else:
            small = middle + 1
    return small


# ---- what is handed to the library: it trusts the lengths in its bytes, and reads and writes beyond them
#: the seed with which the library reads count-min sketches
_COUNT_MIN_SEED = 9001
#: kinds of sketches in the library's bytes
_HYPERLOGLOG, _KLL, _COUNT_MIN = 7, 15, 18
#: how an HLL sketch is kept: as values in a list or in a set, or as registers of 8 bits
_LIST, _SET, _REGISTERS = 8, 9, 10


def damaged_sketch(what: str) -> StateError:
    """Make the error for bytes that are not those of a sketch of this definition."""
    return StateError(f"saved state is damaged: there are bytes that are not {what} of this size. Use another copy")


def _require_hyperloglog(data: bytes, log_k: int) -> None:
    """Refuse bytes that are no HLL sketch of 2^log_k registers of 8 bits, whole and no longer."""
    if type(data) is bytes and len(data) >= 12:
        ints, version, family, own_log_k, log_size, _, listed, kept = data[:8]
        here = (ints, version, family, own_log_k)
        if kept == _LIST and here == (2, 1, _HYPERLOGLOG, log_k):
            sound = log_size <= 3 and listed <= 8 and len(data) == 8 + 4 * listed
        elif kept == _SET and here == (3, 1, _HYPERLOGLOG, log_k):
            number = int.from_bytes(data[8:12], "little")
            # It grows when three quarters of it are in use, from 32 on.
            sound = 5 <= log_size <= log_k and 1 << log_size <= max(32, 4 * number) and len(data) == 12 + 4 * number
            sound = sound and 4 * number <= 3 << log_size
        else:
            sound = (*here, kept) == (10, 1, _HYPERLOGLOG, log_k, _REGISTERS) and len(data) == 40 + (1 << log_k)
        if sound:
            return
    raise damaged_sketch("an HLL sketch")


def _require_count_min(data: bytes, rows: int, buckets: int) -> None:
    """Refuse bytes that are no count-min sketch of so many counts, each a number."""
    if type(data) is bytes and len(data) == 24 + 8 * rows * buckets:
        counts = struct.unpack_from(f"<{rows * buckets + 1}d", data, 16)
        header = struct.unpack_from("<BBB5xIB", data)
        if header == (2, 1, _COUNT_MIN, buckets, rows) and data[3] & 1 == 0 and all(0 <= x < math.inf for x in counts):
            return
    raise damaged_sketch("a count-min sketch")


def _require_kll(data: bytes, k: int) -> None:
    """Refuse bytes that are no KLL sketch of size k of some numbers: levels within each other, and no NaN."""
    if type(data) is bytes and len(data) >= 8:
        ints, version, family, flags, own_k, m = struct.unpack_from("<BBBBHB", data)
        if (family, own_k, m) == (_KLL, k, 8):
            kind = (ints, version, flags & 5)
            empty, single = kind == (2, 1, 1) and len(data) == 8, kind == (2, 2, 4) and len(data) == 16
            if empty or (single and _are_numbers(data, 8)) or (kind == (5, 1, 0) and _has_sound_levels(data, k)):
                return
    raise damaged_sketch("a KLL sketch")


def _has_sound_levels(data: bytes, k: int) -> bool:
    if len(data) < 20:
        return False
    n, least_k, levels = struct.unpack_from("<QHB", data, 8)
    begin = 20 + 4 * levels
    if not 1 <= levels <= 61 or least_k != k or len(data) < begin + 16 or (len(data) - begin) % 8:
        return False
    starts = struct.unpack_from(f"<{levels}I", data, 20)
    # Items stand at the end of an array with room for all levels: the higher one is, the more.
    room = sum(max(8, _level_size(k, depth)) for depth in range(levels))
    sizes = [end - start for start, end in zip(starts, (*starts[1:], room), strict=True)]
    return (
        min(sizes) >= 0
        and len(data) == begin + 16 + 8 * (room - starts[0])
        and n == sum(size << level for level, size in enumerate(sizes))
        and _are_numbers(data, begin)
    )


def _level_size(k: int, depth: int) -> int:
    """Compute the room of a level so many below the highest, each two thirds of the one above."""
    if depth > 30:
        return _level_size(_level_size(k, depth // 2), depth - depth // 2)
    return (((2 * k) << depth) // 3**depth + 1) >> 1


def _are_numbers(data: bytes, begin: int) -> bool:
    values = struct.unpack_from(f"<{(len(data) - begin) // 8}d", data, begin)
    return not any(map(math.isnan, values))
