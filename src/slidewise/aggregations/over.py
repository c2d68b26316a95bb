"""An aggregation over a window: what `with_columns` computes for one new column, and the name of that column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from slidewise.aggregations.base import Aggregation
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import WindowDefinition

ExpressionT = TypeVar("ExpressionT", covariant=True)


@dataclass(frozen=True)
class Alias(Generic[ExpressionT]):
    """An expression with the name of its column, made by `.alias(name)`."""

    expression: ExpressionT
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(f"alias takes the name of the new column, got {self.name!r}")

    def __repr__(self) -> str:
        return f"{self.expression!r}.alias({self.name!r})"


@dataclass(frozen=True)
class Over:
    """One aggregation, the window it is computed over, and the algorithm to do it with.

    >>> import slidewise as sw
    >>> sw.max("temp").over(sw.time("1h"))
    max('temp').over(time("1h"))
    """

    aggregation: Aggregation
    window: WindowDefinition
    algorithm: str = "auto"

    def alias(self, name: str) -> Alias[Over]:
        """Name the new column: `sw.with_columns(df, sw.max("x").over(3).alias("peak"))`.

        >>> import slidewise as sw
        >>> sw.with_columns({"x": [3, 1, 2, 0]}, sw.max("x").over(2).alias("peak"))["peak"]
        array([3, 3, 2, 2])
        """
        return Alias(self, name)

    def __repr__(self) -> str:
        return repr(self.aggregation) if self.aggregation.own_frame else f"{self.aggregation!r}.over({self.window!r})"


def name_columns(what: str, given: Iterable[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the new columns of a call by name: dicts, expressions with an alias, and keywords, each name once.

    A keyword, and a key of a dict, is the column's name, whatever alias its expression has, as in polars and Spark.
    """
    named: dict[str, Any] = {}
    for each in (*given, keywords):
        if not isinstance(each, Alias | Mapping):
            raise InvalidInput(
                f'{what}: {each!r} does not say how its column is called. Write .alias("name"), name=..., or a dict: '
                f'{{"name": ...}}'
            )
        for name, made in {each.name: each}.items() if isinstance(each, Alias) else each.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput(f"{what}: a new column is named by text, got {name!r}")
            if name in named:
                raise InvalidInput(f"{what}: the new column {name!r} is given twice. Give each another name")
            named[name] = made.expression if isinstance(made, Alias) else made
    return named
