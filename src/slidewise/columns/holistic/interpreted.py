"""The same results without numba's compiler (NUMBA_DISABLE_JIT=1), by the structures for single values. Slow."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.aggregations.ranks import NthSmallest, OrderStatistic, Percentile, PercentileDisc
from slidewise.algorithms import holistic_frames
from slidewise.algorithms.incremental_quantile import QuantileIndex
from slidewise.algorithms.merge_sort_tree import MergeSortTree
from slidewise.algorithms.raw_values import to_value

Result = tuple[np.ndarray, np.ndarray]


def quantile(
    values: np.ndarray, start: np.ndarray, end: np.ndarray, fraction: float | np.ndarray, method: str
) -> Result:
    keys, frames = holistic_frames.prepare(values.tolist(), start.tolist(), end.tolist())
    fractions = fraction.tolist() if isinstance(fraction, np.ndarray) else None
    index, rule = QuantileIndex(keys), _rule(fraction if fractions is None else 0.5, method)  # type: ignore[arg-type]
    results = []
    for i, (first, last) in enumerate(frames):
        index.move(first, last)
        question = () if fractions is None else (fractions[i],)
        results.append(rule.select(last - first, lambda k: to_value(index.kth(k)), *question))
    return _arrays(results, np.dtype(np.float64) if method.startswith("continuous") else values.dtype)


def quantile_by_tree(
    values: np.ndarray, start: np.ndarray, end: np.ndarray, fraction: float | np.ndarray, method: str
) -> Result:
    tree = MergeSortTree(values.tolist())
    each = np.broadcast_to(fraction, len(start)).tolist()
    results = [
        tree.order_statistic(_rule(q, method), a, b) for q, (a, b) in zip(each, _frames(start, end), strict=True)
    ]
    return _arrays(results, np.dtype(np.float64) if method.startswith("continuous") else values.dtype)


def count_distinct_by_tree(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    tree = MergeSortTree(values.tolist())
    return _arrays([tree.count_distinct(a, b) for a, b in _frames(start, end)], np.dtype(np.int64))


def rank_by_tree(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    tree = MergeSortTree(values.tolist())
    return np.array([tree.rank(row, a, b) for row, (a, b) in enumerate(_frames(start, end))], np.int64)


def _frames(start: np.ndarray, end: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(start.tolist(), end.tolist(), strict=True))


def _rule(fraction: float, method: str) -> OrderStatistic:
    if method == "nth_smallest":
        return NthSmallest(n=int(fraction))
    kind = Percentile if method.startswith("continuous") else PercentileDisc
    return kind(fraction=fraction, method="paper" if method.endswith("paper") else "spark")


def count_distinct(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    results, _ = holistic_frames.count_distinct(values.tolist(), start.tolist(), end.tolist())
    return _arrays(results, np.dtype(np.int64))


def mode(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    results, _ = holistic_frames.mode(values.tolist(), start.tolist(), end.tolist())
    return _arrays(results, values.dtype)


def _arrays(results: list[Any], dtype: np.dtype) -> Result:
    valid = np.array([r is not None for r in results], bool)
    return np.array([0 if r is None else r for r in results], dtype), valid
