"""Quantiles by a partially ordered index (Wesley, Xu: Incremental Computation of Common Windowed Holistic
Aggregates, section 5, algorithms 5 to 11).

The index lists the rows of the frame, and QuickSelect orders it as far as a query needs. Three variants say
how it gets from one queried frame to the next:

    "naive"    it is made anew;
    "reuse"    rows that are still in the frame stay, in the order that earlier queries gave them;
    "replace"  as reuse, and where the frame has moved on by one row, the new row takes the place of the
               old one: if it lands on its own side of the last answer, that is the answer again, and
               nothing is selected. If not, it changes sides, the last answer moves by one position, and the
               new answer is its neighbour.

Invariant: the index holds every row of the last queried frame once, and for every position p in `placed`
the values before p are at most, and those after p at least, the value at p. Replacement therefore
looks at both neighbours of a continuous quantile, and a selection is confined to the stretch between
placed positions. The neighbour k + 1 of a placed k is the least value after it (section 5.2), found by one
scan.

With reuse the first pivot is the last answer, where its row is still in the frame: the index is ordered around it, and
a frame that has moved by one row moves the answer by one position at most. For a median of random values naive visits
2.7 n values, reuse 1.25 n, and replacement 0.25 n: a scan of half the index every other time. (The median of the first,
the middle and the last row, which the order of earlier queries makes a bad pivot, took reuse 25 n.)

With start_over=True the index is made anew, too, where more rows of the last frame leave than stay (section 5.4
suggests it): the filter would read all of them to keep the fewer.

Insert and evict: O(1), the work is left to the next query. Query: O(n), of which reuse and replacement save
a part.
"""

from collections import deque
from typing import Any, NamedTuple

from slidewise.algorithms.raw_values import OfRawValues, require_comparable, share_little, to_value
from slidewise.errors import InvalidInput

VARIANTS = ("naive", "reuse", "replace")


class QuantileIndex:
    """The index over rows of `values` (a list, or a dict by row), for frames that may move in any way."""

    __slots__ = (
        "answer",
        "asked",
        "avoided",
        "end",
        "entries",
        "index",
        "placed",
        "scans",
        "seed",
        "selects",
        "start",
        "start_over",
        "values",
        "variant",
        "visits",
    )

    def __init__(self, values: Any, variant: Any = "replace", start_over: Any = False) -> None:
        if variant not in VARIANTS:
            raise InvalidInput(f'quantile: variant must be "naive", "reuse" or "replace", got {variant!r}')
        self.values, self.variant, self.start_over = values, variant, checked_start_over(start_over, variant)
        self.index: list[int] = []
        self.start = self.end = 0
        self.placed: list[int] = []
        #: the positions that were asked for since the last move: others are not worth keeping in place
        self.asked: list[int] = []
        #: the row of the last selected value, -1 for none: the next first pivot
        self.answer = -1
        #: of the pivots, which are drawn at random: the same in every run
        self.seed = 0
        #: QuickSelects run, scans for a neighbour run, answers that needed neither; and values that were visited
        self.selects = self.scans = self.avoided = self.visits = 0
        #: entries of the index that were written, or read to tell whether their row is still in the frame
        self.entries = 0

    # ---- from frame to frame
    def move(self, start: Any, end: Any) -> None:
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
            little = self.start_over and share_little((self.start, self.end), (start, end))
            if self.variant == "naive" or end <= self.start or self.end <= start or little:
                self.index = list(range(start, end))
                self.entries += end - start
            else:
                self.entries += len(self.index) + max(0, self.start - start) + max(0, end - self.end)
                self.index = [row for row in self.index if start <= row < end]
                self.index += range(start, self.start)
                self.index += range(self.end, end)
        self.start, self.end, self.asked = start, end, []

    def replace(self, old: Any, new: Any) -> None:
        """Put row `new` where row `old` is, and across each placed position on whose other side it belongs."""
        index, value = self.index, self.values[new]
        hole = index.index(old)
        self.entries += hole + 1
        placed = sorted(p for p in self.placed if p in self.asked and p != hole)
        for n, p in enumerate(placed):
            if hole < p and self.value_at(p) < value:
                index[hole], index[p - 1], hole, placed[n] = index[p - 1], index[p], p, p - 1
        for n, p in reversed(list(enumerate(placed))):
            if p < hole and value < self.value_at(p):
                index[hole], index[p + 1], hole, placed[n] = index[p + 1], index[p], p, p + 1
        index[hole] = new
        self.placed = placed

    # ---- selection
    def kth(self, k: Any) -> Any:
        """Find the k-th smallest value of the frame, counted from 0."""
        self.asked.append(k)
        if k in self.placed:
            self.avoided += 1
        else:
            left = max((p for p in self.placed if p < k), default=-1) + 1
            right = min((p for p in self.placed if p > k), default=len(self.index))
            if k == left > 0 or k == right - 1 < len(self.index) - 1:
                self.scans += 1
                self.bring_extreme(k, left, right)
            else:
                self.quick_select(k, left, right)
            self.placed.append(k)
        return self.value_at(k)

    def value_at(self, position: Any) -> Any:
        return self.values[self.index[position]]

    def bring_extreme(self, k: Any, left: Any, right: Any) -> None:
        """Place the first or the last position of left to right - 1: its least or greatest value, by one scan."""
        self.visits += right - left
        found = (min if k == left else max)(range(left, right), key=self.value_at)
        self.index[k], self.index[found] = self.index[found], self.index[k]

    def quick_select(self, k: Any, left: Any, right: Any) -> None:
        """Place position k within left to right - 1. O(right - left) expected."""
        self.selects += 1
        whole = right - left == len(self.index)
        known = whole and self.variant != "naive" and self.start <= self.answer < self.end
        pivot = self.values[self.answer] if known else self.median_of_three(left, right)
        while k != left and k != right - 1:
            first, last = self.partition(left, right, pivot)
            if k < first:
                right = first
            elif k >= last:
                left = last
            else:
                break
            pivot = self.median_of_three(left, right)
        else:
            self.bring_extreme(k, left, right)
        self.answer = self.index[k]

    def median_of_three(self, left: Any, right: Any) -> Any:
        """Take the median of three values drawn at random."""
        drawn = []
        for _ in range(3):
            self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX
            drawn.append(self.value_at(left + (self.seed >> 32) % (right - left)))
        return sorted(drawn)[1]

    def partition(self, left: Any, right: Any, pivot: Any) -> Any:
        """Order the stretch around a pivot; returns where the values equal to it begin and end.

        Only what is out of place moves: less and greater values by pairs, and equal ones to both ends and from there to
        the middle (Bentley, McIlroy: Engineering a Sort Function). The paper's partition keeps no group of equal
        values, which makes a stretch of equal ones quadratic; and it returns the pivot's old place where its new one is
        meant.
        """
        self.visits += right - left
        values, index = self.values, self.index
        a = i = left
        d = j = right - 1
        while True:
            while i <= j and not pivot < (value := values[index[i]]):
                if not value < pivot:
                    index[a], index[i] = index[i], index[a]
                    a += 1
                i += 1
            while i <= j and not (value := values[index[j]]) < pivot:
                if not pivot < value:
                    index[d], index[j] = index[j], index[d]
                    d -= 1
                j -= 1
            if i > j:
                break
            index[i], index[j] = index[j], index[i]
            i += 1
            j -= 1
        first, last = left + i - a, right - (d - j)
        n = min(a - left, i - a)
        index[left : left + n], index[i - n : i] = index[i - n : i], index[left : left + n]
        n = min(right - 1 - d, d - j)
        index[i : i + n], index[right - n : right] = index[right - n : right], index[i : i + n]
        return first, last

    def check(self) -> None:
        assert sorted(self.index) == list(range(self.start, self.end))
        held = [self.values[row] for row in self.index] if self.placed else []
        for p in self.placed:
            assert all(not held[p] < v for v in held[:p]) and all(not v < held[p] for v in held[p + 1 :])


def checked_start_over(start_over: Any, variant: Any) -> bool:
    if type(start_over) is not bool:
        raise InvalidInput(f"start_over must be True or False, got {start_over!r}")
    if start_over and variant == "naive":
        raise InvalidInput('start_over: variant="naive" starts over with every frame. Use another variant')
    return start_over


class State(NamedTuple):
    queue: deque[Any]
    #: the keys that are not null, by row
    rows: dict[int, Any]
    start: int
    end: int
    order: QuantileIndex


MIXINS = (OfRawValues,)


def setup(s: Any, variant: Any = "replace", start_over: Any = False) -> None:
    s.queue = deque()
    s.rows = {}
    s.order = QuantileIndex(s.rows, variant, start_over)


def insert(s: Any, key: Any) -> None:
    """O(1)."""
    if key is not None:
        if s.rows:
            require_comparable(key, s.rows[s.start])
        s.rows[s.end] = key
        s.end += 1
    s.queue.append(key)


def evict(s: Any) -> None:
    """O(1)."""
    if s.queue.popleft() is not None:
        del s.rows[s.start]
        s.start += 1


def query(s: Any, *argument: Any) -> Any:
    """O(n), less where the last query's work can be reused."""
    s.order.move(s.start, s.end)
    return s.aggregation.select(s.end - s.start, lambda k: to_value(s.order.kth(k)), *argument)


def size(s: Any) -> Any:
    return len(s.queue)


def count_held(s: Any) -> Any:
    return len(s.rows)


def check(s: Any, keys: Any) -> None:
    assert list(s.rows.values()) == keys
    assert list(s.rows) == list(range(s.start, s.end))
    if s.order.start == s.start and s.order.end == s.end:
        s.order.check()
    else:  # rows that have left are gone: only that the index is whole
        assert sorted(s.order.index) == list(range(s.order.start, s.order.end))
