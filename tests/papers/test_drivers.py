"""What is measured: right answers only, one round after the other, and slides that are what they say."""

import numpy as np
import pytest

import slidewise as sw
from benchmarks.papers import drivers
from benchmarks.papers.experiment import Scale


def test_a_wrong_answer_is_not_timed(monkeypatch):
    right = sw.rolling

    def wrong(x, aggregation, window, *, algorithm):
        out = right(x, aggregation, window, algorithm=algorithm)
        return out + 1 if algorithm == "two_stacks" else out

    monkeypatch.setattr(sw, "rolling", wrong)
    monkeypatch.setattr(drivers, "_checked", set())
    cells = drivers.throughput(np.arange(100.0), sw.sum(), drivers.sliding, 8, {"x": "two_stacks"}, Scale("tiny"))
    with pytest.raises(drivers.WrongAnswer, match="two_stacks of sum disagrees with recalculation"):
        list(cells)


@pytest.mark.parametrize(
    ("ours", "right", "alike"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.array([1.0]), np.array([1.0 + 1e-6]), False),
        (np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked_array([9.0, 2.0], [True, False]), True),
        (np.ma.masked_array([1.0, 2.0], [True, False]), np.array([1.0, 2.0]), False),
        (np.array([(1, 2)], "i8,i8"), np.array([(1, 3)], "i8,i8"), False),
        (np.array(["a"], object), np.array(["a"], object), True),
    ],
)
def test_answers_are_alike(ours, right, alike):
    assert drivers.same(ours, right) is alike


def test_calls_run_in_turn_and_short_ones_five_times():
    order = []
    clock = iter(range(1000)).__next__
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    assert drivers.run_in_turn(calls, 3, clock) == {"a": [1] * 3, "b": [1] * 3}
    assert order == list("ababab")
    assert [len(runs) for runs in drivers.run_in_turn(calls, 3).values()] == [5, 5]
    assert [len(runs) for runs in drivers.run_in_turn(calls, 1).values()] == [1, 1]


def test_firings_are_evictions_insertions_and_a_query():
    start, end = drivers.firings(3)(20, 8)
    assert start.tolist() == [0, 3, 6, 9, 12]
    assert set((end - start).tolist()) == {8}


@pytest.mark.parametrize(
    ("start", "end"),
    [([0, 1, 0], [2, 3, 4]), ([0, 3], [2, 4]), ([0, 2], [2, 2]), ([0, 0], [3, 2])],
    ids=["moves back", "a gap", "empty", "end moves back"],
)
def test_latency_refuses_frames_that_are_no_slides(start, end):
    with pytest.raises(ValueError, match="latency: bounds that move back, an empty frame, or rows between two frames"):
        drivers.latency("daba_lite", sw.sum(), (np.arange(9.0),), np.array(start), np.array(end))


@pytest.mark.full
@pytest.mark.parametrize("first", [0, 50])
@pytest.mark.parametrize("algorithm", ["two_stacks", "daba_lite"])
def test_latency_has_the_time_of_every_slide_but_the_first(algorithm, first):
    """Frames whose window does not begin with the column: nothing is evicted that was never inserted."""
    start, end = drivers.sliding(5000, 40)
    start, end = start[first:], end[first:]
    found = drivers.latency(algorithm, sw.sum(), (np.arange(5000.0),), start, end, passes=2)
    assert len(found.single) == len(found.shortest) == len(start) - 1
    assert (found.shortest <= found.single).all()
    assert (found.shortest > 0).all()
    out, _ = drivers._one_pass(algorithm, sw.sum(), (np.arange(5000.0),), start, end)
    assert drivers.same(out, sw.rolling(np.arange(5000.0), sw.sum(), sw.frames(start, end), algorithm="recalculate"))


@pytest.mark.full
def test_the_slide_that_evicts_most_takes_longest():
    """999 slides of one row, and one that evicts 100,000: the counter sees the work, and where it is done."""
    end = np.arange(200_000, 201_000)
    start = np.where(np.arange(1000) < 500, 0, 100_000)
    found = drivers.latency("two_stacks", sw.sum(), (np.arange(201_000.0),), start, end, passes=3)
    assert found.shortest.argmax() == 499
    assert found.shortest[499] > 100 * np.median(found.shortest)
