"""The Spark that benchmarks run on: local, on all cores, quiet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from slidewise import spark as sws


def start(folder: Path, partitions: int, cores: int | None = None) -> Any:
    """A session that keeps its files in a folder; on all cores, or so many."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores or os.cpu_count() or 1}]").appName("benchmark")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "6g",
        "spark.sql.session.timeZone": "UTC",
        # What micro-batches have written is counted at the end.
        "spark.sql.streaming.minBatchesToRetain": "1000",
        # By Spark's own choice each file of a checkpoint starts programs (eight times readlink) on a local disk, where
        # Hadoop's native library is missing: of small micro-batches, that would be most of what is measured.
        "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager",
        "spark.local.dir": str(folder / "spark"),
    }.items():
        builder = builder.config(name, value)
    return sws.configure(builder, partitions=partitions).getOrCreate()
