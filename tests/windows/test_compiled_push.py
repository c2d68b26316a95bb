"""Numbers that go to compiled code give what they give interpreted, with the same state, whatever comes between."""

import copy
import math
import os
import subprocess
import sys
import threading
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, in_full

import slidewise as sw
from slidewise.events import compiled, direct
from slidewise.events.compiled import CompiledRows, CompiledTime
from slidewise.templates import background

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="numba is switched off"),
]

ROWS, TIME = sw.rows(20), sw.time(30, closed="right")
#: one for each shape of partials, and of the rows that are held; others differ in their functions alone
CASES = [
    (sw.max(), ROWS),
    (sw.avg(), TIME),
    (sw.median(), ROWS),
]
MORE = [
    (sw.min(), sw.rows(700)),
    (sw.max(), sw.range_between(-30, 0)),
    (sw.sum(), ROWS),
    (sw.sum(), sw.rows(2000)),
    (sw.avg(), ROWS),
    (sw.product(), TIME),
    (sw.stddev(), ROWS),
    (sw.stddev_pop(), TIME),
    (sw.var_samp(), sw.time(900)),
    (sw.var_pop(), ROWS),
    (sw.median(), TIME),
    (sw.percentile(0.9), ROWS),
    (sw.percentile(0.1, method="paper"), TIME),
    (sw.percentile_disc(0.3), ROWS),
    (sw.percentile_disc(0.7, method="paper"), sw.time(900)),
]
FLOATS = (0.5, 1.5, -3.0, 8.0, 0.1, -0.0, 0.0, 1e300)
INTEGERS = (1, -2, 7, 0, 2**40)
HUGE = (1, 0, 2**53 + 1, 2**62, -(2**62), 2**62 - 1, 2**63 - 1, -(2**63), 2**63)


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Try the direct way after every row, and compiled code after a few."""
    before = direct.PATIENCE, background.AFTER, background.AGAIN
    direct.PATIENCE, background.AFTER, background.AGAIN = (1, 1), 8, 1
    yield
    direct.PATIENCE, background.AFTER, background.AGAIN = before


def build(aggregation, window, compiles, **options):
    w = sw.Window(aggregation, window, **options)
    if not compiles:
        w._direct_kind = None
    return w


def warm(aggregation, window, value, time=None):
    """Have the kernel there: otherwise a test is over before."""
    w = sw.Window(aggregation, window)
    for k in range(30):
        w.push(value, None if time is None else time * k)
    background.wait()


def random_values(random, kind, strange):
    """One value: a number of the stream's kind, and rarely something else."""
    if random.random() < strange:
        return random.choice(
            [None, None, None, math.nan, math.inf, -math.inf, True, Decimal("1.5"), 2**70, -(2**63), 3, 2.5]
        )
    return random.choice({"floats": FLOATS, "integers": INTEGERS, "huge": HUGE}[kind])


def run_both(aggregation, window, seed, count, kind, unit, strange=0.02):
    """Compare all that comes out of both, and their states; returns how many rows went to compiled code."""
    random, timed = Random(seed), window.size_kind != "count"
    both = [build(aggregation, window, compiles, late="drop") for compiles in (True, False)]
    t, went = 0, 0
    for _ in range(count):
        odds = {
            "row": 80,
            "tie": 10,
            "gap": 1,
            "late": 1,
            "key": 1,
            "advance": 1,
            "save": 2,
            "peek": 1,
            "state": 3,
            "count": 2,
        }
        [step] = random.choices(list(odds), list(odds.values()))
        t += {"row": 1, "gap": 100, "key": 1}.get(step, 0)
        value = random_values(random, kind, strange)
        if step == "save":
            both = [w.from_bytes(w.to_bytes()) for w in (both if random.random() < 0.5 else both[::-1])]
            both[1]._direct_kind = None
        went += isinstance(both[0]._direct, CompiledRows | CompiledTime)
        found = []
        for w in both:
            try:
                if step == "peek":
                    out = w.peek()
                elif step == "state":
                    out = w.to_bytes()
                elif step == "count":
                    out = w.partials()
                elif step == "advance":
                    out = w.advance(unit(t)) if timed else []
                else:
                    time = unit(t - 5 if step == "late" else t) if timed else None
                    out = w.push(value, time, "a" if step == "key" else None)
            except Exception as error:
                out = type(error), str(error)
            found.append((out if step == "state" else repr(out), w._broken or (w.watermark, w.dropped)))
        assert found[0] == found[1], (step, value, t)
        if both[1]._broken is not None:
            break
    found = []
    for w in both:
        try:
            found.append((repr(w.flush()), w._broken))
        except Exception as error:
            found.append((type(error), str(error)))
    assert found[0] == found[1]
    return went


@pytest.mark.parametrize("kind", ["floats", *in_full("integers", "huge")])
@pytest.mark.parametrize(("aggregation", "window"), [*CASES, *[pytest.param(*c, marks=pytest.mark.full) for c in MORE]])
@examples(60, deadline=None)
@given(seed=st.integers(0, 10**6), floats=st.booleans())
def test_whatever_comes_between(aggregation, window, kind, seed, floats):
    unit = float if floats and kind != "floats" else int
    run_both(aggregation, window, seed, 120, kind, unit, strange=0.1 if kind == "huge" else 0.02)
    background.wait()


@pytest.mark.parametrize(("aggregation", "window"), CASES)
def test_most_rows_are_compiled(aggregation, window):
    warm(aggregation, window, 0.5, 1 if window is TIME else None)
    went = [run_both(aggregation, window, seed, 200, "floats", int, strange=0.0) for seed in range(4)]
    assert max(went) > 80


def test_long_windows_grow_and_shrink_as_interpreted_ones():
    """From a ring to pages and back to few rows: the form of the queue is part of the state."""
    warm(sw.avg(), TIME, 0.5, 1)
    both = [build(sw.avg(), sw.time(5000, closed="right"), compiles) for compiles in (True, False)]
    t = 0
    for k in range(9000):
        t += 1 if k < 7000 else 40
        found = [w.push(k * 0.1, time=t) for w in both]
        assert found[0] == found[1]
        if k % 1499 == 7:
            assert k < 20 or isinstance(both[0]._direct, CompiledTime)
            assert both[0].to_bytes() == both[1].to_bytes()
    assert both[0].to_bytes() == both[1].to_bytes()


@pytest.mark.parametrize("odd", ["x", Decimal("1.5"), 2**64, True, 7, None, math.nan, math.inf])
def test_a_value_that_compiled_code_does_not_hold(odd):
    """It comes after numbers, and numbers come after it."""
    warm(sw.max(), ROWS, 0.5)
    both = [build(sw.max(), ROWS, compiles) for compiles in (True, False)]
    for value in [*map(float, range(60)), odd, *map(float, range(60))]:
        found = []
        for w in both:
            try:
                found.append(repr(w.push(value)))
            except Exception as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1]
    assert odd == "x" or both[0].to_bytes() == both[1].to_bytes()


@pytest.mark.full
def test_sums_that_leave_64_bits_fail_as_interpreted_ones():
    warm(sw.sum(), ROWS, 1)
    for large in (2**62, 2**63 - 1, 2**58):
        both = [build(sw.sum(), ROWS, compiles) for compiles in (True, False)]
        for k in range(120):
            found = []
            for w in both:
                try:
                    found.append(w.push(large if k % 40 > 30 else k))
                except OverflowError as error:
                    found.append(str(error))
            assert found[0] == found[1]
        assert both[0].to_bytes() == both[1].to_bytes()


def test_nulls_after_integers_whose_sums_leave_64_bits():
    """They add nothing, and let what is held be combined: such rows are not for compiled code."""
    warm(sw.avg(), sw.rows(7), 1)
    both = [build(sw.avg(), sw.rows(7), compiles) for compiles in (True, False)]
    for value in [1] * 12 + [2**62, 2**62, 2**62 - 1, None, 2**62, None, None, None, 2**62, None] * 3:
        found = [w.push(value) for w in both]
        assert found[0] == found[1]


@pytest.mark.parametrize(("aggregation", "window"), CASES)
def test_a_copy_has_memory_of_its_own(aggregation, window):
    timed = window is TIME
    warm(aggregation, window, 0.5, 1 if timed else None)
    w, expected = (build(aggregation, window, compiles) for compiles in (True, False))
    for k in range(40):
        results = [each.push(k * 0.5, time=k if timed else None) for each in (w, expected)]
    assert isinstance(w._direct, CompiledRows | CompiledTime)
    other = copy.deepcopy(w)
    for k in range(40, 80):
        other.push(-1.0, time=k if timed else None)
        results = [each.push(k * 0.5, time=k if timed else None) for each in (w, expected)]
        assert results[0] == results[1]
    assert w.to_bytes() == expected.to_bytes() != other.to_bytes()


def test_columns_of_rows():
    warm(sw.max(), ROWS, 0.5)
    both = [build({"peak": sw.max("x")}, ROWS, compiles) for compiles in (True, False)]
    for k in range(50):
        row = {"x": float(k % 7), "y": "z"}
        assert both[0].push(row) == both[1].push(row)
    assert type(both[0]._direct) is CompiledRows
    for wrong in ({"y": 1}, 5.0, None):
        messages = []
        for w in both:
            with pytest.raises(sw.InvalidInput) as error:
                w.push(wrong)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.mark.full
def test_batches_between():
    warm(sw.max(), ROWS, 0.5)
    both = [build(sw.max(), ROWS, compiles) for compiles in (True, False)]
    for size in (30, 300, 5, 700):
        values = [k * 7 % 11 / 2 for k in range(size)]
        for w in both:
            for value in values[:25]:
                w.push(value)
        assert both[0].push_many(values).equals(both[1].push_many(values))
    assert both[0].to_bytes() == both[1].to_bytes()


def test_results_of_a_batch_that_is_refused_are_owed_before_others():
    warm(sw.avg(), TIME, 0.5, 1)
    found = []
    for compiles in (True, False):
        w = build(sw.avg(), TIME, compiles)
        for k in range(40):
            w.push(float(k), time=k)
        with pytest.raises(sw.LateRow):
            w.push_many([1.0, 2.0, 3.0], time=[41, 42, 5])
        found.append(w.push(5.0, time=43) + w.push(6.0, time=44))
    assert found[0] == found[1]
    assert [result.time for result in found[0]] == [39, 41, 42, 43]


def test_no_push_waits_for_the_compiler(monkeypatch):
    """Rows are answered while the kernel is made, and a failure to make it is not one of the window."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(*key):
        begun.set()
        may_end.wait(60)
        raise MemoryError("the compiler has failed")

    from slidewise.templates import memory

    monkeypatch.setattr(memory, "compile_slide", slow)
    monkeypatch.setattr(background, "_found", {})
    w = sw.Window(sw.max(), ROWS)
    for k in range(200):
        assert w.push(float(k))[0].value == k
    assert begun.wait(60)
    may_end.set()
    background.wait()
    assert background._found and not any(background._found.values())
    for k in range(200, 240):
        assert w.push(float(k))[0].value == k
    assert not isinstance(w._direct, CompiledRows)


SHORT_STREAM = """
import sys
import slidewise as sw
w = sw.Window(sw.max(), sw.rows(100))
for k in range(3000):
    w.push(float(k))
assert "numba" not in sys.modules
"""


@pytest.mark.full
def test_warm_up_compiles_it_ahead():
    sw.warm_up(["max"], types=["float64"], windows=[sw.rows(9)], events=True)
    w = sw.Window(sw.max("x"), ROWS)
    for k in range(12):
        w.push({"x": float(k)})
    assert type(w._direct) is CompiledRows


def test_explain_tells():
    def tells(aggregation, window):
        return "compiled code" in " ".join(repr(sw.explain(aggregation, window)).split())

    assert tells(sw.max(), ROWS) and tells(sw.median(), TIME)
    assert not tells(sw.mode(), ROWS)
    assert not tells(sw.max(), sw.time(10, every=5))
    assert not tells(sw.max(), sw.rows_between(-1, 1))


def test_short_streams_load_no_compiler():
    subprocess.run([sys.executable, "-c", SHORT_STREAM], check=True)


@pytest.mark.full
def test_a_process_may_end_or_fork_while_its_kernel_is_compiled(tmp_path):
    program = SHORT_STREAM.replace("3000", "5100").replace(
        'assert "numba" not in sys.modules', "import os; pid = os.fork(); pid and os.waitpid(pid, 0)"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, stderr=subprocess.PIPE, timeout=120
    )
    assert done.stderr == b"" and list(tmp_path.rglob("*slide_rows*"))


def test_which_windows_compile():
    def may(aggregation, window=ROWS):
        w = sw.Window(aggregation, window)
        return w._direct_kind is not None and compiled.may_compile(w)

    assert may(sw.max()) and may({"a": sw.avg("x")}) and may(sw.median(), TIME) and may(sw.percentile_disc(0.5))
    for other in (sw.mode(), sw.first(), sw.geomean(), sw.percentile([0.5, 0.9]), sw.count(), sw.max("x", where="y")):
        assert not may(other), other

    class Own(type(sw.max())):
        """Its combine may be anything."""

    assert not may(Own())


def test_rows_of_a_long_window_are_not_handed_over_again_and_again(monkeypatch):
    monkeypatch.setattr(direct, "MANY", 30)
    warm(sw.max(), ROWS, 0.5)
    w = build(sw.max(), sw.rows(60), True)
    for k in range(200):
        w.push(k * 0.5)
    assert isinstance(w._direct, CompiledRows)
    w.to_bytes()
    ways = []
    for k in range(80):
        w.push(k * 0.5)
        ways.append(isinstance(w._direct, CompiledRows))
    assert not any(ways[:59]) and all(ways[60:])
