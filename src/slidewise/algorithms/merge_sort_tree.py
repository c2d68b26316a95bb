"""The merge sort tree (Vogelsgesang, Neumann, Leis, Kemper: Efficient Evaluation of Arbitrarily-Framed Holistic SQL
Aggregates and Window Functions): ranks, distinct values and percentiles of any frames of a column that stands still.

Level k has the keys of all rows in runs of 2^k, each run sorted: level 0 is the column, and each level is one step of
a merge sort, kept. Invariant: run j of level k has the keys of rows j 2^k to (j + 1) 2^k - 1, in order. A frame is at
most two runs of each level; what the keys are decides what is asked:

    rank            the values: how many in the frame are below that of the row
    count distinct  the row of the same value before (counted from 1, 0 for none): as many values are different as rows
                    of the frame have that row before the frame
    sum distinct    the same, and with each place of a run the partial of all rows up to it: the rows that count are
                    the first ones of a run, so that one partial of each run is combined
    percentile      the rows in the order of their values, where a run has the rows of neighbouring values: how many of
                    the left half's rows lie in the frame tells in which half the k-th smallest is

The last goes from the top level, where the rows stand in order, down to one value, and needs no search: `took` tells
how many of a run's first rows came from its left half (fractional cascading). The others go up from the frame's bounds
with a binary search in each run. Cascading there, from the one or two runs that hold the frame, lost: 80 ns a frame
for 50 with frames of 16 rows, 302 for 316 with 1,000, and 1,636 for 967 with 100,000, since each step of a path reads
memory far from the last, and a search ends in one place.

n rows, frames of w: building takes n log2(w) comparisons, and as many combines where there are partials; for
percentiles n log2(n). A frame takes at most (log2(w) + 1) (log2(w) + 2) comparisons, and two combines a level; a
percentile two readings of `took` for each of log2(n) levels. Space: n keys for each of log2(w) levels, log2(n) for
percentiles.

The functions run interpreted over lists, and compiled over arrays (slidewise.columns.holistic.merge_tree).
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from slidewise.aggregations.ranks import OrderStatistic
from slidewise.algorithms.raw_values import to_key, to_value
from slidewise.errors import InvalidInput
from slidewise.templates.names import combine, defined, identity, lift, lower, zip_columns

#: a key of a distinct value has the row before it above these bits, and its own row in them
ROW_BITS = 32


# ---- building
def depth_for(rows):
    """Count the levels above the first that frames of so many rows need."""
    return max(0, int(rows).bit_length() - 1)


def merge_runs(levels, took, n, depth):
    """Fill the levels above the first, each by merging the runs of the one below: fewer than n comparisons a level.

    Level k begins at k n; where `levels` has room for two levels only, at 0 and n by turns. `took`, unless it is empty,
    gets for each place the number of keys up to it that came from the left half of its run.
    """
    kept = len(levels) // max(1, n)
    for k in range(1, depth + 1):
        below, here, half = (k - 1) % kept * n, k % kept * n, 1 << (k - 1)
        for first in range(0, n, 2 * half):
            i, j = first, first + half
            middle, last = min(n, first + half), min(n, first + 2 * half)
            for place in range(first, last):
                if j >= last or (i < middle and not levels[below + j] < levels[below + i]):
                    levels[here + place] = levels[below + i]
                    i += 1
                else:
                    levels[here + place] = levels[below + j]
                    j += 1
                if len(took):
                    took[k * n + place] = i - first


def fold_runs(prefixes, levels, values, n, depth):
    """Fill in the partial of each run's rows up to each place: fewer than n combines a level."""
    for k in range(depth + 1):
        for place in range(n):
            row = levels[k * n + place] & ((1 << ROW_BITS) - 1)
            partial = lift(*values[row])
            if place & ((1 << k) - 1):
                partial = combine(prefixes[k * n + place - 1], partial)
            prefixes[k * n + place] = partial


def distinct_keys(following: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Allocate the levels and no `took`: level 0 has the row before each row, counted from 1, and below it the row.

    `following` is the next row with the same value, or the number of rows.
    """
    n = len(following)
    rows, levels = np.arange(n), np.empty((depth + 1) * n, np.int64)
    again = following < n
    levels[:n] = rows
    levels[following[again]] += (rows[again] + 1) << ROW_BITS
    return levels, levels[:0]


# ---- asking
def search(levels, first, size, bound):
    """Count the keys below `bound` in the run of `size` keys, a power of two. log2(size) + 1 comparisons."""
    place = first
    while size > 1:
        size >>= 1
        if levels[place + size - 1] < bound:
            place += size
    if levels[place] < bound:
        place += 1
    return place - first


def count_below(levels, n, start, end, bound):
    """Count the keys below `bound` of rows start to end - 1."""
    count = k = 0
    while start < end:
        if start & 1:
            count += search(levels, k * n + (start << k), 1 << k, bound)
            start += 1
        if end & 1:
            end -= 1
            count += search(levels, k * n + (end << k), 1 << k, bound)
        start >>= 1
        end >>= 1
        k += 1
    return count


def fold_below(prefixes, levels, n, start, end, bound):
    """Combine the partials of rows start to end - 1 whose keys are below `bound`."""
    total, k = identity, 0
    while start < end:
        if start & 1:
            total = combine(total, up_to(prefixes, levels, k * n + (start << k), 1 << k, bound))
            start += 1
        if end & 1:
            end -= 1
            total = combine(total, up_to(prefixes, levels, k * n + (end << k), 1 << k, bound))
        start >>= 1
        end >>= 1
        k += 1
    return total


def up_to(prefixes, levels, first, size, bound):
    """Take the partial of the keys below `bound` in a run."""
    count = search(levels, first, size, bound)
    return prefixes[first + count - 1] if count else identity


def select(took, n, depth, start, end, k):
    """Find the place, in the order of values, of the k-th smallest of rows start to end - 1, counted from 0."""
    first = 0
    for level in range(depth, 0, -1):
        before = took[level * n + first + start - 1] if start else 0
        within = (took[level * n + first + end - 1] if end else 0) - before
        if k < within:
            start, end = before, before + within
        else:
            k -= within
            start, end = start - before, end - before - within
            first += 1 << (level - 1)
    return first


# ---- over columns
def run_count(levels, took, n, depth, start, end, bounds, out):
    """Count for every frame the keys below its bound; level 0 is there, the others are built."""
    merge_runs(levels, took, n, depth)
    for i in range(len(start)):
        out[i] = count_below(levels, n, start[i], end[i], bounds[i])


def run_select(levels, took, n, depth, start, end, k, out):
    """Find the places of the k-th smallest values of frames; a k below 0 is none. Level 0 is the rows by value."""
    merge_runs(levels, took, n, depth)
    for i in range(len(start)):
        if k[i] >= 0:
            out[i] = select(took, n, depth, start[i], end[i], k[i])


def run_distinct(prefixes, levels, took, depth, values, start, end, out, valid):
    """Aggregate the different values of every frame; level 0 has the row before each row and, below, the row itself."""
    values, prefixes, results = zip_columns(values), zip_columns(prefixes), zip_columns(out)
    n = len(values)
    merge_runs(levels, took, n, depth)
    fold_runs(prefixes, levels, values, n, depth)
    for i in range(len(start)):
        if start[i] < end[i]:
            total = fold_below(prefixes, levels, n, start[i], end[i], (start[i] + 1) << ROW_BITS)
            valid[i] = defined(total)
            if valid[i]:
                results[i] = lower(total)


# ---- over any values that can be ordered
class MergeSortTree:
    """Ranks, distinct counts and order statistics of any frames of some values, which may be any that have an order.

    >>> from slidewise.algorithms.merge_sort_tree import MergeSortTree
    >>> tree = MergeSortTree([5, 1, 4, None, 1, 3])
    >>> tree.nth_smallest(1, 0, 4), tree.count_distinct(1, 5), tree.rank(5, 2, 6)
    (4, 2, 2)

    Frames are rows start to end - 1. Nulls are in no frame, NaN is above every number.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        keys = [to_key(value) for value in values]
        self.rows = len(keys)
        #: the rows that are not null; all else counts among these
        self.present = [row for row, key in enumerate(keys) if key is not None]
        self.keys = [keys[row] for row in self.present]
        n = len(self.keys)
        self.order = sorted(range(n), key=self.keys.__getitem__)
        ranks, previous, last = [0] * n, [0] * n, dict[Any, int]()
        for place, row in enumerate(self.order):
            same = place > 0 and not self.keys[self.order[place - 1]] < self.keys[row]
            ranks[row] = ranks[self.order[place - 1]] if same else place
        for row, rank in enumerate(ranks):
            previous[row] = last.get(rank, 0)
            last[rank] = row + 1
        #: the levels of ranks, and of rows before; both for frames of any length
        self.by_rank, _ = self._build(ranks, depth_for(n))
        self.by_previous, _ = self._build(previous, depth_for(n))
        #: one level more where n is no power of two: its top is a single run
        self.depth = max(0, n - 1).bit_length()
        self.by_value, self.took = self._build(self.order, self.depth)

    @staticmethod
    def _build(keys: list[int], depth: int) -> tuple[list[int], list[int]]:
        n = len(keys)
        levels, took = keys + [0] * (depth * n), [0] * ((depth + 1) * n)
        merge_runs(levels, took, n, depth)
        return levels, took

    def rank(self, row: int, start: int, end: int) -> int:
        """Rank a row in a frame as SQL does: 1 and as many as the frame has lower values. O(log^2 n)."""
        if not 0 <= row < self.rows:
            raise InvalidInput(f"rank: there are rows 0 to {self.rows - 1}, got {row}")
        at = bisect_left(self.present, row)
        if at == len(self.present) or self.present[at] != row:
            raise InvalidInput(f"rank: row {row} is null, and has no place in the order of values")
        n = len(self.keys)
        return 1 + int(count_below(self.by_rank, n, *self.frame(start, end), self.by_rank[at]))

    def count_distinct(self, start: int, end: int) -> int:
        """Count the different values of a frame. O(log^2 n)."""
        start, end = self.frame(start, end)
        return int(count_below(self.by_previous, len(self.keys), start, end, start + 1))

    def nth_smallest(self, k: int, start: int, end: int) -> Any:
        """Find the k-th smallest value of a frame, counted from 0; None where it has fewer. O(log n)."""
        start, end = self.frame(start, end)
        if not 0 <= k < end - start:
            return None
        place = select(self.took, len(self.keys), self.depth, start, end, k)
        return to_value(self.keys[self.order[place]])

    def order_statistic(self, rule: OrderStatistic, start: int, end: int) -> Any:
        """Compute a percentile, or another order statistic, of a frame. O(log n)."""
        first, last = self.frame(start, end)
        return rule.select(last - first, lambda k: self.nth_smallest(k, start, end))

    def frame(self, start: int, end: int) -> tuple[int, int]:
        """Count a frame's bounds among the rows that are not null."""
        if start < end and not (start >= 0 and end <= self.rows):
            raise InvalidInput(f"frames: rows {start} to {end - 1} were asked for, and there are 0 to {self.rows - 1}")
        return bisect_left(self.present, start), bisect_left(self.present, max(start, end))

    def check(self) -> None:
        """Verify that every run is sorted and has the keys of its rows, and what its left half gave; for tests."""
        n = len(self.keys)
        for levels in (self.by_rank, self.by_previous, self.by_value):
            for k in range(1, len(levels) // n if n else 0):
                for first in range(0, n, 1 << k):
                    last = min(n, first + (1 << k))
                    assert levels[k * n + first : k * n + last] == sorted(levels[first:last]), (k, first)
        for k in range(1, self.depth + 1):
            for first in range(0, n, 1 << k):
                middle, last = min(n, first + (1 << (k - 1))), min(n, first + (1 << k))
                left = set(self.order[first:middle])
                run = self.by_value[k * n + first : k * n + last]
                taken = [sum(row in left for row in run[: i + 1]) for i in range(len(run))]
                assert self.took[k * n + first : k * n + last] == taken, (k, first)
        assert self.by_value[self.depth * n :] == list(range(n))
