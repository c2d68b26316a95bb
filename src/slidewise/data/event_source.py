"""What every stream of events has in common: a schema, a rate, batches, a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.errors import InvalidInput

#: the type of all times: Spark's timestamps are in microseconds
TIME = pa.timestamp("us", "UTC")
#: generated streams are made in blocks of about so many rows, whatever batches are asked for: the rows are the same
BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Source:
    """A stream of rows that can be read again and again, always the same.

    >>> from slidewise import data
    >>> plugs = data.debs2014()
    >>> plugs.schema.names, plugs.rows_per_second
    (['id', 'timestamp', 'value', 'property', 'plug_id', 'household_id', 'house_id'], 4250.0)
    >>> [batch.num_rows for batch in plugs.batches(rows=2500, batch_rows=1000)]
    [1000, 1000, 500]
    """

    name: str
    #: of the rows that are given: blocks may have more columns
    schema: pa.Schema = field(repr=False)
    #: of event time, about
    rows_per_second: float
    #: generated streams have no end of their own
    endless: bool
    _blocks: Callable[[], Iterator[pa.RecordBatch]] = field(repr=False)

    def batches(self, rows: int | None = None, batch_rows: int = BLOCK_ROWS) -> Iterator[pa.RecordBatch]:
        """Record batches of `batch_rows` rows, up to `rows` rows; without it to the end, or for ever.

        Memory is a batch and a block, however many rows are read.

        >>> from slidewise import data
        >>> sum(batch.num_rows for batch in data.machines().batches(rows=200_000))
        200000
        """
        if rows is not None:
            whole_number("rows", rows, at_least=0)
        whole_number("batch_rows", batch_rows, at_least=1)
        return self._cut(rows, batch_rows)

    def _cut(self, rows: int | None, batch_rows: int) -> Iterator[pa.RecordBatch]:
        left, held = rows, 0
        pieces: list[pa.RecordBatch] = []
        blocks = self._blocks()
        while left is None or left > 0:
            block = next(blocks, None)
            if block is None:
                break
            block = block.select(self.schema.names).slice(0, left)
            if left is not None:
                left -= block.num_rows
            while held + block.num_rows >= batch_rows:
                taken = batch_rows - held
                yield self._join([*pieces, block.slice(0, taken)])
                block, held, pieces = block.slice(taken), 0, []
            held += block.num_rows
            pieces.append(block)
        if held:
            yield self._join(pieces)

    def table(self, rows: int | None = None) -> pa.Table:
        """Read the first `rows` rows as one table; without `rows` all of a file.

        >>> from slidewise import data
        >>> data.debs2012().table(1000).num_rows
        1000
        """
        if rows is None and self.endless:
            raise InvalidInput(
                f"{self.name}: a generated stream has no end, and a table must have one. Say how many rows, as in "
                "table(1_000_000), or go through batches()"
            )
        return pa.Table.from_batches(list(self.batches(rows)), self.schema)

    def _join(self, pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
        if len(pieces) == 1:
            return pieces[0]
        whole = pa.Table.from_batches(pieces, self.schema).combine_chunks()
        return whole.to_batches()[0]


def chosen_schema(name: str, schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Keep the fields of these columns, in this order; all of them without any.

    >>> chosen_schema("debs2012", pa.schema([("ts", TIME), ("mf01", pa.int32())]), ["mf01"]).names
    ['mf01']
    """
    if columns is None:
        return schema
    if isinstance(columns, str) or not columns:
        raise InvalidInput(f"{name}: columns is a list of names, and {columns!r} was given")
    for column in columns:
        if column not in schema.names:
            raise InvalidInput(f"{name}: there is no column {column!r}. There are: {', '.join(schema.names)}")
    if len(set(columns)) < len(columns):
        raise InvalidInput(f"{name}: columns are named once each, and {list(columns)} were given")
    return pa.schema([schema.field(column) for column in columns])


def whole_number(name: str, given: Any, at_least: int) -> None:
    """Refuse what is not a whole number, or too small a one."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise InvalidInput(f"{name} is a whole number, and {given!r} is not")
    if given < at_least:
        raise InvalidInput(f"{name} is at least {at_least}, and {given} was given")


def times(microseconds: Any) -> pa.Array:
    """Convert whole microseconds since 1970 to an Arrow array of times."""
    return pa.array(np.asarray(microseconds, np.int64)).cast(TIME)


def words(codes: Any, names: list[str], mask: Any = None) -> pa.Array:
    """Look up the names that codes stand for, null where masked."""
    codes = pa.array(np.asarray(codes, np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, pa.array(names)).dictionary_decode()


def hash_numbers(*parts: Any) -> Any:
    """Compute numbers in [0, 1) from nothing but these whole numbers: chance that can be asked for again.

    What a machine does in an hour is drawn this way, so that any block of the stream can be made without those before.
    """
    mixed: Any = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for part in parts:
            mixed = mixed ^ np.asarray(part).astype(np.uint64)
            # the finalizer of splitmix64
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) / float(1 << 53)
