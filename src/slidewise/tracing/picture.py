"""Picture: what a structure holds, described once for all media.

A picture is a few parts below each other. A strip is a row of columns (a queue, a table) with pointers, regions and
jumps; a tree has nodes of cells. What a cell stands for in the structure is its key, the same in every step, so that
two pictures tell what an operation has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

#: columns of a strip and leaves of a tree that are drawn; of more, those at which nothing happens are left out
MOST_COLUMNS = 16
#: entries of one node that are drawn
MOST_ENTRIES = 8
ELLIPSIS = "…"


@dataclass(frozen=True)
class Cell:
    """One value or partial, where it is held and how it is written."""

    #: None for what the drawing adds, such as an index
    key: Hashable
    value: Any
    text: str
    #: its part of the structure, which has one colour in every medium
    tone: str = "plain"
    changed: bool = False


@dataclass(frozen=True)
class Row:
    """A cell for every column."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Pointer:
    """A name at the left edge of a column; the number of columns is the right edge of the last."""

    name: str
    column: int


@dataclass(frozen=True)
class Region:
    """Columns start to stop - 1, which are one part of the structure."""

    name: str
    start: int
    stop: int
    tone: str


@dataclass(frozen=True)
class Strip:
    """Columns from the oldest to the youngest."""

    rows: tuple[Row, ...]
    pointers: tuple[Pointer, ...] = ()
    regions: tuple[Region, ...] = ()
    #: pairs of columns: from the one, what is held leads to the other
    jumps: tuple[tuple[int, int], ...] = ()
    #: what is held once, by name
    beside: tuple[Row, ...] = ()
    title: str = ""

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.rows[0].cells)


@dataclass(frozen=True)
class Node:
    """Rows of cells, and the nodes below; None keeps the place of a child that is missing."""

    rows: tuple[tuple[Cell, ...], ...]
    children: tuple[Node | None, ...] = ()
    #: what points at it
    name: str = ""

    def cells(self) -> Iterator[Cell]:
        """List the cells of the node and of all below it."""
        for row in self.rows:
            yield from row
        for child in self.children:
            if child is not None:
                yield from child.cells()


@dataclass(frozen=True)
class Tree:
    """A tree, drawn with its root at the top."""

    root: Node
    title: str = ""


@dataclass(frozen=True)
class Picture:
    """All that a structure holds at one moment."""

    parts: tuple[Strip | Tree, ...]
    #: positions in the stream, by the names that the papers give them
    pointers: dict[str, int] = field(default_factory=dict)
    #: what else tells one case of an operation from another
    facts: dict[str, Any] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """List all cells."""
        for part in self.parts:
            if isinstance(part, Tree):
                yield from part.root.cells()
            else:
                for row in (*part.rows, *part.beside):
                    yield from row.cells


def gather_pointers(strip: Strip) -> dict[int, str]:
    """Gather the names at each edge: letters together, words apart."""
    found: dict[int, list[str]] = {}
    for pointer in strip.pointers:
        found.setdefault(pointer.column, []).append(pointer.name)
    return {edge: ("" if all(len(n) == 1 for n in names) else " ").join(names) for edge, names in found.items()}


# ---- what has changed
def mark_changes(before: Picture, after: Picture) -> Picture:
    """Mark the cells that are new, or hold another value than before."""
    known = {cell.key: cell.value for cell in before.cells()}

    def mark(cell: Cell) -> Cell:
        if cell.key is None:
            return cell
        changed = cell.value is not None if cell.key not in known else not _alike(known[cell.key], cell.value)
        return replace(cell, changed=True) if changed else cell

    return replace(after, parts=tuple(_map_cells(part, mark) for part in after.parts))


def _alike(a: Any, b: Any) -> bool:
    # Not by ==, which NaN and arrays have rules of their own for.
    return a is b or (type(a) is type(b) and repr(a) == repr(b))


def _map_cells(part: Strip | Tree, change: Callable[[Cell], Cell]) -> Strip | Tree:
    if isinstance(part, Tree):
        return replace(part, root=_map_node(part.root, change))
    rows, beside = (
        tuple(replace(row, cells=tuple(map(change, row.cells))) for row in rows) for rows in (part.rows, part.beside)
    )
    return replace(part, rows=rows, beside=beside)


def _map_node(node: Node, change: Callable[[Cell], Cell]) -> Node:
    rows = tuple(tuple(map(change, row)) for row in node.rows)
    return replace(node, rows=rows, children=tuple(c and _map_node(c, change) for c in node.children))


# ---- long windows
def shorten(part: Strip | Tree) -> Strip | Tree:
    """Leave out columns and subtrees of a long window at which nothing happens."""
    if isinstance(part, Strip):
        return _shorten_strip(part)
    wide = _count_leaves(part.root) > MOST_COLUMNS
    return replace(part, root=_shorten_node(part.root, wide))


def _shorten_strip(strip: Strip) -> Strip:
    n = strip.columns
    if n <= MOST_COLUMNS:
        return strip
    columns = _choose_columns([row.cells for row in strip.rows], [p.column for p in strip.pointers])
    place = {k: i for i, k in enumerate(columns) if k >= 0}

    def find(edge: int) -> int:
        """Find where an edge has gone; what is at a column left out is at the next one that is drawn."""
        return next((place[k] for k in range(edge, n) if k in place), len(columns))

    return replace(
        strip,
        rows=tuple(replace(row, cells=_pick(row.cells, columns)) for row in strip.rows),
        pointers=tuple(Pointer(p.name, find(p.column)) for p in strip.pointers),
        regions=tuple(Region(r.name, find(r.start), find(r.stop), r.tone) for r in strip.regions),
        jumps=tuple((place[a], find(b)) for a, b in strip.jumps if a in place and (b in place or b >= n)),
    )


def _choose_columns(rows: Sequence[Sequence[Cell]], edges: Iterable[int] = ()) -> list[int]:
    """Choose the columns to draw: at both ends, at edges, and the first and the last that have changed; -1 for gaps."""
    n = len(rows[0])
    near = {k for edge in (0, n, *edges) for k in range(edge - 2, edge + 2)}
    changed = [k for k in range(n) if any(cells[k].changed for cells in rows)]
    columns: list[int] = []
    for k in sorted(k for k in {*near, *changed[:4], *changed[-4:]} if 0 <= k < n):
        if columns and columns[-1] < k - 1:
            columns.append(k - 1 if columns[-1] == k - 2 else -1)
        columns.append(k)
    return columns


def _pick(cells: Sequence[Cell], columns: Sequence[int]) -> tuple[Cell, ...]:
    return tuple(cells[k] if k >= 0 else _GAP for k in columns)


_GAP = Cell(None, None, ELLIPSIS, "gap")


def _count_leaves(node: Node) -> int:
    return sum(_count_leaves(c) for c in node.children if c is not None) or 1


def _shorten_node(node: Node, wide: bool) -> Node:
    """Cut long nodes; in a wide tree, fold what is below a node where nothing has changed and nothing points."""
    children = tuple(c and _shorten_node(c, wide) for c in node.children)
    if wide and children and not any(c is not None and _is_of_interest(c) for c in node.children):
        children = (Node(((_GAP,),)),)
    return replace(node, rows=_shorten_rows(node.rows), children=children)


def _is_of_interest(node: Node) -> bool:
    return bool(node.name) or any(cell.changed for row in node.rows for cell in row) or any(
        c is not None and _is_of_interest(c) for c in node.children
    )  # fmt: skip


def _shorten_rows(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    long = [row for row in rows if len(row) > MOST_ENTRIES]
    if not long:
        return rows
    columns = _choose_columns(long)
    return tuple(_pick(row, columns) if len(row) > MOST_ENTRIES else row for row in rows)
