"""DABA: the De-Amortized Banker's Aggregator (In-Order Sliding-Window Aggregation in Worst-Case Constant
Time, section 5).

Two stacks in one queue as in Two-Stacks, with the flip spread over all operations. Every element has its
value and an aggregate; positions front <= l <= r <= a <= b <= end. Invariant, as the aggregate at i:

    front..l  the product of i..b-1        l..r  the product of i..r-1        r..a  the product of r..i
    a..b      the product of i..b-1        b..end  the product of b..i

and |front..b| >= |b..end|, kept by one step of repair per operation, in which each piece of a flip is done
just in time: so no operation ever does more than a constant amount of work.
"""

from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Queue, append, at, combine, drop, identity, put
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    l: int
    r: int
    a: int
    b: int
    end: int
    values: Queue
    products: Queue


def insert(s, v):
    """At most 4 combines, 2.5 on average."""
    append(s.values, s.end, v)
    append(s.products, s.end, combine(back(s), v))
    s.end += 1
    repair(s)


def evict(s):
    """At most 3 combines, 1.5 on average."""
    drop(s.values, s.front)
    drop(s.products, s.front)
    s.front += 1
    repair(s)


def query(s):
    """1 combine."""
    if s.front == s.b:
        return back(s)
    return combine(at(s.products, s.front), back(s))


def back(s):
    """Give the product of b..end-1."""
    if s.b == s.end:
        return identity
    return at(s.products, s.end - 1)


def repair(s):
    """One step: at most 3 combines. The order of the cases saves tests, since front <= l <= r <= b."""
    if s.l != s.r:  # shrink
        a = s.a - 1
        inner = at(s.products, s.a)
        put(s.products, s.l, combine(combine(at(s.products, s.l), at(s.products, a)), inner))
        put(s.products, a, combine(at(s.values, a), inner))
        s.l += 1
        s.a = a
    elif s.r != s.b:  # shift
        s.l += 1
        s.r += 1
        s.a += 1
    elif s.front != s.b:  # flip, and the first shrink, of which the product of a..b is not yet anything
        a = s.end - 1
        put(s.products, s.front, combine(at(s.products, s.front), at(s.products, a)))
        put(s.products, a, at(s.values, a))
        s.l = s.front + 1
        s.a = a
        s.b = s.end
    else:  # singleton
        s.l = s.r = s.a = s.b = s.end


def size(s):
    return s.end - s.front


def sound(s):
    return (
        0 <= s.front <= s.l <= s.r <= s.a <= s.b <= s.end
        and s.b - s.front >= s.end - s.b
        and (s.front == s.b or s.r - s.l == s.a - s.r)
        and all(holds(queue, s.front, s.end) for queue in (s.values, s.products))
    )


def check(s, partials):
    assert sound(s)
    if partials is not None:
        for k, partial in enumerate(partials):
            i = s.front + k
            start, stop = i, i + 1
            if i < s.l or s.a <= i < s.b:
                stop = s.b
            elif i < s.r:
                stop = s.r
            else:
                start = s.r if i < s.a else s.b
            assert agree(at(s.values, i), partial)
            assert agree(at(s.products, i), fold(combine, partials[start - s.front : stop - s.front]))
