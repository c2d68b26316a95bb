"""One Spark for all tests of a process: a classic session, whose JVM also serves Spark Connect."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.processes import find_port

TESTS = Path(__file__).parent.parent
#: What both modes have: small data, few partitions.
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
    "spark.sql.ansi.enabled": "true",
    # Without Hadoop's native library, Spark's own choice starts a program (readlink) for each file of a checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}
PORT = "spark.connect.grpc.binding.port"


@contextmanager
def run_spark() -> Iterator[tuple[Any, str]]:
    """Start the classic session, or take the one that runs; give it, and where its JVM serves Connect.

    Who started it stops it: folders of tests have fixtures of their own, and a process may run several folders.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if str(TESTS) not in (found := os.environ.get("PYTHONPATH", "")).split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), found]))  # for workers of Connect
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    runs = SparkContext._active_spark_context is not None
    builder = SparkSession.builder.master("local[2]").appName("slidewise tests")
    for name, value in {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        # so short a life is not worth the JVM's second compiler
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.python.daemon.module": "support.spark_daemon",
        "spark.executorEnv.PYTHONPATH": str(TESTS),  # where workers find it, in a JVM that was started without it
        # on a busy machine a worker may take longer than the 15 s that Spark waits for it
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        **({} if runs else {PORT: str(find_port())}),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session, f"sc://127.0.0.1:{session.conf.get(PORT, None)}"
    if not runs:
        session.stop()
