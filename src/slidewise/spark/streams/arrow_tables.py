"""Tables of state from their bytes, in Arrow's format: whole, of the right columns, and no larger than those can hold.

Arrow believes what its bytes say. A compressed buffer begins with its length, and as much memory is taken before
anything is read; texts, lists and indices may point anywhere, and rows without columns be as many as one likes. So the
lengths are read first, and what was read is validated in full.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import pyarrow as pa

from slidewise.errors import StateError

#: To wake Arrow's threads takes 60 us, as long as to read 10,000 rows.
_READ = pa.ipc.IpcReadOptions(use_threads=False)
#: LZ4 makes no more bytes of one.
RATIO = 255
#: A row takes a bit or more. One without columns takes none: of these there may be so many.
_ROWS_PER_BYTE, _FREE_ROWS = 8, 1 << 24
#: in Arrow's metadata: the fields of a message and of a record batch, and the kind of a message that is one
_HEADER_TYPE, _HEADER = 1, 2
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3
_SCHEMA, _RECORD_BATCH = 1, 3


def read_batch(data: bytes, schema: pa.Schema) -> pa.Table:
    """Read a table of these columns, which was serialized without them."""
    message = pa.ipc.read_message(pa.py_buffer(_require_bytes(data)))
    _require_modest([message], len(data), 0 if len(schema) else _FREE_ROWS)
    batch = pa.ipc.read_record_batch(message, schema)
    batch.validate(full=True)
    return pa.Table.from_batches([batch])


def read_stream(data: bytes) -> pa.Table:
    """Read a table with its columns."""
    _require_modest(_read_messages(_require_bytes(data)), len(data))
    table = pa.ipc.open_stream(data, options=_READ).read_all()
    table.validate(full=True)
    return table


def require_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Select columns of a table; refused where it has not all of them, of the same types."""
    missing = [f.name for f in schema if f.name not in table.column_names or table.schema.field(f.name).type != f.type]
    if missing:
        raise StateError(f"saved state is damaged: a table has no columns {', '.join(missing)} of their types")
    return table.select(schema.names)


def require_numbers(table: pa.Table, *names: str | None) -> None:
    """Refuse nulls in columns that never have any, where they are there."""
    for name in names:
        if name in table.column_names and table[name].null_count:
            raise StateError("saved state is damaged: rows have no key, number or time")


def _require_bytes(data: bytes) -> bytes:
    if type(data) is not bytes:
        raise StateError(f"saved state is damaged: a table is {type(data).__name__}, and no bytes")
    return data


def _read_messages(data: bytes) -> Iterator[pa.Message]:
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(data))
    while True:
        try:
            yield reader.read_next_message()
        except StopIteration:
            return


def _require_modest(messages: Iterable[pa.Message], size: int, free_rows: int = 0) -> None:
    """Refuse messages whose rows, or whose buffers without compression, are more than `size` bytes can hold."""
    claimed = rows = 0
    for message in messages:
        header = _Table.read_root(message.metadata.to_pybytes())
        kind = header.read_number("B", _HEADER_TYPE)
        if kind == _SCHEMA:
            continue
        batch = header.read_table(_HEADER)
        if kind != _RECORD_BATCH or batch is None:
            raise StateError("saved state is damaged: there is a message that is no table")
        rows += batch.read_number("q", _LENGTH)
        if batch.read_table(_COMPRESSION) is not None:
            body = memoryview(message.body)
            for offset, length in batch.read_pairs(_BUFFERS):
                if length:
                    claimed += max(struct.unpack_from("<q", body, offset)[0], -1)  # -1: it is not compressed
    if claimed > RATIO * size or rows > max(free_rows, _ROWS_PER_BYTE * RATIO * size):
        raise StateError(
            f"saved state is damaged: {size} bytes of it say that they are {rows} rows in {claimed} bytes of memory"
        )


class _Table:
    """A table of FlatBuffers, which is what Arrow's metadata are: where the offsets of its fields stand."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position
        self._fields = position - struct.unpack_from("<i", data, position)[0]

    @classmethod
    def read_root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _find(self, field: int) -> int | None:
        """Find where a field is; None where it is not written, and has its default."""
        entry = 4 + 2 * field
        if entry >= struct.unpack_from("<H", self._data, self._fields)[0]:
            return None
        offset: int = struct.unpack_from("<H", self._data, self._fields + entry)[0]
        return self._position + offset if offset else None

    def read_number(self, code: str, field: int) -> int:
        at = self._find(field)
        return 0 if at is None else int(struct.unpack_from(f"<{code}", self._data, at)[0])

    def read_table(self, field: int) -> _Table | None:
        at = self._find(field)
        return None if at is None else _Table(self._data, at + struct.unpack_from("<I", self._data, at)[0])

    def read_pairs(self, field: int) -> list[tuple[int, int]]:
        """Read a vector of structs of two integers."""
        at = self._find(field)
        if at is None:
            return []
        at += struct.unpack_from("<I", self._data, at)[0]
        number = struct.unpack_from("<I", self._data, at)[0]
        numbers = struct.unpack_from(f"<{2 * number}q", self._data, at + 4)
        return list(zip(numbers[::2], numbers[1::2], strict=True))
