"""Keys and order: which rows belong together, and in which order, for every type."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.columns.sorting import OrderColumn, arrange, as_sortable, radix_sort

RNG = np.random.default_rng(11)

#: few values of every type that can be a key and can be ordered, in ascending order
ASCENDING: dict[str, Any] = {
    "int8": (pa.int8(), [-128, -1, 0, 127]),
    "int64": (pa.int64(), [-(2**63), -5, 0, 7, 2**63 - 1]),
    "uint32": (pa.uint32(), [0, 1, 2**32 - 1]),
    "uint64": (pa.uint64(), [0, 2**63 - 1, 2**63, 2**64 - 1]),
    "large uint64": (pa.uint64(), [2**64 - 3, 2**64 - 2, 2**64 - 1]),
    "float32": (pa.float32(), [-math.inf, -1.5, 0.0, 2.5, math.inf, math.nan]),
    "float64": (pa.float64(), [-math.inf, -1e-300, 0.0, 5e-324, 2.5, math.inf, math.nan]),
    "bool": (pa.bool_(), [False, True]),
    "string": (pa.string(), ["", "Z", "a", "ab", "b", "é", "\U0001f600"]),
    "large_string": (pa.large_string(), ["", "a", "b"]),
    "string_view": (pa.string_view(), ["", "a", "b"]),
    "binary": (pa.binary(), [b"", b"\x00", b"a", b"\xff"]),
    "fixed_size_binary": (pa.binary(2), [b"\x00\x00", b"ab", b"\xff\x00"]),
    "decimal": (pa.decimal128(10, 2), [Decimal("-5.25"), Decimal("0.00"), Decimal("0.01"), Decimal("99.99")]),
    "wide decimal": (pa.decimal128(38, 2), [Decimal("-5.25") * 10**30, Decimal("0.01"), Decimal(10) ** 33]),
    "decimal256": (pa.decimal256(60, 0), [Decimal(-(10**50)), Decimal(0), Decimal(10**50)]),
    "date32": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "date64": (pa.date64(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "time32": (pa.time32("s"), [dt.time(0), dt.time(23, 59, 59)]),
    "time64": (pa.time64("us"), [dt.time(0), dt.time(23, 59, 59, 999999)]),
    "timestamp": (pa.timestamp("us"), [dt.datetime(1900, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)]),
    "zoned timestamp": (
        pa.timestamp("ms", "Asia/Tokyo"),
        [dt.datetime(1999, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)],
    ),
    "duration": (pa.duration("ms"), [dt.timedelta(-1), dt.timedelta(0), dt.timedelta(milliseconds=5)]),
}


def drawn(kind, n=60, nulls=True):
    """Ranks drawn at random, None for null, and the column of their values."""
    arrow, ascending = ASCENDING[kind]
    ranks = [int(r) for r in RNG.integers(0, len(ascending) + nulls, n)]
    ranks = [None if r == len(ascending) else r for r in ranks]
    return ranks, pa.array([None if r is None else ascending[r] for r in ranks], arrow, from_pandas=False)


def in_order(ranks, descending, nulls_first):
    null = [i for i, r in enumerate(ranks) if r is None]
    rest = sorted((i for i, r in enumerate(ranks) if r is not None), key=lambda i: ranks[i], reverse=descending)
    return null + rest if nulls_first else rest + null


def permutation_of(arrangement, n):
    return list(range(n)) if arrangement.permutation is None else arrangement.permutation.tolist()


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ASCENDING)
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("nulls", [False, True])
def test_every_type_is_ordered_both_ways_with_nulls_at_either_end(kind, dictionary, nulls):
    ranks, column = drawn(kind, nulls=nulls)
    if dictionary:
        column = pa.concat_arrays([column.slice(0, 30), column.slice(30)]).dictionary_encode()
    for descending in (False, True):
        for first in (None, False, True):
            by = OrderColumn("t", descending, first)
            found = permutation_of(arrange(60, [], as_sortable(column, by)), 60)
            assert found == in_order(ranks, descending, not descending if first is None else first)


@pytest.mark.compiled
@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ASCENDING)
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("nulls", [False, True])
def test_every_type_is_a_key(kind, dictionary, nulls):
    ranks, column = drawn(kind, nulls=nulls)
    ranks, column = ranks[7:50], column.slice(7, 43)  # with an offset in Arrow's memory
    column = column.dictionary_encode() if dictionary else column
    arrangement = arrange(43, [column], [])
    rows = permutation_of(arrangement, 43)
    keys = [rows[a:b] for a, b in zip(arrangement.offsets[:-1], arrangement.offsets[1:], strict=True)]
    expected = {r: [i for i in range(43) if ranks[i] == r] for r in ranks}
    assert sorted(keys) == sorted(expected.values())


@pytest.mark.parametrize("n", [200, 3_000])
def test_several_keys_and_orders(n):
    """Short keys and long ones."""
    (g, first), (h, second) = drawn("string", n), drawn("float64", n)
    (a, by_first), (b, by_second) = drawn("int8", n), drawn("date32", n)
    order = as_sortable(by_first, OrderColumn("a", True)) + as_sortable(by_second, OrderColumn("b", False, False))
    arrangement = arrange(n, [first, second], order)
    rows = permutation_of(arrangement, n)
    keys = [rows[x:y] for x, y in zip(arrangement.offsets[:-1], arrangement.offsets[1:], strict=True)]
    assert len(keys) == len(set(zip(g, h, strict=True)))
    for key in keys:
        assert len({(g[i], h[i]) for i in key}) == 1
        inner = in_order([b[i] for i in sorted(key)], False, False)
        inner = [sorted(key)[i] for i in inner]
        outer = in_order([a[i] for i in inner], True, False)
        assert key == [inner[i] for i in outer]


def _in_runs(rng, n, runs):
    return np.concatenate([np.sort(rng.integers(0, 90, n // runs)) for _ in range(runs)])


SHAPES = {
    "random": lambda rng: rng.integers(-(1 << 20), 1 << 20, 400),
    "of 64 bits": lambda rng: np.append(rng.integers(-(1 << 63), (1 << 63) - 1, 398), [-(1 << 63), (1 << 63) - 1]),
    "with ties": lambda rng: rng.integers(0, 3, 300),
    "ascending": lambda rng: np.arange(200),
    "descending": lambda rng: -np.arange(200),
    "two runs": lambda rng: np.roll(np.arange(301), 100),
    "seven runs": lambda rng: _in_runs(rng, 350, 7),
    "eight runs": lambda rng: _in_runs(rng, 400, 8),
    "nine runs": lambda rng: _in_runs(rng, 450, 9),
    "short": lambda rng: rng.integers(-9, 9, 50),
    "one row": lambda rng: np.array([5]),
}


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_key_in_any_shape(seed):
    """Each in a key of its own, whose rows are among those of the others; ties are as they came."""
    rng = np.random.default_rng(seed)
    parts = [make(rng) for make in SHAPES.values()]
    of = rng.permutation(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))
    values = np.empty(len(of), np.int64)
    for key, part in enumerate(parts):
        values[of == key] = part
    arrangement = arrange(len(of), [pa.array(of * 7)], [values])
    assert arrangement.permutation.tolist() == np.lexsort((values, of)).tolist()
    assert arrangement.offsets.tolist() == np.cumsum([0, *map(len, parts)]).tolist()


def test_equal_floats_are_one_key_and_one_place():
    negative_nan = np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0]
    column = pa.array(np.array([0.0, -0.0, math.nan, negative_nan, -math.inf]))
    assert arrange(5, [column], []).offsets.tolist() == [0, 2, 4, 5]
    values = as_sortable(column, OrderColumn("t"))[0]
    assert values[0] == values[1]
    assert values[2] == values[3] == max(values)
    assert permutation_of(arrange(5, [], [values]), 5) == [4, 0, 1, 2, 3]


def test_dictionaries_with_equal_and_null_entries():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None, 4]), pa.array(["b", "a", "b", None, "unused"]))
    column = column.slice(0, 5)
    assert arrange(5, [column], []).offsets.tolist() == [0, 2, 3, 5]
    order = as_sortable(column, OrderColumn("t", nulls_first=False))
    assert permutation_of(arrange(5, [], order), 5) == [1, 0, 2, 3, 4]


def test_ordered_categories_keep_their_own_order():
    sizes = ["small", "large", "medium", "small"]
    frame = pd.DataFrame({"size": pd.Categorical(sizes, ["small", "medium", "large"], ordered=True), "v": range(4)})
    polars = pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Enum(["small", "medium", "large"])), "v": range(4)})
    for data in (frame, polars):
        out = sw.with_columns(data, order_by="size", seen=sw.collect_list("v").over(sw.rows(4)))
        assert [list(v) for v in out["seen"]] == [[0], [0, 3, 2, 1], [0, 3, 2], [0, 3]]


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.month_day_nano_interval()])
def test_types_without_an_order_are_refused(kind):
    with pytest.raises(sw.InvalidInput, match="has no order"):
        as_sortable(pa.nulls(3, kind), OrderColumn("t"))


def test_columns_of_nulls_alone():
    nothing = pa.nulls(4)
    assert arrange(4, [nothing], as_sortable(nothing, OrderColumn("t"))).permutation is None
    assert arrange(4, [pa.nulls(4, pa.string())], []).offsets.tolist() == [0, 4]


def test_no_rows():
    empty = pa.array([], pa.string())
    assert arrange(0, [empty], as_sortable(empty, OrderColumn("t"))).offsets[-1] == 0
    assert arrange(0, [], []).offsets.tolist() == [0, 0]


# ---- sorting
@pytest.mark.parametrize(
    "low, high", [(0, 1), (0, 255), (0, 256), (-300, 300), (10**15, 10**15 + 10**6), (-(2**63), 2**63 - 1)]
)
def test_radix_sort_is_stable_and_right(low, high):
    values = RNG.integers(low, high, 700, endpoint=True)
    assert np.array_equal(radix_sort(values), np.argsort(values, kind="stable"))


def test_radix_sort_where_bytes_in_between_are_constant():
    values = RNG.integers(0, 4, 300) * 2**56 + RNG.integers(0, 4, 300)
    assert np.array_equal(radix_sort(values), np.argsort(values, kind="stable"))
    extremes = np.array([2**63 - 1, -(2**63), 0, 2**63 - 1, -(2**63)])
    assert radix_sort(extremes).tolist() == [1, 4, 2, 0, 3]


def test_rows_in_order_are_left_where_they_are():
    keys = pa.array(["b", "b", "a", "a", "a"])
    within = np.array([5, 6, 1, 1, 9])
    assert arrange(5, [keys], [within]).permutation is None
    assert arrange(5, [keys], [np.array([0, 0, 1, 1, 2]), np.array([3, 4, 1, 9, 0])]).permutation is None
    assert arrange(5, [keys], [np.array([0, 0, 1, 1, 2]), np.array([3, 2, 1, 9, 0])]).permutation.tolist() == [
        1,
        0,
        2,
        3,
        4,
    ]
    assert arrange(5, [], [np.array([1, 1, 2, 3, 3]), np.array([1, 2, 0, 0, 0])]).permutation is None


def test_arranged_and_restored():
    arrangement = arrange(4, [pa.array([2, 1, 2, 1])], [np.array([4, 3, 2, 1])])
    values = np.array(["a", "b", "c", "d"])
    arranged = arrangement.arrange(values)
    assert arranged.tolist() == ["d", "b", "c", "a"]
    assert arrangement.restore(arranged).tolist() == values.tolist()
