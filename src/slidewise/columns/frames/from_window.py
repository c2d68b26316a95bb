"""From a window to frames: index bounds over rows that are arranged by key and order.

A frame by range is a search. The order columns are integers that sort like them (see sorting.py), and integers,
decimals and times keep their distances there, descending or not: the bound of a row is its own number plus the offset.
Only floats and calendar months are moved as what they are, and turned into such integers again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.frames.bounds import FAR, Frames, KeyedTrailingRows, Pieces, TrailingRows, within_reach
from slidewise.columns.sorting import OrderColumn, as_doubles, as_plain, as_sortable_floats, unscale
from slidewise.errors import InvalidInput
from slidewise.windows.clock import offset_after_months
from slidewise.windows.definitions import PunctuationWindow, WindowDefinition
from slidewise.windows.durations import CalendarDuration, Duration, sign
from slidewise.windows.reach import Bound, OffsetColumn, Reach, Unbounded
from slidewise.windows.sessions import SessionWindow

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_DAY = 86_400 * 1_000_000_000
_INT64 = np.iinfo(np.int64)
#: a mask of no rows
_NEVER = np.zeros(1, bool)


@dataclass(frozen=True)
class Arranged:
    """What frames are made from: rows arranged by key and order."""

    offsets: np.ndarray
    order: list[OrderColumn]
    #: the order columns as sortable integers, one or (with nulls) two per column
    sortable: list[np.ndarray]
    #: the type of the first order column; None without an order
    kind: pa.DataType | None
    #: any column by name, arranged
    column: Callable[[str], pa.Array]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.offsets[-1])

    def changes(self) -> np.ndarray:
        """Tell which rows differ in their order from the row before."""
        out = np.zeros(self.count, bool)
        for column in self.sortable:
            out[1:] |= column[1:] != column[:-1]
        return out


def frames_of(window: WindowDefinition, rows: Arranged) -> Frames:
    """Build the frame of every row."""
    n, reach = window.trailing_rows, window.reach
    if n is not None:
        return TrailingRows(rows.count, n) if len(rows.offsets) == 2 else KeyedTrailingRows(rows.offsets, n)
    if isinstance(window, PunctuationWindow) and isinstance(window.predicate, str):
        return _find_punctuated(rows, window.predicate)
    if isinstance(window, SessionWindow):
        return Frames(find_session_starts(window, rows), _find_peers(rows)[1])
    if reach is None:
        raise InvalidInput(f"{window!r} has no frame per row here")
    frames = {"rows": _find_rows, "range": _find_range, "groups": _find_groups}[reach.unit](reach, rows)
    return frames if reach.exclude is None else _exclude(frames, reach.exclude, rows)


def _allocate_bounds(rows: Arranged) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(rows.count, np.int64), np.empty(rows.count, np.int64)


def _find_punctuated(rows: Arranged, name: str) -> Frames:
    from slidewise.columns.frames import bounds_kernels as kernels

    marks = rows.column(name)
    if not pa.types.is_boolean(marks.type) and not pa.types.is_null(marks.type):
        raise InvalidInput(f"punctuation: the column {name!r} must be boolean, and is of {marks.type}")
    start, end = _allocate_bounds(rows)
    kernels.since_marks(
        rows.offsets, marks.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False), start, end
    )
    return Frames(start, end)


# ---- sessions
def find_session_starts(window: SessionWindow, rows: Arranged) -> np.ndarray:
    """Find the first row of each row's session; rows without an order are one of their own."""
    if len(rows.order) != 1:
        raise InvalidInput(f"{window!r} needs exactly one order column, got {[by.name for by in rows.order]}")
    after, _, beyond = targets_of(window.gap, rows)
    order, null = rows.sortable[-1], _find_nulls(rows)
    begins = rows.changes()
    begins[1:] &= (order[1:] > after[:-1]) & ~np.broadcast_to(beyond, order.shape)[:-1]
    if null is not None:
        begins[1:] &= ~(null[1:] & null[:-1])
        begins[1:] |= null[1:] != null[:-1]
    begins[rows.offsets[:-1][np.diff(rows.offsets) > 0]] = True
    return np.maximum.accumulate(np.where(begins, np.arange(rows.count), 0))


# ---- ROWS and GROUPS
def _find_rows(reach: Reach, rows: Arranged) -> Frames:
    from slidewise.columns.frames import bounds_kernels as kernels

    start, end = _allocate_bounds(rows)
    first, last = (_read_steps(bound, rows) for bound in reach.bounds)
    if isinstance(first, int) and isinstance(last, int):
        kernels.rows(rows.offsets, first, last, start, end)
    else:
        kernels.rows_by_row(rows.offsets, _repeat(first, rows), _repeat(last, rows), start, end)
    return Frames(start, end)


def _find_groups(reach: Reach, rows: Arranged) -> Frames:
    from slidewise.columns.frames import bounds_kernels as kernels

    if not rows.order:
        raise InvalidInput("groups_between counts groups of rows of equal order, and there is no order_by")
    start, end = _allocate_bounds(rows)
    first, last = (_repeat(_read_steps(bound, rows), rows) for bound in reach.bounds)
    group, begin = np.empty(rows.count, np.int64), np.empty(rows.count + 1, np.int64)
    kernels.group_numbers(rows.offsets, rows.changes(), group, begin)
    kernels.groups_by_row(rows.offsets, group, begin, first, last, start, end)
    return Frames(start, end)


def _read_steps(bound: Bound, rows: Arranged) -> int | np.ndarray:
    """Convert a bound in rows or groups to a number, or to one number per row."""
    if isinstance(bound, Unbounded):
        return bound.sign * FAR
    if isinstance(bound, OffsetColumn):
        column = _read_bound(bound.name, rows)
        if not pa.types.is_integer(column.type):
            raise InvalidInput(f"the bound col({bound.name!r}) must be of integers, and is of {column.type}")
        values = column.to_numpy()
        values = np.minimum(values, np.uint64(FAR)) if pa.types.is_uint64(column.type) else values
        return np.clip(values.astype(np.int64), -FAR, FAR)
    return within_reach(bound)  # type: ignore[arg-type]


def _repeat(steps: int | np.ndarray, rows: Arranged) -> np.ndarray:
    return np.full(rows.count, steps) if isinstance(steps, int) else steps


def _read_bound(name: str, rows: Arranged) -> pa.Array:
    column = as_plain(rows.column(name))
    if column.null_count:
        raise InvalidInput(f"the bound col({name!r}) has {column.null_count} nulls: fill them first")
    return column


# ---- RANGE
def _find_range(reach: Reach, rows: Arranged) -> Frames:
    """Find the rows whose order lies between the row's own plus both bounds; null rows see their null peers."""
    if len(rows.order) != 1 and not all(_needs_no_search(bound) for bound in reach.bounds):
        raise InvalidInput(f"a frame by range needs exactly one order column, got {[o.name for o in rows.order]}")
    start = _find_bound(reach.start, rows, is_end=False, is_open=reach.open_start)
    end = _find_bound(reach.end, rows, is_end=True, is_open=reach.open_end)
    return Frames(start, np.maximum(start, end, out=end))


def _needs_no_search(bound: Any) -> bool:
    """Tell whether a bound is known without looking at distances: no bound, or the row itself and its peers."""
    return isinstance(bound, Unbounded) or (not isinstance(bound, OffsetColumn) and sign(bound) == 0)


def _find_peers(rows: Arranged) -> tuple[np.ndarray, np.ndarray]:
    """Find the rows of equal order; all rows of the key where there is no order."""
    from slidewise.columns.frames import bounds_kernels as kernels

    start, end = _allocate_bounds(rows)
    kernels.peers(rows.offsets, rows.changes(), start, end)
    return start, end


def _find_bound(bound: Any, rows: Arranged, is_end: bool, is_open: bool) -> np.ndarray:
    if isinstance(bound, Unbounded):
        return np.repeat(rows.offsets[1:] if is_end else rows.offsets[:-1], np.diff(rows.offsets))
    null = _find_nulls(rows)
    beyond = is_end != is_open  # the bound is the first row above the target, not the first one at it
    out = _find_peers(rows)[1 if beyond else 0] if _needs_no_search(bound) else _search_bound(bound, rows, null, beyond)
    return out if null is None else np.where(null, _find_peers(rows)[1 if is_end else 0], out)


def _find_nulls(rows: Arranged) -> np.ndarray | None:
    """Return which rows have no order; None where all have. With several order columns, a null is a plain value."""
    if len(rows.order) != 1 or len(rows.sortable) != 2:
        return None
    return rows.sortable[0] == (0 if rows.order[0].nulls_lead else 1)


def _search_bound(bound: Any, rows: Arranged, null: np.ndarray | None, beyond: bool) -> np.ndarray:
    """Find the first row of the key at or beyond each row's own order plus the bound; null rows are not answered."""
    from slidewise.columns.frames import bounds_kernels as kernels

    low, high = rows.offsets[:-1], rows.offsets[1:]
    if null is not None:  # they stand at one end of their key, outside of the search
        count = np.diff(np.concatenate(([0], np.cumsum(null)))[rows.offsets])
        low, high = (low + count, high) if rows.order[0].nulls_lead else (low, high - count)
    targets, below, above = targets_of(bound, rows)
    out = np.zeros(rows.count, np.int64)
    kernels.search(low, high, rows.sortable[-1], targets, beyond, out)
    for mask, edge in ((below, low), (above, high)):
        if mask.any():
            out[mask] = np.repeat(edge, np.diff(rows.offsets))[mask]
    return out


_Targets = tuple[np.ndarray, np.ndarray, np.ndarray]


def targets_of(bound: Any, rows: Arranged) -> _Targets:
    """Add the bound to each row's order, as sortable integers; tell which lie below and above all that there are."""
    by, kind = rows.order[0], rows.kind
    assert kind is not None
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    offset = _read_bound(bound.name, rows) if isinstance(bound, OffsetColumn) else bound
    if isinstance(offset, CalendarDuration):
        values = as_plain(rows.column(by.name))
        moved, below, above = _add_months(values, -offset.months if by.descending else offset.months, by.name)
    elif pa.types.is_floating(kind):
        step = float_step(offset, kind, by.name)
        values = as_plain(rows.column(by.name))
        moved, below, above = (
            as_sortable_floats(add_to_floats(values, -step if by.descending else step)),
            _NEVER,
            _NEVER,
        )
    else:
        step = (
            _read_column_step(offset, kind, by.name)
            if isinstance(offset, pa.Array)
            else step_in_units(offset, kind, by.name)
        )
        return _saturating_add(rows.sortable[-1], step)
    return (~moved, above, below) if by.descending else (moved, below, above)


def add_to_floats(values: pa.Array, step: Any) -> np.ndarray:
    """Add a step to floats, with the digits that their own type has, as in Spark and DuckDB.

    As doubles, 1.2 - 0.1 of float32 were above 1.1: the nearest float32 to 1.2 is a little more than 1.2.
    """
    own = values.type.to_pandas_dtype()
    with np.errstate(over="ignore"):  # infinity is where it belongs
        return (as_doubles(values).astype(own) + np.asarray(step, own)).astype(np.float64)


def _saturating_add(values: np.ndarray, step: int | np.ndarray) -> _Targets:
    """Compute values + step, and tell where that leaves int64 on either side."""
    if isinstance(step, int):  # of any size
        lowest, highest = int(values.min(initial=_INT64.max)), int(values.max(initial=_INT64.min))
        if _INT64.min - step <= lowest and highest <= _INT64.max - step:
            return values + step, _NEVER, _NEVER
        wrapped = np.array(step % (1 << 64), np.uint64).view(np.int64)
        return values + wrapped, values < _INT64.min - step, values > _INT64.max - step
    moved = values + step
    return moved, (moved > values) & (step < 0), (moved < values) & (step > 0)


# ---- offsets in the unit of the order column
def find_unit(kind: pa.DataType) -> int | None:
    """Return the nanoseconds per unit of a type of times; None for other types."""
    if pa.types.is_date32(kind):
        return _DAY
    if pa.types.is_date64(kind):
        return 1_000_000
    return _NANOSECONDS[kind.unit] if pa.types.is_temporal(kind) else None


def step_in_units(length: Any, kind: pa.DataType, name: str) -> int:
    """Convert a length to units of the order column."""
    unit = find_unit(kind)
    if isinstance(length, Duration):
        if unit is None:
            raise _build_time_error(length, kind, name)
        if length.nanoseconds % unit:
            raise InvalidInput(f"{length!r} is not a whole number of the units of the order column {name!r}, {kind}")
        return length.nanoseconds // unit
    if unit is not None:
        raise InvalidInput(
            f'the order column {name!r} is of {kind}: give a length of time such as "1h", not {length!r}'
        )
    if pa.types.is_integer(kind) or _is_short_decimal(kind):
        steps = Decimal(str(length)).scaleb(kind.scale if pa.types.is_decimal(kind) else 0)
        if steps != int(steps):
            raise InvalidInput(
                f"the order column {name!r} is of {kind}: {length!r} is not a multiple of its last digit"
            )
        return int(steps)
    raise _build_range_error(kind, name)


def _read_column_step(offset: pa.Array, kind: pa.DataType, name: str) -> np.ndarray:
    """Convert a column of lengths to units of the order column."""
    unit = find_unit(kind)
    try:
        if unit is not None and pa.types.is_duration(offset.type):
            exact = offset.cast(pa.duration("s" if unit == _DAY else {v: k for k, v in _NANOSECONDS.items()}[unit]))
            steps = exact.cast(pa.int64()).to_numpy()
            if unit == _DAY and (steps % 86_400).any():
                raise InvalidInput(
                    f"a bound by column is not of whole days, and the order column {name!r} is of {kind}"
                )
            return steps // 86_400 if unit == _DAY else steps
        if pa.types.is_integer(kind) and unit is None and _is_number(offset.type):
            return offset.cast(pa.int64()).to_numpy()
        if _is_short_decimal(kind) and not pa.types.is_floating(offset.type) and _is_number(offset.type):
            return unscale(offset.cast(pa.decimal128(38, kind.scale)).cast(pa.decimal128(18, kind.scale)))
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"a bound by column does not fit the order column {name!r} of type {kind}: {error}"
        ) from None
    if unit is None and not (pa.types.is_integer(kind) or _is_short_decimal(kind)):
        raise _build_range_error(kind, name)
    raise InvalidInput(f"a bound of type {offset.type} cannot be added to the order column {name!r} of type {kind}")


def float_step(offset: Any, kind: pa.DataType, name: str) -> Any:
    if isinstance(offset, Duration):
        raise _build_time_error(offset, kind, name)
    if not isinstance(offset, pa.Array):
        return float(offset)
    if not _is_number(offset.type):
        raise InvalidInput(f"a bound of type {offset.type} cannot be added to the order column {name!r} of type {kind}")
    steps = offset.cast(pa.float64(), safe=False).to_numpy()
    if not np.isfinite(steps).all():
        raise InvalidInput(f"a bound by column over the order column {name!r} must be finite: it has NaN or infinity")
    return steps


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_short_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.precision <= 18)


def _build_time_error(length: Duration, kind: pa.DataType, name: str) -> InvalidInput:
    instead = how_to_parse(kind, name) or "Give a number"
    return InvalidInput(f"{length!r} is a length of time, and the order column {name!r} is of {kind}. {instead}")


def _build_range_error(kind: pa.DataType, name: str) -> InvalidInput:
    more = " of at most 18 digits" if pa.types.is_decimal(kind) else ""
    needed = f"a frame by range needs an order column of numbers{more} or times, and {name!r} is of {kind}"
    return InvalidInput(". ".join(filter(None, (needed, how_to_parse(kind, name)))))


def how_to_parse(kind: pa.DataType, name: str) -> str:
    """Say what to do with a column of text where times or numbers are needed; nothing for other types."""
    if not any(is_text(kind) for is_text in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        return ""
    return (
        f'It is text, which has no distances: parse it first, as in pd.to_datetime(df["{name}"]) in pandas, '
        f'pl.col("{name}").str.to_datetime() in polars, to_timestamp("{name}") in Spark, or into numbers'
    )


# ---- months
def _add_months(values: pa.Array, months: int, name: str) -> _Targets:
    """Move each time by months, in its own zone by the rule of offset_after_months; tell which leave 64 bits."""
    kind = values.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise InvalidInput(f"months need an order column of dates or timestamps, and {name!r} is of {kind}")
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    before = _as_integers(values)
    local = before if zone is None else _as_integers(pc.local_timestamp(values))
    moved, below, above = _move_by_months(local, months, _DAY // (find_unit(kind) or 1))
    if zone is None:
        return moved, below, above
    stamps = pa.array(moved, pa.timestamp(kind.unit))
    early, late = (
        pc.assume_timezone(stamps, zone, ambiguous=a, nonexistent="earliest") for a in ("earliest", "latest")
    )
    # For a skipped time Arrow gives the instant before the clocks skip: the distance from UTC is that before, too.
    first, second = (_as_integers(pc.local_timestamp(t)) - _as_integers(t) for t in (early, late))
    return moved - offset_after_months(local - before, first, second), below, above


def _move_by_months(local: np.ndarray, months: int, day: int) -> _Targets:
    """Move local times, in units of which a day has so many, by months; the last two days of 64 bits are left out."""
    days, rest = np.divmod(local, day)
    month = days.astype("M8[D]").astype("M8[M]")
    target = month + np.timedelta64(max(-(10**9), min(months, 10**9)), "M")
    same_day = target.astype("M8[D]") + (days.astype("M8[D]") - month.astype("M8[D]"))
    moved = np.minimum(same_day, (target + 1).astype("M8[D]") - 1).astype(np.int64)
    most = _INT64.max // day - 2
    return np.clip(moved, -most, most) * day + rest, moved < -most, moved > most


def _as_integers(times: pa.Array) -> np.ndarray:
    times = times.cast(pa.int32()) if pa.types.is_date32(times.type) else times
    return times.cast(pa.int64()).fill_null(0).to_numpy()


# ---- EXCLUDE
def _exclude(frames: Frames, exclude: str, rows: Arranged) -> Frames:
    """Cut what is excluded out of frames: two pieces, or three where the row itself stays between its ties."""
    row = np.arange(rows.count)
    if exclude == "current row":
        holes = [(row, row + 1)]
    else:
        first, last = _find_peers(rows)
        holes = [(first, last)] if exclude == "group" else [(first, row), (row + 1, last)]
    pieces, position = [], frames.start
    for low, high in holes:
        pieces.append(Frames(position, np.clip(low, position, frames.end)))
        position = np.clip(high, position, frames.end)
    return Pieces([*pieces, Frames(position, frames.end)])
