"""Wire: rows on their way to the stateful operator, one blob per bucket of keys, and state on its way to Spark.

Spark's stateful operator in Python pays several round trips per group. Grouped by the user's keys, it would pay them
for every key; grouped by bucket, for a few, and the rows of a bucket travel as one value. Where slices are kept, and
rows of a key and slice come together, slices travel in place of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.errors import StateError
from slidewise.spark.column_names import find_unused_prefix
from slidewise.spark.streams.slices import SliceFolding

#: the columns of packed rows
BUCKET, BLOB = "bucket", "blob"
PACKED = pa.schema([(BUCKET, pa.int32()), (BLOB, pa.binary())])
#: Rows are packed when there are so many, or so many bytes: a blob is one value in Arrow, of less than 2 GiB.
MOST_ROWS, MOST_BYTES = 1 << 20, 1 << 28
#: what blobs of slices begin with, of a length that keeps what follows aligned; those of rows begin with Arrow's own
_SLICES = b"slices\0\0"
#: A bucket is told by the lowest bits of the hash, and a piece of it by others.
_BUCKET_BITS, _PIECE_BITS = 16, 44


@dataclass(frozen=True)
class Packing:
    """How rows are packed."""

    #: incoming columns; the hash comes last
    rows: pa.Schema
    labels: tuple[int, ...]
    #: whether all buckets are told of rows that any has
    tells_all: bool = False
    #: how rows become slices before they are exchanged, where they may
    folding: SliceFolding | None = None

    @cached_property
    def key_hash(self) -> str:
        """The column of the hash of the key, as Spark computes it, beside the columns of a row."""
        return find_unused_prefix(self.rows.names) + "key"

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a blob."""
        return self.rows.append(pa.field(self.key_hash, pa.int64()))

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack the rows of a partition into blobs."""
        told = _is_first_of_run()
        if told:
            yield self.pack_empty()
        pending: list[pa.RecordBatch] = []
        rows = size = 0
        folds: bool | None = None
        for batch in batches:
            if self.tells_all and len(batch) and not told:
                yield self.pack_empty()
                told = True
            pending.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
            if rows >= MOST_ROWS or size >= MOST_BYTES:
                folds = self.pays(pending) if folds is None else folds
                yield self.pack(pending, folds)
                pending, rows, size = [], 0, 0
        if rows:
            yield self.pack(pending, self.pays(pending) if folds is None else folds)

    def pays(self, batches: list[pa.RecordBatch]) -> bool:
        """Tell whether rows are better folded into slices. The rows of a partition are, or are not, all together."""
        return self.folding is not None and self.folding.pays(*self._separate_hashes(self._join(batches)))

    def pack_empty(self) -> pa.RecordBatch:
        """Build an empty blob for every bucket: what its state belongs to is checked, whether or not rows come."""
        empty = pa.RecordBatch.from_pylist([], schema=self.schema).serialize().to_pybytes()
        return self._build_batch(list(self.labels), [empty] * len(self.labels))

    def pack(self, batches: list[pa.RecordBatch], folds: bool = False) -> pa.RecordBatch:
        """Pack rows, or slices of them, into one blob, or several, for each bucket that has some."""
        table, mark = self._join(batches), b""
        if folds:
            assert self.folding is not None
            slices, hashes = self.folding.fold_counted(*self._separate_hashes(table))
            table, mark = slices.append_column(self.key_hash, pa.array(hashes)), _SLICES
        number = table[self.key_hash].to_numpy() & ((1 << _BUCKET_BITS) - 1)
        number = (number % len(self.labels)).astype(np.uint16)  # NumPy sorts these by radix, 10 times as fast
        table = table.take(pa.array(np.argsort(number, kind="stable"))).combine_chunks()
        ends = np.cumsum(np.bincount(number, minlength=len(self.labels)))
        labels, blobs = [], []
        for label, first, end in zip(self.labels, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            for batch in table[first:end].to_batches():
                labels.append(label)
                blobs.append(mark + batch.serialize().to_pybytes())
        return self._build_batch(labels, blobs)

    def _join(self, batches: list[pa.RecordBatch]) -> pa.Table:
        table = pa.Table.from_batches(batches)
        return pa.table(table.columns, names=self.schema.names).cast(self.schema)

    def _separate_hashes(self, table: pa.Table) -> tuple[pa.Table, np.ndarray]:
        return table.drop_columns([self.key_hash]), table[self.key_hash].to_numpy()

    @staticmethod
    def _build_batch(labels: list[int], blobs: list[bytes]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(labels, pa.int32()), pa.array(blobs, pa.binary())], schema=PACKED)

    def unpack(self, blobs: Iterable[bytes]) -> tuple[pa.Table, np.ndarray]:
        """Read the rows of some blobs, or the slices, and the bits of the hash that tell the piece of each."""
        of_rows: list[bytes] = []
        of_slices: list[bytes] = []
        for blob in blobs:
            (of_slices if blob[: len(_SLICES)] == _SLICES else of_rows).append(blob)
        table, hashes = self._separate_hashes(_read(of_rows, self.schema))
        if self.folding is not None:
            found = self.folding.fold_counted(table, hashes)
            schema = self.folding.counted.append(self.schema.field(self.key_hash))
            folded = self._separate_hashes(_read(of_slices, schema, len(_SLICES)))
            table, hashes = pa.concat_tables([folded[0], found[0]]), np.concatenate([folded[1], found[1]])
        return table, (hashes >> _BUCKET_BITS) & ((1 << _PIECE_BITS) - 1)


def _read(blobs: list[bytes], schema: pa.Schema, begin: int = 0) -> pa.Table:
    """Read record batches, each of which begins at the same byte of its blob."""
    batches = [pa.ipc.read_record_batch(pa.py_buffer(blob).slice(begin), schema) for blob in blobs]
    return pa.Table.from_batches(batches, schema)


#: runs of queries that this process has had rows of
_runs: set[str] = set()


def _is_first_of_run() -> bool:
    """Tell whether this is the first task of a run of a query in this process: Spark's job group is the run."""
    from pyspark import TaskContext

    context = TaskContext.get()
    run = None if context is None else context.getLocalProperty("spark.jobGroup.id")
    if run is None or run in _runs:
        return False
    _runs.add(run)
    return True


def choose_bucket_labels(buckets: int) -> tuple[int, ...]:
    """Choose the label of each bucket: the least numbers that Spark's hash tells apart modulo the number of buckets.

    Spark puts a label into the partition of its hash modulo the number of partitions. Labels 0, 1, 2, 3 go 3 to 1 to
    two partitions; these are spread evenly over any number of partitions that divides the number of buckets. They do
    not depend on the partitions, which a restart may set anew.
    """
    found: dict[int, int] = {}
    label = 0
    while len(found) < buckets:
        found.setdefault(murmur3(label) % buckets, label)
        label += 1
    return tuple(found[k] for k in range(buckets))


def murmur3(value: int, seed: int = 42) -> int:
    """Compute Spark's hash of an int, by which it partitions."""
    mask = 0xFFFFFFFF

    def rotate(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & mask

    mixed = rotate((value & mask) * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = (rotate(seed ^ mixed, 13) * 5 + 0xE6546B64) & mask
    h ^= 4  # the length in bytes
    h = (h ^ (h >> 16)) * 0x85EBCA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


# ---- state, as ASCII text
# Spark sends binary values to Python as text of which every byte from 128 on takes two, and Python needs 9 ns for
# each byte to read that; text of ASCII alone takes 0.2. So the highest bits of all bytes stand apart: 7 bits of each
# byte, one after the other, then the highest bits, 8 to a byte, in the same way, and so on. Text is 8/7 as long as
# the bytes.
#: Text begins with the number of bytes, in so many digits.
_DIGITS = 10
_LOW, _HIGH = np.uint8(0x7F), np.uint8(0x80)


def to_text(data: bytes) -> str:
    """Encode any bytes as text."""
    rest = np.frombuffer(data, np.uint8)
    parts = [rest & _LOW]
    while len(rest) > 7:  # the highest bits of 7 bytes are ASCII by themselves
        rest = np.packbits(rest & _HIGH, bitorder="little")
        parts.append(rest & _LOW)
    parts.append(np.packbits(rest & _HIGH, bitorder="little"))
    return f"{len(data):0{_DIGITS}}" + np.concatenate(parts).tobytes().decode("ascii")


def from_text(text: str) -> bytes:
    """Decode the bytes again; other text is refused."""
    digits = text[:_DIGITS]
    sizes = [int(digits) if digits.isascii() and digits.isdigit() else -1]
    while sizes[-1] > 7:
        sizes.append(-(-sizes[-1] // 8))
    if sizes[0] < 0 or not text.isascii() or len(text) != _DIGITS + sum(sizes) + min(1, sizes[-1]):
        raise StateError("saved state is damaged: its text is not as long as it says, or not ASCII. Use another copy")
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    end = len(codes)
    data = codes[end - min(1, sizes[-1]) :]
    end -= len(data)
    for size in reversed(sizes):
        data = codes[end - size : end] | (np.unpackbits(data, count=size, bitorder="little") << np.uint8(7))
        end -= size
    return data.tobytes()
