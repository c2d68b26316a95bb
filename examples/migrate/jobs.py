"""The jobs, the data that they run on, and how their results are compared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

JOBS = (
    "revenue_of_seven_days",
    "middle_and_p95_of_the_last_100",
    "products_of_thirty_days",
    "sessions",
    "rolling_z_score",
    "counts_of_four_horizons",
    "usual_product_of_a_day",
)


def generate_orders(spark: SparkSession, rows: int) -> DataFrame:
    """Orders of some customers over 90 days: few of them order most, and some prices are missing."""
    return spark.range(rows).selectExpr(
        "id",
        f"cast(pow(xxhash64(id, 1) / 9.3e18D, 2) * {max(rows // 2000, 3)} AS int) AS customer",
        "cast(abs(xxhash64(id, 2)) % 40 AS int) AS product",
        "timestamp_millis(1704067200000 + pmod(xxhash64(id, 3), 90 * 86400000L)) AS ts",
        "abs(xxhash64(id, 4)) % 5 AS quantity",
        "if(pmod(xxhash64(id, 5), 50) = 0, NULL, round(5 + abs(xxhash64(id, 6)) % 10000 / 100D, 2)) AS price",
    )


def run_job(program: ModuleType, name: str, orders: DataFrame) -> list[Any]:
    """Run a job; its rows, by their ids."""
    job: Callable[[DataFrame], DataFrame] = getattr(program, name)
    return sorted(job(orders).collect(), key=lambda row: row["id"])


def time_job(program: ModuleType, name: str, orders: DataFrame, runs: int) -> float:
    """Time a job, whose rows go nowhere: the seconds of the shortest of some runs."""
    job: Callable[[DataFrame], DataFrame] = getattr(program, name)
    shortest = math.inf
    for _ in range(runs):
        start = time.perf_counter()
        job(orders).write.format("noop").mode("overwrite").save()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def are_equal(before: list[Any], after: list[Any]) -> bool:
    """Tell whether two results have the same columns and values; sums of floats in another order agree to 1e-9."""
    if [row.asDict().keys() for row in before] != [row.asDict().keys() for row in after]:
        return False
    pairs = ((a, b) for old, new in zip(before, after, strict=True) for a, b in zip(old, new, strict=True))
    return all(_are_close(a, b) if isinstance(a, float) and isinstance(b, float) else a == b for a, b in pairs)


def _are_close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=2e-6) or (math.isnan(a) and math.isnan(b))
