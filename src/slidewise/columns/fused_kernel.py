"""Several aggregations over the same trailing rows in one pass: SBA (see sba.py) whose partials are those of all.

A row is read once, and what each aggregation waits for, its own last result, is waited for together: max, min, sum, avg
and stddev of 5 million rows take 5 ns a row, one after the other 9.
"""

import numpy as np

from slidewise.templates.names import (
    always_defined,
    combine,
    defined,
    identity,
    lift,
    postpone,
    prefetch,
    write,
    write_one,
    write_postponed,
    zip_columns,
)

#: rows whose postponed totals are lowered at once
BLOCK = 512


def run(work, totals, values, n, now, later, doubtful):
    """Write to now[k][i] and later[k][i] the results of row i and the n - 1 rows before it, fewer at the start.

    lift(*row, *anchor), count and share are as in sba.run_counted. Results in `now` are written row by row, those in
    `later` from totals that wait until there is a block of them; always_defined: there are none of these. Rows
    doubtful[0] to doubtful[1] - 1 are those among which they are NaN. work: 2 n + 2 partials; totals: 2 BLOCK.

    3 combines per row. What lost, for max, min, sum, avg and stddev: means that wait too, to be divided by vector
    instructions (5.3 ns a row against 5.1), one loop for the extremes and one for the sums (5.3 against 4.8), and
    partials in a column for each field instead of records (7.2 against 5.1).
    """
    values = zip_columns(values)
    left = zip_columns(work)
    waiting = zip_columns(totals)
    rows = len(values)
    n = max(1, min(n, rows))
    last, this = 0, n + 1  # as in sba.run_rows
    left[n] = identity
    left[2 * n + 1] = identity
    fill_up(left, values, n, now, later, doubtful)
    count, share = float(n), 1.0 / n
    done = n  # the first row whose total waits
    for first in range(n, rows, n):
        anchor = values[first]
        next_anchor = values[min(first + n, rows - 1)]
        right = identity
        back = identity
        stop = min(n, rows - first)
        begin = 0
        while begin < stop:
            end = stop if always_defined else min(stop, begin + BLOCK)
            for j in range(begin, end):
                i = np.uintp(first + j)
                prefetch(values, np.uintp(i + n))
                right = combine(right, lift(*(values[i] + anchor)))
                total = combine(left[np.uintp(last + j + 1)], right)
                write(now, i, total, count, share)
                if not always_defined:
                    waiting[i - np.uintp(done)] = postpone(total)
                k = np.uintp(stop - 1 - j)
                back = combine(lift(*(values[np.uintp(first) + k] + next_anchor)), back)
                left[np.uintp(this) + k] = back
            if not always_defined and (first + end - done >= BLOCK or first + end == rows):
                if write_postponed(later, done, first + end, waiting, count, share):
                    doubtful[0] = min(doubtful[0], done)
                    doubtful[1] = first + end
                done = first + end
            begin = end
        last, this = this, last


def fill_up(left, values, n, now, later, doubtful):
    """Compute the first chunk, whose frames are shorter than n, and its left-cumulative partials."""
    total = identity
    for i in range(n):
        total = combine(total, lift(*(values[i] + values[0])))
        count, share = i + 1.0, 1.0 / (i + 1.0)
        write(now, np.uintp(i), total, count, share)
        if not always_defined and defined(i + 1) and write_one(later, np.uintp(i), postpone(total), count, share):
            doubtful[0] = min(doubtful[0], i)
            doubtful[1] = i + 1
    total = identity
    for i in range(n - 1, -1, -1):
        total = combine(lift(*(values[i] + values[min(n, len(values) - 1)])), total)
        left[i] = total
