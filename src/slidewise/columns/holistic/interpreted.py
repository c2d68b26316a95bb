"""The same results without numba's compiler (NUMBA_DISABLE_JIT=1), by the structures for single values. Slow."""

from __future__ import annotations

from typing import Any

import numpy as np

from slidewise.aggregations.ranks import NthSmallest, OrderStatistic, Percentile, PercentileDisc
from slidewise.algorithms import holistic_frames
from slidewise.algorithms.incremental_quantile import QuantileIndex
from slidewise.algorithms.raw_values import to_value

Result = tuple[np.ndarray, np.ndarray]


def quantile(values: np.ndarray, start: np.ndarray, end: np.ndarray, fraction: float, method: str) -> Result:
    keys, frames = holistic_frames.prepare(values.tolist(), start.tolist(), end.tolist())
    index, rule = QuantileIndex(keys), _rule(fraction, method)
    results = []
    for first, last in frames:
        index.move(first, last)
        results.append(rule.select(last - first, lambda k: to_value(index.kth(k))))
    return _arrays(results, np.dtype(np.float64) if method.startswith("continuous") else values.dtype)


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
