"""TUT: tables 1 and 2 and figure 5 of "Sliding-Window Aggregation Algorithms: Tutorial". No clock: properties and
counts.

Table 1 is read from the aggregations, table 2 from the registry beside what is counted, and figure 5 from what a query
reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import slidewise as sw
from benchmarks.papers.experiment import Cell, Claim, Experiment, Results, Scale, Table, Verdict, judge, number
from slidewise.registry import algorithm
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.paper_tables import FALSE, MIXED, TRUE

# ---- table 1
PROPERTIES = ("invertible", "associative", "commutative", "size_preserving", "unary_lower")
#: as printed: true of all, of none, or of some of the group's operations
PRINTED_MARKS = {
    "sum-like": TRUE + TRUE + TRUE + TRUE + TRUE,
    "collect-like": TRUE + TRUE + FALSE + FALSE + MIXED,
    "median-like": TRUE + TRUE + TRUE + FALSE + MIXED,
    "max-like": FALSE + TRUE + MIXED + TRUE + TRUE,
    "sketch-like": FALSE + TRUE + TRUE + TRUE + FALSE,
}


#: the panel that counts what is not as printed
UNLIKE = "unlike the print"


def run_table1(scale: Scale) -> Iterator[Cell]:
    """The marks of each group, from the aggregations that the table names; and why one of ours departs from its
    group."""
    for group in PRINTED_MARKS:
        entries = [e for e in AGGREGATIONS if e.group == group and e.tutorial_name]
        for name in PROPERTIES:
            held = [bool(getattr(e.cls, name)) for e in entries]
            mark = TRUE if all(held) else MIXED if any(held) else FALSE
            yield Cell(group, name, mark, "mark")
            yield Cell(group, name, int(mark != PRINTED_MARKS[group][PROPERTIES.index(name)]), "marks", UNLIKE)
            for e in entries:
                if name in e.departures:
                    yield Cell(group, name, f"{e.name}: {e.departures[name]}", "why", "departures")


def marks_as_printed(r: Results) -> Verdict:
    other = [
        (group, name)
        for group in PRINTED_MARKS
        for name in PROPERTIES
        if r.value(group, name, UNLIKE) or r.word(group, name) not in (TRUE, FALSE, MIXED)
    ]
    count = len(PRINTED_MARKS) * len(PROPERTIES)
    found = "; ".join(f"{group} {name.replace('_', '-')}: {r.word(group, name)}" for group, name in other)
    reasons = [str(r.word(*at, "departures")) for at in other if r.has(*at, "departures")]
    unexplained = len(other) - len(reasons)
    why = "; ".join([*reasons, *([f"{unexplained} without a reason: a fault of ours"] if unexplained else [])])
    ours = f"{count - len(other)} of {count} marks" + (f"; {found}" if found else "")
    return judge(not other, ours, why)


def draw_table1(r: Results) -> Table:
    rows = []
    for group, marks in PRINTED_MARKS.items():
        cells = [
            str(r.word(group, name)) if r.word(group, name) == mark else f"{r.word(group, name)} (printed {mark})"
            for name, mark in zip(PROPERTIES, marks, strict=True)
        ]
        rows.append((group, *cells))
    return Table(("", *(name.replace("_", "-") for name in PROPERTIES)), rows)


# ---- table 2
class Printed(NamedTuple):
    """A row of table 2: which slides its time is of, how it grows, and what the algorithm is restricted to."""

    title: str
    slides: str
    time: str
    restrictions: frozenset[str]


MERGES = frozenset({"size-preserving", "associative"})
PRINTED_COSTS = {
    "recalculate": Printed("Recalculate from scratch", "worst", "O(n)", frozenset()),
    "subtract_on_evict": Printed("Subtract on evict", "worst", "O(1)", frozenset({"invertible"})),
    "order_statistic_tree": Printed("Order statistics tree", "worst", "O(log n)", frozenset({"order statistic"})),
    "reactive": Printed("Reactive Aggregator", "mean", "O(log n)", MERGES),
    "two_stacks": Printed("Two-stacks", "mean", "O(1)", MERGES | {"FIFO"}),
    "daba": Printed("DABA", "worst", "O(1)", MERGES | {"FIFO"}),
    "b_int": Printed("B-Int", "worst", "O(log n)", MERGES | {"FIFO"}),
}
#: how much more a window that is `times` as long, of `logs` as many levels, may cost; a quarter more for rounding
GROWTH: dict[str, Callable[[float, float], float]] = {
    "O(1)": lambda times, logs: 1.25,
    "O(log n)": lambda times, logs: 1.25 * logs,
    "O(n)": lambda times, logs: 1.25 * times,
}


class Work:
    """What is counted: combines, inverses, and comparisons of values."""

    done = 0


class Added(sw.Aggregation):
    """A sum of whole numbers that counts its combines and inverses."""

    identity = 0
    commutative = True
    invertible = True
    exactly_invertible = True

    @staticmethod
    def combine(a: int, b: int) -> int:
        Work.done += 1
        return a + b

    @staticmethod
    def inverse(total: int, oldest: int) -> int:
        Work.done += 1
        return total - oldest


class Compared:
    """A value that counts its comparisons."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Any) -> bool:
        Work.done += 1
        return self.value < other.value

    def __gt__(self, other: Any) -> bool:
        return other < self

    def __eq__(self, other: object) -> bool:
        Work.done += 1
        return isinstance(other, Compared) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def run_table2(scale: Scale) -> Iterator[Cell]:
    """Combines (of the tree: comparisons) of a slide, by the window's size, and partials; every answer is checked."""
    for n in table2_sizes(scale):
        for name in PRINTED_COSTS:
            worst, mean, held = count_work(name, n)
            yield Cell(name, n, worst, "combines", "worst")
            yield Cell(name, n, mean, "combines", "mean")
            yield Cell(name, n, held, "partials", "space")
    for name in PRINTED_COSTS:
        entry = algorithm(name)
        needs = {"associative" if need == "associative" else need.replace("_", " ") for need in entry.needs}
        needs |= {"size-preserving"} if entry.prefers_size_preserving else set()
        needs |= {"FIFO"} if entry.fifo else set()
        yield Cell(name, "restrictions", ", ".join(sorted(needs)), "words", "registry")
        yield Cell(name, "restrictions", len(needs ^ PRINTED_COSTS[name].restrictions), "restrictions", UNLIKE)
        yield Cell(
            name, "time", f"insert {entry.insert}; evict {entry.evict}; query {entry.query}", "words", "registry"
        )
        yield Cell(name, "space", entry.space, "words", "registry")


def table2_sizes(scale: Scale) -> tuple[int, int]:
    """A small and a large window."""
    return scale.pick(tiny=(16, 64), quick=(64, 1024), full=(64, 1024))


def count_work(name: str, n: int) -> tuple[int, float, int]:
    """The work of a slide (evict, insert, query), the most and on average, and the partials held at the end.

    >>> count_work("recalculate", 16)
    (15, 15.0, 16)
    """
    tree = name == "order_statistic_tree"
    options = {"capacity": n} if name == "b_int" else {}
    s: Any = sw.swag(name, sw.percentile_disc(fraction=0.5) if tree else Added(), **options)
    values = [k * 7919 % (4 * n + 1) for k in range(5 * n)]
    taken = []
    for k, value in enumerate(values):
        Work.done = 0
        if k >= n:
            s.evict()
        s.insert(Compared(value) if tree else value)
        answer = s.query_last(n - 1) if name == "b_int" else s.query()
        if k >= n:
            taken.append(Work.done)
        if k >= n and k % 7 == 0:
            window = values[k - n + 1 : k + 1]
            right = sorted(window)[-(-n // 2) - 1] if tree else sum(window[1:] if name == "b_int" else window)
            assert (answer.value if tree else answer) == right, f"{name}: a wrong answer after {k} insertions"
    return max(taken), sum(taken) / len(taken), s.partials()


def time_as_printed(r: Results) -> Verdict:
    words, over = [], []
    for name, printed in PRINTED_COSTS.items():
        small, large = r.xs(name, "worst")
        before, after = (r.value(name, n, printed.slides) for n in (small, large))
        allowed = before * GROWTH[printed.time](large / small, _levels(large) / _levels(small))
        words.append(f"{printed.title} {number(before)} to {number(after)}")
        if after > allowed:
            over.append(
                f"{printed.title} grows {after / before:.2f} times from {small} to {large}, not as {printed.time}"
            )
    return judge(not over, "; ".join(words), "; ".join(over))


def _levels(n: int) -> int:
    return n.bit_length() - 1


def space_as_printed(r: Results) -> Verdict:
    words, over = [], []
    for name, printed in PRINTED_COSTS.items():
        small, large = r.xs(name, "space")
        before, after = (r.value(name, n, "space") for n in (small, large))
        words.append(f"{printed.title} {after / large:.2f} n")
        if after > 1.25 * before * large / small:
            over.append(f"{printed.title} grows {after / before:.1f} times")
    return judge(not over, "; ".join(words), "; ".join(over))


def restrictions_as_printed(r: Results) -> Verdict:
    other = []
    for name, printed in PRINTED_COSTS.items():
        ours = set(filter(None, str(r.word(name, "restrictions", "registry")).split(", ")))
        more, fewer = ours - printed.restrictions, printed.restrictions - ours
        if r.value(name, "restrictions", UNLIKE):
            changes = [*(f"also {m}" for m in sorted(more)), *(f"not {f}" for f in sorted(fewer))]
            other.append(f"{printed.title}: {', '.join(changes)}")
    same = len(PRINTED_COSTS) - len(other)
    ours_words = f"{same} of {len(PRINTED_COSTS)} as printed" + (f"; {'; '.join(other)}" if other else "")
    return judge(
        not other,
        ours_words,
        "structures with a queue evict the oldest value only: the paper has them for windows that need not be FIFO, "
        "which here "
        "take reactive or fiba",
    )


def draw_table2(r: Results) -> Table:
    small, large = r.xs("recalculate", "worst")
    rows = []
    for name, printed in PRINTED_COSTS.items():
        counted = (f"{number(r.value(name, n, kind))}" for kind in ("worst", "mean") for n in (small, large))
        held = f"{r.value(name, large, 'space') / large:.2f} n"
        restrictions = r.word(name, "restrictions", "registry") or "none"
        rows.append((printed.title, f"{printed.slides} {printed.time}", *counted, held, restrictions))
    header = (
        "",
        "printed",
        *(f"{kind} at {n:,}" for kind in ("worst", "mean") for n in (small, large)),
        "partials",
        "restricted to",
    )
    return Table(header, rows)


# ---- figure 5
LOW, HIGH = 49, 66
PRINTED_INTERVALS = ("[49]", "[50,51]", "[52,55]", "[56,63]", "[64,65]", "[66]")


class Read(list[Any]):
    """A list that remembers which elements were read."""

    def __init__(self, of: list[Any]) -> None:
        super().__init__(of)
        self.read: list[int] = []

    def __getitem__(self, i: Any) -> Any:
        self.read.append(i)
        return super().__getitem__(i)


class Positions(sw.Aggregation):
    """The positions of a window, in order."""

    identity = ()

    @staticmethod
    def lift(x: int) -> tuple[int, ...]:
        return (x,)

    @staticmethod
    def combine(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        return a + b


def run_fig5(scale: Scale) -> Iterator[Cell]:
    """The base intervals that a query of positions 49 to 66 reads."""
    s: Any = sw.swag("b_int", Positions(), capacity=128)
    for position in range(HIGH + 1):
        s.insert(position)
    s.tree = Read(s.tree)
    answer = s.query_last(HIGH - LOW + 1)
    assert answer == tuple(range(LOW, HIGH + 1)), "b_int: a wrong answer"
    found = sorted(interval_of(node, s.ring) for node in s.tree.read)
    for k, (first, last) in enumerate(found):
        yield Cell("read", k, f"[{first}]" if first == last else f"[{first},{last}]", "interval")


def interval_of(node: int, ring: int) -> tuple[int, int]:
    """The positions of a node, in a tree whose leaves are from `ring` on.

    >>> interval_of(128 + 49, 128), interval_of(64 + 25, 128)
    ((49, 49), (50, 51))
    """
    width = ring >> (node.bit_length() - 1)
    first = (node - ring // width) * width
    return first, first + width - 1


def intervals_as_drawn(r: Results) -> Verdict:
    found = [str(r.word("read", k)) for k in r.xs("read")]
    return judge(
        found == list(PRINTED_INTERVALS), ", ".join(found), "b_int reads other nodes than the paper's drawing has"
    )


def draw_fig5(r: Results) -> Table:
    found = [str(r.word("read", k)) for k in r.xs("read")]
    return Table(("", *(f"{k}." for k in range(1, len(found) + 1))), [("read", *found), ("drawn", *PRINTED_INTERVALS)])


EXPERIMENTS = (
    Experiment(
        id="tut-table1",
        paper="TUT",
        title="Properties of aggregation operations",
        run=run_table1,
        draw=draw_table1,
        claims=(
            Claim("tut-table1-a", "the five groups' marks, for the operations that the table names", marks_as_printed),
        ),
        scaled="nothing",
        seconds=1,
    ),
    Experiment(
        id="tut-table2",
        paper="TUT",
        title="Aggregation algorithms: time, space, restrictions",
        run=run_table2,
        draw=draw_table2,
        claims=(
            Claim(
                "tut-table2-a",
                "time: recalculation O(n), subtract-on-evict and DABA O(1), the order statistics tree and B-Int "
                "O(log n) at worst; on average Two-stacks O(1), the Reactive Aggregator O(log n)",
                time_as_printed,
            ),
            Claim("tut-table2-b", "space: O(n) for all", space_as_printed),
            Claim("tut-table2-c", "restrictions, of operation and window", restrictions_as_printed),
        ),
        scaled="nothing: combines are counted (of the tree, comparisons), at two sizes",
        seconds=5,
    ),
    Experiment(
        id="tut-fig5",
        paper="TUT",
        title="Base intervals of [49, 66]",
        run=run_fig5,
        draw=draw_fig5,
        claims=(
            Claim("tut-fig5-a", "a query reads [49], [50,51], [52,55], [56,63], [64,65], [66]", intervals_as_drawn),
        ),
        scaled="nothing",
        seconds=1,
    ),
)
