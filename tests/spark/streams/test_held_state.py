"""What the state of a stream holds of each key, and its results of today: against lists of the rows that came."""

import collections

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batches, expect, on_time, row, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.spark.streams.held_state import BucketCopy, read_bucket


def read(stream):
    """The held state of a stream, which stays as it was."""
    meta, pieces = stream.memory.meta, dict(stream.memory.pieces)
    found = read_bucket(stream.task, BucketCopy(meta, pieces), stream.watermark)
    assert (stream.memory.meta, stream.memory.pieces) == (meta, pieces)
    return found


def push_all(stream, parts):
    for part in parts:
        stream.push(part)
    stream.push(parts[0][:0], told=True)  # the watermark of the last rows


def by_key(table):
    found = collections.defaultdict(list)
    for each in sorted(table.to_pylist(), key=lambda row: (row["ts"], row["seq"])):
        found[each["k"]].append(each)
    return found


OVER = {
    "span": sw.collect_list("seq").over(sw.time("10s")),
    "shifted": sw.collect_list("seq").over(sw.range_between("-9s", "-3s")),
    "others": sw.count().over(sw.range_between("-5s", 0, exclude="current row")),
}


@examples(20)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_results_by_time_are_those_at_the_watermark_or_the_newest_row(parts, delay):
    stream = Stream(task_of(OVER), delay * SECOND)
    push_all(stream, parts)
    came = by_key(on_time(parts, delay * SECOND))
    found = {each["k"]: each for each in read(stream).to_pylist()}
    micros = lambda time: round(time.timestamp() * SECOND)  # noqa: E731
    for key, rows in came.items():
        at = max(stream.watermark, micros(rows[-1]["ts"]))
        own = {name: [r["seq"] for r in rows if at - first <= micros(r["ts"]) <= at - last]
               for name, first, last in (("span", 10 * SECOND, 0), ("shifted", 9 * SECOND, 3 * SECOND))}  # fmt: skip
        inside = sum(at - 5 * SECOND <= micros(r["ts"]) for r in rows)
        if key not in found:  # nothing of it is held, and nothing is in its frames
            assert not own["span"]
            continue
        assert {name: sorted(found[key][name] or []) for name in own} == {n: sorted(v) for n, v in own.items()}
        assert found[key]["others"] == inside - (micros(rows[-1]["ts"]) == at)
        assert found[key]["held"]["complete"]
        assert micros(found[key]["held"]["as_of"]) == at


ROWS = {"few": sw.collect_list("seq").over(sw.rows(3)), "many": sw.collect_list("seq").over(sw.rows(1000))}


@examples(20)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_results_by_rows_are_those_of_the_newest_row_or_null(parts, delay):
    few = task_of({"few": ROWS["few"]}, order_by=["ts", "seq"])
    stream, both = (Stream(task, delay * SECOND) for task in (few, task_of(ROWS, order_by=["ts", "seq"])))
    push_all(stream, parts)
    push_all(both, parts)
    came = by_key(on_time(parts, delay * SECOND))
    found = {each["k"]: each for each in read(stream).to_pylist()}
    assert set(found) == set(came)
    for key, rows in came.items():
        newest = [r["seq"] for r in rows[-3:]]
        one = found[key]
        assert one["held"]["complete"] == (one["few"] is not None)
        assert one["few"] in (newest, None)
        if one["few"] is None:  # all were emitted, and only two of them are left
            assert one["held"]["rows"] == 2
    for each in read(both).to_pylist():  # a longer frame beside it holds all
        rows = came[each["k"]]
        assert each["few"] == [r["seq"] for r in rows[-3:]]
        assert each["many"] == [r["seq"] for r in rows]
        assert each["held"]["rows"] == len(rows)


@pytest.mark.parametrize("window", [sw.time("10s", every="5s"), sw.time("4s", every="4s"), sw.session("3s")])
@examples(10)
@given(batches(), st.booleans())
def test_open_slides_are_those_of_a_batch_that_have_not_come_out(window, parts, slices):
    options = {"slices": slices and window.hopping}
    task = task_of({"n": sw.count(), "top": sw.max("seq")}, window=window, **options)
    stream = Stream(task, 10 * SECOND)
    push_all(stream, parts)
    stream.out = stream.out or [task.rows.empty_table()]
    held = read(stream)
    slides = [{"k": each["k"], **slide} for each in held.to_pylist() for slide in each["open"]]
    out = stream.result()
    rest = pa.Table.from_pylist(slides, schema=out.schema)
    same(pa.concat_tables([out, rest]), expect(task, parts, 10 * SECOND), by=("k", "window_end"))


def test_what_is_held():
    stream = Stream(task_of({"n": sw.count("x").over(sw.time("10s"))}), 5 * SECOND)
    push_all(stream, [pa.Table.from_pylist([row("a", s) for s in (1, 2, 8)] + [row("b", 9)], schema=SCHEMA)])
    [a, b] = sorted(read(stream).to_pylist(), key=lambda each: each["k"])
    assert (a["held"]["rows"], b["held"]["rows"]) == (3, 1)
    assert [a["held"][name].second for name in ("oldest", "newest", "as_of")] == [1, 8, 8]
    assert a["held"]["bytes"] > b["held"]["bytes"] > 0
