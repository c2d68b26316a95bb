"""emit="changes" on streams: a result that is as the last of its key does not come out again."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, SLIDES, Stream, batches, expect, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples
from test_open_windows import in_process

import slidewise as sw
from slidewise.columns.changes import find_unlike
from slidewise.events.result import are_alike

RESULTS = {"n": sw.count(), "peak": sw.max("x"), "last": sw.last("note"), "low": sw.min("odo")}
STEADY = {
    "peak": sw.max("x").over(sw.rows(3)),
    "marks": sw.bool_or("mark").over(sw.time("6s")),
    "kinds": sw.collect_set("note").over(sw.rows(2)),
}


def without_repeats(table, results, by, forget_after=None):
    """The rows whose results are not those of the row before of the same key, by the rule and not by the code."""
    last, news = {}, []
    for each in sorted(table.to_pylist(), key=lambda r: [(r[name] is not None, r[name]) for name in by]):
        found, time = [each[name] for name in results], each[by[1]]
        before, since = last.get(each["k"], (None, None))
        forgotten = since is None or (forget_after is not None and time - since > dt.timedelta(seconds=forget_after))
        if forgotten or not are_alike(before, found):
            news.append(each)
        last[each["k"]] = found, time
    return pa.Table.from_pylist(news, schema=table.schema)


@examples(20)
@given(batches(), st.sampled_from([0, 2, 10]), st.sampled_from([None, 4]))
def test_rows_equal_those_of_a_batch_without_repeats(parts, delay, forget_after):
    # Windows no longer than forget_after: a batch does not forget.
    over = STEADY if forget_after is None else {"marks": sw.bool_or("mark").over(sw.time("4s"))}
    forget = None if forget_after is None else forget_after * SECOND
    stream = run(task_of(over, emit="changes", forget_after=forget), parts, delay)
    everything = expect(stream.task, parts, delay * SECOND)
    same(stream.result(), without_repeats(everything, over, ("k", "ts", "seq"), forget_after))
    assert bool(stream.memory.pieces) == (forget_after is None and len(everything) > 0)


@examples(20)
@given(batches(), st.sampled_from([0, 2]), st.sampled_from([None, 10**6]))
def test_rows_that_wait_for_following_ones(parts, delay, forget_after):
    over = {"most": sw.max("odo").over(sw.rows_between(-1, 2)), "n": sw.count().over(sw.range_between(0, "4s"))}
    task = task_of(over, emit="changes", forget_after=(forget_after or 10**5) * SECOND)
    stream = run(task, parts, delay)
    everything = expect(task, parts, delay * SECOND)
    same(stream.result(), without_repeats(everything, over, ("k", "ts", "seq")))


@pytest.mark.parametrize("name", SLIDES)
@examples(8)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_slides_equal_those_of_a_batch_without_repeats(name, parts, delay):
    ahead = {"ahead": {"forget_after": 10**11}}.get(name, {})
    task = task_of(RESULTS, window=SLIDES[name], emit="changes", **ahead)
    stream = run(task, parts, delay)
    everything = expect(task, parts, delay * SECOND)
    label = "window_end" if "window_end" in everything.column_names else "ts"
    # Slides at rows of equal time keep their order in a batch: the number of the row stands for it.
    numbered = everything.append_column("row", pa.array(range(len(everything))))
    expected = without_repeats(numbered, RESULTS, ("k", label, "row")).drop_columns(["row"])
    same(stream.result(), expected, by=("k", label))


@examples(20)
@given(batches(), st.sampled_from([sw.time("10s", every="2s"), sw.rows(3), sw.time("5s")]))
def test_results_are_those_of_the_window_in_process(parts, window):
    """Micro-batches of one row each; within a key, results come in the same order."""
    whole = pa.concat_tables(parts)
    each = [whole[n : n + 1] for n in range(len(whole))]
    if window.every is None:
        task = task_of({name: result.over(window) for name, result in RESULTS.items()}, emit="changes")
        w = sw.Window(RESULTS, window, partition_by="k", emit="changes", max_delay="3s", late="drop")
        due = [result for row in whole.to_pylist() for result in w.push(row, time=row["ts"])] + w.flush()
        dropped = w.dropped
    else:  # late rows enter windows that the micro-batch before has left open
        task = task_of(RESULTS, window=window, emit="changes")
        due, dropped = in_process(window, RESULTS, each, 3 * SECOND, emit="changes")
    stream = run(task, each, 3)
    assert stream.late == dropped
    for key in set(whole["k"].to_pylist()):
        found = [[row[name] for name in RESULTS] for row in stream.result().to_pylist() if row["k"] == key]
        assert are_alike(found, [[result[name] for name in RESULTS] for result in due if result.key == key])


def test_silent_keys_keep_their_last_result_until_they_are_forgotten():
    for forget_after, comes_again in ((None, False), (59 * SECOND, True), (60 * SECOND, False)):
        task = task_of({"n": sw.count().over(sw.time("5s"))}, emit="changes", forget_after=forget_after)
        stream = Stream(task, 0)
        for second in (0, 30, 90):  # the rows themselves are gone each time
            stream.push(pa.Table.from_pylist([row("a", second)], schema=SCHEMA))
            stream.push(pa.Table.from_pylist([row("b", second + 20)], schema=SCHEMA))
        stream.flush()
        found = [r["ts"].minute * 60 + r["ts"].second for r in stream.result().to_pylist() if r["k"] == "a"]
        assert found == ([0, 90] if comes_again else [0])
        assert bool(stream.memory.pieces) == (forget_after is None)


def test_state_stays_flat():
    stream = Stream(task_of({"n": sw.count().over(sw.time("5s"))}, emit="changes"), 0)
    sizes = []
    for second in range(40):
        stream.push(pa.Table.from_pylist([row(key, second) for key in "abc"], schema=SCHEMA))
        sizes.append(stream.state_rows)
    assert max(sizes[20:]) <= 1.05 * min(sizes[20:])


@pytest.mark.parametrize(
    "values",
    [
        [None, 1.0, float("nan"), -0.0, 0.0, float("inf")],
        [None, "", "a"],
        [None, [], [None], [1.0], [float("nan")], [1.0, 2.0], [2.0, 1.0]],
        [None, {"a": 1, "b": None}, {"a": 1, "b": [float("nan")]}, {"a": None, "b": [2.0]}],
        [None, [{"a": 1}], [{"a": 2}], [{"a": 1}, None]],
        [None, True, False],
        [None, dt.timedelta(1), dt.timedelta(2)],
    ],
)
def test_values_are_compared_as_in_process(values):
    pairs = [(a, b) for a in values for b in values]
    one, other = (pa.array([pair[side] for pair in pairs]) for side in (0, 1))
    assert find_unlike(one, other).tolist() == [not are_alike(a, b) for a, b in pairs]
