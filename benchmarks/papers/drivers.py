"""Drivers: how a cell is measured.

Throughput is CPU time of the process, the shortest of some runs, the algorithms of a cell in turn, so that what else
runs on the machine hits all of them; all over explicit frames, so that none has a driver of its own, whose bounds have
been looked at before. Latency has a driver that reads the processor's cycle counter around each slide, in the kernel.
Only answers that agree with `recalculate` are timed.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

import slidewise as sw
from benchmarks.papers.experiment import Cell, Scale
from slidewise.aggregations.collecting import CollectList
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.columns.execute import compute
from slidewise.columns.frames.bounds import Frames
from slidewise.registry import algorithm as algorithm_entry
from slidewise.templates.compile import kernel, new_state
from slidewise.templates.names import close_state, defined, evict, insert, lift, lower, open_state, query, zip_columns

K = TypeVar("K")
#: bounds(rows, n): the first and the end row of every frame over so many rows, of a window of n
Bounds = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


def sliding(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames of each row and the n - 1 before it, fewer at the start.

    >>> [bound.tolist() for bound in sliding(4, 2)]
    [[0, 0, 1, 2], [1, 2, 3, 4]]
    """
    end = np.arange(1, rows + 1)
    return np.maximum(end - n, 0), end


def fill_and_drain(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames that grow to n rows, and begin anew.

    >>> [bound.tolist() for bound in fill_and_drain(5, 2)]
    [[0, 0, 2, 2, 4], [1, 2, 3, 4, 5]]
    """
    row = np.arange(rows)
    return row // n * n, row + 1


def firings(m: int) -> Bounds:
    """Frames of n rows, every m rows: a query follows m evictions and m insertions.

    >>> [bound.tolist() for bound in firings(2)(8, 4)]
    [[0, 2, 4], [4, 6, 8]]
    """

    def bounds(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        start = np.arange(0, max(rows - n, 0) + 1, m)
        return start, start + n

    return bounds


# ---- right answers
class WrongAnswer(AssertionError):
    """An algorithm disagrees with recalculation: it is not timed."""


_checked: set[tuple[Any, ...]] = set()


def require_agreement(
    x: Any, aggregation: sw.Aggregation, algorithm: str, start: np.ndarray, end: np.ndarray, key: tuple = ()
) -> None:
    """Raise WrongAnswer where the algorithm disagrees with recalculation.

    A key that has agreed once is not tried again.
    """
    if key and key in _checked:
        return
    window = sw.frames(start, end)
    ours = sw.rolling(x, aggregation, window, algorithm=algorithm)
    right = sw.rolling(x, aggregation, window, algorithm="recalculate")
    if not same(ours, right):
        raise WrongAnswer(f"{algorithm} of {aggregation.name} disagrees with recalculation")
    _checked.add(key)


def same(ours: Any, right: Any) -> bool:
    """Whether two results are equal, doubles but for rounding."""
    if getattr(ours, "dtype", None) is None or ours.dtype.fields or ours.dtype.kind == "O":
        return len(ours) == len(right) and all(map(np.array_equal, ours, right))
    if np.ma.is_masked(ours) != np.ma.is_masked(right) or np.any(np.ma.getmaskarray(ours) != np.ma.getmaskarray(right)):
        return False
    ours, right = (np.ma.filled(np.ma.asarray(a).astype(float), 0) for a in (ours, right))
    return bool(np.allclose(ours, right, rtol=1e-9, equal_nan=True))


# ---- throughput
def run_in_turn(
    calls: Mapping[K, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[K, list[float]]:
    """Seconds of every run of each call.

    One round after the other; calls under 0.1 s are run 5 times where others are 3.
    """
    seconds: dict[K, list[float]] = {name: [] for name in calls}
    for round in range(max(repeats, 5) if repeats > 1 else 1):
        for name, call in calls.items():
            if round < repeats or min(seconds[name]) < 0.1:
                begin = clock()
                call()
                seconds[name].append(clock() - begin)
    return seconds


def prepare(
    x: Any, aggregation: sw.Aggregation, start: np.ndarray, end: np.ndarray, algorithm: str
) -> Callable[[], object]:
    """A call that computes frames, and nothing else where kernels take the arrays as they are: `sw.rolling` looks at
    the bounds each time, for longer than a fast algorithm runs.

    >>> prepare(np.array([1.0, 2.0, 4.0]), sw.sum(), *sliding(3, 2), "daba")()[0].tolist()
    [1.0, 3.0, 6.0]
    """
    columns = x if isinstance(x, tuple) else (x,)
    numbers = all(isinstance(c, np.ndarray) and c.dtype.kind in "if" for c in columns)
    if not numbers or algorithm == "auto" or aggregation.result_fields or isinstance(aggregation, CollectList):
        return functools.partial(sw.rolling, x, aggregation, sw.frames(start, end), algorithm=algorithm)
    return functools.partial(compute, aggregation, columns, look_at(Frames(start, end)), algorithm)


def look_at(frames: Frames) -> Frames:
    """Find out all that frames know of themselves, before the clock starts."""
    assert frames.monotone in (True, False) and frames.longest >= 0
    _ = frames.empty
    return frames


def seconds_after_fill(
    x: Any,
    aggregation: sw.Aggregation,
    start: np.ndarray,
    end: np.ndarray,
    algorithms: Mapping[str, str],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, list[float]]:
    """Seconds of every run of each series, without those of its first frame, which fills the window."""
    calls = {s: whole_and_fill(x, aggregation, start, end, algorithm) for s, algorithm in algorithms.items()}
    return subtract_fills(calls, repeats, clock)


#: a call that computes all frames, and one that computes the first alone
WholeAndFill = tuple[Callable[[], object], Callable[[], object]]


def whole_and_fill(
    x: Any, aggregation: sw.Aggregation, start: np.ndarray, end: np.ndarray, algorithm: str
) -> WholeAndFill:
    """Prepare a call of all frames, and one of the first, which fills the window."""
    whole, fill = (prepare(x, aggregation, start[:part], end[:part], algorithm) for part in (len(start), 1))
    return whole, fill


def subtract_fills(
    calls: Mapping[str, WholeAndFill], repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Seconds of every run of each series, all in turn, less those of the shortest run of its fill."""
    each = {(series, part): call for series, both in calls.items() for part, call in enumerate(both)}
    seconds = run_in_turn(each, repeats, clock)
    # noise may make the whole no longer than its part
    return {s: [max(t - min(seconds[s, 1]), 0.01 * t) for t in seconds[s, 0]] for s in calls}


def throughput(
    x: np.ndarray,
    aggregation: sw.Aggregation,
    bounds: Bounds,
    n: int,
    algorithms: Mapping[str, str],
    scale: Scale,
    *,
    at: Any = None,
    panel: str = "",
    unit: str = "ns",
    rows: Mapping[str, int] | int | None = None,
    repeats: int | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Iterator[Cell]:
    """Measure one cell of each series: `algorithms` names the algorithm of each.

    `bounds(rows, n)` are the frames (`sliding`, `fill_and_drain`, `firings(m)`); `at` is the x of the cells, n where
    it is not given. `rows` is how many rows of x are read, for all or by series (those not named read all). The unit
    is "ns" per frame, "ns per row", or "million/s" of frames.

    >>> cells = throughput(np.arange(1000.0), sw.sum(), sliding, 8, {"Two-Stacks": "two_stacks"}, Scale("tiny"))
    >>> [(cell.series, cell.x, cell.unit, cell.repeat) for cell in cells]
    [('Two-Stacks', 8, 'ns', 1), ('Two-Stacks', 8, 'ns', 0)]
    """
    calls, count = {}, {}
    for series, algorithm in algorithms.items():
        key = (algorithm, aggregation, x.dtype, getattr(bounds, "__qualname__", ""), panel, min(n, 700))
        require_agreement(x[:3000], aggregation, algorithm, *bounds(min(len(x), 3000), min(n, 700)), key=key)
        most = (rows.get(series, len(x)) if isinstance(rows, Mapping) else rows) or len(x)
        start, end = bounds(most, n)
        count[series] = most if unit == "ns per row" else len(start)
        calls[series] = prepare(x[:most], aggregation, start, end, algorithm)
    for series, seconds in run_in_turn(calls, repeats or scale.repeats, clock).items():
        for repeat, value in enumerate([*seconds, min(seconds)], 1):
            per = value / count[series]
            figure = per * 1e9 if unit != "million/s" else 1e-6 / max(per, 1e-12)
            yield Cell(series, n if at is None else at, figure, unit, panel, repeat % (len(seconds) + 1))


# ---- latency
class Latency(NamedTuple):
    """Nanoseconds of every slide.

    Of one pass as the clock has it, and the shortest of all passes, which is the algorithm's.
    """

    single: np.ndarray
    shortest: np.ndarray


def latency(
    algorithm: str,
    aggregation: sw.Aggregation,
    columns: tuple[np.ndarray, ...],
    start: np.ndarray,
    end: np.ndarray,
    passes: int = 5,
) -> Latency:
    """Measure every slide: the evictions, insertions and the query that lead to frame i. Bounds never move back, no
    frame is empty, and none begins behind the end of the last.

    Every pass makes the same slides, so that the shortest time of each is the algorithm's, and the rest the machine's.
    The first frame is the fill, and not a slide: it is left out.

    >>> x = np.arange(1000.0)
    >>> len(latency("daba_lite", sw.sum(), (x,), *sliding(1000, 100), passes=2).shortest)
    999
    """
    if np.any(start >= end) or np.any(start[1:] > end[:-1]) or any(np.any(np.diff(b) < 0) for b in (start, end)):
        raise ValueError("latency: bounds that move back, an empty frame, or rows between two frames")
    taken = np.stack([_one_pass(algorithm, aggregation, columns, start, end)[1] for _ in range(passes)])
    _require_right_results(algorithm, aggregation, tuple(c[:3000] for c in columns))
    per_ns = ticks_per_ns()
    return Latency(taken[0, 1:] / per_ns, taken[:, 1:].min(axis=0) / per_ns)


def _one_pass(
    algorithm: str, aggregation: sw.Aggregation, columns: tuple[np.ndarray, ...], start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The results, and the ticks of every frame."""
    longest = int((end - start).max())
    op: Any = aggregation.compiled(columns, longest)
    module, partial = algorithm_entry(algorithm).module, partial_dtype(op, columns)
    out, taken = np.zeros(len(start), result_dtype(op, columns, partial)), np.zeros(len(start), np.int64)
    args = (new_state(module, op, partial, longest + 1), columns, start, end, out, taken)
    kernel(run_latency, module, op, partial, args, more={"ticks": _ticks()})(*args)
    return out, taken


def _require_right_results(algorithm: str, aggregation: sw.Aggregation, columns: tuple[np.ndarray, ...]) -> None:
    """Run the same kernel over windows that recalculation can answer."""
    start, end = sliding(len(columns[0]), 700)
    start, end = start[1:], end[1:]  # of one row there is no deviation
    ours, _ = _one_pass(algorithm, aggregation, columns, start, end)
    x = columns if len(columns) > 1 else columns[0]
    if not same(ours, sw.rolling(x, aggregation, sw.frames(start, end), algorithm="recalculate")):
        raise WrongAnswer(f"{algorithm} of {aggregation.name} disagrees with recalculation")


def ticks() -> int:  # a placeholder: the kernel's is the processor's counter
    raise NotImplementedError


def run_latency(state, values, start, end, out, latency):
    """latency[i] is what the processor's counter moved by in slide i: evictions, insertions, and a query."""
    s = open_state(state)
    values = zip_columns(values)
    results = zip_columns(out)
    front = last = start[0]
    for i in range(len(start)):
        first = lift(*values[np.uint64(min(last, len(values) - 1))])
        begin = ticks()
        while front < start[i]:
            evict(s)
            front += 1
        if last < end[i]:
            insert(s, first)
            last += 1
        while last < end[i]:
            insert(s, lift(*values[np.uint64(last)]))
            last += 1
        total = query(s)
        if defined(total):
            results[i] = lower(total)
        latency[i] = ticks() - begin
    return close_state(s)


@functools.cache
def _ticks() -> Any:
    """The cycle counter as numba's intrinsic, between fences, so that no instruction of a slide is outside it."""
    import platform

    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    fenced = platform.machine().lower() in ("x86_64", "amd64")

    def counter(typing: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            void, word = ir.FunctionType(ir.VoidType(), []), ir.FunctionType(ir.IntType(64), [])
            fence = cgutils.get_or_insert_function(builder.module, void, "llvm.x86.sse2.lfence") if fenced else None
            read = cgutils.get_or_insert_function(builder.module, word, "llvm.readcyclecounter")
            if fence is not None:
                builder.call(fence, [])
            now = builder.call(read, [])
            if fence is not None:
                builder.call(fence, [])
            return now

        return types.int64(), codegen

    # Kernels are kept on disk by what they are made of. This is made of nothing that can change: as with numba's own
    # functions its name tells it, and without that a Bloom filter's kernels would be compiled in every process.
    counter.__module__ = "numba.slidewise_ticks"
    counter.__name__ = "fenced_ticks" if fenced else "ticks"
    return intrinsic(counter)


@functools.cache
def ticks_per_ns() -> float:
    """How fast the processor's counter runs."""
    import numba

    read = _ticks()

    @numba.njit
    def now():
        return read()

    now()
    best = []
    for _ in range(5):
        ticks, clock = now(), time.perf_counter_ns()
        while time.perf_counter_ns() - clock < 10_000_000:
            pass
        best.append((now() - ticks) / (time.perf_counter_ns() - clock))
    return float(np.median(best))


#: of a distribution, where it is read: enough for its picture, and the papers' numbers
LEVELS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0)


def distribution(values: np.ndarray, series: str, panel: str, unit: str = "ns") -> Iterator[Cell]:
    """The cells of a distribution.

    X is a share of the slides, and the value what they stay below; with mean and std.
    """
    for level, value in zip(LEVELS, np.quantile(values, LEVELS), strict=True):
        yield Cell(series, level, float(value), unit, panel)
    yield Cell(series, "mean", float(values.mean()), unit, panel)
    yield Cell(series, "std", float(values.std()), unit, panel)
