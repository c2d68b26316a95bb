"""Questions that are part of a definition: what a sketch is asked, and the names that its answers have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slidewise.errors import InvalidInput


class Questions:
    """What is asked of every frame: one question has a plain answer, several have theirs by name.

    Names are of letters, digits and underscores, as every engine takes them, and differ in more than capitals.
    """

    def __init__(
        self,
        aggregation: str,
        parameter: str,
        given: Any,
        check: Callable[[Any], Any],
        name: Callable[[Any], str] = str,
    ) -> None:
        """Read a question, a list of them, or a mapping from names to them; `check` refuses what is none."""
        what = f"{aggregation}: {parameter}"
        listed = isinstance(given, list | tuple | Mapping)
        if listed and not given:
            raise InvalidInput(f"{what} is empty. Give one question, a list of them, or names with one each")
        named = given if isinstance(given, Mapping) else None
        values = list(named.values()) if named is not None else list(given) if listed else [given]
        #: what is asked
        self.values: tuple[Any, ...] = tuple(check(value) for value in values)
        #: what answers are called, in the order of the questions; () where there is one question without a name
        self.names: tuple[str, ...] = ()
        if named is not None:
            self.names = tuple(named)
        elif listed:
            self.names = tuple(_make_name(name(value), value, what, parameter) for value in self.values)
        self._require_names(what, parameter)
        #: the parameter that says the same again
        self.parameter: Any = self.values[0]
        if listed:
            self.parameter = dict(zip(self.names, self.values, strict=True)) if named is not None else list(self.values)

    def _require_names(self, what: str, parameter: str) -> None:
        known: dict[str, str] = {}
        for name in self.names:
            if not isinstance(name, str) or not re.fullmatch(r"\w+", name):
                raise InvalidInput(f"{what}: a name is of letters, digits and underscores, got {name!r}")
            other = known.get(name.casefold())
            if other is not None:
                raise InvalidInput(
                    f"{what}: two answers would be called {other!r} and {name!r}, which not every engine tells apart. "
                    f"Name them yourself: {parameter}={{'one': ..., 'other': ...}}"
                )
            known[name.casefold()] = name

    def answer(self, found: Sequence[Any]) -> Any:
        """Give the answers as a result: the one there is, or all by name."""
        return dict(zip(self.names, found, strict=True)) if self.names else found[0]


def _make_name(text: str, value: Any, what: str, parameter: str) -> str:
    name = re.sub(r"\W+", "_", text)
    if not name.strip("_"):
        raise InvalidInput(f"{what}: {value!r} makes no name. Give one: {parameter}={{'name': {value!r}}}")
    return name


def name_percentile(fraction: float) -> str:
    """Name the percentile of a fraction.

    >>> name_percentile(0.5), name_percentile(0.999)
    ('p50', 'p99_9')
    """
    return f"p{100.0 * fraction:.10g}".replace(".", "_")


def require_value(aggregation: str, parameter: str, value: Any) -> Any:
    """Check a value that a sketch is asked about: a plain one, since rows are looked up by it."""
    if value is None:
        raise InvalidInput(f"{aggregation}: {parameter} asks about None, and nulls are not in a sketch. Leave it out")
    if isinstance(value, list | dict | set):
        raise InvalidInput(f"{aggregation}: {parameter} asks about single values, got {value!r}")
    return value
