"""The boundary aggregator event by event: every range, slide and chunk size, its costs and its refusals."""

import gc
import math
import random
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat

import slidewise as sw
from slidewise.aggregations.base import Aggregation
from slidewise.algorithms.sba import optimal_chunk_size, optimal_chunk_size_time
from slidewise.errors import InvalidInput


class Counted(Aggregation):
    """A sum that counts its combines."""

    identity = 0
    calls = 0

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return a + b


def shapes(most):
    """Every (range, slide, chunk) up to a range, with None for the default chunk."""
    for r in range(1, most + 1):
        for s in range(1, r + 1):
            yield from ((r, s, c) for c in (None, *range(1, r // s + 1)))


@pytest.mark.parametrize("name", ["sba", "pba"])
class TestAnswers:
    def test_every_shape_evicting_first(self, name):
        text = "".join(random.Random(1).choices("abcdef", k=80))
        for r, s, c in shapes(9):
            structure = sw.swag(name, Concat(), range=r, slide=s, chunk=c)
            for i in range(r):
                structure.insert(text[i])
                structure.check(list(text[: i + 1]))
                assert structure.query() == text[: i + 1]
            for start in range(s, len(text) - r, s):
                for _ in range(s):
                    structure.evict()
                for value in text[start + r - s : start + r]:
                    structure.insert(value)
                structure.check(list(text[start : start + r]))
                assert structure.query() == text[start : start + r]

    def test_every_shape_in_any_order_of_inserts_and_evicts(self, name):
        """A window may be a slide too long, or anything shorter, between queries."""
        random_ = random.Random(2)
        answered = 0
        for r, s, c in shapes(7):
            structure = sw.swag(name, Concat(), range=r, slide=s, chunk=c)
            held, evicted = [], 0
            for _ in range(60):
                if held and (len(held) == r + s or random_.random() < 0.45):
                    structure.evict()
                    held.pop(0)
                    evicted += 1
                else:
                    held.append(random_.choice("abcdef"))
                    structure.insert(held[-1])
                structure.check(held)
                assert len(structure) == len(held)
                if (len(held) == r and evicted % s == 0) or (len(held) < r and evicted == 0):
                    assert structure.query() == ("".join(held) or None)
                    answered += 1
                else:
                    with pytest.raises(InvalidInput, match="daba_lite"):
                        structure.query()
        assert answered > 500

    def test_alignment_by_hand(self, name):
        """Range 10, slide 3: three slices and the first value of the fourth."""
        structure = sw.swag(name, Concat(), range=10, slide=3)
        for value in "abcdefghij":
            structure.insert(value)
        assert structure.query() == "abcdefghij"
        for value in "klm":
            structure.evict()
            structure.insert(value)
        assert structure.query() == "defghijklm"

    def test_tumbling(self, name):
        structure = sw.swag(name, Concat(), range=3, slide=3)
        results = []
        for value in "abcdefghi":
            structure.insert(value)
            if len(structure) == 3:
                results.append(structure.query())
                for _ in range(3):
                    structure.evict()
        assert results == ["abc", "def", "ghi"]

    def test_nulls_count_as_values(self, name):
        structure = sw.swag(name, Counted(), range=4, slide=2)
        for value in (None, None, 3, None):
            structure.insert(value)
        assert (structure.query(), len(structure)) == (3, 4)
        structure.evict(), structure.evict()
        structure.insert(None), structure.insert(4)
        assert structure.query() == 7

    def test_empty(self, name):
        structure = sw.swag(name, Concat(), range=2)
        assert structure.query() is None
        with pytest.raises(InvalidInput, match="empty"):
            structure.evict()

    def test_times(self, name):
        structure = sw.swag(name, Concat(), range=4, slide=2)
        for t, value in enumerate("abcdef"):
            structure.insert(value, time=t)
        structure.evict(time=1)
        assert (structure.query(), structure.oldest, structure.youngest) == ("cdef", 2, 5)

    def test_round_trip_in_mid_stream(self, name):
        text = "".join(random.Random(3).choices("abcdef", k=60))
        structure = sw.swag(name, Concat(), range=9, slide=2)
        for i, value in enumerate(text):
            structure.insert(value)
            if len(structure) == 10:
                structure.evict(), structure.evict()
            structure = sw.swag(name, Concat(), range=9, slide=2).from_bytes(structure.to_bytes())
            if len(structure) == 9:
                assert structure.query() == text[i - 8 : i + 1]

    def test_evicted_values_are_let_go(self, name):
        class Value:
            pass

        class Last(Aggregation):
            @staticmethod
            def combine(a, b):
                return b

        structure = sw.swag(name, Last(), range=6, slide=2)
        seen = []
        for _ in range(40):
            value = Value()
            seen.append(weakref.ref(value))
            structure.insert(value)
            del value
            if len(structure) == 8:
                structure.evict(), structure.evict()
        structure.check()
        gc.collect()
        # what is left is in the window, or the running partial of the newest chunk
        assert all(ref() is None for ref in seen[:-8])


# ---- costs
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 100, 1000])
def test_combines_of_a_slide_of_one(n):
    structure = sw.swag("sba", Counted(), range=n)
    c = optimal_chunk_size(n, 1)
    for _ in range(n):
        structure.insert(1)
    Counted.calls = 0
    slides = 10 * c
    costs = []
    for _ in range(slides):
        before = Counted.calls
        structure.evict()
        structure.insert(1)
        assert structure.query() == n
        costs.append(Counted.calls - before)
    boundary = 3 + max(0, c - 2)
    assert max(costs) <= boundary
    assert sum(cost > 3 for cost in costs) <= slides // c  # all but one slide in c
    assert sum(costs) <= 3 * slides + (slides // c) * max(0, c - 2)


@pytest.mark.parametrize(("r", "s"), [(10, 1), (10, 2), (10, 3), (100, 7), (1000, 1), (1000, 30), (12, 12)])
def test_space(r, s):
    c = optimal_chunk_size(r, s)
    structure = sw.swag("sba", Counted(), range=r, slide=s)
    most = 0
    for i in range(5 * r):
        if len(structure) == r + s:
            for _ in range(s):
                structure.evict()
        structure.insert(i)
        most = max(most, structure.partials())
    assert most <= 3 * c + 2
    assert most >= r // s  # and it does hold the slices


def test_values_are_combined_into_slices():
    """A window of 100,000 values with a slide of 1,000 holds a hundred partials, and a slide costs 1,003
    combines."""
    structure = sw.swag("sba", Counted(), range=100_000, slide=1000)
    for _ in range(100_000):
        structure.insert(1)
    assert structure.partials() <= 110
    Counted.calls = 0
    for _ in range(1000):
        structure.evict()
    for _ in range(1000):
        structure.insert(1)
    assert structure.query() == 100_000
    assert Counted.calls <= 1003 + optimal_chunk_size(100_000, 1000) - 2


# ---- the paper's chunk sizes
@pytest.mark.parametrize(
    ("r", "s", "expected"),
    [
        (10, 2, 4),  # d = 5 > 3: floor((2 * 6 + 0 + 1) / 3)
        (16, 1, 9),  # d = 16 > 2: floor((17 + 0 + 1) / 2), which is floor((n + 2) / 2)
        (10, 3, 3),  # d = 3 <= 3 + 1 + 1
        (100, 3, 26),  # d = 33 > 5, m = 1: floor((3 * 34 + 1 + 1) / 4) = 104 / 4
        (7, 7, 1),  # tumbling
        (1, 1, 1),
    ],
)
def test_theorem_1(r, s, expected):
    assert optimal_chunk_size(r, s) == expected


@pytest.mark.parametrize(
    ("r", "s", "tu", "expected"),
    [
        (3600, 60, 1, 60),  # d = 60 <= (60 + 2) / 1
        (1000, 1, 1, 667),  # d = 1000 > 3: floor((1000 * 2 + 3) / 3)
        (100, 3, 2, 25),  # C = 1 + 2, d = 33 > (3 + 4 + 3) / 2: floor((33 * 5 + 10) / 7) = 175 // 7
        (10, 4, 10, 2),  # d = 2 <= (4 + 20 + 2 + 10) / 10
        (10_000, 30, 0.5, 328),  # C = 10 + 0.5, d = 333 > (30 + 1 + 10.5) / 0.5: floor((333 * 30.5 + 41.5) / 31)
    ],
)
def test_theorem_2(r, s, tu, expected):
    assert optimal_chunk_size_time(r, s, tu) == expected


def test_theorem_2_as_printed_depends_on_the_unit():
    """1,000 s, 3 s and 0.05 s, in seconds, in tenths, and in milliseconds."""
    units = (1, 10, 1000)
    got = {
        reading: [optimal_chunk_size_time(1000 * u, 3 * u, 0.05 * u, reading=reading) for u in units]
        for reading in ("printed", "derived")
    }
    assert got == {"printed": [329, 333, 333], "derived": [328, 328, 328]}
    with pytest.raises(sw.InvalidInput, match="two readings"):
        optimal_chunk_size_time(10, 3, 1, reading="mine")


@given(st.integers(1, 400), st.integers(1, 60), st.integers(1, 30), st.integers(1, 1000))
def test_theorem_2_is_the_largest_chunk_that_makes_nobody_wait(r, s, tu, unit):
    """A clock: the second thread begins at the boundary, the main one merges at every slide and at the window's end."""
    r = max(r, s)
    d = r // s
    c = optimal_chunk_size_time(r, s, tu)

    def in_time(c):
        ready = c * s + (c - 2) * tu  # the pass over the chunk that ends at c s
        merged = c * s + (d + 1 - c) * s + (d - c) * tu  # of the window that begins at s, as far as slices go
        return ready <= merged + (r % s + tu if r % s else 0)

    assert 1 <= c <= d
    assert c == max(c for c in range(1, d + 1) if in_time(c))
    assert c == optimal_chunk_size_time(r * unit, s * unit, tu * unit)


def test_windows_span_at_most_three_chunks():
    for r, s, _ in shapes(60):
        c = optimal_chunk_size(r, s)
        assert 1 <= c <= r // s < 2 * c


# ---- refusals
@pytest.mark.parametrize("name", ["sba", "pba"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"range": 0},
        {"range": 2.5},
        {"range": "10"},
        {"range": 10, "slide": 0},
        {"range": 10, "slide": 11},
        {"range": 10, "slide": 2, "chunk": 0},
        {"range": 10, "slide": 2, "chunk": 6},
        {"range": 10, "slide": math.inf},
    ],
)
def test_bad_options_are_refused(name, options):
    with pytest.raises(InvalidInput, match=r"got .*range=10, slide=2"):
        sw.swag(name, Concat(), **options)


def test_the_reason_of_a_refused_query():
    structure = sw.swag("sba", Concat(), range=4, slide=2)
    for value in "abcd":
        structure.insert(value)
    structure.evict()
    structure.insert("e")
    with pytest.raises(InvalidInput, match=r"range, 4 .* slide, 2; this one has 4 .* after 1.*daba_lite"):
        structure.query()


def test_a_window_that_only_grows_is_refused():
    structure = sw.swag("sba", Concat(), range=4, slide=2)
    for value in "abcdef":
        structure.insert(value)
    with pytest.raises(InvalidInput, match="Evict"):
        structure.insert("g")
    structure.evict(), structure.evict()
    assert structure.query() == "cdef"
