"""Quantiles of the last w rows: chunks are ranked, and a cursor follows the window through each.

A chunk is w old rows and many new ones, few enough to stay in cache: every row is ranked once, and the w
rows between two chunks once more. The chunk sizes of chunk_rows are those that were fastest on uniform
data.
"""

import numpy as np
from numba import int64, uint64

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.chunk_ranks import first_passes, next_passes, rank, workspace
from slidewise.columns.holistic.compiling import helper, kernel
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


@kernel
def sliding_quantile(words, floats, w, chunk, k, share, fraction, method, interpolated, out):
    """Write to out[i] the k-th smallest value of rows i - w + 1 to i, or `share` of the way to the next.

    The first w rows are a chunk of their own, with what the fraction makes of fewer rows.

    O(n) expected: 13 to 30 ns a row.
    """
    n = words.size
    chunk = min(chunk, n)
    work = workspace(chunk)
    ranks, order = work[3], work[4]
    keys, ordered = np.empty(chunk, np.int64), np.empty(chunk + FIRST, np.int64)
    inner, rows, places = np.empty(chunk, np.int64), np.empty(chunk, np.uint32), np.empty(chunk, np.uint32)
    bits = np.empty((chunk >> 6) + 4, np.uint64)
    low, high, shares = np.empty(chunk, np.int64), np.empty(chunk, np.int64), np.empty(chunk)
    passes, badness = first_passes(chunk), 0
    bounds = np.zeros(2, np.int64)
    wait, pause = 1, 1  # chunks before the middle is tried (again), twice as many after each failure
    pair = share > 0.0
    i = 0
    while i < n:
        first = max(0, i - w)
        before = i - first  # rows of the chunk that have their results
        m = min(chunk, n - first) if i > 0 else w
        if i == w and w > 4096:
            m = min(m, w + 4096)  # a few rows as a whole tell where the middle of the next chunk will be
        part = keys[:m]
        keys_of(words[first : first + m], floats, part)
        count = moves = 0
        if i > 0 and wait == 0 and m >= FEWEST:
            count, inside = pick(part, w, k, pair, bounds, inner, rows, places)
            if count > 0:
                moves = rank(inner[:count], passes, work)
                ceiling = put_middle(ranks, order, m, w, count, inner, rows, places, ordered, bits)
                p = select(bits, int64(1), inside)
                done = slide(places, m, w, ordered, bits, p, pair, uint64(FIRST), ceiling, low, high)
                count = count if done == m else 0
            pause = 1 if count > 0 else min(2 * pause, 64)
            wait = 0 if count > 0 else pause
        whole = count == 0
        if whole:
            wait = max(0, wait - int64(i > 0))
            count = m
            moves = rank(part, passes, work)
            for t in range(m):
                ordered[t] = keys[order[t]]
            done = int64(0)
            if i > 0:
                put_rows(ranks, w, m, bits)
                p = select(bits, int64(0), k)
                done = slide(ranks, m, w, ordered, bits, p, pair, ZERO, ~ZERO, low, high)
            if done < m:
                finish(ranks, done, m, w, before, ordered, bits, fraction, method, low, high, shares)
        passes, badness = next_passes(passes, moves, count, badness)
        if i > 0 and m >= FEWEST and wait == 0:
            expect(ordered[0 if whole else FIRST :], count, m, low[: m - w], whole, bounds)
        put_results(low, high, shares, floats, interpolated, out[i : first + m])
        if i == 0:
            for t in range(chunk):
                shares[t] = share
        i = first + m


@helper
def finish(ranks, done, m, w, before, ordered, bits, fraction, method, low, high, shares):
    """Compute the rows from `done` on, by the cursor for frames of any size.

    These are the first w, and those where the cursor of slide has too far to go from bit to bit.
    """
    for j in range((m >> 6) + 1):
        bits[j] = ZERO
    summary = np.zeros((m >> 12) + 1, np.uint64)
    start, end = np.empty(m - done, np.int64), np.empty(m - done, np.int64)
    for t in range(done, m):
        start[t - done], end[t - done] = max(0, t + 1 - w), t + 1
    at = done - before
    fractions = np.empty(1)
    fractions[0] = fraction
    follow(start, end, int64(0), ranks, ordered, bits, summary, fractions, method, low[at:], high[at:], shares[at:])
