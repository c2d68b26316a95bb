"""Rewrites the tables in the documentation from the registry: python docs/generate.py

A table stands between the markers `<!-- table: name -->` and `<!-- end -->`; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slidewise.aggregations.base import PROPERTIES
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS

DOCS = Path(__file__).parent
PAGES = ("algorithms.md", "aggregations.md")


def costs() -> str:
    return markdown(
        ("name", "insert", "evict", "query", "partials held", "needs", "options"),
        (
            (
                f"`{e.name}`",
                e.insert,
                e.evict,
                e.query,
                e.space,
                ", ".join(map(words, sorted(e.needs))) or "nothing",
                ", ".join(f"`{o}`" for o in e.options),
            )
            for e in ALGORITHMS
        ),
    )


def abilities() -> str:
    return markdown(
        ("name", "what it does", "out of order", "any range", "paper"),
        ((f"`{e.name}`", e.summary, "yes" * e.out_of_order, "yes" * e.ranges, e.paper) for e in ALGORITHMS),
    )


def aggregations() -> str:
    parts = []
    for group in dict.fromkeys(e.group for e in AGGREGATIONS):
        entries = [e for e in AGGREGATIONS if e.group == group]
        notes = list(dict.fromkeys(e.note for e in entries if e.note))
        rows = [
            (
                ", ".join(f"`{name}`" for name in (e.name, *e.aliases)),
                e.summary,
                e.cls.kind,
                ", ".join(properties(e.cls)),
                str(notes.index(e.note) + 1) if e.note else "",
            )
            for e in entries
        ]
        table = markdown(("name", "what it gives", "kind", "properties", "note"), rows)
        below = "".join(f"\n{k}. {note}" for k, note in enumerate(notes, 1))
        parts.append(f"### {group.capitalize()}\n\n{table}" + (f"\n{below}" if notes else ""))
    return "\n\n".join(parts)


def properties(cls: type) -> list[str]:
    declared = {p: getattr(cls, p) for p in PROPERTIES if p not in _USUAL}
    return [words(p) + (f" for {v}" if v is not True else "") for p, v in declared.items() if v]


#: properties that nearly all have; the page says so
_USUAL = ("associative", "size_preserving", "unary_lower")

TABLES: dict[str, Callable[[], str]] = {"costs": costs, "abilities": abilities, "aggregations": aggregations}


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def words(name: str) -> str:
    return name.replace("_", " ")


def rewritten(text: str) -> str:
    """Give a page with its tables made anew."""
    return re.sub(
        r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)",
        lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n\n{m[3]}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for page in PAGES:
        path = DOCS / page
        path.write_text(rewritten(path.read_text()))
