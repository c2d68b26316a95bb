"""Sort check: whether rows stand by key and order, batch by batch. The first row out of place is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.batches.chunk import find_changes
from slidewise.columns.sorting import OrderColumn, as_plain, as_sortable
from slidewise.columns.sources import ColumnSource
from slidewise.errors import InvalidInput

#: So many keys are remembered, each of which may come once. Of more, only where keys stand in no order themselves: some
#: 150 bytes a key.
MOST_KEYS = 1 << 20

Columns = Mapping[str, pa.Array]


class SortCheck:
    """Checks that the rows of a key stand together, and in the order.

    Keys may stand in any order: ascending or not, and nulls wherever a tool puts them. To tell that one comes back they
    are remembered, until there are many that ascend or descend, which is then asked of those that follow.

    >>> check = SortCheck("with_columns", ["k"], [OrderColumn("ts")])
    >>> check.add({"k": pa.array(["b", "b"]), "ts": pa.array([1, 2])})
    >>> check.add({"k": pa.array(["a", "a"]), "ts": pa.array([7, 3])})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    slidewise.errors.InvalidInput: with_columns: sorted=True, and row 3 (from 0) is out of place: ts=3 ...
    """

    def __init__(self, what: str, partition_by: Sequence[str], order_by: Sequence[OrderColumn]) -> None:
        self._what, self._keys, self._order = what, list(dict.fromkeys(partition_by)), list(order_by)
        #: the columns to give to `add`
        self.names = list(dict.fromkeys([*self._keys, *(by.name for by in self._order)]))
        #: how many rows came, and the last of them
        self._rows = 0
        self._last: Columns | None = None
        #: the keys that came; None: they are known by their order
        self._seen: set[object] | None = set()
        #: the orders in which all keys stand so far
        self._ways = [
            [OrderColumn(name, descending, nulls_first) for name in self._keys]
            for descending in (False, True)
            for nulls_first in (True, False)
        ]

    def add(self, columns: Columns) -> None:
        """Check the next rows. O(1) per row, and a little more per key."""
        if not self.names or not len(columns[self.names[0]]):
            return
        columns = {name: columns[name] for name in self.names}
        count = len(columns[self.names[0]])
        if self._last is None:
            self._check(columns, self._rows, first=True)
        else:
            seam = {n: in_one_piece(pa.chunked_array([self._last[n], c[:1]])) for n, c in columns.items()}
            self._check(seam, self._rows - 1)
            self._check(columns, self._rows)
        self._last = {name: column[-1:] for name, column in columns.items()}
        self._rows += count

    def _check(self, columns: Columns, number: int, first: bool = False) -> None:
        """Check some rows, the first of which is the last of those before, unless it is the very first."""
        count = len(columns[self.names[0]])
        new = np.zeros(max(0, count - 1), bool)
        for name in self._keys:
            new |= find_changes(columns[name])
        late = self._find_late(columns, ~new)
        begins = np.flatnonzero(np.append(first, new))
        if len(late):  # a key that comes back before it is out of place first
            begins = begins[begins < late[0]]
        if self._keys and len(begins):
            self._check_keys(columns, begins, number)
        if len(late):
            raise self._build_error(columns, int(late[0]), number)

    def _find_late(self, columns: Columns, tied: np.ndarray) -> np.ndarray:
        """Find the rows that belong before the row before them, of the same key."""
        from slidewise.columns import sort_kernels as kernels

        follows = np.append(False, tied)
        if all(kernels.in_order(follows, values) for by in self._order for values in as_sortable(columns[by.name], by)):
            return np.zeros(0, np.int64)
        late = np.zeros(len(tied), bool)
        for by in self._order:
            for values in as_sortable(columns[by.name], by):
                late |= tied & (values[1:] < values[:-1])
                tied = tied & (values[1:] == values[:-1])
        return np.flatnonzero(late) + 1

    # ---- keys
    def _check_keys(self, columns: Columns, begins: np.ndarray, number: int) -> None:
        """Check that keys that begin at some rows have not come before."""
        rows = pa.array(np.maximum(np.append(begins[0] - 1, begins), 0))
        keys = {name: columns[name].take(rows) for name in self._keys}
        rises = [_count_rising(keys, way) for way in self._ways] if begins[0] else []
        if self._seen is None:
            at = max(rises)
            if at < len(begins):
                raise self._build_key_error(columns, int(begins[at]), number, remembered=False)
        else:
            values = [_list_values(keys[name][1:], name) for name in self._keys]
            # Tuples are for several columns alone: they keep Python's collector of cycles busy, 1 ms a batch.
            listed = values[0] if len(values) == 1 else list(zip(*values, strict=True))
            for at, key in enumerate(listed):
                if key in self._seen:
                    raise self._build_key_error(columns, int(begins[at]), number, remembered=True)
                self._seen.add(key)
        if rises or len(begins) > 1:
            rises = rises or [_count_rising({n: c[1:] for n, c in keys.items()}, way) + 1 for way in self._ways]
            self._ways = [way for way, rise in zip(self._ways, rises, strict=True) if rise == len(begins)]
        if self._ways and self._seen is not None and len(self._seen) > MOST_KEYS:
            self._seen = None

    # ---- errors
    def _build_error(self, columns: Columns, row: int, number: int) -> InvalidInput:
        names = list(dict.fromkeys(by.name for by in self._order))
        now, before = (_describe(columns, names, at) for at in (row, row - 1))
        of = f" of the same key, {_describe(columns, self._keys, row)}" if self._keys else ""
        nulls = any(columns[name][at].as_py() is None for name in names for at in (row, row - 1))
        hint = ' Where nulls are to stand elsewhere, say so: sw.asc(name, nulls="last").' if nulls else ""
        return self._refuse(number + row, f"{now} comes after {before}{of}.{hint}")

    def _build_key_error(self, columns: Columns, row: int, number: int, remembered: bool) -> InvalidInput:
        now, before = (_describe(columns, self._keys, at) for at in (row, row - 1))
        if remembered:
            return self._refuse(number + row, f"the key {now} comes back after other keys, the last of them {before}.")
        return self._refuse(
            number + row,
            f"the key {now} comes after {before}, and the keys before stood in order. Of more than {MOST_KEYS:,} keys "
            "that do, no more is remembered, and so the rest must.",
        )

    def _refuse(self, row: int, why: str) -> InvalidInput:
        by = ", ".join([*self._keys, *(by.name + " descending" * by.descending for by in self._order)])
        return InvalidInput(
            f"{self._what}: sorted=True, and row {row:,} (from 0) is out of place: {why} Sort the input by {by}, or "
            "leave out sorted=True: all rows are then read and sorted"
        )


def require_sorted(source: ColumnSource, what: str, partition_by: list[str], order_by: list[OrderColumn]) -> None:
    """Refuse rows in memory that do not stand by key and order."""
    check = SortCheck(what, partition_by, order_by)
    missing = [name for name in check.names if name not in source.readable]
    if not missing:  # what is missing is refused where it is read
        check.add({name: source.column(name) for name in check.names})


def _count_rising(keys: Columns, way: list[OrderColumn]) -> int:
    """Count the keys, from the second on, that stand after the one before them in an order: up to the first other."""
    count = len(next(iter(keys.values()))) - 1
    tied, rising = np.ones(count, bool), np.zeros(count, bool)
    for by in way:
        for values in as_sortable(keys[by.name], by):
            rising |= tied & (values[1:] > values[:-1])
            tied &= values[1:] == values[:-1]
    return count if rising.all() else int(np.argmin(rising))


def _list_values(column: pa.Array, name: str) -> list[object]:
    """List values so that equal keys are equal: NaNs are one, and -0.0 is 0.0."""
    column = as_plain(column)
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        listed: list[object] = column.to_pylist()
        return listed
    values = as_sortable(column, OrderColumn(name))[-1].tolist()
    if not column.null_count:
        return values
    return [v if ok else None for v, ok in zip(values, column.is_valid().to_pylist(), strict=True)]


def _describe(columns: Columns, names: Sequence[str], row: int) -> str:
    return ", ".join(f"{name}={_write(columns[name][row])}" for name in names)


def _write(scalar: pa.Scalar) -> str:
    if scalar.is_valid and pa.types.is_temporal(scalar.type):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # of zones that are not known here, and durations
            return str(scalar.cast(pa.string()))
    return repr(scalar.as_py()) if scalar.is_valid else "null"
