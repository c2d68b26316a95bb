"""Running totals: results over frames that begin with their key, and the totals of rows that the state has no longer.

A total stands for the rows of a key that are gone: every running frame that is to come holds all of them. The rows that
are there, pending or history for other windows, come after it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.spark.streams.carriers import RunningFrames
from slidewise.spark.streams.last_results import find_keys
from slidewise.spark.streams.step_data import ArrangedRows, JoinedRows, Lifetimes, RowDecisions, Selection
from slidewise.spark.streams.stream_task import HASH, NEVER, TOTAL, TOTAL_TIME, StreamTask


class RunningTotals:
    """The results over running frames of one task, and their totals."""

    def __init__(self, task: StreamTask) -> None:
        self._task = task
        self._running = {name: over for name, over in task.expressions.items() if over.window.running}

    def compute(self, rows: JoinedRows, selection: Selection, at: np.ndarray) -> dict[str, pa.Array]:
        """Compute the results of some of the selected rows."""
        own, made = selection.rows, dict[str, pa.Array]()
        totals = self._find_totals(rows, selection)
        offsets = np.searchsorted(at, own.offsets)
        begin = np.repeat(own.begin, np.diff(offsets))
        for name, over in self._running.items():
            frames = RunningFrames(np.maximum(own.frames(over.window).end[at], begin), offsets)
            made[name] = self._task.carriers[name].compute(own, self._select(totals, name), frames)
        return made

    def carry(
        self,
        rows: JoinedRows,
        lifetimes: Lifetimes,
        selection: Selection | None,
        needed: np.ndarray | None,
        decisions: RowDecisions,
    ) -> None:
        """Decide on the totals of the current keys: with the selected rows before row `needed` of each lifetime."""
        keys = find_keys(rows.totals, rows, self._task.partition_by)
        lasts = lifetimes.of[rows.offsets[1:] - 1]
        goes_on = (lifetimes.of[rows.begin] == lasts) & ~lifetimes.ended[lasts]
        stays = (keys < 0) | (goes_on[keys] & self._is_of(rows, keys))
        if selection is None or needed is None:
            decisions.totals = rows.totals.filter(pa.array(stays))
            return
        own, places = selection.rows, selection.places
        key = rows.number_keys(places[own.begin])
        folds = (needed > own.begin) & ~selection.ended & (lifetimes.of[places[own.begin]] == lasts[key])
        stays &= ~np.isin(keys, key[folds])
        before = rows.totals.filter(pa.array(stays))
        decisions.totals = before
        if not folds.any():
            return
        made = self._fold(own, self._find_totals(rows, selection), needed)
        firsts = pa.array(rows.begin[key])
        times = np.zeros(len(key), np.int64)
        if rows.times is not None:
            times = rows.times[places[np.maximum(needed - 1, own.begin)]]
        columns = {name: rows.table[name].take(firsts) for name in self._task.partition_by}
        columns |= {HASH: pa.array(rows.hashes[rows.begin[key]]), TOTAL_TIME: pa.array(times), **made}
        folded = pa.table([columns[name] for name in before.column_names], before.schema)
        decisions.totals = pa.concat_tables([before, folded.filter(pa.array(folds))])

    def _fold(self, rows: ArrangedRows, totals: pa.Table, needed: np.ndarray) -> dict[str, pa.Array]:
        """Fold the rows of each lifetime before row `needed` into its total."""
        frames = RunningFrames(needed, np.arange(len(needed) + 1))
        made: dict[str, pa.Array] = {}
        for name in self._running:
            carrier = self._task.carriers[name]
            if all(TOTAL + column in made for column in carrier.columns):
                continue
            found = carrier.fold(rows, self._select(totals, name), frames)
            made |= {TOTAL + column: part for column, part in zip(carrier.columns, found, strict=True)}
        return made

    def _find_totals(self, rows: JoinedRows, selection: Selection) -> pa.Table:
        """Find the total of each selected lifetime; of nulls where there is none."""
        begin = selection.places[selection.rows.begin]
        keys = find_keys(rows.totals, rows, self._task.partition_by)
        total_of = np.full(len(rows.begin), -1)
        found = np.flatnonzero((keys >= 0) & self._is_of(rows, keys))
        total_of[keys[found]] = found
        key = rows.number_keys(begin)
        at = np.where(begin == rows.begin[key], total_of[key], -1)
        return rows.totals.take(pa.array(at, mask=at < 0))

    def _is_of(self, rows: JoinedRows, keys: np.ndarray) -> np.ndarray:
        """Tell which totals are of the same lifetime as the first row of their key."""
        forget_after = self._task.forget_after
        if forget_after is None or rows.times is None:
            return np.ones(len(keys), bool)
        since: np.ndarray = rows.times[rows.begin][keys] - rows.totals[TOTAL_TIME].to_numpy()
        return since <= forget_after

    def _select(self, totals: pa.Table, name: str) -> pa.Table:
        """Select the columns of one result, by the names that its carrier has for them."""
        names = list(self._task.carriers[name].columns)
        return pa.table([in_one_piece(totals[TOTAL + column]) for column in names], names)


def retain_totals(
    task: StreamTask, rows: JoinedRows, decisions: RowDecisions, watermark: int | None
) -> tuple[pa.Table, np.ndarray]:
    """Keep the totals of keys that are not forgotten, and tell when each expires."""
    totals = decisions.totals
    if not len(totals) or task.forget_after is None:
        return totals, np.full(len(totals), NEVER)
    assert watermark is not None
    expires = totals[TOTAL_TIME].to_numpy() + task.forget_after + (task.keep or 0) + 1
    keys = find_keys(totals, rows, task.partition_by)
    stay = (expires > watermark) | (keys >= 0)  # of a key with rows, these tell whether it is forgotten
    return totals.filter(pa.array(stay)), expires[stay]
