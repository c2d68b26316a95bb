"""Rows out of order: held back, dropped, or revising results, against recalculation over the rows in order."""

from random import Random

import pytest
import window_oracle as oracle
from hypothesis import assume, given
from hypothesis import strategies as st
from support.aggregations import Listed
from support.tiers import examples
from window_streams import SIZES, SLIDES, by_key, label, numbers_of, random_rows, window_of

import slidewise as sw

REVISED = [size for size in SIZES if size not in ("delta", "punctuation")]
BY_ROWS = ["each row", "count", "time"]

streams = st.builds(lambda n, seed: random_rows(Random(seed), n), st.integers(0, 30), st.integers(0, 10**6))
seeds = st.integers(0, 10**6)


def disordered(stream, most, seed):
    """Rows in an order of arrival in which none comes `most` or more after a row of later time."""
    random = Random(seed)
    return sorted(stream, key=lambda row: row["t"] + random.uniform(0, most * 0.999))


def in_order(stream):
    """Rows of equal time keep the order of arrival."""
    return sorted(stream, key=lambda row: row["t"])


def run(w, stream):
    return [result for row in stream for result in w.push(row, time=row["t"])] + w.flush()


def expected(stream, size, slide):
    return {key: oracle.results(own, SIZES[size][2], SLIDES[slide][1]) for key, own in by_key(stream).items()}


@examples(100)
@given(st.sampled_from(list(SIZES)), st.sampled_from(list(SLIDES)), streams, seeds, st.sampled_from([1, 3, 20]))
def test_max_delay_holds_rows_back_and_releases_them_in_time_order(size, slide, stream, seed, delay):
    arriving = disordered(stream, delay, seed)
    w = sw.Window(Listed("v"), window_of(size, slide), partition_by="key", max_delay=delay)
    ordered = in_order(arriving)
    found = {key: [] for key in by_key(stream)}
    for result in run(w, arriving):
        found[result.key].append((label(result, numbers_of(ordered)), result.value))
    assert found == expected(ordered, size, slide)


def not_dropped(arriving, delay, keep=None):
    """The rule of lateness, again: at or before the newest time less the delay, over all keys."""
    newest, taken, dropped = None, [], 0
    for row in arriving:
        watermark = None if newest is None else newest - (delay or 0)
        late = newest is not None and (row["t"] < newest if delay is None else row["t"] <= watermark)
        if late and (keep is None or row["t"] <= watermark - keep):
            dropped += 1
            continue
        taken.append(row)
        newest = row["t"] if newest is None else max(newest, row["t"])
    return taken, dropped


@examples(60)
@given(st.sampled_from(list(SIZES)), st.sampled_from(list(SLIDES)), streams, seeds, st.sampled_from([None, 0, 2]))
def test_late_rows_are_dropped_and_counted(size, slide, stream, seed, delay):
    assume((size, slide) != ("time", "time"))  # hopping windows take late rows: test_late_into_open.py
    arriving = disordered(stream, 8, seed)
    taken, dropped = not_dropped(arriving, delay)
    w = sw.Window(Listed("v"), window_of(size, slide), partition_by="key", max_delay=delay, late="drop")
    ordered = in_order(taken)
    found = {key: [] for key in by_key(taken)}
    for result in run(w, arriving):
        found[result.key].append((label(result, numbers_of(ordered)), result.value))
    assert found == expected(ordered, size, slide)
    assert w.dropped == dropped


def last_revisions(results):
    """The last revision of each result, and that revisions count up from 0 without a gap."""
    last = {}
    for result in results:
        identity = (result.key, result.row, result.time if result.row is None else None, result.start)
        assert result.revision == (last[identity].revision + 1 if identity in last else 0)
        last[identity] = result
    return last.values()


@pytest.mark.parametrize("algorithm", ["auto", "recalculate"])
@examples(150)
@given(
    size=st.sampled_from(REVISED),
    slide=st.sampled_from(BY_ROWS),
    stream=st.builds(lambda n, seed: random_rows(Random(seed), n), st.integers(0, 150), st.integers(0, 10**6)),
    seed=seeds,
    delay=st.sampled_from([None, 0, 2]),
    keep=st.sampled_from([10**6, None, 6]),
)
def test_the_last_revision_of_each_result_is_the_batch_result(algorithm, size, slide, stream, seed, delay, keep):
    arriving = disordered(stream, 12, seed)
    taken, dropped = not_dropped(arriving, delay, keep=10**9 if keep is None else keep)
    options = {"max_delay": delay, "late": "revise", "keep": keep, "algorithm": algorithm}
    w = sw.Window(Listed("v"), window_of(size, slide), partition_by="key", **options)
    found = {key: [] for key in by_key(taken)}
    for result in last_revisions(run(w, arriving)):
        found[result.key].append(result.value if result.start is None else ((result.start, result.end), result.value))
    hopping = size == "time" and slide == "time"
    wanted = {
        key: sorted((name, frame) if hopping else frame for name, frame in pairs)
        for key, pairs in expected(in_order(taken), size, slide).items()
    }
    assert {key: sorted(values) for key, values in found.items()} == wanted
    assert w.dropped == dropped


DUE_AT_ONCE = {
    "rows(4)": ("each row", lambda own, newest: True),
    "rows trailing": ("count", lambda own, newest: True),
    "time": ("each row", lambda own, newest: own["t"] < newest),
    "range before": ("each row", lambda own, newest: own["t"] - 1 < newest),
    "groups": ("each row", lambda own, newest: own["t"] < newest),
    "groups before": ("each row", lambda own, newest: True),
    "range but its group": ("each row", lambda own, newest: own["t"] + 2 < newest),
}


@pytest.mark.parametrize("size", DUE_AT_ONCE)
@examples(25)
@given(stream=streams, seed=seeds)
def test_exactly_the_results_whose_frame_gains_or_loses_a_row_are_emitted_again(size, stream, seed):
    slide, is_due = DUE_AT_ONCE[size]
    w = sw.Window(Listed("v"), window_of(size, slide), late="revise")
    given_out, rows, newest = {}, [], None
    for row in disordered(stream, 6, seed):
        rows.append(row)
        newest = row["t"] if newest is None else max(newest, row["t"])
        ordered = in_order(rows)
        frames = dict(oracle.results(ordered, SIZES[size][2], None))
        if slide == "count":  # the k-th row is another row now, and the result is told apart by k
            due = {k: frames[ordered[k - 1]["v"]] for k in range(3, len(rows) + 1, 3)}
        else:
            due = {k: frames[own["v"]] for k, own in enumerate(rows, 1) if is_due(own, newest)}
        wanted = {k: frame for k, frame in due.items() if given_out.get(k) != frame}
        results = w.push(row, time=row["t"])
        assert {r.row: r.value for r in results} == wanted
        assert len(results) == len(wanted)
        assert all((r.revision > 0) == (r.row in given_out) for r in results)
        assert [r.time for r in results] == sorted(r.time for r in results)
        given_out |= wanted


@examples(40)
@given(st.sampled_from(BY_ROWS), streams, seeds)
def test_min_rows_counts_late_rows_too(slide, stream, seed):
    arriving = disordered(stream, 6, seed)
    w = sw.Window(Listed("v"), window_of("rows(4)", slide, min_rows=3), late="revise")
    found = [result.value for result in last_revisions(run(w, arriving))]
    wanted = oracle.results(in_order(arriving), SIZES["rows(4)"][2], SLIDES[slide][1], least=3)
    assert sorted(found) == sorted(frame for _, frame in wanted)


def test_revised_hopping_windows_are_those_of_the_late_row():
    w = sw.Window(sw.sum(), sw.time(10, every=5), late="revise")
    w.push(1, time=2)
    assert [(r.start, r.end, r.value, r.revision) for r in w.push(2, time=31)] == [(-5, 5, 1, 0), (0, 10, 1, 0)]
    # [0, 10) gains a row, [5, 15) was empty and is new
    assert [(r.start, r.end, r.value, r.revision) for r in w.push(4, time=7)] == [(0, 10, 5, 1), (5, 15, 4, 0)]


def test_keep_forgets_rows_and_results():
    w = sw.Window(sw.sum(), sw.time(10), late="revise", keep=20)
    for t in range(5000):
        w.push(1, time=t)
    assert w.partials() < 200
    # the row that was there at 4990 and those up to 4998 gain a row; that of 4999 still waits for its peers
    assert [r.revision for r in w.push(1, time=4990)] == [1, 0, *[1] * 8]
    assert w.push(1, time=100) == []
    assert w.dropped == 1


def test_frames_with_holes_forget_rows_too():
    w = sw.Window(sw.sum(), sw.rows_between(-5, 5, exclude="current row"))
    for x in range(5000):
        w.push(x)
    assert w.partials() < 200


def test_without_max_delay_a_row_of_equal_time_is_not_late():
    w = sw.Window(sw.count(), sw.time(10))
    w.push("a", time=5)
    w.push("b", time=5)
    assert [r.value for r in w.flush()] == [2, 2]


def test_a_row_at_the_watermark_is_late():
    w = sw.Window(sw.count(), sw.rows(10), max_delay=3)
    w.push("a", time=10)
    with pytest.raises(sw.LateRow, match="at or before the watermark 7"):
        w.push("b", time=7)
    w.push("c", time=8)


def test_late_error_says_what_to_do_and_loses_nothing():
    w = sw.Window(sw.sum(), sw.rows(2))
    w.push(1, time=5)
    with pytest.raises(sw.LateRow, match=r"row of 4 is late.*newest is of 5.*max_delay=.*late='drop'"):
        w.push(10, time=4)
    assert [r.value for r in w.push(2, time=5)] == [3]
    assert w.dropped == 0


def test_the_watermark_is_one_for_all_keys():
    w = sw.Window(sw.count(), sw.rows(10), max_delay=3, late="drop")
    w.push("a", time=10, key="a")
    w.push("b", time=5, key="b")
    assert w.dropped == 1
    assert w.watermark == 7


def test_after_advance_a_row_of_that_time_is_late():
    w = sw.Window(sw.count(), sw.time(5), late="drop")
    w.push("a", time=1)
    assert [r.value for r in w.advance(1)] == [1]
    w.push("b", time=1)
    assert w.dropped == 1
