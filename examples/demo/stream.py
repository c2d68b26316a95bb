"""The same pipeline as a stream: events as they arrive, a kill in the middle, and the rows of the batch in the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
from slidewise.pipeline.run_log import BatchRecord, LogReader, Record, Values, folder_of

#: each is a micro-batch
FILES = 5
#: how many machines, and how many of the last micro-batches are shown
MACHINES, SHOWN = 4, 8
#: longer than rows wait for others that are late (max_delay in plant.yaml)
LATER = 3_600_000_000
#: seconds between two looks at the run log
POLL = 0.1
#: the watermark of a stream that has seen no row
EPOCH = "1970-01-01T00:00:00Z"
ROOT = Path(__file__).parents[2]


def checkpoint(folder: Path) -> Path:
    """Where the stream keeps its state; its run log is beside it."""
    return folder / "stream" / "_checkpoint"


def run(plant: Plant, folder: Path, master: str, console: Console, files: int = FILES) -> RenderableType:
    """Stream the events, killing the process once, and compare with what the batch wrote."""
    lake = folder / "stream"
    cut(plant.path, lake / "events", files)
    command = [sys.executable, "-m", "examples.demo.stream_job", str(lake.resolve()), master]
    busiest = [machine for machine, _ in plant.per_machine.most_common(MACHINES)]
    board = Board(busiest, console.width, say=console.print if not console.is_terminal else lambda line: None)
    log = LogReader(folder_of(checkpoint(folder)))
    with ExitStack() as shown:
        if console.is_terminal:
            shown.enter_context(page(log.folder, console))
            shown.enter_context(Live(board, console=console, transient=True))
        with job(command, lake / "log") as process:
            follow(process, log, board, kill_after=files // 2)
        console.print(
            Text("Killed with SIGKILL", "bold red"),
            f"in the middle of a micro-batch, after {len(board.reports)} of them. Started again from its checkpoint.",
        )
        with job(command, lake / "log") as process:
            follow(process, log, board)
    board.at_work = None
    console.print(board)
    columns = ["machine", "ts", *FEATURES]
    with status("comparing with the features of the batch", console):
        batch, streamed = (pq.read_table(each / "features", columns=columns) for each in (folder, lake))
        found = compare(batch, streamed, by="ts")
        shutil.rmtree(lake / "local", ignore_errors=True)
    return verdict(found, plant.rows)


@contextmanager
def page(log: Path, console: Console) -> Iterator[None]:
    """The live page, while the stream runs; it opens where there is a screen."""
    from slidewise.cli.run import open_browser
    from slidewise.cli.screen import Screen
    from slidewise.live.serve import LivePage

    with LivePage(log) as live:
        console.print("Watch it live at", Text(live.address, "bold cyan"))
        open_browser(Screen(), live.address)
        yield


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
def job(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The stream's process, in a group of its own, to its end; it does not outlive a body that fails."""
    with log.open("ab") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)
    try:
        yield process
        process.wait()
    finally:
        if process.poll() is None:
            kill(process)
        process.wait()
    if process.returncode not in (0, -signal.SIGKILL):
        raise sw.SlidewiseError(f"the stream ended with code {process.returncode}: {log} says why")


def kill(process: subprocess.Popen[bytes]) -> None:
    """Nothing can be put in order any more: the group is the driver's Python and its Java."""
    os.killpg(process.pid, signal.SIGKILL)


def follow(process: subprocess.Popen[bytes], log: LogReader, board: Board, kill_after: int | None = None) -> None:
    """Show what the run log says until the process is done, or killed after so many micro-batches."""
    board.work("starting Spark in a process of its own")
    ended = False
    while not ended:
        ended = process.poll() is not None
        for record in log.read():
            board.take(record)
            if record["kind"] == "batch" and kill_after is not None and len(board.reports) >= kill_after:
                time.sleep(record["seconds"] / 2)
                kill(process)
                kill_after = None
        time.sleep(POLL)


# ---- what is shown
class Board:
    """The last micro-batches, and the newest features of some machines: what the run log tells."""

    def __init__(self, machines: list[str], width: int, say: Callable[[str], None] = lambda line: None) -> None:
        self.width = width
        #: where no terminal shows the board as it changes, a line for every change
        self.say = say
        #: what the process has told, by micro-batch: after a kill, one may be done again
        self.reports: dict[int, BatchRecord] = {}
        #: None: all is done
        self.at_work: str | None = None
        self._newest: dict[str, dict[str, Any] | None] = dict.fromkeys(machines)
        self._spinner = Spinner("dots")

    def work(self, at: str) -> None:
        """Begin to do something else."""
        self.at_work = at
        self.say(f"{at} ...")

    def take(self, record: Record) -> None:
        """Take in what is told: a micro-batch is done, or has given rows."""
        if record["kind"] == "values":
            self._take_values(record)
        elif record["kind"] == "batch":
            self.at_work = "streaming"
            self.reports[record["batch"]] = record
            self.say(f"micro-batch {record['batch']}: {record['rows_out']:,} rows out, {record['seconds']:.1f} s")

    def _take_values(self, values: Values) -> None:
        for found in values["keys"]:
            [machine] = found["key"]
            for row in found["rows"][-1:] if machine in self._newest else ():  # there may be none, but rows that wait
                clock = datetime.fromisoformat(row["time"] or EPOCH).astimezone(UTC).strftime("%H:%M:%S")
                self._newest[machine] = {"machine": machine, **row["inputs"], **row["results"], "ts": clock}

    def __rich__(self) -> RenderableType:
        reports = list(self.reports.values())
        machines = [row for row in self._newest.values() if row is not None]
        newest = show.listed(machines, {"machine": "s"} | show.SHOWN | {"ts": "s"}, self.width)
        return Group(_batches(reports[-SHOWN:]), newest, self._status(reports)) if reports else self._status(reports)

    def _status(self, reports: list[BatchRecord]) -> RenderableType:
        read, out = sum(report["rows_in"] for report in reports), sum(report["rows_out"] for report in reports)
        late = sum(report["late"] for report in reports)
        total = f"{len(reports)} micro-batches: {read:,} rows in, {out:,} out, {late:,} late"
        if self.at_work is None:
            return Text(total)
        self._spinner.update(text=f"{self.at_work}; {total}")
        return self._spinner


def _batches(reports: list[BatchRecord]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))
    for name in ("batch", "rows in", "rows out", "watermark", "late", "pieces", "state", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for report in reports:
        table.add_row(
            str(report["batch"]),
            f"{report['rows_in']:,}",
            f"{report['rows_out']:,}",
            datetime.fromisoformat(report["watermark"] or EPOCH).strftime("%H:%M:%S"),
            f"{report['late']:,}",
            f"{report['state_rows'] or 0:,}",
            f"{(report['state_bytes'] or 0) / 1e6:,.1f} MB",
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
