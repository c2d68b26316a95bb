"""Sliding windows over Spark DataFrames. This package alone imports pyspark, and only its public interface.

from slidewise import spark as sws
spark = sws.configure(SparkSession.builder).getOrCreate()
out = sws.with_columns(df, partition_by="sensor", order_by="ts", peak=sw.max("temp").over(sw.time("1h")))
"""

from __future__ import annotations

from typing import Any

# Functions with the names of their modules: imported here, so that the name is always the function.
from slidewise.spark import functions
from slidewise.spark.aggregate import aggregate
from slidewise.spark.sql import sql
from slidewise.spark.streams.metrics import dropped_rows
from slidewise.spark.window import Window
from slidewise.spark.with_columns import with_columns

__all__ = ["Window", "aggregate", "configure", "dropped_rows", "functions", "sql", "with_columns"]

SETTINGS = {
    # What suits columns of numbers in Python: larger batches than Spark's 10,000 rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # Streams: the one state store that Spark's stateful operator takes, which writes what a batch has changed and not
    # all of its state.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def configure(builder: Any) -> Any:
    """A session builder with the settings that suit sliding windows.

    spark = slidewise.spark.configure(SparkSession.builder.appName("features")).getOrCreate()
    """
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder
