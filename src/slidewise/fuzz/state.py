"""The target `state`: real states whose bytes were changed and sealed again, which are refused or go on.

Each case is one state of a structure, a window or a bucket of a stream. Its values are cut, spliced, repeated and
replaced by hostile ones, and the checksum is made right again: a checksum only finds damage. Loading must raise
StateError, or give what can be pushed to and queried, in memory that the size of the bytes bounds.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import slidewise as sw
from slidewise.errors import SlidewiseError, StateError
from slidewise.registry import missing
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.serialization import codec, envelope

ABOUT = "states of structures, windows and streams, with changed values and right checksums: refused, or they go on."

#: What loading may take beside the state itself: a byte is at most one empty deque in three, or a page of a queue.
BYTES_PER_BYTE, FIXED_BYTES = 1000, 32 << 20
#: What a hostile value may look like to the codec.
HUGE = b"\xff" * 8 + b"\x7f"
HOSTILE = [
    b"a(\x03s\x03|V0(\x01i\x06\x00\x00\x00\x00\x00\x01b\x00",  # an array of 2^40 items of no bytes
    *(tag + HUGE for tag in (b"i", b"s", b"b", b"[", b"(", b"{", b"<", b"q")),
    b"[\x08(\x01\x08(\x01\x08(\x01\x08(\x01\x08(\x01\x08(\x01\x08b" + bytes(8),
    b"xs\x0d1E+9999999999", b"/(\x02\xc1\xc0", b"d" + b"\xff" * 8, b"i\x09" + bytes(8) + b"\x01",
    b"i\x08" + b"\xff" * 7 + b"\x7f", b"Zs\x0d../etc/passwd", b"N", b"T", b"\x80", b"\xff", b"s\x00", b"[\x00",
    b"(\x00", b"{\x00\x00", b"q\x01N", b"<\x00", b"oi\x08" + b"\x00" * 7 + b"\x01", b"o\xc0", b"os\x04plan",
]  # fmt: skip
COLLIDING = codec.encode({k * (2**61 - 1) for k in range(1, 400)})


@dataclass(frozen=True)
class Subject:
    """A state, and what to do with its bytes."""

    name: str
    data: bytes
    load: Callable[[bytes], Any]
    go_on: Callable[[Any], None]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how long one case may take before it counts as one that hangs."""
    parser.add_argument("--hang", type=int, default=60, metavar="S", help="end the run if a case takes so long (60 s)")


@contextmanager
def open_target(given: argparse.Namespace) -> Iterator[Callable[[int], str | None]]:
    """Give the check of one case after the other; a traceback, and the end, where one hangs."""

    def wrong_with(number: int) -> str | None:
        faulthandler.dump_traceback_later(given.hang, exit=True, file=2)
        try:
            return check_one(random.Random(f"{given.seed} {number}"))
        finally:
            faulthandler.cancel_dump_traceback_later()

    yield wrong_with


def check_one(chance: random.Random) -> str | None:
    """Find what is wrong with one random case; None where nothing is."""
    subject = chance.choice([structure, structure, window, bucket])(chance)
    data = change_state(subject.data, chance)
    found = wrong = None
    with _memory() as peak:
        try:
            found = subject.load(data)
        except StateError:
            pass
        except BaseException as error:
            wrong = f"loading raises {error!r:.300}"
        taken = peak()
    if wrong is None and taken > BYTES_PER_BYTE * len(data) + FIXED_BYTES:
        wrong = f"loading {len(data)} bytes takes {taken} bytes of memory"
    if wrong is None and found is not None:
        try:
            subject.go_on(found)
        except (SlidewiseError, Foreign):
            pass
        except BaseException as error:
            wrong = f"after loading, going on raises {error!r:.300}"
    return None if wrong is None else f"# {subject.name}: {wrong}\ndata = {data!r}"


@contextmanager
def _memory() -> Iterator[Callable[[], int]]:
    """Measure the most memory so far: Python's objects and NumPy's arrays, which tracemalloc sees, and Arrow's."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


# ---- what is saved
class Foreign(Exception):
    """An aggregation's own function failed on a partial of another shape, as it would on such a value."""


def _guard(aggregation: sw.Aggregation) -> sw.Aggregation:
    """Guard an aggregation, so that errors in its own functions are told from ours.

    It is a variant, which no cache takes for the aggregation itself.
    """
    own = {name: getattr(aggregation, name) for name in ("combine", "lower", "inverse", "defined")}
    inherited = {name: getattr(sw.Aggregation, name, None) for name in own}
    changes = {name: _guard_function(f) for name, f in own.items() if f is not None and f is not inherited[name]}
    return aggregation.variant(**changes)


def _guard_function(function: Any) -> Any:
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except SlidewiseError:
            raise
        except Exception as error:
            raise Foreign(repr(error)) from error

    return call


AGGREGATIONS: list[Callable[[], sw.Aggregation]] = [
    sw.sum, sw.max, sw.count, sw.stddev, sw.avg, sw.first, sw.collect_list, sw.collect_set, sw.median, sw.mode,
    sw.count_distinct, sw.sum_distinct, sw.approx_count_distinct, sw.count_min_sketch,
    lambda: sw.approx_percentile(0.5, accuracy=100),
    *(getattr(sw, name) for name in ("bloom_filter", "moment_sketch")),  # modules have these names, too
]  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "flat_fat": {"capacity": 32}, "b_int": {"capacity": 32}, "sba": {"range": 6, "slide": 2},
    "pba": {"range": 6, "slide": 2},
}  # fmt: skip


def structure(chance: random.Random) -> Subject:
    """Make a structure after some inserts and evictions."""
    aggregation = _guard(chance.choice(AGGREGATIONS)())
    entry = chance.choice([e for e in ALGORITHMS if not missing(e, aggregation)])
    options = OPTIONS.get(entry.name, {})
    if entry.name == "incremental_mode" and chance.random() < 0.5:
        options = {"variant": "paper"}
    blank = sw.swag(entry.name, aggregation, **options)
    timed = chance.random() < 0.3 and not options
    for i in range(chance.choice([0, 1, 5, 12, 40])):
        blank.insert(chance.choice([None, i, i / 7, 3]), **({"time": i} if timed else {}))
        if len(blank) > (5 if options else 20):
            for _ in range(options.get("slide", 1)):
                blank.evict()

    def go_on(s: Any) -> None:
        if s._times and type(s.youngest) is not int:  # no time of another type goes with those held
            return
        for i in range(8):
            s.query()
            s.insert(i, **({"time": (s.youngest or 0) + 1} if s._times is not None else {}))
            if len(s) > 4:
                s.evict()
        if len(s) < 10_000:
            s.query()
            s.to_bytes()

    data = blank.to_bytes()
    return Subject(
        f"{entry.name} of {aggregation!r}", data, sw.swag(entry.name, aggregation, **options).from_bytes, go_on
    )


START = datetime(2024, 1, 1)
WINDOWS: list[tuple[Callable[[], Any], dict[str, Any]]] = [
    (lambda: sw.rows(5), {}), (lambda: sw.rows(6, every=2), {}), (lambda: sw.time("9s"), {}),
    (lambda: sw.time("9s", every="4s"), {}), (lambda: sw.rows_between(-3, 2), {}),
    (lambda: sw.range_between("-4s", "3s"), {}), (lambda: sw.groups_between(-1, 1), {}),
    (lambda: sw.delta("x", 6), {}), (lambda: sw.rows(5, every=sw.delta("x", 3)), {}),
    (lambda: sw.punctuation("end"), {}), (lambda: sw.rows(5, every=sw.time("7s")), {}), (lambda: sw.session("1s"), {}),
    (lambda: sw.time("8s", every="2s", cumulative=True), {}), (lambda: sw.time("2s", every="5s"), {}),
    (lambda: sw.time("9s"), {"late": "revise"}), (lambda: sw.time("9s", every="4s"), {"late": "revise"}),
    (lambda: sw.rows(5), {"late": "revise"}), (lambda: sw.rows(6, every=2), {"late": "revise"}),
    (lambda: sw.rows(5, every=sw.time("7s")), {"late": "revise", "keep": "1m"}),
]  # fmt: skip
#: windows that share a stream: those that end with the newest row, any rows, others beside them
SEVERAL: list[list[Callable[[], Any]]] = [
    [lambda: sw.rows(5), lambda: sw.time("9s")], [lambda: sw.rows_between(-4, -1), lambda: sw.rows(6)],
    [lambda: sw.time("9s", closed="left"), lambda: sw.groups_between(-1, 1)],
    [lambda: sw.rows(5, min_rows=3), lambda: sw.delta("x", 6), lambda: sw.rows(6, every=2)],
    [lambda: sw.rows_between(-3, 2), lambda: sw.range_between("-4s", "3s"), lambda: sw.rows_between(-2, 1, "ties")],
    [lambda: sw.punctuation("end"), lambda: sw.time("9s", every="4s"), lambda: sw.rows(4)],
    [lambda: sw.session("1s"), lambda: sw.rows(4)],
    [lambda: sw.time("9s", every="4s"), lambda: sw.time("20s", every="5s")],
]  # fmt: skip


def window(chance: random.Random) -> Subject:
    """Make a window of several keys, in mid-stream."""
    made = chance.sample(AGGREGATIONS[:12], 2)
    definition, options = chance.choice(WINDOWS)
    several = chance.choice(SEVERAL) if chance.random() < 0.4 else None
    any_range = {"algorithm": "fiba"} if chance.random() < 0.3 else {}
    options = {"partition_by": "k", "max_delay": "3s", **(any_range if several else options)}
    if options.get("late") is None:
        options["late"] = "drop"
    aggregations = {f"r{i}": _of_column(make) for i, make in enumerate(made)}

    def new() -> sw.Window:
        if several is None:
            return sw.Window(aggregations, definition(), **options)
        each = [(name, op.over(window())) for window in several for name, op in aggregations.items()]
        return sw.Window({f"{name} {i}": over for i, (name, over) in enumerate(each)}, **options)

    def push(w: sw.Window, first: int, number: int) -> None:
        for i in range(first, first + number):
            row = {"k": "abc"[i % 3], "v": i * 37 % 11, "x": i * 7 % 13, "end": i % 5 == 0}
            back = 6 if i % 9 == 0 else 2 if i % 4 == 0 else 0  # beyond max_delay: into open windows
            w.push(row, time=START + timedelta(seconds=i - back))

    def go_on(w: sw.Window) -> None:
        push(w, 60, 12)
        w.to_bytes()
        w.flush()

    full = new()
    push(full, 0, chance.choice([0, 1, 6, 30]))
    return Subject(f"{full!r}", full.to_bytes(), new().from_bytes, go_on)


def bucket(chance: random.Random) -> Subject:
    """Take the state of a stream's bucket: its meta value, a piece or a change, beside the others as they were."""
    from slidewise.columns.arranged import ArrangedFrame
    from slidewise.columns.evaluate import Evaluation
    from slidewise.columns.sources import source_of
    from slidewise.columns.with_columns import list_names, list_order
    from slidewise.spark.streams.change_log import images
    from slidewise.spark.streams.micro_batches import MicroBatches
    from slidewise.spark.streams.pending_rows import recent
    from slidewise.spark.streams.stream_task import StreamTask

    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("x", pa.float64())])
    keys, order = list_names("k", "partition_by"), list_order("ts")
    frame = chance.choice([sw.rows(3), sw.time("9s"), sw.range_between("-4s", "3s"), sw.rows_between(-1, 1)])
    expressions = {"total": sw.sum("x").over(frame), "n": sw.count().over(frame)}
    rows = ArrangedFrame(source_of(schema.empty_table()), keys, order)
    made = Evaluation(rows, expressions.values(), 1).columns(expressions)
    kinds = tuple(made[name].type for name in expressions)
    task = StreamTask(schema, tuple(keys), tuple(order), expressions, kinds, tuple(schema.names))

    def step(store: _Memory, first: int, number: int) -> None:
        seconds, keys = range(first, first + number), 1 if first == 30 else 5  # one of five is logged
        columns = [[f"k{t % keys}" for t in seconds], [1_000_000 * t for t in seconds], [t / 7 for t in seconds]]
        rows = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        hashes = np.array([t % keys * 2654435761 for t in seconds], np.int64)
        try:
            MicroBatches(task).advance(store, rows, hashes, 1_000_000 * (first + number - 6))
        finally:  # what is damaged is to be read, and Arrow's memory outlives no pool that measures it
            images.clear()
            recent.clear()

    store = _Memory({})
    for first in range(0, chance.choice([10, 40]), 10):
        step(store, first, 10)
    number = chance.choice(list(store.values))

    def load(data: bytes) -> _Memory:
        copy = _Memory({**store.values, number: data})
        step(copy, 40, 10)
        return copy

    return Subject(f"a stream over {frame!r}, value {number}", store.values[number], load, lambda s: step(s, 50, 10))


@dataclass
class _Memory:
    """The values of a bucket by their numbers; None is that of the meta value."""

    values: dict[int | None, bytes]

    def read_meta(self) -> bytes | None:
        return self.values.get(None)

    def write_meta(self, data: bytes) -> None:
        self.values[None] = data

    def read(self, piece: int) -> bytes | None:
        return self.values.get(piece)

    def write(self, piece: int, data: bytes) -> None:
        self.values[piece] = data

    def remove(self, piece: int) -> None:
        self.values.pop(piece, None)


def _of_column(make: Callable[[], sw.Aggregation]) -> sw.Aggregation:
    return _guard(type(make())("v"))


# ---- what happens to it
def change_state(data: bytes, chance: random.Random) -> bytes:
    """Change values of a state, under the right checksum."""
    start = len(envelope.MAGIC) + 1
    kind, print_, definition, payload = codec.decode(data[start : -envelope.CHECKSUM])
    body = bytearray(payload)
    if chance.random() < 0.7:
        value = codec.decode(payload, revive=_Object)
        for _ in range(chance.choice([1, 1, 2])):
            value = _other(value, value, chance)
        body = bytearray(codec.encode(value, reduce=lambda found: found.plain))
    else:
        for _ in range(chance.choice([1, 1, 1, 2, 4])):
            chance.choice([_flip, _flip, _replace, _replace, _splice, _cut, _repeat])(body, chance)
    return envelope.seal_encoded((kind, print_, definition, bytes(body)))


class _Object:
    """What a window's object was reduced to."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain


ODD: list[Any] = [
    -1, 0, 1, 2, 7, 1 << 10, 1 << 31, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, 1 << 70, -(1 << 40), 1 << 20_000, None,
    True, "", "x", b"", b"\xff" * 40, 0.5, float("nan"), float("inf"), (), [], {}, [None] * 9, Decimal("1E+9999999"),
    Fraction(1, 3), START,
]  # fmt: skip


def _other(value: Any, whole: Any, chance: random.Random) -> Any:
    """Replace, repeat or leave out one of a value's parts, at some depth."""
    if isinstance(value, _Object) and chance.random() < 0.95:
        return _Object(_other(value.plain, whole, chance))
    if isinstance(value, dict) and value and chance.random() < 0.95:
        key = chance.choice(list(value))
        return {**value, key: _other(value[key], whole, chance)}
    if isinstance(value, tuple | list | deque) and value and chance.random() < 0.95:
        items, at = list(value), chance.randrange(len(value))
        how = chance.random()
        if how < 0.08:
            del items[at]
        elif how < 0.16:
            items[at:at] = [items[at]] * chance.choice([1, 1, 30])
        else:
            items[at] = _other(items[at], whole, chance)
        return type(value)(items)
    if isinstance(value, bytes) and value and chance.random() < 0.8:
        changed = bytearray(value)
        chance.choice([_flip, _flip, _flip, _cut, _splice])(changed, chance)
        return bytes(changed)
    if type(value) is int and chance.random() < 0.4:
        return value + chance.choice([-1, 1, 2, 1024])
    return _part(whole, chance) if chance.random() < 0.2 else chance.choice(ODD)


def _part(value: Any, chance: random.Random) -> Any:
    """Pick some part of a value."""
    while chance.random() < 0.8:
        if isinstance(value, _Object):
            value = value.plain
        elif isinstance(value, dict) and value:
            value = chance.choice(list(value.values()))
        elif isinstance(value, tuple | list | deque) and value:
            value = value[chance.randrange(len(value))]
    return value


def _place(body: bytearray, chance: random.Random) -> int:
    return chance.randrange(len(body) + 1)


def _flip(body: bytearray, chance: random.Random) -> None:
    if body:
        body[chance.randrange(len(body))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])


def _replace(body: bytearray, chance: random.Random) -> None:
    """Put a hostile value in place of some bytes: often of one, which may be a value."""
    at, length = _place(body, chance), chance.choice([1, 1, 1, 2, 9])
    body[at : at + length] = COLLIDING if chance.random() < 0.02 else chance.choice(HOSTILE)


def _splice(body: bytearray, chance: random.Random) -> None:
    at, source = _place(body, chance), _place(body, chance)
    body[at:at] = body[source : source + chance.choice([1, 4, 20, 100])]


def _cut(body: bytearray, chance: random.Random) -> None:
    at = _place(body, chance)
    del body[at : at + chance.choice([1, 2, 8, 50])]


def _repeat(body: bytearray, chance: random.Random) -> None:
    at = _place(body, chance)
    body[at:at] = chance.choice([b"[\x01", b"(\x01", b"\x08(\x01", b"<\x01", b"o", b"{\x01N\x01"]) * chance.choice(
        [3, 150]
    )
