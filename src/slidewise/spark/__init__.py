"""Sliding windows over Spark DataFrames. This package alone imports pyspark, and only its public interface, but
for pyspark_internals.

from slidewise import spark as sws
spark = sws.configure(SparkSession.builder).getOrCreate()
out = sws.with_columns(df, partition_by="sensor", order_by="ts", peak=sw.max("temp").over(sw.time("1h")))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Functions with the names of their modules: imported here, so that the name is always the function.
from slidewise.spark.aggregate import aggregate
from slidewise.spark.pyspark_internals import disable, enable
from slidewise.spark.select import filter, select, with_column
from slidewise.spark.session import configure
from slidewise.spark.sql import sql
from slidewise.spark.streams.checkpoint import check
from slidewise.spark.streams.metrics import dropped_rows
from slidewise.spark.streams.state_reader import read_state
from slidewise.spark.window import Window
from slidewise.spark.with_columns import with_columns

if TYPE_CHECKING:
    from slidewise.spark import functions

__all__ = [
    "Window", "aggregate", "check", "configure", "disable", "dropped_rows", "enable", "filter", "functions",
    "read_state", "select", "sql", "with_column", "with_columns",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `functions` when it is asked for: it changes what methods of PySpark's DataFrames take."""
    if name == "functions":
        import importlib

        return importlib.import_module("slidewise.spark.functions")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
