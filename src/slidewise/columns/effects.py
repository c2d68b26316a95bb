"""Effects: what options for streams change in a batch: its rows, where keys begin, and which results go out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.changes import ChangeFinder
from slidewise.columns.expiry import (
    Axis,
    build_axis,
    build_window_grid,
    evaluate_empty,
    find_changes,
    find_changes_over_time,
    find_empty_windows,
    list_read,
    number_runs,
)
from slidewise.columns.frames.deltas import as_axis
from slidewise.columns.sorting import as_plain
from slidewise.columns.sources import ColumnSource
from slidewise.columns.stream_options import FINAL, LATE, LATE_ROW, REVISION, BatchEffects
from slidewise.errors import InvalidInput
from slidewise.suggest import suggest


def read_kind(source: ColumnSource, name: str) -> pa.DataType:
    """Read the type of a column."""
    if name not in source.names:
        raise InvalidInput(f"there is no column {name!r}. {suggest(name, source.names)}")
    return as_plain(source.column(name)).type


def leave_out_untimed(source: ColumnSource, effects: BatchEffects) -> ColumnSource:
    """Leave out rows without a time where the options have an effect on rows: a stream has no place for them."""
    if not effects.on_rows or effects.time is None:
        return source
    times = source.column(effects.time)
    return source.filter(times.is_valid().to_numpy(zero_copy_only=False)) if times.null_count else source


def begin_lifetimes(rows: ArrangedFrame, effects: BatchEffects) -> None:
    """Begin keys anew where they were forgotten: where a row comes after so long without one."""
    if effects.forget_after is not None and effects.time is not None:
        times = read_times(rows.arrange(effects.time), effects.time)
        new = ChangeFinder(effects.forget_after).find([_number_keys(rows)], times, [])
        rows.begin_anew(np.flatnonzero(new))


def find_changed_rows(rows: ArrangedFrame, columns: Mapping[str, pa.Array], effects: BatchEffects) -> np.ndarray:
    """Find the rows whose results differ from those of the row before of their key, in the order of the input.

    A key that was forgotten has begun anew, and so its first row has none before it.
    """
    permutation = rows.arrangement.permutation
    if permutation is None:
        return ChangeFinder().find([_number_keys(rows)], None, list(columns.values()))
    arranged = [column.take(pa.array(permutation)) for column in columns.values()]
    return rows.arrangement.restore(ChangeFinder().find([_number_keys(rows)], None, arranged))


def add_expired_rows(
    rows: ArrangedFrame,
    keys: np.ndarray,
    columns: Mapping[str, pa.Array],
    expressions: Mapping[str, Over],
    effects: BatchEffects,
) -> dict[str, pa.Array]:
    """Take the rows whose results have changed, in the order of the input, and after them those of times without one.

    `keys` are the offsets of keys, whether or not they were forgotten in between. What comes of a time without a row
    has its keys, and that time: all other columns of the input are null.
    """
    source, time = rows.source, effects.time
    assert time is not None
    axis = build_axis(rows.array(time), time)
    times = read_times(rows.arrange(time), time)
    permutation = rows.arrangement.permutation
    arranged = columns if permutation is None else {n: c.take(pa.array(permutation)) for n, c in columns.items()}
    changed, expired = find_changes_over_time(rows, keys, times, axis, expressions, arranged, effects.forget_after)
    chosen = pa.array(rows.arrangement.restore(changed))
    levels = [name for name in (*rows.partition_by, time) if name not in source.names]
    labels = {}
    for name in [*levels, *source.names]:
        if name == time:
            more = expired.times
        elif name in rows.partition_by:
            more = rows.arrange(name).take(pa.array(expired.of))
        else:
            more = pa.nulls(len(expired.of), source.column(name).type)
        labels[name] = _append(rows.array(name).filter(chosen), more)
    return labels | {name: _append(columns[name].filter(chosen), expired.results[name]) for name in columns}


def _append(column: pa.Array, more: pa.Array) -> pa.Array:
    return in_one_piece(pa.chunked_array([column, cast_to(more, column.type)]))


def add_expired_slides(
    rows: ArrangedFrame, found: Mapping[str, pa.Array], keys: Sequence[str], expressions: Mapping[str, Over]
) -> dict[str, pa.Array]:
    """Take the windows whose results differ from those of the window before of their key; one may be without rows."""
    [by], [window] = rows.order_by, {over.window for over in expressions.values()}
    build_axis(rows.array(by.name), by.name)
    axis = Axis(by.name, as_plain(found["window_end"]).type)
    ends = as_axis(found["window_end"], by.name)
    key = number_runs([found[name] for name in keys], len(ends))
    after, starts, next_ends = find_empty_windows(build_window_grid(window, axis), key, ends)
    empty = evaluate_empty(pa.schema([(n, rows.array(n).type) for n in list_read(expressions)]), expressions)
    more = {name: found[name].take(pa.array(after)) for name in keys}
    more |= {"window_start": axis.write(starts), "window_end": axis.write(next_ends)}
    more |= {name: empty[name].take(pa.array(np.zeros(len(after), np.int64))) for name in expressions}
    all_keys = np.concatenate([key, key[after]])
    order = np.lexsort((np.concatenate([ends, next_ends]), all_keys))
    both = {name: _append(found[name], more[name]).take(pa.array(order)) for name in found}
    values, nothing = ([table[name] for name in expressions] for table in (both, empty))
    changed = pa.array(find_changes(all_keys[order], values, nothing))
    return {name: column.filter(changed) for name, column in both.items()}


def find_changed_slides(
    found: Mapping[str, pa.Array], keys: Sequence[str], results: Collection[str], effects: BatchEffects
) -> np.ndarray:
    """Find the slides whose results differ from those of the slide before of their key."""
    return find_changed(ChangeFinder(effects.forget_after), found, keys, results, effects.time)


def find_changed(
    finder: ChangeFinder,
    found: Mapping[str, pa.Array],
    keys: Sequence[str],
    results: Collection[str],
    time: str | None,
) -> np.ndarray:
    """Find the next slides that have changed; the time of a slide is its end, or that of its row."""
    label = "window_end" if "window_end" in found and "window_end" not in results else time
    times = read_times(found[label], label) if finder.looks_at_times and label is not None else None
    return finder.find([found[name] for name in keys], times, [found[name] for name in results])


def add_stream_columns(
    columns: Mapping[str, pa.Array], count: int, effects: BatchEffects, late_row: pa.DataType | None = None
) -> Mapping[str, pa.Array]:
    """Add the columns of revisions and of late rows, where a stream has them: in a batch no row is late."""
    if effects.early:
        columns = {**columns, FINAL: pa.array(np.ones(count, bool))}
    if effects.revises:
        return {**columns, REVISION: pa.array(np.zeros(count, np.int32))}
    if not effects.marks:
        return columns
    marked = {**columns, LATE: pa.array(np.zeros(count, bool))}
    return marked if late_row is None else {**marked, LATE_ROW: pa.nulls(count, late_row)}


def read_times(column: pa.Array, name: str) -> np.ndarray:
    """Read times as numbers; refuse those that have no distance."""
    times = as_axis(column, name)
    if times.dtype.kind == "f" and not np.isfinite(times).all():
        raise InvalidInput(f"forget_after: the order column {name!r} has NaN or infinity, which have no distance")
    return times


def _number_keys(rows: ArrangedFrame) -> pa.Array:
    """Tell the number of the key of every arranged row."""
    return pa.array(np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets)))
