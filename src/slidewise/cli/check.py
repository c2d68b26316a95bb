"""`slidewise check`: every mistake of a file, before anything runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slidewise.cli.exit_codes import WRONG
from slidewise.cli.options import Conf, Files, Json, Master, Vars, read_pairs
from slidewise.cli.screen import Screen, describe_error, describe_failure, find_screen, is_about_file
from slidewise.cli.session import open_session
from slidewise.errors import SlidewiseError
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.pipeline import Pipeline


def check(
    context: typer.Context,
    files: Files,
    variables: Vars = None,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark/--no-spark",
            help="Check columns, types and SQL too, which Spark knows; or the file alone, at once.",
        ),
    ] = True,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Check pipelines: all mistakes at once, each with file:line:column. Nothing runs, and no data is read.

    A pipeline is checked as a batch and as a stream. One that works only one way is fine, and the other way is told:
    "as a stream: refused: ...".

    Examples:

    [bold]slidewise check cards.yaml[/bold]

    [bold]slidewise check *.yaml --no-spark[/bold]  the files alone: keys, names, windows, variables; in a second

    [bold]slidewise check cards.yaml --var lake=s3a://lake --json[/bold]

    Ends with 0 where all files are right, and with 2 where one is wrong.
    """
    screen = find_screen(context)
    screen.json = json
    checks = [FileCheck(file) for file in files]
    for each in checks:
        each.load(screen, read_pairs(variables, "--var"))
    good = [each for each in checks if each.pipeline is not None]
    if spark and good:
        pipelines = [each.pipeline for each in good if each.pipeline is not None]
        with open_session(screen, pipelines, master=master, conf=read_pairs(conf, "--conf")) as session:
            for each in good:
                each.check(session)
    if json:
        screen.give([each.as_dict() for each in checks])
    else:
        for each in checks:
            each.show(screen)
    if not all(each.is_right for each in checks):
        raise typer.Exit(WRONG)


class FileCheck:
    """What is found about one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.pipeline: Pipeline | None = None
        #: what is wrong with the file, however it is run
        self.error: SlidewiseError | None = None
        #: by "batch" and "stream": None where it works, and else why not
        self.ways: dict[str, SlidewiseError | None] = {}
        #: the columns of the result, where Spark was asked
        self.columns: dict[str, str] = {}

    @property
    def is_right(self) -> bool:
        """Whether the file can be run in at least one way."""
        return self.error is None

    def load(self, screen: Screen, variables: dict[str, str]) -> None:
        """Read the file."""
        try:
            self.pipeline = screen.load(self.file, variables)
        except SlidewiseError as error:
            self.error = error

    def check(self, session: Any) -> None:
        """Check the pipeline as a batch and as a stream."""
        assert self.pipeline is not None
        for way in ("batch", "stream"):
            try:
                schema = check_pipeline(session, self.pipeline, streaming=way == "stream")
                self.ways[way] = None
                self.columns = self.columns or {field.name: field.dataType.simpleString() for field in schema.fields}
            except SlidewiseError as error:
                self.ways[way] = error
        if all(error is not None for error in self.ways.values()):
            self.error = self.ways["batch"]

    def show(self, screen: Screen) -> None:
        """Show what was found to a person."""
        if self.error is not None:
            text = str(self.error) if is_about_file(self.error) else f"{self.file}: {describe_failure(self.error)}"
            screen.warn(text, "red")
            return
        assert self.pipeline is not None
        number = len(self.pipeline.features)
        what = f"{self.file}: {number} feature{'s' * (number != 1)}"
        works = [way for way, error in self.ways.items() if error is None]
        screen.say(("✓ ", "green"), what, f", as a {' and as a '.join(works)}" if works else ", the file alone")
        for way, error in self.ways.items():
            if error is not None:
                screen.say(("  ! ", "yellow"), f"as a {way}: refused: {_in_short(error)}")

    def as_dict(self) -> dict[str, Any]:
        """Describe what was found to a machine."""
        found: dict[str, Any] = {"file": self.file, "ok": self.is_right}
        if self.pipeline is not None:
            found |= {"name": self.pipeline.name, "features": list(self.pipeline.features)}
        if self.error is not None:
            return found | describe_error(self.error)
        ways = {way: error is None or describe_error(error) for way, error in self.ways.items()}
        return found | ({"columns": self.columns, **ways} if self.ways else {})


def _in_short(error: SlidewiseError) -> str:
    """Give the first of several mistakes, and their number."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and {len(lines) - 1} more)"
