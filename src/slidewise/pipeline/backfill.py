"""Backfill: results of past days, computed again and put in place of those that are there."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.pipeline.batch_run import Tell
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.checkpoint_lock import CheckpointLock
from slidewise.pipeline.history import open_history
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.prepare import leave_out_untimed
from slidewise.pipeline.sinks import PassThroughSink
from slidewise.pipeline.source import count_unparsed, read_source
from slidewise.pipeline.stream_run import find_log_folder
from slidewise.pipeline.target import open_target
from slidewise.spark.executor.halo import HaloSize, measure_halo
from slidewise.spark.plan import column
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.definitions import TimeWindow, WindowDefinition
from slidewise.windows.durations import UNITS, Duration


@dataclass(frozen=True)
class Backfill:
    """What a backfill has done."""

    days: int
    #: days that a run before, which was killed, had done
    resumed: int
    #: how far beyond the days rows were read
    reads: str


def backfill(
    spark: Any,
    pipeline: Pipeline,
    start: dt.date,
    end: dt.date,
    *,
    step: int | None = None,
    tell: Tell = lambda what, done, of: None,
) -> Backfill:
    """Compute the days from `start` up to `end`, which is left out, and replace them in the sink, one by one.

    - The source is read as far back and ahead as frames reach.
    - `step` days are computed at a time, by default all of them.
    - A backfill that was killed goes on after the last day that it replaced; one that has ended starts again.
    """
    if start >= end:
        raise InvalidInput(f"a backfill goes from a day to a later one, got from {start} to {end}, which is left out")
    if step is not None and step < 1:
        raise InvalidInput(f"step is a number of days from 1 on, got {step}")
    schema = check_pipeline(spark, pipeline)
    sink = open_target(spark, pipeline, schema)
    if isinstance(sink, PassThroughSink):
        raise InvalidInput(f"backfill cannot replace days of the format {sink.format!r}: files and tables only")
    folder = find_work_folder(pipeline)
    days = [start + dt.timedelta(days=i) for i in range((end - start).days)]
    with CheckpointLock(folder / "backfill", f"{pipeline.name}'s backfill"):
        journal = Journal(folder / "backfill.json", pipeline, start, end)
        left = [day for day in days if day not in journal.done]
        halo = measure_reach(pipeline)
        for piece in cut(left, step or len(days)):
            _fill(spark, pipeline, sink, piece, halo, journal, tell, (len(days), schema))
        journal.remove()
    return Backfill(len(days), len(days) - len(left), describe_reach(halo))


def _fill(
    spark: Any, pipeline: Pipeline, sink: Any, days: Sequence[dt.date], halo: HaloSize | str, journal: Journal,
    tell: Tell, total: tuple[int, Any],
) -> None:  # fmt: skip
    from pyspark.sql import functions as F  # noqa: N812

    time = pipeline.output_time
    assert time is not None
    first, last = to_instant(days[0]), to_instant(days[-1] + dt.timedelta(days=1))
    tell("computing", len(journal.done), total[0])
    rows = read_rows(spark, pipeline, first, last, halo)
    out = pipeline.finish(pipeline.compute(rows, pipeline.features, pipeline.batch_options()))
    inside = (column(time) >= F.lit(first)) & (column(time) < F.lit(last))
    results = out.where(inside).persist()
    try:

        def done(day: dt.date) -> None:
            journal.note(day)
            tell("replacing", len(journal.done), total[0])

        sink.replace_days(results, days, done)
    finally:
        results.unpersist()


def read_rows(spark: Any, pipeline: Pipeline, first: dt.datetime, last: dt.datetime, halo: HaloSize | str) -> Any:
    """Read what results from `first` to `last` need: by time, or of each key the rows next to them."""
    from pyspark.sql import functions as F  # noqa: N812

    source = pipeline.definition.source
    assert source is not None and pipeline.time is not None
    read = read_source(spark, source, pipeline.folder, streaming=False)
    rows = leave_out_untimed(pipeline.prepare(count_unparsed(read, "slidewise_unparsed")), pipeline.time)
    history = open_history(spark, pipeline, "slidewise_unparsed_history")
    if history is not None:  # days of the history are as good as others: they are asked for
        rows, _ = pipeline.join_history(rows, history.df)
    if isinstance(halo, str):
        return rows
    time = column(pipeline.time)
    before = first - _to_timedelta(halo.before)
    after = last + _to_timedelta(halo.after)
    near = (time >= F.lit(before)) & (time <= F.lit(after))
    if not halo.rows_before and not halo.rows_after:
        return rows.where(near)
    # Before and after the days apart, so that rows between need no rank.
    order = [column(name) for name in pipeline.order]
    parts = [rows.where((time >= F.lit(first)) & (time < F.lit(last)))]
    for side, sort, count in (
        (time < F.lit(first), [each.desc() for each in order], halo.rows_before),
        (time >= F.lit(last), [each.asc() for each in order], halo.rows_after),
    ):
        parts.append(_take_edge(rows.where(side), pipeline.keys, sort, count, near))
    out = parts[0]
    for part in parts[1:]:
        out = out.unionByName(part)
    return out


def _take_edge(rows: Any, keys: Sequence[str], sort: Sequence[Any], count: int, near: Any) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    from slidewise.spark.column_names import find_unused_prefix

    if not count:
        return rows.where(near)
    rank = f"{find_unused_prefix(rows.columns)}rank"
    ranked = rows.withColumn(
        rank, F.row_number().over(Window.partitionBy(*(column(key) for key in keys)).orderBy(*sort))
    )
    return ranked.where(near | (column(rank) <= count)).drop(rank)


def measure_reach(pipeline: Pipeline) -> HaloSize | str:
    """Measure how far results reach beyond their own days; a text says why all rows are needed."""
    window = pipeline.window
    for name in pipeline.batch_options():
        if name in ("emit", "forget_after"):
            return f"{name}: looks at the row before of a key, however long ago that was"
    if window is None:
        return measure_halo(each.window for each in pipeline.features.values() if isinstance(each, Over))
    if isinstance(window, TimeWindow) and window.by_calendar:
        days = CalendarGrid(window.every.size, window.size).longest_days  # type: ignore[union-attr]
        return HaloSize(before=Duration((days + 1) * UNITS["d"]))  # a day for the clocks that change
    if window.gives_windows and window.slide_size is not None and isinstance(window.lengths[0], Duration):
        return HaloSize(before=window.lengths[0])
    return _describe_slide(window)


def describe_reach(halo: HaloSize | str) -> str:
    """Describe how far rows are read."""
    if isinstance(halo, str):
        return f"all rows, since {halo}"
    parts = [f"{halo.before} before"] * bool(halo.before) + [f"{halo.after} after"] * bool(halo.after)
    parts += [f"{halo.rows_before} rows of each key before"] * bool(halo.rows_before)
    parts += [f"{halo.rows_after} rows of each key after"] * bool(halo.rows_after)
    return ", ".join(parts) or "the days alone"


def _describe_slide(window: WindowDefinition) -> str:
    return f"{window!r} counts from the first row of a key"


def find_work_folder(pipeline: Pipeline) -> Path:
    """Find where a backfill writes down what it has done: beside the checkpoint, or beside the pipeline's file."""
    if pipeline.definition.run.checkpoint is not None or pipeline.definition.run.log is not None:
        return find_log_folder(pipeline)
    return pipeline.folder / ".slidewise" / pipeline.name


class Journal:
    """The days that a backfill has replaced. Of another definition, or other days, nothing is taken over."""

    def __init__(self, path: Path, pipeline: Pipeline, start: dt.date, end: dt.date) -> None:
        self._path = path
        described = json.dumps([pipeline.describe(), str(start), str(end)], sort_keys=True)
        self._digest = hashlib.sha256(described.encode()).hexdigest()
        self.done: list[dt.date] = self._read()

    def note(self, day: dt.date) -> None:
        """Write down that a day has been replaced."""
        self.done.append(day)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps({"digest": self._digest, "done": [day.isoformat() for day in self.done]}))
        fresh.replace(self._path)

    def remove(self) -> None:
        """Forget all: the backfill has come to its end."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> list[dt.date]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return []
        return [dt.date.fromisoformat(day) for day in found["done"]] if found.get("digest") == self._digest else []


def cut(days: Sequence[dt.date], most: int) -> list[list[dt.date]]:
    """Cut days into pieces without gaps, of so many days at most.

    >>> days = [dt.date(2026, 1, day) for day in (1, 2, 3, 7)]
    >>> [[day.day for day in piece] for piece in cut(days, 2)]
    [[1, 2], [3], [7]]
    """
    pieces: list[list[dt.date]] = []
    for day in days:
        if not pieces or len(pieces[-1]) == most or pieces[-1][-1] + dt.timedelta(days=1) != day:
            pieces.append([])
        pieces[-1].append(day)
    return pieces


def to_instant(day: dt.date) -> dt.datetime:
    """Give the first instant of a day, in UTC."""
    return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)


def _to_timedelta(length: Any) -> dt.timedelta:
    # Up to the next microsecond: to read more than is needed does no harm.
    return dt.timedelta(microseconds=-(-length.nanoseconds // 1000)) if isinstance(length, Duration) else dt.timedelta()
