"""`slidewise schema`: the JSON schema of a pipeline's file."""

from __future__ import annotations

import json

import typer

from slidewise.cli.screen import find_screen
from slidewise.pipeline.json_schema import build_json_schema


def schema(context: typer.Context) -> None:
    """Write the JSON schema of a pipeline's file, from which editors complete and check.

    [bold]slidewise schema > slidewise.schema.json[/bold]

    Then name it in the first line of a file:

    [bold]# yaml-language-server: $schema=./slidewise.schema.json[/bold]
    """
    find_screen(context)
    typer.echo(json.dumps(build_json_schema(), indent=2))
