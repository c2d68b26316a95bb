"""Late rows enter the hopping windows that were not emitted yet: as in process, and as in Spark's own window()."""

import datetime as dt
import random

import pyarrow as pa
import pytest
from folders import SCHEMA as COLUMNS
from folders import START, Folder, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batches, equal, expect, find_watermarks, row, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.spark import dropped_rows
from slidewise.spark.session import PROVIDER, ROCKSDB

WINDOWS = {
    "hop": sw.time("10s", every="3s"),
    "tumble": sw.time("6s", every="6s", offset="1s"),
    "narrow": sw.time("3s", every="1s"),
}
#: all but "rows" can be kept as slices
RESULTS = {
    "slices": {"n": sw.count(), "total": sw.sum("odo"), "peak": sw.max("x"), "known": sw.count("note")},
    "rows": {"first": sw.first("seq"), "last": sw.last("note", ignore_nulls=True), "seqs": sw.collect_list("seq"),
             "highest": sw.max_by("seq", "odo"), "median": sw.median("odo"), "n": sw.count()},
    "picks in slices": {"first": sw.first("seq"), "last": sw.last("note", ignore_nulls=True),
                        "highest": sw.max_by("seq", "odo"), "lowest": sw.min_by("seq", "x"), "n": sw.count()},
}  # fmt: skip


class Buckets:
    """Micro-batches over several buckets, which all are told of rows that any has."""

    def __init__(self, task, delay, number):
        self.delay, self.streams = delay, [Stream(task, delay) for _ in range(number)]
        self.parts = []

    def push(self, rows):
        self.parts.append(rows)
        watermark = find_watermarks(self.parts, self.delay)[-1]
        own = [ord(key or "0") % len(self.streams) for key in rows["k"].to_pylist()]
        for k, stream in enumerate(self.streams):
            stream.watermark = watermark
            stream.push(rows.filter(pa.array([bucket == k for bucket in own], pa.bool_())), told=len(rows) > 0)

    def flush(self):
        for stream in self.streams:
            stream.flush()

    def result(self):
        return pa.concat_tables([out for stream in self.streams for out in stream.out])


def in_process(window, results, parts, delay, **options):
    """A Window whose watermark moves as that of a stream does: after the rows of each micro-batch."""
    w = sw.Window(results, window, partition_by="k", max_delay="100000d", late="drop", **options)
    found = []
    for rows, watermark in zip(parts, find_watermarks(parts, delay), strict=True):
        for each in rows.to_pylist():
            found += w.push(each, time=each["ts"])
        found += w.advance(dt.datetime.fromtimestamp(watermark / SECOND, dt.UTC))
    return found + w.flush(), w.dropped


@pytest.mark.parametrize("kept", RESULTS)
@pytest.mark.parametrize("window", WINDOWS)
@examples(25)
@given(batches(), st.sampled_from([0, 2, 10]), st.integers(1, 3))
def test_as_in_process_and_as_over_the_rows_that_came_in_time(window, kept, parts, delay, number):
    task = task_of(RESULTS[kept], window=WINDOWS[window], slices=kept != "rows")
    stream = Buckets(task, delay * SECOND, number)
    for part in parts:
        stream.push(part)
    stream.flush()
    same(stream.result(), expect(task, parts, delay * SECOND), by=("k", "window_end"))
    results, dropped = in_process(WINDOWS[window], RESULTS[kept], parts, delay * SECOND)
    wanted = {(r.key, r.start, r.end): r.value for r in results}
    found = stream.result().to_pylist()
    assert len(found) == len(wanted)
    for each in found:
        value = wanted[each["k"], each["window_start"], each["window_end"]]
        assert all(equal(each[name], value[name]) for name in RESULTS[kept]), (each, value)
    assert sum(each.late for each in stream.streams) == dropped


def windows_of(time, window):
    """The ends of the windows that have a time, by the rule and not by the code."""
    length, every, offset = (
        0 if given is None else given.nanoseconds // 1000 for given in (window.size, window.every.size, window.offset)
    )
    at = round(time.timestamp() * SECOND)
    first = (at - offset) // every * every + offset
    ends = [first - k * every + length for k in range(length // every + 2)]
    return [dt.datetime.fromtimestamp(end / SECOND, dt.UTC) for end in ends if end - length <= at < end]


def push(stream, *rows):
    stream.out.clear()
    stream.push(pa.Table.from_pylist(list(rows), schema=SCHEMA))
    found = [each for out in stream.out for each in out.to_pylist()]
    return [((r["window_end"] - START).total_seconds(), r["n"]) for r in found]


@pytest.mark.parametrize("slices", [True, False])
def test_rows_are_judged_by_the_watermark_of_the_micro_batch_before(slices):
    stream = Stream(task_of({"n": sw.count()}, window=sw.time("10s", every="5s"), slices=slices), 0)
    assert push(stream, row("a", 3)) == []  # watermark 0
    assert push(stream, row("a", 12)) == []  # 3
    # The watermark is 12, and [0, 10) closes with this micro-batch: after its rows.
    assert push(stream, row("a", 1), row("b", 7)) == [(5, 2), (10, 2), (10, 1)]
    assert stream.late == 0
    assert push(stream, row("a", 9), row("a", 10), row("a", 2)) == []
    assert stream.late == 1
    assert push(stream, row("a", 40)) == []
    assert push(stream, row("a", 41)) == [(15, 3), (20, 2), (15, 1)]


def test_a_bucket_without_rows_knows_which_windows_are_closed():
    """[0, 10) was closed by rows of another bucket, and none of its own rows had come."""
    stream = Buckets(task_of({"n": sw.count()}, window=sw.time("10s", every="10s"), slices=True), 0, 2)
    for rows in ([row("b", 12)], [row("b", 13)], [row("a", 3)]):
        stream.push(pa.Table.from_pylist(rows, schema=SCHEMA))
    stream.flush()
    assert [each.late for each in stream.streams] == [0, 1]
    assert [r["k"] for r in stream.result().to_pylist()] == ["b"]


# ---- real queries, beside Spark's own
def events(seed, batches, each, disorder):
    """Rows of which some are late by so much, in the order of `seq`."""
    chance, out, n = random.Random(seed), [], 0
    for _ in range(batches):
        rows = []
        for _ in range(each):
            n += 1
            late = chance.choice([0, 0, 0, chance.randrange(1000), chance.randrange(1, disorder)])
            time = START + dt.timedelta(milliseconds=200 * n - late)
            rows.append({"k": chance.choice(["a", "b", "c", "d", None]), "ts": time, "seq": n, "note": None})
        out.append(pa.Table.from_pylist(rows, schema=COLUMNS))
    return out


SEEDS = [*(pytest.param(n, marks=pytest.mark.full) for n in (1,)),
         *(pytest.param(n, marks=pytest.mark.soak) for n in (0, *range(2, 20)))]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_those_of_sparks_own_window(spark, tmp_path, seed):
    from pyspark.sql import functions as F  # noqa: N812

    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    chance = random.Random(seed)
    size, every = chance.choice([("10 seconds", "5 seconds"), ("10 seconds", "3 seconds"), ("4 seconds", "4 seconds")])
    parts = events(seed, chance.randrange(3, 6), chance.choice([5, 20, 40]), chance.choice([3000, 20000]))
    ours, theirs = (Folder(tmp_path / name, spark) for name in make_folders(tmp_path, "ours", "theirs"))
    sliced = {"n": sw.count(), "total": sw.sum("seq")}
    ordered = {"first": sw.first("seq"), "last": sw.last("seq")} if seed % 2 else {}

    def our_query():
        call = {"partition_by": "k", "order_by": "ts", "max_delay": "1s", "buckets": 4}
        return sw.aggregate(ours.stream(), {**sliced, **ordered}, window=sw.time(size, every=every), **call)

    def their_query():
        place = F.struct("ts", "seq")
        results = [F.count("*").alias("n"), F.sum("seq").alias("total")]
        results += [F.min_by("seq", place).alias("first"), F.max_by("seq", place).alias("last")] if ordered else []
        stream = theirs.stream().withWatermark("ts", "1 second")
        found = stream.groupBy("k", F.window("ts", size, every)).agg(*results)
        labels = [F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")]
        return found.select("k", *labels, *sliced, *ordered)

    stop = chance.randrange(1, len(parts))
    progress, dropped = [], 0
    for some in (parts[:stop], [*parts[stop:], last_row(1000), last_row(2000)]):
        for folder, query in ((ours, our_query), (theirs, their_query)):
            folder.add(*some)
            found = folder.run(query())
            if folder is ours:
                progress += found
            else:
                dropped += sum(state["numRowsDroppedByWatermark"] for each in found for state in each["stateOperators"])
    rows, wanted = (sorted(map(repr, utc(folder.result()).to_pylist())) for folder in (ours, theirs))
    assert rows == wanted
    late = dropped_rows(progress)["late"]
    # Spark counts a row once for each of its windows that is closed, after it has added up those of a key and window.
    assert (late > 0) <= (dropped > 0)
    assert late > 0 or seed != 0


def make_folders(path, *names):
    for name in names:
        (path / name).mkdir()
    return names
