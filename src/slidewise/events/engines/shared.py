"""Several windows over one stream: each has an engine of its own, and what they hold in common is held once.

The results of a row come together, when the last of them is due; windows with a slide give their own.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from slidewise.events.engines.engine import Engine
from slidewise.events.result import Failed, Result
from slidewise.events.row_reader import Row, SharedRow
from slidewise.events.shared_partials import SharedPartials
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.shared_plan import PartPlan, SharedPlan
    from slidewise.events.window_plan import Due


class Awaited:
    """A row whose results have not all come: those that have, by name; None after one has failed."""

    __slots__ = ("missing", "number", "stamp", "time", "values")

    def __init__(self, row: Row, number: int, missing: int, values: dict[str, Any]) -> None:
        self.number, self.time, self.stamp = number, row.time, row.stamp
        #: how many windows have not given theirs
        self.missing = missing
        self.values: dict[str, Any] | None = values


class SharedWindows(Engine):
    """The rows of one key under several windows."""

    __slots__ = ("awaited", "engines", "given", "key", "plan", "seen", "stores")

    def __init__(self, plan: SharedPlan, key: Any) -> None:
        self.plan = plan
        self.key = key
        self.seen = 0
        self.stores = [SharedPartials(plan.measures[s.measure], s.behind) for s in plan.stored]
        self.engines: list[Any] = [self.build_engine(part) for part in plan.parts]
        #: of each window, the last row of which it has given the result, or has none to give
        self.given = [part.least - 1 for part in plan.parts]
        self.awaited: deque[Awaited] = deque()

    def build_engine(self, part: PartPlan) -> Engine:
        """Build the engine of one window."""
        engine = part.engine(part, self.key)
        if part.shares:
            engine.share([None if k is None else self.stores[k] for k in part.shared])
        return engine

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row: each structure once, then each window. The costs are those of the structures.

        Frames that end before this row have been asked for, at their deadline: the structures have no row after them.
        """
        assert isinstance(row, SharedRow)
        self.seen += 1
        if missing := self.plan.count_results(self.seen):
            self.awaited.append(Awaited(row, self.seen, missing, dict.fromkeys(self.plan.joined)))
        for store, stored in zip(self.stores, self.plan.stored, strict=True):
            if not stored.behind:
                store.insert(row.items[stored.measure])
        due: list[Any] = []
        for k, part in enumerate(self.plan.parts):
            self.engines[k].insert(row if part.takes_any_row else _separate(row, k, part), mark, due)
            if due:
                self._collect(k, due, out)
        self._settle(out)

    def insert_late(self, row: Row, mark: Mark) -> None:
        """Take a late row into the open windows: they hold what they need by themselves."""
        assert isinstance(row, SharedRow)
        self.seen += 1
        for k, part in enumerate(self.plan.parts):
            if part.is_open(row, mark):
                self.engines[k].insert_late(row if part.takes_any_row else _separate(row, k, part), mark)

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Give the results that are due. The costs are those of the structures."""
        due: list[Any] = []
        for k, engine in enumerate(self.engines):
            engine.release(mark, due)
            if due:
                self._collect(k, due, out)
        self._settle(out)
        if self.plan.empties:
            self._expire(mark, out)

    # ---- as time passes without rows
    def _next_change(self) -> Any:
        """Return the next time at which rows leave a window by time; None: at none. O(windows)."""
        if self.awaited:
            return None
        found = (self.engines[k].next_change() for k in self.plan.leaving)
        return min((at for at in found if at is not None), default=None)

    def _expire(self, mark: Mark, out: list[Due]) -> None:
        """Give the results of all windows at the times at which rows have left one, up to `mark`."""
        plan = self.plan
        while (at := self._next_change()) is not None and mark.has_passed(at):
            values = dict.fromkeys(plan.joined)
            for k, part in enumerate(plan.parts):
                engine = self.engines[k]
                if not part.each_row or engine.seen < part.least:
                    continue
                holder = engine.holder
                seen, count = engine.see_at(at) if k in plan.leaving else (holder.query(), holder.count)
                found = part.result(seen, count, self.key, plan.clock.write(at))
                if isinstance(found, Failed):
                    plan.failed = True
                    out.append((at, found))
                    break
                values |= found
            else:
                out.append((at, Result(values, self.key, time=plan.clock.write(at))))
            self._settle(out)

    def _collect(self, k: int, due: list[Any], out: list[Due]) -> None:
        """Take the results of one window: those of rows are put together, those of slides are given as they are."""
        for when, result in due:
            failed = isinstance(result, Failed)
            if failed:
                self.plan.failed = True
            if not self.plan.parts[k].each_row:
                out.append((when, result))
                continue
            self.given[k] += 1
            awaited = self.awaited[self.given[k] - self.awaited[0].number]
            awaited.missing -= 1
            if awaited.values is None:
                continue
            if failed:
                out.append((when, result))
                awaited.values = None
            else:
                awaited.values |= result
        due.clear()

    def _settle(self, out: list[Due]) -> None:
        """Give the rows whose results have all come, and let go what no window needs any more."""
        while self.awaited and not self.awaited[0].missing:
            row = self.awaited.popleft()
            if row.values is not None:
                out.append((row.time, Result(row.values, self.key, time=row.stamp, row=row.number)))
        for store, stored in zip(self.stores, self.plan.stored, strict=True):
            store.evict_before(min([self.engines[k].holder.first for k in stored.asking]))

    def newest(self) -> Any:
        return max((time for engine in self.engines if (time := engine.newest()) is not None), default=None)

    def resume(self, seen: int) -> None:
        self.seen = seen
        self.given = [max(given, seen) for given in self.given]
        for store in self.stores:
            store.first = store.end = seen
        for engine in self.engines:
            engine.resume(seen)

    def deadline(self) -> Deadline | None:
        """Return when the next result of any window is due. O(windows)."""
        found = [d for engine in self.engines if (d := engine.deadline()) is not None]
        if self.plan.empties and (at := self._next_change()) is not None:
            found.append((at, True))
        return min(found, default=None)

    @property
    def idle(self) -> bool:
        return all(engine.idle for engine in self.engines)

    def partials(self) -> int:
        # rows that no window has yet are not in a store that is behind, and yet are held for it
        return sum(self.seen - store.first for store in self.stores) + sum(e.partials() for e in self.engines)


def _separate(row: SharedRow, k: int, part: PartPlan) -> Row:
    """Make the row as one of the windows sees it."""
    own = Row([row.items[i] for i in part.items], row.key)
    own.time, own.stamp = row.time, row.stamp
    own.size_value, own.slide_value, own.start, own.end = row.windows[k]
    return own
