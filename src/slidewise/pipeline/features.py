"""Features: what `features:` says, as aggregations over windows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import slidewise.windows.definitions as windows
from slidewise import aggregations
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.pipeline.definition import Slide
from slidewise.pipeline.mistakes import Mistake, Path
from slidewise.pipeline.own_code import load_class
from slidewise.registry import algorithm, require_legal
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.suggest import suggest
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.reach import UNBOUNDED
from slidewise.windows.sessions import session

#: keys of a feature besides its aggregation and the aggregation's own parameters
RESERVED = ("over", "where", "use", "of", "algorithm")
#: windows that a mapping may name, and the parameters that go in a list
WINDOWS = ("rows", "time", "rows_between", "range_between", "groups_between", "delta", "punctuation", "session")
#: parameters of windows that `window:` has, and features have not
_SLIDES = ("every", "offset")
#: parameters of aggregations that may be columns of the row that a result is for
_OF_ROWS = ("fraction", "predict")
_ROWS = re.compile(r"(\d[\d_]*)\s*rows?", re.IGNORECASE)

Expression = Over | Aggregation


#: what has a frame of its own, and so no `over:`, and what it gives
PLACES = {
    "lag": "The value of a row before.", "lead": "The value of a row after.",
    "row_number": "The number of the row in its key.",
    "rank": "The place of the row by the order, rows of equal order alike.",
    "dense_rank": "The number of different orders so far.",
    "percent_rank": "The share of the other rows that come before.",
    "cume_dist": "The share of the rows at or before.", "ntile": "The part of its key, of so many.",
}  # fmt: skip


def list_names() -> list[str]:
    """List the names that an aggregation may have in a file."""
    return [name for entry in AGGREGATIONS for name in (entry.name, *entry.aliases)]


@dataclass
class Features:
    """The features of a pipeline: by name, in their order, and the conditions that they name."""

    expressions: dict[str, Expression] = field(default_factory=dict)
    #: Spark SQL to compute beside the columns, by the name of its boolean column, which is its own text
    conditions: dict[str, str] = field(default_factory=dict)
    #: which entry of the file made each of them
    paths: dict[str, Path] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


def build_features(given: Mapping[str, Any], slide: Slide | None, folder: FilePath) -> Features:
    """Build all features; what is wrong is noted, and the rest is built all the same."""
    features = Features()
    for name, each in given.items():
        builder = _Builder(features, str(name), slide, folder)
        try:
            builder.build(each)
        except _Refused:
            continue
    return features


def build_window(given: Any) -> WindowDefinition:
    """Build a window from its spelling in a file: `1h`, `100 rows`, or a mapping.

    >>> build_window("1h"), build_window("100 rows"), build_window({"rows_between": [-50, 50]})
    (time("1h"), rows(100), rows_between(-50, 50))
    """
    if isinstance(given, WindowDefinition):
        return given
    if isinstance(given, Mapping):
        return _build_named(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InvalidInput(f"a window is written 1h, 100 rows or {{rows_between: [-9, 0]}}, got {given!r}")
    if isinstance(given, int):
        return windows.rows(given)
    found = _ROWS.fullmatch(given.strip())
    return windows.rows(int(found[1])) if found else windows.time(given)


def build_slide(slide: Slide) -> WindowDefinition:
    """Build the window of `window:`; a SlideMistake tells which of its keys is wrong."""
    size = _build_part(slide, "over")
    if size.size_kind == "session":
        extra = [part for part in ("every", "offset", "zone") if getattr(slide, part) is not None]
        if extra:
            part = extra[0]
            raise SlideMistake(f"a session ends by itself: leave out {part}:", part)
        return size.per_window()
    if slide.every is None:
        raise InvalidInput("'every' is missing: the slide: 1m, or 10 rows. Sessions alone have none")
    every = _build_part(slide, "every")
    given = _arguments(size) | {"every": every} | ({} if slide.offset is None else {"offset": slide.offset})
    if slide.zone is not None:
        if size.size_kind != "time":
            raise SlideMistake(f"windows by time begin on days of a zone, and over: is {size!r}", "zone")
        given["zone"] = slide.zone
    if slide.cumulative:
        if size.size_kind != "time":
            raise SlideMistake(f"windows by time grow with every slide, and over: is {size!r}", "cumulative")
        given["cumulative"] = True
    makers: dict[str, Callable[..., WindowDefinition]] = {
        "count": windows.rows, "time": windows.time, "delta": windows.delta, "punctuation": windows.punctuation,
        "rows": windows.rows_between, "range": windows.range_between, "groups": windows.groups_between,
    }  # fmt: skip
    return makers[size.size_kind](**given)


class SlideMistake(InvalidInput):
    """A size or a slide that is no window."""

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


def _build_part(slide: Slide, part: str) -> WindowDefinition:
    try:
        return build_window(getattr(slide, part))
    except InvalidInput as error:
        raise SlideMistake(str(error), part) from None


def _arguments(size: WindowDefinition) -> dict[str, Any]:
    """List what a window was made of, without its slide."""
    names = {"unit", "every", "offset"}
    return {name: value for name, value in vars(size).items() if name not in names}


def _build_named(given: Mapping[str, Any]) -> WindowDefinition:
    kinds = [key for key in given if key in WINDOWS]
    if len(kinds) != 1:
        unknown = next((key for key in given if key not in WINDOWS), None)
        near = suggest(unknown, WINDOWS) if unknown is not None and not kinds else f"There are: {', '.join(WINDOWS)}"
        raise InvalidInput(f"a window is named by one of its kinds, got {', '.join(map(repr, given))}. {near}")
    kind = kinds[0]
    make = session if kind == "session" else getattr(windows, kind)
    positional = given[kind] if isinstance(given[kind], list) else [given[kind]]
    keywords = {key: _bound(value) for key, value in given.items() if key != kind}
    for key in keywords:
        _require_parameter(make, kind, key, len(positional), _SLIDES)
    _require_signature(make, kind, positional, keywords, _SLIDES)
    return make(*map(_bound, positional), **keywords)


def _bound(value: Any) -> Any:
    """Read a bound: `unbounded`, `-unbounded`, a column as `{column: back}`, or a number or length."""
    if isinstance(value, str) and value.strip().lower().lstrip("+-") == "unbounded":
        return -UNBOUNDED if value.strip().startswith("-") else UNBOUNDED
    return _read_columns(value)


def _read_columns(value: Any) -> Any:
    """Read what the row of a result brings along: `{column: q}` as its column, and each of a list."""
    if isinstance(value, list):
        return [_read_columns(each) for each in value]
    return windows.col(value["column"]) if isinstance(value, Mapping) and set(value) == {"column"} else value


def _list_parameters(make: Any, hidden: tuple[str, ...]) -> list[str]:
    parameters = inspect.signature(make).parameters.items()
    return [n for n, p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and n not in hidden]


def _require_parameter(make: Any, name: str, key: str, positional: int, hidden: tuple[str, ...]) -> None:
    """Refuse a parameter that a function does not have, or that is given already."""
    known = _list_parameters(make, hidden)
    if key not in known:
        takes = known[positional:]
        near = suggest(key, takes) if takes else "It takes none"
        raise InvalidInput(f"{name} has no parameter {key!r}. {near}")


def _require_signature(
    make: Any, name: str, positional: list[Any], keywords: Mapping[str, Any], hidden: tuple[str, ...]
) -> None:
    """Refuse arguments that a function does not take, in words of the file."""
    known = _list_parameters(make, hidden)
    try:
        inspect.signature(make).bind(*positional, **keywords)
    except TypeError as error:
        takes, given = ", ".join(known), ", ".join(map(str, positional))
        if "too many positional" in str(error):
            raise InvalidInput(f"{name} takes {takes}, got {len(positional)} values: {given}") from None
        raise InvalidInput(f"{name} takes {takes}: {str(error).replace('a required argument: ', '')}") from None


def _require_algorithm(name: Any, aggregation: Aggregation) -> None:
    """Refuse an algorithm that is not there, or that cannot compute the aggregation."""
    if name != "auto":
        require_legal(algorithm(name), aggregation)


class _Refused(Exception):
    """A feature has a mistake, which has been noted."""


class _Builder:
    """Builds one feature of the file, which may be several columns: one for each window."""

    def __init__(self, features: Features, name: str, slide: Slide | None, folder: FilePath) -> None:
        self._features = features
        self._name = name
        self._slide = slide
        self._folder = folder

    def build(self, given: Any) -> None:
        """Build the feature, or note what is wrong with it."""
        if isinstance(given, Over | Aggregation):
            self._add_object(given)
            return
        if not isinstance(given, Mapping):
            shown = "nothing" if given is None else repr(given)
            self._refuse(f"a feature is written {{sum: amount, over: 1h}}, got {shown}")
        if (place := next((key for key in given if key in PLACES), None)) is not None:
            self._build_place(place, given)
            return
        aggregation = self._build_aggregation(given)
        chosen = given.get("algorithm", "auto")
        if self._slide is not None:
            if "over" in given:
                self._refuse_key("window: says over which window all features are. Leave out over:", "over")
            if "algorithm" in given:
                self._refuse_key("with window:, the algorithm is chosen for all features. Leave it out", "algorithm")
            self._add(self._name, aggregation, ())
            return
        if "over" not in given:
            self._refuse("say over which window, as in over: 1h, or over: 100 rows")
        self._try(("algorithm",), _require_algorithm, chosen, aggregation)
        several = isinstance(given["over"], list)
        if several and not given["over"]:
            self._refuse("the list of windows is empty", "over")
        for i, each in enumerate(given["over"] if several else [given["over"]]):
            path: Path = ("over", i) if several else ("over",)
            name, spelling = self._name_window(each, path) if several else (self._name, each)
            window = self._try(path, build_window, spelling)
            self._add(name, self._try(path, aggregation.over, window, algorithm=chosen), path)

    def _build_place(self, name: str, given: Mapping[str, Any]) -> None:
        """Build what has a frame of its own: {lag: price}, {lag: [price, 2], default: 0}, {rank: }."""
        if self._slide is not None:
            self._refuse_key(f"{name} is of a row, and window: gives one result per slide", name)
        for key in RESERVED:
            if key in given:
                self._refuse_key(f"{name} has a frame of its own, and takes no {key}:", key)
        others = [key for key in given if key in set(list_names()) or (key in PLACES and key != name)]
        if others:
            self._refuse_key(f"{name!r} and {others[0]!r} are 2 aggregations: make a feature of each", others[0])
        of, make = given[name], getattr(aggregations, name)
        positional = [] if of is None else of if isinstance(of, list) else [of]
        if name in ("lag", "lead") and not (positional and isinstance(positional[0], str)):
            self._refuse(f"{name} takes the name of a column, got {'nothing' if of is None else repr(of)}", name)
        keywords = {key: value for key, value in given.items() if key != name}
        for key in keywords:
            self._try_key(key, _require_parameter, make, name, key, len(positional), ())
        self._try((name,), _require_signature, make, name, positional, keywords, ())
        self._add(self._name, self._try((name,), make, *positional, **keywords), ())

    def _add_object(self, given: Expression) -> None:
        if isinstance(given, Over) == (self._slide is not None):
            wanted = "an aggregation, since window: says over what" if self._slide else "an aggregation .over(a window)"
            self._refuse(f"expects {wanted}, got {given!r}")
        self._add(self._name, given, ())

    def _build_aggregation(self, given: Mapping[str, Any]) -> Aggregation:
        names = [key for key in given if key not in RESERVED]
        where = self._condition(given)
        keywords = {} if where is None else {"where": where}
        if "use" in given:
            own = self._try(("use",), load_class, given["use"], self._folder)
            return self._call(own, str(given["use"]), given.get("of"), keywords | {n: given[n] for n in names}, ("of",))
        if "of" in given:
            self._refuse_key("of: names the columns of a class of your own, and there is no use:", "of")
        known = [name for name in names if name in set(list_names())]
        if not known:
            if not names:
                self._refuse("say what to compute, as in {sum: amount, over: 1h}")
            every = [*list_names(), *PLACES]
            self._refuse_key(f"there is no aggregation {names[0]!r}. {suggest(names[0], every)}", names[0])
        if len(known) > 1:
            several = " and ".join(map(repr, known))
            self._refuse_key(f"{several} are {len(known)} aggregations: make a feature of each", known[1])
        name = known[0]
        parameters = {n: given[n] for n in names if n != name}
        return self._call(getattr(aggregations, name), name, given[name], keywords | parameters, (name,))

    def _call(self, make: Any, name: str, of: Any, keywords: dict[str, Any], path: Path) -> Aggregation:
        if isinstance(of, Mapping):
            self._refuse(f"{name} takes a column, or a list of columns and parameters, got a mapping", *path)
        if name == "count" and of == "*":
            of = None
        positional = [] if of is None else _read_columns(of) if isinstance(of, list) else [of]
        if name != "count" and (not positional or not isinstance(positional[0], str)):
            if of is None and path == ("of",):
                self._refuse(f"say of which columns {name} is, as in of: [price, size]")
            self._refuse(f"{name} takes the name of a column, got {'nothing' if of is None else repr(of)}", *path)
        keywords = {key: _read_columns(value) if key in _OF_ROWS else value for key, value in keywords.items()}
        own = {key: value for key, value in keywords.items() if key != "where"}
        for key in own:
            self._try_key(key, _require_parameter, make, name, key, len(positional), ("where",))
        self._try(path, _require_signature, make, name, positional, own, ("where",))
        return self._try(path, make, *positional, **keywords)

    def _condition(self, given: Mapping[str, Any]) -> str | None:
        where = given.get("where")
        if where is None:
            return None
        if not isinstance(where, str) or not where.strip():
            self._refuse(f"where: is a condition in Spark SQL, as in where: amount > 10, got {where!r}", "where")
        # Its text is the column's name: state that was computed under another condition is told apart by it.
        text = " ".join(where.split())
        if not text.isidentifier():
            self._features.conditions[text] = where
        return text

    def _name_window(self, given: Any, path: Path) -> tuple[str, Any]:
        """Name the column of one window of several."""
        if isinstance(given, Mapping):
            if "as" not in given:
                self._refuse("one window of several is named by as:, as in {rows_between: [-9, 0], as: around}", *path)
            return f"{self._name}_{given['as']}", {key: value for key, value in given.items() if key != "as"}
        return f"{self._name}_{re.sub(r'[^0-9A-Za-z]+', '_', str(given).strip()).strip('_')}", given

    def _add(self, name: str, expression: Expression, path: Path) -> None:
        if name in self._features.expressions:
            before = self._features.paths[name]
            self._refuse(f"a feature {name!r} is there already, from {before[1]}", *path)
        self._features.expressions[name] = expression
        self._features.paths[name] = ("features", self._name, *path)

    def _try(self, path: Path, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except SlidewiseError as error:
            return self._refuse(str(error), *path)
        except TypeError as error:
            return self._refuse(f"{type(error).__name__}: {error}", *path)

    def _try_key(self, key: str, call: Callable[..., Any], *args: Any) -> None:
        try:
            call(*args)
        except SlidewiseError as error:
            self._refuse_key(str(error), key)

    def _refuse_key(self, message: str, key: str) -> Any:
        self._features.mistakes.append(Mistake(message, ("features", self._name, key), of_key=True))
        raise _Refused

    def _refuse(self, message: str, *path: str | int) -> Any:
        self._features.mistakes.append(Mistake(message, ("features", self._name, *path)))
        raise _Refused
