"""CompiledKey: the rows of one key as numbers in memory, with a call into compiled code for each aggregation.

Most keys of a large stream have few rows: those stay with their engine. One that has had some goes to compiled code,
and back where a value comes that this would not hold as Python does: that key alone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.values import INT64_MAX, INT64_MIN
from slidewise.events.compiled import EXACT, FAR, KINDS
from slidewise.events.measure import OfPartials
from slidewise.events.small_queue import SHORT
from slidewise.templates import background
from slidewise.templates.slide import FULL

if TYPE_CHECKING:
    from slidewise.events.window import Window
    from slidewise.templates.memory import CompiledStructure, Kernel

#: a key has had so many rows more before it is seen whether there is compiled code; a power of two
AGAIN = 32
#: and so many, or as many as it holds, when it has been handed back: to hand over takes as long as 10 rows
PATIENCE = 512
_ABSENT = object()

#: for each aggregation: the column of a row, None where it takes the value itself, and the type of its values
Reads = tuple[tuple[str | None, type[Any]], ...]


def may_compile_keys(window: Window) -> bool:
    """Tell whether rows of keys of this window may come to go to compiled code: of all aggregations, or of none."""
    plan: Any = window._plan
    return all(type(m.of_partials) is OfPartials and m.entry.compiles_events(m.aggregation) for m in plan.measures)


class CompiledKey:
    """The rows of one key."""

    __slots__ = ("calls", "engine", "held", "moment", "newest", "reads", "short", "taken")

    def __init__(self, engine: Any, held: list[CompiledStructure], reads: Reads, moment: type | None) -> None:
        self.engine, self.held, self.reads = engine, held, reads
        #: what times are, of a window of time
        self.moment = moment
        #: of each aggregation: what is called, the address of the state, and what stands for a null
        self.calls = [(each.run, each.address, KINDS[kind][1]) for each, (_, kind) in zip(held, reads, strict=True)]
        #: how many aggregations have taken a row that another has refused
        self.taken = 0
        #: whether the times of rows were in a list: see small_queue.py
        self.short = moment is not None and type(engine.inside) is list
        #: the time of the newest row
        self.newest = None if moment is None else engine.inside[-1]

    @classmethod
    def take_over(
        cls, engine: Any, kernels: list[Kernel], reads: Reads, moment: type | None, **header: Any
    ) -> CompiledKey | None:
        """Take over the rows of an engine; None where one is no such number. O(rows held)."""
        from slidewise.templates.memory import CompiledStructure

        times = [] if moment is None else list(engine.inside)
        held: list[CompiledStructure] = []
        for kernel, structure in zip(kernels, engine.holder.structures, strict=True):
            found = CompiledStructure.take_over(kernel, structure, times, **header)
            if found is None or (held and len(found) != len(held[0])):
                return None
            held.append(found)
        made = cls(engine, held, reads, moment)
        for found in held:
            found.release_plain()
        if moment is not None:
            engine.inside = ()
        return made

    def read(self, value: Any) -> list[Any] | None:
        """Read what each aggregation takes of a row: numbers of its type, or nulls; None where one is not. O(1)."""
        cells = []
        for column, kind in self.reads:
            cell = value if column is None else value.get(column, _ABSENT)
            if type(cell) is not kind:
                if cell is not None:
                    return None
            elif kind is int and not INT64_MIN <= cell <= INT64_MAX:  # some aggregations refuse it, and now
                return None
            cells.append(cell)
        return cells

    def slide_time(self, x: Any, cells: list[Any]) -> list[Any] | None:
        """Take a row of this time, and give the results; None where it is refused: see `settle`. O(1) amortised."""
        found: list[Any] = []
        if type(x) is not self.moment:
            self.taken = 0
            return None
        k = 0  # zip and its strict= take 0.2 us more
        try:
            for run, address, nothing in self.calls:
                cell = cells[k]
                value = run(address, x, 0, nothing) if cell is None else run(address, x, 1, cell)
                if value is None and self._refuses(k):
                    value = self._call_again(k, (x, 0, nothing) if cell is None else (x, 1, cell))
                found.append(value)
                k += 1
        except (OverflowError, _Refused):  # more than 64 bits, which is found out before anything is done
            self.taken = k
            return None
        self.newest = x
        return found

    def slide_rows(self, cells: list[Any]) -> list[Any] | None:
        """Take a row, and give the results; None where it is refused: see `settle`. O(1)."""
        found: list[Any] = []
        k = 0
        try:
            for run, address, nothing in self.calls:
                cell = cells[k]
                value = run(address, 0, nothing) if cell is None else run(address, 1, cell)
                if value is None and self._refuses(k):
                    value = self._call_again(k, (0, nothing) if cell is None else (1, cell))
                found.append(value)
                k += 1
        except (OverflowError, _Refused):
            self.taken = k
            return None
        return found

    def _refuses(self, k: int) -> bool:
        """Tell whether a call gave None for another reason than that this is the result."""
        return bool(self.held[k].words[0])

    def _call_again(self, k: int, row: tuple[Any, ...]) -> Any:
        """Make room, where that was the reason, and call again."""
        held = self.held[k]
        if held.words[0] != FULL:
            raise _Refused
        held.grow()
        found = held.run(held.address, *row)
        if found is None and self._refuses(k):
            raise _Refused
        return found

    def __len__(self) -> int:
        return len(self.held[0])

    def settle(self, items: list[Any] | None = None) -> None:
        """Let the engine's own structures go on, with the row in all of them that some have taken. O(rows held).

        That row is held as `items`: where none is given, none is halfway.
        """
        engine = self.engine
        structures = engine.holder.structures
        most = int(self.held[0]["most"])
        before = [len(held) for held in self.held]
        moments = [held.give_back() for held in self.held]
        taken, self.taken = self.taken, 0
        if taken and items is not None:
            for k in range(taken, len(structures)):
                for _ in range(before[k] + 1 - before[0]):
                    structures[k].evict()
                structures[k].insert(items[k])
        engine.holder.count = before[0]
        if self.moment is not None:
            engine.inside = moments[0] if self.short and most <= SHORT else deque(moments[0])


class _Refused(Exception):
    """A row is not for compiled code."""


class KeyCompiler:
    """Finds the kernels for the keys of a window, and which rows are for them."""

    __slots__ = ("columns", "header", "kernels", "later", "measures", "possible", "window")

    def __init__(self, window: Window, **header: Any) -> None:
        plan: Any = window._plan
        self.window, self.measures, self.header = window, plan.measures, header
        self.possible = may_compile_keys(window)
        self.columns = [m.columns[0] if m.columns else None for m in plan.measures]
        #: for values and times of these types; and the types, as one object for all keys
        self.kernels: dict[Any, tuple[list[Kernel], Reads]] = {}
        #: of keys of many rows that were handed back: the number of the row after which they are tried again
        self.later: dict[Any, int] = {}

    def lift(self, cells: list[Any]) -> list[Any]:
        """Lift cells to what is held of them. O(1)."""
        return [cell if m.raw else m.lift(cell) for m, cell in zip(self.measures, cells, strict=True)]

    def compile(self, engine: Any, value: Any, x: Any = None) -> CompiledKey | None:
        """Let the rows of an engine go to compiled code, if there is some for such a row. O(1), and once O(rows).

        `x` is its time, in a window of time.
        """
        holder, seen = engine.holder, engine.seen
        if not self.possible or holder.structures is None or seen < self.later.get(engine.key, 0):
            return None
        cells = [value if column is None else value.get(column) for column in self.columns]
        if any(type(cell) is int and not INT64_MIN <= cell <= INT64_MAX for cell in cells):
            return None
        reads = tuple((column, type(cell)) for column, cell in zip(self.columns, cells, strict=True))
        moment = None if x is None else type(x)
        found = self._find_kernels(engine, reads, moment)
        if found is None:
            return None
        kernels, reads = found
        header = self.header
        if moment is not None:
            reach = header["reach"]
            if abs(reach) >= (EXACT if moment is float else FAR):
                return None
            header = header | {"reach": reach * 1.0 if moment is float else reach}
        state = CompiledKey.take_over(engine, kernels, reads, moment, **header)
        if state is None:
            self.later[engine.key] = seen + max(holder.count, PATIENCE)
        else:
            self.later.pop(engine.key, None)
        return state

    def _find_kernels(self, engine: Any, reads: Reads, moment: type | None) -> tuple[list[Kernel], Reads] | None:
        known = self.kernels.get((reads, moment))
        if known is not None:
            return known
        kinds = [kind for _, kind in reads]
        if not all(kind in KINDS for kind in (*kinds, *([] if moment is None else [moment]))):
            return None
        moments = None if moment is None else KINDS[moment][0]
        early = engine.seen * len(self.window._engines) < background.AFTER  # about as many rows have been
        found = [
            background.ask_for_slide(m.entry, m.aggregation, KINDS[kind][0], moments, wait=early)
            for m, kind in zip(self.measures, kinds, strict=True)
        ]
        kernels = [kernel for kernel in found if kernel is not None]
        if len(kernels) < len(found):
            return None
        self.kernels[reads, moment] = kernels, reads
        return kernels, reads

    def settle(self, state: CompiledKey, items: list[Any] | None = None) -> None:
        """Let a key go on interpreted, and not be tried again before as many rows have come as it has. O(rows held)."""
        engine = state.engine
        self.later[engine.key] = engine.seen + max(len(state), PATIENCE)
        state.settle(items)
