"""Random streams, cut and restarted anywhere, through real queries give what a batch gives."""

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest
from folders import COLUMNS, SCHEMA, SETTINGS, START, Folder, events, last_row, utc
from microbatches import SECOND, in_open_windows, on_time

import slidewise as sw
from slidewise.spark import dropped_rows
from slidewise.spark.session import PROVIDER, ROCKSDB

AGGREGATES = [
    lambda: sw.count(), lambda: sw.max("x.y"), lambda: sw.min("note"), lambda: sw.median("seq"),
    lambda: sw.mode("note"), lambda: sw.count_distinct("note"), lambda: sw.first("seq"),
    lambda: sw.last("x.y", ignore_nulls=True), lambda: sw.collect_list("seq"), lambda: sw.max_by("note", "seq"),
    lambda: sw.max("ts"), lambda: sw.collect_list("seen"),
    lambda: sw.percentile("x.y", 0.25), lambda: sw.string_agg("note"), lambda: sw.count("x.y"),
]  # fmt: skip
WINDOWS = [
    lambda chance: sw.rows(chance.choice([1, 3, 20])), lambda chance: sw.time(chance.choice(["1s", "10s", "2m"])),
    lambda chance: sw.time("5s", closed="left"), lambda chance: sw.rows_between(-chance.randrange(5), 0),
    lambda chance: sw.range_between("-8s", "-1s"), lambda chance: sw.groups_between(-2, 0),
    lambda chance: sw.delta("seq", chance.choice([10, 100])), lambda chance: sw.session("500ms"),
]  # fmt: skip
SLIDES = [
    lambda: sw.time("10s", every="5s"), lambda: sw.time("1s", every="300ms"), lambda: sw.time("7s", every=sw.rows(10)),
    lambda: sw.rows(20, every=sw.rows(7)), lambda: sw.rows(5, every="3s"),
    lambda: sw.delta("seq", 50, every=sw.rows(5)), lambda: sw.session("500ms"), lambda: sw.session("10s"),
    lambda: sw.time("8s", every="2s", cumulative=True), lambda: sw.time("1s", every="3s"),
]  # fmt: skip
#: the seed of make test, and those that make soak adds
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 30))]


@pytest.fixture
def settings(spark):
    """Sets what a restart may set anew by chance; all is as before in the end."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    yield lambda chance: [spark.conf.set(name, chance.choice(values)) for name, values in SETTINGS.items()]
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_equals_its_batch(spark, tmp_path, settings, seed):
    spark.conf.set(PROVIDER, ROCKSDB)
    chance = random.Random(seed)
    parts = events(chance.randrange(2, 6), chance.choice([1, 20, 200]), seed)
    delay = chance.choice([0, 2, 30])
    call: dict[str, Any] = {"partition_by": chance.choice(["k", None, ["k", "note"]]), "order_by": "ts"}
    aggregates = {f"r{n}": make() for n, make in enumerate(chance.sample(AGGREGATES, chance.randrange(1, 4)))}
    slides = seed % 2 == 1
    if slides:
        call |= {"window": chance.choice(SLIDES)(), **aggregates}
    else:
        call |= {name: made.over(chance.choice(WINDOWS)(chance)) for name, made in aggregates.items()}
    function = sw.aggregate if slides else sw.with_columns
    folder = Folder(tmp_path, spark)
    guard, plain, ahead = {}, parts, 0
    if seed % 3 == 0:  # some senders have a clock that is wrong by a day, or by centuries
        guard, ahead = {"max_ahead": "1h"}, len(parts)
        parts = [pa.concat_tables([far_ahead(chance), part]) for part in parts]

    def out():
        return function(folder.stream(COLUMNS), max_delay=f"{delay}s", buckets=4, **guard, **call)

    stop = chance.randrange(1, len(parts) + 1)
    folder.add(*parts[:stop])
    progress = folder.run(out())
    settings(chance)
    # Later rows of their own key bring the watermark beyond all windows of the others.
    folder.add(*parts[stop:], last_row(10_000), last_row(20_000))
    progress += folder.run(out())
    assert dropped_rows(progress)["ahead"] == ahead
    if slides and call["window"].hopping:  # a query that has come to the end of its input runs once more, without rows
        cut = [*plain[:stop], SCHEMA.empty_table(), *plain[stop:], last_row(10_000)]
        expected = in_open_windows(lambda rows: function(rows, **call), cut, delay * SECOND)
    else:
        expected = function(on_time([*plain, last_row(10_000)], delay * SECOND), **call)
    early = lambda table: [row for row in table.to_pylist() if is_early(row)]  # noqa: E731
    got, expected = utc(folder.result()), utc(expected)
    assert slides or early(expected)
    assert got.schema.names == expected.schema.names
    assert sorted(map(repr, early(got))) == sorted(map(repr, early(expected)))


def far_ahead(chance):
    """A row of a time that has not come yet."""
    time = chance.choice([dt.datetime.now(dt.UTC) + dt.timedelta(days=1), START.replace(year=2999)])
    return pa.Table.from_pylist([{"k": "a", "ts": time, "seq": -1}], schema=SCHEMA)


def is_early(row):
    """Whether a result is of rows before the last ones, which never come out, or in part."""
    time = row.get("window_end") or row["ts"]
    return time < START + dt.timedelta(seconds=9_000)
