"""State store: the state of one bucket of keys, in pieces that are read and written on their own.

A piece has all rows of some keys, so that a batch touches about the state of its own keys. Pieces are the leaves of a
binary tree over the bits of the key's hash, and a piece that is too large is split by the next bit: one of which a step
changes few keys at 4 KB, and one of which it changes most only at 1 MB, since each piece has its own cost. For that
reason two halves of which it changes most are joined again. A small meta value names the leaves, and when each is due.

Every value is sealed with the format's version, the definition's fingerprint and a checksum (envelope.py). The meta
value has the definition in words and is read first: it says what has changed, and pieces need the fingerprint only.
It also says what pieces of earlier definitions have, where results came or went (compatibility.py): those are read as
they are, and written in the form of today.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from slidewise.errors import StateError
from slidewise.serialization import codec, envelope
from slidewise.serialization.definition import differences, fingerprint
from slidewise.spark.streams.arrow_tables import read_batch, require_columns, require_numbers
from slidewise.spark.streams.compatibility import measure_extents, require_sound
from slidewise.spark.streams.pending_rows import PendingRows, require_times
from slidewise.spark.streams.stream_task import (
    DROPPED_ROWS,
    HASH,
    HISTORY_ROWS,
    NEVER,
    PENDING_ROWS,
    RESULT_TIME,
    TOTAL,
    TOTAL_TIME,
    StreamTask,
)

#: A piece of more bytes is split, unless it is of one hash: where at least half of its keys have changed, and where
#: fewer have. 1,000 keys of 1,000 rows, all of which change: 0.3 ms of CPU time for each piece.
LARGE, LARGE_IF_SPARSE = 1 << 20, 1 << 12
#: How often a step halves a piece of which few keys have changed: the work is spread over some steps.
HALVINGS = 2
#: the whole tree: one leaf. A leaf of depth d is 1 and then the last d bits of the hashes in it.
ROOT = 1
_DEEPEST = 40
#: leaves up to this depth are looked up in a table
_TABLE_BITS = 12
_TABLES = ("keys", "history", "pending", "last_results", "totals")
#: of the definition that a piece was written with
FINGERPRINT = "fingerprint"


class Store(Protocol):
    """Where the bytes of one bucket are."""

    def read_meta(self) -> bytes | None:
        """Read the meta value; None before the first."""

    def write_meta(self, data: bytes) -> None:
        """Replace the meta value."""

    def read(self, piece: int) -> bytes | None:
        """Read the bytes of a piece."""

    def write(self, piece: int, data: bytes) -> None:
        """Replace the bytes of a piece."""

    def remove(self, piece: int) -> None:
        """Remove a piece."""


_NO_TIMES = np.empty(0, np.int64)
_NOTHING = pa.schema([])


@dataclass(frozen=True)
class KeyedState:
    """The state of some keys: their rows, the last results that were emitted, and totals of rows that are gone.

    A key has its hash, and how many rows of history and of pending are its own, which follow in the order of keys. Last
    results and totals name their key and its hash: the key may have no rows.
    """

    keys: pa.Table
    history: pa.Table
    pending: pa.Table
    last_results: pa.Table
    #: the totals of rows that are gone
    totals: pa.Table
    #: when rows of each key are due, when all of it expires, and when each of the last results does; not saved, since
    #: the meta value has all of it per piece
    due: np.ndarray = field(default_factory=lambda: _NO_TIMES)
    expires: np.ndarray = field(default_factory=lambda: _NO_TIMES)
    results_expire: np.ndarray = field(default_factory=lambda: _NO_TIMES)
    #: whether rows of each key came or went in this step
    changed: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    #: when each of the totals expires, and whether rows of its key came in this step
    totals_expire: np.ndarray = field(default_factory=lambda: _NO_TIMES)
    totals_changed: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    #: whether something is emitted when one of the last results expires
    tells_expiry: bool = False

    def __len__(self) -> int:
        return len(self.history) + len(self.pending) + len(self.last_results) + len(self.totals)

    @property
    def deadline(self) -> int:
        """When results are emitted, or nothing is needed any more.

        Silent keys are let go when all keys are silent, or when there is another reason to write: not one by one.
        """
        expires = (self.expires, self.results_expire, self.totals_expire)
        last = max(int(each.max(initial=-NEVER)) for each in expires)
        first = int(self.results_expire.min(initial=NEVER)) if self.tells_expiry else NEVER
        return min(int(self.due.min(initial=NEVER)), first, last)

    @property
    def most_bytes(self) -> int:
        """How large a piece of these keys may be."""
        changed = np.concatenate([self.changed, self.totals_changed])
        return LARGE if 2 * np.count_nonzero(changed) >= len(changed) else LARGE_IF_SPARSE

    @property
    def divisible(self) -> bool:
        """Whether there is more than one hash."""
        hashes = np.concatenate([t[HASH].to_numpy() for t in (self.keys, self.last_results, self.totals)])
        return bool((hashes != hashes[0]).any())

    def require_whole(self, time: str | None) -> None:
        """Refuse keys whose rows are not all there, or not only those, and rows without a time."""
        require_numbers(self.keys, HASH, DROPPED_ROWS, HISTORY_ROWS, PENDING_ROWS)
        require_numbers(self.last_results, HASH, RESULT_TIME)
        require_numbers(self.totals, HASH, TOTAL_TIME)
        for name, table in ((HISTORY_ROWS, self.history), (PENDING_ROWS, self.pending)):
            require_numbers(table, time)
            counts = self.read_counts(name).astype(np.int64)
            if counts.min(initial=0) < 0 or counts.sum() != len(table):
                raise StateError("saved state is damaged: keys have other rows than those that are there")
        dropped = self.read_counts(DROPPED_ROWS)
        if len(self.keys) and not 0 <= dropped.min() <= dropped.max() < NEVER:
            raise StateError("saved state is damaged: a number of rows that are gone is none")

    def read_counts(self, name: str) -> np.ndarray:
        """Read how many rows each key has in a table."""
        return self.keys[name].to_numpy()

    def split(self, label: Callable[[np.ndarray], np.ndarray]) -> dict[int, KeyedState]:
        """Split the keys by the labels of their hashes."""
        named = (self.keys, self.last_results, self.totals)
        all_labels = [label(t[HASH].to_numpy()) for t in named]
        order, result_order, total_order = orders = [np.argsort(each, kind="stable") for each in all_labels]
        history, pending = self.read_counts(HISTORY_ROWS), self.read_counts(PENDING_ROWS)
        keys, results, totals = (t.take(pa.array(each)) for t, each in zip(named, orders, strict=True))
        tables = [
            t.take(pa.array(_index_rows(n, order))) for t, n in ((self.history, history), (self.pending, pending))
        ]
        ends = [np.concatenate(([0], np.cumsum(n[order]))) for n in (history, pending)]
        there = np.unique(np.concatenate(all_labels))
        all_cuts = [
            np.append(np.searchsorted(labels[each], there), len(each)).tolist()
            for labels, each in zip(all_labels, orders, strict=True)
        ]
        found = {}
        for k, name in enumerate(there.tolist()):
            own, about, gone = (slice(cuts[k], cuts[k + 1]) for cuts in all_cuts)
            own_history, own_pending = (t[end[own.start] : end[own.stop]] for t, end in zip(tables, ends, strict=True))
            here, recorded, carried = order[own], result_order[about], total_order[gone]
            times = self.due[here], self.expires[here], self.results_expire[recorded]
            rest = self.changed[here], self.totals_expire[carried], self.totals_changed[carried]
            tables_of = keys[own], own_history, own_pending, results[about], totals[gone]
            found[name] = KeyedState(*tables_of, *times, *rest, self.tells_expiry)
        return found


def _index_rows(counts: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Index the rows of keys, in another order of keys."""
    begin, count = (np.cumsum(counts) - counts)[order], counts[order]
    return np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def join_states(parts: Iterable[KeyedState], empty: KeyedState) -> KeyedState:
    """Join the state of several pieces."""
    listed = [empty, *parts]
    return KeyedState(*(pa.concat_tables([getattr(p, name) for p in listed]) for name in _TABLES))


class Bucket:
    """The pieces of one bucket, and its rows ahead of the watermark."""

    def __init__(self, store: Store, task: StreamTask) -> None:
        self.store = store
        self._task, self._definition = task, task.build_definition()
        self._short = {FINGERPRINT: fingerprint(self._definition).hex()}
        schemas = self._build_schemas(task.history, pa.schema(task.totals))
        self.empty = KeyedState(*(schema.empty_table() for schema in schemas))
        #: what is saved: a task without last results, or totals, saves no table of them
        leaves_out = {"last_results": not task.last_results, "totals": not task.totals}
        self._saved = [name for name in _TABLES if not leaves_out.get(name, False)]
        #: the columns of all tables by the fingerprints that pieces may have
        self._layouts = {self._short[FINGERPRINT]: schemas}
        #: the watermark up to which all results were emitted; None before the first
        self.watermark: int | None = None
        #: leaves, and when something of each is due
        self.due: dict[int, int] = {ROOT: NEVER}
        self._is_there: set[int] = set()
        self._ahead = PendingRows(task, [])
        saved = store.read_meta()
        if saved is not None:
            self._load(saved)

    def _build_schemas(self, history: pa.Schema, totals: pa.Schema) -> list[pa.Schema]:
        """Build the columns of all tables, with those of history and of totals."""
        task = self._task
        keys = [task.rows.field(name) for name in task.partition_by]
        counts = [
            (HASH, pa.int64()),
            (DROPPED_ROWS, pa.int64()),
            (HISTORY_ROWS, pa.int32()),
            (PENDING_ROWS, pa.int32()),
        ]
        results = [pa.field(HASH, pa.int64()), *task.last_results]
        pending = history if task.slides else task.pending
        carried = pa.schema([*keys, pa.field(HASH, pa.int64()), *totals])
        named = pa.schema([*keys, *(pa.field(*c) for c in counts)])
        return [named, history, pending, pa.schema([*keys, *results]), carried]

    def _load(self, data: bytes) -> None:
        saved, encoded = envelope.open_sealed(data, "stream")
        with codec.refuse_damage():
            self.watermark, leaves, due, there, *more = codec.decode(encoded)
            _require_tree(leaves, there)
            require_times(due, () if self.watermark is None else (self.watermark,))
            self.due, self._is_there = dict(zip(leaves, due, strict=True)), set(there)
            reach, layouts = more[0] if more else ({}, {})
            self._ahead = PendingRows(self._task, more[1] if len(more) > 1 else [])
            layouts, totals = (
                {name: pa.ipc.read_schema(pa.py_buffer(schema)) for name, schema in each.items()}
                for each in (layouts, more[2] if len(more) > 2 else {})
            )
            reach = {kind: (operator.index(back), operator.index(ahead)) for kind, (back, ahead) in reach.items()}
        name = fingerprint(saved).hex()
        if name != self._short[FINGERPRINT]:
            require_sound(self._task, saved, layouts.get(name), totals.get(name, _NOTHING), reach)
        layouts = {name: self._task.history, **layouts}
        schemas = {name: self._build_schemas(kept, totals.get(name, _NOTHING)) for name, kept in layouts.items()}
        self._layouts = schemas | self._layouts

    def save(self) -> None:
        """Write the meta value, after all pieces."""
        if not self._is_there:
            self.due = {ROOT: NEVER}
        layouts = {name: history.serialize().to_pybytes() for name, (_, history, *_) in self._layouts.items()}
        pieces = (list(self.due), list(self.due.values()), sorted(self._is_there))
        payload: tuple[Any, ...] = (self.watermark, *pieces, (measure_extents(self._task), layouts), self._ahead.saved)
        carried = {name: _select_totals(schemas[-1]) for name, schemas in self._layouts.items()}
        if any(map(len, carried.values())):
            payload += ({name: schema.serialize().to_pybytes() for name, schema in carried.items()},)
        self.store.write_meta(envelope.seal("stream", self._definition, payload))

    @property
    def deadline(self) -> int:
        """When the next piece, or the next row ahead of the watermark, is due."""
        return min(*self.due.values(), self._ahead.deadline)

    def find_leaves(self, hashes: np.ndarray) -> np.ndarray:
        """Find the piece of each hash."""
        deepest = max(self.due).bit_length() - 1
        bits = min(deepest, _TABLE_BITS)
        table = np.zeros(1 << bits, np.int64)
        for leaf in self.due:
            depth = leaf.bit_length() - 1
            if depth <= bits:
                table[leaf - (1 << depth) :: 1 << depth] = leaf
        found = table[hashes & ((1 << bits) - 1)]
        for depth in range(bits + 1, deepest + 1):
            here = (1 << depth) | (hashes & ((1 << depth) - 1))
            found = np.where((found == 0) & np.isin(here, list(self.due)), here, found)
        return found

    def find_touched(self, hashes: np.ndarray, watermark: int | None) -> set[int]:
        """Find the pieces that have keys of these hashes, or of which something is due."""
        pieces = set(np.unique(self.find_leaves(hashes)).tolist())
        if watermark is not None:
            pieces |= {piece for piece, due in self.due.items() if due <= watermark}
        return pieces

    # ---- rows ahead of the watermark
    def exchange(self, new: pa.Table, hashes: np.ndarray, watermark: int) -> tuple[pa.Table, np.ndarray]:
        """Save new rows ahead of the watermark, and take those that it has passed, also of earlier steps."""
        return self._ahead.exchange(self, new, hashes, watermark)

    def read_entry(self, number: int) -> list[bytes]:
        """Read the tables of an entry."""
        tables: list[bytes] = self._open(number, "stream rows")[0]
        return tables

    def write_entry(self, number: int, tables: list[bytes]) -> None:
        """Replace the tables of an entry."""
        self.store.write(number, envelope.seal("stream rows", self._short, tables))

    def remove_entry(self, number: int) -> None:
        """Remove an entry."""
        self.store.remove(number)

    # ---- pieces
    def replace(self, pieces: set[int], state: KeyedState) -> None:
        """Write pieces anew: their keys are now these."""
        pieces = self._join_halves(pieces, state)
        parts = state.split(self.find_leaves)
        for piece in sorted(pieces):
            self.write(piece, parts.get(piece, self.empty), HALVINGS)

    def _join_halves(self, pieces: set[int], state: KeyedState) -> set[int]:
        """Join two halves of a piece where most of their keys have changed, and they are small enough."""
        rows = state.read_counts(HISTORY_ROWS) + state.read_counts(PENDING_ROWS)
        each = (state.history.nbytes + state.pending.nbytes) / max(1, int(rows.sum()))
        carried = np.full(len(state.totals), state.totals.nbytes / max(1, len(state.totals)))
        hashes, changed, size = (
            np.concatenate(both)
            for both in (
                [state.keys[HASH].to_numpy(), state.totals[HASH].to_numpy()],
                [state.changed, state.totals_changed],
                [rows * each, carried],
            )
        )
        there, of = np.unique(self.find_leaves(hashes), return_inverse=True)
        totals = (np.bincount(of, weights) for weights in (size, changed, np.ones(len(of))))
        #: bytes, keys that have changed, and keys of each piece
        sizes = dict(zip(there.tolist(), zip(*totals, strict=True), strict=True))
        joined = set(pieces)
        for piece in sorted(pieces, reverse=True):
            while piece in joined and piece != ROOT:
                top = 1 << (piece.bit_length() - 2)
                sibling, parent = piece ^ top, top | (piece & (top - 1))
                size, changed, keys = (
                    sum(p) for p in zip(*(sizes.get(p, (0, 0, 0)) for p in (piece, sibling)), strict=True)
                )
                if sibling not in joined or 2 * changed < keys or 2 * size > LARGE:
                    break
                for half in (piece, sibling):
                    self._remove(half)
                    self.due.pop(half)
                    joined.discard(half)
                joined.add(parent)
                self.due[parent], sizes[parent] = NEVER, (size, changed, keys)
                piece = parent
        return joined

    def read(self, piece: int) -> KeyedState:
        """Read the state of the keys of a piece."""
        if piece not in self._is_there:
            return self.empty
        saved, schemas = self._open(piece, "stream piece")
        with codec.refuse_damage():
            layout = dict(zip(_TABLES, schemas, strict=True))
            names = [
                name for name in _TABLES if name in self._saved or (name == "totals" and _select_totals(layout[name]))
            ]
            tables = {
                name: require_columns(read_batch(part, layout[name]), getattr(self.empty, name).schema)
                for name, part in zip(names, saved, strict=True)
            }
            if "totals" not in self._saved:  # those of an earlier definition
                tables.pop("totals", None)
            state = replace(self.empty, **tables)
            state.require_whole(self._task.time)
        return state

    def _open(self, number: int, kind: str) -> tuple[Any, list[pa.Schema]]:
        """Open a value of the state; also tell the columns of tables in it."""
        data = self.store.read(number)
        if data is None:
            raise StateError(f"saved state is damaged: value {number} of its bucket is missing. Use another copy")
        saved, encoded = envelope.open_sealed(data, kind)
        schemas = self._layouts.get(saved.get(FINGERPRINT, ""))
        if schemas is None:
            raise StateError(f"this state is of another definition: {differences(saved, self._short)}")
        return codec.decode(encoded), schemas

    def write(self, piece: int, state: KeyedState, halvings: int) -> None:
        """Replace a piece, which may become several; `halvings` are those that are left to a sparse one."""
        if not len(state):
            self._remove(piece)
            self.due[piece] = NEVER
            return
        parts = tuple(_serialize(getattr(state, name)) for name in self._saved)
        depth = piece.bit_length() - 1
        most = state.most_bytes if halvings else LARGE
        if sum(map(len, parts)) > most and depth < _DEEPEST and state.divisible:
            self._split(piece, state, depth, max(0, halvings - 1))
            return
        self.store.write(piece, envelope.seal("stream piece", self._short, parts))
        self._is_there.add(piece)
        self.due[piece] = state.deadline

    def _remove(self, piece: int) -> None:
        if piece in self._is_there:
            self.store.remove(piece)
            self._is_there.discard(piece)

    def _split(self, piece: int, state: KeyedState, depth: int, halvings: int) -> None:
        self._remove(piece)
        self.due.pop(piece, None)
        low = piece - (1 << depth)
        parts = state.split(lambda hashes: (hashes >> depth) & 1)
        for side in (0, 1):
            self.write((2 << depth) | (side << depth) | low, parts.get(side, self.empty), halvings)


def _select_totals(schema: pa.Schema) -> pa.Schema:
    """Select the columns of totals, without those that name the key."""
    return pa.schema([field for field in schema if field.name.startswith(TOTAL) or field.name == TOTAL_TIME])


def _require_tree(leaves: list[int], there: list[int]) -> None:
    """Refuse leaves in which a hash has no place, or more than one."""
    known = set(leaves)
    depths = [leaf.bit_length() - 1 for leaf in leaves if type(leaf) is int and 1 <= leaf < 2 << _DEEPEST]
    above = {
        1 << depth | (leaf & ((1 << depth) - 1))
        for leaf, deepest in zip(leaves, depths, strict=True)
        for depth in range(deepest)
    }
    whole = sum(1 << (_DEEPEST - depth) for depth in depths) == 1 << _DEEPEST
    if not whole or len(known) != len(leaves) or known & above or not known.issuperset(there):
        raise StateError("saved state is damaged: its pieces do not hold each key once")


def _serialize(table: pa.Table) -> bytes:
    batches = table.combine_chunks().to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    return batch.serialize().to_pybytes()
