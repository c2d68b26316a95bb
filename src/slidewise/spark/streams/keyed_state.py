"""Keyed state: the rows, last results and totals of some keys, as tables; taken apart and put together by hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from slidewise.errors import StateError
from slidewise.spark.streams.arrow_tables import require_numbers
from slidewise.spark.streams.stream_task import (
    DROPPED_ROWS,
    HASH,
    HISTORY_ROWS,
    NEVER,
    PENDING_ROWS,
    RESULT_TIME,
    TOTAL_TIME,
)

TABLES = ("keys", "history", "pending", "last_results", "totals")
TIMES = ("due", "expires", "results_expire", "totals_expire")
_NO_TIMES = np.empty(0, np.int64)


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
    #: when rows of each key are due, when all of it expires, and when each of the last results does; not saved in
    #: pieces, since the meta value has all of it per piece
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
    def has_mostly_changed(self) -> bool:
        """Whether at least half of the keys have changed in this step."""
        changed = np.concatenate([self.changed, self.totals_changed])
        return bool(2 * np.count_nonzero(changed) >= len(changed))

    @property
    def divisible(self) -> bool:
        """Whether there is more than one hash."""
        hashes = self.hashes
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

    @property
    def hashes(self) -> np.ndarray:
        """The hash of each key, of each of the last results and of each total."""
        return np.concatenate([t[HASH].to_numpy() for t in (self.keys, self.last_results, self.totals)])

    @cached_property
    def bytes(self) -> int:
        """How much memory the tables take."""
        return sum(getattr(self, name).nbytes for name in TABLES)

    def select(self, hashes: np.ndarray) -> KeyedState:
        """Select the state of the keys of some hashes."""
        masks = [np.isin(t[HASH].to_numpy(), hashes) for t in (self.keys, self.last_results, self.totals)]
        if all(mask.all() for mask in masks):
            return self
        own, about, gone = map(np.flatnonzero, masks)
        history, pending = (_index_rows(self.read_counts(name), own) for name in (HISTORY_ROWS, PENDING_ROWS))
        tables = {"keys": own, "history": history, "pending": pending, "last_results": about, "totals": gone}
        times = {"due": own, "expires": own, "results_expire": about, "totals_expire": gone}
        taken = {name: getattr(self, name).take(pa.array(rows)) for name, rows in tables.items()}
        kept = {name: getattr(self, name) for name in times}
        kept = {name: each[times[name]] if len(each) else each for name, each in kept.items()}
        return KeyedState(**taken, **kept, tells_expiry=self.tells_expiry)

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
    """Join the state of some keys with that of others, without times."""
    listed = [empty, *parts]
    return KeyedState(*(pa.concat_tables([getattr(p, name) for p in listed]) for name in TABLES))


def append_states(old: KeyedState, new: KeyedState) -> KeyedState:
    """Append the state of some keys to that of others, with the times of both."""
    tables = {name: pa.concat_tables([getattr(old, name), getattr(new, name)]).combine_chunks() for name in TABLES}
    times = {name: np.concatenate([getattr(old, name), getattr(new, name)]) for name in TIMES}
    return KeyedState(**tables, **times, tells_expiry=new.tells_expiry)
