"""Rows of several keys, or within a slice, that skip steps of an engine give what they give by it, and its state."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.events import direct
from slidewise.events.direct import DirectHops
from slidewise.events.direct_keys import DirectKeys

KEYED = [
    ({"peak": sw.max("x"), "mean": sw.avg("x")}, {"partition_by": "k"}),
    ({"peak": sw.max("x"), "n": sw.count()}, {"partition_by": ["k", "j"]}),
    ({"a": sw.sum("x"), "b": sw.avg("x"), "c": sw.count("x")}, {"partition_by": "k"}),
    ({"m": sw.median("x"), "low": sw.min("x")}, {}),
    (sw.max("x"), {"partition_by": "k"}),
]
HOPS = [sw.max("x"), sw.avg("x"), {"total": sw.sum("x")}, sw.median("x"), sw.first("x")]
LENGTHS = [(1000, 100), (25, 10), (10, 10), (7, 3), (30, 30.0), (2.5, 1)]


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Try the direct way after every row."""
    before, direct.PATIENCE = direct.PATIENCE, (1, 1)
    yield
    direct.PATIENCE = before


def attempt(do, *args):
    """What comes out, or the error."""
    try:
        return repr(do(*args))
    except Exception as error:
        return type(error), str(error)


def random_row(random, keys):
    value = random.choice([1, 2.5, None, -3, 2**62] if random.random() < 0.1 else [1, 2.5, -3])
    if random.random() < 0.002:
        value = "x"
    return {"x": value, "k": random.choice([f"k{random.randrange(keys)}", random.randrange(keys), None, 2.5]), "j": 1}


def run_both(aggregation, window, options, seed, count):
    """Compare all that comes out of both ways, and their states; returns how many rows went directly."""
    random = Random(seed)
    options = options | {"late": random.choice(["drop", "mark"])}
    both = [sw.Window(aggregation, window, **options) for _ in range(2)]
    both[1]._direct_kind = None
    keys, t, went = random.choice([1, 3, 30]), 0, 0
    for _ in range(count):
        t += random.choice([0, 0, 0, 1, 1, 2]) + (random.choice([60, 2000]) if random.random() < 0.005 else 0)
        time = t - 3 if random.random() < 0.02 else t
        row, step = random_row(random, keys), random.random()
        went += both[0]._direct is not None
        found = [attempt(w.push, row, time) for w in both]
        assert found[0] == found[1]
        assert bool(both[0]._broken) == bool(both[1]._broken)
        if both[0]._broken:
            return went
        assert (both[0].watermark, both[0].dropped) == (both[1].watermark, both[1].dropped)
        looks = {0.01: "peek", 0.02: "to_bytes", 0.03: "partials"}
        for share, name in looks.items():
            if share - 0.01 < step < share:
                found = [attempt(getattr(w, name)) for w in both]
                assert found[0] == found[1], name
        if 0.03 < step < 0.035:
            found = [attempt(w.advance, t) for w in both]
            assert found[0] == found[1]
        elif 0.035 < step < 0.04:
            both = [w.from_bytes(w.to_bytes()) for w in reversed(both)]
            both[1]._direct_kind = None
    found = [attempt(w.flush) for w in both]
    assert found[0] == found[1]
    return went


@examples(150, deadline=None)
@given(
    case=st.sampled_from(KEYED),
    size=st.sampled_from([3, 20, 100, 1000]),
    closed=st.sampled_from(["both", "right"]),
    seed=st.integers(0, 10**6),
)
def test_keys_and_several_aggregations(case, size, closed, seed):
    aggregation, options = case
    run_both(aggregation, sw.time(size, closed=closed), options, seed, 120)


@examples(150, deadline=None)
@given(aggregation=st.sampled_from(HOPS), length=st.sampled_from(LENGTHS), seed=st.integers(0, 10**6))
def test_hops(aggregation, length, seed):
    size, every = length
    run_both(aggregation, sw.time(size, every=every), {}, seed, 120)


def test_most_rows_go_directly():
    assert max(run_both(*KEYED[0][:1], sw.time(100), KEYED[0][1], seed, 150) for seed in range(2)) > 90
    assert max(run_both(sw.max("x"), sw.time(100, every=20), {}, seed, 150) for seed in range(2)) > 90


def test_which_way_is_taken():
    def way(window, **options):
        w = sw.Window({"a": sw.max("x"), "b": sw.avg("x")}, window, **options)
        for k in range(40):
            w.push({"x": float(k), "k": k % 3}, time=k)
        return type(w._direct)

    assert way(sw.time(10)) is DirectKeys
    assert way(sw.time(10), partition_by="k") is DirectKeys
    assert way(sw.range_between(-5, 0), partition_by="k") is DirectKeys
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
        assert found[0] == found[1]
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
