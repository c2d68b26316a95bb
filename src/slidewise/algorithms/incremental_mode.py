"""Incremental mode, in two variants.

variant="tournament", the default: every value in the window has a slot with its count, and a tournament
tree over the slots holds in each node the winner of its two children: the higher count, then the lower
value. A change of one count replays the matches above its slot, O(log distinct); the root is the answer.
Ties go to the lowest value, so that the answer depends on the window alone and not on how it came about.

variant="paper" (Wesley, Xu: Incremental Computation of Common Windowed Holistic Aggregates, algorithms 3
and 4): a table of counts, and the last answer while it is known to hold. When that value loses a count and
none has overtaken it by the next query, the whole table is scanned, which is quadratic at worst; ties go to
the value that got its count last, or to the first one of a scan, and so depend on history. It is here for
comparison. The paper keeps a stale mode when a frame is empty; here an empty window has none. tau and floor
say when its counts of zero are flushed, as in incremental_count_distinct.
"""

from collections import deque
from typing import Any, NamedTuple

from slidewise.algorithms.incremental_count_distinct import TAU, checked_floor, checked_tau, is_mostly_empty
from slidewise.algorithms.raw_values import OfCountedValues, require_comparable, to_key, to_value
from slidewise.errors import InvalidInput, StateError


class Tournament:
    """Counts of values under a tournament. Values may come and go in any order.

    Invariant: `slot_of` maps every value with a count above zero to a slot of its own; the other slots, in
    `free`, have count 0. Node i has the children 2i and 2i + 1, slot j is leaf capacity + j, and a node
    holds the slot that wins below it. At least a quarter of the slots are in use (or there are only
    FEWEST), so that the depth is O(log distinct); the slots double and halve in number, which is O(1)
    amortised.
    """

    FEWEST = 8

    __slots__ = ("counts", "free", "slot_of", "values", "winner")

    def __init__(self) -> None:
        self.rebuild([], self.FEWEST)

    def rebuild(self, pairs: Any, capacity: Any) -> None:
        """Make a tournament of these (value, count). O(capacity)."""
        unused = capacity - len(pairs)
        self.values = [value for value, _ in pairs] + [None] * unused
        self.counts = [count for _, count in pairs] + [0] * unused
        self.slot_of = {value: slot for slot, (value, _) in enumerate(pairs)}
        self.free = list(range(capacity - 1, len(pairs) - 1, -1))
        self.winner = [0] * capacity + list(range(capacity))
        for node in range(capacity - 1, 0, -1):
            self.winner[node] = self.match(2 * node)

    def add(self, value: Any) -> None:
        """O(log distinct)."""
        slot = self.slot_of.get(value)
        if slot is None:
            slot = self.take_slot(value)
        self.counts[slot] += 1
        self.replay(slot)

    def remove(self, value: Any) -> None:
        """O(log distinct)."""
        slot = self.slot_of[value]
        self.counts[slot] -= 1
        self.replay(slot)
        if self.counts[slot] == 0:
            self.give_slot(slot)

    def mode(self) -> Any:
        """Give the most frequent value, the lowest of several; None where there are no values. O(1)."""
        return self.values[self.winner[1]]

    def take_slot(self, value: Any) -> Any:
        if self.slot_of:
            require_comparable(value, self.mode())
        if not self.free:
            self.rebuild(self.pairs(), 2 * len(self.counts))
        slot = self.slot_of[value] = self.free.pop()
        self.values[slot] = value
        return slot

    def give_slot(self, slot: Any) -> None:
        del self.slot_of[self.values[slot]]
        self.values[slot] = None
        self.free.append(slot)
        if len(self.counts) > self.FEWEST and 4 * len(self.slot_of) < len(self.counts):
            self.rebuild(self.pairs(), len(self.counts) // 2)

    def pairs(self) -> Any:
        return [(value, self.counts[slot]) for value, slot in self.slot_of.items()]

    def replay(self, slot: Any) -> None:
        """Play the matches above a slot again, up to one whose winner is, as before, another slot."""
        node = (len(self.counts) + slot) >> 1
        while node:
            before = self.winner[node]
            after = self.winner[node] = self.match(2 * node)
            if before == after != slot:
                return
            node >>= 1

    def match(self, left: Any) -> Any:
        """Find the winner of node `left` and its right sibling."""
        a, b = self.winner[left], self.winner[left + 1]
        m, n = self.counts[a], self.counts[b]
        if m != n:
            return a if m > n else b
        return b if n and self.values[b] < self.values[a] else a

    def check(self, values: Any) -> None:
        found: dict[Any, int] = {}
        for value in values:
            found[value] = found.get(value, 0) + 1
        assert dict(self.pairs()) == found
        capacity = len(self.counts)
        assert sorted(self.free + list(self.slot_of.values())) == list(range(capacity))
        assert all(self.counts[slot] == 0 and self.values[slot] is None for slot in self.free)
        assert all(self.winner[node] == self.match(2 * node) for node in range(1, capacity))
        assert capacity <= max(self.FEWEST, 4 * len(found))
        most = max(found.values(), default=0)
        assert self.mode() == min((value for value, count in found.items() if count == most), default=None)


class Rescanned:
    """The paper's table: the mode is remembered while that is safe, and searched for where it is not.

    Invariant: while `valid`, `value` has `count` occurrences and none has more. While not, none has more
    than `count`.
    """

    __slots__ = ("count", "counts", "floor", "flushes", "live", "rescans", "tau", "valid", "value")

    def __init__(self, tau: Any = TAU, floor: Any = 0) -> None:
        self.tau, self.floor = checked_tau(tau), checked_floor(floor)
        self.counts: dict[Any, int] = {}
        self.live = self.flushes = self.rescans = 0
        self.value, self.count, self.valid = None, 0, True

    def add(self, value: Any) -> None:
        """O(1)."""
        count = self.counts[value] = self.counts.get(value, 0) + 1
        if count == 1:
            self.live += 1
        if count >= self.count:  # also where the mode was lost: no value has more than self.count
            self.value, self.count, self.valid = value, count, True

    def remove(self, value: Any) -> None:
        """O(1) amortised; a mode that is lost costs a scan at the next query."""
        count = self.counts[value] = self.counts[value] - 1
        if value == self.value and self.valid:
            self.valid = False
        if count == 0:
            self.live -= 1
            if is_mostly_empty(self, self.tau, self.floor):
                self.counts = {v: c for v, c in self.counts.items() if c}
                self.flushes += 1

    def mode(self) -> Any:
        """O(1), and O(live / tau) where the mode was lost; None where there are no values."""
        if not self.valid:
            self.value, self.count, self.valid = None, 0, True
            for value, count in self.counts.items():
                if count > self.count:
                    self.value, self.count = value, count
            self.rescans += 1
        return self.value

    def history(self) -> Any:
        """All that the window's values do not tell, as plain values."""
        counts = [(to_value(value), count) for value, count in self.counts.items()]
        return counts, to_value(self.value), self.count, self.valid, self.flushes, self.rescans

    def relive(self, history: Any) -> None:
        """Take over a history, for a window of the same values; one of others is refused."""
        from slidewise.serialization.codec import require_told_apart  # loads on first use

        counts, value, self.count, self.valid, self.flushes, self.rescans = history
        require_told_apart([value for value, _ in counts])
        there = self.counts
        self.counts = {to_key(value): count for value, count in counts}
        self.value = to_key(value)
        most = max(there.values(), default=0)
        numbers = (self.count, self.flushes, self.rescans, *self.counts.values())
        if not (
            {type(n) for n in numbers} == {int}
            and type(self.valid) is bool
            and {v: n for v, n in self.counts.items() if n} == there
            and (self.count == most == there.get(self.value, 0) if self.valid else self.count >= most)
        ):
            raise StateError("saved state is damaged: the counts of its values are not those of its window")

    def check(self, values: Any) -> None:
        found: dict[Any, int] = {}
        for value in values:
            found[value] = found.get(value, 0) + 1
        assert {value: count for value, count in self.counts.items() if count} == found
        assert self.live == len(found)
        most = max(found.values(), default=0)
        assert self.count == most == found.get(self.value, 0) if self.valid else self.count >= most


def new_table(variant: Any = "tournament", tau: Any = TAU, floor: Any = 0) -> Any:
    """Make the table of one variant."""
    if variant not in ("tournament", "paper"):
        raise InvalidInput(f'incremental_mode: variant must be "tournament" or "paper", got {variant!r}')
    if variant == "paper":
        return Rescanned(tau, floor)
    if tau != TAU or floor:
        raise InvalidInput('incremental_mode: only variant="paper" keeps counts of zero, and so has a tau and a floor')
    return Tournament()


class State(NamedTuple):
    queue: deque[Any]
    table: Tournament | Rescanned


class WithHistory(OfCountedValues):
    """The paper's answers depend on how the window came about, which is saved with it."""

    __slots__ = ()

    def _save(self: Any) -> Any:
        return super()._save(), self.table.history() if isinstance(self.table, Rescanned) else None

    def _restore(self: Any, plain: Any) -> None:
        window, history = plain
        super()._restore(window)
        if history is not None:
            self.table.relive(history)


MIXINS = (WithHistory, OfCountedValues)


def setup(s: Any, variant: Any = "tournament", tau: Any = TAU, floor: Any = 0) -> None:
    s.queue = deque()
    s.table = new_table(variant, tau, floor)


def insert(s: Any, key: Any) -> None:
    """O(log distinct)."""
    if key is not None:
        s.table.add(key)
    s.queue.append(key)


def evict(s: Any) -> None:
    """O(log distinct)."""
    key = s.queue.popleft()
    if key is not None:
        s.table.remove(key)


def query(s: Any) -> Any:
    """O(1)."""
    return to_value(s.table.mode())


def size(s: Any) -> Any:
    return len(s.queue)


def count_held(s: Any) -> Any:
    return len(s.table.slot_of if isinstance(s.table, Tournament) else s.table.counts)


def check(s: Any, keys: Any) -> None:
    s.table.check(keys)
