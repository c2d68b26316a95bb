"""The papers' experiments: `python -m benchmarks.papers` runs them, and puts each claim beside our figures.

It writes report.md, report.html (one file), results.json and the pictures. It can be stopped at any time: started
again, it goes on with the experiments that are missing. --only takes ids, or their beginnings: `--only daba ra-fig6`.

--beside takes figures of others, such as those of the authors' own programs on your machine, as CSV:

    experiment,panel,series,x,value,label
    daba-fig10,sum,DABA Lite,16384,137.0,C++

They are shown in the pictures as dashed lines, named "DABA Lite (C++)", in the unit of the figure; verdicts do not use
them.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.machine import describe
from benchmarks.papers import report
from benchmarks.papers.collection import collect, select
from benchmarks.papers.experiment import Cell, Experiment, NotRun, Scale
from benchmarks.papers.runs import Run, Runs, read_beside

#: how long a scale takes, as a share of the full one: a first guess, corrected as experiments end
_SHARE = {"tiny": 0.01, "quick": 0.2, "full": 1.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    0 where all went well, 1 where an experiment failed, 2 for wrong arguments, 130 where it was stopped.
    """
    options = _options(arguments)
    console = Console(stderr=True)
    try:
        experiments = collect()
        chosen = select(experiments, options.only)
        beside = read_beside(options.beside, list(experiments)) if options.beside else {}
        runs = Runs(options.out / "results.json")
    except (ValueError, OSError) as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        return 2
    machine = describe("numba", "numpy", "pyspark")
    if options.fresh:
        runs.forget(e.id for e in chosen)
    todo = [e for e in chosen if not runs.finished(e.id, options.scale.name, machine)]
    if len(todo) < len(chosen):
        console.print(f"{len(chosen) - len(todo)} were run before, and are not run again without --fresh", style="dim")
    status = _run_all(todo, options.scale, machine, runs, console)
    sections = report.build_sections(experiments.values(), runs, beside)
    written = report.write(options.out, sections)
    _tell(sections, chosen, console)
    console.print(f"wrote {written[1]}, and {len(written)} more files beside it", highlight=False)
    if status == 130:
        same = "The same command, without --fresh," if options.fresh else "The same command"
        console.print(f"stopped. {same} goes on from here", style="yellow")
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="ID", help="ids, or their beginnings")
    scale = parser.add_mutually_exclusive_group()
    scale.set_defaults(scale=Scale("full"))
    scale.add_argument(
        "--quick",
        dest="scale",
        action="store_const",
        const=Scale("quick"),
        help="4 minutes: every second x, one run, no Spark",
    )
    scale.add_argument(
        "--tiny",
        dest="scale",
        action="store_const",
        const=Scale("tiny"),
        help="the sizes of the tests: figures mean nothing",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("papers-output"), help="where to write (default: papers-output)"
    )
    parser.add_argument("--fresh", action="store_true", help="run again what was run before")
    parser.add_argument("--beside", type=Path, metavar="CSV", help="figures of others, shown beside ours")
    return parser.parse_args(arguments)


def _run_all(todo: Sequence[Experiment], scale: Scale, machine: str, runs: Runs, console: Console) -> int:
    """Run them one after the other, and keep each as it ends."""
    status = 0
    clock = _Clock(todo, scale)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=clock.total, left="")
        for k, experiment in enumerate(todo, 1):

            def show(cell: Cell | None, experiment: Experiment = experiment, k: int = k) -> None:
                where = "" if cell is None else ", ".join(str(p) for p in (cell.panel, cell.series, cell.x) if p != "")
                progress.update(
                    task,
                    description=f"{k} of {len(todo)}: {experiment.id} {where}"[:70],
                    completed=clock.done(),
                    left=clock.left(),
                )

            clock.begin(experiment)
            show(None)
            try:
                run = _run_one(experiment, scale, machine, show)
            except KeyboardInterrupt:
                return 130
            except Exception as error:
                run = Run(
                    scale.name, machine, _today(), clock.spent(), 0.0, [], f"it failed: {type(error).__name__}: {error}"
                )
                console.print_exception()
                status = 1
            runs.keep(experiment.id, run)
            clock.end(experiment)
            console.print(
                f"{experiment.id}: {run.seconds:.1f} s" + (f". Not run: {run.not_run}" if run.not_run else ""),
                highlight=False,
            )
    return status


def _run_one(experiment: Experiment, scale: Scale, machine: str, show: Callable[[Cell | None], None]) -> Run:
    from numba.core import event

    cells: list[Cell] = []
    compiling: list[float] = []
    why = ""
    begin = time.perf_counter()
    with event.install_timer("numba:compile", compiling.append):
        try:
            for cell in experiment.run(scale):
                cells.append(cell)
                show(cell)
        except NotRun as reason:
            why, cells = str(reason), []
    seconds = time.perf_counter() - begin
    return Run(scale.name, machine, _today(), seconds, sum(compiling), cells, why, _measure_load())


def _measure_load() -> float:
    """The system's load of the last minute: it tells a reader whether the machine did anything else."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


class _Clock:
    """How long is left: what the experiments say, corrected by how long those took that have ended."""

    def __init__(self, todo: Sequence[Experiment], scale: Scale) -> None:
        self._guess = {e.id: e.seconds * _SHARE[scale.name] for e in todo}
        self.total = sum(self._guess.values()) or 1.0
        self._ended = self._took = 0.0
        self._current = 0.0
        self._begin = time.perf_counter()

    def begin(self, experiment: Experiment) -> None:
        self._current, self._begin = self._guess[experiment.id], time.perf_counter()

    def end(self, experiment: Experiment) -> None:
        self._took += self.spent()
        self._ended += self._guess[experiment.id]
        self._current = 0.0

    def spent(self) -> float:
        """Seconds of the experiment that runs."""
        return time.perf_counter() - self._begin

    def _pace(self) -> float:
        """Seconds for each that was guessed; the first experiments count little."""
        return (self._took + 10) / (self._ended + 10)

    def done(self) -> float:
        """What has been done, in the guess's seconds."""
        return self._ended + min(self.spent() / self._pace(), self._current)

    def left(self) -> str:
        seconds = (self.total - self.done()) * self._pace()
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"


def _tell(sections: Sequence[report.Section], chosen: Sequence[Experiment], console: Console) -> None:
    """The verdicts of this run's experiments, in the terminal."""
    colors = {"agrees": "green", "differs": "yellow", "not run": "dim"}
    for section in sections:
        if section.experiment in chosen:
            for claim, verdict in section.verdicts:
                console.print(f"[{colors[verdict.outcome]}]{verdict.outcome:8}[/]", end=" ")
                console.print(f"{claim.id}: {verdict.ours or verdict.why}", markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
