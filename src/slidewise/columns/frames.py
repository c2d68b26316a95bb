"""From a window to frames: index bounds over rows that are arranged by key and order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.order import OrderColumn, sortable_floats
from slidewise.errors import InvalidInput
from slidewise.windows.bounds import Frames, KeyedTrailingRows, Pieces, TrailingRows
from slidewise.windows.definitions import (
    Between,
    Bound,
    Column,
    RowsWindow,
    TimeWindow,
    Unbounded,
    WindowDefinition,
)
from slidewise.windows.durations import CalendarDuration, Duration

#: further than any frame reaches, and still safe to add to a row number
FAR = 1 << 62
_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True)
class Arranged:
    """What frames are made from: rows arranged by key and order."""

    offsets: np.ndarray
    order: list[OrderColumn]
    #: the order columns as sortable integers, one or (with nulls) two per column
    sortable: list[np.ndarray]
    #: the first order column as it is, arranged; None without an order
    values: pa.Array | None
    #: any other column by name, arranged
    column: Callable[[str], pa.Array]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.offsets[-1])

    def changes(self) -> np.ndarray:
        """Which rows differ in their order from the row before."""
        out = np.zeros(self.count, bool)
        for column in self.sortable:
            out[1:] |= column[1:] != column[:-1]
        return out


def frames_of(window: WindowDefinition, rows: Arranged) -> Frames:
    """The frame of every row."""
    if isinstance(window, RowsWindow):
        if len(rows.offsets) == 2:
            return TrailingRows(rows.count, window.n)
        return KeyedTrailingRows(rows.offsets, window.n)
    if isinstance(window, TimeWindow):
        return _range(rows, _negative(window.size), 0, window.closed)
    if isinstance(window, Between):
        return _exclude(_between(window, rows), window.exclude, rows)
    raise InvalidInput(f"{window!r} has no frame per row here")


def _negative(size: Any) -> Any:
    return -size


def _between(window: Between, rows: Arranged) -> Frames:
    if window.unit == "range":
        return _range(rows, window.start, window.end, "both")
    from slidewise.windows import bounds_kernels as kernels

    start, end = np.empty(rows.count, np.int64), np.empty(rows.count, np.int64)
    first, last = (_steps(b, rows) for b in (window.start, window.end))
    if window.unit == "rows":
        if isinstance(first, int) and isinstance(last, int):
            kernels.rows(rows.offsets, first, last, start, end)
        else:
            kernels.rows_by_row(rows.offsets, _each(first, rows), _each(last, rows), start, end)
        return Frames(start, end)
    if not rows.order:
        raise InvalidInput("groups_between counts groups of rows of equal order, and there is no order_by")
    group, begin = np.empty(rows.count, np.int64), np.empty(rows.count + 1, np.int64)
    kernels.group_numbers(rows.offsets, rows.changes(), group, begin)
    kernels.groups_by_row(rows.offsets, group, begin, _each(first, rows), _each(last, rows), start, end)
    return Frames(start, end)


def _steps(bound: Bound, rows: Arranged) -> int | np.ndarray:
    """A bound in rows or groups: a number, or one number per row."""
    if isinstance(bound, Unbounded):
        return bound.sign * FAR
    if isinstance(bound, Column):
        column = rows.column(bound.name)
        if not pa.types.is_integer(column.type):
            raise InvalidInput(f"the bound col({bound.name!r}) must be of integers, and is of {column.type}")
        if column.null_count:
            raise InvalidInput(f"the bound col({bound.name!r}) has {column.null_count} nulls: fill them first")
        return np.clip(column.cast(pa.int64()).to_numpy(zero_copy_only=False), -FAR, FAR)
    return bound  # type: ignore[return-value]


def _each(steps: int | np.ndarray, rows: Arranged) -> np.ndarray:
    return np.full(rows.count, steps) if isinstance(steps, int) else steps


# ---- RANGE
def _range(rows: Arranged, first: Any, last: Any, closed: str) -> Frames:
    """Rows whose order lies between the row's own plus first and plus last; null rows see their null peers."""
    if len(rows.order) != 1 and not all(isinstance(b, Unbounded) or b == 0 for b in (first, last)):
        raise InvalidInput(f"a frame by range needs exactly one order column, got {[o.name for o in rows.order]}")
    from slidewise.windows import bounds_kernels as kernels

    start, end = np.empty(rows.count, np.int64), np.empty(rows.count, np.int64)
    peers = _peers(rows)
    for bound, out, is_end in ((first, start, False), (last, end, True)):
        out[:] = _range_bound(bound, rows, peers, is_end, _open(closed, is_end), kernels)
    return Frames(start, np.maximum(start, end))


def _open(closed: str, is_end: bool) -> bool:
    """Whether the bound itself is left out."""
    return closed not in ("both", "right" if is_end else "left")


def _peers(rows: Arranged) -> tuple[np.ndarray, np.ndarray]:
    from slidewise.windows import bounds_kernels as kernels

    start, end = np.empty(rows.count, np.int64), np.empty(rows.count, np.int64)
    kernels.peers(rows.offsets, rows.changes(), start, end)
    return start, end


def _range_bound(
    bound: Any, rows: Arranged, peers: tuple[np.ndarray, np.ndarray], is_end: bool, is_open: bool, kernels: Any
) -> np.ndarray:
    if isinstance(bound, Unbounded):
        per_key = rows.offsets[1:] if is_end else rows.offsets[:-1]
        return np.repeat(per_key, np.diff(rows.offsets))
    if not isinstance(bound, Column) and bound == 0:
        return peers[0] if is_end == is_open else peers[1]
    by = rows.order[0]
    assert rows.values is not None
    if isinstance(bound, Column):
        offset: Any = rows.column(bound.name)
        if offset.null_count:
            raise InvalidInput(f"the bound col({bound.name!r}) has {offset.null_count} nulls: fill them first")
    else:
        offset = bound
    targets = _shifted(rows.values, offset, by)
    nulls = len(rows.sortable) == 2
    out = np.empty(rows.count, np.int64)
    order = rows.sortable[-1]
    # Rows with order >= target, or > target: the next integer up is the same as "greater" in sortable space.
    beyond = is_end != is_open
    if nulls:
        order, targets = _around_nulls(rows, order, targets, by)
    kernels.first_at_least(rows.offsets, order, targets + 1 if beyond else targets, out)
    if nulls:
        null = pc.is_null(rows.values).to_numpy(zero_copy_only=False)
        out[null] = peers[1 if is_end else 0][null]
    return out


def _around_nulls(
    rows: Arranged, order: np.ndarray, targets: np.ndarray, by: OrderColumn
) -> tuple[np.ndarray, np.ndarray]:
    """Nulls below or above every value in the search, so that no frame of another row reaches them."""
    null = pc.is_null(rows.values).to_numpy(zero_copy_only=False)
    extreme = np.iinfo(np.int64).min if by.nulls_lead else np.iinfo(np.int64).max
    inside = np.clip(targets, np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max - 2)
    return np.where(null, extreme, order), inside


def _shifted(values: pa.Array, offset: Any, by: OrderColumn) -> np.ndarray:
    """The order moved by an offset, as sortable integers; descending flips the direction."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _shifted(values.cast(kind.value_type), offset, by)
    if by.descending:
        return ~_shifted(values, _negated(offset), OrderColumn(by.name))
    if isinstance(offset, pa.Array):
        offset = _column_offset(offset, kind, by.name)
    elif isinstance(offset, CalendarDuration):
        return _by_months(values, offset.months, by.name)
    else:
        offset = _length_in(kind, offset, by.name)
    if pa.types.is_floating(kind):
        numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return sortable_floats(numbers + offset)
    return _saturating_add(_as_int64(values), offset)


def _negated(offset: Any) -> Any:
    return pc.negate(offset) if isinstance(offset, pa.Array) else -offset


def _column_offset(offset: pa.Array, kind: pa.DataType, name: str) -> np.ndarray:
    if pa.types.is_duration(offset.type) and pa.types.is_temporal(kind):
        unit = "ns" if not pa.types.is_timestamp(kind) else kind.unit
        return offset.cast(pa.duration(unit)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(offset.type) or pa.types.is_floating(offset.type):
        target = pa.float64() if pa.types.is_floating(kind) else pa.int64()
        return offset.cast(target).to_numpy(zero_copy_only=False)
    raise InvalidInput(f"a bound of type {offset.type} cannot be added to the order column {name!r} of type {kind}")


def _length_in(kind: pa.DataType, length: Any, name: str) -> Any:
    """A length in the unit of the order column."""
    if isinstance(length, Duration):
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
            return _whole(length.nanoseconds, _UNIT[kind.unit], length, kind, name)
        if pa.types.is_date32(kind):
            return _whole(length.nanoseconds, 86_400 * 10**9, length, kind, name)
        if pa.types.is_date64(kind):
            return _whole(length.nanoseconds, 10**6, length, kind, name)
        raise InvalidInput(f"{length!r} is a length of time, and the order column {name!r} is of {kind}. Give a number")
    if pa.types.is_temporal(kind):
        raise InvalidInput(f'the order column {name!r} is of {kind}: give a length of time such as "1h", not {length!r}')
    if pa.types.is_floating(kind):
        return float(length)
    if pa.types.is_integer(kind):
        if length != int(length):
            raise InvalidInput(f"the order column {name!r} is of {kind}: the length must be a whole number, got {length!r}")
        return int(length)
    raise InvalidInput(f"a frame by range needs an order column of numbers or times, and {name!r} is of {kind}")


def _whole(nanoseconds: int, unit: int, length: Any, kind: pa.DataType, name: str) -> int:
    if nanoseconds % unit:
        raise InvalidInput(f"{length!r} is not a whole number of the units of the order column {name!r}, {kind}")
    return nanoseconds // unit


def _by_months(values: pa.Array, months: int, name: str) -> np.ndarray:
    """Each time moved by calendar months; the day is cut to the month's last, as SQL does."""
    kind = values.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise InvalidInput(f"months need an order column of dates or timestamps, and {name!r} is of {kind}")
    local = values
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        local = pc.local_timestamp(values)
    stamps = local.fill_null(pa.scalar(0, pa.int64()).cast(local.type) if not pa.types.is_date32(kind) else None)
    stamps = stamps.to_numpy(zero_copy_only=False) if not pa.types.is_date32(kind) else _as_int64(local).astype("M8[D]")
    days = stamps.astype("M8[D]")
    month = days.astype("M8[M]")
    target = month + months
    length = ((target + 1).astype("M8[D]") - target.astype("M8[D]")).astype(np.int64)
    day = np.minimum((days - month.astype("M8[D]")).astype(np.int64), length - 1)
    moved = target.astype("M8[D]") + day + (stamps - days)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        naive = pa.array(moved, local.type)
        moved_array = pc.assume_timezone(naive, kind.tz, ambiguous="earliest", nonexistent="earliest")
        return _as_int64(moved_array.cast(kind))
    return _as_int64(pa.array(moved.astype(stamps.dtype)).cast(kind))


def _as_int64(values: pa.Array) -> np.ndarray:
    if pa.types.is_date32(values.type) or pa.types.is_time32(values.type):
        values = values.cast(pa.int32())
    if pa.types.is_uint64(values.type):
        raise InvalidInput("a frame by range over uint64 is not possible: cast the order column to int64 or float64")
    return values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)


def _saturating_add(values: np.ndarray, offset: Any) -> np.ndarray:
    """values + offset where wrapping around would put a bound on the wrong side."""
    info = np.iinfo(np.int64)
    step = np.asarray(offset, np.int64)
    moved = values + step
    over = (moved < values) & (step > 0)
    under = (moved > values) & (step < 0)
    if over.any() or under.any():
        moved = np.where(over, info.max - 1, np.where(under, info.min, moved))
    return np.minimum(moved, info.max - 1)


# ---- EXCLUDE
def _exclude(frames: Frames, exclude: str | None, rows: Arranged) -> Frames:
    """A frame with a hole: at most three pieces."""
    if exclude is None:
        return frames
    row = np.arange(rows.count)
    if exclude == "current row":
        cuts = [(row, row + 1)]
    else:
        first, last = _peers(rows) if rows.order else (
            np.repeat(rows.offsets[:-1], np.diff(rows.offsets)), np.repeat(rows.offsets[1:], np.diff(rows.offsets))
        )  # fmt: skip
        cuts = [(first, last)] if exclude == "group" else [(first, row), (row + 1, last)]
    pieces, position = [], frames.start
    for low, high in cuts:
        pieces.append((position, np.clip(low, position, np.maximum(frames.end, position))))
        position = np.clip(high, position, np.maximum(frames.end, position))
    pieces.append((position, np.maximum(frames.end, position)))
    return Pieces([Frames(start, np.maximum(start, end)) for start, end in pieces])
