"""`slidewise new`: a project that runs at once, with data."""

from __future__ import annotations

import json as json_text
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from slidewise.cli.options import Json
from slidewise.cli.screen import find_screen
from slidewise.errors import InvalidInput
from slidewise.pipeline.json_schema import build_json_schema

#: how many payments the project has to begin with
ROWS = 2_000
#: what a file of the project is written from
TEMPLATES = {
    "{name}.yaml": "pipeline.yaml",
    "features.py": "features.py",
    "README.md": "README.md",
    ".gitignore": "gitignore",
}


def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The folder to make; its last part names the pipeline.")],
    json: Json = False,
) -> None:
    """Make a project that runs at once: a pipeline with tests, an aggregation of its own, and data.

    Nothing is overwritten: a folder that has files already is refused.

    Examples:

    [bold]slidewise new cards[/bold]

    [bold]cd cards && slidewise test cards.yaml[/bold]
    """
    screen = find_screen(context)
    screen.json = json
    folder = Path(name)
    written = write_project(folder)
    screen.say(("✓ ", "green"), f"{folder}: {', '.join(written)}")
    file = f"{folder.name}.yaml"
    screen.say("  go on with: ", (f"cd {folder} && slidewise check {file} && slidewise test {file}", "bold"))
    if json:
        screen.give({"folder": str(folder), "files": written})


def write_project(folder: Path) -> list[str]:
    """Write the files of a new project, and list them."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", folder.name):
        raise InvalidInput(
            f"new: a project is named by letters, digits, - and _, beginning with a letter, got {folder.name!r}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"new: {folder} is there already, and nothing is overwritten. Take another name")
    templates = files("slidewise.cli").joinpath("project")
    contents = {
        target.replace("{name}", folder.name): templates.joinpath(name)
        .read_text("utf-8")
        .replace("{name}", folder.name)
        for target, name in TEMPLATES.items()
    }
    contents["slidewise.schema.json"] = json_text.dumps(build_json_schema(), indent=2) + "\n"
    payments = folder / "data" / "payments" / "payments.parquet"
    try:
        payments.parent.mkdir(parents=True)
        for target, text in contents.items():
            (folder / target).write_text(text, "utf-8")
        _write_payments(payments)
    except OSError as error:
        raise InvalidInput(f"new: {folder} cannot be written: {error.strerror or error}") from error
    return [*contents, str(payments.relative_to(folder))]


def _write_payments(path: Path) -> None:
    """Write a month of payments by 40 cards, in the order of their times; every fiftieth is a refund."""
    import pyarrow.parquet

    random = np.random.default_rng(13)
    at = np.sort(random.integers(0, 30 * 86_400_000_000, ROWS)) + 1_767_225_600_000_000  # from 1 January 2026
    amount = np.round(random.lognormal(3.0, 1.0, ROWS), 2)
    amount[::50] *= -1
    price = np.round(random.lognormal(1.5, 0.5, ROWS), 2)
    cards, merchants = random.zipf(1.3, ROWS) % 40, random.integers(0, 60, ROWS)
    columns = {
        "card": pa.array([f"card-{i:02}" for i in cards]),
        "at": pa.array(at).cast(pa.timestamp("us", "UTC")),
        "amount": pa.array(amount),
        "merchant": pa.array([f"shop-{i:02}" for i in merchants]),
        "price": pa.array(price),
        "size": pa.array(np.round(np.abs(amount) / price, 3)),
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
