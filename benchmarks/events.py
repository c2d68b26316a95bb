"""Event by event, beside what people use today: `python -m benchmarks.events`.

Microseconds of CPU time per event, and the distribution of single events: p50, p99.99 and the slowest, of all and of
the later half, over passes that make the same events, of which the shortest time of each counts. Our slowest is the one
at which rows are handed over to compiled code, in the first half. What `push` compiles is there before: it does so in
the background, while the first events are interpreted. Peers are river (where it is installed: `pip install
river`), a monotone deque by hand, and pandas by appending. Answers are compared before anything is timed. Then
`push_many` in batches of 10,000 rows, beside `push`.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import slidewise as sw
from benchmarks import records
from benchmarks.machine import describe
from benchmarks.records import record
from slidewise.templates import background

console = Console(width=max(120, Console().width))

WINDOW = 1000
KEYS = 100
BATCH = 10_000
RIVER = find_spec("river") is not None

#: takes the number of an event and its value, and gives the answer
Step = Callable[[int, float], Any]


class Contender(NamedTuple):
    """One way to do a task."""

    name: str
    #: makes a new step; None: what it needs is not installed
    build: Callable[[], Step] | None
    #: at most so many us, where it is ours
    goal: float | None = None
    #: events that are enough, where one takes long
    events: int | None = None


# ---- ours
def push_rows(aggregation: sw.Aggregation) -> Step:
    w = sw.Window(aggregation, sw.rows(WINDOW))
    return lambda k, x: w.push(x)[0].value


def push_time() -> Step:
    w = sw.Window(sw.avg(), sw.time(WINDOW, closed="right"))
    return lambda k, x: [result.value for result in w.push(x, time=k)]


def push_keyed() -> Step:
    aggregations = {"peak": sw.max("x"), "mean": sw.avg("x")}
    w = sw.Window(aggregations, sw.time(WINDOW), partition_by="key")
    return lambda k, x: w.push({"key": k % KEYS, "x": x}, time=k)


def push_keyed_rows() -> Step:
    aggregations = {"peak": sw.max("x"), "mean": sw.avg("x")}
    w = sw.Window(aggregations, sw.rows(WINDOW), partition_by="key")
    return lambda k, x: w.push({"key": k % KEYS, "x": x})[0].value


def push_hopping() -> Step:
    w = sw.Window(sw.max(), sw.time(WINDOW, every=WINDOW // 10))
    return lambda k, x: w.push(x, time=k)


def bare() -> Step:
    s = sw.swag("daba_lite", sw.max())

    def step(k: int, x: float) -> Any:
        s.insert(x)
        if k >= WINDOW:
            s.evict()
        return s.query()

    return step


# ---- theirs
def monotone_deque() -> Step:
    held: deque[tuple[int, float]] = deque()

    def step(k: int, x: float) -> float:
        while held and held[-1][1] <= x:
            held.pop()
        held.append((k, x))
        if held[0][0] <= k - WINDOW:
            held.popleft()
        return held[0][1]

    return step


def pandas_append(of: str) -> Step:
    held = pd.Series(dtype=float)

    def step(k: int, x: float) -> float:
        nonlocal held
        held = pd.concat([held.iloc[-(WINDOW - 1) :], pd.Series([x], index=[k])]) if len(held) else pd.Series([x])
        return float(getattr(held, of)())

    return step


def river_max() -> Step:
    from river import stats

    s: Any = stats.RollingMax(WINDOW)

    def step(k: int, x: float) -> Any:
        s.update(x)
        return s.get()

    return step


def river_median() -> Step:
    from river import stats

    s: Any = stats.RollingQuantile(0.5, WINDOW)

    def step(k: int, x: float) -> Any:
        s.update(x)
        return s.get()

    return step


def river_time() -> Step:
    from river import stats, utils

    s: Any = utils.TimeRolling(stats.Mean, period=timedelta(seconds=WINDOW))
    begin = datetime(2026, 1, 1)

    def step(k: int, x: float) -> Any:
        s.update(x, t=begin + timedelta(seconds=k))
        return s.get()

    return step


def of_river(build: Callable[[], Step]) -> Callable[[], Step] | None:
    return build if RIVER else None


TASKS: dict[str, list[Contender]] = {
    f"max, {WINDOW:,} rows": [
        Contender("Window.push", lambda: push_rows(sw.max()), 2.0),
        Contender("swag daba_lite", bare, 1.0),
        Contender("river RollingMax", of_river(river_max)),
        Contender("monotone deque by hand", monotone_deque),
        Contender("pandas by appending", lambda: pandas_append("max"), events=3000),
    ],
    f"median, {WINDOW:,} rows": [
        Contender("Window.push", lambda: push_rows(sw.median()), 2.0),
        Contender("river RollingQuantile", of_river(river_median)),
        Contender("pandas by appending", lambda: pandas_append("median"), events=3000),
    ],
    f"mean, last {WINDOW:,} s": [
        Contender("Window.push", push_time, 3.0),
        Contender("river TimeRolling(Mean)", of_river(river_time)),
    ],
    f"max and mean of {KEYS} keys, last {WINDOW:,} s": [Contender("Window.push", push_keyed, 5.0)],
    f"max and mean of {KEYS} keys, {WINDOW:,} rows": [Contender("Window.push", push_keyed_rows, 5.0)],
    f"max of hopping windows, {WINDOW:,} s every {WINDOW // 10} s": [Contender("Window.push", push_hopping, 3.0)],
}


def check_answers(task: str, contenders: list[Contender], values: list[float]) -> dict[str, str]:
    """Compare all answers of a task with the first contender's, which gives some of them later."""
    said: dict[str, str] = {}
    expected: list[Any] = []
    for contender in contenders:
        if contender.build is None:
            continue
        step = contender.build()
        answers = [answer for k, x in enumerate(values) for answer in _as_list(step(k, x))]
        if not expected:
            expected = answers
            continue
        pairs = list(zip(expected, answers, strict=False))
        same = all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in pairs)
        said[contender.name] = "same answers" if same else "[red]other answers[/red]"
    return said


def _as_list(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def measure(build: Callable[[], Step], values: list[float], passes: int) -> tuple[float, np.ndarray]:
    """CPU seconds per event, the best of some passes, and the shortest time of each event by the clock."""
    best, singles = math.inf, np.full(len(values), math.inf)
    step = build()
    for k, x in enumerate(values):
        step(k, x)
    background.wait()
    gc.collect()
    gc.disable()  # the collector's pauses are not the algorithm's
    for _ in range(passes):
        step = build()
        begin = time.process_time()
        for k, x in enumerate(values):
            step(k, x)
        best = min(best, time.process_time() - begin)
        step, clock, seconds = build(), time.perf_counter, np.empty(len(values))
        for k, x in enumerate(values):
            at = clock()
            step(k, x)
            seconds[k] = clock() - at
        singles = np.minimum(singles, seconds)
    gc.enable()
    return best / len(values), singles


def event_tables(events: int, passes: int) -> None:
    values = np.random.default_rng(0).random(events).tolist()
    for task, contenders in TASKS.items():
        table = Table(title=f"{task}: us per event", title_justify="left")
        for column in ("", "mean (CPU)", "p50", "p99.99", "max", "max later", "goal", ""):
            table.add_column(column, justify="right" if column else "left")
        said = check_answers(task, contenders, values[: 3 * WINDOW])
        for contender in contenders:
            if contender.build is None:
                table.add_row(contender.name, *[""] * 6, "river is not installed", style="dim")
                continue
            mean, singles = measure(contender.build, values[: contender.events], passes)
            later = singles[len(singles) // 2 :]
            shown = [mean, *np.quantile(singles, [0.5, 0.9999]).tolist(), singles.max(), later.max()]
            verdict, goal = said.get(contender.name, ""), ""
            if contender.goal is not None:
                goal = f"<= {contender.goal:g}"
                verdict = "ok" if mean * 1e6 <= contender.goal else "[red]above[/red]"
            table.add_row(contender.name, *(f"{v * 1e6:.2f}" for v in shown), goal, verdict)
            names = ("mean", "p50", "p9999", "max", "max_later")
            times = {name: float(v * 1e6) for name, v in zip(names, shown, strict=True)}
            record("events", task=task, by=contender.name, **times, at_most=contender.goal)
        console.print(table)


# ---- batches
def batch_table(passes: int) -> None:
    """push_many in batches, beside push of the same rows."""
    rng = np.random.default_rng(1)
    rows = 6 * BATCH
    x, keys, times = rng.random(rows), rng.integers(0, KEYS, rows), np.arange(rows)
    table = Table(title=f"push_many in batches of {BATCH:,}, window {WINDOW:,}: us per row", title_justify="left")
    for column in ("", "push_many", "push", "times as fast", "goal", ""):
        table.add_column(column, justify="right" if column else "left")
    two = {"peak": sw.max("x"), "mean": sw.avg("x")}
    cases: dict[str, Callable[[], sw.Window]] = {
        "max, rows": lambda: sw.Window({"peak": sw.max("x")}, sw.rows(WINDOW)),
        "median, rows": lambda: sw.Window({"mid": sw.median("x")}, sw.rows(WINDOW)),
        "max, time": lambda: sw.Window({"peak": sw.max("x")}, sw.time(WINDOW)),
        f"max and mean of {KEYS} keys, time": lambda: sw.Window(two, sw.time(WINDOW), partition_by="key"),
        f"max and mean of {KEYS} keys, rows": lambda: sw.Window(two, sw.rows(WINDOW), partition_by="key"),
    }
    for name, build in cases.items():
        timed = "time" in name
        columns = {"x": x, "key": keys, "t": times}
        batches = [{n: c[k : k + BATCH] for n, c in columns.items()} for k in range(0, rows, BATCH)]
        events = zip(x.tolist(), keys.tolist(), times.tolist(), strict=True)
        single = [({"x": a, "key": b}, c if timed else None) for a, b, c in events]
        best, best_single = math.inf, math.inf
        for _ in range(passes):
            many, one = build(), build()
            found = []
            for batch in batches:
                begin = time.process_time()
                found.append(many.push_many(batch, time="t" if timed else None))
                best = min(best, time.process_time() - begin)
            begin = time.process_time()
            results = [result for row, at in single for result in one.push(row, time=at)]
            best_single = min(best_single, time.process_time() - begin)
        output = found[0].column_names[-1]
        answers = [value for part in found for value in part[output].to_pylist()]
        same = len(answers) == len(results) and np.allclose(answers, [r[output] for r in results], rtol=1e-9)
        times_as_fast = (best_single / rows) / (best / BATCH)
        verdict = ("ok" if times_as_fast >= 20 else "[red]below[/red]") if same else "[red]other answers[/red]"
        cells = [f"{best / BATCH * 1e6:.3f}", f"{best_single / rows * 1e6:.2f}", f"{times_as_fast:.0f}", ">= 20"]
        table.add_row(name, *cells, verdict)
        many_us, single_us = best / BATCH * 1e6, best_single / rows * 1e6
        record("push_many", window=name, push_many=many_us, push=single_us, times=times_as_fast, at_least=20)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=50_000, help="events per measurement (default: 50,000)")
    parser.add_argument("--passes", type=int, default=5, help="passes, of which the best counts (default: 5)")
    parser.add_argument("--skip-events", action="store_true", help="only push_many")
    records.add_option(parser)
    options = parser.parse_args()
    packages = ("numba", "numpy", "pandas", "pyarrow", *(["river"] if RIVER else []))
    console.print(describe(*packages), style="dim")
    if not options.skip_events:
        event_tables(options.events, options.passes)
    batch_table(min(options.passes, 3))
    records.write(options.json, *packages)


if __name__ == "__main__":
    main()
