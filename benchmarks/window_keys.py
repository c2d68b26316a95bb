"""What a key of `sw.Window` takes, with one row and when its rows have left: `python -m benchmarks.window_keys`.

Bytes are those that Python allocates (tracemalloc), beside the keys themselves; the first line is the memory of a
process with so many keys, as the operating system sees it.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
import tracemalloc
from typing import Any

from rich.console import Console
from rich.table import Table

import slidewise as sw
from benchmarks import records
from benchmarks.machine import describe
from benchmarks.records import record

#: the most bytes of a key with one row, and of a process with a million of them
GOAL, ALL = 500, 1 << 30
WINDOWS: dict[str, tuple[Any, Any]] = {
    "max of 100 rows": (sw.max("x"), sw.rows(100)),
    "sum of an hour": (sw.sum("x"), sw.time(3600)),
    "max and sum of an hour": ({"a": sw.max("x"), "b": sw.sum("x")}, sw.time(3600)),
    "median of 100 rows": (sw.median("x"), sw.rows(100)),
    "median of an hour": (sw.median("x"), sw.time(3600)),
    "sum of an hour, every minute": (sw.sum("x"), sw.time(3600, every=60)),
}


def fill(window: sw.Window, keys: range) -> float:
    """Push one row of each key; the time of all rows, in seconds."""
    begin = time.perf_counter()
    for k in keys:
        window.push({"x": 1.5}, time=k / 1000, key=k)
    return time.perf_counter() - begin


def measure(aggregation: Any, definition: Any, keys: range) -> tuple[float, float]:
    """The bytes of a key with one row, and of one whose rows have left."""
    window = sw.Window(aggregation, definition)
    fill(window, range(1))
    gc.collect()
    tracemalloc.start()
    fill(window, keys)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    window.advance(keys[-1] / 1000 + 10_000)
    gc.collect()
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / len(keys), left / len(keys)


def measure_process(keys: int, console: Console) -> None:
    """The memory of this process with so many keys.

    It comes first: the system tells the most that there ever was, and the windows of the table take more for a while.
    """
    window = sw.Window(sw.sum("x"), sw.time(3600 * 1000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = fill(window, range(keys))
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    verdict = "yes" if taken <= ALL * keys / 1_000_000 else "NO"
    console.print(
        f"{keys:,} keys, sum by time: {taken / 2**20:,.0f} MB more memory, {seconds / keys * 1e6:.1f} us a row; "
        f"goal, 1 GB for a million: {verdict}"
    )
    record("many keys", keys=keys, megabytes=taken / 2**20, at_most=ALL / 2**20 * keys / 1_000_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000, help="of the first line; the others take 20,000")
    records.add_option(parser)
    options = parser.parse_args()
    keys = options.keys
    console = Console(width=max(120, Console().width))
    console.print(describe())
    measure_process(keys, console)
    table = Table(title=f"bytes of a key of sw.Window; goal: at most {GOAL} with one row")
    for column in ("window", "one row", "goal met", "its rows have left"):
        table.add_column(column, justify="left" if column == "window" else "right")
    for name, (aggregation, definition) in WINDOWS.items():
        held, left = measure(aggregation, definition, range(1, 20_001))
        stays = definition.trailing_rows is not None
        table.add_row(name, f"{held:.0f}", "yes" if held <= GOAL else "NO", "they stay" if stays else f"{left:.0f}")
        record("window keys", window=name, bytes=held, left=None if stays else left, at_most=GOAL)
    console.print(table)
    records.write(options.json)


if __name__ == "__main__":
    main()
