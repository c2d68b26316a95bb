"""Pending rows ahead of the watermark: as they came, in entries of their bucket's state, until it has passed them.

No result needs such a row before, and so nothing is looked up, sorted or computed for it until then. An entry has the
rows of one micro-batch, or of several small ones, and each key once. It is written once, and read when the first of its
rows is due; it is written anew when half of its rows were taken. Entries stand in the order of arrival.

What a process has written stays in its memory: mostly the next micro-batch takes it, and need not ask Spark for it. An
entry is found there by its checksum, and so is what is saved, whoever has written it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.sorting import key_codes
from slidewise.errors import StateError
from slidewise.serialization import codec
from slidewise.spark.streams.arrow_tables import read_stream, require_columns, require_numbers
from slidewise.spark.streams.change_log import choose_most_bytes
from slidewise.spark.streams.recent import Recent
from slidewise.spark.streams.stream_task import HASH, KEY_NUMBER, NEVER, StreamTask

#: An entry of fewer bytes takes up the rows that come after it.
SMALL = 1 << 16
#: A row of a time, a number and its key is 17 bytes, and 9 to 14 so, for 25 ns; in and out of Spark a byte takes 17. To
#: wake Arrow's threads takes 60 us a table, as long as to write or read 6,000 rows.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)

Checksum = bytes


@dataclass(frozen=True)
class Entry:
    """Rows of some micro-batches, of which some may have been taken."""

    #: its key in the state: negative, since pieces of keys have positive ones
    number: int
    #: the least time of the rows that are left
    first: int
    #: how many are saved, those that were taken included, and their bytes
    rows: int
    bytes: int
    #: the checksum of what is saved; nothing in a state that was saved without
    seal: Checksum = b""


#: an entry in the meta value of its bucket
SavedEntry = tuple[int, int, int, int] | tuple[int, int, int, int, Checksum]


class Entries(Protocol):
    """Where entries are saved."""

    def read_entry(self, number: int) -> list[bytes]:
        """Read the tables of an entry."""

    def write_entry(self, number: int, tables: list[bytes]) -> Checksum:
        """Replace the tables of an entry; return the checksum of what was saved."""

    def remove_entry(self, number: int) -> None:
        """Remove an entry."""


class PendingRows:
    """The rows of one bucket that are ahead of the watermark."""

    def __init__(self, task: StreamTask, saved: Iterable[SavedEntry]) -> None:
        self._entries = [Entry(*each) for each in saved]
        require_times(*(astuple(entry)[:-1] for entry in self._entries))
        numbers = {entry.number for entry in self._entries}
        if any(type(entry.seal) is not bytes for entry in self._entries):
            raise StateError("saved state is damaged: the checksum of rows that wait is none")
        if len(numbers) != len(self._entries) or any(number >= 0 for number in numbers):
            raise StateError("saved state is damaged: rows that wait are named twice, or as keys are")
        self._schema = task.rows.append(pa.field(HASH, pa.int64()))
        self._keys = [*task.partition_by, HASH]
        self._time = task.time
        #: whether rows come with columns that do not wait
        self._come_with_others = len(task.incoming) > len(task.rows)

    @property
    def saved(self) -> list[SavedEntry]:
        """What finds the entries again."""
        return [astuple(entry) for entry in self._entries]

    @property
    def deadline(self) -> int:
        """When the next row is due."""
        return min((entry.first for entry in self._entries), default=NEVER)

    def exchange(
        self, store: Entries, new: pa.Table, hashes: np.ndarray, watermark: int
    ) -> tuple[pa.Table, np.ndarray]:
        """Save new rows ahead of the watermark, and take those that it has passed, in the order of arrival."""
        passed: list[pa.Table] = []
        stays: list[Entry | pa.Table] = []
        for entry in self._entries:
            if entry.first > watermark:
                stays.append(entry)
                continue
            rows = self._read(store, entry)
            known, left = self._split(rows, watermark)
            passed.append(known)
            if 2 * len(left) > entry.rows:
                stays.append(replace(entry, first=self._find_first(left)))
                continue
            self._remove(store, entry)
            stays.append(left)
        known, left = self._split(new.append_column(HASH, pa.array(hashes)), watermark)
        self._entries = self._write(store, [*stays, left])
        out = pa.concat_tables([*passed, known])
        return out.drop_columns([HASH]), out[HASH].to_numpy()

    def _split(self, rows: pa.Table, watermark: int) -> tuple[pa.Table, pa.Table]:
        """Split rows into those up to the watermark, and those after it."""
        known = self._read_times(rows) <= watermark
        passed = int(np.count_nonzero(known))
        if passed in (0, len(rows)):
            return rows[:passed], rows[passed:]
        return rows.filter(pa.array(known)), rows.filter(pa.array(~known))

    def _write(self, store: Entries, stays: list[Entry | pa.Table]) -> list[Entry]:
        """Write the rows that are no entry yet, together with a small entry before them."""
        joined: list[Entry | pa.Table] = []
        for each in stays:
            last = joined[-1] if joined else None
            if isinstance(each, pa.Table) and isinstance(last, Entry) and len(each) and last.bytes < SMALL:
                joined[-1] = pa.concat_tables([self._read(store, last), each])
                self._remove(store, last)
            elif isinstance(each, pa.Table) and isinstance(last, pa.Table):
                joined[-1] = pa.concat_tables([last, each])
            else:
                joined.append(each)
        number = min((entry.number for entry in self._entries), default=0)
        entries: list[Entry] = []
        for each in joined:
            if isinstance(each, pa.Table) and len(each):
                number -= 1
                each = self._copy(each)
                tables = [_serialize(table) for table in self._separate_keys(each)]
                seal = store.write_entry(number, tables)
                recent.put(seal, each, each.nbytes)
                each = Entry(number, self._find_first(each), len(each), sum(map(len, tables)), seal)
            if isinstance(each, Entry):
                entries.append(each)
        return entries

    def _copy(self, rows: pa.Table) -> pa.Table:
        """Copy rows into one piece, where they are in several, or views of memory that is mostly of other columns."""
        if self._come_with_others:
            rows = rows.take(pa.array(np.arange(len(rows))))
        return rows.combine_chunks()

    def _separate_keys(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Separate the keys, each once, from the rows, which get the numbers of their keys."""
        codes, number = key_codes([in_one_piece(rows[name]) for name in self._keys[: max(1, len(self._keys) - 1)]])
        first = np.empty(number, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        keys = rows.select(self._keys).take(pa.array(first))
        narrow = codes.astype(np.min_scalar_type(number))
        return keys, rows.drop_columns(self._keys).append_column(KEY_NUMBER, pa.array(narrow))

    def _remove(self, store: Entries, entry: Entry) -> None:
        store.remove_entry(entry.number)
        recent.take(entry.seal)

    def _read(self, store: Entries, entry: Entry) -> pa.Table:
        """Read the rows of an entry that are left."""
        found = recent.find(entry.seal)
        table = self._read_saved(store, entry) if found is None else require_columns(found, self._schema)
        left = self._read_times(table) >= entry.first
        return table if left.all() else table.filter(pa.array(left))

    def _read_saved(self, store: Entries, entry: Entry) -> pa.Table:
        with codec.refuse_damage():
            keys, rows = map(read_stream, store.read_entry(entry.number))
            require_numbers(rows, KEY_NUMBER)
            columns = dict(zip(rows.column_names, rows.columns, strict=True))
            columns |= {name: keys[name].take(rows[KEY_NUMBER]) for name in self._keys}
            table = require_columns(pa.table(columns), self._schema)
            require_numbers(table, self._time, HASH)
        # Of a micro-batch that is run twice, Spark may have the entries of one run and the meta value of the other.
        if len(table) != entry.rows:
            raise StateError(f"saved state is damaged: {entry.rows} rows wait, and {len(table)} are there")
        return table

    def _read_times(self, rows: pa.Table) -> np.ndarray:
        times: np.ndarray = rows[self._time].cast(pa.int64()).to_numpy()
        return times

    def _find_first(self, rows: pa.Table) -> int:
        return int(self._read_times(rows).min())


#: rows that this process has written, by the checksum of their entry
recent: Recent[pa.Table] = Recent(choose_most_bytes() // 2)


def require_times(*numbers: Iterable[int]) -> None:
    """Refuse times, and other numbers, that are not integers of 64 bits."""
    if any(type(n) is not int or not -NEVER <= n <= NEVER for each in numbers for n in each):
        raise StateError("saved state is damaged: a time or a number is no integer of 64 bits")


def _serialize(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()
