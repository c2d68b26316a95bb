"""FlatFIT: a flat and fast index traverser (Shein, Chrysanthis, Labrinidis, SSDBM 2017), with a window that
grows and shrinks (In-Order Sliding-Window Aggregation in Worst-Case Constant Time, section 7).

Every element has a partial and a skip. Invariant: the partial at i is the product of i..skip[i]-1, and
following the skips from front leads to end. A query follows them and, on the way back, lets every element
that it met reach to the end (path compression): so at a steady size two combines are the rule, and n where
the chain starts anew, every n slides.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import IntQueue, Queue, append, at, combine, drop, identity, put


class State(NamedTuple):
    front: int
    end: int
    queue: Queue
    skip: IntQueue
    stack: IntQueue


def insert(s, v):
    """No combine."""
    append(s.queue, s.end, v)
    s.end += 1
    append(s.skip, s.end - 1, s.end)


def evict(s):
    """No combine."""
    drop(s.queue, s.front)
    drop(s.skip, s.front)
    s.front += 1


def query(s):
    """At most n - 1 combines, about 3 on average."""
    if s.front == s.end:
        return identity
    depth = 0
    i = s.front
    following = at(s.skip, i)
    while following != s.end:
        append(s.stack, depth, i)
        depth += 1
        i = following
        following = at(s.skip, i)
    total = at(s.queue, i)  # the last of the chain reaches to the end already
    while depth > 0:
        depth -= 1
        i = at(s.stack, depth)
        total = combine(at(s.queue, i), total)
        put(s.queue, i, total)
        put(s.skip, i, s.end)
    return total


def size(s):
    return s.end - s.front


def check(s, partials):
    i = s.front
    while i < s.end:
        i = at(s.skip, i)
    assert i == s.end
    for i in range(s.front, s.end):
        following = at(s.skip, i)
        assert i < following <= s.end
        if partials is not None:
            assert agree(at(s.queue, i), fold(combine, partials[i - s.front : following - s.front]))
