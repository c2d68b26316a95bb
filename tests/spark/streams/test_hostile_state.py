"""State of streams with a right checksum and wrong values is refused, before memory is taken for what it says."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from slidewise.errors import StateError
from slidewise.serialization import codec
from slidewise.spark.streams import state_store
from slidewise.spark.streams.arrow_tables import read_batch, read_stream
from slidewise.spark.streams.wire import from_text

SCHEMA = pa.schema([("t", pa.string()), ("x", pa.int64())])
TABLE = pa.table({"t": [f"text {k}" for k in range(500)], "x": list(range(500))}, SCHEMA)


def streamed(table, compression=None):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_tables_are_read(compression):
    assert read_stream(streamed(TABLE, compression)) == TABLE
    empty = pa.table({"x": pa.array([0] * 1_000_000)})
    assert read_stream(streamed(empty, "lz4")) == empty
    assert read_batch(TABLE.to_batches()[0].serialize().to_pybytes(), SCHEMA) == TABLE


def test_a_compressed_buffer_that_claims_much_is_refused():
    data = streamed(TABLE, "lz4")
    length = struct.pack("<q", 8 * 500)  # of the numbers, before they are compressed
    assert data.count(length) == 1
    with pytest.raises(StateError, match="bytes of memory"):
        read_stream(data.replace(length, struct.pack("<q", 1 << 40)))


def test_rows_that_no_bytes_hold_are_refused():
    [batch] = TABLE.select([]).to_batches()
    data = batch.serialize().to_pybytes()
    assert len(read_batch(data, pa.schema([]))) == 500
    length = struct.pack("<q", 500)
    assert data.count(length) == 1
    with pytest.raises(StateError, match="rows in"):
        read_batch(data.replace(length, struct.pack("<q", 1 << 40)), pa.schema([]))


def test_texts_that_point_anywhere_are_refused():
    data = TABLE.to_batches()[0].serialize().to_pybytes()
    offsets = struct.pack("<iii", 0, 6, 12)
    assert data.count(offsets) == 1
    with pytest.raises(StateError), codec.refuse_damage():
        read_batch(data.replace(offsets, struct.pack("<iii", 0, 1 << 30, 12)), SCHEMA)


@pytest.mark.parametrize("text", ["", "9999999999abc", "0000000003abc", "-000000001a\0", "000000000x", "0000000001é\0"])
def test_text_that_is_not_as_long_as_it_says_is_refused(text):
    with pytest.raises(StateError, match="not as long"):
        from_text(text)


@pytest.mark.parametrize(
    ("leaves", "there"),
    [([2], []), ([1, 2, 3], []), ([1, 1], []), ([1 << 1000], []), ([], []), ([0], []), ([1], [7]), ([2, 3, 5], [])],
)
def test_pieces_hold_each_key_once(leaves, there):
    state_store._require_tree([1], [1])
    state_store._require_tree([2, 5, 7], [5])
    with pytest.raises(StateError), codec.refuse_damage():
        state_store._require_tree(leaves, there)
