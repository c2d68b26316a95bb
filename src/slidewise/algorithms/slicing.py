"""Slicing policies: where a stream is cut so that overlapping windows share partials.

A window of range r and slide s starts at every multiple of s and has r values. Values are combined into
slices on arrival, and a window is the product of its slices. The policies differ in where they cut:

- Panes (Li et al.): slices of gcd(r, s) values, all of one size;
- Pairs (Krishnamurthy et al.): two per slide, r mod s values and the rest: at every start and end of a window;
- Cutty (Carbone et al.): one per slide, at the starts of windows only. Where a window ends within a slice, the
  slice is open and holds just the values up to there. It keeps the fewest partials, and slidewise uses it
  everywhere; the other two are here for comparison.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from slidewise.aggregations.base import Aggregation
from slidewise.display import Table
from slidewise.errors import InvalidInput
from slidewise.templates.interpret import optional_names


class SlicedRun(NamedTuple):
    """The results of all full windows, and what they cost."""

    results: list[Any]
    #: the most partials held at a time
    partials: int
    #: calls of combine
    combines: int


@dataclass(frozen=True)
class Slicing:
    """One policy for windows of one range and slide.

    >>> Slicing("pairs", 10, 4).edges(12)
    [0, 2, 4, 6, 8, 10, 12]
    >>> Slicing("cutty", 10, 4).edges(12)
    [0, 4, 8, 12]
    """

    policy: str
    range: int
    slide: int

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidInput(f"there is no slicing policy {self.policy!r}. There are: {', '.join(POLICIES)}")
        if not 1 <= self.slide <= self.range:
            raise InvalidInput(
                "slicing is for windows that overlap or touch, 1 <= slide <= range; "
                f"got range {self.range} and slide {self.slide}"
            )

    @property
    def cuts(self) -> tuple[int, ...]:
        """The first values of slices, within each slide."""
        return POLICIES[self.policy](self.range, self.slide)

    def edges(self, length: int) -> list[int]:
        """Where the first `length` values are cut, both ends included."""
        starts = (slide + cut for slide in range(0, length, self.slide) for cut in self.cuts)
        return [*(edge for edge in starts if edge < length), length]

    @property
    def partials(self) -> int:
        """How many slices a window has, an open one included."""
        whole, rest = divmod(self.range, self.slide)
        return whole * len(self.cuts) + sum(cut < rest for cut in self.cuts)

    @property
    def combines(self) -> int:
        """Calls of combine per slide: values into slices, and the slices of a window into its result."""
        return self.slide - len(self.cuts) + self.partials - 1

    def run(self, values: Iterable[Any], aggregation: Aggregation) -> SlicedRun:
        """Aggregate every full window, folding its slices anew: the costs of slicing alone.

        >>> import slidewise as sw
        >>> Slicing("cutty", 3, 2).run([5, 1, 4, 2, 3, 9, 7], sw.max())
        SlicedRun(results=[5, 4, 9], partials=2, combines=6)
        """
        names = optional_names(aggregation)
        lift, combine, lower = names["lift"], names["combine"], names["lower"]
        cuts = frozenset(self.cuts)
        combines = most = start = 0
        slices: deque[tuple[int, Any]] = deque()  # (the place of the first value, the partial)
        results = []
        for place, value in enumerate(values):
            partial = lift(value)
            if place % self.slide in cuts:
                slices.append((place, partial))
                most = max(most, len(slices))
            else:
                first, older = slices.pop()
                slices.append((first, combine(older, partial)))
                combines += 1
            if place + 1 == start + self.range:
                total = slices[0][1]
                for _, newer in list(slices)[1:]:
                    total = combine(total, newer)
                    combines += 1
                results.append(lower(total))
                start += self.slide
                while slices and slices[0][0] < start:
                    slices.popleft()
        return SlicedRun(results, most, combines)


def _panes(range_: int, slide: int) -> tuple[int, ...]:
    return tuple(range(0, slide, math.gcd(range_, slide)))


def _pairs(range_: int, slide: int) -> tuple[int, ...]:
    return (0, range_ % slide) if range_ % slide else (0,)


def _cutty(range_: int, slide: int) -> tuple[int, ...]:
    return (0,)


#: Where each policy cuts a slide.
POLICIES: dict[str, Callable[[int, int], tuple[int, ...]]] = {
    "panes": _panes,
    "pairs": _pairs,
    "cutty": _cutty,
}


def compare_slicing(range: int, slide: int) -> Table:
    """Compare the three policies side by side, for windows of one range and slide.

    >>> for row in compare_slicing(100, 30):
    ...     print(row["policy"], row["partials per window"], row["combines per slide"])
    panes 10 36
    pairs 7 34
    cutty 4 32
    """
    rows = []
    for policy in POLICIES:
        slicing = Slicing(policy, range, slide)
        rows.append(
            {
                "policy": policy,
                "slices per slide": len(slicing.cuts),
                "partials per window": slicing.partials,
                "combines per slide": slicing.combines,
            }
        )
    note = "Combines are those of folding each window's slices; a merging algorithm makes them constant."
    return Table.of(f"Slices of windows with range {range} and slide {slide}", rows, note)
