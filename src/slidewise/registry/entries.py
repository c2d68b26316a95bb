"""What the registry holds: one entry per algorithm and one per aggregation, as data."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, Literal

from slidewise.aggregations.base import Aggregation
from slidewise.errors import InvalidInput


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
    #: query_last(k) answers every window that ends with the youngest value; "selective": for such aggregations only
    suffixes: bool | Literal["selective"] = False
    #: bounds hold only for partials of constant size; other aggregations are legal with a warning
    prefers_size_preserving: bool = True
    #: what the structure can be told at its start, by name
    options: tuple[str, ...] = ()
    #: those without which there is none; over columns, and of windows, the frames tell them
    required: tuple[str, ...] = ()
    #: those that decide constants of the template (its function `constants`), and so have code of their own
    constants: tuple[str, ...] = ()
    #: options that come with the name, as in "fiba(arity=4)"
    given: tuple[tuple[str, Any], ...] = ()
    #: has a form that numba compiles, for columns
    compiled: bool = True
    #: has a form that takes one value at a time
    events: bool = True
    #: its compiled form takes one value at a time, too: one queue from `front` to `end`, and queries change nothing
    compiled_events: bool = False

    @property
    def row_by_row(self) -> bool:
        """Whether a window can hold it, which takes rows one by one and does not say how many there will be."""
        return self.events and not {"range", "slide"} & set(self.options)

    def compiles_events(self, aggregation: Aggregation) -> bool:
        """Tell whether there is compiled code for one event of this algorithm and aggregation, of numbers."""
        alike = self.compiled_events and aggregation.compiled_alike and not aggregation.is_variant
        if not alike or aggregation.where is not None:
            return False
        return not aggregation.order_statistic or isinstance(getattr(aggregation, "fraction", None), float)

    @property
    def module(self) -> ModuleType:
        """The template: the module with the algorithm's functions, and constants as the options decide."""
        module = import_module(f"slidewise.algorithms.{self.name}")
        decide = {name: value for name, value in self.given if name in self.constants}
        return _with_constants(module, tuple(module.constants(**decide).items())) if decide else module

    def with_options(self, options: Mapping[str, Any]) -> AlgorithmEntry:
        """Return the entry with these options given; refused where it takes no such option."""
        unknown = sorted(options.keys() - set(self.options))
        if unknown:
            takes = f"takes {', '.join(self.options)}" if self.options else "takes no options"
            raise InvalidInput(f"{self.name} {takes}, got {', '.join(unknown)}")
        entry = replace(self, given=tuple(options.items()))
        assert entry.module  # which refuses a value that cannot be
        return entry


@functools.cache
def _with_constants(module: ModuleType, constants: tuple[tuple[str, Any], ...]) -> ModuleType:
    """Clone a template whose functions see other constants: nothing that is compiled has to look them up."""
    text = "_".join(f"{name}_{value}" for name, value in constants if isinstance(value, int))
    clone = ModuleType(f"{module.__name__}_{text.lower()}", module.__doc__)
    names = vars(clone)
    names.update({**vars(module), "__name__": clone.__name__, **dict(constants)})
    for function in list(names.values()):
        if isinstance(function, FunctionType) and function.__module__ == module.__name__:
            own = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
            own.__doc__, own.__module__ = function.__doc__, clone.__name__
            names[function.__name__] = own
    return clone


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
