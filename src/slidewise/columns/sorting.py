"""The order of rows: partition keys as codes, order columns as sortable integers, and one permutation that brings the
rows of a key together in their order.

Rows that stand in order already, in all or within each key, are never sorted. Otherwise a counting sort brings the rows
of each key together, and they are sorted within it, the least significant column first, each sort being stable.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.encoding import read_words
from slidewise.errors import InvalidInput

#: Up to so many keys, what is next for each of them stays in cache.
FEW_KEYS = 1 << 16


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


class Arrangement:
    """Rows arranged by key and order: by the permutation, by its inverse, or, without either, as they stand."""

    def __init__(
        self, permutation: np.ndarray | None, offsets: np.ndarray, threads: int = 1, inverse: np.ndarray | None = None
    ) -> None:
        self._permutation, self._given = permutation, inverse
        #: key k is arranged rows offsets[k] to offsets[k + 1] - 1
        self.offsets = offsets
        #: how many threads move values
        self.threads = threads

    @cached_property
    def permutation(self) -> np.ndarray | None:
        """Arranged row i is input row permutation[i]; None where rows stand in order already."""
        if self._given is None:
            return self._permutation
        out = np.empty(len(self._given), np.int64)
        self._move("invert", self._given, out)
        return out

    # With few keys, going along the input touches one place per key, and those stay in cache. For 1,000 keys restoring
    # takes 1.7 ns a row by the inverse and 8 by the permutation, arranging 2.7 and 13; for 400,000 keys it is 10 and 8,
    # 9 and 14.
    @cached_property
    def _inverse(self) -> np.ndarray | None:
        """Input row i is arranged row _inverse[i]; None where the permutation serves better."""
        if self._given is not None or self._permutation is None or len(self.offsets) > FEW_KEYS:
            return self._given
        out = _number_rows(len(self._permutation))
        self._move("invert", self._permutation, out)
        return out

    @property
    def in_order(self) -> bool:
        """Whether rows stand in order already."""
        return self._permutation is None and self._given is None

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """Put a column in the arranged order."""
        if self.in_order:
            return values
        if self._inverse is None or values.dtype.kind not in "biuf":
            return values[self.permutation]
        out = np.empty(len(values), values.dtype)
        self._move("scatter", _as_words(values), self._inverse, _as_words(out))
        return out

    def restore(self, values: np.ndarray) -> np.ndarray:
        """Put a column of arranged rows back in the order of the input."""
        if self.in_order:
            return values
        out = np.empty(len(values), values.dtype)
        if values.dtype.kind not in "biuf":
            out[self.permutation] = values
        elif self._inverse is not None:
            self._move("gather", _as_words(values), self._inverse, _as_words(out))
        else:
            assert self._permutation is not None
            self._move("scatter", _as_words(values), self._permutation, _as_words(out))
        return out

    def _move(self, kernel: str, *arrays: np.ndarray) -> None:
        from slidewise.columns import sort_kernels

        run = getattr(sort_kernels, kernel)
        in_slices(len(arrays[0]), self.threads, lambda k, first, last: run(*arrays, first, last))


def in_slices(count: int, threads: int, run: Callable[[int, int, int], Any]) -> list[Any]:
    """Run something for slices of rows, given their number, first row and end, one on each thread."""
    cuts = np.linspace(0, count, (threads if count >= 1 << 18 else 1) + 1).astype(int).tolist()
    slices = [(k, *bounds) for k, bounds in enumerate(pairwise(cuts))]
    if len(slices) == 1:
        return [run(*slices[0])]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda one: run(*one), slices))


def _number_rows(count: int) -> np.ndarray:
    return np.empty(count, np.int32 if count < 2**31 else np.int64)


def _as_words(values: np.ndarray) -> np.ndarray:
    """View values as unsigned integers of their width: kernels for every width, and not for every type."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def arrange(count: int, keys: list[pa.Array], order: list[np.ndarray], threads: int = 1) -> Arrangement:
    """Bring the rows of each key together, in the order of the sortable columns, ties in the order of the input."""
    from slidewise.columns import sort_kernels as kernels

    if not keys:
        stands = _is_in_order(np.ones(count, bool), order)
        return Arrangement(None if stands else _sort_by(order), np.array([0, count], np.int64), threads)
    if not order and (few := _find_few_integers(keys)) is not None:
        return _arrange_by_codes(*few, threads)
    codes, number = key_codes(keys)
    if not order and number <= FEW_KEYS:
        return _arrange_by_codes(codes, 0, number, threads)
    if kernels.ascending(codes) and _is_in_order(np.append(False, codes[1:] == codes[:-1]), order):
        return Arrangement(None, kernels.offsets(codes, number), threads)
    offsets = kernels.offsets(codes, number)
    if number == 1:
        return Arrangement(_sort_by(order), offsets, threads)
    stands = _is_in_order(np.ones(count, bool), order)
    if stands and number <= FEW_KEYS:
        return _arrange_by_codes(codes, 0, number, threads)
    permutation, _ = kernels.counting_sort(codes, number)
    for column in [] if stands else reversed(order):
        kernels.sort_within(offsets, column[permutation], permutation)
    return Arrangement(permutation, offsets, threads)


def _find_few_integers(keys: list[pa.Array]) -> tuple[np.ndarray, int, int] | None:
    """Return the values of a key that is one integer column, the lowest, and the size of their range.

    None where that is too large. Codes would be a copy, and there are four passes over those.
    """
    column = keys[0]
    if len(keys) > 1 or not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    low, high = pc.min_max(column).as_py().values()
    return (read_words(column, column.type.to_pandas_dtype()), low, high - low + 1) if high - low < FEW_KEYS else None


def _arrange_by_codes(values: np.ndarray, low: int, number: int, threads: int) -> Arrangement:
    """Arrange rows by their code, a value less the lowest, as they stand within it.

    A counting sort that ends one step early, at where every row comes to stand: 1,000 keys and 10 million rows take 4
    ns a row, against 16 for the permutation and its inverse. Each thread counts and places the rows of a slice.
    """
    from slidewise.columns import sort_kernels as kernels

    first = values.dtype.type(low)
    counts = np.zeros((threads, number), np.int64)
    in_slices(len(values), threads, lambda k, a, b: kernels.count_codes(values, first, counts[k], a, b))
    total = counts.sum(axis=0)
    ends = np.cumsum(total)
    offsets = np.concatenate(([0], ends[total > 0]))
    if kernels.ascending(values):
        return Arrangement(None, offsets, threads)
    begin = ends - total + np.cumsum(counts, axis=0) - counts
    out = _number_rows(len(values))
    in_slices(len(values), threads, lambda k, a, b: kernels.places(values, first, begin[k], out, a, b))
    return Arrangement(None, offsets, threads, out)


def _is_in_order(tied: np.ndarray, order: list[np.ndarray]) -> bool:
    """Tell whether rows stand in the order of several columns, where they are of the same key as the row before."""
    from slidewise.columns import sort_kernels as kernels

    return all(kernels.in_order(tied, column) for column in order)


def _sort_by(order: list[np.ndarray]) -> np.ndarray | None:
    """Find the stable permutation that sorts rows by several columns; None where they are sorted."""
    from slidewise.columns import sort_kernels as kernels

    permutation: np.ndarray | None = None
    for column in reversed(order):
        current = column if permutation is None else column[permutation]
        if not kernels.ascending(current):
            step = radix_sort(current)
            permutation = step if permutation is None else permutation[step]
    return permutation


def radix_sort(values: np.ndarray) -> np.ndarray:
    """Find the stable permutation that sorts 64-bit integers. O(n) per byte in which they differ.

    For 10 million random values of 55 bits 8-bit digits took 59 ns per row, digits of 11, 13 and 16 bits 78 to 107 ns,
    and NumPy's stable argsort 283 ns. Only where rows are nearly sorted is the latter faster (22 ns against 45 ns).
    """
    from slidewise.columns import sort_kernels as kernels

    low, high = int(values.min()), int(values.max())
    passes = -(-(high - low).bit_length() // kernels.DIGIT)
    # Digits are those of the distance from the least value; one of 64 bits wraps around, and has the same digits.
    keys, rows = values - low, np.arange(len(values), dtype=np.int32 if len(values) < 1 << 31 else np.int64)
    counts = kernels.digit_counts(keys, passes)
    keys_out, rows_out = np.empty_like(keys), np.empty_like(rows)
    for p in range(passes):
        if counts[p].max() < len(keys):  # otherwise all rows have the same digit
            kernels.radix_pass(keys, rows, counts[p], p * kernels.DIGIT, keys_out, rows_out)
            keys, keys_out, rows, rows_out = keys_out, keys, rows_out, rows
    return rows.astype(np.int64, copy=False)


# ---- keys
def key_codes(columns: list[pa.Array]) -> tuple[np.ndarray, int]:
    """Encode keys: one small integer per row and distinct key, nulls being a key too; and how many there are."""
    codes, number = _encode_key(columns[0])
    for column in columns[1:]:
        more, by = _encode_key(column)
        codes, number = _renumber(codes * by + more, number * by)
    return codes, number


def _encode_key(column: pa.Array) -> tuple[np.ndarray, int]:
    if pa.types.is_dictionary(column.type) and not column.null_count and not column.dictionary.null_count:
        codes, number = _encode_key(column.dictionary)  # two entries of a dictionary may be equal, and some not in use
        return _renumber(codes[column.indices.to_numpy()], number)
    column = as_plain(column)
    if pa.types.is_floating(column.type):
        column = _as_canonical_floats(column)
    if pa.types.is_integer(column.type) and column.null_count == 0 and len(column):
        low, high = pc.min_max(column).as_py().values()
        if high - low < 2 * len(column) + 1024:
            values = read_words(column, column.type.to_pandas_dtype())
            codes = values - np.uint64(low) if pa.types.is_uint64(column.type) else values.astype(np.int64) - low
            return _renumber(codes.astype(np.int64, copy=False), high - low + 1)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise InvalidInput(
            f"partition_by: a column of type {column.type} cannot be a key. Use numbers, times or strings"
        ) from None
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _renumber(codes: np.ndarray, number: int) -> tuple[np.ndarray, int]:
    """Renumber codes without gaps, so that no key is without rows."""
    if number > 4 * len(codes) + 1024:
        encoded = pc.dictionary_encode(pa.array(codes))
        return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
    used = np.zeros(number, bool)
    used[codes] = True
    if used.all():
        return codes, number
    return (np.cumsum(used) - 1)[codes], int(used.sum())


# ---- order
def as_sortable(column: pa.Array, by: OrderColumn) -> list[np.ndarray]:
    """Convert a column to integers that sort like it: NaN above all numbers, -0.0 with 0.0, nulls first or last.

    Nulls, where there are any, are told by a column of 0 and 1 that goes first. Integers, decimals and times keep their
    distances, so that frames by range can count in them; a descending column is turned around.
    """
    if not pa.types.is_dictionary(column.type) or column.dictionary.null_count:
        column = as_plain(column)
    values = _as_sortable_values(column, by.name)
    if by.descending:
        values = ~values
    if column.null_count == 0:
        return [values]
    null = pc.is_null(column).to_numpy(zero_copy_only=False)
    return [(~null if by.nulls_lead else null).astype(np.int64), np.where(null, 0, values)]


def _as_sortable_values(column: pa.Array, name: str) -> np.ndarray:
    """Convert values to integers that sort like them, ascending; undefined where null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        if not len(column.dictionary):
            return np.zeros(len(column), np.int64)
        # An ordered dictionary (pandas' and polars' ordered categories) says how its entries are ordered.
        entries = as_plain(column.dictionary)
        entries = _encode_by_appearance(entries) if kind.ordered else _as_sortable_values(entries, name)
        return entries[column.indices.fill_null(0).to_numpy()]
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(kind):
        return as_sortable_floats(as_doubles(column))
    if pa.types.is_uint64(kind):
        return (column.fill_null(0).to_numpy() ^ np.uint64(1 << 63)).view(np.int64)
    if pa.types.is_decimal128(kind) and kind.precision <= 18:
        return unscale(column)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        if not pa.types.is_interval(kind):
            column = column.cast(pa.int64())
            return (column.fill_null(0) if column.null_count else column).to_numpy()
    elif _is_text(kind) or pa.types.is_decimal(kind):
        return _rank(column)
    raise InvalidInput(f"order_by: column {name!r} of type {kind} has no order. Order by a number, a time or a string")


def _is_text(kind: pa.DataType) -> bool:
    tests = ("string", "large_string", "binary", "large_binary", "fixed_size_binary")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def _rank(column: pa.Array) -> np.ndarray:
    encoded = pc.dictionary_encode(column)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.zeros(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.fill_null(len(order)).to_numpy()]


def _encode_by_appearance(column: pa.Array) -> np.ndarray:
    """Encode each value as a number by when it first appears."""
    return pc.dictionary_encode(column).indices.fill_null(0).to_numpy().astype(np.int64)


def unscale(column: pa.Array) -> np.ndarray:
    """Convert decimals of at most 18 digits to multiples of their last digit: the lower of the two words of each."""
    words = np.frombuffer(column.buffers()[1], np.int64)[::2] if len(column) else np.empty(0, np.int64)
    return words[column.offset : column.offset + len(column)].copy()


def as_plain(column: pa.Array) -> pa.Array:
    """Convert a column to a type that Arrow can sort and hash, without dictionary or view.

    Decimals become those of 128 bits where their digits fit.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_plain(column.dictionary).take(column.indices)
    if pa.types.is_run_end_encoded(kind):
        return as_plain(pc.run_end_decode(column))
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind) and kind.precision <= 38:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(kind) else column


def as_doubles(column: pa.Array) -> np.ndarray:
    """Convert floats of any width to doubles, nulls to 0."""
    column = column.cast(pa.float64())
    return (column.fill_null(0.0) if column.null_count else column).to_numpy()


def as_sortable_floats(values: np.ndarray) -> np.ndarray:
    """Convert doubles to integers in the same order: NaN, in one bit pattern, above infinity, and -0.0 as 0.0."""
    clean = values + 0.0  # -0.0 becomes 0.0
    clean[np.isnan(clean)] = np.nan
    bits = clean.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _as_canonical_floats(column: pa.Array) -> pa.Array:
    """Convert floats to the integers that sort like them, so that equal values have equal bits."""
    null: Any = pc.is_null(column).to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(as_sortable_floats(as_doubles(column)), mask=null)
