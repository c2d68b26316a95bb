"""What a person sees in a terminal or a notebook: tables, which are data all the same, and a line of progress."""

from __future__ import annotations

import html
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True, repr=False)
class Table:
    """Named columns of text; iterate over its rows as dicts, or look at it in a console or a notebook."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: a line below the table
    note: str = ""
    #: what a terminal shows instead, where all columns would be too narrow to read
    narrow: Table | None = None

    @classmethod
    def of(
        cls, title: str, rows: Sequence[Mapping[str, Any]], note: str = "", narrow: Sequence[Mapping[str, Any]] = ()
    ) -> Table:
        """Build a table from rows with the same keys."""
        columns = tuple(rows[0]) if rows else ()
        cells = tuple(tuple(str(row[c]) for c in columns) for row in rows)
        return cls(title, columns, cells, note, cls.of(title, narrow, note) if narrow else None)

    def __iter__(self) -> Iterator[dict[str, str]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __rich__(self) -> Any:  # what a console of rich shows, where that is installed
        if self.narrow is not None:
            return self.narrow.__rich__()
        from rich import box
        from rich.table import Table as RichTable

        table = RichTable(
            title=self.title or None, caption=self.note or None, box=box.SIMPLE_HEAD, title_justify="left",
            title_style="bold", caption_justify="left", caption_style="dim",
        )  # fmt: skip
        for k, column in enumerate(self.columns):
            table.add_column(column, style="cyan" if k == 0 else None, no_wrap=k == 0, overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def __repr__(self) -> str:  # what a console shows
        return as_text(self)

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            style = 'style="text-align:left; vertical-align:top"'
            return "<tr>" + "".join(f"<{tag} {style}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line("td", row) for row in self.rows)
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        note = f"<p><small>{html.escape(self.note)}</small></p>" if self.note else ""
        return f"<table>{caption}<thead>{line('th', self.columns)}</thead><tbody>{body}</tbody></table>{note}"


# ---- plain text
#: before the first column, between two, and after the last
_LEFT, _GAP, _RIGHT = "  ", "   ", " "


def as_text(table: Table) -> str:
    """Lay out a table in lines that the terminal has room for; long cells take several."""
    if table.narrow is not None:
        return as_text(table.narrow)
    lines = [table.title, ""] if table.title else []
    if table.columns:
        widths = _column_widths([table.columns, *table.rows])
        rule = " " + "─" * (sum(widths) + len(_LEFT[1:] + _GAP * (len(widths) - 1) + _RIGHT))
        lines += [*_row_lines(table.columns, widths), rule]
        lines += [line for row in table.rows for line in _row_lines(row, widths)]
    return "\n".join([*lines, *(["", wrap_text(table.note)] if table.note else [])]).rstrip()


def wrap_text(text: str, indent: str = "") -> str:
    """Break text into lines that the terminal has room for."""
    return "\n".join(_wrap(text, _room(), initial_indent=indent, subsequent_indent=indent))


def _column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Choose widths: the longest cell; without room for that, the longest word, and a share of what is left.

    The first column names the rows, and is not wrapped.
    """
    columns = list(zip(*rows, strict=True))
    wanted = [max(map(len, cells)) for cells in columns]
    words = [max((len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    room = _room() - len(_LEFT + _GAP * (len(columns) - 1) + _RIGHT)
    if wanted[0] + sum(words[1:]) > room:
        words = [1] * len(columns)  # words break
    widths = [wanted[0], *words[1:]]
    spare = max(0, room - sum(widths))
    narrowest_first = sorted(range(1, len(columns)), key=lambda k: wanted[k] - widths[k])
    for done, k in enumerate(narrowest_first):
        more = min(wanted[k] - widths[k], spare // (len(narrowest_first) - done))
        widths[k] += more
        spare -= more
    return widths


def _row_lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    columns = [_wrap(cell, max(1, width)) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*columns, fillvalue=""):
        yield (_LEFT + _GAP.join(map(str.ljust, parts, widths))).rstrip()


def _wrap(text: str, width: int, **options: Any) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, **options)


def _room() -> int:
    """Return the columns of the terminal, within what can be read."""
    return max(80, min(shutil.get_terminal_size((120, 24)).columns, 160))


# ---- progress
def is_watched() -> bool:
    """Tell whether a person sees standard error while it is written: a terminal or a notebook, and never a log.

    Nor what a worker of Spark writes: Spark's Java reads that from a pipe.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or (sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty())


class StatusLine:
    """A line on standard error that is written over, and gone in the end."""

    def __init__(self) -> None:
        self._length = 0

    def show(self, text: str) -> None:
        """Write this in place of what is there."""
        text = text[: shutil.get_terminal_size().columns - 1]  # one that is wrapped could not be written over
        self._write("\r" + text.ljust(self._length))
        self._length = len(text)

    def clear(self) -> None:
        """Leave nothing."""
        if self._length:
            self._write("\r" + " " * self._length + "\r")
            self._length = 0

    @staticmethod
    def _write(text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)
