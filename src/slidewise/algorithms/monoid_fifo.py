"""The monoid-augmented FIFO, deamortised (Khuong, 2025): two stacks in one queue, whose flip is spread over
insertions and evictions, and done no sooner than it must be.

One queue with positions front <= boundary <= end, of which the last before the boundary were `staged` at once, and
a cursor that walks down from the boundary. Invariant, as what the element at i holds:

    front..staged    the product of i..staged-1, but from the cursor on that of i..boundary-1
    staged..cursor   the value of i
    cursor..boundary the product of i..boundary-1
    boundary..end    the value of i

with `back` the product of boundary..end-1, and while the cursor is above the front `fresh` the product of
staged..boundary-1 and `inner` that of its part from the cursor on. A step moves the cursor down by one, with 1
combine. Once it has reached the front, the values before the boundary are one stack; as soon as those behind it are as
many, they are staged in their turn. Two inequalities make one step per operation enough, and are the only reason to
make it:

    cursor - staged <= staged - front     no eviction reaches a value that is not yet a product
    end - boundary <= boundary - cursor   the stack is whole when as many values have come as it holds

An insertion is 1 combine and a step at most, an eviction a step at most, a query 2 combines. Of an insertion and an
eviction only one makes a step, since either leaves the other's inequality room for one: 4 combines in the slowest
slide, where DABA Lite has 6, and 4 on average as there. Without a query it is 2, as on average in two stacks, and DABA
Lite has 3.

Read from its slot, the last product makes steps wait for memory: 11.5 ns per slide, through `inner` 7.1.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Partial, Queue, append, at, combine, drop, identity, put
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    staged: int
    cursor: int
    boundary: int
    end: int
    fresh: Partial
    inner: Partial
    back: Partial
    queue: Queue


def insert(s, v):
    """At most 2 combines; with an eviction, 2 on average."""
    append(s.queue, s.end, v)
    s.end += 1
    s.back = combine(s.back, v)
    if s.cursor > s.front and s.end - s.boundary > s.boundary - s.cursor:
        step(s)
    if s.cursor <= s.front:
        settle(s)


def evict(s):
    """At most 1 combine."""
    drop(s.queue, s.front)
    s.front += 1
    if s.cursor > s.front and s.cursor - s.staged > s.staged - s.front:
        step(s)
    if s.cursor <= s.front:
        settle(s)


def query(s):
    """2 combines, or 1 where the stack is whole."""
    if s.front == s.end:
        return identity
    total = at(s.queue, s.front)
    if s.cursor > s.front:
        total = combine(total, s.fresh)
    return combine(total, s.back)


def step(s):
    """Turn one more element into the product up to the boundary: 1 combine."""
    s.cursor -= 1
    product = combine(at(s.queue, s.cursor), s.inner)
    put(s.queue, s.cursor, product)
    if s.cursor >= s.staged:
        s.inner = product


def settle(s):
    """Stage what stands behind the stack, which is whole, if that is as long."""
    s.fresh = s.inner = identity
    if s.end - s.boundary >= s.boundary - s.front:
        s.staged = s.boundary
        s.boundary = s.cursor = s.end
        if s.front != s.end:
            s.cursor -= 1  # the youngest is a product as it is
        if s.front < s.cursor:
            s.fresh = s.back
            s.inner = at(s.queue, s.cursor)
        s.back = identity


def size(s):
    return s.end - s.front


def sound(s):
    return (
        0 <= s.front <= s.boundary <= s.end
        and 0 <= s.staged <= s.boundary
        and 0 <= s.cursor <= s.boundary
        and s.cursor - s.staged <= max(0, s.staged - s.front)
        and s.end - s.boundary <= s.boundary - s.cursor
        and (s.end - s.boundary < s.boundary - s.front or s.front == s.end)
        and holds(s.queue, s.front, s.end)
    )


def check(s, partials):
    assert sound(s)
    whole = s.cursor <= s.front
    if partials is not None:
        front, staged, boundary = s.front, s.staged, s.boundary
        for i in range(front, s.end):
            stop = i + 1 if staged <= i < s.cursor or i >= boundary else boundary if i >= s.cursor else staged
            assert agree(at(s.queue, i), fold(combine, partials[i - front : stop - front]))
        if not whole:
            assert agree(s.fresh, fold(combine, partials[staged - front : boundary - front]))
            assert agree(s.inner, fold(combine, partials[max(s.cursor, staged) - front : boundary - front]))
        assert agree(s.back, fold(combine, partials[boundary - front :]))
    if whole:
        assert s.fresh is None
        assert s.inner is None
