"""Why this algorithm: the planner's choice, in a form one likes to read."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.display import Table, as_text
from slidewise.errors import InvalidInput
from slidewise.planner.choose import Choice, choose, situation_of
from slidewise.registry import algorithm
from slidewise.windows.definitions import WindowDefinition

_PLACES = {"columns": "over columns", "events": "event by event"}


@dataclass(frozen=True)
class Explanation:
    """What runs, what would run next best, and what decided; print it or show it in a notebook."""

    title: str
    #: by "columns" and "events"
    choices: dict[str, Choice]
    notes: tuple[str, ...]

    @property
    def table(self) -> Table:
        """The choices side by side."""
        entries = [algorithm(choice.algorithm) for choice in self.choices.values()]
        lines = {
            "algorithm": [e.name for e in entries],
            "decided by": [c.because for c in self.choices.values()],
            "runner-up": [c.runner_up for c in self.choices.values()],
            "combines per insert": [e.insert for e in entries],
            "per evict": [e.evict for e in entries],
            "per query": [e.query for e in entries],
            "partials held": [e.space for e in entries],
            "paper": [e.paper for e in entries],
        }
        places = [_PLACES[where] for where in self.choices]
        rows = [{"": name, **dict(zip(places, cells, strict=True))} for name, cells in lines.items()]
        return Table.of(self.title, rows)

    def __rich__(self) -> Any:
        from rich.console import Group

        return Group(self.table, *(f"  {note}" for note in self.notes))

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return self.table._repr_html_() + (f"<ul>{notes}</ul>" if notes else "")


def explain(
    aggregation: Aggregation | type[Aggregation] | Over,
    window: WindowDefinition | None = None,
    *,
    late: str = "error",
    windows: int = 1,
    integers: bool | None = None,
) -> Explanation:
    """Which algorithm computes an aggregation over a window, and why.

    >>> import slidewise as sw
    >>> why = sw.explain(sw.max(), sw.rows(1000))
    >>> why.choices["events"].algorithm, why.choices["columns"].algorithm
    ('daba_lite', 'sba')
    >>> sw.explain(sw.max(), sw.time("1h"), late="revise").choices["events"].algorithm
    'fiba'

    `late="revise"` asks for rows out of order, `windows=` for that many windows over one structure, `integers=True` says
    that the values are integers. Print the result, or leave it as the last line of a notebook's cell.
    """
    if isinstance(aggregation, Over):
        window, aggregation = aggregation.window, aggregation.aggregation
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation) or not isinstance(window, WindowDefinition):
        raise InvalidInput(
            f"explain takes an aggregation and a window, such as explain(max(), rows(1000)), got {aggregation!r} and {window!r}"
        )
    choices = {
        where: choose(aggregation, situation_of(window, where, late=late, windows=windows, integers=integers))  # type: ignore[arg-type]
        for where in _PLACES
    }
    return Explanation(f"{aggregation!r} over {window!r}", choices, tuple(_notes(aggregation, choices)))


def _notes(aggregation: Aggregation, choices: dict[str, Choice]) -> list[str]:
    notes = []
    entries = [algorithm(choice.algorithm) for choice in choices.values()]
    if not aggregation.size_preserving and any(e.prefers_size_preserving for e in entries):
        notes.append(
            f"{aggregation.name} is not size-preserving: its partials grow with the window, so the costs above count "
            "combines, not time"
        )
    if aggregation.invertible and not aggregation.exactly_invertible:
        notes.append(
            f"{aggregation.name} has an inverse, but floats do not come out exactly: subtract_on_evict would drift, and runs "
            "only when asked for by name"
        )
    if aggregation.exactly_invertible == "integers" and all(e.name != "subtract_on_evict" for e in entries):
        notes.append("with integers=True the planner would subtract, since integers come out exactly")
    return notes
