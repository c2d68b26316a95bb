"""A job of the kill tests: writes a folder of files, as a stream or day by day, into a sink."""

import json
import os
import sys
from datetime import date
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark.sql import SparkSession

from slidewise.pipeline.sinks import open_sink

SCHEMA = "card string, at timestamp, seq long, revision int"


def run(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.python.authenticate.socketTimeout": "120s",  # of a worker on a busy machine
        "spark.local.dir": str(folder / "spark"),
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    sink = open_sink(spark, time_column="at", **job["sink"])
    if job["days"]:
        rows = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
        for day in job["days"]:
            tell(folder)
            sink.replace(rows.where(f"date(at) = date'{day}'"), date.fromisoformat(day))
        return

    def write(rows, batch):
        query = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
        tell(folder)
        sink.write(rows, batch, query)

    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    query = (
        stream.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def tell(folder: Path) -> None:
    """Say that a batch or a day begins: a sign for each."""
    with (folder / "begun").open("a") as file:
        file.write(".")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    run(Path(sys.argv[1]))
