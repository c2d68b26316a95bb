"""Results that come and go while a query's state stays: what the state has, they may read."""

import base64
import dataclasses
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batches, expect, row, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples
from test_stateful_processor import OVER, SAVED, rows, stream_of

import slidewise as sw
from slidewise.spark.streams.change_log import images
from slidewise.spark.streams.checkpoint import compare
from slidewise.spark.streams.pending_rows import recent

NOTED = Path(__file__).parent / "state_format_1_notes.json"
BEFORE = {
    "peak": sw.max("x").over(sw.time("10s")),
    "typical": sw.median("odo").over(sw.rows(4)),
    "texts": sw.string_agg("note").over(sw.groups_between(-2, 0)),
    "trip": sw.collect_list("seq").over(sw.punctuation("mark")),
}
ADDED = {
    "low": sw.min("odo").over(sw.time("4s")),
    "mean": sw.avg("x").over(sw.rows(3)),
    "n": sw.count().over(sw.range_between("-9s", "-1s")),
    "kinds": sw.count_distinct("note").over(sw.rows_between(-3, -1)),
    "month": sw.count("seq").over(sw.groups_between(-1, 0)),
    "trips": sw.count().over(sw.punctuation("mark")),
}
CHANGES = {
    "added": {**BEFORE, **ADDED},
    "removed": {"typical": BEFORE["typical"]},
    "replaced": {**ADDED, "peak": sw.sum("odo").over(sw.time("10s"))},
    "in another order": dict(reversed(BEFORE.items())),
}


def switched(parts, delay, before, after):
    """A stream that goes on with another definition halfway; what came out before, and after."""
    stream = Stream(before, delay * SECOND)
    half = len(parts) // 2
    for part in parts[:half]:
        stream.push(part)
    first = stream.result() if stream.out else before.rows.empty_table()
    stream.out, stream.task = [], after
    for part in parts[half:]:
        stream.push(part)
    stream.flush()
    stream.flush()
    assume(stream.out)  # something was left to come out
    return first, stream.result()


@pytest.mark.parametrize("change", CHANGES)
@examples(8)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_results_after_a_change_are_those_of_a_batch(change, parts, delay):
    after = task_of(CHANGES[change])
    first, second = switched(parts, delay, task_of(BEFORE), after)
    out = set(first["seq"].to_pylist())
    expected = expect(after, parts, delay * SECOND)
    same(second, expected.filter(pa.array([seq not in out for seq in expected["seq"].to_pylist()], pa.bool_())))


FOLLOWING = {"next": sw.collect_list("seq").over(sw.rows_between(-3, 2))}


@examples(8)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_rows_that_wait_have_the_new_results(parts, delay):
    more = {**FOLLOWING, "later": sw.count().over(sw.rows_between(0, 1)), "past": sw.max("seq").over(sw.rows(2))}
    before, after = (task_of(over, forget_after=10**11) for over in (FOLLOWING, more))
    first, second = switched(parts, delay, before, after)
    out = set(first["seq"].to_pylist())
    expected = expect(after, parts, delay * SECOND)
    same(second, expected.filter(pa.array([seq not in out for seq in expected["seq"].to_pylist()], pa.bool_())))


@examples(8)
@given(batches(), st.sampled_from([0, 4, 1000]))
def test_slides_gain_and_lose_results(parts, keep):
    window, keep = sw.time("10s", every="3s"), None if keep == 1000 else keep * SECOND
    some = {"low": sw.min("odo"), "peak": sw.max("x")}
    for before, after in ((some, {**some, "n": sw.count(), "mean": sw.avg("odo")}), (some, {"n": sw.sum("odo")})):
        tasks = [task_of(results, window=window, keep=keep) for results in (before, after)]
        first, second = switched(parts, 2, *tasks)
        out = {(each["k"], each["window_end"]) for each in first.to_pylist()}
        fresh = [each for each in second.to_pylist() if (each["k"], each["window_end"]) not in out]
        last = {(each["k"], each["window_end"]): each for each in fresh}
        found = pa.Table.from_pylist(list(last.values()), schema=second.schema)
        found = found if keep is None else found.drop_columns(["revision"])
        expected = expect(tasks[1], parts, 2 * SECOND).to_pylist()
        expected = [each for each in expected if (each["k"], each["window_end"]) not in out]
        same(found, pa.Table.from_pylist(expected, schema=found.schema), by=("k", "window_end"))


def test_revisions_go_on_with_a_new_result():
    over = {"n": sw.count().over(sw.time("10s"))}
    more = {**over, "m": sw.count().over(sw.time("5s"))}
    stream = Stream(task_of(over, keep=60 * SECOND), 0)
    for seconds in ([0, 8, 20], []):
        stream.push(pa.Table.from_pylist([row("a", second) for second in seconds], schema=SCHEMA))
    stream.task, stream.out = task_of(more, keep=60 * SECOND), []
    stream.push(pa.Table.from_pylist([row("a", 4)], schema=SCHEMA))
    found = [(each["ts"].second, each["n"], each["m"], each["revision"]) for each in stream.result().to_pylist()]
    assert found == [(4, 2, 2, 0), (8, 3, 2, 1)]


@pytest.mark.parametrize(
    ("why", "over", "options"),
    [
        ("no rows are kept with 'odo'", {"m": sw.max("odo").over(sw.time("5s"))}, {}),
        ("reaches 6s back and 0s ahead, further than any did: 5s", {"m": sw.max("x").over(sw.time("6s"))}, {}),
        ("reaches 3 rows back", {"m": sw.max("x").over(sw.rows(4))}, {}),
        (r"kept for a window of this kind \(groups\)", {"m": sw.max("x").over(sw.groups_between(-1, 0))}, {}),
        ("kept for a window of this kind .*delta", {"m": sw.max("x").over(sw.delta("x", 1))}, {}),
        ("reaches 2 rows back and 1 rows ahead", {"m": sw.max("x").over(sw.rows_between(0, 1))}, {}),
        ("forget_after was None, and is 5 here", {"m": sw.max("x").over(sw.rows(2))}, {"forget_after": 5}),
        ("late was not given, and is revise here", {}, {"keep": 5}),
    ],
)  # fmt: skip
def test_what_the_state_does_not_have_is_refused(why, over, options):
    before = {"n": sw.count("x").over(sw.time("5s")), "last": sw.last("x").over(sw.rows(3))}
    stream = Stream(task_of(before), 0)
    some = pa.Table.from_pylist([row("a", 1)], schema=SCHEMA)
    stream.push(some)
    stream.task = task_of({**before, **over}, **options)
    with pytest.raises(sw.StateError, match=re.compile(f"another definition: .*{why}.*new checkpoint", re.DOTALL)):
        stream.push(some)


def test_what_else_is_refused():
    ahead = {"next": sw.count().over(sw.rows_between(-1, 1)), "n": sw.count().over(sw.rows(2))}
    changes = {"n": sw.count().over(sw.rows(2))}
    two = {"n": sw.count().over(sw.rows(2)), "m": sw.count().over(sw.rows(3))}
    some = pa.Table.from_pylist([row("a", 1)], schema=SCHEMA)
    for why, before, after in (
        ("behind the watermark", task_of(ahead), task_of({"n": ahead["n"]})),
        ("stand in another order", *(task_of(over, emit="changes") for over in (two, dict(reversed(two.items()))))),
        ("the last results of each key", task_of(changes, emit="changes"), task_of(ahead, emit="changes")),
        ("this kind", *(task_of({"n": sw.count()}, window=sw.rows(3, every=every)) for every in (2, 3))),
    ):  # fmt: skip
        stream = Stream(before, 0)
        stream.push(some)
        stream.task = after
        with pytest.raises(sw.StateError, match=why):
            stream.push(some)


@pytest.mark.parametrize("slices", [False, True])
def test_slides_that_read_a_column_of_another_type_are_refused(slices):
    """Their definition does not tell: the bytes of integers would be read as floats."""
    floats = pa.schema([field.with_type(pa.float64()) if field.name == "odo" else field for field in SCHEMA])
    call = {"window": sw.time("10s", every="5s"), "slices": slices}
    before, after = (task_of({"low": sw.min("odo")}, schema=schema, **call) for schema in (SCHEMA, floats))
    assert before.build_definition() == after.build_definition()
    stream = Stream(before, 0)
    stream.push(rows(0, 4))
    stream.push(rows(4, 5))
    stream.push(rows(5, 5), told=True)  # none of them waits any more
    stream.task = after
    images.clear()  # in another process
    recent.clear()
    with pytest.raises(sw.StateError, match=r"another definition: .*odo.* int64.* and is .*odo.* double here"):
        stream.push(rows(5, 8).cast(floats))


def test_slides_whose_predicate_sees_columns_in_another_order_are_refused():
    """Rows that are kept have all of them; their definition does not tell in which order."""
    window = sw.rows(9, every=sw.punctuation(lambda row: row["odo"] > row["seq"]))
    made = task_of({"n": sw.count()}, window=window)
    orders = ("k", "ts", "seq", "odo"), ("k", "ts", "odo", "seq")
    before, after = (
        dataclasses.replace(made, rows=pa.schema([SCHEMA.field(name) for name in names]), reads=names)
        for names in orders
    )
    assert before.build_definition() == after.build_definition()
    stream = Stream(before, 0)
    stream.push(rows(0, 4))
    stream.push(rows(4, 5))
    stream.push(rows(5, 5), told=True)  # none of them waits any more
    stream.task = after
    images.clear()  # in another process
    recent.clear()
    with pytest.raises(sw.StateError, match=r"definition: .*seq int64, odo int64, and is .*odo int64, seq int64 here"):
        stream.push(rows(5, 8))


def test_a_check_tells_what_all_buckets_have():
    """One has gone on with another definition, and the other has had no rows since."""
    before, after = task_of(BEFORE), task_of({**ADDED, "peak": BEFORE["peak"], "typical": BEFORE["typical"]})
    streams = Stream(before, 0), Stream(before, 0)
    for stream in streams:
        stream.push(pa.Table.from_pylist([row("a", 1)], schema=SCHEMA))
    streams[0].task = after
    streams[0].push(pa.Table.from_pylist([row("a", 5)], schema=SCHEMA))
    metas = [stream.memory.meta for stream in streams]
    found = compare(after, "path", metas)
    assert found and (found.new, found.changed, found.gone) == (tuple(sorted(ADDED)), (), ("texts", "trip"))
    assert compare(after, "path", metas[:1]).new == ()
    assert not compare(task_of({"n": sw.count().over(sw.rows(5))}), "path", metas)
    for damaged in (metas[1][:-1], b"", metas[1][:50] + b"x" + metas[1][51:]):
        assert re.search("damaged|truncated|not a state", compare(after, "path", [metas[0], damaged]).refused)


def test_an_order_in_other_words_is_the_same():
    over = {"n": sw.count().over(sw.rows(2))}
    for order, others, accepted in (
        (["ts", sw.desc("seq")], [sw.asc("ts", nulls="first"), sw.desc("seq", nulls="last")], True),
        (["ts", "seq"], ["ts", sw.asc("seq", nulls="last")], False),
    ):
        one, other = (task_of(over, order_by=by).build_definition()["order_by"] for by in (order, others))
        assert (one == other) == accepted


def test_a_state_that_does_not_say_what_it_has_takes_no_new_results():
    stream = stream_of(json.loads(SAVED.read_text()))
    more = {**OVER, "m": sw.count().over(sw.time("5s"))}
    stream.task = dataclasses.replace(task_of(more), forget_after=stream.task.forget_after)
    with pytest.raises(sw.StateError, match="saved before states said what they have"):
        stream.push(rows(30, 33))


# ---- states of this format can be read for ever
def noted_streams():
    """Streams of which more than rows is saved, by name; rows 0 to 29 have come, and some of them out."""
    hopping, some = sw.time("10s", every="4s"), {"low": sw.min("odo"), "notes": sw.collect_list("seq")}
    tasks = {
        "changes": task_of({**OVER, "kinds": sw.collect_list("odo").over(sw.rows(2))}, emit="changes"),
        "revised rows": task_of(OVER, keep=20 * SECOND),
        "revised slides": task_of(some, window=hopping, keep=20 * SECOND),
        "slices": task_of({"low": sw.min("odo"), "mean": sw.avg("odo")}, window=hopping, slices=True),
        "results that came": task_of({**OVER, "more": sw.max("odo").over(sw.rows(2))}),
    }
    for name, task in tasks.items():
        stream = Stream(task_of(OVER) if name == "results that came" else task, 0)
        stream.push(rows(0, 20))
        stream.push(rows(20, 26))
        stream.task = task
        stream.push(pa.concat_tables([rows(26, 30), rows(12, 14)]))
        yield name, stream


def as_text(memory):
    pieces = {str(piece): base64.b64encode(data).decode() for piece, data in memory.pieces.items()}
    return {"meta": base64.b64encode(memory.meta).decode(), "pieces": pieces}


def test_states_with_notes_and_of_earlier_results_can_be_read_for_ever():
    """The file is {name: as_text(stream.memory) for name, stream in noted_streams()} when the format was new."""
    saved = json.loads(NOTED.read_text())
    for name, stream in noted_streams():
        again = Stream(stream.task, 0)
        again.memory.meta = base64.b64decode(saved[name]["meta"])
        again.memory.pieces = {int(piece): base64.b64decode(data) for piece, data in saved[name]["pieces"].items()}
        again.watermark, again.deadline, stream.out = stream.watermark, stream.deadline, []
        for each in (stream, again):
            each.push(pa.concat_tables([rows(30, 40), rows(15, 19)]))
            each.flush()
        assert len(stream.result())
        by = ("k", "window_end" if stream.task.slides else "seq")
        same(again.result(), stream.result(), by=(*by, "revision") if stream.task.keep is not None else by)
