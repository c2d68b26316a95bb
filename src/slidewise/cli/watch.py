"""`slidewise watch`: the live page of a run, also of one that has ended."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from slidewise.cli.run import open_browser
from slidewise.cli.screen import find_screen
from slidewise.errors import InvalidInput
from slidewise.pipeline.run_log import NEWEST, folder_of


def watch(
    context: typer.Context,
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The checkpoint, or the folder of --log.")],
    host: Annotated[
        str, typer.Option("--host", help="Loopback unless told: whoever reaches it sees the values.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option("--port", help="8437, or a free one.")] = None,
) -> None:
    """Serve the live page of a stream, running or not, until Ctrl-C. It reads the run log, and nothing else.

    Examples:

    [bold]slidewise watch data/_checkpoint[/bold]

    [bold]slidewise watch /var/log/slidewise/cards --port 9000[/bold]
    """
    screen = find_screen(context)
    try:
        from slidewise.live.serve import LivePage
    except ModuleNotFoundError as error:
        raise InvalidInput(f"the live page needs {error.name}: pip install 'slidewise[live]'") from None
    folder = find_folder(checkpoint)
    with LivePage(folder, host=host, port=port) as page:
        screen.say("watch it at ", (page.address, "bold cyan"), "  (Ctrl-C ends)")
        open_browser(screen, page.address)
        with contextlib.suppress(KeyboardInterrupt):
            page.wait()


def find_folder(given: str) -> Path:
    """Find a run log: in the folder itself, or beside a checkpoint."""
    path = Path(given.removeprefix("file://"))
    for folder in (folder_of(path), path):
        if (folder / NEWEST).exists():
            return folder
    raise InvalidInput(f"there is no run log in {folder_of(path)}, nor in {path}: give the checkpoint of a stream")
