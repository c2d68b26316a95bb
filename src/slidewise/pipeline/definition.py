"""The definition of a pipeline, as its file has it: what may stand there, and of which kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from slidewise.errors import InvalidInput
from slidewise.pipeline.mistakes import Mistake, Path
from slidewise.suggest import suggest
from slidewise.windows.durations import Duration, length

#: what Spark's options are
Option = str | bool | int | float
#: To editors any text: they would want a zone, which a time of ours may do without.
Time = Annotated[datetime, WithJsonSchema({"type": "string"})]
#: Spark SQL, or several named steps of it
Steps = str | dict[str, str]


class Part(BaseModel):
    """A part of a definition: only the keys that it knows, and no changes once it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Rows(Part):
    """Rows of any format that Spark can read."""

    format: str = Field(description="Any format of Spark's: parquet, csv, json, orc, kafka, delta, jdbc, rate, ...")
    path: str | list[str] | None = Field(default=None, description="The folder or files, for formats that have one.")
    table: str | None = Field(default=None, description="A table of the catalog, in place of a path.")
    columns: str | None = Field(
        default=None,
        alias="schema",
        description="Names and types: 'card string, at timestamp'. Streams of files need it.",
    )
    options: dict[str, Option] = Field(default_factory=dict, description="The format's options, passed on unchanged.")


class History(Rows):
    """What came before a stream: a batch that its windows are filled from."""

    columns: str | None = Field(
        default=None,
        alias="schema",
        description="Names and types, where its files have not the source's.",
    )
    prepare: Steps | None = Field(
        default=None, description="Spark SQL over `source`, in place of the pipeline's, where its columns are others."
    )
    until: Time | None = Field(
        default=None, description="Its last time, in UTC unless it has a zone: 2026-01-01. By default its newest."
    )

    @field_validator("until", mode="before")
    @classmethod
    def _read_until(cls, given: Any) -> Any:
        return given if given is None else _read_time(given)

    @field_validator("prepare")
    @classmethod
    def _check_prepare(cls, given: Any) -> Any:
        return check_steps(given)

    @property
    def steps(self) -> dict[str, str] | None:
        """The steps of its own `prepare`, by name; None where it has none."""
        return None if self.prepare is None else name_steps(self.prepare)


class Source(Rows):
    """Where rows come from."""

    history: History | None = Field(
        default=None, description="What came before: a batch that fills the windows of a stream before its first row."
    )


class TimeColumn(Part):
    """The time of events, and what becomes of rows that come late."""

    column: str = Field(description="The column of event times, a timestamp.")
    max_delay: str | None = Field(default=None, description="How late rows may come on a stream: 10m.")
    max_ahead: str | None = Field(default=None, description="Leave out rows further ahead of the clock than this.")
    then: list[str] = Field(default_factory=list, description="Columns that order rows of equal time.")
    late: Literal["drop", "mark", "revise"] = Field(
        default="drop", description="Late rows are dropped and counted, come out with a mark, or revise results."
    )
    keep: str | None = Field(default=None, description="With late: revise, for how long.")
    forget_after: str | None = Field(default=None, description="Forget keys without rows for this long.")

    @field_validator("max_delay", "max_ahead", "keep", "forget_after", mode="before")
    @classmethod
    def _check_durations(cls, given: Any) -> Any:
        return given if given is None else check_duration(given)

    @field_validator("then", mode="before")
    @classmethod
    def _take_one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_keep(self) -> TimeColumn:
        if self.late == "revise" and self.keep is None:
            raise ValueError("late: revise needs keep:, for how long, as in keep: 10m")
        if self.late != "revise" and self.keep is not None:
            raise ValueError("keep: says for how long late rows revise results. Add late: revise, or leave it out")
        return self


class Slide(Part):
    """A window with a slide: one row per key and slide, in place of one per row."""

    over: Any = Field(description="The size: 1h, 100 rows, or a window such as {rows_between: [-9, 0]}.")
    every: Any = Field(default=None, description="The slide: 1m, or 10 rows; a session has none.")
    offset: str | None = Field(default=None, description="Moves the boundaries of a slide by time.")
    zone: str | None = Field(
        default=None, description="The time zone by whose clocks slides are days or months: Europe/Berlin."
    )
    cumulative: bool = Field(
        default=False, description="Whether windows by time grow with every slide: the day so far."
    )


class Sink(Part):
    """Where results go: files, a table, or any other format that Spark can write."""

    format: str | None = Field(default=None, description="parquet, csv, json, orc, or any other format of Spark's.")
    path: str | None = Field(default=None, description="The folder of files, which are partitioned by day.")
    partition: str | None = Field(default=None, description="How the column of days is named: day, unless told.")
    table: str | None = Field(default=None, description="A table of PostgreSQL.")
    url: str | None = Field(default=None, description="postgresql://host/database, or jdbc:postgresql://...")
    mode: Literal["append", "upsert"] = Field(default="append", description="upsert keeps the newest row of each key.")
    keys: list[str] | None = Field(default=None, description="Of upsert: the columns that tell rows apart.")
    options: dict[str, Option] = Field(default_factory=dict, description="The format's options, passed on unchanged.")

    @field_validator("keys", mode="before")
    @classmethod
    def _take_one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_target(self) -> Sink:
        if self.table is not None:
            if self.url is None:
                raise ValueError("a table needs a url:, as in postgresql://host/database")
            if self.path is not None:
                raise ValueError("table: and path: are two targets. Leave one out")
            if self.mode == "upsert" and not self.keys:
                raise ValueError("mode: upsert needs keys: [...], the columns that tell rows apart")
        elif self.format is None:
            raise ValueError("say where results go: format: and path: of files, or table: and url: of a database")
        elif self.mode == "upsert" or self.keys is not None:
            raise ValueError("mode: upsert and keys: are for tables. Files have every row: leave them out")
        return self


class RunSettings(Part):
    """How the pipeline runs."""

    checkpoint: str | None = Field(default=None, description="The folder of a stream's checkpoint. Streams need it.")
    trigger: str | None = Field(
        default=None, description="The time between micro-batches: 10s. Without it, one after another."
    )
    emit: Literal["watermark", "arrival", "changes"] | None = Field(
        default=None, description="When a stream gives results."
    )
    empty: bool | None = Field(
        default=None, description="With emit: changes, results are given again when rows leave their windows."
    )
    buckets: int | None = Field(
        default=None, ge=1, le=4096, description="Into how many parts a stream divides its keys."
    )
    slices: bool | None = Field(default=None, description="With a window: fold rows into slices.")
    partitions: int | None = Field(
        default=None, ge=1, description="spark.sql.shuffle.partitions: about the number of cores."
    )
    log: str | None = Field(
        default=None, description="Where the run log lies, where the checkpoint is not on a local disk."
    )
    conf: dict[str, Option] = Field(default_factory=dict, description="Settings of the Spark session.")

    @field_validator("trigger", mode="before")
    @classmethod
    def _check_trigger(cls, given: Any) -> Any:
        return given if given is None else check_duration(given)


class Example(Part):
    """A test of the pipeline: rows that come, and what is expected of them."""

    name: str | None = Field(default=None, description="What the test shows.")
    given: list[dict[str, Any]] = Field(description="Rows of the source.")
    expect: list[dict[str, Any]] = Field(description="Rows of the result; only the columns named here are compared.")


class Definition(Part):
    """A whole pipeline."""

    name: str = Field(description="The name of the pipeline: of its query, its logs and its page.")
    vars: dict[str, Any] = Field(default_factory=dict, description="Values for ${name}; --var name=... replaces one.")
    source: Source | None = Field(default=None, description="Where rows come from.")
    prepare: Steps | None = Field(
        default=None, description="Spark SQL over `source`; or several named steps, each of which sees those before it."
    )
    keys: list[str] = Field(default_factory=list, description="Windows never reach from one key into another.")
    time: TimeColumn | None = Field(default=None, description="The column of event times, by which rows are ordered.")
    window: Slide | None = Field(default=None, description="One row per key and slide; without it, one per row.")
    features: dict[str, Any] = Field(description="New columns: aggregations over windows.")
    sink: Sink | None = Field(default=None, description="Where results go.")
    late_to: Sink | None = Field(default=None, description="With late: mark, where late rows of a stream go.")
    run: RunSettings = Field(default_factory=RunSettings, description="How the pipeline runs.")
    tests: list[Example] = Field(default_factory=list, description="Rows that come, and what is expected of them.")

    @field_validator("keys", mode="before")
    @classmethod
    def _take_one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("time", mode="before")
    @classmethod
    def _take_column(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given

    @field_validator("name")
    @classmethod
    def _check_name(cls, given: str) -> str:
        if not given.strip() or any(c in given for c in "/\\\n\r\t\0"):
            raise ValueError("a name is a word or several, without slashes")
        return given

    @field_validator("late_to")
    @classmethod
    def _check_late(cls, given: Sink | None, info: ValidationInfo) -> Sink | None:
        time = info.data.get("time")
        if given is not None and "time" in info.data and (time is None or time.late != "mark"):
            raise ValueError("takes rows that are marked as late. Add late: mark to time:, or leave it out")
        return given

    @field_validator("features")
    @classmethod
    def _check_features(cls, given: dict[str, Any]) -> dict[str, Any]:
        if not given:
            raise ValueError("there are none: name at least one, as in spent: {sum: amount, over: 1h}")
        return given

    @field_validator("prepare")
    @classmethod
    def _check_prepare(cls, given: Any) -> Any:
        return check_steps(given)

    @property
    def steps(self) -> dict[str, str]:
        """The steps of `prepare`, by name."""
        return name_steps(self.prepare)


def name_steps(prepare: Steps | None) -> dict[str, str]:
    """Give steps their names: a single one is called prepare.

    >>> name_steps("SELECT * FROM source")
    {'prepare': 'SELECT * FROM source'}
    """
    return prepare if isinstance(prepare, dict) else {} if prepare is None else {"prepare": prepare}


def check_steps(given: Any) -> Any:
    """Refuse names of steps that Spark SQL cannot have."""
    for step in given if isinstance(given, dict) else ():
        if not step.isidentifier() or step == "source":
            raise ValueError(f"a step is named by a word other than source, got {step!r}")
    return given


def check_duration(given: Any) -> str:
    """Refuse what is no positive length of time."""
    if not isinstance(given, str):
        raise ValueError(f"expects a length of time with its unit, such as 30s or 10m, got {_show(given)}")
    try:
        found = length(given, "a length of time")
    except InvalidInput as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, Duration) or found.nanoseconds < 0:
        raise ValueError(f"expects a positive, fixed length of time such as 30s or 10m, got {given!r}")
    return given


def _read_time(given: Any) -> datetime:
    """Read a time; one without a zone is in UTC, as days are."""
    time = given
    if isinstance(given, str):
        try:
            time = datetime.fromisoformat(given)
        except ValueError:
            time = None
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime):
        raise ValueError(f"expects a time such as 2026-01-01T00:00:00, got {_show(given)}")
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def read_definition(values: Mapping[str, Any]) -> tuple[Definition | None, list[Mistake]]:
    """Read a definition from plain values; None and all mistakes where there are any."""
    try:
        return Definition.model_validate(dict(values)), []
    except ValidationError as error:
        return None, _merge_alternatives([_describe(each) for each in error.errors()])


def _merge_alternatives(mistakes: list[Mistake]) -> list[Mistake]:
    """Make one mistake of those that a value has for each of the types that it may be of."""
    merged: dict[Path, Mistake] = {}
    others = []
    for mistake in mistakes:
        before = merged.get(mistake.path)
        if not mistake.message.startswith(_EXPECTS):
            others.append(mistake)
        elif before is None:
            merged[mistake.path] = mistake
        else:
            kind = mistake.message.removeprefix(_EXPECTS).split(", got ")[0]
            expected, given = before.message.split(", got ", 1)
            message = before.message if kind in expected else f"{_join(expected, kind)}, got {given}"
            merged[mistake.path] = Mistake(message, mistake.path)
    deepest = [
        mistake
        for mistake in merged.values()
        if not any(other != mistake.path and other[: len(mistake.path)] == mistake.path for other in merged)
    ]
    return [*deepest, *others]


def _join(expected: str, kind: str) -> str:
    if expected.endswith(" a whole number") and kind == "a number":
        return expected.removesuffix("a whole number") + kind
    return f"{expected} or {kind}"


# ---- pydantic's errors in words of the file
_EXPECTS = "expects "
_KINDS = {
    "string_type": "a text", "dict_type": "a mapping", "model_type": "a mapping", "list_type": "a list",
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "bool_type": "true or false", "bool_parsing": "true or false", "float_type": "a number",
    "float_parsing": "a number",
    "mapping_type": "a mapping", "model_attributes_type": "a mapping",
}  # fmt: skip
_LIMITS = {"greater_than_equal": "a number from {} on", "less_than_equal": "a number up to {}"}


def _describe(error: ErrorDetails) -> Mistake:
    kind, given, context = error["type"], error.get("input"), error.get("ctx") or {}
    path = _strip_unions(error["loc"])
    if kind == "extra_forbidden":
        near = suggest(path[-1], _known_keys(path[:-1]))
        return Mistake(f"there is no key {str(path[-1])!r}. {near}", path, of_key=True)
    if kind == "missing":
        return Mistake(f"{str(path[-1])!r} is missing: {_lower_first(_description(path))}", path[:-1])
    if kind == "value_error":
        return Mistake(str(context["error"]), path)
    if kind == "literal_error":
        return Mistake(f"{_EXPECTS}{context['expected']}, got {_show(given)}", path)
    if kind in _LIMITS:
        return Mistake(f"{_EXPECTS}{_LIMITS[kind].format(*context.values())}, got {_show(given)}", path)
    if kind in _KINDS:
        return Mistake(f"{_EXPECTS}{_KINDS[kind]}, got {_show(given)}", path)
    return Mistake(f"{_lower_first(error['msg'])}, got {_show(given)}", path)


def _strip_unions(loc: tuple[str | int, ...]) -> Path:
    """Leave out the names of alternatives, which pydantic puts into the path of a value of several types."""
    alternatives = {"str", "int", "float", "bool", "dict[str,str]", "list[str]"}
    return tuple(part for part in loc if part not in alternatives and part != "[key]")


def _model_at(path: Path) -> type[Part] | None:
    model: Any = Definition
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in (n, f.alias)), None)
        inner = None if field is None else _part_in(field.annotation)
        if inner is None:
            return None
        model = inner
    return model


def _part_in(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _part_in(argument)
        if found is not None:
            return found
    return None


def _known_keys(path: Path) -> list[str]:
    model = _model_at(path)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _description(path: Path) -> str:
    model = _model_at(path[:-1])
    field = None if model is None else model.model_fields.get(str(path[-1]))
    text = (field.description if field is not None else None) or "it is needed"
    return text if text.endswith("...") else text.rstrip(".")


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _show(given: Any) -> str:
    if isinstance(given, dict):
        return "a mapping" if given else "an empty mapping"
    if isinstance(given, list):
        return "a list" if given else "an empty list"
    if given is None:
        return "nothing"
    if isinstance(given, datetime | date):
        return str(given)
    text = repr(given)
    return text if len(text) <= 60 else text[:57] + "..."
