"""A trace in monospaced text: plain, or with the colours of rich."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from slidewise.tracing.picture import Cell, Node, Strip, Tree, gather_pointers, shorten
from slidewise.tracing.tree_layout import Placed, place_nodes

if TYPE_CHECKING:
    from slidewise.tracing.steps import Step, Trace

#: left of every drawing
INDENT = 5
MOST_CALLS = 4

STYLES = {
    "front": "bold blue", "left": "cyan", "right": "green", "inner": "magenta", "back": "bold green",
    "root": "bold blue", "total": "yellow", "value": "", "plain": "", "quiet": "dim", "empty": "dim", "gap": "dim",
    "waiting": "dim", "line": "dim", "name": "bold", "operation": "bold", "case": "cyan", "cost": "dim",
    "result": "bold", "title": "bold",
}  # fmt: skip
CHANGED = "reverse"


class Canvas:
    """Characters by line and column, each with a style."""

    def __init__(self) -> None:
        self._lines: list[list[tuple[str, str]]] = []

    @property
    def height(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def put(self, line: int, column: int, text: str, style: str = "") -> None:
        """Write a text over what is there."""
        while len(self._lines) <= line:
            self._lines.append([])
        cells = self._lines[line]
        cells.extend([(" ", "")] * (column + len(text) - len(cells)))
        for k, character in enumerate(text):
            cells[column + k] = (character, style)

    def to_text(self) -> str:
        """Give the plain text."""
        return "\n".join("".join(character for character, _ in line).rstrip() for line in self._lines)

    def to_rich(self) -> Any:
        """Give the text of rich, with colours."""
        from rich.text import Text

        text = Text(no_wrap=True, overflow="ellipsis")
        for number, line in enumerate(self._lines):
            if number:
                text.append("\n")
            for style, run in groupby(line, key=lambda cell: cell[1]):
                text.append("".join(character for character, _ in run), style or None)
        return text


def draw_text(trace: Trace) -> Canvas:
    """Draw all steps below each other."""
    canvas = Canvas()
    canvas.put(0, 0, trace.title, STYLES["title"])
    for step in trace.steps:
        canvas.put(canvas.height, 0, "")
        _draw_step(canvas, step)
    return canvas


def _draw_step(canvas: Canvas, step: Step) -> None:
    line = canvas.height
    column = INDENT
    canvas.put(line, 0, f"{step.number:>3}", STYLES["quiet"])
    for text, style in (
        (str(step.operation), "operation"), (step.outcome, "result"), (", ".join(step.cases), "case"),
        (step.cost, "cost"),
    ):  # fmt: skip
        if text:
            canvas.put(line, column, text, STYLES[style])
            column += len(text) + (1 if style == "operation" and step.outcome else 3)
    canvas.put(canvas.height, 0, "")
    for part in map(shorten, step.picture.parts):
        if isinstance(part, Tree):
            _draw_tree(canvas, part)
        else:
            _draw_strip(canvas, part)
    calls = step.describe_calls(MOST_CALLS)
    if calls:
        canvas.put(canvas.height, 0, "")
        for said in calls:
            canvas.put(canvas.height, INDENT, said, STYLES["quiet"])


def _style(cell: Cell) -> str:
    style = STYLES[cell.tone]
    return f"{style} {CHANGED}".strip() if cell.changed else style


def _write(cell: Cell) -> str:
    return cell.text + "*" * cell.changed


# ---- strips
def _draw_strip(canvas: Canvas, strip: Strip) -> None:
    top = canvas.height
    labels = [row.label for row in strip.rows]
    left = INDENT + max(map(len, labels)) + (1 if any(labels) else 0)
    if strip.title:
        canvas.put(top, INDENT, strip.title, STYLES["quiet"])
        top += 1
    edges = _find_edges(strip, left)
    if any(region.name for region in strip.regions):
        for region in strip.regions:
            canvas.put(top, edges[region.start] + 1, region.name, STYLES[region.tone])
        top += 1
    if not strip.columns:
        canvas.put(top, left, "empty", STYLES["quiet"])
        _draw_beside(canvas, strip, top, left + len("empty") + 3)
        return
    _draw_rule(canvas, top, edges, "┌┬┐")
    for k, row in enumerate(strip.rows):
        canvas.put(top + 1 + k, INDENT, row.label, STYLES["quiet"])
        for edge in edges:
            canvas.put(top + 1 + k, edge, "│", STYLES["line"])
        for column, cell in enumerate(row.cells):
            room = edges[column + 1] - edges[column] - 1
            canvas.put(top + 1 + k, edges[column] + 1, f" {_write(cell)}".ljust(room), _style(cell))
    bottom = top + 1 + len(strip.rows)
    _draw_rule(canvas, bottom, edges, "└┴┘")
    _draw_beside(canvas, strip, bottom - 1, edges[-1] + 4)
    for edge, names in gather_pointers(strip).items():
        canvas.put(bottom + 1, edges[edge], names, STYLES["name"])


def _draw_beside(canvas: Canvas, strip: Strip, line: int, column: int) -> None:
    for row in strip.beside:
        cell = row.cells[0]
        canvas.put(line, column, row.label, STYLES["quiet"])
        canvas.put(line, column + len(row.label) + 1, _write(cell), _style(cell))
        column += len(row.label) + len(_write(cell)) + 4


def _find_edges(strip: Strip, left: int) -> list[int]:
    """Find the columns of the vertical lines: wide enough for cells, pointers and the names of regions."""
    pointers = gather_pointers(strip)
    widths = []
    for column in range(strip.columns):
        texts = max(len(_write(row.cells[column])) + (1 if row.cells[column].changed else 2) for row in strip.rows)
        widths.append(max(texts, 4, len(pointers.get(column, ""))))
    for region in strip.regions:
        columns = region.stop - region.start
        widths.append(-(-len(region.name) // columns) if region.stop < strip.columns else 0)
    widths = [max(widths, default=4)] * strip.columns
    edges = [left]
    for width in widths:
        edges.append(edges[-1] + width + 1)
    return edges


def _draw_rule(canvas: Canvas, line: int, edges: list[int], ends: str) -> None:
    rule = ends[0] + ends[1].join("─" * (b - a - 1) for a, b in pairwise(edges)) + ends[2]
    canvas.put(line, edges[0], rule, STYLES["line"])


# ---- trees
GAP = 2


def _draw_tree(canvas: Canvas, tree: Tree) -> None:
    top = canvas.height
    if tree.title:
        canvas.put(top, INDENT, tree.title, STYLES["quiet"])
        top += 1
    placed, _ = place_nodes(tree.root, _width, GAP)
    heights: dict[int, int] = {}
    for each in placed:
        heights[each.depth] = max(heights.get(each.depth, 0), len(each.node.rows) + bool(each.node.name))
    lines = {}
    line = top
    for depth in sorted(heights):
        lines[depth] = line
        line += heights[depth] + 1
    for each in placed:
        _draw_node(canvas, each.node, lines[each.depth], INDENT + each.middle - _width(each.node) // 2)
        below = [p for p in placed if p.parent is each]
        if below:
            _draw_branches(canvas, each, below, lines[each.depth + 1] - 1)


def _draw_branches(canvas: Canvas, parent: Placed, children: list[Placed], line: int) -> None:
    at = [INDENT + child.middle for child in children]
    middle = INDENT + parent.middle
    left, right = min(*at, middle), max(*at, middle)
    canvas.put(line, left, "─" * (right - left + 1), STYLES["line"])
    for column in {*at, middle}:
        up, down = column == middle, column in at
        before, after = column > left, column < right
        canvas.put(line, column, _CORNERS[up, down, before, after], STYLES["line"])


#: a line that goes up, down, to the left, to the right
_CORNERS = {
    (True, True, True, True): "┼", (True, False, True, True): "┴", (False, True, True, True): "┬",
    (True, True, False, False): "│", (False, True, False, True): "┌", (False, True, True, False): "┐",
    (True, False, False, True): "└", (True, False, True, False): "┘", (True, True, False, True): "├",
    (True, True, True, False): "┤",
}  # fmt: skip


def _draw_node(canvas: Canvas, node: Node, line: int, left: int) -> None:
    widths = _columns(node)
    whole = _width(node)
    for k, row in enumerate(node.rows):
        length = _row_width(row, widths)
        column = left + (whole - length) // 2
        for i, cell in enumerate(row):
            canvas.put(line + k, column, _write(cell), _style(cell))
            column += (widths[i] if len(row) > 1 else len(cell.text)) + 1
    if node.name:
        canvas.put(line + len(node.rows), left + (whole - len(node.name)) // 2, node.name, STYLES["name"])


def _columns(node: Node) -> list[int]:
    long = [row for row in node.rows if len(row) > 1]
    return [max(len(_write(row[i])) for row in long) for i in range(len(long[0]))] if long else []


def _row_width(row: tuple[Cell, ...], widths: list[int]) -> int:
    return sum(widths) + len(widths) - 1 if len(row) > 1 else sum(len(cell.text) for cell in row)


def _width(node: Node) -> int:
    widths = _columns(node)
    # One more than the text: the mark of a change must not move the nodes from step to step.
    return max(3, len(node.name), *(_row_width(row, widths) for row in node.rows)) | 1
