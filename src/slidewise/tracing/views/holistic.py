"""Structures of holistic aggregations: a queue of values, and a tree, a table or an index beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slidewise.algorithms.incremental_mode import Tournament
from slidewise.algorithms.order_statistic_tree import NIL
from slidewise.algorithms.raw_values import to_value
from slidewise.tracing.notation import write_value
from slidewise.tracing.picture import Cell, Node, Picture, Pointer, Row, Strip, Tree
from slidewise.tracing.views.view import Look, View, draw_window


# ---- order statistics
def _order_statistic_tree(s: Any, look: Look) -> Picture:
    def build(node: Any, path: str) -> Node | None:
        if node is NIL:
            return None
        value = to_value(node.value)
        rows = (
            (Cell(("node", path), value, write_value(value), "front"),),
            (Cell(("size", path), node.size, f"size {node.size}", "quiet"),),
        )
        children = (build(node.left, path + "l"), build(node.right, path + "r"))
        return Node(rows, children if any(children) else ())

    root = build(s.root, "")
    window = draw_window(look)
    return Picture((window, Tree(root, "tree")) if root else (window,), {}, {"size": s.root.size})


# ---- tables of counts
def _draw_table(look: Look, counts: dict[Any, int], best: Any = None) -> Strip:
    values = {key: to_value(key) for key in counts}
    return Strip(
        (
            Row("value", tuple(look.value(("key", k), v, _tone(counts[k], k, best)) for k, v in values.items())),
            Row("count", tuple(look.value(("count", k), counts[k], "quiet") for k in values)),
        ),
        title="table",
    )


def _tone(count: int, key: Any, best: Any) -> str:
    return "waiting" if count == 0 else "total" if best is not None and key == best else "front"


def _count_distinct(s: Any, look: Look) -> Picture:
    table = _draw_table(look, s.table.counts)
    live = Row("live", (look.value("live", s.table.live, "total"),))
    table = Strip(table.rows, beside=(live,), title=table.title)
    return Picture((draw_window(look), table), {}, {"flushes": s.table.flushes})


def _flushes(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if after.facts["flushes"] > before.facts["flushes"]:
        yield "flush"


def _mode(s: Any, look: Look) -> Picture:
    table = s.table
    if not isinstance(table, Tournament):
        best = table.value if table.valid else None
        beside = (Row("mode", (look.value("mode", to_value(best), "total"),)),)
        drawn = _draw_table(look, table.counts, best)
        strip = Strip(drawn.rows, beside=beside, title="table")
        return Picture((draw_window(look), strip), {}, {"flushes": table.flushes, "rescans": table.rescans})
    capacity = len(table.counts)

    def build(node: int) -> Node:
        slot = table.winner[node]
        count = table.counts[slot]
        value = to_value(table.values[slot]) if count else None
        text = f"{write_value(value)}×{count}" if count else write_value(None)
        tone = "empty" if not count else "value" if node >= capacity else "total" if node == 1 else "front"
        children = (build(2 * node), build(2 * node + 1)) if node < capacity else ()
        return Node(((Cell(("match", node), (value, count) if count else None, text, tone),),), children)

    return Picture((draw_window(look), Tree(build(1), "tournament")), {}, {"capacity": capacity})


def _plays(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if after.facts.get("capacity") != before.facts.get("capacity"):
        yield f"resize to {after.facts['capacity']}"
    if after.facts.get("rescans", 0) > before.facts.get("rescans", 0):
        yield "rescan"
    if after.facts.get("flushes", 0) > before.facts.get("flushes", 0):
        yield "flush"


# ---- the partially ordered index
def _quantile(s: Any, look: Look) -> Picture:
    order = s.order

    def tone(position: int, row: int) -> str:
        return "waiting" if row not in s.rows else "total" if position in order.placed else "front"

    index = Strip(
        (
            Row("row", tuple(look.value(None, row, "quiet") for p, row in enumerate(order.index))),
            Row("value", tuple(
                look.value(("at", p), to_value(s.rows.get(row)), tone(p, row)) for p, row in enumerate(order.index)
            )),
        ),
        tuple(Pointer(f"k={p}", p) for p in sorted(order.placed)),
        title="index",
    )  # fmt: skip
    facts = {"selects": order.selects, "scans": order.scans, "avoided": order.avoided, "visits": order.visits}
    return Picture((draw_window(look), index), {"start": s.start, "end": s.end}, facts)


def _selects(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    for name, said in (("selects", "select"), ("scans", "scan"), ("avoided", "answer in place")):
        if after.facts[name] > before.facts[name]:
            yield said
    visits = after.facts["visits"] - before.facts["visits"]
    if visits:
        yield f"{visits} values visited"


VIEWS = {
    "order_statistic_tree": View(_order_statistic_tree),
    "incremental_count_distinct": View(_count_distinct, _flushes),
    "incremental_mode": View(_mode, _plays),
    "incremental_quantile": View(_quantile, _selects),
}
