"""Sessions are those of Spark's own session_window: of a batch, and of a stream that is restarted."""

import datetime as dt
import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import START, Folder, utc
from microbatches import on_time
from pyspark.sql import functions as F  # noqa: N812

import slidewise as sw
from slidewise.spark import sql
from slidewise.spark.session import PROVIDER, ROCKSDB

KINDS = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("x", pa.int64())])
COLUMNS = "k string, ts timestamp, x long"
RESULTS = {
    "n": sw.count(), "total": sw.sum("x"), "low": sw.min("x"), "high": sw.max("x"), "mean": sw.avg("x"),
    "kinds": sw.count_distinct("x"),
}  # fmt: skip
OF_SPARK = {
    "n": F.count, "total": F.sum, "low": F.min, "high": F.max, "mean": F.avg,
}  # fmt: skip


def some_rows(seed, count, most_late=0, nulls=False):
    """Rows of some keys, often exactly a gap of 2 s apart, and out of order by up to `most_late` seconds."""
    chance, now, rows = random.Random(seed), 0, []
    for _ in range(count):
        now += chance.choice([0, 0, 500, 1000, 2000, 2001])
        late = chance.choice([0, 0, 0, 1, 2, most_late]) if most_late else 0
        time = START + dt.timedelta(milliseconds=max(0, now - 1000 * late))
        time = None if nulls and chance.random() < 0.1 else time
        rows.append({"k": chance.choice(["a", "b", "c", None]), "ts": time, "x": chance.choice([None, 1, 2, 3])})
    return pa.Table.from_pylist(rows, schema=KINDS)


def spark_sessions(df, gap="2 seconds"):
    grouped = df.groupBy("k", F.session_window("ts", gap).alias("w"))
    found = grouped.agg(*(F.count("*").alias(n) if n == "n" else f("x").alias(n) for n, f in OF_SPARK.items()))
    return found.select("k", F.col("w.start").alias("window_start"), F.col("w.end").alias("window_end"), *OF_SPARK)


def listed(table):
    return sorted(repr(row) for row in utc(table).to_pylist())


def test_a_batch(session):
    table = some_rows(1, 400, 5, nulls=True)
    df = session.createDataFrame(table.to_pandas(), COLUMNS).repartition(3)
    found = sw.aggregate(df, partition_by="k", order_by="ts", window=sw.session("2s"), **RESULTS)
    assert found.columns == ["k", "window_start", "window_end", *RESULTS]
    assert listed(found.drop("kinds").toArrow()) == listed(spark_sessions(df).toArrow())
    local = sw.aggregate(table, partition_by="k", order_by="ts", window=sw.session("2s"), **RESULTS)
    assert listed(found.toArrow()) == listed(local)


def test_a_result_per_row(spark):
    table = some_rows(2, 300, 5, nulls=True)
    df = spark.createDataFrame(table.to_pandas(), COLUMNS).repartition(3)
    call = {"partition_by": "k", "order_by": "ts", "n": sw.count().over(sw.session("2s"))}
    call["peak"] = sw.max("x").over(sw.session("1s"))
    assert listed(sw.with_columns(df, **call).toArrow()) == listed(sw.with_columns(table, **call))


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "delay", "most_late"),
    [(3, 4, 4), *(pytest.param(seed, 1, 80, marks=pytest.mark.soak) for seed in (4, 5))],
)
def test_a_stream_with_rows_out_of_order_and_a_restart(spark, tmp_path, seed, delay, most_late):
    spark.conf.set(PROVIDER, ROCKSDB)
    table = some_rows(seed, 300, most_late)
    parts = [table[i : i + 75] for i in range(0, 300, 75)]
    end = pa.Table.from_pylist([{"k": "end", "ts": START + dt.timedelta(days=1), "x": 0}], schema=KINDS)
    again = pa.Table.from_pylist([{"k": "end", "ts": START + dt.timedelta(days=2), "x": 0}], schema=KINDS)
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    ours, theirs = (Folder(tmp_path / name, spark) for name in ("ours", "theirs"))
    for several in ((parts[0], parts[1]), (*parts[2:], end, again)):
        ours.add(*several)
        theirs.add(*several)
        ours.run(
            sw.aggregate(
                ours.stream(COLUMNS), partition_by="k", order_by="ts", window=sw.session("2s"), max_delay=f"{delay}s",
                buckets=2, **{name: RESULTS[name] for name in OF_SPARK},
            )
        )  # fmt: skip
        theirs.run(spark_sessions(theirs.stream(COLUMNS).withWatermark("ts", f"{delay} seconds")))
    found = listed(ours.result())
    assert found == listed(theirs.result())
    if delay < most_late:  # a micro-batch is 70 s: some late rows enter open sessions, others are dropped, as in Spark
        taken = pc.sum(ours.result()["n"]).as_py()
        assert len(on_time([*parts, end], delay * 1_000_000)) < taken < len(table) + 1
        return
    expected = sw.aggregate(pa.concat_tables([table, end]), partition_by="k", order_by="ts", window=sw.session("2s"),
                            **{name: RESULTS[name] for name in OF_SPARK})  # fmt: skip
    assert found == listed(expected)


def test_session_window_in_sql_is_sparks(spark):
    spark.createDataFrame(some_rows(5, 100).to_pandas(), COLUMNS).createOrReplaceTempView("visits")
    query = "SELECT k, session_window.start AS s, count(*) AS n FROM visits GROUP BY k, session_window(ts, '2 seconds')"
    assert listed(sql(spark, query).toArrow()) == listed(spark.sql(query).toArrow())
    # a window over sessions is ours
    query = (
        "SELECT k, s, median(n) OVER (PARTITION BY k ORDER BY s ROWS 2 PRECEDING) AS usual FROM (SELECT k, "
        "session_window.start AS s, count(*) AS n FROM visits GROUP BY k, session_window(ts, '2 seconds'))"
    )
    assert sql(spark, query).count() == spark.sql(query.replace("median(n)", "max(n)")).count()
