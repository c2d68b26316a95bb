"""Keys on threads: kernels release the interpreter's lock, and a frame never leaves its key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.columns.buffers import BufferSlice, OutputBuffers, all_valid, are_all_valid
from slidewise.columns.execute import Columns, Results, compute, compute_jointly
from slidewise.columns.frames.bounds import Frames, Pieces, Scattered
from slidewise.errors import InvalidInput
from slidewise.registry import algorithm as algorithm_entry

#: rows that are worth a task of their own
CHUNK = 1 << 18


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: as many as there are cores, unless told otherwise."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInput(f"threads is a number of threads from 1 on, or None for all cores, got {threads!r}")
    return threads


def compute_keys(
    aggregations: Sequence[Aggregation],
    columns: Columns,
    frames: Frames,
    algorithm: str,
    keys: tuple[np.ndarray, np.ndarray],
    threads: int,
    asked: Columns = (),
) -> list[Results] | None:
    """Compute in chunks of whole keys, as compute(): `keys` are where each begins among the frames and among the rows.

    The chunks depend on the data alone, so that results are the same, bit by bit, for any number of threads. Several
    aggregations are computed at once; None where that cannot be compiled.
    """
    cuts = _find_cuts(keys[0])
    compiled = all(c.dtype.kind in "biuf" for c in columns) and (
        not algorithm_entry(algorithm).events
        or all(aggregation.compiled(columns, frames.longest) is not None for aggregation in aggregations)
    )
    listed = isinstance(frames, Scattered) and not isinstance(frames, Pieces)
    whole = OutputBuffers(len(frames))

    def run(columns: Columns, frames: Frames, buffers: OutputBuffers, asked: Columns) -> list[Results] | None:
        if len(aggregations) > 1:
            return compute_jointly(aggregations, columns, frames, algorithm, buffers)
        return [compute(aggregations[0], columns, frames, algorithm, buffers, asked)]

    if len(cuts) < 3 or not compiled or listed:
        return run(columns, frames, whole, asked)
    bounds = [(tuple(int(k[a]) for k in keys), tuple(int(k[b]) for k in keys)) for a, b in pairwise(cuts)]
    parts = [whole.part(first, last) for (first, _), (last, _) in bounds]

    def chunk(k: int) -> list[Results] | None:
        (first, row), (last, end) = bounds[k]
        questions = tuple(values[first:last] for values in asked)
        return run(tuple(c[row:end] for c in columns), frames.part(first, last, row), parts[k], questions)

    if threads == 1:
        done = [chunk(k) for k in range(len(bounds))]
    else:
        with ThreadPoolExecutor(threads) as pool:
            done = list(pool.map(chunk, range(len(bounds))))
    found = [results for results in done if results is not None]
    if len(found) < len(done):
        return None
    joined = []
    for k in range(len(aggregations)):
        outs, valids = zip(*(results[k] for results in found), strict=True)
        valid = all_valid(len(frames)) if all(map(are_all_valid, valids)) else _join(parts, valids)
        joined.append((_join(parts, outs), valid))
    return joined


def _join(parts: list[BufferSlice], pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Join the results of chunks, unless they are in one piece already: kernels may have no buffers of this kind."""
    wholes = [part.whole_of(piece) for part, piece in zip(parts, pieces, strict=True)]
    return wholes[0] if wholes[0] is not None and all(w is wholes[0] for w in wholes) else np.concatenate(pieces)


def _find_cuts(offsets: np.ndarray) -> np.ndarray:
    """Find the keys at which chunks begin, and the number of keys: every chunk but the last has at least CHUNK rows."""
    count = int(offsets[-1])
    wanted = np.arange(CHUNK, count - CHUNK // 2, CHUNK)
    return np.unique(np.concatenate(([0], np.searchsorted(offsets, wanted), [len(offsets) - 1])))
