"""SlickDeque by parts: sums by subtraction, the minimum and the maximum by a deque each (Shein, Chrysanthis,
Labrinidis, EDBT 2018; on the moment sketch as in Efficient Incremental Computation of Aggregations over Sliding
Windows, table 3).

For partials whose fields are sums, with at most one minimum and one maximum among them (`partial_parts`). The
queue holds all partials of the window at front..end-1. Invariant: the sums in `total` are those of the window;
`lows` at low..low_end-1 are the positions whose minimum is below that of all younger ones, and `highs` at
high..high_end-1 those whose maximum is above, so that the first of each has the window's. A position enters a
deque once and leaves it once.

The sums drift as those of subtract_on_evict, and keep a NaN or an infinity that has left: the planner never
chooses it. `counted` tells how many values are no nulls; when the last of them leaves, so does all of the drift.
"""

from itertools import pairwise
from typing import NamedTuple

from slidewise.templates.checking import agree, fold
from slidewise.templates.names import (
    IntQueue,
    Partial,
    Queue,
    above,
    append,
    assemble,
    at,
    below,
    combine,
    drop,
    identity,
    same,
    take_out,
)
from slidewise.templates.storage import holds


class State(NamedTuple):
    front: int
    end: int
    counted: int
    low: int
    low_end: int
    high: int
    high_end: int
    total: Partial
    queue: Queue
    lows: IntQueue
    highs: IntQueue


def insert(s, v):
    """1 combine, and fewer than 2 comparisons per deque on average, at most n."""
    append(s.queue, s.end, v)
    if not same(v, identity):
        s.counted += 1
        s.total = combine(s.total, v)
        while s.low != s.low_end and below(at(s.queue, at(s.lows, s.low_end - 1)), v):
            s.low_end -= 1
        append(s.lows, s.low_end, s.end)
        s.low_end += 1
        while s.high != s.high_end and above(at(s.queue, at(s.highs, s.high_end - 1)), v):
            s.high_end -= 1
        append(s.highs, s.high_end, s.end)
        s.high_end += 1
    s.end += 1


def evict(s):
    """No combine, 1 subtraction of the sums."""
    oldest = at(s.queue, s.front)
    drop(s.queue, s.front)
    if not same(oldest, identity):
        if at(s.lows, s.low) == s.front:
            drop(s.lows, s.low)
            s.low += 1
        if at(s.highs, s.high) == s.front:
            drop(s.highs, s.high)
            s.high += 1
        s.counted -= 1
        s.total = take_out(s.total, oldest) if s.counted else identity
    s.front += 1


def query(s):
    """No combine."""
    if s.counted == 0:
        return identity
    return assemble(s.total, at(s.queue, at(s.lows, s.low)), at(s.queue, at(s.highs, s.high)))


def size(s):
    return s.end - s.front


def sound(s):
    if not (
        0 <= s.front <= s.end
        and 0 <= s.low <= s.low_end
        and 0 <= s.high <= s.high_end
        and holds(s.queue, s.front, s.end)
        and holds(s.lows, s.low, s.low_end)
        and holds(s.highs, s.high, s.high_end)
    ):
        return False
    values = [i for i in range(s.front, s.end) if not same(at(s.queue, i), identity)]
    return (
        s.counted == len(values)
        and same(s.total, identity) == (not values)
        and all(held_in_order(positions, values) for positions in deques(s))
    )


def deques(s):
    """List the positions in both deques."""
    return [at(s.lows, j) for j in range(s.low, s.low_end)], [at(s.highs, j) for j in range(s.high, s.high_end)]


def held_in_order(positions, values):
    """Tell whether positions are some of the values', in their order, with the youngest."""
    return (
        not {type(i) for i in positions} - {int}
        and all(i < k for i, k in pairwise(positions))
        and set(positions) <= set(values)
        and positions[-1:] == values[-1:]
    )


def check(s, partials):
    assert sound(s)
    for positions, beats in zip(deques(s), (below, above), strict=True):
        held = [at(s.queue, i) for i in positions]
        assert not any(beats(a, b) for a, b in pairwise(held)), "one that can no longer be an answer"
    if partials is not None:
        for i, partial in enumerate(partials, s.front):
            assert agree(at(s.queue, i), partial)
        assert agree(query(s), fold(combine, partials))
