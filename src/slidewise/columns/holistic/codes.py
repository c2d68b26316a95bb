"""Keys as small numbers in the order of their first appearance, by a hash table that grows with the distinct keys."""

import numpy as np
from numba import int64, uint64

from slidewise.columns.holistic.compiling import helper, kernel, leaf
from slidewise.columns.holistic.sort_keys import keys_of

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@helper
def slot_of(key, shift):
    return (uint64(key) * _GOLDEN) >> shift


@kernel
def codes_of(words, floats, codes):
    """Fill in the codes, equal for equal values; returns how many there are. O(n) expected."""
    bits = 10
    table, seen = np.full(1 << bits, -1, np.int32), np.empty(1 << (bits - 1), np.int64)
    distinct = 0
    keys_of(words, int64(0), words.size, floats, codes)
    for i in range(codes.size):
        key = codes[i]
        shift, mask = uint64(64 - bits), uint64((1 << bits) - 1)
        slot = slot_of(key, shift)
        code = table[slot]
        while code >= 0 and seen[code] != key:
            slot = (slot + uint64(1)) & mask
            code = table[slot]
        if code < 0:
            code = distinct
            table[slot], seen[code] = code, key
            distinct += 1
            if distinct == seen.size:  # half full
                bits += 1
                table, seen = move_to_larger(seen, bits)
        codes[i] = code
    return distinct


@leaf
def move_to_larger(seen, bits):
    """Move the codes to a table of 2**bits slots, with space for as many codes as fill half of it."""
    table, room = np.full(1 << bits, -1, np.int32), np.empty(1 << (bits - 1), np.int64)
    shift, mask = uint64(64 - bits), uint64((1 << bits) - 1)
    for code in range(seen.size):
        room[code] = seen[code]
        slot = slot_of(seen[code], shift)
        while table[slot] >= 0:
            slot = (slot + uint64(1)) & mask
        table[slot] = code
    return table, room
