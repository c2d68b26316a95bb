"""late="mark": late rows come out once, with null results and a mark; all other rows are as if they were dropped."""

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import Folder, events, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, SLIDES, START, Memory, Stream, batches, run, same, task_of
from microbatches import row as make_row
from microbatches import small_pieces as small_pieces
from support.tiers import examples, in_soak

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark.session import PROVIDER, ROCKSDB
from slidewise.spark.streams.processor import Processor
from slidewise.spark.streams.wire import BLOB, BUCKET, Packing, choose_bucket_labels

FEATURES = {"peak": sw.max("x").over(sw.time("10s")), "n": sw.count().over(sw.rows(3)), "x": sw.sum("odo").over(2)}
RESULTS = {"n": sw.count(), "peak": sw.max("x"), "seqs": sw.collect_list("seq")}


def separate(table):
    """Rows that are not late, without what the mark adds, and late ones."""
    added = [name for name in ("late", "late_row") if name in table.column_names]
    return table.filter(pc.invert(table["late"])).drop_columns(added), table.filter(table["late"])


@examples(30)
@given(batches(), st.sampled_from([0, 2, 10]), st.sampled_from(["watermark", "changes", "arrival"]))
def test_rows_that_are_late_come_out_once(parts, delay, emit):
    dropping, marking = (
        run(task_of(FEATURES, emit=emit, late_row=late_row), parts, delay) for late_row in (None, SCHEMA)
    )
    plain, late = separate(marking.result())
    same(plain, dropping.result())
    assert len(late) == dropping.late
    assert marking.late == 0
    out = set(plain["seq"].to_pylist())
    given_rows = {row["seq"]: row for part in parts for row in part.to_pylist()}
    for row in late.to_pylist():
        assert row["seq"] not in out
        assert row == {**given_rows[row["seq"]], "peak": None, "n": None, "x": None, "late": True}
    assert len(set(late["seq"].to_pylist())) == len(late)


@pytest.mark.parametrize("name", ["hopping", "rows by time", "rows", "delta"])
@examples(15)
@given(batches(), st.sampled_from([0, 2]))
def test_late_rows_of_slides_are_whole(name, parts, delay):
    made = [task_of(RESULTS, window=SLIDES[name], late_row=late_row) for late_row in (None, SCHEMA)]
    dropping, marking = (run(task, parts, delay) for task in made)
    plain, late = separate(marking.result())
    by = ("k", "window_end" if "window_end" in plain.column_names else "ts", "seqs")
    same(plain, dropping.result(), by=by)
    assert len(late) == dropping.late
    given_rows = {row["seq"]: row for part in parts for row in part.to_pylist()}
    for row in late.to_pylist():
        whole = given_rows[row["late_row"]["seq"]]
        assert repr(row["late_row"]) == repr(whole)
        assert row["k"] == whole["k"]
        assert row["peak"] is row["n"] is row["seqs"] is None


@pytest.mark.parametrize("window", [None, SLIDES["hopping"]])
@examples(10)
@given(batches(), st.integers(0, 5))
def test_a_restart_may_go_from_drop_to_mark(window, parts, cut):
    expressions = FEATURES if window is None else RESULTS
    drop, mark = (task_of(expressions, window=window, late_row=late_row) for late_row in (None, SCHEMA))
    first, second = Stream(drop, 2 * SECOND), Stream(mark, 2 * SECOND)
    for part in parts[:cut]:
        first.push(part)
    second.memory, second.deadline = first.memory, first.deadline
    second.newest, second.watermark = first.newest, first.watermark
    for part in parts[cut:]:
        second.push(part)
    second.flush()
    nothing = Stream(mark, 0).push(mark.incoming.empty_table(), told=True)
    plain, late = separate(pa.concat_tables([*second.out, nothing]))
    whole = run(drop, parts, 2)
    by = ("k", "ts", "seq") if window is None else ("k", "window_end")
    same(pa.concat_tables([*first.out, plain]), whole.result(), by=by)
    assert first.late + len(late) == whole.late


def test_a_batch_has_the_columns_and_no_late_rows():
    rows = pa.table({"k": ["a", "a"], "t": [2, 1], "x": [1.0, 2.0]})
    out = sw.with_columns(rows, partition_by="k", order_by="t", late="mark", n=sw.count().over(2))
    assert out["late"].to_pylist() == [False, False]
    slides = sw.aggregate(rows, partition_by="k", order_by="t", late="mark", window=sw.time(5, every=5), p=sw.max("x"))
    assert slides.column_names == ["k", "window_start", "window_end", "p", "late", "late_row"]
    assert slides["late"].to_pylist() == [False]
    assert slides["late_row"].to_pylist() == [None]
    assert slides["late_row"].type == pa.struct([("k", pa.string()), ("t", pa.int64()), ("x", pa.float64())])


def test_what_cannot_be_marked_is_refused():
    rows = pa.table({"t": [1], "late": [1.0]})
    with pytest.raises(InvalidInput, match="adds a column 'late', and there is one of that name"):
        sw.with_columns(rows, order_by="t", late="mark", n=sw.count().over(2))
    with pytest.raises(InvalidInput, match=r'keep= bounds what late="revise" keeps, got keep=5 with late="mark"'):
        sw.with_columns(rows.drop_columns(["late"]), order_by="t", late="mark", keep=5, n=sw.count().over(2))
    with pytest.raises(InvalidInput, match='"mark", which gives them back'):
        sw.with_columns(rows, order_by="t", late="keep", n=sw.count().over(2))


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rows", *in_soak("slides")])
def test_a_query_gives_late_rows_once_across_a_restart(spark, tmp_path, kind):
    spark.conf.set(PROVIDER, ROCKSDB)
    parts, folder = events(4, 60), Folder(tmp_path, spark)

    def out(data, **options):
        call = {"partition_by": "k", "order_by": "ts", "late": "mark", **options}
        if kind == "rows":
            return sws.with_columns(data, n=sw.count().over(sw.rows(3)), **call)
        return sws.aggregate(data, window=sw.time("2s", every="1s"), n=sw.count(), total=sw.sum("seq"), **call)

    progress = []
    for some in (parts[:2], [*parts[2:], last_row(1000), last_row(2000)]):
        folder.add(*some)
        progress += folder.run(out(folder.stream(), max_delay="1s"))
    found = utc(folder.result())
    plain, late = separate(found)
    assert len(late) > 0
    assert sws.dropped_rows(progress) == {"late": 0, "ahead": 0, "untimed": 0}
    rows = {row["seq"]: row for part in parts for row in part.to_pylist()}
    for row in late.to_pylist():
        own = row["late_row"] if kind == "slides" else row
        whole = rows.pop(own["seq"])
        assert (own["k"], own["ts"], row["n"]) == (whole["k"], whole["ts"], None)
    if kind == "rows":
        early = [row["seq"] for row in plain.to_pylist() if row["k"] != "end"]
        assert sorted(early) == sorted(rows)
    batch = out(spark.createDataFrame(parts[0].to_pandas().head(0), folder.stream().schema))
    assert batch.schema.simpleString() == out(folder.stream(), max_delay="1s").schema.simpleString()


class Timers:
    """Spark's handle of timers, and a watermark."""

    def __init__(self):
        self.watermark, self.timers = 0, set()

    def getCurrentWatermarkInMs(self):  # noqa: N802
        return self.watermark

    def registerTimer(self, at):  # noqa: N802
        self.timers.add(at)

    def deleteTimer(self, at):  # noqa: N802
        self.timers.discard(at)


@pytest.mark.parametrize("early", [False, True])
def test_rows_go_to_spark_in_one_piece(early):
    """Late rows beside others, and early results beside final ones: Spark takes no column in several pieces."""
    if early:
        task = task_of(RESULTS, window=SLIDES["hopping"], emit="arrival", late_row=SCHEMA)
    else:
        task = task_of(FEATURES, late_row=SCHEMA)
    packing = Packing(task.incoming, choose_bucket_labels(1))
    processor, timers = Processor(task, packing, None, "left_out"), Timers()
    processor.bind(timers, None, None)
    processor._states = Memory()
    for second, watermark in ((0, 0), (30, 20), (60, 50), (90, 80)):
        timers.watermark = round(START.timestamp() + watermark) * 1000
        rows = pa.Table.from_pylist(
            [make_row(key, at) for key, at in (("a", second), ("a", second - 58), ("b", second))], schema=SCHEMA
        )
        table = rows.append_column(packing.key_hash, pa.array([1, 1, 2]))
        blobs = [batch.serialize().to_pybytes() for batch in table.combine_chunks().to_batches()]
        frames = list(processor.handle_rows([pd.DataFrame({BLOB: blobs})], timers))
        kinds = {type(pa.array(frame[name])) for frame in frames for name in frame if frame[name].dtype != object}
        assert all(issubclass(kind, pa.Array) for kind in kinds)
    assert any(frame["late"].any() for frame in frames)
    assert len(timers.timers) == 1


def test_all_buckets_are_told_of_rows_that_any_has():
    packing = Packing(SCHEMA, choose_bucket_labels(4), tells_all=True)
    table = pa.Table.from_pylist([make_row("a", 1)], schema=SCHEMA).append_column(packing.key_hash, pa.array([5]))
    packed = pa.Table.from_batches(list(packing.run(table.to_batches())))
    assert set(packed[BUCKET].to_pylist()) == set(packing.labels)
    assert len(packing.unpack(packed[BLOB].to_pylist())[0]) == 1
    assert list(packing.run([])) == []
