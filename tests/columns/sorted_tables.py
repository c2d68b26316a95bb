"""Random tables that stand by key and order, and how they come in batches.

An order column is drawn as places in a list of values that stands in its order, so that no code here sorts values.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

import slidewise as sw

NAN, INF = math.nan, math.inf


@dataclass(frozen=True)
class Order:
    """A kind of order column: its values, ascending without nulls, and a length along it (None: it has none)."""

    values: list[Any]
    kind: pa.DataType
    unit: Any = None

    @property
    def has_dates(self) -> bool:
        """Whether months can be added to it."""
        kind = self.kind.value_type if pa.types.is_dictionary(self.kind) else self.kind
        return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))

    def lengths(self, n: int) -> Any:
        return n if self.unit == 1 else f"{n}{self.unit}"


def hours(begin: str, count: int, step: float = 1) -> list[dt.datetime]:
    """Times of UTC, so many hours apart."""
    return [dt.datetime.fromisoformat(begin + "+00:00") + dt.timedelta(hours=n * step) for n in range(count)]


BERLIN = pa.timestamp("us", "Europe/Berlin")
#: the night in which clocks go back there, and the same times a month before
BACK = hours("2026-09-24 20:00", 20, 0.5) + hours("2026-10-24 21:00", 20, 0.5)
RANKED = pa.dictionary(pa.int8(), pa.string(), ordered=True)
ORDERS = {
    "int": Order(list(range(-3, 12)), pa.int64(), 1),
    "small int": Order(list(range(15)), pa.uint8(), 1),
    "uint64": Order([0, 1, 2, 5, 2**63 - 1, 2**63, 2**63 + 2, 2**64 - 1], pa.uint64(), 1),
    "float": Order([-INF, -2.5, -0.0, 0.5, 1.0, 4.0, INF, NAN], pa.float64(), 1),
    "finite": Order([-2.5, 0.0, 0.5, 1.0, 4.0, 4.5, 9.0], pa.float64(), 1),
    "float32": Order([-2.5, -0.25, 0.0, 0.5, 1.0, 4.0], pa.float32(), 1),
    "decimal": Order([Decimal(n).scaleb(-1) for n in range(-20, 90, 10)], pa.decimal128(9, 1), 1),
    "wide decimal": Order([Decimal(n).scaleb(20) for n in range(-2, 9)], pa.decimal128(38, 2)),
    "time": Order(hours("2026-03-28 22:00", 9), BERLIN, "h"),
    "back": Order(BACK, BERLIN, "h"),
    "nanoseconds": Order(BACK, pa.timestamp("ns", "Europe/Berlin"), "h"),
    "seconds": Order(BACK, pa.timestamp("s", "Europe/Berlin"), "h"),
    "no zone": Order([time.replace(tzinfo=None) for time in BACK], pa.timestamp("ms"), "h"),
    "times in a dictionary": Order(BACK, pa.dictionary(pa.int32(), BERLIN), "h"),
    "date": Order([dt.date(2026, 2, 26) + dt.timedelta(days=n) for n in range(9)], pa.date32(), "d"),
    "date64": Order([dt.date(2026, 2, 26) + dt.timedelta(days=n) for n in range(9)], pa.date64(), "d"),
    "duration": Order([dt.timedelta(hours=n) for n in range(-3, 6)], pa.duration("ms"), "h"),
    "time of day": Order([dt.time(n) for n in range(9)], pa.time32("s"), "h"),
    "text": Order(["", "A", "B", "a", "b", "ä"], pa.string()),
    "bytes": Order([b"", b"\x00", b"a", b"\xff"], pa.binary()),
    "bool": Order([False, True], pa.bool_()),
    "dictionary": Order(["A", "B", "a", "b"], pa.dictionary(pa.int32(), pa.string())),
    "ranked": Order(["z", "b", "a", "m"], RANKED),
}
KEYS = {
    "text": (["b", None, "a", "", "c"], pa.string()),
    "int": ([3, 4, 9, None, -1], pa.int64()),
    "uint64": ([2**63, 0, None, 2**64 - 1], pa.uint64()),
    "float": ([NAN, -0.0, 1.5, None], pa.float64()),
    "float32": ([1.5, None, NAN, 0.0], pa.float32()),
    "time": ([dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None, dt.datetime(1999, 1, 1, tzinfo=dt.UTC)], BERLIN),
    "date": ([dt.date(2026, 1, 1), None, dt.date(1999, 1, 1)], pa.date32()),
    "decimal": ([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(9, 2)),
    "bytes": ([b"a", None, b""], pa.binary()),
    "dictionary": (["x", "a", None, "m"], pa.dictionary(pa.int32(), pa.string())),
    "ranked": (["x", "a", None, "m"], RANKED),
    "floats in a dictionary": ([1.5, 0.0, None, -1.0], pa.dictionary(pa.int8(), pa.float64())),
    "bool": ([True, None, False], pa.bool_()),
    "null": ([None], pa.null()),
}


@dataclass(frozen=True)
class SortedTable:
    """A table that stands by key and order, the batches that it comes in, and what it stands by."""

    batches: list[pa.RecordBatch]
    partition_by: list[str]
    order_by: list[Any]
    #: the kind of the first order column
    order: Order | None

    @property
    def schema(self) -> pa.Schema:
        return self.batches[0].schema

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_batches(self.batches)

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self.batches))

    @property
    def call(self) -> dict[str, Any]:
        return {"partition_by": self.partition_by, "order_by": self.order_by}


def draw_table(rng: np.random.Generator, count: int, kind: str | None = None) -> SortedTable:
    """Draw a table: of none to two keys, ordered by none to two columns, in any direction, with nulls on either end."""
    columns: dict[str, pa.Array] = {}
    places: list[np.ndarray] = []
    keys = list(rng.choice(list(KEYS), rng.integers(0, 3), replace=False))
    for k, name in enumerate(keys):
        values, of = KEYS[name]
        at = rng.integers(0, len(values), count)
        columns[f"k{k}"] = (at, values, of)
        places.append(at)
    kinds = [] if kind is None and rng.random() < 0.1 else [kind or str(rng.choice(list(ORDERS)))]
    kinds += [str(rng.choice(list(ORDERS)))] if kinds and rng.random() < 0.3 else []
    order_by = []
    for k, name in enumerate(kinds):
        of = ORDERS[name]
        down, first, nulls = (bool(rng.random() < share) for share in (0.3, 0.5, 0.4))
        values = [*of.values, *[None] * nulls]
        at = rng.integers(0, len(values), count)
        rank = np.where(at == len(of.values), -1 if first else 99, -at if down else at) + (down & ~(at == 99)) * 50
        rank = np.where(at == len(of.values), -1000 if first else 1000, rank)
        columns[f"t{k}"] = (at, values, of.kind)
        places.append(rank)
        order_by.append((sw.desc if down else sw.asc)(f"t{k}", nulls="first" if first else "last"))
    rows = np.lexsort(places[::-1]) if places else np.arange(count)
    made = {n: _build(rng, values, at[rows], of) for n, (at, values, of) in columns.items()}
    table = pa.table(made | draw_values(rng, count))
    return SortedTable(
        cut(rng, table), [f"k{k}" for k in range(len(keys))], order_by, ORDERS[kinds[0]] if kinds else None
    )


def _build(rng: np.random.Generator, values: list[Any], at: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Build a column of values at some places; zeros have either sign."""
    if pa.types.is_dictionary(kind) and kind.ordered:
        entries = [value for value in values if value is not None]
        places = pa.array([None if values[i] is None else entries.index(values[i]) for i in at], kind.index_type)
        return pa.DictionaryArray.from_arrays(places, pa.array(entries, kind.value_type), ordered=True)
    found = [rng.choice([-0.0, 0.0]) if isinstance(values[i], float) and values[i] == 0 else values[i] for i in at]
    if pa.types.is_dictionary(kind):
        return _encode_anew(pa.array(found, kind.value_type), kind)
    return pa.array(found, kind)


def draw_values(rng: np.random.Generator, count: int) -> dict[str, pa.Array]:
    """Draw the other columns, with nulls."""

    def mask(share: float = 0.15) -> np.ndarray:
        return rng.random(count) < share

    x = rng.integers(-40, 40, count) / 4
    x[mask(0.1)] = NAN
    i = rng.integers(0, 9, count)
    texts = rng.choice(["a", "bb", "c", "dd", "éé"], count)
    return {
        "x": pa.array(x, mask=mask()),
        "i": pa.array(rng.integers(-9, 9, count), mask=mask()),
        "s": pa.array(texts, mask=mask()),
        "c": pa.array(rng.choice(["u", "v", "w"], count), mask=mask()).dictionary_encode(),
        "d": pa.array([Decimal(int(v)).scaleb(-2) for v in rng.integers(-999, 999, count)], pa.decimal128(12, 2)),
        "at": pa.array(rng.integers(0, 10**15, count), BERLIN, mask=mask()),
        "nest": pa.array([None if v % 5 == 0 else {"a": v, "b": [v, None]} for v in range(count)]),
        "list": pa.array([None if v % 7 == 0 else ["p"] * (v % 3) for v in range(count)], pa.list_(pa.string())),
        "stop": pa.array(rng.random(count) < 0.2, mask=mask()),
        "walk": pa.array(np.cumsum(rng.integers(-2, 4, count))),
        "back": pa.array(-rng.integers(0, 5, count)),
        # values above int64 in some places only, so that not every batch has one
        "u": pa.array([2**63 + int(n) if at < 0.05 else int(n) for n, at in zip(i, rng.random(count), strict=True)],
                      pa.uint64(), mask=mask()),
        "q": pa.array(rng.integers(-4, 4, count), mask=mask()).dictionary_encode(),
        "at q": pa.array([BACK[n] for n in i], BERLIN, mask=mask()).dictionary_encode(),
        "o": _build(rng, ["z", "b", "a", "m"], i % 4, RANKED),
        "f": pa.array(rng.choice([-INF, -0.0, 0.0, 1.5, 2.5, 1e-45, 3e38, INF], count), pa.float32(), mask=mask()),
        "y": pa.array(rng.choice([-0.0, 0.0, 2.5, -1.25, 1e9, 1e-9], count)),
        "long": pa.array([dt.timedelta(microseconds=int(n) - 4) for n in i], pa.duration("us"), mask=mask()),
        "day": pa.array([dt.date(2026, 1, 1 + int(n)) for n in i], pa.date32()),
        "wide": pa.array([Decimal(int(n)).scaleb(25) for n in i], pa.decimal128(38, 2), mask=mask()),
        "bits": pa.array(i - 4, pa.int8(), mask=mask()),
    }  # fmt: skip


def cut(rng: np.random.Generator, table: pa.Table) -> list[pa.RecordBatch]:
    """Cut a table into batches of many sizes, none and one among them, each with dictionaries of its own."""
    whole = table.combine_chunks()
    sizes = [int(s) for s in rng.choice([0, 1, 1, 2, 7, 30], len(table) + 1)]
    out, first = [], 0
    for size in sizes:
        rows = whole.slice(first, size)
        columns = [
            _encode_anew(_join(rows[f.name], f.type), f.type)
            if _has_entries_of_its_own(f.type)
            else _join(rows[f.name], f.type)
            for f in whole.schema
        ]
        out.append(pa.RecordBatch.from_arrays(columns, schema=whole.schema))
        first += size
        if first >= len(table):
            break
    return out


def _has_entries_of_its_own(kind: pa.DataType) -> bool:
    """Tell whether batches need not have the same entries: those of an order stay as they are."""
    return pa.types.is_dictionary(kind) and not kind.ordered


def _join(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, kind)


def _encode_anew(column: pa.ChunkedArray | pa.Array, kind: pa.DataType) -> pa.Array:
    plain = _join(pa.chunked_array([column]).cast(kind.value_type), kind.value_type)
    entries = plain.unique().drop_null()[::-1]  # in an order of their own
    return pa.DictionaryArray.from_arrays(pa.compute.index_in(plain, entries).cast(kind.index_type), entries)


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]], of: Any) -> None:
    """Compare rows: floats as exactly as sums of chunks allow, everything else exactly."""
    assert len(found) == len(expected), (len(found), len(expected), of)
    for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert list(ours) == list(theirs), of
        for name in ours:
            assert _are_alike(ours[name], theirs[name]), (row, name, ours[name], theirs[name], of)


def _are_alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_are_alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_are_alike(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b
