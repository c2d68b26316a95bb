"""The part that Spark can do too, done both ways in this process: the times, and whether the answers are the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

import slidewise as sw
from examples.demo.compare import compare
from examples.demo.features import COMMON, FEATURES, in_sql
from examples.demo.progress import spark_bar, status, stopwatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(
    spark: SparkSession, pipeline: sw.Pipeline, readings: DataFrame, folder: Path, console: Console
) -> RenderableType:
    """Write the same features twice, warm, and compare what was written."""
    common = {name: FEATURES[name] for name in COMMON}
    contestants = {
        "Spark, segment tree on": own(readings),
        "slidewise": pipeline.compute(readings, common, {}),
    }
    small = readings.where("machine LIKE '%-1_0'")
    with spark_bar("a few machines first, to warm up", spark, console):
        for warm_up in (own(small), pipeline.compute(small, common, {})):
            warm_up.write.format("noop").mode("overwrite").save()
    times = {}
    for number, (name, features) in enumerate(contestants.items()):
        with spark_bar(name, spark, console), stopwatch() as seconds:
            features.select("ts", *COMMON).write.parquet(str(folder / str(number)))
        times[name] = seconds()
    slow, fast = times.values()
    with status("comparing the answers", console):
        answers = compared(folder / "0", folder / "1")
    shutil.rmtree(folder)
    return Group(bars(times), Text(f"slidewise is {slow / fast:.1f} times as fast; {answers}."))


def own(readings: DataFrame) -> DataFrame:
    """The same features by Spark's window functions."""
    return readings.selectExpr("*", *map(in_sql, COMMON))


def bars(times: dict[str, float]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, seconds in times.items():
        length = max(1, round(35 * seconds / max(times.values())))
        table.add_row(name, Text("█" * length, "cyan" if name == "slidewise" else "dim"), f"{seconds:.1f} s")
    return table


def compared(theirs: Path, ours: Path) -> str:
    """Whether two folders hold the same features, row by row: times are unique, so they tell the rows."""
    a, b = (pq.read_table(folder) for folder in (theirs, ours))
    found = compare(a, b, by="ts", absolute=1e-9)  # means and deviations add in another order
    if found.unmatched:
        return "the rows differ!"
    for name, rows in found.columns.items():
        return f"{name} differs in {rows:,} rows!"
    return f"all {a.num_rows * len(COMMON):,} values are the same"
