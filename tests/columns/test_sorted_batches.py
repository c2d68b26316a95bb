"""What goes in batches gives what the whole table gives, whatever the batches, the windows and the types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sorted_tables import SortedTable, assert_same, draw_table
from support.tiers import share

import slidewise as sw
from slidewise.columns.batches import in_batches, row_pass


class Spread(sw.Aggregation):
    """One of a user's own."""

    identity = (float("inf"), float("-inf"))

    @staticmethod
    def lift(i):
        return (i + 0.0, i + 0.0)

    @staticmethod
    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def lower(s):
        return s[1] - s[0]


AGGREGATIONS = [
    sw.count(), sw.count("s", where="stop"), sw.sum("x"), sw.sum("i"), sw.sum("d"), sw.avg("d"), sw.avg("i"),
    sw.stddev("i", where="stop"), sw.max("x"), sw.min("s"), sw.max("c"), sw.min("at"), sw.first("nest"),
    sw.last("list"),
    sw.last("x", ignore_nulls=True), sw.first("c"), sw.max_by("nest", "i"), sw.min_by("i", "s"), sw.median("i"),
    sw.percentile("x", 0.9), sw.mode("s"), sw.mode("c"), sw.count_distinct("c"), sw.nth_value("at", 2),
    sw.collect_list("i"), sw.collect_set("c"), sw.string_agg("s"), sw.bool_or("stop"), sw.m4("i"), Spread("i"),
]  # fmt: skip
PLACES = [sw.lag("i"), sw.lead("s", 2), sw.row_number(), sw.rank(), sw.percent_rank(), sw.ntile(3)]
EVER = sw.UNBOUNDED
ANY_ORDER = [
    sw.rows(1), sw.rows(4), sw.rows(9, min_rows=3), sw.rows_between(-3, 3), sw.rows_between(2, 5),
    sw.rows_between(-6, -2), sw.rows_between(-2, 2, exclude="current row"), sw.rows_between(-EVER, 0),
    sw.rows_between(-EVER, -2), sw.rows_between(-EVER, 3), sw.rows_between(-3, EVER), sw.rows_between(-EVER, EVER),
    sw.rows_between(sw.col("back"), 0), sw.delta("walk", 4), sw.punctuation("stop"),
    sw.punctuation(lambda row: row["i"] == 3 or row["s"] == "bb"),
]  # fmt: skip
SOME_ORDER = [
    sw.groups_between(-2, 1), sw.groups_between(-EVER, -1), sw.groups_between(-1, 0, exclude="ties"),
    sw.rows_between(-3, 3, exclude="group"), sw.range_between(-EVER, 0), sw.range_between(0, 0),
]  # fmt: skip
SLIDES = [
    sw.rows(4, every=3), sw.rows_between(-3, 2, every=2), sw.rows(5, every=2, min_rows=4),
    sw.rows_between(-EVER, 0, every=3), sw.rows_between(-2, EVER, every=4), sw.rows(3, every=sw.delta("walk", 3)),
    sw.rows(3, every=sw.punctuation("stop")), sw.delta("walk", 5, every=2),
]  # fmt: skip


def by_length(table: SortedTable, slides: bool = False) -> list:
    """The windows that are measured along the order; some ask for one that ascends."""
    if table.order is None or table.order.unit is None or len(table.order_by) > 1:
        return []
    n = table.order.lengths
    up = not table.order_by[0].descending
    if slides:
        windows = [sw.time(n(4), every=n(2)), sw.time(n(2), every=n(5)), sw.time(n(6), every=n(2), cumulative=True)]
        windows += [sw.session(n(1)), sw.rows(3, every=sw.time(n(3))), sw.time(n(3), every=sw.rows(2))]
        windows += [sw.time("1mo", every="1mo", zone="Europe/Berlin")] if table.order.unit == "h" else []
        return windows if up else []
    windows = [sw.range_between(_minus(n(2)), n(1)), sw.range_between(n(1), n(3)), sw.range_between(_minus(n(3)), 0)]
    if up:
        windows += [sw.time(n(3)), sw.time(n(2), closed="left"), sw.session(n(1))]
        windows += [sw.time("1 month")] if table.order.unit in ("h", "d") else []
    return windows


def _minus(length):
    return -length if isinstance(length, int) else f"-{length}"


def draw_expressions(rng: np.random.Generator, table: SortedTable) -> dict:
    windows = ANY_ORDER + (SOME_ORDER if table.order_by else []) + by_length(table) * 2
    out = {}
    for k in range(rng.integers(1, 5)):
        out[f"c{k}"] = AGGREGATIONS[rng.integers(len(AGGREGATIONS))].over(windows[rng.integers(len(windows))])
    if table.order_by and rng.random() < 0.3:
        out["place"] = PLACES[rng.integers(len(PLACES))]
    return out


def small_chunks(monkeypatch, rng: np.random.Generator) -> None:
    rows = int(rng.choice([1, 3, 8, 40]))
    monkeypatch.setattr(row_pass, "BATCH_ROWS", int(rng.choice([2, 100])))
    monkeypatch.setattr(row_pass, "TAILS", int(rng.choice([0, 4])))
    monkeypatch.setattr(in_batches, "CHUNK_ROWS", rows)


@pytest.mark.parametrize("seed", range(share(600)))
def test_columns_are_those_of_the_whole_table(monkeypatch, seed):
    rng = np.random.default_rng([1, seed])
    table = draw_table(rng, int(rng.integers(0, 90)))
    small_chunks(monkeypatch, rng)
    expressions = draw_expressions(rng, table)
    options = {"emit": "changes"} if table.order_by and rng.random() < 0.1 and not table.order_by[0].descending else {}
    expected = sw.with_columns(table.table, expressions, **table.call, **options)
    found = sw.with_columns(table.reader(), expressions, **table.call, **options, sorted=True)
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema == expected.schema
    assert_same(found.read_all().to_pylist(), expected.to_pylist(), (expressions, table.call))


@pytest.mark.parametrize("seed", range(share(400)))
def test_slides_are_those_of_the_whole_table(monkeypatch, seed):
    rng = np.random.default_rng([2, seed])
    table = draw_table(rng, int(rng.integers(0, 90)), str(rng.choice(["int", "finite", "time", "date", "decimal"])))
    small_chunks(monkeypatch, rng)
    windows = SLIDES + by_length(table, slides=True) * 2
    window = windows[rng.integers(len(windows))]
    results = {f"c{k}": AGGREGATIONS[rng.integers(len(AGGREGATIONS))] for k in range(3)}
    expected = sw.aggregate(table.table, results, window=window, **table.call)
    found = sw.aggregate(table.reader(), results, window=window, **table.call, sorted=True)
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema == expected.schema
    ours, theirs = found.read_all().to_pylist(), expected.to_pylist()
    if table.partition_by:  # in batches keys go out as they come, and from a table as its codes stand
        ours, theirs = (_by_key(rows, table.partition_by) for rows in (ours, theirs))
    assert_same(ours, theirs, (window, results, table.call))


def _by_key(rows: list[dict], keys: list[str]) -> list[dict]:
    return sorted(rows, key=lambda row: [repr(row[name]) for name in keys])


#: on one table with times, so that each option has an effect
OPTIONS = [
    {"emit": "changes"}, {"forget_after": 3}, {"emit": "changes", "forget_after": 3}, {"late": "revise", "keep": 5},
    {"late": "mark"}, {"max_delay": 3}, {"algorithm": "recalculate"},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(share(30)))
@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_options_change_what_they_do_on_the_whole_table(monkeypatch, options, seed):
    rng = np.random.default_rng([3, seed])
    table = draw_table(rng, 60, "int")
    while table.order_by[0].descending or len(table.order_by) > 1:
        table = draw_table(rng, 60, "int")
    small_chunks(monkeypatch, rng)
    new = {"a": sw.max("x").over(sw.rows(3)), "b": sw.sum("i").over(sw.time(2)), "n": sw.count().over(9)}
    expected = sw.with_columns(table.table, new, **table.call, **options)
    found = sw.with_columns(table.reader(), new, **table.call, **options, sorted=True)
    assert found.schema == expected.schema
    assert_same(found.read_all().to_pylist(), expected.to_pylist(), table.call)
    sessions = [] if options.get("late") == "revise" else [sw.session(1)]
    for window in (sw.rows(4, every=2), sw.time(4, every=2), *sessions):
        results = {"a": sw.max("x"), "b": sw.sum("i")}
        expected = sw.aggregate(table.table, results, window=window, **table.call, **options)
        found = sw.aggregate(table.reader(), results, window=window, **table.call, **options, sorted=True)
        assert found.schema == expected.schema
        ours, theirs = (_by_key(t.to_pylist(), table.partition_by) for t in (found.read_all(), expected))
        assert_same(ours, theirs, (window, table.call))
