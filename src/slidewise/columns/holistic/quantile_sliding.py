"""Quantiles of the last w rows: chunks are ranked, and a cursor follows the window through each.

A chunk is w old rows and many new ones, few enough to stay in cache: every row is ranked once, and the w
rows between two chunks once more. The chunk sizes of chunk_rows are those that were fastest on uniform
data.
"""

import numpy as np
from numba import int64, uint64

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.chunk_ranks import next_passes, rank, workspace
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.cursor import follow, put_rows, select, slide
from slidewise.columns.holistic.quantile_middle import FEWEST, FIRST, expect, pick, put_middle
from slidewise.columns.holistic.sort_keys import keys_of, put_results


def chunk_rows(w):
    """Choose how many rows to rank together, for windows of w rows."""
    if w <= 2048:
        return max(256, 16 * w)
    if w <= 8192:
        return max(32_768, 8 * w)
    if w <= 20_000:
        return 6 * w
    if w <= 50_000:
        return max(120_000, 4 * w)
    return 2 * w + w // 3


def new_room(chunk):
    """Allocate what sliding_quantile works in, for chunks of so many rows: see workspace."""
    words, keys = np.empty((chunk >> 6) + 4, np.uint64), np.empty(chunk + FIRST, np.int64)
    return (
        workspace(chunk),
        (np.empty(chunk, np.int64), keys, words, np.zeros((chunk >> 12) + 1, np.uint64)),
        (np.empty(chunk, np.int64), np.empty(chunk, np.uint32), np.empty(chunk, np.uint32), np.zeros(2, np.int64)),
        (np.empty(chunk, np.int64), np.empty(chunk, np.int64), np.empty(chunk)),
        (np.empty(chunk, np.int64), np.empty(chunk, np.int64), np.empty(1)),
    )


@kernel
def sliding_quantile(words, floats, w, chunk, k, share, fraction, method, interpolated, passes, room, out):
    """Write to out[i] the k-th smallest value of rows i - w + 1 to i, or `share` of the way to the next.

    The first w rows are a chunk of their own, with what the fraction makes of fewer rows.

    O(n) expected: 13 to 30 ns a row.
    """
    n = words.size
    work, whole, part, (low, high, shares), (start, end, fractions) = room
    keys, ordered, bits, summary = whole
    inner, rows, places, bounds = part
    _, _, _, ranks, order, _ = work
    fractions[0] = fraction
    badness = int64(0)
    wait, pause = 1, 1  # chunks before the middle is tried (again), twice as many after each failure
    pair = share > 0.0
    i = int64(0)
    while i < n:
        first = i - w if i > w else int64(0)
        before = i - first  # rows of the chunk that have their results
        m = w
        if i > 0:
            m = chunk if chunk < n - first else n - first
        if i == w and w > 4096 and m > w + 4096:
            m = w + 4096  # a few rows as a whole tell where the middle of the next chunk will be
        keys_of(words, first, m, floats, keys)
        count = inside = int64(0)
        guess = i > 0 and wait == 0 and m >= FEWEST
        if guess:
            count, inside = pick(keys, m, w, k, pair, bounds, inner, rows, places)
        while True:  # the middle, and where the guess was wrong, or there was none, all rows
            middle = count > 0
            floor, ceiling = ZERO, ~ZERO
            if not middle:
                count, inside = m, k
            moves = rank(inner if middle else keys, count, passes, work)
            if middle:
                floor = uint64(FIRST)
                ceiling = put_middle(ranks, order, m, w, count, inner, rows, places, ordered, bits)
            else:
                for t in range(m):
                    ordered[t] = keys[order[t]]
                put_rows(ranks, w, m, bits)
            done = int64(0)
            if i > 0:
                p = select(bits, int64(middle), inside)
                done = slide(places if middle else ranks, m, w, ordered, bits, p, pair, floor, ceiling, low, high)
            if not middle or done == m:
                break
            count = int64(0)
        if guess:
            pause = 1 if middle else pause + pause if pause < 64 else 64
            wait = 0 if middle else pause
        if not middle:
            wait = wait - 1 if wait > 0 and i > 0 else wait
            if done < m:  # the first w rows, and those where the cursor of slide has too far to go from bit to bit
                put_rows(ranks, int64(0), m, bits)
                for j in range((m >> 12) + 1):
                    summary[j] = ZERO
                for t in range(done, m):
                    start[t], end[t] = t + 1 - w if t >= w else 0, t + 1
                follow(
                    start, end, done, m - done, int64(0), ranks, ordered, bits, summary, fractions, method, low, high,
                    shares, done - before,
                )  # fmt: skip
        passes, badness = next_passes(passes, moves, count, badness)
        if i > 0 and m >= FEWEST and wait == 0:
            expect(ordered, int64(FIRST if middle else 0), count, m, low, m - w, not middle, bounds)
        put_results(low, high, shares, m - before, floats, interpolated, out, i)
        if i == 0:
            for t in range(chunk):
                shares[t] = share
        i = first + m
