"""Quantiles of the last w rows: chunks are ranked, and a cursor follows the window through each.

A chunk is w old rows and many new ones, few enough to stay in cache: every row is ranked once, and the w
rows between two chunks once more. The chunk sizes of chunk_rows are those that were fastest on uniform
data.
"""

import numpy as np

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.cursor import follow, put_rows, slide
from slidewise.columns.holistic.keys import keys_of, put_results
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

    O(n) expected: 10 to 20 ns a row.
    """
    n = words.size
    chunk = min(chunk, n)
    work = workspace(chunk)
    keys, ordered = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
    bits = np.empty((chunk >> 6) + 2, np.uint64)
    low, high, shares = np.empty(chunk, np.int64), np.empty(chunk, np.int64), np.full(chunk, share)
    passes, badness = first_passes(chunk), 0
    i = w
    while i < n:
        m = min(chunk, n - i + w)
        part = keys[:m]
        keys_of(words[i - w : i - w + m], floats, part)
        moves = rank(part, passes, work)
        passes, badness = next_passes(passes, moves, m, badness)
        ranks, order = work[3], work[4]
        for t in range(m):
            ordered[t] = part[order[t]]
        put_rows(ranks, w, m, bits)
        done = slide(ranks, m, w, ordered, bits, k, share > 0.0, low, high)
        if done < m:
            finish(ranks, done, m, w, ordered, bits, fraction, method, low[done - w :], high[done - w :])
        put_results(low, high, shares, floats, interpolated, out[i : i + m - w])
        i += m - w


@kernel
def finish(ranks, done, m, w, ordered, bits, fraction, method, low, high):
    """The rows from `done` on, where the cursor of slide has too far to go from bit to bit."""
    bits[: (m >> 6) + 1] = ZERO
    summary = np.zeros((m >> 12) + 1, np.uint64)
    end = np.arange(done + 1, m + 1)
    follow(end - w, end, 0, ranks, ordered, bits, summary, fraction, method, low, high, np.empty(end.size))
