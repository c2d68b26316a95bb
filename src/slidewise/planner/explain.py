"""Why this algorithm: the planner's choice, in a form one likes to read."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.display import Table, wrap_text
from slidewise.errors import InvalidInput
from slidewise.planner.choose import Choice, choose, situation_of
from slidewise.planner.sharing import base_of, may_join, read_off
from slidewise.registry import algorithm
from slidewise.windows.definitions import WindowDefinition, window_of

_PLACES = {"columns": "over columns", "events": "event by event"}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What runs, what would run next best, and what decided; look at it in a console or a notebook."""

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

    def __rich__(self) -> Any:  # what a console of rich shows, where that is installed
        from rich.console import Group

        return Group(self.table, *(f"  {note}" for note in self.notes))

    def __repr__(self) -> str:  # what a console shows
        return "\n".join([repr(self.table), *(wrap_text(note, "  ") for note in self.notes)])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return self.table._repr_html_() + (f"<ul>{notes}</ul>" if notes else "")


def explain_choice(
    aggregation: Any, window: WindowDefinition | int | None, late: str, windows: int, integers: bool | None
) -> Explanation:
    """Explain the choice for one aggregation over one window, event by event and over columns."""
    if isinstance(aggregation, Over):
        window, aggregation = aggregation.window, aggregation.aggregation
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation) or window is None:
        raise InvalidInput(
            "explain takes an aggregation and a window, such as explain(max(), rows(1000)), "
            f"got {aggregation!r} and {window!r}"
        )
    window = window_of(window, "explain")
    if late not in ("error", "drop", "revise"):
        raise InvalidInput(f'explain: late is "error", "drop" or "revise", got {late!r}')
    if not isinstance(windows, int) or windows < 1:
        raise InvalidInput(f"explain: windows is how many share one structure, an integer from 1 on, got {windows!r}")
    choices = {
        where: choose(aggregation, situation_of(window, where, late=late, windows=windows, integers=integers))  # type: ignore[arg-type]
        for where in _PLACES
    }
    return Explanation(f"{aggregation!r} over {window!r}", choices, tuple(_notes(aggregation, choices)))


def explain_call(columns: dict[str, Any], integers: bool | None) -> Table:
    """Explain the columns of a call, line by line, with what they share."""
    wrong = [name for name, over in columns.items() if not isinstance(over, Over)]
    if wrong or not columns:
        raise InvalidInput(
            'explain takes the columns of a call as a dict of expressions, {"peak": max("x").over(rows(9))}, '
            f"got {columns!r}"
        )
    lines = []
    for name, over in columns.items():
        base = base_of(over, columns.values())
        computed = over if base is None else base
        choice = choose(computed.aggregation, situation_of(over.window, "columns", integers=integers))
        decided = choice.because if over.algorithm == "auto" else "asked for by name"
        by = choice.algorithm if over.algorithm == "auto" else over.algorithm
        if read_off(over):
            by, decided = "none", "the bounds of the frame tell it"
        shares = describe_sharing(name, over, columns)
        lines.append({"column": name, "computes": repr(over), "algorithm": by, "decided by": decided, "shares": shares})
    note = "all columns share the order of the rows; those of one column of data its codes and its null mask"
    together = Counter((o.aggregation.columns, o.aggregation.where, o.window) for o in columns.values() if may_join(o))
    if any(number > 1 for number in together.values()):
        note += "; and of many rows, those that also share frames one pass"
    return Table.of("with_columns", lines, note)


def describe_sharing(name: str, over: Over, columns: dict[str, Over]) -> str:
    """Say what a column shares with others of the call."""
    base = base_of(over, columns.values())
    others = {other: o for other, o in columns.items() if other != name}
    bases = {other: base_of(o, columns.values()) for other, o in others.items()}
    parts = []
    frames = [other for other, o in others.items() if o.window == over.window]
    if frames:
        parts.append(f"frames with {', '.join(frames)}")
    if base is not None:
        given = [other for other, o in others.items() if o == base]
        along = [other for other in others if bases[other] == base]
        more = f", which {given[0]} is" if given else f", as {', '.join(along)}" if along else ""
        parts.append(f"follows from {base.aggregation!r}{more}")
    elif not read_off(over):
        users = [other for other, o in others.items() if over in (o, bases[other])]
        if users:
            parts.append(f"its result with {', '.join(users)}")
    return "; ".join(parts) or "-"


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
            f"{aggregation.name} has an inverse, but floats do not come out exactly: subtract_on_evict would drift, "
            "and runs only when asked for by name"
        )
    if aggregation.exactly_invertible == "integers" and all(e.name != "subtract_on_evict" for e in entries):
        notes.append("with integers=True the planner would subtract, since integers come out exactly")
    return notes
