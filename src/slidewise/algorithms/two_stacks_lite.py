"""Two-Stacks Lite (In-Order Sliding-Window Aggregation in Worst-Case Constant Time, section 4).

One queue with a boundary b. Invariant: the element at i is the product of i..b-1 for front <= i < b, and
the value of i for b <= i < end; `back` is the product of b..end-1. An insertion is one combine, a query
one; an eviction that finds the front part empty walks from the youngest to the oldest and turns every value
into a product: n combines, amortised 1.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Partial, Queue, append, at, combine, drop, identity, put
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    boundary: int
    end: int
    back: Partial
    queue: Queue


def insert(s, v):
    """1 combine."""
    append(s.queue, s.end, v)
    s.end += 1
    s.back = combine(s.back, v)


def evict(s):
    """n - 1 combines when the front part is empty, else none."""
    if s.front == s.boundary:
        flip(s)
    drop(s.queue, s.front)
    s.front += 1


def flip(s):
    product = at(s.queue, s.end - 1)
    for i in range(s.end - 2, s.front - 1, -1):
        product = combine(at(s.queue, i), product)
        put(s.queue, i, product)
    s.boundary = s.end
    s.back = identity


def query(s):
    """1 combine."""
    if s.front == s.boundary:
        return s.back
    return combine(at(s.queue, s.front), s.back)


def size(s):
    return s.end - s.front


def sound(s):
    return 0 <= s.front <= s.boundary <= s.end and holds(s.queue, s.front, s.end)


def check(s, partials):
    assert sound(s)
    if partials is not None:
        middle = s.boundary - s.front
        for i, partial in enumerate(partials):
            expected = fold(combine, partials[i:middle]) if i < middle else partial
            assert agree(at(s.queue, s.front + i), expected)
        assert agree(s.back, fold(combine, partials[middle:]))
