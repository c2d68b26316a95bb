"""A bar for work that takes its time: days done, and the tasks of Spark meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from slidewise.cli.screen import Screen

#: seconds between two looks at Spark's tasks
POLL = 0.3


@contextmanager
def follow_jobs(screen: Screen, session: Any) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar where a person watches; what comes is called with what is done, how much, and of how much."""
    if not screen.err.is_terminal:
        yield lambda what, done, of: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=screen.err, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        state: dict[str, Any] = {"what": "starting", "done": 0, "of": 0}
        ended = threading.Event()

        def tell(what: str, done: int, of: int) -> None:
            state.update(what=what, done=done, of=of)
            bar.update(task, description=what, completed=done, total=of or None)

        def look() -> None:
            while not ended.wait(POLL):
                done, of = count_tasks(session)
                if of:
                    days = f" {state['done']}/{state['of']} days" if state["of"] else ""
                    bar.update(task, description=f"{state['what']}{days} ({done}/{of} tasks)")

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield tell
        finally:
            ended.set()
            thread.join()


def count_tasks(session: Any) -> tuple[int, int]:
    """Count the tasks of the stages that Spark works on: those that are done, and all."""
    tracker = session.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    found = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in found), sum(stage.numTasks for stage in found)
