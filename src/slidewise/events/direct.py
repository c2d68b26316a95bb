"""Rows straight to their structure: what `push` does for one aggregation without keys, once its window is under way.

An engine serves every kind of window, slide and order, and asks for each row which it is. Here that is decided
once: the last n rows, the last of time, or hops, with rows in order. Structures, numbers and marks are those of the
engine, so that every other call goes on from them; of the last time, `leave` first gives the engine the rows that wait.
Where there is compiled code for what is held, rows go to that in the end (compiled.py).
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union

from slidewise.events.compiled import CompiledRows, CompiledTime, may_compile
from slidewise.events.deadlines import Deadlines
from slidewise.events.direct_keys import DirectKeys, DirectRowsOfKeys
from slidewise.events.engines.hopping import Hopping
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import Trailing
from slidewise.events.late_slices import MergedSlices
from slidewise.events.measure import Measure
from slidewise.events.partials import RowHolder
from slidewise.events.result import Failed, Result, build_result
from slidewise.events.row_reader import Row
from slidewise.events.small_queue import enqueue
from slidewise.events.watermark import before
from slidewise.events.window_plan import WindowPlan
from slidewise.templates import background
from slidewise.windows.durations import CalendarDuration

if TYPE_CHECKING:
    from slidewise.events.window import Window

#: so many rows go the ordinary way before the direct one is tried again: twice as many each time that it was left
PATIENCE = (16, 4096)
#: to hand over more rows than this to or from compiled code is not done again before as many have come
MANY = 16_384


#: where rows go straight to
Direct = Union["DirectRows", "DirectTime", "DirectHops", DirectKeys, DirectRowsOfKeys, CompiledRows, CompiledTime]
#: what it is: "rows" and "time" are of one aggregation without keys as long as none comes
Kind = Literal["rows", "time", "rows of keys", "keys", "hops"]


def kind_of_direct(window: Window) -> Kind | None:
    """Tell whether rows may go straight to the structure of this window, and of which kind it is."""
    plan, order = window._plan, window._order
    if not isinstance(plan, WindowPlan) or plan.reader.asks or plan.reader.looks or plan.reader.timed:
        return None
    if window.emit != "every" or window._guard is not None or order.holds_rows:
        return None
    alone = plan.reader.only is not None and plan.reader.partition_by is None and plan.plain
    if plan.engine is Hopping:
        return "hops" if alone and not plan.definition.by_calendar else None
    if plan.frame is None or plan.definition.every is not None:
        return None
    reach = plan.frame.reach
    if plan.engine is Trailing and plan.definition.trailing_rows is not None:
        return "rows" if alone else "rows of keys"
    bounded = plan.engine is Sliding and reach.unit == "range" and reach.fixed and not reach.from_first_row
    if bounded and not reach.end and not reach.open_end and not isinstance(reach.start, CalendarDuration):
        return "time" if alone else "keys"
    return None


class DirectRows:
    """The last n rows, when there are n."""

    __slots__ = (
        "engine",
        "evict",
        "insert",
        "item",
        "look",
        "name",
        "plan",
        "query",
        "structure",
        "whole_row",
        "window",
    )
    takes_keys: ClassVar[bool] = False

    def __init__(self, window: Window, engine: Any) -> None:
        self.window, self.engine = window, engine
        plan: Any = window._plan
        self.plan: WindowPlan = plan
        self.item, self.whole_row = plan.reader.only, plan.reader.whole_row
        #: of the one result, where it has one
        self.name = None if plan.single else plan.outputs[0].name
        self.structure = engine.holder.structures[0]
        self.evict, self.insert, self.query = list_functions(plan.measures[0], self.structure)
        #: the number of the row after which to see whether there is compiled code for it
        self.look = plan_look(window, engine.seen)

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row, and give its result; None, and nothing has changed, where it must go the ordinary way. O(1)."""
        if time is not None or (self.whole_row and type(value) is not dict):
            return None
        item = self.item(value)
        engine, structure = self.engine, self.structure
        try:
            engine.seen = number = engine.seen + 1
            self.evict(structure)
            self.insert(structure, item)
        except BaseException as error:
            self.window._break(error)
            raise
        try:
            found = self.query(structure)
        except Exception as error:
            return self.window._results([(None, self.plan.result(Failed(error), None, None, None, number))])
        if number == self.look:
            self.window._direct = CompiledRows.enter(self.window, engine, value) or self
            self.look += max(background.AGAIN, engine.holder.count // 4)  # it may have looked at all rows in vain
        return [build_result(found if self.name is None else {self.name: found}, None, None, number)]

    def sync(self) -> None:
        """Do nothing: the window tells no time."""

    def leave(self) -> int:
        """Do nothing: the engine is as the last row left it."""
        return 0


class DirectTime:
    """The rows of the last time: those of the newest time wait for a row of a later one."""

    __slots__ = (
        "clock", "engine", "evict", "holder", "insert", "inside", "item", "look", "low_by", "name", "number",
        "open_start", "order", "pending", "plan", "query", "structure", "whole_row", "window", "x",
    )  # fmt: skip
    takes_keys: ClassVar[bool] = False

    def __init__(self, window: Window, engine: Any) -> None:
        self.window, self.engine, self.order = window, engine, window._order
        plan: Any = window._plan
        self.plan: WindowPlan = plan
        self.item, self.whole_row, self.clock = plan.reader.only, plan.reader.whole_row, plan.clock
        self.name = None if plan.single else plan.outputs[0].name
        self.low_by, self.open_start = plan.clock.measure(plan.frame.start), plan.frame.open_start
        self.holder, self.inside = engine.holder, engine.inside
        self.structure = engine.holder.structures[0]
        self.evict, self.insert, self.query = list_functions(plan.measures[0], self.structure)
        #: the rows whose results wait: what is held of each, and its time as given; their time; the last one's number
        self.pending = [(row.items[0], row.stamp) for row, _ in engine.waiting]
        self.x, self.number = engine.last.time, engine.last.number
        self.look = plan_look(window, self.number)
        engine.waiting = engine.ahead = ()
        window._agenda = Deadlines()  # the only key's next result is due with the row after the next

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row, and give the results that waited for it; None where it must go the ordinary way.

        O(1) amortised with daba_lite.
        """
        if time is None or (self.whole_row and type(value) is not dict):
            return None
        item = self.item(value)
        at = self.clock.read(time)
        x, inside, structure = self.x, self.inside, self.structure
        low = x + self.low_by
        newest = inside[-1]
        if at == x:
            self.number += 1  # first: no signal comes between this and the end of the call
            self.pending.append((item, time))
            return []
        if at < x or newest < low or (self.open_start and newest == low):
            return None  # late, or after a gap in which all rows have left
        pending = self.pending
        try:
            if self.open_start:
                while inside[0] <= low:
                    inside.popleft()
                    self.evict(structure)
                    self.holder.count -= 1
            else:
                while inside[0] < low:
                    inside.popleft()
                    self.evict(structure)
                    self.holder.count -= 1
            for held, _ in pending:
                self.insert(structure, held)
                inside.append(x)
            self.holder.count += len(pending)
            number = self.number - len(pending)
            self.order.newest, self.order.mark = at, before(at)
            self.pending, self.x, self.number = [(item, time)], at, self.number + 1
        except BaseException as error:
            self.window._break(error)
            raise
        results: list[Any] = []
        failed = False
        for _, stamp in pending:
            number += 1
            try:
                found = self.query(structure)
            except Exception as error:
                failed = True
                results.append(self.plan.result(Failed(error), None, None, stamp, number))
            else:
                results.append(build_result(found if self.name is None else {self.name: found}, None, stamp, number))
        if failed:
            self.window._leave_direct()  # the engine looks idle without the rows that wait here, and would be released
            return self.window._results([(x, result) for result in results])
        if self.number >= self.look:
            self.window._direct = CompiledTime.enter(self.window, self.engine, value, self) or self
            self.look = self.number + max(background.AGAIN, self.holder.count // 4)
        return results

    def sync(self) -> None:
        """Do nothing: each row has told the window how far time has come."""

    def leave(self) -> int:
        """Give the engine the rows whose results wait. O(rows of the newest time)."""
        engine = self.engine
        number = self.number - len(self.pending)
        for item, stamp in self.pending:
            number += 1
            row = Row([item], None)
            row.time, row.stamp, row.number, row.x = self.x, stamp, number, self.x
            engine.waiting, engine.ahead = enqueue(engine.waiting, (row, None)), enqueue(engine.ahead, row)
        engine.seen, engine.last = number, row
        self.window._agenda.set(None, engine.deadline())
        return 0


class DirectHops:
    """Hopping windows: within a slice, a row is combined with those before it, and nothing is due.

    The engine is up to date but for time. A row that begins a slice, that is late or ends a window goes the ordinary
    way, and the next ones come here again.
    """

    __slots__ = ("clock", "combine", "end", "holder", "item", "order", "whole_row", "window", "x")
    takes_keys: ClassVar[bool] = False

    def __init__(self, window: Window, holder: Any, end: Any) -> None:
        plan: Any = window._plan
        self.window, self.holder, self.order = window, holder, window._order
        self.item, self.whole_row, self.clock = plan.reader.only, plan.reader.whole_row, plan.clock
        self.combine = plan.measures[0].combine
        #: the time of the newest row; where the slice ends that is open, or a window before
        self.x, self.end = window._order.mark.time, end

    @classmethod
    def enter(cls, window: Window) -> DirectHops | None:
        """Go on within the slice that is open; None where there is none, or slices are held in another way. O(1)."""
        engine: Any = window._engines.get(None)
        if engine is None or len(window._engines) > 1 or window._owed or window._plan.failed:
            return None
        plan: Any = window._plan
        holder, grid, mark = engine.holder, plan.grid, window._order.mark
        if type(holder) is not MergedSlices or holder.placed or not holder.open_rows or grid.size < grid.every:
            return None
        step = grid.step(mark.time)
        if mark.inclusive or holder.open_start != step:
            return None
        return cls(window, holder, min(grid.at(step + 1), grid.end_of(engine.next)))

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row; in the ordinary way, and with the results that are due, where it is not of the open slice."""
        if time is None or (self.whole_row and type(value) is not dict):
            return None
        item = self.item(value)
        at = self.clock.read(time)
        if not self.x <= at < self.end:
            return self._push_ordinarily(value, time)
        holder = self.holder
        try:
            held = holder.open
            held[0] = self.combine(held[0], item)
        except BaseException as error:
            self.window._break(error)
            raise
        holder.open_rows += 1
        self.x = at
        return []

    def _push_ordinarily(self, value: Any, time: Any) -> list[Result]:
        window = self.window
        self.sync()
        window._direct = None
        try:
            return window.push(value, time)
        finally:
            if window._broken is None:
                window._direct = DirectHops.enter(window)

    def sync(self) -> None:
        """Tell the window how far time has come. O(1)."""
        self.order.newest, self.order.mark = self.x, before(self.x)

    def leave(self) -> int:
        """Tell the window how far time has come: the engine is as the last row left it."""
        self.sync()
        return 0


def list_functions(measure: Measure, structure: Any) -> tuple[Any, Any, Any]:
    """Return evict, insert and query of a structure; of partials, without the checks that these rows pass."""
    kind = type(structure)
    if measure.raw or kind.insert.__qualname__ != "Swag.insert" or structure._times is not None:
        return kind.evict, kind.insert, kind.query
    return kind.functions["evict"], kind.functions["insert"], kind.query


def plan_look(window: Window, number: int) -> int:
    """Return the number of the row after which to see whether there is compiled code; sys.maxsize: never."""
    return max(number + background.AGAIN, background.AFTER) if may_compile(window) else sys.maxsize


def go_directly(window: Window, key: Any, value: Any) -> Direct | None:
    """Let rows go straight to their structures, if the window is so far; None where it is not.

    `key` and `value` are those of the last row.
    """
    kind = window._direct_kind
    if kind == "hops":
        return DirectHops.enter(window) if key is None else None
    if kind == "keys" or (kind == "time" and key is not None):
        return DirectKeys.enter(window)
    if kind == "rows of keys" or (kind == "rows" and (window._timed or key is not None)):
        return DirectRowsOfKeys.enter(window)
    engine: Any = window._engines.get(None)
    return None if engine is None else _go_alone(window, engine, value)


def _go_alone(window: Window, engine: Any, value: Any) -> Direct | None:
    """Let rows go straight to the structure of the engine without a key."""
    holder = engine.holder
    if type(holder) is not RowHolder or holder.structures is None or window._owed or window._plan.failed:
        return None
    plan: Any = window._plan
    if window._direct_kind == "rows":
        found = CompiledRows.enter(window, engine, value) if may_compile(window) else None
        full = holder.count == plan.definition.trailing_rows
        return found or (DirectRows(window, engine) if full else None)
    waiting, ahead, mark = engine.waiting, engine.ahead, window._order.mark
    alone = len(window._engines) == 1 and len(waiting) == len(ahead) > 0 and waiting[0][0] is ahead[0]
    if alone and type(engine.inside) is deque and engine.inside and mark.time == ahead[0].time and not mark.inclusive:
        by_time = DirectTime(window, engine)
        compiled = CompiledTime.enter(window, engine, value, by_time) if may_compile(window) else None
        return compiled or by_time
    return None
