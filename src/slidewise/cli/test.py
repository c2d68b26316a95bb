"""`slidewise test`: the examples of a file, in process, as a batch and as a stream."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from slidewise.cli.exit_codes import TEST_FAILED
from slidewise.cli.options import Conf, Files, Json, Master, Vars, read_pairs
from slidewise.cli.screen import Screen, find_screen
from slidewise.cli.session import open_session
from slidewise.display import Table
from slidewise.errors import InvalidInput
from slidewise.pipeline.accept import accept_outcomes
from slidewise.pipeline.examples import ExampleRun, Examples, Outcome, list_examples
from slidewise.pipeline.pipeline import Pipeline

#: Times without a zone mean the same on every machine.
DEFAULTS = {"spark.sql.session.timeZone": "UTC"}
#: so many differences of an example are shown
MOST_DIFFERENCES = 20
_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("-", "yellow")}


def test(
    context: typer.Context,
    files: Files,
    only: Annotated[
        str | None, typer.Option("-k", metavar="TEXT", help="Only examples whose name has this in it.")
    ] = None,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Write what came out into the file's expect:, where that is empty or wrong."),
    ] = False,
    variables: Vars = None,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Test pipelines by the examples in their files: rows that are given, and what is expected of them.

    Each example runs in process, as a batch of Spark's, and as a stream in micro-batches. Each is compared with
    expect:, in the columns that are named there, in any order of the rows; and all three must agree in all columns.
    Every row that comes out must be expected. Columns that given: leaves out are null; times without a zone are in UTC
    (run.conf: spark.sql.session.timeZone sets another).

    Rows that come late in the order given are dropped by a stream, which is told, and is no failure: it is then
    compared with a batch of the other rows.

    Examples:

    [bold]slidewise test cards.yaml[/bold]

    [bold]slidewise test *.yaml -k refunds[/bold]

    [bold]slidewise test cards.yaml --accept[/bold]  begin with expect: \\[], and review what is written

    Ends with 0 where all examples pass, with 3 where one fails, and with 2 where a file is wrong.
    """
    screen = find_screen(context)
    screen.json = json
    pipelines = {file: screen.load(file, read_pairs(variables, "--var")) for file in files}
    outcomes: dict[str, list[Outcome]] = {}
    options = read_pairs(conf, "--conf")
    with open_session(screen, pipelines.values(), master=master, conf=options, defaults=DEFAULTS) as session:
        for file, pipeline in pipelines.items():
            outcomes[file] = _run_file(screen, session, file, pipeline, only)
            if accept:
                outcomes[file] = _accept(screen, session, file, pipeline, outcomes[file])
    every = [outcome for each in outcomes.values() for outcome in each]
    failed = sum(not outcome.passed for outcome in every)
    if json:
        screen.give([{"file": file, **_describe(outcome)} for file, found in outcomes.items() for outcome in found])
    mark = _MARKS["failed" if failed else "passed" if every else "skipped"]
    said = (
        f"{len(every)} example{'s' * (len(every) != 1)}, {failed} failed"
        if every
        else "there are no examples: see tests:"
    )
    screen.say((f"{mark[0]} ", mark[1]), said)
    if failed:
        raise typer.Exit(TEST_FAILED)


def _run_file(screen: Screen, session: Any, file: str, pipeline: Pipeline, only: str | None) -> list[Outcome]:
    chosen = [(number, name) for number, name, _ in list_examples(pipeline) if only is None or only in name]
    if not chosen:
        return []
    examples = Examples(session, pipeline)
    screen.say((file, "bold"))
    outcomes = []
    for number, name in chosen:
        outcome = examples.run(number, name)
        outcomes.append(outcome)
        _show(screen, outcome)
    return outcomes


def _show(screen: Screen, outcome: Outcome) -> None:
    parts: list[str | tuple[str, str]] = [
        (f"  {_MARKS['passed' if outcome.passed else 'failed'][0]} ", "green" if outcome.passed else "red"),
        outcome.name,
        "  ",
    ]
    for run in outcome.runs:
        mark, style = _MARKS[run.status]
        parts += [(f" {mark} ", style), (run.engine, style)]
    screen.say(*parts)
    for run in outcome.runs:
        if run.note and run.status != "failed":
            skipped = "skipped: " if run.status == "skipped" else ""
            screen.say((f"      {run.engine}: {skipped}{run.note}", "yellow"))
    shown: list[Any] = []
    for run in (each for each in outcome.runs if each.status == "failed"):
        differences = [each.describe() for each in run.differences]
        if differences and differences in shown:
            screen.say((f"      {run.engine}: {run.note}, in the same way", "red"))
            continue
        screen.say((f"      {run.engine}: {run.note}", "red"))
        shown.append(differences)
        if differences:
            screen.show(_build_table(run, differences))


def _build_table(run: ExampleRun, differences: list[tuple[str, str, str, str]]) -> Table:
    reference = "expected" if run.note.endswith("expect") else "batch"
    more = len(differences) - MOST_DIFFERENCES
    rows = [
        dict(zip(("row", "column", reference, "came out"), each, strict=True))
        for each in differences[:MOST_DIFFERENCES]
    ]
    return Table.of("", rows, f"and {more} more" if more > 0 else "")


def _accept(screen: Screen, session: Any, file: str, pipeline: Pipeline, outcomes: list[Outcome]) -> list[Outcome]:
    """Write what came out of failing examples, show what changes in the file, and take them as passed."""
    failing = [outcome for outcome in outcomes if not outcome.passed]
    if not failing:
        return outcomes
    if pipeline.file is None:
        raise InvalidInput(f"{file} is a Python file: --accept writes into YAML files only")
    refused = [outcome for outcome in failing if not outcome.agrees]
    for outcome in refused:
        screen.warn(f"{outcome.name}: not accepted, since the ways to run it do not agree")
    accepted = [outcome for outcome in failing if outcome.agrees]
    before = pipeline.file.text
    after = accept_outcomes(pipeline, accepted, session.conf.get("spark.sql.session.timeZone"))
    Path(file).write_text(after, "utf-8")
    for line in difflib.unified_diff(
        before.splitlines(), after.splitlines(), file, file, "before", "accepted", lineterm=""
    ):
        screen.say((line, "green" if line.startswith("+") else "red" if line.startswith("-") else ""))
    numbers = {outcome.number for outcome in accepted}
    return [_pass(outcome) if outcome.number in numbers else outcome for outcome in outcomes]


def _pass(outcome: Outcome) -> Outcome:
    runs = tuple(
        ExampleRun(run.engine, "passed" if run.status == "failed" else run.status, "accepted") for run in outcome.runs
    )
    return replace(outcome, runs=runs)


def _describe(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "name": outcome.name,
        "passed": outcome.passed,
        "runs": [
            {
                "engine": run.engine,
                "status": run.status,
                "note": run.note,
                "differences": [
                    {
                        "row": each.row,
                        "column": each.column,
                        "expected": _plain(each.expected),
                        "found": _plain(each.found),
                    }
                    for each in run.differences
                ],
            }
            for run in outcome.runs
        ],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value
