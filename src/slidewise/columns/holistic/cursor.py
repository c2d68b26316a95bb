"""The k-th smallest of a moving frame: a bitset over the ranks of a chunk, and a cursor on its k-th bit.

A row that enters or leaves flips the bit of its rank, and the cursor moves by as many set bits as the
answer's rank has changed among them: for a frame that slides by one row, one at most.
"""

from numba import int64, uint64

from slidewise.columns.holistic.bits import (
    LAST,
    ONE,
    SIX,
    TWELVE,
    ZERO,
    leading_zeros,
    ones,
    trailing_zeros,
)
from slidewise.columns.holistic.compiling import leaf
from slidewise.columns.holistic.quantile_position import position

#: words that the cursor of slide may skip, per row of a chunk, before follow does better with its summary
MOST_SKIPS = 4


@leaf
def put_rows(ranks, rows, n, bits):
    """Set the bits of a chunk of n rows for the first `rows` of them, which are in the frame."""
    for j in range((n >> 6) + 1):
        bits[j] = ZERO
    for t in range(rows):
        r = uint64(ranks[t])
        bits[r >> SIX] |= ONE << (r & LAST)


@leaf
def select(bits, j, k):
    """Find the position of the k-th set bit from word j on. O(words)."""
    count = int64(ones(bits[j]))
    while count <= k:
        k -= count
        j += 1
        count = int64(ones(bits[j]))
    word = bits[j]
    for _ in range(k):
        word &= word - ONE
    return (uint64(j) << SIX) + trailing_zeros(word)


@leaf
def slide(ranks, n, w, ordered, bits, p, pair, floor, ceiling, low, high):
    """Slide over rows w to n - 1 of a chunk, each with the w - 1 before it: low[t - w] is the key at the cursor, and
    high[t - w] the one after it where `pair`. Starts with rows 0 to w - 1 in bits, and the cursor at p.
    O(1) expected a row.

    Return the first row that is not done: less than n where the bits around the cursor were too sparse, or
    where it would have left the places from floor to ceiling, which begin and end with a word.
    """
    skips, limit = 0, MOST_SKIPS * n
    for t in range(n - w):
        new, old = uint64(ranks[uint64(w + t)]), uint64(ranks[t])
        bits[new >> SIX] |= ONE << (new & LAST)
        bits[old >> SIX] ^= ONE << (old & LAST)
        up = uint64(old <= p) & uint64(new > p)
        down = uint64(old >= p) & uint64(new < p)
        at = p >> SIX
        word, bit = bits[at], p & LAST
        above = (word >> bit) >> ONE
        under = (word << (LAST - bit)) << ONE
        if (up & uint64(above == ZERO)) | (down & uint64(under == ZERO)):
            before = at
            if up:
                at += ONE
                while bits[at] == ZERO:
                    at += ONE
                p = (at << SIX) + trailing_zeros(bits[at])
                skips += int64(at - before)
            else:
                at -= ONE
                while bits[at] == ZERO:
                    at -= ONE
                p = (at << SIX) + LAST - leading_zeros(bits[at])
                skips += int64(before - at)
            if p < floor or p >= ceiling:
                return w + t
        else:  # without branches: which way the cursor goes is as random as the data
            p += ((ONE + trailing_zeros(above)) & (ZERO - up)) - ((ONE + leading_zeros(under)) & (ZERO - down))
        low[t] = ordered[p]
        if pair:
            at = p >> SIX
            above = (bits[at] >> (p & LAST)) >> ONE
            if above != ZERO:
                after = p + ONE + trailing_zeros(above)
            else:
                before = at
                at += ONE
                while bits[at] == ZERO:
                    at += ONE
                after = (at << SIX) + trailing_zeros(bits[at])
                skips += int64(at - before)
                if after >= ceiling:
                    return w + t
            high[t] = ordered[after]
        if skips > limit:
            return w + t + 1
    return n


@leaf
def follow(start, end, i, frames, offset, ranks, ordered, bits, summary, fractions, method, low, high, share, at_row):
    """Follow frames i to i + frames - 1, whose bounds never move back, over a chunk that begins at row `offset`;
    results are from low[at_row] on. summary has a bit for every word of bits that is not zero; both are zero on entry.
    There is one fraction, or one for each frame. O(1) expected a row, and the cursor's way where the size or the
    fraction changes: 64 rows of the chunk at a time."""
    step = int64(fractions.size > 1)
    p, below = ZERO, 0  # the cursor, and how many bits are set before it
    first = last = start[i] - offset
    for t in range(at_row, at_row + frames):
        begin, stop = start[i] - offset, end[i] - offset
        fraction = fractions[step * i]
        i += 1
        while last < stop:
            r = uint64(ranks[last])
            last += 1
            bits[r >> SIX] |= ONE << (r & LAST)
            summary[r >> TWELVE] |= ONE << ((r >> SIX) & LAST)
            below += int64(r < p)
        while first < begin:
            r = uint64(ranks[first])
            first += 1
            word = bits[r >> SIX] ^ (ONE << (r & LAST))
            bits[r >> SIX] = word
            if word == ZERO:
                summary[r >> TWELVE] ^= ONE << ((r >> SIX) & LAST)
            below -= int64(r < p)
        low[t], share[t] = 0, 0.0
        n = last - first
        if n == 0:
            continue
        k, s = position(n, fraction, method)
        if k >= n:
            continue
        at = p >> SIX
        under = (ONE << (p & LAST)) - ONE
        if k < below:
            steps = below - k
            word = bits[at] & under
            count = int64(ones(word))
            while count < steps:
                steps -= count
                g = at >> SIX
                group = summary[g] & ((ONE << (at & LAST)) - ONE)
                while group == ZERO:
                    g -= ONE
                    group = summary[g]
                at = (g << SIX) + LAST - leading_zeros(group)
                word = bits[at]
                count = int64(ones(word))
            for _ in range(steps - 1):
                word ^= ONE << (LAST - leading_zeros(word))
            p = (at << SIX) + LAST - leading_zeros(word)
        else:
            steps = k - below
            word = bits[at] & ~under
            count = int64(ones(word))
            while count <= steps:
                steps -= count
                g = at >> SIX
                group = summary[g] & ((~ONE) << (at & LAST))
                while group == ZERO:
                    g += ONE
                    group = summary[g]
                at = (g << SIX) + trailing_zeros(group)
                word = bits[at]
                count = int64(ones(word))
            for _ in range(steps):
                word &= word - ONE
            p = (at << SIX) + trailing_zeros(word)
        below = k
        low[t], share[t] = ordered[p], s
        if s > 0.0:
            word = bits[at] & ((~ONE) << (p & LAST))
            if word == ZERO:
                g = at >> SIX
                group = summary[g] & ((~ONE) << (at & LAST))
                while group == ZERO:
                    g += ONE
                    group = summary[g]
                at = (g << SIX) + trailing_zeros(group)
                word = bits[at]
            high[t] = ordered[(at << SIX) + trailing_zeros(word)]
