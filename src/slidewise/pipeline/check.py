"""Check a pipeline against the columns of its source: names, types and Spark SQL, before anything runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.pipeline.definition import Rows
from slidewise.pipeline.history import require_same_columns
from slidewise.pipeline.mistakes import Mistake, Path
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.prepare import run_steps
from slidewise.pipeline.source import read_schema
from slidewise.spark.conditions import SqlMistake, add_conditions, describe_spark_error
from slidewise.suggest import suggest


def check_pipeline(spark: Any, pipeline: Pipeline, *, streaming: bool = False, begun: bool = False) -> Any:
    """Check a pipeline, all mistakes at once; the columns that it gives come back.

    Nothing is read but what Spark looks at to find the columns of a source that declares none. The history of a stream
    that has `begun` is not looked at: it is not read again, and may be gone.
    """
    if pipeline.definition.source is None:
        raise pipeline.refuse([Mistake("'source' is missing: where rows come from", ())])
    schema = _read_schema(spark, pipeline, pipeline.definition.source, ("source",))
    history = None
    if pipeline.history is not None and not begun:
        found = _read_schema(spark, pipeline, pipeline.history, ("source", "history"))
        history = spark.createDataFrame([], found)
    with open_empty(spark, schema, streaming) as empty:
        return _Check(pipeline, streaming, history).run(empty)


def _read_schema(spark: Any, pipeline: Pipeline, rows: Rows, path: Path) -> Any:
    try:
        return read_schema(spark, rows, pipeline.folder)
    except SlidewiseError as error:
        message = str(error).removeprefix(f"{'.'.join(map(str, path))}: ")
        place = (*path, "schema") if message.startswith("schema: ") else path
        raise pipeline.refuse([Mistake(message.removeprefix("schema: "), place)]) from None


@contextmanager
def open_empty(spark: Any, schema: Any, streaming: bool) -> Iterator[Any]:
    """Open a DataFrame of no rows with these columns, as a batch or as a stream."""
    if not streaming:
        yield spark.createDataFrame([], schema)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield spark.readStream.schema(schema).parquet(folder)


class _Check:
    """Collects the mistakes of one pipeline."""

    def __init__(self, pipeline: Pipeline, streaming: bool, history: Any) -> None:
        self._pipeline = pipeline
        self._streaming = streaming
        #: an empty DataFrame with its columns; None: there is none, or it is not looked at
        self._history = history
        self._mistakes: list[Mistake] = []

    def run(self, empty: Any) -> Any:
        pipeline, definition = self._pipeline, self._pipeline.definition
        self._check_examples("given", empty.columns)
        rows = self._prepare(empty)
        if rows is None:
            raise pipeline.refuse(self._mistakes)
        for i, key in enumerate(definition.keys):
            self._require_column(rows, key, ("keys", i))
        if definition.time is not None:
            self._check_time(rows)
        if self._streaming:
            self._check_watermark()
        history = self._prepare_history(rows)
        failed: Exception | None = None
        if not self._mistakes:
            try:  # all features at once: one by one takes longer, and tells which of them are wrong
                compute = pipeline.stream if self._streaming else pipeline.batch
                out = compute(empty, history=history)
            except Exception as error:
                failed = error
            else:
                return self._check_results(out)
        wrong = {mistake.path[:2] for mistake in self._mistakes}
        ordered = not {path[0] if path else "time" for path in wrong} & {"keys", "time"}
        for name in pipeline.features:
            if pipeline.feature_paths[name][:2] in wrong:
                continue
            if not ordered:  # nothing can be computed, but its columns may be wrong, too
                self._check_columns(rows, name)
            elif self._check_order(name):
                self._check_feature(rows, name)
        if not self._mistakes and failed is not None:
            own = isinstance(failed, SlidewiseError)
            self._mistakes.append(Mistake(str(failed) if own else describe_spark_error(failed)))
        raise pipeline.refuse(self._mistakes)

    def _check_results(self, out: Any) -> Any:
        """Check what is said of the results, and give their columns."""
        pipeline, definition = self._pipeline, self._pipeline.definition
        self._check_examples("expect", out.columns)
        for i, key in enumerate((definition.sink and definition.sink.keys) or ()):
            self._require_column(out, key, ("sink", "keys", i))
        if self._mistakes:
            raise pipeline.refuse(self._mistakes)
        return out.schema

    def _prepare(self, empty: Any) -> Any:
        steps = self._pipeline.definition.steps
        try:
            rows = run_steps(empty, steps)
        except SqlMistake as error:
            several = isinstance(self._pipeline.definition.prepare, dict)
            self._note(str(error), ("prepare", error.name) if several else ("prepare",))
            return None
        for name, text in self._pipeline.conditions.items():
            try:
                rows = add_conditions(rows, {name: text})
            except SqlMistake as error:
                self._note(str(error), self._find_condition(name))
        return rows

    def _prepare_history(self, rows: Any) -> Any:
        if self._history is None or not {*self._pipeline.conditions} <= {*rows.columns}:
            return None  # what is wrong with a condition is told already
        own = self._pipeline.history is not None and self._pipeline.history.steps is not None
        path: Path = ("source", "history", "prepare") if own else ("source", "history")
        try:
            history = self._pipeline.prepare_history(self._history)
            require_same_columns(rows, history)
        except SqlMistake as error:
            self._note(str(error) if own else f"{error.name}: {error}", path)
        except InvalidInput as error:
            self._note(str(error), path)
        else:
            return history
        return None

    def _find_condition(self, name: str) -> Path:
        for feature, path in self._pipeline.feature_paths.items():
            each = self._pipeline.features[feature]
            if (each.aggregation if isinstance(each, Over) else each).where == name:
                return (*path[:2], "where")
        return ()

    def _check_time(self, rows: Any) -> None:
        time = self._pipeline.definition.time
        assert time is not None
        if self._require_column(rows, time.column, ("time", "column")):
            kind = rows.select(f"`{time.column}`").schema[0].dataType.simpleString()
            if kind != "timestamp":
                self._note(
                    f"the time of events is a timestamp, and {time.column!r} is {kind}. Cast it in prepare:, as in "
                    f"SELECT *, CAST(... AS timestamp) AS {time.column} FROM source",
                    ("time", "column"),
                )
        for i, name in enumerate(time.then):
            self._require_column(rows, name, ("time", "then", i))

    def _check_watermark(self) -> None:
        """Require what makes results of a stream final."""
        definition = self._pipeline.definition
        if definition.run.emit == "arrival":
            return
        if definition.time is None:
            self._note("a stream needs time:, as in time: {column: at, max_delay: 10m}", ())
        elif definition.time.max_delay is None:
            self._note("a stream needs max_delay:, how late rows may come, as in max_delay: 10m", ("time",))

    def _check_columns(self, rows: Any, name: str) -> None:
        """Require the columns that a feature names."""
        each = self._pipeline.features[name]
        aggregation, window = (each.aggregation, each.window) if isinstance(each, Over) else (each, None)
        for column in (*aggregation.columns, *aggregation.asks, *(window.columns if window is not None else ())):
            self._require_column(rows, column, self._pipeline.feature_paths[name][:2])

    def _check_order(self, name: str) -> bool:
        """Require the order that a feature's window is measured along: the time, and nothing else."""
        each, time = self._pipeline.features[name], self._pipeline.definition.time
        window = each.window if isinstance(each, Over) else self._pipeline.window
        if window is None or window.reach is None or window.reach.unit != "range" or len(self._pipeline.order) == 1:
            return True
        path = self._pipeline.feature_paths[name] if isinstance(each, Over) else ("window",)
        if time is None:
            self._note("a window by time needs time:, as in time: {column: at}", path)
        else:
            self._note("a window by time is measured along the time alone: leave out time.then, or count rows", path)
        return False

    def _check_feature(self, rows: Any, name: str) -> None:
        pipeline = self._pipeline
        options = pipeline.stream_options() if self._streaming else pipeline.batch_options()
        try:
            pipeline.compute(rows, {name: pipeline.features[name]}, options)
        except SlidewiseError as error:
            self._note(str(error), pipeline.feature_paths[name][:2])
        except Exception as error:  # Spark's own
            self._note(describe_spark_error(error), pipeline.feature_paths[name][:2])

    def _check_examples(self, part: str, columns: list[str]) -> None:
        for i, example in enumerate(self._pipeline.definition.tests):
            for j, row in enumerate(getattr(example, part)):
                for name in row:
                    if name not in columns:
                        self._note(
                            f"there is no column {name!r}. {suggest(name, columns)}", ("tests", i, part, j, name)
                        )

    def _require_column(self, rows: Any, name: str, path: Path) -> bool:
        hidden = self._pipeline.conditions
        columns = [each for each in rows.columns if each not in hidden]
        if name.lower() not in {each.lower() for each in columns}:
            self._note(f"there is no column {name!r}. {suggest(name, columns)}", path)
            return False
        return True

    def _note(self, message: str, path: Path) -> None:
        mistake = Mistake(message, path)
        if mistake not in self._mistakes:
            self._mistakes.append(mistake)
