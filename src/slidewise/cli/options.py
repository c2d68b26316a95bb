"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Pipelines: YAML files, or Python files with an object `pipeline`.")
]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="A pipeline: a YAML file, or a Python file with an object `pipeline`.")
]
Vars = Annotated[
    list[str] | None,
    typer.Option("--var", metavar="NAME=VALUE", help="A value for a variable of the file's vars:; may be repeated."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark to run on: local[4], spark://host:7077, yarn, ... Without it, all cores of this machine.",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of the Spark session; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON for machines on standard output, and nothing else.")]


def read_pairs(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """Read the values of an option that is given as NAME=VALUE.

    >>> read_pairs(["lake=./data", "query=a=b"], "--var")
    {'lake': './data', 'query': 'a=b'}
    """
    pairs = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"expects NAME=VALUE, got {text!r}", param_hint=option)
        pairs[name.strip()] = value
    return pairs
