"""lag, lead, row_number, rank and its kin on Spark: Spark's own answers, by Spark's operator and by ours."""

from __future__ import annotations

import pytest
from support.tiers import in_full
from test_against_spark import CARRIED, assert_equal, by_id, rows

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput

NUMBERS = {
    "row_number()": sw.row_number(),
    "rank()": sw.rank(),
    "dense_rank()": sw.dense_rank(),
    "percent_rank()": sw.percent_rank(),
    "cume_dist()": sw.cume_dist(),
    "ntile(7)": sw.ntile(7),
    "lag(i64, 2, -1)": sw.lag("i64", 2, -1),
    "lag(s, 1, 'it\\'s `none`')": sw.lag("s", 1, "it's `none`"),
    "lead(yes, 3, true)": sw.lead("yes", 3, True),
    "lag(i8, -1, 5)": sw.lag("i8", -1, 5),
    "lag(f64, 1, 3)": sw.lag("f64", 1, 3),
    "lead(x, 2) IGNORE NULLS": sw.lead("x", 2, ignore_nulls=True),
    "lag(s, 2, 'z') IGNORE NULLS": sw.lag("s", 2, "z", ignore_nulls=True),
}
VALUES = {f"lag({c}, 1)": sw.lag(c) for c in CARRIED}


ORDERS = [
    ("n", ["n"]),
    *in_full(("f DESC, day", [sw.desc("f"), "day"]), ("ts NULLS LAST", [sw.asc("ts", nulls="last")])),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("engine", [*in_full("auto"), "slidewise"])
def test_ranks_are_those_of_spark(spark, engine, order):
    written, given = order
    df = rows(spark, 400)
    ranks = {e: made for e, made in NUMBERS.items() if e in ("rank()", "dense_rank()", "percent_rank()", "cume_dist()")}
    ours = by_id(sws.with_columns(df, ranks, partition_by="k", order_by=given, engine=engine))
    theirs = by_id(df.selectExpr("id", *(f"{e} OVER (PARTITION BY k ORDER BY {written}) AS `{e}`" for e in ranks)))
    for e in ranks:
        assert_equal(ours[e], theirs[e].cast(ours[e].type), e, exact=True)


@pytest.mark.parametrize("engine", ["auto", *in_full("slidewise")])
def test_values_and_numbers_are_those_of_spark(spark, engine):
    """With an order without ties: row by row."""
    df = rows(spark, 400)
    given = {**NUMBERS, **VALUES}
    window = "PARTITION BY k ORDER BY n, id"
    ours = by_id(sws.with_columns(df, given, partition_by="k", order_by=["n", "id"], engine=engine))
    theirs = by_id(df.selectExpr("id", *(f"{e} OVER ({window}) AS `{e.replace('`', '')}`" for e in given)))
    for e in given:
        assert_equal(ours[e], theirs[e.replace("`", "")].cast(ours[e].type), e, exact=True)


def test_beside_what_spark_refuses(spark):
    """One call, one pass: places are computed there where all others are."""
    df = rows(spark, 300)
    made = {"before": sw.lag("x", 1, 0.0), "r": sw.rank(), "share": sw.percent_rank(), "m": sw.median("x").over(9)}
    ours = by_id(sw.with_columns(df, made, partition_by="k", order_by=["n", "id"]))
    theirs = by_id(
        df.selectExpr(
            "id",
            "lag(x, 1, 0.0D) OVER (PARTITION BY k ORDER BY n, id) AS before",
            "CAST(rank() OVER (PARTITION BY k ORDER BY n, id) AS BIGINT) AS r",
            "percent_rank() OVER (PARTITION BY k ORDER BY n, id) AS share",
        )
    )
    for name in ("before", "r", "share"):
        assert_equal(ours[name], theirs[name], name, exact=True)


def test_spark_computes_them_itself(spark):
    df = rows(spark, 10)
    told = sw.explain(df, partition_by="k", order_by="id", a=sw.lag("x"), r=sw.rank(), n=sw.row_number())
    assert all("Spark" in str(line) for line in told)
    plan = sws.with_columns(df, partition_by="k", order_by="id", a=sw.lag("x"), r=sw.rank(), n=sw.row_number())
    shown = plan._jdf.queryExecution().toString()
    assert "arrow_udf" not in shown.lower() and shown.count("Window") >= 1
    with pytest.raises(InvalidInput, match="rank is by the order of rows"):
        sws.with_columns(df, partition_by="k", r=sw.rank())
