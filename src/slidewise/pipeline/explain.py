"""Explain a pipeline: how each feature is computed, what is kept per key, and what Spark shuffles."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from typing import Any

from slidewise.display import Table
from slidewise.pipeline.check import check_pipeline, open_empty
from slidewise.pipeline.history import open_empty_history
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.source import read_schema


@dataclass(frozen=True)
class Explained:
    """How a pipeline is computed one way: as a batch or as a stream."""

    #: a line for each feature
    table: Table
    #: what holds for all of them, by what it is about
    facts: dict[str, str]
    #: Spark's own
    plan: str


def explain_pipeline(spark: Any, pipeline: Pipeline, *, streaming: bool) -> Explained:
    """Explain a pipeline, which is checked first. Nothing runs."""
    check_pipeline(spark, pipeline, streaming=streaming)
    source = pipeline.definition.source
    assert source is not None
    with open_empty(spark, read_schema(spark, source, pipeline.folder), streaming) as empty:
        history = open_empty_history(pipeline, empty)
        table = pipeline.explain(empty, history)
        out = pipeline.stream(empty, history=history) if streaming else pipeline.batch(empty, history=history)
        plan = read_plan(out)
    facts = {"shuffled": _describe_shuffles(pipeline, plan)}
    if table.note:
        facts["note"] = table.note
    return Explained(table, facts, plan)


def read_plan(df: Any) -> str:
    """Read Spark's plan of a DataFrame."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        df.explain()
    return text.getvalue().strip()


def _describe_shuffles(pipeline: Pipeline, plan: str) -> str:
    """Say what Spark moves between machines, as its plan has it."""
    moved = re.findall(r"Exchange (\w+)(?:\(([^)]*)\))?", plan)
    by = [f"by {_strip_ids(columns)}" if kind == "hashpartitioning" else kind for kind, columns in moved]
    if not by:
        return "nothing"
    return f"{len(by)} times: {'; '.join(by)}" if len(by) > 1 else f"once, {by[0]}"


def _strip_ids(columns: str) -> str:
    """Leave out the numbers that Spark gives columns, and the number of partitions."""
    names = [re.sub(r"#\d+L?", "", part.strip()) for part in columns.split(",")]
    return ", ".join(name for name in names if name and not re.fullmatch(r"\d+|REQUIRED_BY_\w+|plan_id=\d+", name))
