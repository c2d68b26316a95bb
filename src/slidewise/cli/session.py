"""The Spark session of a command: embedded, on a cluster, or the one of spark-submit."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from slidewise.cli.screen import Screen
from slidewise.pipeline.pipeline import Pipeline
from slidewise.spark.requirements import require_java, require_packages
from slidewise.spark.session import PARTITIONS, SETTINGS, configure

#: What a Spark inside this process needs: neither its page nor its bar, and no other machine.
LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
#: Lines that every start of Spark, and of a worker of its streams, writes, and that tell nothing.
CHATTER = re.compile(
    r"\s*$|(Starting )?Streaming TransformWithState|"
    r"WARNING: Using incubator modules|Using Spark's default log4j|Setting default log level|"
    r"To adjust logging level|.*WARN NativeCodeLoader|.*WARN Utils: (Your hostname|Set SPARK_LOCAL_IP)"
)


@contextmanager
def open_session(
    screen: Screen,
    pipelines: Iterable[Pipeline] = (),
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """Open the session that pipelines run on, and close it if it was not there before.

    What `--conf` sets comes first, then what spark-submit (or a session that is there) was told, then `run:` of the
    files, then `defaults`. A master that is set already is never replaced.
    """
    require_packages(protobuf=True)
    from pyspark.sql import SparkSession

    pipelines = list(pipelines)
    builder = configure(SparkSession.builder.appName(pipelines[0].name if pipelines else "slidewise"))
    found = SparkSession.getActiveSession()
    if found is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit's JVM runs this, and has its settings
        with _stop_at_end(_start(screen, SparkSession.builder)) as submitted:
            yield _set_up(_choose_settings(pipelines, defaults, submitted) | dict(conf or {}))
    elif found is not None:
        yield _set_up(_choose_settings(pipelines, defaults, found) | dict(conf or {}))
    else:
        settings = _choose_settings(pipelines, defaults, None)
        if "SPARK_REMOTE" not in os.environ:
            master = master or _find_configured_master() or "local[*]"
            builder = builder.master(master)
            if master.startswith("local"):
                require_java()
                settings = {**LOCAL, PARTITIONS: str(count_cores(master))} | settings
        builder = _apply(builder, settings | dict(conf or {}))
        with _stop_at_end(_start(screen, builder)) as session:
            yield session


def _choose_settings(pipelines: list[Pipeline], defaults: Mapping[str, str] | None, session: Any) -> dict[str, str]:
    """Choose what to set; of a session that is there, only what it was not told."""
    settings = {**SETTINGS, **(defaults or {}), **_read_run(pipelines)}
    if session is None:
        return settings
    told = _read_told(session)
    if told.get("spark.master", "").startswith("local"):
        settings = {PARTITIONS: str(count_cores(told["spark.master"]))} | settings
    return {name: value for name, value in settings.items() if name not in told}


def _read_told(session: Any) -> dict[str, str]:
    """Read what a session was told when it started; of Spark Connect, its server knows."""
    return {} if "connect" in type(session).__module__ else dict(session.sparkContext.getConf().getAll())


def _set_up(settings: Mapping[str, str]) -> Any:
    """Set what can be set in the session that is there."""
    from pyspark.sql import SparkSession

    return _apply(SparkSession.builder, settings).getOrCreate()


def _apply(builder: Any, settings: Mapping[str, str]) -> Any:
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


@contextmanager
def _stop_at_end(session: Any) -> Iterator[Any]:
    try:
        yield session
    finally:
        session.stop()


def _read_run(pipelines: list[Pipeline]) -> dict[str, str]:
    """Read the settings of the files' `run:`."""
    settings: dict[str, str] = {}
    for pipeline in pipelines:
        run = pipeline.definition.run
        if run.partitions is not None:
            settings[PARTITIONS] = str(run.partitions)
        settings |= {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in run.conf.items()}
    return settings


def count_cores(master: str) -> int:
    """Count the cores that a local master has.

    >>> count_cores("local"), count_cores("local[3]"), count_cores("local[4,2]")
    (1, 3, 4)
    """
    inside = re.fullmatch(r"local(?:\[([^,\]]+).*\])?", master)
    number = inside[1] if inside is not None else None
    if number == "*":
        return os.cpu_count() or 1
    return int(number) if number is not None and number.isdigit() else 1


def _find_configured_master() -> str | None:
    """Find a master in what every Spark of this machine is told: its defaults, and PYSPARK_SUBMIT_ARGS."""
    words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for option, value in pairwise(words):
        if option == "--master":
            return value
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and str(Path(home) / "conf"))
    file = Path(folder) / "spark-defaults.conf" if folder else None
    if file is None or not file.is_file():
        return None
    lines = (re.split(r"[\s=]+", line.strip(), maxsplit=1) for line in file.read_text("utf-8").splitlines())
    return next((line[1].strip() for line in lines if len(line) == 2 and line[0] == "spark.master"), None)


# ---- the start
def _start(screen: Screen, builder: Any) -> Any:
    """Start Spark; what it writes meanwhile goes to standard error, without what every start writes."""
    if screen.err.is_terminal:
        screen.err.print("starting Spark ...", end="\r", style="dim")
    with _divert_output(screen):
        session = builder.getOrCreate()
    if screen.err.is_terminal:
        screen.err.print(" " * len("starting Spark ..."), end="\r")
    session.sparkContext.setLogLevel("ERROR")
    silence_queries()
    return session


def silence_queries() -> None:
    """Keep Spark's Python from logging errors of queries that are told of anyway."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel("CRITICAL")


@contextmanager
def _divert_output(screen: Screen) -> Iterator[None]:
    """Give a process that starts inside a pipe to standard error, as its output and its errors. Secrets are masked."""
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    out, err = os.dup(1), os.dup(2)
    threading.Thread(target=_forward, args=(screen, read, err), daemon=True).start()
    os.dup2(write, 1)
    os.dup2(write, 2)
    os.close(write)
    try:
        yield
    finally:
        os.dup2(out, 1)
        os.dup2(err, 2)  # err itself stays open: the JVM may write as long as it lives
        os.close(out)


def _forward(screen: Screen, source: int, target: int) -> None:
    with os.fdopen(source, "r", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if not CHATTER.match(line):
                os.write(target, screen.mask(line).encode())
