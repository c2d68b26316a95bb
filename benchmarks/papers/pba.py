"""PBA: figures 4 to 6 of "Efficient Incremental Computation of Aggregations over Sliding Windows", throughput.

It is wall clock, since one of the algorithms has two threads. All merge the same slices, one for each slide (Cutty), as
in the paper, and slicing is part of the time. `pba_latency` has figure 7 and tables 2 and 3, `pba_engine` figure 8.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import slidewise as sw
from benchmarks.papers import drivers, pba_engine, pba_latency, pictures
from benchmarks.papers.experiment import Cell, Claim, Experiment, Results, Scale, Verdict, judge, number, spread
from slidewise.algorithms.pba import JOB_ROWS
from slidewise.columns.execute import compute
from slidewise.columns.frames.bounds import Frames

MERGING = {"TwoStack": "two_stacks", "SlickDeque": "slick_deque", "SBA": "sba", "PBA": "pba"}
SERIES = {"Recal": "recalculate", **MERGING}
DEBS, UNIFORM = "DEBS 2012", "uniform"


# ---- data
@functools.cache
def debs2012(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Times in milliseconds and a reading, in order: rows that come late are left out."""
    from slidewise import data

    table = data.debs2012(columns=["ts", "mf01"]).table(rows)
    ts = table["ts"].to_numpy().astype("datetime64[us]").astype(np.int64)
    kept = ts >= np.maximum.accumulate(ts)
    return ts[kept] // 1000, table["mf01"].to_numpy()[kept].astype(np.float64)


@functools.cache
def uniform(rows: int) -> np.ndarray:
    """The synthetic data."""
    return np.random.default_rng(1).random(rows)


def data_of(panel: str, rows: int) -> np.ndarray:
    """The values of a panel."""
    return debs2012(rows)[1] if panel == DEBS else uniform(rows)


# ---- slices, and windows over them
class Cut(NamedTuple):
    """How a stream is cut: slices of rows, windows of slices, and of each window the top, its rows of the slice that it
    ends in.

    `slices` is None where each row is one, and `top` where windows end with slices.
    """

    slices: Frames | None
    windows: Frames
    top: Frames | None


def cut_rows(rows: int, window: int, slide: int) -> Cut:
    """Slices of `slide` rows.

    >>> cut = cut_rows(10, 5, 2)
    >>> [(f.start.tolist(), f.end.tolist()) for f in cut]
    [([0, 2, 4, 6, 8], [2, 4, 6, 8, 10]), ([0, 1, 2], [2, 3, 4]), ([4, 6, 8], [5, 7, 9])]
    """
    start = np.arange(0, rows - slide + 1, slide)
    rest = window % slide
    count = (rows - window) // slide + 1
    first = np.arange(count)
    slices = None if slide == 1 else Frames(start, start + slide)
    opened = slide * (first + window // slide)
    return Cut(slices, Frames(first, first + window // slide), Frames(opened, opened + rest) if rest else None)


def cut_time(times: np.ndarray, window: int, slide: int) -> Cut:
    """Slices of `slide` units of time, from the first row's on; some may be empty.

    >>> cut = cut_time(np.array([0, 1, 5, 6, 7]), 5, 2)
    >>> [(f.start.tolist(), f.end.tolist()) for f in cut]
    [([0, 2, 2, 3], [2, 2, 3, 5]), ([0, 1], [2, 3]), ([2, 3], [2, 4])]
    """
    count = int(times[-1] - times[0]) // slide + 1
    edges = times[0] + slide * np.arange(count + 1)
    bounds = np.searchsorted(times, edges)
    rest = window % slide
    whole = window // slide
    first = np.arange(count - whole + (rest == 0))
    opened = edges[whole:-1]
    top = Frames(bounds[whole:-1], np.searchsorted(times, opened + rest)) if rest else None
    return Cut(Frames(bounds[:-1], bounds[1:]), Frames(first, first + whole), top)


def run_cut(x: np.ndarray, cut: Cut, algorithm: str) -> np.ndarray:
    """The largest value of every window: its slices merged by an algorithm, and its top.

    >>> x = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 1.0, 2.0, 1.0])
    >>> run_cut(x, cut_rows(9, 5, 2), "sba").tolist()  # rows 0 to 4, 2 to 6, 4 to 8
    [5.0, 5.0, 4.0]
    """
    slices = x if cut.slices is None else _largest(x, cut.slices, "recalculate")
    total = _largest(slices, cut.windows, algorithm)
    return total if cut.top is None else np.maximum(total, _largest(x, cut.top, "recalculate"))


def _largest(x: np.ndarray, frames: Frames, algorithm: str) -> np.ndarray:
    """The largest value of frames, by the kernels alone: `sw.rolling` looks at the bounds first, for twice as long."""
    out, valid = compute(sw.max(), (x,), frames, algorithm)
    if frames.empty is not None:
        out[~valid] = -np.inf  # of no rows
    return out


#: the cut of so many rows into windows of at most so many rows or units of time
MakeCut = Callable[[int, int], Cut]


def measure_cut(
    x: np.ndarray, make: MakeCut, window: int, few: int, at: Any, panel: str, scale: Scale, recalculate: bool = False
) -> Iterator[Cell]:
    """Million rows a second of every algorithm, in turn, the shortest of the runs. Windows of `few` are checked
    first."""
    small = make(min(len(x), 3000), min(window, few))
    right = run_cut(x[:3000], small, "recalculate")
    calls, rows = {}, {}
    for series, algorithm in (SERIES if recalculate else MERGING).items():
        if not np.array_equal(run_cut(x[:3000], small, algorithm), right):
            raise drivers.WrongAnswer(f"{algorithm} disagrees with recalculation over slices")
        rows[series] = min(len(x), 10 * window + 100_000_000 // window) if series == "Recal" else len(x)
        cut = make(rows[series], window)
        for frames in (cut.windows, *filter(None, (cut.slices, cut.top))):
            drivers.look_at(frames)
        calls[series] = functools.partial(run_cut, x[: rows[series]], cut, algorithm)
        if scale.name != "tiny":
            calls[series]()
    for series, seconds in drivers.run_in_turn(calls, runs(scale), time.perf_counter).items():
        for repeat, value in enumerate([*seconds, min(seconds)], 1):
            figure = rows[series] / max(value, 1e-9) / 1e6
            yield Cell(series, at, figure, "million/s", panel, repeat % (len(seconds) + 1))
    for series in ("SBA", "PBA"):
        wall, used = time.perf_counter(), time.process_time()
        calls[series]()
        cores = (time.process_time() - used) / max(time.perf_counter() - wall, 1e-9)
        yield Cell(series, at, cores, "cores", f"{panel}{CORES}")


#: the panels of how many cores an algorithm had while it ran, beside those of its throughput
CORES = ", cores"


def shown(r: Results) -> list[str]:
    """The panels of the picture."""
    return [p for p in r.panels() if not p.endswith(CORES) and p != CROSSING]


def describe_cores(r: Results) -> str:
    """How many cores the machine had left for the two."""
    found = {s: np.median([v for p in r.panels() if p.endswith(CORES) for v in r.values(s, p)]) for s in ("SBA", "PBA")}
    return f"PBA's two threads had {found['PBA']:.2f} cores while they ran, SBA's one {found['SBA']:.2f} (medians)"


def runs(scale: Scale) -> int:
    """How often a cell is run, of which the shortest counts."""
    return scale.pick(tiny=1, quick=3, full=7)


# ---- figure 4
def run_fig4(scale: Scale) -> Iterator[Cell]:
    """Throughput by range, slide 1."""
    rows = scale.pick(tiny=4_000, quick=1_000_000, full=4_000_000)
    every_second = [*(2**k for k in range(3, 20, 2)), 2**20]
    ranges = [8, 512, 1024, 2**15, 2**16] if scale.name == "tiny" else scale.thin(every_second)
    for panel in (DEBS, UNIFORM):
        ahead: dict[int, float] = {}
        for n in ranges:
            x = data_of(panel, max(rows, 2 * n + n // 8))  # some of the rows of one data set are left out
            make = functools.partial(cut_rows, slide=1)
            cells = list(measure_cut(x, make, n, 700, n, panel, scale, recalculate=n <= 1024))
            yield from cells
            pba, sba = (
                c.value for s in ("PBA", "SBA") for c in cells if (c.series, c.repeat, c.panel) == (s, 0, panel)
            )
            ahead[n] = float(pba) / float(sba)
        yield Cell("PBA", panel, find_crossing(ahead), "rows", CROSSING)


def find_crossing(ahead: dict[int, float]) -> float:
    """The least range from which on one is ahead, by how many times it is at each; infinite where there is none.

    >>> find_crossing({8: 0.5, 64: 1.1, 512: 0.9, 4096: 1.2, 32768: 1.5}), find_crossing({8: 2.0, 64: 0.9})
    (4096.0, inf)
    """
    return min((float(n) for n in ahead if all(v > 1 for m, v in ahead.items() if m >= n)), default=math.inf)


CROSSING = "crossing"


def ratios(r: Results, over: str, under: Iterable[str], xs: Callable[[Any], bool] = lambda x: True) -> dict[str, float]:
    """The series `over`, as multiples of others, by panel, series and x."""
    return {
        f"{s} at {x:,}, {p}": r.value(over, x, p) / r.value(s, x, p)
        for p in shown(r) for s in under for x in r.xs(s, p) if xs(x) and r.has(over, x, p)
    }  # fmt: skip


def _least(found: dict[str, float]) -> str:
    if not found:
        return "nothing measured"
    worst = min(found, key=lambda k: found[k])
    return f"{found[worst]:.2f} to {max(found.values()):.2f} times, the least beside {worst}"


def above(r: Results, over: str, under: Iterable[str], why: str, xs: Callable[[Any], bool] = lambda x: True) -> Verdict:
    """Whether one series is above others at every x."""
    found = ratios(r, over, under, xs)
    if not found:
        return Verdict("not run", "", "no such x was measured")
    below = [k for k, v in found.items() if v <= 1]
    cells = f"{len(below)} of {len(found)} cells are not, {'; '.join(below[:3])} among them"
    return judge(not below, f"{over} is {_least(found)}", f"{cells}. {why}. {describe_cores(r)}")


def sba_above(r: Results) -> Verdict:
    why = (
        "TwoStack makes as many combines as SBA, and in a kernel it walks arrays as SBA does, where the paper's "
        "holds objects"
    )
    return above(r, "SBA", ("TwoStack", "SlickDeque"), why)


def pba_best_of_large(r: Results) -> Verdict:
    why = f"Jobs are of at least {JOB_ROWS:,} slices, so that a column of a few jobs waits for the first of them"
    return above(r, "PBA", ("TwoStack", "SlickDeque", "SBA"), why, lambda n: n >= 1024)


def pba_grows_then_stays(r: Results) -> Verdict:
    rises, flat, words = True, True, []
    for p in shown(r):
        small = [r.value("PBA", n, p) for n in r.xs("PBA", p) if n <= 2**15]
        large = [r.value("PBA", n, p) for n in r.xs("PBA", p) if n >= 2**15]
        if len(small) < 2 or not large:
            return Verdict("not run", "", "too few ranges were measured")
        mean = sum(large) / len(large)
        rises &= small[-1] >= 1.1 * small[0] and all(b >= 0.95 * a for a, b in pairwise(small))
        flat &= all(0.8 * mean <= v <= 1.2 * mean for v in large)
        words.append(
            f"{p}: {small[0]:.0f} at the least range, {small[-1]:.0f} at 2^15, {min(large):.0f} to {max(large):.0f} "
            "after it"
        )
    why = (
        f"a job of the second thread has {JOB_ROWS:,} slices or more whatever the range is, where the paper hands "
        "over every chunk "
        "of (r + 2)/2: small ranges pay nothing for it here, so that there is no rise, and a range as large as a job "
        "has fewer "
        f"jobs to work ahead on. {describe_cores(r)}"
    )
    return judge(rises and flat, "; ".join(words) + " million/s", why)


def pba_factors(r: Results) -> Verdict:
    large = {s: ratios(r, "PBA", (s,), lambda n: n >= 2**15) for s in ("TwoStack", "SlickDeque")}
    if not all(large.values()):
        return Verdict("not run", "", "no range from 2^15 on was measured")
    two, slick = (float(np.median(list(v.values()))) for v in large.values())
    why = (
        "the paper's are Java's, where the stacks and the deque hold objects; in kernels over arrays TwoStack is "
        "nearer, and "
        f"SlickDeque, whose branches depend on the values, further away. {describe_cores(r)}"
    )
    return judge(two >= 2 and slick >= 3.2, f"{two:.1f} times TwoStack, {slick:.1f} times SlickDeque (medians)", why)


def pba_crosses_sba(r: Results) -> Verdict:
    found = {p: r.value("PBA", p, CROSSING) for p in r.xs("PBA", CROSSING)}
    words = [
        f"{p}: PBA is ahead " + ("nowhere for good" if math.isinf(n) else f"from {number(n)} on")
        for p, n in found.items()
    ]
    why = (
        f"with jobs of at least {JOB_ROWS:,} slices handing one over costs the same at every range, so that nothing "
        "crosses by "
        f"itself. {describe_cores(r)}"
    )
    return judge(all(8 < n <= 1024 for n in found.values()), "; ".join(words), why)


def draw_fig4(r: Results) -> Any:
    return pictures.lines(r, panels=shown(r), xlabel="range, rows", ylabel="million items/s")


# ---- figure 5
def run_fig5(scale: Scale) -> Iterator[Cell]:
    """Throughput by slide, range 2^17."""
    n = scale.pick(tiny=512, quick=2**17, full=2**17)
    rows = scale.pick(tiny=4_000, quick=1_000_000, full=4_000_000)
    for panel in (DEBS, UNIFORM):
        x = data_of(panel, rows)
        for slide in scale.thin(range(1, 11)):
            yield from measure_cut(x, functools.partial(cut_rows, slide=slide), n, 701, slide, panel, scale)


def rise_with_the_slide(r: Results) -> Verdict:
    found = {}
    for p in shown(r):
        for s in r.series(p):
            values = r.values(s, p)
            found[f"{s}, {p}"] = values[-1] / values[0]
    falls = [k for k, v in found.items() if v <= 1]
    ours = f"from the least slide to the largest {min(found.values()):.2f} to {max(found.values()):.2f} times"
    why = (
        f"{', '.join(falls)} not: cutting slices costs a pass of its own, which a slide of 1 has not, and a kernel's "
        "merge is not "
        "dear enough beside it to save that much"
    )
    return judge(not falls, ours, why)


def come_closer(r: Results) -> Verdict:
    xs = r.xs(panel=shown(r)[0])
    small, large = (
        math.exp(float(np.mean([math.log(spread(r.value(s, x, p) for s in r.series(p))) for p in shown(r)])))
        for x in (xs[0], xs[-1])
    )
    ours = f"best over worst {small:.2f} at slide {xs[0]}, {large:.2f} at {xs[-1]} (means of the data sets)"
    return judge(
        large < small, ours, f"slicing is a smaller part of the time than merging at all slides. {describe_cores(r)}"
    )


def draw_fig5(r: Results) -> Any:
    return pictures.lines(r, panels=shown(r), xlabel="slide, rows", ylabel="million items/s", xscale="linear")


# ---- figure 6
BY_RANGE, BY_SLIDE = "slide 10 ms, by range", "range 60 min, by slide"


def run_fig6(scale: Scale) -> Iterator[Cell]:
    """Throughput of windows in time: by range in minutes, and by slide in milliseconds."""
    rows = scale.pick(tiny=4_000, quick=800_000, full=2_000_000)
    minute = scale.pick(tiny=100, quick=60_000, full=60_000)
    times, x = debs2012(rows)

    def make(rows: int, window: int, slide: int = 10) -> Cut:
        return cut_time(times[:rows], window, slide)

    for minutes in scale.thin((6, 18, 30, 42, 60)):
        yield from measure_cut(x, make, minutes * minute, 5_000, minutes, BY_RANGE, scale)
    for slide in scale.thin((10, 40, 70, 100)):
        by_slide = functools.partial(make, slide=slide)
        yield from measure_cut(x, by_slide, 60 * minute, 5_000, slide, BY_SLIDE, scale)


def pba_best_in_time(r: Results) -> Verdict:
    why = f"Jobs are of at least {JOB_ROWS:,} slices, and a slide above 10 ms leaves few of them"
    return above(r, "PBA", ("TwoStack", "SlickDeque", "SBA"), why)


def draw_fig6(r: Results) -> Any:
    return pictures.lines(
        r, panels=shown(r), xlabel="range (minutes) | slide (ms)", ylabel="million items/s", xscale="linear"
    )


# ---- all of them
EXPERIMENTS = (
    Experiment(
        id="pba-fig4",
        paper="PBA",
        title="Throughput by range, slide 1",
        run=run_fig4,
        draw=draw_fig4,
        seconds=120,
        scaled="4 million rows of each data set where the paper has 130 and 200 million; every second power of two; "
        "Recal on fewer rows",
        claims=(
            Claim("pba-fig4-a", "SBA is above TwoStack and SlickDeque irrespective of the window's size", sba_above),
            Claim("pba-fig4-b", "PBA is the best for large windows, from 2^10 on", pba_best_of_large),
            Claim("pba-fig4-c", "PBA rises until 2^15 and then stays (within 20 %)", pba_grows_then_stays),
            Claim(
                "pba-fig4-d",
                "from 2^15 on PBA is 2.5 times TwoStack and 4 times SlickDeque (tested: four fifths of that)",
                pba_factors,
            ),
            Claim("pba-fig4-e", "SBA is ahead of PBA on small windows, PBA from about 2^10 on", pba_crosses_sba),
        ),
    ),
    Experiment(
        id="pba-fig5",
        paper="PBA",
        title="Throughput by slide, range 2^17",
        run=run_fig5,
        draw=draw_fig5,
        seconds=90,
        scaled="4 million rows of each data set where the paper has 130 and 200 million",
        claims=(
            Claim("pba-fig5-a", "throughput rises with the slide", rise_with_the_slide),
            Claim("pba-fig5-b", "the algorithms come closer with a larger slide", come_closer),
        ),
    ),
    Experiment(
        id="pba-fig6",
        paper="PBA",
        title="Throughput of windows in time",
        run=run_fig6,
        draw=draw_fig6,
        seconds=60,
        scaled="2 million rows (5.5 hours) where the paper has 130 million; five ranges and four slides of ten each",
        claims=(
            Claim("pba-fig6-a", "PBA is the best", pba_best_in_time),
            Claim("pba-fig6-b", "SBA is above TwoStack and SlickDeque", sba_above),
        ),
    ),
    *pba_latency.EXPERIMENTS,
    *pba_engine.EXPERIMENTS,
)
