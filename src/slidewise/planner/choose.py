"""Which algorithm: one ladder of rules, read from the top, with recalculation at the bottom.

The rules are those of the tutorial (section 5 and table 2) and of our own measurements. Every rule names the algorithm
it takes, the runner-up, and the property or the figure that decides, so that explain() has nothing to make up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from slidewise.aggregations.base import Aggregation
from slidewise.errors import IllegalPair
from slidewise.registry import algorithm, missing
from slidewise.registry.entries import AlgorithmEntry
from slidewise.windows.definitions import Between, FramesWindow, WindowDefinition

#: Up to this many rows, folding them again beats keeping anything.
TINY = 2


@dataclass(frozen=True)
class Situation:
    """What decides, besides the aggregation."""

    #: over whole columns (throughput counts), or event by event (the slowest event counts)
    where: Literal["columns", "events"]
    #: rows in the window where that is fixed
    rows: int | None = None
    #: every frame is the n rows up to its own
    trailing: bool = False
    #: bounds never move back
    monotone: bool = True
    #: rows come late, and results are revised
    out_of_order: bool = False
    #: how many windows share the structure; they end with the same row when their results are due
    windows: int = 1
    #: whether the values are numbers, or codes that stand for them
    numbers: bool = True
    #: whether the values are integers, where that is known
    integers: bool | None = None


@dataclass(frozen=True)
class Choice:
    """An algorithm, the next best, and what decided between them."""

    algorithm: str
    runner_up: str
    because: str


@dataclass(frozen=True)
class Rule:
    """One rung: where it applies, it decides."""

    applies: Callable[[Aggregation, Situation], bool]
    algorithm: str
    runner_up: str
    because: str


def _exact_inverse(op: Aggregation, s: Situation) -> bool:
    return op.exactly_invertible is True or (op.exactly_invertible == "integers" and s.integers is True)


LADDER = (
    Rule(
        lambda op, s: not op.associative,
        "recalculate", "recalculate",
        "combine is not associative: only a fold from the oldest row to the youngest is right",
    ),
    Rule(
        lambda op, s: op.order_statistic and s.where == "columns" and s.numbers,
        "chunk_ranks", "order_statistic_tree",
        "an order statistic over columns of numbers: ranks of a chunk and a cursor, about 15 ns per row at any window",
    ),
    Rule(
        lambda op, s: op.distinct_values and s.where == "columns" and s.numbers,
        "last_occurrence", "incremental_count_distinct",
        "distinct values over columns: whether a value's last row is in the window, about 2 ns per row at any window",
    ),
    Rule(
        lambda op, s: op.most_frequent and s.where == "columns" and s.numbers,
        "count_histogram", "incremental_mode",
        "the mode over columns: counts and how many values have each, about 10 ns per row at any window",
    ),
    Rule(
        lambda op, s: op.of_distinct_values and s.where == "columns",
        "flat_fat", "recalculate",
        "an aggregate of distinct values over columns: a tree with each value at its first row, O(log n) per row; "
        "frames with an exclusion are read again",
    ),
    Rule(
        lambda op, s: op.order_statistic and s.monotone and not s.out_of_order,
        "order_statistic_tree", "incremental_quantile",
        "an order statistic is holistic: a search tree finds it in O(log n), quickselect in O(n)",
    ),
    Rule(
        lambda op, s: op.distinct_values and s.monotone and not s.out_of_order,
        "incremental_count_distinct", "two_stacks_lite",
        "distinct values are holistic: a table of counts gives them in O(1), merging sets in O(n)",
    ),
    Rule(
        lambda op, s: op.most_frequent and s.monotone and not s.out_of_order,
        "incremental_mode", "two_stacks_lite",
        "the mode is holistic: a tournament of counts gives it in O(log distinct), merging tables in O(n)",
    ),
    Rule(
        lambda op, s: s.out_of_order,
        "fiba", "reactive",
        "rows come out of order: fiba inserts at distance d from the end in O(log d); reactive needs commutative",
    ),
    Rule(
        lambda op, s: not s.monotone and s.where == "events",
        "fiba", "recalculate",
        "bounds move back: fiba answers any frame of the rows kept in O(log n), recalculation in O(n)",
    ),
    Rule(
        lambda op, s: not s.monotone,
        "flat_fat", "recalculate",
        "bounds move back: a static tree answers any frame in O(log n), recalculation in O(n)",
    ),
    Rule(
        lambda op, s: s.windows > 1 and op.selective,
        "slick_deque", "flat_fit",
        "several windows share one deque of the rows that can still win: it answers all of them without a combine",
    ),
    Rule(
        lambda op, s: s.windows > 1,
        "flat_fit", "b_int",
        "several windows share one structure, and each query leaves partials to the others: about 3 combines a window",
    ),
    Rule(
        lambda op, s: s.rows is not None and s.rows <= TINY,
        "recalculate", "two_stacks_lite",
        f"the window has at most {TINY} rows: folding them again is the least work",
    ),
    Rule(
        lambda op, s: _exact_inverse(op, s),
        "subtract_on_evict", "two_stacks_lite",
        "exactly invertible: the oldest value can be taken out again without a trace",
    ),
    Rule(
        lambda op, s: s.where == "columns" and s.trailing,
        "sba", "two_stacks_lite",
        "a fixed range over columns: two cumulative passes and one merge, all sequential in memory",
    ),
    Rule(
        lambda op, s: s.where == "columns",
        "two_stacks_lite", "daba_lite",
        "bounds move irregularly but never back: the least combines on average, and throughput is what counts",
    ),
    Rule(
        lambda op, s: True,
        "daba_lite", "two_stacks_lite",
        "event by event the slowest event counts: constant time in the worst case, where two stacks flip in O(n)",
    ),
)  # fmt: skip


def choose(aggregation: Aggregation, situation: Situation) -> Choice:
    """Choose by the first rule that applies."""
    rule = next(r for r in LADDER if r.applies(aggregation, situation))
    legal = not missing(algorithm(rule.runner_up), aggregation)
    return Choice(rule.algorithm, rule.runner_up if legal else "recalculate", rule.because)


#: The algorithms that go by the bounds of each frame alone, so that bounds may move back.
BY_BOUNDS = ("recalculate", "flat_fat")


def require_frames(entry: AlgorithmEntry, monotone: bool) -> None:
    """Refuse an algorithm over columns whose frames it cannot compute."""
    if entry.name in BY_BOUNDS or not entry.events or monotone:
        return
    raise IllegalPair(
        f"{entry.name} needs frames whose bounds never move back, and these do. "
        "Use flat_fat, which answers any frame in logarithmic time, or recalculate"
    )


def situation_of(
    window: WindowDefinition,
    where: Literal["columns", "events"],
    *,
    late: str = "error",
    windows: int = 1,
    integers: bool | None = None,
) -> Situation:
    """Describe what a window means for the choice."""
    rows = None
    trailing = monotone = True
    if window.trailing_rows is not None:
        alone = window.slide_kind == "row" or (where == "events" and window.slide_kind != "count")
        rows = window.trailing_rows if alone else None  # a slide by count holds slices, not rows
    elif isinstance(window, Between):
        trailing = False
        monotone = not window.columns and window.exclude is None
        rows = window.reach.width if where == "columns" and monotone else None
    elif isinstance(window, FramesWindow):
        trailing = False
        monotone = all(a <= b for bound in (window.start, window.end) for a, b in pairwise(bound))
    else:
        trailing = False
    if where == "events" and windows > 1 and late != "revise" and window.common_end is not None:
        return Situation("events", windows=windows)
    return Situation(
        where,
        rows=rows,
        trailing=trailing and window.slide_kind == "row",
        monotone=monotone,
        out_of_order=late == "revise",
        integers=integers,
    )


def count_shared_rows(windows: Sequence[WindowDefinition]) -> int | None:
    """Count the rows that must be held to answer all of these windows; None where that is not fixed."""
    lengths: list[int] = []
    for window in windows:
        reach = window.reach
        if reach is None or reach.unit != "rows" or not reach.fixed or window.slide_kind != "row" or not reach.monotone:
            return None
        lengths.append(reach.back + reach.ahead + 1)
    return max(lengths)
