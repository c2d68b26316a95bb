"""`slidewise backfill`: past days, computed again."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from typing import Annotated

import typer

from slidewise.cli.options import Conf, File, Json, Master, Vars, read_pairs
from slidewise.cli.progress import follow_jobs
from slidewise.cli.screen import find_screen
from slidewise.cli.session import open_session
from slidewise.pipeline.backfill import backfill as fill


def backfill(
    context: typer.Context,
    file: File,
    start: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day (UTC): 2026-01-01.")],
    end: Annotated[str, typer.Option("--to", metavar="DAY", help="The day after the last one.")],
    step: Annotated[
        int | None,
        typer.Option("--step", min=1, metavar="DAYS", help="So many days at a time; all, unless told."),
    ] = None,
    variables: Vars = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Compute past days again, and replace them in the sink, one by one.

    The source is read as far back and ahead as frames reach. To do it twice gives the same; where it is killed, the
    same command goes on after the last day that it replaced.

    Examples:

    [bold]slidewise backfill cards.yaml --from 2026-01-01 --to 2026-02-01[/bold]  January

    [bold]slidewise backfill cards.yaml --from 2025-01-01 --to 2026-01-01 --step 30[/bold]  in twelve pieces or so
    """
    screen = find_screen(context)
    screen.json = json
    days = _read_day(start, "--from"), _read_day(end, "--to")
    pipeline = screen.load(file, read_pairs(variables, "--var"))
    with (
        open_session(screen, [pipeline], master=master, conf=read_pairs(conf, "--conf")) as session,
        follow_jobs(screen, session) as tell,
    ):
        done = fill(session, pipeline, *days, step=step, tell=tell)
    resumed = f", {done.resumed} of them by the run before" if done.resumed else ""
    screen.say(("✓ ", "green"), (pipeline.name, "bold"), f": {done.days:,} days replaced{resumed}; read: {done.reads}")
    if json:
        screen.give(asdict(done))


def _read_day(text: str, option: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"a day is written 2026-01-31, got {text!r}", param_hint=option) from None
