"""Sessions row by row on a stream: results at arrival, and state that goes when a session has ended."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA as ROWS
from microbatches import SECOND, Stream, batches, row, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw

SO_FAR = {"n": sw.count().over(sw.session("2s")), "all": sw.collect_list("seq").over(sw.session("2s"))}


@examples(40)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_at_arrival_a_row_sees_what_has_come_of_its_session(parts, delay):
    stream = Stream(task_of(SO_FAR, emit="arrival"), delay * SECOND)
    kept = []
    for part in parts:
        watermark, given_before = stream.watermark, len(stream.out)
        stream.push(part)
        good = [each for each in part.to_pylist() if each["ts"].timestamp() * SECOND > watermark]
        kept += good
        out = stream.out[-1] if len(stream.out) > given_before else stream.task.rows.empty_table()
        if not good:
            assert not len(out)
            continue
        whole = pa.Table.from_pylist(kept, schema=ROWS)
        expected = sw.with_columns(whole, partition_by="k", order_by="ts", **SO_FAR)
        new = {each["seq"] for each in good}
        same(out, pa.Table.from_pylist([r for r in expected.to_pylist() if r["seq"] in new], schema=expected.schema))


def test_state_goes_with_the_session():
    for options in ({}, {"emit": "arrival"}):
        stream = Stream(task_of(SO_FAR, **options), 0)
        for second in range(5):
            stream.push(pa.Table.from_pylist([row("a", second, seq=second)], schema=ROWS))
        assert stream.memory.pieces
        stream.push(pa.Table.from_pylist([row("b", 60)], schema=ROWS))
        stream.push(pa.Table.from_pylist([row("b", 120)], schema=ROWS))
        stream.flush()
        stream.flush()
        assert not stream.memory.pieces


def test_rows_of_a_session_that_has_ended_are_not_kept():
    """Of one key: a session that goes on keeps its rows, and the next one none of those before it."""
    stream, sizes = Stream(task_of({"n": SO_FAR["n"]}), 0), []
    for number in range(60):
        stream.push(pa.Table.from_pylist([row("a", number * 5 + k) for k in (0, 1)], schema=ROWS))
        sizes.append(stream.state_rows)
    assert max(sizes[10:]) <= max(sizes[2:10])


def test_sessions_keep_the_rows_of_the_open_one_alone():
    stream, sizes = Stream(task_of({"n": sw.count()}, window=sw.session("2s")), 0), []
    for number in range(60):
        stream.push(pa.Table.from_pylist([row("a", number * 5 + k) for k in (0, 1)], schema=ROWS))
        sizes.append(stream.state_rows)
    assert max(sizes[10:]) <= max(sizes[2:10])
    stream.flush()
    assert len(stream.result()) == 60 and not stream.memory.pieces
