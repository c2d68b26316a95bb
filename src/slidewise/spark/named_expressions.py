"""Named expressions: what windows read, as the names of columns.

Windows and aggregates name their columns. What PySpark writes as more than a name, such as `F.col("ts").cast("long")`,
`df["x"]` or `"a.b"`, is given a name of its own here, under which the DataFrame gets it as a column first.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Hashable, Iterable
from typing import Any
from weakref import WeakValueDictionary

from slidewise.errors import InvalidInput
from slidewise.spark.pyspark_internals import identify, is_column, is_window, read_name, split_order
from slidewise.windows.reach import OffsetColumn

#: how a column is named that stands for an aggregate over a window
MARKER = re.compile(r"__slidewise_window_[0-9a-f]{16}_\d+")

#: no two names have the same number, so that none ever comes to mean something else
_numbers = itertools.count()
#: names made here and markers: what they say, and their number
NUMBERED = re.compile(r"\b(__slidewise_(?:input|window)_[0-9a-f]{16})_\d+")

_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_PLAIN = re.compile(r"[^`.]+")


class ExpressionName(str):
    """The name of an expression, which it brings along: what reads it keeps it, and no table does.

    To executors, where there are no expressions, it is a name like others.
    """

    #: a name in PySpark's writing, or a Column
    expression: Any

    def __new__(cls, name: str, expression: Any) -> ExpressionName:
        made = super().__new__(cls, name)
        made.expression = expression
        return made

    def __reduce__(self) -> Any:
        return str, (str(self),)

    def __deepcopy__(self, memo: Any) -> ExpressionName:
        return self


#: the same expression has the same name, as long as anything reads it
_names: WeakValueDictionary[Hashable, ExpressionName] = WeakValueDictionary()


def name_column(value: Any, what: str) -> str:
    """Name what is given as a column: by its name as PySpark reads it, as a Column, or as `sw.col(name)`.

    >>> name_column("x", "sum"), name_column("`PM2.5`", "sum")
    ('x', 'PM2.5')
    """
    if isinstance(value, OffsetColumn):
        return value.name
    if isinstance(value, str) and value:
        return _name_parts(value, value)
    if is_column(value):
        if split_order(value) is not None:
            raise InvalidInput(f"{what} takes columns, and {_write(value)} is one of an order: leave out its direction")
        name = read_name(value)
        return _name_expression(identify(value), value) if name is None else _name_parts(name, value)
    if is_window(value):
        raise InvalidInput(f"{what} takes columns, got a window, {value!r}")
    raise InvalidInput(f"{what} takes names of columns and Columns, got {value!r}")


def name_by_content(kind: str, text: str) -> str:
    """Name a thing by what it says, and by a number of its own: the columns `x` of two DataFrames say the same."""
    said = NUMBERED.sub(r"\1", text)
    return f"__slidewise_{kind}_{hashlib.sha256(said.encode()).hexdigest()[:16]}_{next(_numbers)}"


def name_once(column: Any, number: int) -> ExpressionName:
    """Name one of the columns that a Column stands for, which are computed where it is written and nowhere else."""
    made = ExpressionName(name_by_content("input", f"{number} of {column}"), column)
    return _names.setdefault(str(made), made)


def is_expression(name: str) -> bool:
    """Tell whether a name was made here."""
    return isinstance(name, ExpressionName)


def build_column(name: str) -> Any:
    """Build the Column of a name: what it stands for where it was made here, and otherwise the column itself."""
    from pyspark.sql import functions as theirs

    if not isinstance(name, ExpressionName):
        return theirs.col("*" if name == "*" else _quote(name))
    return theirs.col(name.expression) if isinstance(name.expression, str) else name.expression


def spell_out(message: str) -> str:
    """Spell out the names made here in a message to people: what they stand for."""
    texts = {_drop_number(name): _describe(name.expression) for name in list(_names.values())}
    return NUMBERED.sub(lambda found: texts.get(found[1], found[0]), message)


def list_expressions(names: Iterable[str]) -> dict[str, Any]:
    """List the names made here, each with its Column."""
    return {name: build_column(name) for name in names if is_expression(name)}


def _name_parts(name: list[str] | str, value: Any) -> str:
    """Name a column by its parts; a field of a struct, or what has a table's name before it, is an expression."""
    if isinstance(name, list):
        return name[0] if len(name) == 1 else _name_expression(tuple(name), ".".join(map(_quote, name)))
    if _PLAIN.fullmatch(name):
        return name
    if _QUOTED.fullmatch(name):
        return name[1:-1].replace("``", "`")
    return _name_expression(name, name)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _name_expression(key: Hashable, value: Any) -> ExpressionName:
    found = _names.get(key)
    if found is None:
        found = _names.setdefault(key, ExpressionName(name_by_content("input", str(value)), value))
    return found


def _drop_number(name: str) -> str:
    found = NUMBERED.fullmatch(name)
    return found[1] if found is not None else name


def _describe(expression: Any) -> str:
    return expression if isinstance(expression, str) else _write(expression)


def _write(column: Any) -> str:
    return str(column).removeprefix("Column<'").removesuffix("'>")
