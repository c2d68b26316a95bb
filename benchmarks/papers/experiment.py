"""Experiment: what an experiment of a paper is made of: cells, results, claims and verdicts.

A module of experiments has `EXPERIMENTS`, a tuple, and is named in `collection.MODULES`. One experiment, whole:

>>> def run(scale):
...     for n in scale.pick(tiny=(2, 4), quick=(2, 8), full=(2, 4, 8)):
...         yield Cell("linear", n, float(n), "calls")
...         yield Cell("constant", n, 1.0, "calls")
>>> def constant_is_flat(results):
...     low, high = min(results.values("constant")), max(results.values("constant"))
...     return judge(high <= 1.1 * low, f"{low:g} to {high:g} calls", why="it looks at more than one row")
>>> example = Experiment(
...     id="example", paper="DABA", title="Calls by window size", run=run, draw=lambda results: None,
...     claims=(Claim("example-a", "the second is flat", constant_is_flat),), scaled="nothing",
... )
>>> results = Results(example.run(Scale("tiny")))
>>> example.claims[0].verdict(results)
Verdict(outcome='agrees', ours='1 to 1 calls', why='')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")
X = float | int | str
Value = float | int | str

#: the papers, by the short names of the report
PAPERS = {
    "DABA": "In-Order Sliding-Window Aggregation in Worst-Case Constant Time",
    "RA": "General Incremental Sliding-Window Aggregation",
    "HOL": "Incremental Computation of Common Windowed Holistic Aggregates",
    "TUT": "Sliding-Window Aggregation Algorithms (tutorial)",
    "PBA": "Efficient Incremental Computation of Aggregations over Sliding Windows",
}


class NotRun(Exception):
    """Raised by `run` where an experiment cannot be run here; the message is the reason that the report gives."""


class NoFigure(LookupError):
    """A claim asks for a figure that was not measured: its verdict is then "not run"."""


@dataclass(frozen=True)
class Scale:
    """How much is measured: tiny (the tests), quick (4 minutes in all) or full (20 minutes).

    >>> Scale("quick").pick(tiny=100, quick=10_000, full=1_000_000)
    10000
    >>> Scale("quick").thin([1, 2, 4, 8, 16, 32])
    [1, 4, 16, 32]
    """

    name: Literal["tiny", "quick", "full"]

    def pick(self, *, tiny: T, quick: T, full: T) -> T:
        """Choose the value of this scale."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.name]

    def thin(self, xs: Iterable[T]) -> list[T]:
        """All of the x at full scale; below it every second one, and always the last."""
        xs = list(xs)
        return xs if self.name == "full" else xs[:-1:2] + xs[-1:]

    @property
    def repeats(self) -> int:
        """How often a cell is measured."""
        return self.pick(tiny=1, quick=1, full=3)

    @property
    def is_full(self) -> bool:
        """Whether this is the run that the report is meant for."""
        return self.name == "full"


@dataclass(frozen=True)
class Cell:
    """One number of an experiment: the value of a series at an x, in a panel of the picture.

    `repeat=0` is the figure (the shortest of the runs, say), and what pictures and claims read; 1, 2, ... are the
    single runs behind it, kept for the record. A value may be a word, where a table has words.
    """

    series: str
    x: X
    value: Value
    unit: str
    panel: str = ""
    repeat: int = 0

    def __post_init__(self) -> None:
        for name in ("x", "value"):  # NumPy's numbers become Python's, which JSON knows
            held = getattr(self, name)
            if hasattr(held, "item"):
                object.__setattr__(self, name, held.item())


class Results:
    """The cells of one experiment, to be asked by panel, series and x.

    >>> figures = (("daba", 1, 30.0), ("daba", 4, 20.0), ("fiba", 1, 90.0))
    >>> results = Results(Cell(series, x, value, "ns", "sum") for series, x, value in figures)
    >>> results.value("daba", 4, "sum")
    20.0
    >>> results.series("sum"), results.xs("daba", "sum"), results.values("daba", "sum")
    (['daba', 'fiba'], [1, 4], [30.0, 20.0])
    """

    def __init__(self, cells: Iterable[Cell], beside: Iterable[Cell] = ()) -> None:
        self.cells = list(cells)
        #: figures of others, from --beside: pictures show them, claims do not read them
        self.beside = list(beside)
        self._figures = {(c.panel, c.series, c.x): c for c in self.cells if c.repeat == 0}

    def __len__(self) -> int:
        return len(self._figures)

    def panels(self) -> list[str]:
        """The panels, in the order in which they were measured."""
        return _unique(panel for panel, _, _ in self._figures)

    def series(self, panel: str | None = None) -> list[str]:
        """The series (of a panel), in the order in which they were measured."""
        return _unique(s for p, s, _ in self._figures if panel in (None, p))

    def xs(self, series: str | None = None, panel: str | None = None) -> list[Any]:
        """The x (of a series, of a panel), in the order in which they were measured."""
        return _unique(x for p, s, x in self._figures if series in (None, s) and panel in (None, p))

    def has(self, series: str, x: X, panel: str = "") -> bool:
        """Whether there is a figure."""
        return (panel, series, x) in self._figures

    def word(self, series: str, x: X, panel: str = "") -> Value:
        """The figure or word of a cell; raises NoFigure where there is none."""
        try:
            return self._figures[panel, series, x].value
        except KeyError:
            where = f" of panel {panel}" if panel else ""
            raise NoFigure(f"no figure of {series} at {x}{where}") from None

    def value(self, series: str, x: X, panel: str = "") -> float:
        """The figure of a cell, as a number; raises NoFigure where there is none."""
        return float(self.word(series, x, panel))

    def values(self, series: str, panel: str = "", xs: Sequence[X] | None = None) -> list[float]:
        """The figures of a series, at all of its x or at these."""
        return [self.value(series, x, panel) for x in (self.xs(series, panel) if xs is None else xs)]

    def unit(self, panel: str | None = None) -> str:
        """The unit (of a panel's figures)."""
        return next((c.unit for c in self.cells if panel in (None, c.panel)), "")


def _unique(values: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(values))


Outcome = Literal["agrees", "differs", "not run"]


@dataclass(frozen=True)
class Verdict:
    """What came of a claim: the outcome, our figures in words, and why they differ (or were not run)."""

    outcome: Outcome
    ours: str
    why: str = ""


def judge(holds: bool, ours: str, why: str = "") -> Verdict:
    """The verdict of a predicate. `why`, the cause, is shown where it does not hold.

    >>> judge(3 > 2, "3"), judge(1 > 2, "1", why="too small")
    (Verdict(outcome='agrees', ours='3', why=''), Verdict(outcome='differs', ours='1', why='too small'))
    """
    return Verdict("agrees", ours) if holds else Verdict("differs", ours, why)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the predicate that tests it on the results.

    `id` is the experiment's with a letter ("daba-fig9-b"); `paper` says what the paper found, with its numbers;
    `check` gives the verdict, by `judge`. A check asks `results` for the x that were measured, so that it works at
    every scale; where it asks for one that was not, the verdict is "not run". Of a claim that one machine cannot test,
    `not_run` is the reason, and `check` is left out.
    """

    id: str
    paper: str
    check: Callable[[Results], Verdict] | None = None
    not_run: str = ""

    def verdict(self, results: Results) -> Verdict:
        """Judge the results."""
        if self.check is None:
            return Verdict("not run", "", self.not_run)
        try:
            return self.check(results)
        except NoFigure as missing:
            return Verdict("not run", "", str(missing))


@dataclass(frozen=True)
class Table:
    """What `draw` gives where the paper has a table: a heading and rows of words."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper: how it is run, drawn, and judged.

    `run(scale)` yields cells as they are measured (each one moves the progress line); it may raise `NotRun(reason)`.
    `draw(results)` gives a matplotlib figure (see `pictures`), a `Table`, or a sequence of both; colours of text and
    axes are set by the caller, for light and dark. `scaled` is one line on what was scaled down, and why.
    `remarks(results)` gives lines with figures that have no verdict. `seconds` is about what a full run takes on two
    idle cores, kernels compiled: the progress line's first guess of the time left.
    """

    id: str
    paper: str
    title: str
    run: Callable[[Scale], Iterator[Cell]]
    draw: Callable[[Results], Any]
    claims: Sequence[Claim]
    scaled: str
    remarks: Callable[[Results], Iterable[str]] = field(default=lambda results: ())
    seconds: float = 30.0


def number(value: float) -> str:
    """Write a number for people: three significant digits, thousands with commas.

    >>> [number(v) for v in (0.01234, 1.5, 74.0, 1234.5, 524289, math.inf)]
    ['0.0123', '1.5', '74', '1,234', '524,289', 'never']
    """
    if math.isinf(value):
        return "never"
    if math.isnan(value):
        return "none"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def spread(values: Iterable[float]) -> float:
    """The largest over the smallest: 1 is flat."""
    values = list(values)
    return max(values) / min(values) if min(values) > 0 else math.inf
