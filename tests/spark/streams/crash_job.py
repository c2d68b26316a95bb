"""A query that is killed at random moments and started again: from files to files, until nothing is left to read."""

import sys
from pathlib import Path
from typing import Any

import slidewise as sw

#: A process lives for seconds: no time is spent on making it fast.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.python.authenticate.socketTimeout": "120s",  # of a worker on a busy machine
}

#: what a job computes; the test computes it, too
FEATURES = {"last": sw.collect_list("seq").over(sw.rows(3)), "n": sw.count().over(sw.time("5s"))}
SESSIONS = {"all": sw.collect_list("seq"), "n": sw.count()}
SLICES = {"n": sw.count(), "total": sw.sum("seq"), "first": sw.first("seq"), "top": sw.max_by("ts", "seq")}


def main(folder: Path, kind: str) -> None:
    from pyspark.sql import SparkSession

    import slidewise.spark

    builder = slidewise.spark.configure(SparkSession.builder.master("local[2]"), partitions=2)
    for name, value in {**SETTINGS, "spark.local.dir": str(folder / "local")}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    columns = "k string, ts timestamp, seq long"
    stream = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    call: dict[str, Any] = {"partition_by": "k", "order_by": "ts", "max_delay": "1s", "buckets": 4}
    if kind == "sessions":
        out = sw.aggregate(stream, window=sw.session("150ms"), **SESSIONS, **call)
    elif kind == "slices":
        out = sw.aggregate(stream, window=sw.time("2s", every="500ms"), slices=True, **SLICES, **call)
    elif kind == "late":
        out = sw.with_columns(stream, FEATURES, late="mark", **call | {"max_delay": "100ms"})
    elif kind == "history":
        out = sw.with_columns(stream, FEATURES, history=spark.read.parquet(str(folder / "history")), **call)
    else:
        out = sw.with_columns(stream, FEATURES, **call)
    writer = out.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    # The sink's log says which files count: a killed micro-batch leaves others behind.
    (folder / "files").write_text("\n".join(spark.read.parquet(str(folder / "out")).inputFiles()))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
