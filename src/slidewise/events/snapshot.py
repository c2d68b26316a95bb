"""The state of a window as plain values: the objects of its keys, one by one, by the names of their slots.

What the definition alone makes (the plan with its measures and frame) is not saved: objects refer to it
by name, and find it again in the new window. Partials go through the aggregation's dump and load, structures
through their own state. Only the classes listed here are ever made, and none of their methods is called.
"""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from slidewise.errors import StateError
from slidewise.events import partials, triggers
from slidewise.events.deadlines import Deadlines
from slidewise.events.engines import hopping, result_slots, retained, sliding, trailing
from slidewise.events.result import Result
from slidewise.events.row_reader import Row
from slidewise.events.soundness import require_sound
from slidewise.events.watermark import BEGIN, Mark
from slidewise.events.window_plan import WindowPlan
from slidewise.serialization import codec, envelope
from slidewise.templates.canonical_form import canonical_text, define_swag
from slidewise.templates.interpret import Swag
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import PunctuationWindow, canonical
from slidewise.windows.durations import CalendarDuration, Duration

if TYPE_CHECKING:
    from slidewise.events.window import Window

_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        Row, Deadlines, retained.Retained, hopping.Hopping, hopping.SlicedRows, sliding.Sliding, trailing.Trailing,
        trailing.LastRows, trailing.SincePunctuation, trailing.WithinDelta,
        triggers.EachRow, triggers.EveryCount, triggers.EveryDelta, triggers.EveryPunctuation,
        result_slots.BoundarySlots, result_slots.CountSlots, result_slots.HoppingSlots, result_slots.RowSlots,
        partials.RangeHolder, partials.RowHolder, partials.RunningHolder, partials.SliceHolder,
    )
}  # fmt: skip
#: a row's own offsets, where the bounds of frames are columns
_LENGTHS = {"Duration": (Duration, "nanoseconds"), "CalendarDuration": (CalendarDuration, "months")}
#: slots that hold one partial per measure
_PARTIALS = {"Row": "items", "RunningHolder": "totals", "SliceHolder": "open"}


def save(window: Window) -> bytes:
    """Save the state of a window as bytes. O(state)."""
    order = window._order
    payload = (
        {name: (clock.kind, clock.zone) for name, clock in _list_clocks(window._plan).items()},
        (tuple(order.mark), order.newest, order.dropped, order.entries, order.held, order.ahead),
        window._agenda,
        window._engines,
        window._last,
        (window._timed, window._flushed, *_list_owed(window)),
    )
    return envelope.seal("window", _describe(window), payload, Objects(window._plan).reduce)


def load(window: Window, data: bytes) -> None:
    """Take over a state, in a new window. O(state)."""
    payload = envelope.unseal(data, "window", _describe(window), Objects(window._plan).revive)
    order = window._order
    with codec.refuse_damage():  # of the right definition, and yet not what save() gave
        clocks, ordered, window._agenda, window._engines, window._last, flags = payload
        for name, clock in _list_clocks(window._plan).items():
            clock.kind, clock.zone = clocks[name]
        mark, order.newest, order.dropped, order.entries, order.held, *ahead = ordered
        order.ahead = ahead[0] if ahead else 0  # states of before it was counted have none
        order.mark = BEGIN if mark == BEGIN else Mark(*mark)
        window._timed, window._flushed, *owed = flags
        window._owed = [(due, Result(*parts)) for due, parts in owed]
        require_sound(window)


def _list_owed(window: Window) -> list[tuple[Any, tuple[Any, ...]]]:
    """List the results that were due beside one that failed; an error that was not raised yet is not kept."""
    return [
        (due, tuple(getattr(result, f.name) for f in fields(Result)))
        for due, result in window._owed
        if isinstance(result, Result)
    ]


def _describe(window: Window) -> dict[str, str]:
    """Describe what the state belongs to: not max_ahead, which only says what does not come to be state."""
    found = {"window": repr(canonical(window.window))}
    for part in (window.window, window.window.every):
        if isinstance(part, PunctuationWindow):
            found["predicate"] = found.get("predicate", "") + canonical_text(part.predicate)
    for m in window._plan.measures:
        of = define_swag(m.entry, m.aggregation, m.options, m.structure().fields)
        found |= {f"{part} of {m.name}" if m.name else part: text for part, text in of.items()}
    return found | {
        "partition_by": canonical_text(window._plan.reader.partition_by),
        "emit": window.emit,
        "max_delay": canonical_text(canonical(window._order.max_delay)),
        "late": window._order.late,
        "keep": canonical_text(canonical(window._order.keep)),
    }


def _list_slots(cls: type) -> tuple[str, ...]:
    return tuple(slot for c in reversed(cls.__mro__) for slot in c.__dict__.get("__slots__", ()))


def _list_clocks(plan: WindowPlan) -> dict[str, Clock]:
    """Return the clocks of a window, which learn from the first time that they read."""
    found = {"order": plan.clock, "size": plan.reader.size_clock, "slide": plan.reader.slide_clock}
    return {name: clock for name, clock in found.items() if clock is not None}


class Objects:
    """The objects of one window on their way to plain values, or back."""

    def __init__(self, plan: WindowPlan) -> None:
        self.measures = plan.measures
        self.anchors: dict[str, Any] = {
            "plan": plan,
            "definition": plan.definition,
            "reader": plan.reader,
            "frame": plan.frame,
            **{f"{name} clock": clock for name, clock in _list_clocks(plan).items()},
            **{f"measure {k}": measure for k, measure in enumerate(plan.measures)},
        }
        self.names = {id(anchor): name for name, anchor in self.anchors.items() if anchor is not None}
        #: objects met so far, by id and by number; a list of them keeps the ids their own
        self.numbers: dict[int, int] = {}
        self.met: list[Any] = []
        self.made: dict[int, Any] = {}
        #: classes whose slots are named in the state: each with its first object
        self.described: set[str] = set()
        self.blank = [measure.structure() for measure in plan.measures]

    # ---- to plain values
    def reduce(self, x: Any) -> Any:
        """Reduce an object to plain values: an anchor's name, the number of one met before, or number, class, slots."""
        if id(x) in self.names:
            return self.names[id(x)]
        if id(x) in self.numbers:
            return self.numbers[id(x)]
        number = self.numbers[id(x)] = len(self.met)
        self.met.append(x)
        if isinstance(x, Swag):
            return (number, "structure", (self._find_measure(x), x._times, x._save()))
        name = type(x).__name__
        if type(x) is _CLASSES.get(name):
            names = _list_slots(type(x))
            values = tuple(self._plain(name, slot, getattr(x, slot)) for slot in names)
            if name in self.described:
                return (number, name, values)
            self.described.add(name)
            return (number, name, values, names)
        if name in _LENGTHS and type(x) is _LENGTHS[name][0]:
            return (number, name, getattr(x, _LENGTHS[name][1]))
        raise codec.cannot_save(x)

    def _find_measure(self, swag: Swag) -> int:
        """Find the measure that makes such structures; equal ones are as good."""
        return next(
            k
            for k, blank in enumerate(self.blank)
            if (blank.entry, blank.aggregation, blank._options) == (swag.entry, swag.aggregation, swag._options)
        )

    def _plain(self, name: str, slot: str, value: Any) -> Any:
        if _PARTIALS.get(name) == slot:
            return self._convert_each(value, "dump")
        if (name, slot) == ("WithinDelta", "rows"):
            return [(number, self._convert_each(items, "dump")) for number, items in value]
        return value

    def _convert_each(self, items: list[Any], function: str) -> list[Any]:
        """Dump or load one item per measure; where a structure holds values, they stay as they are."""
        return [
            item if item is None or m.raw else getattr(m.aggregation, function)(item)
            for m, item in zip(self.measures, items, strict=True)
        ]

    # ---- and back
    def revive(self, plain: Any) -> Any:
        """Restore the object that reduce() turned into these values."""
        if isinstance(plain, str):
            return self.anchors[plain]
        if isinstance(plain, int):
            return self.made[plain]
        number, name, values, *names = plain
        if name == "structure":
            measure, times, state = values
            x: Any = self.measures[measure].structure()
            x._take_over(times, state)
        elif name in _LENGTHS:
            x = _LENGTHS[name][0](values)
        else:
            x = object.__new__(_CLASSES[name])
            if names and names[0] != _list_slots(type(x)):
                raise StateError(
                    f"this state was saved by another version of slidewise, whose {name} has other fields. "
                    "Load it with the version that saved it"
                )
            for slot, value in zip(_list_slots(type(x)), values, strict=True):
                setattr(x, slot, self._live(name, slot, value))
        self.made[number] = x
        return x

    def _live(self, name: str, slot: str, value: Any) -> Any:
        if _PARTIALS.get(name) == slot:
            return self._convert_each(value, "load")
        if (name, slot) == ("WithinDelta", "rows"):
            return deque((number, self._convert_each(items, "load")) for number, items in value)
        return value
