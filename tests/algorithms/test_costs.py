"""The table of costs, by counting: calls of combine per operation, and partials held.

A row of COSTS is an algorithm with its bounds as functions of n, the values in the window. To add an algorithm is to
add a row.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from support.tiers import in_full, quick

import slidewise as sw
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.templates import storage
from slidewise.templates.interpret import build_swag_class

SIZES = [1, 2, 3, 7, 10, 64, 100, 1000, 10_000]
Bound = Callable[[int], float]


# ---- aggregations that count their own calls
class Calls:
    combine = 0
    inverse = 0

    @classmethod
    def reset(cls):
        before = cls.combine, cls.inverse
        cls.combine = cls.inverse = 0
        return before


class CountingSum(sw.Aggregation):
    identity = 0
    commutative = True
    invertible = True
    exactly_invertible = True

    @staticmethod
    def combine(a, b):
        Calls.combine += 1
        return a + b

    @staticmethod
    def inverse(total, oldest):
        Calls.inverse += 1
        return total - oldest


class CountingMax(sw.Aggregation):
    identity = -math.inf
    commutative = True
    selective = True

    @staticmethod
    def combine(a, b):
        Calls.combine += 1
        return b if b > a else a


class CountingParts(sw.Aggregation):
    identity = (0, math.inf, -math.inf)
    commutative = True
    partial_parts = ("sum", "min", "max")

    @staticmethod
    def lift(x):
        return (x, x, x)

    @staticmethod
    def combine(a, b):
        Calls.combine += 1
        return (a[0] + b[0], min(a[1], b[1]), max(a[2], b[2]))


def nothing(n):
    return 0


@dataclass(frozen=True)
class Cost:
    """At most, per operation at a window of n values (n before an evict, after an insert); and on average, per whole
    cycle of steady slides."""

    name: str
    insert: Bound
    evict: Bound
    query: Bound
    partials: Bound
    #: combines per evict + insert + query, on average; None where the bound is not a constant
    slide: float | None
    inverse: int = 0
    op: type = CountingSum
    options: Callable[[int], dict[str, Any]] = lambda n: {}
    #: the averages of insert, evict and query, where the table has them
    averages: tuple[float, float, float] | None = None
    #: the largest window: where a query folds it, counting to the end takes long
    largest: int = 10_000

    def __str__(self):
        return f"{self.name}-{self.op.__name__}"


COSTS = [
    Cost("recalculate", nothing, nothing, lambda n: n, lambda n: n, None, largest=1000),
    Cost("subtract_on_evict", lambda n: 1, nothing, nothing, lambda n: n + 1, 1, inverse=1, averages=(1, 0, 0)),
    Cost("two_stacks", lambda n: 1, lambda n: n, lambda n: 1, lambda n: 2 * n, 3, averages=(1, 1, 1)),
    Cost("two_stacks_lite", lambda n: 1, lambda n: n, lambda n: 1, lambda n: n + 1, 3, averages=(1, 1, 1)),
    Cost("daba", lambda n: 4, lambda n: 3, lambda n: 1, lambda n: 2 * n, 5, averages=(2.5, 1.5, 1)),
    Cost("daba_lite", lambda n: 3, lambda n: 2, lambda n: 1, lambda n: n + 2, 4, averages=(2, 1, 1)),
    Cost("monoid_fifo", lambda n: 2, lambda n: 1, lambda n: 2, lambda n: n + 3, 4),
    Cost("flat_fit", nothing, nothing, lambda n: n, lambda n: n, 3, averages=(0, 0, 3)),
    Cost("slick_deque", lambda n: n, nothing, nothing, lambda n: n, 2, op=CountingMax),
    Cost("slick_deque", lambda n: 1, nothing, nothing, lambda n: n + 1, 1, inverse=1, averages=(1, 0, 0)),
    Cost("slick_deque_parts", lambda n: 1, nothing, nothing, lambda n: n + 1, 1, op=CountingParts, averages=(1, 0, 0)),
]
EACH = pytest.mark.parametrize("cost", COSTS, ids=str)


class Counted:
    """A structure whose every operation is checked against its row."""

    def __init__(self, cost, n):
        self.cost = cost
        self.s = sw.swag(cost.name, cost.op(), **cost.options(n))
        self.spent = {"insert": 0, "evict": 0, "query": 0}
        Calls.reset()

    def insert(self, value):
        self.s.insert(value)
        self.count("insert", self.cost.insert(len(self.s)))

    def evict(self):
        n = len(self.s)
        self.s.evict()
        self.count("evict", self.cost.evict(n))

    def query(self):
        result = self.s.query()
        self.count("query", self.cost.query(len(self.s)))
        return result

    def count(self, operation, most):
        combines, inverses = Calls.reset()
        self.spent[operation] += combines
        assert combines <= most, (operation, len(self.s), combines)
        assert inverses <= (self.cost.inverse if operation == "evict" else 0)

    def check_space(self):
        held = self.s.partials()
        assert held <= self.cost.partials(len(self.s)) if len(self.s) else held <= 1, (len(self.s), held)


# ---- maxima
def falling(n):
    """Values that never lose against an older one, then one that beats them all: the worst for a monotone deque."""
    return itertools.chain(range(n, 0, -1), itertools.repeat(n + 1))


def grow_and_drain(c, n):
    values = falling(n)
    for _ in range(n):
        c.insert(next(values))
        c.query()
    while len(c.s):
        c.evict()
        c.query()


def grow_then_query(c, n):
    for value in range(n):
        c.insert(value)
    c.query()
    while len(c.s):
        c.evict()
    c.query()


def oscillate(c, n):
    """Up and down around a flip, at every length of the run."""
    for value in range(n):
        c.insert(-value)
    for run in range(1, min(n, 12) + 1):
        for _ in range(3):
            for _ in range(run):
                c.evict()
            c.query()
            for value in range(run):
                c.insert(value)
            c.query()


def refill_from_empty(c, n):
    """Every flip of a window that empties: grow by one more each time."""
    for size in range(1, min(n, 40) + 1):
        for value in range(size):
            c.insert(value)
        c.query()
        for _ in range(size):
            c.evict()
        c.query()


def at_random(c, n):
    rng = random.Random(n)
    share = 0.5
    for step in range(min(4 * n, 12_000)):
        if step % max(1, n // 3) == 0:
            share = rng.choice((0.1, 0.4, 0.5, 0.6, 0.9))
        if rng.random() < share and len(c.s) < n:
            c.insert(rng.randint(-99, 99))
        elif len(c.s):
            c.evict()
        if rng.random() < 0.5:
            c.query()


SEQUENCES = [grow_and_drain, grow_then_query, oscillate, refill_from_empty, at_random]


@EACH
@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda f: f.__name__)
def test_no_operation_costs_more_than_its_row_says(cost, sequence):
    for n in SIZES:
        if n > cost.largest:
            continue
        sequence(Counted(cost, n), n)


# ---- averages
@pytest.mark.parametrize("cost", [cost for cost in COSTS if cost.slide is not None], ids=str)
@pytest.mark.parametrize("n", quick(SIZES, 1, 7, 100, 1000))
def test_averages_over_whole_cycles_of_steady_slides(cost, n):
    c = Counted(cost, n)
    rng = random.Random(1)
    for _ in range(n):
        c.insert(rng.random())
    for _ in range(n):
        slide(c, rng)
    c.spent = dict.fromkeys(c.spent, 0)
    slides = n * max(2, 3000 // n)  # a cycle is n slides, from one flip to the next
    for _ in range(slides):
        slide(c, rng)
    assert sum(c.spent.values()) <= cost.slide * slides
    if cost.averages is not None:
        for spent, most in zip(c.spent.values(), cost.averages, strict=True):
            assert spent <= most * slides, (slides, c.spent)


def slide(c, rng):
    c.evict()
    c.insert(rng.random())
    c.query()


@pytest.mark.parametrize(("name", "insert", "evict"), [("daba", 2.5, 1.5), ("daba_lite", 2, 1)])
def test_daba_averages_are_those_of_the_papers(name, insert, evict):
    """Not only below the figures: they are met, up to what the identity saves at each flip."""
    n, cycles = 1000, 4
    c = Counted(next(cost for cost in COSTS if cost.name == name), n)
    rng = random.Random(0)
    for _ in range(n):
        c.insert(rng.random())
    c.spent = dict.fromkeys(c.spent, 0)
    for _ in range(cycles * n):
        slide(c, rng)
    assert c.spent["insert"] / (cycles * n) == pytest.approx(insert, abs=0.02)
    assert c.spent["evict"] / (cycles * n) == pytest.approx(evict, abs=0.02)
    assert c.spent["query"] / (cycles * n) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("name", "most"), [("monoid_fifo", 4), ("daba_lite", 6), ("daba", 8)])
def test_the_slowest_slide(name, most):
    """Evict, insert and query at once, wherever the window comes from: the bound is met, and never passed."""
    rng = random.Random(most)
    slowest = 0
    for _ in range(60):
        s = sw.swag(name, CountingSum())
        share = rng.choice((0.3, 0.5, 0.7, 0.9))
        for value in range(400):
            if len(s) < 2 or rng.random() < share:
                s.insert(value)
            else:
                s.evict()
            if value % rng.choice((1, 7)) == 0:
                Calls.reset()
                for operation in rng.sample((s.evict, lambda s=s: s.insert(1)), 2):
                    operation()
                s.query()
                slowest = max(slowest, Calls.reset()[0])
    assert slowest == most


def test_without_queries_monoid_fifo_costs_as_two_stacks():
    spent = {}
    for name in ("monoid_fifo", "two_stacks_lite", "daba_lite"):
        s = sw.swag(name, CountingSum())
        for value in range(1000):
            s.insert(value)
        Calls.reset()
        for value in range(4000):
            s.evict()
            s.insert(value)
        spent[name] = Calls.reset()[0] / 4000
    assert spent["monoid_fifo"] == pytest.approx(spent["two_stacks_lite"], abs=0.02) == pytest.approx(2, abs=0.02)
    assert spent["daba_lite"] == pytest.approx(3, abs=0.02)


# ---- space
@EACH
@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, *in_full(1000)])
def test_partials_held(cost, n):
    c = Counted(cost, n)
    values = falling(n)
    every = max(1, n // 50)
    for k in range(n):
        c.insert(next(values))
        if k % every == 0:
            c.check_space()
    rng = random.Random(2)
    for k in range(2 * n):
        slide(c, rng)
        if k % every == 0:
            c.check_space()
    for k in range(n):
        c.evict()
        if k % every == 0 or k == n - 1:
            c.check_space()


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_evicted_values_are_not_kept_alive(cost):
    import gc
    import weakref

    class Number(float):
        __slots__ = ("__weakref__",)

    s = sw.swag(cost.name, KEEPERS[cost.op]())
    alive = weakref.WeakSet()
    for k in range(3000):
        value = Number(k)
        alive.add(value)
        s.insert(value)
        if len(s) > 20:
            s.evict()
        s.query()
    del value
    gc.collect()
    assert len(alive) <= 2 * 20 + 3


class Keeper(CountingSum):
    """The partial is the youngest value itself, so that what stays alive is what the structure keeps."""

    @staticmethod
    def combine(a, b):
        return b

    @staticmethod
    def inverse(total, oldest):
        return total


class KeeperInParts(CountingParts):
    """The same for partials in parts, whose extremes are the values."""

    @staticmethod
    def lift(x):
        return (0, x, x)


KEEPERS = {CountingSum: Keeper, CountingMax: sw.first, CountingParts: KeeperInParts}


# ---- moves of elements: constant, however large the window
def most_moves(monkeypatch, name, n, runs=()):
    """The most writes to queue slots and page allocations in one operation, while a window grows to n and shrinks."""
    moves = 0

    def counting(function):
        def counted(pages, i, *value):
            nonlocal moves
            moves += 1
            missing = page_missing(pages, i) if not i & storage.LAST and len(value) else 0
            before, form = moves, len(pages)
            function(pages, i, *value)
            moves += missing
            if len(pages) != form:  # a ring has grown: that moves storage.MOST elements at most, at any size of window
                moves = before

        return counted

    for name_of in ("append", "put", "drop"):
        monkeypatch.setattr(storage, name_of, counting(getattr(storage, name_of)))
    build_swag_class.cache_clear()  # so that the clones are bound to the counting functions
    s = sw.swag(name, CountingSum())
    grow, shrink = (lambda: s.insert(1)), s.evict
    most = 0
    more = [part for run in runs for part in ((grow, run), (shrink, run))]
    for operation, times in [(grow, n), (shrink, n // 2), *more]:
        for _ in range(times):
            moves = 0
            operation()
            most = max(most, moves)
    monkeypatch.undo()
    build_swag_class.cache_clear()
    return most


def page_missing(pages, i):
    if storage.is_ring(pages):
        return 0  # what a ring moves when it grows has a bound of its own
    middle = pages[i >> 20 & storage.LAST]
    return 2 if middle is None else int(middle[i >> 10 & storage.LAST] is None)


@pytest.mark.full
@pytest.mark.parametrize("name", ["daba", "daba_lite", "monoid_fifo"])
def test_the_most_moves_in_one_operation_do_not_grow_with_the_window(name, monkeypatch):
    small = most_moves(monkeypatch, name, 1_000, runs=range(1, 500, 11))  # new pages at any phase of a flip
    large = most_moves(monkeypatch, name, 1_000_000)
    assert small == large <= 12


def test_two_stacks_lite_does_move_more(monkeypatch):
    """The count can tell: the amortised algorithm moves the whole window in its flip."""
    assert most_moves(monkeypatch, "two_stacks_lite", 1000) >= 999


def test_every_row_is_of_a_registered_algorithm():
    assert {cost.name for cost in COSTS} <= {entry.name for entry in ALGORITHMS}
