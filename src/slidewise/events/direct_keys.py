"""Rows of several keys or aggregations straight to their engines: the last n rows, or the last of time in order.

Of time, all rows of the newest one wait for a row of a later one, of any key. They wait here, key by key in the order
in which these came, and not in each engine with a deadline of its own. What has entered is where the engine has it, or
with the keys in compiled code (compiled_key.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.events import compiled_key
from slidewise.events.compiled_key import CompiledKey, KeyCompiler
from slidewise.events.deadlines import Deadlines
from slidewise.events.partials import RowHolder
from slidewise.events.result import Result, build_result
from slidewise.events.row_reader import Row
from slidewise.events.small_queue import enqueue
from slidewise.events.watermark import BEGIN, before

if TYPE_CHECKING:
    from slidewise.events.window import Window
    from slidewise.events.window_plan import WindowPlan

#: a row that waits: what is held of it for each measure, or its cells; its time as given, and its number
Waiting = tuple[list[Any], Any, int]
#: the engine of a key, its rows in compiled code, and its rows that wait
Entry = tuple[Any, CompiledKey | None, list[Waiting]]


class DirectByKey:
    """What windows of rows and of time share: how a row is read, and the keys in compiled code."""

    __slots__ = (
        "clock", "column", "compiled", "compiler", "measures", "names", "order", "partitioned", "plan", "reader",
        "whole_row", "window", "x",
    )  # fmt: skip
    takes_keys: ClassVar[bool] = True

    def __init__(self, window: Window, x: Any, compiler: KeyCompiler) -> None:
        plan: Any = window._plan
        self.window, self.order = window, window._order
        self.plan: WindowPlan = plan
        self.clock, self.reader, self.measures = plan.clock, plan.reader, plan.measures
        self.whole_row, self.partitioned = plan.reader.whole_row, plan.reader.partition_by is not None
        self.column = plan.reader.partition_by if type(plan.reader.partition_by) is str else None
        #: of the results by name, where each is that of a measure
        self.names = plan.names if plan.plain and not plan.single else None
        #: the newest time; None where rows have none
        self.x = x
        self.compiler = compiler
        self.compiled: dict[Any, CompiledKey] = {}

    def read(self, value: Any, key: Any) -> tuple[Any, CompiledKey | None, list[Any] | None, list[Any] | None]:
        """Read the key of a row, what is compiled of it, and either the cells for that or, without, its items."""
        given = key
        if self.column is not None and key is None:
            key = value.get(self.column)
            plain = type(key) is str or type(key) is int
        else:
            plain = not self.partitioned and (key is None or type(key) is str or type(key) is int)
        if plain:
            state = self.compiled.get(key)
            if state is not None:
                cells = state.read(value)
                if cells is not None:
                    return key, state, cells, None
            return key, state, None, [m.item(value) for m in self.measures]
        items = [m.item(value) for m in self.measures]
        key = self.reader._key(value, given)
        state = self.compiled.get(key)
        return key, state, None if state is None else state.read(value), items

    def compile(self, key: Any, engine: Any, value: Any, x: Any = None) -> CompiledKey | None:
        """Let the rows of a key go to compiled code, if it is so far: seen after every few of them. O(1)."""
        if engine.seen + 1 & compiled_key.AGAIN - 1:
            return None
        state = self.compiler.compile(engine, value, x)
        if state is not None:
            self.compiled[key] = state
        return state

    def settle(self, state: CompiledKey, items: list[Any] | None = None) -> None:
        """Let a key go on interpreted. O(rows held)."""
        del self.compiled[state.engine.key]
        self.compiler.settle(state, items)

    def settle_all(self) -> int:
        """Let all keys go on interpreted; returns how many rows they have. O(rows held)."""
        held = 0
        for state in [*self.compiled.values()]:
            held += len(state)
            self.settle(state)
        return held

    def _settle_halfway(self, state: CompiledKey, rows: list[list[Any]]) -> list[list[Any]]:
        """Let a key go on interpreted that has refused the first of these rows; returns those that have not entered."""
        items = [self.compiler.lift(cells) for cells in rows]
        entered = state.taken > 0
        self.settle(state, items[0])
        return items[1:] if entered else items

    def push_late(self, value: Any, time: Any, key: Any) -> list[Result]:
        """Push a late row the ordinary way, which changes nothing that is here."""
        window: Any = self.window
        self.sync()
        window._direct = None
        try:
            found: list[Result] = window.push(value, time, key)
            return found
        finally:
            if window._broken is None:
                window._direct = self

    def sync(self) -> None:
        """Tell the window how far time has come. O(1)."""
        if self.x is not None:
            self.order.newest, self.order.mark = self.x, before(self.x)


class DirectRowsOfKeys(DirectByKey):
    """The last n rows of each key."""

    __slots__ = ("least", "most")

    def __init__(self, window: Window, x: Any) -> None:
        plan: Any = window._plan
        #: how many rows a window has, and before which number there is no result
        self.most, self.least = plan.definition.trailing_rows, plan.least
        super().__init__(window, x, KeyCompiler(window, rows=self.most))

    @classmethod
    def enter(cls, window: Window) -> DirectRowsOfKeys | None:
        """Take over; None where results are owed, or time has come further than the last row. O(1)."""
        plan: Any = window._plan
        mark = window._order.mark
        if window._owed or plan.failed or (window._timed and (mark is BEGIN or mark.inclusive)):
            return None
        return cls(window, mark.time if window._timed else None)

    def push(self, value: Any, time: Any, key: Any = None) -> list[Result] | None:
        """Take a row, and give its result; None where it must go the ordinary way. O(1)."""
        if (time is None) is not (self.x is None) or (self.whole_row and type(value) is not dict):
            return None
        given = key
        key, state, cells, items = self.read(value, key)
        at = None if time is None else self.clock.read(time)
        if at is not None and at < self.x:
            return self.push_late(value, time, given)
        window, found = self.window, None
        rows: list[Any] = [items]
        try:
            if state is None:
                engine: Any = window._engines.get(key) or window._engine_of(key)
                state = self.compile(key, engine, value)
                if state is not None:
                    cells = state.read(value)
            else:
                engine = state.engine
                if cells is None:
                    self.settle(state)
            engine.seen = number = engine.seen + 1
            self.x = at
            if cells is not None:
                found = state.slide_rows(cells)  # type: ignore[union-attr]
                if found is not None:
                    count = 0 if self.names else len(state)  # type: ignore[arg-type]
                else:
                    rows = self._settle_halfway(state, [cells])  # type: ignore[arg-type]
            if found is None:
                holder = engine.holder
                for items in rows:
                    if holder.count == self.most:
                        holder.evict()
                    holder.insert(items)
                if number >= self.least:
                    values, count = holder.query(), holder.count
        except BaseException as error:
            window._break(error)
            raise
        if number < self.least:
            return []
        if found is None:
            result: Any = self.plan.result(values, count, engine.key, time, number)
            return window._results([(at, result)]) if self.plan.failed else [result]
        if self.names is not None:
            values = dict(zip(self.names, found))  # noqa: B905
            return [build_result(values, engine.key, time, number)]
        return [self.plan.result(found, count, engine.key, time, number)]  # type: ignore[list-item]

    def leave(self) -> int:
        """Let all keys go on interpreted. O(rows held)."""
        self.sync()
        return self.settle_all()


class DirectKeys(DirectByKey):
    """The rows of the last time, of all keys."""

    __slots__ = ("low_by", "open_start", "pending")

    def __init__(self, window: Window, x: Any, pending: dict[Any, Entry]) -> None:
        plan: Any = window._plan
        self.low_by, self.open_start = plan.clock.measure(plan.frame.start), plan.frame.open_start
        super().__init__(window, x, KeyCompiler(window, reach=self.low_by, open_start=int(self.open_start)))
        #: the rows of the newest time
        self.pending = pending

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
        pending: dict[Any, Entry] = {}
        for key, engine in zip(keys, engines, strict=True):
            pending[key] = engine, None, [(row.items, row.stamp, row.number) for row, _ in engine.waiting]
            engine.waiting = engine.ahead = ()
            engine.last = None
        window._agenda = Deadlines()
        return cls(window, mark.time, pending)

    def push(self, value: Any, time: Any, key: Any = None) -> list[Result] | None:
        """Take a row, and give the results that waited for it; None where it must go the ordinary way.

        O(1) amortised with daba_lite for each result.
        """
        if time is None or (self.whole_row and type(value) is not dict):
            return None
        given = key
        held: Any
        key, state, held, items = self.read(value, key)
        at, x = self.clock.read(time), self.x
        if at < x:
            return self.push_late(value, time, given)
        window = self.window
        results: list[Result] = []
        try:
            if state is not None and held is None:
                self.settle(state)
            if at > x:
                results = self._release(at)
            entry = self.pending.get(key)
            if entry is None:
                entry = self.pending[key] = self._open(key, value, at)
            engine, state, waiting = entry
            if state is None:
                held = items or self.compiler.lift(held)
            elif held is None:  # from this row on
                held = state.read(value)
            engine.seen += 1
            waiting.append((held, time, engine.seen))
            idle = window._idle
            if idle is not None and idle.next is not None and idle.next < at:
                self.sync()
                window._release_idle()
        except BaseException as error:
            window._break(error)
            raise
        return window._results([(x, result) for result in results]) if self.plan.failed else results

    def _open(self, key: Any, value: Any, at: Any) -> Entry:
        """Begin with the first row of a key at this time."""
        window = self.window
        state = self.compiled.get(key)
        if state is not None:
            return state.engine, state, []
        engine: Any = window._engines.get(key)
        if engine is None:
            engine = window._engine_of(key)
            if window._releases:
                window._watch(key, at)
        return engine, self.compile(key, engine, value, at), []

    def settle(self, state: CompiledKey, items: list[Any] | None = None) -> None:
        """Let a key go on interpreted, with its rows that wait. O(rows held)."""
        super().settle(state, items)
        key, lift = state.engine.key, self.compiler.lift
        entry = self.pending.get(key)
        if entry is not None:
            self.pending[key] = state.engine, None, [(lift(cells), *rest) for cells, *rest in entry[2]]

    def _release(self, at: Any) -> list[Any]:
        """Let the rows that wait enter, and compute their results."""
        x, plan, names = self.x, self.plan, self.names
        pending, self.pending = self.pending, {}
        results: list[Any] = []
        for engine, state, waiting in pending.values():
            key = engine.key  # of 1 and 1.0, which are one key, the one that came first
            found = None
            entered = 0
            if state is not None:
                for held, _, _ in waiting:
                    found = state.slide_time(x, held)
                    if found is None:
                        break
                    entered += 1
            if found is None:
                rows = [row[0] for row in waiting[entered:]]
                self._enter(engine, rows if state is None else self._settle_halfway(state, rows))
                values, count = engine.holder.query(), engine.holder.count
                for _, stamp, number in waiting:
                    results.append(plan.result(values, count, key, stamp, number))
            elif names is not None:
                for _, stamp, number in waiting:
                    values = dict(zip(names, found))  # noqa: B905 - strict= takes 0.15 us
                    results.append(build_result(values, key, stamp, number))
            else:
                count = len(state)  # type: ignore[arg-type]
                for _, stamp, number in waiting:
                    results.append(plan.result(found, count, key, stamp, number))
        self.x = at
        return results

    def _enter(self, engine: Any, rows: list[list[Any]]) -> None:
        """Let rows of the newest time enter, after those that are no longer in its window have left."""
        x, open_start = self.x, self.open_start
        low = x + self.low_by
        inside, holder = engine.inside, engine.holder
        while inside and (inside[0] < low or (open_start and inside[0] == low)):
            del inside[0]
            holder.evict()
        for items in rows:
            holder.insert(items)
            inside = enqueue(inside, x)
        engine.inside = inside

    def find_newest(self, key: Any, engine: Any) -> Any:
        """Find the time of the newest row of a key; None where none is held. O(1)."""
        if key in self.pending:
            return self.x
        state = self.compiled.get(key)
        return engine.newest() if state is None else state.newest

    def forget(self, key: Any) -> None:
        """Let go of what is held of a key that is released. O(1)."""
        self.compiled.pop(key, None)
        self.compiler.later.pop(key, None)

    def leave(self) -> int:
        """Let all keys go on interpreted, and give the engines the rows whose results wait. O(rows held)."""
        self.sync()
        held = self.settle_all()
        for engine, _, waiting in self.pending.values():
            for items, stamp, number in waiting:
                row = Row(items, engine.key)
                row.time, row.stamp, row.number, row.x = self.x, stamp, number, self.x
                engine.waiting, engine.ahead = enqueue(engine.waiting, (row, None)), enqueue(engine.ahead, row)
                engine.last = row
            self.window._agenda.set(engine.key, engine.deadline())
        return held
