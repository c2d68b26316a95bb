"""Quantiles of the last w rows: chunks are ranked, and a cursor follows the window through each.

A chunk is w old rows and many new ones, few enough to stay in cache: every row is ranked once, and the w
rows between two chunks once more. The chunk sizes of chunk_rows are those that were fastest on uniform
data.
"""

import numpy as np

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.cursor import follow, put_rows, select, slide
from slidewise.columns.holistic.keys import keys_of, put_results
from slidewise.columns.holistic.quantile_middle import FEWEST, FIRST, expect, slide_middle
from slidewise.columns.holistic.ranks import first_passes, next_passes, rank, workspace


def chunk_rows(w):
    """How many rows to rank together, for windows of w rows."""
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
    """Rows w and after: out[i] is the k-th smallest value of rows i - w + 1 to i, or `share` of the way to the next.

    O(n) expected: 13 to 30 ns a row.
    """
    n = words.size
    chunk = min(chunk, n)
    work = workspace(chunk)
    room = (np.empty(chunk, np.int64), np.empty(chunk, np.uint32), np.empty(chunk, np.uint32))
    keys, ordered = np.empty(chunk, np.int64), np.empty(chunk + FIRST, np.int64)
    bits = np.empty((chunk >> 6) + 4, np.uint64)
    low, high, shares = np.empty(chunk, np.int64), np.empty(chunk, np.int64), np.full(chunk, share)
    passes, badness = first_passes(chunk), 0
    bounds = np.zeros(2, np.int64)
    wait, pause = 1, 1  # chunks before the middle is tried (again), twice as many after each failure
    pair = share > 0.0
    i = w
    while i < n:
        m = min(chunk, n - i + w)
        if i == w and w > 4096:
            m = min(m, w + 4096)  # a few rows as a whole tell where the middle of the next chunk will be
        part = keys[:m]
        keys_of(words[i - w : i - w + m], floats, part)
        count = moves = 0
        if wait == 0 and m >= FEWEST:
            count, moves = slide_middle(part, w, k, pair, bounds, passes, work, room, ordered, bits, low, high)
            pause = 1 if count > 0 else min(2 * pause, 64)
            wait = 0 if count > 0 else pause
        whole = count == 0
        if whole:
            wait = max(0, wait - 1)
            count = m
            moves = slide_whole(part, w, k, pair, passes, work, ordered, bits, fraction, method, low, high)
        passes, badness = next_passes(passes, moves, count, badness)
        if m >= FEWEST and wait == 0:
            expect(ordered[0 if whole else FIRST :], count, m, low[: m - w], whole, bounds)
        put_results(low, high, shares, floats, interpolated, out[i : i + m - w])
        i += m - w


@kernel
def slide_whole(keys, w, k, pair, passes, work, ordered, bits, fraction, method, low, high):
    """One chunk, with all of its keys ranked; returns the moves that this took."""
    m = keys.size
    moves = rank(keys, passes, work)
    ranks, order = work[3], work[4]
    for t in range(m):
        ordered[t] = keys[order[t]]
    put_rows(ranks, w, m, bits)
    done = slide(ranks, m, w, ordered, bits, select(bits, k), pair, ZERO, ~ZERO, low, high)
    if done < m:
        finish(ranks, done, m, w, ordered, bits, fraction, method, low[done - w :], high[done - w :])
    return moves


@kernel
def finish(ranks, done, m, w, ordered, bits, fraction, method, low, high):
    """The rows from `done` on, where the cursor of slide has too far to go from bit to bit."""
    bits[: (m >> 6) + 1] = ZERO
    summary = np.zeros((m >> 12) + 1, np.uint64)
    end = np.arange(done + 1, m + 1)
    follow(end - w, end, 0, ranks, ordered, bits, summary, fraction, method, low, high, np.empty(end.size))
