"""A query that is killed at random moments and started again: from files to files, until nothing is left to read."""

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def main(folder: str) -> None:
    from pyspark.sql import SparkSession

    import slidewise as sw
    import slidewise.spark

    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2)
    for name, value in {"ui.enabled": "false", "sql.session.timeZone": "UTC", "driver.memory": "1g"}.items():
        builder = builder.config(f"spark.{name}", value)
    spark = slidewise.spark.configure(builder).getOrCreate()
    columns = "k string, ts timestamp, seq long"
    stream = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    out = sw.with_columns(
        stream,
        partition_by="k",
        order_by="ts",
        max_delay="1s",
        last=sw.collect_list("seq").over(sw.rows(3)),
        n=sw.count().over(sw.time("5s")),
    )
    writer = out.writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    spark.read.parquet(f"{folder}/out").coalesce(1).write.mode("overwrite").parquet(f"{folder}/result")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
