"""Expiry: the results of keys at the times at which rows leave their windows, and no row comes (empty=True).

The results of a key are a function of time, which is empty before its first row. It changes at its rows, and at
instants between them: where a row is outside of a window for the first time, where one enters that ends before its own
row, and where the key is forgotten. At an instant at which the key has a row, that row's own result says it all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns import encoding
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.arrays import cast_to, in_one_piece
from slidewise.columns.changes import find_unlike
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.frames.slides import Slides
from slidewise.columns.sorting import Arrangement, as_plain
from slidewise.columns.sources import source_of
from slidewise.errors import InvalidInput
from slidewise.windows.cumulative import CumulativeWindow
from slidewise.windows.definitions import WindowDefinition, rows
from slidewise.windows.durations import sign
from slidewise.windows.expiry import leaves_with_time
from slidewise.windows.grid import Grid


@dataclass(frozen=True)
class Axis:
    """The times of a column as numbers: integers in its own unit, or floats."""

    name: str
    kind: pa.DataType

    def measure(self, length: Any) -> Any:
        """Convert a length to a number."""
        return measure_length(length, self.kind, self.name) if sign(length) else 0

    def add(self, times: np.ndarray, step: Any) -> np.ndarray:
        """Add a step to times, with the digits that floats of their type have."""
        if not pa.types.is_floating(self.kind):
            self._require_room(times, step)
            return times + int(step)
        own = self.kind.to_pandas_dtype()
        moved: np.ndarray = (times.astype(own) + np.asarray(step, own)).astype(np.float64)
        return moved

    def next_after(self, times: np.ndarray) -> np.ndarray:
        """Return the next time after each."""
        if not pa.types.is_floating(self.kind):
            self._require_room(times, 1)
            return times + 1
        own = self.kind.to_pandas_dtype()
        return np.nextafter(times.astype(own), own(np.inf)).astype(np.float64)

    def next_before(self, times: np.ndarray) -> np.ndarray:
        """Return the last float before each."""
        own = self.kind.to_pandas_dtype()
        return np.nextafter(times.astype(own), own(-np.inf)).astype(np.float64)

    def _require_room(self, times: np.ndarray, step: Any) -> None:
        if len(times) and not -(2**63) <= int(times.max()) + int(step) < 2**63:
            raise self._build_error("64 bits")

    def _build_error(self, what: str) -> InvalidInput:
        return InvalidInput(
            f"empty=True: rows of the order column {self.name!r} leave their windows beyond {what}, and so there is no "
            "time for the results without them. Leave out the rows that are so far away, or cast it to a wider type"
        )

    def write(self, times: np.ndarray) -> pa.Array:
        """Convert numbers to times of the column's type."""
        kind, last = self.kind, 2**31 if pa.types.is_date32(self.kind) else 2**63
        if pa.types.is_time(kind):
            last = 86_400 * 10 ** {"s": 0, "ms": 3, "us": 6, "ns": 9}[kind.unit]
        if pa.types.is_temporal(kind):
            if len(times) and int(times.max()) >= last:
                raise self._build_error(str(kind))
            return encoding.words_as_arrow(times, np.ones(len(times), bool), kind)
        try:
            return pa.array(times).cast(kind)
        except pa.ArrowInvalid:
            raise self._build_error(str(kind)) from None


def build_axis(column: pa.Array, name: str) -> Axis:
    """Build the axis of an order column; refuse one without a next time."""
    kind = as_plain(column).type
    known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not known or pa.types.is_uint64(kind) or pa.types.is_float16(kind):
        raise InvalidInput(
            f"empty=True tells the first instant at which a row has left, and the order column {name!r} is of {kind}, "
            "which has none here. Cast it to a timestamp, an integer or a double"
        )
    return Axis(name, kind)


# ---- instants
@dataclass(frozen=True)
class Instants:
    """Times between the rows of keys at which results may change, by lifetime of a key and time."""

    lifetime: np.ndarray
    at: np.ndarray
    #: those at which a key is forgotten, and has no rows any more
    ended: np.ndarray

    def __len__(self) -> int:
        return len(self.at)

    def filter(self, chosen: np.ndarray) -> Instants:
        """Return the instants of a mask."""
        return Instants(self.lifetime[chosen], self.at[chosen], self.ended[chosen])


def find_leaving(window: WindowDefinition, times: np.ndarray, axis: Axis) -> list[np.ndarray]:
    """Find when each row is outside of a window for the first time, and when it enters, where that is later."""
    reach = window.reach
    assert reach is not None
    start, end = axis.measure(reach.start), axis.measure(reach.end)
    found = [_find_first(times, start, reach.open_start, axis)]
    if reach.open_end or end < 0:
        found.append(_find_first(times, end, not reach.open_end, axis))
    return found


def _find_first(times: np.ndarray, step: Any, at_once: bool, axis: Axis) -> np.ndarray:
    """Find the first instants i with i + step >= each time, or > it unless `at_once`."""

    def holds(at: np.ndarray) -> np.ndarray:
        moved = axis.add(at, step)
        return moved >= times if at_once else moved > times

    near = axis.add(times, -step)
    if not pa.types.is_floating(axis.kind):
        return near if at_once else axis.next_after(near)
    while not (there := holds(near)).all():  # floats are rounded, and may be some off
        near = np.where(there, near, axis.next_after(near))
    while (there := holds(before := axis.next_before(near))).any():
        near = np.where(there, before, near)
    return near


def find_instants(
    windows: Sequence[WindowDefinition],
    times: np.ndarray,
    lifetime: np.ndarray,
    key: np.ndarray,
    axis: Axis,
    ends: np.ndarray | None = None,
    between: tuple[int, int] | None = None,
) -> Instants:
    """Find the instants of rows that stand by key and time: of which lifetime and key each is.

    `ends` is when each lifetime ends, None where keys are not forgotten; `between` are two times, of which the first is
    left out, outside of which nothing is asked for.
    """
    leaving = [found for window in windows if leaves_with_time(window) for found in find_leaving(window, times, axis)]
    at = np.concatenate([*leaving, *([] if ends is None else [ends])]) if leaving or ends is not None else times[:0]
    of = np.concatenate([*([lifetime] * len(leaving)), *([] if ends is None else [np.arange(len(ends))])])
    of = of.astype(np.int64)
    chosen = np.ones(len(at), bool) if between is None else (at > between[0]) & (at <= between[1])
    if ends is not None:
        chosen &= at <= ends[of]
    at, of = at[chosen], of[chosen]
    order = np.lexsort((at, of))
    at, of = at[order], of[order]
    new = np.append(True, (np.diff(at) != 0) | (np.diff(of) != 0))[: len(at)]
    at, of = at[new], of[new]
    key_of = np.zeros(int(lifetime.max(initial=-1)) + 1, np.int64)
    key_of[lifetime] = key
    has_row = count_rows(key, times, key_of[of], at, True) > count_rows(key, times, key_of[of], at, False)
    at, of = at[~has_row], of[~has_row]
    return Instants(of, at, np.zeros(len(at), bool) if ends is None else at == ends[of])


def count_rows(group: np.ndarray, times: np.ndarray, of: np.ndarray, at: np.ndarray, up_to: bool) -> np.ndarray:
    """Count the rows of earlier groups, and those of the own group before each time, or up to it. O(n log n)."""
    groups, both = np.concatenate([group, of]), np.concatenate([times, at])
    asked = np.arange(len(both)) >= len(times)
    order = np.lexsort((asked == up_to, both, groups))
    before = np.cumsum(~asked[order])
    found = np.empty(len(both), np.int64)
    found[order] = before
    return found[len(times) :]


# ---- results
def find_frames(
    window: WindowDefinition, times: np.ndarray, lifetime: np.ndarray, instants: Instants, axis: Axis
) -> Frames:
    """Find the rows that a row of each instant would see."""
    reach = window.reach
    assert reach is not None
    bounds = [axis.add(instants.at, axis.measure(bound)) for bound in reach.bounds]
    start = count_rows(lifetime, times, instants.lifetime, bounds[0], reach.open_start)
    end = count_rows(lifetime, times, instants.lifetime, bounds[1], not reach.open_end)
    return Frames(start, np.where(instants.ended, start, np.maximum(start, end)))


def evaluate_leaving(
    frame: ArrangedFrame, expressions: Mapping[str, Over], times: np.ndarray, instants: Instants, axis: Axis
) -> dict[str, pa.Array]:
    """Evaluate the expressions whose rows leave with time, at instants; the frame has lifetimes as keys."""
    leaving = {name: over for name, over in expressions.items() if leaves_with_time(over.window)}
    if not leaving:
        return {}
    lifetime = np.repeat(np.arange(len(frame.offsets) - 1), np.diff(frame.offsets))
    for window in dict.fromkeys(over.window for over in leaving.values()):
        frame.set_frames(window, find_frames(window, times, lifetime, instants, axis))
    offsets = np.searchsorted(instants.lifetime, np.arange(len(frame.offsets)))
    nothing = np.zeros(len(instants), np.int64)
    slides = Slides(Frames(nothing, nothing), offsets, {}, nothing)
    return Evaluation(frame, leaving.values(), 1, slides).columns(leaving)


def evaluate_empty(columns: pa.Schema, expressions: Mapping[str, Over]) -> dict[str, pa.Array]:
    """Evaluate expressions over no rows: one value each."""
    one = pa.table([pa.nulls(1, field.type) for field in columns], schema=columns)
    window, none = rows(1), np.zeros(1, np.int64)
    frame = ArrangedFrame(source_of(one), [], [], 1, Arrangement(None, np.array([0, 1])))
    frame.set_frames(window, Frames(none, none))
    over = {name: Over(given.aggregation, window) for name, given in expressions.items()}
    slides = Slides(Frames(none, none), np.array([0, 1]), {}, none)
    return Evaluation(frame, over.values(), 1, slides).columns(over)


def find_changes(key: np.ndarray, values: Sequence[pa.Array], empty: Sequence[pa.Array]) -> np.ndarray:
    """Find the results that differ from the one before of their key; before the first one, results are empty."""
    begins = np.append(True, np.diff(key) != 0)[: len(key)]
    changed = np.zeros(len(key), bool)
    for column, nothing in zip(values, empty, strict=True):
        both = in_one_piece(pa.chunked_array([cast_to(nothing, column.type), column]))
        before = both.take(pa.array(np.where(begins, 0, np.arange(len(key)))))
        changed |= find_unlike(before, column)
    return changed


# ---- windows [start, end)
def build_window_grid(window: WindowDefinition, axis: Axis) -> Grid:
    """Build the grid of hopping or cumulative windows."""
    size = window.size if isinstance(window, CumulativeWindow) else window.hop_size
    steps = window.steps if isinstance(window, CumulativeWindow) else None
    offset = 0 if window.offset is None else axis.measure(window.offset)
    return Grid(axis.measure(window.slide_size), offset, axis.measure(size), steps)


def find_empty_windows(grid: Grid, key: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the windows without rows that are next after one with rows: after which, their starts and their ends.

    The windows with rows stand by key and end.
    """
    first = grid.offset + (grid.size if grid.steps is None else 0)
    number = np.rint((ends - first) / grid.every) if ends.dtype.kind == "f" else (ends - first) // grid.every
    follows = np.zeros(len(ends), bool)
    follows[:-1] = (np.diff(key) == 0) & (np.diff(number) == 1)
    after = np.flatnonzero(~follows)
    next_ends = (number[after] + 1) * grid.every + first
    if grid.steps is None:
        return after, next_ends - grid.size, next_ends
    period = number[after] // grid.steps  # the step that ends there is the one before
    return after, period * grid.steps * grid.every + grid.offset, next_ends


def number_runs(columns: Sequence[pa.Array], count: int) -> np.ndarray:
    """Find the number of the run of equal values of each row, from 0."""
    new = np.zeros(count, bool)
    for column in columns:
        new[1:] |= find_unlike(column[:-1], column[1:])
    return np.cumsum(new)


# ---- a batch, one result per row
@dataclass(frozen=True)
class ExpiredRows:
    """Rows that no row of the input is: the key of each, as a row of it, its time, and its results."""

    of: np.ndarray
    times: pa.Array
    results: dict[str, pa.Array]


def find_changes_over_time(
    frame: ArrangedFrame,
    keys: np.ndarray,
    times: np.ndarray,
    axis: Axis,
    expressions: Mapping[str, Over],
    results: Mapping[str, pa.Array],
    forget_after: Any = None,
) -> tuple[np.ndarray, ExpiredRows]:
    """Find which rows have other results than before, and the instants between them that have.

    The frame has lifetimes as its keys, `keys` are the offsets of the keys themselves, and `results` are those of the
    arranged rows; so are the rows that are returned.
    """
    numbers = np.arange(len(times))
    lifetime = np.searchsorted(frame.offsets, numbers, side="right") - 1
    key = np.searchsorted(keys, numbers, side="right") - 1
    ends = None
    if forget_after is not None:
        ends = axis.next_after(axis.add(times[frame.offsets[1:] - 1], forget_after)) if len(times) else times
    windows = list(dict.fromkeys(over.window for over in expressions.values()))
    instants = find_instants(windows, times, lifetime, key, axis, ends)
    empty = evaluate_empty(pa.schema([(n, frame.array(n).type) for n in list_read(expressions)]), expressions)
    probe = ArrangedFrame(frame.source, frame.partition_by, frame.order_by, 1, frame.arrangement)
    seen = evaluate_leaving(probe, expressions, times, instants, axis)
    before = count_rows(lifetime, times, instants.lifetime, instants.at, True) - 1  # the last row of its lifetime
    made = {}
    for name, column in results.items():
        stays = in_one_piece(pa.chunked_array([column, cast_to(empty[name], column.type)]))
        kept = stays.take(pa.array(np.where(instants.ended, len(column), before)))
        made[name] = cast_to(seen[name], column.type) if name in seen else kept
    all_keys = np.concatenate([key, key[before]])
    order = np.lexsort((np.concatenate([times, instants.at]), all_keys))
    both = {name: in_one_piece(pa.chunked_array([results[name], made[name]])).take(pa.array(order)) for name in made}
    changed = np.zeros(len(order), bool)
    changed[order] = find_changes(all_keys[order], list(both.values()), [empty[name] for name in both])
    expired = np.flatnonzero(changed[len(times) :])
    taken = {name: column.take(pa.array(expired)) for name, column in made.items()}
    return changed[: len(times)], ExpiredRows(before[expired], axis.write(instants.at[expired]), taken)


def list_read(expressions: Mapping[str, Over]) -> list[str]:
    """List the columns that aggregations read."""
    return list(dict.fromkeys(name for over in expressions.values() for name in over.aggregation.reads))
