"""FlatFAT: the paper's interface within its bounds, the circular buffer, and frames over columns."""

import math
import random

import numpy as np
import pytest
from support.aggregations import Concat, Deviation
from support.tiers import in_full
from trees import CASES, IDS, Counted, agree, counted, fifo_steps, recalculate

import slidewise as sw
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.templates import compile as compiled
from slidewise.templates import fifo


def bound(capacity, m):
    return m * (1 + math.ceil(math.log2(capacity / m)))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("aggregation", "draw"), CASES, ids=IDS)
@pytest.mark.parametrize("capacity", [1, 2, 7, 16])
def test_a_circular_buffer_agrees_with_recalculation(aggregation, draw, capacity):
    s = sw.swag("flat_fat", aggregation, capacity=capacity)
    fifo_steps(s, aggregation, draw, capacity, 600, capacity)


@pytest.mark.parametrize("capacity", [1, 2, 4, 8, 64, 1024])
def test_building_is_one_combine_less_than_slots(capacity):
    s = sw.swag("flat_fat", Counted(), capacity=capacity)
    assert counted(s.new, ["x"] * capacity) == capacity - 1
    assert counted(s.aggregate) == 0
    assert s.aggregate() == "x" * capacity


@pytest.mark.parametrize("capacity", [2, 8, 64, 1024])
def test_an_update_of_m_slots_stays_within_the_papers_bound(capacity):
    rng = random.Random(capacity)
    s = sw.swag("flat_fat", Counted(), capacity=capacity)
    slots = ["a"] * capacity
    s.new(slots)
    for m in [*range(1, min(capacity, 20) + 1), capacity // 2, capacity]:
        for locations in (
            rng.sample(range(1, capacity + 1), m),
            range(1, m + 1),
            range(1, capacity + 1, capacity // m),
        ):
            changes = {location: rng.choice("bcd") for location in list(locations)[:m]}
            assert counted(s.update, changes) <= bound(capacity, len(changes))
            for location, value in changes.items():
                slots[location - 1] = value
            s.check(slots)
    assert s.aggregate() == "".join(slots)


def test_the_papers_figure_4():
    """a[1], a[2], a[4] and a[7] of eight slots change: six inner nodes are written."""
    s = sw.swag("flat_fat", Counted(), capacity=8)
    s.new("abcdefgh")
    assert counted(s.update, [(1, "A"), (2, "B"), (4, "D"), (7, "G")]) == 6
    assert s.aggregate() == "ABcDefGh"


@pytest.mark.parametrize("capacity", [1, 2, 16, 128])
def test_every_prefix_and_suffix_in_log_combines(capacity):
    text = "".join(chr(97 + i % 26) for i in range(capacity))
    s = sw.swag("flat_fat", Counted(), capacity=capacity)
    s.new(text)
    for i in range(1, capacity + 1):
        assert s.prefix(i) == text[:i]
        assert s.suffix(i) == text[i - 1 :]
        assert counted(s.prefix, i) <= math.log2(capacity)
        assert counted(s.suffix, i) <= math.log2(capacity)


def test_the_papers_figure_5():
    """Four slots, and a window that wraps around: 9 goes into slot 1, and is the last of the window."""
    s = sw.swag("flat_fat", Concat(), capacity=4)
    for value in "4732":
        s.insert(value)
    s.evict()
    assert s.query() == s.aggregate() == "732"
    s.insert("9")
    assert s.aggregate() == "9732", "the slots in their own order"
    assert s.query() == s.suffix(2) + s.prefix(1) == "7329", "the window's order"
    s.check(list("7329"))


@pytest.mark.parametrize("capacity", [2, 8, 64])
def test_an_inverted_buffer_within_the_bound(capacity):
    s = sw.swag("flat_fat", Counted(), capacity=capacity)
    for _ in range(3 * capacity):
        if len(s) == capacity:
            assert counted(s.evict) <= math.log2(capacity)
        assert counted(s.insert, "x") <= math.log2(capacity)
        assert counted(s.query) <= 2 * math.log2(capacity) - 1
    assert s.partials() == 2 * capacity - 1


def test_capacity_is_rounded_up_and_new_makes_room():
    s = sw.swag("flat_fat", sw.sum(), capacity=5)
    for value in range(8):
        s.insert(value)
    assert len(s) == 8
    s.new(range(9))
    assert (s.query(), len(s), s.prefix(16)) == (36, 9, 36)
    s.new([])
    assert (s.query(), len(s)) == (None, 0)


def test_an_update_after_the_end_extends_the_window():
    s = sw.swag("flat_fat", Concat(), capacity=8)
    s.insert("a")
    s.update({3: "c"})
    assert len(s) == 3
    s.check(["a", None, "c"])
    s.update({2: "b"})
    s.insert("d")
    s.evict()
    assert s.query() == "bcd"


@pytest.mark.parametrize("location", [0, 9, -1, 1.5, "1", None])
def test_wrong_locations_are_refused(location):
    s = sw.swag("flat_fat", sw.sum(), capacity=8)
    for operation in (s.prefix, s.suffix, lambda i: s.update({i: 1})):
        with pytest.raises(sw.InvalidInput, match=r"from 1 to 8, got"):
            operation(location)
    s.check([])


def test_what_cannot_be_meant_is_refused():
    s = sw.swag("flat_fat", sw.sum(), capacity=2)
    with pytest.raises(sw.InvalidInput, match="location 2 is given more than once"):
        s.update([(2, 1), (2, 3)])
    s.new([1, 2])
    with pytest.raises(sw.InvalidInput, match=r"all 2 slots .* reactive, which grows"):
        s.insert(3)
    assert (s.query(), len(s)) == (3, 2)
    for capacity in (0, -1, 2.0, None):
        with pytest.raises(sw.InvalidInput, match="fixed capacity"):
            sw.swag("flat_fat", sw.sum(), capacity=capacity)


def test_times_beside_the_slots():
    s = sw.swag("flat_fat", Concat(), capacity=4)
    for time, value in enumerate("abcd"):
        s.insert(value, time=time)
    s.evict(time=1)
    assert (s.query(), s.oldest, s.youngest) == ("cd", 2, 3)
    with pytest.raises(sw.InvalidInput, match="has no time"):
        s.update({1: "e"})
    s.update({3: "C"})
    assert s.query() == "Cd"


def test_evicted_values_are_let_go():
    s = sw.swag("flat_fat", Concat(), capacity=8)
    s.new("abcdefgh")
    for _ in range(8):
        s.evict()
    assert s.partials() == 0


# ---- compiled
X = np.random.default_rng(3).integers(-50, 50, 300).astype(float)


@pytest.mark.parametrize("aggregation", [sw.max(), *in_full(sw.sum(), Deviation())], ids=["max", "sum", "spread"])
def test_frames_that_move_back_compiled(aggregation):
    rng = np.random.default_rng(5)
    start = rng.integers(0, len(X), 400)
    end = np.minimum(start + rng.integers(0, len(X), 400), len(X))
    out = sw.rolling(X, aggregation, sw.frames(start, end), algorithm="flat_fat")
    for result, lo, hi in zip(np.ma.asarray(out).tolist(), start, end, strict=True):
        expected = recalculate(aggregation, X[lo:hi].tolist())
        assert agree(result, expected), (lo, hi)


class Join(sw.Aggregation):
    """Numbers written one after the other, as (power of the base, number): not commutative, and compiled."""

    identity = (1, 0)

    @staticmethod
    def lift(x):
        return (7, int(x))

    @staticmethod
    def combine(a, b):
        return ((a[0] * b[0]) % 1000003, (a[1] * b[0] + b[1]) % 1000003)

    @staticmethod
    def lower(p):
        return p[1]


def joined(values):
    total = 0
    for v in values:
        total = (total * 7 + int(v)) % 1000003
    return total


def test_operands_keep_their_order_compiled():
    digits = np.random.default_rng(9).integers(0, 7, 200)
    start = np.random.default_rng(1).integers(0, 200, 300)
    end = np.minimum(start + 1 + np.random.default_rng(2).integers(0, 150, 300), 200)
    out = sw.rolling(digits, Join(), sw.frames(start, end), algorithm="flat_fat")
    assert out.tolist() == [joined(digits[lo:hi]) for lo, hi in zip(start, end, strict=True)]


@pytest.mark.full
@pytest.mark.parametrize("algorithm", ["flat_fat", "reactive", "b_int"])
@pytest.mark.parametrize("aggregation", [sw.sum(), sw.max(), Deviation(), Join()], ids=["sum", "max", "spread", "join"])
def test_a_fifo_window_compiled(algorithm, aggregation):
    """Frames that grow, shrink, jump and are empty, through the driver of every FIFO algorithm."""
    x = np.abs(X) % 7
    steps = np.random.default_rng(4).integers(0, 3, 200)
    end = np.minimum(np.cumsum(steps), len(x))
    start = np.minimum(end, np.maximum.accumulate(np.concatenate([np.zeros(80), end[80:] - np.arange(120) % 90])))
    start = np.maximum.accumulate(start).astype(np.int64)
    start[150:] = np.maximum(start[150:], end[149] + 2)
    end = np.maximum(end, start)
    op = aggregation.compiled((x,), len(x))
    partial = partial_dtype(op, (x,))
    out = np.zeros(len(start), result_dtype(op, (x,), partial))
    valid = np.zeros(len(start), bool)
    module = sw.registry.algorithm(algorithm).module
    state = compiled.new_state(module, op, partial, int((end - start).max()) + 1)
    args = (state, (x,), 0, 0, start, end, out, valid)
    kernel = compiled.kernel(fifo.run, module, op, partial, args)
    assert kernel is not None
    kernel(*args)
    recalculated = joined if isinstance(aggregation, Join) else lambda values: recalculate(aggregation, values)
    for i, (lo, hi) in enumerate(zip(start, end, strict=True)):
        expected = recalculated(x[lo:hi].tolist()) if lo < hi else None
        assert agree(out[i].item() if valid[i] else None, expected), i
