"""Subtract-on-Evict: one running total (Sliding-Window Aggregation Algorithms, section 3; In-Order
Sliding-Window Aggregation in Worst-Case Constant Time, section 2.1).

One queue of the window's values. Invariant: `total` is the product of front..end-1. An insertion is one
combine, an eviction one inverse, a query nothing. Floats drift, and a NaN or an infinity stays in the total
when it has left the window: the planner chooses it only for aggregations with an exact inverse.

`counted` tells how many values are not the identity. When the last of them leaves, the total is the
identity again: a window of nulls has no sum, where subtracting would leave a zero.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Partial, Queue, append, at, combine, drop, identity, inverse, same
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    end: int
    counted: int
    total: Partial
    queue: Queue


def insert(s, v):
    """1 combine."""
    append(s.queue, s.end, v)
    s.end += 1
    if not same(v, identity):
        s.counted += 1
        s.total = combine(s.total, v)


def evict(s):
    """1 inverse."""
    oldest = at(s.queue, s.front)
    drop(s.queue, s.front)
    s.front += 1
    if not same(oldest, identity):
        s.counted -= 1
        if s.counted == 0:
            s.total = identity
        else:
            s.total = inverse(s.total, oldest)


def query(s):
    """No combine."""
    return s.total


def size(s):
    return s.end - s.front


def sound(s):
    if not (0 <= s.front <= s.end and holds(s.queue, s.front, s.end)):
        return False
    counted = sum(not same(at(s.queue, i), identity) for i in range(s.front, s.end))
    return s.counted == counted and same(s.total, identity) == (counted == 0)


def check(s, partials):
    assert sound(s)
    if partials is not None:
        for i, partial in enumerate(partials, s.front):
            assert agree(at(s.queue, i), partial)
        assert agree(s.total, fold(combine, partials))
