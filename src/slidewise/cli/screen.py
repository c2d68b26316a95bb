"""Screen: what a command shows, to people or to machines. No secret of a pipeline gets through it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from slidewise.cli.exit_codes import FAILED, WRONG
from slidewise.display import Table, as_text
from slidewise.errors import InvalidInput
from slidewise.pipeline.mistakes import InvalidPipeline, Mistake
from slidewise.pipeline.pipeline import Pipeline, load
from slidewise.pipeline.variables import Secrets
from slidewise.spark.conditions import describe_spark_error


class Screen:
    """Shows results on standard output, and what else there is to say on standard error.

    With `json`, standard output has one JSON value and nothing else.
    """

    def __init__(self, *, debug: bool = False) -> None:
        self.debug = debug
        self.json = False
        self.out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)
        self._secrets: list[Secrets] = []

    def load(self, path: str, variables: Mapping[str, str]) -> Pipeline:
        """Load a pipeline, whose secrets are hidden from now on."""
        pipeline = load(path, variables)
        self._secrets.append(pipeline.secrets)
        return pipeline

    def mask(self, text: str) -> str:
        """Hide the secrets of all pipelines that were loaded."""
        for secrets in self._secrets:
            text = secrets.mask(text)
        return text

    def say(self, *parts: str | tuple[str, str]) -> None:
        """Say a line: texts, and texts with a style. Nothing is said where standard output is for a machine."""
        if self.json:
            return
        line = Text()
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            line.append(self.mask(text), style)
        self.out.print(line, soft_wrap=True)

    def warn(self, text: str, style: str = "yellow") -> None:
        """Say a line on standard error."""
        self.err.print(Text(self.mask(text), style), soft_wrap=True)

    def show(self, table: Table) -> None:
        """Show a table: in colours in a terminal, as plain text elsewhere, and not at all to a machine."""
        if self.json:
            return
        masked = self._mask_table(table)
        if self.out.is_terminal:
            self.out.print(masked)
        else:
            self.out.print(Text(as_text(masked)), soft_wrap=True)

    def give(self, value: Any) -> None:
        """Give a value to a machine, as JSON on standard output."""
        text = json.dumps(self._mask_value(value), indent=2, default=str, ensure_ascii=False)
        self.out.print(Text(text), soft_wrap=True)

    def give_line(self, value: Any) -> None:
        """Give one of many values to a machine, as a line of JSON."""
        text = json.dumps(self._mask_value(value), default=str, ensure_ascii=False)
        self.out.print(Text(text), soft_wrap=True)

    def fail(self, error: BaseException) -> typer.Exit:
        """Tell of an error, and give what ends the command: a traceback is shown with --debug alone."""
        wrong = isinstance(error, InvalidInput)
        if self.debug:
            trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.err.print(Text(self.mask(trace)), soft_wrap=True)
        if self.json:
            self.give(describe_error(error))
        elif not self.debug:
            self.warn(f"slidewise: {describe_failure(error)}" if not is_about_file(error) else str(error), "red")
        return typer.Exit(WRONG if wrong else FAILED)

    def _mask_table(self, table: Table) -> Table:
        rows = tuple(tuple(map(self.mask, row)) for row in table.rows)
        narrow = None if table.narrow is None else self._mask_table(table.narrow)
        return Table(self.mask(table.title), table.columns, rows, self.mask(table.note), narrow)

    def _mask_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {self.mask(str(key)): self._mask_value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._mask_value(each) for each in value]
        return value


def find_screen(context: typer.Context) -> Screen:
    """Find the screen of the command that runs."""
    screen = context.find_object(Screen)
    assert screen is not None
    return screen


def is_about_file(error: BaseException) -> bool:
    """Tell whether an error says itself in which file it is."""
    return isinstance(error, InvalidPipeline)


def describe_failure(error: BaseException) -> str:
    """Say what failed: our own messages as they are, others with their type."""
    if type(error).__module__.startswith("slidewise."):
        return str(error)
    if type(error).__module__.startswith(("pyspark.", "py4j.")):
        return f"Spark fails: {describe_spark_error(error)}"  # type: ignore[arg-type]
    return f"{type(error).__name__}: {error}. `slidewise --debug ...` shows where"


def describe_error(error: BaseException) -> dict[str, Any]:
    """Describe an error for a machine."""
    mistakes = error.mistakes if isinstance(error, InvalidPipeline) else ()
    described: dict[str, Any] = {"error": str(error) if is_about_file(error) else describe_failure(error)}
    return described | ({"mistakes": [describe_mistake(each) for each in mistakes]} if mistakes else {})


def describe_mistake(mistake: Mistake) -> dict[str, Any]:
    """Describe a mistake for a machine."""
    place = mistake.place
    return {
        "file": None if place is None else place.file,
        "line": None if place is None else place.line,
        "column": None if place is None else place.column,
        "path": list(mistake.path),
        "message": mistake.message,
    }
