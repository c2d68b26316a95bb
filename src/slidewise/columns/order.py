"""The order of rows: partition keys as codes, order columns as sortable integers, and one permutation that brings the
rows of a key together in their order.

Sorting goes by the least significant column first, each pass stable: a comparison sort only where rows do not stand in
order yet, and a counting sort for the keys. A million keys of ten rows and one key of ten million rows cost about the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.errors import InvalidInput


@dataclass(frozen=True)
class OrderColumn:
    """One column to order by."""

    name: str
    descending: bool = False
    #: where nulls go; None: first when ascending and last when descending, as Spark does
    nulls_first: bool | None = None

    @property
    def nulls_lead(self) -> bool:
        """Whether nulls come first."""
        return not self.descending if self.nulls_first is None else self.nulls_first


@dataclass(frozen=True)
class Arrangement:
    """Rows arranged by key and order."""

    #: arranged row i is input row permutation[i]; None where rows stand in order already
    permutation: np.ndarray | None
    #: key k is arranged rows offsets[k] to offsets[k + 1] - 1
    offsets: np.ndarray

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """A column in the arranged order."""
        return values if self.permutation is None else values[self.permutation]

    def restore(self, values: np.ndarray) -> np.ndarray:
        """A column of arranged rows in the order of the input."""
        if self.permutation is None:
            return values
        out = np.empty_like(values)
        out[self.permutation] = values
        return out


def arrange(count: int, keys: list[pa.Array], order: list[np.ndarray]) -> Arrangement:
    """Bring the rows of each key together, in the order of the sortable columns, ties in the order of the input."""
    from slidewise.columns import order_kernels

    permutation: np.ndarray | None = None
    for column in reversed(order):
        current = column if permutation is None else column[permutation]
        if not order_kernels.ascending(current):
            step = np.argsort(current, kind="stable")
            permutation = step if permutation is None else permutation[step]
    if not keys:
        return Arrangement(permutation, np.array([0, count]))
    codes, number = key_codes(keys)
    if permutation is not None:
        codes = codes[permutation]
    if order_kernels.ascending(codes):
        return Arrangement(permutation, order_kernels.offsets(codes, number))
    step, offsets = order_kernels.counting_sort(codes, number)
    return Arrangement(step if permutation is None else permutation[step], offsets)


# ---- keys
def key_codes(columns: list[pa.Array]) -> tuple[np.ndarray, int]:
    """One small integer per row and distinct key, nulls being a key like any other; and how many there are."""
    codes, number = _codes_of(columns[0])
    for column in columns[1:]:
        more, by = _codes_of(column)
        codes, number = _dense(codes * by + more, number * by)
    return codes, number


def _codes_of(column: pa.Array) -> tuple[np.ndarray, int]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # two entries of a dictionary may be equal
    if pa.types.is_floating(column.type):
        column = canonical_floats(column)
    if pa.types.is_integer(column.type) and column.null_count == 0 and len(column):
        low, high = pc.min_max(column).as_py().values()
        if high - low < 2 * len(column) + 1024:
            return _dense(column.to_numpy(zero_copy_only=False).astype(np.int64) - low, high - low + 1)
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def _dense(codes: np.ndarray, number: int) -> tuple[np.ndarray, int]:
    """Codes without gaps, so that no key is without rows."""
    if number > 4 * len(codes) + 1024:
        distinct, dense = np.unique(codes, return_inverse=True)
        return dense.astype(np.int64), len(distinct)
    used = np.zeros(number, bool)
    used[codes] = True
    if used.all():
        return codes, number
    return (np.cumsum(used) - 1)[codes], int(used.sum())


# ---- order
def sortable(column: pa.Array, by: OrderColumn) -> list[np.ndarray]:
    """A column as integers that sort like it: NaN above all numbers, -0.0 with 0.0, nulls first or last."""
    values = _sortable_values(column, by.name)
    if by.descending:
        values = ~values
    if column.null_count == 0:
        return [values]
    null = pc.is_null(column).to_numpy(zero_copy_only=False)
    values = np.where(null, 0, values)
    return [(~null if by.nulls_lead else null).astype(np.int64), values]


def _sortable_values(column: pa.Array, name: str) -> np.ndarray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _sortable_values(column.cast(kind.value_type), name)
    if pa.types.is_floating(kind):
        return sortable_floats(column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    if pa.types.is_uint64(kind):
        return (column.fill_null(0).to_numpy(zero_copy_only=False) ^ np.uint64(1 << 63)).view(np.int64)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32()).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_temporal(kind):
        return column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return _ranks(column)
    raise InvalidInput(f"order_by: column {name!r} of type {kind} has no order. Order by a number, a time or a string")


def _ranks(column: pa.Array) -> np.ndarray:
    encoded = pc.dictionary_encode(column)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)]


def sortable_floats(values: np.ndarray) -> np.ndarray:
    """Doubles as integers in the same order: NaN, in one bit pattern, above infinity, and -0.0 as 0.0."""
    clean = values + 0.0  # -0.0 becomes 0.0
    clean[np.isnan(clean)] = np.nan
    bits = clean.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def canonical_floats(column: pa.Array) -> pa.Array:
    """Floats with one NaN and one zero, so that equal values have equal bits."""
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    values[np.isnan(values)] = np.nan
    mask: Any = pc.is_null(column).to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values, mask=mask)
