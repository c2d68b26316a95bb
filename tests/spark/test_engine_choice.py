"""Which engine computes what: Spark's own operator, ours, and ours with large keys spread over all cores."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise import spark as sws
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.spark import hot_keys, spark_operator
from slidewise.spark.executor.halo import Halo, HaloCheck, HaloSize, measure_halo

RUNNING = sw.rows_between(-sw.UNBOUNDED, 0)
WHOLE = sw.range_between(-sw.UNBOUNDED, sw.UNBOUNDED)


# ---- which engine
@pytest.mark.parametrize(
    ("expressions", "engine"),
    [
        ([sw.sum("x").over(RUNNING), sw.max("x").over(WHOLE)], "spark"),
        ([sw.max("x").over(sw.range_between(-sw.UNBOUNDED, 0))], "spark"),
        ([sw.max("x").over(sw.rows(1000))], "slidewise"),
        ([sw.sum("x").over(RUNNING), sw.max("x").over(sw.rows(1000))], "slidewise"),
        ([sw.median("x").over(WHOLE)], "slidewise"),
        ([sw.max_by("x", "y").over(RUNNING)], "slidewise"),
        ([sw.max("x").over(sw.rows(2, every=2))], "slidewise"),
        ([sw.max("x").over(RUNNING, algorithm="daba_lite")], "slidewise"),
    ],
)
def test_the_engine_is_chosen_by_what_frames_cost(expressions, engine):
    assert spark_operator.choose_engine(expressions, "auto").engine == engine


def test_tiny_frames_of_one_aggregate_go_to_spark_up_to_the_measured_width():
    width = spark_operator.read_break_even()
    assert spark_operator.choose_engine([sw.max("x").over(sw.rows(width + 1))], "auto").engine == "slidewise"
    if width:
        assert spark_operator.choose_engine([sw.max("x").over(sw.rows(width))], "auto").engine == "spark"
        two = [sw.max("x").over(sw.rows(width)), sw.min("x").over(sw.rows(width))]
        assert spark_operator.choose_engine(two, "auto").engine == "slidewise"


def test_spark_gets_no_sum_of_integers_that_it_would_let_wrap_around(session):
    df = session.createDataFrame([(1, 1, 2**63 - 1), (1, 2, 1)], "k int, t int, x long")
    overflowing = {"r": sw.sum("x").over(RUNNING)}
    session.conf.set(spark_operator.ANSI, "false")
    try:
        [line] = sw.explain(df, partition_by="k", order_by="t", **overflowing)
        assert line["engine"] == "slidewise" and spark_operator.ANSI in line["decided by"]
        assert spark_operator.choose_engine([sw.sum("x").over(RUNNING)], "auto").engine == "spark"
        with pytest.raises(InvalidInput, match="wrap"):
            sw.with_columns(df, partition_by="k", order_by="t", engine="spark", **overflowing)
        out = sw.with_columns(df, partition_by="k", order_by="t", y=sw.sum("t").over(RUNNING))
        assert sorted(row.y for row in out.collect()) == [1, 3]
        with pytest.raises(Exception, match="OverflowError"):
            sw.with_columns(df, partition_by="k", order_by="t", **overflowing).collect()
    finally:
        session.conf.set(spark_operator.ANSI, "true")


@pytest.mark.parametrize(
    ("over", "why"),
    [
        (sw.median("x").over(RUNNING), "median"),
        (sw.max("x").over(sw.groups_between(-1, 0)), "GROUPS"),
        (sw.max("x").over(sw.rows_between(-1, 0, exclude="ties")), "EXCLUDE"),
        (sw.max("x").over(sw.rows_between(sw.col("n"), 0)), "constants"),
        (sw.first("x", where="ok").over(RUNNING), "FILTER"),
        (sw.max("x").over(sw.time("1h", closed="left")), "closed"),
        (sw.max("x").over(sw.rows(9, min_rows=2)), "min_rows"),
        (sw.max("x").over(sw.time("1500ns")), "microseconds"),
    ],
)
def test_what_spark_cannot_compute_as_we_define_it_is_refused_with_the_reason(over, why):
    assert why in spark_operator.find_refusal(over)


def test_forcing_spark_where_it_cannot_says_why(spark):
    df = spark.range(3).selectExpr("id AS k", "id AS x")
    with pytest.raises(InvalidInput, match="median"):
        sws.with_columns(df, partition_by="k", order_by="x", engine="spark", m=sw.median("x").over(sw.rows(3)))
    with pytest.raises(InvalidInput, match="no column 'y'"):
        sws.with_columns(df, partition_by="k", order_by="x", engine="spark", m=sw.max("y").over(sw.rows(3)))


@pytest.mark.full
def test_both_engines_agree(spark):
    df = spark.range(400).selectExpr(
        "id",
        "id % 3 AS k",
        "timestamp_micros(CAST(id * 37 % 101 * 1000000 AS BIGINT)) AS ts",
        "IF(id % 11 = 0, NULL, CAST(id * 7 % 23 AS INT)) AS x",
        "CAST(id % 4 AS STRING) AS s",
        "id % 2 = 0 AS ok",
    )
    frames = [RUNNING, WHOLE, sw.rows(3), sw.rows_between(-2, 3)]
    over = {f"{a!r}_{k}": a.over(f) for k, f in enumerate(frames) for a in _aggregations()}
    by_time = {f"{a.name}_t{k}": a.over(f) for k, f in enumerate(_times()) for a in (sw.max("x"), sw.count(where="ok"))}
    for expressions, order in ((over, ["ts", "id"]), (by_time, "ts")):
        both = [
            sws.with_columns(df, expressions, partition_by="k", order_by=order, engine=engine)
            for engine in ("slidewise", "spark")
        ]
        assert [f.dataType for f in both[0].schema] == [f.dataType for f in both[1].schema]
        ours, theirs = (made.orderBy("id").toArrow() for made in both)
        for name in expressions:
            assert _close(ours[name], theirs[name]), name


def _aggregations():
    return [
        sw.count(), sw.count("x"), sw.sum("x"), sw.avg("x"), sw.min("s"), sw.max("x"), sw.stddev("x"), sw.var_pop("x"),
        sw.skewness("x"), sw.first("x"), sw.last("x", ignore_nulls=True), sw.nth_value("x", 2), sw.collect_list("x"),
        sw.bool_and("ok"), sw.bool_or("ok"), sw.bit_or("x"), sw.bit_and("x"), sw.bit_xor("x"), sw.corr("x", "id"),
        sw.covar_pop("x", "id"), sw.regr_count("x", "id"), sw.regr_sxy("x", "id"), sw.regr_slope("x", "id"),
        sw.regr_intercept("x", "id"), sw.regr_r2("x", "id"), sw.sum("x", where="ok"),
    ]  # fmt: skip


def _times():
    return [sw.time("20s"), sw.range_between("-3s", "5s"), sw.range_between(-sw.UNBOUNDED, "5s")]


def _close(a: pa.ChunkedArray, b: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(a.type):
        return a.to_pylist() == b.to_pylist()
    return all(
        x == y or (x is not None and y is not None and (x == pytest.approx(y, rel=1e-9, abs=1e-12) or x != x != y))
        for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True)
    )


# ---- large keys
def test_how_far_frames_reach():
    reach: Any = measure_halo([sw.rows(10), sw.rows_between(-3, 7), sw.time("1h"), sw.range_between("-1m", "2h")])
    assert (reach.rows_before, reach.rows_after) == (9, 7)
    assert (str(reach.before), str(reach.after)) == ("1h", "2h")
    for window in (RUNNING, sw.rows(9, every=3), sw.groups_between(-1, 0), sw.time("1 month"), sw.delta("x", 3)):
        assert isinstance(measure_halo([window]), str)


@pytest.mark.full
@pytest.mark.covering(0)
@pytest.mark.parametrize("partition_by", [["k"], []])
@pytest.mark.parametrize("descending", [False, True])
def test_a_large_key_in_buckets_gives_the_same_results(spark, monkeypatch, partition_by, descending):
    monkeypatch.setattr(hot_keys, "SHARE", 0.1)
    monkeypatch.setattr(hot_keys, "LARGE", 100)
    monkeypatch.setattr(hot_keys, "BUCKET", 60)
    df = spark.range(6000, numPartitions=3).selectExpr(
        "id",
        "IF(id % 5 = 0, id % 7, 99) AS k",
        "IF(id % 1000 = 0, NULL, hash(id) % 1000000) AS t",
        "hash(-id) % 1000 AS x",
    )
    expressions = {
        "back": sw.max("x").over(sw.rows(50)),
        "around": sw.sum("x").over(sw.rows_between(-20, 10)),
        "near": sw.median("x").over(sw.range_between(-3000, 2000)),
    }
    order = OrderColumn("t", descending)
    results = [
        sws.with_columns(df, expressions, partition_by=partition_by, order_by=order, hot_keys=spread)
        .where("t IS NOT NULL")  # rows without an order are peers: any order of them is right
        .orderBy("id")
        .toArrow()
        for spread in (True, False)
    ]
    assert results[0].schema == results[1].schema
    assert results[0].equals(results[1])
    reach = measure_halo([over.window for over in expressions.values()])
    numbers = hot_keys.spread(df, partition_by, order, reach, "own_").select("own_bucket").distinct().count()
    assert numbers > 3


def test_hot_keys_true_says_where_it_cannot(spark):
    df = spark.range(3).selectExpr("id AS k", "id AS x")
    with pytest.raises(InvalidInput, match="no fixed length"):
        sws.with_columns(
            df, partition_by="k", order_by="x", hot_keys=True, engine="slidewise", m=sw.max("x").over(RUNNING)
        )
    with pytest.raises(InvalidInput, match="one order column"):
        sws.with_columns(df, partition_by="k", order_by=["x", "k"], hot_keys=True, m=sw.max("x").over(sw.rows(9)))
    with pytest.raises(InvalidInput, match="hot_keys is"):
        sws.with_columns(df, partition_by="k", order_by="x", hot_keys="yes", m=sw.max("x").over(sw.rows(9)))


def test_a_short_halo_is_found_across_batches():
    def batch(buckets, own):
        return pa.table({"b": pa.array(buckets, pa.int32()), "o": pa.array(own)})

    check = HaloCheck(Halo("b", "o", rows_before=2, rows_after=1))
    check.count(batch([0, 0, 0], [True, True, False]))
    check.count(batch([1], [False]))
    check.count(batch([1, 1, 2, 2, 2], [False, True, False, False, True]))
    check.count(batch([0, 0, 1], [True, False, False]))
    with pytest.raises(SlidewiseError, match="only 1 of the 2 rows"):
        check.count(batch([1], [True]))
    check = HaloCheck(Halo("b", "o", rows_before=0, rows_after=3))
    check.count(batch([0, 0, 0], [True, False, False]))
    with pytest.raises(SlidewiseError, match="only 2 of the 3 rows"):
        check.count(batch([1], [True]))


def test_sampled_rows_are_so_many_that_a_halo_is_hardly_ever_short():
    assert hot_keys._count_sampled_rows(0) == 0
    for rows in (10, 1000, 100_000):
        expected = rows * hot_keys.SHARE
        assert hot_keys._count_sampled_rows(rows) > expected + 7 * expected**0.5


def test_a_halo_of_nothing_is_a_bucket_of_its_own():
    assert measure_halo([sw.rows(1)]) == HaloSize()


# ---- explain
def test_explain_tells_which_engine_computes_what(spark):
    df = spark.range(3).selectExpr("id AS k", "id AS ts", "id AS x")
    table = sw.explain(
        df,
        partition_by="k",
        order_by="ts",
        total=sw.sum("x").over(RUNNING),
        peak=sw.max("x").over(sw.rows(1000)),
        usual=sw.median("x").over(sws.Window.partitionBy("x").orderBy("ts").rowsBetween(-9, 0)),
    )
    lines = {line["column"]: line for line in table}
    assert list(lines) == ["total", "peak", "usual"]
    assert lines["total"]["engine"] == lines["peak"]["engine"] == "slidewise"  # they share one pass
    assert lines["total"]["an executor holds"] == "one partial"
    assert lines["peak"]["algorithm"] == "sba"
    assert "2 sorts" in table.note
    alone = sw.explain(df, partition_by="k", order_by="ts", total=sw.sum("x").over(RUNNING))
    assert next(iter(alone))["engine"] == "spark"
