"""A table of PostgreSQL: every row once over kills, the newest row of each key, and clear refusals."""

import datetime as dt
import math
import random
import subprocess
import sys
import threading
import traceback
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from kills import START, run_with_kills, write_files

from slidewise.errors import InvalidInput, Refused
from slidewise.pipeline.sinks import TableSink

SCHEMA = "card string, at timestamp, seq long, revision int"
#: Debian's package libpostgresql-jdbc-java.
DRIVER = Path("/usr/share/java/postgresql.jar")


def at(minute):
    return START + dt.timedelta(minutes=minute)


def make_rows(spark, *rows, schema=SCHEMA):
    return spark.createDataFrame(list(rows), schema).repartition(2)


@pytest.fixture
def database(postgres):
    """An empty schema of the server's database, and a function that asks it."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")

        def ask(statement):
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

        yield ask


def make_sink(postgres, table="features", **settings):
    return TableSink(table, **{"url": postgres.url, "time_column": "at"} | settings)


def upsert(postgres, **settings):
    return make_sink(postgres, mode="upsert", keys=["card"], **settings)


@pytest.mark.full
def test_a_stream_is_appended_once_and_a_day_is_replaced(spark, postgres, database, tmp_path):
    make_rows(spark, ("a", at(0), 0, 0), ("b", at(1), 1, 0), ("a", at(1440), 2, 0)).write.parquet(str(tmp_path / "in"))
    sink = make_sink(postgres)
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    assert sink.check(stream.schema) == []
    assert database("SELECT to_regclass('features')") == [(None,)]
    written = []
    query = (
        stream.writeStream.foreachBatch(lambda batch, number: written.append(sink.write(batch, number, "q")))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert written == [3]
    assert make_sink(postgres).write(spark.read.parquet(str(tmp_path / "in")), 0, "q") is None
    assert database("SELECT seq, at FROM features ORDER BY seq") == [(0, at(0)), (1, at(1)), (2, at(1440))]
    day = make_rows(spark, ("c", at(1439), 7, 0))
    for _ in range(2):
        make_sink(postgres).replace(day, dt.date(2024, 1, 1))
        assert database("SELECT seq FROM features ORDER BY seq") == [(2,), (7,)]


@pytest.mark.full
def test_the_newest_row_of_each_key_stays(spark, postgres, database):
    sink = upsert(postgres)
    assert sink.write(make_rows(spark, ("a", at(5), 1, 0), ("a", at(6), 2, 0), ("b", at(1), 3, 0)), 0, "q") == 2
    stored = "SELECT card, at, seq, revision FROM features ORDER BY card"
    assert database(stored) == [("a", at(6), 2, 0), ("b", at(1), 3, 0)]
    # older than the stored row, a revision of it, and a revision of one that is stored no more
    sink.write(make_rows(spark, ("a", at(5), 9, 4), ("b", at(1), 4, 1), ("c", at(0), 5, 0)), 1, "q")
    assert database(stored) == [("a", at(6), 2, 0), ("b", at(1), 4, 1), ("c", at(0), 5, 0)]
    assert sink.write(make_rows(spark, ("b", at(1), 99, 0), ("c", at(0), 4, 0)), 2, "q") == 0
    assert database(stored) == [("a", at(6), 2, 0), ("b", at(1), 4, 1), ("c", at(0), 5, 0)]


@pytest.mark.full
def test_which_row_stays_does_not_depend_on_the_order_of_rows(spark, postgres, database):
    """Ties in time and revision, with nulls, NaN, and strings that a language would order otherwise."""
    texts = [None, "", "a", "B", "ä", "Z", "\U0001f600", "\ufb01"]
    values = [None, -0.0, 0.0, math.inf, math.nan, -math.inf, 1.5]
    chance = random.Random(3)
    schema = (
        "card string, at timestamp, revision int, word string, value double, ok boolean, raw binary, price decimal(9,3)"
    )
    rows = [
        (
            chance.choice("xyz"),
            chance.choice([at(0), at(1), None]),
            chance.choice([0, 1, None]),
            chance.choice(texts),
            chance.choice(values),
            chance.choice([True, False, None]),
            chance.choice([None, b"", b"\x00\xff", b"\x01"]),
            chance.choice([None, Decimal("1.5"), Decimal("-2.125")]),
        )
        for _ in range(300)
    ]
    results = []
    for number, pieces in enumerate([1, 5, 20]):
        chance.shuffle(rows)
        sink = upsert(postgres, table=f"t{number}")
        for batch in range(pieces):
            sink.write(make_rows(spark, *rows[batch::pieces], schema=schema), batch, "q")
        results.append(str(database(f"SELECT * FROM t{number} ORDER BY card")))
    assert results[0] == results[1] == results[2]


@pytest.mark.full
def test_every_type_comes_through(spark, postgres, database):
    rows = spark.sql(
        """SELECT 'tab\\tline\\nreturn\\rslash\\\\ "quote" \\\\N \\\\.' s, '' empty, cast(null AS string) nothing,
        true b, 1Y i1, 2S i2, 3 i4, 4L i8, float(1.1) f4, double('NaN') nan, double('-Infinity') inf, 1e300D f8,
        cast('12345678901234567890.123456789012345678' AS decimal(38,18)) d, X'00ff5c' raw, date'1969-12-31' day,
        timestamp'2024-10-27 02:30:00.123456 Europe/Berlin' + interval 1 hour at, timestamp'1880-01-01 00:00:00' old,
        timestamp_ntz'2024-03-31 02:30:00.000001' local,
        array('a"b', null, 'NULL', '', 'c\\\\,{}\\n') texts, array(1.5D, double('NaN'), null) numbers,
        cast(array() AS array<int>) none, array(timestamp'2024-01-01 00:00:00') times, array(X'5c', null) raws,
        array(array(1), array(2, 3)) ragged, named_struct('x', 1, 'y', 'ü\\n') nested, map('k', array(1)) mapping"""
    )
    make_sink(postgres).write(rows, 0, "q")
    (columns,) = database(
        "SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = 'features'::regclass AND attnum > 0"
    )[0]
    found = dict(zip(columns, database("SELECT * FROM features")[0], strict=True))
    assert found.pop("s") == 'tab\tline\nreturn\rslash\\ "quote" \\N \\.'
    assert (found.pop("empty"), found.pop("nothing")) == ("", None)
    assert math.isnan(found.pop("nan"))
    assert found.pop("f4") == pytest.approx(1.1)
    assert [str(x) for x in found.pop("numbers")] == ["1.5", "nan", "None"]
    micros = rows.selectExpr("unix_micros(at)", "unix_micros(old)").first()
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert [(found.pop(n) - epoch) // dt.timedelta(microseconds=1) for n in ("at", "old")] == list(micros)
    assert found == {
        "b": True, "i1": 1, "i2": 2, "i4": 3, "i8": 4, "inf": -math.inf, "f8": 1e300,
        "d": Decimal("12345678901234567890.123456789012345678"), "raw": b"\x00\xff\\", "day": dt.date(1969, 12, 31),
        "local": dt.datetime(2024, 3, 31, 2, 30, 0, 1), "texts": ['a"b', None, "NULL", "", "c\\,{}\n"], "none": [],
        "times": [dt.datetime(2023, 12, 31, 23, tzinfo=dt.UTC)], "raws": [b"\\", None], "ragged": [[1], [2, 3]],
        "nested": {"x": 1, "y": "ü\n"}, "mapping": {"k": [1]},
    }  # fmt: skip
    assert make_sink(postgres).check(rows.schema) == []


@pytest.mark.full
def test_names_that_sql_would_read_otherwise(spark, postgres, database):
    schema = '`Card %s` string, `at.time` timestamp, `select "x"` long'
    sink = make_sink(postgres, '"My 100% table"', time_column="at.time", mode="upsert", keys=["Card %s"])
    assert sink.write(make_rows(spark, ("a", at(0), 1), schema=schema), 0, "it's %s") == 1
    assert sink.write(make_rows(spark, ("a", at(1), 2), schema=schema), 1, "it's %s") == 1
    assert database('SELECT * FROM "My 100% table"') == [("a", at(1), 2)]
    sink = make_sink(postgres, "Other", time_column="at.time")
    sink.replace(make_rows(spark, ("a", at(0), 1), schema=schema), dt.date(2024, 1, 1))
    assert database("SELECT * FROM other") == [("a", at(0), 1)]


@pytest.mark.full
def test_times_among_the_keys_keep_one_row_for_each(spark, postgres, database):
    sink = make_sink(postgres, mode="upsert", keys=["card", "at"])
    sink.write(make_rows(spark, ("a", at(0), 1, 0), ("a", at(1), 2, 0), ("a", at(0), 3, 1)), 0, "q")
    sink.write(make_rows(spark, ("a", at(1), 4, 2), ("a", at(0), 5, 0)), 1, "q")
    assert database("SELECT at, seq FROM features ORDER BY at") == [(at(0), 3), (at(1), 4)]
    only = make_sink(postgres, "only", mode="upsert", keys=["card", "at"])
    for batch in range(2):
        only.write(make_rows(spark, ("a", at(0), 1, 0)).select("card", "at"), batch, "q")
    assert database('SELECT count(*) FROM "only"') == [(1,)]


@pytest.mark.full
def test_upsert_backfill_merges_by_the_same_rule(spark, postgres, database):
    sink = upsert(postgres)
    sink.write(make_rows(spark, ("a", at(1500), 1, 0), ("b", at(3), 2, 0)), 0, "q")
    sink.replace(make_rows(spark, ("a", at(10), 8, 0), ("b", at(10), 9, 0)), dt.date(2024, 1, 1))
    assert database("SELECT card, seq FROM features ORDER BY card") == [("a", 1), ("b", 9)]


@pytest.mark.full
def test_a_batch_waits_for_a_killed_run_that_the_server_still_ends(spark, postgres, database):
    """The transaction of another connection has noted the batch; whether it is written again depends on its end."""
    rows = make_rows(spark, ("a", at(0), 1, 0))
    make_sink(postgres).write(rows, 0, "q")
    for batch, end, expected in [(1, "COMMIT", None), (2, "ROLLBACK", 1)]:
        with psycopg.connect(postgres.url, autocommit=True) as other:
            other.execute("BEGIN")
            other.execute(f"UPDATE slidewise_batches SET batch = {batch} WHERE query = 'q'")
            written = []
            writer = threading.Thread(target=lambda: written.append(make_sink(postgres).write(rows, batch, "q")))  # noqa: B023
            writer.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while database(waiting) == [(0,)]:
                writer.join(0.05)
                assert writer.is_alive()
            other.execute(end)
            writer.join()
        assert written == [expected]
    assert database("SELECT count(*) FROM features") == [(2,)]


@pytest.mark.full
def test_rows_that_postgres_cannot_hold_are_refused_and_nothing_is_written(spark, postgres, database):
    good = ("a", at(0), 1, 0)
    for sink, bad, message in [
        (make_sink(postgres), ("x\0y", at(0), 1, 0), "a text in the column 'card' has the character NUL"),
        (upsert(postgres, table="t"), (None, at(0), 1, 0), "the key 'card' is null: drop such rows in prepare"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            sink.write(make_rows(spark, good, bad), 0, "q")
        assert database(f"SELECT count(*) FROM {sink.table}") == [(0,)]
        assert sink.write(make_rows(spark, good), 0, "q") == 1
    sink = make_sink(postgres)
    with pytest.raises(InvalidInput, match="rows of 2024-01-01 are expected, and others came"):
        sink.replace(make_rows(spark, ("b", at(0), 2, 0), ("b", at(1440), 3, 0)), dt.date(2024, 1, 1))
    assert database("SELECT seq FROM features") == [(1,)]


@pytest.mark.full
def test_a_table_that_does_not_fit_is_refused_with_every_reason(spark, postgres, database):
    database(
        "CREATE TABLE features (card varchar(3), at timestamp, seq integer, price numeric(5,2), needed text NOT NULL,"
        " twice bigint GENERATED ALWAYS AS (2) STORED, id bigint GENERATED ALWAYS AS IDENTITY)"
    )
    schema = spark.sql("SELECT 'a' card, now() at, 1L seq, 1.0BD price, 1L twice, 1 atts, interval 1 day gap").schema
    assert upsert(postgres).check(schema) == [
        "table features: PostgreSQL has no type for the column 'gap', which is interval day: cast it in prepare",
        "table features: the column 'at' is timestamp without time zone, which does not take every timestamp: "
        "timestamp with time zone does",
        "table features: the column 'seq' is integer, which does not take every bigint: bigint does",
        "table features: PostgreSQL generates the column 'twice' itself",
        "table features has no column 'atts'. Did you mean 'at'?",
        "table features has no column 'gap'. There are: card, at, seq, price, needed, twice, id",
        "table features: the column 'needed' may not be null and has no default, and the rows do not have it",
        "table features: upsert needs a primary key or a unique index of exactly the keys (card), as by "
        "ALTER TABLE features ADD PRIMARY KEY (card)",
    ]
    with pytest.raises(Refused, match="has no column 'atts'"):
        make_sink(postgres).write(spark.sql("SELECT 'a' card, now() at, 1 atts"), 0, "q")
    database("CREATE VIEW seen AS SELECT * FROM features")
    assert make_sink(postgres, "seen").check(spark.sql("SELECT now() at").schema) == [
        "table seen is no table: a view, a foreign table or an index cannot be written"
    ]
    assert make_sink(postgres, "nowhere.t").check(spark.sql("SELECT now() at").schema) == [
        "table nowhere.t: there is no schema 'nowhere': create it"
    ]
    wrong = spark.sql("SELECT 'x' at, array(1) card").schema
    assert upsert(postgres, table="fresh").check(wrong) == [
        "the sink's time column 'at' is string, which has no days: a timestamp or a date is needed",
        "table fresh: the key 'card' is array<int>: a key is one value, not a nested one",
    ]


@pytest.mark.full
def test_rows_that_were_there_before_are_not_deleted(spark, postgres, database):
    database("CREATE TABLE features (card text, at timestamptz, seq bigint, revision int)")
    database("INSERT INTO features VALUES ('precious', '2024-01-01 12:00Z', 1, 0)")
    sink = make_sink(postgres)
    sink.write(make_rows(spark, ("a", at(0), 2, 0)), 0, "q")
    with pytest.raises(Refused, match="the table held rows before slidewise first wrote into it"):
        sink.replace(make_rows(spark, ("a", at(0), 2, 0)), dt.date(2024, 1, 1))
    assert database("SELECT count(*) FROM features") == [(2,)]


@pytest.mark.full
def test_no_message_holds_the_password(spark, postgres, database):
    schema = spark.sql("SELECT now() at").schema
    right = {"user": postgres.user, "password": postgres.password}
    assert make_sink(postgres, url=postgres.jdbc_url, options=right).check(schema) == []
    assert make_sink(postgres, url=f"{postgres.jdbc_url}?user=ana&password={postgres.password}").check(schema) == []
    secret = "s3cret&"
    for url in (postgres.jdbc_url, postgres.jdbc_url.removeprefix("jdbc:").replace(str(postgres.port), "1")):
        (mistake,) = make_sink(postgres, url=url, options={"user": "ana", "password": secret}).check(schema)
        assert mistake.startswith("table features: PostgreSQL says: connection failed")
        assert secret not in mistake
    for url, options in [
        (f"postgresql://ana:{secret}@[::1/x", {}),
        (f"postgresql://ana:{secret}@h/x?nonsense=1", {}),
        (f"mysql://ana:{secret}@h/x", {}),
        ("postgresql://h/x", {"pasword": secret}),
    ]:
        with pytest.raises(InvalidInput) as caught:
            make_sink(postgres, url=url, options=options)
        shown = "".join(traceback.format_exception_only(caught.value)) + str(caught.value.__cause__)
        assert secret not in shown
    assert postgres.password not in repr(make_sink(postgres)._address)


@pytest.mark.full
def test_settings_that_cannot_be_meant(postgres):
    for settings, message in [
        ({"mode": "upsrt"}, "a table cannot have the mode 'upsrt'. Did you mean 'upsert'?"),
        ({"mode": "upsert"}, "mode: upsert needs keys"),
        ({"keys": ["card"]}, "keys of a table are those of mode: upsert"),
        ({"table": "shop.slidewise_batches"}, "has a name that slidewise takes for itself"),
        ({"table": "a.b.c"}, "a table is named as in SQL"),
        ({"table": "a; DROP TABLE b"}, "a table is named as in SQL"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            make_sink(postgres, **settings)


@pytest.mark.parametrize(
    ("kills", "files"), [pytest.param(1, 5, marks=pytest.mark.full), pytest.param(25, 60, marks=pytest.mark.soak)]
)
def test_every_row_of_a_killed_stream_is_there_once(postgres, database, tmp_path, kills, files):
    rows = write_files(tmp_path, files, 50)
    run_with_kills(tmp_path, {"table": "features", "url": postgres.url}, kills)
    assert database("SELECT seq FROM features ORDER BY seq") == [(n,) for n in range(len(rows))]


@pytest.mark.soak
@pytest.mark.parametrize(("kills", "files"), [(2, 8), (25, 60)])
def test_the_newest_rows_of_a_killed_stream_stay(postgres, database, tmp_path, kills, files):
    rows = write_files(tmp_path, files, 50)
    sink = {"table": "features", "url": postgres.url, "mode": "upsert", "keys": ["card"]}
    run_with_kills(tmp_path, sink, kills)
    newest = {row["card"]: row["seq"] for row in sorted(rows, key=lambda row: row["at"])}
    assert dict(database("SELECT card, seq FROM features")) == newest


@pytest.mark.soak
@pytest.mark.parametrize("kills", [2, 20])
def test_every_row_of_a_killed_backfill_is_there_once(postgres, database, tmp_path, kills):
    rows = write_files(tmp_path, 6, 100)
    days = [f"2024-01-0{day}" for day in (1, 2, 3)] * 5
    run_with_kills(tmp_path, {"table": "features", "url": postgres.url}, kills, days)
    assert database("SELECT seq FROM features ORDER BY seq") == [(n,) for n in range(len(rows))]


# What a pipeline's file says to read a table as a batch:
#
#   source:
#     format: jdbc
#     options:
#       url: jdbc:postgresql://127.0.0.1:5432/shop
#       driver: org.postgresql.Driver
#       user: ana
#       password: ${env:PASSWORD}
#       dbtable: payments                        or query: SELECT ..., without the four options of partitions
#       fetchsize: 10000                         else PostgreSQL's driver takes the whole result into memory at once
#       partitionColumn: at                      a number, date or timestamp; without it one task reads all
#       lowerBound: "2024-01-01 00:00:00"        in the session's time zone; the bounds only divide, they do not filter
#       upperBound: "2024-01-04 00:00:00"
#       numPartitions: 3                         also the number of connections at once
#
# The driver is a jar that Spark loads when it starts: --conf spark.jars=/usr/share/java/postgresql.jar with Debian's
# libpostgresql-jdbc-java, or --conf spark.jars.packages=org.postgresql:postgresql:42.7.4 where Maven can be reached.
READER = """
import sys
from pyspark.sql import SparkSession

driver, url, user, password = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.jars", driver).config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC").getOrCreate()
)
options = {"url": url, "user": user, "password": password, "driver": "org.postgresql.Driver", "dbtable": "payments",
           "fetchsize": "10000", "partitionColumn": "at", "lowerBound": "2024-01-01 00:00:00",
           "upperBound": "2024-01-04 00:00:00", "numPartitions": "3"}
rows = spark.read.format("jdbc").options(**options).load()
print(rows.schema.simpleString())
print(rows.rdd.getNumPartitions())
print([tuple(row) for row in rows.selectExpr("card", "unix_micros(at)", "seq").orderBy("seq").collect()])
"""


@pytest.mark.full
def test_a_table_is_a_batch_source_by_jdbc(postgres, database):
    if not DRIVER.exists():
        pytest.skip(f"{DRIVER} is not there (Debian: apt-get install libpostgresql-jdbc-java)")
    database("CREATE TABLE payments (card text, at timestamptz, seq bigint, price numeric(9,2), tags text[])")
    database(
        "INSERT INTO payments SELECT 'a', '2024-01-01Z'::timestamptz + n * interval '1 day', n"
        " FROM generate_series(0, 2) n"
    )
    command = [sys.executable, "-c", READER, str(DRIVER), postgres.jdbc_url, postgres.user, postgres.password]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    schema, partitions, rows = out.stdout.splitlines()[-3:]
    assert schema == "struct<card:string,at:timestamp,seq:bigint,price:decimal(9,2),tags:array<string>>"
    assert partitions == "3"
    micros = [int((START + dt.timedelta(days=n)).timestamp()) * 1_000_000 for n in range(3)]
    assert rows == str([("a", time, n) for n, time in enumerate(micros)])
