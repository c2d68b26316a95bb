"""Larger than memory, beside polars on the same file: `python -m benchmarks.larger_than_memory`.

A Parquet file sorted by key and time, and for every row the weighted sum of the last 100 rows of its key: slidewise
reads the path with `sorted=True` (and, beside it, a LazyFrame of polars), and polars rolls over groups. Each runs in a
process of its own, in turn, and the best of several runs counts. Memory is the most that the process has held, less
what it held once its libraries were imported and the kernel was compiled. Time is by the wall clock, for both use
several threads, with the CPU time of all of them beside it. Answers are compared row by row, outside of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import records
from benchmarks.records import record

WINDOW = 100
PACKAGES = ("numba", "numpy", "pyarrow", "polars")
#: goals of slidewise: the most memory, in MB, and polars' time to ours
MOST_MB, LEAST_RATIO = 500, 3.0
#: rows that are written, and compared, at a time
PIECE = 1 << 20


# ---- the file
def write_file(path: Path, rows: int, keys: int) -> None:
    """Write the file, piece by piece: keys of random lengths, times 0, 1, 2... in each, prices and sizes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    begins = np.concatenate(([0], np.sort(rng.choice(np.arange(1, rows), keys - 1, replace=False))))
    kinds = {"key": pa.int64(), "at": pa.int64(), "price": pa.float64(), "size": pa.float64()}
    with pq.ParquetWriter(path, pa.schema(list(kinds.items()))) as writer:
        for first in range(0, rows, PIECE):
            row = np.arange(first, min(rows, first + PIECE))
            key = np.searchsorted(begins, row, "right") - 1
            price, size = rng.normal(100, 15, len(row)).round(3), rng.random(len(row)).round(3)
            writer.write_table(pa.table([key, row - begins[key], price, size], names=list(kinds)))


# ---- what is compared: each writes its results to a file of doubles, and tells seconds, CPU seconds and MB
def run_path(path: Path) -> tuple[Callable[[], Any], Callable[[Any], Iterator[np.ndarray]]]:
    """Run slidewise over the path of the file."""
    return _run_slidewise(path, lambda batch: batch.column("total").to_numpy())


def run_lazy(path: Path) -> tuple[Callable[[], Any], Callable[[Any], Iterator[np.ndarray]]]:
    """Run slidewise over a LazyFrame, whose results are taken batch by batch, too."""
    import polars as pl

    return _run_slidewise(pl.scan_parquet(path).select(pl.all()), lambda frame: frame["total"].to_numpy())


def _run_slidewise(data: Any, read: Callable[[Any], np.ndarray]) -> Any:
    import pyarrow as pa
    import pyarrow.dataset  # which is loaded by the first path, and is no part of the memory of rows

    import slidewise as sw

    class WeightedSum(sw.Aggregation):
        identity = 0.0
        commutative = True

        @staticmethod
        def lift(price, size):
            return price * size

        @staticmethod
        def combine(a, b):
            return a + b

    def compute(data: Any) -> Any:
        total = WeightedSum("price", "size").over(sw.rows(WINDOW))
        return sw.with_columns(data, partition_by="key", order_by="at", total=total, sorted=True)

    few = {"key": [1, 1], "at": [1, 2], "price": [1.0, 2.0], "size": [1.0, 2.0]}
    compute(pa.table(few).to_reader()).read_all()

    def batches(made: Any) -> Iterator[np.ndarray]:
        frames = made.collect_batches(maintain_order=True) if hasattr(made, "collect_batches") else made
        for frame in frames:
            yield read(frame)

    return lambda: compute(data), batches


def run_polars(path: Path) -> tuple[Callable[[], Any], Callable[[Any], Iterator[np.ndarray]]]:
    """Run polars: its rolling over groups, in its streaming engine, by the whole numbers of `at`."""
    import polars as pl

    rows = pl.scan_parquet(path).rolling(index_column="at", period=f"{WINDOW}i", group_by="key")
    total = (pl.col("price") * pl.col("size")).sum().alias("total")
    return lambda: rows.agg(total).collect(engine="streaming"), lambda frame: iter([frame["total"].to_numpy()])


RUNS = {"slidewise, a path": run_path, "slidewise, a LazyFrame": run_lazy, "polars": run_polars}


def run(name: str, path: Path, results: Path) -> dict[str, float]:
    """Run one of them in this process. Ours are written as they are read, and that counts; polars' later."""
    start, batches = RUNS[name](path)
    base, begin, used = memory_now(), time.perf_counter(), os.times()
    made = start()
    with results.open("wb") as file:
        if name != "polars":
            for values in batches(made):
                values.tofile(file)
        done, used_now, most = time.perf_counter(), os.times(), memory_most()
        if name == "polars":
            for values in batches(made):
                values.tofile(file)
    cpu = used_now.user + used_now.system - used.user - used.system
    return {"wall": done - begin, "cpu": cpu, "mb": most - base}


def memory_now() -> float:
    """The MB that this process holds; where the system does not say, the most that it has held."""
    held = Path("/proc/self/statm")
    return int(held.read_text().split()[1]) * resource.getpagesize() / 1e6 if held.exists() else memory_most()


def memory_most() -> float:
    """The most MB that this process has held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def agree(ours: Path, theirs: Path, rows: int) -> bool:
    """Tell whether two files of results hold the same, but for rounding."""
    if ours.stat().st_size != 8 * rows or theirs.stat().st_size != 8 * rows:
        return False
    a, b = (np.memmap(path, np.float64, "r") for path in (ours, theirs))
    return all(np.allclose(a[k : k + PIECE], b[k : k + PIECE], rtol=1e-9, atol=1e-6) for k in range(0, rows, PIECE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the file, as in 1e8 (1e7)")
    parser.add_argument("--keys", type=int, default=0, help="keys (one for every 1,126 rows: 88,800 of 1e8)")
    parser.add_argument("--passes", type=int, default=3, help="runs of each, of which the best counts (3)")
    parser.add_argument("--folder", type=Path, help="where the file and the results go (a temporary one)")
    records.add_option(parser)
    parser.add_argument("--run", nargs=3, metavar=("NAME", "FILE", "RESULTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run[0], Path(options.run[1]), Path(options.run[2]))))
        return
    rows = int(options.rows)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        compare(Path(folder), rows, options.keys or max(1, round(rows / 1126.126)), options.passes)
    records.write(options.json, *PACKAGES)


def compare(folder: Path, rows: int, keys: int, passes: int) -> None:
    """Write the file, run all on it, and print what they took."""
    from rich.console import Console
    from rich.table import Table

    from benchmarks.machine import describe

    console = Console(width=max(120, Console().width))
    console.print(describe(*PACKAGES), style="dim")
    file = folder / "rows.parquet"
    write_file(file, rows, keys)
    best: dict[str, dict[str, float]] = {}
    for _ in range(passes):
        for name in RUNS:
            module = "benchmarks.larger_than_memory"
            command = [sys.executable, "-m", module, "--run", name, str(file), str(folder / name)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            before = best.setdefault(name, found)
            best[name] = {what: (max if what == "mb" else min)(before[what], found[what]) for what in found}
    table = Table(
        title=f"{rows:,} rows of {keys:,} keys, {file.stat().st_size / 1e6:,.0f} MB of Parquet: the weighted sum of "
        f"{WINDOW} rows",
        title_justify="left",
    )
    heads = ["s", "CPU s", "ns a row", "polars' time to it", "by CPU", "at least", "MB", "at most", ""]
    for head in ("", *heads):
        table.add_column(head, justify="right" if head else "left")
    theirs = best["polars"]
    for name, took in best.items():
        goals = {} if name == "polars" else {"at_least": LEAST_RATIO, "at_most_mb": MOST_MB}
        record(
            "larger_than_memory", rows=rows, keys=keys, by=name, **took, times=theirs["wall"] / took["wall"], **goals
        )
        times, cpu = theirs["wall"] / took["wall"], theirs["cpu"] / took["cpu"]
        cells = [f"{took['wall']:.2f}", f"{took['cpu']:.2f}", f"{took['wall'] / rows * 1e9:.0f}"]
        if name == "polars":
            table.add_row(name, *cells, "", "", "", f"{took['mb']:,.0f}", "", "")
            continue
        good = times >= LEAST_RATIO and took["mb"] <= MOST_MB
        same = agree(folder / name, folder / "polars", rows)
        verdict = ("ok" if good else "[red]short[/red]") if same else "[red]other answers[/red]"
        ratios = [f"{times:.1f}", f"{cpu:.1f}", f"{LEAST_RATIO:.1f}"]
        table.add_row(name, *cells, *ratios, f"{took['mb']:,.0f}", f"{MOST_MB}", verdict)
    console.print(table)


if __name__ == "__main__":
    main()
