"""A run as a batch: all that the source has, through one pass for pipelines that share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.mistakes import InvalidPipeline
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.sinks import PassThroughSink, Sink
from slidewise.pipeline.source import UNPARSED, count_unparsed, read_source
from slidewise.pipeline.target import find_days, open_target
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
    """Run pipelines as batches: the days that they give replace those in their sinks.

    Pipelines of one source, prepared in one way, with the same keys and times, share one pass over it.
    """
    sinks = {id(each): _open(spark, each) for each in pipelines}
    results: dict[int, BatchResult] = {}
    for group in group_by_pass(pipelines):
        _run_group(spark, group, sinks, results, tell)
    return [results[id(each)] for each in pipelines]


def group_by_pass(pipelines: Sequence[Pipeline]) -> list[list[Pipeline]]:
    """Group the pipelines that one pass over their source can serve."""
    groups: dict[Any, list[Pipeline]] = {}
    for i, pipeline in enumerate(pipelines):
        definition = pipeline.definition
        alone = i if pipeline.window is not None else None
        source = definition.source.model_dump_json() if definition.source is not None else None
        one = (source, str(pipeline.folder), repr(definition.prepare), tuple(pipeline.keys), tuple(pipeline.order))
        groups.setdefault((one, alone), []).append(pipeline)
    return list(groups.values())


def _open(spark: Any, pipeline: Pipeline) -> Sink:
    return open_target(spark, pipeline, check_pipeline(spark, pipeline))


def _run_group(
    spark: Any, group: Sequence[Pipeline], sinks: dict[int, Sink], results: dict[int, BatchResult], tell: Tell
) -> None:
    from pyspark.sql import Observation

    first = group[0]
    assert first.definition.source is not None
    read = read_source(spark, first.definition.source, first.folder, streaming=False)
    unparsed, untimed = Observation(), Observation()
    rows = count_unparsed(read, unparsed)
    together = first if len(group) == 1 else _Together(group)
    out = together.batch(rows, untimed).persist()
    try:
        for pipeline in group:
            mine = out if len(group) == 1 else together.select(out, pipeline)  # type: ignore[union-attr]
            written, days = _write(pipeline, sinks[id(pipeline)], mine, tell)
            left_out = untimed.get["untimed"] if pipeline.time is not None else 0
            bad = unparsed.get[UNPARSED] if read.corrupt is not None else 0
            results[id(pipeline)] = BatchResult(pipeline.name, written, days, left_out, bad)
    except SlidewiseError as error:
        raise _mask(first, error) from error
    finally:
        out.unpersist()


def _write(pipeline: Pipeline, sink: Sink, rows: Any, tell: Tell) -> tuple[int, int]:
    time = pipeline.output_time
    assert time is not None
    tell(f"{pipeline.name}: computing", 0, 0)
    written = rows.count()
    if isinstance(sink, PassThroughSink):
        sink.append(rows)
        return written, 0
    days = sorted({*find_days(rows, time), *sink.days()})
    done = 0

    def count(_: Any) -> None:
        nonlocal done
        done += 1
        tell(f"{pipeline.name}: writing", done, len(days))

    sink.replace_days(rows, days, count)
    return written, len(days)


def _mask(pipeline: Pipeline, error: SlidewiseError) -> SlidewiseError:
    if isinstance(error, InvalidPipeline):
        return error
    return type(error)(pipeline.secrets.mask(str(error)))


class _Together:
    """Several pipelines of one pass: their features under names of their own."""

    def __init__(self, group: Sequence[Pipeline]) -> None:
        self._group = group

    def batch(self, df: Any, untimed: Any) -> Any:
        """Compute the features of all."""
        first = self._group[0]
        conditions = {name: text for each in self._group for name, text in each.conditions.items()}
        features = {
            self._name(each, name): expression for each in self._group for name, expression in each.features.items()
        }
        return first.with_features(features, conditions).batch(df, untimed)

    def select(self, out: Any, pipeline: Pipeline) -> Any:
        """Give the columns of one pipeline by their own names."""
        shared = {self._name(each, name) for each in self._group for name in each.features}
        rows = [name for name in out.columns if name not in shared and name not in pipeline.features]
        features = [column(self._name(pipeline, name)).alias(name) for name in pipeline.features]
        return out.select(*(column(name) for name in rows), *features)

    def _name(self, pipeline: Pipeline, feature: str) -> str:
        return f"{self._group.index(pipeline)}: {feature}"
