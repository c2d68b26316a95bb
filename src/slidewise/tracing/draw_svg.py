"""A trace as an SVG image: one file that needs nothing else, readable on light and on dark pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from slidewise.tracing.picture import Cell, Node, Strip, Tree, gather_pointers, shorten
from slidewise.tracing.tree_layout import Placed, place_nodes

if TYPE_CHECKING:
    from slidewise.tracing.steps import Step, Trace

#: what a character of a cell takes, and what a cell does
CHARACTER = 7.9
CELL_HEIGHT = 28
LEAST_CELL = 40
#: between two regions of a strip
SEAM = 6
MARGIN = 28
GUTTER = 40
#: between two levels, and between neighbours, of a tree
LEVEL = 26
NEIGHBOUR = 12
MOST_CALLS = 3


class Theme(NamedTuple):
    """The colours of light pages, or of dark ones."""

    page: str
    ink: str
    muted: str
    line: str
    changed: str
    #: the fill and the edge of each tone
    tones: dict[str, tuple[str, str]]


LIGHT = Theme("#ffffff", "#1d2126", "#6b727c", "#e3e5e8", "#d9480f", {
    "front": ("#cfe2f6", "#2f7fb8"), "root": ("#cfe2f6", "#2f7fb8"), "left": ("#dcf3f9", "#3796b3"),
    "right": ("#e7f5d0", "#74a12e"), "inner": ("#e5defa", "#7660c9"), "back": ("#c9ecda", "#178a67"),
    "total": ("#fdf0cb", "#b98800"), "value": ("#f3f4f6", "#a3abb5"), "plain": ("#f3f4f6", "#a3abb5"),
    "empty": ("#ffffff", "#d3d7dc"), "waiting": ("#f7f7f8", "#b4bac2"),
})  # fmt: skip
DARK = Theme("#14181d", "#e6e9ed", "#98a1ac", "#2a313a", "#ff8a4c", {
    "front": ("#173a57", "#5aa6dc"), "root": ("#173a57", "#5aa6dc"), "left": ("#143c47", "#53bcd8"),
    "right": ("#2c3f14", "#9ccb54"), "inner": ("#32285c", "#a494ee"), "back": ("#123f30", "#3cc598"),
    "total": ("#453711", "#e0b441"), "value": ("#232930", "#67717d"), "plain": ("#232930", "#67717d"),
    "empty": ("#14181d", "#3a424c"), "waiting": ("#1b2026", "#56606b"),
})  # fmt: skip


def draw_svg(trace: Trace) -> str:
    """Draw all steps below each other."""
    body = Sheet()
    body.text(MARGIN, MARGIN + 10, trace.title, "title")
    y = MARGIN + 30.0
    for step in trace.steps:
        y = _draw_step(body, step, y)
    width, height = max(body.width + MARGIN, 420), y + MARGIN - 18
    for y in body.rules:
        body.line(MARGIN, y, width - MARGIN, y, "rule")
    lines = [f"{step.number}. {_describe(step)}" for step in trace.steps]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sw-trace" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" aria-label="{escape("Trace: " + trace.title)}">',
        f"<title>Trace: {escape(trace.title)}</title>",
        f"<desc>{escape('; '.join(lines))}</desc>",
        f"<style>{_style(LIGHT)} @media (prefers-color-scheme: dark) {{ {_style(DARK)} }}</style>",
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}" rx="10"/>',
        *body.elements,
        "</svg>",
        "",
    ])  # fmt: skip


def _describe(step: Step) -> str:
    return ", ".join(part for part in (f"{step.operation} {step.outcome}".strip(), *step.cases, step.cost) if part)


def _style(theme: Theme) -> str:
    sans = "font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
    mono = "font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    rules = {
        "text": f"fill: {theme.ink}; font-size: 13px; {mono}",
        ".page": f"fill: {theme.page}; stroke: {theme.line}",
        ".title": "font-size: 15px; font-weight: 600",
        ".number": f"fill: {theme.muted}; font-size: 12px; {sans}",
        ".operation": "font-size: 14px; font-weight: 700",
        ".cost, .label, .calls": f"fill: {theme.muted}; font-size: 12px; {sans}",
        ".calls, .quiet": f"fill: {theme.muted}; font-size: 12px; {mono}",
        ".case": f"font-size: 12px; {sans}",
        ".pointer": "font-weight: 700",
        ".middle": "text-anchor: middle",
        ".end": "text-anchor: end",
        ".rule, .edge, .tick": f"stroke: {theme.line}; fill: none",
        ".edge": f"stroke: {theme.muted}; stroke-width: 1.2; opacity: .55; fill: none",
        ".tick": f"stroke: {theme.muted}",
        ".jump": f"stroke: {theme.tones['front'][1]}; stroke-width: 1.5; fill: none",
        ".tip": f"fill: {theme.tones['front'][1]}",
        ".node": f"fill: {theme.page}; stroke: {theme.line}",
        ".empty-text, .gap-text": f"fill: {theme.muted}",
        "rect.empty, rect.waiting": "stroke-dasharray: 3 3",
    }
    for tone, (fill, edge) in theme.tones.items():
        rules[f"rect.{tone}"] = f"fill: {fill}; stroke: {edge}"
        rules[f"text.{tone}-name"] = f"fill: {edge}; font-size: 12px; font-weight: 600"
        rules[f"line.{tone}-line"] = f"stroke: {edge}; stroke-width: 2.5; stroke-linecap: round"
    rules["rect.changed"] = f"stroke: {theme.changed}; stroke-width: 2.4; stroke-dasharray: none"
    rules["text.changed-text"] = "font-weight: 700"
    return " ".join(
        ", ".join(f".sw-trace {each.strip()}" for each in selector.split(",")) + f" {{ {rule} }}"
        for selector, rule in rules.items()
    )


class Sheet:
    """Elements of the image, and how far they reach to the right."""

    def __init__(self) -> None:
        self.elements: list[str] = []
        self.width = 0.0
        #: where steps begin
        self.rules: list[float] = []

    def text(self, x: float, y: float, text: str, classes: str, character: float = CHARACTER) -> float:
        """Write a text, and tell about where it ends."""
        middle = "middle" in classes.split()
        end = x + len(text) * character / (2 if middle else 1)
        self.width = max(self.width, end)
        self.elements.append(f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>')
        return end

    def box(self, x: float, y: float, width: float, height: float, classes: str, radius: float = 4) -> None:
        """Draw a rectangle."""
        self.width = max(self.width, x + width)
        self.elements.append(
            f'<rect class="{classes}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, classes: str) -> None:
        """Draw a straight line."""
        self.elements.append(f'<line class="{classes}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def path(self, way: str, classes: str) -> None:
        """Draw a path."""
        self.elements.append(f'<path class="{classes}" d="{way}"/>')

    def cell(self, cell: Cell, x: float, y: float, width: float) -> None:
        """Draw a cell with its text; a quiet one is text alone."""
        changed = cell.changed
        if cell.tone not in ("quiet", "gap"):
            self.box(x, y, width, CELL_HEIGHT, cell.tone + " changed" * changed)
        classes = ["middle", f"{cell.tone}-text" if cell.tone in ("empty", "gap") else ""]
        classes += ["quiet"] * (cell.tone == "quiet") + ["changed-text"] * changed
        self.text(x + width / 2, y + CELL_HEIGHT / 2 + 4.5, cell.text, " ".join(filter(None, classes)))


def _draw_step(sheet: Sheet, step: Step, y: float) -> float:
    """Draw a step from y on, and tell where the next begins."""
    sheet.rules.append(y)
    y += 24
    sheet.text(MARGIN, y, str(step.number), "number", 7)
    x = sheet.text(MARGIN + GUTTER, y, f"{step.operation} {step.outcome}".strip(), "operation", 8.6) + 16
    for case in step.cases:
        width = len(case) * 7.3 + 16
        sheet.box(x, y - 14, width, 19, _CASES.get(case, "value"), 9.5)
        sheet.text(x + width / 2, y - 0.5, case, "middle case", 7)
        x += width + 6
    sheet.text(x + 4, y, step.cost, "cost", 7)
    y += 16
    for k, part in enumerate(map(shorten, step.picture.parts)):
        y += 8 * (k > 0)
        y = _draw_tree(sheet, part, y) if isinstance(part, Tree) else _draw_strip(sheet, part, y)
    calls = step.describe_calls(MOST_CALLS)
    if calls:
        y += 18
        sheet.text(MARGIN + GUTTER, y, ",  ".join(calls), "calls", 7.3)
    return y + 18


_CASES = {"flip": "total", "shrink": "inner", "shift": "front", "singleton": "back", "boundary": "total"}


# ---- strips
def _draw_strip(sheet: Sheet, strip: Strip, y: float) -> float:
    left: float = MARGIN + GUTTER
    if strip.title:
        y += 12
        sheet.text(left, y, strip.title, "label", 7)
        y += 4
    labels = [row.label for row in strip.rows]
    if any(labels):
        left += max(map(len, labels)) * 7.2 + 8
    starts, width = _find_columns(strip, left)
    right = starts[-1] + width if starts else left

    def edge(column: int) -> float:
        return starts[column] if column < len(starts) else right

    if strip.jumps:
        y += 8 + 7 * min(6, max(b - a for a, b in strip.jumps))
    if any(region.name for region in strip.regions):
        y += 16
        for region in strip.regions:
            end = edge(region.stop - 1) + width
            sheet.text((edge(region.start) + end) / 2, y, region.name, f"middle {region.tone}-name", 7)
            sheet.line(edge(region.start) + 2, y + 6, end - 2, y + 6, f"{region.tone}-line")
        y += 6
    y += 5
    for a, b in strip.jumps:
        _draw_jump(sheet, edge(a) + width / 2, edge(b) + (width / 2 if b < len(starts) else 0), y, b - a)
    for k, row in enumerate(strip.rows):
        top = y + k * (CELL_HEIGHT + 3)
        if row.label:
            sheet.text(left - 10, top + CELL_HEIGHT / 2 + 4, row.label, "label end", 0)
        for start, cell in zip(starts, row.cells, strict=True):
            sheet.cell(cell, start, top, width)
    bottom = y + len(strip.rows) * (CELL_HEIGHT + 3) - 3
    if not starts:
        sheet.text(left, bottom - CELL_HEIGHT / 2 + 4, "empty", "label", 7)
        right = left + 50
    x = right + 34
    for row in strip.beside:
        cell = row.cells[0]
        wide = max(LEAST_CELL, len(cell.text) * CHARACTER + 14)
        sheet.text(x, bottom - CELL_HEIGHT / 2 + 4, row.label, "label", 7)
        x += len(row.label) * 7 + 10
        sheet.cell(cell, x, bottom - CELL_HEIGHT, wide)
        x += wide + 20
    if strip.pointers:
        bottom += 20
        for at, names in gather_pointers(strip).items():
            sheet.line(edge(at), bottom - 17, edge(at), bottom - 11, "tick")
            sheet.text(edge(at), bottom, names, "middle pointer")
    return bottom + 4


def _find_columns(strip: Strip, left: float) -> tuple[list[float], float]:
    """Find where the columns begin, and their common width."""
    longest = max((len(cell.text) for row in strip.rows for cell in row.cells), default=0)
    width = max(LEAST_CELL, longest * CHARACTER + 14)
    for region in strip.regions:
        width = max(width, len(region.name) * 7 / (region.stop - region.start))
    seams = {region.start for region in strip.regions} - {0}
    starts = []
    for column in range(strip.columns):
        left += SEAM * (column in seams)
        starts.append(left)
        left += width + 2
    return starts, width


def _draw_jump(sheet: Sheet, start: float, end: float, y: float, span: int) -> None:
    top = y - 6 - 7 * min(6, span)
    sheet.path(f"M{start:.1f} {y:.1f} C{start:.1f} {top:.1f} {end:.1f} {top:.1f} {end:.1f} {y - 3:.1f}", "jump")
    sheet.path(f"M{end - 3.5:.1f} {y - 6:.1f} L{end + 3.5:.1f} {y - 6:.1f} L{end:.1f} {y:.1f} Z", "tip")


# ---- trees
def _draw_tree(sheet: Sheet, tree: Tree, y: float) -> float:
    left = MARGIN + GUTTER
    if tree.title:
        y += 12
        sheet.text(left, y, tree.title, "label", 7)
        y += 4
    placed, _ = place_nodes(tree.root, _width, NEIGHBOUR)
    heights: dict[int, float] = {}
    for each in placed:
        heights[each.depth] = max(heights.get(each.depth, 0), _height(each.node))
    tops: dict[int, float] = {}
    y += 6
    for depth in sorted(heights):
        tops[depth] = y
        y += heights[depth] + LEVEL
    for each in placed:
        if each.parent is not None:
            _draw_edge(sheet, each, left, tops)
    for each in placed:
        _draw_node(sheet, each.node, left + each.middle, tops[each.depth])
    return y - LEVEL + 4


def _draw_edge(sheet: Sheet, child: Placed, left: float, tops: dict[int, float]) -> None:
    assert child.parent is not None
    x1, y1 = left + child.parent.middle, tops[child.parent.depth] + _height(child.parent.node, named=False)
    x2, y2 = left + child.middle, tops[child.depth]
    bend = (y1 + y2) / 2
    sheet.path(f"M{x1:.1f} {y1:.1f} C{x1:.1f} {bend:.1f} {x2:.1f} {bend:.1f} {x2:.1f} {y2:.1f}", "edge")


def _draw_node(sheet: Sheet, node: Node, middle: float, y: float) -> None:
    if len(node.rows) > 1:
        sheet.box(middle - _width(node) / 2, y, _width(node), _height(node, named=False), "node", 7)
        y += 4
    for row in node.rows:
        widths = [max(LEAST_CELL - 8, len(cell.text) * CHARACTER + 10) for cell in row]
        if len(row) > 1:
            widths = [_entry(node)] * len(row)
        x = middle - (sum(widths) + 3 * (len(row) - 1)) / 2
        for cell, width in zip(row, widths, strict=True):
            sheet.cell(cell, x, y, width)
            x += width + 3
        y += CELL_HEIGHT + 3
    if node.name:
        sheet.text(middle, y + (16 if len(node.rows) > 1 else 12), node.name, "middle pointer", 7.9)


def _entry(node: Node) -> float:
    return max(LEAST_CELL - 8, *(len(cell.text) * CHARACTER + 8 for row in node.rows if len(row) > 1 for cell in row))


def _width(node: Node) -> int:
    widths = [
        len(row) * (_entry(node) + 3) - 3 if len(row) > 1 else max(LEAST_CELL - 8, len(row[0].text) * CHARACTER + 10)
        for row in node.rows
    ]
    return round(max(*widths, 0, len(node.name) * 7) + (10 if len(node.rows) > 1 else 0))


def _height(node: Node, named: bool = True) -> float:
    frame = 8 if len(node.rows) > 1 else 0
    return len(node.rows) * (CELL_HEIGHT + 3) - 3 + frame + (20 if named and node.name else 0)
