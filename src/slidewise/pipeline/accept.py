"""Accept what came out of examples: it is written into the file, for review."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from slidewise.pipeline.examples import Outcome
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.yaml_file import replace_rows


def accept_outcomes(pipeline: Pipeline, outcomes: Iterable[Outcome], zone: str) -> str:
    """Write what came out of some examples into the text of their file: the columns that are named there.

    Where none is named, the columns are those that tell rows apart, and the features.
    """
    assert pipeline.file is not None
    text = pipeline.file.text
    for outcome in outcomes:
        example = pipeline.definition.tests[outcome.number]
        named = dict.fromkeys(name for row in example.expect for name in row)
        columns = list(named) or list(outcome.columns)
        utc = any(isinstance(v, datetime) and v.tzinfo is not None for row in example.given for v in row.values())
        rows = [{name: _to_yaml(row[name], ZoneInfo(zone), utc) for name in columns} for row in outcome.rows]
        text = replace_rows(text, ("tests", outcome.number, "expect"), rows)
    return text


def _to_yaml(value: Any, zone: ZoneInfo, utc: bool) -> Any:
    """Give a value as YAML has it; times without a zone, where those that are given have none."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(ZoneInfo("UTC")) if utc else value.astimezone(zone).replace(tzinfo=None)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return [_to_yaml(each, zone, utc) for each in value]
    if isinstance(value, dict):
        return {name: _to_yaml(each, zone, utc) for name, each in value.items()}
    return value
