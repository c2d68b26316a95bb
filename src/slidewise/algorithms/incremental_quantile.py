"""Quantiles by a partially ordered index (Wesley, Xu: Incremental Computation of Common Windowed Holistic
Aggregates, section 5, algorithms 5 to 11).

The index lists the rows of the frame, and QuickSelect orders it as far as a query needs. Three variants say
how it gets from one queried frame to the next:

    "naive"    it is made anew;
    "reuse"    rows that are still in the frame stay, in the order that earlier queries gave them;
    "replace"  as reuse, and where the frame has moved on by one row, the new row takes the place of the
               old one: if it lands on its own side of the last answer, that is the answer again, and
               nothing is selected.

Invariant: the index holds every row of the last queried frame once, and for every position p in `placed`
the values before p are at most, and those after p at least, the value at p. Replacement is therefore
checked for both neighbours of a continuous quantile, and a selection is confined to the stretch between
placed positions. The neighbour k + 1 of a placed k is the least value after it (section 5.2), found by one
scan.

Insert and evict: O(1), the work is left to the next query. Query: O(n), of which reuse and replacement save
a part.
"""

from collections import deque
from typing import Any, NamedTuple

from slidewise.algorithms.raw_values import OfRawValues, require_comparable, to_value
from slidewise.errors import InvalidInput

VARIANTS = ("naive", "reuse", "replace")


class QuantileIndex:
    """The index over rows of `values` (a list, or a dict by row), for frames that may move in any way."""

    __slots__ = ("avoided", "end", "index", "placed", "scans", "selects", "start", "values", "variant")

    def __init__(self, values, variant="replace"):
        if variant not in VARIANTS:
            raise InvalidInput(f'quantile: variant must be "naive", "reuse" or "replace", got {variant!r}')
        self.values, self.variant = values, variant
        self.index = []
        self.start = self.end = 0
        self.placed = []
        #: QuickSelects run, scans for a neighbour run, and answers that needed neither
        self.selects = self.scans = self.avoided = 0

    # ---- from frame to frame
    def move(self, start, end):
        """Let the index hold rows start to end - 1. O(n), and O(1) where the frame is the last one."""
        if start >= end:
            start = end = self.end
        same_size = end - start == self.end - self.start
        if same_size and start == self.start and self.variant != "naive":
            return
        if self.variant == "replace" and same_size and start == self.start + 1 < self.end:
            self.replace(self.start, end - 1)
        else:
            self.placed = []
            if self.variant == "naive" or end <= self.start or self.end <= start:
                self.index = list(range(start, end))
            else:
                self.index = [row for row in self.index if start <= row < end]
                self.index += range(start, self.start)
                self.index += range(self.end, end)
        self.start, self.end = start, end

    def replace(self, old, new):
        """Put row `new` where row `old` is; positions whose order that breaks are no longer placed."""
        hole = self.index.index(old)
        self.index[hole] = new
        value = self.values[new]
        self.placed = [p for p in self.placed if p != hole and self.on_its_side(value, hole, p)]

    def on_its_side(self, value, hole, p):
        pivot = self.values[self.index[p]]
        return not value < pivot if p < hole else not pivot < value

    # ---- selection
    def kth(self, k):
        """The k-th smallest value of the frame, counted from 0."""
        if k in self.placed:
            self.avoided += 1
        else:
            left = max((p for p in self.placed if p < k), default=-1) + 1
            right = min((p for p in self.placed if p > k), default=len(self.index))
            if k == left > 0:
                self.bring(k, min(range(left, right), key=self.value_at))
            elif k == right - 1 < len(self.index) - 1:
                self.bring(k, max(range(left, right), key=self.value_at))
            else:
                self.quick_select(k, left, right)
            self.placed.append(k)
        return self.value_at(k)

    def value_at(self, position):
        return self.values[self.index[position]]

    def bring(self, k, position):
        self.scans += 1
        self.index[k], self.index[position] = self.index[position], self.index[k]

    def quick_select(self, k, left, right):
        """Place position k within left to right - 1. O(right - left) expected."""
        self.selects += 1
        while right - left > 1:
            first, last = self.partition(left, right)
            if k < first:
                right = first
            elif k >= last:
                left = last
            else:
                return

    def partition(self, left, right):
        """Order the stretch around a pivot, the median of three; returns where the values equal to it begin
        and end.

        The paper's partition keeps no group of equal values, which makes a stretch of equal ones quadratic;
        and it returns the pivot's old place where its new one is meant.
        """
        values, index = self.values, self.index
        a, b, c = values[index[left]], values[index[(left + right) // 2]], values[index[right - 1]]
        pivot = sorted((a, b, c))[1]
        less, more, i = left, right, left
        while i < more:
            row = index[i]
            value = values[row]
            if value < pivot:
                index[i], index[less] = index[less], row
                less += 1
                i += 1
            elif pivot < value:
                more -= 1
                index[i], index[more] = index[more], row
            else:
                i += 1
        return less, more

    def check(self):
        assert sorted(self.index) == list(range(self.start, self.end))
        held = [self.values[row] for row in self.index] if self.placed else []
        for p in self.placed:
            assert all(not held[p] < v for v in held[:p]) and all(not v < held[p] for v in held[p + 1 :])


class State(NamedTuple):
    queue: deque[Any]
    #: the keys that are not null, by row
    rows: dict[int, Any]
    start: int
    end: int
    order: QuantileIndex


MIXINS = (OfRawValues,)


def setup(s, variant="replace"):
    s.queue = deque()
    s.rows = {}
    s.order = QuantileIndex(s.rows, variant)


def insert(s, key):
    """O(1)."""
    if key is not None:
        if s.rows:
            require_comparable(key, s.rows[s.start])
        s.rows[s.end] = key
        s.end += 1
    s.queue.append(key)


def evict(s):
    """O(1)."""
    if s.queue.popleft() is not None:
        del s.rows[s.start]
        s.start += 1


def query(s, *argument):
    """O(n), less where the last query's work can be reused."""
    s.order.move(s.start, s.end)
    return s.aggregation.select(s.end - s.start, lambda k: to_value(s.order.kth(k)), *argument)


def size(s):
    return len(s.queue)


def held(s):
    return len(s.rows)


def check(s, keys):
    assert list(s.rows.values()) == keys
    assert list(s.rows) == list(range(s.start, s.end))
    if s.order.start == s.start and s.order.end == s.end:
        s.order.check()
    else:  # rows that have left are gone: only that the index is whole
        assert sorted(s.order.index) == list(range(s.order.start, s.order.end))
