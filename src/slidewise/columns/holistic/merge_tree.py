"""Any frames by merge sort trees: the arrays that slidewise.algorithms.merge_sort_tree is compiled over."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from slidewise.aggregations.sums import Count
from slidewise.algorithms import merge_sort_tree as tree
from slidewise.columns.holistic.chunk_ranks import first_passes, rank_words, workspace
from slidewise.columns.holistic.compiling import kernel
from slidewise.columns.holistic.quantile_any import block_frames
from slidewise.columns.holistic.quantile_position import position
from slidewise.columns.holistic.sort_keys import put_results
from slidewise.templates import compile as templates


# ---- the three questions
def count_distinct(codes: np.ndarray, lowest: int, size: int, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Count the different values of frames. O(log^2 of their length) each."""
    keys = np.empty(len(codes), np.int32)
    previous_rows(codes, lowest, size, keys)
    return _count_below(keys, start, end, start + 1)


def ranks(words: np.ndarray, floats: bool, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Count for every row the values of its frame that are below its own. O(log^2 of its length) each."""
    keys, order = _rank_keys(words, floats)
    below = np.empty(len(words), np.int32)
    equal_ranks(keys, order, below)
    return _count_below(below, start, end, below)


#: the number of the method, and whether results are interpolated
Rule = tuple[int, bool]


def quantile(
    words: np.ndarray,
    floats: bool,
    start: np.ndarray,
    end: np.ndarray,
    fractions: np.ndarray,
    rule: Rule,
    out: np.ndarray,
) -> None:
    """Compute quantiles of frames, a fraction each, a block at a time: O(log of the rows that a block covers) each."""
    block = block_frames(int(np.max(end - start, initial=0)))
    i = 0
    while i < len(start):
        stop = min(len(start), i + block)
        a, b = _find_covered(start[i:stop], end[i:stop])
        if b - a > 16 * block:  # all that is left: the rows are prepared once
            stop = len(start)
            a, b = _find_covered(start[i:], end[i:])
        bounds = start[i:stop] - a, end[i:stop] - a
        _quantile(words[a:b], floats, *bounds, fractions[i:stop], rule, out[i:stop])
        i = stop


def _quantile(
    words: np.ndarray,
    floats: bool,
    start: np.ndarray,
    end: np.ndarray,
    fractions: np.ndarray,
    rule: Rule,
    out: np.ndarray,
) -> None:
    method, interpolated = rule
    k, share = np.empty(2 * len(start), np.int64), np.empty(len(start))
    find_positions(start, end, fractions, method, k, share)
    keys, order = _rank_keys(words, floats)
    n, depth = len(keys), max(0, len(keys) - 1).bit_length()
    levels, took = np.empty(2 * n, np.int32), np.empty((depth + 1) * n, np.int32)
    levels[:n] = order
    places = np.zeros(len(k), np.int64)
    _run(tree.run_select, levels, took, n, depth, np.tile(start, 2), np.tile(end, 2), k, places)
    put_quantiles(keys, order, places, share, floats, interpolated, out)


def _count_below(keys: np.ndarray, start: np.ndarray, end: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    n, depth = len(keys), tree.depth_for(int(np.max(end - start, initial=0)))
    levels = np.empty((depth + 1) * n, np.int32)
    levels[:n] = keys
    out = np.empty(len(start), np.int64)
    _run(tree.run_count, levels, levels[:0], n, depth, start, end, bounds, out)
    return out


def _run(driver: Any, *args: Any) -> None:
    """Run a driver of the tree that has no partials: it is compiled for counting, and does not combine."""
    templates.kernel(driver, tree, Count(), np.dtype(np.int64), args)(*args)


def _find_covered(start: np.ndarray, end: np.ndarray) -> tuple[int, int]:
    """Find the rows that frames cover; none where all are empty."""
    some = start < end
    return (int(start[some].min()), int(end[some].max())) if some.any() else (0, 0)


def _rank_keys(words: np.ndarray, floats: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of the words, and the rows in the order of keys, those of equal ones in their own."""
    n = len(words)
    keys, work = np.empty(n, np.int64), workspace(n)
    if n:
        rank_words(words, floats, first_passes(n), keys, work)
    return keys, work[4]


# ---- kernels
@kernel
def previous_rows(codes, lowest, size, keys):
    """Fill in the row before each row that has the same code, counted from 1, and 0 where there is none. O(n)."""
    last = np.zeros(size, np.int32)
    for row in range(codes.size):
        code = codes[row] - lowest
        keys[row] = last[code]
        last[code] = row + 1


@kernel
def equal_ranks(keys, order, ranks):
    """Fill in the rank of each key from 0, the same for equal ones. O(n)."""
    first = 0
    for place in range(order.size):
        if keys[order[place]] != keys[order[first]]:
            first = place
        ranks[order[place]] = first


@kernel
def find_positions(start, end, fractions, method, k, share):
    """Fill in the ranks that quantiles take, from 0, and the next ones where a share needs them; where none, -1."""
    frames = start.size
    for i in range(frames):
        k[i] = k[frames + i] = -1
        share[i] = 0.0
        n = end[i] - start[i]
        if n > 0:
            at, s = position(n, fractions[i], method)
            if at < n:
                k[i], share[i] = at, s
                if s > 0.0:
                    k[frames + i] = at + 1


@kernel
def put_quantiles(keys, order, places, share, floats, interpolated, out):
    """Write the quantiles of the places found; where there is none, any."""
    frames = share.size
    low, high = np.empty(frames, np.int64), np.empty(frames, np.int64)
    for i in range(frames):
        low[i] = high[i] = 0
        if order.size:
            low[i], high[i] = keys[order[places[i]]], keys[order[places[frames + i]]]
    put_results(low, high, share, frames, floats, interpolated, out, int64(0))
