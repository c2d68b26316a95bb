"""Run seven jobs before and after, compare their results, and print the times: `python -m examples.migrate`.

A time is the shortest of some runs whose rows go nowhere; the rows are compared apart from it.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from examples.migrate import after, before
from examples.migrate.jobs import JOBS, are_equal, generate_orders, run_job, time_job
from slidewise import spark as sws


def main(rows: int = 200_000, runs: int = 3) -> None:
    """Print a line for each job."""
    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", False)
    spark = sws.configure(builder, partitions=4).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    orders = generate_orders(spark, rows).cache()
    orders.count()
    print(f"{f'{rows:,} rows':32} {'PySpark':>9} {'slidewise':>9}  times  results")
    for name in JOBS:
        same = are_equal(run_job(before, name, orders), run_job(after, name, orders))  # which compiles kernels, once
        slow, fast = (time_job(program, name, orders, runs) for program in (before, after))
        print(f"{name:32} {slow:8.2f}s {fast:8.2f}s {slow / fast:6.1f}  {'equal' if same else 'DIFFERENT'}", flush=True)
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int, nargs="?", default=200_000, help="how many orders (default: 200,000)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each job, of which the shortest counts (3)")
    options = parser.parse_args()
    main(options.rows, options.runs)
