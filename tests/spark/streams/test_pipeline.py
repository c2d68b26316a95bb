"""The stateful logic without Spark: whatever way a stream is cut into batches, it gives what a batch gives."""

import gc
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import (
    SCHEMA,
    SECOND,
    SLIDES,
    START,
    Stream,
    batch,
    batches,
    expect,
    hashes_of,
    on_time,
    row,
    run,
    same,
    task_of,
)
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.columns.arranged import ArrangedFrame
from slidewise.spark.streams.change_log import images
from slidewise.spark.streams.micro_batches import MicroBatches
from slidewise.spark.streams.pending_rows import recent
from slidewise.spark.streams.step_data import JoinedRows


class Spread(sw.Aggregation):
    identity = (2**62, -(2**62))
    commutative = True

    @staticmethod
    def lift(x):
        return (x, x)

    @staticmethod
    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def lower(s):
        return s[1] - s[0]


TRAILING = {
    "peak": sw.max("x").over(sw.time("10s")),
    "total": sw.sum("odo").over(sw.time("3s", closed="left")),
    "typical": sw.median("x").over(sw.rows(4)),
    "different": sw.count_distinct("note").over(sw.rows(3)),
    "sum_of_different": sw.sum_distinct("odo").over(sw.range_between("-3s", 0)),
    "quartiles": sw.percentile("x", [0.25, 0.75]).over(sw.rows(4)),
    "n": sw.count().over(sw.range_between("-5s", "-1s")),
    "usual": sw.mode("note").over(sw.rows_between(-3, -1)),
    "due": sw.avg("x").over(sw.rows(3, min_rows=2)),
    "texts": sw.string_agg("note").over(sw.groups_between(-2, 0)),
    "driven": sw.count("odo").over(sw.delta("odo", 3)),
    "trip": sw.collect_list("seq").over(sw.punctuation("mark")),
    "visit": sw.collect_list("seq").over(sw.session("2s")),
    "own": Spread("odo").over(sw.time("4s")),
    "where": sw.count(where="mark").over(sw.time("20s")),
    "others": sw.max("odo").over(sw.rows_between(-2, 0, exclude="current row")),
    "month": sw.count().over(sw.time("1 month")),
}
FOLLOWING = {
    "around": sw.max("x").over(sw.range_between("-2s", "3s")),
    "next": sw.collect_list("seq").over(sw.rows_between(0, 2)),
    "groups": sw.sum("odo").over(sw.groups_between(-1, 1)),
    "later": sw.first("seq").over(sw.rows_between(1, 3)),
    "ahead": sw.count().over(sw.range_between("1s", "4s")),
    "ties": sw.count().over(sw.range_between("-1s", "1s", exclude="ties")),
    "past": sw.median("x").over(sw.rows(5)),
}
#: bounds that cross, as SQL may have them: empty frames, but for rows without a time
_BACK, _AHEAD = sw.rows_between(-4, -2), sw.range_between("1s", "3s")
FOLLOWING |= {
    "none before": sw.count().over(replace(_BACK, start=_BACK.end, end=_BACK.start)),
    "none after": sw.count().over(replace(_AHEAD, start=_AHEAD.end, end=_AHEAD.start)),
}
FAR = 10**11


@examples(40)
@given(batches(), st.sampled_from([0, 2, 10, 1000]))
def test_trailing_frames_equal_those_of_a_batch(parts, delay):
    task = task_of(TRAILING)
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    expected = expect(task, parts, delay * SECOND)
    same(stream.result(), expected)
    assert stream.late == sum(map(len, parts)) - len(expected)


BY_ROWS = {name: over for name, over in (TRAILING | FOLLOWING).items() if over.window.size_kind in ("count", "rows")}


@examples(40)
@given(batches(), st.randoms())
def test_a_tie_break_makes_the_order_of_arrival_irrelevant(parts, random):
    task = task_of(BY_ROWS, order_by=[sw.asc("ts"), sw.desc("seq")], forget_after=FAR)
    stream = Stream(task, 10**12)
    whole = pa.concat_tables(parts)
    shuffled = whole.take(random.sample(range(len(whole)), len(whole)))
    for first in range(0, len(whole), 7):
        stream.push(shuffled[first : first + 7])
    stream.flush()
    stream.flush()
    same(stream.result(), batch(task, whole))


@examples(40)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_following_frames_equal_those_of_a_batch(parts, delay):
    task = task_of(FOLLOWING, forget_after=FAR)
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    same(stream.result(), expect(task, parts, delay * SECOND))
    assert not stream.memory.pieces  # all keys are silent, and forgotten


@examples(40)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_frames_that_only_look_ahead_by_time(parts, delay):
    task = task_of({name: FOLLOWING[name] for name in ("ahead", "around", "ties")})
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    same(stream.result(), expect(task, parts, delay * SECOND))
    assert not stream.memory.pieces


RESULTS = {"n": sw.count(), "peak": sw.max("x"), "typical": sw.median("odo"), "notes": sw.collect_list("seq")}


@pytest.mark.parametrize("name", SLIDES)
@examples(15)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_slides_equal_those_of_a_batch(name, parts, delay):
    ahead = {"ahead": {"forget_after": FAR}, "hopping": {"forget_after": SECOND}}.get(name, {})
    task = task_of(RESULTS, window=SLIDES[name], **ahead)
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    stream.flush()
    expected = expect(task, parts, delay * SECOND)
    label = "window_end" if "window_end" in expected.column_names else "ts"
    same(stream.result(), expected, by=("k", label, "notes"))


# ---- what comes out when
def push(stream, *rows):
    """The rows that come out of a batch, as pairs of key and second."""
    stream.out.clear()
    stream.push(pa.Table.from_pylist(list(rows), schema=SCHEMA))
    found = stream.result().to_pylist() if stream.out else []
    return [(r["k"], (r["ts"] - START).total_seconds()) for r in found]


@examples(40)
@given(batches(), st.sampled_from([0, 2, 1000]))
def test_rows_at_once_see_what_has_arrived(parts, delay):
    """The frame of a row holds the rows that have arrived by the end of its batch, and are not late."""
    over = {"n": sw.count().over(sw.time("10s")), "last": sw.collect_list("seq").over(sw.rows(3))}
    task = task_of(over, emit="arrival")
    stream = Stream(task, delay * SECOND)
    for number, part in enumerate(parts, 1):
        stream.out.clear()
        stream.push(part)
        if not len(part):
            continue
        arrived = batch(task, on_time(parts[:number], delay * SECOND))
        new = set(part["seq"].to_pylist())
        same(stream.result(), arrived.filter(pa.array([seq in new for seq in arrived["seq"].to_pylist()])))


@examples(40)
@given(batches())
def test_without_an_order_rows_count_as_they_arrive(parts):
    over = {"n": sw.count().over(sw.rows(4)), "trip": sw.collect_list("seq").over(sw.punctuation("mark"))}
    task = task_of(over, order_by=None, emit="arrival")
    stream = Stream(task, 0)
    stream.watermark = None
    for part in parts:
        rows = part.select(SCHEMA.names)
        step = MicroBatches(task).advance(stream.memory, rows, hashes_of(rows, ["k"]), None)
        assert step.deadline is None
        stream.out.append(step.rows)
    same(stream.result(), batch(task, pa.concat_tables(parts)))


def test_rows_without_keys():
    whole = pa.Table.from_pylist([row("a", n, seq=n) for n in range(20)], schema=SCHEMA)
    task = task_of({"n": sw.sum("seq").over(sw.rows(3))}, partition_by=None)
    stream = Stream(task, SECOND)
    for first in range(0, 20, 6):
        stream.push(whole[first : first + 6])
    stream.flush()
    same(stream.result(), batch(task, whole))


def test_rows_come_out_with_the_watermark_and_silent_keys_too():
    stream = Stream(task_of({"n": sw.count().over(sw.time("10s"))}), 5 * SECOND)
    assert push(stream, row("a", 1), row("b", 3)) == []
    assert push(stream, row("b", 7)) == []  # the watermark moves when the batch has ended
    assert push(stream) == [("a", 1)]
    assert push(stream, row("b", 8), row("b", 2), row("b", None)) == []
    assert (stream.late, stream.untimed) == (1, 1)
    assert push(stream) == [("b", 3)]


# Descriptions of tasks: to make one compiles kernels, which would be done by whoever collects tests.
@pytest.mark.parametrize(("expressions", "options"), [
    (TRAILING, {}), (FOLLOWING, {}), ({"n": sw.count()}, {"window": SLIDES["hopping"]}),
    ({"n": sw.count()}, {"window": SLIDES["hopping"], "slices": True}),
    ({"n": sw.count()}, {"window": SLIDES["rows"]}),
    (FOLLOWING, {"keep": 60 * SECOND}),
], ids=["trailing", "following", "hopping", "slices", "rows", "revised"])  # fmt: skip
def test_rows_of_a_step_do_not_wait_for_the_collector(expressions, options):
    stream = Stream(task_of(expressions, **options), SECOND)
    gc.collect()
    gc.disable()
    try:
        for second in range(0, 40, 4):
            stream.push(pa.Table.from_pylist([row("ab"[n % 2], second + n) for n in range(4)], SCHEMA))
        left = [each for each in gc.get_objects() if isinstance(each, ArrangedFrame | JoinedRows)]
    finally:
        gc.enable()
    assert not left


def test_rows_that_another_call_has_released_are_not_late():
    stream = Stream(task_of({"n": sw.count().over(sw.time("10s"))}, released=True), 0)
    stream.watermark = round(START.timestamp() * SECOND) + 5 * SECOND
    assert push(stream, row("a", 4), row("a", 5), row("a", 6), row("a", None)) == [("a", 4), ("a", 5)]
    assert (stream.late, stream.untimed) == (0, 1)


def test_a_key_is_forgotten_and_begins_anew():
    over = {"n": sw.count().over(sw.rows(10)), "next": sw.count().over(sw.rows_between(0, 1))}
    for cuts in ([3], [1, 2, 3], [2, 3]):  # whatever batches rows come in
        stream = Stream(task_of(over, forget_after=60 * SECOND), 0)
        rows = [row("a", 0), row("a", 60), row("a", 121)]
        for first, last in zip([0, *cuts], cuts, strict=False):
            stream.push(pa.Table.from_pylist(rows[first:last], schema=SCHEMA))
        stream.flush()
        found = sorted((r["ts"], r["n"], r["next"]) for r in stream.result().to_pylist())
        assert [values[1:] for values in found] == [(1, 2), (2, 1), (1, 1)]
        assert not stream.memory.pieces


# ---- state
def test_state_stays_flat_and_only_touched_pieces_are_written():
    stream = Stream(task_of({"n": sw.count().over(sw.time("5s")), "m": sw.max("x").over(sw.rows(3))}), SECOND)
    keys = [f"key {n}" for n in range(300)]
    sizes = []
    for second in range(30):
        stream.push(pa.Table.from_pylist([row(key, second) for key in keys], schema=SCHEMA))
        sizes.append(stream.state_rows)
    assert len(stream.memory.pieces) > 20
    assert max(sizes[15:]) <= 1.1 * min(sizes[15:])
    stream.push(pa.Table.from_pylist([], schema=SCHEMA))  # what waits comes out
    written = []
    for second in (31, 33, 35, 37, 39, 41):
        before = dict(stream.memory.pieces)
        stream.push(pa.Table.from_pylist([row(key, second) for key in keys[:3]], schema=SCHEMA))
        written.append(sum(data is not before.get(piece) for piece, data in stream.memory.pieces.items()))
    assert written[-1] <= 3 + 1  # by then the others stand still, and pieces are split; and the rows that wait


def test_windows_by_time_leave_no_state_behind():
    stream = Stream(task_of({"n": sw.count().over(sw.time("5s"))}), 0)
    stream.push(pa.Table.from_pylist([row(f"key {n}", n) for n in range(100)], schema=SCHEMA))
    stream.flush()
    assert not stream.memory.pieces


def test_a_changed_definition_and_damaged_state_are_refused():
    over = {"n": sw.count().over(sw.time("5s"))}
    stream = Stream(task_of(over), 0)
    rows = pa.Table.from_pylist([row("a", 1), row("b", 1)], schema=SCHEMA)
    stream.push(rows)
    for change, options in (
        ("result n was .*5s.* and is .*6s", {"expressions": {"n": sw.count().over(sw.time("6s"))}}),
        ("result m was not given, and is", {"expressions": {**over, "m": sw.max("x").over(sw.rows(2))}}),
        ("emit was watermark, and is arrival here", {"expressions": over, "emit": "arrival"}),
        ("order_by was", {"expressions": {"n": sw.count().over(sw.rows(2))}, "order_by": ["ts", "seq"]}),
        ("buckets was 1, and is 2 here", {"expressions": over, "buckets": 2}),
    ):
        task = task_of(options.pop("expressions"), **options)
        with pytest.raises(sw.StateError, match=change):
            MicroBatches(task).advance(stream.memory, rows, hashes_of(rows, ["k"]), stream.watermark)
    good = dict(stream.memory.pieces), stream.memory.meta

    def refused(match):
        images.clear()
        recent.clear()
        with pytest.raises(sw.StateError, match=match):
            MicroBatches(stream.task).advance(stream.memory, rows, hashes_of(rows, ["k"]), stream.watermark)

    for piece, data in good[0].items():
        stream.memory.pieces[piece] = data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]
    refused("damaged")
    stream.memory.pieces = {}
    refused("is missing")
    stream.memory.pieces, stream.memory.meta = dict(good[0]), good[1][:-1]
    refused("damaged")


def test_history_stays_in_order_where_it_lacks_the_column_that_sorts_first():
    """The time is not kept for frames by rows, and a tie-break that is read is no order of its own."""
    task = task_of({"before": sw.collect_list("seq").over(sw.rows_between(-2, -1))}, order_by=["ts", "seq"])
    rows = [row("a", at, seq=seq) for at, seq in ((0, 9), (1, 5), (2, 7), (3, 1))]
    stream = run(task, [pa.Table.from_pylist([each], schema=SCHEMA) for each in rows], 0)
    assert stream.result().sort_by("ts")["before"].to_pylist() == [[], [9], [9, 5], [5, 7]]


def test_history_keeps_the_order_of_a_tie_break_that_is_read():
    task = task_of({"few": sw.collect_list("seq").over(sw.rows(3))}, order_by=["ts", "seq"])
    times = [[(1, 9), (2, 8), (3, 7)], [(10, 1)], [(11, 2)], [(20, 3)]]
    parts = [pa.Table.from_pylist([row("a", s, seq=seq) for s, seq in part], schema=SCHEMA) for part in times]
    stream = Stream(task, 0)
    for part in parts:
        stream.push(part)
    stream.flush()
    same(stream.result(), expect(task, parts, 0))
