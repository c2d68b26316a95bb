"""A stream that is killed and started again: how long until the first new row. Part of `benchmarks.spark_streaming`.

The process group of a query is killed in the midst of its work, and its checkpoint is gone on from by a new process, as
an orchestrator would start it. A row is there when its micro-batch is committed to the sink's log.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

#: what is asked of the job: a query of ours, or one that only passes rows through Python
KINDS = ("ours", "stateless")


@dataclass(frozen=True)
class Recovery:
    """Seconds after the start of a new process."""

    session: float
    first_row: float


def measure_recovery(folder: Path, rows: Path, kind: str, after: int) -> Recovery:
    """Kill a query after some micro-batches, and measure its restart."""
    folder.mkdir()
    first = _start(folder, rows, kind)
    try:
        while _find_newest(folder) < after:
            if first.poll() is not None:
                raise RuntimeError(f"the query ended before it was killed: see {folder / 'log'}")
            time.sleep(0.02)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    newest, ready = _find_newest(folder), folder / "ready"
    ready.unlink()
    begin, session = time.perf_counter(), 0.0
    second = _start(folder, rows, kind)
    try:
        while _find_newest(folder) <= newest:
            if not session and ready.exists():
                session = time.perf_counter() - begin
            if second.poll() is not None:
                raise RuntimeError(f"the query ended before a new row was there: see {folder / 'log'}")
            time.sleep(0.01)
        return Recovery(session, time.perf_counter() - begin)
    finally:
        os.killpg(second.pid, signal.SIGKILL)
        second.wait()


def _start(folder: Path, rows: Path, kind: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.recovery", str(folder), str(rows), kind]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def _find_newest(folder: Path) -> int:
    """Find the last micro-batch that is in the sink's log; -1: none is."""
    names = (file.name.split(".")[0] for file in (folder / "out" / "_spark_metadata").glob("*"))
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _run(folder: Path, rows: Path, kind: str) -> None:
    from benchmarks import local_spark
    from benchmarks.spark_streaming import CORES, SCHEMA, last_rows, stateless

    spark = local_spark.start(folder, partitions=CORES)
    (folder / "ready").touch()
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", CORES).parquet(str(rows))
    out = last_rows(stream) if kind == "ours" else stateless(stream)
    writer = out.writeStream.format("parquet").option("path", str(folder / "out"))
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()


if __name__ == "__main__":
    _run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
