"""One array in, one array out."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList, CollectSet
from slidewise.aggregations.over import Over
from slidewise.aggregations.sums import Count
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.arrays import arrow_to_numpy, as_array, in_kind
from slidewise.columns.buffers import are_all_valid
from slidewise.columns.encoding import encoding_for, integers_as_arrow, results_as_arrow, type_by_trial
from slidewise.columns.evaluate import Evaluation, describe_situation
from slidewise.columns.execute import Columns, compute
from slidewise.columns.frames import bounds
from slidewise.columns.frames.slides import Slides
from slidewise.columns.sources import Arrays
from slidewise.columns.with_columns import held_values, with_columns
from slidewise.columns.wrapped import unwrap
from slidewise.errors import InvalidInput
from slidewise.planner.choose import choose
from slidewise.windows.definitions import Between, DeltaWindow, FramesWindow, RowsWindow, WindowDefinition, window_of
from slidewise.windows.reach import OffsetColumn, Unbounded


def rolling(
    x: Any,
    aggregation: Aggregation | type[Aggregation],
    window: WindowDefinition | int,
    *,
    at: Any = None,
    algorithm: str = "auto",
) -> Any:
    """Compute an aggregation over a window, for every row of an array.

    >>> import numpy as np, slidewise as sw
    >>> sw.rolling(np.array([3.0, 1.0, 2.0, 5.0]), sw.max(), sw.rows(2))
    array([3., 3., 2., 5.])

    The array is NumPy's, Arrow's, a pandas or a polars Series, and so is the result: what `with_columns` gives for a
    column of these values. A pandas index and a polars name are kept.

    >>> import pyarrow as pa
    >>> sw.rolling(pa.array([1.0, None, 3.0]), sw.max(), sw.rows(2)).to_pylist()
    [1.0, 1.0, 3.0]

    Aggregations of several arguments take a tuple of arrays; the result is of the kind of the first. Of NumPy arrays, a
    frame without a result (the standard deviation of one row, an empty frame) is masked: the result is then a masked
    array. Masked input rows and NaT are nulls.

    >>> sw.rolling(np.array([1.0, 3.0, 5.0]), sw.stddev(), sw.rows(2))
    masked_array(data=[--, 1.4142135623730951, 1.4142135623730951],
                 mask=[ True, False, False],
           fill_value=1e+20)

    `at` has the times of the rows, or other values to order them by, as an array of any kind: it is `with_columns` with
    these as `order_by`. Windows by time, range and groups need it. Rows may come in any order, and results come in the
    order of `x`; rows without a time are those that have none in `with_columns`, too.

    >>> at = np.array(["2026-01-01T10:00", "2026-01-01T10:50", "2026-01-01T11:20"], "M8[m]")
    >>> sw.rolling(np.array([3.0, 1.0, 2.0]), sw.sum(), sw.time("1h"), at=at)
    array([3., 4., 3.])
    """
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation):
        raise InvalidInput(f"rolling takes an aggregation such as slidewise.max(), got {aggregation!r}")
    if aggregation.where is not None:
        raise InvalidInput(
            f"rolling has arrays and no column {aggregation.where!r}: mask the rows, or use with_columns"
        )
    if aggregation.asks:
        raise InvalidInput(f"rolling has arrays and no column {aggregation.asks[0]!r} of the row: use with_columns")
    window = window_of(window, "rolling")
    first, wrap = unwrap(x[0] if isinstance(x, tuple) and x else x)
    x = (first, *x[1:]) if isinstance(x, tuple) and x else first
    arrays = _check_arrays(x, aggregation)
    if at is not None or isinstance(window, DeltaWindow):
        return wrap(_compute_in_order(arrays, aggregation, window, at, algorithm))
    frames, due = _build_frames(window, len(arrays[0]))
    if (
        _are_plain_numbers(arrays)
        and not aggregation.result_fields
        and not isinstance(aggregation, CollectSet | CollectList)
    ):
        return _compute_numbers(arrays, aggregation, frames, due, algorithm)
    values = _compute_column(arrays, aggregation, frames, due, algorithm)
    rows = _find_rows(window, len(arrays[0]), len(frames))
    return wrap(in_kind(values, arrays[0], rows, held_values(aggregation) == "values"))


def _check_arrays(x: Any, aggregation: Aggregation) -> tuple[Any, ...]:
    """Check what was given, and return it as arrays."""
    arrays = tuple(map(as_array, x if isinstance(x, tuple) else (x,)))
    if len(arrays) != aggregation.arity:
        raise InvalidInput(
            f"{aggregation.name} takes {aggregation.arity} array{'s' * (aggregation.arity != 1)}, got {len(arrays)}. "
            "Give several as a tuple"
        )
    for array in arrays:
        if getattr(array, "ndim", 1) != 1:
            raise InvalidInput(f"rolling takes arrays of one dimension, got shape {array.shape}")
        if len(array) != len(arrays[0]):
            raise InvalidInput(f"rolling takes arrays of one length, got {[len(a) for a in arrays]}")
    return arrays


def _name_arrays(arrays: tuple[Any, ...]) -> tuple[str, ...]:
    """Name the arrays, for errors."""
    return ("x",) if len(arrays) == 1 else tuple(f"x[{k}]" for k in range(len(arrays)))


# ---- in the order of an array beside
def _compute_in_order(
    arrays: tuple[Any, ...], aggregation: Aggregation, window: WindowDefinition, at: Any, algorithm: str
) -> Any:
    names = _name_arrays(arrays)
    columns = dict(zip(names, arrays, strict=True))
    if at is not None:
        columns["at"] = as_array(at)
        if getattr(columns["at"], "ndim", 1) != 1 or len(columns["at"]) != len(arrays[0]):
            raise InvalidInput(
                f"rolling: at= has one time for each of the {len(arrays[0])} rows, got {_describe_size(columns['at'])}"
            )
    if window.every is not None or window.is_explicit:
        raise InvalidInput(f"rolling with at= gives a result for every row, got {window!r}. Use slidewise.aggregate")
    if isinstance(window, DeltaWindow) and window.column is None:
        window = replace(window, column=names[0])
    unknown = [column for column in window.columns if column not in columns]
    if unknown:
        raise InvalidInput(
            f"rolling has arrays and no column {unknown[0]!r}, which {window!r} reads. Use slidewise.with_columns"
        )
    over = Over(_bind(aggregation, names), window, algorithm)
    return with_columns(columns, {"result": over}, order_by=None if at is None else "at")["result"]


def _describe_size(array: Any) -> str:
    return f"shape {array.shape}" if getattr(array, "ndim", 1) != 1 else str(len(array))


def _bind(aggregation: Aggregation, names: tuple[str, ...]) -> Aggregation:
    """Bind an aggregation to the arrays as columns; count() reads none."""
    if not aggregation.columns and isinstance(aggregation, Count):
        return aggregation
    aggregation = copy(aggregation)
    aggregation.columns = names
    return aggregation


# ---- NumPy's numbers, as they are: a call of 1,000 rows takes a third of the time that it takes as a column
def _are_plain_numbers(arrays: tuple[Any, ...]) -> bool:
    """Tell whether kernels take these arrays as they are; unsigned ones of 8 bytes may be too large for them."""
    return all(
        type(a) is np.ndarray and a.dtype.isnative and a.dtype.char in "bBhHiIlqfd" and a.dtype != np.uint64
        for a in arrays
    )


_TAKE_NUMBERS = frozenset(("number", "amount", "ordered", "carried", "any"))


def _compute_numbers(
    columns: Columns, aggregation: Aggregation, frames: bounds.Frames, due: np.ndarray | bool, algorithm: str
) -> np.ndarray:
    kinds = [pa.from_numpy_dtype(c.dtype) for c in columns]
    if not _TAKE_NUMBERS.issuperset(aggregation.accepts):
        for k, (name, kind) in enumerate(zip(_name_arrays(columns), kinds, strict=True)):
            encoding_for(aggregation, k, name, kind)
    if algorithm == "auto":
        algorithm = choose(aggregation, describe_situation(columns, frames)).algorithm
    out, valid = compute(aggregation, columns, frames, algorithm)
    if frames.empty is not None and aggregation.empty is not None:
        out[frames.empty] = aggregation.empty
        valid = valid | frames.empty
    if due is not True:
        valid = valid & due
    if aggregation.keeps_type:  # what is interpreted gives Python's numbers
        out = out.astype(columns[0].dtype, copy=False)
    if out.dtype.kind not in "biuf":
        return arrow_to_numpy(results_as_arrow(out, valid, of_none=lambda: type_by_trial(aggregation, kinds)))
    return out if are_all_valid(valid) else np.ma.masked_array(out, mask=~valid)


# ---- all else, as columns
def _compute_column(
    arrays: tuple[Any, ...], aggregation: Aggregation, frames: bounds.Frames, due: np.ndarray | bool, algorithm: str
) -> pa.Array:
    names = _name_arrays(arrays)
    aggregation = _bind(aggregation, names)
    data = ArrangedFrame(Arrays(dict(zip(names, arrays, strict=True))), [], [])
    # Frames are explicit, whatever the window is: any one stands for them here.
    over = Over(aggregation, RowsWindow(1), algorithm)
    data.set_frames(over.window, frames)
    out = Evaluation(data, [over], 1, Slides(frames, np.array([0, len(frames)]), {})).columns({"x": over})["x"]
    return out if due is True else out.take(integers_as_arrow(np.arange(len(out)), np.asarray(due)))


def _find_rows(window: WindowDefinition, count: int, results: int) -> np.ndarray | None:
    """Return the rows that results belong to; None: each to its own."""
    step = window.slide_rows
    if step is not None:
        return np.arange(step - 1, count, step)
    return None if results == count else np.zeros(0, np.int64)


def _build_frames(window: WindowDefinition, count: int) -> tuple[bounds.Frames, np.ndarray | bool]:
    """Build the frames of a window over rows, and tell which of them have enough rows to be due."""
    if window.slide_kind not in ("row", "count"):
        raise InvalidInput(f"rolling slides by row or by a count of rows, got {window!r}. Use slidewise.Window")
    due: np.ndarray | bool = True
    if window.trailing_rows is not None:
        frames: bounds.Frames = bounds.TrailingRows(count, window.trailing_rows)
        if window.min_rows > 1:
            due = np.arange(1, count + 1) >= window.min_rows
    elif isinstance(window, Between) and window.unit == "rows" and window.exclude is None:
        first, last = (_read_offset(b) for b in (window.start, window.end))
        frames = bounds.rows_between(count, first, last)
    elif isinstance(window, FramesWindow):
        frames = _check_frames(window, count)
    else:
        raise InvalidInput(
            f"rolling without times takes rows(n), rows_between(a, b) or frames(start, end), got {window!r}. Give the "
            "times of the rows: at=, or use slidewise.with_columns"
        )
    step = window.slide_rows
    if step is not None:
        frames = frames.every(step)
        due = due if due is True else due[step - 1 :: step]  # type: ignore[index]
    return frames, due


def _read_offset(bound: Any) -> int | None:
    if isinstance(bound, OffsetColumn):
        raise InvalidInput(f"rolling has one array and no column {bound.name!r}. Give the bounds as frames(start, end)")
    return None if isinstance(bound, Unbounded) else bound


def _check_frames(window: FramesWindow, count: int) -> bounds.Frames:
    start, end = (np.asarray(b, np.int64) for b in (window.start, window.end))
    if len(start) and not (start.min() >= 0 and end.max() <= count):
        raise InvalidInput(
            f"frames: bounds are between 0 and the number of rows, {count}, got {start.min()} to {end.max()}"
        )
    return bounds.Frames(np.minimum(start, end), end)
