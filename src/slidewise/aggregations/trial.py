"""The types of an aggregation's partials and results, found by a trial of its functions on a few numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from slidewise.aggregations.base import Aggregation


def is_ours(op: Aggregation) -> bool:
    """Tell whether the functions of an aggregation are part of this package, and never change."""
    return are_ours(op.lift, op.combine, op.lower, op.defined)


@functools.lru_cache(maxsize=4096)
def are_ours(*functions: Any) -> bool:
    """Tell whether functions are part of this package, and never change."""
    return all(str(f.__module__).startswith("slidewise.") for f in functions if callable(f))


def partial_dtype(op: Aggregation, columns: tuple[np.ndarray, ...]) -> np.dtype:
    """Find the type of partials by trial on a few rows of the columns' types: combining may widen what lift gives."""
    return (_our_partial if is_ours(op) else _tried_partial)(op.lift, op.combine, tuple(c.dtype for c in columns))


def result_dtype(op: Aggregation, columns: tuple[np.ndarray, ...], partial: np.dtype) -> np.dtype:
    """Find the type of results by lowering a real partial; the identity need not have a result."""
    if op.keeps_type:
        return columns[0].dtype
    trial = _our_result if is_ours(op) else _tried_result
    return trial(op.lift, op.combine, op.lower, tuple(c.dtype for c in columns), partial)


def compute_trial(op: Aggregation, rows: Iterable[tuple[Any, ...]]) -> Any:
    """Compute the result of a few rows, to see of which type it is."""
    with np.errstate(all="ignore"):
        return op.lower(_combine_rows(op.lift, op.combine, rows))


def make_trial_rows(dtypes: Iterable[np.dtype]) -> list[tuple[Any, ...]]:
    """Make rows of the numbers 1, 2 and 4, as Python's, for columns of these types."""
    return [tuple(dtype.type(value).item() for dtype in dtypes) for value in (1, 2, 4)]


def obstacle(op: Aggregation, columns: tuple[np.ndarray, ...]) -> str | None:
    """Tell why a user's aggregation cannot be compiled, as a trial shows: only numbers and tuples of numbers can.

    NumPy would take other partials and results all the same: texts with the length that they had on the trial.
    """
    try:
        dtypes = tuple(c.dtype for c in columns)
        rows = make_trial_rows(dtypes)
        one, total = op.lift(*rows[0]), _combine_rows(op.lift, op.combine, rows)
        parts = total if isinstance(total, tuple) else (total,)
        if isinstance(one, tuple) and len(one) != len(parts):
            return "since its partials are tuples of changing length"
        partial = partial_dtype(op, columns)
        if any(type(part) is int and not -(2**63) <= part < 2**63 for part in parts):
            return "since its partials leave 64-bit integers"  # of which numba would make floats
        if _holds_numbers(partial):
            typed_identity(op, partial)
            result = result_dtype(op, columns, partial)
            return None if _holds_numbers(result) else "since its results are no numbers, nor tuples of numbers"
    except Exception as error:  # whatever a user's functions raise
        return f"since it was tried on the numbers 1, 2 and 4, and failed: {error!r}"
    return "since its partials are no numbers, nor tuples of numbers"


def _holds_numbers(dtype: np.dtype) -> bool:
    return all(part.kind in "biufc" for part in ([dtype[name] for name in dtype.names or ()] or [dtype]))


def _tried_partial(lift: Any, combine: Any, dtypes: tuple[np.dtype, ...]) -> np.dtype:
    rows = make_trial_rows(dtypes)
    with np.errstate(all="ignore"):
        one = lift(*rows[0])
    total = _combine_rows(lift, combine, rows)
    if isinstance(total, tuple):
        return np.dtype([(f"f{k}", _wider(a, b)) for k, (a, b) in enumerate(zip(one, total, strict=True))])
    return _wider(one, total)


def _tried_result(lift: Any, combine: Any, lower: Any, dtypes: tuple[np.dtype, ...], partial: np.dtype) -> np.dtype:
    try:
        with np.errstate(all="ignore"):
            result = lower(np.array(_combine_rows(lift, combine, make_trial_rows(dtypes)), partial).item())
    except (ArithmeticError, ValueError):  # no result of the trial's rows: a computed number, in all likelihood
        return np.dtype(np.float64)
    if isinstance(result, tuple):
        return np.dtype([(f"f{k}", np.asarray(v).dtype) for k, v in enumerate(result)])
    return np.asarray(result).dtype


# Trials take longer than a small array: ours are remembered.
_our_partial = functools.lru_cache(maxsize=1024)(_tried_partial)
_our_result = functools.lru_cache(maxsize=1024)(_tried_result)


def _combine_rows(lift: Any, combine: Any, rows: Iterable[tuple[Any, ...]]) -> Any:
    with np.errstate(all="ignore"):  # the hash of a sketch overflows on purpose
        return functools.reduce(combine, [lift(*row) for row in rows])


def _wider(a: Any, b: Any) -> np.dtype:
    return np.result_type(np.asarray(a).dtype, np.asarray(b).dtype)


def typed_identity(op: Aggregation, partial: np.dtype) -> Any:
    """Make the identity a constant of exactly the partials' type."""
    if partial.fields is None:
        return _constant(op.identity_for(partial), partial)
    dtypes = [partial[name] for name in partial.names or ()]
    return tuple(_constant(v, dtype) for v, dtype in zip(op.identity, dtypes, strict=True))


def _constant(value: Any, dtype: np.dtype) -> Any:
    scalar = dtype.type(value)
    return scalar if dtype.kind == "u" else scalar.item()  # numba reads a Python int as signed
