"""SBA: the boundary aggregator of PBA, run by one thread (Efficient Incremental Computation of Aggregations
over Sliding Windows, section 4).

The stream is cut into slices of `slide` values (Cutty), and slices into chunks. A window that spans a
boundary between two chunks is the left-cumulative partial of the older one (from the window's first slice to
the boundary), the partials of whole chunks in between, and the running partial of the newest. Nothing is ever
taken out of a partial.

Over columns this is two cumulative passes and one merge, all sequential in memory: the fastest of all
algorithms where the range is fixed, for every associative aggregation.
"""

import numpy as np

from slidewise.templates.names import always_defined, combine, defined, identity, lift, lower, zipped


# ---- over columns: drivers, each compiled for one aggregation. Indices are made unsigned, since numba tests
# signed ones for being negative: 1.3 ns per row against 1.7.
def run_rows(work, values, n, out, valid):
    """out[i] is the result of row i and the n - 1 rows before it, fewer at the start; work: 2 n + 2 partials.

    3 combines per row. A chunk has n rows: the frame of its row j is the last chunk from row j + 1 on, and
    this one up to row j. The backward pass over this chunk runs in the same loop as the forward pass, since
    each of them waits for its own last result: for a sum and n = 2^14, 1.3 ns per row, against 2.3 for one
    pass after the other and 1.8 with two chunks at once in one loop.
    """
    values = zipped(values)
    left = zipped(work)
    results = zipped(out)
    rows = len(values)
    n = max(1, min(n, rows))
    last, this = 0, n + 1  # where the left-cumulative partials of the last chunk and of this one begin
    for j in range(n + 1):
        left[j] = identity  # there is nothing before the first chunk,
    left[2 * n + 1] = identity  # and nothing of the last chunk in the frame of a chunk's last row
    if always_defined:
        valid[:] = True
    for first in range(0, rows, n):
        right = identity
        back = identity
        stop = min(n, rows - first)
        for j in range(stop):
            i = np.uintp(first + j)
            right = combine(right, lift(*values[i]))
            total = combine(left[np.uintp(last + j + 1)], right)
            if not always_defined:
                valid[i] = defined(total)
            if always_defined or valid[i]:
                results[i] = lower(total)
            k = stop - 1 - j
            back = combine(lift(*values[np.uintp(first + k)]), back)
            left[np.uintp(this + k)] = back
        last, this = this, last


def run_frames(work, values, start, end, out, valid):
    """out[i] is the result of rows start[i] to end[i] - 1, where valid[i]; work: the longest frame's number
    of rows.

    Neither bound ever moves back; a frame may be empty, and is then not valid. At most 2 combines per row and
    one per frame: when the frame has left a boundary behind, its end becomes the next one.
    """
    values = zipped(values)
    left = zipped(work)
    results = zipped(out)
    base = 0  # left[k - base] is the product of rows k to boundary - 1
    boundary = 0
    last = 0
    right = identity  # the product of rows boundary to last - 1
    for i in range(len(start)):
        lo = start[i]
        hi = end[i]
        if lo >= boundary:
            total = identity
            for k in range(hi - 1, lo - 1, -1):
                total = combine(lift(*values[np.uintp(k)]), total)
                left[np.uintp(k - lo)] = total
            base = lo
            boundary = last = max(lo, hi)
            right = identity
        else:
            while last < hi:
                right = combine(right, lift(*values[np.uintp(last)]))
                last += 1
            total = combine(left[np.uintp(lo - base)], right)
        valid[i] = lo < hi and defined(total)
        if valid[i]:
            results[i] = lower(total)


def run_slides(work, values, n, slide, out, valid):
    """out[t] is the result of the last n rows at row (t + 1) slide, fewer at the start; work: n // slide
    partials.

    slide <= n; slide + 4 combines per slide. Slices begin where windows do, so that a window is d = n //
    slide whole slices and the first n % slide rows of the next; a chunk has d slices. A slice takes the place
    of the left-cumulative partial that the window has just left, until the chunk is complete.
    """
    values = zipped(values)
    left = zipped(work)
    results = zipped(out)
    d = n // slide
    extra = n % slide
    for j in range(d):
        left[j] = identity
    j = 0  # slices of this chunk
    right = identity  # their product
    top = identity  # the first rows of the next slice
    for t in range(len(values) // slide):
        end = (t + 1) * slide
        piece = top
        for i in range(end - slide, end - extra):
            piece = combine(piece, lift(*values[np.uintp(i)]))
        left[np.uintp(j)] = piece
        right = combine(right, piece)
        j += 1
        if j == d:
            total = right
            for k in range(d - 2, 0, -1):
                left[np.uintp(k)] = combine(left[np.uintp(k)], left[np.uintp(k + 1)])
            right = identity
            j = 0
        else:
            total = combine(left[np.uintp(j)], right)
        if extra:
            top = identity
            for i in range(end - extra, end):
                top = combine(top, lift(*values[np.uintp(i)]))
            total = combine(total, top)
        valid[t] = defined(total)
        if valid[t]:
            results[t] = lower(total)
