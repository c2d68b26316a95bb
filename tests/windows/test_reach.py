"""How far windows reach: the same frame in other words reaches equally far."""

import pytest

import slidewise as sw
from slidewise.windows.reach import Reach

SAME = [
    (sw.rows(3), sw.rows_between(-2, 0)),
    (sw.time("1h"), sw.range_between("-1h", 0)),
    (sw.time(5), sw.range_between(-5, 0)),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_frame_in_other_words(one, other):
    assert one.reach == other.reach


@pytest.mark.parametrize(
    ("window", "back", "ahead", "waits", "running", "whole"),
    [
        (sw.rows(3), 2, 0, False, False, False),
        (sw.rows_between(-5, 2), 5, 2, True, False, False),
        (sw.rows_between(1, 4), 0, 4, True, False, False),
        (sw.rows_between(-4, -1), 4, 0, False, False, False),
        (sw.groups_between(-sw.UNBOUNDED, 0), None, 0, False, True, False),
        (sw.rows_between(-sw.UNBOUNDED, 0, exclude="current row"), None, 0, False, False, True),
        (sw.rows_between(0, sw.UNBOUNDED), 0, None, True, False, True),
        (sw.rows_between(sw.col("n"), 0), None, 0, False, False, True),
        (sw.rows_between(0, sw.col("n")), 0, None, True, False, True),
    ],
)
def test_how_far_frames_reach(window, back, ahead, waits, running, whole):
    reach = window.reach
    assert (reach.back, reach.ahead) == (back, ahead)
    assert (window.waits, window.running, window.needs_whole_key) == (waits, running, whole)


@pytest.mark.parametrize("closed", ["both", "right", "left", "neither"])
def test_bounds_that_are_left_out(closed):
    reach = sw.time(5, closed=closed).reach
    assert reach == Reach("range", -5, 0, closed in ("right", "neither"), closed in ("left", "neither"))


@pytest.mark.parametrize("window", [sw.delta("x", 5), sw.punctuation("p"), sw.session(3), sw.frames([0], [1])])
def test_values_decide_where_nothing_else_does(window):
    assert window.reach is None
    assert not (window.waits or window.running or window.needs_whole_key or window.counts_rows)


@pytest.mark.parametrize(
    ("window", "lengths"),
    [
        (sw.rows(3), []),
        (sw.rows(3, every="1m", offset="5s"), ["1m", "5s"]),
        (sw.time("1h", every="1m"), ["1h", "1m"]),
        (sw.range_between(sw.col("x"), sw.UNBOUNDED), []),
    ],
)
def test_lengths_along_the_order(window, lengths):
    assert [repr(length).strip('"') for length in window.lengths] == lengths
