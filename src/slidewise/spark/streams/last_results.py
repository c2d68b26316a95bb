"""Last results: what the state has of results that were emitted, beside the rows of their keys.

With emit="changes" these are the last results of each key, with late="revise" which slide was revised how often. A key
of which no row is left may still have some.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.changes import find_unlike
from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.sorting import key_codes
from slidewise.spark.streams.step_data import Emitted, JoinedRows, RowDecisions
from slidewise.spark.streams.stream_task import HASH, NEVER, RESULT_TIME, RESULT_VALUE, StreamTask


def find_keys(last: pa.Table, rows: JoinedRows, partition_by: tuple[str, ...]) -> np.ndarray:
    """Find the number of the key of each record among the current keys; -1 where it is not there."""
    number = len(rows.begin) if len(rows.table) else 0
    if not partition_by or not number or not len(last):
        return np.full(len(last), 0 if number else -1)
    here = rows.table.select(list(partition_by)).take(pa.array(rows.begin))
    both = [pa.chunked_array([*here[name].chunks, *last[name].chunks]) for name in partition_by]
    codes, distinct = key_codes([in_one_piece(column) for column in both])
    found = np.full(distinct, -1)
    found[codes[:number]] = np.arange(number)
    return found[codes[number:]]


def record_results(
    task: StreamTask, rows: JoinedRows, keys: np.ndarray, times: np.ndarray, columns: list[pa.Array], before: pa.Table
) -> pa.Table:
    """Record results of current keys, after the records that stay."""
    first = pa.array(rows.begin[keys])
    made = {name: rows.table[name].take(first) for name in task.partition_by}
    made |= {HASH: pa.array(rows.hashes[rows.begin[keys]]), RESULT_TIME: pa.array(times)}
    made |= {f"{RESULT_VALUE}{k}": column for k, column in enumerate(columns)}
    return pa.concat_tables([before, pa.table(made, before.schema)])


def retain_results(
    task: StreamTask, rows: JoinedRows, decisions: RowDecisions, watermark: int | None
) -> tuple[pa.Table, np.ndarray]:
    """Keep the records that may still be looked up, and tell when each expires.

    Results that are still to come are of pending rows, or of rows after the watermark.
    """
    last = decisions.last_results
    if task.empty:
        return last, _find_next_empty(task, last)
    life = task.forget_after if task.emit == "changes" else task.keep
    if not len(last) or life is None:
        return last, np.full(len(last), NEVER)
    assert watermark is not None
    expires = last[RESULT_TIME].to_numpy() + life + 1
    keys, first = find_keys(last, rows, task.partition_by), np.full(len(last), NEVER)
    if len(rows.table):
        assert rows.times is not None
        pending = np.minimum.reduceat(np.where(decisions.pending, rows.times, NEVER), rows.begin)
        first = np.where(keys >= 0, pending[keys], NEVER)
    stay = (expires > watermark) | (expires > first)
    return last.filter(pa.array(stay)), expires[stay]


def _find_next_empty(task: StreamTask, last: pa.Table) -> np.ndarray:
    """Find when each result becomes empty if no row comes: with the next window, or when its key is forgotten."""
    life: int | None = task.forget_after
    if task.slides:
        assert task.time is not None
        life = measure_length(task.windows[0].slide_size, task.rows.field(task.time).type, task.time) - 1
    times = last[RESULT_TIME].to_numpy()
    return np.full(len(last), NEVER) if life is None else times + life + 1


# ---- emit="changes"
def filter_changes(task: StreamTask, rows: JoinedRows, emitted: Emitted, decisions: RowDecisions) -> pa.Table:
    """Filter the results that differ from the one before of their key, and record the last of each key."""
    assert rows.times is not None
    last, count = decisions.last_results, len(decisions.last_results)
    keys = find_keys(last, rows, task.partition_by)
    key = rows.number_keys(emitted.rows)
    time = rows.times[emitted.rows] if emitted.times is None else emitted.times
    last_of = np.full(len(rows.begin), -1)
    last_of[keys[keys >= 0]] = np.flatnonzero(keys >= 0)
    # Index of the one before, where all results stand after those that are recorded; -1: there is none.
    before = np.where(np.diff(key, prepend=-1) != 0, last_of[key], count + np.arange(len(key)) - 1)
    if task.forget_after is not None:
        since = np.concatenate([last[RESULT_TIME].to_numpy(), time])[before]
        before[time - since > task.forget_after] = -1
    compared = np.flatnonzero(before >= 0)
    differs = before < 0
    columns = []
    for k, name in enumerate(task.expressions):
        both = in_one_piece(pa.chunked_array([*last[f"{RESULT_VALUE}{k}"].chunks, *emitted.table[name].chunks]))
        differs[compared] |= find_unlike(both.take(pa.array(before[compared])), both.take(pa.array(count + compared)))
        columns.append(both)
    ends = np.flatnonzero(np.diff(key, append=-1) != 0)
    stay = last.filter(pa.array(~np.isin(keys, key)))
    newest = [column.take(pa.array(count + ends)) for column in columns]
    decisions.last_results = record_results(task, rows, key[ends], time[ends], newest, stay)
    return emitted.table.filter(pa.array(differs))
