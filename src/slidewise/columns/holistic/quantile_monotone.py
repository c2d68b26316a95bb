"""Quantiles of frames whose bounds never move back: time windows, windows of rows with nulls left out,
growing frames.

As quantile_sliding, with chunks that are cut where the union of their frames has become four times the
first of them, and a cursor for frames of changing size.
"""

import numpy as np
from numba import int64

from slidewise.columns.holistic.bits import ZERO
from slidewise.columns.holistic.chunk_ranks import first_passes, next_passes, rank, workspace
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.cursor import follow, put_rows
from slidewise.columns.holistic.frame_chunks import chunk_stop
from slidewise.columns.holistic.sort_keys import keys_of, put_results


def new_room(rows, frames):
    """Allocate what monotone_quantile works in, for chunks of so many rows and frames: see workspace."""
    return (
        workspace(rows),
        (np.empty(rows, np.int64), np.empty(rows, np.int64)),
        (np.empty((rows >> 6) + 1, np.uint64), np.empty((rows >> 12) + 1, np.uint64)),
        (np.empty(frames, np.int64), np.empty(frames, np.int64), np.empty(frames)),
    )


@kernel
def monotone_quantile(words, floats, start, end, fractions, method, interpolated, fewest, room, out):
    """Compute quantiles of frames that never move back. O(n) expected: 40 to 70 ns. Chunks of `fewest` rows or more.

    There is one fraction, or one for each frame.
    """
    n = start.size
    work, (keys, ordered), (bits, summary), (low, high, shares) = room
    _, _, _, ranks, order, _ = work
    passes = badness = int64(0)
    i = int64(0)
    while i < n:
        offset = start[i]
        stop = chunk_stop(start, end, i, fewest)
        rows = end[stop - 1] - offset
        if rows > 0:
            keys_of(words, offset, rows, floats, keys)
            fewest_passes = first_passes(rows)
            passes = passes if passes > fewest_passes else fewest_passes
            moves = rank(keys, rows, passes, work)
            passes, badness = next_passes(passes, moves, rows, badness)
            for t in range(rows):
                ordered[t] = keys[order[t]]
            put_rows(ranks, int64(0), rows, bits)
            for j in range((rows >> 12) + 1):
                summary[j] = ZERO
        follow(
            start, end, i, stop - i, offset, ranks, ordered, bits, summary, fractions, method, low, high, shares,
            int64(0),
        )  # fmt: skip
        put_results(low, high, shares, stop - i, floats, interpolated, out, i)
        i = stop
