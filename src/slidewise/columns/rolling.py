"""One array in, one array out."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.columns.engine import Columns, compute
from slidewise.columns.valid import every
from slidewise.errors import InvalidInput
from slidewise.planner.choose import Situation, choose
from slidewise.windows import bounds
from slidewise.windows.definitions import Between, Column, Frames, RowsWindow, Unbounded, WindowDefinition, window_of


def rolling(
    x: Any, aggregation: Aggregation | type[Aggregation], window: WindowDefinition | int, *, algorithm: str = "auto"
) -> np.ndarray:
    """An aggregation over a window of rows, for every row of an array.

    >>> import numpy as np, slidewise as sw
    >>> sw.rolling(np.array([3.0, 1.0, 2.0, 5.0]), sw.max(), sw.rows(2))
    array([3., 3., 2., 5.])

    Aggregations of several arguments take a tuple of arrays. A frame without a result (the standard deviation of one
    row, an empty frame) is masked: the result is then a masked array. Masked input rows are nulls.

    >>> sw.rolling(np.array([1.0, 3.0, 5.0]), sw.stddev(), sw.rows(2))
    masked_array(data=[--, 1.4142135623730951, 1.4142135623730951],
                 mask=[ True, False, False],
           fill_value=1e+20)
    """
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation):
        raise InvalidInput(f"rolling takes an aggregation such as slidewise.max(), got {aggregation!r}")
    if aggregation.where is not None:
        raise InvalidInput(
            f"rolling has arrays and no column {aggregation.where!r}: mask the rows, or use with_columns"
        )
    window = window_of(window, "rolling")
    columns, nulls = _columns(x, aggregation)
    frames, due = _frames(window, len(columns[0]))
    if nulls is not None:
        columns, frames = tuple(c[~nulls] for c in columns), frames.without(nulls)
    if algorithm == "auto":
        algorithm = choose(aggregation, _situation(columns, frames)).algorithm
    out, valid = compute(aggregation, columns, frames, algorithm)
    if frames.empty is not None and aggregation.empty is not None:
        out[frames.empty] = aggregation.empty
        valid = valid | frames.empty
    if due is not True:
        valid = valid & due
    return out if every(valid) else np.ma.masked_array(out, mask=~valid)


def _columns(x: Any, aggregation: Aggregation) -> tuple[Columns, np.ndarray | None]:
    """The columns, and which rows are left out because an argument is null."""
    several = isinstance(x, tuple)
    arrays = tuple(np.ma.asanyarray(c) if np.ma.isMA(c) else np.asarray(c) for c in (x if several else (x,)))
    if len(arrays) != aggregation.arity:
        raise InvalidInput(
            f"{aggregation.name} takes {aggregation.arity} array{'s' * (aggregation.arity != 1)}, got {len(arrays)}. "
            "Give several as a tuple"
        )
    for array in arrays:
        if array.ndim != 1:
            raise InvalidInput(f"rolling takes arrays of one dimension, got shape {array.shape}")
        if len(array) != len(arrays[0]):
            raise InvalidInput(f"rolling takes arrays of one length, got {[len(a) for a in arrays]}")
    if not any(np.ma.isMA(a) and a.mask is not np.ma.nomask for a in arrays):
        return tuple(np.asarray(a) for a in arrays), None
    if aggregation.nulls == "keep":
        return tuple(_with_none(a) for a in arrays), None
    needed = range(len(arrays)) if aggregation.nulls == "skip" else aggregation.nulls
    nulls = np.zeros(len(arrays[0]), bool)
    for k in needed:
        nulls |= np.ma.getmaskarray(arrays[k])
    kept = tuple(np.asarray(a) if k in needed else _with_none(a) for k, a in enumerate(arrays))
    return kept, nulls


def _with_none(array: np.ndarray) -> np.ndarray:
    if not np.ma.isMA(array):
        return array
    plain = np.empty(len(array), object)
    plain[:] = array.tolist()
    return plain


def _frames(window: WindowDefinition, count: int) -> tuple[bounds.Frames, np.ndarray | bool]:
    """The frames of a window over rows, and which of them have enough rows to be due."""
    if window.slide_kind not in ("row", "count"):
        raise InvalidInput(f"rolling slides by row or by a count of rows, got {window!r}. Use slidewise.Window")
    due: np.ndarray | bool = True
    if isinstance(window, RowsWindow):
        frames: bounds.Frames = bounds.TrailingRows(count, window.n)
        if window.min_rows > 1:
            due = np.arange(1, count + 1) >= window.min_rows
    elif isinstance(window, Between) and window.unit == "rows" and window.exclude is None:
        first, last = (_offset(b) for b in (window.start, window.end))
        frames = bounds.rows_between(count, first, last)
    elif isinstance(window, Frames):
        frames = _explicit(window, count)
    else:
        raise InvalidInput(f"rolling takes rows(n), rows_between(a, b) or frames(start, end), got {window!r}")
    if window.every is not None:
        step = window.every.n  # type: ignore[attr-defined]
        frames = frames.every(step)
        due = due if due is True else due[step - 1 :: step]  # type: ignore[index]
    return frames, due


def _offset(bound: Any) -> int | None:
    if isinstance(bound, Column):
        raise InvalidInput(f"rolling has one array and no column {bound.name!r}. Give the bounds as frames(start, end)")
    return None if isinstance(bound, Unbounded) else bound


def _explicit(window: Frames, count: int) -> bounds.Frames:
    start, end = (np.asarray(b, np.int64) for b in (window.start, window.end))
    if len(start) and not (start.min() >= 0 and end.max() <= count):
        raise InvalidInput(
            f"frames: bounds are between 0 and the number of rows, {count}, got {start.min()} to {end.max()}"
        )
    return bounds.Frames(np.minimum(start, end), end)


def _situation(columns: Columns, frames: bounds.Frames) -> Situation:
    return Situation(
        "columns",
        rows=frames.trailing,
        trailing=frames.trailing is not None,
        monotone=frames.monotone,
        numbers=all(c.dtype.kind in "biuf" for c in columns),
        integers=all(c.dtype.kind in "iu" for c in columns),
    )
