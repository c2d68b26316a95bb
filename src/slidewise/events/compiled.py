"""Rows of numbers straight to compiled code: one call for what leaves, what enters, and the result.

The structures of the direct way (direct.py) as numbers in memory. A row that compiled code would not hold as Python
does (a string, a Decimal, an integer beyond 64 bits, an integer among floats) goes the ordinary way, and the ones after
it: `leave` gives the interpreted structure all that there is. So does everything that looks at the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.aggregations.values import INT64_MAX, INT64_MIN
from slidewise.events.measure import OfPartials
from slidewise.events.result import Result, build_result
from slidewise.events.row_reader import Row
from slidewise.events.small_queue import enqueue
from slidewise.events.watermark import before
from slidewise.templates import background
from slidewise.templates.slide import FULL

if TYPE_CHECKING:
    from slidewise.events.direct import DirectTime
    from slidewise.events.window import Window
    from slidewise.templates.memory import CompiledStructure, Kernel

#: the types that values and times may have: of NumPy, and what stands for a null
KINDS: dict[type, tuple[str, int | float]] = {float: ("f8", 0.0), int: ("i8", 0)}
#: integers below it are floats, too, and times may be added to those below it
EXACT, FAR = 2**53, 2**62
#: in place of a result: the row goes the ordinary way
_REFUSED = object()


def may_compile(window: Window) -> bool:
    """Tell whether rows of this window may come to go to compiled code, where they can go directly at all."""
    plan: Any = window._plan
    measure = plan.measures[0]
    return type(measure.of_partials) is OfPartials and measure.entry.compiles_events(measure.aggregation)


def take_over(kernel: Kernel, structure: Any, times: Any = (), **header: Any) -> CompiledStructure | None:
    """Take over a structure, and the times of its rows."""
    from slidewise.templates.memory import CompiledStructure

    return CompiledStructure.take_over(kernel, structure, list(times), **header)


def find_kernel(window: Window, seen: int, value: Any, moment: Any) -> Kernel | None:
    """Find the kernel for values and times of these types; None where there is none, or not yet. O(1).

    It is asked for once the window has seen so many rows that it is worth it.
    """
    measure = window._plan.measures[0]
    if type(value) not in KINDS or (moment is not None and type(moment) not in KINDS):
        return None
    moments = None if moment is None else KINDS[type(moment)][0]
    return background.ask_for_slide(
        measure.entry, measure.aggregation, KINDS[type(value)][0], moments, wait=seen < background.AFTER
    )


class Compiled:
    """What windows of rows and of time share: the structure, and how a value is read."""

    __slots__ = ("address", "column", "engine", "held", "kind", "lift", "name", "nothing", "run", "whole_row", "window")
    takes_keys: ClassVar[bool] = False

    def __init__(self, window: Window, engine: Any, cell: Any, held: CompiledStructure) -> None:
        plan: Any = window._plan
        measure = plan.measures[0]
        self.window, self.engine, self.held = window, engine, held
        self.run, self.address = held.run, held.address
        self.column = measure.columns[0] if measure.columns else None
        self.whole_row: bool = plan.reader.whole_row
        #: what values are, and what stands for a null
        self.kind, self.nothing = type(cell), KINDS[type(cell)][1]
        self.lift = None if measure.raw else measure.lift
        self.name = None if plan.single else plan.outputs[0].name

    def _look(self, *row: Any) -> Any:
        """Find out why a call gave None: make room and call again, or refuse the row; or None is its result."""
        status = self.held.words[0]
        if status == FULL:
            self.held.grow()
            found = self.run(self.address, *row)
            return self._look(*row) if found is None else found
        return _REFUSED if status else None


class CompiledRows(Compiled):
    """The last n rows."""

    __slots__ = ()

    @classmethod
    def enter(cls, window: Window, engine: Any, value: Any) -> CompiledRows | None:
        """Take over the rows of an engine; None where they, or the kernel, are not so far. O(rows held)."""
        plan: Any = window._plan
        cell = read_cell(window, value)
        kernel = find_kernel(window, engine.seen, cell, None)
        if kernel is None or engine.seen < plan.least:
            return None
        held = take_over(kernel, engine.holder.structures[0], rows=plan.definition.trailing_rows)
        return None if held is None else cls(window, engine, cell, held)

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row, and give its result; None, and nothing has changed, where it must go the ordinary way. O(1)."""
        if time is not None:
            return None
        if self.whole_row:
            if type(value) is not dict or self.column not in value:
                return None
            value = value[self.column]
        engine = self.engine
        try:
            if type(value) is self.kind:
                found = self.run(self.address, 1, value)
                if found is None:
                    found = self._look(1, value)
            elif value is None:
                found = self.run(self.address, 0, self.nothing)
                if found is None:
                    found = self._look(0, self.nothing)
            else:
                return None
            if found is _REFUSED:
                return None
            engine.seen = number = engine.seen + 1
        except OverflowError:  # more than 64 bits, which is found out before anything is done
            return None
        except BaseException as error:  # Ctrl-C: the row may have entered, and has no number
            self.window._break(error)
            raise
        return [build_result(found if self.name is None else {self.name: found}, None, None, number)]

    def sync(self) -> None:
        """Do nothing: the window tells no time."""

    def leave(self) -> int:
        """Let the engine's own structure go on; returns how many rows it has. O(rows held)."""
        self.held.give_back()
        self.engine.holder.count = held = len(self.held)
        return held


class CompiledTime(Compiled):
    """The rows of the last time: those of the newest time wait for a row of a later one."""

    __slots__ = ("before", "clock", "entered", "moment", "order", "pending", "plain", "x")

    def __init__(self, window: Window, engine: Any, cell: Any, held: CompiledStructure, direct: DirectTime) -> None:
        super().__init__(window, engine, cell, held)
        self.order, self.clock = window._order, window._plan.clock
        #: the rows whose results wait: value, and time as given; how many of them have entered
        self.pending = [(cell, direct.pending[0][1])]
        self.entered = 0
        #: their time, and how many rows were before them
        self.x, self.before = direct.x, direct.number - 1
        self.moment: type = type(direct.x)
        #: whether times are what they are given as
        self.plain = self.clock.kind == "number" and self.moment is int

    @classmethod
    def enter(cls, window: Window, engine: Any, value: Any, direct: DirectTime) -> CompiledTime | None:
        """Take over the rows of the direct way, of which the last one, of this value, waits alone. O(rows held)."""
        cell = read_cell(window, value)
        kernel = find_kernel(window, direct.number, cell, direct.x)
        is_float = type(direct.x) is float
        if kernel is None or len(direct.pending) != 1 or abs(direct.low_by) >= (EXACT if is_float else FAR):
            return None
        reach = direct.low_by * 1.0 if is_float else direct.low_by
        held = take_over(
            kernel, engine.holder.structures[0], direct.inside, reach=reach, open_start=int(direct.open_start)
        )
        return None if held is None else cls(window, engine, cell, held, direct)

    def push(self, value: Any, time: Any) -> list[Result] | None:
        """Take a row, and give the results that waited for it; None where it must go the ordinary way.

        O(1) amortised with daba_lite.
        """
        if self.whole_row:
            if type(value) is not dict or self.column not in value:
                return None
            value = value[self.column]
        if type(value) is not self.kind:
            if value is not None:
                return None
        elif self.kind is int and not INT64_MIN <= value <= INT64_MAX:  # some aggregations refuse it, and now
            return None
        if self.plain and type(time) is int:
            at = time
        elif time is None:
            return None
        else:
            at = self.clock.read(time)
            if type(at) is not self.moment:
                return None
        x = self.x
        if at <= x:
            if at < x:
                return None
            self.pending.append((value, time))
            return []
        found = None
        pending, name, number = self.pending, self.name, self.before
        try:
            for held, _ in pending[self.entered :]:
                row = (x, 0, self.nothing) if held is None else (x, 1, held)
                found = self.run(self.address, *row)
                if found is None:
                    found = self._look(*row)
                    if found is _REFUSED:
                        return None
                self.entered += 1
            self.pending, self.entered, self.x, self.before = [(value, time)], 0, at, number + len(pending)
        except OverflowError:
            return None
        except BaseException as error:  # Ctrl-C: a row may have entered that does not count among those
            self.window._break(error)
            raise
        if len(pending) == 1:
            return [build_result(found if name is None else {name: found}, None, pending[0][1], number + 1)]
        return [
            build_result(found if name is None else {name: found}, None, stamp, number + k)
            for k, (_, stamp) in enumerate(pending, 1)
        ]

    def sync(self) -> None:
        """Tell the window how far time has come. O(1)."""
        self.order.newest, self.order.mark = self.x, before(self.x)

    def leave(self) -> int:
        """Let the engine's own structure go on, and give it the rows whose results wait. O(rows held)."""
        self.sync()
        engine, inside = self.engine, self.engine.inside
        moments = self.held.give_back()
        inside.clear()
        inside.extend(moments)
        engine.holder.count = len(self.held)
        number = self.before
        for k, (value, stamp) in enumerate(self.pending):
            number += 1
            row = Row([value if self.lift is None else self.lift(value)], None)
            row.time, row.stamp, row.number, row.x = self.x, stamp, number, self.x
            engine.waiting = enqueue(engine.waiting, (row, None))
            if k >= self.entered:
                engine.ahead = enqueue(engine.ahead, row)
        engine.seen, engine.last = number, row
        self.window._agenda.set(None, engine.deadline())
        return len(self.held)


def read_cell(window: Window, value: Any) -> Any:
    """Read what the aggregation takes of a row that was taken."""
    columns = window._plan.measures[0].columns
    return value[columns[0]] if columns else value
