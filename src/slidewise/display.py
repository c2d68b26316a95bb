"""Tables that look good in a terminal and in a notebook, and are data all the same."""

from __future__ import annotations

import html
import io
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        """A table from rows with the same keys."""
        columns = tuple(rows[0]) if rows else ()
        cells = tuple(tuple(str(row[c]) for c in columns) for row in rows)
        return cls(title, columns, cells, note, cls.of(title, narrow, note) if narrow else None)

    def __iter__(self) -> Iterator[dict[str, str]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __rich__(self) -> Any:
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


def as_text(*renderables: Any) -> str:
    """What rich shows of these, as plain text for print()."""
    from rich.console import Console

    out = io.StringIO()
    width = max(80, min(shutil.get_terminal_size((120, 24)).columns, 160))
    console = Console(file=out, width=width, color_system=None, legacy_windows=False)
    for renderable in renderables:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())
