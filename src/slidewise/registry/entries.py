"""What the registry holds: one entry per algorithm and one per aggregation, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Literal

from slidewise.aggregations.base import Aggregation


@dataclass(frozen=True)
class AlgorithmEntry:
    """One algorithm: what it needs, what it costs, and where it comes from."""

    name: str
    summary: str
    #: calls of combine, n = values in the window
    insert: str
    evict: str
    query: str
    #: stored partials
    space: str
    #: properties that the aggregation must provide
    needs: frozenset[str]
    paper: str
    #: values must leave in the order in which they came
    fifo: bool = True
    #: insert(v, time=) may come out of order
    out_of_order: bool = False
    #: query(start, end) answers any range, so that many windows share one structure
    ranges: bool = False
    #: bounds hold only for partials of constant size; other aggregations are legal with a warning
    prefers_size_preserving: bool = True
    #: what the structure must be told at its start, by name
    options: tuple[str, ...] = ()
    #: has a form that numba compiles, for columns
    compiled: bool = True
    #: has a form that takes one value at a time
    events: bool = True

    @property
    def module(self) -> ModuleType:
        """The template: the module with the algorithm's functions."""
        return import_module(f"slidewise.algorithms.{self.name}")


@dataclass(frozen=True)
class Decomposition:
    """Types and functions in short text, as table 1 of the Reactive Aggregator paper has them."""

    input: str
    partial: str
    output: str
    lift: str
    combine: str
    lower: str


@dataclass(frozen=True)
class AggregationEntry:
    """One aggregation: its class, its place in the papers' tables, and what they do not say."""

    name: str
    #: the class, in slidewise.aggregations
    cls: type[Aggregation]
    summary: str
    #: the rows of the tutorial's table 1
    group: Literal["sum-like", "collect-like", "median-like", "max-like", "sketch-like"]
    aliases: tuple[str, ...] = ()
    #: this operation's name in tables 1 and 2 of the Reactive Aggregator paper
    paper_name: str = ""
    #: its row in table 1 of that paper
    decomposition: Decomposition | None = None
    #: this operation's name in table 1 of the tutorial
    tutorial_name: str = ""
    #: properties in which ours departs from its group's row in the tutorial, and why
    departures: Mapping[str, str] = field(default_factory=dict)
    #: where the papers' row is not the whole truth
    note: str = ""
