"""`slidewise explain`: how a pipeline is computed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slidewise.cli.options import Conf, File, Json, Master, Vars, read_pairs
from slidewise.cli.screen import describe_failure, find_screen
from slidewise.cli.session import open_session
from slidewise.display import Table
from slidewise.errors import SlidewiseError
from slidewise.pipeline.explain import explain_pipeline


def explain(
    context: typer.Context,
    file: File,
    variables: Vars = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show Spark's own plan, too.")] = False,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Explain how a pipeline is computed: by which algorithm and engine, what is kept per key, what is shuffled.

    There is a line for each feature, once as a batch and once as a stream, where both work. Nothing runs, and no data
    is read.

    Examples:

    [bold]slidewise explain cards.yaml[/bold]

    [bold]slidewise explain cards.yaml --plan[/bold]  with Spark's plan

    [bold]slidewise explain cards.yaml --json[/bold]
    """
    screen = find_screen(context)
    screen.json = json
    pipeline = screen.load(file, read_pairs(variables, "--var"))
    with open_session(screen, [pipeline], master=master, conf=read_pairs(conf, "--conf")) as session:
        explained = {way: _try_explain(session, pipeline, way == "stream") for way in ("batch", "stream")}
    if all(isinstance(found, SlidewiseError) for found in explained.values()):
        found = explained["batch"]
        assert isinstance(found, SlidewiseError)
        raise found
    given: dict[str, Any] = {"name": pipeline.name}
    for way, found in explained.items():
        if isinstance(found, SlidewiseError):
            screen.say((f"as a {way}: refused: ", "yellow"), describe_failure(found))
            given[way] = {"refused": describe_failure(found)}
            continue
        screen.say((f"{pipeline.name}, as a {way}", "bold"))
        table, common = _take_out_common(found.table)
        screen.show(table)
        screen.say("")
        for label, text in {**common, **found.facts}.items():
            screen.say((f"{label}: ", "bold"), text)
        if plan:
            screen.say(found.plan)
        screen.say("")
        given[way] = {"columns": list(found.table), **found.facts, **({"plan": found.plan} if plan else {})}
    if json:
        screen.give(given)


def _take_out_common(table: Table) -> tuple[Table, dict[str, str]]:
    """Take out the columns that say the same of all features: a line each says it, too."""
    values = {name: {row[i] for row in table.rows} for i, name in enumerate(table.columns)}
    same = [name for name, found in values.items() if len(found) == 1 and len(table.rows) > 1]
    kept = [i for i, name in enumerate(table.columns) if name not in same]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table("", tuple(table.columns[i] for i in kept), rows), {name: min(values[name]) for name in same}


def _try_explain(session: Any, pipeline: Any, streaming: bool) -> Any:
    try:
        return explain_pipeline(session, pipeline, streaming=streaming)
    except SlidewiseError as error:
        return error
