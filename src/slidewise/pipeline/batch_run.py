"""A run as a batch: all that the source has, through one pass for pipelines that share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.history import open_history
from slidewise.pipeline.mistakes import InvalidPipeline
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.sinks import Sink
from slidewise.pipeline.source import UNPARSED, count_unparsed, read_source
from slidewise.pipeline.target import open_target
from slidewise.spark.plan import column

#: what is told of a run: what is being done, days done, and days in all
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class BatchResult:
    """What a batch run has done for one pipeline."""

    name: str
    rows: int
    days: int
    #: rows left out: those without a time, and those that could not be parsed
    untimed: int
    unparsed: int


def run_batch(spark: Any, pipelines: Sequence[Pipeline], tell: Tell = lambda what, done, of: None) -> list[BatchResult]:
    """Run pipelines as batches: what they give replaces what is in their sinks.

    Pipelines of one source, prepared in one way, with the same keys and times, share one pass over it.
    """
    sinks = [open_target(spark, each, check_pipeline(spark, each)) for each in pipelines]
    results: dict[int, BatchResult] = {}
    for group in group_by_pass(pipelines):
        results |= _run_group(spark, [(number, pipelines[number], sinks[number]) for number in group], tell)
    return [results[number] for number in range(len(pipelines))]


def group_by_pass(pipelines: Sequence[Pipeline]) -> list[list[int]]:
    """Group the pipelines that one pass over their source can serve: by their places."""
    groups: dict[Any, list[int]] = {}
    for number, pipeline in enumerate(pipelines):
        definition = pipeline.definition
        alone = number if pipeline.window is not None or pipeline.batch_options() else None
        source = definition.source.model_dump_json() if definition.source is not None else None
        one = (source, str(pipeline.folder), repr(definition.prepare), tuple(pipeline.keys), tuple(pipeline.order))
        groups.setdefault((one, alone), []).append(number)
    return list(groups.values())


def _run_group(spark: Any, group: Sequence[tuple[int, Pipeline, Sink]], tell: Tell) -> dict[int, BatchResult]:
    from pyspark.sql import Observation

    pipelines = [pipeline for _, pipeline, _ in group]
    first = pipelines[0]
    assert first.definition.source is not None
    read = read_source(spark, first.definition.source, first.folder, streaming=False)
    unparsed, untimed, unparsed_history = Observation(), Observation(), Observation()
    rows = count_unparsed(read, unparsed)
    before = open_history(spark, first, unparsed_history)
    history = None if before is None else before.df
    shared = _SharedPass(pipelines) if len(group) > 1 else None
    if shared is None:
        out = first.batch(rows, untimed, history)
    else:
        out = shared.batch(rows, untimed, history).persist()
    results = {}
    try:
        for number, pipeline, sink in group:
            mine = out if shared is None else shared.select(out, pipeline)
            tell(f"{pipeline.name}: computing", 0, 0)
            written, days = sink.replace_all(mine, partial(tell, f"{pipeline.name}: writing"))
            left_out = untimed.get["untimed"] if pipeline.time is not None else 0
            counts = ((read, unparsed), (before, unparsed_history))
            bad = sum(count.get[UNPARSED] for each, count in counts if each is not None and each.corrupt is not None)
            results[number] = BatchResult(pipeline.name, written, days, left_out, bad)
    except SlidewiseError as error:
        raise _mask(first, error) from error
    finally:
        if shared is not None:
            out.unpersist()
    return results


def _mask(pipeline: Pipeline, error: SlidewiseError) -> SlidewiseError:
    if isinstance(error, InvalidPipeline):
        return error
    return type(error)(pipeline.secrets.mask(str(error)))


class _SharedPass:
    """Several pipelines of one pass: their features under names of their own."""

    def __init__(self, group: Sequence[Pipeline]) -> None:
        self._group = group

    def batch(self, df: Any, untimed: Any, history: Any) -> Any:
        """Compute the features of all."""
        first = self._group[0]
        conditions = {name: text for each in self._group for name, text in each.conditions.items()}
        features = {
            self._name(each, name): expression for each in self._group for name, expression in each.features.items()
        }
        return first.with_features(features, conditions).batch(df, untimed, history)

    def select(self, out: Any, pipeline: Pipeline) -> Any:
        """Give the columns of one pipeline by their own names."""
        shared = {self._name(each, name) for each in self._group for name in each.features}
        rows = [name for name in out.columns if name not in shared and name not in pipeline.features]
        features = [column(self._name(pipeline, name)).alias(name) for name in pipeline.features]
        return out.select(*(column(name) for name in rows), *features)

    def _name(self, pipeline: Pipeline, feature: str) -> str:
        return f"{self._group.index(pipeline)}: {feature}"
