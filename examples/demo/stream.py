"""The same features on a stream: events as they arrive, a kill in the middle, and the rows of the batch in the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

import slidewise as sw
from examples.demo import show
from examples.demo.compare import Comparison, compare
from examples.demo.events import Plant
from examples.demo.features import FEATURES
from examples.demo.progress import status

#: each is a micro-batch
FILES = 6
#: how many machines, and how many of the last micro-batches are shown
MACHINES, SHOWN = 4, 8
#: longer than rows wait for others that are late (stream_job.MAX_DELAY)
LATER = 3_600_000_000
ROOT = Path(__file__).parents[2]


def run(
    plant: Plant, features: Path, folder: Path, master: str, console: Console, files: int = FILES
) -> RenderableType:
    """Stream the events, killing the query once, and compare with what the batch wrote."""
    cut(plant.path, folder / "in", files)
    busiest = [machine for machine, _ in plant.per_machine.most_common(MACHINES)]
    command = [sys.executable, "-m", "examples.demo.stream_job", str(folder.resolve()), master, *busiest]
    board = Board(console.width, say=console.print if not console.is_terminal else lambda line: None)
    with Live(board, console=console, transient=True) if console.is_terminal else nullcontext():
        with job(command, folder / "log") as process:
            follow(process, board, kill_after=files // 2)
        console.print(
            Text("Killed with SIGKILL", "bold red"),
            f"in the middle of a micro-batch, after {len(board.reports)} of them. Started again from its checkpoint.",
        )
        with job(command, folder / "log") as process:
            written = follow(process, board)
    console.print(board)
    columns = ["machine", "ts", *FEATURES]
    with status("comparing with the features of the batch", console):
        found = compare(pq.read_table(features, columns=columns), pq.read_table(written, columns=columns), by="ts")
        shutil.rmtree(folder)
    return verdict(found, plant.rows)


def cut(events: Path, folder: Path, files: int) -> None:
    """Files of events in the order in which they arrive, which Spark takes by their times.

    Rows wait for the watermark, which follows the newest row: a last one, of a later time, lets all others go.
    """
    folder.mkdir(parents=True)
    rows = pa.concat_tables([pq.read_table(file) for file in sorted(events.iterdir())])
    last = rows.slice(len(rows) - 1)
    later = pa.array([pc.max(rows["ts"]).cast(pa.int64()).as_py() + LATER]).cast(rows.schema.field("ts").type)
    last = last.set_column(rows.column_names.index("ts"), rows.schema.field("ts"), later)
    size = -(-len(rows) // files)
    for number, part in enumerate([*(rows.slice(first, size) for first in range(0, len(rows), size)), last]):
        file = folder / f"{number:03}.parquet"
        pq.write_table(part, file)
        os.utime(file, (number, number))


# ---- the process
@contextmanager
def job(command: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    """The query's process, in a group of its own, to its end; it does not outlive a body that fails."""
    with log.open("ab") as complaints:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=complaints, text=True, start_new_session=True
        )
    try:
        yield process
        process.wait()
    finally:
        if process.poll() is None:
            kill(process)
        process.communicate()
    if process.returncode not in (0, -signal.SIGKILL):
        raise sw.SlidewiseError(f"the stream ended with code {process.returncode}: {log} says why")


def kill(process: subprocess.Popen[str]) -> None:
    """Nothing can be put in order any more: the group is the driver's Python and its Java."""
    os.killpg(process.pid, signal.SIGKILL)


def follow(process: subprocess.Popen[str], board: Board, kill_after: int | None = None) -> list[str]:
    """Show what the process says until it is done, or killed after so many micro-batches; the files that it wrote."""
    assert process.stdout is not None
    written: list[str] = []
    board.work("starting Spark in a process of its own")
    for line in process.stdout:
        said = json.loads(line)
        if "files" in said:
            board.at_work = None
            written = [unquote(urlparse(file).path) for file in said["files"]]
            continue
        board.report(said)
        if kill_after is not None and len(board.reports) >= kill_after:
            time.sleep(said["seconds"] / 2)
            kill(process)
            kill_after = None
    return written


# ---- what is shown
class Board:
    """The last micro-batches, and the newest features of some machines."""

    def __init__(self, width: int, say: Callable[[str], None] = lambda line: None) -> None:
        self.width = width
        #: where no terminal shows the board as it changes, a line for every change
        self.say = say
        #: what the process has said, by micro-batch: after a kill, one may be done again
        self.reports: dict[int, dict[str, Any]] = {}
        #: None: all is done
        self.at_work: str | None = None
        self._spinner = Spinner("dots")

    def work(self, at: str) -> None:
        """Begin to do something else."""
        self.at_work = at
        self.say(f"{at} ...")

    def report(self, said: dict[str, Any]) -> None:
        """A micro-batch is done."""
        self.at_work = "streaming"
        self.reports[said["batch"]] = said
        self.say(f"micro-batch {said['batch']}: {said['out']:,} rows out, {said['seconds']:.1f} s")

    def __rich__(self) -> RenderableType:
        reports = list(self.reports.values())
        machines = {row["machine"]: row for report in reports for row in report["machines"]}
        newest = show.listed(list(machines.values()), {"machine": "s"} | show.SHOWN | {"ts": "s"}, self.width)
        return Group(_batches(reports[-SHOWN:]), newest, self._status(reports)) if reports else self._status(reports)

    def _status(self, reports: list[dict[str, Any]]) -> RenderableType:
        read, out, late = (sum(report[name] for report in reports) for name in ("read", "out", "late"))
        total = f"{len(reports)} micro-batches: {read:,} rows in, {out:,} out, {late:,} late"
        if self.at_work is None:
            return Text(total)
        self._spinner.update(text=f"{self.at_work}; {total}")
        return self._spinner


def _batches(reports: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))
    for name in ("batch", "rows in", "rows out", "watermark", "late", "pieces", "written", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for report in reports:
        table.add_row(
            str(report["batch"]),
            f"{report['read']:,}",
            f"{report['out']:,}",
            datetime.fromisoformat(report["watermark"]).strftime("%H:%M:%S"),
            f"{report['late']:,}",
            f"{report['pieces']:,}",
            f"{report['bytes'] / 1e6:,.1f} MB",
            f"{report['seconds']:.1f}",
        )
    return table


def verdict(found: Comparison, rows: int) -> Text:
    """The last line: how many rows differ."""
    style = "bold red" if found.rows else "bold green"
    some = ", ".join(f"{name} in {count:,}" for name, count in found.columns.items())
    return Text.assemble(
        (f"{found.rows:,} of {rows:,} rows differ from those of the batch", style),
        f": {found.unmatched:,} are missing or too many; {some}" if found.rows else ", and none came twice.",
    )
