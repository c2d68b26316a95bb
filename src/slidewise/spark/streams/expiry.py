"""Expiry: results of keys to which no row comes, when rows leave their windows as time passes (empty=True).

The state has the last result of each key that is not the empty one; a key of which it has none has the empty result.
So a key of windows by time takes no state once its rows have left. The last results, the new ones, and those of times
without rows are put into one order by key and time, and each that differs from the one before it is emitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.changes import find_unlike
from slidewise.columns.expiry import (
    Axis,
    Instants,
    evaluate_empty,
    evaluate_leaving,
    find_empty_windows,
    find_instants,
    find_leaving,
    list_read,
)
from slidewise.spark.streams.finality import build_grid, find_lifetime_ends
from slidewise.spark.streams.last_results import find_keys, record_results
from slidewise.spark.streams.results import Results
from slidewise.spark.streams.step_data import ArrangedRows, Emitted, JoinedRows, Progress, RowDecisions, WatermarkView
from slidewise.spark.streams.stream_task import NEVER, RESULT_TIME, RESULT_VALUE, StreamTask
from slidewise.windows.expiry import leaves_with_time
from slidewise.windows.grid import Grid


@dataclass(frozen=True)
class Silent:
    """Results of times without rows, and the key of each: see `Timeline`."""

    key: np.ndarray
    times: np.ndarray
    #: those at which the key is forgotten
    ended: np.ndarray
    #: the columns that tell the time
    labels: dict[str, pa.Array]
    #: results by name; those of other names are as in the row before it, or empty where the key is forgotten
    results: dict[str, pa.Array]


class Expiry:
    """What is emitted of the results of a task as functions of time."""

    def __init__(self, task: StreamTask, results: Results) -> None:
        self._task, self._results = task, results
        self._grid = build_grid(task) if task.slides else None
        assert task.time is not None
        self._axis = Axis(task.time, task.rows.field(task.time).type)

    def emit(
        self, rows: JoinedRows, progress: Progress, emitted: Emitted | None, decisions: RowDecisions
    ) -> pa.Table | None:
        """Find the results that differ from those before of their key, and record the last of each key."""
        assert progress.watermark is not None
        timeline = Timeline(self._task, rows, emitted, decisions.last_results)
        if self._grid is None:
            silent = self._find_instants(timeline, progress, decisions)
        else:
            assert isinstance(self._grid, Grid)  # windows by the calendar are refused
            silent = self._find_empty_windows(timeline, self._grid, progress.watermark)
        if emitted is None and not len(silent.key):
            return None
        table = self._results.build_empty() if emitted is None else emitted.table
        chosen, decisions.last_results = timeline.compare(table, silent, self._empty)
        return chosen

    @cached_property
    def _empty(self) -> dict[str, pa.Array]:
        """The result over no rows of each expression."""
        task = self._task
        columns = pa.schema([task.rows.field(name) for name in list_read(task.expressions)])
        found = evaluate_empty(task.cast_to_zone(columns.empty_table()).schema, task.expressions)
        return {name: cast_to(found[name], kind) for name, kind in zip(task.expressions, task.kinds, strict=True)}

    def _repeat_empty(self, name: str, count: int) -> pa.Array:
        return self._empty[name].take(pa.array(np.zeros(count, np.int64)))

    # ---- a result per row
    def _find_instants(self, timeline: Timeline, progress: Progress, decisions: RowDecisions) -> Silent:
        """Find the instants up to the watermark at which rows leave, or keys are forgotten."""
        task, rows = self._task, timeline.rows
        assert progress.watermark is not None
        leaving = [name for name, over in task.expressions.items() if leaves_with_time(over.window)]
        key, times = timeline.find_forgotten(progress.watermark)
        ended = np.ones(len(key), bool)
        results = {name: self._repeat_empty(name, len(key)) for name in leaving}
        if len(rows.table):
            view = self._results.finality.view(rows, progress)
            self._schedule(view, decisions)
            instants = self._find_in_rows(view)
            seen = self._evaluate(view, instants)
            key = np.concatenate([key, rows.number_keys(view.lifetimes.offsets[instants.lifetime])])
            times, ended = np.concatenate([times, instants.at]), np.concatenate([ended, instants.ended])
            results = {
                name: in_one_piece(pa.chunked_array([none, cast_to(seen[name], none.type)]))
                for name, none in results.items()
            }
        return Silent(key, times, ended, {self._axis.name: self._axis.write(times)}, results)

    def _schedule(self, view: WatermarkView, decisions: RowDecisions) -> None:
        """Schedule the rows that stay for when they leave, or enter, their windows."""
        times, watermark = view.rows.times, view.progress.watermark
        assert times is not None and watermark is not None
        for window in filter(leaves_with_time, self._task.windows):
            for at in find_leaving(window, times, self._axis):
                decisions.due = np.minimum(decisions.due, np.where(at > watermark, at, NEVER))

    def _find_in_rows(self, view: WatermarkView) -> Instants:
        """Find the instants of the current rows, after the previous watermark and up to this one."""
        task, rows, progress = self._task, view.rows, view.progress
        assert rows.times is not None and progress.watermark is not None
        offsets = view.lifetimes.offsets
        ends = None if task.forget_after is None else find_lifetime_ends(task, rows, offsets)
        since = -NEVER if progress.previous is None else progress.previous
        key = np.repeat(np.arange(len(rows.begin)), np.diff(rows.offsets))
        between = (since, progress.watermark)
        return find_instants(task.windows, rows.times, view.lifetimes.of, key, self._axis, ends, between)

    def _evaluate(self, view: WatermarkView, instants: Instants) -> dict[str, pa.Array]:
        """Evaluate what rows of the instants would see, in the lifetimes that have some."""
        rows, lifetimes = view.rows, view.lifetimes
        assert rows.times is not None
        chosen, of = np.unique(instants.lifetime, return_inverse=True)
        places = np.flatnonzero(np.isin(lifetimes.of, chosen))
        sizes = np.diff(lifetimes.offsets)[chosen]
        table = self._task.cast_to_zone(rows.table.take(pa.array(places)))
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        frame = ArrangedRows(table, self._task.partition_by, self._task.order_by, offsets)
        renumbered = replace(instants, lifetime=of)
        return evaluate_leaving(frame, self._task.expressions, rows.times[places], renumbered, self._axis)

    # ---- windows [start, end)
    def _find_empty_windows(self, timeline: Timeline, grid: Grid, watermark: int) -> Silent:
        """Find the windows without rows, up to the watermark, that are next after one with rows."""
        key, times = timeline.list_last_times()
        after, starts, ends = find_empty_windows(grid, key, times + 1)
        over = ends - 1 <= watermark
        labels = {"window_start": self._axis.write(starts[over]), "window_end": self._axis.write(ends[over])}
        results = {name: self._repeat_empty(name, int(over.sum())) for name in self._task.expressions}
        return Silent(key[after[over]], ends[over] - 1, np.ones(int(over.sum()), bool), labels, results)


class Timeline:
    """Results in the order of time, key by key: the recorded last ones, new ones, and those of times without rows.

    Keys are the numbers of the current ones, and after them those of the records of keys that have no rows here.
    """

    def __init__(self, task: StreamTask, rows: JoinedRows, emitted: Emitted | None, last: pa.Table) -> None:
        self._task, self.rows, self._last = task, rows, last
        self._number = len(rows.begin) if len(rows.table) else 0
        found = find_keys(last, rows, task.partition_by)
        self._last_key = np.where(found >= 0, found, self._number + np.arange(len(last)))
        self._last_time = last[RESULT_TIME].to_numpy()
        self._new_key, self._new_time = np.empty(0, np.int64), np.empty(0, np.int64)
        if emitted is not None:
            assert rows.times is not None
            self._new_key = rows.number_keys(emitted.rows)
            self._new_time = rows.times[emitted.rows] if emitted.times is None else emitted.times

    def list_last_times(self) -> tuple[np.ndarray, np.ndarray]:
        """List keys and times of the recorded and the new results, in order."""
        key = np.concatenate([self._last_key, self._new_key])
        times = np.concatenate([self._last_time, self._new_time])
        order = np.lexsort((times, key))
        return key[order], times[order]

    def find_forgotten(self, watermark: int) -> tuple[np.ndarray, np.ndarray]:
        """Find the recorded keys that are forgotten up to the watermark, and when, where no row of then is left."""
        if self._task.forget_after is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows, ends = self.rows, self._last_time + self._task.forget_after + 1
        next_row = np.full(self._number + len(self._last), NEVER)
        has_history = np.zeros(len(next_row), bool)
        if self._number:
            assert rows.times is not None
            next_row[: self._number] = rows.times[rows.begin]
            has_history[: self._number] = rows.emitted[rows.begin]
        gone = (ends <= watermark) & (next_row[self._last_key] > ends) & ~has_history[self._last_key]
        return self._last_key[gone], ends[gone]

    def compare(self, table: pa.Table, silent: Silent, empty: Mapping[str, pa.Array]) -> tuple[pa.Table, pa.Table]:
        """Find the new and silent results that differ from those before them; also build the records of the last."""
        counts = len(self._last), len(self._new_key), len(silent.key)
        if not sum(counts):
            return table, self._last
        key = np.concatenate([self._last_key, self._new_key, silent.key])
        times = np.concatenate([self._last_time, self._new_time, silent.times])
        kind = np.repeat(np.arange(3), counts)
        order = np.lexsort((kind, times, key))
        key, kind = key[order], kind[order]
        begins, ends = np.append(True, np.diff(key) != 0), np.append(np.diff(key) != 0, True)
        places = np.arange(len(order))
        #: the last result before each that is of a row; nothing is before the first
        of_row = np.maximum.accumulate(np.where(kind != 2, places, -1))
        none = len(order)
        carried = np.where((of_row >= 0) & (key[of_row] == key), order[of_row], none)
        carried[kind == 2] = np.where(silent.ended[order[kind == 2] - counts[0] - counts[1]], none, carried[kind == 2])
        changed, is_empty = np.zeros(len(order), bool), np.ones(len(order), bool)
        values, newest = {}, []
        for k, name in enumerate(self._task.expressions):
            nothing = empty[name]
            filled = silent.results.get(name)
            parts = [*self._last[f"{RESULT_VALUE}{k}"].chunks, *table[name].chunks]
            parts.append(pa.nulls(counts[2], nothing.type) if filled is None else filled)
            column = in_one_piece(pa.chunked_array([*parts, nothing], nothing.type))
            own = order if filled is not None else np.where(kind == 2, carried, order)
            before = np.where(begins, none, np.roll(own, 1))
            here = column.take(pa.array(own))
            changed |= find_unlike(column.take(pa.array(before)), here)
            is_empty &= ~find_unlike(here, column.take(pa.array(np.full(len(own), none))))
            values[name] = here
            newest.append(here.filter(pa.array(ends)))
        chosen = np.flatnonzero(changed & (kind > 0))
        out = self._build_rows(table, silent, order[chosen] - counts[0])
        for name, column in values.items():
            out = out.set_column(out.column_names.index(name), name, column.take(pa.array(chosen)))
        return out, self._record(key[ends], times[order][ends], newest, ~is_empty[ends])

    def _build_rows(self, table: pa.Table, silent: Silent, at: np.ndarray) -> pa.Table:
        """Build rows of new and silent results, which are numbered in this order."""
        number = len(silent.key)
        made = {}
        for name in self._task.partition_by:
            here = self.rows.table[name].take(pa.array(self.rows.begin)) if self._number else None
            both = [*([] if here is None else here.chunks), *self._last[name].chunks]
            made[name] = in_one_piece(pa.chunked_array(both, table[name].type)).take(pa.array(silent.key))
        made |= silent.labels
        columns = [
            cast_to(made[field.name], field.type) if field.name in made else pa.nulls(number, field.type)
            for field in table.schema
        ]
        return pa.concat_tables([table, pa.table(columns, schema=table.schema)]).take(pa.array(at))

    def _record(self, key: np.ndarray, times: np.ndarray, values: list[pa.Array], stays: np.ndarray) -> pa.Table:
        """Record the last results of keys, but for empty ones; of a result per row, with the time of the last row."""
        task, rows = self._task, self.rows
        here = stays & (key < self._number)
        kept = np.isin(self._last_key, key[stays & (key >= self._number)])
        before = self._last.filter(pa.array(kept))
        if not here.any():
            return before
        own = key[here]
        if not task.slides:
            assert rows.times is not None
            times = rows.times[rows.offsets[key.clip(max=self._number - 1) + 1] - 1]
        return record_results(
            task, rows, own, times[here], [column.filter(pa.array(here)) for column in values], before
        )
