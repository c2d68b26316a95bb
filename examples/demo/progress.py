"""Progress of a step, of a loop, and of what Spark is doing: as it goes on in a terminal, a line of each in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def status(label: str, console: Console) -> Iterator[Callable[[str], None]]:
    """What the body does, and how long it has taken; it may put other words in place of these: say(label)."""
    with _progress(label, console) as progress:
        task = progress.add_task(label)

        def say(label: str) -> None:
            progress.update(task, description=label)
            _log(label, console)

        yield say


@contextmanager
def bar(label: str, total: int, console: Console) -> Iterator[Callable[[int], None]]:
    """A bar for a loop that tells how far it got: advance(n)."""
    with _progress(label, console, *_bar("rows")) as progress:
        task = progress.add_task(label, total=total)
        yield lambda n: progress.advance(task, n)


@contextmanager
def spark_bar(label: str, spark: SparkSession, console: Console) -> Iterator[None]:
    """A bar of the tasks of the stage that Spark is at, while the body runs."""
    tracker = spark.sparkContext.statusTracker()
    finished = threading.Event()

    def follow(progress: Progress) -> None:
        task = progress.add_task(label, total=1)
        while not finished.wait(0.2):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            at_work = [stage for stage in stages if stage is not None]
            if at_work:
                done = sum(stage.numCompletedTasks for stage in at_work)
                progress.update(task, total=sum(stage.numTasks for stage in at_work), completed=done)

    with _progress(label, console, *_bar("tasks")) as progress:
        follower = threading.Thread(target=follow, args=(progress,), daemon=True)
        follower.start()
        try:
            yield
        finally:
            finished.set()
            follower.join()


def _bar(unit: str) -> tuple[ProgressColumn, ...]:
    return BarColumn(40), TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit)


def _progress(label: str, console: Console, *more: ProgressColumn) -> Progress:
    _log(label, console)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), *more, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _log(label: str, console: Console) -> None:
    if not console.is_terminal:
        console.print(Text(f"{label} ...", "dim"))


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """How many seconds the body took, or has taken so far."""
    start = time.perf_counter()
    end: list[float] = []
    yield lambda: (end[0] if end else time.perf_counter()) - start
    end.append(time.perf_counter())
