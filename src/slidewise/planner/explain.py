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
from slidewise.planner.choose import Choice, choose, require_frames, situation_of
from slidewise.planner.sharing import Structure, base_of, may_join, plan_structures, read_off
from slidewise.registry import algorithm, require_legal
from slidewise.windows.definitions import WindowDefinition, canonical, window_of

_PLACES = {"columns": "over columns", "events": "event by event"}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What runs, what would run next best, and what decided; look at it in a console or a notebook.

    >>> import slidewise as sw
    >>> why = sw.explain(sw.max(), sw.rows(1000))
    >>> why.choices["events"].algorithm, why.choices["events"].runner_up
    ('daba_lite', 'two_stacks_lite')
    """

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
    aggregation: Any,
    window: WindowDefinition | int | None,
    late: str,
    windows: int,
    integers: bool | None,
    algorithm: str = "auto",
) -> Explanation:
    """Explain the choice for one aggregation over one window, event by event and over columns."""
    named = algorithm
    if isinstance(aggregation, Over):
        window, aggregation, given = aggregation.window, aggregation.aggregation, aggregation.algorithm
        named = given if named == "auto" else named
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation) or window is None:
        raise InvalidInput(
            "explain takes an aggregation and a window, such as explain(max(), rows(1000)), "
            f"got {aggregation!r} and {window!r}"
        )
    window = window_of(window, "explain")
    if late not in ("error", "drop", "mark", "revise"):
        raise InvalidInput(f'explain: late is "error", "drop", "mark" or "revise", got {late!r}')
    if not isinstance(windows, int) or windows < 1:
        raise InvalidInput(f"explain: windows is how many share one structure, an integer from 1 on, got {windows!r}")
    choices = {
        where: choose(aggregation, situation_of(window, where, late=late, windows=windows, integers=integers))  # type: ignore[arg-type]
        for where in _PLACES
    }
    if named != "auto":  # which is for columns alone
        choices = {"columns": _choose(Over(aggregation, window, named), integers)}
    notes = _notes(aggregation, choices)
    events = choices["events"].algorithm if "events" in choices and windows == 1 else None
    if events is not None and _compiles_events(aggregation, window, late, events):
        notes.append(_COMPILED)
    if windows > 1 and named == "auto":
        notes.append(_note_on_sharing(window, late, windows, choices["events"]))
    return Explanation(f"{aggregation!r} over {window!r}", choices, tuple(notes))


def explain_columns(columns: dict[str, Any], integers: bool | None) -> Table:
    """Explain columns line by line: over columns, and event by event, with what a `Window` of them holds."""
    table = explain_call(columns, integers)
    if any(over.window.is_explicit for over in columns.values()):
        return table
    held: dict[str, tuple[str, str]] = {}
    structures, counted = plan_structures(columns)
    for structure in structures:
        if not algorithm(structure.algorithm).row_by_row:
            refused = ("-", f"a Window refuses {structure.algorithm}, which is made for whole columns")
            held |= dict.fromkeys(structure.partials.readers, refused)
            continue
        for name in structure.partials.readers:
            others = [other for other in structure.partials.readers if other != name]
            held[name] = (
                structure.algorithm,
                describe_held(structure) + (", with " + ", ".join(others)) * bool(others),
            )
    held |= dict.fromkeys(counted, ("none", "nothing: the window knows how many rows it holds"))
    lines = [line | dict(zip(("event by event", "holds"), held[line["column"]], strict=True)) for line in table]
    note = f"{table.note}; {_note_on_events(columns, structures)}"
    return Table.of("with_columns, or Window event by event", lines, note)


def _note_on_events(columns: dict[str, Any], structures: list[Structure]) -> str:
    """Say whether rows of a `Window` of these columns come to go to compiled code, and if not, why."""
    if len({(canonical(over.window), over.algorithm) for over in columns.values()}) > 1:
        return "event by event, rows of several windows are interpreted"
    for structure in structures:
        of, readers = structure.partials.aggregation, structure.partials.readers
        if not _compiles_events(of, structure.windows[0], "error", structure.algorithm):
            return f"event by event, rows are interpreted: there is no compiled code for {of!r} over this window"
        if any(columns[name].aggregation != of for name in readers):
            return f"event by event, rows are interpreted: {', '.join(readers)} are read from the same partials"
    return "event by event, rows of numbers go to compiled code after some thousand"


def describe_held(structure: Structure) -> str:
    """Say how many partials of an aggregation a structure holds for each key."""
    window, of = structure.windows[0], f"{structure.partials.aggregation!r}"
    if structure.rows is not None:
        return f"{structure.rows} partials of {of}"
    if structure.shared:
        return f"a partial of {of} per row of the longest window"
    if window.sliced:
        return f"a partial of {of} per slice"
    return f"a partial of {of} per row" if window.holds_rows or window.size_kind == "delta" else f"one partial of {of}"


def explain_call(columns: dict[str, Any], integers: bool | None, what: str = "with_columns", more: str = "") -> Table:
    """Explain the columns of a call, line by line, with what they share; `more` is added to the note."""
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
        choice = _choose(computed, integers)
        by, decided = choice.algorithm, choice.because
        if read_off(over):
            by, decided = "none", "the bounds of the frame tell it"
        shares = describe_sharing(name, over, columns)
        lines.append({"column": name, "computes": repr(over), "algorithm": by, "decided by": decided, "shares": shares})
    note = "all columns share the order of the rows; those of one column of data its codes and its null mask"
    together = Counter((o.aggregation.columns, o.aggregation.where, o.window) for o in columns.values() if may_join(o))
    if any(number > 1 for number in together.values()):
        note += "; and of many rows, those that also share frames one pass"
    return Table.of(what, lines, "; ".join(filter(None, (note, more))))


def _choose(over: Over, integers: bool | None) -> Choice:
    """Choose as with_columns and aggregate do: what is asked for by name runs, or is refused."""
    situation = situation_of(over.window, "columns", integers=integers)
    choice = choose(over.aggregation, situation)
    if over.algorithm == "auto":
        return choice
    entry = algorithm(over.algorithm)
    require_legal(entry, over.aggregation)
    require_frames(entry, situation.monotone)
    return Choice(entry.name, choice.algorithm, "asked for by name")


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


#: of windows for which there is compiled code event by event
_COMPILED = (
    "event by event, rows of numbers go to compiled code after some thousand, with keys and several aggregations, "
    "too: the results are the same"
)


def _compiles_events(aggregation: Aggregation, window: WindowDefinition, late: str, events: str) -> bool:
    """Tell whether rows of such a window come to go to compiled code."""
    reach = window.reach
    if window.every is not None or late == "revise" or not algorithm(events).compiles_events(aggregation):
        return False
    by_time = reach is not None and reach.unit == "range" and reach.fixed and not reach.from_first_row
    return window.trailing_rows is not None or (by_time and not reach.end and not reach.open_end)  # type: ignore[union-attr]


def _note_on_sharing(window: WindowDefinition, late: str, windows: int, events: Choice) -> str:
    columns = "over columns each window is computed by itself"
    if window.common_end is not None and late != "revise" and algorithm(events.algorithm).suffixes:
        return f"event by event, a Window of {windows} such windows holds one structure for all of them; {columns}"
    return f"event by event, each of {windows} such windows holds its own partials; {columns}"


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
