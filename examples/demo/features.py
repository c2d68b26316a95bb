"""The features: what the pipeline computes for every event, over its machine's last rows, minutes and hours."""

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

FILE = Path(__file__).parents[1] / "plant" / "plant.yaml"


def load(lake: Path) -> sw.Pipeline:
    """The pipeline, with events and results in this folder."""
    return sw.load(FILE, {"lake": str(lake.resolve())})


FEATURES: dict[str, Any] = dict(sw.load(FILE).features)
MINUTES, HOUR, LAST = sw.time("5m"), sw.time("1h"), sw.rows(1000)

#: those that Spark has too, by their names: bounded frames of plain aggregates
COMMON = ("peak_5m", "peak_1h", "mean_5m", "mean_1h", "spread_5m", "events_5m", "low_1h", "power_1000")
#: the same in SQL, and what Spark refuses over a frame, or reads the whole frame for, again for every row
ASKED = {
    "peak_5m": "max(temperature)",
    "peak_1h": "max(temperature)",
    "mean_5m": "avg(temperature)",
    "mean_1h": "avg(temperature)",
    "spread_5m": "stddev(temperature)",
    "events_5m": "count(1)",
    "low_1h": "min(temperature)",
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


def compile_kernels(pipeline: sw.Pipeline, some: pa.Table, say: Callable[[str], None]) -> None:
    """Compute the features of some events here: what is compiled for them is kept on disk for the workers of Spark.

    Each of these would compile the same otherwise, all at once.
    """
    for number, (name, feature) in enumerate(pipeline.features.items()):
        say(f"compiling kernels (once): {number} of {len(pipeline.features)} features")
        pipeline.compute(some, {name: feature}, {})


def read(spark: SparkSession, pipeline: sw.Pipeline) -> DataFrame:
    """The events as the pipeline reads and prepares them."""
    from slidewise.pipeline.source import read_source

    source = pipeline.definition.source
    assert source is not None
    return pipeline.prepare(read_source(spark, source, pipeline.folder, streaming=False).df)


def write(spark: SparkSession, pipeline: sw.Pipeline, console: Console) -> float:
    """Run the pipeline as a batch, which computes and writes them all; the seconds that it took."""
    from slidewise.pipeline.batch_run import run_batch

    with spark_bar("computing", spark, console), stopwatch() as seconds:
        run_batch(spark, [pipeline])
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
    if name not in ASKED:
        return Text("have no such aggregate: it is our own", "yellow")
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")  # a refusal is an answer here
    try:
        # By SQL: a DataFrame's methods take such windows where slidewise's functions are imported.
        readings.sparkSession.sql(f"SELECT {in_sql(name)} FROM {{readings}}", readings=readings).schema  # noqa: B018
    except AnalysisException as error:
        return Text(f"refused: {(error.getCondition() or 'an error').split('.')[0].lower()}", "yellow")
    return Text("reads the frame again for every row", "yellow")
