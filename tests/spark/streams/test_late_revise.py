"""late="revise" on streams: what a late row changes comes again, and the last revision of each result is that of a
batch over all rows that were taken.
"""

from collections import Counter, defaultdict
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, SLIDES, START, Stream, batch, batches, on_time, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput

TRAILING = {
    "peak": sw.max("x").over(sw.time("6s")),
    "total": sw.sum("odo").over(sw.time("3s", closed="left")),
    "typical": sw.median("x").over(sw.rows(4)),
    "seen": sw.collect_list("seq").over(sw.rows(3)),
    "n": sw.count().over(sw.range_between("-5s", "-1s")),
    "due": sw.avg("odo").over(sw.rows(3, min_rows=2)),
    "texts": sw.string_agg("note").over(sw.groups_between(-2, 0)),
    "others": sw.collect_list("seq").over(sw.rows_between(-2, 0, exclude="current row")),
    "before": sw.collect_list("seq").over(sw.rows_between(-3, 0, exclude="group")),
    "where": sw.count(where="mark").over(sw.time("9s")),
}
FOLLOWING = {
    "around": sw.collect_list("seq").over(sw.range_between("-2s", "3s")),
    "next": sw.collect_list("seq").over(sw.rows_between(0, 2)),
    "groups": sw.sum("odo").over(sw.groups_between(-1, 1)),
    "ties": sw.count().over(sw.range_between("-1s", "1s", exclude="ties")),
    "past": sw.median("x").over(sw.rows(5)),
}
FAR = 10**11


def last_revisions(table, by):
    """The last revision of each result; revisions count from 0, one by one."""
    found = defaultdict(list)
    for each in table.to_pylist():
        found[tuple(each[name] for name in by)].append(each)
    for revisions in found.values():
        assert [each["revision"] for each in revisions] == list(range(len(revisions)))
    last = [revisions[-1] for revisions in found.values()]
    return pa.Table.from_pylist(last, schema=table.schema).drop_columns(["revision"])


@pytest.mark.parametrize("over", [TRAILING, FOLLOWING], ids=["trailing", "following"])
@examples(25)
@given(batches(), st.sampled_from([0, 2]), st.sampled_from([0, 4, 15, 1000]))
def test_the_last_revision_of_each_row_is_that_of_a_batch(over, parts, delay, keep):
    task = task_of(over, keep=keep * SECOND, forget_after=FAR)
    stream = run(task, parts, delay)
    expected = batch(task, on_time(parts, delay * SECOND, keep * SECOND))
    same(last_revisions(stream.result(), ("seq",)), expected)
    assert stream.late == sum(map(len, parts)) - len(expected)
    assert not stream.memory.pieces


@examples(25)
@given(batches(), st.sampled_from([0, 2]), st.sampled_from([0, 4, 15]), st.sampled_from([1, 3]))
def test_keys_that_are_forgotten_and_joined_again(parts, delay, keep, forget_after):
    """Rows of a key that are further apart than forget_after are those of two keys."""
    over = {**FOLLOWING, "four": sw.collect_list("seq").over(sw.rows(4))}
    stream = run(task_of(over, keep=keep * SECOND, forget_after=forget_after * SECOND), parts, delay)
    kept = on_time(parts, delay * SECOND, keep * SECOND)
    times, session = defaultdict(list), []
    for key, time in zip(kept["k"].to_pylist(), kept["ts"].to_pylist(), strict=True):
        times[key].append(time)
    for key, time in zip(kept["k"].to_pylist(), kept["ts"].to_pylist(), strict=True):
        earlier = sorted(t for t in times[key] if t <= time)
        session.append(sum((b - a).total_seconds() > forget_after for a, b in pairwise(earlier)))
    kept = kept.append_column("session", pa.array(session, pa.int64()))
    expected = sw.with_columns(kept, partition_by=["k", "session"], order_by="ts", **over)
    same(last_revisions(stream.result(), ("seq",)), expected.drop_columns(["session"]))
    assert not stream.memory.pieces


RESULTS = {"n": sw.count(), "peak": sw.max("x"), "typical": sw.median("odo"), "seen": sw.collect_list("seq")}
REVISED = {
    name: window
    for name, window in SLIDES.items()
    if not {"delta", "punctuation", "session", "cumulative"} & {window.size_kind, window.slide_kind}
}


def bump(counter, key):
    counter[key] += 1
    return counter[key]


@pytest.mark.parametrize("name", REVISED)
@examples(10)
@given(batches(), st.sampled_from([0, 2]), st.sampled_from([0, 4, 15, 1000]))
def test_the_last_revision_of_each_slide_is_that_of_a_batch(name, parts, delay, keep):
    by_rows = REVISED[name].slide_kind == "count"
    task = task_of(RESULTS, window=REVISED[name], keep=keep * SECOND, forget_after=None if by_rows else FAR)
    stream = run(task, parts, delay)
    expected = batch(task, on_time(parts, delay * SECOND, keep * SECOND))
    if by_rows:
        found = last_revisions(stream.result(), ("k", "row")).drop_columns(["row"])
        if name == "ahead":  # the last slide of a key may wait for two more rows
            rows = Counter(on_time(parts, delay * SECOND, keep * SECOND)["k"].to_pylist())
            place = Counter()
            expected = pa.Table.from_pylist(
                [each for each in expected.to_pylist() if 2 * bump(place, each["k"]) + 2 <= rows[each["k"]]],
                schema=expected.schema,
            )
        same(found, expected, by=("k", "ts", "seen"))
    else:
        same(last_revisions(stream.result(), ("k", "window_end")), expected, by=("k", "window_end"))
        assert not stream.memory.pieces


WINDOWS = [
    sw.time("5s"), sw.rows(3), sw.range_between("-2s", "2s"), sw.rows_between(-1, 1), sw.groups_between(-1, 0),
    sw.rows_between(-2, 1, exclude="ties"), sw.time("6s", every="2s"), sw.rows(3, every="4s"), sw.rows(3, every=2),
    sw.range_between("-3s", "2s", every=sw.rows(2)), sw.time("2s", every=sw.rows(2)),
    sw.range_between("-3s", "-1s"), sw.rows_between(-3, -2), sw.rows_between(1, 2, exclude="group"),
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@examples(10)
@given(batches(), st.sampled_from([0, 3]), st.sampled_from([4, 15, 1000]))
def test_revisions_are_those_of_the_window_in_process(window, parts, delay, keep):
    """One row at a time, and a batch without rows for the watermark that it brings: the same results at every step."""
    in_process = sw.Window(RESULTS, window, partition_by="k", max_delay=f"{delay}s", late="revise", keep=f"{keep}s")
    if window.every is None:
        task = task_of({n: each.over(window) for n, each in RESULTS.items()}, keep=keep * SECOND, forget_after=FAR)
    else:
        task = task_of(RESULTS, window=window, keep=keep * SECOND)
    stream, nothing = Stream(task, delay * SECOND), SCHEMA.empty_table()
    label = "window_end" if window.slide_kind == "time" else "ts"
    for each in pa.concat_tables(parts).to_pylist():
        stream.out.clear()
        stream.push(pa.Table.from_pylist([each], schema=SCHEMA))
        stream.push(nothing)
        got = [(r["k"], r[label], r["revision"], *(r[n] for n in RESULTS)) for r in stream.result().to_pylist()]
        due = in_process.push(each, time=each["ts"])
        assert sorted(map(repr, got)) == sorted(repr((r.key, r.time, r.revision, *r.value.values())) for r in due)
    assert stream.late == in_process.dropped


def push(stream, *rows):
    """What comes out of a batch, as second, number of rows and revision."""
    stream.out.clear()
    stream.push(pa.Table.from_pylist(list(rows), schema=SCHEMA))
    found = stream.result().to_pylist() if stream.out else []
    return [((r["ts"] - START).total_seconds(), r["n"], r["revision"]) for r in found]


def test_only_frames_that_change_come_again_once_per_batch():
    stream = Stream(task_of({"n": sw.count().over(sw.time("10s"))}, keep=30 * SECOND), 0)
    push(stream, row("a", 0), row("a", 20), row("a", 25), row("b", 40))
    assert push(stream) == [(0, 1, 0), (20, 1, 0), (25, 2, 0), (40, 1, 0)]
    assert push(stream, row("a", 12), row("a", 11)) == [(11, 1, 0), (12, 2, 0), (20, 3, 1)]
    assert push(stream, row("a", 16)) == [(16, 3, 0), (20, 4, 2), (25, 3, 1)]
    assert push(stream, row("a", 10), row("b", 9), row("b", 11)) == [(11, 1, 0)]  # 30 s or more before the watermark
    assert stream.late == 2


def test_a_late_row_that_is_left_out_pushes_another_out_of_the_frame():
    around = sw.rows_between(-2, 2, exclude="group")
    stream = Stream(task_of({"n": sw.count().over(around)}, keep=600 * SECOND, forget_after=60 * SECOND), 0)
    push(stream, row("a", 20), row("a", 21), row("a", 22), row("b", 90))
    assert push(stream) == [(20, 2, 0), (21, 2, 0), (22, 2, 0)]
    assert push(stream, row("a", 20)) == [(20, 1, 1), (20, 2, 0), (21, 3, 1), (22, 2, 1)]


def test_slides_count_their_revisions_for_as_long_as_they_are_kept():
    stream = Stream(task_of({"n": sw.count()}, window=sw.time("20s", every="10s"), keep=40 * SECOND), 0)

    def revised(*rows):
        stream.out.clear()
        stream.push(pa.Table.from_pylist(list(rows), schema=SCHEMA))
        found = stream.result().to_pylist() if stream.out else []
        return [((r["window_end"] - START).total_seconds(), r["n"], r["revision"]) for r in found]

    revised(row("a", 5), row("b", 39))
    assert revised() == [(10, 1, 0), (20, 1, 0)]
    assert revised(row("a", 6)) == [(10, 2, 1), (20, 2, 1)]
    assert revised(row("a", 15), row("a", 16)) == [(20, 4, 2), (30, 2, 0)]
    assert revised(row("a", 1)) == [(10, 3, 2), (20, 5, 3)]
    stream.watermark += 25 * SECOND
    assert revised() == [(40, 1, 0), (50, 1, 0)]
    assert stream.deadline > stream.watermark
    revised(row("b", 200))
    revised()
    assert all(len(b) < 3000 for b in stream.memory.pieces.values())
    revised(row("b", 400))
    revised()
    assert len(stream.memory.pieces) == 1  # that of b


def test_a_slide_comes_again_when_it_only_loses_rows_or_moves():
    def slides(window):
        stream = Stream(task_of({"n": sw.count()}, window=window, keep=60 * SECOND), 0)
        push(stream, row("a", 20), row("a", 21))
        return push(stream), push(stream, row("a", 0))

    assert slides(sw.time("4s", every=sw.rows(2))) == ([(21, 2, 0)], [(20, 1, 1)])
    assert slides(sw.range_between("-4s", "-2s", every=sw.rows(2))) == ([(21, 0, 0)], [(20, 0, 1)])


def test_a_slide_that_moves_to_a_row_of_the_same_order_does_not_come_again():
    window = sw.range_between("-3s", "2s", every=sw.rows(2))
    stream = Stream(task_of({"n": sw.count()}, window=window, keep=15 * SECOND), 0)
    stream.push(pa.Table.from_pylist([row("a", s) for s in (0, 4, 4, 4, 9)], SCHEMA))
    stream.push(SCHEMA.empty_table())
    stream.out.clear()
    stream.push(pa.Table.from_pylist([row("a", 0), row("a", 9)], SCHEMA))
    stream.push(SCHEMA.empty_table())
    # The second row is another one now; the fourth one is another of those at 4 s, with the same frame.
    assert [(r["row"], r["ts"].second, r["n"], r["revision"]) for r in stream.result().to_pylist()] == [(2, 0, 2, 1)]


def test_a_slide_of_the_same_rows_at_another_time_comes_again_in_process_too():
    window = sw.range_between("-3s", "2s", every=sw.rows(2))
    in_process = sw.Window(sw.count(), window, partition_by="k", max_delay="0s", late="revise", keep="60s")
    for second in (10, 11, 12, 20):
        in_process.push(row("a", second), time=row("a", second)["ts"])
    again = in_process.push(row("a", 0), time=row("a", 0)["ts"])
    assert [(r.row, r.time.second, r.value, r.revision) for r in again] == [(2, 10, 3, 1), (4, 12, 3, 0)]


def test_a_late_row_joins_what_was_forgotten():
    stream = Stream(task_of({"n": sw.count().over(sw.rows(10))}, keep=600 * SECOND, forget_after=60 * SECOND), 0)
    push(stream, row("a", 0), row("a", 100), row("b", 200))
    assert push(stream) == [(0, 1, 0), (100, 1, 0), (200, 1, 0)]
    assert push(stream, row("a", 50)) == [(50, 2, 0), (100, 3, 1)]
    push(stream, row("b", 1000))
    push(stream)
    assert push(stream, row("a", 500)) == [(500, 1, 0)]


def test_state_is_that_of_keep():
    stream = Stream(task_of({"n": sw.count().over(sw.time("5s"))}, keep=20 * SECOND), 0)
    sizes = []
    for second in range(80):
        stream.push(pa.Table.from_pylist([row("a", second)], schema=SCHEMA))
        stream.push(SCHEMA.empty_table())
        sizes.append(stream.state_rows)
    assert max(sizes[40:]) <= 1.1 * min(sizes[40:])
    stream.watermark += 10 * SECOND  # other keys have come so far: rows are still kept, and nothing is due
    assert stream.deadline > stream.watermark
    push(stream, row("b", 200))
    push(stream)
    push(stream, row("b", 400))
    push(stream)
    assert len(stream.memory.pieces) == 1  # that of b


@pytest.mark.parametrize(
    ("match", "task"),
    [
        ("a late row moves every delta", {"expressions": {"n": sw.count().over(sw.delta("odo", 2))}}),
        ("moves every punctuation", {"expressions": RESULTS, "window": sw.rows(3, every=sw.punctuation("mark"))}),
        ("emit is 'arrival'", {"expressions": {"n": sw.count().over(sw.rows(2))}, "emit": "arrival"}),
        ("emit is 'changes'", {"expressions": {"n": sw.count().over(sw.rows(2))}, "emit": "changes"}),
        ("adds a column 'revision'", {"expressions": {"Revision": sw.count().over(sw.rows(2))}}),
        ("adds a column 'row'", {"expressions": {"row": sw.count()}, "window": sw.rows(3, every=2)}),
        ("leave out forget_after", {"expressions": RESULTS, "window": sw.rows(3, every=2), "forget_after": 1}),
    ],
)  # fmt: skip
def test_what_cannot_be_revised(match, task):
    with pytest.raises(InvalidInput, match=match):
        task_of(**task, keep=SECOND)
