"""SlickDeque: only what can still be an answer is kept (Shein, Chrysanthis, Labrinidis, EDBT 2018).

Two ways, chosen by what the aggregation is.

Selective (combine returns one operand): a deque of partials at head..tail-1 with their positions in the
stream. A value that loses against a younger one can never be an answer again, so an insertion first pops
those that it beats. Invariant: the partial at j is the product of all values younger than the one at j - 1,
so that the first is the window's. A value is pushed once and popped once: fewer than 2 combines per slide
on average, and n at worst.

Invertible: the deque holds all values, `total` their product, and an eviction takes the oldest out: 1
combine and 1 inverse per slide, with the drift of every inverse that is not exact (see subtract_on_evict).
`counted` tells how many values are not the identity, so that a window of nulls has no sum.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import (
    Array,
    IntQueue,
    Queue,
    append,
    at,
    combine,
    drop,
    identity,
    inverse,
    put,
    same,
    selective,
)


class State(NamedTuple):
    front: int
    end: int
    head: int
    tail: int
    counted: int
    total: Array  # one element, and no partial in the selective way
    queue: Queue
    positions: IntQueue


def sizes(capacity):
    return {"total": 1}


def setup(s):
    s.total.append(identity)


def setup_compiled(s, identity, capacity):
    s.total[0] = identity


def insert(s, v):
    """Selective: fewer than 2 combines on average, at most n. Invertible: 1 combine."""
    if selective:
        while s.head != s.tail and same(combine(at(s.queue, s.tail - 1), v), v):
            s.tail -= 1
            put(s.queue, s.tail, identity)  # not drop(), which frees a page that the front may still use
    elif not same(v, identity):
        s.counted += 1
        s.total[0] = combine(s.total[0], v)
    append(s.queue, s.tail, v)
    append(s.positions, s.tail, s.end)
    s.tail += 1
    s.end += 1


def evict(s):
    """Selective: no combine. Invertible: 1 inverse."""
    if at(s.positions, s.head) == s.front:
        if not selective:
            subtract(s, at(s.queue, s.head))
        drop(s.queue, s.head)
        drop(s.positions, s.head)
        s.head += 1
    s.front += 1


def subtract(s, oldest):
    if not same(oldest, identity):
        s.counted -= 1
        if s.counted == 0:
            s.total[0] = identity
        else:
            s.total[0] = inverse(s.total[0], oldest)


def query(s):
    """No combine."""
    if not selective:
        return s.total[0]
    if s.head == s.tail:
        return identity
    return at(s.queue, s.head)


def size(s):
    return s.end - s.front


def check(s, partials):
    assert 0 <= s.tail - s.head <= s.end - s.front
    held = [at(s.positions, j) for j in range(s.head, s.tail)]
    assert held == sorted(set(held))
    assert all(s.front <= i < s.end for i in held)
    if not selective:
        assert held == list(range(s.front, s.end))
    elif s.front != s.end:
        assert held[-1] == s.end - 1
    if partials is not None:
        since = s.front
        for j, i in enumerate(held, s.head):
            expected = fold(combine, partials[since - s.front :]) if selective else partials[i - s.front]
            assert agree(at(s.queue, j), expected)
            since = i + 1
        if not selective:
            assert agree(s.total[0], fold(combine, partials))
