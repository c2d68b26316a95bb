"""Every algorithm side by side: `python -m benchmarks.swag`.

Compiled: ns per slide (evict, insert, query) of sum, max, geomean and a Bloom filter through `sw.rolling`, also as a
share of bottleneck.move_max at the same window in the same run. Only answers that agree with recalculation are timed.
Event by event: the distribution of the latency of one slide, interpreted. With `--bulk` instead: fiba's bulk insertion
and eviction against one value at a time.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import bottleneck
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import slidewise as sw
from benchmarks import records
from benchmarks.machine import describe
from benchmarks.records import record
from benchmarks.timing import best_seconds, ratio

console = Console(width=max(120, Console().width))

AGGREGATIONS = {
    "sum": sw.sum(),
    "max": sw.max(),
    "geomean": sw.geomean(),
    "bloom_filter": sw.bloom_filter(bits=512, hashes=3),
}
WINDOWS = (2**4, 2**10, 2**14, 2**20)
#: for sum at 2^14, as a share of bottleneck.move_max: the level of the C++ implementations, or better
EXPECTED = {
    "sba": 0.15, "two_stacks_lite": 0.55, "daba_lite": 0.5, "daba": 0.65,
    "two_stacks": 1.2, "flat_fit": 1.0, "fiba": 3.0, "reactive": 8.0,
}  # fmt: skip


def compiled_algorithms(aggregation: sw.Aggregation) -> list[str]:
    """The algorithms that can run this aggregation in compiled form."""
    from slidewise.registry import legal_algorithms

    return [e.name for e in legal_algorithms(aggregation) if e.compiled]


def rows_for(algorithm: str, window: int, most: int) -> int:
    """Fewer rows where a slide is slow, so that every cell takes about as long."""
    if algorithm == "recalculate":
        return max(2, min(most, 4 * 10**7 // window))
    return max(min(most, 10**7), min(2 * window, 3 * 10**6)) if algorithm != "flat_fat" else min(most, 10**6)


def same_answers(x: np.ndarray, aggregation: sw.Aggregation, window: int, algorithm: str) -> bool:
    """Whether the algorithm agrees with recalculation on a small part of the data."""
    part, w = x[:3000], min(window, 700)
    left = sw.rolling(part, aggregation, sw.rows(w), algorithm=algorithm)
    right = sw.rolling(part, aggregation, sw.rows(w), algorithm="recalculate")
    if left.dtype.fields:
        return bool((left == right).all())
    return bool(np.allclose(left.astype(float), right.astype(float), rtol=1e-9, equal_nan=True))


def compiled_table(rows: int, only: set[str]) -> None:
    """ns per slide of every algorithm, aggregation and window."""
    rng = np.random.default_rng(0)
    x = rng.random(max(rows, 3 * 10**6))
    names = [n for n in compiled_algorithms(sw.sum()) if not only or n in only]
    names += [n for n in compiled_algorithms(sw.max()) if n not in names and (not only or n in only)]
    yardstick = {
        w: best_seconds(partial(bottleneck.move_max, x[: rows_for("", w, rows)], w, 1)) / rows_for("", w, rows)
        for w in WINDOWS
    }
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("compiled", total=len(AGGREGATIONS) * len(names) * len(WINDOWS))
        for label, aggregation in AGGREGATIONS.items():
            table = Table(title=f"{label}: ns per slide (times bottleneck.move_max)", title_justify="left")
            table.add_column("algorithm")
            for w in WINDOWS:
                table.add_column(f"n = {w:,}", justify="right")
            table.add_row("bottleneck.move_max", *(f"{s * 1e9:.1f}" for s in yardstick.values()), style="dim")
            for name in names:
                cells = []
                for w in WINDOWS:
                    progress.update(task, advance=1, description=f"{label} {name} {w:,}")
                    if name not in compiled_algorithms(aggregation):
                        cells.append("not legal")
                        continue
                    if not same_answers(x, aggregation, w, name):
                        cells.append("[red]wrong[/red]")
                        continue
                    part = x[: rows_for(name, w, rows)]
                    call = partial(sw.rolling, part, aggregation, sw.rows(w), algorithm=name)
                    seconds = best_seconds(call) / len(part)
                    share = seconds / yardstick[w]
                    cells.append(f"{seconds * 1e9:.1f} ({share:.2f})")
                table.add_row(name, *cells)
            console.print(table)
    share_table(x[:rows], [name for name in EXPECTED if name in names])


def share_table(x: np.ndarray, names: list[str]) -> None:
    """What is expected of a sum at 2^14, measured in turn with the yardstick."""
    n = 2**14
    table = Table(title="sum at n = 16,384, as a share of bottleneck.move_max", title_justify="left")
    for column in ("algorithm", "measured", "expected at most", ""):
        table.add_column(column)
    for name in names:
        _, share = ratio(
            lambda: sw.rolling(x, sw.sum(), sw.rows(n), algorithm=name),  # noqa: B023
            lambda: bottleneck.move_max(x, n, 1),
        )
        most = EXPECTED[name]
        table.add_row(name, f"{share:.2f}", f"{most}", "ok" if share <= most else "[red]above[/red]")
        record("shares", algorithm=name, share=share, at_most=most)
    console.print(table)
    big, n = np.random.default_rng(1).random(6 * 10**6), 2**20
    best = {"sba": float("inf"), "pba": float("inf")}
    for _ in range(12):  # wall clock, in turn: two threads are the point
        for name in best:
            begin = time.perf_counter()
            sw.rolling(big, sw.max(), sw.rows(n), algorithm=name)
            best[name] = min(best[name], time.perf_counter() - begin)
    times = best["sba"] / best["pba"]
    record("two threads", what=f"pba to sba, max at n = {n:,}", times=times)
    console.print(f"max at n = {n:,}: pba is {times:.2f} times as fast as sba (wall clock, {os.cpu_count()} cores)")


def latency_table(slides: int) -> None:
    """Latency of one interpreted slide; the worst case is what tells DABA from the rest."""
    table = Table(title="event by event, interpreted: us per slide (evict, insert, query) of sum", title_justify="left")
    for column in ("algorithm", "n", "mean", "median", "p99", "p99.99", "max", "max combines in a slide"):
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    for name in (
        "subtract_on_evict",
        "two_stacks",
        "two_stacks_lite",
        "daba",
        "daba_lite",
        "monoid_fifo",
        "flat_fit",
        "fiba",
        "reactive",
    ):
        for n in (2**10, 2**20):
            latencies = slide_latencies(name, n, slides)
            shown = [latencies.mean(), *np.quantile(latencies, [0.5, 0.99, 0.9999]).tolist(), latencies.max()]
            table.add_row(
                name,
                f"{n:,}",
                *(f"{v * 1e6:.2f}" for v in shown),
                f"{(combines := most_combines(name, n)):,}",
            )
            mean, middle, _, tail, most = (float(v * 1e6) for v in shown)
            record("slides", algorithm=name, window=n, mean=mean, p50=middle, p9999=tail, max=most, combines=combines)
    console.print(table)


def slide_latencies(name: str, n: int, slides: int, passes: int = 3) -> np.ndarray:
    """Seconds per slide, over at least one whole cycle of the window.

    Every pass makes the same slides, so that the shortest time of each is the algorithm's, and the rest the machine's.
    """
    return np.minimum.reduce([one_pass(name, n, slides) for _ in range(passes)])


def one_pass(name: str, n: int, slides: int) -> np.ndarray:
    """Seconds per slide, as the clock has it."""
    s = sw.swag(name, sw.sum())
    for k in range(n):
        s.insert(float(k))
    seconds = np.empty(max(slides, n + n // 8))
    gc.collect()
    gc.disable()  # the collector's pauses are not the algorithm's
    clock = time.perf_counter
    for k in range(len(seconds)):
        begin = clock()
        s.evict()
        s.insert(1.0)
        s.query()
        seconds[k] = clock() - begin
    gc.enable()
    return seconds


def most_combines(name: str, n: int) -> int:
    """The largest number of combines in one slide, over one whole cycle: free of the machine's noise."""
    calls = 0

    class Counted(sw.Aggregation):
        identity = 0.0
        commutative = invertible = True

        @staticmethod
        def combine(a, b):
            nonlocal calls
            calls += 1
            return a + b

        @staticmethod
        def inverse(total, oldest):
            return total - oldest

    s = sw.swag(name, Counted())
    for _ in range(n):
        s.insert(1.0)
    most = 0
    for _ in range(n + n // 8):
        before = calls
        s.evict()
        s.insert(1.0)
        s.query()
        most = max(most, calls - before)
    return most


class Additions(sw.Aggregation):
    """A sum that counts its combines."""

    calls = 0

    @staticmethod
    def combine(a, b):
        Additions.calls += 1
        return a + b


def bulk_table(n: int, passes: int = 3) -> None:
    """Combines and microseconds per value, where m values come or go at once in a window of n."""
    columns = ("", "m", "combines one by one", "in bulk", "us one by one", "in bulk", "times as fast")
    table = Table(title=f"fiba, n = {n:,}: per value that comes or goes", title_justify="left")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    sizes = [m for m in (1, 10, 100, 1000, 10_000) if m <= n // 4]
    for label, gap in (("insert in order", 0), ("insert among the last m", 1), ("insert among the last n / 2", None)):
        for m in sizes:
            reach = n // 2 if gap is None else m
            times = (
                [2 * n + k for k in range(m)] if gap == 0 else [2 * (n - reach + k * reach // m) + 1 for k in range(m)]
            )
            rows = [(t, 1.0) for t in times]
            compare_bulk(table, label, m, n, passes, partial(insert_each, rows=rows), partial(bulk_insert, rows=rows))
    for m in sizes:
        compare_bulk(table, "evict the oldest", m, n, passes, partial(evict_each, m=m), partial(bulk_evict, m=m))
    console.print(table)


def insert_each(s: Any, rows: list[tuple[int, float]]) -> None:
    for t, value in rows:
        s.insert(value, time=t)


def bulk_insert(s: Any, rows: list[tuple[int, float]]) -> None:
    s.bulk_insert(rows)


def evict_each(s: Any, m: int) -> None:
    for _ in range(m):
        s.evict()


def bulk_evict(s: Any, m: int) -> None:
    s.bulk_evict(2 * (m - 1))


def compare_bulk(
    table: Table, label: str, m: int, n: int, passes: int, singly: Callable[[Any], None], bulk: Callable[[Any], None]
) -> None:
    """One row; both ways must leave the same window."""
    combines, seconds, left = [], [], []
    for way in (singly, bulk):
        best = float("inf")
        for _ in range(passes):
            s = sw.swag("fiba", Additions())
            s.bulk_insert((2 * i, 1.0) for i in range(n))
            before, begin = Additions.calls, time.perf_counter()
            way(s)
            best = min(best, time.perf_counter() - begin)
            calls = Additions.calls - before
        combines.append(calls / m)
        seconds.append(best / m)
        left.append((len(s), s.query(), s.oldest, s.youngest))
    assert left[0] == left[1], (label, m, left)
    cells = [*(f"{c:.2f}" for c in combines), *(f"{t * 1e6:.2f}" for t in seconds), f"{seconds[0] / seconds[1]:.1f}"]
    table.add_row(label, f"{m:,}", *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", type=int, default=2 * 10**6, help="rows per compiled measurement (default: 2 million)"
    )
    parser.add_argument("--slides", type=int, default=200_000, help="slides per latency measurement (default: 200,000)")
    parser.add_argument("--algorithm", action="append", default=[], help="only this algorithm; may be repeated")
    parser.add_argument("--skip-latency", action="store_true", help="leave out the event-by-event part")
    parser.add_argument("--shares", action="store_true", help="only the table of what is expected")
    parser.add_argument("--bulk", action="store_true", help="only fiba's bulk operations")
    parser.add_argument("--skip-compiled", action="store_true", help="leave out the compiled part")
    records.add_option(parser)
    options = parser.parse_args()
    packages = ("numba", "numpy", "bottleneck")
    console.print(describe(*packages), style="dim")
    if options.bulk:
        bulk_table(100_000)
        return
    if options.shares:
        share_table(np.random.default_rng(0).random(options.rows), list(EXPECTED))
        records.write(options.json, *packages)
        return
    if not options.skip_compiled:
        compiled_table(options.rows, set(options.algorithm))
    if not options.skip_latency:
        latency_table(options.slides)
    records.write(options.json, *packages)


if __name__ == "__main__":
    main()
