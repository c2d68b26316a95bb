"""View: how one algorithm's state becomes a picture, and what its cases are called."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from slidewise.templates.interpret import Swag
from slidewise.tracing.notation import Show, write_value
from slidewise.tracing.picture import Cell, Picture, Pointer, Region, Row, Strip


@dataclass(frozen=True)
class Look:
    """What a view needs beside the structure: how partials are written, and the values in the window."""

    show: Show
    #: by their numbers in the order of insertion, the oldest first
    window: dict[int, Any]

    def partial(self, key: Hashable, value: Any, tone: str = "plain") -> Cell:
        """Make the cell of a partial."""
        return Cell(key, value, self.show(value), tone if value is not None else "empty")

    def value(self, key: Hashable, value: Any, tone: str = "plain") -> Cell:
        """Make the cell of a value, a count or a position."""
        return Cell(key, value, write_value(value), tone)


Describe = Callable[[Swag, Look], Picture]


def no_case(operation: str, before: Picture, after: Picture) -> Iterable[str]:
    """Name no case: every operation does the same."""
    return ()


@dataclass(frozen=True)
class View:
    """A description of the state, and the names of what an operation did to it."""

    describe: Describe
    #: by the operation's name and the pictures before and after it
    name_cases: Callable[[str, Picture, Picture], Iterable[str]] = no_case


def point(positions: dict[str, int], front: int) -> tuple[Pointer, ...]:
    """Make pointers into a strip whose first column is position `front`."""
    return tuple(Pointer(name, position - front) for name, position in positions.items())


def cut_regions(front: int, *cuts: tuple[str, str, int]) -> tuple[Region, ...]:
    """Make neighbouring regions of their names, tones and ends; those that are empty are left out."""
    regions = []
    start = front
    for name, tone, stop in cuts:
        if start < stop:
            regions.append(Region(name, start - front, stop - front, tone))
        start = max(start, stop)
    return tuple(regions)


def tone_at(regions: Iterable[Region], column: int) -> str:
    """Find the tone of a column."""
    return next((r.tone for r in regions if r.start <= column < r.stop), "plain")


def draw_window(look: Look, beside: tuple[Row, ...] = ()) -> Strip:
    """Draw the values in the window."""
    cells = tuple(look.value(("window", number), value, "value") for number, value in look.window.items())
    return Strip((Row("", cells),), beside=beside, title="window")
