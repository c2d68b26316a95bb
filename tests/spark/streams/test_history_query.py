"""A history before a stream, with real queries: read once, and what comes out is that of a batch over both."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from folders import COLUMNS, SCHEMA, START, Folder, events, last_row, utc
from microbatches import same

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput, StateError
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def session(request):
    found = request.getfixturevalue(request.param)
    found.conf.set(PROVIDER, ROCKSDB)
    return found


CALL = {"partition_by": "k", "order_by": ["ts", "seq"], "max_delay": "10s", "buckets": 4}
OVER = {"n": sw.count().over(sw.rows(500)), "best": sw.max("x.y", where="note = 'p'").over(sw.rows(20))}


def read_history(session, path, tables):
    """A batch of files, of which the test sees whether they are read."""
    path.mkdir()
    for k, table in enumerate(tables):
        pq.write_table(table, path / f"{k}.parquet")
    return session.read.schema(COLUMNS).parquet(str(path))


@pytest.mark.full
def test_rows_are_those_of_a_batch_over_both_and_a_restart_reads_no_history(session, tmp_path):
    folder, parts = Folder(tmp_path, session), events(4, 100)
    history = read_history(session, tmp_path / "before", parts[:2])
    until = pc.max(pa.concat_tables(parts[:2])["ts"])

    def out():
        return sw.with_columns(folder.stream(), **CALL, **OVER, history=history)

    folder.add(parts[2])
    progress = folder.run(out())
    for file in (tmp_path / "before").iterdir():
        file.unlink()
    folder.add(parts[3], last_row(1000), last_row(2000))
    progress += folder.run(out())
    came = pa.concat_tables(parts[2:])
    after = came.filter(pc.greater(came["ts"], until))
    expected = batch(session, [*parts[:2], after, last_row(1000)])
    same(utc(folder.result()), expected.filter(pc.greater(expected["ts"], until)))
    counts = sws.dropped_rows(progress)
    assert counts == {"late": 0, "ahead": 0, "untimed": 0, "in_history": len(came) - len(after)}
    assert counts["in_history"] > 0
    with pytest.raises(StateError, match="history was until newest, and is not given here"):
        sw.with_columns(folder.stream(), **CALL, **OVER, checkpoint=str(tmp_path / "checkpoint"))


def batch(session, tables):
    """What Spark's batch gives of the same call."""
    rows = session.createDataFrame(pa.concat_tables(tables), COLUMNS)
    return utc(sw.with_columns(rows, partition_by="k", order_by=["ts", "seq"], **OVER).toArrow())


@pytest.mark.full
def test_slides_begin_with_the_history(session, tmp_path):
    folder, parts = Folder(tmp_path, session), events(4, 100)
    history = read_history(session, tmp_path / "before", parts[:2])
    call = {"partition_by": "k", "order_by": "ts", "window": sw.time("10s", every="3s"), "n": sw.count("seq")}
    until = START + dt.timedelta(seconds=12, microseconds=7)
    folder.add(*parts[2:], last_row(1000), last_row(2000))
    options = {"max_delay": "10s", "buckets": 4, "history": history, "history_until": until}
    progress = folder.run(sw.aggregate(folder.stream(), **call, **options))
    before, came = (pa.concat_tables(each) for each in (parts[:2], parts[2:]))
    last = pa.scalar(until, SCHEMA.field("ts").type)
    before, after = before.filter(pc.less_equal(before["ts"], last)), came.filter(pc.greater(came["ts"], last))
    expected = sw.aggregate(pa.concat_tables([before, after, last_row(1000)]), **call)
    expected = expected.filter(pc.greater(expected["window_end"], last))
    same(utc(folder.result()), expected, by=("k", "window_end"))
    assert sws.dropped_rows(progress)["in_history"] == len(came) - len(after)


@pytest.mark.full
def test_what_is_refused(session, tmp_path):
    folder = Folder(tmp_path, session)
    stream = folder.stream()
    history = session.createDataFrame([], COLUMNS)

    def refuse(why, **options):
        with pytest.raises(InvalidInput, match=why):
            sw.with_columns(options.pop("df", stream), **{**CALL, **OVER, "history": history, **options})

    refuse("history= is what came before a stream, and this is a batch", df=history)
    refuse("history= takes a Spark DataFrame, got", history=SCHEMA.empty_table())
    refuse("history= is a batch, which is read once, and this one is a stream", history=stream)
    refuse("in it 'note' is missing and not string. Select", history=history.drop("note"))
    refuse("'seq' is int and not bigint", history=history.withColumn("seq", history["seq"].cast("int")))
    refuse("'more' is not in the stream", history=history.selectExpr("*", "1 AS more"))
    refuse("rows without order_by have none", order_by=None, max_delay=None, emit="arrival")
    refuse("history_until= says when history= ends, and there is none", history=None, history_until="2024-01-31")
    for wrong in ("soon", 7, "2024-01-31", dt.datetime(2024, 1, 31)):
        refuse("history_until= is a time with a zone.*got", history_until=wrong)
    refuse("with schema= nothing is asked of DataFrames", schema=COLUMNS, streaming=True)
    refuse("takes the place of the time, 'ts'", ts=sw.max("ts").over(sw.rows_between(0, 1)))
    made = sw.with_columns(stream, **CALL, **OVER, history=history, history_until="2024-01-31T00:00:00+01:00")
    assert made.columns == sw.with_columns(stream, **CALL, **OVER).columns
