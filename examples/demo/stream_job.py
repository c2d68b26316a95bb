"""The stream of the demo, in a process of its own, which `stream.py` starts, and kills.

What it does is in the run log beside its checkpoint.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rich.console import Console

from examples.demo import features, session
from slidewise.pipeline.stream_run import StreamRun


def main(folder: Path, master: str) -> None:
    local = {
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        # so short a life is not worth Java's second compiler, nor a program for each file of the checkpoint
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager",
        "spark.local.dir": str(folder / "local"),  # what a killed process leaves behind is removed with the folder
    }
    spark = session.start(master, folder / "log", Console(quiet=True), session.SETTINGS | local)
    for _ in StreamRun(spark, features.load(folder), once=True).follow():
        pass
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
