"""engine="spark": slides by Spark's own window(), with our columns and answers, and refused where they would differ."""

import datetime as dt
import math
import random

import pyarrow as pa
import pytest
from folders import START, Folder, utc
from support.tiers import in_full

import slidewise as sw
from slidewise.errors import InvalidInput, StateError
from slidewise.spark import dropped_rows
from slidewise.spark.session import PROVIDER, ROCKSDB

KINDS = pa.schema([("a key", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("i", pa.int64()), ("x", pa.float64()),
                   ("yes", pa.bool_())])  # fmt: skip
COLUMNS = "`a key` string, ts timestamp, i long, x double, yes boolean"
RESULTS = {
    "n": sw.count(), "known": sw.count("i", where="yes"), "total": sw.sum("i"), "mean": sw.avg("x"), "low": sw.min("x"),
    "high": sw.max("x"), "spread": sw.stddev("x"), "all": sw.bool_and("yes"), "bits": sw.bit_or("i"),
    "together": sw.corr("i", "x"),
}  # fmt: skip
WINDOWS = [sw.time("10s", every="10s"), sw.time("6s", every="2s", offset="1s"), sw.time("90m", every="90m")]


def make_rows(seed, count, most_late=0, nulls=True):
    """Rows of some keys, in order but for `most_late` seconds, with nulls, NaNs and both zeros."""
    chance, rows = random.Random(seed), []
    for n in range(count):
        time = START + dt.timedelta(milliseconds=300 * n - chance.choice([0, 0, 0, 1000 * most_late]))
        rows.append(
            {"a key": chance.choice(["a", "b", None]), "ts": None if nulls and chance.random() < 0.1 else time,
             "i": chance.choice([None, -3, 5, 2**40]), "x": chance.choice([None, math.nan, -0.0, 0.0, 2.5, n]),
             "yes": chance.choice([None, True, False])}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=KINDS)


def listed(table):
    """Rows in one order; floats to 12 digits, since Spark adds them up in another order."""
    rows = utc(table).to_pylist()
    shown = [
        {name: f"{value + 0.0:.12g}" if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    ]
    return sorted(map(repr, shown))


def call(window):
    return {"partition_by": "a key", "order_by": "ts", "window": window, **RESULTS}


@pytest.mark.parametrize("window", [WINDOWS[0], *in_full(WINDOWS[1])], ids=repr)
def test_a_batch(session, window):
    table = make_rows(1, 300)
    df = session.createDataFrame(table).repartition(3)  # of Arrow: pandas has no nulls beside NaN
    found = sw.aggregate(df, **call(window), engine="spark")
    ours = sw.aggregate(df, **call(window))
    assert found.dtypes == ours.dtypes
    assert listed(found.toArrow()) == listed(ours.toArrow()) == listed(sw.aggregate(table, **call(window)))


def test_no_python_runs(spark, capsys):
    df = spark.createDataFrame(make_rows(1, 20))
    sw.aggregate(df, **call(WINDOWS[0]), engine="spark").explain()
    assert "MapInArrow" not in capsys.readouterr().out


@pytest.mark.full
def test_a_stream_with_late_rows_and_a_restart(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    table = make_rows(2, 240, 30)
    parts = [table[i : i + 60] for i in range(0, 240, 60)]
    end = pa.Table.from_pylist([{"a key": "z", "ts": START + dt.timedelta(days=d)} for d in (1,)], schema=KINDS)
    again = pa.Table.from_pylist([{"a key": "z", "ts": START + dt.timedelta(days=d)} for d in (2,)], schema=KINDS)
    folders, dropped = {}, {}
    for engine in ("spark", "slidewise"):
        (tmp_path / engine).mkdir()
        folder = folders[engine] = Folder(tmp_path / engine, spark)
        progress = []
        for several in (parts[:2], [*parts[2:], end, again]):
            folder.add(*several)
            progress += folder.run(
                sw.aggregate(folder.stream(COLUMNS), **call(WINDOWS[1]), max_delay="1s", buckets=2, engine=engine)
            )
        dropped[engine] = dropped_rows(progress)
    assert listed(folders["spark"].result()) == listed(folders["slidewise"].result())
    assert dropped["slidewise"]["late"] > 0 and dropped["spark"]["late"] > 0  # Spark counts windows of late rows
    assert dropped["slidewise"]["untimed"] == dropped["spark"]["untimed"] > 0
    # each goes on from its own checkpoint alone
    for engine, other in (("spark", "slidewise"), ("slidewise", "spark")):
        path = str(tmp_path / other / "checkpoint")
        with pytest.raises(StateError, match=r"begun by slidewise|no state of slidewise"):
            sw.aggregate(folders[engine].stream(COLUMNS), **call(WINDOWS[1]), max_delay="1s", engine=engine,
                         checkpoint=path)  # fmt: skip


REFUSED = {
    "first": ({"r": sw.first("i")}, {}, "first depends on the order of rows"),
    "median": ({"r": sw.median("i")}, {}, "median over a frame is not Spark's"),
    "sessions": ({"r": sw.count()}, {"window": sw.session("5s")}, 'and not session("5s")'),
    "cumulative": ({"r": sw.count()}, {"window": sw.time("1d", every="1h", cumulative=True)}, "Spark has hopping"),
    "days of a zone": ({"r": sw.count()}, {"window": sw.time("7d", every="1d", zone="Europe/Berlin")}, "no calendar"),
    "gaps": ({"r": sw.count()}, {"window": sw.time("1s", every="5s")}, "leave no time between them"),
    "rows": ({"r": sw.count()}, {"window": sw.rows(5, every=2)}, "and not rows(5, every=2)"),
    "revise": ({"r": sw.count()}, {"late": "revise", "keep": "1m"}, 'such as late="revise"'),
    "changes": ({"r": sw.count()}, {"emit": "changes"}, 'and not with emit="changes"'),
    "numbers": ({"r": sw.count()}, {"order_by": "i", "window": sw.time(5, every=5)}, "always the same"),
    "algorithm": ({"r": sw.sum("i")}, {"algorithm": "sba"}, "sba is asked for by name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_be_our_answer_is_refused(spark, case):
    results, options, why = REFUSED[case]
    df = spark.createDataFrame([], COLUMNS)
    given = {"partition_by": "a key", "order_by": "ts", "window": WINDOWS[0], **results, **options}
    for function in (sw.aggregate, sw.explain):
        with pytest.raises(InvalidInput, match='engine="spark" cannot compute this') as refused:
            function(df, **given, engine="spark")
        assert why in str(refused.value)


def test_sums_that_would_wrap_are_refused(spark):
    spark.conf.set("spark.sql.ansi.enabled", "false")
    df = spark.createDataFrame([], COLUMNS)
    with pytest.raises(InvalidInput, match="wrap around"):
        sw.aggregate(df, **call(WINDOWS[0]), engine="spark")


def test_other_engines_and_data(spark):
    df = spark.createDataFrame([], COLUMNS)
    with pytest.raises(InvalidInput, match="engine is one of auto, slidewise, spark, got 'flink'"):
        sw.aggregate(df, **call(WINDOWS[0]), engine="flink")
    with pytest.raises(InvalidInput, match="engine"):
        sw.aggregate(make_rows(1, 9), **call(WINDOWS[0]), engine="spark")
    assert sw.aggregate(df, order_by="ts", window=WINDOWS[0], engine=sw.count()).columns[-1] == "engine"


def test_explain_recommends_it_where_windows_do_not_overlap(spark):
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS i")
    given = {"order_by": "ts", "max_delay": "1s", "n": sw.sum("i")}
    assert 'engine="spark"' in str(sw.explain(stream, **given, window=WINDOWS[0]))
    assert 'engine="spark"' not in str(sw.explain(stream, **given, window=WINDOWS[1]))
    assert 'engine="spark"' not in str(sw.explain(stream, **given | {"n": sw.median("i")}, window=WINDOWS[0]))
    shown = str(sw.explain(stream, **given, window=WINDOWS[0], engine="spark"))
    assert "one partial per key and open window" in shown
