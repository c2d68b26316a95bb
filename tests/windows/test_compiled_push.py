"""Numbers that go to compiled code give what they give interpreted, with the same state, whatever comes between."""

import copy
import gc
import math
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from decimal import Decimal
from random import Random

import both_ways
import pytest
from both_ways import attempt, compiled_rows, run_both
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, in_full, share

import slidewise as sw
from slidewise.events import compiled, compiled_key, direct
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
#: several aggregations, and keys: by a column, or by the argument
KEYED = [
    ({"peak": sw.max("x"), "mean": sw.avg("x")}, TIME, {"partition_by": "k"}),
    ({"low": sw.min("x"), "middle": sw.median("y"), "n": sw.count()}, ROWS, {}),
]
MORE_KEYED = [
    (sw.max("x"), ROWS, {"partition_by": ["k", "j"]}),
    (sw.avg(), sw.time(9.0), {}),
    ({"total": sw.sum("y"), "low": sw.min("x"), "n": sw.count()}, sw.range_between(-30, 0), {"partition_by": "k"}),
    ({"total": sw.sum(), "spread": sw.stddev()}, sw.rows(12, min_rows=3), {}),
    ({"one": sw.median("x")}, sw.time(900), {"partition_by": "k"}),
    ({"middle": sw.median(), "high": sw.percentile(0.9), "total": sw.sum()}, TIME, {}),
    ({"some": sw.sum("x", where="y"), "peak": sw.max("x")}, TIME, {"partition_by": "k"}),
]


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Try the direct way after every row, and compiled code after a few."""
    before = direct.PATIENCE, background.AFTER, background.AGAIN, compiled_key.AGAIN, compiled_key.PATIENCE
    direct.PATIENCE, background.AFTER, background.AGAIN = (1, 1), 8, 1
    compiled_key.AGAIN, compiled_key.PATIENCE = 4, 4
    yield
    direct.PATIENCE, background.AFTER, background.AGAIN, compiled_key.AGAIN, compiled_key.PATIENCE = before


def build(aggregation, window, compiles, **options):
    return both_ways.build(aggregation, window, by_engines=not compiles, **options)


def warm(aggregation, window, value, time=None):
    """Have the kernel there: otherwise a test is over before."""
    w = sw.Window(aggregation, window)
    for k in range(30):
        w.push(value, None if time is None else time * k)
    background.wait()


def warm_keys(aggregation, window, options, kind="floats"):
    """Have the kernels there, for keys of a window."""
    for _ in range(3):
        run_both(aggregation, window, 1, 60, kind=kind, strange=0.0, keys=1, **options)
        background.wait()


@pytest.mark.parametrize("kind", ["floats", *in_full("integers", "huge")])
@pytest.mark.parametrize(("aggregation", "window"), [*CASES, *[pytest.param(*c, marks=pytest.mark.full) for c in MORE]])
@examples(60, deadline=None)
@given(seed=st.integers(0, 10**6), floats=st.booleans())
def test_whatever_comes_between(aggregation, window, kind, seed, floats):
    unit = float if floats and kind != "floats" else int
    run_both(aggregation, window, seed, 120, kind=kind, unit=unit, strange=0.1 if kind == "huge" else 0.02)
    background.wait()


@pytest.mark.parametrize("kind", ["floats", *in_full("integers", "huge", "mixed")])
@pytest.mark.parametrize(
    ("aggregation", "window", "options"), [*KEYED, *[pytest.param(*c, marks=pytest.mark.full) for c in MORE_KEYED]]
)
@examples(30, deadline=None)
@given(seed=st.integers(0, 10**6), keys=st.integers(0, 5), floats=st.booleans())
def test_whatever_comes_between_rows_of_keys(aggregation, window, options, kind, seed, keys, floats):
    unit = float if floats and kind != "floats" else int
    strange = 0.1 if kind == "huge" else 0.02
    run_both(aggregation, window, seed, 200, kind=kind, unit=unit, strange=strange, keys=keys, **options)
    background.wait()


@pytest.mark.parametrize(("aggregation", "window"), CASES)
def test_most_rows_are_compiled(aggregation, window):
    warm(aggregation, window, 0.5, 1 if window is TIME else None)
    went = [run_both(aggregation, window, seed, 200, strange=0.0)["compiled"] for seed in range(4)]
    assert max(went) > 80


@pytest.mark.parametrize(("aggregation", "window", "options"), KEYED)
def test_most_rows_of_keys_are_compiled(aggregation, window, options):
    warm_keys(aggregation, window, options)
    went = [run_both(aggregation, window, s, 300, strange=0.0, keys=2, **options)["compiled"] for s in range(4)]
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


def test_explain_tells_of_several_aggregations():
    """What it says is what a window of them does."""
    x = {"high": sw.max("x"), "mean": sw.avg("x"), "n": sw.count()}
    for aggregations, tells in (
        (x, "rows of numbers go to compiled code"),
        (x | {"usual": sw.mode("x")}, "there is no compiled code for mode('x')"),
        (x | {"total": sw.sum("x")}, "mean, total are read from the same partials"),
    ):
        said = repr(sw.explain({name: op.over(TIME) for name, op in aggregations.items()}))
        assert tells in " ".join(said.split())
        w = sw.Window(aggregations, TIME, partition_by="k")
        assert compiled_key.may_compile_keys(w) is (aggregations is x)
    several = sw.explain({"a": sw.max().over(TIME), "b": sw.max().over(ROWS)})
    assert "rows of several windows are interpreted" in " ".join(repr(several).split())


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


# ---- keys
TWO = {"peak": sw.max("x"), "mean": sw.avg("x")}


def keyed(window, rows=60, keys=3, aggregation=None):
    """A window with keys in compiled code, and one by engines, after the same rows; the next time."""
    aggregation = TWO if aggregation is None else aggregation
    warm_keys(aggregation, window, {"partition_by": "k"})
    both = [build(aggregation, window, compiles, partition_by="k", late="drop") for compiles in (True, False)]
    for t in range(rows):
        assert both[0].push({"x": t * 0.5, "k": t % keys}, t) == both[1].push({"x": t * 0.5, "k": t % keys}, t)
    assert len(both[0]._direct.compiled) == keys
    return both, rows


@pytest.mark.parametrize("window", [TIME, sw.rows(9)], ids=repr)
@pytest.mark.parametrize("odd", [math.inf, math.nan, 7, 2**70])
def test_a_value_that_compiled_code_does_not_hold_hands_its_key_back(window, odd):
    """And no other; of some, max has taken the row when the mean refuses it."""
    both, t = keyed(window)
    handed_back = set()
    for k, x in enumerate([1.5, odd, 2.5, *([0.5] * 40)]):
        row = {"x": x, "k": 1 if x is odd else k % 3}
        assert repr(both[0].push(row, t + k)) == repr(both[1].push(row, t + k))
        handed_back |= {0, 1, 2} - both[0]._direct.compiled.keys()
    assert handed_back == {1}
    assert both[0].to_bytes() == both[1].to_bytes()


@pytest.mark.parametrize("window", [TIME, sw.rows(9)], ids=repr)
@pytest.mark.parametrize("options", [{}, {"partition_by": "k"}], ids=["alone", "keyed"])
def test_an_integer_beyond_all_floats_is_refused_and_no_other_row(window, options):
    """Where a row is pushed, and not where those that waited enter: after a refusal the window goes on."""
    made = {"spread": sw.stddev("x")} | ({"peak": sw.max("y")} if options else {})
    warm_keys(made, window, options, kind="integers")
    both = [build(made, window, compiles, **options) for compiles in (True, False)]
    for t in range(60, 200):
        row = {"x": 10**400 if t % 90 == 30 else t, "y": t, "k": t % 2}
        found = [attempt(w.push, row, t) for w in both]
        assert found[0] == found[1]
        assert (found[0][:1] == (OverflowError,)) is (t % 90 == 30)
        assert t != 119 or compiled_rows(both[0], t % 2 if options else None)
    assert both[0].to_bytes() == both[1].to_bytes()


@pytest.mark.parametrize("window", [TIME, sw.rows(9)], ids=repr)
def test_rows_that_are_late_or_refused_leave_keys_where_they_are(window):
    both, t = keyed(window)
    way, compiled_keys = both[0]._direct, {**both[0]._direct.compiled}
    for wrong in ({"x": "text", "k": [1]}, {"k": 1}, {"x": 1.5}):
        messages = []
        for w in both:
            with pytest.raises(sw.InvalidInput) as error:
                w.push(wrong, t)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    for w in both:
        assert w.push({"x": 1.5, "k": 1}, t - 9) == []
        assert w.dropped == 1
    assert both[0]._direct is way and way.compiled == compiled_keys
    assert both[0].to_bytes() == both[1].to_bytes()


def test_keys_in_compiled_code_are_released_with_their_rows():
    both, t = keyed(TIME)
    for k in range(200):
        assert both[0].push({"x": 0.5, "k": "last"}, t + k) == both[1].push({"x": 0.5, "k": "last"}, t + k)
    assert both[0]._direct.compiled.keys() <= {"last"} and list(both[0]._engines) == ["last"]
    assert both[0].to_bytes() == both[1].to_bytes()


def test_a_copy_of_keys_has_memory_of_its_own():
    both, t = keyed(TIME)
    other = copy.deepcopy(both[0])
    for k in range(40):
        other.push({"x": -1.0, "k": k % 3}, t + k)
        assert both[0].push({"x": 0.5, "k": k % 3}, t + k) == both[1].push({"x": 0.5, "k": k % 3}, t + k)
    assert both[0].to_bytes() == both[1].to_bytes() != other.to_bytes()


def test_what_a_compiled_key_takes_follows_its_rows():
    """No page for a key of few rows; and of its values nothing is held twice."""
    warm_keys(TWO, sw.rows(20), {"partition_by": "k"})
    taken = []
    for compiles in (True, False):
        gc.collect()
        tracemalloc.start()
        w = build(TWO, sw.rows(20), compiles, partition_by="k")
        for k in range(8000):
            w.push({"x": k * 0.5, "k": k % 200})
        gc.collect()
        taken.append(tracemalloc.get_traced_memory()[0] / 200)
        tracemalloc.stop()
        assert compiles is False or len(w._direct.compiled) == 200
    assert taken[0] < 1.5 * taken[1], taken
    assert taken[0] < 5000


# ---- Ctrl-C
def streams():
    """Windows of each kind in compiled code, with rows for them: (build, push)."""
    row = {"x": 0.5, "k": "a"}
    return {
        "rows": (lambda **o: build(sw.max(), ROWS, **o), lambda w, k: w.push(k * 0.5)),
        "time": (lambda **o: build(sw.avg(), TIME, **o), lambda w, k: w.push(k * 0.5, time=k // 2)),
        "keys by time": (
            lambda **o: build(TWO, TIME, partition_by="k", **o),
            lambda w, k: w.push(row | {"x": k * 0.5, "k": k % 2}, k // 3),
        ),
        "keys by rows": (
            lambda **o: build(TWO, sw.rows(9), partition_by="k", **o),
            lambda w, k: w.push(row | {"x": k * 0.5, "k": k % 2}),
        ),
    }


class Interrupt(BaseException):
    """As Ctrl-C, which would end the tests where it got through."""


def raise_interrupt(*signal):
    raise Interrupt


@pytest.mark.parametrize("kind", streams())
def test_ctrl_c_leaves_a_window_that_is_whole_or_refuses(kind):
    """Wherever it comes: afterwards its row has been taken, with its number, or has not, or nothing more is taken."""
    make, push = streams()[kind]
    for _ in range(3):
        w = make(compiles=True)
        for k in range(60):
            push(w, k)
        background.wait()
    seen, random = Counter(), Random(5)
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        for _ in range(share(2000)):
            w, k, interrupted = make(compiles=True), 0, None
            for k in range(40):
                push(w, k)
            try:
                signal.setitimer(signal.ITIMER_REAL, random.random() * 100e-6 + 1e-6)
                for k in range(40, 400):
                    push(w, k)
                    interrupted = k + 1
                signal.setitimer(signal.ITIMER_REAL, 0)
                continue
            except Interrupt:
                pass
            seen[judge(w, make, push, interrupted or 40)] += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen["not taken"] and not seen["wrong"], seen


def judge(w, make, push, k):
    """Tell what became of row k, at which the window was interrupted, from the results of the rows after it."""
    try:
        found = [result for j in range(k + 1, k + 40) for result in push(w, j)]
    except sw.InvalidInput as error:
        return "refuses" if "failed halfway" in str(error) else "wrong"
    for name, rows in (("taken", range(k + 1)), ("not taken", range(k))):
        expected = make(compiles=False)
        for j in rows:
            push(expected, j)
        # the results that came with row k are lost, those of rows that waited for it among them
        results = [result for j in range(k + 1, k + 40) for result in push(expected, j)]
        if results == found:
            return name
    return "wrong"


@pytest.mark.parametrize("kind", streams())
def test_ctrl_c_just_after_compiled_code_has_taken_a_row(kind, monkeypatch):
    """Its number is not counted yet: the window refuses to go on, and says why."""
    make, push = streams()[kind]
    for _ in range(3):
        w = make(compiles=True)
        for k in range(60):
            push(w, k)
        background.wait()

    def interrupt(run):
        def called(*row):
            run(*row)
            raise Interrupt

        return called

    way = w._direct
    if kind.startswith("keys"):
        assert way.compiled
        for state in way.compiled.values():
            state.calls = [(interrupt(run), *rest) for run, *rest in state.calls]
    else:
        assert isinstance(way, CompiledRows | CompiledTime)
        way.run = interrupt(way.run)
    with pytest.raises(Interrupt):
        for k in range(60, 70):
            push(w, k)
    for refused in (lambda: push(w, 70), w.to_bytes, w.flush):
        with pytest.raises(sw.InvalidInput, match="failed halfway through an earlier row"):
            refused()
