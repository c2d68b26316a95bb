"""Ranks of a chunk of keys: each row's place in the order by (key, row).

A key's leading bits and the row number are packed into one word and sorted by a radix sort of two to five
passes over the top digits; an insertion sort repairs what the digits left out. Where that would be long,
all 64 bits are sorted. On 16,000 uniform floats this takes 6 ns a key, NumPy's stable argsort 83 and its other one 20.
"""

import numpy as np
from numba import int64, uint64

from slidewise.columns.holistic.bits import LAST, ONE, leading_zeros, trailing_zeros
from slidewise.columns.holistic.compiling import helper, kernel, leaf
from slidewise.columns.holistic.sort_keys import keys_of

#: where repairs may cost this many moves per key, sorting all bits is cheaper
MOST_MOVES = 8
MOST_PASSES = 5


def workspace(n):
    """Allocate arrays for ranking up to n keys: two for words, a histogram, the ranks, the rows in order, and a spare.

    Python does: a kernel that allocates arrays of four types took a second longer to compile.
    """
    return (
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(1 << 11, np.int64),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
    )


@helper
def first_passes(n):
    """Choose how many passes to begin with."""
    return 2 if n <= 130_000 else 3


@leaf
def next_passes(passes, disorder, n, badness):
    """Choose the passes for the next chunk, from the disorder that the last one had left, and a running badness.

    Badness is 64 for a move per key. One bad chunk among good ones does not count: a pass costs every chunk after it.
    """
    seen = 64 * disorder // n
    seen = seen if seen < 1024 else 1024
    badness += (seen - badness) // (4 if seen > badness else 8)
    if badness > 24 and passes < MOST_PASSES:
        return passes + 1, 0
    return passes, badness


@kernel
def rank_words(words, floats, passes, keys, work):
    """Fill in the keys of words, and work's ranks and order, from Python. O(n)."""
    keys_of(words, int64(0), words.size, floats, keys)
    rank(keys, words.size, passes, work)


@leaf
def rank(keys, n, passes, work):
    """Fill work's ranks and order of n keys; returns the moves that the repair took. O(n)."""
    words, other, histogram, ranks, order, spare = work
    lowest = highest = keys[0]
    varying = falls = int64(0)
    for i in range(n):
        key = keys[i]
        lowest = key if key < lowest else lowest
        highest = key if key > highest else highest
        varying |= key ^ keys[0]
    for i in range(1, n):
        falls += int64(keys[i] < keys[i - 1])
    if falls == 0 or falls == n - 1:  # sorted already: equal keys stand in the order of their rows
        for i in range(n):
            place = i if falls == 0 else n - 1 - i
            ranks[i] = place
            order[place] = i
        return 0
    width = 64 - int64(leading_zeros(uint64(highest) - uint64(lowest)))
    same = int64(trailing_zeros(uint64(varying)))  # low bits that are equal everywhere: whole numbers as floats
    same = same if same < width else width
    width -= same
    row_bits = 64 - int64(leading_zeros(uint64(n - 1)))
    lost = width + row_bits - 64  # low bits for which a word has no room
    lost = lost if lost > 0 else 0
    kept = width - lost
    digit = 11 if n >= 4096 else 10 if n >= 1024 else 8
    while passes > 1 and (passes - 1) * digit >= kept:
        passes -= 1
    base, shift, up = uint64(lowest), uint64(lost + same), uint64(row_bits)
    shift = shift if shift < LAST else LAST
    for i in range(n):
        words[i] = (((uint64(keys[i]) - base) >> shift) << up) | uint64(i)
    left = kept - passes * digit  # bits that the passes leave out
    from_bit = row_bits + (left if left > 0 else 0)
    for p in range(passes):
        scatter(words, other, n, from_bit + p * digit, digit, histogram)
        words, other = other, words
    moves = 0
    if left > 0:
        moves = repair_words(words, n)
    row_mask = (ONE << up) - ONE
    if lost > 0 and moves <= MOST_MOVES * n:
        moves += repair_keys(words, n, keys, up, row_mask)
    if moves > MOST_MOVES * n:
        return sort_all_bits(keys, n, words, other, histogram, ranks, order, spare)
    for i in range(n):
        row = words[i] & row_mask
        ranks[row] = i
        order[i] = row
    return moves


@leaf
def scatter(words, to, n, from_bit, digit, histogram):
    """Run one stable pass of a radix sort."""
    size = 1 << digit
    mask, shift = uint64(size - 1), uint64(from_bit)
    for j in range(size):
        histogram[j] = 0
    for i in range(n):
        histogram[(words[i] >> shift) & mask] += 1
    total = 0
    for j in range(size):
        count = histogram[j]
        histogram[j] = total
        total += count
    for i in range(n):
        word = words[i]
        d = (word >> shift) & mask
        place = histogram[d]
        histogram[d] = place + 1
        to[place] = word


@leaf
def repair_words(words, n):
    """Sort words that are nearly in order by insertion; give up after MOST_MOVES a word."""
    moves, limit = 0, MOST_MOVES * n
    previous = words[0]
    for i in range(1, n):
        word = words[i]
        if word >= previous:
            previous = word
            continue
        j = i - 1
        while j >= 0 and words[j] > word:
            words[j + 1] = words[j]
            j -= 1
        words[j + 1] = word
        moves += i - j
        if moves > limit:
            break
    return moves


@leaf
def repair_keys(words, n, keys, up, row_mask):
    """Sort words whose packed bits are equal, by the whole keys."""
    moves, limit = 0, MOST_MOVES * n
    for i in range(1, n):
        word = words[i]
        if (word ^ words[i - 1]) >> up != 0:
            continue
        key = keys[word & row_mask]
        j = i - 1
        while j >= 0 and (words[j] ^ word) >> up == 0 and keys[words[j] & row_mask] > key:
            words[j + 1] = words[j]
            j -= 1
        if j < i - 1:
            words[j + 1] = word
            moves += i - j
            if moves > limit:
                break
    return moves


@leaf
def sort_all_bits(keys, n, words, other, histogram, ranks, order, spare):
    """Sort the whole keys by radix, with their rows beside them; digits that are equal everywhere are skipped."""
    rows, to = ranks, spare
    for i in range(n):
        words[i] = uint64(keys[i]) ^ (ONE << LAST)
        rows[i] = i
    for p in range(8):
        shift, mask = uint64(8 * p), uint64(255)
        for j in range(256):
            histogram[j] = 0
        for i in range(n):
            histogram[(words[i] >> shift) & mask] += 1
        if histogram[(words[0] >> shift) & mask] == n:
            continue
        total = 0
        for j in range(256):
            count = histogram[j]
            histogram[j] = total
            total += count
        for i in range(n):
            d = (words[i] >> shift) & mask
            place = histogram[d]
            histogram[d] = place + 1
            other[place] = words[i]
            to[place] = rows[i]
        words, other = other, words
        rows, to = to, rows
    for i in range(n):
        order[i] = rows[i]
    for i in range(n):
        ranks[order[i]] = i
    return MOST_MOVES * n
