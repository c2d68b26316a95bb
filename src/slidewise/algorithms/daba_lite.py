"""DABA Lite: the De-Amortized Banker's Aggregator without a second product per element (In-Order Sliding-Window
Aggregation in Worst-Case Constant Time, section 6).

One queue with positions front <= l <= r <= a <= b <= end. Invariant, as what the element at i holds:

    front..l  the product of i..b-1        l..r  the product of i..r-1        r..a  the value of i
    a..b      the product of i..b-1        b..end  the value of i

with `middle` the product of r..b-1 and `back` the product of b..end-1, and |front..b| >= |b..end| kept by one step of
repair per operation: so no operation ever does more than a constant amount of work.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Partial, Queue, append, at, combine, drop, identity, put


class State(NamedTuple):
    front: int
    l: int
    r: int
    a: int
    b: int
    end: int
    middle: Partial
    back: Partial
    queue: Queue


def insert(s, v):
    """At most 3 combines, 2 on average."""
    append(s.queue, s.end, v)
    s.end += 1
    s.back = combine(s.back, v)
    repair(s)


def evict(s):
    """At most 2 combines, 1 on average."""
    drop(s.queue, s.front)
    s.front += 1
    repair(s)


def query(s):
    """1 combine."""
    if s.front == s.b:
        return s.back
    return combine(at(s.queue, s.front), s.back)


def repair(s):
    if s.front == s.b:  # singleton
        s.l = s.r = s.a = s.b = s.end
        s.middle = identity
        s.back = identity
        return
    if s.l == s.b:  # flip
        s.l = s.front
        s.a = s.b = s.end
        s.middle = s.back
        s.back = identity
    if s.l == s.r:  # shift
        s.a += 1
        s.r += 1
    else:  # shrink
        put(s.queue, s.l, combine(at(s.queue, s.l), s.middle))
        a = s.a - 1
        if s.a != s.b:
            put(s.queue, a, combine(at(s.queue, a), at(s.queue, s.a)))
        s.a = a
    s.l += 1


def size(s):
    return s.end - s.front


def check(s, partials):
    assert s.front <= s.l <= s.r <= s.a <= s.b <= s.end
    assert s.b - s.front >= s.end - s.b
    if partials is not None:
        for i in range(s.front, s.end):
            stop = s.b if i < s.l or s.a <= i < s.b else s.r if i < s.r else i + 1
            assert agree(at(s.queue, i), fold(combine, partials[i - s.front : stop - s.front]))
        if s.l != s.r:  # afterwards it is not read until the next flip
            assert agree(s.middle, fold(combine, partials[s.r - s.front : s.b - s.front]))
        assert agree(s.back, fold(combine, partials[s.b - s.front :]))
