"""The Reactive Aggregator (General Incremental Sliding-Window Aggregation, section 5): FlatFAT as a
circular buffer that grows, shrinks and compacts.

Values are in the slots of positions `front` to `end` - 1, of which `holes` have been removed from the
middle. Leaves are written at once; the nodes above them wait for the next query, which updates all m
leaves that changed since the last one together: those of positions `clean_front` to `front` - 1 (evicted),
`clean_end` to `end` - 1 (inserted), and `touched` (nodes in the middle). Invariant: an inner node that is
above none of these is the product of its children, and empty slots hold the identity.

A full buffer is doubled where more than 3/4 of it is used, and compacted otherwise; it is halved when less
than 1/4 is used. So there are fewer than 8n partials, and a change costs O(1) amortised beside the update
of its leaf. With a capacity it does neither, and no change ever costs more than the update of its leaf, unless
values have left from the middle: where they have, a full buffer is compacted, O(capacity).
"""

from bisect import bisect_left
from itertools import pairwise
from typing import Any, NamedTuple

from slidewise.algorithms import flat_fat
from slidewise.algorithms.flat_fat import (
    around,
    climb,
    leaf,
    power_of_two,
    refresh,
    require_capacity,
    write_parent,
)
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.templates.checking import agree
from slidewise.templates.names import Array, IntArray, combine, grow, identity, shrink
from slidewise.templates.timed import Timed

USES = (flat_fat,)

#: The smallest tree; with four slots there are fewer than 8n partials from the first value on.
LEAST = 4
#: Whether a capacity is given, for good.
FIXED = False


class State(NamedTuple):
    capacity: int
    front: int
    end: int
    holes: int
    clean_front: int
    clean_end: int
    #: how often positions were given anew, by growing, shrinking or compacting
    moves: int
    #: the position from which slots may not be in the order of time; -1 where all are
    unordered: int
    tree: Array
    # Empty where values leave in order; only the interpreted form has times and removals.
    gone: IntArray
    touched: IntArray
    positions: IntArray


def sizes(capacity):
    return {"tree": 2 * capacity, "gone": 1, "touched": 1, "positions": 1}


def constants(capacity):
    """Compute the constants of the form with a capacity, which is the same for all capacities."""
    require_capacity("reactive", capacity)
    return {"FIXED": True}


def setup(s, capacity=LEAST):
    s.capacity = power_of_two(max(LEAST, capacity))
    s.unordered = -1
    grow(s.tree, 2 * s.capacity)


def setup_compiled(s, identity, capacity):
    s.capacity = capacity if FIXED else LEAST
    s.unordered = -1
    s.tree[:] = identity


def insert(s, v):
    """No combine until the next query."""
    if s.end - s.front == s.capacity:
        if not FIXED and 4 * size(s) > 3 * s.capacity:
            resize(s, 2 * s.capacity)
        else:
            compact(s)
    s.tree[leaf(s, s.end)] = v
    s.end += 1


def evict(s):
    """No combine until the next query."""
    s.tree[leaf(s, s.front)] = identity
    s.front += 1
    while s.holes > 0 and is_hole(s, s.front):
        s.gone[s.front & (s.capacity - 1)] = 0
        s.front += 1
        s.holes -= 1
    shrink_if_sparse(s)


def remove(s, position):
    """Remove a value from the middle. No combine until the next query."""
    if position == s.front:
        evict(s)
        return
    s.tree[leaf(s, position)] = identity
    grow(s.gone, s.capacity)
    s.gone[position & (s.capacity - 1)] = 1
    s.holes += 1
    s.touched.append(leaf(s, position))
    shrink_if_sparse(s)


def query(s):
    """Update the m leaves that changed, then aggregate: at most 2 log2 capacity - 1 combines more where inverted."""
    flush(s)
    return around(s.tree, s.capacity, s.front, s.end)


def size(s):
    return s.end - s.front - s.holes


def is_hole(s, position):
    return s.holes > 0 and s.gone[position & (s.capacity - 1)] == 1


# ---- lazy updates
def flush(s):
    """Update the nodes above the m slots that changed at both ends: at most m (1 + ceil(log2(capacity/m))).

    The slots are two ranges of positions, a..b and c..d; so are their parents, modulo the width of a level.
    """
    a, b = s.clean_front, s.front - 1
    c, d = s.clean_end, s.end - 1
    s.clean_front = s.front
    s.clean_end = s.end
    if a > b:
        a, b = c, d
    if c > d:
        c, d = a, b
    if a > b:
        return
    width = s.capacity
    while a < b or c < d:
        width >>= 1
        a >>= 1
        b >>= 1
        c >>= 1
        d >>= 1
        if c <= b:
            b = max(b, d)
            c, d = a, b
        elif d - width >= a:  # the younger range has wrapped around to the older one
            a, b = min(a, c - width), max(b, d - width)
            c, d = a, b
        if b - a >= width:
            a, b = 0, width - 1
            c, d = a, b
        update_range(s.tree, width, a, b)
        if c > b:
            update_range(s.tree, width, c, d)
    climb_both(s.tree, width + (a & (width - 1)), width + (c & (width - 1)))


def update_range(tree, width, first, last):
    for i in range(first, last + 1):
        node = width + (i & (width - 1))
        tree[node] = combine(tree[2 * node], tree[2 * node + 1])


def climb_both(tree, u, v):
    """Update the nodes above two of one level, which may be the same: common ones once."""
    a = tree[u]
    b = tree[v]
    while u >> 1 != v >> 1:
        a = write_parent(tree, u, a)
        b = write_parent(tree, v, b)
        u >>= 1
        v >>= 1
    climb(tree, u)


def find_changed(s):
    """Find the leaves whose ancestors wait for an update."""
    # The last `capacity` positions are all leaves there are.
    ranges = (
        range(max(begin, end - s.capacity), end) for begin, end in ((s.clean_front, s.front), (s.clean_end, s.end))
    )
    positions = [p for positions in ranges for p in positions]
    return {leaf(s, p) for p in positions} | set(s.touched)


def flush_touched(s):
    """As flush, where slots in the middle have changed too."""
    refresh(s.tree, find_changed(s))
    s.touched.clear()
    s.clean_front = s.front
    s.clean_end = s.end


# ---- capacity
def shrink_if_sparse(s):
    if not FIXED and 4 * size(s) < s.capacity and s.capacity > LEAST:
        resize(s, s.capacity // 2)


def resize(s, capacity):
    """Move all values into a tree of another capacity, without holes. O(capacity), combines later."""
    if 2 * capacity > len(s.tree):
        grow(s.tree, 2 * capacity)
    node = capacity  # the leaves of one tree are inner nodes of the other, or beyond it: nothing overlaps
    for position in range(s.front, s.end):
        if not is_hole(s, position):
            s.tree[node] = s.tree[leaf(s, position)]
            node += 1
    end = node - capacity
    for i in range(node, 2 * capacity):
        s.tree[i] = identity
    for i in range(1, capacity):
        s.tree[i] = identity  # nothing of evicted values stays alive here
    shrink(s.tree, 2 * capacity)
    s.capacity = capacity
    finish_move(s, 0, end)


def compact(s):
    """Close the holes. O(capacity), combines later."""
    to = s.front
    for position in range(s.front, s.end):
        if not is_hole(s, position):
            s.tree[leaf(s, to)] = s.tree[leaf(s, position)]
            to += 1
    for position in range(to, s.end):
        s.tree[leaf(s, position)] = identity
    finish_move(s, s.front, to)


def finish_move(s, front, end):
    if s.holes > 0:
        for i in range(len(s.gone)):
            s.gone[i] = 0
        s.holes = 0
    s.front = front
    s.end = end
    s.clean_front = front - s.capacity  # all slots, once around
    s.clean_end = end
    s.moves += 1


def sound(s):
    if not (
        s.capacity >= LEAST
        and s.capacity & (s.capacity - 1) == 0
        and len(s.tree) == 2 * s.capacity
        and 0 <= s.front <= s.end <= s.front + s.capacity
        and s.clean_front <= s.front
        and s.clean_end <= s.end
        and (s.holes == 0 or (s.holes > 0 and len(s.gone) >= s.capacity))
        and not {type(x) for x in (*s.touched, *s.positions)} - {int}
        and all(s.capacity <= i < 2 * s.capacity for i in s.touched)
    ):
        return False
    live = live_positions(s)
    if FIXED:
        fits = s.capacity == power_of_two(max(LEAST, s._options["capacity"])) and size(s) <= s._options["capacity"]
    else:
        fits = s.capacity == LEAST or 4 * size(s) >= s.capacity
    return (
        fits
        and len(live) == size(s)
        and (not live or live[0] == s.front)
        and len(s.positions) == len(s._times or ())
        and (s._times is None or sorted(s.positions[len(s.positions) - size(s) :]) == live)
    )


def live_positions(s):
    return [p for p in range(s.front, s.end) if not is_hole(s, p)]


def check(s, partials):
    assert sound(s)
    live = live_positions(s)
    used = {leaf(s, p) for p in live}
    assert all(s.tree[i] is None for i in range(s.capacity, 2 * s.capacity) if i not in used)
    stale = {i >> k for i in find_changed(s) for k in range(1, s.capacity.bit_length())}
    for i in range(1, s.capacity):
        assert i in stale or agree(s.tree[i], combine(s.tree[2 * i], s.tree[2 * i + 1]))
    if s._times is not None:
        positions = s.positions[len(s.positions) - size(s) :]
        times = s._times[len(s._times) - size(s) :]
        assert all(not b < a for a, b in pairwise(times))
        ordered = [p for p in positions if s.unordered < 0 or p < s.unordered]
        assert positions[: len(ordered)] == sorted(ordered)
        live = positions
    if partials is not None:
        assert all(agree(s.tree[leaf(s, p)], partial) for p, partial in zip(live, partials, strict=True))


# ---- times
class Reactive(Timed):
    """Values with times: late ones, ranges, and removal from the middle.

    `_times` and `positions` are parallel and in the order of time. A late value takes the next slot like any
    other, which is right for the whole window where combine commutes; the first query of a range after it
    puts the slots back into the order of time.
    """

    __slots__ = ()

    def insert(self: Any, value: Any, time: Any = None) -> None:
        """Add a value. One leaf to update at the next query; after d younger values also O(d) moves of times.

        Out of order only for commutative aggregations.

        >>> import slidewise as sw
        >>> s = sw.swag("reactive", sw.sum())
        >>> for time, value in [(1, 10), (5, 50), (3, 30)]:
        ...     s.insert(value, time=time)
        >>> s.query(), s.query(2, 4), s.oldest, s.youngest
        (90, 30, 1, 5)

        Made with `capacity=n`, it never resizes, and refuses a value beyond them.
        """
        most = self._options.get("capacity")
        if most is not None and len(self) == most:
            raise InvalidInput(
                f"insert: this reactive has a capacity of {most}, and holds as many values. "
                "Evict first, make it with a larger capacity, or with none: it then grows"
            )
        partial = self.functions["lift"](value)
        if time is None and self._times is None:
            self._step("insert", partial)
            return
        index = self._place(time)
        late = index < len(self._times)
        if late and not self.aggregation.commutative:
            raise IllegalPair(
                f"reactive takes values out of order where the aggregation is commutative, and "
                f"{self.aggregation.name} is not: got the time {time!r} after {self.youngest!r}. "
                "Use fiba, which takes any order"
            )
        if late:
            first = self.positions[index]
            self.unordered = first if self.unordered < 0 else min(first, self.unordered)
        self._times.insert(index, time)
        self.positions.insert(index, self.end)
        moves = self.moves
        self._step("insert", partial)
        self._follow(moves)

    def evict(self: Any, time: Any = None) -> None:
        """Remove the oldest value; with a time, every value of that time or older.

        O(1) amortised for each, and one leaf to update at the next query.
        """
        if time is not None:
            for _ in range(self._first(), self._up_to(time)):
                self._remove(self._first())
        elif not len(self):
            raise InvalidInput("evict: the window of reactive is empty")
        elif self._times is None:
            self._step("evict")
        else:
            self._remove(self._first())

    def remove(self: Any, time: Any) -> None:
        """Remove the values of exactly this time, from anywhere in the window.

        O(log n) to find; where d values are younger, O(d) moves of times; one leaf to update for each.
        """
        lo, hi = self._between(time, time)
        if lo == hi:
            held = f"times from {self.oldest!r} to {self.youngest!r}" if len(self) else "no values"
            raise InvalidInput(f"remove: there is no value with the time {time!r}. Held are {held}")
        for _ in range(hi - lo):
            self._remove(self._up_to(time) - 1)

    def query(self: Any, *argument: Any, start: Any = None, end: Any = None) -> Any:
        """Aggregate all values: query(). Those with start <= time <= end: query(start, end).

        Updates the m leaves that changed since the last query in O(m + m log(n/m)), then O(log n) at most.
        The first range after a late value also moves the d values that are younger, in O(d log d).
        """
        if self.touched:
            self._step("flush_touched")
        return super().query(*argument, start=start, end=end)

    def _range(self: Any, lo: int, hi: int) -> Any:
        if lo >= hi:
            return None
        if self.unordered >= 0:
            self._put_in_order()
        self._step("flush_touched" if self.touched else "flush")
        first, last = self.positions[lo], self.positions[hi - 1]
        return self.functions["between"](self.tree, self.capacity, first, last + 1)

    def _remove(self: Any, index: int) -> None:
        position = self.positions[index]
        if index > self._first():
            del self._times[index], self.positions[index]
        moves = self.moves
        self._step("remove", position)
        self._follow(moves)

    def _follow(self: Any, moves: int) -> None:
        """Cut off the times of evicted values; positions anew where values have moved. O(log n) amortised."""
        dead = self._first()
        if self.moves != moves or dead > len(self):
            del self._times[:dead], self.positions[:dead]
        if self.moves != moves:
            self.touched.clear()  # all slots are updated at the next query
            ranks = {p: self.front + k for k, p in enumerate(sorted(self.positions))}
            if self.unordered >= 0:
                self.unordered = self.front + sum(p < self.unordered for p in self.positions)
            self.positions = [ranks[p] for p in self.positions]

    def _put_in_order(self: Any) -> None:
        """Move the d values from position `unordered` on into the order of time. O(d log d)."""
        # All values at lower positions stand before those, in order.
        first = bisect_left(self.positions, self.unordered, self._first())
        leaves = [flat_fat.leaf(self, p) for p in self.positions[first:]]
        partials = [self.tree[i] for i in leaves]
        self.positions[first:] = sorted(self.positions[first:])
        for position, partial in zip(self.positions[first:], partials, strict=True):
            self.tree[flat_fat.leaf(self, position)] = partial
        self.touched.extend(leaves)
        self.unordered = -1


MIXINS = (Reactive,)
