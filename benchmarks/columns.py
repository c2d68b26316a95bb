"""Columns beside other libraries: `python -m benchmarks.columns`.

- The fastest peer's time to ours, for every aggregate and window of `benchmarks.comparisons`; only answers that agree
  are timed. All in CPU time of the process, and DuckDB on all threads by the wall clock, as is what stands beside it.
- Frames that differ from row to row (Wesley and Xu, section 6.2), against DuckDB.
- What a larger window, more aggregates and a second thread cost or save; memory; the first call; compiling.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # numbagg's; read when numba is imported

from benchmarks import comparisons  # before polars, whose threads it limits
from benchmarks.comparisons import ALL_THREADS, COMPARISONS, WINDOWS, Comparison, Data

# isort: split
import numpy as np
from rich.console import Console
from rich.table import Table

import slidewise as sw
from benchmarks import records
from benchmarks.machine import describe
from benchmarks.records import record

console = Console(width=max(120, Console().width))

#: of wall time for one call of a peer; one that needs more gets fewer rows. All tables then take about 20 minutes.
MOST_SECONDS = 1.0
QUICK_SECONDS = 0.3

Clock = Callable[[], float]


# ---- timing
def keep_memory() -> None:
    """Have C's allocator keep what is freed, where it is glibc's: fresh memory for a result costs more than a sum does,
    and all libraries alike. Those that bring allocators of their own are not affected."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is not None and hasattr(libc, "gnu_get_libc_version"):
        for parameter, size in ((_M_MMAP_THRESHOLD, 1 << 30), (_M_TRIM_THRESHOLD, -1), (_M_TOP_PAD, 1 << 28)):
            libc.mallopt(parameter, size)


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # of malloc.h


def in_turn(
    calls: Mapping[str, Callable[[], Any]], clocks: Mapping[str, Clock], repeat: int, enough: float
) -> dict[str, float]:
    """The shortest time of each call, all run in turn: what slows one slows the others. Ends after `enough` seconds."""
    best = dict.fromkeys(calls, float("inf"))
    begin = time.perf_counter()
    for _ in range(repeat):
        for name, call in calls.items():
            clock = clocks.get(name, time.process_time)
            started = clock()
            call()
            best[name] = min(best[name], clock() - started)
        if time.perf_counter() - begin > enough:
            break
    return best


def verdict(good: bool) -> str:
    return "ok" if good else "[red]short[/red]"


def new_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 else "right")
    return table


# ---- peers
def affordable_rows(call: comparisons.Call, data: Data, window: int, most_seconds: float) -> int:
    """How many rows a peer gets: all, unless a part shows that it takes too long.

    The part fills the window twice, and grows until it takes long enough to tell: what a call costs apart from its rows
    would else keep a fast peer from all of them, and count against it. CPU time, so that a busy machine does not tell.
    """
    rows = max(20_000, 2 * window)
    call(data.head(rows), 1)  # whatever is done once only
    while rows < len(data):
        begin = time.process_time()
        call(data.head(rows), window)
        seconds = time.process_time() - begin
        if seconds > most_seconds / 20:
            affordable = rows * most_seconds / seconds
            return len(data) if affordable >= len(data) else max(rows, 10 ** int(math.log10(affordable)))
        rows *= 10
    return len(data)


def compare(
    comparison: Comparison, window: int, data: Data, most_seconds: float
) -> Iterator[tuple[str, str, float, float]]:
    """For every peer whose frames fit into memory: its name, remarks, its ns per row and ours, in the same run."""
    for library, call in comparison.libraries().items():
        try:
            rows = affordable_rows(call, data, window, most_seconds)
        except comparisons.TooLarge:
            continue
        part = data if rows >= len(data) else data.head(rows)
        remark = "" if rows >= len(data) else f"{rows:,} rows"
        if not comparison.agree(part, window, comparison.ours(part, window), call(part, window)):
            yield library, "[red]other answers[/red]", float("nan"), float("nan")
            continue
        calls = {"ours": partial(comparison.ours, part, window), library: partial(call, part, window)}
        wall = {name: time.perf_counter for name in calls if library == ALL_THREADS}
        best = in_turn(calls, wall, 7, most_seconds)
        yield library, remark, best[library] / rows * 1e9, best["ours"] / rows * 1e9


def peers_table(rows: int, only: set[str], quick: bool) -> None:
    """The fastest peer's time to ours, beside what is expected."""
    data = Data(rows)
    title = f"{rows:,} rows of float64: ns per row, and a peer's time to ours"
    for comparison in (c for c in COMPARISONS if not only or c.name in only):
        table = new_table(title, comparison.name, "ours", "peer", "its time", "ratio", "at least", "", "remarks")
        for window in WINDOWS:
            found = list(compare(comparison, window, data, QUICK_SECONDS if quick else MOST_SECONDS))
            for line, (library, remark, theirs, mine) in enumerate(sorted(found, key=lambda f: f[2] / f[3])):
                least = comparison.at_least(window, library)
                ratio = theirs / mine
                record(
                    "peers", aggregate=comparison.name, window=window, peer=library, ours=mine, theirs=theirs,
                    ratio=ratio, at_least=least, remark=remark,
                )  # fmt: skip
                table.add_row(
                    f"{window:,}" if not line else "",
                    f"{mine:.2f}",
                    library,
                    f"{theirs:,.2f}",
                    f"{ratio:,.1f}" if ratio >= 10 else f"{ratio:.2f}",
                    "" if least is None else f"{least:g}",
                    "" if least is None else verdict(ratio >= least),
                    remark,
                    end_section=line == len(found) - 1,
                )
        console.print(table)


# ---- frames that differ from row to row
def mod_prime_frames(rows: int, window: int) -> tuple[np.ndarray, np.ndarray]:
    """From mod(b p1, p2) rows before row b to W - mod(b p1, p2) after it: p2 is about half of W, p1 much larger."""
    p1, p2 = 15_485_863, {100: 53, 1_000: 503, 10_000: 5_003}[window]
    row = np.arange(rows)
    back = row * p1 % p2
    return np.maximum(row - back, 0), np.minimum(row + window - back + 1, rows)


FRAMES = {
    "sum": (sw.sum(), "x", "sum(x)"),
    "median": (sw.median(), "x", "median(x)"),
    "count_distinct": (sw.count_distinct(), "k", "count(DISTINCT k)"),
    "mode": (sw.mode(), "k", "mode(k)"),
}


def frames_table(rows: int, quick: bool) -> None:
    """Any frame: against DuckDB, with one thread, which gets a tenth of the rows."""
    table = new_table(
        f"frames that differ from row to row, {rows:,} rows: ns per row",
        "aggregate", "frame", "ours", "DuckDB", "ratio", "at least", "",
    )  # fmt: skip
    data = Data(rows)
    part = data.head(rows // 10)
    con = part.duckdb
    con.execute("SET threads = 1")
    for name, (aggregation, column, sql) in FRAMES.items():
        for window in (100, 1_000) if quick else (100, 1_000, 10_000):
            frames = sw.frames(*mod_prime_frames(rows, window))
            small = sw.frames(*mod_prime_frames(len(part), window))
            back = f"(rowid * 15485863) % {({100: 53, 1_000: 503, 10_000: 5_003})[window]}"
            frame = f"ROWS BETWEEN {back} PRECEDING AND {window} - {back} FOLLOWING"
            query = f"SELECT {sql} OVER (ORDER BY rowid {frame}) AS r FROM t"
            theirs = con.execute(query).fetchnumpy()["r"]
            mine = sw.rolling(part[column], aggregation, small)
            if name == "mode":  # ties are broken differently
                start, end = mod_prime_frames(len(part), window)
                count = lambda row, v: np.count_nonzero(part["k"][start[row] : end[row]] == v)  # noqa: B023, E731
                same = all(count(r, mine[r]) == count(r, theirs[r]) for r in range(0, len(part), 997))
            else:
                same = comparisons.close(mine, theirs)
            best = in_turn(
                {
                    "ours": partial(sw.rolling, data[column], aggregation, frames),
                    "DuckDB": lambda: con.execute(query).fetchnumpy(),  # noqa: B023
                },
                {}, 3, 5.0,
            )  # fmt: skip
            mine_ns, theirs_ns = best["ours"] / rows * 1e9, best["DuckDB"] / len(part) * 1e9
            ratio = theirs_ns / mine_ns
            table.add_row(
                name, f"{window:,}", f"{mine_ns:.0f}", f"{theirs_ns:,.0f}", f"{ratio:.1f}", "5",
                verdict(ratio >= 5) if same else "[red]other answers[/red]",
            )  # fmt: skip
            if same:
                record("any frames", aggregate=name, window=window, ratio=ratio, at_least=5)
    console.print(table)


# ---- the size of the window
def sizes_table(rows: int) -> None:
    """Size-preserving aggregates take about as long at any window."""
    table = new_table(
        f"{rows:,} rows: ns per row", "aggregate", "window 100", "window 1,000,000", "ratio", "at most", ""
    )
    data = Data(rows)
    for comparison in COMPARISONS:
        if comparison.name in ("median", "percentile 0.95", "count_distinct", "mode"):
            continue
        calls = {f"{w}": partial(comparison.ours, data, w) for w in (100, 1_000_000)}
        for call in calls.values():
            call()
        small, large = (s / rows * 1e9 for s in in_turn(calls, {}, 9, 10.0).values())
        ratio = large / small
        table.add_row(comparison.name, f"{small:.1f}", f"{large:.1f}", f"{ratio:.2f}", "1.3", verdict(ratio <= 1.3))
    console.print(table)


# ---- the whole call
SIX_WINDOWS = (10, 60, 300, 1_000, 10_000, 100_000)


def thirty() -> dict[str, Any]:
    """Six windows of max, min, sum, avg and stddev of one column."""
    made = {"max": sw.max, "min": sw.min, "sum": sw.sum, "avg": sw.avg, "stddev": sw.stddev}
    return {f"{name}_{w}": make("x").over(sw.rows(w)) for name, make in made.items() for w in SIX_WINDOWS}


def whole_table(rows: int) -> None:
    """with_columns: sharing, threads, memory, and how soon the first result is there."""
    table = new_table(f"with_columns, {rows:,} rows", "what", "measured", "expected", "")

    def add(what: str, value: float, unit: str, *, at_most: float | None = None, at_least: float | None = None) -> None:
        good = value <= at_most if at_most is not None else value >= (at_least or 0)
        goal = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
        table.add_row(what, f"{value:.2f} {unit}", goal, verdict(good))
        record("with_columns", what=what, value=value, unit=unit, at_most=at_most, at_least=at_least)

    rng = np.random.default_rng(0)
    data = {"x": rng.random(rows), "key": rng.integers(0, 1_000, rows)}

    column = {"x": data["x"]}
    calls = {name: partial(sw.with_columns, column, threads=1, r=over) for name, over in thirty().items()}
    calls["all"] = partial(sw.with_columns, column, threads=1, **thirty())
    in_turn(calls, {}, 1, 60.0)
    best = in_turn(calls, {}, 5, 20.0)
    times = best.pop("all") * len(best) / sum(best.values())
    add("30 aggregates to one, on average", times, "times", at_most=12)

    keyed = {
        str(threads): partial(
            sw.with_columns, data, partition_by="key", threads=threads, r=sw.stddev("x").over(sw.rows(100))
        )
        for threads in (1, 2)
    }
    for call in keyed.values():
        call()
    best = in_turn(keyed, dict.fromkeys(keyed, time.perf_counter), 7, 20.0)
    times = best["1"] / best["2"]
    add("stddev of 1,000 keys, two threads", times, "times one", at_least=1.7)

    for name, script in MEMORY.items():
        times = float(in_subprocess(script, str(rows)))
        add(f"peak memory to input and output, {name}", times, "times", at_most=3)

    seconds = min(float(in_subprocess(FIRST_CALL)) for _ in range(4))
    add("first call in a new process, compiled before", seconds, "s", at_most=1)

    with tempfile.TemporaryDirectory() as empty:
        lines = in_subprocess(COMPILING, NUMBA_CACHE_DIR=empty).splitlines()
    slowest = max((float(line.split()[0]), line.split(maxsplit=1)[1]) for line in lines)
    add(f"longest of {len(lines)} compiles: {slowest[1]}", slowest[0], "s", at_most=3)
    console.print(table)


def in_subprocess(script: str, *args: str, **environment: str) -> str:
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *args],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


#: The highest resident set while a call runs, less what the process held before it, to the bytes of input and output. A
#: small call comes first, so that kernels and libraries are loaded. Linux only: getrusage would tell the highest of the
#: process that started this one.
_MEASURE_PEAK = """
import sys
from pathlib import Path
import numpy as np, pyarrow as pa, slidewise as sw
def resident(what):
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(what))
    return int(line.split()[1]) * 1024
def call(data):
    return sw.with_columns(data, {by}, {columns})
def table(rows):
    rng = np.random.default_rng(0)
    return {{"x": rng.random(rows), "key": rng.integers(0, 1_000, rows), "ts": np.arange(rows)}}
call(table(2_000))
data = table(int(sys.argv[1]))
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = resident("VmRSS")
out = call(data)
size = sum(c.nbytes for c in out.values())
held = sum(c.nbytes for c in data.values())
print((resident("VmHWM") - before + held) / size)
"""
MEMORY = {
    "one column": _MEASURE_PEAK.format(by="order_by=None", columns='r=sw.max("x").over(sw.rows(1000))'),
    "keys and order": _MEASURE_PEAK.format(
        by='partition_by="key", order_by="ts"', columns='r=sw.max("x").over(sw.rows(1000))'
    ),
}

FIRST_CALL = """
import time
begin = time.perf_counter()
import slidewise as sw
import numpy as np
sw.with_columns({"x": np.arange(1000.0), "k": np.arange(1000) % 7}, partition_by="k", r=sw.max("x").over(sw.rows(10)))
print(time.perf_counter() - begin)
"""

#: Every compile that the calls of the first table, keyed calls and irregular frames lead to, with its seconds of CPU,
#: without those of the kernels that it calls.
COMPILING = """
import time
import numba.core.dispatcher as dispatcher
plain, inner = dispatcher.Dispatcher.compile, [0.0]
def timed(self, signature):
    inner.append(0.0)
    begin = time.process_time()
    try:
        return plain(self, signature)
    finally:
        seconds = time.process_time() - begin
        own = seconds - inner.pop()
        inner[-1] += seconds
        print(f"{own:.3f} {self.py_func.__name__[:60]}")
dispatcher.Dispatcher.compile = timed
from benchmarks.columns import FRAMES, mod_prime_frames, sw
from benchmarks.comparisons import COMPARISONS, Data
data = Data(3_000)
for comparison in COMPARISONS:
    comparison.ours(data, 100)
for aggregation, column, _ in FRAMES.values():
    sw.rolling(data[column], aggregation, sw.frames(*mod_prime_frames(len(data), 100)))
    sw.rolling(data[column], aggregation, sw.rows_between(-5, 5))
for aggregation in (sw.max("x"), sw.stddev("x"), sw.median("x"), sw.skewness("x"), sw.kurtosis("x")):
    sw.with_columns(data.columns, partition_by="k", order_by="y", r=aggregation.over(sw.rows(10)))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the comparison with peers, as in 1e6 (1e7)")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the rows, and a third of a second for each peer"
    )
    parser.add_argument("--only", default="", help="only the peers of these aggregates, as in sum,mean")
    parser.add_argument("--skip-peers", action="store_true", help="leave out the first table")
    records.add_option(parser)
    options = parser.parse_args()
    known = [c.name for c in COMPARISONS]
    only = {name.strip() for name in options.only.split(",") if name.strip()}
    if unknown := only.difference(known):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(known)}")
    rows = int(options.rows) // (10 if options.quick else 1)
    keep_memory()
    packages = ("numba", "numpy", "bottleneck", "polars", "pandas", "numbagg", "duckdb")
    console.print(describe(*packages), style="dim")
    if not options.skip_peers:
        peers_table(rows, only, options.quick)
    if not only:
        frames_table(min(rows, 10**6), options.quick)
        sizes_table(max(rows, 10**7))
        whole_table(rows)
    records.write(options.json, *packages)


if __name__ == "__main__":
    main()
