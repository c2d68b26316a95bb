"""Incremental count distinct (Wesley, Xu: Incremental Computation of Common Windowed Holistic Aggregates,
algorithm 2).

A table from value to count is kept while the window moves; the answer is the number of counts that are not
zero. A value that has left keeps its entry with a count of zero, since it is likely to come back, until the
live share of the table has fallen to `tau`: then the zeros are flushed. A flush visits at most live / tau
entries, 1 - tau of which were made by an eviction each: with tau below 1 all operations are O(1) amortised.
tau = 0 never flushes before the window is empty, tau = 1 keeps no zeros at all.

tau cannot tell values that never come back from a window that is small beside the number of different values:
10 rows of 100 values flush again and again, for a table that would never have more than 100 entries. A table
of fewer than `floor` entries is therefore not flushed (section 3.3 suggests it, up to half of a cache: FLOOR
is a good one). It is 0 unless given, which is the paper's algorithm.

Invariant: counts[v] is the number of v in the window, `live` the number of counts above zero, and live >
tau * |counts|, or there are no zeros, or fewer than `floor` of them. The paper's increment does not count a
value again that comes back to a count of zero; ours does.
"""

from collections import deque
from typing import Any, NamedTuple

from slidewise.aggregations.values import hashable
from slidewise.algorithms.raw_values import OfCountedValues
from slidewise.errors import InvalidInput

#: the paper's choice (section 6.4)
TAU = 0.25
#: entries below which a table is not worth flushing: half of a first-level cache of 64 KiB, at 8 bytes each
FLOOR = 4096


class DistinctCounter:
    """The table; values may come and go in any order."""

    __slots__ = ("counts", "floor", "flushes", "live", "tau")

    def __init__(self, tau: Any = TAU, floor: Any = 0) -> None:
        self.counts: dict[Any, int] = {}
        self.live = 0
        self.tau, self.floor = checked_tau(tau), checked_floor(floor)
        self.flushes = 0

    def add(self, value: Any) -> None:
        """O(1)."""
        count = self.counts.get(value, 0)
        self.counts[value] = count + 1
        if count == 0:
            self.live += 1

    def remove(self, value: Any) -> None:
        """O(1) amortised."""
        count = self.counts[value] = self.counts[value] - 1
        if count == 0:
            self.live -= 1
            if is_mostly_empty(self, self.tau, self.floor):
                self.flush()

    def flush(self) -> None:
        """Forget the values whose count is zero."""
        self.counts = {value: count for value, count in self.counts.items() if count}
        self.flushes += 1

    def check(self, values: Any) -> None:
        found: dict[Any, int] = {}
        for value in values:
            found[value] = found.get(value, 0) + 1
        assert {value: count for value, count in self.counts.items() if count} == found
        assert self.live == len(found)
        zeros = len(self.counts) - self.live
        assert self.live > self.tau * len(self.counts) or zeros == 0 or zeros < self.floor


def is_mostly_empty(table: Any, tau: Any, floor: Any) -> bool:
    """Tell whether a table of counts has so many zeros that it should be flushed."""
    entries = len(table.counts)
    return bool(entries >= floor and table.live <= tau * entries)


def checked_tau(tau: Any) -> Any:
    if isinstance(tau, bool) or not isinstance(tau, int | float) or not 0 <= tau <= 1:
        raise InvalidInput(
            f"tau must be between 0 and 1, got {tau!r}: it is the live share of the table of counts "
            f"at which the counts of zero are flushed. {TAU} suits most data"
        )
    return tau


def checked_floor(floor: Any) -> Any:
    if type(floor) is not int or floor < 0:
        raise InvalidInput(
            f"floor must be a whole number from 0 on, got {floor!r}: a table of counts with fewer entries keeps its "
            f"counts of zero. 0 flushes by tau alone, {FLOOR} suits most caches"
        )
    return floor


class State(NamedTuple):
    queue: deque[Any]
    table: DistinctCounter


MIXINS = (OfCountedValues,)


def setup(s: Any, tau: Any = TAU, floor: Any = 0) -> None:
    s.queue = deque()
    s.table = DistinctCounter(tau, floor)


def insert(s: Any, key: Any) -> None:
    """O(1). Of lists and structs, which change and have no hash, tuples are kept."""
    key = hashable(key)
    if key is not None:
        s.table.add(key)
    s.queue.append(key)


def evict(s: Any) -> None:
    """O(1) amortised."""
    key = s.queue.popleft()
    if key is not None:
        s.table.remove(key)


def query(s: Any) -> Any:
    """O(1)."""
    return s.table.live


def size(s: Any) -> Any:
    return len(s.queue)


def count_held(s: Any) -> Any:
    return len(s.table.counts)


def check(s: Any, keys: Any) -> None:
    s.table.check(keys)
