"""The papers' tables of aggregations, printed from the registry, with notes where ours differ."""

from __future__ import annotations

from typing import NamedTuple

from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.entries import AggregationEntry

TRUE, FALSE, MIXED = "✓", "×", "?"

_ALGEBRAIC = ("associative", "invertible", "commutative")
_TUTORIAL = ("invertible", "associative", "commutative", "size_preserving", "unary_lower")
_GROUPS = ("sum-like", "collect-like", "median-like", "max-like", "sketch-like")


class DecompositionRow(NamedTuple):
    """A row of the Reactive Aggregator paper's table 1."""

    operation: str
    input: str
    partial: str
    output: str
    lift: str
    combine: str
    lower: str
    #: ours, where it is another
    note: str = ""


class PropertyRow(NamedTuple):
    """A row of the Reactive Aggregator paper's table 2."""

    operation: str
    associative: str
    invertible: str
    commutative: str
    note: str = ""


class GroupRow(NamedTuple):
    """A row of the tutorial's table 1: a tick for all of the group, a cross for none, "?" for some."""

    group: str
    operations: str
    invertible: str
    associative: str
    commutative: str
    size_preserving: str
    unary_lower: str
    notes: tuple[str, ...] = ()


def reactive_table_1() -> list[DecompositionRow]:
    """Types and functions of the operations in the Reactive Aggregator paper.

    >>> reactive_table_1()[1][:7]
    ('Sum', 'T', 'T', 'T', 'v', 'a+b', 'c')
    """
    rows = []
    for entry in _of_paper():
        d = entry.decomposition
        assert d is not None, entry.name
        rows.append(
            DecompositionRow(entry.paper_name, d.input, d.partial, d.output, d.lift, d.combine, d.lower, entry.note)
        )
    return rows


def reactive_table_2() -> list[PropertyRow]:
    """Algebraic properties of the operations in the Reactive Aggregator paper, read from the classes.

    >>> reactive_table_2()[2][:4]
    ('Max', '✓', '', '✓')
    """
    rows = []
    for e in _of_paper():
        marks = {p: TRUE if getattr(e.cls, p) else "" for p in _ALGEBRAIC}
        rows.append(PropertyRow(e.paper_name, **marks, note=e.note))
    return rows


def tutorial_table_1() -> list[GroupRow]:
    """Derive the tutorial's groups of operations and their properties, from all aggregations of each group.

    >>> print(*tutorial_table_1()[0][:7], sep=" | ")
    sum-like | sum, count, average, standard deviation | ✓ | ✓ | ✓ | ✓ | ✓
    """
    return [_group_row(group) for group in _GROUPS]


#: the papers' orders of rows, where they are not the registry's
_PAPER_ORDER = (
    "Count", "Sum", "Max", "Min", "ArithmeticMean", "GeometricMean", "MaxCount", "MinCount", "SampleStdDev",
    "PopulationStdDev", "ArgMax", "ArgMin", "Collect",
)  # fmt: skip
_TUTORIAL_ORDER = (
    "sum", "count", "average", "standard deviation",
    "collect list", "concatenate strings", "iᵗʰ-youngest",
    "median", "percentile", "iᵗʰ-smallest",
    "max", "min", "argMax", "argMin", "maxCount",
    "Bloom filter", "CountMin", "HyperLogLog",
)  # fmt: skip


def _of_paper() -> list[AggregationEntry]:
    entries = [e for e in AGGREGATIONS if e.paper_name]
    return sorted(entries, key=lambda e: _PAPER_ORDER.index(e.paper_name))


def _group_row(group: str) -> GroupRow:
    entries = [e for e in AGGREGATIONS if e.group == group]
    named = sorted((e.tutorial_name for e in entries if e.tutorial_name), key=_TUTORIAL_ORDER.index)
    notes = []
    for e in entries:
        notes += [f"{e.name}: {'' if getattr(e.cls, p) else 'not '}{p}, since {why}" for p, why in e.departures.items()]
        notes += [f"{e.name}: {e.note}"] if e.note else []
    marks = {p: _mark([_as_in_group(e, p) for e in entries]) for p in _TUTORIAL}
    return GroupRow(group, ", ".join(named), **marks, notes=tuple(notes))


def _as_in_group(entry: AggregationEntry, name: str) -> bool:
    """Write the property as the tutorial's row has it: ours, but for the departures."""
    return bool(getattr(entry.cls, name)) != (name in entry.departures)


def _mark(values: list[bool]) -> str:
    return TRUE if all(values) else MIXED if any(values) else FALSE
