"""`slidewise run`: pipelines as batches, as streams, or as streams of what is there now."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer

from slidewise.cli.options import Conf, Files, Json, Master, Vars, read_pairs
from slidewise.cli.progress import follow_jobs
from slidewise.cli.screen import Screen, find_screen
from slidewise.cli.session import open_session
from slidewise.errors import InvalidInput
from slidewise.pipeline.batch_run import run_batch
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.run_log import BatchRecord
from slidewise.pipeline.stream_run import StreamRun

#: the line of a micro-batch: title, width, and whether it stands on the right
_COLUMNS = (("batch", 6), ("rows in", 10), ("rows/s", 9), ("rows out", 10), ("watermark", 20), ("late", 7),
            ("state", 9), ("seconds", 8))  # fmt: skip


def run(
    context: typer.Context,
    files: Files,
    batch: Annotated[bool, typer.Option("--batch", help="Compute all that the source has, and end.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Run until Ctrl-C, micro-batch by micro-batch.")] = False,
    once: Annotated[bool, typer.Option("--once", help="As a stream, take what is there now, and end.")] = False,
    live: Annotated[bool, typer.Option("--live", help="Serve a page that shows the stream, on loopback.")] = False,
    port: Annotated[int | None, typer.Option("--port", help="Of the live page; 8437, or a free one.")] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Go on from a checkpoint whose definition has changed: see `plan`.")
    ] = False,
    log: Annotated[
        str | None, typer.Option("--log", metavar="FOLDER", help="Of the run log; by default beside the checkpoint.")
    ] = None,
    variables: Vars = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Run pipelines: as a batch, as a stream, or as a stream of what is there now.

    A batch replaces the days that it gives. A stream writes every row once, over kills: start it again, and it goes
    on. Files of one source share one pass of a batch, where keys and times agree; each stream is a query of its own.

    Examples:

    [bold]slidewise run cards.yaml --batch[/bold]

    [bold]slidewise run cards.yaml --stream --live[/bold]  with a page in the browser; Ctrl-C ends it

    [bold]slidewise run a.yaml b.yaml --batch[/bold]  one pass over their source

    [bold]slidewise run cards.yaml --once --master spark://host:7077 --conf spark.executor.memory=4g[/bold]
    """
    screen = find_screen(context)
    screen.json = json
    if [batch, stream, once].count(True) != 1:
        raise typer.BadParameter("say how to run: one of --batch, --stream and --once", param_hint="--batch")
    if batch and (live or upgrade or log or port):
        raise typer.BadParameter("--live, --port, --log and --upgrade are for streams", param_hint="--batch")
    if log is not None and len(files) > 1:
        raise typer.BadParameter("--log is the folder of one stream: give run: {log: ...} in the files")
    pipelines = [screen.load(file, read_pairs(variables, "--var")) for file in files]
    with open_session(screen, pipelines, master=master, conf=read_pairs(conf, "--conf")) as session:
        if batch:
            _run_batches(screen, session, pipelines)
        else:
            runs = [StreamRun(session, each, once=once, upgrade=upgrade, log=log) for each in pipelines]
            with ExitStack() as stack:
                for each in runs if live else ():
                    stack.enter_context(_serve(screen, each, port))
                _follow_streams(screen, runs)


# ---- batches
def _run_batches(screen: Screen, session: Any, pipelines: list[Pipeline]) -> None:
    with follow_jobs(screen, session) as tell:
        results = run_batch(session, pipelines, tell)
    for each in results:
        left_out = [f"{number:,} {what}" for what, number in _count_left_out(each.untimed, each.unparsed) if number]
        screen.say(
            ("✓ ", "green"), (each.name, "bold"), f": {each.rows:,} rows in {each.days:,} days"
            + (f"; left out: {', '.join(left_out)}" if left_out else ""),
        )  # fmt: skip
    if screen.json:
        screen.give([asdict(each) for each in results])


def _count_left_out(untimed: int, unparsed: int) -> list[tuple[str, int]]:
    return [("without a time", untimed), ("that cannot be parsed", unparsed)]


# ---- streams
def _follow_streams(screen: Screen, runs: list[StreamRun]) -> None:
    """Follow all streams until they end; the first that fails ends the others."""
    records: queue.Queue[tuple[StreamRun, BatchRecord | BaseException | None]] = queue.Queue()
    threads = [threading.Thread(target=_pump, args=(each, records), daemon=True) for each in runs]
    with _stop_on_signals(screen, runs):
        for thread in threads:
            thread.start()
        if not screen.json:
            screen.say((_head(several=len(runs) > 1), "dim"))
        failed: BaseException | None = None
        going = len(runs)
        while going:
            run, record = records.get()
            if isinstance(record, BaseException):
                failed = failed or record
                for other in runs:
                    other.stop()
            if record is None or isinstance(record, BaseException):
                going -= 1
                continue
            _show_batch(screen, run.pipeline.name if len(runs) > 1 else None, record)
    if failed is not None:
        raise failed
    stopped = any(each.stopped for each in runs)
    screen.say(("✓ ", "green"), "stopped; it goes on from here when it is started again" if stopped else "done")


def _pump(run: StreamRun, records: Any) -> None:
    """Put what a run tells into a queue: its records, and None, or the error that ended it."""
    try:
        for record in run.follow():
            records.put((run, record))
        records.put((run, None))
    except BaseException as error:
        records.put((run, error))


@contextmanager
def _stop_on_signals(screen: Screen, runs: list[StreamRun]) -> Iterator[None]:
    """End the streams in order at Ctrl-C or SIGTERM; at once the second time."""

    def stop(number: int, _: Any) -> None:
        if any(each.stopped for each in runs):
            raise KeyboardInterrupt
        screen.warn("stopping after this micro-batch (Ctrl-C again: at once)")
        for each in runs:
            each.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _head(*, several: bool) -> str:
    return " ".join(title.rjust(width) for title, width in _COLUMNS) + ("  pipeline" if several else "")


def _show_batch(screen: Screen, name: str | None, record: BatchRecord) -> None:
    if screen.json:
        screen.give_line({**record, **({"pipeline": name} if name else {})})
        return
    rate = record["rows_in"] / record["seconds"] if record["seconds"] else 0.0
    dropped = record["late"] + record["ahead"] + record["untimed"] + record["unparsed"]
    cells = [
        str(record["batch"]), f"{record['rows_in']:,}", f"{rate:,.0f}", f"{record['rows_out']:,}",
        (record["watermark"] or "-")[:19].replace("1970-01-01T00:00:00", "-"), f"{dropped:,}",
        format_bytes(record["state_bytes"] or 0), f"{record['seconds']:.1f}",
    ]  # fmt: skip
    line = " ".join(cell.rjust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    screen.say(line + (f"  {name}" if name else ""))


def format_bytes(number: float) -> str:
    """Write a number of bytes for people.

    >>> format_bytes(2_143_616), format_bytes(900)
    ('2.1 MB', '900 B')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number /= 1000
        units.pop(0)
    return f"{number:.0f} B" if units[0] == "B" else f"{number:.1f} {units[0]}"


@contextmanager
def _serve(screen: Screen, run: StreamRun, port: int | None) -> Iterator[None]:
    try:
        from slidewise.live.serve import LivePage
    except ModuleNotFoundError as error:
        raise InvalidInput(f"--live needs {error.name}: pip install 'slidewise[live]'") from None
    with LivePage(run.log.folder, port=port) as page:
        screen.say("watch it at ", (page.address, "bold cyan"))
        open_browser(screen, page.address)
        yield


def open_browser(screen: Screen, address: str) -> None:
    """Open a page where there is a screen and a person."""
    import os
    import sys
    import webbrowser

    has_display = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if has_display and screen.out.is_terminal:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
