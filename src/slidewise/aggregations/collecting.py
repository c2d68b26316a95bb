"""Collect-like aggregations: all values of a frame as a list, a set or a text. Partials grow with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import OneColumn, collect_columns
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import distinct, plain
from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np


class _Collected(OneColumn):
    kind = "holistic"
    size_preserving = False

    @property
    def empty(self) -> list[Any]:
        """A frame without rows collects nothing; a new list each time, since lists can be changed."""
        return []

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None


class CollectList(_Collected):
    """All values in order, nulls left out.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.collect_list())
    >>> for x in (3, 1, 3): s.insert(x)
    >>> s.query()
    [3, 1, 3]
    """

    name = "collect_list"
    needs_only_bounds = True
    spark_call = "collect_list({0})"
    identity = ()
    invertible = True
    exactly_invertible = True

    @staticmethod
    def lift(x: Any) -> Any:
        return (x,)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return total[len(oldest) :]

    @staticmethod
    def lower(s: Any) -> Any:
        return list(s)


class CollectSet(_Collected):
    """The different values, in the order in which they first appear, nulls left out. All NaNs are one value.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.collect_set())
    >>> for x in (3, 1, 3): s.insert(x)
    >>> s.query()
    [3, 1]
    """

    name = "collect_set"
    identity = ()

    @staticmethod
    def lift(x: Any) -> Any:
        return (plain(x),)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return distinct(a + b)

    @staticmethod
    def lower(s: Any) -> Any:
        return list(s)


class StringAgg(Aggregation):
    """The texts of a frame joined by a delimiter.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks_lite", sw.string_agg(delimiter=", "))
    >>> for word in ("to", "be"): s.insert(word)
    >>> s.query()
    'to, be'
    """

    name = "string_agg"
    accepts = ("string",)
    kind = "holistic"
    invertible = True
    exactly_invertible = True
    size_preserving = False
    keeps_type = True

    def __init__(self, column: str | None = None, delimiter: str = "", *, where: str | None = None) -> None:
        if not isinstance(delimiter, str):
            raise InvalidInput(f"string_agg: delimiter must be text, got {delimiter!r}")
        super().__init__(*collect_columns(column), **({"delimiter": delimiter} if delimiter else {}))

        def combine(a: str, b: str) -> str:
            return a + delimiter + b

        def inverse(total: str, oldest: str) -> str:
            return total[len(oldest) + len(delimiter) :]

        self.combine, self.inverse = combine, inverse

    @staticmethod
    def lift(text: Any) -> Any:
        if not isinstance(text, str):
            raise InvalidInput(f"string_agg: values must be text, got {text!r}. Convert the column to text first")
        return text

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None
