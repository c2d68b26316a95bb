"""`slidewise plan`: a checkpoint's definition beside the file's."""

from __future__ import annotations

from dataclasses import asdict

import typer

from slidewise.cli.exit_codes import FAILED
from slidewise.cli.options import Conf, File, Json, Master, Vars, read_pairs
from slidewise.cli.screen import find_screen
from slidewise.cli.session import open_session
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.source import read_source
from slidewise.pipeline.upgrade import has_begun, plan_upgrade


def plan(
    context: typer.Context,
    file: File,
    variables: Vars = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Show what becomes of a checkpoint under the file as it is now. Nothing is touched.

    Features are kept, added, changed or removed; where the stream cannot go on, it says why. `run --upgrade` does it.

    Examples:

    [bold]slidewise plan cards.yaml[/bold]

    Ends with 0 where the stream can go on, and with 1 where it cannot.
    """
    screen = find_screen(context)
    screen.json = json
    pipeline = screen.load(file, read_pairs(variables, "--var"))
    with open_session(screen, [pipeline], master=master, conf=read_pairs(conf, "--conf")) as session:
        check_pipeline(session, pipeline, streaming=True, begun=has_begun(session, pipeline))
        source = pipeline.definition.source
        assert source is not None
        found = plan_upgrade(session, pipeline, read_source(session, source, pipeline.folder, streaming=True).df)
    screen.say(str(found))
    if json:
        screen.give(asdict(found) | {"changes": found.changes})
    if found.refused is not None:
        raise typer.Exit(FAILED)
