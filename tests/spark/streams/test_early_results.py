"""Early results: emit="arrival" of hopping windows gives open ones as rows come, and each once when it is final."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import Folder, events, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, START, Stream, batches, equal, expect, find_watermarks, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples
from test_open_windows import RESULTS, WINDOWS, windows_of

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark.session import PROVIDER, ROCKSDB

EARLY = {"emit": "arrival"}


def separate(table):
    """Early results, and final ones, without the column that tells."""
    return (table.filter(which).drop_columns(["final"]) for which in (pc.invert(table["final"]), table["final"]))


@pytest.mark.parametrize("kept", RESULTS)
@pytest.mark.parametrize("window", WINDOWS)
@examples(15)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_final_results_are_those_of_the_watermark_and_early_ones_those_so_far(window, kept, parts, delay):
    options = {"window": WINDOWS[window], "slices": kept == "slices"}
    task = task_of(RESULTS[kept], **options, **EARLY)
    stream = Stream(task, delay * SECOND)
    w = sw.Window(RESULTS[kept], WINDOWS[window], partition_by="k", max_delay="100000d", late="drop")
    for part, watermark in zip(parts, find_watermarks(parts, delay * SECOND), strict=True):
        before = len(stream.out)
        stream.push(part)
        out = pa.concat_tables([*stream.out[before:], task_output(task)])
        for each in part.to_pylist():
            w.push(each, time=each["ts"])
        final = {(r.key, r.end): r for r in w.advance(dt.datetime.fromtimestamp(watermark / SECOND, dt.UTC))}
        so_far = {(r.key, r.end): r for r in w.peek()}
        early, last = (table.to_pylist() for table in separate(out))
        assert {(each["k"], each["window_end"]) for each in last} == set(final)
        # those of which this micro-batch has brought a row, which are open after it
        brought = {(each["k"], end) for each in part.to_pylist() for end in windows_of(each["ts"], WINDOWS[window])}
        opened = {(key, end) for key, end in brought if round(end.timestamp() * SECOND) - 1 > watermark}
        found = {(each["k"], each["window_end"]): each for each in early}
        assert found.keys() == opened
        assert len(found) == len(early)
        for name, each in found.items():
            assert so_far[name].final is False
            assert all(equal(each[result], so_far[name][result]) for result in RESULTS[kept])
    stream.flush()
    _, last = separate(stream.result())
    plain = run(task_of(RESULTS[kept], **options), parts, delay)
    same(last, plain.result(), by=("k", "window_end"))
    same(last, expect(task, parts, delay * SECOND), by=("k", "window_end"))
    assert stream.late == plain.late
    assert stream.deadline is None or stream.deadline > stream.watermark


def task_output(task):
    """The output without rows."""
    return Stream(task, 0).push(task.rows.empty_table(), told=True)


@pytest.mark.parametrize("slices", [True, False])
def test_a_window_is_given_when_it_changes_and_once_when_it_is_final(slices):
    stream = Stream(task_of({"n": sw.count()}, window=sw.time("10s", every="10s"), slices=slices, **EARLY), 0)

    def push(*rows):
        stream.out.clear()
        stream.push(pa.Table.from_pylist(list(rows), schema=SCHEMA))
        found = [each for out in stream.out for each in out.to_pylist()]
        return [(each["k"], (each["window_end"] - START).seconds, each["n"], each["final"]) for each in found]

    assert push(row("a", 1), row("a", 12)) == [("a", 10, 1, False), ("a", 20, 1, False)]
    assert push(row("b", 13)) == [("a", 10, 1, True), ("b", 20, 1, False)]
    assert push(row("a", 14), row("a", 9)) == [("a", 20, 2, False)]
    assert stream.late == 1
    assert push(row("b", 30)) == [("b", 40, 1, False)]
    assert push(row("b", 31)) == [("a", 20, 2, True), ("b", 20, 1, True), ("b", 40, 2, False)]


def test_a_batch_has_the_column_and_all_is_final():
    rows = pa.table({"t": [1, 2, 7], "x": [1.0, 2.0, 3.0]})
    out = sw.aggregate(rows, order_by="t", emit="arrival", window=sw.time(5, every=5), total=sw.sum("x"))
    assert out.column_names == ["window_start", "window_end", "total", "final"]
    assert out["final"].to_pylist() == [True, True]
    with pytest.raises(InvalidInput, match=r"adds a column 'final', and there is one of that name"):
        sw.aggregate(rows, order_by="t", emit="arrival", window=sw.time(5, every=5), final=sw.sum("x"))
    with pytest.raises(InvalidInput, match="Early results"):
        task_of({"n": sw.count()}, window=sw.rows(4, every="7s"), **EARLY)


@pytest.mark.full
def test_a_query_gives_each_window_once_as_final_across_a_restart(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    parts, folder = events(4, 60), Folder(tmp_path, spark)

    def out(data, **options):
        call = {"partition_by": "k", "order_by": "ts", "emit": "arrival", "window": sw.time("4s", every="2s")}
        return sws.aggregate(data, n=sw.count(), total=sw.sum("seq"), **call, **options)

    for some in (parts[:2], [*parts[2:], last_row(1000), last_row(2000)]):
        folder.add(*some)
        folder.run(out(folder.stream(), max_delay="1s"))
    early, final = (table.to_pylist() for table in separate(utc(folder.result())))
    ends = [(each["k"], each["window_end"]) for each in final]
    assert len(set(ends)) == len(ends)
    last = {(each["k"], each["window_end"]): each for each in final if each["k"] != "end"}
    assert {(each["k"], each["window_end"]) for each in early if each["k"] != "end"} <= set(last)
    assert all(each["n"] <= last[each["k"], each["window_end"]]["n"] for each in early if each["k"] != "end")
    assert len(early) > len(final) // 2
