"""Batches of rows at the speed of columns: the rows that frames still reach, as Arrow, in place of engines.

Frames that end with their own row need only the rows that they reach back to. These are kept as they came, and a batch
is one call of `columns` over them and the new rows. `push` and everything else needs engines: the rows are then
given to new ones, one by one, which is O(rows kept) once. The other way there is no way back from partials to rows: a
window whose engines hold rows takes batches row by row, and keeps them beside, until frames reach no further back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.sources import Arrays
from slidewise.errors import SlidewiseError
from slidewise.events.batch import TIME, Batch
from slidewise.events.deadlines import Deadlines
from slidewise.events.engines.sliding import Sliding
from slidewise.events.engines.trailing import Trailing
from slidewise.events.result_table import ResultTable, bind, is_own
from slidewise.events.row_reader import one_nan
from slidewise.events.watermark import BEGIN, Mark
from slidewise.events.window_plan import WindowPlan
from slidewise.windows.definitions import RowsWindow
from slidewise.windows.durations import UNITS

if TYPE_CHECKING:
    from slidewise.events.window import Window

#: A row that is kept takes 20 to 100 ns in each batch, a batch 1 ms, and a row by push 10 to 30 us.
WORTH = 200
CALL = 20_000
#: sketches whose answers depend on how rows were merged
_BY_MERGES = ("approx_percentile", "approx_count_distinct", "count_min_sketch", "bloom_filter", "moment_sketch")


class ColumnState:
    """The rows that came by push_many and that frames may still reach, in the order in which they came."""

    __slots__ = ("complete", "numbers", "pending", "rows", "since", "table")

    def __init__(self, table: ResultTable, rows: Batch, since: Mark) -> None:
        #: the columns of results, which are the same for all batches of these types
        self.table = table
        self.rows = rows
        #: the number of each row in its key; only where these rows are the whole state
        self.numbers = np.zeros(0, np.int64)
        #: how many of the last rows have no result yet: others of their time may follow
        self.pending = 0
        #: how far time had come before them
        self.since = since
        #: whether these rows are the whole state, and there are no engines
        self.complete = False


class Times(NamedTuple):
    """The times of a batch."""

    #: as numbers in the unit of their column, and how many of the clock's units that is
    x: np.ndarray
    unit: int
    #: the first and the last along the axis of the clock
    first: Any
    last: Any


def can_take_batches(window: Window) -> bool:
    """Tell whether batches of this window can go by columns: one frame per row that ends with it, and rows in order."""
    plan = window._plan
    if not isinstance(plan, WindowPlan) or plan.frame is None or plan.reader.looks:
        return False
    reach, definition = plan.frame.reach, plan.definition
    plain = (
        window.emit == "every"
        and window._algorithm == "auto"
        and window._guard is None
        and not window._order.holds_rows
        and window._order.late != "revise"
        and definition.every is None
        and definition.session_gap is None
    )
    if not plain or reach.exclude is not None or any(o.aggregation.name in _BY_MERGES for o in plan.outputs):
        return False
    if plan.engine is Trailing:
        return definition.trailing_rows is not None
    return plan.engine is Sliding and reach.unit == "range" and reach.fixed and not reach.end and plan.least == 1


def is_worth_it(state: ColumnState | None, batch: Batch) -> bool:
    """Tell whether columns take less time for a batch than push does, or will once they are the state."""
    return CALL + (0 if state is None else len(state.rows)) <= WORTH * len(batch)


def are_of_plain_types(plan: WindowPlan, batch: Batch) -> bool:
    """Tell whether columns and push see the same values: not where numbers of a user's own could wrap around."""
    own = any(is_own(o.aggregation) for o in plan.outputs)
    for name, kind in batch.types.items():
        if name == TIME or name in batch.keys:
            continue
        if own and not pa.types.is_float64(kind):
            return False
        if not (
            (pa.types.is_integer(kind) and kind != pa.uint64())
            or pa.types.is_float64(kind)
            or pa.types.is_float32(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
        ):
            return False
    return all(
        pa.types.is_integer(k) or pa.types.is_string(k) or pa.types.is_large_string(k) or pa.types.is_boolean(k)
        for k in (batch.columns[key].type for key in batch.keys)
    ) and (batch.arity is not None or all(o.aggregation.columns or o.measure is None for o in plan.outputs))


def read_times(window: Window, batch: Batch) -> Times | None:
    """Read times that are all there, finite and in order; None where they are not, which push tells in its words."""
    column = batch.time
    if column is None or column.null_count:
        return None
    kind, unit = column.type, 1
    if pa.types.is_timestamp(kind):
        x, unit = column.cast(pa.int64()).to_numpy(), UNITS[kind.unit]
    elif pa.types.is_date32(kind):
        x = column.cast(pa.int32()).to_numpy()
    elif pa.types.is_floating(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
        x = column.to_numpy()
    else:
        return None
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        return None
    try:
        first, last = column[0].as_py(), column[-1].as_py()
    except (ValueError, OverflowError):  # a year that datetimes have not
        return None
    clock = window._plan.clock
    if clock.kind == "datetime64":
        first, last = np.datetime64(first), np.datetime64(last)
    return Times(x, unit, clock.read(first), clock.read(last))


# ---- a batch by columns
def take_by_columns(window: Window, state: ColumnState, batch: Batch, times: Times | None) -> pa.Table | None:
    """Take a batch in order, and return its results; None, and nothing has changed, where columns cannot take it."""
    plan = window._plan
    assert isinstance(plan, WindowPlan) and plan.frame is not None
    known, old = state.rows, len(state.rows)
    rows = known.append(batch)
    by_time = plan.engine is Sliding
    each_row = plan.definition
    if isinstance(each_row, RowsWindow):  # which results there are is told by the numbers of rows
        each_row = replace(each_row, min_rows=1)
    named = {
        name: Over(bind(output.aggregation, batch), each_row)
        for name, output in zip(state.table.outputs, plan.outputs, strict=True)
    }
    source = Arrays(rows.columns)
    try:
        frame = ArrangedFrame(source, list(batch.keys), [OrderColumn(TIME)] if by_time else [])
        values = Evaluation(frame, named.values(), 1).columns(named)
    except (SlidewiseError, ArithmeticError, pa.ArrowException):
        return None
    numbers, resumed = _number_rows(window, state, rows, frame)
    # ---- from here on the batch is taken
    for key in resumed:
        del window._counts[key]
    window._timed = times is not None
    x = None
    if times is not None:
        window._order.newest, window._order.mark = times.last, Mark(times.last, False)
    start, stop = old - state.pending, len(rows)
    if by_time:
        assert times is not None
        x = _as_numbers(rows)
        if not plan.frame.open_end:  # rows of the newest time wait for others
            stop = int(np.searchsorted(x, x[-1]))
    state.pending = len(rows) - stop
    order = _order_results(plan, frame, x, start, stop)
    if plan.least > 1:
        order = start + np.flatnonzero(numbers[start:stop] >= plan.least)
    columns = {name: rows.columns[name] for name in batch.keys} | values
    where = {"row": pa.array(numbers)} | ({} if rows.time is None else {"time": rows.time})
    chosen = {
        name: c.slice(start, stop - start) if order is None else c.take(pa.array(order))
        for name, c in (columns | {f"\0{name}": c for name, c in where.items()}).items()
    }
    found = state.table.build(
        {name: chosen[name] for name in batch.keys},
        {name: chosen[f"\0{name}"] for name in where},
        {name: chosen[name] for name in values},
    )
    _let_go(window, state, rows, numbers, frame, times)
    return found


def _as_numbers(rows: Batch) -> np.ndarray:
    time = rows.time
    assert time is not None
    if pa.types.is_timestamp(time.type):
        time = time.cast(pa.int64())
    elif pa.types.is_date32(time.type):
        time = time.cast(pa.int32())
    return time.to_numpy()


def _number_rows(window: Window, state: ColumnState, rows: Batch, frame: ArrangedFrame) -> tuple[np.ndarray, list[Any]]:
    """Give the rows of each key their numbers, and list the keys that go on from a count alone."""
    old, counts = len(state.rows), window._counts
    offsets = frame.offsets
    lengths = np.diff(offsets)
    filled = lengths > 0
    begins = offsets[:-1][filled]
    permutation = frame.arrangement.permutation
    firsts = begins if permutation is None else permutation[begins]
    starts = np.ones(len(firsts), np.int64)
    known = firsts < old
    starts[known] = state.numbers[firsts[known]]
    resumed = []
    if counts:
        fresh = np.flatnonzero(~known)
        for k, key in zip(fresh.tolist(), list_keys(window, rows, firsts[fresh]), strict=True):
            if key in counts:
                starts[k] = counts[key] + 1
                resumed.append(key)
    arranged = np.repeat(starts, lengths[filled]) + frame.places
    return frame.arrangement.restore(arranged), resumed


def list_keys(window: Window, rows: Batch, at: np.ndarray) -> list[Any]:
    """List the keys of some rows, as engines have them."""
    if not rows.keys:
        return [None] * len(at)
    places = pa.array(at)
    lists = [[one_nan(key) for key in rows.columns[name].take(places).to_pylist()] for name in rows.keys]
    return list(zip(*lists, strict=True)) if isinstance(window._plan.reader.partition_by, list) else lists[0]


def _order_results(
    plan: WindowPlan, frame: ArrangedFrame, x: np.ndarray | None, start: int, stop: int
) -> np.ndarray | None:
    """Order the results of equal times as push gives them, key by key; None: they stand so."""
    if x is None or plan.frame.open_end or len(frame.offsets) <= 2:  # type: ignore[union-attr]
        return None
    if stop - start < 2:
        return None
    same = x[start + 1 : stop] == x[start : stop - 1]
    if not same.any():
        return None
    keys = np.repeat(np.arange(len(frame.offsets) - 1), np.diff(frame.offsets))
    keys = frame.arrangement.restore(keys)[start:stop]
    moments = np.append(0, np.cumsum(~same))
    _, first, group = np.unique(moments * len(frame.offsets) + keys, return_index=True, return_inverse=True)
    return start + np.argsort(first[group], kind="stable")


def _let_go(
    window: Window, state: ColumnState, rows: Batch, numbers: np.ndarray, frame: ArrangedFrame, times: Times | None
) -> None:
    """Keep the rows that frames may still reach."""
    plan = window._plan
    assert isinstance(plan, WindowPlan) and plan.frame is not None
    if plan.engine is Sliding:
        assert times is not None
        extent = plan.frame.extent()
        assert extent is not None
        limit = times.last + extent[0]
        limit = -(-limit // times.unit) if times.unit > 1 else limit
        first = int(np.searchsorted(_as_numbers(rows), limit))
        if plan.numbers_rows:
            _count_keys_gone(window, rows, numbers, frame, first)
        rows, numbers = rows.slice(first), numbers[first:]
    elif not rows.keys:
        n = plan.definition.trailing_rows
        assert n is not None
        first = max(0, len(rows) - n)
        rows, numbers = rows.slice(first), numbers[first:]
    else:
        lengths = np.diff(frame.offsets)
        after = np.repeat(lengths, lengths) - frame.places
        kept = frame.arrangement.restore(after <= plan.definition.trailing_rows)
        if 4 * np.count_nonzero(kept) < 3 * len(kept):  # fewer are not worth a copy
            rows, numbers = rows.filter(kept), numbers[kept]
    state.rows, state.numbers = rows, numbers


def _count_keys_gone(window: Window, rows: Batch, numbers: np.ndarray, frame: ArrangedFrame, first: int) -> None:
    """Keep the counts of keys all of whose rows have left."""
    if not first:
        return
    filled = np.diff(frame.offsets) > 0
    ends = frame.offsets[1:][filled] - 1
    permutation = frame.arrangement.permutation
    lasts = ends if permutation is None else permutation[ends]
    gone = lasts[lasts < first]
    for key, number in zip(list_keys(window, rows, gone), numbers[gone].tolist(), strict=True):
        window._counts[key] = number


# ---- from rows to engines, and from engines to rows
def give_to_engines(window: Window, state: ColumnState) -> None:
    """Let new engines hold the rows that are kept, in place of columns. O(rows kept)."""
    order, plan = window._order, window._plan
    mark, newest, failed = order.mark, order.newest, plan.failed
    rows, numbers = state.rows, state.numbers
    if len(rows):
        first_of: dict[Any, int] = {}
        keys = list_keys(window, rows, np.arange(len(rows)))
        for key, number in zip(keys, numbers.tolist(), strict=True):
            first_of.setdefault(key, number - 1)
        window._counts |= {key: seen for key, seen in first_of.items() if seen}
        order.mark = BEGIN
        for value, time, key in rows.one_by_one(plan.clock.kind == "datetime64"):
            row = plan.reader.read(value, key)
            if time is None:
                window._engine_of(row.key).insert(row, BEGIN, [])
                continue
            row.time, row.stamp = plan.clock.read(time), time
            window._enter(row, order.take_next(row), [])
            window._close(order.mark, [])
    order.mark, order.newest = mark, newest
    plan.failed = failed  # results over less than their frames are none


def take_from_engines(window: Window, state: ColumnState) -> None:
    """Let the rows that are kept be the state in place of engines, where frames reach no others. O(rows + keys)."""
    window._leave_direct()
    plan = window._plan
    assert isinstance(plan, WindowPlan) and plan.frame is not None
    rows = state.rows
    frame = ArrangedFrame(Arrays(rows.columns), list(rows.keys), []) if len(rows) else None
    seen: dict[Any, int] = {}
    segments: list[tuple[Any, int]] = []
    if frame is not None:
        lengths = np.diff(frame.offsets)
        begins = frame.offsets[:-1][lengths > 0]
        permutation = frame.arrangement.permutation
        firsts = begins if permutation is None else permutation[begins]
        segments = list(zip(list_keys(window, rows, firsts), lengths[lengths > 0].tolist(), strict=True))
        seen = dict(segments)
    if not _reaches_only(window, state, seen):
        return
    if frame is not None:
        bases = []
        for key, length in segments:
            engine: Any = window._engines.get(key)
            bases.append((window._counts.get(key, length) if engine is None else engine.seen) - length + 1)
        lengths = np.array([length for _, length in segments], np.int64)
        state.numbers = frame.arrangement.restore(np.repeat(np.array(bases, np.int64), lengths) + frame.places)
        if plan.engine is Sliding and not plan.frame.open_end:
            x = _as_numbers(rows)
            state.pending = len(x) - int(np.searchsorted(x, x[-1]))
    for key, engine in window._engines.items():
        if key not in seen and plan.numbers_rows:
            window._counts[key] = engine.seen
    for key in seen:
        window._counts.pop(key, None)
    window._engines, window._agenda, window._idle = {}, Deadlines(), None
    state.complete = True


def _reaches_only(window: Window, state: ColumnState, seen: dict[Any, int]) -> bool:
    """Tell whether frames of rows to come reach only rows that are kept."""
    plan, engines = window._plan, window._engines
    assert isinstance(plan, WindowPlan) and plan.frame is not None
    if not engines:
        return True
    if plan.engine is Sliding:
        extent = plan.frame.extent()
        assert extent is not None
        return state.since is BEGIN or bool(window._order.mark.time + extent[0] > state.since.time)
    n = plan.definition.trailing_rows
    assert n is not None
    return all(min(engine.seen, n) <= seen.get(key, 0) for key, engine in engines.items())  # type: ignore[attr-defined]
