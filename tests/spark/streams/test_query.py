"""Streams through real queries: the same rows as from a batch, across restarts, in both modes."""

import datetime as dt
from collections import Counter

import pyarrow as pa
import pytest
from folders import DELAY, SETTINGS, START, Folder, events, last_row, utc
from microbatches import in_open_windows, on_time, same

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput
from slidewise.events.result import are_alike
from slidewise.spark.session import PARTITIONS, PROVIDER, ROCKSDB

FEATURES = {
    "peak": sw.max("x.y").over(sw.time("10s")),
    "different": sw.count_distinct("note").over(sw.time("5s")),
    "last.three": sw.collect_list("seq").over(sw.rows(3)),
    "times": sw.collect_list("ts").over(sw.rows(2)),
    "values": sw.collect_list("x.y").over(sw.rows(4)),
    "latest": sw.last("seen").over(sw.rows(2)),
}
ZONE = "spark.sql.session.timeZone"


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def session(request):
    """Both modes, Connect by make soak: a restarted query takes half a minute."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def folder(session, tmp_path):
    session.conf.set(PROVIDER, ROCKSDB)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    settings = {name: session.conf.get(name) for name in SETTINGS}
    yield Folder(tmp_path, session)
    for name, value in settings.items():
        session.conf.set(name, value)


@pytest.mark.full
def test_rows_equal_those_of_a_batch_across_restarts(folder):
    parts = events()

    def out():
        return sws.with_columns(folder.stream(), FEATURES, partition_by="k", order_by="ts", max_delay="2s")

    folder.add(*parts[:2])
    progress = folder.run(out())
    # A restart may set all of this anew: timestamps are instants, and state knows nothing of the rest.
    for name, values in SETTINGS.items():
        folder.session.conf.set(name, values[1])
    folder.add(*parts[2:], last_row(1000))
    progress += folder.run(out())
    expected = sw.with_columns(on_time(parts, DELAY), partition_by="k", order_by="ts", **FEATURES)
    same(utc(folder.result()), expected)
    late = sum(map(len, parts)) - len(expected)
    assert late > 0
    assert sws.dropped_rows(progress) == {"late": late, "ahead": 0, "untimed": 0}

    # Another definition on the same checkpoint is refused, and says what has changed.
    folder.add(parts[0])
    changed = {**FEATURES, "peak": sw.max("x.y").over(sw.time("11s"))}
    with pytest.raises(Exception, match=r"another definition: result peak was.*10s.*11s"):
        folder.run(sws.with_columns(folder.stream(), changed, partition_by="k", order_by="ts", max_delay="2s"))


@pytest.mark.full
def test_slices_across_a_restart(folder):
    parts = events()
    results = {"n": sw.count(), "peak": sw.max("x.y"), "mean": sw.avg("seq"), "note": sw.min("note")}
    window = sw.time("3s", every="2s")

    def out():
        return sw.aggregate(
            folder.stream(), partition_by="k", order_by="ts", max_delay="2s", window=window, slices=True, **results
        )

    folder.add(*parts[:2])
    folder.run(out())
    some = parts[0][:3]
    place = some.column_names.index("ts")
    untimed = some.set_column(place, some.field("ts"), pa.nulls(3, some.field("ts").type))
    folder.add(*parts[2:], untimed, last_row(1000), last_row(2000))
    progress = folder.run(out())
    dropped = sws.dropped_rows(progress)
    assert dropped["late"] > 0
    assert dropped["untimed"] == 3
    # A query that has come to the end of its input runs once more, without rows.
    cut = [*parts[:2], parts[0][:0], *parts[2:]]
    whole = in_open_windows(
        lambda rows: sw.aggregate(rows, partition_by="k", order_by="ts", window=window, **results), cut, DELAY
    )
    expected = utc(whole).to_pylist()
    got = [row for row in utc(folder.result()).to_pylist() if row["k"] != "end"]
    assert sorted(map(repr, got)) == sorted(map(repr, expected))


@pytest.mark.full
def test_slides_come_when_they_close_and_can_be_used_on(folder):
    from pyspark.sql import functions as F  # noqa: N812

    parts = events()
    results = {"n": sw.count(), "peak": sw.max("x.y"), "typical": sw.median("seq")}
    window = sw.time("10s", every="5s")
    folder.add(*parts, last_row(1000), last_row(2000), last_row(3000))
    timed = folder.stream().withWatermark("ts", "2 seconds")
    # Two calls of ours, one after the other, which share the watermark and count late rows apart.
    rows = sw.with_columns(timed, partition_by="k", order_by="ts", place=sw.count().over(sw.rows(5)))
    results = {**results, "most": sw.max("place")}
    slides = sw.aggregate(rows, partition_by="k", order_by="ts", window=window, metrics="slides", **results)
    # Spark's own window over what comes out: the watermark is still there.
    counts = [F.sum("n").alias("total"), F.count("*").alias("m"), F.sum("most").alias("most")]
    minutes = slides.groupBy(F.window("window_end", "1 minute")).agg(*counts)
    progress = folder.run(minutes.select("window.end", "total", "m", "most"))
    kept = on_time(parts, DELAY)
    assert sws.dropped_rows(progress)["late"] == sum(map(len, parts)) - len(kept) > 0
    assert sws.dropped_rows(progress, "slides") == {"late": 0, "ahead": 0, "untimed": 0}
    first = sw.with_columns(kept, partition_by="k", order_by="ts", place=sw.count().over(sw.rows(5)))
    expected = sw.aggregate(first, partition_by="k", order_by="ts", window=window, **results)
    found = {}
    for row in expected.to_pylist():
        end = row["window_end"].replace(second=0, microsecond=0) + dt.timedelta(minutes=1)
        total, m, most = found.get(end, (0, 0, 0))
        found[end] = (total + row["n"], m + 1, most + row["most"])
    got = {row["end"]: (row["total"], row["m"], row["most"]) for row in utc(folder.result()).to_pylist()}
    assert {end: value for end, value in got.items() if end < START + dt.timedelta(seconds=900)} == found


@pytest.mark.full
def test_rows_that_wait_and_rows_at_once(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    parts = events(2, 60)
    waiting, at_once = (tmp_path / name for name in ("waiting", "at_once"))
    waiting.mkdir(), at_once.mkdir()

    folder = Folder(waiting, spark)
    around = {
        "around": sw.sum("seq").over(sw.range_between("-1s", "1s")),
        "next": sw.max("seq").over(sw.rows_between(0, 1)),
    }
    folder.add(*parts, last_row(1000), last_row(5000))
    folder.run(
        sw.with_columns(folder.stream(), partition_by="k", order_by="ts", max_delay="2s", forget_after="10m", **around)
    )
    expected = sw.with_columns(on_time(parts, DELAY), partition_by="k", order_by="ts", **around)
    got = utc(folder.result())
    same(got.filter(pa.array([k != "end" for k in got["k"].to_pylist()])), expected)

    folder = Folder(at_once, spark)
    folder.add(parts[0], parts[1])
    counted = sw.with_columns(folder.stream(), emit="arrival", partition_by="k", n=sw.count().over(sw.rows(10**6)))
    folder.run(counted)
    found = sorted((row["k"] or "", row["n"]) for row in folder.result().to_pylist())
    keys = [k or "" for part in parts for k in part["k"].to_pylist()]
    assert found == sorted((key, n) for key in set(keys) for n in range(1, keys.count(key) + 1))


@pytest.mark.full
def test_late_rows_revise_what_has_come_out_across_a_restart(folder):
    parts = events()
    more = {"low": sw.min("seq").over(sw.time("8s"))}

    def out(results):
        options = {"max_delay": "2s", "late": "revise", "keep": "5s"}
        return sws.with_columns(folder.stream(), results, partition_by="k", order_by="ts", **options)

    folder.add(*parts[:2])
    progress = folder.run(out(FEATURES))
    before = utc(folder.result())
    # The state has what a new result needs, and the query goes on with it.
    folder.add(*parts[2:], last_row(1000))
    progress += folder.run(out({**FEATURES, **more}))
    kept = on_time(parts, DELAY, 5 * 10**6)
    assert sws.dropped_rows(progress) == {"late": sum(map(len, parts)) - len(kept), "ahead": 0, "untimed": 0}
    found = sorted(utc(folder.result()).to_pylist(), key=lambda row: row["revision"])
    assert found[-1]["revision"] > 0
    last = {row["seq"]: row for row in found if row["k"] != "end"}
    assert sum(row["revision"] + 1 for row in last.values()) == len([row for row in found if row["k"] != "end"])
    expected = sw.with_columns(kept, partition_by="k", order_by="ts", **FEATURES)
    columns = [name for name in before.column_names if name != "revision"]
    same(pa.Table.from_pylist(list(last.values()), schema=before.schema).select(columns), expected.select(columns))


@pytest.mark.full
@pytest.mark.soak
def test_only_changes_come_out_and_can_be_used_on(folder):
    from pyspark.sql import functions as F  # noqa: N812

    parts = events()
    results = {"p": sw.bool_or("p"), "most": sw.max("x.y")}
    window = sw.time("4s", every="1s")
    folder.add(*parts[:2])

    def out():
        stream = folder.stream().withColumn("p", F.col("note") == "p")
        slides = sws.aggregate(
            stream, results, partition_by="k", order_by="ts", window=window, max_delay="2s", emit="changes"
        )
        return slides.groupBy("k", F.window("window_end", "5 minutes")).agg(F.count("*").alias("n")).select("k", "n")

    folder.run(out())
    folder.add(*parts[2:], last_row(1000), last_row(2000))
    folder.run(out())
    kept = on_time(parts, DELAY)
    kept = kept.append_column(
        "p", pa.array([None if note is None else note == "p" for note in kept["note"].to_pylist()])
    )
    counts, last = Counter(), {}
    for row in sw.aggregate(kept, partition_by="k", order_by="ts", window=window, **results).to_pylist():
        found = [row["p"], row["most"]]
        counts[row["k"]] += row["k"] not in last or not are_alike(last[row["k"]], found)
        last[row["k"]] = found
    got = Counter()
    for row in folder.result().to_pylist():
        got[row["k"]] += row["n"]
    del got["end"]
    assert got == counts


def test_what_is_refused_before_a_query_starts(spark):
    spark.conf.set(PROVIDER, ROCKSDB)
    df = spark.readStream.format("rate").load()
    peak = sw.max("value").over(sw.time("1m"))

    def refused(match, df=df, **call):
        with pytest.raises(InvalidInput, match=match):
            sw.with_columns(df, **{"order_by": "timestamp", "max_delay": "1s", "peak": peak, **call})

    refused("without a watermark nothing", max_delay=None)
    refused("name the column of event times", order_by=None, max_delay=None)
    refused("has a watermark on 'timestamp' already", df=df.withWatermark("timestamp", "1 second"))
    refused("watermark is on 't'", df=df.selectExpr("*", "timestamp t").withWatermark("t", "1 second"), max_delay=None)
    refused("a timestamp, and 'value' is bigint", order_by="value")
    refused("descending", order_by=sw.desc("timestamp"))
    refused('late is "drop", which counts late rows, "mark", which gives them back, or "revise"', late="error")
    refused("Say how long after", late="revise")
    refused('got keep=.1m. with late="drop"', keep="1m")
    refused("a length of time", late="revise", keep=3)
    refused(
        "adds a column 'revision'",
        late="revise",
        keep="1m",
        df=df.withColumnRenamed("value", "Revision"),
        peak=sw.max("Revision").over(sw.rows(2)),
    )
    revised = sw.with_columns(df, order_by="timestamp", max_delay="1s", late="revise", keep="1m", peak=peak)
    refused('come from a call with late="revise"', df=revised.drop("revision"))
    refused("emit is one of", emit="every")
    refused("counts milliseconds", max_delay="1us")
    watermarked = df.withWatermark("timestamp", "1 second")
    refused("which follows the newest time", df=watermarked, max_delay=None, max_ahead="1h")
    refused("max_ahead is a length of time", max_ahead=3)
    refused("max_ahead is measured in event time", order_by=None, max_delay=None, max_ahead="1h", emit="arrival")
    refused(
        "is a timestamp without a zone",
        df=df.selectExpr("timestamp::timestamp_ntz AS timestamp", "value"),
        max_ahead="1h",
    )
    refused("is date", df=df.selectExpr("date(timestamp) AS timestamp", "value"), max_ahead="1h")
    refused("the path of a checkpoint", checkpoint=3)
    with pytest.raises(InvalidInput, match="check takes the DataFrame that with_columns or aggregate gave"):
        sws.check(df, "somewhere")
    refused("a length of time", forget_after=3)
    refused("a number from 1 to 4096", buckets=0)
    refused("needs all of its values", usual=sw.median("value").over(sw.rows_between(-sw.UNBOUNDED, 0)))
    refused("a stream does not end", peak=sw.max("value").over(sw.rows_between(0, sw.UNBOUNDED)))
    refused("as long as a column says", peak=sw.max("value").over(sw.rows_between(sw.col("value"), 0)))
    refused("reaches beyond its own row", emit="arrival", peak=sw.max("value").over(sw.rows_between(0, 1)))
    refused("there is no column 'velue'", peak=sw.max("velue").over(sw.time("1m")))
    with pytest.raises(InvalidInput, match="when the watermark has passed"):
        sw.aggregate(
            df, order_by="timestamp", max_delay="1s", emit="arrival", window=sw.rows(3, every="1s"), n=sw.count()
        )
    hop = {"order_by": "timestamp", "max_delay": "1s", "window": sw.time("2s", every="1s")}
    for message, call in {
        r"typical: median\('value'\) has no partials": {"typical": sw.median("value")},
        "takes late rows into account": {"n": sw.count(), "late": "revise", "keep": "1m"},
        "not a hopping window": {"n": sw.count(), "window": sw.rows(3, every="1s")},
        "is one for rows": {"n": sw.sum("value"), "algorithm": "daba"},
    }.items():
        with pytest.raises(InvalidInput, match=message):
            sw.aggregate(df, **{**hop, **call}, slices=True)
    with pytest.raises(InvalidInput, match="slices= is True or False"):
        sw.aggregate(df, **hop, n=sw.count(), slices=8)
    spark.conf.set(PARTITIONS, "200")
    try:
        with pytest.warns(UserWarning, match="frozen in the checkpoint"):
            sw.with_columns(df, order_by="timestamp", max_delay="1s", peak=peak)
    finally:
        spark.conf.set(PARTITIONS, "2")
    spark.conf.unset(PROVIDER)
    refused("need Spark's RocksDB state store")


def test_explain_takes_the_call_as_it_is(spark):
    spark.conf.unset(PROVIDER)  # nothing runs
    df = spark.readStream.format("rate").load()
    call = {"order_by": "timestamp", "max_delay": "1s", "forget_after": "1h", "engine": "auto"}
    peak = sw.max("value").over(sw.rows(1000))
    lines = {line["column"]: line for line in sw.explain(df, **call, late="revise", keep="10m", peak=peak)}
    assert lines["peak"]["bytes per key"] == "15,984 bytes"  # timestamp and value
    assert "20 bytes for each row after the watermark less 10m" in lines["all together"]["bytes per key"]
    slides = sw.explain(
        df, **call, emit="changes", window=sw.time("1h", every="1m"), n=sw.count(), emits=sw.max("value")
    )
    assert [line["column"] for line in slides] == ["n", "emits", "all together"]
    with pytest.raises(InvalidInput, match="without a watermark nothing"):
        sw.explain(df, order_by="timestamp", peak=peak)
    with pytest.raises(InvalidInput, match="keep= bounds what"):
        sw.explain(spark.range(3), order_by="id", keep=1, peak=sw.max("id").over(sw.rows(2)))
