"""State store: the state of one bucket of keys, in pieces and in a log of changes (change_log.py).

A piece has all rows of some keys. Pieces are the leaves of a binary tree over the bits of the key's hash, and a piece
that is too large is split by the next bit: one of which a step changes few keys at 64 KB, and one of which it changes
most only at 1 MB, since each piece has its own cost. For that reason two halves of which it changes most are joined
again. A small meta value names the leaves, when each is due, and how far the log goes.

Every value is sealed with the format's version, the definition's fingerprint and a checksum (envelope.py). The meta
value has the definition in words and is read first: it says what has changed, and pieces need the fingerprint only.
It also says what pieces of earlier definitions have, where results came or went (compatibility.py): those are read as
they are, and written in the form of today.
"""

from __future__ import annotations

import hashlib
import operator
import os
from dataclasses import astuple, dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from slidewise.errors import StateError
from slidewise.serialization import codec, envelope
from slidewise.serialization.state_definition import differences, fingerprint
from slidewise.spark.streams.arrow_tables import read_batch, require_columns
from slidewise.spark.streams.change_log import Image, Log, LogRun, images
from slidewise.spark.streams.compatibility import measure_extents, require_columns_kept, require_sound
from slidewise.spark.streams.keyed_state import TABLES, TIMES, KeyedState, join_states
from slidewise.spark.streams.pending_rows import PendingRows, require_times
from slidewise.spark.streams.stream_task import (
    DROPPED_ROWS,
    HASH,
    HISTORY_ROWS,
    NEVER,
    PENDING_ROWS,
    TOTAL,
    TOTAL_TIME,
    StreamTask,
)

#: A piece of more bytes is split, unless it is of one hash: where at least half of its keys have changed, and where
#: fewer have. 1,000 keys of 1,000 rows, all of which change: 0.3 ms of CPU time for each piece.
LARGE, LARGE_IF_SPARSE = 1 << 20, 1 << 16
#: A piece of which a step touches one key in so many, or more, is written anew; of others the keys are logged.
FEW = 3
#: A process that has seen nothing of a bucket reads its log. So pieces of more bytes together are written anew that
#: much faster than the log grows; and some bytes of them with each entry, also a short one: to read it takes 0.15 ms.
MOST_LOGGED, MOST_ENTRIES, MOST_AT_LEAST = 1 << 23, 1 << 9, 1 << 16
#: How often a step halves a piece of which few keys have changed, down from a large one: it is written in any case.
HALVINGS = 4
#: the whole tree: one leaf. A leaf of depth d is 1 and then the last d bits of the hashes in it.
ROOT = 1
_DEEPEST = 40
#: leaves up to this depth are looked up in a table
_TABLE_BITS = 12
#: before the numbers of entries of the log of changes, and the bytes of a token
_CHANGES, _TOKEN = 1 << 44, 8
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


_NOTHING = pa.schema([])


@dataclass(frozen=True)
class Touched:
    """What a step reads and writes of a bucket: some pieces, and of the others the keys of some hashes."""

    pieces: set[int]
    #: sorted, each once
    hashes: np.ndarray

    def __bool__(self) -> bool:
        return bool(self.pieces) or len(self.hashes) > 0


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
        self._saved = [name for name in TABLES if not leaves_out.get(name, False)]
        #: the columns of all tables by the fingerprints that pieces may have
        self._layouts = {self._short[FINGERPRINT]: schemas}
        #: the watermark up to which all results were emitted; None before the first
        self.watermark: int | None = None
        #: leaves, and when something of each is due
        self.due: dict[int, int] = {ROOT: NEVER}
        #: the bytes of pieces that are there, and the number of the last entry of the log when each was written
        self._sizes: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._log = Log()
        #: what was written since the first step, in so many bytes; and the checksums of what this step writes
        self._token, self._seals = b"", list[bytes]()
        self._image: Image | None = None
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
            self.due = dict(zip(leaves, due, strict=True))
            sizes, written, log, self._token = (
                more[3] if len(more) > 3 else ([1] * len(there), [0] * len(there), (), os.urandom(_TOKEN))
            )
            require_times(sizes, written, log)
            self._sizes, self._written = dict(zip(there, sizes, strict=True)), dict(zip(there, written, strict=True))
            self._log = Log(*log)
            self._log.require_sound(self._written.values())
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
        require_columns_kept(self._task, layouts.get(self._short[FINGERPRINT]))
        layouts = {name: self._task.history, **layouts}
        schemas = {name: self._build_schemas(kept, totals.get(name, _NOTHING)) for name, kept in layouts.items()}
        self._layouts = schemas | self._layouts

    def save(self) -> None:
        """Write the meta value, after all pieces."""
        if not self._sizes:
            self.due = {ROOT: NEVER}
        layouts = {name: history.serialize().to_pybytes() for name, (_, history, *_) in self._layouts.items()}
        there = sorted(self._sizes)
        pieces = (list(self.due), list(self.due.values()), there)
        carried = {name: _select_totals(schemas[-1]) for name, schemas in self._layouts.items()}
        totals = {name: schema.serialize().to_pybytes() for name, schema in carried.items() if len(schema)}
        written = ([self._sizes[n] for n in there], [self._written[n] for n in there], astuple(self._log), self._token)
        reach = (measure_extents(self._task), layouts)
        payload = (self.watermark, *pieces, reach, self._ahead.saved, totals, written)
        self.store.write_meta(envelope.seal("stream", self._definition, payload))
        self.release()

    def release(self) -> None:
        """Leave what was read in the memory of this process."""
        if self._image is not None and self._token:
            images.put((self._short[FINGERPRINT], self._token), self._image, self._image.bytes)
        self._image = None

    @property
    def deadline(self) -> int:
        """When the next piece, or the next row ahead of the watermark, is due."""
        return min(*self.due.values(), self._ahead.deadline, self._log.due)

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

    def find_touched(self, hashes: np.ndarray, watermark: int | None) -> Touched:
        """Find what has keys of these hashes, or is due: pieces that are written anew, and the keys of others."""
        hashes, pieces = np.unique(hashes), set[int]()
        if watermark is not None:
            pieces = {piece for piece, due in self.due.items() if due <= watermark}
            if self._log.due <= watermark:
                hashes = np.union1d(hashes, self._load_image().find_due(watermark))
        of = self.find_leaves(hashes)
        logged = dict[int, int]()
        if self._log.first <= self._log.last:
            logged = _count(self.find_leaves(self._load_image().hashes))
        for piece, number in _count(of).items():
            if piece not in pieces and self._is_mostly_touched(piece, number, logged.get(piece, 0)):
                pieces.add(piece)
        rest = hashes[~np.isin(of, list(pieces))]
        if len(rest):
            pieces |= self._choose_oldest(pieces)
            rest = hashes[~np.isin(of, list(pieces))]
        return Touched(pieces, rest)

    def find_all(self) -> Touched:
        """Find all that there is."""
        return Touched(set(self.due), np.empty(0, np.int64))

    def _is_mostly_touched(self, piece: int, number: int, logged: int) -> bool:
        if piece not in self._sizes:
            return True
        state = self._read_piece(piece)
        return FEW * number >= len(state.keys) + len(state.totals) + logged

    def _choose_oldest(self, chosen: set[int]) -> set[int]:
        """Choose pieces that are written anew, for so many bytes as were logged: those with the oldest entries."""
        image = self._load_image()
        if not len(image.hashes):
            return set()
        of = self.find_leaves(image.hashes)
        order = np.lexsort((image.numbers, of))
        found, first, number = np.unique(of[order], return_index=True, return_counts=True)
        each = sum(run.state.bytes for run in image.runs) / sum(len(run.hashes) for run in image.runs)
        pieces = set[int]()
        for k in np.argsort(image.numbers[order][first], kind="stable").tolist():
            piece = int(found[k])
            if piece in chosen:
                continue
            size = self._sizes.get(piece, 0) + int(each * number[k])
            if size > self._log.credit:
                break
            self._log.credit -= size
            pieces.add(piece)
        return pieces

    # ---- rows ahead of the watermark
    def exchange(self, new: pa.Table, hashes: np.ndarray, watermark: int) -> tuple[pa.Table, np.ndarray]:
        """Save new rows ahead of the watermark, and take those that it has passed, also of earlier steps."""
        return self._ahead.exchange(self, new, hashes, watermark)

    def read_entry(self, number: int) -> list[bytes]:
        """Read the tables of an entry."""
        tables: list[bytes] = self._open(number, "stream rows")[0]
        return tables

    def write_entry(self, number: int, tables: list[bytes]) -> bytes:
        """Replace the tables of an entry; return the checksum of what was saved."""
        data = envelope.seal("stream rows", self._short, tables)
        self.store.write(number, data)
        return data[-envelope.CHECKSUM :]

    def remove_entry(self, number: int) -> None:
        """Remove an entry."""
        self.store.remove(number)

    # ---- the log of changes
    def _load_image(self) -> Image:
        """Load the log, as far as this process has not got it from an earlier step."""
        if self._image is not None:
            return self._image
        definition, token, missed = self._short[FINGERPRINT], self._token, []
        image, number = images.take((definition, token)), self._log.last
        while image is None and number >= self._log.first:
            token, run = self._read_change(number)
            missed.append((number, run))
            number -= 1
            image = images.take((definition, token))
        self._image = image = Image() if image is None else image
        position = image.position
        for number, run in reversed(missed):
            image.append(number, run)
        there = self._written
        image.pieces = {n: (at, state) for n, (at, state) in image.pieces.items() if there.get(n) == at <= position}
        self._keep_logged(image)
        return image

    def _keep_logged(self, image: Image) -> None:
        """Keep what the log holds for: no keys of pieces that were written since."""
        of = self.find_leaves(image.hashes)
        numbers = np.array([self._written.get(n, self._log.last) for n in self.due], np.int64)
        leaves = np.array(list(self.due), np.int64)
        order = np.argsort(leaves)
        image.keep(image.numbers > numbers[order][np.searchsorted(leaves[order], of)])

    def _read_change(self, number: int) -> tuple[bytes, LogRun]:
        """Read an entry of the log: the token of the bucket before it, and the state of the keys that it has."""
        saved, schemas = self._open(_CHANGES + number, "stream changes")
        with codec.refuse_damage():
            token, hashes, times, tables = saved
            read = np.frombuffer(hashes, np.int64)
            if "totals" not in self._saved:  # those of an earlier definition
                times = [*times[:-1], NEVER]
            state = self._read_tables(tables, schemas)
            lengths = (len(state.keys), len(state.keys), len(state.last_results), len(state.totals))
            found = {
                name: _expand_times(each, length) for name, each, length in zip(TIMES, times, lengths, strict=True)
            }
            state = replace(state, **found, tells_expiry=self._task.empty)
        if not (np.diff(read) > 0).all() or not np.isin(state.hashes, read).all() or type(token) is not bytes:
            raise StateError("saved state is damaged: an entry of its log has other keys than it says")
        return token, LogRun(read, state)

    def _write_change(self, hashes: np.ndarray, state: KeyedState) -> bytes:
        """Write an entry of the log; return its checksum."""
        parts = self._serialize(state)
        times = [_shorten_times(getattr(state, name)) for name in TIMES]
        number = self._log.last
        data = envelope.seal("stream changes", self._short, (self._token, hashes.tobytes(), times, parts))
        self.store.write(_CHANGES + number, data)
        image = self._load_image()
        kept = {name: getattr(state, name) for name in TIMES}
        image.append(number, LogRun(hashes, replace(self._view(parts), **kept, tells_expiry=self._task.empty)))
        size = sum(self._sizes.values())
        self._log.credit += max(len(data) * max(1, size // MOST_LOGGED), min(size // MOST_ENTRIES, MOST_AT_LEAST))
        return data[-envelope.CHECKSUM :]

    # ---- pieces
    def replace(self, touched: Touched, state: KeyedState) -> None:
        """Write pieces anew, and log other keys: what was touched is now this."""
        image, logs = self._load_image(), len(touched.hashes) > 0
        before = self._token
        self._seals = [before]
        chosen = self._join_halves(touched.pieces, state) if touched.pieces else set[int]()
        if logs:
            listed = list(chosen)
            rest = state.split(lambda hashes: np.isin(self.find_leaves(hashes), listed).astype(np.int64))
            logged, state = (rest.get(side, self.empty) for side in (0, 1))
            if not self._log.credit and not len(image.hashes):
                self._log.credit = self._choose_first_credit()
            self._log.last += 1
            self._seals.append(self._write_change(touched.hashes, logged))
        parts = state.split(self.find_leaves) if chosen else {}
        for piece in sorted(chosen):
            self.write(piece, parts.get(piece, self.empty), HALVINGS)
        self._keep_logged(image)
        first = int(image.numbers.min(initial=self._log.last + 1))
        for number in range(self._log.first, first):
            self.store.remove(_CHANGES + number)
        self._log.first, self._log.due = first, image.deadline
        if not len(image.hashes):
            self._log.credit = 0
        self._token = hashlib.blake2b(b"".join(self._seals), digest_size=_TOKEN).digest()

    def _choose_first_credit(self) -> int:
        """Choose any credit up to a piece, so that not all buckets write their pieces in the same step."""
        return int.from_bytes(self._token[:2]) * max(self._sizes.values(), default=0) >> 16

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

    def read(self, touched: Touched) -> KeyedState:
        """Read the state of the keys of pieces, and of hashes."""
        parts, image = [], self._load_image()
        for piece in sorted(touched.pieces):
            state = self._read_piece(piece)
            parts.append(state.select(state.hashes[~image.has(state.hashes)]) if len(image.hashes) else state)
        if len(image.hashes):
            parts += image.read(image.hashes[np.isin(self.find_leaves(image.hashes), list(touched.pieces))])
            parts += image.read(touched.hashes[image.has(touched.hashes)])
        others = touched.hashes[~image.has(touched.hashes)]
        of = self.find_leaves(others)
        parts += [self._read_piece(int(piece)).select(others[of == piece]) for piece in np.unique(of)]
        return join_states(parts, self.empty)

    def _read_piece(self, piece: int) -> KeyedState:
        """Read a piece as it was written."""
        if piece not in self._sizes:
            return self.empty
        image = self._load_image()
        if piece not in image.pieces:
            saved, schemas = self._open(piece, "stream piece")
            with codec.refuse_damage():
                state = self._read_tables(saved, schemas)
            image.pieces[piece] = self._written[piece], state
        return image.pieces[piece][1]

    def _read_tables(self, saved: Any, schemas: list[pa.Schema]) -> KeyedState:
        """Read tables that may be damaged, or of an earlier definition."""
        layout = dict(zip(TABLES, schemas, strict=True))
        names = [name for name in TABLES if name in self._saved or (name == "totals" and _select_totals(layout[name]))]
        tables = {
            name: require_columns(read_batch(part, layout[name]), getattr(self.empty, name).schema)
            for name, part in zip(names, saved, strict=True)
        }
        if "totals" not in self._saved:  # those of an earlier definition
            tables.pop("totals", None)
        state = replace(self.empty, **tables)
        state.require_whole(self._task.time)
        return state

    def _serialize(self, state: KeyedState) -> tuple[bytes, ...]:
        return tuple(_serialize(getattr(state, name)) for name in self._saved)

    def _view(self, parts: tuple[bytes, ...]) -> KeyedState:
        """View tables that were just serialized: memory of their own, and no more."""
        tables = {
            name: pa.Table.from_batches(
                [pa.ipc.read_record_batch(pa.py_buffer(part), getattr(self.empty, name).schema)]
            )
            for name, part in zip(self._saved, parts, strict=True)
        }
        return replace(self.empty, **tables)

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
        parts = self._serialize(state)
        depth = piece.bit_length() - 1
        most = LARGE_IF_SPARSE if halvings and not state.has_mostly_changed else LARGE
        if sum(map(len, parts)) > most and depth < _DEEPEST and state.divisible:
            self._split(piece, state, depth, max(0, halvings - 1))
            return
        data = envelope.seal("stream piece", self._short, parts)
        self.store.write(piece, data)
        self._seals.append(data[-envelope.CHECKSUM :])
        self._sizes[piece], self._written[piece] = len(data), self._log.last
        self._load_image().pieces[piece] = self._log.last, self._view(parts)
        self.due[piece] = state.deadline

    def _remove(self, piece: int) -> None:
        if piece in self._sizes:
            self.store.remove(piece)
            self._seals.append(piece.to_bytes(8))
            self._sizes.pop(piece)
            self._written.pop(piece)
            self._load_image().pieces.pop(piece, None)

    def _split(self, piece: int, state: KeyedState, depth: int, halvings: int) -> None:
        self._remove(piece)
        self.due.pop(piece, None)
        low = piece - (1 << depth)
        parts = state.split(lambda hashes: (hashes >> depth) & 1)
        for side in (0, 1):
            self.write((2 << depth) | (side << depth) | low, parts.get(side, self.empty), halvings)


def _count(numbers: np.ndarray) -> dict[int, int]:
    """Count how often each number is there."""
    each, count = np.unique(numbers, return_counts=True)
    return dict(zip(each.tolist(), count.tolist(), strict=True))


def _shorten_times(times: np.ndarray) -> int | bytes:
    """Shorten times that are all the same."""
    if len(times) and (times == times[0]).all():
        return int(times[0])
    return times.astype(np.int64).tobytes() if len(times) else NEVER


def _expand_times(saved: int | bytes, number: int) -> np.ndarray:
    times = np.full(number, saved, np.int64) if type(saved) is int else np.frombuffer(saved, np.int64)  # type: ignore[arg-type]
    if len(times) != number or times.min(initial=0) < -NEVER:
        raise StateError("saved state is damaged: there are not as many times as keys")
    return times


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
