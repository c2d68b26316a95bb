"""Whether a window that was loaded is one that rows could have led to, as far as going on depends on it.

Its objects are compared with new ones of the same plan: the same types, and the same numbers where the definition
decides them. What loops and searches rely on is looked at beside: what is in order, how many there are, and that keys
are known. Values may be wrong, which only the results show.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from slidewise.errors import StateError
from slidewise.events import triggers
from slidewise.events.deadlines import Deadlines
from slidewise.events.engines.cumulative import Cumulative
from slidewise.events.engines.hopping import Hopping, SlicedRows
from slidewise.events.engines.result_slots import BoundarySlots, CountSlots, HoppingSlots, RowSlots
from slidewise.events.engines.retained import Retained
from slidewise.events.engines.sessions import Sessions
from slidewise.events.engines.shared import Awaited
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import LastRows, SincePunctuation, Trailing, WithinDelta
from slidewise.events.late_slices import MergedSlices, OrderedSlices, has_place
from slidewise.events.partials import RangeHolder, RowHolder, RunningHolder, SliceHolder
from slidewise.events.row_reader import Row, SharedRow
from slidewise.events.shared_partials import SharedPartials, SharedRangeHolder, SharedRowHolder
from slidewise.events.shared_plan import SharedPlan
from slidewise.serialization.codec import require_told_apart
from slidewise.templates.interpret import Swag
from slidewise.windows.clock import ENDS, Clock
from slidewise.windows.durations import CalendarDuration, Duration

if TYPE_CHECKING:
    from slidewise.events.window import Window

_NUMBERS = (int, float, Decimal, Fraction)
#: a row's own offsets, beside numbers
_LENGTHS = (Duration, CalendarDuration)
#: numbers that the definition decides
_DECIDED: dict[type, tuple[str, ...]] = {
    SharedRowHolder: ("takes_items",), MergedSlices: ("placed",), RowHolder: ("few",),
    SlicedRows: ("k", "first", "last"), LastRows: ("n",), WithinDelta: ("size",),
    CountSlots: ("k", "least"), RowSlots: ("least",), BoundarySlots: ("least",),
    triggers.EveryCount: ("k",), triggers.EveryDelta: ("size",),
}  # fmt: skip
#: slots whose new value None tells no type: they are integers
_COUNTS = ("next", "step")
#: slots that hold short queues: see small_queue.py
_QUEUES = ("ahead", "inside", "rows", "slices", "waiting")


def require_sound(window: Window) -> None:
    """Refuse what push, advance or flush could stumble over, or never come to an end with. O(state)."""
    several = isinstance(window._plan, SharedPlan)
    (SharedSoundness if several else Soundness)(window, window._plan).check()


class Soundness:
    """The checks of one window."""

    def __init__(self, window: Window, plan: Any) -> None:
        self.window, self.plan = window, plan
        self.clock = plan.clock
        self.structures: list[type[Swag]] | None = None

    def require(self, *conditions: Any) -> None:
        if not all(conditions):
            raise StateError(f"saved state is damaged: it is not that of a {self.window!r:.200}. Use another copy")

    def check(self) -> None:
        window, order, agenda = self.window, self.window._order, self.window._agenda
        for clock in self.plan.clocks.values():
            self.require(clock.kind is None or clock.kind in ("number", *ENDS))
        engines = window._engines
        self.require(type(engines) is dict, type(window._last) is dict, window._timed in (None, True, False))
        self.require(type(window._flushed) is bool, type(agenda) is Deadlines)
        self.check_counts(order.dropped, order.ahead, order.entries)
        own = [] if order.sources is None else list(order.sources.marks.values())
        for mark in map(tuple, (order.mark, *own)):
            self.require(len(mark) == 2, type(mark[1]) is bool, type(mark[0]) in _NUMBERS and mark[0] == mark[0])
        self.require(not own or min(own) == order.mark)
        self.check_times([order.newest] if order.newest is not None else [])
        self.check_entries(order.held, order.entries, lambda time, row: isinstance(row, Row) and time == row.time)
        self.check_times(time for time, _, _ in order.held)
        self.check_held([row for _, _, row in order.held])
        self.require(type(agenda.deadlines) is dict, agenda.deadlines.keys() <= engines.keys())
        self.require(type(agenda.heap) is list, type(agenda.keys) is dict, all(map(self.is_deadline, agenda.heap)))
        self.require(len(agenda.heap) == len(agenda.keys), set(agenda.heap) == set(agenda.keys))
        self.require(all(type(entry) is list and entry[0] == at for at, entry in agenda.keys.items()))
        self.require(all(map(self.is_deadline, agenda.deadlines.values())))
        self.require(set(agenda.deadlines.values()) <= set(agenda.keys))
        self.require(type(window._counts) is dict, window._counts.keys().isdisjoint(engines))
        self.check_counts(*window._counts.values())
        require_told_apart([*engines, *window._counts, *(row.key for _, _, row in order.held)])
        require_told_apart([key for entry in agenda.keys.values() for key in entry[1:]])
        for key, engine in engines.items():
            self.check_key(window._engine(self.plan, key), engine)

    def check_key(self, new: Any, engine: Any) -> None:
        """Check what holds the rows of a key; `new` is what a new key has."""
        self.check_type(new, engine)
        self.check_engine(engine)

    # ---- types
    def check_type(self, new: Any, found: Any) -> None:
        """Check that an object is of the type of a new one, down to the objects that it has."""
        self.require(type(new) is type(found))
        for slot in (slot for c in type(new).__mro__ for slot in c.__dict__.get("__slots__", ())):
            a, b = getattr(new, slot), getattr(found, slot)
            if slot in _DECIDED.get(type(new), ()):
                self.require(a == b, type(a) is type(b))
            elif slot == "structures" and type(new) in (RowHolder, SliceHolder, MergedSlices, OrderedSlices):
                self.require(b is None or (type(b) is list and [*map(type, b)] == self.list_structures()))
            elif slot == "structures":
                self.require(type(b) is list, [*map(type, a)] == [*map(type, b)])
            elif slot in _QUEUES:
                self.require(type(b) in (list, deque) or b == ())
            elif slot == "stores" and type(new) in (SharedRowHolder, SharedRangeHolder):
                self.require(type(b) is list, [s is None for s in a] == [s is None for s in b])
            elif slot == "plan":
                self.require(a is b)
            elif slot == "measures":
                self.require(type(b) is list, [*map(id, a)] == [*map(id, b)])
            elif slot in _COUNTS:
                self.require(b is None or type(b) is int)
                if slot == "step" and b is not None:
                    self.check_step(b)
            elif slot == "last":  # of a delta, the value of a row
                self.require(b is None or type(b) is Row or (type(new) is triggers.EveryDelta and type(b) in _NUMBERS))
            elif type(a) in _CHECKED:
                self.check_type(a, b)
            elif type(a) is int:
                self.check_counts(b)
            elif a is not None and slot != "key":
                self.require(type(a) is type(b))

    def list_structures(self) -> list[type[Swag]]:
        """List the types of the structures that a holder builds."""
        if self.structures is None:
            self.structures = [type(m.structure()) for m in self.plan.measures]
        return self.structures

    def check_step(self, step: int) -> None:
        """Check a step of the grid: that its end can be written."""
        self.require(self.plan.slides_by_time)
        self.check_times([self.plan.grid.at(step + 1)])

    def check_rows(self, rows: Iterable[Any]) -> None:
        for row in rows:
            self.require(type(row) is Row)
            self.check_row(row)

    def check_row(self, row: Row) -> None:
        self.check_counts(row.number)
        self.require(type(row.items) is list, len(row.items) == len(self.plan.measures))
        self.check_questions(row.asked)
        self.require(type(row.revision) is int, -1 <= row.revision < 1 << 63)
        if row.time is not None:
            self.check_times([row.time])
        self.require(row.x is None or type(row.x) in _NUMBERS)
        self.check_looked_at(row.size_value, row.slide_value, row.start, row.end)

    def check_looked_at(self, size: Any, slide: Any, start: Any, end: Any) -> None:
        self.require(*(v is None or type(v) in (bool, *_NUMBERS) for v in (size, slide)))
        self.require(*(v is None or type(v) in (*_NUMBERS, *_LENGTHS) for v in (start, end)))

    def check_held(self, rows: list[Any]) -> None:
        """Check rows that wait for their time to come."""
        self.check_rows(rows)

    def check_questions(self, asked: Any) -> None:
        """Check what a row asks of each measure: as many numbers as it reads, or a null."""
        if not self.plan.reader.asks:
            self.require(asked is None)
            return
        self.require(type(asked) is list, len(asked) == len(self.plan.measures))
        for measure, question in zip(self.plan.measures, asked, strict=True):
            sound = type(question) is tuple and len(question) == len(measure.asks)
            self.require(question is None or (sound and all(type(value) in _NUMBERS for value in question)))

    def check_counts(self, *numbers: Any) -> None:
        self.require(*(type(n) is int and 0 <= n < 1 << 63 for n in numbers))

    def check_times(self, times: Iterable[Any], clock: Clock | None = None) -> None:
        """Check numbers that the clock reads, and can write."""
        kind = (clock or self.clock).kind
        for time in times:
            if kind is None or kind == "number":
                self.require(type(time) in _NUMBERS and time == time)
                # one near the ends of what a decimal can be overflows where a length is added to it
                self.require(type(time) is not Decimal or abs(time.adjusted()) < 10_000)
            else:
                self.require(type(time) is int and ENDS[kind][0] <= time <= ENDS[kind][1])

    def check_order(self, values: Iterable[Any]) -> None:
        self.require(all(not b < a for a, b in pairwise(values)))

    def is_deadline(self, deadline: Any) -> bool:
        return (
            type(deadline) is tuple
            and len(deadline) == 2
            and type(deadline[0]) in _NUMBERS
            and type(deadline[1]) is bool
        )

    def check_entries(self, heap: Any, last: int, sound: Callable[[Any, Any], bool]) -> None:
        """Check a heap of (what orders, number, what it is about), each number once."""
        self.require(type(heap) is list, all(type(e) is tuple and len(e) == 3 for e in heap))
        numbers = [number for _, number, _ in heap]
        self.check_counts(*numbers)
        self.require(len(set(numbers)) == len(numbers), max(numbers, default=0) <= last)
        self.require(all(sound(first, about) for first, _, about in heap))

    # ---- the rows of a key
    def check_engine(self, engine: Any) -> None:
        if isinstance(engine, Retained):
            self.check_retained(engine)
            return
        self.check_holder(engine.holder)
        if isinstance(engine, Sliding):
            self.check_sliding(engine)
        elif isinstance(engine, SlicedRows):
            self.check_rows(engine.waiting)
            self.check_order(row.number for row in engine.waiting)
        elif isinstance(engine, Hopping):
            self.check_hopping(engine)
        elif isinstance(engine, Trailing):
            self.check_trailing(engine)
        elif isinstance(engine, Sessions):
            self.check_sessions(engine)
        elif isinstance(engine, Cumulative):
            self.check_cumulative(engine)

    def check_holder(self, holder: Any) -> None:
        measures = self.plan.measures
        if isinstance(holder, RunningHolder):
            self.check_counts(holder.count)
            self.require(type(holder.totals) is list, len(holder.totals) == len(measures))
            self.require(all(isinstance(t, Swag) == m.raw for m, t in zip(measures, holder.totals, strict=True)))
        elif isinstance(holder, RowHolder):
            self.require(all(s is None or len(s) == holder.count for s in holder.structures or ()))
            few = holder.structures is None
            self.require(len(holder.rows) == (holder.count * len(measures) if few else 0))
            self.require(not few or holder.count <= holder.few)
        elif isinstance(holder, SliceHolder):
            self.require(
                all(type(s) is tuple and len(s) == 2 for s in holder.slices), len(holder.open) == len(measures)
            )
            self.check_counts(holder.open_rows, *(rows for _, rows in holder.slices))
            starts = SliceHolder.list_starts(holder)
            self.require(not {type(start) for start in starts} - {int}, all(a < b for a, b in pairwise(starts)))
            rows = holder.open_rows + sum(rows for _, rows in holder.slices)
            if holder.structures is None:
                self.require(not holder.slices, not rows or all(measure.mergeable for measure in measures))
            for measure, structure in zip(measures, holder.structures or (), strict=holder.structures is not None):
                self.require(len(structure) == (len(holder.slices) if measure.mergeable else rows))
            if isinstance(holder, MergedSlices):
                self.check_merged_slices(holder)
            elif isinstance(holder, OrderedSlices):
                self.check_ordered_slices(holder)

    def check_merged_slices(self, holder: MergedSlices) -> None:
        """Check late partials, and that those which have a place have one."""
        self.require(all(type(start) is int and type(late) is list for start, late in holder.late.items()))
        for partials in (holder.open, *holder.late.values()):
            self.require(len(partials) == len(self.plan.measures))
            for measure, partial in zip(self.plan.measures, partials, strict=True):
                if partial is not None and has_place(measure):
                    self.require(type(partial) is tuple, len(partial) > 3, type(partial[-1]) is int)
                    self.check_times([partial[-2]])

    def check_ordered_slices(self, holder: OrderedSlices) -> None:
        """Check that rows are in order, each in the slice of its time, and that slices are those of the rows."""
        self.require(all(type(row) is tuple and len(row) == 3 for row in holder.rows))
        self.require(all(type(items) is list and len(items) == len(self.plan.measures) for _, _, items in holder.rows))
        self.check_times(time for time, _, _ in holder.rows)
        self.check_order(time for time, _, _ in holder.rows)
        if self.plan.definition.hopping:
            self.require(all(self.plan.grid.step(time) == start for time, start, _ in holder.rows))
        starts = {start for _, start, _ in holder.rows}
        self.require(holder.stale or [*SliceHolder.list_starts(holder)] == sorted(starts))
        rows = holder.open_rows + sum(rows for _, rows in holder.slices)
        self.require(holder.stale or rows == len(holder.rows))

    def check_sliding(self, engine: Sliding) -> None:
        self.require(all(type(w) is tuple and len(w) == 2 for w in engine.waiting))
        self.check_rows(engine.ahead)
        self.check_rows(row for row, _ in engine.waiting)
        self.check_rows([engine.last] if engine.last is not None else [])
        self.check_times(boundary for _, boundary in engine.waiting if boundary is not None)
        self.require(all(type(x) in _NUMBERS for x in engine.inside), all(row.x is not None for row in engine.ahead))
        if self.plan.frame.unit == "range":  # rows leave, which is told of times that there are
            self.require(all(abs(x) < math.inf for x in (*engine.inside, *(row.x for row in engine.ahead))))
        if isinstance(engine.holder, RowHolder):
            self.require(len(engine.inside) == engine.holder.count)
        waits = engine.waiting or engine.step is not None
        self.require(engine.last is not None or not (waits or (engine.ahead and self.plan.frame.unit != "range")))
        if engine.step is not None and engine.last is not None:
            self.require(self.plan.grid.step(engine.last.time) == engine.step)

    def check_hopping(self, engine: Hopping) -> None:
        """Check that the next window has rows: it is not before the oldest row's first, and reaches the youngest."""
        starts, grid = engine.holder.list_starts(), self.plan.grid
        self.require(engine.next is not None or not starts)
        if engine.next is not None and not starts:  # the first window without rows
            self.require(self.plan.empties)
            self.check_times([grid.at(engine.next), grid.end_of(engine.next)])
        elif engine.next is not None:
            oldest, youngest = grid.at(starts[0]), grid.at(starts[-1])
            self.check_times([oldest, youngest])
            self.require(grid.first_window(oldest) <= engine.next <= starts[0])
            self.require(youngest < grid.end_of(engine.next))

    def check_cumulative(self, engine: Cumulative) -> None:
        """Check that the next window has rows, or is the first one without."""
        holder, grid = engine.holder, self.plan.grid
        self.check_counts(engine.count)
        self.require(engine.count == (len(holder.rows) if isinstance(holder, OrderedSlices) else holder.open_rows))
        self.require({*holder.list_starts()} <= {0}, engine.next is not None or not engine.count)
        self.require(engine.next is None or engine.count or (self.plan.empties and engine.next % grid.steps == 0))
        self.check_times([grid.at(engine.next + 1)] if engine.next is not None else [])

    def check_trailing(self, engine: Trailing) -> None:
        size = engine.size
        if isinstance(size, LastRows):
            self.require(engine.holder.count <= size.n)
        elif isinstance(size, WithinDelta):
            self.require(all(type(e) is tuple and len(e) == 2 for e in (*size.rows, *size.lowest)))
            numbers = [number for number, _ in size.rows]
            self.check_counts(*numbers)
            self.require(len(numbers) == engine.holder.count == len(size.lowest))
            self.require(sorted(numbers) == sorted(number for _, number in size.lowest))
            self.require(len(set(numbers)) == len(numbers))
            self.require(all(len(items) == len(self.plan.measures) for _, items in size.rows))
            self.check_times((value for value, _ in size.lowest), self.plan.reader.size_clock)
        elif isinstance(size, SincePunctuation):
            self.require(type(size.ended) is bool)

    def check_sessions(self, engine: Sessions) -> None:
        """Check that a session has rows, the last of them at its last time; that rows wait tells no window's result."""
        self.check_counts(engine.count)
        self.require((engine.begin is None) == (engine.newest is None) == (engine.count == 0))
        holder = engine.holder
        self.require(isinstance(holder, RunningHolder) != self.plan.gives_windows)
        rows = holder.rows if isinstance(holder, OrderedSlices) else ()
        held = holder.count if isinstance(holder, RunningHolder) else len(rows) or holder.open_rows
        self.require(engine.count == held)
        self.require(all(engine.begin <= time <= engine.newest for time, _, _ in rows))
        self.require(isinstance(holder, RunningHolder) or {*holder.list_starts()} <= {0})
        self.require(type(engine.waiting) is list, len(engine.waiting) <= engine.count)
        self.check_rows(engine.waiting)
        self.require(not engine.waiting or not self.plan.gives_windows)
        self.require(all(row.time == engine.newest for row in engine.waiting))
        self.check_order(row.number for row in engine.waiting)
        if engine.begin is not None:
            self.check_times([engine.begin, engine.newest])
            self.require(engine.begin <= engine.newest, engine.count <= engine.seen)

    def check_retained(self, engine: Retained) -> None:
        rows, slots = engine.rows, engine.slots
        self.check_rows(rows)
        self.require(all(t is row.time or t == row.time for t, row in zip(engine.times, rows, strict=True)))
        self.require(engine.base >= 0, len({row.time is None for row in rows}) < 2)
        places: list[Any] = (
            [row.place for row in rows] if rows and rows[0].time is not None else [row.number for row in rows]
        )
        self.require(all(a < b for a, b in pairwise(places)))
        self.check_times(engine.groups)
        self.require(all(a < b for a, b in pairwise(engine.groups)))
        self.require(all(s is None or len(s) == len(rows) for s in engine.holder.structures))
        kept = set(map(id, rows))
        if isinstance(slots, RowSlots):
            self.require(all(id(row) in kept for row in (*slots.pending, *slots.early, *engine.again)))
        else:
            listed = [*slots.revisions, *engine.again, *getattr(slots, "open", ()), *getattr(slots, "early", ())]
            self.require(not {type(n) for n in (*listed, *slots.revisions.values())} - {int})
        if isinstance(slots, CountSlots):
            self.require(slots._index(engine, slots.next) >= 0)
            self.require(all(slots._index(engine, j) < len(rows) for j in slots.revisions))
            self.require(all(slots._index(engine, j) >= 0 for j in engine.again))
        elif isinstance(slots, BoundarySlots):
            self.require(all(slots._index(engine, j) >= 0 for j in (*slots.open, *slots.early, *engine.again)))
        elif isinstance(slots, HoppingSlots):
            self.require(not {type(k) for k in slots.extra} - {int})
            self.require(all(slots._bounds(engine, k)[0] < slots._bounds(engine, k)[1] for k in slots.extra))


class SharedSoundness(Soundness):
    """The checks of several windows over one stream: each for itself, what they share, and the rows that wait."""

    def check_held(self, rows: list[Any]) -> None:
        """Check rows that wait for their time to come, with what each window looks at."""
        for row in rows:
            self.require(type(row) is SharedRow, type(row.windows) is list)
            self.require(len(row.windows) == len(self.plan.parts), all(type(w) is tuple for w in row.windows))
            self.check_row(row)
            for size, slide, start, end in row.windows:
                self.check_looked_at(size, slide, start, end)

    def check_key(self, new: Any, engine: Any) -> None:
        """Check what holds the rows of a key; `new` is what a new key has."""
        self.check_type(new, engine)
        plan, seen = self.plan, engine.seen
        self.require(len(engine.stores) == len(plan.stored) == len({id(store) for store in engine.stores}))
        self.require(len(engine.engines) == len(plan.parts) == len(engine.given))
        for fresh, store in zip(new.stores, engine.stores, strict=True):
            self.require(type(store) is SharedPartials, store.measure is fresh.measure)
            self.require(type(store.structure) is type(fresh.structure), store.behind is fresh.behind)
            self.check_counts(store.first, store.end)
            self.require(len(store.structure) == store.end - store.first)
            ends = (store.first, store.end - 1) if store.measure.entry.ranges and len(store.structure) else (None, None)
            self.require((store.structure.oldest, store.structure.youngest) == ends)
        self.require(all(type(number) is int for number in engine.given))
        for k, part in enumerate(plan.parts):
            own: Any = engine.engines[k]
            checks = Soundness(self.window, part)
            checks.check_key(new.engines[k], own)
            self.require(getattr(own, "seen", seen) == seen)
            if part.shares:
                self.check_share(own, [None if n is None else engine.stores[n] for n in part.shared])
            if part.each_row:
                slots: Any = getattr(own, "slots", None)
                waiting = getattr(own, "waiting", ()) if slots is None else slots.pending
                self.require(engine.given[k] + len(waiting) == max(seen, part.least - 1))
        for store, stored in zip(engine.stores, plan.stored, strict=True):
            holders = [engine.engines[k].holder for k in stored.asking]
            self.require(store.end == (max(h.first + h.count for h in holders) if store.behind else seen))
        self.check_awaited(engine)

    def check_share(self, engine: Any, stores: list[SharedPartials | None]) -> None:
        """Check that a window has its place among the rows that are held for it and others."""
        holder = engine.holder
        self.require(all(a is b for a, b in zip(holder.stores, stores, strict=True)))
        if isinstance(engine, Retained):
            numbers = [row.number for row in engine.rows]
            self.require(numbers == [*range(engine.seen - len(numbers) + 1, engine.seen + 1)])
            outside = len(numbers)
        else:
            outside = holder.count + len(getattr(engine, "ahead", ()))
        self.require(holder.first + outside == engine.seen)
        self.require(all(store is None or store.first <= holder.first for store in stores))

    def check_awaited(self, engine: Any) -> None:
        """Check that the rows whose results have not all come are the last ones, and what each waits for."""
        plan, first = self.plan, engine.seen - len(engine.awaited) + 1
        joined = [(part.least, given) for part, given in zip(plan.parts, engine.given, strict=True) if part.each_row]
        self.require(all(given >= first - 1 or given == least - 1 >= engine.seen for least, given in joined))
        for number, row in enumerate(engine.awaited, first):
            self.require(type(row) is Awaited, row.number == number, type(row.number) is int)
            self.require(
                type(row.missing) is int, row.missing == sum(least <= number > given for least, given in joined)
            )
            self.require(row.values is None or (type(row.values) is dict and [*row.values] == plan.joined))
            self.check_times([row.time] if row.time is not None else [])


_CHECKED = (
    RowHolder, RunningHolder, SliceHolder, MergedSlices, OrderedSlices, RangeHolder, SharedRowHolder, SharedRangeHolder,
    LastRows, WithinDelta, SincePunctuation,
    RowSlots, CountSlots, BoundarySlots, HoppingSlots,
    triggers.EachRow, triggers.EveryCount, triggers.EveryDelta, triggers.EveryPunctuation,
)  # fmt: skip
