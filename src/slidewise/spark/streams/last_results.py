"""What is noted of results that have come out, beside the rows of their keys: with emit="changes" the last results of
each key, with late="revise" which slide was revised how often. A key whose rows are gone may still have notes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.sorting import key_codes, plain
from slidewise.spark.streams.step_data import Fate, Joined, Results
from slidewise.spark.streams.stream_task import HASH, NEVER, NOTE, NOTE_TIME, StreamTask


def key_numbers(notes: pa.Table, joined: Joined, partition_by: tuple[str, ...]) -> np.ndarray:
    """The number of the key of each note among the keys at hand; -1 where it is not there."""
    number = len(joined.begin) if len(joined.table) else 0
    if not partition_by or not number or not len(notes):
        return np.full(len(notes), 0 if number else -1)
    here = joined.table.select(list(partition_by)).take(pa.array(joined.begin))
    both = [pa.chunked_array([*here[name].chunks, *notes[name].chunks]) for name in partition_by]
    codes, distinct = key_codes([in_one_piece(column) for column in both])
    found = np.full(distinct, -1)
    found[codes[:number]] = np.arange(number)
    return found[codes[number:]]


def noted(
    task: StreamTask, joined: Joined, keys: np.ndarray, times: np.ndarray, columns: list[pa.Array], before: pa.Table
) -> pa.Table:
    """New notes of keys at hand, after notes that stay."""
    rows = pa.array(joined.begin[keys])
    made = {name: joined.table[name].take(rows) for name in task.partition_by}
    made |= {HASH: pa.array(joined.hashes[joined.begin[keys]]), NOTE_TIME: pa.array(times)}
    made |= {f"{NOTE}{k}": column for k, column in enumerate(columns)}
    return pa.concat_tables([before, pa.table(made, before.schema)])


def remaining(task: StreamTask, joined: Joined, fate: Fate, watermark: int | None) -> tuple[pa.Table, np.ndarray]:
    """The notes that may still be looked up, and when each can go.

    Results that are still to come are of rows that wait, or that are after the watermark.
    """
    notes = fate.notes
    life = task.forget_after if task.emit == "changes" else task.keep
    if not len(notes) or life is None:
        return notes, np.full(len(notes), NEVER)
    assert watermark is not None
    over = notes[NOTE_TIME].to_numpy() + life + 1
    keys, first = key_numbers(notes, joined, task.partition_by), np.full(len(notes), NEVER)
    if len(joined.table):
        assert joined.times is not None
        waiting = np.minimum.reduceat(np.where(fate.waits, joined.times, NEVER), joined.begin)
        first = np.where(keys >= 0, waiting[keys], NEVER)
    stays = (over > watermark) | (over > first)
    return notes.filter(pa.array(stays)), over[stays]


# ---- emit="changes"
def news(task: StreamTask, joined: Joined, results: Results, fate: Fate) -> pa.Table:
    """The results that differ from the one before of their key; the last of each key is noted."""
    assert joined.times is not None
    last, count = fate.notes, len(fate.notes)
    keys = key_numbers(last, joined, task.partition_by)
    key = joined.key_of(results.rows)
    time = joined.times[results.rows] if results.times is None else results.times
    last_of = np.full(len(joined.begin), -1)
    last_of[keys[keys >= 0]] = np.flatnonzero(keys >= 0)
    # The one before, where all results stand after those that are noted; -1: there is none.
    before = np.where(np.diff(key, prepend=-1) != 0, last_of[key], count + np.arange(len(key)) - 1)
    if task.forget_after is not None:
        since = np.concatenate([last[NOTE_TIME].to_numpy(), time])[before]
        before[time - since > task.forget_after] = -1
    compared = np.flatnonzero(before >= 0)
    differs = before < 0
    columns = []
    for k, name in enumerate(task.expressions):
        both = in_one_piece(pa.chunked_array([*last[f"{NOTE}{k}"].chunks, *results.table[name].chunks]))
        differs[compared] |= unlike(both.take(pa.array(before[compared])), both.take(pa.array(count + compared)))
        columns.append(both)
    ends = np.flatnonzero(np.diff(key, append=-1) != 0)
    stay = last.filter(pa.array(~np.isin(keys, key)))
    newest = [column.take(pa.array(count + ends)) for column in columns]
    fate.notes = noted(task, joined, key[ends], time[ends], newest, stay)
    return results.table.filter(pa.array(differs))


def unlike(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Which values differ from their counterparts; null and NaN are equal to themselves, at any depth."""
    a, b = plain(a), plain(b)
    null = [column.is_null().to_numpy(zero_copy_only=False) for column in (a, b)]
    out: np.ndarray = null[0] != null[1]
    rows = np.flatnonzero(~(null[0] | null[1]))
    if len(rows):
        out[rows] = _unlike_values(a.take(pa.array(rows)), b.take(pa.array(rows)))
    return out


def _unlike_values(a: pa.Array, b: pa.Array) -> np.ndarray:
    kind = a.type
    if pa.types.is_struct(kind):
        return np.logical_or.reduce([unlike(*pair) for pair in zip(a.flatten(), b.flatten(), strict=True)])
    if pa.types.is_nested(kind):  # lists: equal lengths, and equal values in all places
        lengths, others = (pc.list_value_length(column).to_numpy() for column in (a, b))
        out: np.ndarray = lengths != others
        rows = np.flatnonzero(~out)
        values, counterparts = (column.take(pa.array(rows)).flatten() for column in (a, b))
        out[np.repeat(rows, lengths[rows])[unlike(values, counterparts)]] = True
        return out
    differs = pc.not_equal(a, b)
    if pa.types.is_floating(kind):
        differs = pc.and_not(differs, pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return differs.to_numpy(zero_copy_only=False)
