"""What goes in batches gives what the whole table gives, whatever the batches, the windows and the types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sorted_tables import ORDERS, SortedTable, assert_same, draw_table, hours
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
    sw.avg("u"), sw.max("u"), sw.max_count("u"), sw.m4("u"), sw.stddev("u"), sw.median("u"),
    sw.min_count("q"), sw.m4("q"), sw.avg("q"), sw.sum("q"), sw.max_count("at q"), sw.min("at q"), sw.m4("at q", "o"),
    sw.max("o"), sw.m4("o"), sw.max_count("o"), sw.min_by("o", "y"), sw.mode("o"), sw.percentile_disc("o", 0.5),
    sw.sum("f"), sw.max("f"), sw.min("f"), sw.m4("f"), sw.avg("y"), sw.max("y"), sw.min_count("y"), sw.var_pop("y"),
    sw.skewness("y"), sw.kurtosis("i"), sw.product("y"), sw.geomean("u"), sw.relative_variation("i"),
    sw.sum("long"), sw.avg("long"), sw.max("long"), sw.max_count("long"), sw.m4("long"), sw.max("day"), sw.m4("day"),
    sw.sum("wide"), sw.avg("wide"), sw.max_count("wide"), sw.m4("wide"), sw.min("wide"), sw.max_by("wide", "s"),
    sw.max_count("s"), sw.m4("s"), sw.m4("d", "at"), sw.min_count("d"), sw.bit_xor("bits"), sw.sum("bits"),
    sw.avg("bits", where="stop"), sw.max("bits"), sw.covar_samp("x", "i"), sw.corr("y", "bits"),
    sw.regr_slope("x", "i"), sw.nth_value("x", -2), sw.nth_value("o", 3, ignore_nulls=True), sw.first("u"),
    sw.last("q"), sw.sum_distinct("i"), sw.avg_distinct("d"), sw.ewm_avg("x", "walk", 3), sw.ewm_avg("y", "at", "1h"),
    sw.approx_count_distinct("u"), sw.approx_count_distinct("s"), sw.count_distinct("f"), sw.collect_set("o"),
    sw.collect_list("at q"),
]  # fmt: skip
PLACES = [sw.lag("i"), sw.lead("s", 2), sw.row_number(), sw.rank(), sw.percent_rank(), sw.ntile(3)]
EVER = sw.UNBOUNDED
ANY_ORDER = [
    sw.rows(1), sw.rows(4), sw.rows(9, min_rows=3), sw.rows_between(-3, 3), sw.rows_between(2, 5),
    sw.rows_between(-6, -2), sw.rows_between(-2, 2, exclude="current row"), sw.rows_between(-EVER, 0),
    sw.rows_between(-EVER, -2), sw.rows_between(-EVER, 3), sw.rows_between(-3, EVER), sw.rows_between(-EVER, EVER),
    sw.rows_between(sw.col("back"), 0), sw.delta("walk", 4), sw.punctuation("stop"),
    sw.punctuation(lambda row: row["i"] == 3 or row["s"] == "bb"), sw.delta("y", 2.0), sw.delta("day", "2d"),
    sw.rows_between(-EVER, 0, exclude="current row"), sw.rows_between(0, EVER), sw.rows(30),
]  # fmt: skip
SOME_ORDER = [
    sw.groups_between(-2, 1), sw.groups_between(-EVER, -1), sw.groups_between(-1, 0, exclude="ties"),
    sw.rows_between(-3, 3, exclude="group"), sw.range_between(-EVER, 0), sw.range_between(0, 0),
    sw.groups_between(1, 2), sw.groups_between(-EVER, 0, exclude="group"),
    sw.groups_between(-2, 0, exclude="current row"), sw.range_between(-EVER, 0, exclude="ties"),
    sw.rows_between(-EVER, 2, exclude="ties"), sw.groups_between(-EVER, 2),
    sw.rows_between(2, 4, exclude="group"), sw.range_between(0, EVER),
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
        windows += [sw.time("1mo", every="1mo", zone="Europe/Berlin")] if table.order.has_dates else []
        return windows if up else []
    windows = [sw.range_between(_minus(n(2)), n(1)), sw.range_between(n(1), n(3)), sw.range_between(_minus(n(3)), 0)]
    windows += [sw.range_between(-EVER, _minus(n(1))), sw.range_between(-EVER, n(2))]
    windows += [sw.range_between(_minus(n(2)), n(2), exclude=what) for what in ("current row", "group", "ties")]
    if table.order.has_dates:
        months = [("-1 month", 0), ("-1 month", "1 month"), (-EVER, "-1 month"), (-EVER, "1 month"), ("1 month", EVER)]
        windows += [sw.range_between(*bounds) for bounds in months]
    if up:
        windows += [sw.time(n(3)), sw.time(n(2), closed="left"), sw.session(n(1)), sw.time(n(1), closed="neither")]
        windows += [sw.time("1 month"), sw.time("1 month", closed="right")] if table.order.has_dates else []
    return windows


def _minus(length):
    return -length if isinstance(length, int) else f"-{length}"


#: orders along which windows have a length
MEASURED = [name for name, order in ORDERS.items() if order.unit is not None]


def draw_expressions(rng: np.random.Generator, table: SortedTable) -> dict:
    windows = ANY_ORDER + (SOME_ORDER if table.order_by else []) + by_length(table) * 2
    out = {}
    for k in range(rng.integers(1, 5)):
        out[f"c{k}"] = AGGREGATIONS[rng.integers(len(AGGREGATIONS))].over(windows[rng.integers(len(windows))])
    if table.order_by and rng.random() < 0.3:
        out["place"] = PLACES[rng.integers(len(PLACES))]
    return out


#: what cannot be computed of a whole table, nor in batches: infinite distances, sums that leave 64 bits
REFUSED = (sw.InvalidInput, OverflowError)


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
    call = table.call
    try:
        expected = sw.with_columns(table.table, expressions, **call)
        exact = not any(pa.types.is_floating(expected.schema.field(name).type) for name in expressions)
        if exact and table.order_by and rng.random() < 0.3 and not table.order_by[0].descending:
            call = {**call, "emit": "changes"}
            expected = sw.with_columns(table.table, expressions, **call)
    except REFUSED as error:
        with pytest.raises(type(error)):
            sw.with_columns(table.reader(), expressions, **call, sorted=True).read_all()
        return
    found = sw.with_columns(table.reader(), expressions, **call, sorted=True)
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema == expected.schema
    assert_same(found.read_all().to_pylist(), expected.to_pylist(), (expressions, table.call))


@pytest.mark.parametrize("seed", range(share(400)))
def test_slides_are_those_of_the_whole_table(monkeypatch, seed):
    rng = np.random.default_rng([2, seed])
    table = draw_table(rng, int(rng.integers(0, 90)), str(rng.choice(MEASURED)))
    small_chunks(monkeypatch, rng)
    windows = SLIDES + by_length(table, slides=True) * 2
    window = windows[rng.integers(len(windows))]
    results = {f"c{k}": AGGREGATIONS[rng.integers(len(AGGREGATIONS))] for k in range(3)}
    try:
        expected = sw.aggregate(table.table, results, window=window, **table.call)
    except REFUSED as error:
        with pytest.raises(type(error)):
            sw.aggregate(table.reader(), results, window=window, **table.call, sorted=True).read_all()
        return
    found = sw.aggregate(table.reader(), results, window=window, **table.call, sorted=True)
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema == expected.schema
    ours, theirs = found.read_all().to_pylist(), expected.to_pylist()
    if table.partition_by:  # in batches keys go out as they come, and from a table as its codes stand
        ours, theirs = (_by_key(rows, table.partition_by) for rows in (ours, theirs))
    assert_same(ours, theirs, (window, results, table.call))


def _by_key(rows: list[dict], keys: list[str]) -> list[dict]:
    """Sort rows by key; -0.0 and 0.0 are one, and which of them a slide names is that of the rows at hand."""
    return sorted(rows, key=lambda row: [repr(0 if row[name] == 0 else row[name]) for name in keys])


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


# ---- what was found by it, one by one
SO_FAR = sw.rows_between(-EVER, 0)


def assert_alike(monkeypatch, table: pa.Table, new: dict, chunk: int = 1) -> None:
    monkeypatch.setattr(in_batches, "CHUNK_ROWS", chunk)
    monkeypatch.setattr(row_pass, "TAILS", 0)
    whole = sw.with_columns(table, new, order_by="t")
    found = sw.with_columns(table.to_reader(max_chunksize=1), new, order_by="t", sorted=True).read_all()
    assert found.select(list(new)).to_pylist() == whole.select(list(new)).to_pylist()


@pytest.mark.parametrize("aggregation", [sw.avg("u"), sw.max_count("u"), sw.min_count("u"), sw.m4("u")], ids=repr)
def test_running_frames_of_which_one_batch_has_a_value_above_int64(monkeypatch, aggregation):
    for values in ([2**63 + 5, 1, 2, 3], [1, 2, 2**63 + 5, 3]):
        table = pa.table({"t": range(4), "u": pa.array(values, pa.uint64())})
        assert_alike(monkeypatch, table, {"y": aggregation.over(SO_FAR)})


@pytest.mark.parametrize("aggregation", [sw.max_count("q"), sw.m4("q")], ids=repr)
def test_running_frames_of_numbers_in_dictionaries_of_the_batches(monkeypatch, aggregation):
    values = [pa.array([value]).dictionary_encode() for value in (5, 9, 2, 9, 9, 2)]
    table = pa.table({"t": range(6), "q": pa.chunked_array(values)})
    assert_alike(monkeypatch, table, {"y": aggregation.over(SO_FAR)})


def test_running_means_of_durations(monkeypatch):
    lengths = pa.array([5, 8, 2, 9, 9, 2], pa.duration("us"))
    new = {"y": sw.avg("d").over(SO_FAR), "s": sw.sum("d").over(SO_FAR)}
    assert_alike(monkeypatch, pa.table({"t": range(6), "d": lengths}), new)


@pytest.mark.parametrize("chunk", [1, 24, 40])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_months_where_clocks_go_back(monkeypatch, unit, chunk):
    day_before, before, night = (hours(begin, 18, 1 / 3) for begin in (
        "2026-09-23 22:00", "2026-09-24 22:00", "2026-10-24 23:00",
    ))  # fmt: skip
    kind = pa.timestamp("us", "Europe/Berlin")
    for times, new in (
        (before + night, {"n": sw.count().over(sw.time("1 month"))}),
        (before + night, {"s": sw.sum("x").over(sw.range_between(-EVER, "-1 month"))}),
        # a row stays in front of others, and a partial: both have it once
        (day_before + before + night, {
            "m": sw.max("x").over(SO_FAR), "s": sw.sum("y").over(SO_FAR), "n": sw.count().over(sw.time("1 month")),
        }),
    ):  # fmt: skip
        count = len(times)
        at = pa.array(times, kind).cast(pa.timestamp(unit, "Europe/Berlin"))
        assert_alike(monkeypatch, pa.table({"t": at, "x": range(count), "y": [1] * count}), new, chunk)


def test_ordered_dictionaries_that_do_not_go_together_are_refused():
    parts = [
        pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(entries), ordered=True)
        for places, entries in (([0, 1], ["low", "high"]), ([1, 2], ["low", "mid", "high"]))
    ]
    table = pa.table({"t": range(4), "c": pa.chunked_array(parts)})
    with pytest.raises(sw.InvalidInput, match=r"orders that do not go together.*'low', 'mid', 'high'"):
        sw.with_columns(table, y=sw.max("c").over(2), order_by="t")


def test_readers_with_columns_of_any_type():
    values = pa.array(hours("2026-01-01 00:00", 3)).dictionary_encode()
    table = pa.table({"t": range(3), "at": values})
    found = sw.with_columns(table.to_reader(), n=sw.count().over(2), order_by="t", sorted=True)
    assert found.read_all()["at"].to_pylist() == values.to_pylist()
