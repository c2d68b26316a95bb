"""Two-Stacks: a queue of two stacks, each of which knows its own product (In-Order Sliding-Window
Aggregation in Worst-Case Constant Time, section 3).

Both stacks lie in one queue, back to back at position `boundary`: the front stack has its top at `front`,
the back stack at end - 1. Every element has its value and an aggregate. Invariant: the aggregate at i is
the product of i..boundary-1 for front <= i < boundary, and of boundary..i for boundary <= i < end. An
insertion is one combine, a query one; an eviction that finds the front stack empty moves the back stack
over: n combines, amortised 1.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Queue, append, at, combine, drop, identity, put
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    boundary: int
    end: int
    values: Queue
    products: Queue


def insert(s, v):
    """1 combine."""
    append(s.values, s.end, v)
    append(s.products, s.end, combine(back(s), v))
    s.end += 1


def evict(s):
    """n - 1 combines when the front stack is empty, else none."""
    if s.front == s.boundary:
        flip(s)
    drop(s.values, s.front)
    drop(s.products, s.front)
    s.front += 1


def flip(s):
    product = at(s.values, s.end - 1)
    put(s.products, s.end - 1, product)
    for i in range(s.end - 2, s.front - 1, -1):
        product = combine(at(s.values, i), product)
        put(s.products, i, product)
    s.boundary = s.end


def query(s):
    """1 combine."""
    if s.front == s.boundary:
        return back(s)
    return combine(at(s.products, s.front), back(s))


def back(s):
    """Give the product of the back stack."""
    if s.boundary == s.end:
        return identity
    return at(s.products, s.end - 1)


def size(s):
    return s.end - s.front


def sound(s):
    in_order = 0 <= s.front <= s.boundary <= s.end
    return in_order and all(holds(queue, s.front, s.end) for queue in (s.values, s.products))


def check(s, partials):
    assert sound(s)
    if partials is not None:
        middle = s.boundary - s.front
        for i, partial in enumerate(partials):
            assert agree(at(s.values, s.front + i), partial)
            held = partials[i:middle] if i < middle else partials[middle : i + 1]
            assert agree(at(s.products, s.front + i), fold(combine, held))
