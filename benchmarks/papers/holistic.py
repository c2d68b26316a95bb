"""Windowed Holistic Aggregates (HOL): figures 2 to 7, and what the paper suggests and leaves to others.

The paper's variants are `slidewise.algorithms.holistic_frames`, interpreted, with a count of their work; our kernels
are one more series, "slidewise". Ratios between variants carry over from C++, and throughput does not. Every cell has
as many frames as take about a second, the last ones of a million rows: column a (100 values), in the order of b.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np

import slidewise as sw
from benchmarks.papers import pictures
from benchmarks.papers.drivers import WrongAnswer, require_agreement, run_in_turn, sliding
from benchmarks.papers.experiment import (
    Cell,
    Claim,
    Experiment,
    NotRun,
    Results,
    Scale,
    Table,
    Verdict,
    judge,
    number,
    spread,
)
from slidewise.algorithms import holistic_frames as hf
from slidewise.algorithms.incremental_count_distinct import FLOOR, DistinctCounter

P1 = 15_485_863
#: a prime about half of each frame size
P2 = {10: 5, 100: 47, 1_000: 499, 10_000: 4_999, 100_000: 49_999}
SIZES = (10, 100, 1_000, 10_000)


# ---- data and frames
def rank100(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Column a, uniform over 100 values, and column b, ascending and dense, in the order of b."""
    return np.random.default_rng(100).integers(0, 100, rows), np.arange(rows)


def variable(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames of section 6.2: from mod(b p1, p2) rows before to n - mod(b p1, p2) after, as far as there are rows.

    >>> [bound.tolist() for bound in variable(6, 10)]
    [[0, 0, 1, 0, 2, 5], [6, 6, 6, 6, 6, 6]]
    """
    row = np.arange(rows)
    back = row * P1 % P2.get(n, max(2, n // 2))
    return np.maximum(row - back, 0), np.minimum(row + n - back + 1, rows)


BOUNDS = {"fixed": sliding, "variable": variable}


@dataclass(frozen=True)
class Frames:
    """Some frames in the middle of a long column, and the rows that they cover, counted from the first of these."""

    values: list[int]
    start: list[int]
    end: list[int]

    @classmethod
    def of(cls, column: np.ndarray, moves: str, n: int, frames: int) -> Frames:
        """The last frames that lie whole within the column."""
        start, end = BOUNDS[moves](len(column), n)
        last = len(column) - n - 1
        start, end = start[last - frames : last], end[last - frames : last]
        first = int(start.min())
        return cls(column[first : int(end.max())].tolist(), (start - first).tolist(), (end - first).tolist())

    def __len__(self) -> int:
        return len(self.start)

    @property
    def args(self) -> tuple[list[int], list[int], list[int]]:
        return self.values, self.start, self.end


def frames_for(cost: float, scale: Scale) -> int:
    """How many frames take about a second, where one takes so many steps of the interpreter."""
    steps = scale.pick(tiny=30_000, quick=200_000, full=3_000_000)
    return int(min(max(steps / cost, 12), scale.pick(tiny=400, quick=3_000, full=20_000)))


# ---- figure 2: rank() by cores
DATA = {
    "rank1": "SELECT 1L AS a, id AS b FROM range(0, {rows}, 1, 8) ORDER BY hash(id)",
    "rank100": "SELECT cast(rand(100) * 100 AS BIGINT) AS a, id AS b FROM range(0, {rows}, 1, 8)",
    "rank10M": "SELECT id AS a, id + 7 AS b FROM range(0, {rows}, 1, 8)",
}


def run_fig2(scale: Scale) -> Iterator[Cell]:
    """Seconds of rank() in Spark, by data set and number of cores; each in a process of its own."""
    if not scale.is_full:
        raise NotRun("Spark is started at full scale only")
    for cores in (1, 2):
        with get_context("spawn").Pool(1) as pool:
            rows = 1_000_000
            for name, seconds in pool.apply(rank_seconds, (cores, rows)).items():
                for repeat, value in enumerate([*seconds, min(seconds)], 1):
                    yield Cell(name, cores, rows / value / 1e6, "million/s", repeat=repeat % (len(seconds) + 1))


def rank_seconds(cores: int, rows: int) -> dict[str, list[float]]:
    """Seconds of each run, by data set, on so many cores."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # read when the JVM starts, in this process
    from pyspark.sql import SparkSession

    from slidewise import spark as sws

    builder = SparkSession.builder.master(f"local[{cores}]").appName("rank")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "4g",
    }.items():
        builder = builder.config(name, value)
    session = sws.configure(builder, partitions=8).getOrCreate()
    try:
        calls = {}
        for name, query in DATA.items():
            session.sql(query.format(rows=rows)).cache().createOrReplaceTempView(name)
            ranked = sws.sql(session, f"SELECT rank() OVER (PARTITION BY a ORDER BY b DESC) AS r FROM {name}")
            calls[name] = ranked.write.format("noop").mode("overwrite").save
            calls[name]()  # fills the cache, and warms up
        return run_in_turn(calls, 3, time.perf_counter)
    finally:
        session.stop()


def run_fig2_columns(scale: Scale) -> Iterator[Cell]:
    """The same of slidewise's own rank over columns, by the number of its threads; wall clock, since threads matter."""
    rows = scale.pick(tiny=20_000, quick=1_000_000, full=2_000_000)
    chance, row = np.random.default_rng(2), np.arange(rows)
    tables = {
        "rank1": (np.ones(rows, int), chance.permutation(rows)),
        "rank100": rank100(rows),
        "rank10M": (row, row + 7),
    }
    for name, (a, b) in tables.items():
        require_ranks(a[:3000], b[:3000])
        calls = {threads: partial(rank_columns, a, b, threads) for threads in (1, 2)}
        for threads, seconds in run_in_turn(calls, scale.repeats, time.perf_counter).items():
            for repeat, value in enumerate([*seconds, min(seconds)], 1):
                yield Cell(name, threads, rows / value / 1e6, "million/s", repeat=repeat % (len(seconds) + 1))
        wall, used = time.perf_counter(), time.process_time()
        calls[2]()
        cores = (time.process_time() - used) / max(time.perf_counter() - wall, 1e-9)
        yield Cell(name, 2, cores, "cores", CORES)


#: how many cores two threads had while they ran
CORES = "cores"


def rank_columns(a: np.ndarray, b: np.ndarray, threads: int) -> Any:
    """Compute rank() over (partition by a order by b desc)."""
    table = {"a": a, "b": b}
    return sw.with_columns(table, partition_by="a", order_by=sw.desc("b"), threads=threads, r=sw.rank())["r"]


def require_ranks(a: np.ndarray, b: np.ndarray) -> None:
    """Raise WrongAnswer where a rank is not one more than the rows of its partition that have a larger b."""
    right = [1 + int(((a == a[i]) & (b > b[i])).sum()) for i in range(len(a))]
    for threads in (1, 2):
        if rank_columns(a, b, threads).tolist() != right:
            raise WrongAnswer(f"rank() on {threads} threads disagrees with counting")


def rank1_gains_least(r: Results) -> Verdict:
    gain = {name: r.value(name, 2) / r.value(name, 1) for name in DATA}
    shown = ", ".join(f"{name} {value:.2f}x" for name, value in gain.items())
    least = min(gain, key=gain.__getitem__)
    return judge(least == "rank1", shown, f"{least} gains least from a second core here. {describe_second_core(r)}")


def describe_second_core(r: Results) -> str:
    """Say whether there was one, where it was measured."""
    if CORES not in r.panels():
        return "Spark's driver and what else the machine does have a part of both, with one core and with two"
    found = ", ".join(f"{r.value(name, 2, CORES):.2f} ({name})" for name in DATA)
    return f"Two threads had {found} cores while they ran; keys are arranged on one"


# ---- figure 3: sum, four algorithms
def run_fig3(scale: Scale) -> Iterator[Cell]:
    """Throughput of a sum by frame size, the frames computed within the call, as a query does."""
    rows = scale.pick(tiny=4_000, quick=200_000, full=1_000_000)
    column, _ = rank100(rows)
    for n in scale.pick(
        tiny=(1, 10, 100, 1_000), quick=(1, 10, 100, 10_000), full=(1, 10, 100, 1_000, 10_000, 100_000)
    ):
        few = int(min(rows, max(2_000, 200_000_000 // n) if scale.is_full else max(500, 20_000_000 // n)))
        series: dict[str, tuple[str, Any, int]] = {
            "Naive": ("recalculate", sliding, few),
            "Incremental": ("subtract_on_evict", sliding, rows),
            "Segment Tree": ("flat_fat", sliding, rows),
            "Segment Tree (variable)": ("flat_fat", variable, rows),
        }
        calls = {}
        for name, (algorithm, bounds, count) in series.items():
            size = min(n, 700)
            start, end = bounds(3000, size)
            require_agreement(column[:3000], sw.sum(), algorithm, start, end, key=("hol-fig3", name, size))
            calls[name] = partial(sum_last, column, bounds, n, count, algorithm)
        for name, seconds in run_in_turn(calls, scale.repeats).items():
            for repeat, value in enumerate([*seconds, min(seconds)], 1):
                mtps = series[name][2] / max(value, 1e-9) / 1e6
                yield Cell(name, n, mtps, "million/s", repeat=repeat % (len(seconds) + 1))


def sum_last(column: np.ndarray, bounds: Any, n: int, frames: int, algorithm: str) -> Any:
    """Sum the last frames of a column."""
    start, end = bounds(len(column), n)
    return sw.rolling(column, sw.sum(), sw.frames(start[-frames:], end[-frames:]), algorithm=algorithm)


def incremental_is_flat(r: Results) -> Verdict:
    rates = r.values("Incremental")
    slowest, *_, fastest = sorted(r.xs("Incremental"), key=lambda x: r.value("Incremental", x))
    return judge(
        spread(rates) <= 1.5,
        f"{number(min(rates))} to {number(max(rates))} million/s, a factor of {spread(rates):.2f}",
        f"slowest at W = {number(slowest)}, fastest at {number(fastest)}: every slide is one addition and one "
        "subtraction, and what differs is whether the row that leaves is still in cache",
    )


def segment_tree_falls_as_log(r: Results) -> Verdict:
    found = []
    for series in ("Segment Tree", "Segment Tree (variable)"):
        xs = [x for x in r.xs(series) if x >= 10]
        base = r.value(series, xs[0])
        found += [(base / r.value(series, x) / (np.log(x) / np.log(xs[0])), series, x) for x in xs[1:]]
    worst, series, x = max(found)
    return judge(
        worst <= 1.1,
        f"at worst {worst:.2f} of what log W allows",
        f"{series} at W = {number(x)}: the tree's upper levels are no longer in cache",
    )


def naive_is_beaten(r: Results) -> Verdict:
    naive = r.value("Naive", 100)
    others = {s: r.value(s, 100) for s in ("Incremental", "Segment Tree")}
    shown = ", ".join(f"{s} {v / naive:.1f}x" for s, v in others.items())
    slow = [s for s, v in others.items() if v <= naive]
    return judge(not slow, f"at W = 100: {shown}", f"{', '.join(slow)}: a fold of 100 neighbours is one vector loop")


def variable_is_slower(r: Results) -> Verdict:
    ratios = [r.value("Segment Tree", x) / r.value("Segment Tree (variable)", x) for x in r.xs("Segment Tree")]
    return judge(
        min(ratios) > 1,
        f"variable takes {min(ratios):.2f} to {max(ratios):.2f} times as long",
        f"faster at {sum(q <= 1 for q in ratios)} of {len(ratios)} sizes: computing frames is little of a call here",
    )


# ---- figures 4 and 5: count distinct and mode
@dataclass(frozen=True)
class Counted:
    """One of the two aggregates that are counted: how it is called, and how answers are compared."""

    name: str
    call: Callable[..., tuple[list[Any], hf.Work]]
    ours: sw.Aggregation

    def agrees(self, frames: Frames, found: Sequence[Any]) -> bool:
        for i, (a, b) in enumerate(zip(frames.start, frames.end, strict=True)):
            if i >= 50:
                break
            counts = Counter(frames.values[a:b])
            right = len(counts) if self.name == "count distinct" else max(counts.values())
            if (found[i] if self.name == "count distinct" else counts[found[i]]) != right:
                return False
        return True


COUNT_DISTINCT = Counted("count distinct", hf.count_distinct, sw.count_distinct())
MODE = Counted("mode", hf.mode, sw.mode())

#: by panel: the series, what it is called with, and how many changes of a count a frame of n takes, about
VARIANTS: dict[str, dict[str, tuple[dict[str, Any], Callable[[int], float]]]] = {
    "fixed": {
        "Naive": ({"variant": "naive"}, lambda n: n + 20),
        "Incremental": ({"variant": "incremental"}, lambda n: 60),
        "Incremental (floor)": ({"variant": "incremental", "floor": FLOOR}, lambda n: 60),
    },
    "variable": {
        "Naive": ({"variant": "naive"}, lambda n: n + 20),
        "Incremental": ({"variant": "incremental"}, lambda n: n / 2 + 60),
        "Incremental (start over)": ({"variant": "incremental", "start_over": True}, lambda n: n / 2 + 60),
        "Incremental (reordered)": ({"variant": "incremental", "reorder": True}, lambda n: n / 2 + 60),
    },
}


def run_counted(what: Counted, scale: Scale) -> Iterator[Cell]:
    """Microseconds a frame, and changes of a count a frame, by frame size."""
    column, _ = rank100(scale.pick(tiny=5_000, quick=200_000, full=1_000_000))
    for n in SIZES[: 3 if scale.name == "tiny" else 4]:
        for moves, variants in VARIANTS.items():
            calls: dict[str, Callable[[], object]] = {}
            counts = {}
            for series, (options, cost) in variants.items():
                frames = Frames.of(column, moves, n, frames_for(cost(n), scale))
                found, work = what.call(*frames.args, **options)
                if not what.agrees(frames, found):
                    raise WrongAnswer(f"{series} of {what.name} disagrees with counting")
                calls[series], counts[series] = partial(what.call, *frames.args, **options), len(frames)
                # The first frame is counted whole, and the ones after it are what is meant.
                first = frames.end[0] - frames.start[0]
                changes = (work.hash_operations - first) / (len(frames) - 1)
                yield Cell(series, n, changes, "changes of a count", f"{moves}, work")
                yield Cell(series, n, (work.recounts - 1) / (len(frames) - 1), "recounts", f"{moves}, recounts")
            frames = Frames.of(column, moves, n, frames_for(60, scale))
            calls["Preparing"], counts["Preparing"] = partial(hf.prepare, *frames.args), len(frames)
            yield from time_cells(calls, counts, n, moves, scale)
            yield from time_ours(column, what.ours, moves, n, scale)


def time_cells(
    calls: Mapping[str, Callable[[], object]], frames: Mapping[str, int], n: int, panel: str, scale: Scale
) -> Iterator[Cell]:
    """Microseconds a frame of each call, in turn."""
    for series, seconds in run_in_turn(calls, scale.repeats).items():
        for repeat, value in enumerate([*seconds, min(seconds)], 1):
            micros = max(value, 1e-9) / frames[series] * 1e6
            yield Cell(series, n, micros, "us", panel, repeat % (len(seconds) + 1))


def time_ours(column: np.ndarray, aggregation: sw.Aggregation, moves: str, n: int, scale: Scale) -> Iterator[Cell]:
    """Microseconds a frame of our kernel, over the whole column."""
    bounds = BOUNDS[moves](len(column), n)
    start, end = BOUNDS[moves](3000, min(n, 700))
    key = ("holistic", aggregation.name, moves, min(n, 700))
    require_agreement(column[:3000], aggregation, "auto", start, end, key=key)
    call = partial(sw.rolling, column, aggregation, sw.frames(*bounds))
    yield from time_cells({"slidewise": call}, {"slidewise": len(column)}, n, moves, scale)


def speedups(r: Results, series: str, panel: str, over: str = "Naive") -> dict[Any, float]:
    return {x: r.value(over, x, panel) / r.value(series, x, panel) for x in r.xs(series, panel)}


def incremental_is_flat_in_w(r: Results) -> Verdict:
    xs = [x for x in r.xs("Incremental", "fixed") if x > 10]
    times = r.values("Incremental", "fixed", xs)
    changes = r.values("Incremental", "fixed, work", xs)
    return judge(
        spread(times) <= 3,
        f"{number(min(times))} to {number(max(times))} us a frame from W = {xs[0]} to {number(xs[-1])}",
        f"the work is {number(min(changes))} to {number(max(changes))} changes of a count a frame",
    )


def speedup_of_the_largest(r: Results) -> Verdict:
    x = max(r.xs("Naive", "fixed"))
    gain = r.value("Naive", x, "fixed") / r.value("Incremental", x, "fixed")
    work = r.value("Naive", x, "fixed, work") / r.value("Incremental", x, "fixed, work")
    return judge(gain >= 50, f"{number(gain)}x at W = {x:,}", f"of {number(work)} times fewer changes of a count")


def speedup_at_10(r: Results) -> Verdict:
    naive, incremental = (r.value(s, 10, "fixed") for s in ("Naive", "Incremental"))
    prepare = r.value("Preparing", 10, "fixed")
    work = r.value("Naive", 10, "fixed, work") / r.value("Incremental", 10, "fixed, work")
    return judge(
        naive / incremental >= 2,
        f"{naive / incremental:.2f}x at W = 10",
        f"{work:.1f} times fewer changes of a count; of the {number(incremental)} us a frame, {number(prepare)} go "
        "into preparing rows and frames, in both",
    )


def dip_is_flushing(r: Results) -> Verdict:
    recounts = {s: r.value(s, 10, "fixed, recounts") * 1000 for s in ("Incremental", "Incremental (floor)")}
    others = [r.value("Incremental", x, "fixed, recounts") for x in r.xs("Incremental", "fixed, recounts") if x > 10]
    return judge(
        recounts["Incremental"] > 10 and recounts["Incremental (floor)"] == 0 and max(others) == 0,
        f"recounts in 1,000 frames: {recounts['Incremental']:.0f} at W = 10, {1000 * max(others):.0f} above it, "
        f"{recounts['Incremental (floor)']:.0f} with a floor of {FLOOR:,}",
        "tables are flushed elsewhere too",
    )


def variable_gains(r: Results) -> Verdict:
    gains = {x: g for x, g in speedups(r, "Incremental", "variable").items() if x >= 100}
    work = {x: r.value("Naive", x, "variable, work") / r.value("Incremental", x, "variable, work") for x in gains}
    shown = ", ".join(f"{g:.2f}x at {x:,}" for x, g in gains.items())
    return judge(
        min(gains.values()) > 1, shown, f"of {min(work.values()):.2f} times fewer changes of a count, at least"
    )


def reordering_pays(r: Results) -> Verdict:
    gains = {x: g for x, g in speedups(r, "Incremental (reordered)", "variable", "Incremental").items() if x >= 100}
    shown = ", ".join(f"{g:.1f}x at {x:,}" for x, g in gains.items())
    return judge(min(gains.values()) > 1, f"{shown} over Incremental", "sorting the frames costs more than it spares")


def range_of_gains(r: Results) -> Verdict:
    """Of all fixed and variable gains."""
    gains = [g for moves in BOUNDS for g in speedups(r, "Incremental", moves).values()]
    return judge(
        max(gains) >= 100 and median(gains) >= 1.5,
        f"{min(gains):.2f}x to {number(max(gains))}x, the median {median(gains):.1f}x",
        f"{sum(g < 1.5 for g in gains)} of {len(gains)} cells are below 1.5x, those of variable frames and of W = 10",
    )


def mode_is_like_count_distinct(r: Results) -> Verdict:
    """Figure 5 has count distinct's fixed series beside it."""
    ratios = {
        x: r.value("Incremental", x, "fixed") / r.value("Count distinct", x, "fixed")
        for x in r.xs("Count distinct", "fixed")
    }
    shown = ", ".join(f"{q:.2f} at {x:,}" for x, q in ratios.items())
    rescans = [r.value("Incremental", x, "rescans") for x in ratios]
    return judge(
        max(ratios.values()) <= 1.5,
        f"times those of count distinct: {shown}",
        f"a lost mode is searched for: {max(rescans) * 1000:.0f} times in 1,000 frames",
    )


def run_fig4(scale: Scale) -> Iterator[Cell]:
    yield from run_counted(COUNT_DISTINCT, scale)


def run_fig5(scale: Scale) -> Iterator[Cell]:
    yield from run_counted(MODE, scale)
    column, _ = rank100(scale.pick(tiny=5_000, quick=200_000, full=1_000_000))
    for n in SIZES[: 3 if scale.name == "tiny" else 4]:
        frames = Frames.of(column, "fixed", n, frames_for(60, scale))
        _, work = hf.mode(*frames.args, variant="incremental")
        yield Cell("Incremental", n, work.rescans / len(frames), "searches a frame", "rescans")
        call = partial(hf.count_distinct, *frames.args)
        yield from time_cells({"Count distinct": call}, {"Count distinct": len(frames)}, n, "fixed", scale)


def draw_counted(results: Results) -> Any:
    return pictures.lines(
        results, xlabel="rows in the frame, W", ylabel="us a frame", yscale="log", panels=list(BOUNDS), sharey=True
    )


def ours_beside(results: Results) -> Iterator[str]:
    for moves in BOUNDS:
        times = [1000 * v for v in results.values("slidewise", moves)]
        yield f"slidewise's kernel, {moves} frames: {number(min(times))} to {number(max(times))} ns a frame."


# ---- figure 6: tau
TAUS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)


def run_fig6(scale: Scale) -> Iterator[Cell]:
    """Time relative to the best tau, hash operations a row and the largest table; every value is new."""
    count = scale.pick(tiny=1_500, quick=10_000, full=20_000)
    for n in (10, 100, 1_000):
        frames = Frames.of(np.arange(count + 2 * n + 2), "fixed", n, count)
        calls = {tau: partial(hf.count_distinct, *frames.args, tau=tau) for tau in TAUS}
        keys, bounds = hf.prepare(*frames.args)
        for tau in TAUS:
            work, largest = hf.Work(), 0
            rule = hf.recount_rule("incremental", tau, 0, False)
            for table in hf.count_frames(keys, bounds, lambda: DistinctCounter(0), rule, work):
                assert table.live == n
                largest = max(largest, len(table.counts))
            yield Cell(
                f"W = {n:,}", tau, work.hash_operations / count, "hash operations a row", "hash operations a row"
            )
            yield Cell(f"W = {n:,}", tau, largest, "entries", "largest table")
        seconds = {tau: min(s) for tau, s in run_in_turn(calls, scale.repeats).items()}
        best = min(seconds.values())
        for tau, value in seconds.items():
            yield Cell(f"W = {n:,}", tau, value / best, "times the best", "time")
        yield Cell(f"W = {n:,}", 0.25, seconds[0.25] / count * 1e6, "us", "us a frame")


def towards_one_is_worse(r: Results) -> Verdict:
    ratios = {s: r.value(s, 0.9, "time") / r.value(s, 0.25, "time") for s in r.series("time")}
    work = {s: r.value(s, 0.9, "hash operations a row") / r.value(s, 0.25, "hash operations a row") for s in ratios}
    shown = ", ".join(f"{q:.2f}x for {s}" for s, q in ratios.items())
    operations = ", ".join(f"{work[s]:.1f}x for {s}" for s in ratios)
    micros = min(r.value(s, 0.25, "us a frame") for s in ratios)
    return judge(
        min(ratios.values()) >= 1.5,
        f"0.9 takes {shown} as long as 0.25",
        f"of {operations} the hash operations; interpreted, a frame takes {number(micros)} us with the fewest of them",
    )


def below_half_is_balanced(r: Results) -> Verdict:
    spreads = {s: spread(r.values(s, "time", [t for t in TAUS if 0 < t <= 0.5])) for s in r.series("time")}
    work = {s: spread(r.values(s, "hash operations a row", [t for t in TAUS if 0 < t <= 0.5])) for s in spreads}
    worst = max(spreads, key=spreads.__getitem__)
    return judge(
        max(spreads.values()) <= 1.5,
        f"from 0.05 to 0.5 within {max(spreads.values()):.2f}x",
        f"{worst} has {work[worst]:.2f}x between its hash operations",
    )


def zero_wastes_space(r: Results) -> Verdict:
    tables = {s: r.value(s, 0.0, "largest table") / r.value(s, 0.25, "largest table") for s in r.series("time")}
    shown = ", ".join(f"{number(q)} times for {s}" for s, q in tables.items())
    return judge(min(tables.values()) > 1, f"the largest table at 0: {shown} that at 0.25", "too few rows to show it")


def draw_fig6(results: Results) -> Any:
    panels = ["time", "hash operations a row", "largest table"]
    return pictures.lines(results, xlabel="tau", xscale="linear", yscale="log", panels=panels)


# ---- figure 7: median
MEDIANS: dict[str, dict[str, tuple[dict[str, Any], Callable[[int], float]]]] = {
    "fixed": {
        "Naive": ({"variant": "naive"}, lambda n: 6 * n + 60),
        "Reuse": ({"variant": "reuse"}, lambda n: 3 * n + 60),
        "Replace": ({"variant": "replace"}, lambda n: n + 60),
    },
    "variable": {
        "Naive": ({"variant": "naive"}, lambda n: 6 * n + 60),
        "Reuse": ({"variant": "reuse"}, lambda n: 5 * n + 60),
        "Reuse (start over)": ({"variant": "reuse", "start_over": True}, lambda n: 5 * n + 60),
        "Reuse (reordered)": ({"variant": "reuse", "reorder": True}, lambda n: 5 * n + 60),
    },
}


def run_fig7(scale: Scale) -> Iterator[Cell]:
    """Microseconds a frame, values that selections look at, and entries of the index that are read or written."""
    column, _ = rank100(scale.pick(tiny=5_000, quick=200_000, full=1_000_000))
    call = partial(hf.quantile, fraction=0.5, continuous=False, method="paper")
    for n in SIZES[: 3 if scale.name == "tiny" else 4]:
        for moves, variants in MEDIANS.items():
            calls: dict[str, Callable[[], object]] = {}
            counts = {}
            for series, (options, cost) in variants.items():
                frames = Frames.of(column, moves, n, frames_for(cost(n), scale))
                found, work = call(*frames.args, **options)
                for a, b, value in list(zip(frames.start, frames.end, found, strict=True))[:50]:
                    if value != sorted(frames.values[a:b])[(b - a - 1) // 2]:
                        raise WrongAnswer(f"{series} disagrees with sorting")
                calls[series], counts[series] = partial(call, *frames.args, **options), len(frames)
                yield Cell(series, n, work.visits / len(frames) / n, "values looked at / W", f"{moves}, visits")
                yield Cell(series, n, work.entries / len(frames) / n, "entries / W", f"{moves}, entries")
            yield from time_cells(calls, counts, n, moves, scale)
            yield from time_ours(column, sw.percentile_disc(0.5), moves, n, scale)


def gain_of_the_largest(
    series: str, panel: str, paper: float, costs: str, over: str = "Naive"
) -> Callable[[Results], Verdict]:
    """Make the check of a factor at the largest W: half of it is asked for, and more than none."""

    def check(r: Results) -> Verdict:
        x = max(r.xs(series, panel))
        gain = r.value(over, x, panel) / r.value(series, x, panel)
        visits = r.value(over, x, f"{panel}, visits") / r.value(series, x, f"{panel}, visits")
        entries = r.value(series, x, f"{panel}, entries")
        return judge(
            gain >= max(1.0, paper / 2),
            f"{gain:.2f}x at W = {x:,}",
            f"{visits:.1f} times fewer values are looked at; {costs.format(entries=f'{entries:.2f} W')}",
        )

    return check


FILTERS = "the filter reads {entries} entries of the index one by one in bytecode, where Naive writes W at once in C"
SEARCHES = "to find the row that leaves, {entries} entries of the index are read"


def replace_leads_more_and_more(r: Results) -> Verdict:
    gains = speedups(r, "Replace", "fixed")
    values = list(gains.values())
    shown = ", ".join(f"{g:.1f}x at {x:,}" for x, g in gains.items())
    return judge(
        min(values) > 1 and values == sorted(values),
        shown,
        f"least at W = {min(gains, key=lambda x: gains[x]):,}: a frame's own steps in the interpreter weigh as much "
        "there as its selection",
    )


def draw_fig7(results: Results) -> Any:
    return draw_counted(results)


# ---- what the paper suggests, counted
def run_suggestions(scale: Scale) -> Iterator[Cell]:
    """Changes of a count with and without each suggestion: no clock."""
    column = rank100(20_000)[0].tolist()
    starts: dict[str, tuple[list[int], dict[str, Any]]] = {
        "start over": (list(range(0, 18_000, 999)), {"start_over": True}),
        "reordered": ([i + 5_000 * (i % 2) for i in range(40)], {"reorder": True}),
    }
    for name, (start, option) in starts.items():
        end = [a + 1_000 for a in start]
        for series, options in ways(option).items():
            found, work = hf.count_distinct(column, start, end, **options)
            if found != [len(set(column[a:b])) for a, b in zip(start, end, strict=True)]:
                raise WrongAnswer(f"count distinct, {name}, {series}, disagrees with a set")
            per = len(start) if name == "start over" else 1
            yield Cell(series, name, work.hash_operations / per, "changes of a count")
    start, end = (bound[:5_000].tolist() for bound in sliding(5_000, 10))
    for series, options in ways({"floor": FLOOR}).items():
        _, work = hf.count_distinct(column, start, end, **options)
        yield Cell(series, "floor", work.hash_operations, "changes of a count")
        yield Cell(series, "floor, recounts", work.recounts, "recounts")


def ways(suggestion: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name the options of each series."""
    return {"as printed": {}, "as suggested": suggestion, "naive": {"variant": "naive"}}


def starting_over(r: Results) -> Verdict:
    printed, suggested, naive = (r.value(s, "start over") for s in ("as printed", "as suggested", "naive"))
    return judge(
        suggested == naive < printed,
        f"{printed:,.0f} changes of a count a frame, {suggested:,.0f} starting over",
        f"naive takes {naive:,.0f}",
    )


def reordering(r: Results) -> Verdict:
    printed, suggested = (r.value(s, "reordered") for s in ("as printed", "as suggested"))
    return judge(
        suggested < printed / 10,
        f"{printed:,.0f} changes of a count, {suggested:,.0f} in the order of starts",
        "no gain",
    )


def not_flushing(r: Results) -> Verdict:
    printed, suggested = (r.value(s, "floor, recounts") for s in ("as printed", "as suggested"))
    changes = [r.value(s, "floor") for s in ("as printed", "as suggested")]
    return judge(
        suggested == 1 < printed and changes[1] < changes[0],
        f"{printed:,.0f} recounts in 5,000 frames of 10 rows, {suggested:,.0f} with a floor; changes of a count "
        f"{changes[0]:,.0f} and {changes[1]:,.0f}",
        "still flushed",
    )


def draw_suggestions(results: Results) -> Table:
    xs = results.xs()
    return Table(("", *xs), [(s, *(number(results.value(s, x)) for x in xs)) for s in results.series()])


ROWS = "1 million rows for 10 million, as many frames as take about a second; interpreted Python for C++"

EXPERIMENTS = (
    Experiment(
        id="hol-fig2", paper="HOL", title="Figure 2: rank() by cores, the engine's", run=run_fig2,
        draw=lambda results: pictures.lines(results, xlabel="cores", ylabel="million rows/s", xscale="linear"),
        claims=(
            Claim("hol-fig2-a", "rank1, a single partition, is limited by its sort and gains least from cores",
                  rank1_gains_least),
            Claim("hol-fig2-b", "about 45 million rows a second at 24 threads",
                  not_run="the machine has two cores"),
        ),
        scaled="1 million rows for 10 million, 2 cores for 24; slidewise.spark.sql leaves rank() to Spark", seconds=80,
    ),
    Experiment(
        id="hol-fig2-columns", paper="HOL", title="Figure 2: rank() by cores, slidewise's over columns",
        run=run_fig2_columns,
        draw=lambda results: pictures.lines(
            results, xlabel="threads", ylabel="million rows/s", xscale="linear", panels=[""]
        ),
        claims=(
            Claim("hol-fig2-columns-a", "rank1, a single partition, is limited by its sort and gains least from cores",
                  rank1_gains_least),
        ),
        scaled="2 million rows for 10 million, 2 threads for 24", seconds=5,
    ),
    Experiment(
        id="hol-fig3", paper="HOL", title="Figure 3: sum by frame size, four algorithms", run=run_fig3,
        draw=lambda results: pictures.lines(
            results, xlabel="rows in the frame, W", ylabel="million rows/s", yscale="log"
        ),
        claims=(
            Claim("hol-fig3-a", "Incremental is flat in W, at about 25 million rows/s", incremental_is_flat),
            Claim("hol-fig3-b", "Segment Tree is roughly flat: at most as log W", segment_tree_falls_as_log),
            Claim("hol-fig3-c", "Naive falls with W, and is beaten by W = 100", naive_is_beaten),
            Claim("hol-fig3-d", "variable frames are slower than fixed ones, by computing them", variable_is_slower),
        ),
        scaled="1 million rows for 10 million; compiled by numba; Naive reads fewer frames of large W", seconds=20,
    ),
    Experiment(
        id="hol-fig4", paper="HOL", title="Figure 4: count distinct, naive and incremental", run=run_fig4,
        draw=draw_counted, remarks=ours_beside,
        claims=(
            Claim("hol-fig4-a", "fixed frames: little impact of the window size (within 3x above W = 10)",
                  incremental_is_flat_in_w),
            Claim("hol-fig4-b", "fixed frames: nearly 200x at best (50x at W = 10,000 is asked for)",
                  speedup_of_the_largest),
            Claim("hol-fig4-c", "more than 2x at W = 10, in spite of the dip", speedup_at_10),
            Claim("hol-fig4-d", "the dip at W = 10 is flushing: 10 / 100 is below tau", dip_is_flushing),
            Claim("hol-fig4-e", "variable frames: significant gains (above 1x from W = 100 on)", variable_gains),
            Claim("hol-fig4-f", "1.5x to nearly 200x in all", range_of_gains),
            Claim("hol-fig4-g", "frame reordering may be promising (3.4): by their starts", reordering_pays),
        ),
        scaled=ROWS, seconds=60,
    ),
    Experiment(
        id="hol-fig5", paper="HOL", title="Figure 5: mode, naive and incremental", run=run_fig5,
        draw=draw_counted, remarks=ours_beside,
        claims=(
            Claim("hol-fig5-a", "fixed frames: little impact of the window size (within 3x above W = 10)",
                  incremental_is_flat_in_w),
            Claim("hol-fig5-b", "fixed frames: nearly 200x at best (50x at W = 10,000 is asked for)",
                  speedup_of_the_largest),
            Claim("hol-fig5-c", "more than 2x at W = 10, in spite of the dip", speedup_at_10),
            Claim("hol-fig5-d", "variable frames: significant gains (above 1x from W = 100 on)", variable_gains),
            Claim("hol-fig5-e", "about 10 % below count distinct (within 50 % is asked for)",
                  mode_is_like_count_distinct),
        ),
        scaled=ROWS, seconds=70,
    ),
    Experiment(
        id="hol-fig6", paper="HOL", title="Figure 6: the flushing threshold tau, values that never come back",
        run=run_fig6, draw=draw_fig6,
        claims=(
            Claim("hol-fig6-a", "towards 1.0 highly degraded (1.5x at 0.9 is asked for)", towards_one_is_worse),
            Claim("hol-fig6-b", "above 0.0 and below 0.5 balanced (within 1.5x)", below_half_is_balanced),
            Claim("hol-fig6-c", "0.0 never flushes and wastes space", zero_wastes_space),
        ),
        scaled="20,000 frames for 10 million; interpreted Python for C++", seconds=30,
    ),
    Experiment(
        id="hol-fig7", paper="HOL", title="Figure 7: median; naive, reuse, replace", run=run_fig7,
        draw=draw_fig7, remarks=ours_beside,
        claims=(
            Claim("hol-fig7-a", "Replace exceeds 10x over Naive at W = 10,000 (5x is asked for)",
                  gain_of_the_largest("Replace", "fixed", 10, SEARCHES)),
            Claim("hol-fig7-b", "Reuse is about 6x at W = 10,000 (3x is asked for)",
                  gain_of_the_largest("Reuse", "fixed", 6, FILTERS)),
            Claim("hol-fig7-c", "Replace is 2x over Reuse (1x is asked for)",
                  gain_of_the_largest("Replace", "fixed", 2, SEARCHES, "Reuse")),
            Claim("hol-fig7-d", "Reuse with variable frames is 1.5x at large W (more than 1x is asked for)",
                  gain_of_the_largest("Reuse", "variable", 1.5, FILTERS)),
            Claim("hol-fig7-e", "Replace leads Naive by more and more", replace_leads_more_and_more),
        ),
        scaled=ROWS, seconds=70,
    ),
    Experiment(
        id="hol-suggestions", paper="HOL", title="Suggestions of sections 3.3, 3.4 and 5.4, counted",
        run=run_suggestions, draw=draw_suggestions,
        claims=(
            Claim("hol-suggestions-a", "start over when frames share little (5.4): frames of 1,000 that share 1 row",
                  starting_over),
            Claim("hol-suggestions-b", "reorder frames (3.4): 40 frames of 1,000, in turn from two places", reordering),
            Claim("hol-suggestions-c", "do not flush small tables (3.3): frames of 10 rows of 100 values",
                  not_flushing),
        ),
        scaled="nothing: counts", seconds=2,
    ),
)  # fmt: skip
