"""Algorithms that keep a tree of partials: binary ones over circular leaves, and the finger B-tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from slidewise.algorithms import fiba
from slidewise.tracing.picture import Cell, Node, Picture, Tree
from slidewise.tracing.views.view import Look, View


# ---- binary
def _binary(tree: Any, capacity: int, look: Look, tone: Callable[[int], str], names: dict[int, str]) -> Tree:
    """Draw a tree in FlatFAT's numbering: the root is node 1, the children of v are 2v and 2v + 1."""

    def build(node: int) -> Node:
        children = (build(2 * node), build(2 * node + 1)) if node < capacity else ()
        return Node(((look.partial(("tree", node), tree[node], tone(node)),),), children, names.get(node, ""))

    return Tree(build(1))


def _ends(s: Any, capacity: int) -> dict[int, str]:
    """Name the leaves of the oldest and the youngest value, F and B."""
    if s.front == s.end:
        return {}
    first, last = (capacity + (p & (capacity - 1)) for p in (s.front, s.end - 1))
    return {first: "F B"} if first == last else {first: "F", last: "B"}


def _flat_fat(s: Any, look: Look) -> Picture:
    def tone(node: int) -> str:
        return "value" if node >= s.capacity else "front"

    tree = _binary(s.tree, s.capacity, look, tone, _ends(s, s.capacity))
    return Picture((tree,), {"F": s.front, "E": s.end}, {"capacity": s.capacity})


def _reactive(s: Any, look: Look) -> Picture:
    changed = s.functions["find_changed"](s)
    waiting = {leaf >> k for leaf in changed for k in range(1, s.capacity.bit_length())}

    def tone(node: int) -> str:
        return "value" if node >= s.capacity else "waiting" if node in waiting else "front"

    tree = _binary(s.tree, s.capacity, look, tone, _ends(s, s.capacity))
    facts = {"capacity": s.capacity, "moves": s.moves, "waiting": len(waiting)}
    return Picture((tree,), {"F": s.front, "E": s.end}, facts)


def _b_int(s: Any, look: Look) -> Picture:
    def tone(node: int) -> str:
        return "value" if node >= s.ring else "front"

    tree = _binary(s.tree, s.ring, look, tone, _ends(s, s.ring))
    return Picture((tree,), {"F": s.front, "E": s.end}, {"capacity": s.ring})


def _inverts(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    capacity = after.facts["capacity"]
    if after.facts.get("moves") != before.facts.get("moves"):
        old = before.facts["capacity"]
        yield "compact" if capacity == old else f"resize to {capacity}"
    front, end = after.pointers["F"], after.pointers["E"]
    if front < end and (end - 1) % capacity < front % capacity:
        yield "inverted"
    if operation == "query" and before.facts.get("waiting", 0) > after.facts.get("waiting", 0):
        yield f"{before.facts['waiting']} nodes updated"


def _completes(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if operation == "insert":
        known = {cell.key for cell in before.cells() if cell.value is not None}
        made = [cell for cell in after.cells() if cell.value is not None and cell.key not in known]
        if len(made) > 1:
            yield f"{len(made) - 1} interval{'s' * (len(made) > 2)} complete"


# ---- FiBA
_KINDS = {fiba.ROOT: "root", fiba.INNER: "value", fiba.LEFT: "left", fiba.RIGHT: "right"}


def _fiba(s: Any, look: Look) -> Picture:
    width = s.functions["WIDTH"]  # of a node, as this structure has it
    numbers = iter(look.window)  # entries move from node to node, and are known by their numbers
    levels: Counter[int] = Counter()

    def build(node: int, level: int) -> Node:
        levels[level] += 1
        tone = _KINDS[s.kinds[node]]
        inner = s.first[node] != fiba.NONE
        first = s.skip if node == s.left else 0
        slots = range(node * width + first, node * width + s.counts[node])
        below = [build(s.first[node], level + 1)] if inner else []
        values = []
        for i in slots:
            values.append(look.partial(("value", next(numbers)), s.values[i], tone))
            if inner:
                below.append(build(s.after[i], level + 1))
        times = tuple(look.value(None, s.times[i], "quiet") for i in slots)
        total = Cell(("aggregate", node), s.aggregates[node], "Π " + look.show(s.aggregates[node]), "total")
        rows = [row for row in (times if s.timed else (), tuple(values), (total,)) if row]
        name = " and ".join(side for side, at in (("left", s.left), ("right", s.right)) if at == node)
        return Node(tuple(rows), tuple(below), f"{name} finger" if name else "")

    tree = Tree(build(s.root, 0))
    return Picture((tree,), {}, {"nodes": levels.total(), "levels": len(levels)})


def _splits(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    for fact, more, fewer in (("nodes", "split", "merge"), ("levels", "a level more", "a level less")):
        if after.facts[fact] != before.facts[fact]:
            yield more if after.facts[fact] > before.facts[fact] else fewer


VIEWS = {
    "flat_fat": View(_flat_fat, _inverts),
    "reactive": View(_reactive, _inverts),
    "b_int": View(_b_int, _completes),
    "fiba": View(_fiba, _splits),
}
