"""A Spark of our own, in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from examples.demo.progress import status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "2g",
    # on two cores and so little data, threads that collect garbage only take the place of others
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # a few tasks per core: enough to see them advance, and to even out machines of different size
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # the rival at its best: without it, Spark reads the whole frame again for every row
    "spark.sql.window.segmentTree.enabled": "true",
}


def check() -> None:
    """Java and PySpark are there, or the error says what to install: before anything is generated."""
    from slidewise.spark import requirements

    requirements.require_packages()
    requirements.require_java()


def start(
    master: str,
    log: Path,
    console: Console,
    settings: dict[str, str] = SETTINGS,
    meanwhile: Callable[[Callable[[str], None]], None] = lambda say: None,
) -> SparkSession:
    """Start Spark, and send what it says to a file; do something else in the meantime, which says how far it is."""
    from pyspark.sql import SparkSession

    import slidewise.spark

    builder = slidewise.spark.configure(SparkSession.builder.appName("slidewise demo").master(master))
    for key, value in settings.items():
        builder = builder.config(key, value)
    label = "starting Spark"
    with status(label, console) as say, standard_error_in(log), ThreadPoolExecutor(1) as beside:
        other = beside.submit(meanwhile, lambda text: say(f"{label}, {text}"))
        spark = builder.getOrCreate()
        label = "Spark has started"
        other.result()
        return spark


@contextmanager
def standard_error_in(path: Path) -> Iterator[None]:
    """Processes that start in the body, Spark's Java and its workers, write their complaints to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
