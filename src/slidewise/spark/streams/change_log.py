"""Changes: the state of keys that few steps have changed, as a log beside the pieces of their bucket.

A step that changes few keys of a piece would write all of it, most of it as it was: of 200,000 keys of 330 bytes, 41
MB for 20,000 of them, and 8 MB for 200. So it writes the state of the keys that it has touched as one entry of a log,
which holds for them instead of their piece. Pieces are written anew one after the other, in the order of the oldest
entry that has keys of them, as many bytes as were logged: then old entries have no keys of their own, and those
without are removed. Each byte of changed state is so written about twice, at any time, and the log is no longer than
the pieces.

What is read, that is the entries and pieces of a bucket, stays in the memory of the process: its next micro-batch finds
it, if that comes here. A token in the meta value tells whether it is the same; an entry has the token of before. So a
process that has missed some micro-batches reads what these have written, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from slidewise.errors import StateError
from slidewise.spark.streams.keyed_state import TIMES, KeyedState, append_states
from slidewise.spark.streams.recent import Recent
from slidewise.spark.streams.stream_task import HASH, NEVER

_NONE = np.empty(0, np.int64)
#: Of the address space that a worker may take, where that is limited, images take a sixteenth.
MOST_BYTES, _SHARE = 1 << 28, 16


@dataclass
class Log:
    """What the meta value has of the log."""

    #: the numbers of the first and the last entry that are there
    first: int = 1
    last: int = 0
    #: when something of it is due
    due: int = NEVER
    #: how many bytes were logged, and not yet made up for by pieces
    credit: int = 0

    def require_sound(self, written: Iterable[int]) -> None:
        """Refuse numbers that no log has, and pieces that were written later than its last entry."""
        numbers = (self.last, *written)
        if not 1 <= self.first <= self.last + 1 or not 0 <= min(numbers) <= max(numbers) <= self.last < 1 << 40:
            raise StateError("saved state is damaged: its log has other entries than it says")


@dataclass(frozen=True)
class LogRun:
    """The state of keys that some entries, one after the other, have changed; those that it lacks are gone."""

    #: sorted, each once
    hashes: np.ndarray
    state: KeyedState


@dataclass
class Image:
    """What a process has read and written of a bucket: its log of changes, and pieces."""

    #: the number of the last entry that is in it
    position: int = 0
    #: pieces, with the number of the last entry when each was written
    pieces: dict[int, tuple[int, KeyedState]] = field(default_factory=dict)
    #: oldest first: each is at least twice as long as the next
    runs: list[LogRun] = field(default_factory=list)
    #: the hashes that the log holds for, sorted, and the last entry of each
    hashes: np.ndarray = field(default_factory=lambda: _NONE)
    numbers: np.ndarray = field(default_factory=lambda: _NONE)

    def append(self, number: int, run: LogRun) -> None:
        """Append an entry of the log."""
        self.position = number
        stays = ~np.isin(self.hashes, run.hashes)
        hashes = np.concatenate([self.hashes[stays], run.hashes])
        numbers = np.concatenate([self.numbers[stays], np.full(len(run.hashes), number)])
        order = np.argsort(hashes, kind="stable")
        self.hashes, self.numbers = hashes[order], numbers[order]
        self.runs.append(run)
        while len(self.runs) > 1 and len(self.runs[-2].hashes) < 2 * len(self.runs[-1].hashes):
            self._join_last()

    def keep(self, mask: np.ndarray) -> None:
        """Keep some of the hashes that the log holds for: those of others are in their pieces."""
        if mask.all():
            return
        self.hashes, self.numbers = self.hashes[mask], self.numbers[mask]
        if not len(self.hashes):
            self.runs = []
        if sum(len(run.hashes) for run in self.runs) > 2 * len(self.hashes):
            while len(self.runs) > 1:
                self._join_last()

    def _join_last(self) -> None:
        new = self.runs.pop()
        old = self.runs.pop()
        stays = old.hashes[np.isin(old.hashes, self.hashes) & ~np.isin(old.hashes, new.hashes)]
        state = append_states(old.state.select(stays), new.state)
        self.runs.append(LogRun(np.sort(np.concatenate([stays, new.hashes])), state))

    def has(self, hashes: np.ndarray) -> np.ndarray:
        """Tell for which hashes the log holds."""
        return np.isin(hashes, self.hashes)

    def read(self, hashes: np.ndarray) -> Iterator[KeyedState]:
        """Read the state of hashes that the log holds for."""
        for run in reversed(self.runs):
            if not len(hashes):
                return
            here = np.isin(hashes, run.hashes)
            if here.any():
                yield run.state.select(hashes[here])
                hashes = hashes[~here]

    def find_due(self, watermark: int) -> np.ndarray:
        """Find the hashes of which something is due or expires."""
        found = [_NONE]
        for state, hashes in self._list_current():
            named = (state.keys, state.keys, state.last_results, state.totals)
            for name, table in zip(TIMES, named, strict=True):
                own = table[HASH].to_numpy()
                found.append(own[(getattr(state, name) <= watermark) & np.isin(own, hashes)])
        return np.unique(np.concatenate(found))

    @property
    def deadline(self) -> int:
        """When something of the log is due, or nothing of it is needed any more."""
        first, last, tells = NEVER, -NEVER, False
        for state, hashes in self._list_current():
            named = (state.keys, state.keys, state.last_results, state.totals)
            masks = [np.isin(table[HASH].to_numpy(), hashes) for table in named]
            due, *expires = (getattr(state, name)[mask] for name, mask in zip(TIMES, masks, strict=True))
            first = min(first, int(due.min(initial=NEVER)))
            if state.tells_expiry:
                first = min(first, int(expires[1].min(initial=NEVER)))
            last, tells = max(last, *(int(each.max(initial=-NEVER)) for each in expires)), True
        return min(first, last) if tells else NEVER

    def _list_current(self) -> Iterator[tuple[KeyedState, np.ndarray]]:
        """List the state of the runs, and the hashes for which each of them holds."""
        left = self.hashes
        for run in reversed(self.runs):
            here = np.isin(left, run.hashes)
            yield run.state, left[here]
            left = left[~here]

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        states = [state for _, state in self.pieces.values()] + [run.state for run in self.runs]
        return sum(state.bytes for state in states) + self.hashes.nbytes + self.numbers.nbytes


def choose_most_bytes() -> int:
    """Choose how much memory of a process images take."""
    try:
        import resource
    except ImportError:  # on Windows
        return MOST_BYTES
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return MOST_BYTES if limit == resource.RLIM_INFINITY else min(MOST_BYTES, limit // _SHARE)


#: the images of this process, by the definition and the token of their bucket
images: Recent[Image] = Recent(choose_most_bytes())
