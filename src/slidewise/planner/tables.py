"""The registry as tables: what there is, what it needs and what it costs."""

from __future__ import annotations

from slidewise.aggregations.base import Aggregation
from slidewise.display import Table
from slidewise.registry import legal_algorithms
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS, COLUMN_KERNELS


def list_algorithms(aggregation: Aggregation | None = None) -> Table:
    """List every algorithm with its needs and costs, or those that can run one aggregation.

    >>> import slidewise as sw
    >>> [row["algorithm"] for row in sw.list_algorithms()][:3]
    ['recalculate', 'subtract_on_evict', 'two_stacks']
    >>> "subtract_on_evict" in [row["algorithm"] for row in sw.list_algorithms(sw.max())]
    False
    """
    entries = [*ALGORITHMS, *COLUMN_KERNELS] if aggregation is None else legal_algorithms(aggregation)
    rows = [
        {
            "algorithm": e.name,
            "insert": e.insert,
            "evict": e.evict,
            "query": e.query,
            "partials held": e.space,
            "needs": ", ".join([*sorted(e.needs), *(["FIFO"] if e.fifo else [])]) or "nothing",
            "what it does": e.summary,
            "paper": e.paper,
        }
        for e in entries
    ]
    title = "Algorithms" if aggregation is None else f"Algorithms for {aggregation!r}"
    narrow = [{k: row[k] for k in ("algorithm", "insert", "evict", "query", "needs")} for row in rows]
    note = (
        "Costs are calls of combine; n = values in the window. The rows have also: partials held, what it does, paper."
    )
    return Table.of(title, rows, note, narrow)


def list_aggregations() -> Table:
    """List every aggregation with its properties.

    >>> import slidewise as sw
    >>> next(row["commutative"] for row in sw.list_aggregations() if row["aggregation"] == "max_by")
    ''
    """
    rows, narrow = [], []
    for e in AGGREGATIONS:
        properties = {p: getattr(e.cls, p) for p in _SHOWN}
        narrow.append(
            {
                "aggregation": ", ".join((e.name, *e.aliases)),
                "kind": e.cls.kind,
                "properties": ", ".join(_words(p, properties[p]) for p in _TOLD if properties[p]),
                "what it gives": e.summary,
            }
        )
        rows.append(
            {
                "aggregation": ", ".join((e.name, *e.aliases)),
                "group": e.group,
                "kind": e.cls.kind,
                **{p.replace("_", " "): _mark(v) for p, v in properties.items()},
                "what it gives": e.summary,
                "note": e.note,
            }
        )
    return Table.of(
        "Aggregations", rows, "All are associative. The rows have also: group, all properties, note.", narrow
    )


_SHOWN = (
    "associative", "commutative", "invertible", "exactly_invertible", "selective", "size_preserving", "unary_lower",
)  # fmt: skip


#: in a terminal: what tells aggregations apart
_TOLD = ("commutative", "invertible", "exactly_invertible", "selective")


def _words(name: str, value: object) -> str:
    return name.replace("_", " ") + (f" for {value}" if isinstance(value, str) else "")


def _mark(value: object) -> str:
    return "yes" if value is True else str(value) if value else ""
