"""Expressions by sqlglot: what in them is a column, and what is an alias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slidewise.spark.sql.source import Source, Span

_SELECT = "SELECT "


@dataclass(frozen=True)
class ColumnUse:
    """A column that an expression names."""

    start: int
    end: int
    #: its name, with what qualifies it before; in the way names are compared
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Parsed:
    """What sqlglot finds in one item."""

    has_alias: bool
    columns: tuple[ColumnUse, ...]


def parsed(source: Source, span: Span, hidden: Sequence[tuple[int, int]] = ()) -> Parsed | None:
    """The columns and the alias of an item; None where sqlglot cannot read it.

    Hidden parts of the text stand for columns of which nothing more is asked: they are blanked by a name of the same
    length, so that places remain what they are.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    start, end = source.offsets(span)
    text = source.query[start:end]
    for first, last in hidden:
        text = text[: first - start] + "_" * (last - first) + text[last - start :]
    try:
        tree = sqlglot.parse_one(_SELECT + text, dialect="spark")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Select) or len(tree.selects) != 1:
        return None
    columns = []
    for column in tree.find_all(exp.Column):
        places = [part.meta for part in column.parts]
        if not column.name.strip("_") or isinstance(column.this, exp.Star):
            continue
        if not all("start" in place for place in places):
            return None
        shift = start - len(_SELECT)
        columns.append(
            ColumnUse(
                min(place["start"] for place in places) + shift,
                max(place["end"] for place in places) + 1 + shift,
                tuple(part.name.casefold() for part in column.parts),
            )
        )
    return Parsed(isinstance(tree.selects[0], exp.Alias), tuple(columns))


def is_aggregate(name: str) -> bool:
    """Whether a function of this name, in small letters, aggregates rows."""
    from sqlglot import exp

    known = exp.FUNCTION_BY_NAME.get(name.upper())
    return name in ("mean", "std", "every", "some") or (known is not None and issubclass(known, exp.AggFunc))
