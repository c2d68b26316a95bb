"""The state of a window as plain values: the objects of its keys, one by one, by the names of their slots.

What the definition alone makes (the plan with its measures, frame and grid) is not saved: objects refer to it
by name, and find it again in the new window. Partials go through the aggregation's dump and load, structures
through their own state. Only the classes listed here are ever made, and none of their methods is called.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from slidewise.state import codec, definition
from slidewise.templates.interpret import Swag
from slidewise.windows import holders, kept, sliced, slides, sliding, slots, trailing
from slidewise.windows.clock import Clock
from slidewise.windows.durations import CalendarDuration, Duration
from slidewise.windows.plan import Plan
from slidewise.windows.result import Result
from slidewise.windows.rows import Row
from slidewise.windows.watermark import Mark

#: objects with a state of their own
_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        Row, kept.Kept, sliced.Hopping, sliced.SlicedRows, sliding.Sliding, trailing.Trailing,
        trailing.LastRows, trailing.SincePunctuation, trailing.WithinDelta,
        slides.EachRow, slides.EveryCount, slides.EveryDelta, slides.EveryPunctuation,
        slots.BoundarySlots, slots.CountSlots, slots.HoppingSlots, slots.RowSlots,
        holders.RangeHolder, holders.RowHolder, holders.RunningHolder, holders.SliceHolder,
    )
}  # fmt: skip
#: objects that are nothing but their fields
_VALUES: dict[str, tuple[type, tuple[str, ...]]] = {
    "Mark": (Mark, Mark._fields),
    "Result": (Result, tuple(Result.__dataclass_fields__)),
    "Duration": (Duration, ("nanoseconds",)),
    "CalendarDuration": (CalendarDuration, ("months",)),
}
#: slots that hold one partial per measure
_PARTIALS = {"Row": "items", "RunningHolder": "totals", "SliceHolder": "open"}


class Objects:
    """The objects of one window on their way to plain values, or back."""

    def __init__(self, plan: Plan) -> None:
        self.measures = plan.measures
        self.anchors: dict[str, Any] = {
            "plan": plan,
            "definition": plan.definition,
            "reader": plan.reader,
            "frame": plan.frame,
            "grid": plan.grid,
            **{f"{name} clock": clock for name, clock in clocks(plan).items()},
            **{f"measure {k}": measure for k, measure in enumerate(plan.measures)},
        }
        self.names = {id(anchor): name for name, anchor in self.anchors.items() if anchor is not None}
        #: objects met so far, by id and by number; a list of them keeps the ids their own
        self.numbers: dict[int, int] = {}
        self.met: list[Any] = []
        self.made: dict[int, Any] = {}
        self.blank = [measure.structure() for measure in plan.measures]

    # ---- to plain values
    def reduce(self, x: Any) -> Any:
        """An object as plain values: a name, the number of one met before, or (number, class, slots)."""
        if id(x) in self.names:
            return self.names[id(x)]
        if id(x) in self.numbers:
            return self.numbers[id(x)]
        number = self.numbers[id(x)] = len(self.met)
        self.met.append(x)
        if isinstance(x, Swag):
            return (number, "structure", (self._measure_of(x), x._times, x._save()))
        name = type(x).__name__
        if type(x) is _CLASSES.get(name):
            return (
                number,
                name,
                tuple(self._plain(name, slot, getattr(x, slot)) for slot in _slots(type(x))),
            )
        if name in _VALUES and type(x) is _VALUES[name][0]:
            return (number, name, tuple(getattr(x, field) for field in _VALUES[name][1]))
        raise codec.cannot_save(x)

    def _measure_of(self, swag: Swag) -> int:
        """The measure that makes such structures; equal ones are as good."""
        return next(
            k
            for k, blank in enumerate(self.blank)
            if (blank.entry, blank.aggregation, blank._options)
            == (swag.entry, swag.aggregation, swag._options)
        )

    def _plain(self, name: str, slot: str, value: Any) -> Any:
        if _PARTIALS.get(name) == slot:
            return self._each(value, "dump")
        if (name, slot) == ("WithinDelta", "rows"):
            return [(number, self._each(items, "dump")) for number, items in value]
        return value

    def _each(self, items: list[Any], function: str) -> list[Any]:
        """dump or load for one item per measure; where a structure holds values, they stay as they are."""
        return [
            item if item is None or m.raw else getattr(m.aggregation, function)(item)
            for m, item in zip(self.measures, items, strict=True)
        ]

    # ---- and back
    def revive(self, plain: Any) -> Any:
        """The object that reduce() turned into these values."""
        if isinstance(plain, str):
            return self.anchors[plain]
        if isinstance(plain, int):
            return self.made[plain]
        number, name, values = plain
        if name == "structure":
            measure, times, state = values
            x: Any = self.measures[measure].structure()
            x._times = times
            x._restore(state)
        elif name in _VALUES:
            x = _VALUES[name][0](*values)
        else:
            x = object.__new__(_CLASSES[name])
            for slot, value in zip(_slots(type(x)), values, strict=True):
                setattr(x, slot, self._live(name, slot, value))
        self.made[number] = x
        return x

    def _live(self, name: str, slot: str, value: Any) -> Any:
        if _PARTIALS.get(name) == slot:
            return self._each(value, "load")
        if (name, slot) == ("WithinDelta", "rows"):
            return deque((number, self._each(items, "load")) for number, items in value)
        return value


def _slots(cls: type) -> list[str]:
    return [slot for c in reversed(cls.__mro__) for slot in c.__dict__.get("__slots__", ())]


def layout() -> str:
    """The classes and their slots, as text: state is only read by versions that agree on them."""
    return definition.words({name: ", ".join(_slots(cls)) for name, cls in _CLASSES.items()})


def clocks(plan: Plan) -> dict[str, Clock]:
    """The clocks of a window, which learn from the first time that they read."""
    found = {"order": plan.clock, "size": plan.reader.size_clock, "slide": plan.reader.slide_clock}
    return {name: clock for name, clock in found.items() if clock is not None}
