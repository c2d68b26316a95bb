"""Columns of streams may have any names but those that checkpoints have beside them."""

import pytest
from folders import Folder, events, last_row, utc

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark.session import PROVIDER, ROCKSDB
from slidewise.spark.streams.stream_task import STATE_COLUMNS

CALL = {"order_by": "ts", "max_delay": "0s", "buckets": 2}
SUM = sw.sum("seq").over(sw.rows(2))


@pytest.fixture
def folder(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    return Folder(tmp_path, spark)


@pytest.mark.full
@pytest.mark.parametrize("late", ["drop", "revise"])
def test_old_and_new_columns_of_our_own_names(folder, late):
    """Some rows are late: marker rows count them, and are taken out."""
    parts = [*events(2, 30), last_row(1000), last_row(2000)]
    folder.add(*parts)
    names = {"x.y": "__slidewise_Left_out", "note": "__slidewise_key", "tags": "bucket", "seen": "slidewise_0"}
    stream = folder.stream().withColumnsRenamed(names)
    made = {"slidewise_1": SUM, "___slidewise_left_out": SUM, "__slidewise_hash": SUM}
    keep = {"late": late, "keep": "1s"} if late == "revise" else {}
    out = sws.with_columns(stream, made, partition_by="__slidewise_key", **CALL, **keep)
    assert [name for name in out.columns if name != "revision"] == [*stream.columns, *made]
    progress = folder.run(out)
    found = folder.result()
    assert all(found[name].equals(found["slidewise_1"]) for name in made)
    came = {(row["ts"], row["seq"]) for row in utc(found).to_pylist()}
    rows = {(row["ts"], row["seq"]) for part in parts for row in part.to_pylist()}
    dropped = sws.dropped_rows(progress)["late"]
    assert came < rows and len(came) == len(rows) - dropped


@pytest.mark.full
def test_slides_of_our_own_names(folder):
    folder.add(*events(2, 30), last_row(1000), last_row(2000))
    made = {"__slidewise_left_out": sw.sum("__slidewise_key"), "__slidewise_hash": sw.max("__slidewise_key")}
    stream = folder.stream().withColumnRenamed("seq", "__slidewise_key")
    out = sws.aggregate(stream, made, window=sw.time("5s", every="5s"), **CALL)
    assert out.columns == ["window_start", "window_end", *made]
    folder.run(out)
    assert None not in folder.result()["__slidewise_left_out"].to_pylist()


@pytest.mark.parametrize("name", sorted(STATE_COLUMNS))
def test_names_that_checkpoints_have_are_refused(folder, name):
    stream = folder.stream().withColumnRenamed("seq", name)
    with pytest.raises(InvalidInput, match=f"the column '{name}' has a name that checkpoints use .* Rename it"):
        sws.with_columns(stream, {"n": sw.count().over(sw.rows(2))}, **CALL)
    with pytest.raises(InvalidInput, match=f"the column '{name}' has a name that checkpoints use"):
        sws.aggregate(stream, {"n": sw.sum(name)}, window=sw.time("5s", every="5s"), **CALL)


def test_columns_that_spark_could_not_tell_apart_are_refused(folder):
    two = "two columns by one name, "
    apart = ", which it does not tell apart while spark.sql.caseSensitive is false. Rename one"
    for new, said in (({"SEQ": SUM}, "'seq' and 'SEQ'"), ({"w": SUM, "W": SUM}, "'w' and 'W'")):
        with pytest.raises(InvalidInput, match=f"with_columns: .* {two}{said}{apart}"):
            sws.with_columns(folder.stream(), new, **CALL)
    with pytest.raises(InvalidInput, match=f"aggregate: .* {two}'window_end' and 'Window_End'{apart}"):
        sws.aggregate(folder.stream(), {"Window_End": sw.count()}, window=sw.time("5s", every="5s"), **CALL)
    twice = folder.stream().selectExpr("*", "1 AS note")
    with pytest.raises(InvalidInput, match=f"{two}'note' and 'note'. Rename one"):
        sws.with_columns(twice, {"n": SUM}, **CALL)
    assert sws.with_columns(folder.stream(), {"seq": SUM}, **CALL).columns == folder.stream().columns
