"""SBA over columns for so many trailing rows that a partial for each would leave the cache: sba.py has the others.

Chunks of n rows, as there: the frame of row j of a chunk is the last chunk from row j + 1 on, and this one up to row j.
Chunks are cut into blocks, of which only the totals are kept; the left-cumulative partials of a block are made when
frames begin in it, from its rows. So all that is written but the results stays in the cache. ns per row at n = 10^6,
here and by sba.py: sum 1.5 and 2.0, standard deviation 3.7 and 4.2, maximum 1.7 and 1.9, first 1.2 and 3.0. At n =
1,000 this is slower: 1.3 and 1.2, 3.4 and 2.9, 1.7 and 1.5.
"""

import numpy as np

from slidewise.algorithms import sba
from slidewise.algorithms.sba import BLOCK, cumulate_slots, emit
from slidewise.templates.names import always_defined, combine, defined, identity, lift, lower, prefetch, zip_columns

USES = (sba,)


def room(n):
    """Count the partials in the work array of drivers for trailing rows: what is left of a frame's first block, what is
    of its last one, and the totals of the blocks between."""
    return 4 * BLOCK + 1 + -(-n // BLOCK)


def run_rows(work, values, n, out, valid):
    """out[i] is the result of row i and the n - 1 rows before it, fewer at the start; work: room(n) partials.

    4 combines per row, one of them for the blocks' totals. In a loop of its own, only where n is more than a block, it
    lost: a maximum takes 1.5 ns per row against 1.8 for n = 100, but 1.9 for n = 10^6, and lift is called once more.
    The backward pass over the block in which the next frames begin runs in the same loop as the forward pass, since
    each of them waits for its own last result: for a sum and n = 2^14, 1.3 ns per row, against 2.3 for one pass after
    the other.
    """
    values = zip_columns(values)
    left = zip_columns(work)
    edges = zip_columns(work[2 * BLOCK + 2 :])
    results = zip_columns(out)
    rows = len(values)
    n = max(1, min(n, rows))
    blocks = -(-n // BLOCK)
    if always_defined:
        valid[:] = True
    first_chunk(left, edges, blocks, values, n, results, valid)
    begin, t, size = n, 0, min(BLOCK, n)  # of the block in which frames end
    this, that = 0, BLOCK + 1  # where the left-cumulative partials of its frames and of the next one's begin
    middle = identity  # the blocks of this chunk before it
    while begin < rows:
        after = t + 1 if t + 1 < blocks else 0
        more = min(BLOCK, n - after * BLOCK) if begin + size < rows else 0
        size = min(size, rows - begin)
        base = begin + size - n
        run = combine(edges[t + 1], middle)
        total = identity
        back = identity
        left[that + more] = identity
        both = min(size, more)
        for j in range(both):
            i = np.uintp(begin + j)
            prefetch(values, np.uintp(begin + j + 2 * BLOCK - n))
            one = lift(*values[i])
            run = combine(run, one)
            total = combine(total, one)
            emit(results, valid, i, combine(left[np.uintp(this + j + 1)], run))
            k = more - 1 - j
            back = combine(lift(*values[np.uintp(base + k)]), back)
            left[np.uintp(that + k)] = back
        for j in range(both, size):
            one = lift(*values[begin + j])
            run = combine(run, one)
            total = combine(total, one)
            emit(results, valid, begin + j, combine(left[this + j + 1], run))
        for k in range(more - 1 - both, -1, -1):
            back = combine(lift(*values[base + k]), back)
            left[that + k] = back
        edges[t] = total
        middle = combine(middle, total)
        if after == 0:
            middle = identity
            cumulate_slots(edges, 1, blocks)
        begin, t, size = begin + size, after, more
        this, that = that, this


def first_chunk(left, edges, blocks, values, n, results, valid):
    """Frames shorter than n; the blocks of the first n rows, and the left-cumulative partials of the first of them."""
    run = identity
    for i in range(min(n, len(values))):
        run = combine(run, lift(*values[np.uintp(i)]))
        emit(results, valid, np.uintp(i), run)
    back = identity
    for i in range(min(n, BLOCK, len(values)) - 1, -1, -1):
        left[i + 1] = back
        back = combine(lift(*values[i]), back)
    for t in range(1, blocks):
        total = identity
        for i in range(t * BLOCK, min(t * BLOCK + BLOCK, n)):
            total = combine(total, lift(*values[np.uintp(i)]))
        edges[t] = total
    edges[blocks] = identity
    cumulate_slots(edges, 1, blocks)


def run_counted(work, values, n, out, valid, doubtful):
    """As run_rows, for aggregations with a `counted` form: partials are sums, and rows are not counted in them.

    lift(*row, *anchor) may take its row relative to an anchor, the first row of the chunk in which the frame ends,
    and so a row of the frame; lower(partial, count, 1 / count) and defined(count) are told the number of rows. Where
    every count has a result, partials are plain sums, and do not depend on the anchor. Where not, doubtful[0] to
    doubtful[1] - 1 are the rows among which results are NaN: the anchor was unfit, and run_rows has to do these rows.
    """
    values = zip_columns(values)
    left = zip_columns(work[: 2 * BLOCK])
    right = zip_columns(work[2 * BLOCK : 4 * BLOCK])
    edges = zip_columns(work[4 * BLOCK :])
    rows = len(values)
    n = max(1, min(n, rows))
    blocks = -(-n // BLOCK)
    one = np.uintp(1)
    fill_up(edges, blocks, values, n, out, valid, doubtful)
    valid[n:] = defined(n)
    done = n  # the first row whose result is to come
    begin = n if defined(n) else rows
    while begin < rows:
        cumulate_slots(edges, 1, blocks)
        anchor = values[begin]
        next_anchor = values[min(begin + n, rows - 1)]
        run = identity
        for t in range(blocks):
            end = begin + min(BLOCK, n - t * BLOCK)
            back = edges[t + 1]
            while end > rows:
                end -= 1
                back = combine(lift(*(values[end - n] + anchor)), back)
            if always_defined:
                run, edges[t] = sums(left, values, begin, end, n, anchor, run, back, out)
            else:  # not in a function of its own: for n = 16, 4.9 ns per row against 3.4
                total = identity  # about the anchor of the chunk that it will be needed in
                for j in range(0, end - begin - 1, 2):
                    i, w = np.uintp(begin + j), np.uintp(begin - done + j)
                    e, v = np.uintp(end - 2 - n - j), np.uintp(end - 2 - done - j)
                    prefetch(values, np.uintp(begin + j + BLOCK - n))
                    p, q = lift(*(values[i] + anchor)), lift(*(values[i + one] + anchor))
                    right[w] = combine(run, p)
                    run = combine(run, combine(p, q))
                    right[w + one] = run
                    p, q = lift(*(values[i] + next_anchor)), lift(*(values[i + one] + next_anchor))
                    total = combine(total, combine(p, q))
                    p, q = lift(*(values[e] + anchor)), lift(*(values[e + one] + anchor))
                    left[v + one] = back
                    left[v] = combine(q, back)
                    back = combine(combine(p, q), back)
                if (end - begin) % 2:
                    run = combine(run, lift(*(values[end - 1] + anchor)))
                    right[end - 1 - done] = run
                    total = combine(total, lift(*(values[end - 1] + next_anchor)))
                    left[begin - done] = back
                edges[t] = total
            if end - done >= BLOCK or end == rows:
                lower_block(left, right, float(n), out, done, end, doubtful)
                done = end
            begin = end


def sums(left, values, begin, end, n, anchor, run, back, out):
    """Write the sums of the frames that end in rows begin to end - 1; give the running sum and the block's.

    5 combines per row, four rows at a time, on plain numbers: 1.0 to 1.3 ns, against 1.4 to 1.5 as for the
    moments, and 0.8 for a mere copy of the column.
    """
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    size = end - begin
    left[size] = back
    j = size
    while j >= 4:
        j -= 4
        i, k = np.uintp(begin - n + j), np.uintp(j)
        p, q = lift(*(values[i] + anchor)), lift(*(values[i + one] + anchor))
        r, s = lift(*(values[i + two] + anchor)), lift(*(values[i + three] + anchor))
        half = combine(r, s)
        left[k + three] = combine(s, back)
        left[k + two] = combine(half, back)
        left[k + one] = combine(combine(q, half), back)
        back = combine(combine(combine(p, q), half), back)
        left[k] = back
    while j > 0:
        j -= 1
        back = combine(lift(*(values[np.uintp(begin - n + j)] + anchor)), back)
        left[np.uintp(j)] = back
    total = identity
    while j + 4 <= size:
        i, k = np.uintp(begin + j), np.uintp(j)
        prefetch(values, np.uintp(begin + j + BLOCK - n))
        p, q = lift(*(values[i] + anchor)), lift(*(values[i + one] + anchor))
        r, s = lift(*(values[i + two] + anchor)), lift(*(values[i + three] + anchor))
        half = combine(p, q)
        four_rows = combine(half, combine(r, s))
        out[i] = combine(left[k + one], combine(run, p))
        out[i + one] = combine(left[k + two], combine(run, half))
        out[i + two] = combine(left[k + three], combine(run, combine(half, r)))
        run = combine(run, four_rows)
        out[i + three] = combine(left[k + four], run)
        total = combine(total, four_rows)
        j += 4
    while j < size:
        i = np.uintp(begin + j)
        p = lift(*(values[i] + anchor))
        run = combine(run, p)
        total = combine(total, p)
        out[i] = combine(left[np.uintp(j + 1)], run)
        j += 1
    return run, total


def lower_block(left, right, count, out, begin, end, doubtful):
    """Lower the totals of rows begin to end - 1, by vector instructions."""
    results = out[begin:end]
    share = 1.0 / count
    doubt = False
    if always_defined:
        for k in range(len(results)):
            results[k] = lower(results[k], count, share)
    else:
        for k in range(len(results)):
            results[k] = lower(combine(left[np.uintp(k)], right[np.uintp(k)]), count, share)
        for k in range(len(results)):
            doubt |= results[k] != results[k]
    if doubt:
        doubtful[0] = min(doubtful[0], begin)
        doubtful[1] = end


def fill_up(edges, blocks, values, n, out, valid, doubtful):
    """Compute the first chunk, whose frames are shorter than n, and the totals of its blocks."""
    total = identity
    for i in range(n):
        total = combine(total, lift(*(values[i] + values[0])))
        if not always_defined:
            valid[i] = defined(i + 1)
        if always_defined or valid[i]:
            out[i] = lower(total, i + 1.0, 1.0 / (i + 1.0))
            if not always_defined and out[i] != out[i]:
                doubtful[0] = min(doubtful[0], i)
                doubtful[1] = i + 1
    anchor = values[min(n, len(values) - 1)]
    for t in range(blocks):
        total = identity
        for i in range(t * BLOCK, min(t * BLOCK + BLOCK, n)):
            total = combine(total, lift(*(values[i] + anchor)))
        edges[t] = total
    edges[blocks] = identity
