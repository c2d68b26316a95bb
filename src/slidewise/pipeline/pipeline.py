"""A pipeline: features over windows, from a source to a sink, defined once for batches and streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import copy
from datetime import date
from pathlib import Path
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.columns.stream_options import LATE, LATE_ROW
from slidewise.errors import InvalidInput
from slidewise.frontdoor import explain, is_spark
from slidewise.pipeline.definition import Definition, History, read_definition
from slidewise.pipeline.features import Expression, SlideMistake, build_features, build_slide
from slidewise.pipeline.history import find_end, find_history, join_history, require_same_columns, select_after
from slidewise.pipeline.mistakes import InvalidPipeline, Mistake
from slidewise.pipeline.own_code import run_file
from slidewise.pipeline.prepare import count_rows, leave_out_untimed, run_steps
from slidewise.pipeline.variables import Secrets, Variables
from slidewise.pipeline.yaml_file import YamlFile, read_yaml
from slidewise.spark.conditions import add_conditions
from slidewise.spark.plan import column
from slidewise.windows.definitions import WindowDefinition

#: the name of the object in a Python file
OBJECT = "pipeline"


class Pipeline:
    """Features over windows: defined once, computed for a batch or a stream.

        pipeline = sw.Pipeline(
            name="card_features", keys=["card"], time={"column": "at", "max_delay": "10m"},
            features={"spent": sw.sum("amount").over(sw.time("1h")), "usual": {"median": "amount", "over": "100 rows"}},
        )
        pipeline.batch(df)       # a DataFrame with the features; as with sw.with_columns, nothing runs yet
        pipeline.stream(df)      # the same for a streaming DataFrame

    The parameters are the keys of a pipeline's file: see docs/pipelines.md. A feature is an aggregation over a window,
    as for `sw.with_columns` (with `window=`, an aggregation, as for `sw.aggregate`), or is spelled as in a file.
    """

    def __init__(
        self,
        *,
        name: str,
        features: Mapping[str, Any],
        source: Mapping[str, Any] | None = None,
        prepare: str | Mapping[str, str] | None = None,
        keys: str | Iterable[str] = (),
        time: str | Mapping[str, Any] | None = None,
        window: Mapping[str, Any] | WindowDefinition | None = None,
        sink: Mapping[str, Any] | None = None,
        late_to: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        tests: Iterable[Mapping[str, Any]] = (),
        vars: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(window, WindowDefinition):
            window = window.per_window()
            if window.every is None:
                raise InvalidInput(f'window= has a slide, as in sw.time("1h", every="1m"), got {window!r}')
            window = {"over": window, "every": window.every}
        given = {
            "name": name, "features": dict(features), "source": source, "prepare": prepare,
            "keys": keys if isinstance(keys, str) else list(keys), "time": time, "window": window, "sink": sink,
            "late_to": late_to, "run": run, "tests": list(tests), "vars": dict(vars or {}),
        }  # fmt: skip
        self._build({key: value for key, value in given.items() if value is not None}, Path.cwd(), None, {})

    @classmethod
    def from_file(cls, file: YamlFile, variables: Mapping[str, str]) -> Pipeline:
        """Build the pipeline of a YAML file."""
        made = cls.__new__(cls)
        made._build(file.values, Path(file.path).resolve().parent, file, variables)
        return made

    def _build(
        self, values: Mapping[str, Any], folder: Path, file: YamlFile | None, given_variables: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.file = file
        self.secrets = Secrets()
        mistakes = _find_unknown_variables(values, given_variables)
        own = values.get("vars") if isinstance(values.get("vars"), Mapping) else {}
        variables = Variables({**(own or {}), **given_variables}, self.secrets)
        filled = variables.fill({key: value for key, value in values.items() if key != "vars"})
        definition, found = read_definition({**filled, "vars": values.get("vars") or {}})
        mistakes += variables.mistakes + found
        slide = definition.window if definition is not None else None
        self.window: WindowDefinition | None = None
        if slide is not None:
            try:
                self.window = slide.over if _has_slide(slide.over) else build_slide(slide)
            except SlideMistake as error:
                mistakes.append(Mistake(str(error), ("window", error.part)))
            except InvalidInput as error:
                mistakes.append(Mistake(str(error), ("window",)))
        given = filled.get("features")
        if isinstance(given, Mapping) and (slide is not None or "window" not in filled):
            built = build_features(given, slide, folder)
            mistakes += built.mistakes
            self.features: dict[str, Expression] = built.expressions
            self.conditions = built.conditions
            self.feature_paths = built.paths
        if definition is not None:
            mistakes += _check_history(definition, given)
        if mistakes or definition is None:
            raise self.refuse(mistakes)
        self.definition: Definition = definition
        self._described = _fill_for_display(values, given_variables)

    def refuse(self, mistakes: Iterable[Mistake]) -> InvalidPipeline:
        """Give mistakes their places in the file, as an error to raise. Secrets are left out."""
        return InvalidPipeline(
            Mistake(
                self.secrets.mask(mistake.message),
                mistake.path,
                mistake.place
                or (self.file.find_place(mistake.path, of_key=mistake.of_key) if self.file is not None else None),
            )
            for mistake in mistakes
        )

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self.definition.name

    @property
    def text(self) -> str:
        """The definition as it is written."""
        return self.file.text if self.file is not None else json.dumps(self.describe(), indent=2)

    @property
    def keys(self) -> list[str]:
        """The columns that windows are kept apart by."""
        return self.definition.keys

    @property
    def time(self) -> str | None:
        """The column of event times."""
        return self.definition.time.column if self.definition.time is not None else None

    @property
    def order(self) -> list[str]:
        """The columns that rows are ordered by."""
        time = self.definition.time
        return [] if time is None else [time.column, *time.then]

    @property
    def history(self) -> History | None:
        """Where the rows before those of the source are read from, and until when they go."""
        return find_history(self.definition.source)

    @property
    def output_time(self) -> str | None:
        """The column of the results that tells their time: that of the events, or the end of a slide by time."""
        if self.window is not None and (self.window.slide_kind == "time" or self.window.gives_windows):
            return "window_end"
        return self.time

    def batch(self, df: Any, untimed: Any = None, history: Any = None) -> Any:
        """Compute the features of a batch: a DataFrame of the source's rows goes in, one with the features comes out.

        >>> import slidewise as sw
        >>> cards = sw.Pipeline(name="cards", keys="card", features={"spent": sw.sum("amount").over(sw.rows(2))})
        >>> cards.batch({"card": ["a", "a", "b"], "amount": [1, 2, 3]})["spent"]
        array([1, 3, 3])

        - Rows of a Spark DataFrame that have no time are left out, as on a stream; `untimed`, an Observation of Spark's
          or its name, counts them.
        - `history` has the rows before, as `prepare_history` gives them: windows reach into it, and no results are
          those of its own rows, as on a stream. That of `source:` is not read here, as the source is not.
        - Data of other kinds (pandas, polars, Arrow) is taken, too, where neither `prepare` nor `where` needs Spark
          SQL.
        """
        rows = self.prepare(df)
        if self.time is not None and is_spark(df):
            rows = leave_out_untimed(rows, self.time, untimed)
        if history is None:
            return self.finish(self.compute(rows, self.features, self.batch_options()))
        rows, end = self.join_history(rows, history)
        out = self.finish(self.compute(rows, self.features, self.batch_options()))
        at = self.output_time
        assert at is not None
        return select_after(out, at, end, windows=at != self.time)

    def stream(self, df: Any, prepared: str | None = None, history: Any = None) -> Any:
        """Compute the features of a stream: a streaming DataFrame goes in, and another comes out.

            out = pipeline.stream(spark.readStream.table("cards"))
            out.writeStream.option("checkpointLocation", path).toTable("features")

        - `prepared` names an observation of Spark's that counts the rows after `prepare`.
        - `history` has the rows before, as `prepare_history` gives them. That of `source:` is not read here, as the
          source is not.
        """
        if not is_spark(df) or not df.isStreaming:
            raise InvalidInput(f"stream() takes a streaming DataFrame, got {type(df).__name__}. Use batch() for others")
        rows = self.prepare(df)
        if prepared is not None:
            rows = count_rows(rows, prepared)
        return self.finish(self.compute(rows, self.features, self.stream_options(history)))

    def explain(self, df: Any, history: Any = None) -> Any:
        """Explain what is computed for a batch or a stream, which may have a `history`: a table.

        >>> import slidewise as sw
        >>> cards = sw.Pipeline(name="cards", keys="card", features={"peak": sw.max("amount").over(sw.rows(100))})
        >>> [line["algorithm"] for line in cards.explain({"card": ["a"], "amount": [1]})]
        ['sba']
        """
        rows = self.prepare(df)
        streaming = is_spark(df) and df.isStreaming
        options: dict[str, Any] = self.stream_options(history) if streaming else self.batch_options()
        if self.window is not None:
            if not streaming:
                return explain({name: each.over(self.window) for name, each in self._aggregations().items()})
            options |= {"window": self.window}
        call: dict[str, Any] = {"partition_by": self.keys, "order_by": self.order or None, **options}
        return explain(rows, **call, **self.features)

    def describe(self) -> dict[str, Any]:
        """Describe what is computed, of what and where to, as plain values without secrets.

        >>> import slidewise as sw
        >>> cards = sw.Pipeline(name="cards", keys="card", features={"peak": sw.max("amount").over(sw.rows(100))})
        >>> cards.describe()["features"]
        {'peak': "max('amount').over(rows(100))"}
        """
        features = {name: repr(each) for name, each in self.features.items()}
        parts = ("name", "source", "prepare", "keys", "time", "window", "sink", "late_to")
        given: dict[str, Any] = {part: self._described.get(part) for part in parts}
        if self.history is not None:  # apart: it is a part of the stream's state, and not of the rows to come
            given["source"] = {key: value for key, value in given["source"].items() if key != "history"}
            given["history"] = self._described["source"]["history"]
        shown = json.loads(json.dumps({**given, "keys": self.keys}, default=_show_value))
        return {**shown, "features": features, "version": 1}

    def prepare(self, df: Any) -> Any:
        """Run `prepare` and compute the conditions of `where`."""
        steps, conditions = self.definition.steps, self.conditions
        if not steps and not conditions:
            return df
        if not is_spark(df):
            what = "prepare:" if steps else "where:"
            raise InvalidInput(f"{what} is Spark SQL: give a Spark DataFrame, got {type(df).__name__}")
        return add_conditions(run_steps(df, steps), conditions)

    def prepare_history(self, df: Any) -> Any:
        """Run `prepare` over rows of the history, or its own in its place, and compute the conditions of `where`."""
        steps = self.history.steps if self.history is not None else None
        return add_conditions(run_steps(df, self.definition.steps if steps is None else steps), self.conditions)

    def join_history(self, rows: Any, history: Any) -> tuple[Any, Any]:
        """Join rows of a batch with a history, both prepared; also tell the last time of the history, as a column."""
        if self.time is None:
            raise InvalidInput("a history ends at a time: add time:, as in time: {column: at}")
        require_same_columns(rows, history)
        end = find_end(history, self.time, self.history.until if self.history is not None else None)
        return join_history(rows, history, self.time, end), end

    def stream_options(self, history: Any = None) -> dict[str, Any]:
        """List what a call on a stream says besides."""
        time, run = self.definition.time, self.definition.run
        given: dict[str, Any] = {"emit": run.emit, "empty": run.empty, "buckets": run.buckets, "history": history}
        if history is not None and self.history is not None:
            given["history_until"] = self.history.until
        if self.window is not None:
            given["slices"] = run.slices
        if time is not None:
            given |= {
                "max_delay": time.max_delay, "max_ahead": time.max_ahead, "forget_after": time.forget_after,
                "keep": time.keep, "late": None if time.late == "drop" else time.late,
            }  # fmt: skip
        return {key: value for key, value in given.items() if value is not None}

    def batch_options(self) -> dict[str, Any]:
        """List which of these a call on a batch says: those with an effect there."""
        given = self.stream_options()
        if given.get("emit") != "changes":
            given.pop("emit", None)
        if self.definition.late_to is not None:  # a batch has no late rows, and results no mark
            given.pop("late", None)
        return {name: given[name] for name in ("emit", "empty", "late", "keep", "forget_after") if name in given}

    def compute(self, rows: Any, features: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
        """Compute some features of rows that are prepared: what sw.with_columns or sw.aggregate gives.

        Features come as a mapping: they may have the names of options.
        """
        call: dict[str, Any] = {"partition_by": self.keys, "order_by": self.order or None, **options}
        spark = is_spark(rows)
        if self.window is not None:
            return _aggregate(spark)(rows, features, window=self.window, **call)
        return _with_columns(spark)(rows, features, **call)

    def finish(self, out: Any) -> Any:
        """Leave out the columns of conditions."""
        if self.window is not None or not self.conditions:
            return out
        return out.drop(*(column(name) for name in self.conditions))

    def separate_late(self, out: Any) -> tuple[Any, Any]:
        """Separate the results of a stream from its late rows, which are as they came, where `late_to` takes them."""
        late = column(LATE)
        if self.window is None:
            own = [column(name) for name in out.columns if name not in self.features and name != LATE]
        else:
            names = [name for name in out.schema[LATE_ROW].dataType.names if name not in self.conditions]
            own = [column(LATE_ROW).getField(name).alias(name) for name in names]
        results = [column(name) for name in out.columns if name not in (LATE, LATE_ROW)]
        return out.where(~late).select(*results), out.where(late).select(*own)

    def with_features(self, features: Mapping[str, Any], conditions: Mapping[str, str]) -> Pipeline:
        """Make a pipeline of the same rows with other features."""
        made = copy(self)
        made.features, made.conditions = dict(features), dict(conditions)
        return made

    def _aggregations(self) -> dict[str, Aggregation]:
        return {name: each for name, each in self.features.items() if isinstance(each, Aggregation)}

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}, features={list(self.features)})"


def load(path: str | Path, variables: Mapping[str, str] | None = None) -> Pipeline:
    """Load a pipeline from a YAML file, or from a Python file with an object `pipeline`.

        pipeline = sw.load("card.yaml")
        pipeline.features            # {'spent_1h': sum('amount').over(time("1h")), ...}
        pipeline.batch(df)

    `variables` takes the place of `vars:`. All mistakes of a file come in one error, each with its line.
    """
    if Path(path).suffix == ".py":
        return _load_python(Path(path), variables or {})
    return Pipeline.from_file(read_yaml(path), variables or {})


def _load_python(path: Path, variables: Mapping[str, str]) -> Pipeline:
    if not path.is_file():
        raise InvalidPipeline([Mistake(f"{path} cannot be read: No such file or directory")])
    if variables:
        raise InvalidInput(f"{path} is a Python file, which has no vars: for --var {next(iter(variables))}=...")
    found = getattr(run_file(path), OBJECT, None)
    if not isinstance(found, Pipeline):
        raise InvalidPipeline([Mistake(f"{path} has no object {OBJECT}: write {OBJECT} = sw.Pipeline(...)")])
    found.folder = path.resolve().parent
    return found


def _find_unknown_variables(values: Mapping[str, Any], given: Mapping[str, str]) -> list[Mistake]:
    known = values.get("vars") or {}
    if not isinstance(known, Mapping):
        return []
    return [Mistake(f"--var {n}=...: there is no variable {n!r} under vars:") for n in given if n not in known]


def _check_history(definition: Definition, features: Any) -> list[Mistake]:
    """Find what a pipeline with a history lacks: a time that tells its rows from others."""
    if definition.source is None or definition.source.history is None:
        return []
    path = ("source", "history")
    if definition.time is None:
        return [Mistake("a history ends at a time: add time:, as in time: {column: at, max_delay: 10m}", path)]
    if definition.window is None and definition.time.column in features:
        message = "this feature takes the place of the time, which tells rows of the history from others. Rename it"
        return [Mistake(message, ("features", definition.time.column))]
    return []


def _show_value(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else repr(value)


def _fill_for_display(values: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Fill in the variables, and leave what comes from the environment as it is written."""

    class Written(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            return f"${{env:{name}}}"

    variables = Variables({**(values.get("vars") or {}), **given}, environment=Written())
    return variables.fill({key: value for key, value in values.items() if key != "vars"})


def _has_slide(over: Any) -> bool:
    return isinstance(over, WindowDefinition) and over.every is not None


def _with_columns(spark: bool) -> Any:
    if spark:
        from slidewise.spark.with_columns import with_columns

        return with_columns
    from slidewise.columns.with_columns import with_columns as over_columns

    return over_columns


def _aggregate(spark: bool) -> Any:
    if spark:
        from slidewise.spark.aggregate import aggregate

        return aggregate
    from slidewise.columns.aggregate import aggregate as over_columns

    return over_columns
