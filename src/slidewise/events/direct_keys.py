"""Rows of several keys or aggregations straight to their engines: the last of time, with rows in order.

All rows of the newest time wait for a row of a later one, of any key. They wait here, key by key in the order in which
these came, and not in each engine with a deadline of its own. What has entered is where the engine has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.events.deadlines import Deadlines
from slidewise.events.partials import RowHolder
from slidewise.events.result import Result
from slidewise.events.row_reader import Row
from slidewise.events.small_queue import enqueue
from slidewise.events.watermark import BEGIN, before

if TYPE_CHECKING:
    from slidewise.events.window import Window
    from slidewise.events.window_plan import WindowPlan

#: a row that waits: what is held of it for each measure, its time as given, and its number
Waiting = tuple[list[Any], Any, int]


class DirectKeys:
    """The rows of the last time, of all keys."""

    __slots__ = (
        "clock", "column", "low_by", "measures", "open_start", "order", "pending", "plan", "reader", "whole_row",
        "window", "x",
    )  # fmt: skip

    def __init__(self, window: Window, x: Any, pending: dict[Any, tuple[Any, list[Waiting]]]) -> None:
        plan: Any = window._plan
        self.window, self.order = window, window._order
        self.plan: WindowPlan = plan
        self.clock, self.reader, self.measures = plan.clock, plan.reader, plan.measures
        self.whole_row = plan.reader.whole_row
        self.column = plan.reader.partition_by if type(plan.reader.partition_by) is str else None
        self.low_by, self.open_start = plan.clock.measure(plan.frame.start), plan.frame.open_start
        #: the newest time, and its rows: the engine of each key, and what waits
        self.x, self.pending = x, pending

    @classmethod
    def enter(cls, window: Window) -> DirectKeys | None:
        """Take over the rows that wait; None where others wait than those of the newest time. O(rows that wait)."""
        agenda, mark = window._agenda, window._order.mark
        plan: Any = window._plan
        if window._owed or plan.failed or mark is BEGIN or mark.inclusive or not window._timed:
            return None
        if not plan.clock.measure(plan.frame.start) < 0:
            return None
        if agenda.heap not in ([], [(mark.time, True)]):
            return None
        keys = agenda.keys[agenda.heap[0]][1:] if agenda.heap else []
        engines: list[Any] = [window._engines[key] for key in keys]
        for engine in engines:
            alone = len(engine.waiting) == len(engine.ahead) > 0 and engine.waiting[0][0] is engine.ahead[0]
            if not alone or type(engine.holder) is not RowHolder:
                return None
        pending = {}
        for key, engine in zip(keys, engines, strict=True):
            pending[key] = engine, [(row.items, row.stamp, row.number) for row, _ in engine.waiting]
            engine.waiting = engine.ahead = ()
            engine.last = None
        window._agenda = Deadlines()
        return cls(window, mark.time, pending)

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row, and give the results that waited for it; None where it must go the ordinary way.

        O(1) amortised with daba_lite for each result.
        """
        if time is None or (self.whole_row and type(value) is not dict):
            return None
        items = [m.item(value) for m in self.measures]
        key = value.get(self.column) if self.column is not None else None
        if type(key) is not str and type(key) is not int and self.reader.partition_by is not None:
            key = self.reader._key(value, None)
        at, x = self.clock.read(time), self.x
        if at < x:
            return None
        window = self.window
        results: list[Result] = []
        try:
            if at > x:
                results = self._release(at)
            entry = self.pending.get(key)
            if entry is None:
                engine: Any = window._engines.get(key)
                if engine is None:
                    engine = window._engine_of(key)
                    if window._releases:
                        window._watch(key, at)
                entry = self.pending[key] = engine, []
            engine, waiting = entry
            engine.seen += 1
            waiting.append((items, time, engine.seen))
        except BaseException as error:
            window._break(error)
            raise
        idle = window._idle
        if idle is not None and idle.next is not None and idle.next < at:
            self.leave()
            window._release_idle()
            window._direct = DirectKeys.enter(window)
        return window._results([(x, result) for result in results]) if self.plan.failed else results

    def _release(self, at: Any) -> list[Any]:
        """Let the rows that wait enter, and compute their results."""
        x, plan, open_start = self.x, self.plan, self.open_start
        low = x + self.low_by
        results: list[Any] = []
        for engine, waiting in self.pending.values():
            inside, holder = engine.inside, engine.holder
            key = engine.key  # of 1 and 1.0, which are one key, the one that came first
            while inside and (inside[0] < low or (open_start and inside[0] == low)):
                del inside[0]
                holder.evict()
            for items, _, _ in waiting:
                holder.insert(items)
                inside = enqueue(inside, x)
            engine.inside = inside
            for _, stamp, number in waiting:
                results.append(plan.result(holder.query(), holder.count, key, stamp, number))
        self.pending, self.x = {}, at
        return results

    def sync(self) -> None:
        """Tell the window how far time has come. O(1)."""
        self.order.newest, self.order.mark = self.x, before(self.x)

    def leave(self) -> None:
        """Give the engines the rows whose results wait. O(rows of the newest time)."""
        self.sync()
        for key, (engine, waiting) in self.pending.items():
            for items, stamp, number in waiting:
                row = Row(items, key)
                row.time, row.stamp, row.number, row.x = self.x, stamp, number, self.x
                engine.waiting, engine.ahead = enqueue(engine.waiting, (row, None)), enqueue(engine.ahead, row)
                engine.last = row
            self.window._agenda.set(key, engine.deadline())
