"""Timing on a shared, noisy machine: repeat, and take the best."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_seconds(call: Callable[[], object], repeat: int = 5, enough: float = 2.0) -> float:
    """The shortest of several runs, after one to warm up; stops early once `enough` seconds have been spent."""
    call()
    best, spent = float("inf"), 0.0
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        seconds = time.perf_counter() - begin
        best, spent = min(best, seconds), spent + seconds
        if spent > enough:
            break
    return best


def ratio(call: Callable[[], object], yardstick: Callable[[], object], repeat: int = 9) -> tuple[float, float]:
    """The shortest time of a call, and its share of the yardstick's, both run in turn: what slows one slows the other.

    In CPU time of this thread, which other processes on the machine lengthen least.
    """
    call()
    yardstick()
    best = [float("inf"), float("inf")]
    for _ in range(repeat):
        for k, run in enumerate((call, yardstick)):
            begin = time.thread_time()
            run()
            best[k] = min(best[k], time.thread_time() - begin)
    return best[0], best[0] / best[1]
