"""Keys on threads: kernels release the interpreter's lock, and a frame never leaves its key."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from threading import Lock

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.columns.engine import Columns, Results, compute
from slidewise.errors import InvalidInput
from slidewise.registry import algorithm as algorithm_entry
from slidewise.windows.bounds import Frames, Pieces, Scattered

#: rows that are worth a task of their own
CHUNK = 1 << 19


def thread_count(threads: int | None) -> int:
    """How many threads to use: as many as there are cores, unless told otherwise."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInput(f"threads is a number of threads from 1 on, or None for all cores, got {threads!r}")
    return threads


def compute_keys(
    aggregation: Aggregation,
    columns: Columns,
    frames: Frames,
    algorithm: str,
    keys: tuple[np.ndarray, np.ndarray],
    threads: int,
) -> Results:
    """As compute(), in chunks of whole keys: `keys` are where each begins among the frames and among the rows.

    The chunks depend on the data alone, so that results are the same, bit by bit, for any number of threads.
    """
    cuts = _cuts(keys[0])
    compiled = all(c.dtype.kind in "biuf" for c in columns) and (
        not algorithm_entry(algorithm).events or aggregation.compiled(columns, frames.longest) is not None
    )
    listed = isinstance(frames, Scattered) and not isinstance(frames, Pieces)
    if len(cuts) < 3 or not compiled or listed:
        return compute(aggregation, columns, frames, algorithm)
    bounds = [(tuple(int(k[a]) for k in keys), tuple(int(k[b]) for k in keys)) for a, b in pairwise(cuts)]
    whole = _Whole(len(frames))

    def run(k: int) -> Results:
        (first, row), (last, end) = bounds[k]
        room = partial(whole.part, first, last)
        return compute(aggregation, tuple(c[row:end] for c in columns), frames.part(first, last, row), algorithm, room)

    if threads == 1:
        done = [run(k) for k in range(len(bounds))]
    else:
        with ThreadPoolExecutor(threads) as pool:
            done = list(pool.map(run, range(len(bounds))))
    return whole.of(done)


class _Whole:
    """The results of all chunks in one piece, into which each chunk writes its own: joining would be a copy more."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = Lock()
        self._made: dict[np.dtype, Results] = {}

    def part(self, first: int, last: int, dtype: np.dtype) -> Results:
        """The place of one chunk."""
        with self._lock:
            if dtype not in self._made:
                self._made[dtype] = np.zeros(self._count, dtype), np.zeros(self._count, bool)
        out, valid = self._made[dtype]
        return out[first:last], valid[first:last]

    def of(self, done: list[Results]) -> Results:
        """All results: in one piece already, or, where kernels have no room of this kind, joined."""
        if len(self._made) == 1:
            whole = next(iter(self._made.values()))
            if all(out.base is whole[0] and valid.base is whole[1] for out, valid in done):
                return whole
        outs, valids = zip(*done, strict=True)
        return np.concatenate(outs), np.concatenate(valids)


def _cuts(offsets: np.ndarray) -> np.ndarray:
    """The keys at which chunks begin, and the number of keys: every chunk but the last has at least CHUNK rows."""
    count = int(offsets[-1])
    wanted = np.arange(CHUNK, count - CHUNK // 2, CHUNK)
    return np.unique(np.concatenate(([0], np.searchsorted(offsets, wanted), [len(offsets) - 1])))
