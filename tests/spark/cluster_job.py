"""What test_cluster.py runs on a cluster: core cases against the engine of columns, a task that dies, and a stream.

Arguments: the master, the Python of the executors, and a directory that all processes share.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import slidewise as sw
from slidewise.spark.session import PROVIDER, ROCKSDB


class Vwap(sw.Aggregation):
    """Of a class that only this script has."""

    identity = (0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(price, size):
        return (price * size, size)

    @staticmethod
    def combine(a, b):
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def lower(s):
        return s[0] / s[1]


class DiesOnce(sw.Aggregation):
    """The largest value; the first process to see 77.0 is killed in the middle of its task."""

    commutative = True

    def __init__(self, *columns, marker):
        super().__init__(*columns, marker=marker)

        def lift(x):
            if x == 77.0 and not Path(marker).exists():
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return x

        self.lift = lift

    @staticmethod
    def combine(a, b):
        return max(a, b)


def main(master: str, python: str, folder: str) -> None:
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("cluster")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.sql.shuffle.partitions": "4",
        "spark.python.authenticate.socketTimeout": "120s",  # of a worker on a busy machine
        PROVIDER: ROCKSDB,
        # A home and a cache that cannot be written
        "spark.executorEnv.HOME": "/dev/null/home",
        "spark.executorEnv.XDG_CACHE_HOME": "/dev/null/cache",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    installed = spark.sparkContext.parallelize(range(2), 2).map(_has_slidewise).collect()
    assert not any(installed), "the package is installed on the executors: the test would show nothing"

    rng = np.random.default_rng(3)
    rows = pa.table(
        {
            "k": rng.integers(0, 5, 4000),
            "t": rng.permutation(4000),
            "x": rng.integers(0, 100, 4000).astype(float),
            "size": rng.random(4000) + 1,
        }
    )
    call = {
        "partition_by": "k",
        "order_by": "t",
        "peak": sw.max("x").over(sw.rows(50)),
        "median": sw.median("x").over(sw.time(500)),
        "users": sw.count_distinct("x").over(sw.rows_between(-30, 30)),
        "usual": sw.mode("x").over(sw.groups_between(-9, 0)),
        "own": Vwap("x", "size").over(sw.rows(20)),
        "dies": DiesOnce("x", marker=str(Path(folder) / "died")).over(sw.rows(10)),
    }
    out = sw.with_columns(spark.createDataFrame(rows), **call).orderBy("t").toArrow()
    assert (Path(folder) / "died").exists(), "no task was killed"
    expected = sw.with_columns(rows, **call).sort_by("t")
    for name in expected.column_names:
        assert np.allclose(out[name].to_numpy(), expected[name].to_numpy(), rtol=1e-12), name
    slides = sw.aggregate(
        spark.createDataFrame(rows), partition_by="k", order_by="t", window=sw.rows(50, every=20), m=sw.max("x")
    )
    again = sw.aggregate(rows, partition_by="k", order_by="t", window=sw.rows(50, every=20), m=sw.max("x"))
    assert (
        slides.orderBy("k", "t").toArrow()["m"].to_pylist()
        == again.sort_by([("k", "ascending"), ("t", "ascending")])["m"].to_pylist()
    )
    stream(spark, rows, Path(folder))
    spark.stop()
    print("all the same")


def stream(spark: SparkSession, rows: pa.Table, folder: Path) -> None:
    """The same rows as a stream, in two micro-batches."""
    (folder / "in").mkdir()
    times = pa.array(rows["t"].to_numpy() + 1_700_000_000, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(1, "t", times).sort_by("t")
    for number in range(2):
        pq.write_table(rows[number * 2000 : (number + 1) * 2000], folder / "in" / f"{number}.parquet")
    read = spark.readStream.schema("k long, t timestamp, x double, size double").option("maxFilesPerTrigger", 1)
    call = {"partition_by": "k", "order_by": "t", "own": Vwap("x", "size").over(sw.rows(20))}
    out = sw.with_columns(read.parquet(str(folder / "in")), max_delay="0s", **call)
    writer = out.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.format("parquet").option("path", str(folder / "out")).start().awaitTermination()
    found = spark.read.parquet(str(folder / "out")).orderBy("t").toArrow()
    expected = sw.with_columns(rows, **call)
    assert len(found) == len(expected)
    assert np.allclose(found["own"].to_numpy(), expected["own"].to_numpy(), rtol=1e-12)


def _has_slidewise(_: int) -> bool:
    from importlib.util import find_spec

    return find_spec("slidewise") is not None


if __name__ == "__main__":
    main(*sys.argv[1:])
