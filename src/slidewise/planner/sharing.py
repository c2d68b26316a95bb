"""What the columns of one call share, and what the windows of one stream do, as far as their definitions tell.

Over columns, order, frames and null masks are made once for all columns in any case. Here is what else is saved:
results that can be read off the bounds of a frame, results that follow from those of another aggregation, and passes
over the rows. Event by event, it is what a `Window` holds: partials that several aggregations are read from, in
structures that several windows are answered from.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.planner.choose import Situation, choose, count_shared_rows, situation_of
from slidewise.registry import algorithm as entry_of
from slidewise.windows.definitions import WindowDefinition, canonical

# ---- over columns


def read_off(over: Over) -> bool:
    """Tell whether the bounds of a frame are enough: how many rows it has, and which stands where. Nothing runs."""
    return over.algorithm == "auto" and over.aggregation.needs_only_bounds


def may_join(over: Over) -> bool:
    """Tell whether it can be computed in one pass with others: the partial is one of a tuple of partials."""
    aggregation = over.aggregation
    return (
        over.algorithm == "auto"
        and not read_off(over)
        and aggregation.unary_lower
        and aggregation.size_preserving
        and not aggregation.result_fields
        and not is_holistic(aggregation)
    )


def is_holistic(aggregation: Aggregation) -> bool:
    """Tell whether structures made for holistic aggregations hold its values, instead of partials."""
    return aggregation.order_statistic or aggregation.distinct_values or aggregation.most_frequent


def base_of(over: Over, all_of_call: Iterable[Over]) -> Over | None:
    """Find the expression that this one follows from: avg from the sum, one of several variances from their squares."""
    aggregation = over.aggregation
    base = aggregation.derived_from
    if over.algorithm != "auto" or base is None:
        return None
    if aggregation.from_squares is not None and sum(_shares_squares(over, other) for other in all_of_call) < 2:
        return None  # alone, it is as fast by itself
    return Over(base(*aggregation.columns, where=aggregation.where), over.window)


def _shares_squares(a: Over, b: Over) -> bool:
    """Tell whether both are variances of the same rows and window."""
    return b.aggregation.from_squares is not None and (
        (a.aggregation.columns, a.aggregation.where, a.window, a.algorithm)
        == (b.aggregation.columns, b.aggregation.where, b.window, b.algorithm)
    )


# ---- event by event: partials
def counts_rows(aggregation: Aggregation) -> bool:
    """Tell whether the result is how many rows the frame has, which whatever holds the rows knows."""
    return (
        aggregation.counts_rows and not aggregation.is_variant and not aggregation.columns and aggregation.where is None
    )


def find_partials(aggregation: Aggregation, given: Iterable[Aggregation]) -> tuple[Aggregation, int | None]:
    """Find the given aggregation whose partials this one can be read from, and which part of each; None: all of it.

    >>> import slidewise as sw
    >>> find_partials(sw.sum("x"), [sw.sum("x"), sw.max("x"), sw.avg("x")])
    (avg('x'), 1)
    >>> find_partials(sw.stddev("x"), [sw.var_pop("x"), sw.stddev("x")])
    (var_pop('x'), None)
    >>> find_partials(sw.max("x"), [sw.var_pop("x"), sw.max("x")])
    (max('x'), None)
    """
    given = list(given)
    if aggregation.part_of is not None and not aggregation.is_variant:
        cls, part = aggregation.part_of
        for whole in given:
            if type(whole) is cls and not whole.is_variant and _takes_same_rows(whole, aggregation):
                return whole, part
    return next((other for other in given if _has_same_partials(other, aggregation)), aggregation), None


def _takes_same_rows(a: Aggregation, b: Aggregation) -> bool:
    return (a.columns, a.where, a.nulls) == (b.columns, b.where, b.nulls)


def _has_same_partials(a: Aggregation, b: Aggregation) -> bool:
    """Tell whether two aggregations differ in how a partial is lowered, and in nothing else."""
    if a == b:
        return True
    functions = ("lift", "combine", "inverse", "dump", "load")
    properties = ("associative", "commutative", "invertible", "exactly_invertible", "selective", "arity")
    return (
        _takes_same_rows(a, b)
        and not (is_holistic(a) or is_holistic(b) or a.asks or b.asks)
        and all(getattr(a, name) is getattr(b, name) for name in functions)
        and all(getattr(a, name) == getattr(b, name) for name in properties)
    )


@dataclass(frozen=True)
class Partials:
    """Partials of one aggregation, and what is read from them: by name, which part of a partial; None: all of it."""

    aggregation: Aggregation
    algorithm: str
    readers: Mapping[str, int | None]


def group_by_partials(columns: Mapping[str, Over]) -> tuple[list[Partials], list[str]]:
    """Group columns by the partials that they are read from, and list those that need none: counts of rows."""
    counted = _find_counted(columns)
    return _group({name: over for name, over in columns.items() if name not in counted}), counted


def _group(held: Mapping[str, Over]) -> list[Partials]:
    groups: dict[tuple[Aggregation, str], dict[str, int | None]] = {}
    for name, over in held.items():
        given = [other.aggregation for other in held.values() if other.algorithm == over.algorithm]
        base, part = find_partials(over.aggregation, given)
        groups.setdefault((base, over.algorithm), {})[name] = part
    return [Partials(base, algorithm, readers) for (base, algorithm), readers in groups.items()]


def _find_counted(columns: Mapping[str, Over]) -> list[str]:
    """Find the columns that count rows which their window holds for another column anyway.

    Rows that are combined into slices are not counted one by one, and so their counts are partials like others.
    """
    counts = [
        name
        for name, over in columns.items()
        if over.algorithm == "auto" and counts_rows(over.aggregation) and not over.window.sliced
    ]
    held = [canonical(over.window) for name, over in columns.items() if name not in counts]
    return [name for name in counts if canonical(columns[name].window) in held]


# ---- event by event: structures
@dataclass(frozen=True)
class Structure:
    """What a `Window` holds of each key in one place: partials, for one window or for several."""

    partials: Partials
    algorithm: str
    because: str
    windows: tuple[WindowDefinition, ...]

    @property
    def shared(self) -> bool:
        """Whether several windows are answered from it."""
        return len(self.windows) > 1

    def read_by(self, names: Container[str]) -> Partials:
        """Return its partials, with only these readers."""
        readers = {name: part for name, part in self.partials.readers.items() if name in names}
        return replace(self.partials, readers=readers)

    @property
    def rows(self) -> int | None:
        """How many rows it holds at most; None where that is not fixed."""
        return count_shared_rows(self.windows)


def plan_structures(columns: Mapping[str, Over]) -> tuple[list[Structure], list[str]]:
    """Plan what a `Window` of these columns holds, and list the columns for which it holds nothing: counts of rows.

    >>> import slidewise as sw
    >>> structures, counted = plan_structures({
    ...     "high": sw.max().over(sw.rows(100)), "peak": sw.max().over(sw.time("1h")),
    ...     "mean": sw.avg().over(sw.rows(10)), "total": sw.sum().over(sw.rows(10)), "n": sw.count().over(sw.rows(10))})
    >>> for s in structures: print(s.partials.aggregation, s.algorithm, s.windows, list(s.partials.readers))
    max() slick_deque (rows(100), time("1h")) ['high', 'peak']
    avg() daba_lite (rows(10),) ['mean', 'total']
    >>> counted
    ['n']
    """
    groups, counted = group_by_partials(columns)
    structures = []
    for group in groups:
        of = {name: canonical(columns[name].window) for name in group.readers}
        for windows in _share(group, list(dict.fromkeys(of.values()))):
            names = [name for name in of if of[name] in windows]
            if len(windows) > 1:
                structures.append(
                    _plan_structure(replace(group, readers={n: group.readers[n] for n in names}), windows)
                )
            else:
                own = _group({name: columns[name] for name in names})
                structures += [_plan_structure(partials, windows) for partials in own]
    return structures, counted


def _share(group: Partials, windows: list[WindowDefinition]) -> list[list[WindowDefinition]]:
    """Put those windows together that one structure answers: all rows, or those that end with the same row."""
    kinds: dict[Any, list[WindowDefinition]] = {}
    for window in windows:
        kinds.setdefault(_find_kind(group, window), []).append(window)
    found = []
    for kind, alike in kinds.items():
        found += [alike] if kind is not None and _answers_all(group, alike) else [[window] for window in alike]
    return found


def _find_kind(group: Partials, window: WindowDefinition) -> str | None:
    """Tell which windows a window may share a structure with: those of the same kind; None: with none."""
    if group.algorithm != "auto" and entry_of(group.algorithm).ranges:
        return "any range" if window.holds_rows else None
    return window.common_end


def _answers_all(group: Partials, windows: list[WindowDefinition]) -> bool:
    """Tell whether one structure answers all windows of a kind; those that must know its size at its start may not."""
    if group.algorithm == "auto":
        entry = entry_of(choose(group.aggregation, Situation("events", windows=len(windows))).algorithm)
    else:
        entry = entry_of(group.algorithm)
    if "capacity" in entry.required and count_shared_rows(windows) is None:
        return False
    return entry.ranges or entry.suffixes is True or (bool(entry.suffixes) and group.aggregation.selective)


def _plan_structure(partials: Partials, windows: list[WindowDefinition]) -> Structure:
    several = len(windows) > 1
    situation = Situation("events", windows=len(windows)) if several else situation_of(windows[0], "events")
    choice = choose(partials.aggregation, situation)
    if partials.algorithm != "auto":
        return Structure(partials, partials.algorithm, "asked for by name", tuple(windows))
    return Structure(partials, choice.algorithm, choice.because, tuple(windows))
