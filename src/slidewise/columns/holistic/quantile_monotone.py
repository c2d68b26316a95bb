"""Quantiles of frames whose bounds never move back: time windows, windows of rows with nulls left out,
growing frames.

As quantile_sliding, with chunks that are cut where the union of their frames has become four times the
first of them, and a cursor for frames of changing size.
"""

import numpy as np

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.chunk_ranks import first_passes, next_passes, rank, workspace
from slidewise.columns.holistic.chunks import chunk_stop
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.cursor import follow
from slidewise.columns.holistic.sort_keys import keys_of, put_results


@kernel
def monotone_quantile(words, floats, start, end, fractions, method, interpolated, fewest, out):
    """Compute quantiles of frames that never move back. O(n) expected: 40 to 70 ns. Chunks of `fewest` rows or more.

    There is one fraction, or one for each frame.
    """
    n = start.size
    room = frames = 0
    work = workspace(0)
    keys = ordered = low = high = np.empty(0, np.int64)
    bits = summary = np.empty(0, np.uint64)
    shares = np.empty(0)
    passes, badness = first_passes(0), 0
    i = 0
    while i < n:
        offset = start[i]
        stop = chunk_stop(start, end, i, fewest)
        rows = end[stop - 1] - offset
        if rows > room:
            room = rows + rows // 4
            work = workspace(room)
            keys, ordered = np.empty(room, np.int64), np.empty(room, np.int64)
            bits = np.empty((room >> 6) + 1, np.uint64)
            summary = np.empty((room >> 12) + 1, np.uint64)
        if stop - i > frames:
            frames = 2 * (stop - i)
            low, high, shares = np.empty(frames, np.int64), np.empty(frames, np.int64), np.empty(frames)
        if rows > 0:
            part = keys[:rows]
            keys_of(words[offset : offset + rows], floats, part)
            passes = max(passes, first_passes(rows))
            moves = rank(part, passes, work)
            passes, badness = next_passes(passes, moves, rows, badness)
            for t in range(rows):
                ordered[t] = part[work[4][t]]
            for j in range((rows >> 6) + 1):
                bits[j] = ZERO
            for j in range((rows >> 12) + 1):
                summary[j] = ZERO
        a, b = start[i:stop], end[i:stop]
        mine = fractions[i:stop] if fractions.size > 1 else fractions
        follow(a, b, offset, work[3], ordered, bits, summary, mine, method, low, high, shares)
        put_results(low, high, shares, floats, interpolated, out[i:stop])
        i = stop
