"""Run the jobs before and after, compare their results, and print the times: python -m examples.migrate [rows]."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from examples.migrate import after, before
from examples.migrate.jobs import JOBS, are_equal, generate_orders, run_job
from slidewise import spark as sws


def main(rows: int = 200_000) -> None:
    """Print a line for each job."""
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", False)
    spark = sws.configure(builder, partitions=4).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    orders = generate_orders(spark, rows).cache()
    orders.count()
    print(f"{'job':32} {'PySpark':>9} {'slidewise':>9}  results")
    for name in JOBS:
        run_job(after, name, orders.limit(1000))  # compiles kernels, once
        old, slow = run_job(before, name, orders)
        new, fast = run_job(after, name, orders)
        print(f"{name:32} {slow:8.2f}s {fast:8.2f}s  {'equal' if are_equal(old, new) else 'DIFFERENT'}")
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
