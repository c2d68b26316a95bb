"""Names and columns as PySpark reads them: capitals, nested fields, aliases, and columns of DataFrames.

Each program is run with PySpark's functions and Window and with ours: both give the same, or both refuse.
"""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Window as TheirWindow
from pyspark.sql import functions as theirs
from support.tiers import quick

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812


@pytest.fixture(params=["true", "false"])
def heeding(request, session):
    """Sessions that heed capitals in names, and those that do not."""
    session.conf.set("spark.sql.caseSensitive", request.param)
    yield session
    session.conf.set("spark.sql.caseSensitive", "false")


def make_rows(session):
    return session.range(40).selectExpr(
        "id AS t", "id % 3 AS k", "id * 7 % 11 AS v", "id * 5 % 13 AS `PM2.5`", "named_struct('b', id * 7 % 5) AS a"
    )


def make_twins(session):
    """Columns that differ in capitals only: without heeding them, they are ambiguous."""
    return session.range(40).selectExpr(
        "id AS t", "id % 3 AS k", "id % 2 AS K", "id * 7 % 11 AS v", "id * 5 % 7 AS V",
        "named_struct('b', id, 'B', id * 3 % 7) AS a",
    )  # fmt: skip


def describe(program, session, F, Window):  # noqa: N803
    """Describe what a program gives: that it is refused, or names, types and rows."""
    try:
        out = program(session, F, Window)
        return out.columns, out.schema, sorted(map(tuple, out.collect()))
    except (AnalysisException, InvalidInput):
        return "refused"


# ---- columns of DataFrames
def of_the_dataframe(session, F, Window):  # noqa: N803
    df = make_rows(session)
    w = Window.partitionBy(df.k).orderBy(df["t"].desc()).rowsBetween(-9, 0)
    out = df.select("*", df["v"] - F.avg(df.v).over(w), F.sum(df["a.b"]).over(w), F.max(df.a["b"] + df.v).over(w))
    return out.withColumn("n", F.sum(df["`PM2.5`"]).over(w) + df["t"]).where(df["v"] > 2)


def of_both_sides_of_a_join(session, F, Window):  # noqa: N803
    left, right = make_rows(session), make_rows(session).where("t % 3 < 2")
    w = Window.partitionBy(right["k"]).orderBy(left["t"]).rowsBetween(-9, 0)
    joined = left.join(right, left["t"] == right["t"], "left")
    return joined.select(
        left["t"], left.v, right.v, F.sum(left["v"] + F.coalesce(right["v"], F.lit(0))).over(w), F.max(right.v).over(w),
        (right["v"] - F.min(right["v"]).over(w)).alias("d"),
    )  # fmt: skip


def by_aliases_of_a_join(session, F, Window):  # noqa: N803
    left, right = make_rows(session).alias("l"), make_rows(session).alias("r")
    w = Window.partitionBy("r.k").orderBy(F.col("l.t")).rowsBetween(-9, 0)
    joined = left.join(right, F.col("l.t") == F.col("r.v"))
    return joined.select(
        "l.t", F.sum("r.t").over(w), F.max(F.col("l.a.b")).over(w), F.col("l.v") - F.min("l.v").over(w)
    )


def ambiguous_after_a_join(session, F, Window):  # noqa: N803
    left, right = make_rows(session), make_rows(session)
    joined = left.join(right, left["t"] == right["t"])
    return joined.select(F.max("v").over(Window.partitionBy(left["k"]).orderBy(left["t"]).rowsBetween(-9, 0)))


def ambiguous_keys(session, F, Window):  # noqa: N803
    left, right = make_rows(session), make_rows(session)
    joined = left.join(right, left["t"] == right["t"])
    return joined.select(F.max(left["v"]).over(Window.partitionBy("k").orderBy(left["t"]).rowsBetween(-9, 0)))


def twice_after_a_join(session, F, Window):  # noqa: N803
    left, right = make_rows(session), make_rows(session).withColumnRenamed("v", "w")
    joined = left.join(right, "t").select(left["*"], "w")
    w = Window.partitionBy("k").orderBy("t").rowsBetween(-9, 0)
    return joined.withColumn("v", F.sum("w").over(w)).withColumn("x", left["v"] + F.col("v") + F.max("v").over(w))


def of_another_dataframe(session, F, Window):  # noqa: N803
    other = make_rows(session)
    return make_rows(session).withColumn("m", F.max(other["v"]).over(Window.partitionBy("k")))


def beside_another_dataframe(session, F, Window):  # noqa: N803
    other = make_rows(session)
    return make_rows(session).withColumn("m", other["v"] + F.max("v").over(Window.partitionBy("k")))


def without_keys(session, F, Window):  # noqa: N803
    df = make_rows(session)
    out = df.withColumn("m", df["v"] - F.min(df["v"]).over(Window.orderBy(df.t).rowsBetween(-30, 0)))
    return out.select(df["t"], out["m"], out.m + df.v)


BOUND = [
    of_the_dataframe, of_both_sides_of_a_join, by_aliases_of_a_join, ambiguous_after_a_join, ambiguous_keys,
    twice_after_a_join, of_another_dataframe, beside_another_dataframe, without_keys,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:WARN WindowExpression")  # without a partitioning, as PySpark says, too
@pytest.mark.parametrize("program", quick(BOUND, of_both_sides_of_a_join, of_another_dataframe))
def test_columns_of_dataframes(program, session):
    assert describe(program, session, F, Window) == describe(program, session, theirs, TheirWindow)


# ---- capitals
def in_other_capitals(session, F, Window):  # noqa: N803
    w = Window.partitionBy("K").orderBy("T").rowsBetween(-9, 0)
    return make_rows(session).select("t", F.max("V").over(w), F.sum(F.col("V") + 1).over(w), F.max("v").over(w))


def as_written(session, F, Window):  # noqa: N803
    w = Window.partitionBy("k").orderBy(F.desc("t")).rowsBetween(-9, 0)
    return make_rows(session).withColumn("V", F.sum("v").over(w)).withColumn("T", F.max("t").over(w))


def of_twins(session, F, Window):  # noqa: N803
    w = Window.partitionBy("K").orderBy("t").rowsBetween(-9, 0)
    small = Window.partitionBy(F.col("k")).orderBy("t").rowsBetween(-12, 0)
    out = make_twins(session).withColumn("x", F.sum("V").over(w)).withColumn("v", F.sum("v").over(small))
    return out.withColumn("X", F.col("V") - F.min(F.col("V") + F.col("v")).over(small))


def twins_by_the_way(session, F, Window):  # noqa: N803
    w = Window.partitionBy("t").orderBy("t").rowsBetween(-9, 0)
    return make_twins(session).select("t", F.count("*").over(w))


def of_nested_twins(session, F, Window):  # noqa: N803
    w = Window.partitionBy("t").rowsBetween(-9, 0).orderBy("t")
    return make_twins(session).select("t", F.max("a.B").over(w), F.max(F.col("a")["b"]).over(w), F.max("a.b").over(w))


def nested_in_other_capitals(session, F, Window):  # noqa: N803
    w = Window.partitionBy("a.B").orderBy("t").rowsBetween(-9, 0)
    return make_rows(session).select("t", F.max("A.b").over(w), F.max(F.col("a.b")).over(w))


def with_dots(session, F, Window):  # noqa: N803
    w = Window.partitionBy("`k`").orderBy("`t`").rowsBetween(-9, 0)
    df = make_rows(session).withColumn("m", F.max("`PM2.5`").over(w) + F.col("`PM2.5`"))
    return df.withColumn("PM2.5", F.sum(F.col("`PM2.5`")).over(w)).withColumn("`q`.x", F.min("a.b").over(w))


def with_dots_in_other_capitals(session, F, Window):  # noqa: N803
    w = Window.partitionBy("k").orderBy("t").rowsBetween(-9, 0)
    return make_rows(session).select(F.max("`pm2.5`").over(w), F.max("`PM2.5`").over(w))


def dots_without_quotes(session, F, Window):  # noqa: N803
    return make_rows(session).withColumn("m", F.max("PM2.5").over(Window.partitionBy("k")))


def no_such_column(session, F, Window):  # noqa: N803
    return make_rows(session).withColumn("m", F.max("w").over(Window.partitionBy("k").orderBy("t")))


def no_such_order(session, F, Window):  # noqa: N803
    return make_rows(session).withColumn("m", 1 + F.max("v").over(Window.partitionBy("k").orderBy("s")))


CAPITALS = [
    in_other_capitals, as_written, of_twins, twins_by_the_way, of_nested_twins, nested_in_other_capitals, with_dots,
    with_dots_in_other_capitals, dots_without_quotes, no_such_column, no_such_order,
]  # fmt: skip


@pytest.mark.parametrize("program", quick(CAPITALS, in_other_capitals, of_twins))
def test_names_as_pyspark_reads_them(program, heeding):
    assert describe(program, heeding, F, Window) == describe(program, heeding, theirs, TheirWindow)


@pytest.mark.full
@pytest.mark.parametrize("make", [make_rows, make_twins])
@pytest.mark.parametrize(("k", "v"), [("K", "V"), ("k", "v"), ("K", "v")])
def test_names_of_calls_and_of_sql(k, v, make, heeding):
    def give(made):
        return describe(lambda *_: made(), heeding, F, Window)

    df = make(heeding)
    over = f"OVER (PARTITION BY {k} ORDER BY t ROWS 4 PRECEDING)"
    expected = give(lambda: heeding.sql(f"SELECT *, sum({v}) {over} AS m FROM {{df}}", df=df))
    call = {"partition_by": k, "order_by": "t", "m": sw.sum(v).over(sw.rows(5))}
    assert give(lambda: sws.with_columns(df, **call)) == expected
    assert give(lambda: sws.with_columns(df, engine="spark", **call)) == expected
    query = f"SELECT *, sum({v}) {over} AS m, median({v}) {over} AS n FROM {{df}}"
    assert give(lambda: sws.sql(heeding, query, df=df).drop("n")) == expected
    heeds = heeding.conf.get("spark.sql.caseSensitive") == "true"
    assert (expected == "refused") == (
        (heeds and make is make_rows and (k, v) != ("k", "v")) or (not heeds and make is make_twins)
    )
