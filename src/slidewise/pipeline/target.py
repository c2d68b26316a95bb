"""The target of a pipeline: its sink, opened and checked."""

from __future__ import annotations

from typing import Any, Literal

from slidewise.errors import InvalidInput
from slidewise.pipeline.mistakes import Mistake
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.sinks import Sink, open_sink
from slidewise.pipeline.source import resolve


def open_target(spark: Any, pipeline: Pipeline, schema: Any, part: Literal["sink", "late_to"] = "sink") -> Sink:
    """Open a pipeline's sink, or that of late rows, which must take rows of this schema."""
    given = getattr(pipeline.definition, part)
    time = pipeline.output_time if part == "sink" else pipeline.time
    if given is None:
        raise pipeline.refuse([Mistake("'sink' is missing: where results go", ())])
    if time is None:
        raise pipeline.refuse([Mistake("'time' is missing: results are kept by the day of their time", ())])
    words = {
        "format": given.format, "table": given.table, "url": given.url, "keys": given.keys or (),
        "path": resolve(given.path, pipeline.folder) if given.path is not None else None,
        "mode": given.mode if given.table is not None else None, "partition": given.partition,
    }  # fmt: skip
    try:
        sink = open_sink(spark, time_column=time, options=given.options, **words)
        mistakes = sink.check(schema)
    except InvalidInput as error:
        mistakes = [str(error)]
    if mistakes:
        raise pipeline.refuse(Mistake(each, (part,)) for each in mistakes)
    return sink
