"""SBA over columns by vectors, for partials that combine by arithmetic alone: numbers, or tuples of them.

Blocks as in _sba_blocks.py. The running totals of eight rows come from three combines of vectors, each with itself
moved by 1, 2 and 4 lanes, and one more adds what came before; so what rows wait for is one combine for eight of them.
ns per row in the cache, here and by sba.py (AVX-512): sum 0.3 and 0.6, maximum 0.3 and 1.6, standard deviation 1.0 and
1.7; for 16 rows a frame, which run_few has, sum and maximum 0.16.

What lost: totals of 2, 4, 8 and so on rows by loops over blocks in memory, which LLVM makes vectors of by itself (sum,
16 rows a frame: 0.4), and NaN in the maximum, which takes four instructions to compare instead of one (1.5): columns
with NaN go by sba.py.
"""

from slidewise.algorithms import _sba_blocks
from slidewise.algorithms._sba_blocks import fill_up
from slidewise.algorithms.sba import cumulate_slots
from slidewise.templates.names import (
    always_defined,
    combine,
    defined,
    fetch,
    first_lane,
    lanes,
    lift,
    load_lanes,
    lower,
    pin_columns,
    selective,
    shift,
    spread,
    spread_lane,
    store_lanes,
    widen,
    zip_columns,
)

USES = (_sba_blocks,)

#: rows of a block
BLOCK = 512

#: How many rows ahead memory is asked for, which by itself knows what follows only within 4 KB. Sums of 10 million
#: rows: 0.45 ns a row at n = 1,000, and 0.52 without; 0.49 at n = 10,000, and 0.85.
AHEAD = 512

#: frames of fewer rows go by run_few
FEW = 32


def room(n: int) -> tuple[int, int, int]:
    """Count the slots of the three work arrays: what is left of a block, totals that wait, and totals of blocks."""
    return BLOCK + 1, 2 * BLOCK, 2 - (-n // BLOCK)


def run_counted(left, waiting, edges, none, values, n, out, valid, doubtful):
    """As in sba.py; the work arrays have room(n) slots, and one array for each field of a partial.

    none[0] is the identity, from memory: of a zero that it knows LLVM makes shifts that take three times as long.
    """
    rows = len(values[0])
    n = max(1, min(n, rows))
    blocks = -(-n // BLOCK)
    fill_up(zip_columns(edges), blocks, zip_columns(values), n, out, valid, doubtful)
    valid[n:] = defined(n)
    left, waiting, edges, values = pin_columns(left), pin_columns(waiting), pin_columns(edges), pin_columns(values)
    results = pin_columns(out)
    none = pin_columns(none)[0]
    count, share = float(n), 1.0 / n
    done = n  # the first row whose result is to come
    begin = n if defined(n) else rows
    while begin < rows:
        cumulate_slots(edges, 1, blocks)
        anchor = values[begin]
        next_anchor = values[min(begin + n, rows - 1)]
        run = none
        for t in range(blocks):
            end = begin + min(BLOCK, n - t * BLOCK)
            back = edges[t + 1]
            while end > rows:
                end -= 1
                back = combine(lift(*(values[end - n] + anchor)), back)
            cumulate_left(left, values, begin - n, end - begin, anchor, back, none)
            if always_defined:
                run = merge(left, values, begin, end - begin, anchor, run, none, results, results, begin, count, share)
            else:
                to = begin - done
                run = merge(left, values, begin, end - begin, anchor, run, none, results, waiting, to, count, share)
            if blocks > 1:
                edges[t] = add_up(values, begin, end - begin, next_anchor, none)
            if not always_defined and (end - done >= BLOCK or end == rows):
                lower_block(waiting, count, results, done, end, doubtful)
                done = end
            begin = end


def cumulate_left(left, values, first, size, anchor, back, none):
    """left[k] is the total of rows first + k to first + size - 1, and of what comes after them."""
    left[size] = back
    after, nothing = spread(back), spread(none)
    k = size
    while k >= lanes:
        k -= lanes
        p = widen(lift(*(load_lanes(values, first + k) + anchor)), none)
        p = combine(p, shift(p, -1, nothing))
        p = combine(p, shift(p, -2, nothing))
        p = combine(p, shift(p, -4, nothing))
        store_lanes(left, k, combine(p, after))
        after = combine(spread_lane(p, 0), after)
    back = first_lane(after)
    while k > 0:
        k -= 1
        back = combine(lift(*(values[first + k] + anchor)), back)
        left[k] = back


def merge(left, values, first, size, anchor, run, none, results, out, to, count, share):
    """Write the frames that end in rows first to first + size - 1 to out[to], out[to + 1]...; return the running total.

    Where all are defined, what is written are results, and else totals, to be lowered to results[first] and so on.
    """
    before, nothing = spread(run), spread(none)
    k = 0
    while k + lanes <= size:
        p = widen(lift(*(load_lanes(values, first + k) + anchor)), none)
        p = combine(shift(p, 1, nothing), p)
        p = combine(shift(p, 2, nothing), p)
        p = combine(shift(p, 4, nothing), p)
        total = combine(load_lanes(left, k + 1), combine(before, p))
        before = combine(before, spread_lane(p, -1))
        fetch(values, first + k + AHEAD, 0)
        fetch(results, first + k + AHEAD, 1)
        store_lanes(out, to + k, lower(total, count, share) if always_defined else total)
        k += lanes
    run = first_lane(before)
    while k < size:
        run = combine(run, lift(*(values[first + k] + anchor)))
        total = combine(left[k + 1], run)
        out[to + k] = lower(total, count, share) if always_defined else total
        k += 1
    return run


def add_up(values, first, size, anchor, none):
    """Compute the total of some rows. Where one of them is chosen, the first lane has all rows so far, in their order:
    of equal zeros the earlier one counts. Sums are of any order."""
    totals, nothing = spread(none), spread(none)
    k = 0
    while k + lanes <= size:
        p = widen(lift(*(load_lanes(values, first + k) + anchor)), none)
        if selective:
            p = combine(p, shift(p, -1, nothing))
            p = combine(p, shift(p, -2, nothing))
            p = combine(p, shift(p, -4, nothing))
        totals = combine(totals, p)
        k += lanes
    totals = combine(totals, shift(totals, -4, nothing))
    totals = combine(totals, shift(totals, -2, nothing))
    total = first_lane(combine(totals, shift(totals, -1, nothing)))
    while k < size:
        total = combine(total, lift(*(values[first + k] + anchor)))
        k += 1
    return total


def lower_block(waiting, count, out, begin, end, doubtful):
    """Lower the totals of rows begin to end - 1."""
    share = 1.0 / count
    doubt = False
    for k in range(end - begin):
        out[begin + k] = lower(waiting[k], count, share)
    for k in range(begin, end):
        doubt |= out[k] != out[k]
    if doubt:
        doubtful[0] = min(doubtful[0], begin)
        doubtful[1] = end


def run_few(none, values, n, out, valid):
    """As run_counted, for fewer than FEW rows a frame, and aggregations whose every count has a result.

    Totals of 2, 4 and 8 rows are made from each other, and n is 0, 8, 16 or 24 rows and a rest. All of it stays in
    registers, and no row waits for another one.
    """
    rows = len(values[0])
    n = max(1, min(n, rows))
    values, results, identity = pin_columns(values), pin_columns(out), pin_columns(none)[0]
    anchor = values[0]
    count, share = float(n), 1.0 / n
    nothing = spread(identity)
    before = (nothing, nothing, nothing)  # totals of 1, 2 and 4 rows that end in the vector before
    eights = rests = (nothing, nothing, nothing)  # those of 8 rows and of n % 8, one, two and three vectors before
    k = 0
    while k + lanes <= rows if lanes > 1 else False:
        one = widen(lift(*(load_lanes(values, k) + anchor)), identity)
        two = combine(shift(one, 1, before[0]), one)
        four = combine(shift(two, 2, before[1]), two)
        eight = combine(shift(four, 4, before[2]), four)
        rest = nothing
        if n & 4:
            rest = four
            if n & 2:
                rest = combine(shift(two, 4, before[1]), rest)
                if n & 1:
                    rest = combine(shift(one, 6, before[0]), rest)
            elif n & 1:
                rest = combine(shift(one, 4, before[0]), rest)
        elif n & 2:
            rest = two
            if n & 1:
                rest = combine(shift(one, 2, before[0]), rest)
        elif n & 1:
            rest = one
        if n < 8:
            total = rest
        elif n < 16:
            total = combine(rests[0], eight)
        elif n < 24:
            total = combine(rests[1], combine(eights[0], eight))
        else:
            total = combine(rests[2], combine(eights[1], combine(eights[0], eight)))
        store_lanes(results, k, lower(combine(nothing, total), count, share))
        fetch(values, k + AHEAD, 0)
        fetch(results, k + AHEAD, 1)
        before = (one, two, four)
        eights, rests = (eight, eights[0], eights[1]), (rest, rests[0], rests[1])
        k += lanes
    for i in range(max(k, n - 1), rows):
        total = identity
        for j in range(i - n + 1, i + 1):
            total = combine(total, lift(*(values[j] + anchor)))
        results[i] = lower(total, count, share)
    total = identity
    for i in range(n - 1):
        total = combine(total, lift(*(values[i] + anchor)))
        results[i] = lower(total, i + 1.0, 1.0 / (i + 1.0))
    valid[:] = True
