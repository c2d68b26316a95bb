"""What the first call on a machine takes, which compiles: `python -m benchmarks.first_call`.

Each case runs in a process of its own with an empty cache: CPU seconds (user and system) and wall seconds of the call,
and what another process takes that finds the kernels in the cache. The import of slidewise is left out: 0.3 s. One
processor is enough; others on the machine lengthen both, so that the best of `--repeat` counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import slidewise as sw
from benchmarks import records
from benchmarks.machine import describe
from benchmarks.records import record

ROWS = 100_000


def roll(aggregation: sw.Aggregation, **options: Any) -> None:
    sw.rolling(np.random.default_rng(0).random(ROWS), aggregation, sw.rows(1000), **options)


def roll_integers(aggregation: sw.Aggregation) -> None:
    sw.rolling(np.random.default_rng(0).integers(0, 100, ROWS), aggregation, sw.rows(1000))


def roll_by_time(aggregation: sw.Aggregation) -> None:
    minutes = np.arange(ROWS).astype("M8[m]").astype("M8[us]")
    sw.rolling(np.random.default_rng(0).random(ROWS), aggregation, sw.time("1h"), at=minutes)


def compute_four() -> None:
    """A call as people write it: four aggregates of each key."""
    rng, window = np.random.default_rng(0), sw.rows(100)
    table = pa.table({"key": rng.integers(0, 1000, ROWS), "at": np.arange(ROWS), "x": rng.random(ROWS)})
    made = {a.name: a.over(window) for a in (sw.avg("x"), sw.max("x"), sw.stddev("x"), sw.median("x"))}
    sw.with_columns(table, made, partition_by="key", order_by="at")


#: what is called, and at most so many CPU seconds
CASES: dict[str, tuple[Callable[[], None], float]] = {
    "max": (lambda: roll(sw.max()), 5),
    "sum": (lambda: roll(sw.sum()), 5),
    "stddev": (lambda: roll(sw.stddev()), 5),
    "mode of integers": (lambda: roll_integers(sw.mode()), 5),
    "mode of floats": (lambda: roll(sw.mode()), 5),
    "median": (lambda: roll(sw.median()), 4),
    "median by time": (lambda: roll_by_time(sw.median()), 5),
    "max by fiba": (lambda: roll(sw.max(), algorithm="fiba"), 5),
    "four aggregates of a key": (compute_four, 5),
}


def measure(name: str) -> tuple[float, float]:
    """CPU and wall seconds of a case in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    CASES[name][0]()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure_elsewhere(name: str, cache: str) -> tuple[float, float]:
    """The same in a process of its own, with this folder as numba's cache."""
    command = [sys.executable, "-m", "benchmarks.first_call", "--here", name]
    run = subprocess.run(
        command, env=os.environ | {"NUMBA_CACHE_DIR": cache}, capture_output=True, text=True, check=True
    )
    cpu, wall = map(float, run.stdout.split())
    return cpu, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="how often each case runs; the best counts")
    parser.add_argument("--here", choices=CASES, help="run one case in this process, and print its seconds")
    records.add_option(parser)
    options = parser.parse_args()
    if options.here:
        print(*measure(options.here))
        return
    console = Console(width=max(120, Console().width))
    packages = ("numba", "llvmlite", "numpy", "pyarrow")
    console.print(describe(*packages), style="dim")
    table = Table(title="the first call, with nothing in the cache (seconds)")
    for column in ("call", "CPU", "wall", "goal (CPU)", "goal met", "CPU from the cache"):
        table.add_column(column, justify="left" if column == "call" else "right")
    for name, (_, goal) in CASES.items():
        first, second = [], []
        for _ in range(options.repeat):
            with tempfile.TemporaryDirectory() as cache:
                first.append(measure_elsewhere(name, cache))
                second.append(measure_elsewhere(name, cache)[0])
        cpu, wall = min(first)
        met = "yes" if cpu <= goal else "NO"
        table.add_row(name, f"{cpu:.1f}", f"{wall:.1f}", f"<= {goal:g}", met, f"{min(second):.2f}")
        record("first call", call=name, cpu=cpu, wall=wall, at_most=goal, cached=min(second))
    console.print(table)
    records.write(options.json, *packages)


if __name__ == "__main__":
    main()
