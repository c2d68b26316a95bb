"""Values as 64-bit integers in the same order, and back.

Every kernel here works on keys, so that it is compiled once and not per type. An integer is its own key.
The bits of a float are turned so that they ascend below zero too; all NaNs have one key, above infinity,
and -0.0 has that of 0.0.
"""

import numpy as np

from slidewise.columns.holistic.compiling import helper, kernel

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_NAN = np.int64(0x7FF8000000000000)


@helper
def turned(bits):
    """The key of a float's bits, and the bits of a key: the same step leads there and back."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


@kernel
def keys_of_floats(values, keys):
    """O(n)."""
    bits = values.view(np.int64)
    for i in range(values.size):
        b = bits[i]
        b = 0 if (b << 1) == 0 else b
        keys[i] = _NAN if values[i] != values[i] else turned(b)


@kernel
def floats_of_keys(keys, values):
    """O(n)."""
    bits = values.view(np.int64)
    for i in range(keys.size):
        bits[i] = turned(keys[i])


@kernel
def interpolate(low, high, share, out):
    """out[i] lies share[i] of the way from low[i] to high[i]; of two equal neighbours it is just that value."""
    for i in range(low.size):
        s = share[i]
        a = low[i]
        out[i] = a
        if s > 0.0:
            b = high[i]
            if a != b:
                out[i] = a * (1.0 - s) + b * s
