"""What comes out of a call on a stream is used on: Spark's windows, deduplication, joins, and foreachBatch."""

import datetime as dt
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from folders import DELAY, SCHEMA, START, Folder, events, last_row, utc
from microbatches import on_time, same

import slidewise as sw
import slidewise.spark as sws
from slidewise.spark.session import PROVIDER, ROCKSDB

#: by time: rows of equal times have equal results, whichever came first
FEATURES = {"n": sw.count().over(sw.time("5s")), "newest": sw.max("seq").over(sw.time("3s"))}
#: The watermark goes through the operators one by one: each micro-batch brings it to the next.
FLUSH = [last_row(seconds) for seconds in (1000, 2000, 3000)]


@pytest.fixture
def folder(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    return Folder(tmp_path, spark)


def features(df, emit, max_delay="2s"):
    return sw.with_columns(df, partition_by="k", order_by="ts", max_delay=max_delay, emit=emit, **FEATURES)


def expected(parts, emit, delay=DELAY):
    """The rows that come out, by the rule: at once, a row sees what has arrived by the end of its micro-batch."""
    if emit == "watermark":
        return sw.with_columns(on_time(parts, delay), partition_by="k", order_by="ts", **FEATURES)
    found = []
    for number in range(len(parts)):
        before, now = (on_time([*parts[:count], SCHEMA.empty_table()], delay) for count in (number, number + 1))
        rows = sw.with_columns(now.append_column("new", mask(len(before), len(now))), partition_by="k", order_by="ts",
                               **FEATURES)  # fmt: skip
        found.append(rows.filter(rows["new"]).drop_columns(["new"]))
    return pa.concat_tables(found)


def mask(before, now):
    return pa.array([place >= before for place in range(now)])


def result(folder):
    """The rows that came out, without those that brought the watermark on."""
    rows = utc(folder.result())
    return rows.filter(pa.array([key != "end" for key in rows["k"].to_pylist()]))


@pytest.mark.full
@pytest.mark.parametrize("emit", ["watermark", pytest.param("arrival", marks=pytest.mark.soak)])
def test_a_window_of_spark(folder, emit):
    from pyspark.sql import functions as F  # noqa: N812

    parts = events(3, 80)
    folder.add(*parts, *FLUSH)
    windows = features(folder.stream(), emit).groupBy("k", F.window("ts", "5 seconds"))
    totals = windows.agg(F.count("*").alias("rows"), F.sum("n").alias("total"), F.max("newest").alias("newest"))
    progress = folder.run(totals.select("k", "window.start", "rows", "total", "newest"))
    rows = expected(parts, emit)
    assert sws.dropped_rows(progress)["late"] == sum(map(len, parts)) - len(rows) > 0
    found = defaultdict(lambda: (0, 0, 0))
    for row in rows.to_pylist():
        start = row["ts"] - (row["ts"] - START) % dt.timedelta(seconds=5)
        count, total, newest = found[row["k"], start]
        found[row["k"], start] = count + 1, total + row["n"], max(newest, row["newest"])
    got = result(folder).to_pylist()
    assert {(row["k"], row["start"]): (row["rows"], row["total"], row["newest"]) for row in got} == found
    assert len(got) == len(found)


@pytest.mark.full
@pytest.mark.parametrize(
    ("how", "emit"),
    [
        pytest.param("dropDuplicates", "arrival", marks=pytest.mark.soak),
        ("dropDuplicatesWithinWatermark", "watermark"),
        pytest.param("dropDuplicates", "watermark", marks=pytest.mark.soak),
        pytest.param("dropDuplicatesWithinWatermark", "arrival", marks=pytest.mark.soak),
    ],
)
def test_deduplication(folder, how, emit):
    first, second, third = events(3, 60)
    parts = [first, pa.concat_tables([second, first[::2], second[::3]]), pa.concat_tables([third, second[::2]])]
    folder.add(*parts, *FLUSH)
    by = ["k", "seq", "ts"] if how == "dropDuplicates" else ["k", "seq"]
    folder.run(getattr(features(folder.stream(), emit), how)(by))
    rows = expected(parts, emit)
    once = {row["seq"]: place for place, row in reversed(list(enumerate(rows.to_pylist())))}  # the first of each
    assert len(once) < len(rows)
    same(result(folder), rows.take(sorted(once.values())))


@pytest.mark.full
@pytest.mark.parametrize("emit", ["watermark", pytest.param("arrival", marks=pytest.mark.soak)])
def test_a_join_with_another_stream(folder, emit, tmp_path):
    from pyspark.sql import functions as F  # noqa: N812

    parts = events(3, 60)
    all_steps = [{"other": key, "at": START + dt.timedelta(seconds=s), "step": s} for s in range(18) for key in "abcx"]
    steps: Any = [all_steps[first : first + 24] for first in range(0, 72, 24)]
    ends = [[{"other": "end", "at": START + dt.timedelta(seconds=s)}] for s in (1000, 2000, 3000)]
    schema = pa.schema([("other", pa.string()), ("at", pa.timestamp("us", "UTC")), ("step", pa.int64())])
    (tmp_path / "other").mkdir()
    other = Folder(tmp_path / "other", folder.session)
    other.add(*(pa.Table.from_pylist(rows, schema=schema) for rows in [*steps, *ends]))
    folder.add(*parts, *FLUSH)
    beside = other.stream("other string, at timestamp, step long").withWatermark("at", "10 seconds")
    on = (F.col("k") == F.col("other")) & F.expr("ts >= at AND ts < at + INTERVAL 2 SECONDS")
    joined = features(folder.stream(), emit, max_delay="10s").join(beside, on, "left_outer")
    progress = folder.run(joined.drop("other", "at"))
    assert sws.dropped_rows(progress)["late"] == 0
    found = []
    for row in expected(parts, emit, delay=10_000_000).to_pylist():
        fits = [s["step"] for part in steps for s in part
                if s["other"] == row["k"] and s["at"] <= row["ts"] < s["at"] + dt.timedelta(seconds=2)]  # fmt: skip
        found += [{**row, "step": step} for step in fits or [None]]
    got = result(folder)
    assert Counter(row["step"] is None for row in found).keys() == {True, False}
    same(got, pa.Table.from_pylist(found, schema=got.schema), by=("k", "ts", "seq", "step"))


@pytest.mark.full
def test_foreach_batch(folder):
    parts = events(3, 60)
    folder.add(*parts, *FLUSH[:1])
    got = []
    out = features(folder.stream(), "watermark").where("k IS NULL OR k <> 'end'")
    writer = out.writeStream.foreachBatch(lambda df, number: got.append((number, df.toArrow())))
    query = writer.option("checkpointLocation", str(folder.path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    numbers = [number for number, _ in got]
    assert numbers == sorted(set(numbers))
    same(utc(pa.concat_tables(table for _, table in got)), expected(parts, "watermark"))
