"""The wavelet matrix: the k-th smallest of any range of numbers, in one step per bit.

Level h splits the numbers by one bit, from the highest: those with a zero come first, in their order. A
level is kept as words of 64 bits, each beside the count of ones before it, so that a rank is one memory
access. Queries are answered level by level, all of them before the next level: the accesses of different
queries overlap.
"""

from numba import int64, uint32, uint64

from slidewise.columns.holistic.bits import LAST, ONE, SIX, ZERO, ones
from slidewise.columns.holistic.compiling import helper, leaf


@helper
def levels_for(n):
    """Count the bits of the numbers below n."""
    levels = 1
    while (1 << levels) < n:
        levels += 1
    return levels


@leaf
def build(numbers, n, levels, matrix, zeros, spare):
    """Build the matrix of n numbers, which are destroyed. matrix[h, 2 j] is word j of level h, matrix[h, 2 j + 1]
    the ones before it, zeros[h] the zeros of the level. O(n levels)."""
    for h in range(levels):
        shift = uint32(levels - 1 - h)
        level = matrix[h]
        before = 0
        for j in range((n >> 6) + 1):
            word = ZERO
            for t in range(j << 6, min(n, (j + 1) << 6)):
                word |= uint64((numbers[t] >> shift) & uint32(1)) << uint64(t & 63)
            level[2 * j], level[2 * j + 1] = word, uint64(before)
            before += int64(ones(word))
        zero, one = 0, n - before
        zeros[h] = one
        for t in range(n):
            number = numbers[t]
            bit = int64((number >> shift) & uint32(1))
            spare[one if bit else zero] = number
            one += bit
            zero += 1 - bit
        numbers, spare = spare, numbers


@leaf
def select(matrix, zeros, levels, start, end, k, found, queries):
    """Find found[i], the k[i]-th smallest of the numbers start[i] to end[i] - 1; start, end and k are destroyed."""
    for i in range(queries):
        found[i] = 0
    for h in range(levels):
        level, first_one = matrix[h], uint64(zeros[h])
        bit = uint32(1) << uint32(levels - 1 - h)
        for i in range(queries):
            a, b, rank = uint64(start[i]), uint64(end[i]), uint64(k[i])
            j = (a >> SIX) << ONE
            a1 = level[j + ONE] + ones(level[j] & ((ONE << (a & LAST)) - ONE))
            j = (b >> SIX) << ONE
            b1 = level[j + ONE] + ones(level[j] & ((ONE << (b & LAST)) - ONE))
            a0, b0 = a - a1, b - b1
            low = b0 - a0
            up = rank >= low
            start[i] = uint32(first_one + a1) if up else uint32(a0)
            end[i] = uint32(first_one + b1) if up else uint32(b0)
            k[i] = uint32(rank - low) if up else uint32(rank)
            found[i] |= bit if up else uint32(0)
