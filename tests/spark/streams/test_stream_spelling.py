"""PySpark's spelling on streams: `df.withColumn` of a streaming DataFrame gives the rows of a batch."""

import pytest
from folders import Folder, events, last_row
from support.tiers import in_full, in_soak

from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def folder(request, tmp_path):
    session = request.getfixturevalue(request.param)
    session.conf.set(PROVIDER, ROCKSDB)
    session.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    return Folder(tmp_path, session)


def by_whole_seconds(df):
    w = Window.partitionBy("k").orderBy(F.col("ts").cast("long")).rangeBetween(-10, 0)
    x = F.col("`x.y`")
    return df.select(
        "k",
        "ts",
        "seq",
        F.count("*").over(w).alias("n"),
        (x - F.median(x * 2).over(w)).alias("m"),
        F.max("seq").over(w),
    )


def by_time(df):
    w = Window.partitionBy("k").orderBy("ts").rangeBetween("-10s", 0)
    out = df.withColumn("m", F.col("seq") + F.median("seq").over(w)).withColumn("n", F.max("seq").over(w))
    return out.filter(F.count("*").over(w) > 1)


def of_the_stream_itself(df):
    w = Window.partitionBy(df["k"]).orderBy("ts").rangeBetween("-10s", 0)
    n = F.count("*").over(w)
    return df.select("k", "ts", "seq", F.max(df["seq"] % 7).over(w), F.median(df["`x.y`"]).over(w) * n, n).filter(
        "seq > 9"
    )


def seconds_as_values(df):
    second = F.col("ts").cast("long")
    w = Window.partitionBy("k").orderBy(second).rangeBetween(-10, 0)
    return df.select("k", "ts", "seq", second - F.min(second).over(w), F.max(second).over(w).alias("last"))


def inside_of_windows(df):
    w = Window.partitionBy(F.upper("k")).orderBy(F.col("ts").cast("long")).rangeBetween(-10, 0)
    n = F.count("*").over(w)
    return df.select("k", "ts", "seq", F.sum(F.col("seq") - F.median("seq").over(w)).over(w), n)


@pytest.mark.parametrize(
    "program", [*in_full(by_time, seconds_as_values), *in_soak(by_whole_seconds, of_the_stream_itself)]
)
def test_a_stream_gives_the_rows_of_a_batch(program, folder):
    """No row is late, and so a batch has the same ones."""
    parts = events()
    folder.add(*parts, last_row(100_000))
    out = program(folder.stream().withWatermark("ts", "1 hour"))
    if program is by_time:  # of two windowed steps the second has the first one's watermark
        assert "spark.watermarkDelayMs" in out.schema["ts"].metadata
    folder.run(out)
    batch = folder.session.read.parquet(str(folder.path / "in"))
    expected = program(batch).where("k <> 'end'")
    found = folder.session.read.parquet(str(folder.path / "out")).where("k <> 'end'")
    assert found.columns == expected.columns
    assert found.count() > 0
    key = ["k", "ts", "seq"]
    assert repr(found.orderBy(*key).collect()) == repr(expected.orderBy(*key).collect())  # NaN is itself


def test_what_a_stream_cannot_do_is_said(folder):
    stream = folder.stream()
    w = Window.partitionBy("k").orderBy("ts").rowsBetween(-3, 0)
    with pytest.raises(InvalidInput, match=r"df\.withWatermark"):
        stream.withColumn("m", F.median("seq").over(w))
    assert sws.with_columns(stream, {"m": 1 + F.median("seq").over(w)}, max_delay="2s").isStreaming
    seconds = Window.partitionBy("k").orderBy(F.col("ts").cast("long").desc()).rangeBetween(-3, 0)
    with pytest.raises(InvalidInput, match="going forward in time"):
        stream.withWatermark("ts", "1 hour").withColumn("m", F.median("seq").over(seconds))
    with pytest.raises(InvalidInput, match=r"columns beside windows are by name, F\.col"):
        late = stream.withWatermark("ts", "1 hour")
        late.withColumn("m", late["seq"] - F.median("seq").over(w))
    with pytest.raises(InvalidInput, match="one partitioning and one order, and its expressions bring 2"):
        late.select(F.median("seq").over(w), F.median("seq").over(Window.partitionBy("note").orderBy("ts")))
    with pytest.raises(InvalidInput, match="no column 'sequence'"):
        late.filter(F.median("sequence").over(w) > 1)


@pytest.mark.parametrize(
    "program",
    [*in_full(of_the_stream_itself, inside_of_windows), *in_soak(by_whole_seconds, by_time, seconds_as_values)],
)
def test_a_stream_goes_on_whatever_else_was_made_before(program, folder):
    """The same program once more, of a new DataFrame: its state is found by what windows say."""
    *first, last = events()
    folder.add(*first)
    folder.run(program(folder.stream().withWatermark("ts", "1 hour")))
    other = folder.session.range(3)
    other.select(F.max(other["id"]).over(Window.partitionBy(other["id"] % 2)))
    program(folder.stream().withWatermark("ts", "1 hour"))
    folder.add(last, last_row(100_000))
    folder.run(program(folder.stream().withWatermark("ts", "1 hour")))
    expected = program(folder.session.read.parquet(str(folder.path / "in"))).where("k <> 'end'")
    found = folder.session.read.parquet(str(folder.path / "out")).where("k <> 'end'")
    key = ["k", "ts", "seq"]
    assert found.count() > 0
    assert repr(found.orderBy(*key).collect()) == repr(expected.orderBy(*key).collect())
