"""Changes: the results that differ from the one before of their key, and where a key begins anew.

The results of a key come in order, in one table or range by range, and each is compared with the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.sorting import as_plain


class ChangeFinder:
    """Finds rows that differ from the one before, or have none before: of another key, or forgotten in between.

    >>> finder = ChangeFinder(forget_after=10)
    >>> key, value = pa.array(["a", "a", "b"]), pa.array([1.0, 1.0, 1.0])
    >>> finder.find([key], np.array([1, 2, 2]), [value])
    array([ True, False,  True])
    >>> finder.find([pa.array(["b", "b"])], np.array([12, 23]), [pa.array([1.0, 1.0])])
    array([False,  True])
    """

    def __init__(self, forget_after: Any = None) -> None:
        """Take after how many units of time a row has none before it; None: never."""
        self._forget_after = forget_after
        #: the last row: its key and values, and its time
        self._last: tuple[list[pa.Array], np.ndarray | None] | None = None

    @property
    def looks_at_times(self) -> bool:
        """Whether times are needed."""
        return self._forget_after is not None

    def find(self, keys: Sequence[pa.Array], times: np.ndarray | None, values: Sequence[pa.Array]) -> np.ndarray:
        """Find such rows among the next ones, which stand by key and time. O(rows)."""
        columns = [as_plain(column) for column in (*keys, *values)]
        count = len(columns[0]) if columns else 0 if times is None else len(times)
        new = np.zeros(count, bool)
        if not count:
            return new
        if self._last is None:
            new[0], before = True, [column[:1] for column in columns]
        else:
            before = self._last[0]
        for column, last in zip(columns, before, strict=True):
            new |= find_unlike(pa.concat_arrays([last, column[:-1]]), column)
        if self._forget_after is not None and times is not None:
            earlier = times[:1] if self._last is None or self._last[1] is None else self._last[1]
            new |= _exceed(np.concatenate([earlier, times[:-1]]), times, self._forget_after)
        self._last = [column[-1:] for column in columns], None if times is None else times[-1:]
        return new


def _exceed(earlier: np.ndarray, later: np.ndarray, length: Any) -> np.ndarray:
    """Find the times that are later by more than a length; those of another key may be earlier."""
    gaps = later - earlier
    if gaps.dtype.kind == "i":  # further apart than 63 bits, and not less: times ascend
        return np.asarray(gaps.astype(np.int64).view(np.uint64) > length)
    return np.asarray(gaps > length, bool)


def find_unlike(a: pa.Array, b: pa.Array) -> np.ndarray:
    """Find the values that differ from their counterparts; null and NaN are equal to themselves, at any depth."""
    a, b = as_plain(a), as_plain(b)
    null = [column.is_null().to_numpy(zero_copy_only=False) for column in (a, b)]
    out: np.ndarray = null[0] != null[1]
    rows = np.flatnonzero(~(null[0] | null[1]))
    if len(rows):
        out[rows] = _find_unlike_values(a.take(pa.array(rows)), b.take(pa.array(rows)))
    return out


def _find_unlike_values(a: pa.Array, b: pa.Array) -> np.ndarray:
    kind = a.type
    if pa.types.is_struct(kind):
        return np.logical_or.reduce([find_unlike(*pair) for pair in zip(a.flatten(), b.flatten(), strict=True)])
    if pa.types.is_nested(kind):  # lists: equal lengths, and equal values in all places
        lengths, others = (pc.list_value_length(column).to_numpy() for column in (a, b))
        out: np.ndarray = lengths != others
        rows = np.flatnonzero(~out)
        values, counterparts = (column.take(pa.array(rows)).flatten() for column in (a, b))
        out[np.repeat(rows, lengths[rows])[find_unlike(values, counterparts)]] = True
        return out
    differs = pc.not_equal(a, b)
    if pa.types.is_floating(kind):
        differs = pc.and_not(differs, pc.and_(pc.is_nan(a), pc.is_nan(b)))
    return differs.to_numpy(zero_copy_only=False)
