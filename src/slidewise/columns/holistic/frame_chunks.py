"""Which frames to work on together, and in which order: chunks of frames that slide, blocks of frames that jump."""

import numpy as np

from slidewise.columns.holistic.compiling import helper, kernel, leaf

#: rows that a chunk has at least, where frames are short
FEWEST = 4096


def largest_chunk(start, end, rows):
    """Bound the rows and the frames of chunks that chunk_stop finds."""
    longest = int(np.max(end - start, initial=0))
    most = max(FEWEST, 4 * longest)
    return min(most, rows), min(most, len(start))


@leaf
def chunk_stop(start, end, i, fewest):
    """Find the frame after the last one of the chunk that begins with frame i: four times its rows, or `fewest`."""
    offset = start[i]
    most = 4 * (end[i] - offset)
    most = most if most > fewest else fewest
    stop = i + 1
    while stop < start.size and end[stop] - offset <= most and stop - i < most:
        stop += 1
    return stop


@helper
def find_covered(start, end, rows, most):
    """Find the rows that frames cover; all rows where those are far more than the frames, to prepare them once only."""
    first, last = rows, 0
    for i in range(start.size):
        if start[i] < end[i]:
            first, last = min(first, start[i]), max(last, end[i])
    if last - first > most:
        return 0, rows
    return first, last


@kernel
def arrange(start, end, lowest, size, order, starts, ends):
    """Sort frames by their starts, and by their ends where those are equal; bounds lie from lowest to lowest + size.
    Return whether neither bound then moves back, nor crosses the other. O(frames + size): 10 ns a frame."""
    n = start.size
    by_end = np.empty(n, np.int32)
    place = np.zeros(size + 2, np.int32)
    for t in range(n):
        place[end[t] - lowest + 1] += 1
    for j in range(size + 1):
        place[j + 1] += place[j]
    for t in range(n):
        at = end[t] - lowest
        by_end[place[at]] = t
        place[at] += 1
    for j in range(size + 2):
        place[j] = 0
    for t in range(n):
        place[start[t] - lowest + 1] += 1
    for j in range(size + 1):
        place[j + 1] += place[j]
    for p in range(n):
        t = by_end[p]
        at = start[t] - lowest
        k = place[at]
        order[k], starts[k], ends[k] = t, start[t], end[t]
        place[at] += 1
    slides = True
    for k in range(n):
        slides = slides and starts[k] <= ends[k] and (k == 0 or ends[k - 1] <= ends[k])
    return slides
