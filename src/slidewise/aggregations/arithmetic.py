"""Arithmetic that kernels have a faster form of (structs.py), with the same results to the last bit."""

from __future__ import annotations


def divide(total: float, count: float, share: float) -> float:
    """total / count, where share = 1 / count is at hand."""
    return total / count


divide._intrinsic_ = True  # type: ignore[attr-defined]  # a mark: not cloned with the functions that call it
