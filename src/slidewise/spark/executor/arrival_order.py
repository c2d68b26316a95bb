"""Arrival order: results of sorted rows, handed back in the order in which the rows came.

Spark keeps the columns that nobody reads in a queue, and joins results to them one after the other. Results of a fixed
width wait as they were computed, and are put in place in the end, a column at a time, which is then in cache (30 of
them, 2 million rows in random order: 0.8 s block by block, 0.3 s so). Others wait in memory up to a limit of bytes.
Above it they go to disk, by the blocks that they are handed back in, and so do all where those of fixed width alone are
too many.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from slidewise.columns.encoding import read_words
from slidewise.columns.sorting import radix_sort
from slidewise.spark.executor.spill_file import Place, SpillFile

#: rows of one batch of results, and of one block on disk
BATCH_ROWS = 1 << 16


class ArrivalOrder:
    """Takes the results of so many rows in any order, each with the place of its row, and gives them by place."""

    def __init__(self, kinds: pa.StructType, count: int, limit: int) -> None:
        self._count = count
        fixed = [field for field in kinds if _has_fixed_width(field.type)]
        if sum(field.type.bit_width // 8 + 1 for field in fixed) * count + 8 * count > limit:
            fixed = []
        self._fixed = {field.name: _FixedColumn(field.type, count) for field in fixed}
        #: which of the results so far is that of a row, by its place
        self._number = np.empty(count if fixed else 0, np.int64)
        self._taken = 0
        self._names = [field.name for field in kinds]
        others = pa.schema([field for field in kinds if field.name not in self._fixed])
        self._others = _Others(others, count, limit) if len(others) else None

    def add(self, results: pa.StructArray, places: np.ndarray) -> None:
        """Take the results of some rows."""
        columns = dict(zip(self._names, results.flatten(), strict=True))
        if self._fixed:
            first, self._taken = self._taken, self._taken + len(places)
            self._number[places] = np.arange(first, self._taken)
            for name, fixed in self._fixed.items():
                fixed.put(columns.pop(name), first)
        if self._others is not None:
            self._others.add(list(columns.values()), places)

    def emit(self) -> Iterator[pa.StructArray]:
        """Give all results."""
        for fixed in self._fixed.values():
            fixed.arrange(self._number)
        others = self._others.emit() if self._others is not None else None
        for first in range(0, self._count, BATCH_ROWS):
            last = min(self._count, first + BATCH_ROWS)
            columns = {name: fixed.read(first, last) for name, fixed in self._fixed.items()}
            if others is not None:
                columns |= next(others)
            yield pa.StructArray.from_arrays([columns[name] for name in self._names], self._names)

    def close(self) -> None:
        """Remove what is on disk."""
        if self._others is not None:
            self._others.close()


def _has_fixed_width(kind: pa.DataType) -> bool:
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return number or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


class _FixedColumn:
    """A column of fixed width, in the order of the results."""

    def __init__(self, kind: pa.DataType, count: int) -> None:
        self._kind = kind
        self._words = f"u{kind.bit_width // 8}"
        self._values = np.empty(count, self._words)
        self._valid: np.ndarray | None = None

    def put(self, column: pa.Array, first: int) -> None:
        """Take the next results, of which there were `first` before."""
        self._values[first : first + len(column)] = read_words(column, self._words)
        if column.null_count:
            if self._valid is None:
                self._valid = np.ones(len(self._values), bool)
            self._valid[first : first + len(column)] = column.is_valid().to_numpy(zero_copy_only=False)

    def arrange(self, numbers: np.ndarray) -> None:
        """Bring all results into the order in which these are their numbers."""
        self._values = self._values[numbers]
        if self._valid is not None:
            self._valid = self._valid[numbers]

    def read(self, first: int, last: int) -> pa.Array:
        """Read the results of some rows."""
        valid = None
        if self._valid is not None:
            valid = pa.py_buffer(np.packbits(self._valid[first:last], bitorder="little"))
        return pa.Array.from_buffers(self._kind, last - first, [valid, pa.py_buffer(self._values[first:last])])


class _Others:
    """Columns of any types: what came in is taken by place, a block at a time."""

    def __init__(self, schema: pa.Schema, count: int, limit: int) -> None:
        self._schema = schema.append(pa.field("place", pa.int64()))
        self._count, self._limit = count, limit
        self._pending: list[pa.RecordBatch] = []
        self._size = 0
        self._file = SpillFile(self._schema)
        #: where the rows of a block are, once some are on disk
        self._blocks: list[list[Place]] | None = None

    def add(self, columns: list[pa.Array], places: np.ndarray) -> None:
        batch = pa.RecordBatch.from_arrays([*columns, pa.array(places, pa.int64())], schema=self._schema)
        self._pending.append(batch)
        self._size += batch.nbytes
        if self._size > self._limit:
            self._write_pending()

    def emit(self) -> Iterator[dict[str, pa.Array]]:
        """Give the columns of one block after the other."""
        if self._blocks is None:
            yield from self._emit_parts(self._pending, 0, self._count)
            return
        self._write_pending()
        for number, block in enumerate(self._blocks):
            first = number * BATCH_ROWS
            parts = [self._file.read(place) for place in block]
            yield from self._emit_parts(parts, first, min(self._count, first + BATCH_ROWS))

    def close(self) -> None:
        self._file.close()

    def _emit_parts(self, parts: list[pa.RecordBatch], first: int, last: int) -> Iterator[dict[str, pa.Array]]:
        """Give the rows from place `first` on, before `last`."""
        rows = pa.Table.from_batches(parts, self._schema).combine_chunks()
        parts.clear()
        at = np.empty(last - first, np.int64)
        at[rows["place"].to_numpy() - first] = np.arange(last - first)
        rows = rows.drop_columns("place")
        for begin in range(0, len(at), BATCH_ROWS):
            block = rows.take(pa.array(at[begin : begin + BATCH_ROWS])).combine_chunks()
            yield {name: block[name].chunk(0) for name in block.column_names}

    def _write_pending(self) -> None:
        """Write what is in memory, the rows of every block together."""
        if self._blocks is None:
            self._blocks = [[] for _ in range(-(-self._count // BATCH_ROWS))]
        if not self._pending:
            return
        rows = pa.Table.from_batches(self._pending).combine_chunks()
        self._pending, self._size = [], 0
        places = rows["place"].to_numpy()
        permutation = radix_sort(places)
        cuts = np.searchsorted(places[permutation], np.arange(len(self._blocks) + 1) * BATCH_ROWS)
        for block, first, last in zip(self._blocks, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if first < last:
                [batch] = rows.take(pa.array(permutation[first:last])).combine_chunks().to_batches()
                block.append(self._file.write(batch))
