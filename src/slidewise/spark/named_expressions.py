"""Named expressions: what windows read, as the names of columns.

Windows and aggregates name their columns. What PySpark writes as more than a name, such as `F.col("ts").cast("long")`,
`df["x"]` or `"a.b"`, is given a name of its own here, under which the DataFrame gets it as a column first.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.pyspark_internals import identify, is_column, is_window, read_name, split_order
from slidewise.windows.reach import OffsetColumn

#: how a column is named that stands for an aggregate over a window
MARKER = re.compile(r"__slidewise_window_[0-9a-f]{16}_\d+")

_names: dict[Hashable, str] = {}
#: how many names begin so
_numbers: Counter[str] = Counter()
#: names in PySpark's writing, and Columns
_expressions: dict[str, Any] = {}

_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_PLAIN = re.compile(r"[^`.]+")


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
        if MARKER.search(str(value)):
            raise InvalidInput(
                f"{what}: a window inside of a window. Compute the inner one first: "
                'df.withColumn("inner", ...), then "inner"'
            )
        name = read_name(value)
        return _name_expression(identify(value), value) if name is None else _name_parts(name, value)
    if is_window(value):
        raise InvalidInput(f"{what} takes columns, got a window, {value!r}")
    raise InvalidInput(f"{what} takes names of columns and Columns, got {value!r}")


def name_by_content(kind: str, text: str, key: Hashable, names: dict[Hashable, str]) -> str:
    """Name a thing by what it says: the state of a stream is found again by the same name, in another process.

    Things that say the same and are not, such as the columns `x` of two DataFrames, are numbered as they come.
    """
    if key not in names:
        begin = f"__slidewise_{kind}_{hashlib.sha256(text.encode()).hexdigest()[:16]}_"
        names[key] = f"{begin}{_numbers[begin]}"
        _numbers[begin] += 1
    return names[key]


def is_expression(name: str) -> bool:
    """Tell whether a name was made here."""
    return name in _expressions


def build_column(name: str) -> Any:
    """Build the Column of a name: what it stands for where it was made here, and otherwise the column itself."""
    from pyspark.sql import functions as theirs

    found = _expressions.get(name)
    if found is None:
        return theirs.col("*" if name == "*" else "`" + name.replace("`", "``") + "`")
    return theirs.col(found) if isinstance(found, str) else found


def list_expressions(names: Iterable[str]) -> dict[str, Any]:
    """List the names made here, each with its Column."""
    return {name: build_column(name) for name in names if name in _expressions}


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


def _name_expression(key: Hashable, value: Any) -> str:
    name = name_by_content("input", str(value), key, _names)
    _expressions.setdefault(name, value)
    return name


def _write(column: Any) -> str:
    return str(column).removeprefix("Column<'").removesuffix("'>")
