"""The tests of a pipeline's file: each example in process, as a batch, and as a stream, which must agree.

Spark runs `prepare` and every `where` once on the rows that are given. What comes out of that goes three ways:

                              +-- in process: the columns engine, over an Arrow table
given -> prepare, where ------+-- batch:      a DataFrame of Spark's
                              +-- stream:     micro-batches in the order given, and a last row far ahead, which brings
                                              the watermark to the end and is taken out again

Each is compared with `expect`, in the columns that are named there, and all are compared with the batch, in all
columns. Rows that come late in the order given are dropped by the stream, which is no mistake: it is then compared with
a batch of the rows that are not late, and `expect` stands for the other two. `run.emit` and `time.max_ahead` are left
out: examples show final results, on any day.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.definition import Example
from slidewise.pipeline.example_rows import Difference, Row, convert_value, find_differences, match_rows, sort_rows
from slidewise.pipeline.mistakes import Mistake
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.source import read_schema
from slidewise.spark.arrow_types import to_arrow_type
from slidewise.spark.conditions import describe_spark_error
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import CalendarDuration, Duration, length

ENGINES = ("in process", "batch", "stream")
#: A stream has at most so many micro-batches of an example's rows: each takes Spark a second or so.
MICRO_BATCHES = 3
MICROSECONDS = 1_000_000
DAY = 86_400 * MICROSECONDS
REVISION = "revision"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


#: notes of runs that failed
FAILED_PARITY = "differs from the batch"
FAILED_EXPECT = "differs from expect"


@dataclass(frozen=True)
class ExampleRun:
    """One way in which an example was run."""

    engine: str
    status: Literal["passed", "failed", "skipped"]
    #: why it failed or was skipped, or what else there is to know
    note: str = ""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of one example."""

    number: int
    name: str
    runs: tuple[ExampleRun, ...]
    #: what came out of the batch
    rows: tuple[Row, ...] = field(default=(), repr=False)
    #: of them, those that tell rows apart, and the features
    columns: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no run failed."""
        return all(run.status != "failed" for run in self.runs)

    @property
    def agrees(self) -> bool:
        """Whether all runs gave the same, whatever was expected: what came out can be accepted."""
        return all(run.status != "failed" or run.note == FAILED_EXPECT for run in self.runs)


def list_examples(pipeline: Pipeline) -> list[tuple[int, str, Example]]:
    """List the examples of a pipeline with their numbers and names."""
    return [
        (number, example.name or f"test {number + 1}", example)
        for number, example in enumerate(pipeline.definition.tests)
    ]


class Examples:
    """The examples of one pipeline, checked and converted."""

    def __init__(self, spark: Any, pipeline: Pipeline) -> None:
        """Check the pipeline and all values of its examples; every mistake is raised with its place."""
        self._spark = spark
        self._pipeline = pipeline
        self._zone = spark.conf.get("spark.sql.session.timeZone")
        out = check_pipeline(spark, pipeline)
        assert pipeline.definition.source is not None
        self._source = read_schema(spark, pipeline.definition.source, pipeline.folder)
        mistakes: list[Mistake] = []
        self._given = self._convert("given", self._source, mistakes)
        self._expected = self._convert("expect", out, mistakes)
        if mistakes:
            raise pipeline.refuse(mistakes)
        names = {*pipeline.keys, *pipeline.order, "window_start", "window_end"}
        #: the columns that tell the rows of the result apart
        self._labels = [name for name in out.names if name in names]
        self._columns = tuple(name for name in out.names if name in names or name in pipeline.features)

    def run(self, number: int, name: str) -> Outcome:
        """Run one example in all ways."""
        expected = self._expected[number]
        rows = pa.Table.from_pylist(self._given[number], self._to_arrow(self._source))
        prepared = self._pipeline.prepare(self._spark.createDataFrame(rows, self._source).coalesce(1))
        table, schema = self._drop_untimed(prepared.toArrow()), prepared.schema
        runs: dict[str, ExampleRun] = {}
        try:
            batch = self._run_batch(table, schema)
        except Exception as error:
            return Outcome(number, name, (ExampleRun("batch", "failed", _describe_failure(error)),))
        try:
            columns = self._drop_conditions(self._compute(table)).to_pylist()
            runs["in process"] = self._judge("in process", columns, expected, batch)
        except Exception as error:
            runs["in process"] = ExampleRun("in process", "failed", _describe_failure(error))
        runs["batch"] = self._judge("batch", batch, expected, batch)
        runs["stream"] = self._run_stream(table, schema, expected, batch)
        ordered = tuple(sort_rows(batch, self._labels))
        return Outcome(number, name, tuple(runs[engine] for engine in ENGINES), ordered, self._columns)

    # ---- the three ways
    def _run_batch(self, table: pa.Table, schema: Any) -> list[Row]:
        df = self._spark.createDataFrame(table, schema)
        return self._drop_conditions(self._compute(df)).toArrow().to_pylist()

    def _compute(self, rows: Any) -> Any:
        """Compute all rows, each once: of revisions the last is compared, and `run.emit` is left out."""
        options = {name: value for name, value in self._pipeline.batch_options().items() if name == "forget_after"}
        return self._pipeline.compute(rows, self._pipeline.features, options)

    def _run_stream(self, table: pa.Table, schema: Any, expected: list[Row], batch: list[Row]) -> ExampleRun:
        try:
            stream = _Stream(self._spark, self._pipeline, table)
        except InvalidInput as error:
            return ExampleRun("stream", "skipped", str(error))
        try:
            found = stream.run(schema)
        except SlidewiseError as error:
            return ExampleRun("stream", "skipped", str(error))
        except Exception as error:
            return ExampleRun("stream", "failed", _describe_failure(error))
        notes, reference = [], batch
        if stream.cuts is not None:
            reference = self._run_by_window(table, schema, stream.cuts)
            notes.append("late rows are in windows that were open, in the order given; compared with such windows")
        elif stream.late:
            number = len(stream.late)
            reference = self._run_batch(table.take([i for i in range(len(table)) if i not in stream.late]), schema)
            notes.append(f"{number} late row{'s' * (number > 1)} dropped, in the order given; compared with the others")
        if stream.waits:
            _, waiting = match_rows(found, reference)
            reference = [row for j, row in enumerate(reference) if j not in waiting]
            notes += [f"{len(waiting)} of the rows wait for rows after them"] if waiting else []
        if notes:
            differences = find_differences(reference, found, self._labels)
            return ExampleRun("stream", "failed" if differences else "passed", "; ".join(notes), tuple(differences))
        return self._judge("stream", found, expected, batch)

    def _run_by_window(self, table: pa.Table, schema: Any, cuts: list[int]) -> list[Row]:
        """Compute each hopping window over the rows that came before it closed: a row enters those after its cut."""
        found: list[Row] = []
        different = sorted(set(cuts))
        for cut, following in zip(different, [*different[1:], None], strict=True):
            rows = self._run_batch(table.take([i for i, own in enumerate(cuts) if own <= cut]), schema)
            for row in rows:
                end = _to_microseconds(row["window_end"])
                if end > cut and (following is None or end <= following):
                    found.append(row)
        return found

    def _judge(self, engine: str, found: list[Row], expected: list[Row], batch: list[Row]) -> ExampleRun:
        differences = find_differences(batch, found, self._labels) if found is not batch else []
        if differences:
            return ExampleRun(engine, "failed", FAILED_PARITY, tuple(differences))
        differences = find_differences(expected, found, self._labels)
        if differences:
            return ExampleRun(engine, "failed", FAILED_EXPECT, tuple(differences))
        return ExampleRun(engine, "passed")

    def _drop_untimed(self, table: pa.Table) -> pa.Table:
        """Leave out the rows that have no time, as every run does."""
        time = self._pipeline.time
        return table if time is None else table.filter(table[time].is_valid())

    def _drop_conditions(self, out: Any) -> Any:
        if self._pipeline.window is not None:
            return out
        if isinstance(out, pa.Table):
            return out.drop_columns(list(self._pipeline.conditions))
        return out.select(*(f"`{name}`" for name in out.columns if name not in self._pipeline.conditions))

    # ---- values
    def _convert(self, part: Literal["given", "expect"], schema: Any, mistakes: list[Mistake]) -> list[list[Row]]:
        kinds = {field.name: field.type for field in self._to_arrow(schema)}
        zone = ZoneInfo(self._zone)
        converted: list[list[Row]] = []
        for i, example in enumerate(self._pipeline.definition.tests):
            rows: list[Row] = []
            for j, row in enumerate(getattr(example, part)):
                values: dict[str, Any] = {}
                for name, value in row.items():
                    try:
                        values[name] = convert_value(value, kinds[name], zone)
                    except InvalidInput as error:
                        message = f"expects a value of the type {schema[name].dataType.simpleString()}, {error}"
                        mistakes.append(Mistake(message, ("tests", i, part, j, name)))
                rows.append(values)
            converted.append(rows)
        return converted

    def _to_arrow(self, schema: Any) -> pa.Schema:
        return pa.schema([pa.field(f.name, to_arrow_type(f.dataType, self._zone, f.name)) for f in schema.fields])


class _Stream:
    """An example as a stream: micro-batches as files, one after another."""

    def __init__(self, spark: Any, pipeline: Pipeline, table: pa.Table) -> None:
        self._spark = spark
        self._pipeline = pipeline
        time = pipeline.definition.time
        if time is None or time.max_delay is None:
            raise InvalidInput("there is no time.max_delay, without which nothing of a stream is ever final")
        if not len(table):
            raise InvalidInput("no row comes out of prepare")
        windows = list(_list_windows(pipeline))
        #: whether the last rows of a key wait for further ones, for ever
        self.waits = any(w.waits and w.reach is not None and w.reach.unit != "range" for w in windows)
        if self.waits and not pipeline.keys:
            raise InvalidInput(
                "a window reaches rows after its own, and without keys the last row would be one of them"
            )
        self._parts = list(_split(table, MICRO_BATCHES))
        delay, keep = (_microseconds(length(t, "")) for t in (time.max_delay, time.keep or "0s"))
        times = table[time.column].cast(pa.int64()).to_pylist()
        sizes = [len(part) for part in self._parts]
        #: the numbers of the rows that come late
        self.late = _find_late(times, sizes, delay, keep)
        #: of hopping windows, where rows are late: up to where windows were closed before the micro-batch of each row
        self.cuts: list[int] | None = None
        if pipeline.window is not None and pipeline.window.hopping and time.late != "revise":
            cuts = _find_cuts(times, sizes, delay)
            self.cuts = cuts if any(at <= cut for at, cut in zip(times, cuts, strict=True)) else None
            self.late = set()
        newest = max(times)
        self._far = newest + delay + 2 * sum(_microseconds(each) for w in windows for each in w.lengths) + 2 * DAY
        self._last = _build_last_row(table, pipeline.keys, time.column, self._far)

    def run(self, schema: Any) -> list[Row]:
        """Run the stream to its end, and give its rows: of revisions, the last."""
        import pyarrow.parquet

        name = f"slidewise_test_{uuid.uuid4().hex}"
        options = {k: v for k, v in self._pipeline.stream_options().items() if k not in ("emit", "max_ahead")}
        if options.get("late") == "mark":  # late rows are not compared
            del options["late"]
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows"
            rows.mkdir()
            for number, part in enumerate([*self._parts, self._last]):
                file = rows / f"{number}.parquet"
                pyarrow.parquet.write_table(part, file)
                os.utime(file, (number + 1, number + 1))  # Spark takes the oldest file first
            df = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(rows))
            out = self._pipeline.compute(df, self._pipeline.features, options)
            query = (
                out.writeStream.format("memory").queryName(name).outputMode("append").trigger(availableNow=True)
                .option("checkpointLocation", str(Path(folder) / "checkpoint")).start()
            )  # fmt: skip
            try:
                query.awaitTermination()
                found = self._spark.table(name).toArrow()
            finally:
                query.stop()
                self._spark.catalog.dropTempView(name)
        return self._take_out_last(found)

    def _take_out_last(self, found: pa.Table) -> list[Row]:
        label = self._pipeline.time if self._pipeline.time in found.column_names else "window_end"
        times = found[label].cast(pa.int64()).to_pylist()
        kept = found.take([i for i, time in enumerate(times) if time is None or time < self._far])
        if self._pipeline.window is None:
            kept = kept.drop_columns([name for name in self._pipeline.conditions if name in kept.column_names])
        rows = kept.to_pylist()
        return _last_revisions(rows, self._pipeline) if REVISION in kept.column_names else rows


def _list_windows(pipeline: Pipeline) -> Iterable[WindowDefinition]:
    if pipeline.window is not None:
        return [pipeline.window]
    return [each.window for each in pipeline.features.values() if isinstance(each, Over)]


def _split(table: pa.Table, most: int) -> Iterable[pa.Table]:
    """Split rows into about equal parts, in their order."""
    parts = min(most, len(table))
    bounds = [len(table) * i // parts for i in range(parts + 1)]
    return (table.slice(start, end - start) for start, end in pairwise(bounds))


def _find_cuts(times: Sequence[int], sizes: Iterable[int], delay: int) -> list[int]:
    """Find the watermark of the micro-batch before that of each row, by which windows were closed."""
    cuts: list[int] = []
    before = watermark = 0
    for size in sizes:
        part = times[len(cuts) : len(cuts) + size]
        cuts += [before] * size
        before, watermark = watermark, max(watermark, (max(part) - delay) // 1000 * 1000)
    return cuts


def _to_microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)


def _find_late(times: Sequence[int], sizes: Iterable[int], delay: int, keep: int) -> set[int]:
    """Find the rows at or before the watermark, which is that of the micro-batch before, in milliseconds."""
    late: set[int] = set()
    watermark = start = 0
    for size in sizes:
        part = range(start, start + size)
        late |= {i for i in part if times[i] <= watermark - keep}
        watermark = max(watermark, (max(times[i] for i in part) - delay) // 1000 * 1000)
        start += size
    return late


def _microseconds(given: Any) -> int:
    if isinstance(given, CalendarDuration):
        return abs(given.months) * 31 * DAY
    return abs(given.nanoseconds) // 1000 if isinstance(given, Duration) else 0


def _build_last_row(table: pa.Table, keys: Sequence[str], time: str, far: int) -> pa.Table:
    """Build the row that brings the watermark to the end: of a key that no other row has."""
    columns = {field.name: pa.nulls(1, field.type) for field in table.schema}
    columns[time] = pa.array([far]).cast(table.schema.field(time).type)
    if keys:
        used = set(table[keys[0]].to_pylist())
        columns[keys[0]] = pa.array([_find_unused(used, table.schema.field(keys[0]).type)], columns[keys[0]].type)
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in table.schema]))


def _find_unused(used: set[Any], kind: pa.DataType) -> Any:
    if None not in used:
        return None
    known = [value for value in used if value is not None]
    if pa.types.is_integer(kind):
        return next(value for value in range(len(known) + 1) if value not in used)
    if pa.types.is_string(kind):
        return max(known, default="") + "~"
    raise InvalidInput(f"keys of the type {kind} have a null among them, and no value is left for the last row")


def _last_revisions(rows: list[Row], pipeline: Pipeline) -> list[Row]:
    """Keep the last revision of each result."""
    results = {*pipeline.features, REVISION}
    versions: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[REVISION]):
        versions.setdefault(repr([value for name, value in row.items() if name not in results]), []).append(row)
    # Equal rows are told apart by nothing: there are as many as came for the first time.
    last = [row for each in versions.values() for row in each[-sum(row[REVISION] == 0 for row in each) :]]
    return [{name: value for name, value in row.items() if name != REVISION} for row in last]


def _describe_failure(error: Exception) -> str:
    ours = isinstance(error, SlidewiseError)
    return "fails: " + (str(error) if ours else f"{type(error).__name__}: {describe_spark_error(error)}")
