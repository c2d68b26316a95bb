"""sw.aggregate on Spark DataFrames: as the engine of columns on the same rows, and as Spark's own hopping windows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.tiers import in_full, on_both, quick

import slidewise as sw
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.batches.slide_pass import SlidePassRun
from slidewise.columns.with_columns import list_names, list_order
from slidewise.spark import aggregate as slidewise_aggregate
from slidewise.spark.executor.slide_task import SlideTask

WINDOWS = [
    sw.time(60, every=30),
    sw.time(50, every=7),
    sw.time(50, every=50, offset=3),
    sw.time(45, every=10, offset=-4),
    sw.time(400, every=100),
    sw.time(30, every=sw.rows(4)),
    sw.time(30, every=sw.rows(3), closed="left"),
    sw.time(30, every=sw.delta("km", 3)),
    sw.time(30, every=sw.punctuation("stop")),
    sw.rows(5, every=3),
    sw.rows(5, every=3, min_rows=5),
    sw.rows(40, every=7, min_rows=30),
    sw.rows(4, every=sw.time(20)),
    sw.rows(6, every=sw.time(20), offset=7),
    sw.rows(6, every=sw.punctuation("stop")),
    sw.rows(6, every=sw.punctuation(lambda row: row["x"] == 3)),
    sw.rows(5, every=sw.delta("km", 4)),
    sw.rows(5, every=sw.delta("km", 4), min_rows=4),
    sw.rows(5, every=sw.delta("km", 40)),
    sw.punctuation("stop", every=sw.punctuation("stop")),
    sw.punctuation(lambda row: row["x"] == 0, every=2),
    sw.punctuation("stop", every=sw.time(25)),
    sw.punctuation("stop", every=sw.delta("km", 2)),
    sw.delta("km", 5, every=sw.rows(2)),
    sw.delta("km", 5, every=3),
    sw.delta("up", 9, every=6),
    sw.delta("km", 3, every=sw.time(20)),
    sw.delta("up", 7, every=sw.punctuation("stop")),
    sw.rows_between(-3, 2, every=4),
    sw.rows_between(-5, -2, every=2),
    sw.rows_between(2, 5, every=3),
    sw.rows_between(-3, 2, every=sw.time(25)),
    sw.rows_between(-3, 12, every=sw.delta("km", 3)),
    sw.rows_between(-3, 2, exclude="current row", every=4),
    sw.range_between(-20, 10, every=sw.rows(3)),
    sw.range_between(-20, 10, exclude="group", every=15),
    sw.groups_between(-2, 1, every=3),
    sw.groups_between(-2, 1, exclude="ties", every=sw.time(10)),
    sw.session(2),
    sw.session(15),
    sw.session(10_000),
    sw.time(60, every=15, cumulative=True),
    sw.time(90, every=10, offset=-7, cumulative=True),
    sw.time(20, every=50),
    # frames that grow with their key, or end with it
    sw.rows_between(-sw.UNBOUNDED, 0, every=3),
    sw.rows_between(-sw.UNBOUNDED, -2, every=sw.delta("km", 3)),
    sw.range_between(-sw.UNBOUNDED, 0, every=20),
    sw.range_between(-sw.UNBOUNDED, 5, every=sw.rows(2)),
    sw.groups_between(-sw.UNBOUNDED, 1, every=sw.time(20)),
    sw.rows_between(-2, sw.UNBOUNDED, every=5),
    sw.rows_between(sw.col("back"), 0, every=2),
]
RESULTS = {
    "sum": sw.sum("x"),
    "max": sw.max("x", where="stop"),
    "n": sw.count(),
    "first": sw.first("x"),
    "last": sw.last("name", ignore_nulls=True),
    "by": sw.max_by("name", "x"),
    "avg": sw.avg("y"),
    "top": sw.max("name"),
}
HOLISTIC = {"median": sw.median("x"), "list": sw.collect_list("x"), "distinct": sw.count_distinct("name")}


def table_of(seed, count, keys, nulls="no"):
    """Rows sorted by key and order, as Spark gives them; `nulls` says where those without an order stand."""
    rng = np.random.default_rng(seed)
    key, at = rng.integers(0, keys, count), rng.integers(0, 3 * count // keys, count)
    null = rng.random(count) < (0 if nulls == "no" else 0.15)
    order = np.lexsort((at, ~null if nulls == "first" else null, key))
    return pa.table(
        {
            "key": key[order],
            "at": pa.array(at[order], mask=null[order]),
            "x": pa.array(rng.integers(0, 9, count), mask=rng.random(count) < 0.2),
            "y": rng.integers(0, 100, count) / 4,
            "name": pa.array(rng.choice(["a", "bb", "c", "dd"], count), mask=rng.random(count) < 0.1),
            "km": np.cumsum(rng.integers(-1, 4, count)),
            "up": np.cumsum(rng.integers(0, 4, count)),
            "stop": rng.random(count) < 0.15,
            "back": -rng.integers(0, 5, count),
        }
    )


def task_of(table, window, results, partition_by, order_by):
    """What an executor would do, and what must come out."""
    expected = sw.aggregate(table, partition_by=partition_by, order_by=order_by, window=window, **results)
    keys, order = tuple(list_names(partition_by, "")), tuple(list_order(order_by))
    overs = tuple(slide_expressions(window, results, "auto").values())
    kinds = tuple(expected.schema.types)
    return SlideTask(table.schema, keys, order, overs, kinds, names=tuple(expected.column_names)), expected


def batches_of(table, rng, most):
    """The table in batches of random sizes, some of them without rows."""
    batch, first = pa.RecordBatch.from_arrays([c.combine_chunks() for c in table.columns], schema=table.schema), 0
    while first < len(batch):
        size = int(rng.integers(0, most + 1))
        yield batch.slice(first, size)
        first += size


def check(table, window, results, partition_by="key", order_by="at", seed=0):
    task, expected = task_of(table, window, results, partition_by, order_by)
    out = list(task.run(batches_of(table, np.random.default_rng(seed), 9)))
    assert pa.Table.from_batches(out, expected.schema).to_pydict() == expected.to_pydict()


SOME = WINDOWS[::8]
CHUNKS = {"row by row": (1, 0), "tiny chunks": (5, 1), "small chunks": (12, 4)}


def cut(monkeypatch, chunks):
    """Chunks so short that slides and keys often go on in the next one."""
    for name, value in zip(("CHUNK_ROWS", "TAILS", "BATCH_ROWS"), (*CHUNKS[chunks], 7), strict=True):
        monkeypatch.setattr(f"slidewise.columns.batches.row_pass.{name}", value)


# ---- the executor's side, without Spark
@pytest.mark.full
@pytest.mark.parametrize("window", [*SOME, *in_full(*(w for w in WINDOWS if w not in SOME))], ids=repr)
def test_chunk_by_chunk_as_all_at_once(window, monkeypatch):
    for seed, (chunks, count, keys) in enumerate(
        [("row by row", 40, 1), ("row by row", 30, 6), ("tiny chunks", 80, 1), ("tiny chunks", 60, 15)]
    ):
        cut(monkeypatch, chunks)
        check(table_of(seed, count, keys), window, RESULTS, seed=seed)
    cut(monkeypatch, "small chunks")
    check(table_of(7, 150, 2), window, RESULTS | HOLISTIC)


WITHOUT_DELTA = [w for w in WINDOWS if "delta" not in repr(w)][::2]


@pytest.mark.covering(1)
@pytest.mark.parametrize("nulls", ["first", "last"])
@pytest.mark.parametrize("window", quick(WITHOUT_DELTA, *WITHOUT_DELTA[::9]), ids=repr)
def test_rows_without_an_order(window, nulls, monkeypatch):
    for seed, (chunks, keys) in enumerate([("row by row", 1), ("tiny chunks", 8)]):
        cut(monkeypatch, chunks)
        check(table_of(seed, 40, keys, nulls), window, RESULTS, order_by=sw.asc("at", nulls=nulls), seed=seed)


#: on days and months of the calendar, around changes of clocks
CALENDAR = [
    sw.time("1mo", every="1mo", zone="Europe/Berlin"),
    sw.time("1q", every="1mo", zone="America/Havana"),
    sw.time("3d", every="1d", zone="Africa/Cairo", offset="6h"),
    sw.time("1d", every="1mo"),
    sw.time("1mo", every="1d", zone="Europe/Berlin"),
]


def by_days(table):
    """The same rows, with days in place of numbers of their order."""
    times = pc.add(pc.multiply(table["at"], 5 * 3600), 1_711_000_000)
    return table.set_column(1, "at", times.cast(pa.timestamp("s")).cast(pa.timestamp("us", "Asia/Tokyo")))


@pytest.mark.parametrize("window", [CALENDAR[2], *in_full(*CALENDAR[:2], *CALENDAR[3:])], ids=repr)
def test_days_and_months_chunk_by_chunk(window, monkeypatch):
    for seed, (chunks, count, keys, nulls) in enumerate(
        [("row by row", 40, 1, "no"), ("row by row", 30, 6, "first"), ("tiny chunks", 80, 1, "no")]
    ):
        cut(monkeypatch, chunks)
        check(by_days(table_of(seed, count, keys, nulls)), window, RESULTS, seed=seed)


@pytest.mark.full
def test_days_and_months_on_spark(spark):
    """In whatever zone the session is: the window's own decides."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    table = by_days(table_of(3, 300, 4))
    df = spark.createDataFrame(table.select(["key", "at", "x"]))
    for window in CALENDAR[:2]:
        results = {"total": sw.sum("x"), "n": sw.count()}
        out = sw.aggregate(df, partition_by="key", order_by="at", window=window, **results).toArrow()
        want = sw.aggregate(table, partition_by="key", order_by="at", window=window, **results)
        order = [("key", "ascending"), ("window_end", "ascending")]
        assert out.sort_by(order).to_pylist() == want.sort_by(order).to_pylist()


def arranged(table, *by):
    return table.sort_by([(name, "ascending") for name in by])


def test_other_orders_and_no_order(monkeypatch):
    cut(monkeypatch, "tiny chunks")
    table = table_of(3, 80, 4)
    for window in (
        sw.rows(5, every=3, min_rows=2),
        sw.rows(5, every=sw.delta("km", 4)),
        sw.punctuation("stop", every=2),
    ):
        check(table, window, RESULTS, order_by=None)
        check(table, window, RESULTS, partition_by=None, order_by=None)
        check(arranged(table, "key", "at", "y"), window, RESULTS, order_by=["at", "y"])
        check(arranged(table, "key", "stop"), window, RESULTS, partition_by=["key", "stop"], order_by=None)
    down = table.take(np.lexsort((-table["at"].to_numpy(), table["key"].to_numpy())))
    check(down, sw.time(30, every=sw.rows(4)), RESULTS, order_by=sw.desc("at"))
    floats = table.set_column(1, "at", pa.array(table["at"].to_numpy() / 7))
    for by_floats in (sw.time(1.5, every=0.4), sw.rows(3, every=sw.time(0.7)), sw.delta("at", 1.3, every=0.6)):
        check(floats, by_floats, RESULTS)
    days = table.set_column(1, "at", table["at"].cast(pa.int32()).cast(pa.date32()))
    check(days, sw.time("7d", every="2d", offset="1d"), RESULTS)


def test_many_slides_per_row_are_made_a_few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr("slidewise.columns.batches.slide_pass.CHUNK_SLIDES", 100)
    table = pa.table({"key": np.arange(40), "at": np.arange(40) * 1000})
    task, expected = task_of(table, sw.time(30, every=1), {"n": sw.count()}, "key", "at")
    sizes = []
    monkeypatch.setattr(SlidePassRun, "_emit_results", counted(SlidePassRun._emit_results, sizes))
    out = pa.Table.from_batches(task.run(table.to_batches()), expected.schema)
    assert out.equals(expected) and len(out) == 40 * 30
    assert max(sizes) <= 7 * 30


def counted(results, sizes):
    def run(self, columns, first, last):
        sizes.append(last - first)
        return results(self, columns, first, last)

    return run


@pytest.mark.full
@pytest.mark.parametrize(
    ("window", "most"),
    [
        (sw.time(100, every=10), 120),
        (sw.rows(100, every=7), 102),
        (sw.rows(100, every=sw.time(1000)), 102),
        (sw.rows(100, every=sw.delta("up", 10**6)), 102),
        (sw.time(100, every=sw.rows(50)), 103),
        (sw.delta("up", 100, every=20), 102),
        (sw.rows_between(-50, 50, every=10), 103),
        (sw.rows_between(-sw.UNBOUNDED, 0, every=10), 4),
        (sw.range_between(-sw.UNBOUNDED, 0, every=10), 5),
    ],
    ids=repr,
)
def test_what_stays_is_the_windows_and_not_the_keys(window, most, monkeypatch):
    count = 20_000
    table = pa.table({"at": np.arange(count), "up": np.arange(count), "x": np.arange(count) % 97})
    monkeypatch.setattr("slidewise.columns.batches.row_pass.CHUNK_ROWS", 500)
    task, expected = task_of(table, window, {"s": sw.sum("x"), "m": sw.max("x")}, None, "at")
    w, tails = SlidePassRun(task), []

    def batches():
        for batch in table.to_batches(max_chunksize=250):
            tails.append(len(w._tail.table))
            yield tuple(batch.columns)

    out = [pa.RecordBatch.from_arrays(rows.flatten(), task.names) for rows in w.run(batches())]
    assert pa.Table.from_batches(out, expected.schema).equals(expected)
    assert 1 <= max(tails) <= most


# ---- through Spark
def readings(session):
    """Events of a few keys, with a column that nothing reads."""
    return session.sql(
        """
        SELECT concat('k', id % 5) AS key,
               timestamp_millis(id * 37000 + (id * id * 7919) % 50000 + cast(id / 300 AS long) * 5000000) AS ts,
               CAST(if(id % 11 = 0, NULL, (id * 31) % 101) AS int) AS x,
               CAST((id * 17) % 1000 AS decimal(8, 2)) AS paid,
               ((id * 13) % 89) / 4 AS y,
               id * 3 + (id * 7) % 11 AS km,
               id % 23 = 0 AS stop,
               CAST(id AS int) AS id,
               'unread' AS unread
        FROM range(2000)
        """
    ).withMetadata("key", {"note": "kept"})


@on_both
def test_hopping_windows_are_sparks_own(session):
    from pyspark.sql import functions as F  # noqa: N812

    df = readings(session)
    call = {"partition_by": "key", "order_by": "ts", "window": sw.time("30m", every="10m", offset="3m")}
    results = {"peak": sw.max("x"), "total": sw.sum("x"), "mean": sw.avg("y"), "n": sw.count(), "paid": sw.sum("paid")}
    out = sw.aggregate(df, **call, **results)
    window = F.window("ts", "30 minutes", "10 minutes", "3 minutes").alias("w")
    aggregates = [F.max("x").alias("peak"), F.sum("x").alias("total"), F.avg("y").alias("mean")]
    aggregates += [F.count("*").alias("n"), F.sum("paid").alias("paid")]
    own = df.groupBy("key", window).agg(*aggregates)
    own = own.select("key", F.col("w.start").alias("window_start"), F.col("w.end").alias("window_end"), *results)
    assert out.schema["key"] == df.schema["key"] and out.schema["key"].metadata == {"note": "kept"}
    assert [(f.name, f.dataType) for f in out.schema] == [(f.name, f.dataType) for f in own.schema]
    found, expected = (frame.orderBy("key", "window_start").toArrow() for frame in (out, own))
    assert len(found) > 300
    assert found.drop(["mean"]).to_pydict() == expected.drop(["mean"]).to_pydict()
    assert np.allclose(found["mean"], expected["mean"], rtol=1e-12)


def of_a_notebook():
    """An aggregation that executors cannot import."""

    class Range(sw.Aggregation):
        identity = (np.inf, -np.inf)
        commutative = True

        @staticmethod
        def lift(x):
            return (x, x)

        @staticmethod
        def combine(a, b):
            return (min(a[0], b[0]), max(a[1], b[1]))

        @staticmethod
        def lower(s):
            return s[1] - s[0]

    return Range("y")


THROUGH_SPARK = [
    ("key", "ts", sw.time("20m", every=sw.rows(30))),
    pytest.param("key", "id", sw.rows(100, every=7, min_rows=20), marks=pytest.mark.full),
    pytest.param("key", "id", sw.delta("km", 50, every=70), marks=pytest.mark.full),
    (None, "id", sw.rows(50, every=sw.punctuation(lambda row: row["stop"] and row["unread"] == "unread"))),
    pytest.param(["key", "stop"], ["ts", "id"], sw.rows_between(-5, 5, every=9), marks=pytest.mark.full),
]


@pytest.mark.parametrize(("keys", "order", "window"), THROUGH_SPARK, ids=repr)
def test_as_the_engine_of_columns(session, keys, order, window):
    df = readings(session)
    results = {"median": sw.median("x"), "list": sw.collect_list("paid"), "when": sw.max("ts"), "span": of_a_notebook()}
    call = {"partition_by": keys, "order_by": order, "window": window}
    out = sw.aggregate(df, **call, **results)
    expected = sw.aggregate(df.toArrow(), **call, **results)
    by = [name for name in expected.column_names if name in ("key", "stop", "ts", "id")]
    found = out.toArrow()
    assert found.column_names == expected.column_names and len(found) > 20
    assert arranged(found, *by).to_pydict() == arranged(expected, *by).to_pydict()
    came_in = [name for name in out.columns if name in df.columns]
    assert [out.schema[name] for name in came_in] == [df.schema[name] for name in came_in]


def test_nothing_runs_before_an_action_and_only_what_is_read_travels(spark, capsys):
    from pyspark.sql import functions as F  # noqa: N812

    broken = readings(spark).withColumn("y", F.raise_error(F.lit("read too early")).cast("double"))
    call = {"partition_by": "key", "order_by": "ts", "window": sw.time("30m", every="10m")}
    sw.aggregate(broken, **call, mean=sw.avg("y"))
    out = sw.aggregate(broken, **call, peak=sw.max("x"), users=sw.count_distinct("km"))
    assert out.where("peak > 50").count() > 100
    out.where("peak > 50").explain()
    plan = capsys.readouterr().out
    assert [plan.count(node) for node in ("Exchange", "Sort ", "MapInArrow")] == [1, 1, 1]
    assert "unread" not in plan


def test_no_rows(session):
    out = sw.aggregate(
        readings(session).where("id < 0"), partition_by="key", order_by="ts", window=sw.rows(3, every=2), n=sw.count()
    )
    assert out.collect() == [] and out.columns == ["key", "ts", "n"]


def test_names_that_are_no_identifiers(spark):
    df = spark.sql("SELECT 1 AS `a.b`, 2 AS `x y`, 5 AS at")
    out = slidewise_aggregate(
        df, {"max of `x`": sw.max("x y")}, partition_by="a.b", order_by="AT", window=sw.time(2, every=2)
    )
    assert out.columns == ["a.b", "window_start", "window_end", "max of `x`"]
    assert [tuple(row) for row in out.collect()] == [(1, 4, 6, 2)]


SLIDING = {"partition_by": "key", "order_by": "ts", "window": sw.time("1h", every="1m")}
REFUSED = {
    "threads": (lambda df: sw.aggregate(df, **SLIDING, threads=2, n=sw.count()), "leave out threads"),
    "no slide": (lambda df: sw.aggregate(df, window=sw.rows(3), s=sw.sum("x")), "Use sw.with_columns"),
    "nothing": (lambda df: sw.aggregate(df, **SLIDING), "at least one"),
    "unknown column": (lambda df: sw.aggregate(df, **SLIDING, s=sw.sum("kmh")), "Did you mean 'km'"),
    "a name twice": (lambda df: sw.aggregate(df, **SLIDING, key=sw.sum("x")), "already"),
    "lengths": (lambda df: sw.aggregate(df, **SLIDING | {"order_by": "id"}, n=sw.count()), "Give a number"),
    "descending": (lambda df: sw.aggregate(df, **SLIDING | {"order_by": sw.desc("ts")}, n=sw.count()), "ascending"),
}


def test_what_cannot_be_meant_is_refused_before_an_action(spark):
    df = readings(spark)
    for call, message in REFUSED.values():
        with pytest.raises(sw.InvalidInput, match=message):
            call(df)
    with pytest.raises(sw.InvalidInput, match="stream"):
        sw.aggregate(
            spark.readStream.format("rate").load(), order_by="timestamp", window=sw.rows(3, every=2), n=sw.count()
        )
