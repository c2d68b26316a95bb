"""Arithmetic that kernels have a faster form of (structs.py), and one for vectors (lanes.py), with the same results to
the last bit."""

from __future__ import annotations

from typing import Any


def divide(total: float, count: float, share: float) -> float:
    """total / count, where share = 1 / count is at hand."""
    return total / count


divide._intrinsic_ = True  # type: ignore[attr-defined]  # a mark: not cloned with the functions that call it


def pick_larger(a: Any, b: Any) -> Any:
    """Take the larger number, and of equal ones the first. One instruction; it does not mind NaN."""
    return b if b > a else a


def pick_smaller(a: Any, b: Any) -> Any:
    """Take the smaller number, and of equal ones the first. One instruction; it does not mind NaN."""
    return b if b < a else a


pick_larger._intrinsic_ = pick_smaller._intrinsic_ = True  # type: ignore[attr-defined]
