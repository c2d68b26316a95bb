"""Every algorithm of the registry against recalculation, and every illegal pair refused."""

import math
from collections import deque
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.aggregations import build
from support.tiers import examples, in_full

import slidewise as sw
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.registry import missing
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.templates.checking import agree
from slidewise.testing import AlgorithmBroken, check_algorithm
from slidewise.testing.conformance import Concatenation, MeanAndSpread, recalculate_plainly

NAMES = [entry.name for entry in ALGORITHMS]
FIFO = [e.name for e in ALGORITHMS if e.fifo and not e.options and "associative" in e.needs] + ["recalculate"]


def test_every_registry_entry_has_its_module():
    folder = Path(sw.__file__).parent / "algorithms"
    assert [name for name in NAMES if not (folder / f"{name}.py").exists()] == []


@pytest.mark.parametrize("seed", [1, *in_full(2)])
@pytest.mark.parametrize("name", [*NAMES, "fiba(arity=2)", "reactive(capacity=40)"])
def test_algorithm_conforms(name, seed):
    assert check_algorithm(name, seed=seed) >= 2


# ---- every aggregation
NUMBERS = (None, 1.0, 2.0, 4.5, 0.5, 3.0)
INTEGERS = (None, 1, 2, 4, 7)
BOOLEANS = (None, True, False)
VALUES = {"bool_and": BOOLEANS, "bool_or": BOOLEANS, "string_agg": (None, "a", "b", "cd")}
VALUES |= dict.fromkeys(("bit_and", "bit_or", "bit_xor"), INTEGERS)


def samples_of(entry):
    op = build(entry.name)
    if not op.unary_lower:
        return None
    values = VALUES.get(entry.name, NUMBERS)
    pairs = [(a, b) for a in values for b in values[:3]]
    return op, values if op.arity == 1 else pairs


READ_AS_THEY_ARE = [e for e in AGGREGATIONS if e.group != "sketch-like" and samples_of(e)]


@pytest.mark.parametrize("entry", READ_AS_THEY_ARE, ids=lambda e: e.name)
def test_aggregation_conforms_on_every_fifo_algorithm(entry):
    samples = samples_of(entry)
    for name in [*FIFO, "subtract_on_evict", "slick_deque", "slick_deque_parts"]:
        algorithm = next(e for e in ALGORITHMS if e.name == name)
        if not missing(algorithm, samples[0]):
            check_algorithm(name, [samples], steps=60)


# ---- legal and illegal pairs
class Plain(sw.Aggregation):
    """Declares nothing but what is true of every combine."""

    @staticmethod
    def combine(a, b):
        return a + b


class NotAssociative(Plain):
    associative = False


OPTIONS = {"capacity": 8, "range": 8, "slide": 2}


def make(entry, op):
    return sw.swag(entry.name, op, **{k: OPTIONS[k] for k in entry.options if k in OPTIONS})


@pytest.mark.parametrize("op", [sw.sum(), sw.max(), Concatenation(), NotAssociative(), MeanAndSpread()], ids=repr)
@pytest.mark.parametrize("entry", ALGORITHMS, ids=lambda e: e.name)
def test_pairs_are_refused_exactly_where_a_property_is_missing(entry, op):
    lacking = [need for need in entry.needs if not any(getattr(op, p) is True for p in need.split(" or "))]
    if not lacking:
        make(entry, op)
        return
    with pytest.raises(IllegalPair) as refusal:
        make(entry, op)
    assert all(need in str(refusal.value) for need in lacking)
    assert entry.name in str(refusal.value) and "Use " in str(refusal.value)


def test_refusal_says_what_to_use_instead():
    with pytest.raises(IllegalPair, match=r"subtract_on_evict needs .* invertible, and max is not\. Use two_stacks"):
        sw.swag("subtract_on_evict", sw.max())


@pytest.mark.parametrize("name", [e.name for e in ALGORITHMS if not e.out_of_order and not e.options])
def test_fifo_algorithms_refuse_times_out_of_order(name):
    op = next(
        op
        for op in (sw.sum(), sw.median(), sw.count_distinct(), sw.mode(), sw.moment_sketch())
        if not missing_for(name, op)
    )
    s = sw.swag(name, op)
    s.insert(1, time=5)
    with pytest.raises(IllegalPair, match="fiba"):
        s.insert(2, time=4)
    assert len(s) == 1


def missing_for(name, op):
    return missing(next(e for e in ALGORITHMS if e.name == name), op)


# ---- the suite itself finds what is wrong
class Window:
    """A correct algorithm, to be broken in one place."""

    def __init__(self, aggregation):
        self.aggregation = aggregation
        self.values = deque()

    def insert(self, value):
        self.values.append(value)

    def evict(self):
        self.values.popleft()

    def query(self):
        return recalculate_plainly(self.aggregation, self.values)

    def __len__(self):
        return len(self.values)


class SwapsOperands(Window):
    def query(self):
        return recalculate_plainly(self.aggregation, reversed(self.values))


class CountsWrong(Window):
    def __len__(self):
        return min(len(self.values), 7)


class Forgets(Window):
    def evict(self):
        self.values.popleft()
        if len(self.values) == 5:
            self.values[2] = None


class BreaksItsInvariant(Window):
    def check(self, values):
        assert len(values) < 3, "too long"


def test_a_users_own_algorithm_passes():
    assert check_algorithm(Window) >= 4
    assert check_algorithm(lambda op: Window(op), [(sw.max(), [1, 2, None])]) == 1


@pytest.mark.parametrize("broken", [SwapsOperands, CountsWrong, Forgets, BreaksItsInvariant])
def test_a_broken_algorithm_is_found_and_the_log_is_short(broken):
    with pytest.raises(AlgorithmBroken, match=rf"{broken.__name__} of .* at step \d+ of 300 \(fifo, seed 4\)") as error:
        check_algorithm(broken, seed=4)
    log = str(error.value).partition("Shortened to")[2].splitlines()[1:-1]
    assert 1 <= len(log) <= 9
    assert all(line.startswith("  ") for line in log)


def test_nothing_to_check_is_an_error():
    with pytest.raises(InvalidInput, match="none of the aggregations"):
        check_algorithm("subtract_on_evict", [(sw.max(), [1])])


# ---- hypothesis' own interleavings
VALUE = st.none() | st.sampled_from("abcdefgh")
NUMBER = st.none() | st.integers(-5, 5) | st.sampled_from([math.nan, math.inf, 0.5])


class Fifo(RuleBasedStateMachine):
    algorithm = "daba_lite"

    @initialize(numbers=st.booleans())
    def start(self, numbers):
        selects = self.algorithm == "slick_deque"
        self.op = sw.max() if selects or numbers else Concatenation()
        self.draw = NUMBER if selects or numbers else VALUE
        self.s, self.window = sw.swag(self.algorithm, self.op), deque()

    @rule(data=st.data())
    def insert(self, data):
        value = data.draw(self.draw)
        self.s.insert(value)
        self.window.append(value)

    @precondition(lambda self: self.window)
    @rule(count=st.integers(1, 6))
    def evict(self, count):
        for _ in range(min(count, len(self.window))):
            self.s.evict()
            self.window.popleft()

    @precondition(lambda self: self.window)
    @rule(data=st.data(), count=st.integers(1, 12))
    def slide(self, data, count):
        for value in data.draw(st.lists(self.draw, min_size=count, max_size=count)):
            self.insert_value(value)
            self.s.evict()
            self.window.popleft()
            self.s.check(list(self.window))

    def insert_value(self, value):
        self.s.insert(value)
        self.window.append(value)

    @rule()
    def query(self):
        assert agree(self.s.query(), recalculate_plainly(self.op, self.window))

    @invariant()
    def holds(self):
        if hasattr(self, "s"):
            self.s.check(list(self.window))


class AnyOrder(RuleBasedStateMachine):
    algorithm = "fiba"

    @initialize()
    def start(self):
        # late values of a non-commutative aggregation are for fiba alone
        text = self.algorithm == "fiba"
        self.op, self.draw = (Concatenation(), VALUE) if text else (MeanAndSpread(), st.none() | st.integers(-9, 9))
        self.s, self.rows, self.arrivals = sw.swag(self.algorithm, self.op), [], 0

    def values(self, start=-math.inf, end=math.inf):
        return [value for time, _, value in sorted(self.rows, key=lambda r: r[:2]) if start <= time <= end]

    @rule(time=st.integers(0, 60), data=st.data())
    def insert(self, time, data):
        value = data.draw(self.draw)
        self.s.insert(value, time=time)
        self.arrivals += 1
        self.rows.append((time, self.arrivals, value))

    @rule(times=st.lists(st.integers(0, 60), max_size=30), data=st.data())
    def bulk_insert(self, times, data):
        rows = [(time, data.draw(self.draw)) for time in times]
        if hasattr(self.s, "bulk_insert"):
            self.s.bulk_insert(rows)
        else:
            for time, value in rows:
                self.s.insert(value, time=time)
        for time, value in rows:
            self.arrivals += 1
            self.rows.append((time, self.arrivals, value))

    @precondition(lambda self: self.rows)
    @rule()
    def evict(self):
        self.s.evict()
        self.rows.remove(min(self.rows, key=lambda r: r[:2]))

    @rule(time=st.integers(-1, 61))
    def evict_up_to(self, time):
        self.s.evict(time=time)
        self.rows = [row for row in self.rows if row[0] > time]

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def remove(self, data):
        times = [row[0] for row in self.rows]
        once = sorted(t for t in set(times) if times.count(t) == 1)
        if once:
            time = data.draw(st.sampled_from(once))
            self.s.remove(time)
            self.rows = [row for row in self.rows if row[0] != time]

    @rule(start=st.integers(-1, 61), length=st.integers(0, 40))
    def query_range(self, start, length):
        expected = recalculate_plainly(self.op, self.values(start, start + length))
        assert agree(self.s.query(start, start + length), expected)

    @rule()
    def query(self):
        assert agree(self.s.query(), recalculate_plainly(self.op, self.values()))

    @invariant()
    def holds(self):
        if hasattr(self, "s"):
            self.s.check(self.values())
            times = [row[0] for row in self.rows]
            assert (self.s.oldest, self.s.youngest) == (min(times, default=None), max(times, default=None))


FEW = examples(20, stateful_step_count=30, derandomize=True)


@pytest.mark.parametrize("name", [*FIFO, "slick_deque"])
def test_stateful_fifo(name):
    run_state_machine_as_test(type("Machine", (Fifo,), {"algorithm": name}), settings=FEW)


@pytest.mark.parametrize("name", [e.name for e in ALGORITHMS if e.out_of_order])
def test_stateful_any_order(name):
    run_state_machine_as_test(type("Machine", (AnyOrder,), {"algorithm": name}), settings=FEW)
