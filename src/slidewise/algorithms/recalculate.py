"""Recalculation: the oracle of all other algorithms (Sliding-Window Aggregation Algorithms, section 3).

One queue of the window's values. Invariant: the element at i is the value of i for front <= i < end.
Nothing is kept from one query to the next, so that nothing is asked of the aggregation, not even
associativity: n combines per query.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree
from slidewise.templates.names import Queue, append, at, combine, drop, identity
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    end: int
    queue: Queue


def insert(s, v):
    """No combine."""
    append(s.queue, s.end, v)
    s.end += 1


def evict(s):
    """No combine."""
    drop(s.queue, s.front)
    s.front += 1


def query(s):
    """n - 1 combines."""
    if s.front == s.end:
        return identity
    total = at(s.queue, s.front)
    for i in range(s.front + 1, s.end):
        total = combine(total, at(s.queue, i))
    return total


def size(s):
    return s.end - s.front


def sound(s):
    return 0 <= s.front <= s.end and holds(s.queue, s.front, s.end)


def check(s, partials):
    assert sound(s)
    if partials is not None:
        for i, partial in enumerate(partials, s.front):
            assert agree(at(s.queue, i), partial)
