"""Where the nodes of a tree stand: children side by side, and a parent above the middle of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slidewise.tracing.picture import Node


@dataclass
class Placed:
    """A node, and where its middle is; distances are in the unit of the widths."""

    node: Node
    middle: int
    depth: int
    parent: Placed | None


def place_nodes(root: Node, width_of: Callable[[Node], int], gap: int) -> tuple[list[Placed], int]:
    """Place all nodes, parents before children, and tell the width of the whole."""
    placed: list[Placed] = []

    def place(node: Node, left: int, depth: int, parent: Placed | None) -> tuple[Placed, int]:
        """Place a subtree from `left` on; returned with its right edge."""
        here = Placed(node, 0, depth, parent)
        placed.append(here)
        width = width_of(node)
        edge = left
        middles = []
        for k, child in enumerate(node.children):
            start = edge + gap if k else edge
            if child is None:  # the place of a missing child, so that the other one stands on its side
                edge = start + gap
                middles.append(start + gap // 2)
            else:
                below, edge = place(child, start, depth + 1, here)
                middles.append(below.middle)
        if not middles:
            here.middle = left + width // 2
            return here, left + width
        here.middle = (middles[0] + middles[-1]) // 2
        short = left - (here.middle - width // 2)
        if short > 0:  # the node is wider than what is below it
            for each in placed[placed.index(here) :]:
                each.middle += short
            edge += short
        return here, max(edge, here.middle - width // 2 + width)

    _, width = place(root, 0, 0, None)
    return placed, width
