"""A Bloom filter: which values may have occurred, in a fixed number of bits.

Interpreted, a partial is one Python integer. Compiled, it is a flat tuple of 64-bit words, and since kernels
cannot index a tuple by a variable, its functions are written out word by word. Both set the same bits for the
same number.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns, whole
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.questions import Questions, require_value
from slidewise.aggregations.values import numeric, plain, stable_hash

if TYPE_CHECKING:
    import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
#: longer tuples take numba seconds to compile
MOST_WORDS = 64


def mix(x: int) -> int:
    """splitmix64's finaliser: every bit of x changes about half the bits of the result."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def hash_value(x: Any) -> int:
    """64 bits for x: equal numbers give equal bits, whatever their type."""
    x = plain(x)
    if isinstance(x, float):
        if x != x:
            return mix(1)
        if not math.isfinite(x) or not x.is_integer() or not -(2.0**63) <= x < 2.0**63:
            # Mantissa and exponent apart, which both forms can compute exactly
            mantissa, exponent = math.frexp(x) if math.isfinite(x) else (0.5 if x > 0 else -0.5, 4096)
            return mix(mix(int(mantissa * 2.0**53) & MASK) ^ (exponent & MASK))
        x = int(x)
    if isinstance(x, int) and -(2**63) <= x < 2**63:
        return mix((x + GOLDEN) & MASK)
    return stable_hash(x)


def bits_of(x: Any, bits: int, hashes: int) -> int:
    """Find the bits that x sets: `hashes` positions from two halves of one hash (Kirsch and Mitzenmacher)."""
    position = hash_value(x)
    step = mix(position) | 1
    pattern = 0
    for _ in range(hashes):
        pattern |= 1 << position % bits
        position = (position + step) & MASK
    return pattern


def distinct(ones: int, bits: int, hashes: int) -> float:
    """About how many different values set this many bits."""
    zeros = bits - ones if ones < bits else 0.5
    return -math.log(zeros / bits) * bits / hashes


class BloomFilter(Aggregation):
    """Which values may have occurred: `query(x)` is False only if x certainly did not.

    Without x, the estimated number of different values; `contains=` asks about some values in every frame instead,
    one (the result is a boolean), several, or several by names of your own.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bloom_filter(bits=1024, hashes=4))
    >>> for user in ("Ann", "Bob"): s.insert(user)
    >>> s.query("Ann"), s.query("Cid"), round(s.query())
    (True, False, 2)
    >>> sw.rolling([3, 5, 8], sw.bloom_filter(contains=5), sw.rows(2)).tolist()
    [False, True, True]
    >>> sw.rolling([3, 5, 8], sw.bloom_filter(contains=[3, 8]), sw.rows(2))[-1]
    {'3': False, '8': True}
    """

    name = "bloom_filter"
    merges_as = "bytes"
    identity = 0
    commutative = True
    unary_lower = False

    def __init__(
        self,
        column: str | None = None,
        bits: int = 1024,
        hashes: int = 4,
        contains: Any = None,
        *,
        where: str | None = None,
    ) -> None:
        bits = whole("bloom_filter", "bits", bits, least=8)
        hashes = whole("bloom_filter", "hashes", hashes, most=64)
        asked = None
        if contains is not None:
            asked = Questions("bloom_filter", "contains", contains, partial(require_value, "bloom_filter", "contains"))
        super().__init__(
            *collect_columns(column), bits=bits, hashes=hashes, **({"contains": asked.parameter} if asked else {})
        )
        self.result_fields = asked.names if asked else ()
        #: the bits of each value that is asked about
        self.patterns = tuple(bits_of(x, bits, hashes) for x in asked.values) if asked else ()

        def lift(x: Any) -> int:
            return bits_of(x, bits, hashes)

        def lower(s: int, *x: Any) -> Any:
            if x:
                pattern = bits_of(x[0], bits, hashes)
                return s & pattern == pattern
            if asked is None:
                return distinct(s.bit_count(), bits, hashes)
            return asked.answer([s & pattern == pattern for pattern in self.patterns])

        self.lift, self.lower = lift, lower

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a | b

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        bits, hashes = self.parameters["bits"], self.parameters["hashes"]
        words = -(-bits // 64)
        if not numeric(columns) or words > MOST_WORDS:
            return None
        kind = "float" if columns[0].dtype.kind == "f" else "int"
        functions = _written_out(kind, bits, hashes, self.patterns, bool(self.result_fields))
        return self.variant(identity=(columns[0].dtype.type(0).astype("u8"),) * words, **functions)


_HASH = """
def mix(x):
    x = (x ^ (x >> u30)) * c1
    x = (x ^ (x >> u27)) * c2
    return x ^ (x >> u31)

def hash_int(x):
    return mix(uint64(int64(x)) + golden)

def hash_float(x):
    if x != x:
        return mix(one)
    if -9223372036854775808.0 <= x < 9223372036854775808.0 and floor(x) == x:
        return hash_int(x)
    if x - x != 0.0:
        mantissa, exponent = (0.5, 4096) if x > 0.0 else (-0.5, 4096)
    else:
        mantissa, exponent = frexp(x)
    return mix(mix(uint64(int64(mantissa * 9007199254740992.0))) ^ uint64(int64(exponent)))

def ones(w):
    w = w - ((w >> one) & odd)
    w = (w & pairs) + ((w >> u2) & pairs)
    return int64((((w + (w >> u4)) & nibbles) * bytes_) >> u56)
"""


@lru_cache(maxsize=32)
def _written_out(kind: str, bits: int, hashes: int, patterns: tuple[int, ...], several: bool) -> dict[str, Any]:
    """lift, combine and lower on tuples of words, for numba; the same bits as the functions above."""
    import numpy as np

    words, rounds = range(-(-bits // 64)), range(hashes)
    source = [_HASH, "def lift(x):", f"    p = hash_{kind}({'x * 1.0' if kind == 'float' else 'x'})"]
    source += ["    step = mix(p) | one"]
    for i in rounds:
        source += [f"    r = p % bits; w{i} = r >> u6; b{i} = one << (r & u63); p = p + step"]
    # Products, not conditions: 1.1 s to compile instead of 1.9 s for 64 branches
    chosen = [" | ".join(f"b{i} * uint64(w{i} == k{w})" for i in rounds) for w in words]
    source += [f"    return ({', '.join(chosen)},)"]
    source += ["def combine(a, b):", f"    return ({', '.join(f'a[{w}] | b[{w}]' for w in words)},)"]
    found = [f"distinct({' + '.join(f'ones(s[{w}])' for w in words)}, {bits}, {hashes})"]
    asked = {(k, w): pattern >> 64 * w & MASK for k, pattern in enumerate(patterns) for w in words}
    if patterns:
        found = [
            " and ".join(f"s[{w}] & q{k}_{w} == q{k}_{w}" for w in words if asked[k, w]) for k in range(len(patterns))
        ]
    source += ["def lower(s):", f"    return ({', '.join(found)}{',' * several})"]
    constants = {
        "one": 1,
        "bits": bits,
        "c1": 0xBF58476D1CE4E5B9,
        "c2": 0x94D049BB133111EB,
        "golden": GOLDEN,
        "odd": MASK // 3,
        "pairs": MASK // 5,
        "nibbles": MASK // 17,
        "bytes_": MASK // 255,
        **{f"u{n}": n for n in (2, 4, 6, 27, 30, 31, 56, 63)},
        **{f"k{w}": w for w in words},
        **{f"q{k}_{w}": word for (k, w), word in asked.items()},
    }
    names: dict[str, Any] = {name: np.uint64(value) for name, value in constants.items()}
    names |= {
        "uint64": np.uint64,
        "int64": np.int64,
        "floor": np.floor,
        "frexp": math.frexp,
        "distinct": distinct,
    }
    exec("\n".join(source), names)
    return {name: names[name] for name in ("lift", "combine", "lower")}
