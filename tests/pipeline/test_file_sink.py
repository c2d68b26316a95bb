"""Files by day: every row once over kills at any step, days replaced whole, and nothing touched that is not ours."""

import datetime as dt
import json
import shutil
from collections import Counter
from decimal import Decimal

import pytest
from kills import run_with_kills, write_files

from slidewise.errors import InvalidInput, Refused
from slidewise.pipeline.sinks import FileSink, PassThroughSink, TableSink, open_sink
from slidewise.pipeline.sinks.hadoop_folder import HadoopFolder

FORMATS = ["parquet", "csv", "json", "orc"]
SCHEMA = "card string, at timestamp, seq long"


class Killed(BaseException):
    """Stands for the end of a process, at one step of the file system's."""


def make_rows(spark, *times, schema=SCHEMA):
    """Rows at the given UTC times."""
    rows = [("abc"[i % 3], dt.datetime.fromisoformat(time).replace(tzinfo=dt.UTC), i) for i, time in enumerate(times)]
    return spark.createDataFrame(rows, schema).repartition(2)


def make_sink(spark, path, **settings):
    return FileSink(spark, str(path), **{"format": "parquet", "time_column": "at"} | settings)


def numbers(spark, path, format="parquet"):
    """The numbers of the rows in a folder, by day."""
    read = spark.read.format(format).option("header", True).schema(f"{SCHEMA}, day date").load(str(path))
    found = sorted((str(row.day), row.seq) for row in read.select("day", "seq").collect())
    return {day: [seq for other, seq in found if other == day] for day, _ in found}


def kill_at(monkeypatch, step):
    """Let the file system end the process before its step-th change, or after all of them."""
    left = [step]
    for name in ("write", "move", "delete"):
        real = getattr(HadoopFolder, name)

        def change(self, *arguments, real=real):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            real(self, *arguments)

        monkeypatch.setattr(HadoopFolder, name, change)
    return left


@pytest.mark.full
@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_and_a_backfill_share_one_folder_of_plain_files(spark, tmp_path, format):
    rows = make_rows(spark, "2024-01-01T00:00", "2024-01-01T23:59:59.999999", "2024-01-02T00:00", "1969-12-31T23:00")
    rows.write.parquet(str(tmp_path / "in"))
    sink = make_sink(spark, tmp_path / "out", format=format)
    assert sink.check(rows.schema) == []
    assert not (tmp_path / "out").exists()
    written = []
    query = (
        spark.readStream.schema(SCHEMA)
        .parquet(str(tmp_path / "in"))
        .writeStream.foreachBatch(lambda batch, number: written.append(sink.write(batch, number, "q")))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert written == [4]
    assert sink.write(rows, 0, "q") is None
    stream = {"1969-12-31": [3], "2024-01-01": [0, 1], "2024-01-02": [2]}
    assert numbers(spark, tmp_path / "out", format) == stream
    sink.replace(make_rows(spark, *["2024-01-01T12:00"] * 5), dt.date(2024, 1, 1))
    assert numbers(spark, tmp_path / "out", format) == stream | {"2024-01-01": [0, 1, 2, 3, 4]}
    read = spark.read.format(format).option("header", True).option("inferSchema", True).load(str(tmp_path / "out"))
    assert set(read.columns) == {"card", "at", "seq", "day"}
    at = dt.datetime(2024, 1, 1, 23, 59, 59, 999999, dt.UTC)
    sink.replace(spark.createDataFrame([("a", at, 7)], SCHEMA), dt.date(2024, 1, 1))
    back = spark.read.format(format).option("header", True).schema(SCHEMA).load(str(tmp_path / "out"))
    assert back.where("seq = 7").selectExpr("unix_micros(at)").first()[0] == 1704153599999999


@pytest.mark.full
def test_a_batch_is_there_once_wherever_its_run_was_killed(spark, tmp_path, monkeypatch):
    rows = make_rows(spark, *(f"2024-01-0{day}T0{hour}:00" for day in (1, 2) for hour in range(3)))
    expected = {"2024-01-01": [0, 1, 2], "2024-01-02": [3, 4, 5]}
    before = make_rows(spark, "2024-01-03T00:00")
    step = 0
    while True:
        out = tmp_path / str(step)
        make_sink(spark, out).write(before, 0, "q")
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            try:
                make_sink(spark, out).write(rows, 1, "q")
                killed = False
            except Killed:
                killed = True
            shown = Counter((day, seq) for day, all in numbers(spark, out).items() for seq in all)
            assert max(shown.values()) == 1
        if step % 2:  # killed a second time, one step later
            with monkeypatch.context() as patch:
                kill_at(patch, 1)
                with pytest.raises(Killed) if killed else pytest.MonkeyPatch.context():
                    make_sink(spark, out).write(rows, 1, "q")
        make_sink(spark, out).write(rows, 1, "q")
        assert numbers(spark, out) == expected | {"2024-01-03": [0]}
        assert make_sink(spark, out).write(rows, 1, "q") is None
        left = {p.name for p in (out / "_slidewise" / "query-q").glob("[!.]*")}
        assert left - {"committed-0.json"} == {"committed-1.json"}
        if not killed:
            break
        step += 1
    assert step > 6


@pytest.mark.full
def test_a_day_is_the_old_or_the_new_one_wherever_its_replacement_was_killed(spark, tmp_path, monkeypatch):
    old = make_rows(spark, *(f"2024-01-01T0{hour}:00" for hour in range(4)), "2024-01-02T00:00")
    new = make_rows(spark, *(f"2024-01-01T1{hour}:00" for hour in range(6)))
    step, outcomes = 0, Counter()
    while True:
        out = tmp_path / str(step)
        make_sink(spark, out).write(old, 0, "q")
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            try:
                make_sink(spark, out).replace(new, dt.date(2024, 1, 1))
                killed = False
            except Killed:
                killed = True
        make_sink(spark, out).write(make_rows(spark, "2024-01-03T00:00"), 1, "q")  # a stream finishes what is decided
        found = numbers(spark, out)
        assert found["2024-01-01"] in ([0, 1, 2, 3], [0, 1, 2, 3, 4, 5])
        outcomes[len(found["2024-01-01"])] += 1
        make_sink(spark, out).replace(new, dt.date(2024, 1, 1))
        assert numbers(spark, out) == {"2024-01-01": [0, 1, 2, 3, 4, 5], "2024-01-02": [4], "2024-01-03": [0]}
        assert not list((out / "_slidewise" / "replace").glob("[!.]*"))
        if not killed:
            break
        step += 1
    assert set(outcomes) == {4, 6}


@pytest.mark.full
def test_a_batch_that_was_decided_is_finished_before_a_day_is_replaced(spark, tmp_path, monkeypatch):
    rows = make_rows(spark, "2024-01-01T01:00", "2024-01-02T01:00")
    with monkeypatch.context() as patch:
        kill_at(patch, 8)  # three texts, written and moved, an old one deleted, and one of two files
        with pytest.raises(Killed):
            make_sink(spark, tmp_path).write(rows, 0, "q")
    make_sink(spark, tmp_path).replace(make_rows(spark, "2024-01-02T03:00"), dt.date(2024, 1, 2))
    assert numbers(spark, tmp_path) == {"2024-01-01": [0], "2024-01-02": [0]}
    assert make_sink(spark, tmp_path).write(rows, 0, "q") is None


@pytest.mark.parametrize(
    ("kills", "files"), [pytest.param(1, 5, marks=pytest.mark.full), pytest.param(25, 60, marks=pytest.mark.soak)]
)
def test_every_row_of_a_killed_stream_is_there_once(spark, tmp_path, kills, files):
    rows = write_files(tmp_path, files, 50)
    run_with_kills(tmp_path, {"format": "parquet", "path": str(tmp_path / "out")}, kills)
    found = [row.seq for row in spark.read.parquet(str(tmp_path / "out")).select("seq").collect()]
    assert sorted(found) == sorted(row["seq"] for row in rows)


@pytest.mark.parametrize("kills", [pytest.param(1, marks=pytest.mark.full), pytest.param(20, marks=pytest.mark.soak)])
def test_every_row_of_a_killed_backfill_is_there_once(spark, tmp_path, kills):
    rows = write_files(tmp_path, 6, 100)
    days = [f"2024-01-0{day}" for day in (1, 2, 3)] * 5  # as often, so that there is something to kill
    run_with_kills(tmp_path, {"format": "csv", "path": str(tmp_path / "out")}, kills, days)
    read = spark.read.option("header", True).csv(str(tmp_path / "out"))
    assert sorted(int(row.seq) for row in read.select("seq").collect()) == sorted(row["seq"] for row in rows)


@pytest.mark.full
def test_a_store_of_objects_may_leave_copies_behind(spark, tmp_path, monkeypatch):
    """It moves by a copy and a deletion: after a kill between them both are there, of a file and of the commit."""
    rows = make_rows(spark, "2024-01-01T01:00", "2024-01-02T01:00")
    with monkeypatch.context() as patch:
        kill_at(patch, 7)
        with pytest.raises(Killed):
            make_sink(spark, tmp_path).write(rows, 0, "q")
    (pending,) = (tmp_path / "_slidewise" / "query-q").glob("pending-0.json")
    staged, to = json.loads(pending.read_text())["moves"][0]
    (tmp_path / to).parent.mkdir()
    shutil.copy(tmp_path / staged, tmp_path / to)
    shutil.copy(pending, pending.with_name("committed-0.json"))
    assert make_sink(spark, tmp_path).write(rows, 0, "q") is None
    assert make_sink(spark, tmp_path).write(rows, 0, "q") is None
    assert numbers(spark, tmp_path) == {"2024-01-01": [0], "2024-01-02": [1]}


@pytest.mark.full
def test_files_of_other_columns_are_not_mixed(spark, tmp_path):
    rows = make_rows(spark, "2024-01-01T00:00")
    for format in ("csv", "parquet"):
        make_sink(spark, tmp_path / format, format=format).write(rows, 0, "q")
        (mistake,) = make_sink(spark, tmp_path / format, format=format).check(rows.selectExpr("at", "'1' seq").schema)
        assert "holds files of other columns ('seq' was bigint and is string)" in mistake
    more = rows.selectExpr("*", "1 extra")
    (mistake,) = make_sink(spark, tmp_path / "csv", format="csv").check(more.schema)
    assert "(card, at, seq were the columns, and card, at, seq, extra are)" in mistake
    make_sink(spark, tmp_path / "parquet").write(more, 1, "q")
    read = spark.read.option("mergeSchema", True).parquet(str(tmp_path / "parquet"))
    assert sorted((row.seq, row.extra) for row in read.collect() if row.extra) == [(0, 1)]


@pytest.mark.full
def test_two_streams_write_into_one_folder(spark, tmp_path):
    rows = make_rows(spark, "2024-01-01T00:00")
    assert make_sink(spark, tmp_path).write(rows, 3, "one") == 1
    assert make_sink(spark, tmp_path).write(rows, 0, "another one/of odd name") == 1
    assert make_sink(spark, tmp_path).write(rows, 2, "one") is None
    assert numbers(spark, tmp_path) == {"2024-01-01": [0, 0]}


@pytest.mark.full
def test_an_empty_batch_and_an_empty_day(spark, tmp_path):
    sink = make_sink(spark, tmp_path)
    rows = make_rows(spark, "2024-01-01T00:00")
    assert sink.write(rows.where("seq < 0"), 0, "q") == 0
    assert sink.write(rows.where("seq < 0"), 0, "q") is None
    sink.write(rows, 1, "q")
    sink.replace(rows.where("seq < 0"), dt.date(2024, 1, 1))
    assert numbers(spark, tmp_path) == {}


@pytest.mark.full
def test_rows_without_a_time_and_times_without_a_zone(spark, tmp_path):
    rows = spark.sql(
        "SELECT timestamp_ntz'2024-03-31 02:30:00' at, 1L seq UNION ALL SELECT null, 2L"
        " UNION ALL SELECT timestamp_ntz'2024-03-31 23:59:00', 3L"
    )
    make_sink(spark, tmp_path).write(rows, 0, "q")
    read = spark.read.parquet(str(tmp_path)).collect()
    assert sorted((str(row.day), row.seq) for row in read) == [("2024-03-31", 1), ("2024-03-31", 3), ("None", 2)]


@pytest.mark.full
def test_what_is_not_ours_is_refused(spark, tmp_path):
    rows = make_rows(spark, "2024-01-01T00:00")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.csv").write_text("1")
    (mistake,) = make_sink(spark, tmp_path / "full").check(rows.schema)
    assert "is not empty, and slidewise did not write it (it holds 'precious.csv')" in mistake
    with pytest.raises(Refused, match="precious"):
        make_sink(spark, tmp_path / "full").write(rows, 0, "q")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["precious.csv"]

    (tmp_path / "spark" / "_spark_metadata").mkdir(parents=True)
    (mistake,) = make_sink(spark, tmp_path / "spark").check(rows.schema)
    assert "holds _spark_metadata: a stream of Spark's own file sink wrote it" in mistake
    (mistake,) = make_sink(spark, tmp_path / "full" / "precious.csv").check(rows.schema)
    assert "is a file" in mistake

    ours = tmp_path / "ours"
    make_sink(spark, ours).write(rows, 0, "q")
    (mistake,) = make_sink(spark, ours, format="csv", partition="utc_day").check(rows.schema)
    assert "was begun with format 'parquet', now 'csv'; partition 'day', now 'utc_day'" in mistake
    (ours / "day=2024-01-01" / "precious.parquet").write_text("1")
    with pytest.raises(Refused, match=r"slidewise did not write 'precious.parquet' in it \(1 of 2 files\)"):
        make_sink(spark, ours).replace(rows, dt.date(2024, 1, 1))
    assert (ours / "day=2024-01-01" / "precious.parquet").read_text() == "1"


@pytest.mark.full
def test_rows_of_another_day_are_refused_and_change_nothing(spark, tmp_path):
    rows = make_rows(spark, "2024-01-01T00:00", "2024-01-02T00:00")
    sink = make_sink(spark, tmp_path)
    sink.write(rows, 0, "q")
    with pytest.raises(InvalidInput, match="rows of 2024-01-02 are expected, and some are in day=2024-01-01"):
        sink.replace(rows, dt.date(2024, 1, 2))
    assert numbers(spark, tmp_path) == {"2024-01-01": [0], "2024-01-02": [1]}


@pytest.mark.full
def test_columns_that_do_not_fit_are_all_named_before_anything_runs(spark, tmp_path):
    schema = spark.sql("SELECT array(1) list, 'x' Day, 1L at").schema
    time, name, nested = make_sink(spark, tmp_path, format="csv").check(schema)
    assert time == "the sink's time column 'at' is bigint, which has no days: a timestamp or a date is needed"
    assert name.startswith("the column 'day' has the name that the folders of days give to theirs")
    assert nested == "CSV cannot hold the column 'list', which is array<int>: take parquet, json, orc"
    (missing,) = make_sink(spark, tmp_path, time_column="att", partition="d").check(schema)
    assert missing == "the sink's time column 'att' is not among the columns. Did you mean 'at'?"
    with pytest.raises(InvalidInput, match="Did you mean 'parquet'"):
        make_sink(spark, tmp_path, format="parket")
    with pytest.raises(InvalidInput, match="letters, digits and underscores, got 'a/b'"):
        make_sink(spark, tmp_path, partition="a/b")
    with pytest.raises(InvalidInput, match=r"Spark cannot use this path: .*nowhere"):
        make_sink(spark, "nowhere://x/y")
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_a_file_means_the_sink_that_it_names(spark, tmp_path):
    sink = open_sink(
        spark, time_column="at", format="CSV", path=str(tmp_path / "x"), options={"sep": ";", "header": False}
    )
    assert isinstance(sink, FileSink)
    sink.write(spark.sql("SELECT timestamp'2024-01-01 12:00:00' at, 'a' card, 1.50 price"), 0, "q")
    (file,) = (tmp_path / "x" / "day=2024-01-01").glob("*.csv")
    assert file.read_text() == "2024-01-01T11:00:00.000000Z;a;1.50\n"
    assert json.loads((tmp_path / "x" / "_slidewise" / "sink.json").read_text())["format"] == "csv"
    other = open_sink(spark, time_column="at", format="noop", options={"a": 1})
    assert isinstance(other, PassThroughSink)
    assert other.check(spark.range(1).schema) == []
    assert other.write(spark.range(3), 0, "q") is None
    with pytest.raises(Refused, match="format 'noop' cannot replace 2024-01-01"):
        other.replace(spark.range(3), dt.date(2024, 1, 1))
    table = open_sink(spark, time_column="at", table="t", options={"url": "postgresql://h/d", "user": "x"})
    assert isinstance(table, TableSink)
    for wrong, message in [
        ({}, "a sink needs a format with a path, or a table with a url"),
        ({"format": "csv"}, "the sink's format 'csv' needs a path"),
        ({"format": "csv", "path": "x", "mode": "upsert"}, "the sink is a sink of files, which has no mode"),
        ({"format": "delta", "keys": ["a"]}, "the sink is format 'delta', which has no keys"),
        ({"table": "t"}, "the sink's table 't' needs a url"),
        ({"table": "t", "url": "x", "path": "y"}, "the sink is a table, which has no path"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            open_sink(spark, time_column="at", **wrong)
    assert (
        Decimal("1.50")
        == spark.read.csv(str(tmp_path / "x"), sep=";", schema="at string, card string, price decimal(3,2)")
        .first()
        .price
    )
