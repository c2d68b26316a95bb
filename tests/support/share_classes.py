"""Write an archive of the classes that Spark loads, for the JVMs of the tests: they start in two thirds of the time.

    PYTHONPATH=tests python -m support.share_classes FILE

Run by the Makefile, which hands the archive to every JVM through SPARK_SUBMIT_OPTS. Java goes on without it where it
does not fit.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import slidewise as sw
from slidewise.spark.session import SETTINGS
from support.spark import run_spark


def main(archive: str) -> None:
    os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -XX:ArchiveClassesAtExit={archive}"
    with run_spark() as (spark, address), tempfile.TemporaryDirectory() as folder:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        load_batch(spark, folder)
        load_stream(spark, folder)
        load_connect(address)
        java = spark.sparkContext._gateway.proc
    java.stdin.close()  # it writes the archive when it ends
    java.wait()


def load_batch(spark: Any, folder: str) -> None:
    rows = spark.sql("SELECT id % 3 AS k, timestamp_seconds(id) AS ts, CAST(id AS DOUBLE) AS v FROM range(100)")
    rows.write.parquet(f"{folder}/in")
    rows.selectExpr("k", "ts", "sum(v) OVER (PARTITION BY k ORDER BY ts)").collect()
    sw.with_columns(rows, m=sw.max("v").over(sw.rows(3)), partition_by="k", order_by="ts").toArrow()
    spark.createDataFrame([("a", 1)], "a string, b int").join(rows, on=rows.k == 1).groupBy("a").count().toPandas()


def load_stream(spark: Any, folder: str) -> None:
    rows = spark.readStream.schema("k long, ts timestamp, v double").parquet(f"{folder}/in")
    call: dict[str, Any] = {"partition_by": "k", "order_by": "ts", "max_delay": "2s", "buckets": 2}
    out = sw.with_columns(rows, m=sw.max("v").over(sw.rows(3)), **call)
    writer = out.writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()


def load_connect(address: str) -> None:
    from pyspark.sql.connect.session import SparkSession

    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    session = SparkSession.builder.remote(address).getOrCreate()

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        return batches

    session.range(10).mapInArrow(same, "id long").toArrow()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
