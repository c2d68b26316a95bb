"""Spark streams beside Spark's own windows: `python -m benchmarks.spark_streaming`.

Every query reads the same kind of Parquet files, one micro-batch after the other, into the noop sink. Times are those
of whole micro-batches, from the query's progress, without the first two. What takes Spark too long gets smaller
batches, and times are per row. Answers are compared first, on few rows. Each line is printed when it is there; a part
takes some minutes on two idle cores.

| `--part` | |
| --- | --- |
| `rows` | max of the last 1,000 rows for every row, beside rows that only pass through Python |
| `latency` | micro-batches of 1,000 rows of 100 keys, where what each of them costs counts |
| `recovery` | seconds from the restart of a killed query to its first new row |
| `state` | bytes that a micro-batch writes, of those of the keys that it touches, and whether that grows |
| `hops` | hopping windows beside Spark's `window()` |
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import slidewise as sw
import slidewise.spark
from benchmarks import local_spark, records
from benchmarks.machine import describe
from benchmarks.records import record
from benchmarks.recovery import KINDS, measure_recovery

console = Console(width=max(120, Console().width))
SCHEMA = "k long, ts timestamp, x double"
#: micro-batches of a query; the first two are for warming up
BATCHES, WARM = 4, 2
CORES = os.cpu_count() or 1
SECOND = 1_000_000
#: rows of each key that the state has, and bytes of a key
LAST, KEY_BYTES = 20, 8
#: shares of keys that a micro-batch touches, and over how many micro-batches that is measured
SHARES = {0.001: 40, 0.01: 200, 0.1: 40, 1.0: 12}
#: a second of 1,000 rows of 100 keys is a micro-batch; the first are for warming up
SECONDS, SECONDS_WARM = 50, 15


# ---- data
@dataclass(frozen=True)
class Feed:
    """A stream of events: all keys mixed, in the order of time within about a tenth of a second."""

    keys: int
    #: of a micro-batch
    rows: int
    #: rows of each key in a second of event time
    rate: float
    batches: int = BATCHES

    def write(self, folder: Path) -> Path:
        """One file per core and micro-batch."""
        path = folder / f"{self.keys}_{self.rows}_{self.rate:g}_{self.batches}"
        if path.exists():
            return path
        path.mkdir()
        rng = np.random.default_rng(1)
        begin = 1_700_000_000 * SECOND
        step = SECOND / (self.keys * self.rate)
        each = self.rows // CORES
        for number in range(self.batches * CORES):
            row = np.arange(number * each, (number + 1) * each)
            ts = begin + (row * step).astype(np.int64) + rng.integers(0, SECOND // 10, each)
            columns = {
                "k": rng.integers(0, self.keys, each),
                "ts": pa.array(ts, pa.timestamp("us", "UTC")),
                "x": rng.normal(size=each),
            }
            pq.write_table(pa.table(columns), path / f"part-{number:05}.parquet")
            os.utime(path / f"part-{number:05}.parquet", (number, number))  # read in this order
        return path


@dataclass(frozen=True)
class Touched:
    """A stream whose first micro-batch has all rows of all keys, and whose others have a row of some keys each."""

    keys: int
    touched: int
    batches: int

    @property
    def name(self) -> str:
        return f"touched_{self.keys}_{self.touched}_{self.batches}"

    def write(self, folder: Path) -> Path:
        """One file per micro-batch."""
        path, rng = folder / self.name, np.random.default_rng(1)
        path.mkdir()
        for number in range(self.batches + 1):
            if number:
                chosen = rng.permutation(self.keys)[: self.touched]
            else:
                chosen = np.tile(np.arange(self.keys), LAST)
            times = np.linspace(number, number + 1, len(chosen), endpoint=False) * SECOND + 1_700_000_000 * SECOND
            ts = pa.array(times.astype(np.int64), pa.timestamp("us", "UTC"))
            file = path / f"part-{number:05}.parquet"
            pq.write_table(pa.table({"k": chosen, "ts": ts, "x": rng.normal(size=len(chosen))}), file)
            os.utime(file, (number, number))
        return path


class Bench:
    """A session, and the times of queries."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spark = local_spark.start(folder, partitions=CORES)
        self._queries = 0

    def stream(self, feed: Feed) -> Any:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", CORES)
        return reader.parquet(str(feed.write(self.folder)))

    def run(self, make: Callable[[Any], Any], feed: Feed, most_seconds: float = 600.0) -> list[Any]:
        """The progress of all micro-batches with rows, until the time is over."""
        self._queries += 1
        writer = make(self.stream(feed)).writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.folder / f"checkpoint-{self._queries}")).start()
        if not query.awaitTermination(most_seconds):
            query.stop()
        return [batch for batch in query.recentProgress if batch["numInputRows"]]

    def per_row(self, make: Callable[[Any], Any], feed: Feed, most_seconds: float = 600.0) -> float:
        """Nanoseconds per row at steady state; of all rows begun by then, where the time is over before that."""
        done = self.run(make, feed, most_seconds)
        steady = done[WARM:]
        if not steady:
            return most_seconds * 1e9 / (feed.rows * (len(done) + 1))
        rows = sum(batch["numInputRows"] for batch in steady)
        return sum(batch["durationMs"]["triggerExecution"] for batch in steady) * 1e6 / rows

    def rows_of(self, make: Callable[[Any], Any], feed: Feed) -> list[tuple[Any, ...]]:
        """All rows that a query gives, in order."""
        self._queries += 1
        name = f"checked_{self._queries}"
        writer = make(self.stream(feed)).writeStream.format("memory").queryName(name).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.folder / f"checkpoint-{self._queries}")).start().awaitTermination()
        return sorted(tuple(row) for row in self.spark.table(name).collect())


# ---- what is run
def hopping(size: str, slide: str, **aggregates: Any) -> Callable[[Any], Any]:
    return lambda df: sw.aggregate(
        df, window=sw.time(size, every=slide), partition_by="k", order_by="ts", max_delay="1s", **aggregates
    )


def spark_hopping(size: str, slide: str, *aggregates: str) -> Callable[[Any], Any]:
    from pyspark.sql import functions as sf

    def make(df: Any) -> Any:
        timed = df.withWatermark("ts", "1 second").groupBy("k", sf.window("ts", size, slide))
        out = timed.agg(*(sf.expr(text).alias(str(n)) for n, text in enumerate(aggregates)))
        return out.select("k", "window.start", "window.end", *(str(n) for n in range(len(aggregates))))

    return make


def last_rows(df: Any) -> Any:
    return sw.with_columns(df, partition_by="k", order_by="ts", max_delay="1s", peak=sw.max("x").over(sw.rows(1_000)))


def last_rows_as_they_come(df: Any) -> Any:
    """The same in the order of arrival, as the operator by key does it: nothing waits for the watermark."""
    peak = sw.max("x").over(sw.rows(1_000))
    return sw.with_columns(df, partition_by="k", order_by=None, emit="arrival", peak=peak)


def stateless(df: Any) -> Any:
    """The rows through Python, and nothing else."""
    return df.mapInArrow(lambda batches: batches, SCHEMA)


def by_key(df: Any) -> Any:
    """The last 1,000 rows as a user would write it: Spark's stateful operator, one call for each key."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class LastRows(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._kept = handle.getListState("kept", "x double")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            kept = [row[0] for row in self._kept.get()]
            new = pd.concat(list(rows)).sort_values("ts", kind="stable")
            every = pd.concat([pd.Series(kept, dtype="float64"), new["x"]])
            new["peak"] = every.rolling(1_000, min_periods=1).max().to_numpy()[len(kept) :]
            self._kept.put([(float(x),) for x in every.to_numpy()[-999:]])
            yield new

        def close(self) -> None:
            pass

    keyed = df.groupBy("k")
    return keyed.transformWithStateInPandas(LastRows(), SCHEMA + ", peak double", "Append", "None")


EIGHT = {
    "peak": (sw.max("x"), "max(x)"), "low": (sw.min("x"), "min(x)"), "total": (sw.sum("x"), "sum(x)"),
    "mean": (sw.avg("x"), "avg(x)"), "spread": (sw.stddev("x"), "stddev(x)"), "n": (sw.count("x"), "count(x)"),
    "var": (sw.var_pop("x"), "var_pop(x)"), "skew": (sw.skewness("x"), "skewness(x)"),
}  # fmt: skip


# ---- tables
def check(bench: Bench) -> None:
    """Ours and Spark's, equal on few rows."""
    few = Feed(keys=5, rows=600, rate=10, batches=3)
    ours = bench.rows_of(hopping("1s", "100ms", peak=sw.max("x")), few)
    spark = bench.rows_of(spark_hopping("1 second", "100 milliseconds", "max(x)"), few)
    same = ours == spark and len(ours) > 0
    console.print(
        f"hopping windows, ours and Spark's: {len(ours):,} rows, {'equal' if same else '[red]different[/red]'}"
    )
    ordered = bench.rows_of(last_rows, few)
    frame = "OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 999 PRECEDING AND CURRENT ROW)"
    batch = bench.spark.read.parquet(str(few.write(bench.folder))).selectExpr("k", "ts", "x", f"max(x) {frame}")
    expected = {tuple(row) for row in batch.collect()}
    same = set(ordered) <= expected and len(ordered) > 0.8 * len(expected)
    console.print(f"last 1,000 rows: {len(ordered):,} rows, as a batch gives them: {equal(same)}")


def hops(bench: Bench, rows: int, most_seconds: float) -> None:
    """Hopping windows, where Spark copies each row once per window that it is in.

    The fewer rows of a key fall into a window, the more windows there are for each row, and results of ours.
    """
    table = Table(
        "hopping windows, 1,000 keys, rows per key", "ours, ns per row", "Spark's window()", "its rows", "ratio", ""
    )
    eight = {name: ours for name, (ours, _) in EIGHT.items()}
    ends = {"first": sw.first("x"), "last": sw.last("x")}
    for size, slide, aggregates, texts, rate, fewer, least in (
        ("1s", "10ms", {"peak": sw.max("x")}, ["max(x)"], 10, rows // 20, 50),
        ("1s", "10ms", {"peak": sw.max("x")}, ["max(x)"], 100, rows // 10, 40),
        ("1s", "100ms", {"peak": sw.max("x")}, ["max(x)"], 10, rows // 4, 10),
        ("1s", "100ms", {"peak": sw.max("x")}, ["max(x)"], 100, rows // 4, 6),
        ("1s", "100ms", ends, ["min_by(x, ts)", "max_by(x, ts)"], 100, rows // 4, 6),
        ("1m", "1m", eight, [text for _, text in EIGHT.values()], 100, rows, None),
        ("1h", "1s", eight, [text for _, text in EIGHT.values()], 1, rows // 4_000, 100),
    ):
        feed = Feed(1_000, rows, rate)
        mine = bench.per_row(hopping(size, slide, **aggregates), feed)
        small = Feed(1_000, fewer, rate)
        words = [f"{part[:-2]} milliseconds" if part.endswith("ms") else part for part in (size, slide)]
        words = [{"1s": "1 second", "1m": "1 minute", "1h": "1 hour"}.get(word, word) for word in words]
        spark = bench.per_row(spark_hopping(words[0], words[1], *texts), small, most_seconds)
        many = (
            f"{len(aggregates)} aggregates"
            if len(aggregates) > 2
            else " and ".join(a.name for a in aggregates.values())
        )
        table.add_row(
            f"{size} every {slide}, {many}, {rate} a second",
            f"{mine:,.0f}",
            f"{spark:,.0f}",
            f"{fewer:,}",
            *verdict(spark / mine, least),
        )  # fmt: skip
        console.print(f"{size} every {slide}, {rate} a second: ours {mine:,.0f} ns per row, Spark {spark:,.0f}")
        what = f"{many} of {size} every {slide}, {rate} rows of a key in a second"
        record("hops", what=what, ours=mine, spark=spark, rows=fewer, ratio=spark / mine, at_least=least)
    console.print(table)


def rows_table(bench: Bench, rows: int) -> None:
    """The last 1,000 rows of each key, for every row."""
    table = Table("last 1,000 rows for every row, max", "ns per row", "ratio", "of", "")
    feed, many = Feed(1_000, rows, 100), Feed(100_000, rows, 1)
    ways = (("as they come", last_rows_as_they_come, 1.8), ("by time, at the watermark", last_rows, 2.0))
    # Twice, and the better one counts: the first query of a session is slower than those after it.
    times = []
    for _ in range(2):
        times.append([bench.per_row(make, feed) for make in (stateless, *(make for _, make, _ in ways))])
        console.print("stateless, as they come, by time: " + ", ".join(f"{each:,.0f}" for each in times[-1]))
    passed, *ours = map(min, zip(*times, strict=True))
    table.add_row("rows through Python, stateless", f"{passed:,.0f}", "", "", "")
    record("rows", what="rows through Python, stateless", ns=passed)
    for (name, make, most), mine in zip(ways, ours, strict=True):
        ratio, limit = verdict(mine / passed, most, most=True)
        table.add_row(f"ours, {name}", f"{mine:,.0f}", ratio, "ours to stateless", limit)
        spread = bench.per_row(make, many)
        console.print(f"{name}, 100,000 keys: {spread:,.0f}")
        record("rows", what=f"max of the last 1,000 rows, {name}", ns=mine, ratio=mine / passed, at_most=most)
        ratio, limit = verdict(spread / mine, 1.5, most=True)
        table.add_row(f"ours, {name}, 100,000 keys", f"{spread:,.0f}", ratio, "to 1,000 keys", limit)
    keyed = bench.per_row(by_key, Feed(1_000, rows // 20, 100))
    ratio, limit = verdict(keyed / mine, 5)
    table.add_row("Spark's stateful operator by key", f"{keyed:,.0f}", ratio, "to ours by time", limit)
    record("rows", what="the same by Spark's stateful operator, key by key", ns=keyed)
    console.print(table)


def latency_table(bench: Bench) -> None:
    """Micro-batches of few rows: the medians of their parts, in milliseconds."""
    parts = ("triggerExecution", "queryPlanning", "addBatch", "walCommit", "commitOffsets")
    table = Table("1,000 rows of 100 keys in a micro-batch, ms", *parts, "ratio", "")
    feed = Feed(100, 1_000, 10, SECONDS)
    found: dict[str, list[list[float]]] = {}
    for _ in range(2):
        for name, make in (("stateless", stateless), ("ours", last_rows)):
            done = bench.run(make, feed)[SECONDS_WARM:]
            found.setdefault(name, []).append(
                [float(np.median([batch["durationMs"][part] for batch in done])) for part in parts]
            )
            console.print(f"{name}: {found[name][-1][0]:,.0f} ms")
    passed, ours = (min(found[name]) for name in ("stateless", "ours"))
    record("latency", stateless=passed[0], ours=ours[0], ratio=ours[0] / passed[0], at_most=1.5)
    table.add_row("rows through Python, stateless", *(f"{each:,.0f}" for each in passed), "", "")
    table.add_row(
        "ours, last 1,000 rows by time", *(f"{each:,.0f}" for each in ours), *verdict(ours[0] / passed[0], 1.5, True)
    )
    console.print(table)


def recovery_table(bench: Bench) -> None:
    """A query that is killed, and a new process that goes on from its checkpoint."""
    table = Table("killed, and started again", "Spark's session is there after, s", "the first new row after, s", "")
    feed = Feed(1_000, 5_000, 100, 100)
    path = feed.write(bench.folder)
    for kind in KINDS:
        took = measure_recovery(bench.folder / f"recovery-{kind}", path, kind, after=5)
        console.print(f"{kind}: {took.first_row:.1f} s, of which {took.session:.1f} until Spark's session is there")
        record("recovery", what=kind, session=took.session, first_row=took.first_row)
        table.add_row(kind, f"{took.session:.1f}", f"{took.first_row:.1f}", "no goal")
    console.print(table)


def state_table(bench: Bench, keys: int, most_batches: int) -> None:
    """What micro-batches write that touch some of the keys: bytes of changelog, and those of the keys' own state."""
    table = Table(
        f"state of {keys:,} keys, {LAST} rows each; touched", "keys", "bytes written", "their state", "ratio", "",
        "micro-batches", "last quarter to first", "", "seconds",
    )  # fmt: skip
    for share, batches in SHARES.items():
        batches = min(batches, most_batches)
        touched = max(1, int(keys * share))
        feed = Touched(keys, touched, batches)
        checkpoint = bench.folder / f"checkpoint-{feed.name}"
        reader = bench.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        peak = sw.max("x").over(sw.rows(LAST))
        out = sw.with_columns(
            reader.parquet(str(feed.write(bench.folder))),
            partition_by="k", order_by="ts", max_delay="0s", emit="arrival", peak=peak,
        )  # fmt: skip
        writer = out.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        query.awaitTermination()
        done = [batch for batch in query.recentProgress if batch["numInputRows"]][1 + WARM :]
        seconds = float(np.median([batch["durationMs"]["triggerExecution"] for batch in done])) / 1000
        written = measure_changelog(checkpoint)[1 + WARM : 1 + batches]
        held = slidewise.spark.read_state(out, str(checkpoint)).selectExpr("sum(held.bytes)").head()[0]
        own = touched * (held / keys + KEY_BYTES)
        part = max(1, len(written) // 4)
        ratio, limit = verdict(float(np.mean(written)) / own, 4, most=True)
        growth = float(np.mean(written[-part:])) / float(np.mean(written[:part]))
        table.add_row(
            f"{share:.1%}", f"{touched:,}", f"{np.mean(written):,.0f}", f"{own:,.0f}", ratio, limit, f"{len(written)}",
            *verdict(growth, 1.25, most=True), f"{seconds:.2f}",
        )  # fmt: skip
        console.print(
            f"{share:.1%} of the keys: {np.mean(written):,.0f} bytes in {seconds:.2f} s; by quarters: "
            + ", ".join(f"{np.mean(each):,.0f}" for each in np.array_split(written, 4))
        )
        record(
            "state",
            keys=keys,
            touched=share,
            bytes=float(np.mean(written)),
            ratio=float(np.mean(written)) / own,
            at_most=4,
            growth=growth,
        )
    console.print(table)


def measure_changelog(checkpoint: Path) -> list[int]:
    """The bytes of changelog of each micro-batch, of all partitions."""
    sizes: dict[int, int] = {}
    for path in checkpoint.glob("state/0/*/*.changelog"):
        version = int(path.name.split(".")[0].split("_")[0])
        sizes[version] = sizes.get(version, 0) + path.stat().st_size
    return [sizes[version] for version in sorted(sizes)]


def equal(same: bool) -> str:
    return "equal" if same else "[red]different[/red]"


def verdict(ratio: float, limit: float | None, most: bool = False) -> tuple[str, str]:
    if limit is None:
        return f"{ratio:.2f}", ""
    good = ratio <= limit if most else ratio >= limit
    return f"{ratio:.2f}", f"{'at most' if most else 'at least'} {limit:g}: {'ok' if good else '[red]short[/red]'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", type=float, default=2e6, help=f"rows of a micro-batch, of which there are {BATCHES} (2e6)"
    )
    parser.add_argument("--part", choices=("all", "rows", "latency", "recovery", "state", "hops"), default="all")
    parser.add_argument("--keys", type=float, default=2e5, help="keys of the state whose writing is measured (2e5)")
    parser.add_argument(
        "--batches", type=int, default=200, help="the most micro-batches that it is measured over (200)"
    )
    parser.add_argument("--most-seconds", type=float, default=60.0, help="for one of Spark's own queries (60)")
    records.add_option(parser)
    options = parser.parse_args()
    rows = int(options.rows)
    packages = ("pyspark", "pyarrow", "numba")
    console.print(describe(*packages), style="dim")
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        check(bench)
        if options.part in ("all", "rows"):
            rows_table(bench, rows)
        if options.part in ("all", "latency"):
            latency_table(bench)
        if options.part in ("all", "recovery"):
            recovery_table(bench)
        if options.part in ("all", "state"):
            state_table(bench, int(options.keys), options.batches)
        if options.part in ("all", "hops"):
            hops(bench, rows, options.most_seconds)
        bench.spark.stop()
    records.write(options.json, *packages)
    console.print(f"{time.perf_counter() - begin:.0f} s", style="dim")


if __name__ == "__main__":
    main()
