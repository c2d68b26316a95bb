"""The features: what is computed for every event, over its machine's last rows, minutes and hours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import slidewise as sw
from examples.demo.progress import spark_bar, stopwatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTES, HOUR, LAST = sw.time("5m"), sw.time("1h"), sw.rows(1000)

#: what Spark has too, bounded frames of plain aggregates
COMMON = {
    "peak_5m": sw.max("temperature").over(MINUTES),
    "mean_5m": sw.avg("temperature").over(MINUTES),
    "spread_5m": sw.stddev("temperature").over(MINUTES),
    "events_5m": sw.count().over(MINUTES),
    "peak_1h": sw.max("temperature").over(HOUR),
    "low_1h": sw.min("temperature").over(HOUR),
    "mean_1h": sw.avg("temperature").over(HOUR),
    "power_1000": sw.avg("power").over(LAST),
}
#: what it refuses over a frame, or reads the whole frame for, again for every row
BEYOND = {
    "usual_1h": sw.median("temperature").over(HOUR),
    "p95_1h": sw.percentile("temperature", 0.95).over(HOUR),
    "shake_p99": sw.percentile("vibration", 0.99).over(LAST),
    "operators_1h": sw.count_distinct("operator").over(HOUR),
    "parts_1h": sw.count_distinct("part").over(HOUR),
    "state_5m": sw.mode("status").over(MINUTES),
    "hottest_1h": sw.max_by("part", "temperature").over(HOUR),
}
FEATURES = COMMON | BEYOND

#: the same in SQL
ASKED = {
    "peak_5m": "max(temperature)",
    "mean_5m": "avg(temperature)",
    "spread_5m": "stddev(temperature)",
    "events_5m": "count(1)",
    "peak_1h": "max(temperature)",
    "low_1h": "min(temperature)",
    "mean_1h": "avg(temperature)",
    "power_1000": "avg(power)",
    "usual_1h": "median(temperature)",
    "p95_1h": "percentile_cont(0.95) WITHIN GROUP (ORDER BY temperature)",
    "shake_p99": "percentile_cont(0.99) WITHIN GROUP (ORDER BY vibration)",
    "operators_1h": "count(DISTINCT operator)",
    "parts_1h": "count(DISTINCT part)",
    "state_5m": "mode(status, true)",
    "hottest_1h": "max_by(part, temperature)",
}
BOUNDS = {
    MINUTES: "RANGE BETWEEN INTERVAL 5 MINUTES PRECEDING AND CURRENT ROW",
    HOUR: "RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW",
    LAST: "ROWS BETWEEN 999 PRECEDING AND CURRENT ROW",
}


def in_sql(name: str) -> str:
    """A feature as Spark's own windows would compute it."""
    return f"{ASKED[name]} OVER (PARTITION BY machine ORDER BY ts {BOUNDS[FEATURES[name].window]}) AS {name}"


def computed(readings: DataFrame, features: dict[str, Any], **stream: Any) -> DataFrame:
    """The readings with features: the two lines that this demo is about. Nothing runs yet."""
    return sw.with_columns(readings, partition_by="machine", order_by="ts", **stream, **features)


def compile_kernels(some: pa.Table, say: Callable[[str], None]) -> None:
    """Compute the features of some events here: what is compiled for them is kept on disk for the workers of Spark.

    Each of these would compile the same otherwise, all at once.
    """
    for number, name in enumerate(FEATURES):
        say(f"compiling kernels (once): {number} of {len(FEATURES)} features")
        computed(some, {name: FEATURES[name]})


def write(spark: SparkSession, readings: DataFrame, folder: Path, console: Console) -> float:
    """Compute and write them all; the seconds that it took."""
    with spark_bar("computing", spark, console), stopwatch() as seconds:
        computed(readings, FEATURES).write.parquet(str(folder))
    return seconds()


def listed(readings: DataFrame) -> Table:
    """The features, and what Spark says when it is asked for them."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("feature", style="cyan")
    table.add_column("is")
    table.add_column("Spark's own windows")
    for name, feature in FEATURES.items():
        table.add_row(name, f"{feature.aggregation!r} over {feature.window!r}", _verdict(readings, name))
    return table


def _verdict(readings: DataFrame, name: str) -> Text:
    from pyspark.errors import AnalysisException
    from pyspark.logger import PySparkLogger

    if name in COMMON:
        return Text("can too", "dim")
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")  # a refusal is an answer here
    try:
        readings.selectExpr(in_sql(name)).schema  # noqa: B018 asks Spark to analyse it
    except AnalysisException as error:
        return Text(f"refused: {(error.getCondition() or 'an error').split('.')[0].lower()}", "yellow")
    return Text("reads the frame again for every row", "yellow")
