"""Windows event by event: rows in, the results that are due out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.events import direct
from slidewise.events.clock_guard import Now, guard_of
from slidewise.events.deadlines import Deadlines
from slidewise.events.direct_keys import DirectKeys
from slidewise.events.drifting_sources import Sources, require_none
from slidewise.events.engines.engine import Engine
from slidewise.events.idle_keys import IdleKeys
from slidewise.events.ordering import Late, Ordering, check_length
from slidewise.events.result import Failed, Result, are_alike
from slidewise.events.row_reader import Row
from slidewise.events.shared_plan import SeveralWindows, SharedPlan, plan_windows, read_windows
from slidewise.events.watermark import BEGIN, END, Mark
from slidewise.events.window_plan import Due, WindowPlan, plan_for
from slidewise.windows.clock import Clock
from slidewise.windows.definitions import WindowDefinition, require_results_that_stay
from slidewise.windows.expiry import require_expiry

if TYPE_CHECKING:
    import pyarrow as pa

    from slidewise.events.column_state import ColumnState

__all__ = ["Result", "Window"]


class Window:
    """One or more aggregations over a window, or each over its own, event by event.

    >>> import slidewise as sw
    >>> w = sw.Window(sw.max(), sw.rows(3))
    >>> [result.value for x in (5, 1, 2, 3) for result in w.push(x)]
    [5, 5, 5, 3]

    Several aggregations by name, of the columns of a row, per key:

    >>> w = sw.Window({"peak": sw.max("temp"), "n": sw.count()}, sw.time(10), partition_by="sensor")
    >>> w.push({"sensor": "a", "temp": 20.5}, time=1)      # a row of equal time may still come
    []
    >>> w.push({"sensor": "a", "temp": 19.0}, time=5)
    [Result({'peak': 20.5, 'n': 1}, key='a', time=1, row=1)]
    >>> w.flush()
    [Result({'peak': 20.5, 'n': 2}, key='a', time=5, row=2)]

    Windows of their own, over one stream: what they can share is held once, and the results of a row come together.
    Those with a slide (`every=`) give results of their own.

    >>> w = sw.Window({"peak": sw.max().over(sw.rows(100)), "high": sw.max().over(sw.rows(2))})
    >>> [result.value for x in (5, 1, 2) for result in w.push(x)]
    [{'peak': 5, 'high': 5}, {'peak': 5, 'high': 5}, {'peak': 5, 'high': 2}]

    - `emit="changes"` gives only results that differ from the last of their key (CQL's IStream).
      With `empty=True` results also change, and are given again, when rows leave the window as time passes, down to
      the result of no rows: `time` is then the first time at which they are outside, and `row` is None.
    - `max_delay` holds rows back so long, and takes them in the order of time. Rows that come later still enter those
      of their hopping windows (`sw.time("1h", every="1m")`) that were not given yet. `late` says what becomes of rows
      that belong to none, and of late rows of all other windows: "error", "drop" (`window.dropped` counts them), "mark"
      (each comes back as a result without values whose `late` is true), or "revise": the results that they change are
      given again, with a higher revision; `keep` bounds how far back.
    - `max_ahead="1h"` leaves out rows whose time is more than that ahead of the clock, and `window.ahead` counts them:
      one row of a wrong year would make all rows after it late. `clock` gives the time of now, by default the system's.
    - `sources=["a", "b"]` are several streams into one window, whose times drift apart: each row names its own,
      `push(..., source="a")`. Time has come as far as the slowest has, and rows of the others wait until then.
    - `algorithm` is "auto", or a name from `sw.list_algorithms()`.
    """

    def __init__(
        self,
        aggregation: Aggregation | type[Aggregation] | Over | Mapping[str, Aggregation | type[Aggregation] | Over],
        window: WindowDefinition | int | None = None,
        partition_by: str | Iterable[str] | None = None,
        emit: Literal["every", "changes"] = "every",
        max_delay: Any = None,
        late: Late = "error",
        keep: Any = None,
        algorithm: str = "auto",
        max_ahead: Any = None,
        clock: Now | None = None,
        sources: Iterable[str] | None = None,
        empty: bool = False,
    ) -> None:
        asked = read_windows(aggregation, window, algorithm)
        #: as it was given: whether a session has one result or one per row depends on who brings it
        self._given = (dict(aggregation) if isinstance(aggregation, Mapping) else aggregation, window)
        for each in asked.windows:
            _check(each, emit, late, keep)
        require_expiry(asked.named, emit, empty, "Window")
        delay, kept = check_length(max_delay, "max_delay"), check_length(keep, "keep")
        given = [x for x in (delay, kept, check_length(max_ahead, "max_ahead")) if x is not None]
        times = Clock("the time", [*(length for each in asked.windows for length in each.lengths), *given])
        self._guard = guard_of(times, max_ahead, clock)
        self.emit = emit
        #: the window of all aggregations; None where they bring their own
        self.window: WindowDefinition | None = None
        self._algorithm = algorithm
        self._plan: WindowPlan | SharedPlan
        if isinstance(asked, SeveralWindows):
            _refuse_revisions(asked, late)
            self._plan = plan_windows(asked, times, partition_by)
        else:
            aggregation, self.window, self._algorithm = asked
            self._plan = plan_for(
                aggregation, self.window, times, partition_by,
                revises=late == "revise", keep=kept, algorithm=self._algorithm,
            )  # fmt: skip
        self.empty = empty
        if empty:
            for output in self._plan.outputs:
                output.aggregation.require_no_questions("Window")
            self._plan.give_empties()
        self._engine: type[Engine] = self._plan.engine
        self._order = Ordering(times, delay, late, kept, None if sources is None else Sources(sources))
        self._agenda = Deadlines()
        self._engines: dict[Any, Engine] = {}
        #: keys by when their rows may have left; None before the first row, and where rows never leave
        self._idle: IdleKeys | None = None
        self._releases = self._plan.releases_keys
        #: whether engines may come to hold nothing
        self._forgets = self._engine.idle is not Engine.idle
        #: how many rows the keys have had that were released
        self._counts: dict[Any, int] = {}
        #: the last value of each key, where only changes are emitted
        self._last: dict[Any, Any] = {}
        #: whether rows have times; None before the first row
        timed = self._plan.needs_time or self._order.holds_rows or max_ahead is not None
        self._timed = True if timed else None
        self._flushed = False
        #: results that were due beside one that failed
        self._owed: list[Due] = []
        #: the last error of a result, whose row has been taken
        self._failure: Exception | None = None
        #: what has failed halfway through a row, after which nothing more is taken or given
        self._broken: str | None = None
        #: where rows go straight to the structure; whether they may, and after how many they are tried next
        self._direct: direct.Direct | None = None
        self._direct_kind = direct.kind_of_direct(self)
        self._direct_after = self._patience = direct.PATIENCE[0]
        #: the rows of batches, where these are the state in place of engines, or soon will be
        self._columns: ColumnState | None = None

    # ---- rows in, results out
    def push(self, value: Any, time: Any = None, key: Any = None, source: str | None = None) -> list[Result]:
        """Take a row, and give the results now due: of this row, and of earlier ones that waited.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.max(), sw.rows(2))
        >>> w.push(5), w.push(3)
        ([Result(5, row=1)], [Result(5, row=2)])

        The value is what the aggregation takes: a plain value, a tuple where it takes several, or a mapping
        where columns are named. A bad row is refused before anything has changed. Where computing a result fails (a
        sum that leaves 64 bits), its error is raised, and other results that are due come with the next call. O(1)
        per row with daba_lite, and O(log) of the rows held back and of the keys that wait.
        """
        way: Any = self._direct
        if way is not None:
            found: list[Result] | None = None
            if source is None:
                if key is None:
                    found = way.push(value, time)
                elif way.takes_keys:
                    found = way.push(value, time, key)
            if found is not None:
                return found
            self._leave_direct()
        if self._broken is not None or self._flushed or self._columns is not None:
            self._prepare_for_rows()
        plan, order = self._plan, self._order
        if order.sources is not None or source is not None:
            self._check_source(source, "push")
        row = plan.reader.read(value, key)
        if (time is None) is self._timed:  # which is None before the first row
            self._refuse_time(time)
        out: list[Due] = []
        if time is None:
            self._timed = False
            try:
                (self._engines.get(row.key) or self._engine_of(row.key)).insert(row, BEGIN, out)
            except BaseException as error:
                self._break(error)
                raise
            results = self._results(out)
            if self._direct_kind is not None:
                self._try_directly(row.key, value)
            return results
        if self._guard is not None and self._guard.leaves_out(time):
            order.ahead += 1
            return self._results([])
        row.time, row.stamp = plan.clock.read(time), time
        if plan.reader.timed:
            plan.reader.lift_time(row)
        if plan.names_windows:
            plan.require_within(row)
        self._timed = True
        if order.is_late(row):
            return self._push_late(row)
        try:
            if not order.holds_rows:
                self._enter(row, order.take_next(row), out)
            else:
                for ready in order.take(row, source):
                    self._enter(ready, Mark(ready.time, False), out)
            if self._agenda.is_due(order.mark):
                self._close(order.mark, out)
        except BaseException as error:
            self._break(error)
            raise
        results = self._results(out)
        if self._direct_kind is not None:
            self._try_directly(row.key, value)
        return results

    def push_many(self, batch: Any, time: Any = None, key: Any = None, source: str | None = None) -> pa.Table:
        """Take the rows of a batch, as columns, and give the results now due as an Arrow table.

        >>> import numpy as np, slidewise as sw
        >>> w = sw.Window({"peak": sw.max("temp")}, sw.rows(2), partition_by="sensor")
        >>> w.push_many({"sensor": ["a", "b", "a"], "temp": np.array([20.5, 19.0, 18.0])}).to_pylist()[-1]
        {'sensor': 'a', 'row': 2, 'peak': 20.5}

        The results are those of `push` for one row after the other, in the same order; sums of floats may differ in
        the last digits, as rows are added in another order. A batch is an Arrow table or record batch, a data frame
        or a dict of arrays; where aggregations name no columns, an array, or a tuple of arrays for several values.
        `time` and `key` are names of columns of the batch, or arrays beside it; `source` is that of all of its rows.

        >>> w = sw.Window(sw.sum(), sw.time(10))
        >>> w.push_many(np.array([1.0, 2.0, 4.0]), time=np.array([1, 5, 12])).to_pydict()
        {'time': [1, 5], 'row': [1, 2], 'value': [1.0, 3.0]}

        Windows of the last rows and of the last time (`sw.rows(n)`, `sw.time(size)`) with rows in order go at the speed
        of columns, others row by row. Rows may come by `push` between batches: then a window's worth of rows goes row
        by row. Where a row of a batch is refused, those before it have been taken, and their results come with the next
        call.
        """
        from slidewise.events.batches import take_batch  # loads columns on first use

        self._require_whole()
        if self._flushed:
            raise InvalidInput("push_many: the window was flushed, which ends its stream. Make a new Window")
        self._check_source(source, "push_many")
        try:
            return take_batch(self, batch, time, key, source)
        except Exception:
            raise
        except BaseException as error:  # Ctrl-C: some rows of the batch have been taken
            self._break(error)
            raise

    def advance(self, time: Any, source: str | None = None) -> list[Result]:
        """Say that no row of this time or earlier will follow, for any key; gives the results that waited.

        With a `source`, no such row will follow from there: so that one which is silent does not hold time back.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.sum(), sw.time(60, every=60))
        >>> w.push(1.5, time=10, key="a")
        []
        >>> w.advance(60)
        [Result(1.5, key='a', time=60, start=0, end=60)]
        """
        self._require_whole()
        if self._flushed:
            return self._results([])
        if self._timed is False:
            raise InvalidInput(f"advance: the rows of this window have no times, got {time!r}. Use flush()")
        if source is not None:
            self._check_source(source, "advance")
        at = self._plan.clock.read(time)
        self._leave_columns()
        self._timed = True
        return self._move(Mark(at, True), source)

    def flush(self) -> list[Result]:
        """Say that no row will follow; gives all results that still wait.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.count(), sw.time(60, every=60))
        >>> w.push("a", time=10), w.flush()
        ([], [Result(1, time=60, start=0, end=60)])

        Slides that are not complete give none: every=k at rows k, 2k, ... only, and a punctuation only where
        one came. A window by time is complete at the end.
        """
        self._require_whole()
        if self._flushed:
            return self._results([])
        self._leave_columns()
        self._flushed = True
        return self._move(END)

    def peek(self) -> list[Result]:
        """Give the results that still wait, as if no row followed, and leave the window as it is. O(state).

        They are those of flush(), but for `final`, which is false: of a dashboard, the windows that are open.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.sum(), sw.time(60, every=60))
        >>> w.push(1.5, time=10, key="a")
        []
        >>> w.peek()
        [Result(1.5, key='a', time=60, start=0, end=60, final=False)]
        """
        copy = self.from_bytes(self.to_bytes())
        copy._plan.stop_empties()  # those come with time that has not passed
        return [replace(result, final=False) for result in copy.flush()]

    # ---- about the state
    @property
    def dropped(self) -> int:
        """How many late rows were left out.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.count(), sw.time(10), late="drop")
        >>> for time in (5, 20, 7): results = w.push("a", time=time)
        >>> w.dropped
        1
        """
        return self._order.dropped

    @property
    def ahead(self) -> int:
        """How many rows were left out that were further ahead of the clock than max_ahead."""
        return self._order.ahead

    @property
    def watermark(self) -> Any:
        """The time up to which the rows are complete; None before the first row.

        >>> import slidewise as sw
        >>> w = sw.Window(sw.count(), sw.time(10), max_delay=5)
        >>> w.push("a", time=18), w.watermark
        ([], 13)
        """
        self._tell_time()
        mark = self._order.mark
        if mark is BEGIN or mark.ended or not self._plan.clock.can_write(mark.time):
            return None
        return self._plan.clock.write(mark.time)

    def partials(self) -> int:
        """Count the partials that stand for the rows held, over all keys and aggregations.

        Rows that are combined into slices on arrival count once per slice. An algorithm's own extra (its space
        in `sw.list_algorithms()`) is not counted.
        """
        self._leave_columns()
        held = len(self._order.held) * len(self._plan.measures)
        return held + sum(engine.partials() for engine in self._engines.values())

    @property
    def algorithms(self) -> dict[str, str]:
        """The algorithm of each aggregation, by name.

        >>> import slidewise as sw
        >>> sw.Window({"peak": sw.max(), "mean": sw.avg()}, sw.rows(100)).algorithms
        {'peak': 'daba_lite', 'mean': 'daba_lite'}
        """
        return self._plan.algorithms

    # ---- state as bytes
    def to_bytes(self) -> bytes:
        """Save the whole state: versioned, with a checksum and the fingerprint of this definition. O(state).

        >>> import slidewise as sw
        >>> w = sw.Window(sw.max(), sw.rows(2))
        >>> w.push(5)
        [Result(5, row=1)]
        >>> later = sw.Window(sw.max(), sw.rows(2)).from_bytes(w.to_bytes())
        >>> later.push(3)
        [Result(5, row=2)]
        """
        from slidewise.events import snapshot  # loads on first use

        self._require_whole()
        self._leave_columns()
        return snapshot.save(self)

    def from_bytes(self, data: bytes) -> Window:
        """Build a new window of this definition with the state that to_bytes() gave; this one is left alone.

        Damaged bytes, and those of another definition or a newer version, are refused with a StateError.
        """
        from slidewise.events import snapshot

        new = Window(
            *self._given,
            partition_by=self._plan.reader.partition_by,
            emit=self.emit,
            max_delay=self._order.max_delay,
            late=self._order.late,
            keep=self._order.keep,
            algorithm=self._algorithm,
            max_ahead=None if self._guard is None else self._guard.max_ahead,
            clock=None if self._guard is None else self._guard.now,
            sources=None if self._order.sources is None else list(self._order.sources.marks),
            empty=self.empty,
        )
        snapshot.load(new, data)
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Let a copy have the engines: compiled code has its state where that of the copy is not."""
        self._leave_direct()
        return self.__dict__

    def __repr__(self) -> str:
        return f"Window({self._plan.given!r}{'' if self.window is None else f', {self.window!r}'})"

    # ---- steps
    def _try_directly(self, key: Any, value: Any) -> None:
        """Let rows go straight to the structure from now on, if the window is so far. O(1)."""
        self._direct_after -= 1
        if self._direct_after > 0:
            return
        self._direct_after = self._patience
        try:
            self._direct = direct.go_directly(self, key, value)
        except BaseException as error:
            self._break(error)
            raise

    def _tell_time(self) -> None:
        """Let the direct way tell how far time has come. O(1)."""
        if self._direct is not None:
            self._direct.sync()

    def _leave_direct(self) -> None:
        """Let rows go to the engine again, which is then as if they had all along. O(1) amortised over rows."""
        if self._direct is not None:
            try:
                held = self._direct.leave()
            except BaseException as error:
                self._break(error)
                raise
            self._direct = None
            self._patience = min(2 * self._patience, direct.PATIENCE[1])
            if held > direct.MANY:
                self._patience = held
            self._direct_after = self._patience

    def _break(self, error: BaseException) -> None:
        """Note that a row has failed halfway; also by Ctrl-C, or a timer that raises an error."""
        self._broken, self._direct = f"{type(error).__name__}: {error}", None

    def _leave_columns(self) -> None:
        """Let engines hold all rows: those that came by push_many, and what the direct way holds. O(rows held)."""
        self._leave_direct()
        state, self._columns = self._columns, None
        if state is not None and state.complete:
            from slidewise.events.column_state import give_to_engines

            try:
                give_to_engines(self, state)
            except BaseException as error:
                self._break(error)
                raise

    def _prepare_for_rows(self) -> None:
        """Refuse rows where none can be taken, and let engines hold those that came by push_many."""
        self._require_whole()
        if self._flushed:
            raise InvalidInput("push: the window was flushed, which ends its stream. Make a new Window")
        self._leave_columns()

    def _refuse_time(self, time: Any) -> None:
        if time is None:
            raise InvalidInput(
                f"push: {self._plan.definition!r} here needs the time of every row: push(value, time=...)"
            )
        raise InvalidInput(f"push: the rows before had no times, and this one has {time!r}. Give all or none")

    def _push_late(self, row: Row) -> list[Result]:
        """Take a late row into windows that are open, or let it revise results, or leave it out."""
        plan, order = self._plan, self._order
        enters = plan.takes_late_rows and plan.is_open(row, order.mark)
        if not enters and not order.accept_late(row, plan.takes_late_rows):
            marked = [plan.mark_late(row)] if order.late == "mark" else []
            return self._results([]) + marked
        out: list[Due] = []
        try:
            engine = self._engine_of(row.key)
            if enters:
                engine.insert_late(row, order.mark)
            else:
                engine.revise(row, order.mark, out)
            self._agenda.set(row.key, engine.deadline())
        except BaseException as error:
            self._break(error)
            raise
        return self._results(out)

    def _engine_of(self, key: Any) -> Engine:
        engine = self._engines.get(key)
        if engine is None:
            engine = self._engines[key] = self._engine(self._plan, key)
            if self._counts and (seen := self._counts.pop(key, None)):
                engine.resume(seen)
        return engine

    def _enter(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Give the next row in order to its key; what is due before it comes first. `mark` is just before its time."""
        if self._agenda.is_due(mark):
            self._close(mark, out)
        engine = self._engines.get(row.key)
        if engine is None:
            engine = self._engine_of(row.key)
            if self._releases:
                self._watch(row.key, row.time)
        engine.insert(row, mark, out)
        if self._forgets and engine.idle:  # the row is in no window
            del self._engines[row.key]
            return
        self._agenda.set(row.key, engine.deadline())

    def _watch(self, key: Any, time: Any) -> None:
        """Note a key whose rows leave with time. O(1)."""
        if self._idle is None:
            self._idle = IdleKeys(self._plan.measure_reach())
        self._idle.watch(key, time)

    def _release_idle(self) -> None:
        """Let go of the keys whose rows have all left. O(1) amortised for each, and per reach of the window."""
        assert self._idle is not None
        mark = self._order.mark.time
        way: Any = self._direct if isinstance(self._direct, DirectKeys) else None
        for key in self._idle.take_due(mark):
            engine = self._engines[key]
            newest = engine.newest() if way is None else way.find_newest(key, engine)
            if newest is not None and not newest + self._idle.reach < mark:
                self._idle.watch(key, newest)
            elif engine.deadline() is not None:  # its last result is due with the next row of any key
                self._idle.watch(key, mark)
            else:
                if self._plan.numbers_rows:
                    self._counts[key] = engine.seen  # type: ignore[attr-defined]
                del self._engines[key]
                if way is not None:
                    way.forget(key)

    def _close(self, mark: Mark, out: list[Due]) -> None:
        """Advance the watermark to `mark`: every key emits what is due."""
        for key in self._agenda.due(mark):
            engine = self._engines[key]
            engine.release(mark, out)
            if engine.idle:
                del self._engines[key]
            else:
                deadline = engine.deadline()
                waits_for_rows = deadline is not None and mark.meets(deadline)
                self._agenda.set(key, None if waits_for_rows else deadline)

    def _check_source(self, source: Any, what: str) -> None:
        """Refuse a source that the window does not have, and none where it has some."""
        if self._order.sources is None:
            require_none(source, what)
        else:
            self._order.sources.require(source, what)

    def _move(self, mark: Mark, source: str | None = None) -> list[Result]:
        out: list[Due] = []
        try:
            for row in self._order.advance(mark, source):
                self._enter(row, Mark(row.time, False), out)
            self._close(self._order.mark, out)
            if mark.ended:
                for engine in self._engines.values():
                    engine.release(END, out)
        except BaseException as error:
            self._break(error)
            raise
        return self._results(out)

    def _results(self, out: list[Due]) -> list[Result]:
        """Return the results in the order in which they were due, or only those that are news."""
        idle = self._idle
        if idle is not None and idle.next is not None and not self._flushed and idle.next < self._order.mark[0]:
            try:
                self._release_idle()
            except BaseException as error:
                self._break(error)
                raise
        if len(out) < 2 and not self._owed and not self._plan.failed and self.emit == "every":
            return [out[0][1]] if out else []  # type: ignore[list-item]
        if len(out) > 1 and self._timed:
            out.sort(key=lambda entry: entry[0])
        if self.emit == "changes":
            out = [entry for entry in out if isinstance(entry[1], Failed) or self._is_news(entry[1])]
        if self._owed:
            out, self._owed = self._owed + out, []
        if self._plan.failed:
            self._raise_first(out)
        return [result for _, result in out]  # type: ignore[misc]

    def _raise_first(self, out: list[Due]) -> None:
        """Raise the first error among the results; the others are owed."""
        failures = [k for k, (_, result) in enumerate(out) if isinstance(result, Failed)]
        self._plan.failed = len(failures) > 1
        self._owed = [*out[: failures[0]], *out[failures[0] + 1 :]]
        self._leave_direct()
        self._failure = out[failures[0]][1].error  # type: ignore[union-attr]
        raise self._failure

    def _require_whole(self) -> None:
        if self._broken is not None:
            raise InvalidInput(
                f"the window failed halfway through an earlier row ({self._broken}), and its rows are no longer whole. "
                "Make a new Window, or load the last state with from_bytes()"
            )

    def _is_news(self, result: Result) -> bool:
        stream, last = self._plan.stream_of(result), self._last
        if self.empty:  # what is not there is empty
            nothing = self._plan.find_empty_value(result)
            is_news = not are_alike(last.get(stream, nothing), result.value)
            if are_alike(nothing, result.value):
                last.pop(stream, None)
            else:
                last[stream] = result.value
            return is_news
        if stream in last and are_alike(last[stream], result.value):
            return False
        last[stream] = result.value
        return True


def _refuse_revisions(several: SeveralWindows, late: Late) -> None:
    if late == "revise":
        raise InvalidInput(
            'Window: late="revise" gives a result again when a late row has changed it, and here the results of a row '
            f"come together, of {len(several.windows)} windows, of which the row changes some. "
            'Use a Window for each of the windows, or late="drop"'
        )


def _check(window: WindowDefinition, emit: Any, late: Any, keep: Any) -> None:
    """Refuse what cannot be meant."""
    if window.is_explicit:
        raise InvalidInput("Window: frames(start, end) are row numbers of a column. Use slidewise.rolling")
    if emit not in ("every", "changes"):
        raise InvalidInput(f'Window: emit is "every" or "changes", got {emit!r}')
    if late not in ("error", "drop", "mark", "revise"):
        raise InvalidInput(f'Window: late is "error", "drop", "mark" or "revise", got {late!r}')
    if late != "revise":
        if keep is not None:
            raise InvalidInput(f'Window: keep= bounds what late="revise" keeps, got keep={keep!r} with late={late!r}')
        return
    if emit == "changes":
        raise InvalidInput(
            'Window: emit="changes" compares with the last result, and late="revise" may change that later. '
            "Use one of the two"
        )
    require_results_that_stay(window, "Window")
