"""Ranking only the middle of a chunk: the keys between two bounds within which all answers are expected.

The bounds come from the last chunk: its answers, and a margin of a sixteenth of its rows on both sides. Rows outside
have one place below the middle or one above it, in words of the bitset that are never empty; when the cursor gets there
the guess was wrong, and the chunk is ranked as a whole. On stationary data this saves most of the sort.
"""

from numba import int64, uint32, uint64

from slidewise.columns.holistic.bits import LAST, ONE, SIX, ZERO
from slidewise.columns.holistic.compiling import leaf

#: chunks with fewer rows than this are ranked as quickly as their middle is found
FEWEST = 1024
#: the place of the first key of the middle: word 0 is the guard below it
FIRST = 64


@leaf
def pick(keys, n, w, k, pair, bounds, inner, rows, places):
    """Pick the keys within the bounds and their rows.

    Return how many there are, and which of them in the first w rows is the k-th key there; no keys: that one is not
    within the bounds, or too many keys are.
    """
    first, last = bounds[0], bounds[1]
    count = below = inside = 0
    for t in range(n):
        rows[count] = t
        count += int64(keys[t] >= first) & int64(keys[t] <= last)
        places[t] = uint32(0xFFFFFFFF) if keys[t] > last else uint32(0)
    for t in range(w):
        below += int64(keys[t] < first)
        inside += int64(keys[t] >= first) & int64(keys[t] <= last)
    k -= below
    if k < 0 or k + int64(pair) >= inside or count > n // 2:
        return 0, 0
    for j in range(count):
        inner[j] = keys[rows[j]]
    return count, k


@leaf
def put_middle(ranks, order, n, w, count, inner, rows, places, ordered, bits):
    """Write the places of all rows, the picked keys in order, and the bitset of the first w rows.

    Return the place that begins the guard above the middle.
    """
    top = ((count + 63) >> 6) + 1
    above = uint32((top << 6) + 63)
    for t in range(n):
        place = places[t]
        places[t] = place if place < above else above
    for j in range(count):
        places[rows[j]] = ranks[j] + uint32(FIRST)
        ordered[FIRST + j] = inner[order[j]]
    for j in range(top):
        bits[j] = ZERO
    bits[0] = bits[top] = ~ZERO
    for t in range(w):
        r = uint64(places[t])
        bits[r >> SIX] |= ONE << (r & LAST)
    return uint64(top << 6)


@leaf
def find_place(ordered, begin, size, key):
    """Count the keys that are less than this one. O(log size); np.searchsorted takes a second longer to compile."""
    first, last = begin, begin + size
    while first < last:
        middle = (first + last) >> 1
        if ordered[middle] < key:
            first = middle + 1
        else:
            last = middle
    return first - begin


@leaf
def expect(ordered, begin, size, rows, low, answers, whole, bounds):
    """Set the bounds for the next chunk from the answers of this one, whose keys (or their middle) are in order from
    place `begin` on."""
    lowest = highest = low[0]
    for t in range(answers):
        key = low[t]
        lowest = key if key < lowest else lowest
        highest = key if key > highest else highest
    a, b = find_place(ordered, begin, size, lowest), find_place(ordered, begin, size, highest)
    margin = rows // 16 + (b - a) // 2
    if whole or a >= margin:  # the middle does not tell what lies beyond it: then the old bound stays
        bounds[0] = ordered[begin + (a - margin if a > margin else 0)]
    if whole or b + margin < size:
        bounds[1] = ordered[begin + (b + margin if b + margin < size else size - 1)]
