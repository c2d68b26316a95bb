"""FlatFAT: the flat fixed-size aggregator (General Incremental Sliding-Window Aggregation, section 4).

A perfect binary tree of partials over n slots, n a power of two, in one flat array: the root is node 1,
the children of node v are 2v and 2v + 1, and slot i (from 1) is node n + i - 1. Invariant: an inner node
is the product of its children, in this order. Building is n - 1 combines, an update of m slots at most m
(1 + ceil(log2(n/m))), a prefix or a suffix log2 n, and the product of all slots none.

The window is a circular buffer over the slots, `front` to `end` - 1 counted through the stream. Where it
is inverted (it wraps around, so that slots are not in the order of the window) the aggregate is the suffix
from the front combined with the prefix up to the back.
"""

import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slidewise.errors import InvalidInput
from slidewise.templates.checking import agree
from slidewise.templates.interpret import unless_spoiled
from slidewise.templates.names import (
    Array,
    combine,
    commutative,
    defined,
    grow,
    identity,
    lift,
    lower,
    zip_columns,
)


class State(NamedTuple):
    capacity: int
    front: int
    end: int
    tree: Array


def sizes(capacity):
    return {"tree": 2 * capacity}


def setup(s, capacity=None):
    s.capacity = power_of_two(require_capacity("flat_fat", capacity))
    grow(s.tree, 2 * s.capacity)


def setup_compiled(s, identity, capacity):
    s.capacity = capacity
    s.tree[:] = identity


def require_capacity(name, capacity):
    if not isinstance(capacity, int) or capacity < 1:
        raise InvalidInput(
            f"{name} has a fixed capacity, an integer from 1 on, got {capacity!r}. "
            f"Give the most values that it is to hold: swag({name!r}, ..., capacity=1000)"
        )
    return capacity


def power_of_two(n):
    """n rounded up to a power of two."""
    return 1 << (n - 1).bit_length()


# ---- the tree
def build(tree, capacity):
    """All inner nodes: capacity - 1 combines."""
    for node in range(capacity - 1, 0, -1):
        tree[node] = combine(tree[2 * node], tree[2 * node + 1])


def climb(tree, node):
    """Update the nodes above one that has changed: log2 capacity combines from a leaf."""
    total = tree[node]
    while node > 1:
        total = write_parent(tree, node, total)
        node >>= 1


def write_parent(tree, node, total):
    """Write the parent of a node, which is `total`. 1 combine.

    Returned as well: reading it back would wait for the write (57 ns for a path at 2^14, against 17).
    """
    other = tree[node ^ 1]
    total = combine(other, total) if node & 1 else combine(total, other)
    tree[node >> 1] = total
    return total


def refresh(tree, leaves):
    """Update the nodes above m leaves, each once: at most m (1 + ceil(log2(capacity/m))) combines."""
    nodes = {leaf >> 1 for leaf in leaves}
    while nodes and 0 not in nodes:
        for node in nodes:
            tree[node] = combine(tree[2 * node], tree[2 * node + 1])
        nodes = {node >> 1 for node in nodes}


def prefix(tree, node):
    """Combine the leaves up to this one: at most log2 capacity combines."""
    total = tree[node]
    while node > 1:
        if node & 1:
            total = combine(tree[node - 1], total)
        node >>= 1
    return total


def suffix(tree, node):
    """Combine the leaves from this one on: at most log2 capacity combines."""
    total = tree[node]
    while node > 1:
        if not node & 1:
            total = combine(total, tree[node + 1])
        node >>= 1
    return total


def between(tree, capacity, lo, hi):
    """Positions lo to hi - 1, at most `capacity` of them: at most 2 log2(hi - lo) + 1 combines.

    Position p is at slot p modulo capacity, and so are the intervals of every level: a range that wraps
    around is nothing special.
    """
    left = identity
    right = identity
    while lo < hi:
        if lo & 1:
            left = combine(left, tree[capacity + (lo & (capacity - 1))])
            lo += 1
        if hi & 1:
            hi -= 1
            right = combine(tree[capacity + (hi & (capacity - 1))], right)
        lo >>= 1
        hi >>= 1
        capacity >>= 1
    return combine(left, right)


def around(tree, capacity, front, end):
    """Aggregate the window from `front` to `end` - 1. No combine, or at most 2 log2 capacity - 1 where it is inverted.

    Inverted, it is suffix(front) combined with prefix(back), unless the order does not matter. Both climb
    in one loop: 62 ns a slide at 2^14, against 96 in two.
    """
    u = capacity + (front & (capacity - 1))
    v = capacity + ((end - 1) & (capacity - 1))
    if commutative or front == end or u <= v:
        return tree[1]
    left = tree[u]
    right = tree[v]
    while u > 1:
        if not u & 1:
            left = combine(left, tree[u + 1])
        if v & 1:
            right = combine(tree[v - 1], right)
        u >>= 1
        v >>= 1
    return combine(left, right)


# ---- the window
def leaf(s, position):
    """Find the node of a position."""
    return s.capacity + (position & (s.capacity - 1))


def insert(s, v):
    """log2 capacity combines."""
    node = leaf(s, s.end)
    s.tree[node] = v
    s.end += 1
    climb(s.tree, node)


def evict(s):
    """log2 capacity combines."""
    node = leaf(s, s.front)
    s.tree[node] = identity
    s.front += 1
    climb(s.tree, node)


def query(s):
    """No combine, or at most 2 log2 capacity - 1 where the buffer is inverted."""
    return around(s.tree, s.capacity, s.front, s.end)


def size(s):
    return s.end - s.front


def sound(s):
    fixed = s.capacity == power_of_two(s._options["capacity"])
    return fixed and 0 <= s.front <= s.end <= s.front + s.capacity and len(s.tree) == 2 * s.capacity


def check(s, partials):
    assert sound(s)
    for node in range(1, s.capacity):
        assert agree(s.tree[node], combine(s.tree[2 * node], s.tree[2 * node + 1]))
    for position in range(s.end, s.front + s.capacity):
        assert s.tree[leaf(s, position)] is None
    if partials is not None:
        for position, partial in enumerate(partials, s.front):
            assert agree(s.tree[leaf(s, position)], partial)


# ---- columns
def fill(tree, values):
    """Make the tree of a whole column, and give its capacity. Capacity - 1 combines."""
    capacity = len(tree) // 2
    for i in range(len(values)):
        tree[capacity + i] = lift(*values[i])
    for i in range(capacity + len(values), 2 * capacity):
        tree[i] = identity
    build(tree, capacity)
    return capacity


def run_frames(tree, values, start, end, out, valid):
    """Any frames over one column: out[i] is the result of rows start[i] to end[i] - 1, where valid[i].

    `tree` is room for 2 n partials, n a power of two and at least the number of rows. n - 1 combines to
    build, then at most 2 log2(length) + 1 per frame.
    """
    tree = zip_columns(tree)
    values = zip_columns(values)
    results = zip_columns(out)
    capacity = fill(tree, values)
    for i in range(len(start)):
        if start[i] < end[i]:
            total = between(tree, capacity, start[i], end[i])
            valid[i] = defined(total)
            if valid[i]:
                results[i] = lower(total)


def run_pieces(tree, values, start, end, out, valid):
    """As run_frames, over frames with holes: the rows of frame i are those of its pieces, start[p][i] to end[p][i] - 1.

    At most 2 log2(length) + 1 combines per piece, and one between two pieces.
    """
    tree = zip_columns(tree)
    values = zip_columns(values)
    results = zip_columns(out)
    capacity = fill(tree, values)
    for i in range(len(out)):
        total = identity
        rows = 0
        for p in range(len(start)):
            if start[p][i] < end[p][i]:
                total = combine(total, between(tree, capacity, start[p][i], end[p][i]))
                rows += 1
        if rows:
            valid[i] = defined(total)
            if valid[i]:
                results[i] = lower(total)


def run_distinct(tree, following, order, values, start, end, out, valid):
    """As run_frames, but each of a frame's different values counts once, at its first row there.

    `following` is the next row with the same value, and `order` the frames from the last start to the first: with all
    rows from a frame's start on in the tree, and each value at its first row only, rows start[i] to end[i] - 1 hold
    each value of the frame once. At most 2 log2(n) combines to enter a row, then 2 log2(length) + 1 per frame.
    """
    tree = zip_columns(tree)
    values = zip_columns(values)
    results = zip_columns(out)
    capacity = len(tree) // 2
    for node in range(2 * capacity):
        tree[node] = identity
    row = len(values)
    for k in range(len(order)):
        i = order[k]
        if start[i] >= end[i]:
            continue
        while row > start[i]:
            row -= 1
            if following[row] < len(values):
                tree[capacity + following[row]] = identity
                climb(tree, capacity + following[row])
            tree[capacity + row] = lift(*values[row])
            climb(tree, capacity + row)
        total = between(tree, capacity, start[i], end[i])
        valid[i] = defined(total)
        if valid[i]:
            results[i] = lower(total)


# ---- the paper's interface
class FlatFAT:
    """Slots by location, from 1: the new, update, aggregate, prefix and suffix of the paper's section 4."""

    __slots__ = ()

    def insert(self: Any, value: Any, time: Any = None) -> None:
        """Add a value, younger than all others. log2 capacity combines."""
        if self.end - self.front == self.capacity:
            raise InvalidInput(
                f"insert: all {self.capacity} slots of flat_fat are taken. "
                "Evict first, make it with a larger capacity, or use reactive, which grows"
            )
        partial = self.functions["lift"](value)
        if time is not None or self._times is not None:
            self._insert_time(time)
        self._step("insert", partial)

    def new(self: Any, values: Iterable[Any]) -> None:
        """Start anew with these values in slots 1, 2, ... of a tree that holds them. capacity - 1 combines.

        >>> import slidewise as sw
        >>> s = sw.swag("flat_fat", sw.sum(), capacity=4)
        >>> s.new([1, 2, 3, 4])
        >>> s.aggregate(), s.prefix(3), s.suffix(3)
        (10, 6, 7)
        """
        partials = [self.functions["lift"](value) for value in values]
        self.capacity = max(self.capacity, power_of_two(max(1, len(partials))))
        self.front, self.end, self._times = 0, len(partials), None
        self.tree = [None] * self.capacity + partials + [None] * (self.capacity - len(partials))
        with unless_spoiled(self):
            self.functions["build"](self.tree, self.capacity)

    def update(self: Any, changes: Mapping[int, Any] | Iterable[tuple[int, Any]]) -> None:
        """Write m slots, as {location: value} or pairs. At most m (1 + ceil(log2(capacity/m))) combines.

        A location after the end of the window extends the window; slots in between are nulls until written.

        >>> import slidewise as sw
        >>> s = sw.swag("flat_fat", sw.max(), capacity=8)
        >>> s.update({1: 3.0, 2: 5.0, 7: 4.0})
        >>> s.aggregate(), s.suffix(3)
        (5.0, 4.0)
        """
        pairs = list(changes.items() if isinstance(changes, Mapping) else changes)
        slots = [self._slot("update", location) for location, _ in pairs]
        if len(set(slots)) < len(slots):
            twice = next(slot for k, slot in enumerate(slots) if slot in slots[:k])
            raise InvalidInput(f"update: location {twice + 1} is given more than once. Give every location one value")
        partials = [self.functions["lift"](value) for _, value in pairs]
        end = max((self.front + (slot - self.front) % self.capacity + 1 for slot in slots), default=self.end)
        if end > self.end and self._times is not None:
            raise InvalidInput("update: a location after the window's end has no time. Use insert(value, time=t) there")
        for slot, partial in zip(slots, partials, strict=True):
            self.tree[self.capacity + slot] = partial
        self.end = max(self.end, end)
        with unless_spoiled(self):
            self.functions["refresh"](self.tree, [self.capacity + slot for slot in slots])

    def aggregate(self: Any, *argument: Any) -> Any:
        """All slots, in the order of their locations. No combine."""
        return self.functions["lower"](self.tree[1], *argument)

    def prefix(self: Any, i: int, *argument: Any) -> Any:
        """Slots 1 to i. At most log2 capacity combines."""
        node = self.capacity + self._slot("prefix", i)
        return self.functions["lower"](self.functions["prefix"](self.tree, node), *argument)

    def suffix(self: Any, j: int, *argument: Any) -> Any:
        """Slots j to the last. At most log2 capacity combines."""
        node = self.capacity + self._slot("suffix", j)
        return self.functions["lower"](self.functions["suffix"](self.tree, node), *argument)

    def _slot(self: Any, where: str, location: Any) -> int:
        try:
            slot = operator.index(location) - 1
        except TypeError:
            slot = -1
        if not 0 <= slot < self.capacity:
            raise InvalidInput(f"{where}: locations are the integers from 1 to {self.capacity}, got {location!r}")
        return slot


MIXINS = (FlatFAT,)
