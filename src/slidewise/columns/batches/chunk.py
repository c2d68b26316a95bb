"""Chunk: rows that are sorted by key and order. Some whole keys, and the last one as far as it has come."""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.encoding import read_words
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.from_window import Arranged
from slidewise.columns.sorting import Arrangement, OrderColumn, as_doubles, as_plain, as_sortable_floats
from slidewise.columns.sources import source_of
from slidewise.windows.definitions import WindowDefinition


class Chunk(ArrangedFrame):
    """The rows of a chunk, which need no arranging."""

    def __init__(
        self,
        table: pa.Table,
        partition_by: list[str],
        order_by: list[OrderColumn],
        offsets: np.ndarray,
        before: int,
        ends: bool,
    ) -> None:
        super().__init__(source_of(_widen_texts(table)), partition_by, order_by, 1, Arrangement(None, offsets))
        #: how many rows of the first key came before this chunk
        self.before = before
        #: whether the last key has all of its rows, too
        self.ends = ends
        #: the frontier of each window in the last key, where more of it comes
        self.frontiers: dict[WindowDefinition, Any] = {}

    @cached_property
    def places(self) -> np.ndarray:
        places = super().places
        places[: self.offsets[1]] += self.before
        return places

    def read_order(self) -> Arranged:
        """Read the order columns as sortable numbers."""
        return self._arrange_order()

    def frames(self, window: WindowDefinition) -> Frames:
        made = super().frames(window)
        if not self.ends and window not in self.frontiers:
            from slidewise.columns.batches.frontier import find_frontier

            self.frontiers[window] = find_frontier(window, made, weakref.proxy(self))
        return made


def _widen_texts(table: pa.Table) -> pa.Table:
    """Cast columns of more than 2 GiB of text to types with offsets of 64 bits."""
    for k, column in enumerate(table.columns):
        kind = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(column.type)
        if kind is not None and column.nbytes >= 2**31:
            table = table.set_column(k, table.column_names[k], column.cast(kind))
    return table


# ---- keys
def find_key_offsets(keys: list[pa.Array], count: int) -> np.ndarray:
    """Find where keys begin among sorted rows, and the number of rows: neighbours are compared, nothing is hashed."""
    new = np.zeros(count, bool)
    new[:1] = True
    for key in keys:
        new[1:] |= find_changes(key)
    return np.append(np.flatnonzero(new), count)


def find_changes(column: pa.Array) -> np.ndarray:
    """Find the rows that differ from the row before, from the second on; nulls are equal, NaNs too, and -0.0 is 0.0."""
    kind, count = column.type, max(0, len(column) - 1)
    null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else np.zeros(len(column), bool)
    changes = null[1:] != null[:-1]
    both = ~null[1:] & ~null[:-1]
    if pa.types.is_null(kind):
        return np.zeros(count, bool)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):  # 1 ns a row, against 15 by Arrow's not_equal
        values = read_words(column, f"i{kind.bit_width // 8}")
        return changes | (both & (values[1:] != values[:-1])) if column.null_count else values[1:] != values[:-1]
    if pa.types.is_floating(kind):
        values = as_sortable_floats(as_doubles(column))
        return changes | (both & (values[1:] != values[:-1]))
    if pa.types.is_dictionary(kind):
        entries = column.dictionary
        distinct = not column.null_count and not entries.null_count and len(entries.unique()) == len(entries)
        distinct = distinct and not pa.types.is_floating(entries.type)  # -0.0 and 0.0 are one
        return find_changes(column.indices if distinct else as_plain(column))
    if pa.types.is_struct(kind):
        for part in column.flatten():
            changes = changes | (both & find_changes(part))
        return changes
    if pa.types.is_nested(kind):
        values = column.to_pylist()
        return np.array([a != b for a, b in zip(values[1:], values[:-1], strict=True)], bool)
    unequal = pc.not_equal(column[1:], column[:-1]).fill_null(False).to_numpy(zero_copy_only=False)
    return changes | unequal
