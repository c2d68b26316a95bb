"""Values as 64-bit integers in the same order, and back.

Every kernel here works on keys, so that it is compiled once and not per type. An integer is its own key.
The bits of a float are turned so that they ascend below zero too; all NaNs have one key, above infinity,
and -0.0 has that of 0.0.

Values come and results go as words: int64 arrays that hold integers, or the bits of floats. Keys are made
chunk by chunk: whole columns of them, and of what is found, cost more for their memory than for the work
(about 20 ns a row, on a busy machine).
"""

import numpy as np

from slidewise.columns.holistic.compiling import helper, kernel, leaf

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_INFINITY = np.int64(0x7FF0000000000000)
_NAN = np.int64(0x7FF8000000000000)


@helper
def turn_bits(bits):
    """Turn a float's bits into their key, and a key into its bits: the same step leads there and back."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


@kernel
def keys_of(words, floats, keys):
    """Fill in the keys of words, which are floats or integers. O(n)."""
    for i in range(words.size):
        bits = words[i]
        if floats:
            size = bits & _ALL_BUT_SIGN
            bits = 0 if size == 0 else bits
            bits = _NAN if size > _INFINITY else turn_bits(bits)
        keys[i] = bits


@leaf
def words_of(keys, floats, words):
    """Fill in the words of keys, which may be the same array. O(n)."""
    for i in range(words.size):
        words[i] = turn_bits(keys[i]) if floats else keys[i]


@leaf
def between(low, high, share, floats, out):
    """Fill in the words of floats that lie share[i] of the way from key low[i] to key high[i]; high is destroyed.
    Two equal neighbours, infinite ones too, give just that value."""
    results, others = out.view(np.float64), high.view(np.float64)
    for i in range(out.size):
        apart = share[i] > 0.0 and low[i] != high[i]
        if floats:
            out[i], high[i] = turn_bits(low[i]), turn_bits(high[i])
        else:
            results[i], others[i] = low[i], high[i]
        if apart:
            results[i] = results[i] * (1.0 - share[i]) + others[i] * share[i]


@helper
def put_results(low, high, share, floats, interpolated, out):
    """Write the results of the keys found in a chunk."""
    if interpolated:
        between(low, high, share, floats, out)
    else:
        words_of(low, floats, out)
