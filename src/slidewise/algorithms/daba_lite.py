"""DABA Lite: the De-Amortized Banker's Aggregator without a second product per element (In-Order
Sliding-Window Aggregation in Worst-Case Constant Time, section 6).

One queue with positions front <= l <= r <= a <= b <= end. Invariant, as what the element at i holds:

    front..l  the product of i..b-1        l..r  the product of i..r-1        r..a  the value of i
    a..b      the product of i..b-1        b..end  the value of i

with `middle` the product of r..b-1 and `back` the product of b..end-1, and |front..b| >= |b..end| kept by
one step of repair per operation: so no operation ever does more than a constant amount of work.

While l < r the partial of a is not in its slot but in `inner`, where the next step reads it: through memory
the chain of steps costs 5.6 ns per slide, so 4.2. Otherwise `inner` and `middle` hold nothing: n + 2
partials at most.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Partial, Queue, append, at, combine, drop, identity, put
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    l: int
    r: int
    a: int
    b: int
    end: int
    middle: Partial
    back: Partial
    inner: Partial
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
    """One step: at most 2 combines. The order of the cases saves tests, since front <= l <= r <= b."""
    if s.l != s.r:  # shrink
        put(s.queue, s.l, combine(at(s.queue, s.l), s.middle))
        put(s.queue, s.a, s.inner)
        s.l += 1
        s.a -= 1
        s.inner = combine(at(s.queue, s.a), s.inner)
        settle(s)
    elif s.r != s.b:  # shift
        s.l += 1
        s.r += 1
        s.a += 1
    elif s.front != s.b:  # flip, and the first shrink
        put(s.queue, s.front, combine(at(s.queue, s.front), s.back))
        s.l = s.front + 1
        s.a = s.end - 1
        s.b = s.end
        s.middle = s.back
        s.back = identity
        s.inner = at(s.queue, s.a)
        settle(s)
    else:  # singleton
        s.l = s.r = s.a = s.b = s.end
        s.back = identity


def settle(s):
    """Leave the slot at a empty while shrinking goes on, else give it back its partial."""
    if s.l != s.r:
        put(s.queue, s.a, identity)
    else:
        put(s.queue, s.a, s.inner)
        s.inner = identity
        s.middle = identity


def size(s):
    return s.end - s.front


def sound(s):
    return (
        0 <= s.front <= s.l <= s.r <= s.a <= s.b <= s.end
        and s.b - s.front >= s.end - s.b
        and s.r - s.l == s.a - s.r
        and holds(s.queue, s.front, s.end)
    )


def check(s, partials):
    assert sound(s)
    shrinking = s.l != s.r
    if partials is not None:
        for i in range(s.front, s.end):
            stop = s.b if i < s.l or s.a <= i < s.b else s.r if i < s.r else i + 1
            held = s.inner if shrinking and i == s.a else at(s.queue, i)
            assert agree(held, fold(combine, partials[i - s.front : stop - s.front]))
        if shrinking:
            assert agree(s.middle, fold(combine, partials[s.r - s.front : s.b - s.front]))
        assert agree(s.back, fold(combine, partials[s.b - s.front :]))
    if shrinking:
        assert at(s.queue, s.a) is None
    else:
        assert s.inner is None
        assert s.middle is None
