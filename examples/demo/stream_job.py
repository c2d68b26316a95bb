"""The query of the demo's stream, in a process of its own, which `stream.py` starts, and kills.

It says how far it is on standard output: a line of JSON per micro-batch, and when all is done the files that it wrote.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import slidewise.spark
from examples.demo import events, features, session, show

if TYPE_CHECKING:
    from pyspark.sql import Column

#: No row comes later: a connection is back after ten minutes, and its rows take ten minutes more at most.
MAX_DELAY = "20m"
#: the name of what is observed of a micro-batch's rows, beside what slidewise itself observes
OBSERVED = "demo"


def main(folder: Path, master: str, machines: list[str]) -> None:
    local = {
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.local.dir": str(folder / "local"),  # what a killed process leaves behind is removed with the folder
    }
    spark = session.start(master, folder / "log", Console(quiet=True), session.SETTINGS | local)
    readings = events.arriving(spark, folder / "in")
    out = features.computed(readings, features.FEATURES, max_delay=MAX_DELAY)
    writer = out.observe(OBSERVED, *observed(machines)).writeStream.format("parquet")
    writer = writer.option("path", str(folder / "out")).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    told, ended = set(), False
    while not ended:
        ended = query.awaitTermination(0.1)
        for progress in query.recentProgress:
            if progress["batchId"] not in told:
                told.add(progress["batchId"])
                say(report(progress, machines))
    # Files that a killed micro-batch has left are not among these: the sink's log knows better than the folder.
    say({"files": spark.read.parquet(str(folder / "out")).inputFiles()})
    spark.stop()


def observed(machines: list[str]) -> list[Column]:
    """What each micro-batch tells of the rows that come out: how many, and the newest of some machines."""
    from pyspark.sql import functions as F  # noqa: N812

    clock = F.date_format("ts", "HH:mm:ss").alias("ts")
    shown = F.struct("machine", clock, *(name for name in show.SHOWN if name != "ts"))
    newest = [F.max_by(shown, F.when(F.col("machine") == name, F.col("ts"))).alias(name) for name in machines]
    return [F.count(F.lit(1)).alias("rows"), *newest]


def report(progress: Any, machines: list[str]) -> dict[str, Any]:
    """A micro-batch, as far as it is shown."""
    seen = progress["observedMetrics"][OBSERVED].asDict(recursive=True)
    [state] = progress["stateOperators"]
    return {
        "batch": progress["batchId"],
        "read": progress["numInputRows"],
        "out": seen["rows"],
        "watermark": progress["eventTime"]["watermark"],
        "late": slidewise.spark.dropped_rows([progress])["late"],
        "pieces": state["numRowsTotal"],
        "bytes": state["customMetrics"]["rocksdbTotalBytesWritten"],
        "seconds": progress["durationMs"]["triggerExecution"] / 1000,
        "machines": [seen[name] for name in machines if seen[name] is not None],
    }


def say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
