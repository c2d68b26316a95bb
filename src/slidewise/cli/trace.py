"""`slidewise trace`: what a data structure holds, step by step."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from slidewise import aggregations
from slidewise.aggregations.base import Aggregation
from slidewise.cli.options import Json, read_pairs
from slidewise.cli.screen import find_screen
from slidewise.errors import InvalidInput
from slidewise.suggest import suggest
from slidewise.tracing import Step
from slidewise.tracing import trace as trace_structure


def trace(
    context: typer.Context,
    algorithm: Annotated[str, typer.Argument(help="A data structure, as daba_lite or fiba.")],
    aggregation: Annotated[str, typer.Argument(help="What it computes, as max or 'percentile(0.9)'.")],
    operations: Annotated[
        str, typer.Argument(help="As 'insert 5 3, insert 4 at 10, evict, evict to 10, query, query 10 to 20'.")
    ],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="What the structure is told at its start, as capacity=8."),
    ] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write an SVG image, and no text.")] = None,
    json: Json = False,
) -> None:
    """Trace a data structure: its queue or tree, its pointers and its partials after every operation.

    Examples:

    [bold]slidewise trace daba_lite max "insert 5 3, evict, query"[/bold]

    [bold]slidewise trace flat_fat sum "insert 4 7 3 2, evict, insert 9" --option capacity=4[/bold]

    [bold]slidewise trace fiba max "insert 5 at 1, insert 7 at 9, insert 6 at 4, query 1 to 5" --svg fiba.svg[/bold]
    """
    screen = find_screen(context)
    screen.json = json
    options = {name: _read_literal(text) for name, text in read_pairs(option, "--option").items()}
    made = trace_structure(algorithm, read_aggregation(aggregation), operations, **options)
    if svg is not None:
        try:
            made.save(svg)
        except OSError as error:
            raise InvalidInput(f"{svg} cannot be written: {error.strerror or error}") from error
        screen.say(("✓ ", "green"), f"{made.title} in {svg}: {len(made)} steps")
    elif not json:
        screen.out.print(made if screen.out.is_terminal else Text(str(made)), soft_wrap=not screen.out.is_terminal)
    if json:
        screen.give([_describe(step) for step in made])


def read_aggregation(text: str) -> Aggregation:
    """Make an aggregation of its name, or of a call of it with plain values.

    >>> read_aggregation("max"), read_aggregation("percentile(0.9)")
    (max(), percentile(fraction=0.9))
    """
    name, bracket, rest = text.strip().partition("(")
    if name not in aggregations.__all__:
        raise InvalidInput(f"there is no aggregation {name!r}. {suggest(name, aggregations.__all__)}")
    arguments: list[Any] = []
    named: dict[str, Any] = {}
    if bracket:
        try:
            call = ast.parse(f"f({rest}", mode="eval").body
            assert isinstance(call, ast.Call)
            arguments = [ast.literal_eval(each) for each in call.args]
            named = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        except (AssertionError, SyntaxError, ValueError):
            raise InvalidInput(
                f"{text!r} is no call of {name}: write it with plain values, as percentile(0.9)"
            ) from None
    made: Aggregation = getattr(aggregations, name)(*arguments, **named)
    return made


def _read_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _describe(step: Step) -> dict[str, Any]:
    return {
        "number": step.number,
        "operation": str(step.operation),
        "cases": list(step.cases),
        "pointers": step.pointers,
        "window": list(step.window),
        "combines": step.combines,
        "calls": [{"function": c.function, "older": c.older, "newer": c.newer, "result": c.result} for c in step.calls],
        "result": step.result,
    }
