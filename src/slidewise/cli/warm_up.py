"""`slidewise warm-up`: compile kernels ahead."""

from __future__ import annotations

from itertools import product
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from slidewise.cli.options import Json
from slidewise.cli.screen import find_screen


def warm_up(
    context: typer.Context,
    aggregations: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Aggregations: max, median, ... By default the usual ones."),
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Arrow's types of columns; may be repeated.")
    ] = None,
    windows: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="WINDOW", help="Kinds of windows, as in a file: 1h, 100 rows; may be repeated."),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Also the code of Window.push, event by event.")] = False,
    json: Json = False,
) -> None:
    """Compile kernels ahead, in an image or on a new machine, so that the first user does not wait for them.

    They are kept on disk, in NUMBA_CACHE_DIR or beside the package; `slidewise doctor` tells where.

    Examples:

    [bold]slidewise warm-up[/bold]  what most pipelines use

    [bold]slidewise warm-up max median --type float64 --over 1h[/bold]
    """
    from slidewise.columns import warm_up as kernels
    from slidewise.pipeline.features import build_window

    screen = find_screen(context)
    screen.json = json
    chosen = [build_window(text) for text in windows] if windows else list(kernels.WINDOWS)
    work = list(product(aggregations or kernels.AGGREGATIONS, types or kernels.TYPES, chosen))
    compiled = there = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen.err, transient=True, disable=not screen.err.is_terminal) as progress:
        bar = progress.add_task("", total=len(work))
        for name, kind, window in work:
            progress.update(bar, description=f"{name} of {kind} over {window}")
            done = kernels.warm_up([name], types=[kind], windows=[window], events=events)
            compiled, there = compiled + done.compiled, max(there, done.there)
            progress.advance(bar)
    screen.say(("✓ ", "green"), f"{compiled} kernels compiled, {there} were there")
    if json:
        screen.give({"compiled": compiled, "there": there})
