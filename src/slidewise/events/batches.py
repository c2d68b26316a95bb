"""push_many: a batch goes by columns where it can, and row by row where not, with the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.events.batch import TIME, Batch, read_batch
from slidewise.events.column_state import (
    ColumnState,
    Times,
    are_of_plain_types,
    can_take_batches,
    is_worth_it,
    read_times,
    take_by_columns,
    take_from_engines,
)
from slidewise.events.result import Failed, Result
from slidewise.events.result_table import ResultTable
from slidewise.events.window_plan import Due, WindowPlan

if TYPE_CHECKING:
    from slidewise.events.window import Window


def take_batch(window: Window, data: Any, time: Any, key: Any, source: str | None = None) -> pa.Table:
    """Take the rows of a batch, and return the results now due as a table."""
    batch = read_batch(window._plan, data, time, key)
    state = window._columns
    known = state is not None and state.rows.keys == batch.keys and state.table.types == batch.types
    table = state.table if known and state is not None else ResultTable(window, batch)
    if window._plan.failed or not _goes_by_columns(window, state, batch):  # an error that is owed comes after the rows
        window._leave_columns()
        return table.from_results(_take_one_by_one(window, batch, source))
    if not known:
        window._leave_columns()
        state = window._columns = ColumnState(table, batch.slice(0, 0), window._order.mark)
        take_from_engines(window, state)
    assert state is not None
    if state.complete:
        found = _take_in_order(window, state, batch)
        if found is not None:
            owed = window._results([])
            return pa.concat_tables([table.from_results(owed), found]) if owed else found
        window._leave_columns()
        state = ColumnState(table, batch.slice(0, 0), window._order.mark)
    window._columns = None
    results = _take_one_by_one(window, batch)
    if _is_in_order(window, batch):
        state.rows = state.rows.append(batch)
        take_from_engines(window, state)
        window._columns = state
    return table.from_results(results)


def _goes_by_columns(window: Window, state: ColumnState | None, batch: Batch) -> bool:
    """Tell whether the batch is for columns, as far as that can be told without a look at its values."""
    if not len(batch) or not can_take_batches(window) or not is_worth_it(state, batch):
        return False
    timed = batch.time is not None
    if window._timed is not None and window._timed != timed:  # which push refuses
        return False
    assert isinstance(window._plan, WindowPlan)
    return are_of_plain_types(window._plan, batch)


def _is_in_order(window: Window, batch: Batch) -> bool:
    """Tell whether the rows, which have been taken, were all taken in the order in which they came."""
    if batch.time is None:
        return True
    times = read_times(window, batch)
    window._tell_time()
    return times is not None and bool((times.x[1:] >= times.x[:-1]).all()) and window._order.newest == times.last


def _take_in_order(window: Window, state: ColumnState, batch: Batch) -> pa.Table | None:
    """Take a batch by columns; None, and nothing has changed, where its rows are not in order or not plain."""
    first = next(batch.slice(0, 1).one_by_one())
    window._plan.reader.read(first[0], first[2])  # what is wrong with the first is mostly wrong with all
    times: Times | None = None
    late = 0
    if batch.time is not None:
        times = read_times(window, batch)
        if times is None or window._order.mark.has_passed(times.first):
            return None
        if not (times.x[1:] >= times.x[:-1]).all():
            if window._order.late != "drop":
                return None
            in_time = times.x == np.maximum.accumulate(times.x)
            late = len(batch) - int(in_time.sum())
            batch = batch.filter(in_time)
            times = read_times(window, batch)
    found = take_by_columns(window, state, batch, times)
    if found is not None:
        window._order.dropped += late
    return found


def _take_one_by_one(window: Window, batch: Batch, source: str | None = None) -> list[Result]:
    """Push every row. Where one is refused, the rows before it have been taken, and their results are owed.

    A row whose result fails has been taken: the rows after it are taken too, and then the first error is raised.
    """
    results: list[Due] = []
    taken = 0
    try:
        for value, time, key in batch.one_by_one(TIME in batch.columns and window._plan.clock.kind == "datetime64"):
            try:
                results += [(None, result) for result in window.push(value, time, key, source)]
            except Exception as error:
                if error is not window._failure:
                    raise
                results.append((None, Failed(error)))
            taken += 1
    except Exception as error:
        if window._broken is None:
            window._leave_direct()  # which gives nothing that is owed
            _owe(window, results)
            error.add_note(
                f"in row {taken} of the batch, counted from 0: the rows before it were taken, and their results come "
                "with the next call"
            )
        raise
    _owe(window, results)
    return window._results([])


def _owe(window: Window, results: list[Due]) -> None:
    window._owed = results + window._owed
    window._plan.failed = any(isinstance(result, Failed) for _, result in window._owed)
