"""Windows of Spark's own that were made here: `F.row_number().over(w)`, with our `F` or our `Window`.

They are PySpark's columns and nothing else, and Spark computes them. Only `filter` asks for them: Spark refuses windows
there, and for a program with PySpark's imports alone it goes on doing so. What a column says is all that is left of it
inside of an expression, and so that is what is remembered, of those made last.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import Lock
from typing import Any

from slidewise.spark.pyspark_internals import is_column

#: how windows are written in columns of classic sessions, and in those of Connect
_WINDOW = re.compile(r" OVER \(|WindowExpression\(")


class TextTable:
    """The texts of the columns made last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._texts: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def add(self, text: str) -> None:
        """Add a text; the one that was added or found first goes where there are too many."""
        with self._lock:
            self._texts[text] = None
            self._texts.move_to_end(text)
            if len(self._texts) > self._most:
                self._texts.popitem(last=False)

    def find(self, whole: str) -> str | None:
        """Find one that a longer text holds, the newest first."""
        with self._lock:
            return next((text for text in reversed(self._texts) if text in whole), None)


#: a text has some hundred bytes
_table = TextTable(20_000)


def record_own(column: Any) -> Any:
    """Remember a column over a window as one that was made here; it is given back."""
    if is_column(column):
        _table.add(_write(column))
    return column


def holds_own(condition: Any) -> bool:
    """Tell whether a condition holds a window of Spark's own that was made here."""
    if not is_column(condition):
        return False
    text = _write(condition)
    return _WINDOW.search(text) is not None and _table.find(text) is not None


def _write(column: Any) -> str:
    return str(column).removeprefix("Column<'").removesuffix("'>")
