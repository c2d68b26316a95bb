"""Values as 64-bit integers in the same order, and back.

Every kernel here works on keys, so that it is compiled once and not per type. An integer is its own key.
The bits of a float are turned so that they ascend below zero too; all NaNs have one key, above infinity,
and -0.0 has that of 0.0.

Values come and results go as words: int64 arrays that hold integers, or the bits of floats. Keys are made
chunk by chunk: whole columns of them, and of what is found, cost more for their memory than for the work
(about 20 ns a row, on a busy machine).
"""

import numpy as np
from numba import float64, uint64

from slidewise.columns.holistic.bits import as_float, as_word
from slidewise.columns.holistic.compiling import leaf

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_INFINITY = np.int64(0x7FF0000000000000)
_NAN = np.int64(0x7FF8000000000000)


@leaf
def turn_bits(bits):
    """Turn a float's bits into their key, and a key into its bits: the same step leads there and back."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


@leaf
def keys_of(words, first, n, floats, keys):
    """Fill in the keys of n words from `first` on, which are floats or integers. O(n)."""
    for i in range(n):
        bits = words[uint64(first + i)]
        if floats:
            size = bits & _ALL_BUT_SIGN
            bits = 0 if size == 0 else bits
            bits = _NAN if size > _INFINITY else turn_bits(bits)
        keys[i] = bits


@leaf
def words_of(keys, n, floats, out, first):
    """Write the words of n keys from out[first] on. O(n)."""
    for i in range(n):
        key = keys[i]
        out[uint64(first + i)] = turn_bits(key) if floats else key


@leaf
def between(low, high, share, n, floats, out, first):
    """Write the words of floats that lie share[i] of the way from key low[i] to key high[i], from out[first] on.
    Two equal neighbours, infinite ones too, give just that value."""
    for i in range(n):
        a, b = low[i], high[i]
        x = as_float(turn_bits(a)) if floats else float64(a)
        if share[i] > 0.0 and a != b:
            y = as_float(turn_bits(b)) if floats else float64(b)
            x = x * (1.0 - share[i]) + y * share[i]
        out[uint64(first + i)] = as_word(x)


@leaf
def put_results(low, high, share, n, floats, interpolated, out, first):
    """Write the results of n rows of a chunk from out[first] on, by the keys found for them."""
    if interpolated:
        between(low, high, share, n, floats, out, first)
    else:
        words_of(low, n, floats, out, first)
