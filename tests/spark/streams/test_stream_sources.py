"""Sources and triggers that are not files and availableNow: rate, memory, and processing time."""

import time

import pytest

import slidewise as sw
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture
def query(spark, tmp_path):
    """Starts a query into a table in memory, with a micro-batch whenever the last has ended; stops it in the end."""
    spark.conf.set(PROVIDER, ROCKSDB)
    started = []

    def start(df, name):
        writer = df.writeStream.format("memory").queryName(name).option("checkpointLocation", str(tmp_path))
        started.append(writer.trigger(processingTime="100 milliseconds").start())
        return started[0]

    yield start
    for each in started:
        each.stop()


@pytest.mark.full
def test_the_rate_source_at_a_pace(spark, query):
    rate = spark.readStream.format("rate").option("rowsPerSecond", 25).load()
    out = sw.with_columns(rate, order_by="timestamp", max_delay="0s", n=sw.count().over(sw.rows(10)))
    running = query(out, "rates")
    end = time.monotonic() + 60
    while spark.table("rates").count() < 60:
        assert running.isActive and time.monotonic() < end, running.exception()
        time.sleep(0.2)
    rows = sorted((row["value"], row["n"]) for row in spark.table("rates").collect())
    assert rows == [(value, min(value + 1, 10)) for value in range(len(rows))]
    pace = [progress["batchId"] for progress in running.recentProgress]
    assert len(pace) > 2


@pytest.mark.full
def test_the_memory_source(spark, query):
    # Python has none of its own: this is Spark's, which its tests use.
    jvm = spark._jvm
    memory = jvm.org.apache.spark.sql.execution.streaming.runtime.MemoryStream
    source = memory.apply(jvm.org.apache.spark.sql.Encoders.STRING(), spark._jsparkSession)

    def add(*rows):
        source.addData(jvm.scala.jdk.javaapi.CollectionConverters.asScala(list(rows)).toSeq())
        running.processAllAvailable()
        return sorted((row["k"], row["second"], row["total"]) for row in spark.table("memories").collect())

    from pyspark.sql import DataFrame

    lines = DataFrame(source.toDF(), spark).selectExpr("split(value, ' ') AS parts")
    rows = lines.selectExpr("parts[0] AS k", "timestamp_seconds(int(parts[1])) AS ts", "int(parts[1]) AS second")
    total = sw.sum("second").over(sw.time("10s"))
    running = query(sw.with_columns(rows, partition_by="k", order_by="ts", max_delay="5s", total=total), "memories")
    assert add("a 103", "b 101", "a 101") == []
    # The watermark moves when a micro-batch has ended, and then there is one without data.
    assert add("a 108", "b 97") == [("a", 101, 101), ("a", 103, 204), ("b", 101, 101)]  # 97 is late
    assert add("b 130") == [("a", 101, 101), ("a", 103, 204), ("a", 108, 312), ("b", 101, 101)]
