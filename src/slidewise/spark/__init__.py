"""Sliding windows over Spark DataFrames. This package alone imports pyspark, and only its public interface.

from slidewise import spark as sws
spark = sws.configure(SparkSession.builder).getOrCreate()
out = sws.with_columns(df, partition_by="sensor", order_by="ts", peak=sw.max("temp").over(sw.time("1h")))
"""

from __future__ import annotations

# Functions with the names of their modules: imported here, so that the name is always the function.
from slidewise.spark import functions
from slidewise.spark.aggregate import aggregate
from slidewise.spark.session import configure
from slidewise.spark.sql import sql
from slidewise.spark.streams.checkpoint import check
from slidewise.spark.streams.metrics import dropped_rows
from slidewise.spark.window import Window
from slidewise.spark.with_columns import with_columns

__all__ = ["Window", "aggregate", "check", "configure", "dropped_rows", "functions", "sql", "with_columns"]
