"""Run the demo: `python -m examples.demo`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

import slidewise as sw
from examples.demo import events, features, picture, race, session, show, stream
from examples.demo.progress import status

CONSOLE = Console()


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    start = time.perf_counter()
    CONSOLE.print(Text("slidewise", "bold") + Text("  features over sliding windows on Spark", "dim"))
    folder = prepared(options.output)
    try:
        run(options, folder)
    except sw.SlidewiseError as error:  # Java is missing, or the like: the message says what to do
        CONSOLE.print(Text(str(error), "red"))
        return 1
    CONSOLE.print(Text(f"\nAll of it took {time.perf_counter() - start:.0f} s.", "dim"))
    return 0


def run(options: argparse.Namespace, folder: Path) -> None:
    session.check()

    step("1  Events of a plant")
    plant = events.write(folder / "events", options.rows, options.machines, options.seed, CONSOLE)
    CONSOLE.print(plant.summary())
    machine = plant.known(options.machine) if options.machine else plant.pictured
    pipeline = features.load(folder)

    step("2  Features, for every event")
    spark = session.start(
        options.master,
        folder / "spark.log",
        CONSOLE,
        meanwhile=lambda say: features.compile_kernels(pipeline, plant.first_rows(), say),
    )
    try:
        readings = features.read(spark, pipeline)
        CONSOLE.print(features.listed(readings))
        seconds = features.write(spark, pipeline, CONSOLE)
        CONSOLE.print(show.done(len(features.FEATURES), plant.rows, seconds))

        step(f"3  What comes out: some events of {machine}")
        CONSOLE.print(show.rows(folder / "features", machine, CONSOLE.width))

        if not options.no_race:
            step("4  Beside Spark's own windows: what both can do")
            CONSOLE.print(race.run(spark, pipeline, readings, folder / "race", CONSOLE))
    finally:
        with status("stopping Spark", CONSOLE):
            spark.stop()

    if not options.no_stream:
        step("5  The same as a stream: late, out of order, killed once")
        CONSOLE.print(stream.run(plant, folder, options.master, CONSOLE))

    step("6  To keep")
    with status("drawing", CONSOLE):
        image = picture.draw(folder / "features", machine, folder / "machine.png")
    CONSOLE.print(show.kept({"features": folder / "features", "a picture": image, "Spark's log": folder / "spark.log"}))
    if not options.no_stream:
        CONSOLE.print(show.watch(stream.checkpoint(folder)), soft_wrap=True)


def step(title: str) -> None:
    CONSOLE.print()
    CONSOLE.rule(Text(title, "bold blue"), align="left", style="blue")


def prepared(folder: Path) -> Path:
    """The output folder, without what an earlier run left in it."""
    for made in ("events", "features", "race", "stream", "_checkpoint", "_checkpoint_log"):
        shutil.rmtree(folder / made, ignore_errors=True)
    (folder / "spark.log").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parser() -> argparse.ArgumentParser:
    it = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description="Generates the events of a plant, computes features over sliding windows with slidewise on a local "
        "Spark, compares with Spark's own windows where Spark has them, computes the same on a stream that is killed "
        "and started again, and writes Parquet and a picture.",
        epilog="The long one: python -m examples.demo --rows 2M. Java 17 or newer must be installed.",
    )
    it.add_argument("--rows", type=amount, default="200k", metavar="N", help="events to generate, as 500k or 3M (200k)")
    it.add_argument("--machines", type=amount, default="200", metavar="N", help="machines that they come from (200)")
    it.add_argument("--machine", metavar="NAME", help="the machine to show, as lathe-002 (the third busiest)")
    it.add_argument("--seed", type=int, default=1, metavar="N", help="other events for another number (1)")
    it.add_argument("--master", default="local[*]", help="where Spark runs (local[*]: here, on all cores)")
    it.add_argument(
        "--output", type=Path, default=Path("demo-output"), metavar="FOLDER", help="where results go (demo-output)"
    )
    it.add_argument("--no-race", action="store_true", help="leave out the comparison with Spark's own windows")
    it.add_argument("--no-stream", action="store_true", help="leave out the stream")
    return it


def amount(text: str) -> int:
    """A number of rows, with k or M for thousands and millions."""
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    try:
        number = round(float(text[:-1] if factor > 1 else text) * factor)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount: try 500k, 3M or 1000000")
    return number


if __name__ == "__main__":
    sys.exit(main())
