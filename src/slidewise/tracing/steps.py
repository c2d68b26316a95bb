"""Trace: the steps of a structure, to look at, to save, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from slidewise.errors import InvalidInput
from slidewise.tracing.notation import Show, write_value
from slidewise.tracing.operations import Operation
from slidewise.tracing.picture import Picture
from slidewise.tracing.recorder import Call


@dataclass(frozen=True, repr=False)
class Step:
    """One operation: what it was, what it did, and what the structure holds after it.

    >>> import slidewise as sw
    >>> last = sw.trace("two_stacks", sw.max(), "insert 4 5, evict, query")[-1]
    >>> last.result, last.window, last.cost
    (5, (5,), '0 combines')
    """

    #: from 1
    number: int
    operation: Operation
    #: what the papers call it: "flip", "shrink", ...
    cases: tuple[str, ...]
    #: the values in the window, the oldest first
    window: tuple[Any, ...]
    #: the calls of combine and inverse, in their order
    calls: tuple[Call, ...]
    #: of a query
    result: Any
    picture: Picture
    _show: Show
    #: of a structure that keeps values and no partials, there are no calls to tell of
    _combines: bool = True

    @property
    def pointers(self) -> dict[str, int]:
        """Where the structure's pointers are, as positions in the stream."""
        return self.picture.pointers

    @property
    def combines(self) -> int:
        """How often combine was called."""
        return sum(call.function == "combine" for call in self.calls)

    @property
    def inverses(self) -> int:
        """How often inverse was called."""
        return len(self.calls) - self.combines

    # ---- in words
    @property
    def outcome(self) -> str:
        """The result of a query as text, and nothing for other operations."""
        if not self.operation.asks:
            return ""
        return f"= {None if self.result is None else write_value(self.result, 40)}"

    @property
    def cost(self) -> str:
        """How many calls it took, as text."""
        if not self._combines:
            return ""
        counted = [(self.combines, "combine")] + [(self.inverses, "inverse")] * bool(self.inverses)
        return ", ".join(f"{n} {name}{'s' * (n != 1)}" for n, name in counted)

    def describe_calls(self, most: int) -> list[str]:
        """Write the first calls, as 4×1 ⊗ 4×2 = 4×3."""
        signs = {"combine": "⊗", "inverse": "⊘"}
        show = self._show
        said = [
            f"{show(c.older)} {signs[c.function]} {show(c.newer)} = {show(c.result)}"
            + " (second thread)" * c.aside for c in self.calls[:most]
        ]  # fmt: skip
        return [*said, f"and {len(self.calls) - most} more"] if len(self.calls) > most else said

    def __repr__(self) -> str:
        return f"<step {self.number}: {self.operation}>"


@dataclass(frozen=True, repr=False)
class Trace:
    """The steps of a structure; look at it in a console or a notebook, save it as SVG, or go through its steps.

    >>> import slidewise as sw
    >>> steps = sw.trace("two_stacks", sw.max(), "insert 4 5, evict, query")
    >>> len(steps), steps.combines, [step.window for step in steps]
    (4, 2, [(4,), (4, 5), (5,), (5,)])
    """

    title: str
    steps: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, which: int) -> Step: ...

    @overload
    def __getitem__(self, which: slice) -> Trace: ...

    def __getitem__(self, which: int | slice) -> Step | Trace:
        """Find a step; a slice is a trace of some steps, to draw no more than those."""
        return Trace(self.title, self.steps[which]) if isinstance(which, slice) else self.steps[which]

    @property
    def combines(self) -> int:
        """How often combine was called in all."""
        return sum(step.combines for step in self.steps)

    def svg(self) -> str:
        """Draw all steps as an SVG image that needs nothing else, and is readable on light and on dark pages."""
        from slidewise.tracing.draw_svg import draw_svg

        return draw_svg(self)

    def save(self, path: str | Path) -> None:
        """Write the SVG image to a file."""
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise InvalidInput(f"a trace is saved as SVG, to a file such as trace.svg; got {str(path)!r}")
        path.write_text(self.svg(), encoding="utf-8")

    def __repr__(self) -> str:  # what a console shows
        from slidewise.tracing.draw_text import draw_text

        return draw_text(self).to_text()

    def __rich__(self) -> Any:  # what a console of rich shows, where that is installed
        from slidewise.tracing.draw_text import draw_text

        return draw_text(self).to_rich()

    def _repr_html_(self) -> str:
        return f'<div style="overflow: auto; max-height: 44em">{self.svg()}</div>'
