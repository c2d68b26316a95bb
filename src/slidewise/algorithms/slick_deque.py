"""SlickDeque: only what can still be an answer is kept (Shein, Chrysanthis, Labrinidis, EDBT 2018).

Two ways, chosen by what the aggregation is.

Selective (combine returns one operand): a deque of partials at head..tail-1 with their positions in the
stream. A value that loses against a younger one can never be an answer again, so an insertion first pops
those that it beats. Invariant: the partial at j is the product of all values younger than the one at j - 1,
so that the first is the window's. A value is pushed once and popped once: fewer than 2 combines per slide
on average, and n at worst. The winner of the youngest k values is the first one held that is among them: all
windows that end with the youngest value are answered by one deque, and without a combine.

Invertible: the deque holds all values, `total` their product, and an eviction takes the oldest out: 1
combine and 1 inverse per slide, with the drift of every inverse that is not exact (see subtract_on_evict).
`counted` tells how many values are not the identity, so that a window of nulls has no sum.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from slidewise.errors import IllegalPair
from slidewise.templates.checking import agree, fold
from slidewise.templates.last_values import LastValues
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
from slidewise.templates.storage import holds


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
    """Insert: fewer than 2 combines on average, at most n, where selective; 1 combine where invertible."""
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
    """Evict: no combine where selective, 1 inverse where invertible."""
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


def query_youngest(s, k):
    """No combine, where selective: O(log n) steps to the first value held that is among the youngest k."""
    low = s.head
    high = s.tail
    while low < high:
        middle = (low + high) // 2
        if at(s.positions, middle) < s.end - k:
            low = middle + 1
        else:
            high = middle
    return identity if low == s.tail else at(s.queue, low)


def size(s):
    return s.end - s.front


def sound(s):
    if not (
        len(s.total) == 1
        and 0 <= s.front <= s.end
        and 0 <= s.head <= s.tail
        and s.tail - s.head <= s.end - s.front
        and all(holds(queue, s.head, s.tail) for queue in (s.queue, s.positions))
    ):
        return False
    held = [at(s.positions, j) for j in range(s.head, s.tail)]
    if {type(i) for i in held} - {int}:
        return False
    if not selective:
        counted = sum(not same(at(s.queue, j), identity) for j in range(s.head, s.tail))
        whole = len(held) == s.end - s.front and held == list(range(s.front, s.end))
        return whole and s.counted == counted and same(s.total[0], identity) == (counted == 0)
    return all(i < k for i, k in pairwise(held)) and (
        s.front <= held[0] and held[-1] == s.end - 1 if held else s.front == s.end
    )


def check(s, partials):
    assert sound(s)
    if partials is not None:
        held = [at(s.positions, j) for j in range(s.head, s.tail)]
        since = s.front
        for j, i in enumerate(held, s.head):
            expected = fold(combine, partials[since - s.front :]) if selective else partials[i - s.front]
            assert agree(at(s.queue, j), expected)
            since = i + 1
        if not selective:
            assert agree(s.total[0], fold(combine, partials))


class SlickDeque(LastValues):
    """Many windows from one, where the aggregation is selective."""

    __slots__ = ()

    def query_last(self: Any, k: int, *argument: Any) -> Any:
        """Aggregate the youngest k values, or all where fewer are held. No combine, O(log n) steps."""
        if not self.aggregation.selective:
            raise IllegalPair(
                f"query_last: slick_deque holds one total of {self.aggregation.name}, which is not selective: the last "
                f"{k!r} values have none of their own. Use flat_fit"
            )
        return super().query_last(k, *argument)


MIXINS = (SlickDeque,)
