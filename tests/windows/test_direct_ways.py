"""Rows of several keys, or within a slice, that skip steps of an engine give what they give by it, and its state."""

import pytest
from both_ways import attempt, run_both
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.events import direct
from slidewise.events.direct import DirectHops
from slidewise.events.direct_keys import DirectKeys, DirectRowsOfKeys

KEYED = [
    ({"peak": sw.max("x"), "mean": sw.avg("x")}, {"partition_by": "k"}),
    ({"peak": sw.max("x"), "n": sw.count()}, {"partition_by": ["k", "j"]}),
    ({"a": sw.sum("x"), "b": sw.avg("x"), "c": sw.count("x")}, {"partition_by": "k"}),
    ({"m": sw.median("x"), "low": sw.min("x")}, {}),
    (sw.max("x"), {"partition_by": "k"}),
    (sw.collect_list(), {}),
    (sw.avg(), {}),
]
WINDOWS = [
    *(sw.time(size, closed=closed) for size in (3, 20, 100, 1000) for closed in ("both", "right")),
    sw.rows(1), sw.rows(5), sw.rows(20, min_rows=3),
]  # fmt: skip
HOPS = [sw.max("x"), sw.avg("x"), {"total": sw.sum("x")}, sw.median("x"), sw.first("x")]
LENGTHS = [(1000, 100), (25, 10), (10, 10), (7, 3), (30, 30.0), (2.5, 1)]


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Try the direct way after every row."""
    before, direct.PATIENCE = direct.PATIENCE, (1, 1)
    yield
    direct.PATIENCE = before


@examples(150, deadline=None)
@given(
    case=st.sampled_from(KEYED),
    window=st.sampled_from(WINDOWS),
    keys=st.sampled_from([1, 3, 10]),
    kind=st.sampled_from(["mixed", "floats", "huge"]),
    seed=st.integers(0, 10**6),
)
def test_keys_and_several_aggregations(case, window, keys, kind, seed):
    aggregation, options = case
    run_both(aggregation, window, seed, 120, kind=kind, keys=keys, **options)


@examples(150, deadline=None)
@given(aggregation=st.sampled_from(HOPS), length=st.sampled_from(LENGTHS), seed=st.integers(0, 10**6))
def test_hops(aggregation, length, seed):
    size, every = length
    run_both(aggregation, sw.time(size, every=every), seed, 120, kind="mixed")


def test_most_rows_go_directly():
    for window in (sw.time(100), sw.rows(20)):
        [aggregation, options], seeds = KEYED[0], range(2)
        runs = [run_both(aggregation, window, seed, 150, kind="mixed", keys=3, **options) for seed in seeds]
        assert max(went["directly"] for went in runs) > 90
    hops = [run_both(sw.max("x"), sw.time(100, every=20), seed, 150, kind="mixed") for seed in range(2)]
    assert max(went["directly"] for went in hops) > 90


def test_which_way_is_taken():
    def way(window, **options):
        w = sw.Window({"a": sw.max("x"), "b": sw.avg("x")}, window, **options)
        for k in range(40):
            w.push({"x": float(k), "k": k % 3}, time=k)
        return type(w._direct)

    assert way(sw.time(10)) is DirectKeys
    assert way(sw.time(10), partition_by="k") is DirectKeys
    assert way(sw.range_between(-5, 0), partition_by="k") is DirectKeys
    assert way(sw.rows(10)) is way(sw.rows(10), partition_by="k") is DirectRowsOfKeys
    other = type(None)
    assert way(sw.time(10, every=5)) is way(sw.range_between(-5, 5)) is way(sw.time(10), max_delay=1) is other
    assert way(sw.time(10), emit="changes") is way(sw.time(10, closed="left")) is way(sw.range_between(0, 0)) is other
    w = sw.Window(sw.max(), sw.time(10, every=5))
    for k in range(40):
        w.push(float(k), time=k)
    assert type(w._direct) is DirectHops


def test_a_sum_that_fails():
    """Results beside it are owed, and rows after it go on."""
    both = [sw.Window({"s": sw.sum("x"), "m": sw.max("x")}, sw.time(10), partition_by="k") for _ in range(2)]
    both[1]._direct_kind = None
    for k in range(120):
        row = {"x": 2**62 if k % 40 > 35 else k, "k": k % 2}
        found = [attempt(w.push, row, k // 4) for w in both]
        assert repr(found[0]) == repr(found[1])
    found = [attempt(w.flush) for w in both]
    assert found[0] == found[1]


def test_equal_keys_are_told_as_they_came_first():
    both = [sw.Window({"n": sw.count()}, sw.time(10), partition_by="k") for _ in range(2)]
    both[1]._direct_kind = None
    for k in range(60):
        row = {"k": [1, True, 1.0, 2, 2.0][k % 5]}
        found = [repr(w.push(row, k // 6)) for w in both]
        assert found[0] == found[1]
    assert type(both[0]._direct) is DirectKeys
