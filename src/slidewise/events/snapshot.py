"""The state of a window as plain values: the objects of its keys, one by one, by the names of their slots.

What the definition alone makes (the plan with its measures and frame) is not saved: objects refer to it
by name, and find it again in the new window. Partials go through the aggregation's dump and load, structures
through their own state. Only the classes listed here are ever made, and none of their methods is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from slidewise.errors import StateError
from slidewise.events import late_slices, partials, shared_partials, triggers
from slidewise.events.deadlines import Deadlines
from slidewise.events.engines import cumulative, hopping, result_slots, retained, sessions, shared, sliding, trailing
from slidewise.events.measure import Output
from slidewise.events.ordering import Ordering
from slidewise.events.result import Result
from slidewise.events.row_reader import Row, SharedRow
from slidewise.events.shared_partials import SharedPartials
from slidewise.events.shared_plan import PartPlan, SharedPlan
from slidewise.events.soundness import require_sound
from slidewise.events.watermark import BEGIN, Mark
from slidewise.events.window_plan import WindowPlan
from slidewise.serialization import codec, envelope
from slidewise.templates.canonical_form import canonical_text, define_aggregation, define_swag
from slidewise.templates.interpret import Swag
from slidewise.windows.definitions import PunctuationWindow, WindowDefinition, canonical
from slidewise.windows.durations import CalendarDuration, Duration

if TYPE_CHECKING:
    from slidewise.events.window import Window

_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        Row, Deadlines, retained.Retained, hopping.Hopping, hopping.SlicedRows, sliding.Sliding, trailing.Trailing,
        sessions.Sessions, cumulative.Cumulative,
        trailing.LastRows, trailing.SincePunctuation, trailing.WithinDelta,
        triggers.EachRow, triggers.EveryCount, triggers.EveryDelta, triggers.EveryPunctuation,
        result_slots.BoundarySlots, result_slots.CountSlots, result_slots.HoppingSlots, result_slots.RowSlots,
        partials.RangeHolder, partials.RowHolder, partials.RunningHolder, partials.SliceHolder,
        late_slices.MergedSlices, late_slices.OrderedSlices,
        SharedRow, shared.SharedWindows, shared.Awaited, shared_partials.SharedPartials,
        shared_partials.SharedRowHolder, shared_partials.SharedRangeHolder,
    )
}  # fmt: skip
#: a row's own offsets, where the bounds of frames are columns
_LENGTHS = {"Duration": (Duration, "nanoseconds"), "CalendarDuration": (CalendarDuration, "months")}
#: times of pandas, and zones of pytz, which it has
_TIMES = ("Timestamp", "zone", "offset")
#: slots that states of before have not, and what they are then
_ADDED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Row": {"asked": lambda row: None},
    **{
        name: {"rows": lambda holder: (), "few": lambda holder: partials.count_few(holder.measures)}
        for name in ("RowHolder", "SharedRowHolder")
    },
}
#: the slots of Deadlines when each key had its entry in the heap
_ENTRIES = ("deadlines", "entries", "heap")
_SLICES = ("SliceHolder", "MergedSlices", "OrderedSlices")
#: slots that hold one partial per measure
_PARTIALS = {"Row": "items", "SharedRow": "items", "RunningHolder": "totals", **dict.fromkeys(_SLICES, "open")}


def save(window: Window) -> bytes:
    """Save the state of a window as bytes. O(state)."""
    order = window._order
    payload = (
        {name: (clock.kind, clock.zone) for name, clock in window._plan.clocks.items()},
        (tuple(order.mark), order.newest, order.dropped, order.entries, order.held, order.ahead, *_list_marks(order)),
        window._agenda,
        window._engines,
        window._last,
        (window._timed, window._flushed, *_list_owed(window)),
        window._counts,
    )
    return envelope.seal("window", _describe(window), payload, Objects(window._plan).reduce)


def load(window: Window, data: bytes) -> None:
    """Take over a state, in a new window. O(state)."""
    payload = envelope.unseal(data, "window", _describe(window), Objects(window._plan).revive)
    order = window._order
    with codec.refuse_damage():  # of the right definition, and yet not what save() gave
        clocks, ordered, window._agenda, window._engines, window._last, flags, *counts = payload
        for name, clock in window._plan.clocks.items():
            clock.kind, clock.zone = clocks[name]
        mark, order.newest, order.dropped, order.entries, order.held, *ahead = ordered
        order.ahead = ahead[0] if ahead else 0  # states of before it was counted have none
        if order.sources is not None:
            marks = [BEGIN if mark == BEGIN else Mark(*mark) for mark in ahead[1]]
            order.sources.marks = dict(zip(order.sources.marks, marks, strict=True))
        order.mark = BEGIN if mark == BEGIN else Mark(*mark)
        window._timed, window._flushed, *owed = flags
        window._owed = [(due, Result(*parts)) for due, parts in owed]
        window._counts = counts[0] if counts else {}  # states of before keys were released have none
        require_sound(window)
        if window._releases and window._order.mark is not BEGIN:
            for key, engine in window._engines.items():
                window._watch(key, engine.newest() or order.mark.time)


def _list_marks(order: Ordering) -> list[Any]:
    """List how far each source has come, where there are some."""
    return [] if order.sources is None else [[tuple(mark) for mark in order.sources.marks.values()]]


def _list_owed(window: Window) -> list[tuple[Any, tuple[Any, ...]]]:
    """List the results that were due beside one that failed; an error that was not raised yet is not kept."""
    return [
        (due, tuple(getattr(result, f.name) for f in fields(Result)))
        for due, result in window._owed
        if isinstance(result, Result)
    ]


def _describe(window: Window) -> dict[str, str]:
    """Describe what the state belongs to: not max_ahead, which only says what does not come to be state."""
    found: dict[str, str] = {}
    for name, definition in window._plan.windows.items():
        found |= {f"{part} of {name}" if name else part: text for part, text in _define_window(definition).items()}
    for output in window._plan.outputs:
        of = _define_output(window._plan, output)
        found |= {f"{part} of {output.name}" if output.name else part: text for part, text in of.items()}
    if window._order.sources is not None:
        found["sources"] = canonical_text(list(window._order.sources.marks))
    if window.empty:
        found["empty"] = "True"
    return found | {
        "partition_by": canonical_text(window._plan.reader.partition_by),
        "emit": window.emit,
        "max_delay": canonical_text(canonical(window._order.max_delay)),
        "late": window._order.late,
        "keep": canonical_text(canonical(window._order.keep)),
    }


def _define_window(definition: WindowDefinition) -> dict[str, str]:
    """Define a window: predicates by their code."""
    found = {"window": repr(canonical(definition))}
    if definition.session_gap is not None:
        found["result"] = "per session"
    for part in (definition, definition.every):
        if isinstance(part, PunctuationWindow):
            found["predicate"] = found.get("predicate", "") + canonical_text(part.predicate)
    return found


def _define_output(plan: WindowPlan | SharedPlan, output: Output) -> dict[str, str]:
    """Define one aggregation: what it is, and the structure that it is read from."""
    if output.measure is None:
        return {"algorithm": "none", **define_aggregation(output.aggregation)}
    m = plan.measures[output.measure]
    of = define_swag(m.entry, output.aggregation, m.options, m.structure().fields)
    return of if output.part is None else of | {"partials": repr(m.aggregation)}


def _read_entries(deadlines: dict[Any, Any], entries: int, heap: list[tuple[Any, int, Any]]) -> Deadlines:
    """Read deadlines from entries of a heap, (deadline, number, key), as states of before had them."""
    found = Deadlines()
    for deadline, _, key in sorted(heap, key=lambda entry: entry[:2]):
        if deadlines.get(key) == deadline:
            found.set(key, deadline)
    return found


def _reduce_time(x: Any) -> tuple[str, Any]:
    """Reduce a time of pandas, or a zone of pytz, to plain values."""
    zone = getattr(x, "zone", None)
    if hasattr(x, "asm8"):
        return "Timestamp", (x.asm8, x.tz)
    if isinstance(x, tzinfo) and isinstance(zone, str):
        return "zone", zone
    if type(x).__module__.startswith("pytz") and zone is None:
        return "offset", x.utcoffset(None) // timedelta(minutes=1)
    raise StateError(
        f"cannot save {x!r}, a {type(x).__module__}.{type(x).__qualname__}: times are saved where they are Python's "
        "datetimes, NumPy's or pandas', with a zone of zoneinfo, pytz or datetime.timezone. Give each row such a time"
    )


def _revive_time(name: str, values: Any) -> Any:
    """Restore what `_reduce_time` reduced; where it was saved, that library was there."""
    try:
        if name != "Timestamp":
            import pytz

            return pytz.timezone(values) if name == "zone" else pytz.FixedOffset(values)
        import pandas as pd
    except ImportError as error:
        raise StateError(f"this state has times that need {error.name}, which is not installed here") from None
    time, zone = values
    at = pd.Timestamp(time)
    return at if zone is None else at.tz_localize("UTC").tz_convert(zone)


def _list_slots(cls: type) -> tuple[str, ...]:
    return tuple(slot for c in reversed(cls.__mro__) for slot in c.__dict__.get("__slots__", ()))


class Objects:
    """The objects of one window on their way to plain values, or back.

    Of several windows over one stream each has objects of its own, which are saved on their own: their partials are
    those of other measures. `stores` is what they share.
    """

    def __init__(
        self,
        plan: WindowPlan | SharedPlan,
        stores: Sequence[SharedPartials] = (),
        blank: Sequence[Swag] | None = None,
    ) -> None:
        self.measures = plan.measures
        self.anchors: dict[str, Any] = {
            "plan": plan,
            "definition": plan.definition,
            "reader": plan.reader,
            "frame": plan.frame,
            **{f"{name} clock": clock for name, clock in plan.clocks.items()},
            **{f"measure {k}": measure for k, measure in enumerate(plan.measures)},
            **{f"store {k}": store for k, store in enumerate(stores)},
        }
        self.names = {id(anchor): name for name, anchor in self.anchors.items() if anchor is not None}
        self.parts: Sequence[PartPlan] = plan.parts if isinstance(plan, SharedPlan) else ()
        self.blank_of_parts = [[measure.structure() for measure in part.measures] for part in self.parts]
        #: objects met so far, by id and by number; a list of them keeps the ids their own
        self.numbers: dict[int, int] = {}
        self.met: list[Any] = []
        self.made: dict[int, Any] = {}
        #: classes whose slots are named in the state: each with its first object
        self.described: set[str] = set()
        self.saved_slots: dict[str, tuple[str, ...]] = {}
        self.blank = [measure.structure() for measure in plan.measures] if blank is None else blank

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
            values = tuple(self._plain(x, name, slot, getattr(x, slot)) for slot in names)
            if name in self.described:
                return (number, name, values)
            self.described.add(name)
            return (number, name, values, names)
        if name in _LENGTHS and type(x) is _LENGTHS[name][0]:
            return (number, name, getattr(x, _LENGTHS[name][1]))
        if isinstance(x, datetime | tzinfo):
            return (number, *_reduce_time(x))
        raise codec.cannot_save(x)

    def _find_measure(self, swag: Swag) -> int:
        """Find the measure that makes such structures; equal ones are as good."""
        return next(
            k
            for k, blank in enumerate(self.blank)
            if (blank.entry, blank.aggregation, blank._options) == (swag.entry, swag.aggregation, swag._options)
        )

    def _plain(self, x: Any, name: str, slot: str, value: Any) -> Any:
        if (name, slot) == ("SharedWindows", "engines"):
            return [codec.encode(e, of.reduce) for e, of in zip(value, self._separate(x.stores), strict=True)]
        if _PARTIALS.get(name) == slot:
            return self._convert_each(value, "dump")
        if (name, slot) == ("WithinDelta", "rows"):
            return [(number, self._convert_each(items, "dump")) for number, items in value]
        if (name, slot) == ("OrderedSlices", "rows"):
            return [(time, start, self._convert_each(items, "dump")) for time, start, items in value]
        if (name, slot) == ("MergedSlices", "late"):
            return [(start, self._convert_each(items, "dump")) for start, items in value.items()]
        if (name, slot) == ("RowHolder", "rows"):
            return self._convert_rows(value, "dump")
        return value

    def _separate(self, stores: Sequence[SharedPartials]) -> list[Objects]:
        """Prepare for the objects of each of several windows."""
        return [Objects(part, stores, blank) for part, blank in zip(self.parts, self.blank_of_parts, strict=True)]

    def _convert_each(self, items: list[Any], function: str) -> list[Any]:
        """Dump or load one item per measure; where a structure holds values, they stay as they are."""
        return [
            item if item is None or m.raw else getattr(m.aggregation, function)(item)
            for m, item in zip(self.measures, items, strict=True)
        ]

    def _convert_rows(self, rows: Any, function: str) -> Any:
        """Dump or load the items of some rows, one row after the other."""
        if not rows:
            return rows
        n = len(self.measures)
        return [item for k in range(0, len(rows), n) for item in self._convert_each(rows[k : k + n], function)]

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
        elif name in _TIMES:
            x = _revive_time(name, values)
        else:
            x = object.__new__(_CLASSES[name])
            if name == "Deadlines" and names and names[0] == _ENTRIES:
                self.made[number] = _read_entries(*values)
                return self.made[number]
            if names:
                self.saved_slots[name] = self._require_slots(name, names[0])
            for slot, value in zip(self.saved_slots[name], values, strict=True):
                setattr(x, slot, self._live(name, slot, value))
            for slot, build in _ADDED.get(name, {}).items():
                if slot not in self.saved_slots[name]:
                    setattr(x, slot, build(x))
            if name == "Hopping" and type(x.holder) is partials.SliceHolder:
                x.holder = late_slices.MergedSlices.from_state_of_before(x.holder)
            if name == "SharedWindows":
                separate = zip(x.engines, self._separate(x.stores), strict=True)
                x.engines = [codec.decode(data, of.revive) for data, of in separate]
        self.made[number] = x
        return x

    def _require_slots(self, name: str, saved: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse an object with other fields than its class has here, but for those that were added since."""
        slots = _list_slots(_CLASSES[name])
        if saved not in (slots, tuple(slot for slot in slots if slot not in _ADDED.get(name, {}))):
            raise StateError(
                f"this state was saved by another version of slidewise, whose {name} has other fields. "
                "Load it with the version that saved it"
            )
        return saved

    def _live(self, name: str, slot: str, value: Any) -> Any:
        if _PARTIALS.get(name) == slot:
            return self._convert_each(value, "load")
        if (name, slot) == ("WithinDelta", "rows"):
            return deque((number, self._convert_each(items, "load")) for number, items in value)
        if (name, slot) == ("OrderedSlices", "rows"):
            return [(time, start, self._convert_each(items, "load")) for time, start, items in value]
        if (name, slot) == ("MergedSlices", "late"):
            return {start: self._convert_each(items, "load") for start, items in value}
        if (name, slot) == ("RowHolder", "rows"):
            return self._convert_rows(value, "load")
        return value
