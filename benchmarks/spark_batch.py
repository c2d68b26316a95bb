"""Spark DataFrames beside Spark's own window functions: `python -m benchmarks.spark_batch`.

Everything runs into the noop sink on the same Parquet files, in turn, best of three after a first run. A workload that
takes Spark too long gets fewer keys there, with as many rows each, and times are per row. Answers are compared first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import slidewise as sw
from benchmarks import local_spark, records
from benchmarks.machine import describe
from benchmarks.records import record
from slidewise import spark as sws
from slidewise.spark import sorting
from slidewise.spark.schema import BUCKETED

console = Console(width=max(120, Console().width))
SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
KEYS = 1_000
BATCH = 1_000_000


# ---- data
def write_events(folder: Path, rows: int, keys: int, wide: bool, shuffled: bool) -> None:
    """Rows as they would arrive: by time, all keys mixed; x is continuous, c has 1,000 values. Or in random order."""
    rng = np.random.default_rng(1)
    order = rng.permutation(rows) if shuffled else np.arange(rows)
    for number, first in enumerate(range(0, rows, BATCH)):
        n = min(BATCH, rows - first)
        row = order[first : first + n]
        columns: dict[str, Any] = {"k": row % keys, "ts": row, "x": rng.normal(size=n), "c": rng.integers(0, 1_000, n)}
        if wide:
            columns |= {f"n{i}": rng.integers(0, 1 << 40, n) for i in range(10)}
            numbers = (pa.array(rng.integers(0, 1 << 30, n)).cast(pa.string()) for _ in range(4))
            columns |= {f"s{i}": pc.binary_join_element_wise(f"text{i}", n, "-") for i, n in enumerate(numbers)}
        pq.write_table(pa.table(columns), folder / f"part-{number:03}.parquet")


# ---- workloads
@dataclass(frozen=True)
class Workload:
    """Ours and Spark's for the same columns, and how many times Spark must take as long."""

    name: str
    ours: dict[str, Any]
    #: Spark SQL over the window w; a function of the number of rows in it
    theirs: dict[str, str]
    #: the least ratios, with Spark's segment tree on and off; None: not asked for
    on: float | None = None
    off: float | None = None
    #: what the answers are compared by, where ours is another function than the one that is timed
    check: dict[str, Any] = field(default_factory=dict)
    data: str = "narrow"
    rows: int | None = None


def _frame(n: int) -> str:
    return f"OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW)"


def _features() -> tuple[dict[str, Any], dict[str, str]]:
    made = {"max": sw.max, "min": sw.min, "sum": sw.sum, "avg": sw.avg, "stddev": sw.stddev}
    sizes = (10, 30, 100, 300, 1000, 3000)
    ours = {f"{name}_{n}": make("x").over(sw.rows(n)) for n in sizes for name, make in made.items()}
    return ours, {f"{name}_{n}": f"{name}(x) {_frame(n)}" for n in sizes for name in made}


def workloads() -> list[Workload]:
    peak = {"m": sw.max("x").over(sw.rows(1000))}
    max_1000 = {"m": f"max(x) {_frame(1000)}"}
    features, spark_features = _features()
    quantile = {"m": sw.percentile_disc("x", 0.5).over(sw.rows(1000))}
    return [
        Workload("max, 1,000 rows, 4 columns", peak, max_1000, on=1.8, off=12),
        Workload("max, 1,000 rows, 18 columns", peak, max_1000, on=1.1, data="wide"),
        Workload("max, 4 rows", {"m": sw.max("x").over(sw.rows(4))}, {"m": f"max(x) {_frame(4)}"}, off=0.95),
        Workload("6 windows x 5 aggregates", features, spark_features, on=10, rows=2_000_000),
        Workload(
            "max_by, 1,000 rows",
            {"m": sw.max_by("c", "x").over(sw.rows(1000))},
            {"m": f"max_by(c, x) {_frame(1000)}"},
            off=30,
        ),
        Workload(
            "percentile, 1,000 rows",
            {"m": sw.percentile("x", 0.5).over(sw.rows(1000))},
            {"m": f"percentile_approx(x, 0.5D) {_frame(1000)}"},
            off=100,
            check=quantile,
        ),
        Workload(
            "mode, 1,000 rows",
            {"m": sw.mode("c").over(sw.rows(1000))},
            {"m": f"mode(c, true) {_frame(1000)}"},
            off=50,
        ),
        Workload(
            "count_distinct, 1,000 rows",
            {"m": sw.count_distinct("c").over(sw.rows(1000))},
            {"m": f"size(collect_set(c) {_frame(1000)})"},
            off=50,
        ),
    ]


# ---- running
class Bench:
    """A session, its data, and times."""

    def __init__(self, folder: Path, rows: int, repeat: int) -> None:
        self.rows, self.repeat, self.folder = rows, repeat, folder
        self.spark = local_spark.start(folder, partitions=8)

    def read(self, data: str) -> Any:
        path = self.folder / data
        if not path.exists():
            path.mkdir()
            keys = 1 if data.startswith("one_key") else KEYS
            write_events(path, self.rows, keys, data == "wide", data.endswith("shuffled"))
        return self.spark.read.parquet(str(path))

    def share(self, data: str, keys: int) -> Any:
        """The rows of the first keys, in files of their own: nothing else is read."""
        if keys >= KEYS:
            return self.read(data)
        path = self.folder / f"{data}-{keys}"
        if not path.exists():
            self.read(data).where(f"k < {keys}").write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def seconds(self, make: Callable[[], Any], repeat: int | None = None) -> float:
        """The shortest time into the noop sink; the first run is for warming up, and the only one where repeat is 0."""
        best = float("inf")
        for k in range((self.repeat if repeat is None else repeat) + 1):
            begin = time.perf_counter()
            make().write.format("noop").mode("overwrite").save()
            if k or repeat == 0:
                best = min(best, time.perf_counter() - begin)
        return best

    def per_row(self, make: Callable[[Any], Any], df: Any, rows: int, repeat: int | None = None) -> float:
        """Nanoseconds per row."""
        return self.seconds(lambda: make(df), repeat) * 1e9 / rows


def ours(expressions: dict[str, Any], **options: Any) -> Callable[[Any], Any]:
    return lambda df: sw.with_columns(df, partition_by="k", order_by="ts", **options, **expressions)


def theirs(expressions: dict[str, str]) -> Callable[[Any], Any]:
    from pyspark.sql import functions as sf

    return lambda df: df.withColumns({name: sf.expr(text) for name, text in expressions.items()})


def sort_alone(df: Any) -> Any:
    return df.repartition("k").sortWithinPartitions("k", "ts")


def agree(workload: Workload, df: Any) -> bool:
    """Whether both give the same for a few keys."""
    few = df.where("k < 2 AND ts < 4000 * 1000")
    mine = ours(workload.check or workload.ours)(few).orderBy("k", "ts").toArrow()
    spark = theirs(workload.theirs)(few).orderBy("k", "ts").toArrow()
    for name in workload.ours:
        a, b = mine[name], spark[name]
        if a.null_count != b.null_count:
            return False
        a, b = (pc.fill_null(c.cast(pa.float64()), 0.0).to_numpy() for c in (a, b))
        if not np.allclose(a, b, rtol=1e-9, atol=1e-12):
            return False
    return True


def keys_for(workload: Workload, bench: Bench, every: int, most_seconds: float) -> int:
    """How many keys Spark gets: all, or so many that it takes about `most_seconds`. Few at first, and then more, since
    what a job costs apart from its rows would else count against Spark."""
    keys = 2
    while keys < every:
        seconds = bench.seconds(partial(theirs(workload.theirs), bench.share(workload.data, keys)), 0)
        if seconds > most_seconds / 3:
            break
        keys = int(min(every, keys * min(10, max(2, most_seconds / seconds / 2))))
    return keys


def verdict(ratio: float, least: float | None) -> str:
    if least is None:
        return f"{ratio:.2f}"
    return f"{ratio:.2f} ({least:g} {'ok' if ratio >= least else '[red]short[/red]'})"


def compare(bench: Bench, only: str, most_seconds: float) -> None:
    table = Table(
        "workload",
        "sort alone",
        "ours",
        "to sort",
        "Spark, tree on",
        "off",
        "ratio on",
        "ratio off",
        "its rows",
        "agree",
    )
    for workload in workloads():
        if only not in workload.name:
            continue
        per_key = bench.rows // KEYS
        keys = min(KEYS, (workload.rows or bench.rows) // per_key)
        part, rows = bench.share(workload.data, keys), keys * per_key
        same = agree(workload, part)
        sort = bench.per_row(sort_alone, part, rows)
        mine = bench.per_row(ours(workload.ours), part, rows)
        # Spark's times with the segment tree on and off, each only where it is asked for.
        cells = []
        for mode, least in (("true", workload.on), ("false", workload.off)):
            if least is None:
                cells.append(("", "", ""))
                continue
            bench.spark.conf.set(SEGMENT_TREE, mode)
            fewer = keys_for(workload, bench, keys, most_seconds)
            spark = bench.per_row(theirs(workload.theirs), bench.share(workload.data, fewer), fewer * per_key)
            cells.append((f"{spark:.0f}", verdict(spark / mine, least), f"{fewer * per_key:,}"))
            tree = "with" if mode == "true" else "without"
            times = {"ours": mine, "spark": spark, "sort": sort, "ratio": spark / mine}
            record("spark", workload=workload.name, tree=tree, rows=fewer * per_key, **times, at_least=least, same=same)
        (on, ratio_on, rows_on), (off, ratio_off, rows_off) = cells
        cell = (f"{sort:.0f}", f"{mine:.0f}", f"{mine / sort:.2f}", on, off, ratio_on, ratio_off, rows_off or rows_on)
        table.add_row(workload.name, *cell, "yes" if same else "[red]no[/red]")
        console.print(f"{workload.name}: ours {mine:.0f} ns per row, Spark with the segment tree {on}, without {off}")
    console.print(table)


def windows(bench: Bench) -> None:
    """How the time grows with the window and with rows."""
    df = bench.read("narrow")
    sizes = (100, 1_000, 10_000, 100_000)
    per = {n: bench.per_row(ours({"m": sw.max("x").over(sw.rows(n))}), df, bench.rows) for n in sizes}
    line = ", ".join(f"{n:,} rows {t:.0f}" for n, t in per.items())
    ratio = per[100_000] / per[100]
    console.print(f"max, ns per row by window: {line}; longest to shortest {ratio:.2f} (at most 1.3)")
    half = bench.per_row(ours({"m": sw.max("x").over(sw.rows(1000))}), df.where(f"k < {KEYS // 2}"), bench.rows // 2)
    console.print(f"half of the rows: {half:.0f} ns per row, and all of them {per[1_000]:.0f}")


def one_key(bench: Bench) -> None:
    """One key with all rows, spread over the cores and not."""
    df = bench.read("one_key")
    peak = {"m": sw.max("x").over(sw.rows(1000))}
    few = df.where("ts < 3000000")
    first, second = (ours(peak, hot_keys=spread)(few).select("ts", "m") for spread in (True, False))
    differ = first.exceptAll(second).count() + second.exceptAll(first).count()
    split = bench.per_row(ours(peak, hot_keys=True), df, bench.rows)
    whole = bench.per_row(ours(peak, hot_keys=False), df, bench.rows)
    same = "yes" if not differ else "[red]no[/red]"
    console.print(
        f"one key of {bench.rows:,} rows, max over 1,000: spread {split:.0f} ns per row, on one core {whole:.0f}: "
        f"{verdict(whole / split, 1.5)}; answers agree: {same}"
    )


# ---- who sorts
@contextmanager
def spark_sorts() -> Iterator[None]:
    """Have Spark sort, whatever a call would choose."""
    before, sorting.MOST_RESULTS = sorting.MOST_RESULTS, 0
    try:
        yield
    finally:
        sorting.MOST_RESULTS = before


def sorts(bench: Bench) -> None:
    """Rows in order and in random order: ours, where Python sorts and where Spark does, and Spark's sort alone."""
    peak, (features, _) = {"m": sw.max("x").over(sw.rows(1000))}, _features()
    table = Table("rows", "order", "sort alone", "Spark sorts", "ours", "goal", "")
    for name, data, expressions, against, goal in (
        ("max, 1,000 rows", "narrow", peak, "alone", 1.15),
        ("max, 1,000 rows", "shuffled", peak, "alone", 0.7),
        ("6 windows x 5 aggregates", "narrow", features, "with it", 0.95),
        ("6 windows x 5 aggregates", "shuffled", features, "with it", 0.95),
        ("one key, max, 1,000 rows", "one_key_shuffled", peak, "with it", 3.0),
    ):
        df, rows = bench.read(data), bench.rows
        if expressions is features:
            df, rows = bench.share(data, KEYS // 5), bench.rows // 5
        alone = bench.per_row(sort_alone, df, rows)
        with spark_sorts():
            theirs = bench.per_row(ours(expressions, hot_keys=False), df, rows)
        mine = bench.per_row(ours(expressions, hot_keys=False), df, rows)
        if against == "alone":
            asked, met, found = f"at most {goal:g} of the sort alone", mine <= goal * alone, mine / alone
        else:
            asked, met, found = f"at least {goal:g} times as fast as with it", theirs >= goal * mine, theirs / mine
        cells = (f"{rows:,}", data.replace("_", " "), f"{alone:.0f}", f"{theirs:.0f}", f"{mine:.0f}")
        table.add_row(f"{name}: {cells[0]}", *cells[1:], asked, f"{found:.2f} {'ok' if met else '[red]short[/red]'}")
        limit = {"at_most": goal} if against == "alone" else {"at_least": goal}
        times = {"ours": mine, "sort": alone, "spark_sorts": theirs, "ratio": found}
        record("sorts", what=name, order=cells[1], rows=rows, **times, **limit)
        console.print(f"{name}, {cells[1]}: ours {mine:.0f} ns per row, sort alone {alone:.0f}, with it {theirs:.0f}")
    console.print(table)


def buckets(bench: Bench) -> None:
    """A table in buckets by its key: shuffled as any other, and as Spark has it."""
    path = str(bench.folder / "in_buckets")
    bench.read("narrow").write.bucketBy(8, "k").sortBy("k", "ts").saveAsTable("in_buckets", path=path)
    df, make = bench.spark.table("in_buckets"), ours({"m": sw.max("x").over(sw.rows(1000))}, hot_keys=False)
    shuffled = bench.per_row(make, df, bench.rows)
    bench.spark.conf.set(BUCKETED, "true")
    as_it_lies = bench.per_row(make, df, bench.rows)
    bench.spark.conf.unset(BUCKETED)
    bench.spark.sql("DROP TABLE in_buckets")
    record("buckets", rows=bench.rows, shuffled=shuffled, as_it_lies=as_it_lies, ratio=shuffled / as_it_lies)
    console.print(
        f"a table in buckets, {bench.rows:,} rows: shuffled {shuffled:.0f} ns per row, "
        f"as Spark has it {as_it_lies:.0f}: {shuffled / as_it_lies:.2f}"
    )


def break_even(bench: Bench) -> dict[str, Any]:
    """The times that decide where Spark's own operator is taken for short frames."""
    df = bench.read("narrow")
    lines = []
    for n in (1, 2, 3, 4, 6, 8, 12, 16):
        spark = bench.per_row(theirs({"m": f"max(x) {_frame(n)}"}), df, bench.rows)
        mine = bench.per_row(ours({"m": sw.max("x").over(sw.rows(n))}, engine="slidewise"), df, bench.rows)
        console.print(f"{n} rows: Spark {spark:.0f}, ours {mine:.0f}")
        lines.append({"rows": n, "spark": round(spark), "slidewise": round(mine)})
    import pyspark

    what = (
        f"max over so many rows, ns per row, {bench.rows:,} rows of {KEYS:,} keys, Spark {pyspark.__version__}, 2 cores"
    )
    return {"what": what, "widths": lines}


def memory(rows: int, limit: str) -> None:
    """One key and a window of 1,000 rows, in a Python worker that may not have more memory than that."""
    code = f"""
import slidewise as sw
from pyspark.sql import SparkSession, functions as sf
from slidewise import spark as sws
builder = SparkSession.builder.master("local-cluster[1,1,2048]").config("spark.ui.enabled", "false")
builder = builder.config("spark.log.level", "ERROR").config("spark.driver.memory", "2g")
builder = builder.config("spark.executor.memory", "2g")
spark = sws.configure(builder, python_memory="{limit}").getOrCreate()
df = spark.range({rows}, numPartitions=1).select(sf.lit(1).alias("k"), "id", sf.rand(1).alias("x"))
out = sw.with_columns(df, partition_by="k", order_by="id", hot_keys=False, m=sw.max("x").over(sw.rows(1000)))
print(out.agg(sf.count("m"), sf.min("m")).collect())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    errors = [line for line in ran.stderr.splitlines() if "Error" in line]
    done = ran.stdout.strip() or f"[red]failed[/red], {errors[0] if errors else ran.stderr[-400:]}"
    console.print(f"{rows:,} rows of one key, Python limited to {limit} (goal: it runs): {done}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="workloads with this in their name")
    parser.add_argument(
        "--part",
        choices=("all", "peers", "windows", "one-key", "sorts", "buckets", "break-even", "memory"),
        default="all",
    )
    parser.add_argument("--most-seconds", type=float, default=30.0, help="for one run of Spark's own")
    records.add_option(parser)
    args = parser.parse_args()
    packages = ("pyspark", "pyarrow", "numba")
    console.print(describe(*packages))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), int(args.rows), args.repeat)
        if args.part in ("all", "peers"):
            compare(bench, args.only, args.most_seconds)
        if args.part in ("all", "windows"):
            windows(bench)
        if args.part in ("all", "one-key"):
            one_key(bench)
        if args.part in ("all", "sorts"):
            sorts(bench)
        if args.part in ("all", "buckets"):
            buckets(bench)
        if args.part == "break-even":
            found = break_even(bench)
            place = Path(sws.__file__).parent / "break_even.json"
            place.write_text(json.dumps(found, indent=2) + "\n")
            console.print(f"written to {place.name}")
        bench.spark.stop()
    if args.part in ("all", "memory"):
        for limit in ("512m", "1g"):  # Spark sorts, and Python does
            memory(50_000_000, limit)
    records.write(args.json, *packages)


if __name__ == "__main__":
    main()
