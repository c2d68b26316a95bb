"""B-Int: base intervals (Arasu and Widom, Resource Sharing in Continuous Sliding-Window Aggregates;
Sliding-Window Aggregation Algorithms, section 4.7).

One long window holds the partials of all base intervals in it, positions 2^l k to 2^l (k + 1) - 1 of the
stream, in one ring per level; every shorter window is answered from the few that make it up. Rings of
powers of two in one array are a tree with FlatFAT's numbering, in which a node is written when its last
position arrives, and only if it begins in the window. Invariant: a node whose whole interval is in the
window is the product of its positions; the others are empty.
"""

import operator
from typing import Any, NamedTuple

from slidewise.algorithms import flat_fat
from slidewise.algorithms.flat_fat import between, power_of_two, require_capacity
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Array, combine, grow, identity
from slidewise.templates.timed import Timed

USES = (flat_fat,)


class State(NamedTuple):
    #: the most values held, and the same rounded up to a power of two
    most: int
    ring: int
    front: int
    end: int
    tree: Array


def sizes(capacity):
    return {"tree": 2 * capacity}


def setup(s, capacity=None):
    s.most = require_capacity("b_int", capacity)
    s.ring = power_of_two(s.most)
    grow(s.tree, 2 * s.ring)


def setup_compiled(s, identity, capacity):
    s.most = s.ring = capacity
    s.tree[:] = identity


def insert(s, v):
    """Fewer than 1 combine on average, at most log2 of the capacity."""
    node = s.ring + (s.end & (s.ring - 1))
    s.tree[node] = v
    s.end += 1
    first = s.end - 2
    length = 2
    while node & 1 and node > 1 and first >= s.front:  # it ends its parent, which begins in the window
        node >>= 1
        s.tree[node] = combine(s.tree[2 * node], s.tree[2 * node + 1])
        first -= length
        length *= 2


def evict(s):
    """No combine; the intervals that begin with the value are emptied, 2 on average."""
    node = s.ring + (s.front & (s.ring - 1))
    s.tree[node] = identity
    while not node & 1:
        node >>= 1
        s.tree[node] = identity
    s.front += 1


def query(s):
    """At most 2 log2 n + 1 combines."""
    return between(s.tree, s.ring, s.front, s.end)


def query_youngest(s, k):
    """At most 2 log2 k + 1 combines."""
    return between(s.tree, s.ring, s.end - k, s.end)


def size(s):
    return s.end - s.front


def sound(s):
    fixed = s.most == s._options["capacity"] and s.ring == power_of_two(s.most)
    return fixed and 0 <= s.front <= s.end <= s.front + s.most and len(s.tree) == 2 * s.ring


def check(s, partials):
    assert sound(s)
    width = 1
    while width <= s.ring:
        nodes = s.ring // width
        inside = range(-(-s.front // width), s.end // width)
        for k in inside:
            if partials is not None:
                expected = fold(combine, partials[k * width - s.front : (k + 1) * width - s.front])
                assert agree(s.tree[nodes + k % nodes], expected)
        filled = {nodes + k % nodes for k in inside}
        assert all(s.tree[i] is None for i in range(nodes, 2 * nodes) if i not in filled)
        width *= 2


class BInt(Timed):
    """Many windows from one: ranges of time, and the last k values.

    >>> import slidewise as sw
    >>> s = sw.swag("b_int", sw.max(), capacity=100)
    >>> for time, value in [(1, 5.0), (2, 3.0), (4, 4.0), (7, 1.0)]:
    ...     s.insert(value, time=time)
    >>> s.query(), s.query(2, 6), s.query_last(1)
    (5.0, 4.0, 1.0)
    """

    __slots__ = ()

    def insert(self: Any, value: Any, time: Any = None) -> None:
        """Add a value, younger than all others. Fewer than 1 combine on average, at most log2 capacity."""
        if self.end - self.front == self.most:
            raise InvalidInput(
                f"insert: b_int shares one window of at most {self.most} values, and it is full. "
                "Evict first, or make it with a capacity that holds the longest window"
            )
        partial = self.functions["lift"](value)
        if time is not None or self._times is not None:
            if self._place(time) < len(self._times):
                raise IllegalPair(
                    f"b_int needs values in the order of their times, and got {time!r} after "
                    f"{self.youngest!r}. Use fiba, which takes any order"
                )
            self._times.append(time)
        self._step("insert", partial)

    def evict(self: Any, time: Any = None) -> None:
        """Remove the oldest value; with a time, every value of that time or older. No combine."""
        if time is None and not len(self):
            raise InvalidInput("evict: the window of b_int is empty")
        for _ in range(1 if time is None else self._up_to(time) - self._first()):
            self.functions["evict"](self)
        if self._times and self._first() > len(self):
            del self._times[: self._first()]

    def query_last(self: Any, k: int, *argument: Any) -> Any:
        """Aggregate the youngest k values, or all where fewer are held. At most 2 log2 k + 1 combines."""
        try:
            count = operator.index(k)
        except TypeError:
            count = -1
        if not 0 <= count <= self.most:
            raise InvalidInput(f"query_last: a window has from 0 to {self.most} values here, got {k!r}")
        partial = self.functions["query_youngest"](self, min(count, len(self)))
        return self.functions["lower"](partial, *argument)

    def _range(self: Any, lo: int, hi: int) -> Any:
        shift = self.front - self._first()
        return self.functions["between"](self.tree, self.ring, lo + shift, hi + shift)


MIXINS = (BInt,)
