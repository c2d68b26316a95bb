"""The settings of a Spark session that suit sliding windows."""

from __future__ import annotations

import os
import sys
from typing import Any

from slidewise.errors import InvalidInput

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PARTITIONS = "spark.sql.shuffle.partitions"
WORKERS_PYTHON = "PYSPARK_PYTHON"
SETTINGS = {
    # What suits columns of numbers in Python: larger batches than Spark's 10,000 rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # Streams: the one state store that Spark's stateful operator takes, which writes what a batch has changed and not
    # all of its state.
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
#: Spark limits the address space of workers, of which libraries reserve far more than they use: the imports alone take
#: 543 MB, and with these 439.
LIMIT = "spark.executor.pyspark.memory"
LIMITED = {
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.MALLOC_ARENA_MAX": "1",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}


def configure(
    builder: Any, *, partitions: int | None = None, python: str | None = None, python_memory: str | None = None
) -> Any:
    """Configure a session builder with the settings that suit sliding windows.

        spark = slidewise.spark.configure(SparkSession.builder.appName("features"), partitions=8).getOrCreate()

    - `partitions` is `spark.sql.shuffle.partitions`. Streams want about as many as there are cores, from their first
      start on: the number is frozen in the checkpoint. Without it Spark's stays, which adapts to the data of a batch.
    - `python` is what workers run: by default what PYSPARK_PYTHON says, and else the Python that runs this, where
      Spark would take the system's. On a cluster whose machines have theirs elsewhere, give its path there.
    - `python_memory`, as in "512m", is the most that the Python workers of an executor may have: Spark's
      `spark.executor.pyspark.memory`, with what keeps libraries from reserving memory that they do not use.
    """
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    if partitions is not None:
        if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
            raise InvalidInput(f"configure: partitions is a number from 1 on, got {partitions!r}")
        builder = builder.config(PARTITIONS, str(partitions))
    if python_memory is not None:
        for name, value in {LIMIT: python_memory, **LIMITED}.items():
            builder = builder.config(name, value)
    if python is not None:
        os.environ[WORKERS_PYTHON] = python  # the one place where PySpark looks for it once a session starts
    os.environ.setdefault(WORKERS_PYTHON, sys.executable)
    return builder
