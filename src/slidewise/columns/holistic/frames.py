"""Which frames to work on together: chunks of frames that slide, blocks of frames that jump."""

from slidewise.columns.holistic.compiling import helper

#: rows that a chunk has at least, where frames are short
FEWEST = 4096


@helper
def chunk_stop(start, end, i, fewest):
    """The frame after the last one of the chunk that begins with frame i: four times its rows, or `fewest`."""
    offset = start[i]
    most = max(fewest, 4 * (end[i] - offset))
    stop = i + 1
    while stop < start.size and end[stop] - offset <= most and stop - i < most:
        stop += 1
    return stop


@helper
def covered(start, end, rows, most):
    """The rows that some frames cover; all rows where those are far more than the frames, to prepare them once only."""
    first, last = rows, 0
    for i in range(start.size):
        if start[i] < end[i]:
            first, last = min(first, start[i]), max(last, end[i])
    if last - first > most:
        return 0, rows
    return first, last
