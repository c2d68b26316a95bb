"""Rows that go straight to their structure give what they give by the engine, whatever comes between."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat, Deviation, Listed
from support.tiers import examples

import slidewise as sw
from slidewise.events import direct
from slidewise.events.direct import DirectRows, DirectTime

WINDOWS = [sw.rows(5), sw.rows(20), sw.time(30), sw.time(30, closed="right"), sw.range_between(-30, 0)]
AGGREGATIONS = [Listed(), sw.max(), sw.avg(), sw.median(), sw.mode(), sw.count(), {"one": sw.sum()}]


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Try the direct way after every row."""
    before, direct.PATIENCE = direct.PATIENCE, (1, 1)
    yield
    direct.PATIENCE = before


@pytest.fixture
def uncompiled(monkeypatch):
    """Another test of this process may have had the same kernel compiled."""
    monkeypatch.setattr(direct, "may_compile", lambda window: False)


def build(aggregation, window, directly, **options):
    w = sw.Window(aggregation, window, **options)
    if not directly:
        w._direct_kind = None
    return w


def random_step(random, t):
    """What happens next: mostly a row, in order."""
    odds = {"row": 60, "tie": 8, "gap": 1, "late": 1, "key": 1, "advance": 1, "save": 1, "peek": 1, "null": 2}
    [kind] = random.choices(list(odds), list(odds.values()))
    return kind, t + {"row": 1, "null": 1, "gap": 100, "key": 1}.get(kind, 0)


def run(aggregation, window, seed, count, directly):
    """All that comes out, and how many rows went directly."""
    random = Random(seed)
    w = build(aggregation, window, directly, late="drop")
    timed = window.size_kind != "count"
    out, t, went = [], 0, 0
    for k in range(count):
        kind, t = random_step(random, t)
        value = random.choice([0.5, 1.5, -3.0, 8.0, k])
        if kind == "save":
            w = w.from_bytes(w.to_bytes())
            w._direct_kind = w._direct_kind if directly else None
        elif kind == "peek":
            out.append(w.peek())
        elif kind == "advance":
            out.append(w.advance(t) if timed else [])
        else:
            went += w._direct is not None
            time = t - 5 if kind == "late" else t
            value, key = None if kind == "null" else value, "a" if kind == "key" else None
            out.append(w.push(value, time if timed else None, key))
        out.append([w.watermark, w.dropped])
    return [*out, w.flush()], went


@examples(200)
@given(
    aggregation=st.sampled_from(AGGREGATIONS),
    window=st.sampled_from(WINDOWS),
    seed=st.integers(0, 10**6),
    count=st.integers(30, 150),
)
def test_whatever_comes_between(aggregation, window, seed, count):
    found, _ = run(aggregation, window, seed, count, True)
    expected, went = run(aggregation, window, seed, count, False)
    assert went == 0
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_most_rows_go_directly(window):
    counts = [run(sw.max(), window, seed, 150, True)[1] for seed in range(5)]
    assert max(counts) > 40


def test_which_way_is_taken(uncompiled):
    w = sw.Window(sw.max(), sw.rows(6))
    for k in range(10):
        w.push(k)
    assert type(w._direct) is DirectRows
    w = sw.Window({"top": sw.max("x")}, sw.time(50))
    for k in range(60):
        w.push({"x": k}, time=k)
    assert type(w._direct) is DirectTime
    assert w.push({"x": 0}, time=60)[0].value == {"top": 59}
    for aggregation, options in ((sw.max("x"), {"emit": "changes"}), (sw.max("x"), {"max_delay": 1})):
        other = sw.Window(aggregation, sw.rows(6), **options)
        for k in range(10):
            other.push({"x": k, "k": 1}, time=k if "max_delay" in options else None)
        assert other._direct is None


@pytest.mark.parametrize("window", [sw.rows(6), sw.time(30)], ids=repr)
def test_a_row_that_is_refused_changes_nothing(window):
    timed = window.size_kind != "count"
    w, other = (build(Deviation(), window, directly) for directly in (True, False))
    for k in range(50):
        for each in (w, other):
            each.push(float(k), time=k if timed else None)
    assert w._direct is not None
    for each in (w, other):
        with pytest.raises(sw.InvalidInput, match="cannot take the value 'x'"):
            each.push("x", time=50 if timed else None)
    assert w.push(1.5, time=50 if timed else None) == other.push(1.5, time=50 if timed else None)


@pytest.mark.parametrize("peers", [1, 2])
@pytest.mark.parametrize("window", [sw.rows(6), sw.time(30)], ids=repr)
def test_a_result_that_fails(window, peers):
    timed = window.size_kind != "count"
    found = []
    for directly in (True, False):
        w, out = build(sw.sum(), window, directly), []
        for k in range(200):
            value = 2**63 - 1 if k == 60 else k
            try:
                out += w.push(value, time=k // peers if timed else None)
            except OverflowError as error:
                out.append(str(error))
        found.append(out + w.flush() if timed else out)
    assert found[0] == found[1]
    assert any(isinstance(each, str) for each in found[0])


@pytest.mark.parametrize("window", [sw.rows(6), sw.time(30)], ids=repr)
def test_a_combine_that_fails_ends_the_window(window):
    timed = window.size_kind != "count"
    w = build(Concat(), window, True)
    for k in range(50):
        w.push("x", time=k if timed else None)
    assert w._direct is not None
    with pytest.raises(TypeError):
        for k in range(50, 60):
            w.push(5, time=k if timed else None)
    with pytest.raises(sw.InvalidInput, match="failed halfway"):
        w.push("x", time=100 if timed else None)


def test_nan_is_highest(uncompiled):
    w = sw.Window(sw.max(), sw.rows(6))
    values = [w.push(x)[0].value for x in [1.0] * 8 + [math.nan] + [2.0] * 6]
    assert math.isnan(values[13]) and values[14] == 2.0 and type(w._direct) is DirectRows


class Bounded(sw.Aggregation):
    """A sum that has no result above 100."""

    identity = 0.0

    @staticmethod
    def lift(x):
        return x

    @staticmethod
    def combine(a, b):
        return a + b

    @staticmethod
    def lower(total):
        if total > 100:
            raise ArithmeticError(f"{total} is too much")
        return total


def test_rows_go_on_after_a_result_that_fails():
    """The key is not released as idle: the rows that wait are not the engine's while they go directly."""
    found = []
    for directly in (True, False):
        w, out = build(Bounded(), sw.time(30), directly), []
        for t in (*range(93), 160, 161, 240):
            try:
                out.append(repr(w.push(200.0 if t == 92 else 0.5, time=t)))
            except ArithmeticError as error:
                out.append(str(error))
        found.append([*out, repr(w.flush())])
    assert found[0] == found[1]
    assert any("too much" in each for each in found[0])
