"""The conformance suite: any algorithm against recalculation from a plain list. Use it for your own ones too.

A run is a list of operations drawn at random from a seed. Each is done twice, on the structure under test and on
a list of (time, value); then lengths, times, results and the structure's own check() must hold. A failing run is
shortened by leaving operations out for as long as it still fails, and printed.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from slidewise.aggregations import count_distinct, median, mode
from slidewise.aggregations import max as largest
from slidewise.aggregations import sum as total_of
from slidewise.aggregations.base import Aggregation
from slidewise.algorithms import swag
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.registry import algorithm as registered
from slidewise.registry import missing
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates.checking import agree

Factory = Callable[..., Any]
Samples = Sequence[tuple[Aggregation, Sequence[Any]]]

#: (range, slide) of structures with fixed windows: slides that divide the range and that do not, and tumbling ones
FIXED_WINDOWS = ((1, 1), (7, 1), (16, 1), (12, 4), (10, 3), (11, 5), (9, 7), (6, 6))
CAPACITY = 40
#: check() may fold every part of the window, and is called at every step
LARGEST_WINDOW = 45


class AlgorithmBroken(SlidewiseError, AssertionError):
    """An algorithm that differs from recalculation; the message has the operations that show it.

    >>> from slidewise.testing import AlgorithmBroken, check_algorithm
    >>> class Forgets:
    ...     def __init__(self, aggregation): self.size = 0
    ...     def insert(self, value): self.size += 1
    ...     def evict(self): self.size -= 1
    ...     def query(self): return None
    ...     def __len__(self): return self.size
    >>> try: check_algorithm(Forgets)
    ... except AlgorithmBroken as error: print("broken")
    broken
    """


class Concatenation(Aggregation):
    """Strings joined in the order of the window: not commutative, so that swapped operands show."""

    identity = ""
    size_preserving = False

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return older + newer


class MeanAndSpread(Aggregation):
    """The mean and the sum of squared deviations: a partial of three numbers, as users write them."""

    identity = (0, 0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(x: Any) -> Any:
        return (1, float(x), 0.0)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        (m, mean, squares), (n, other_mean, other_squares) = older, newer
        distance = other_mean - mean
        return (
            m + n,
            mean + distance * n / (m + n),
            squares + other_squares + distance * distance * m * n / (m + n),
        )

    @staticmethod
    def lower(s: Any) -> Any:
        return s[1:]


class Extent(Aggregation):
    """The sum, the smallest and the largest: a partial in parts."""

    identity = (0, float("inf"), float("-inf"))
    commutative = True
    partial_parts = ("sum", "min", "max")

    @staticmethod
    def lift(x: Any) -> Any:
        return (x, x, x)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        return (older[0] + newer[0], min(older[1], newer[1]), max(older[2], newer[2]))


def default_samples() -> Samples:
    """List the aggregations that every algorithm is checked with where it can run them, and values to draw from."""
    numbers = (None, 0, 1, 2, 3, 5, 8, 13, 21, -4, -7)
    return (
        (total_of(), numbers),
        (largest(), (None, 0.5, 1.5, 2.5, -1.5, -0.0, 0.0, float("inf"), float("nan"))),
        (Concatenation(), (None, *"abcdefghij")),
        (MeanAndSpread(), (None, 1.0, 2.5, -3.25, 10.0)),
        (Extent(), numbers),
        (median(), numbers),
        (count_distinct(), numbers),
        (mode(), numbers),
    )


def check_algorithm(
    algorithm: str | Factory,
    aggregations: Iterable[tuple[Aggregation, Sequence[Any]]] | None = None,
    *,
    steps: int = 300,
    seed: int = 0,
    out_of_order: bool = False,
    ranges: bool = False,
) -> int:
    """Check an algorithm against recalculation, and return the number of runs; AlgorithmBroken if one differs.

    The algorithm is a name of the registry, or a class or function that takes an aggregation and returns a new
    structure with insert(value), evict(), query() and len(). Its check(values) is called after every step where
    there is one. What else it can do is in the registry; of your own, say so: `out_of_order` (insert(value, time=)
    in any order, evict(time=)), `ranges` (query(start, end) of times). Where there are bulk_insert, bulk_evict
    and remove, they are checked with times.

    `aggregations` are pairs of an aggregation and values to draw from, None among them for nulls.

    >>> from slidewise.testing import check_algorithm
    >>> check_algorithm("daba_lite") >= 4
    True
    >>> class Slow:
    ...     def __init__(self, aggregation):
    ...         self.aggregation, self.values = aggregation, []
    ...     def insert(self, value): self.values.append(value)
    ...     def evict(self): del self.values[-1]  # wrong: this is the youngest
    ...     def query(self):
    ...         return max((v for v in self.values if v is not None), default=None)
    ...     def __len__(self): return len(self.values)
    >>> import slidewise as sw
    >>> check_algorithm(Slow, [(sw.max(), [1, 2, 3])])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    slidewise.testing.conformance.AlgorithmBroken: Slow of max() differs from recalculation at step ...
    ...
    """
    samples = list(default_samples() if aggregations is None else aggregations)
    entry = registered(algorithm) if isinstance(algorithm, str) else None
    if entry is not None:
        samples = [(op, values) for op, values in samples if not missing(entry, op)]
        out_of_order, ranges = entry.out_of_order, entry.ranges
    runs = 0
    for op, values in samples:
        for drive in _drives(algorithm, entry, op, values, out_of_order, ranges):
            _run(drive, random.Random(f"{seed} {drive.name} {op.name}"), steps, seed)
            runs += 1
    if not runs:
        raise InvalidInput(
            f"check_algorithm: none of the aggregations given can run on {_name(algorithm)}; "
            "give pairs of an aggregation and values, as in [(slidewise.max(), [1, 2, 3])]"
        )
    return runs


# ---- what is driven, and how
@dataclass(frozen=True)
class _Drive:
    """One kind of run: how structures are made, how operations are drawn, and what limits them."""

    name: str
    subject: str
    aggregation: Aggregation
    make: Callable[[], Any]
    draw: Callable[[random.Random, int], Iterator[tuple[Any, ...]]]
    capacity: int | None = None
    ranges: bool = False
    window: tuple[int, int] | None = None


@dataclass
class _Model:
    """The oracle: the window as a list of (time, value), in the order of time and then of arrival."""

    rows: list[tuple[Any, Any]] = field(default_factory=list)
    #: whole slides that have left a fixed window
    slides: int = 0

    @property
    def values(self) -> list[Any]:
        return [value for _, value in self.rows]

    @property
    def times(self) -> list[Any]:
        return [time for time, _ in self.rows]

    def insert(self, value: Any, time: Any = None) -> None:
        place = len(self.rows) if time is None else bisect_right(self.times, time)
        self.rows.insert(place, (time, value))

    def evict_up_to(self, time: Any) -> None:
        self.rows = [row for row in self.rows if row[0] > time]

    def remove(self, time: Any) -> None:
        self.rows = [row for row in self.rows if row[0] != time]

    def between(self, start: Any, end: Any) -> list[Any]:
        return [value for time, value in self.rows if start <= time <= end]


def recalculate_plainly(op: Aggregation, values: Iterable[Any]) -> Any:
    """Compute the result over some values, from the aggregation's functions alone.

    >>> import slidewise as sw
    >>> recalculate_plainly(sw.sum(), [1, None, 2]), recalculate_plainly(sw.sum(), [None])
    (3, None)
    """
    total: Any = None
    empty, arity = True, op.arity
    needed = () if op.nulls == "keep" else range(arity) if op.nulls == "skip" else op.nulls
    for value in values:
        row = (value,) if arity == 1 else value
        if any(row[k] is None for k in needed):
            continue
        partial = op.lift(*row)
        total, empty = (partial if empty else op.combine(total, partial)), False
    if empty:
        return op.empty
    return op.lower(total) if op.defined(total) else None


def _drives(
    algorithm: str | Factory,
    entry: AlgorithmEntry | None,
    op: Aggregation,
    values: Sequence[Any],
    out_of_order: bool,
    ranges: bool,
) -> Iterator[_Drive]:
    subject = _name(algorithm)
    takes = entry.required if entry is not None else ()
    given = dict(entry.given) if entry is not None else {}

    def make(**options: Any) -> Callable[[], Any]:
        if isinstance(algorithm, str):
            return lambda: swag(algorithm, op, **options)
        return lambda: algorithm(op)

    if "range" in takes:
        for size, slide in FIXED_WINDOWS:
            yield _Drive(
                f"range {size}, slide {slide}", subject, op, make(range=size, slide=slide),
                lambda rng, steps: _draw_fixed(rng, steps // 4, values), window=(size, slide),
            )  # fmt: skip
        return
    capacity = CAPACITY if "capacity" in takes else given.get("capacity")
    structure = make(capacity=capacity) if capacity else make()
    yield _Drive("fifo", subject, op, structure, lambda rng, steps: _fifo(rng, steps, values), capacity)
    if entry is not None or out_of_order or ranges:
        yield _Drive(
            "in order of time", subject, op, structure,
            lambda rng, steps: _draw_timed(rng, steps, values, 0, ranges), capacity, ranges,
        )  # fmt: skip
    # reactive takes late values where combine commutes, and refuses them otherwise
    if out_of_order and (op.commutative or entry is None or entry.name != "reactive"):
        yield _Drive(
            "out of order", subject, op, structure,
            lambda rng, steps: _draw_timed(rng, steps, values, 12, ranges), capacity, ranges,
        )  # fmt: skip


def _fifo(rng: random.Random, steps: int, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Phases of growing, draining and holding a size, with queries in between."""
    held = 0  # at most: evictions of an empty window are left out
    while steps > 0:
        share = rng.choice((0.1, 0.5, 0.5, 1.0))
        for _ in range(rng.choice((5, 20, 40))):
            if rng.random() < 0.5:
                yield ("query",)
            if rng.random() < share and held < LARGEST_WINDOW:
                yield ("insert", rng.choice(values))
                held += 1
            else:
                yield ("evict",)
                held -= held > 0
            steps -= 1


def _draw_timed(
    rng: random.Random, steps: int, values: Sequence[Any], disorder: int, ranges: bool
) -> Iterator[tuple[Any, ...]]:
    """Run a clock that moves on by small steps, so that times repeat; rows come up to `disorder` late."""
    clock = 0
    kinds = ["insert"] * 8 + ["evict"] * 4 + ["evict_time", "query", "query", "query"]
    kinds += ["range"] * 3 * ranges + ["bulk_insert", "bulk_evict", "remove", "remove"]
    for _ in range(steps):
        clock += rng.choice((0, 1, 1, 2, 5))
        late = clock - rng.randint(0, disorder)
        kind = rng.choice(kinds)
        if kind == "insert":
            yield ("insert", rng.choice(values), late)
        elif kind in ("evict_time", "bulk_evict"):
            yield (kind, clock - rng.randint(5, 40))
        elif kind == "remove":
            yield ("remove", clock - rng.randint(0, 40))
        elif kind == "range":
            start = clock - rng.randint(-2, 60)
            yield ("range", start, start + rng.randint(0, 50))
        elif kind == "bulk_insert":
            rows = [(clock - rng.randint(0, disorder), rng.choice(values)) for _ in range(rng.randint(0, 20))]
            yield ("bulk_insert", rows)
        else:
            yield (kind,)


def _draw_fixed(rng: random.Random, steps: int, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """One value after the other; the oldest slide leaves before the next one comes, or with its last value."""
    for _ in range(steps):
        yield ("fixed", rng.choice(values), rng.random() < 0.5)


# ---- one run
def _run(drive: _Drive, rng: random.Random, steps: int, seed: int) -> None:
    operations = list(drive.draw(rng, steps))
    failure = _first_failure(drive, operations)
    if failure is None:
        return
    step, reason, _ = failure
    short = _shorten(drive, operations[: step + 1])
    final = _first_failure(drive, short)
    assert final is not None
    log = "\n".join(f"  {_text(operation)}" for operation in short)
    raise AlgorithmBroken(
        f"{drive.subject} of {drive.aggregation!r} differs from recalculation at step {step + 1} of {steps} "
        f"({drive.name}, seed {seed}).\n{reason}\nShortened to {len(short)} operations:\n{log}\n{final[1]}"
    ) from final[2]


def _shorten(drive: _Drive, operations: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Leave out runs of operations, ever shorter ones, while what is left still fails."""
    length = len(operations) // 2
    while length:
        k = 0
        while k < len(operations):
            shorter = operations[:k] + operations[k + length :]
            failure = _first_failure(drive, shorter)
            if failure is None:
                k += length
            else:
                operations = shorter[: failure[0] + 1]
        length //= 2
    return operations


def _first_failure(drive: _Drive, operations: list[tuple[Any, ...]]) -> tuple[int, str, Exception | None] | None:
    """Find the step that fails, how, and the exception behind it."""
    structure, model = drive.make(), _Model()
    for step, operation in enumerate(operations):
        try:
            wrong = _apply(drive, structure, model, operation) or _differences(drive, structure, model)
        except Exception as error:
            return step, f"{_text(operation)} raised {error!r}; the window is {model.values}", error
        if wrong:
            return step, wrong, None
    return None


def _apply(drive: _Drive, structure: Any, model: _Model, operation: tuple[Any, ...]) -> str:
    """Do one operation on both; what cannot be done in this state is left out. Says what differs, or nothing."""
    kind, *arguments = operation
    room = None if drive.capacity is None else drive.capacity - len(model.rows)
    if kind == "insert" and room != 0:
        value, *time = arguments
        structure.insert(value, **({"time": time[0]} if time else {}))
        model.insert(value, *time)
    elif kind == "evict" and model.rows:
        structure.evict()
        del model.rows[0]
    elif kind == "evict_time":
        structure.evict(time=arguments[0])
        model.evict_up_to(arguments[0])
    elif kind == "bulk_evict" and hasattr(structure, "bulk_evict"):
        structure.bulk_evict(arguments[0])
        model.evict_up_to(arguments[0])
    elif kind == "bulk_insert" and hasattr(structure, "bulk_insert"):
        structure.bulk_insert(arguments[0])
        for time, value in arguments[0]:
            model.insert(value, time)
    elif kind == "remove" and hasattr(structure, "remove") and arguments[0] in model.times:
        structure.remove(arguments[0])
        model.remove(arguments[0])
    elif kind == "range":
        expected = recalculate_plainly(drive.aggregation, model.between(*arguments))
        return _compare(structure.query(*arguments), expected, model.between(*arguments), operation)
    elif kind == "query":
        return _compare_query(drive, structure, model)
    elif kind == "fixed":
        return _slide(drive, structure, model, *arguments)
    return ""


def _slide(drive: _Drive, structure: Any, model: _Model, value: Any, early: bool) -> str:
    assert drive.window is not None
    size, slide = drive.window

    def evict() -> None:
        for _ in range(slide):
            structure.evict()
            del model.rows[0]
        model.slides += 1

    if early and len(model.rows) >= size:
        evict()
    structure.insert(value)
    model.insert(value)
    if len(model.rows) == size + slide:
        evict()
    filling = len(model.rows) < size and not model.slides
    return _compare_query(drive, structure, model) if filling or len(model.rows) == size else ""


def _compare_query(drive: _Drive, structure: Any, model: _Model) -> str:
    expected = recalculate_plainly(drive.aggregation, model.values)
    return _compare(structure.query(), expected, model.values, ("query",))


def _compare(got: Any, expected: Any, values: list[Any], operation: tuple[Any, ...]) -> str:
    if agree(got, expected):
        return ""
    return f"{_text(operation)} gave {got!r}, recalculating {values!r} gives {expected!r}"


def _differences(drive: _Drive, structure: Any, model: _Model) -> str:
    if len(structure) != len(model.rows):
        return f"len() is {len(structure)}, and the window has {len(model.rows)} values: {model.values!r}"
    if model.rows and model.times[0] is not None and hasattr(structure, "oldest"):
        ends = (structure.oldest, structure.youngest)
        if ends != (model.times[0], model.times[-1]):
            return f"oldest and youngest are {ends}, and the times held are {model.times}"
    if hasattr(structure, "check"):
        structure.check(model.values)
    return ""


def _name(algorithm: str | Factory) -> str:
    return str(getattr(algorithm, "__name__", algorithm))


def _text(operation: tuple[Any, ...]) -> str:
    kind, *arguments = operation
    if kind == "insert" and len(arguments) == 2:
        return f"insert({arguments[0]!r}, time={arguments[1]!r})"
    if kind == "fixed":
        value, early = arguments
        return f"insert({value!r})" + (" after a slide has left, where the window is full" if early else "")
    if kind == "evict_time":
        return f"evict(time={arguments[0]!r})"
    name = "query" if kind == "range" else kind
    return f"{name}({', '.join(map(repr, arguments))})"
