"""Claims as counts: no clock, no noise.

A combine that counts its calls and does not commute (it joins text), a window of n, 4n slides, and every answer
compared with a plain fold. The predicates are the papers' own bounds.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import slidewise as sw
from benchmarks.papers.experiment import Cell, Claim, Experiment, Results, Scale, Table, Verdict, judge, number
from slidewise.algorithms import holistic_frames
from slidewise.algorithms.sba import optimal_chunk_size

MORE = "an operation makes more calls of combine, or holds more partials, than was proved: a fault of ours"


# ---- aggregations that count
class Joined(sw.Aggregation):
    """Text, joined: associative, and not commutative."""

    identity = ""
    #: calls of combine, of this thread alone where one is set
    calls = 0
    thread: int | None = None

    @staticmethod
    def combine(a: str, b: str) -> str:
        if Joined.thread in (None, threading.get_ident()):
            Joined.calls += 1
        return a + b


class Largest(sw.Aggregation):
    """The largest number: selective, as SlickDeque needs it."""

    identity = -math.inf
    commutative = True
    selective = True
    calls = 0

    @staticmethod
    def combine(a: float, b: float) -> float:
        Largest.calls += 1
        return b if b > a else a


def count(kind: Any, call: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    """What a call gives, and the calls of combine that it makes."""
    before = kind.calls
    answer = call(*arguments)
    return answer, kind.calls - before


def letter(k: int) -> str:
    """The k-th value of the stream: no two near each other are alike."""
    return chr(97 + k % 26)


# ---- theorems 3, 7, 10, 13 of the DABA paper
def count_operations(algorithm: str, series: str, n: int) -> Iterator[Cell]:
    """The combines of every operation in 4n slides of a full window, most and mean, and the most partials held."""
    s = sw.swag(algorithm, Joined())
    window = [letter(k) for k in range(n)]
    for value in window:
        s.insert(value)
    taken: dict[str, list[int]] = {"insert": [], "evict": [], "query": []}
    most = 0
    for k in range(n, 5 * n):
        taken["evict"].append(count(Joined, s.evict)[1])
        taken["insert"].append(count(Joined, s.insert, letter(k))[1])
        window = [*window[1:], letter(k)]
        answer, calls = count(Joined, s.query)
        taken["query"].append(calls)
        assert answer == "".join(window), f"{algorithm}: a wrong answer after {k} insertions"
        if k % 31 == 0:  # counting them takes n steps
            most = max(most, s.partials())
    for operation, calls_of_all in taken.items():
        yield Cell(series, f"{operation}, most", max(calls_of_all), "combines")
        yield Cell(series, f"{operation}, mean", sum(calls_of_all) / len(calls_of_all), "combines")
    yield Cell(series, "partials", most, "partials")
    yield Cell(series, "n", n, "values")


def theorem(
    id: str,
    name: str,
    algorithm: str,
    series: str,
    most: tuple[float, float, float],
    mean: tuple[float, float],
    partials: Callable[[float], float],
    paper: str,
) -> Experiment:
    """The experiment of one theorem: insert, evict and query at most, insert and evict on average, partials by n."""

    def check(r: Results) -> Verdict:
        n = r.value(series, "n")
        found = [r.value(series, f"{o}, most") for o in ("insert", "evict", "query")]
        averages = [r.value(series, f"{o}, mean") for o in ("insert", "evict")]
        held = r.value(series, "partials")
        holds = (
            all(a <= min(b, n) for a, b in zip(found, most, strict=True))
            and all(a <= b * 1.01 for a, b in zip(averages, mean, strict=True))
            and held <= partials(n)
        )
        insert, evict, query = map(number, found)
        ours = (
            f"insert at most {insert} ({averages[0]:.2f} on average), evict {evict} ({averages[1]:.2f}), "
            f"query {query}; {number(held)} partials at n = {number(n)}"
        )
        return judge(holds, ours, MORE)

    def run(scale: Scale) -> Iterator[Cell]:
        return count_operations(algorithm, series, scale.pick(tiny=64, quick=1024, full=1024))

    claims = (Claim(f"counts-{id}", paper, check),)
    title = f"{name}: combines of {series}"
    return Experiment(f"counts-{id}", "DABA", title, run, draw_counts, claims, "nothing", seconds=1)


def draw_counts(results: Results) -> Table:
    """A row for each series, and a column for each thing that was counted."""
    xs = results.xs()
    rows = [
        (s, *(number(results.value(s, x)) if results.has(s, x) else "" for x in xs)) for s in results.series()
    ]  # fmt: skip
    return Table(("", *map(str, xs)), rows)


THEOREMS = (
    theorem(
        "t3", "Theorem 3", "two_stacks", "Two-Stacks", (1, math.inf, 1), (1, 1), lambda n: 2 * n,
        "insert 1, query 1, evict at most n and 1 amortised; 2n partials",
    ),
    theorem(
        "t7", "Theorem 7", "two_stacks_lite", "Two-Stacks Lite", (1, math.inf, 1), (1, 1), lambda n: n + 1,
        "insert 1, query 1, evict at most n and 1 amortised; n + 1 partials",
    ),
    theorem(
        "t10", "Theorem 10", "daba", "DABA", (4, 3, 1), (2.5, 1.5), lambda n: 2 * n,
        "query 1, insert at most 4 (2.5 on average), evict at most 3 (1.5); 2n partials",
    ),
    theorem(
        "t13", "Theorem 13", "daba_lite", "DABA Lite", (3, 2, 1), (2, 1), lambda n: n + 2,
        "query 1, insert at most 3 (2 on average), evict at most 2 (1); n + 2 partials",
    ),
)  # fmt: skip


# ---- the printed pseudo-code
class Pointers:
    """The pointers of DABA and DABA Lite, by the printed pseudo-code (both move them alike), and the cases of fixup."""

    def __init__(self) -> None:
        self.f = self.l = self.r = self.a = self.b = self.e = 0
        self.cases: list[str] = []

    def insert(self) -> None:
        self.e += 1
        self._fixup()

    def evict(self) -> None:
        self.f += 1
        self._fixup()

    def _fixup(self) -> None:
        if self.f == self.b:
            self.cases.append("singleton")
            self.b = self.a = self.r = self.l = self.e
            return
        if self.l == self.b:
            self.cases.append("flip")
            self.l, self.a, self.b = self.f, self.e, self.e
        if self.l == self.r:
            self.cases.append("shift")
            self.a, self.r, self.l = self.a + 1, self.r + 1, self.l + 1
        else:
            self.cases.append("shrink")
            self.l, self.a = self.l + 1, self.a - 1

    def values(self) -> tuple[int, ...]:
        return self.f, self.l, self.r, self.a, self.b, self.e


def run_pointers(scale: Scale) -> Iterator[Cell]:
    """Random insertions and evictions, ours and the printed code side by side."""
    for algorithm, series in (("daba", "DABA"), ("daba_lite", "DABA Lite")):
        chance = random.Random(1)
        ours, printed, window = sw.swag(algorithm, Joined()), Pointers(), 0
        unlike, steps = 0, scale.pick(tiny=2000, quick=24_000, full=24_000)
        for k in range(steps):
            grow = window == 0 or chance.random() < (0.65 if k // 500 % 2 == 0 else 0.35)
            if grow:
                ours.insert("x")
                printed.insert()
            else:
                ours.evict()
                printed.evict()
            window += 1 if grow else -1
            unlike += (ours.front, ours.l, ours.r, ours.a, ours.b, ours.end) != printed.values()
        cycles = list(whole_cycles(printed.cases))
        yield Cell(series, "steps", steps, "operations")
        yield Cell(series, "unlike", unlike, "operations")
        yield Cell(series, "cycles", len(cycles), "cycles")
        yield Cell(series, "longest", max(map(len, cycles)), "steps")
        yield Cell(series, "other cycles", sum(not is_regular(cycle) for cycle in cycles), "cycles")


def whole_cycles(cases: list[str]) -> Iterator[list[str]]:
    """The cases from each flip to the next, but where the window became empty in between."""
    flips = [k for k, case in enumerate(cases) if case == "flip"]
    for begin, end in pairwise(flips):
        if "singleton" not in cases[begin:end]:
            yield cases[begin:end]


def is_regular(cycle: list[str]) -> bool:
    """Whether a cycle is a flip, m shrinks and m shifts.

    >>> is_regular(["flip", "shrink", "shrink", "shift", "shift"]), is_regular(["flip", "shrink"])
    (True, False)
    """
    m = len(cycle) // 2
    return cycle == ["flip"] + ["shrink"] * m + ["shift"] * m


def same_pointers(r: Results) -> Verdict:
    unlike = [r.value(s, "unlike") for s in r.series()]
    steps = number(r.value("DABA", "steps"))
    ours = f"of {steps} random operations each, pointers differ after {number(unlike[0])} and {number(unlike[1])}"
    return judge(sum(unlike) == 0, ours, "pointers that differ from the printed code's: a fault of ours")


def regular_cycles(r: Results) -> Verdict:
    others = sum(r.value(s, "other cycles") for s in r.series())
    ours = f"{number(others)} of {number(sum(r.value(s, 'cycles') for s in r.series()))} cycles are different"
    return judge(others == 0, f"{ours}; the longest has {number(max(r.value(s, 'longest') for s in r.series()))} steps",
                 "a cycle of other cases: a fault of ours")  # fmt: skip


# ---- FlatFAT and the Reactive Aggregator
def run_fat(scale: Scale) -> Iterator[Cell]:
    n = scale.pick(tiny=64, quick=1024, full=1024)
    depth = int(math.log2(n))
    values = [letter(k) for k in range(n)]
    s = sw.swag("flat_fat", Joined(), capacity=n)
    yield Cell("new", "calls", count(Joined, s.new, values)[1], "combines")
    yield Cell("new", "bound", n - 1, "combines")
    chance = random.Random(2)
    for m in (1, 8, n // 4, n):
        worst = 0
        for _ in range(10):
            places = chance.sample(range(n), m)
            for place in places:
                values[place] = letter(chance.randrange(26))
            worst = max(worst, count(Joined, s.update, {p + 1: values[p] for p in places})[1])
        assert s.aggregate() == "".join(values)
        yield Cell(f"update of {m}", "calls", worst, "combines")
        yield Cell(f"update of {m}", "bound", m * (1 + math.ceil(math.log2(n / m))), "combines")
    for name, call, fold in (
        ("prefix", s.prefix, lambda i: "".join(values[:i])),
        ("suffix", s.suffix, lambda i: "".join(values[i - 1 :])),
    ):
        worst = 0
        for place in range(1, n + 1):
            answer, calls = count(Joined, call, place)
            assert answer == fold(place), f"{name}({place}) is wrong"
            worst = max(worst, calls)
        yield Cell(name, "calls", worst, "combines")
        yield Cell(name, "bound", depth, "combines")
    yield Cell("aggregate", "calls", count(Joined, s.aggregate)[1], "combines")
    yield Cell("aggregate", "bound", 0, "combines")


def fat_within_bounds(r: Results) -> Verdict:
    ours = ", ".join(f"{s} {number(r.value(s, 'calls'))} <= {number(r.value(s, 'bound'))}" for s in r.series())
    exact = r.value("new", "calls") == r.value("new", "bound")
    return judge(exact and all(r.value(s, "calls") <= r.value(s, "bound") for s in r.series()), ours, MORE)


def run_resizes(scale: Scale) -> Iterator[Cell]:
    """The capacity of the Reactive Aggregator as it fills and empties, and as it fills with holes."""
    s = sw.swag("reactive", Joined())
    capacity = s.capacity
    for size in range(1, 34):
        s.insert("x")
        if s.capacity != capacity:
            yield Cell("doubles at", capacity, size, "values")
            capacity = s.capacity
    for size in range(32, -1, -1):
        s.evict()
        if s.capacity != capacity:
            yield Cell("halves at", capacity, size, "values")
            capacity = s.capacity
    for held in (11, 12, 13, 15):
        s = sw.swag("reactive", sw.sum())
        for time in range(16):
            s.insert(1, time=time)
        for time in range(1, 17 - held):
            s.remove(time)
        s.insert(1, time=99)
        assert s.query() == held + 1
        yield Cell("slots after an insertion into 16, full, of which so many hold values", held, s.capacity, "slots")


def resizes_as_printed(r: Results) -> Verdict:
    doubles = {x: r.value("doubles at", x) for x in r.xs("doubles at")}
    halves = {x: r.value("halves at", x) for x in r.xs("halves at")}
    full = r.series()[-1]
    slots = {x: r.value(full, x) for x in r.xs(full)}
    holds = (
        all(size == capacity + 1 for capacity, size in doubles.items())
        and all(4 * size < capacity <= 4 * (size + 1) for capacity, size in halves.items())
        and all(after == (32 if 4 * held > 3 * 16 else 16) for held, after in slots.items())
    )
    ours = (
        f"doubles at {_list(doubles.values())} values, halves at {_list(halves.values())}; a full 16 with "
        + ", ".join(f"{held} values has {number(after)} slots after" for held, after in slots.items())
    )  # fmt: skip
    return judge(holds, ours, "another rule of resizing: a fault of ours")


def _list(values: Any) -> str:
    return ", ".join(map(number, values))


# ---- table 1 of the PBA paper
#: amortised and worst combines of a slide, and the partials, as printed
PRINTED: dict[str, tuple[float, Callable[[float], float], Callable[[float], float]]] = {
    "TwoStack": (3, lambda n: n, lambda n: 2 * n),
    "DABA": (5, lambda n: 8, lambda n: 2 * n),
    "FlatFIT": (3, lambda n: n, lambda n: 2 * n),
    "SlickDeque": (2, lambda n: n, lambda n: 2 * n),
    "PBA": (3, lambda n: 3, lambda n: (3 * n + 13) / 2),
}


def run_table1(scale: Scale) -> Iterator[Cell]:
    n = scale.pick(tiny=64, quick=1024, full=1024)
    chance = random.Random(3)
    texts = [letter(k) for k in range(6 * n)]
    for series, algorithm in (("TwoStack", "two_stacks"), ("DABA", "daba"), ("FlatFIT", "flat_fit")):
        yield from count_slides(series, sw.swag(algorithm, Joined()), Joined, texts, n)
    numbers = [chance.random() for _ in range(5 * n)]
    yield from count_slides("SlickDeque", sw.swag("slick_deque", Largest()), Largest, numbers, n)
    falling = [float(2 * n - k) for k in range(n + 4)] + [float(3 * n)]
    worst = list(count_slides("", sw.swag("slick_deque", Largest()), Largest, falling, n))
    yield Cell("SlickDeque", "worst after a descending run", worst[1].value, "combines")
    Joined.thread = threading.get_ident()
    try:
        with sw.swag("pba", Joined(), range=n) as structure:
            yield from count_slides("PBA", structure, Joined, texts, n)
    finally:
        Joined.thread = None


def count_slides(series: str, s: Any, kind: Any, values: list[Any], n: int) -> Iterator[Cell]:
    """The combines of slides over a full window, on average over whole cycles and at worst, and the partials held."""
    for value in values[:n]:
        s.insert(value)
    calls, most = [], 0
    for k in range(n, len(values)):
        before = kind.calls
        s.evict()
        s.insert(values[k])
        answer = s.query()
        calls.append(kind.calls - before)
        window = values[k - n + 1 : k + 1]
        assert answer == ("".join(window) if kind is Joined else max(window)), f"{series}: a wrong answer at {k}"
        if k % 31 == 0:  # counting them takes n steps
            most = max(most, s.partials())
    yield Cell(series, "amortised", sum(calls) / len(calls), "combines")
    yield Cell(series, "worst", max(calls), "combines")
    yield Cell(series, "partials", most, "partials")
    yield Cell(series, "n", n, "values")


def table1_holds(r: Results) -> Verdict:
    parts, holds = [], True
    for series, (amortised, worst, partials) in PRINTED.items():
        n = r.value(series, "n")
        found = [r.value(series, x) for x in ("amortised", "worst", "partials")]
        # TwoStack and FlatFIT reach their bound over a whole cycle, whose ends are not those of the measured slides
        holds &= found[0] <= amortised * 1.01 and found[1] <= worst(n) and found[2] <= partials(n)
        parts.append(f"{series} {found[0]:.2f}/{number(found[1])}")
    n = r.value("SlickDeque", "n")
    descending = r.value("SlickDeque", "worst after a descending run")
    holds &= n / 2 <= descending <= n
    ours = f"amortised/worst at n = {number(n)}: {', '.join(parts)}; SlickDeque after a run down {number(descending)}"
    return judge(holds, ours, MORE)


def draw_table1(results: Results) -> Table:
    def row(series: str) -> list[str]:
        n = results.value(series, "n")
        amortised, worst, partials = PRINTED[series]
        found = [number(results.value(series, x)) for x in ("amortised", "worst", "partials")]
        return [series, f"{amortised:g}", found[0], number(worst(n)), found[1], number(partials(n)), found[2]]

    header = ("", "amortised, paper", "ours", "worst, paper", "ours", "partials, paper", "ours")
    return Table(header, [row(series) for series in PRINTED])


def run_chunks(scale: Scale) -> Iterator[Cell]:
    for window, slide in ((10, 2), (32, 1), (2**20, 1)):
        yield Cell("chunk", f"W[{window:,}, {slide}]", optimal_chunk_size(window, slide), "slices")
    most = scale.pick(tiny=50, quick=200, full=200)
    ks = [r // s // optimal_chunk_size(r, s) for r in range(1, most) for s in range(1, r + 1)]
    yield Cell("k, least", f"r < {most}", min(ks), "chunks")
    yield Cell("k, most", f"r < {most}", max(ks), "chunks")


def chunks_as_printed(r: Results) -> Verdict:
    found = [int(r.value("chunk", x)) for x in r.xs("chunk")]
    ours = ", ".join(f"{x} -> {number(c)}" for x, c in zip(r.xs("chunk"), found, strict=True))
    return judge(found == [4, 17, 524_289], ours, "another chunk size than theorem 1's: a fault of ours")


def one_chunk_between(r: Results) -> Verdict:
    (x,) = r.xs("k, least")
    low, high = r.value("k, least", x), r.value("k, most", x)
    return judge(
        low == high == 1, f"k from {low:g} to {high:g} for all {x}, s <= r", "theorem 1's chunk gives another k"
    )


# ---- the holistic paper
def run_half(scale: Scale) -> Iterator[Cell]:
    """Selections that Quantile with Replacement spares, on random values."""
    chance = random.Random(4)
    for w in scale.pick(tiny=[11, 101], quick=[11, 101, 1001], full=[11, 101, 1001]):
        rows = scale.pick(tiny=20, quick=20, full=40) * w if w < 1000 else 3 * w
        values = [chance.random() for _ in range(rows)]
        start = range(rows - w)
        _, work = holistic_frames.quantile(
            values, start, [a + w for a in start], 0.5, continuous=False, method="paper", variant="replace"
        )
        yield Cell("Replace", w, 100 * work.avoided / len(start), "% of selections spared")


def half_is_spared(r: Results) -> Verdict:
    shares = r.values("Replace")
    ours = ", ".join(f"{share:.0f} % (W = {w:,})" for w, share in zip(r.xs("Replace"), shares, strict=True))
    return judge(all(40 <= share <= 60 for share in shares), ours, "the new value lands on the other side more often")


def run_tau(scale: Scale) -> Iterator[Cell]:
    """Tables of counts that are made anew, by tau and W, over 100 values."""
    chance = random.Random(5)
    for w in scale.pick(tiny=[10, 100], quick=[10, 30, 100], full=[10, 30, 100]):
        rows = w + scale.pick(tiny=1000, quick=4000, full=10_000)
        values = [chance.randrange(100) for _ in range(rows)]
        start = range(rows - w)
        for tau in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9):
            _, work = holistic_frames.count_distinct(values, start, [a + w for a in start], tau=tau)
            yield Cell(f"W = {w}", tau, (work.recounts - 1) * 1000 / len(start), "recounts per 1,000 frames")


def no_flush_below_the_ratio(r: Results) -> Verdict:
    below = []
    for series in r.series():
        w = int(series.split()[-1])
        for tau in r.xs(series):
            # a window of w random values of 100 holds so many different ones
            expected = 1 - 0.99**w
            if tau <= 0.5 * expected:
                below.append(r.value(series, tau))
    dips = r.value("W = 10", 0.25)
    ours = (
        f"at W = 10 {number(dips)} at tau 0.25 and {number(r.value('W = 10', 0.05))} at 0.05; at most "
        f"{number(max(below))} where tau is below half of the share of the values that a frame has"
    )
    return judge(max(below) == 0 and dips > 0, ours, "tables are flushed at another tau")


def draw_tau(results: Results) -> Any:
    from benchmarks.papers.pictures import lines

    return lines(results, xlabel="tau", ylabel="recounts per 1,000 frames", xscale="linear", yscale="symlog")


def run_selections(scale: Scale) -> Iterator[Cell]:
    chance = random.Random(6)
    w = scale.pick(tiny=200, quick=3000, full=10_000)
    frames = scale.pick(tiny=200, quick=60, full=60)
    values = [chance.random() for _ in range(w + frames)]
    start = range(frames)
    for series, variant in (("Naive", "naive"), ("Reuse", "reuse"), ("Replace", "replace")):
        _, work = holistic_frames.quantile(
            values, start, [a + w for a in start], 0.5, continuous=False, method="paper", variant=variant
        )
        yield Cell(series, w, work.visits / frames / w, "values visited per frame / W")


def fewer_visits(r: Results) -> Verdict:
    (w,) = r.xs("Naive")
    naive, reuse, replace = (r.value(s, w) for s in ("Naive", "Reuse", "Replace"))
    ours = f"at W = {w:,} naive {naive:.2f} W, reuse {reuse:.2f} W, replace {replace:.2f} W"
    return judge(
        reuse <= 0.6 * naive and replace <= 0.6 * reuse, ours, "the order of earlier frames misleads the pivots"
    )


EXPERIMENTS = (
    *THEOREMS,
    Experiment(
        id="counts-inv",
        paper="DABA",
        title="Sections 5 and 6: pointers beside the printed pseudo-code",
        run=run_pointers,
        draw=draw_counts,
        claims=(
            Claim(
                "counts-inv-a",
                "pointers F, L, R, A, B, E after every operation, as the pseudo-code has them",
                same_pointers,
            ),
            Claim("counts-inv-b", "each cycle is a flip, m shrinks and m shifts", regular_cycles),
        ),
        scaled="nothing: the paper proves it",
        seconds=1,
    ),
    Experiment(
        id="counts-fat",
        paper="RA",
        title="Theorem 4.2: combines of FlatFAT",
        run=run_fat,
        draw=draw_counts,
        claims=(
            Claim(
                "counts-fat",
                "new n - 1; update of m at most m (1 + ceil(log2(n/m))); prefix and suffix at most log2 n; aggregate 0",
                fat_within_bounds,
            ),
        ),
        scaled="nothing: the paper proves it",
        seconds=1,
    ),
    Experiment(
        id="counts-res",
        paper="RA",
        title="Section 5.1.1: when the Reactive Aggregator resizes",
        run=run_resizes,
        draw=draw_counts,
        claims=(
            Claim(
                "counts-res",
                "a full buffer doubles where more than 3/4 is used, and is compacted otherwise; it halves below 1/4",
                resizes_as_printed,
            ),
        ),
        scaled="nothing",
        seconds=1,
    ),
    Experiment(
        id="counts-pba1",
        paper="PBA",
        title="Table 1: combines of a slide, and space",
        run=run_table1,
        draw=draw_table1,
        claims=(
            Claim(
                "counts-pba1",
                "amortised/worst: TwoStack 3/n, DABA 5/8, FlatFIT 3/n, SlickDeque < 2/n, PBA < 3/3; 2n partials, PBA "
                "(3n+13)/2",
                table1_holds,
            ),
        ),
        scaled="nothing. PBA: the combines of the main thread, as in the paper",
        seconds=3,
    ),
    Experiment(
        id="counts-chunk",
        paper="PBA",
        title="Theorem 1: the chunk size",
        run=run_chunks,
        draw=draw_counts,
        claims=(
            Claim(
                "counts-chunk-a",
                "W[10, 2] -> 4 (figure 2 draws 5), W[32, 1] -> 17, W[2^20, 1] -> 524,289 (printed as 5242884: a slip)",
                chunks_as_printed,
            ),
            Claim("counts-chunk-b", "a window spans one whole chunk and parts of others: k = 1", one_chunk_between),
        ),
        scaled="nothing",
        seconds=1,
    ),
    Experiment(
        id="counts-half",
        paper="HOL",
        title="Section 5.5: selections that replacement spares",
        run=run_half,
        draw=draw_counts,
        claims=(Claim("counts-half", "about half of all selections", half_is_spared),),
        scaled="frames: some thousand of each size",
        seconds=4,
    ),
    Experiment(
        id="counts-tau",
        paper="HOL",
        title="Sections 3.3 and 6.4: recounts by tau",
        run=run_tau,
        draw=draw_tau,
        claims=(
            Claim(
                "counts-tau",
                "frames of 10 rows over 100 values are flushed at tau = 0.25; none is where tau is below W / domain",
                no_flush_below_the_ratio,
            ),
        ),
        scaled="10,000 frames of each size",
        seconds=3,
    ),
    Experiment(
        id="counts-sel",
        paper="HOL",
        title="Section 5.4: values that QuickSelect visits",
        run=run_selections,
        draw=draw_counts,
        claims=(
            Claim("counts-sel", "reuse needs fewer reordering operations, and replacement half of those", fewer_visits),
        ),
        scaled="60 frames of 10,000 rows",
        seconds=5,
    ),
)
