"""An ordinary PySpark program with two other import lines: its answers, names and types are PySpark's own."""

import copy
import gc
import inspect
import math
import pickle
import re
import subprocess
import sys

import pandas as pd
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Window as TheirWindow
from pyspark.sql import functions as theirs
from pyspark.sql.column import Column
from support.tiers import connect_in_soak, in_full, on_both, quick

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import Window, named_expressions, own_windows, sorting, window_columns
from slidewise.spark import functions as F  # noqa: N812
from slidewise.spark.executor.halo import BUCKETS
from slidewise.spark.pyspark_internals import has_subquery
from slidewise.spark.window import SpecifiedOver


@pytest.fixture
def df(session):
    return session.range(60).selectExpr(
        "id", "id % 3 AS k", "(id * 7) % 20 + 0.5D AS v", "timestamp_millis(id * 40000123) AS ts",
        "date_add(date'2024-01-01', cast(id as int)) AS d", "named_struct('b', id * 7 % 11, 'c', 'x') AS a",
        "id * 5 % 13 AS `PM2.5`", "cast(id % 7 AS string) AS s", "id % 4 = 0 AS even", "cast(id AS decimal(10,2)) AS m",
    )  # fmt: skip


def assert_as_pyspark(df, program, sort="id"):
    """Run a program with our two imports and with PySpark's."""
    ours, spark = program(df, F, Window), program(df, theirs, TheirWindow)
    assert ours.columns == spark.columns
    assert [field.dataType for field in ours.schema] == [field.dataType for field in spark.schema]
    for own, other in zip(ours.orderBy(sort).collect(), spark.orderBy(sort).collect(), strict=True):
        for name, a, b in zip(ours.columns, own, other, strict=True):
            equal = math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) if isinstance(b, float) and a is not None else a == b
            assert equal, (name, own, other)
    return ours


# ---- programs
def by_key(window):
    return window.partitionBy("k").orderBy("ts")


def z_score(df, F, Window):  # noqa: N803
    w = by_key(Window).rowsBetween(-9, 0)
    return df.withColumn("z", (F.col("v") - F.avg("v").over(w)) / F.stddev("v").over(w))


def select_without_names(df, F, Window):  # noqa: N803
    w = by_key(Window).rowsBetween(-9, 0)
    return df.select(
        "*",
        F.sum(F.col("v") * F.col("id")).over(w),
        df["v"] - F.avg("v").over(by_key(Window).rowsBetween(-9, 2)),
        F.sum("v").over(w).cast("int"),
        F.count("*").over(by_key(Window).rowsBetween(1, 15)),
        F.max_by("v", "id").over(by_key(Window)),
        F.percentile("v", 0.5).over(Window.partitionBy("k", F.col("even"))),
        F.nth_value("v", 2).over(w),
        F.max("v").over(
            Window.partitionBy(F.col("id") % 2).orderBy(F.col("ts").cast("long").desc()).rangeBetween(-9, 0)
        ),
    )


def mixed_with_functions_of_spark(df, F, Window):  # noqa: N803
    w, wide = by_key(Window), by_key(Window).rowsBetween(-20, 0)
    middle = F.percentile("v", 0.5).over(wide)
    return df.select(
        "id",
        F.lag("v").over(w).alias("before"),
        F.row_number().over(w).alias("number"),
        F.max("v").over(wide).alias("peak"),
        F.when(middle > 9, 1).otherwise(F.lit(0)).alias("high"),
        middle.between(8, 10).alias("within"),
        middle.isNull().alias("none"),
        F.round(F.sqrt(F.sum("v").over(wide)), 2).alias("rounded"),
        F.concat(F.lit("p"), middle.cast("string")).alias("text"),
        (-middle + 2 * F.min("v").over(wide) ** 2).alias("computed"),
        F.expr("sum(v)").over(wide).alias("by_text"),
        F.max("a").over(wide)["b"].alias("field"),
    )


def by_whole_seconds(df, F, Window):  # noqa: N803
    seconds = F.col("ts").cast("long")
    week = Window.partitionBy("k").orderBy(seconds).rangeBetween(-604800, 0)
    ahead = Window.partitionBy("k").orderBy(F.desc(F.col("ts").cast("long"))).rangeBetween(-86400, 0)
    return df.withColumns({"n": F.count("*").over(week), "sum": F.sum("v").over(week), "m": F.max("v").over(ahead)})


def bound_to_a_dataframe(df, F, Window):  # noqa: N803
    w = Window.partitionBy(df.k).orderBy(df["ts"]).rowsBetween(-5, 0)
    return df.withColumn("m", df["v"] - F.max(df.v).over(w)).withColumn("n", F.min(df["v"]).over(w))


def named_as_pyspark_names(df, F, Window):  # noqa: N803
    w = by_key(Window).rowsBetween(-5, 0)
    out = df.withColumn("m", F.max("`PM2.5`").over(w)).withColumn("n", F.max("a.b").over(w))
    return out.withColumn("o", F.max("V").over(Window.partitionBy("K").orderBy("TS").rowsBetween(-5, 0)))


def over_an_alias(df, F, Window):  # noqa: N803
    w = Window.partitionBy("t.k").orderBy("t.ts").rowsBetween(-5, 0)
    return df.alias("t").select("t.id", F.max("t.v").over(w).alias("x"), F.col("t.v"))


def over_a_join(df, F, Window):  # noqa: N803
    other = df.sparkSession.range(60).selectExpr("id AS number", "id % 5 AS k", "id * 3 % 17 AS v")
    joined = df.join(other, df["id"] == other["number"])
    w = Window.partitionBy(other["k"]).orderBy("ts").rowsBetween(-5, 0)
    return joined.select("id", F.max(df["v"]).over(w).alias("a"), F.max(other["v"]).over(w).alias("b"), df["v"])


def types_that_spark_casts(df, F, Window):  # noqa: N803
    w = by_key(Window).rowsBetween(-12, 0)
    return df.select(
        "id", F.sum("s").over(w), F.avg("s").over(w), F.avg("m").over(w), F.sum("m").over(w), F.max("v").over(w)
    )


def grouped(df, F, Window):  # noqa: N803
    out = df.groupBy("k").agg(
        F.sum("v").alias("s"), F.count_distinct("k", "v"), F.median("v"), F.sum(F.sum("v")).over(Window.orderBy("k")),
        F.mean("v"), F.every("even"), F.max_by("v", "id"), F.percentile("v", [0.25, 0.5]), F.mode("even"), F.std("v"),
        F.first("k"), F.any_value("k"), F.approx_count_distinct("v"), F.count_if(F.col("v") > 3), F.variance("v"),
    )  # fmt: skip
    return out.withColumn("so_far", F.max("s").over(Window.orderBy("k").rowsBetween(-1, 0)))


def pivoted(df, F, Window):  # noqa: N803
    return df.groupBy("k").pivot("even").agg(F.avg("v"), F.sum("id"))


def cached(df, F, Window):  # noqa: N803
    return df.cache().withColumn("m", F.max("v").over(by_key(Window).rowsBetween(-30, 0)))


def conditions(df, F, Window):  # noqa: N803
    w = by_key(Window).rowsBetween(-15, 0)
    out = df.withColumn("n", F.count_if(F.col("v") > 3).over(w)).withColumn("one", F.count(F.lit(1)).over(w))
    return out.withColumn("last", F.last(F.when(F.col("even"), F.col("v")), ignorenulls=True).over(w))


PROGRAMS = [
    z_score, select_without_names, mixed_with_functions_of_spark, by_whole_seconds, bound_to_a_dataframe,
    named_as_pyspark_names, over_an_alias, over_a_join, types_that_spark_casts, cached, conditions,
]  # fmt: skip


@pytest.mark.parametrize("program", quick(PROGRAMS, z_score, by_whole_seconds, conditions))
def test_a_program_gives_what_pyspark_gives(program, df):
    assert_as_pyspark(df, program)


@pytest.mark.filterwarnings("ignore:WARN WindowExpression")  # groups without a partitioning, as PySpark says, too
@pytest.mark.parametrize("program", [grouped, *in_full(pivoted)])
def test_without_over_functions_are_pysparks(program, df):
    assert_as_pyspark(df, program, "k")


def test_functions_imported_from_pyspark_over_our_windows(df):
    def program(df, F, Window):  # noqa: N803
        w = Window.partitionBy("k").orderBy("ts").rowsBetween(-15, 0)
        first = theirs.first(F.col("v")).over(w) + F.max("v").over(w)
        return df.withColumn("a", theirs.sum("v").over(w)).withColumn("b", theirs.lag("v").over(by_key(Window)) + first)

    assert_as_pyspark(df, program)


def test_windows_of_pyspark_under_our_functions(df):
    def program(df, F, _):  # noqa: N803
        w = TheirWindow.partitionBy("k")
        return df.select(
            "id",
            F.sum("v").over(w.orderBy(theirs.col("ts").desc_nulls_first()).rowsBetween(-15, 0)),
            F.max("v").over(w),
            F.min("v").over(w.orderBy("id").rangeBetween(-5, TheirWindow.unboundedFollowing)),
            F.count("v").over(w.orderBy("id").rowsBetween(TheirWindow.unboundedPreceding, TheirWindow.currentRow)),
        )

    assert_as_pyspark(df, program)


@pytest.mark.full
def test_along_dates_a_number_is_one_of_days_as_in_sql(df):
    w = Window.partitionBy("k").orderBy("d").rangeBetween(-7, 0)
    frame = "OVER (PARTITION BY k ORDER BY d RANGE 7 PRECEDING) AS m"
    ours = df.select("id", F.collect_list("id").over(w).alias("m"))
    assert ours.orderBy("id").collect() == df.selectExpr("id", f"collect_list(id) {frame}").orderBy("id").collect()


@on_both
def test_what_pyspark_refuses_is_computed(df):
    w = by_key(Window).rowsBetween(-9, 0)
    out = df.select("id", F.median("v").over(w), F.count_distinct("s", "even").over(w).alias("pairs"))
    out = out.withColumnRenamed(out.columns[1], "middle")
    rows = {row.id: row for row in out.collect()}
    frames = df.select("id", theirs.collect_list(theirs.struct("v", "s", "even")).over(
        TheirWindow.partitionBy("k").orderBy("ts").rowsBetween(-9, 0)).alias("f"))  # fmt: skip
    for row in frames.collect():
        values = sorted(part.v for part in row.f)
        n = len(values)
        assert rows[row.id].middle == (values[(n - 1) // 2] + values[n // 2]) / 2
        assert rows[row.id].pairs == len({(part.s, part.even) for part in row.f})


def test_names_of_windows_that_pyspark_lacks(df):
    w = by_key(Window).rowsBetween(-9, 0)
    out = df.select(
        F.geomean("v").over(w), F.median("v", where=F.col("v") > 3).over(w), F.max("v").over(w.exclude("ties"))
    )
    over = "OVER (PARTITION BY k ORDER BY ts ASC NULLS FIRST ROWS BETWEEN -9 FOLLOWING AND CURRENT ROW"
    assert out.columns == [
        f"geomean(v) {over})", f"median(v) FILTER (WHERE (v > 3)) {over})", f"max(v) {over} EXCLUDE TIES)",
    ]  # fmt: skip


# ---- where such columns go
@pytest.mark.full
def test_filters_see_all_rows_in_their_windows(df):
    w = by_key(Window).rowsBetween(-5, 0)
    kept = df.filter(F.col("v") > F.avg("v").over(w))
    expected = df.withColumn("y", theirs.avg("v").over(by_key(TheirWindow).rowsBetween(-5, 0))).where("v > y").drop("y")
    assert kept.columns == df.columns
    assert kept.orderBy("id").collect() == expected.orderBy("id").collect()
    assert df.where(F.col("v") > F.avg("v").over(w)).count() == expected.count()
    assert sws.filter(df, F.row_number().over(by_key(Window)) == 1).count() == 3
    assert sws.filter(df, "k = 1").count() == 20


@pytest.mark.full
def test_filters_take_windows_of_sparks_own_in_our_spelling(df):
    def first(column):
        return df.withColumn("y", column).where("y = 1").drop("y").orderBy("id").collect()

    w, their_w = by_key(Window), by_key(TheirWindow)
    expected = first(theirs.row_number().over(their_w))
    assert len(expected) == 3
    conditions = [
        F.row_number().over(w) == 1,
        F.row_number().over(their_w) == 1,
        theirs.row_number().over(w) == 1,
        (F.lit(1) == F.row_number().over(w).alias("n").cast("long")) & ~F.lag("v").over(w).isNotNull(),
        (F.row_number().over(w) == 1) & (F.count("*").over(w) == 1),  # beside a window of slidewise's
    ]
    for kept in (*(df.filter(condition) for condition in conditions), df.where(conditions[0])):
        assert kept.columns == df.columns
        assert kept.orderBy("id").collect() == expected
    # windows see all rows, and later filters are as before
    assert df.filter(F.lag("id").over(w).isNotNull()).filter("k = 1").count() == df.where("k = 1").count() - 1


def test_filters_by_windows_with_pysparks_imports_alone_are_refused_as_before(df):
    condition = theirs.rank().over(by_key(TheirWindow).rowsBetween(TheirWindow.unboundedPreceding, 0)) == 1
    with pytest.raises(AnalysisException) as told:
        _ = df.filter(condition).schema
    sws.disable()
    try:
        with pytest.raises(AnalysisException) as before:
            _ = df.filter(condition).schema
    finally:
        sws.enable()
    assert str(told.value).splitlines()[0] == str(before.value).splitlines()[0]
    assert told.value.getCondition() == before.value.getCondition()


def test_of_windows_of_sparks_own_the_last_are_remembered():
    table = own_windows.TextTable(2)
    for text in ("a() OVER (x)", "b() OVER (x)", "a() OVER (x)", "c() OVER (x)"):
        table.add(text)
    assert [table.find(f"({name}() OVER (x) = 1)") is None for name in "abc"] == [False, True, False]


@pytest.mark.full
def test_functions_do_what_methods_do(df):
    w = by_key(Window).rowsBetween(-5, 0)
    z = F.col("v") - F.median("v").over(w)
    expected = df.withColumn("z", z).orderBy("id").collect()
    assert sws.with_column(df, "z", z).orderBy("id").collect() == expected
    assert sws.with_columns(df, {"z": z}).orderBy("id").collect() == expected
    assert sws.with_columns(df, z=z).orderBy("id").collect() == expected
    assert sws.select(df, "*", z.alias("z")).orderBy("id").collect() == expected
    assert sws.select(df, ["*", z.alias("z")]).orderBy("id").collect() == expected
    assert sw.with_columns(df, z=z).orderBy("id").collect() == expected
    mine = {"over": sw.median("v").over(w), "z": z, "v": F.max("v").over(w)}
    both = sws.with_columns(df, mine).select("id", (F.lit(0) + F.col("z")).alias("z"), "over", "v")
    assert [row.z for row in both.orderBy("id").collect()] == [row.z for row in expected]


@pytest.mark.full
def test_windows_of_slidewise_take_partitioning_and_order_of_the_call(df):
    made = sw.with_columns(df, partition_by="k", order_by="ts", m=F.median("v").over(sw.rows(6)), n=F.max("v").over(3))
    w = by_key(Window)
    expected = df.withColumns(
        {"m": F.median("v").over(w.rowsBetween(-5, 0)), "n": F.max("v").over(w.rowsBetween(-2, 0))}
    )
    assert made.orderBy("id").collect() == expected.orderBy("id").collect()
    with pytest.raises(InvalidInput, match="has no partitioning and no order"):
        df.withColumn("m", F.median("v").over(sw.rows(6)))


def test_one_shuffle_and_one_pass_for_all_windows_of_an_order(spark, capsys):
    df = spark.range(60, numPartitions=3).selectExpr("id", "id % 3 AS k", "id * 7 % 20 AS v")
    w = Window.partitionBy("k").orderBy(F.col("id").cast("long"))
    first, other = F.median("v").over(w.rowsBetween(-9, 0)), F.mode("v").over(w.rangeBetween(-20, 0))
    out = df.select("id", first - other, F.when(first > 3, F.count_distinct("v").over(w.rowsBetween(-20, 0))))
    capsys.readouterr()
    out.explain()
    plan = capsys.readouterr().out
    assert [plan.count(node) for node in ("Exchange", "Sort [", "ArrowEvalPython")] == [1, 0, 1]


@pytest.mark.full
def test_text_with_windows_that_spark_refuses(df):
    text = "median(v) OVER (PARTITION BY k ORDER BY ts ROWS 5 PRECEDING) AS m"
    expected = df.select("id", F.median("v").over(by_key(Window).rowsBetween(-5, 0)).alias("m"))
    assert df.selectExpr("id", text).orderBy("id").collect() == expected.orderBy("id").collect()
    assert df.selectExpr("max(v) OVER (PARTITION BY k) AS m").count() == 60


# ---- refusals
def test_what_is_refused_and_how(df, session):
    w = by_key(Window).rowsBetween(-5, 0)
    with pytest.raises(InvalidInput, match="aggregates of groups, which come before all windows"):
        df.groupBy("k").agg(F.median("v").over(w))
    with pytest.raises(Exception, match=r"geomean\(\.\.\.\) is for windows only"):
        _ = df.agg(F.geomean("v")).schema
    with pytest.raises(Exception, match=r"sum\(\.\.\.\) with what PySpark lacks is for windows only"):
        _ = df.agg(F.sum("v", where="even")).schema
    with pytest.raises(InvalidInput, match="no column 'w'"):
        df.withColumn("m", F.median("w").over(w))
    with pytest.raises(InvalidInput, match="new columns are windows alone"):
        sws.with_columns(df, {"m": 1 + F.median("v").over(w)}, schema=df.schema)
    with pytest.raises(InvalidInput, match=r"max: .*explode\(array\(v, id\)\).* makes several rows of one.* Make them"):
        F.max(F.explode(F.array("v", "id")) + 1).over(w)


def test_windows_where_spark_takes_none(df):
    column = F.median("v").over(by_key(Window))
    for name in ("orderBy", "sort", "groupBy"):
        with pytest.raises(InvalidInput, match=rf"{name}: there is a window .* Add it as a column first"):
            getattr(df, name)(column, "k")
        assert getattr(df, name)("k", F.col("v")) is not None
    for name in ("cube", "repartition", "repartitionByRange", "rollup", "sortWithinPartitions"):
        with pytest.raises(InvalidInput, match=rf"{name}: there is a window .* and give {name} that one"):
            getattr(df, name)(column + 1)
        assert getattr(df, name)(F.col("v")) is not None
    for on in ({"on": column == 3}, {"on": [df["k"] == 1, column == 3]}):
        with pytest.raises(InvalidInput, match="join: there is a window"):
            df.join(df, **on)
    assert df.join(df.select("id", F.col("v").alias("w")), on=["id"], how="left").count() == 60
    assert [row.id for row in df.sort("id", ascending=False).limit(2).collect()] == [59, 58]


def test_windows_by_expressions_take_aggregations_of_slidewise(df):
    w = Window.partitionBy(F.upper("s")).orderBy(F.col("ts").cast("long")).rowsBetween(-3, 0)
    out = sws.with_columns(df, peak=sw.max("v").over(w)).withColumn("same", F.max("v").over(w))
    assert out.columns == [*df.columns, "peak", "same"]
    assert out.filter("peak = same").count() == 60
    with pytest.raises(InvalidInput, match=r"median: the column 'upper\(s\)' is of string"):
        df.withColumn("m", F.median(F.upper("s")).over(w))


def test_explain_tells_of_windows_inside_of_windows(df):
    w = by_key(Window).rowsBetween(-9, 0)
    low = F.min("v").over(w)
    told = sw.explain(df, above=F.sum(F.col("v") - low).over(w), low=low)
    assert [line["column"] for line in told] == ["above", "low"]


def test_columns_of_a_join_of_a_frame_with_its_own_totals(spark, capsys):
    """Spark takes `sales["k"]` beside a window alone; what lets it pass in our steps is in no plan that runs."""
    sales = spark.range(12).selectExpr("id", "id % 3 AS k")
    totals = sales.groupBy("k").agg(F.sum("id").alias("total"))
    joined = sales.join(totals, sales["k"] == totals["k"])
    share = F.sum(sales["id"] / totals["total"]).over(Window.partitionBy(sales["k"]).orderBy("id").rowsBetween(-99, 0))
    out = joined.select(sales["id"], sales["k"], share.alias("share"))
    assert [round(row.share, 9) for row in out.where("id > 8").collect()] == [1.0, 1.0, 1.0]
    assert not any(field.metadata for field in out.schema)
    assert joined.filter(share > 0.99).where("id > 8").count() == 3
    out.explain()
    assert "Window [" not in capsys.readouterr().out
    with pytest.raises(AnalysisException, match="ambiguous"):
        joined.select(sales["k"])


# ---- the functions of PySpark
def without_newer(name, parameters, own):
    """Leave out the parameter that PySpark 4.1 has not yet."""
    newer = name in ("max_by", "min_by") and "k" not in inspect.signature(own).parameters
    return [p for p in parameters if not (newer and p == "k")]


def test_several_values_of_max_by_are_sparks_own_where_it_has_them(spark):
    if "k" in inspect.signature(theirs.max_by).parameters:
        assert isinstance(F.max_by("a", "b", 2), Column)
    else:
        with pytest.raises(
            InvalidInput, match="max_by: k=2 asks for several values, which is Spark's own, and not in PySpark"
        ):
            F.max_by("a", "b", 2)


def test_every_function_of_pyspark_is_there():
    names = set(theirs.__all__) | {n for n, f in vars(theirs).items() if inspect.isfunction(f) and n[0] != "_"}
    assert names <= {*dir(F), *(name for name in names if hasattr(F, name))}
    assert set(theirs.__all__) <= set(dir(F))
    for name in names:
        found, own = getattr(F, name), getattr(theirs, name)
        if inspect.isfunction(own):
            parameters = [p for p in inspect.signature(found).parameters if p not in ("where", "counts_of")]
            assert without_newer(name, parameters, own) == list(inspect.signature(own).parameters), name
    assert F.lag is F.lag
    with pytest.raises(AttributeError):
        F.no_such_function  # noqa: B018
    spread: dict[str, object] = {}
    exec("from slidewise.spark.functions import *", spread)
    assert spread["lag"] is F.lag and spread["median"] is F.median


@pytest.mark.full
def test_every_function_makes_the_column_that_pyspark_makes(session):
    """Those that take columns only, by name: a few hundred."""
    made = 0
    for name in theirs.__all__:
        own = getattr(theirs, name)
        if not inspect.isfunction(own) or "percentile" in name or name == "nth_value":  # numbers are checked at once
            continue
        needed = [p for p in inspect.signature(own).parameters.values() if p.default is p.empty and p.kind < 2]
        try:
            column = own(*(["x"] * len(needed)))
        except Exception:  # needs something else than names
            continue
        if isinstance(column, Column):
            again = getattr(F, name)(*(["x"] * len(needed)))
            assert isinstance(again, Column)
            seedless = [re.sub(r"-?\d{5,}L?", "seed", str(c)) for c in (again, column)]
            assert seedless[0] == seedless[1], name
            made += 1
    assert made > 300


def test_columns_are_columns_and_udfs_take_our_windows(spark):
    w = Window.partitionBy("k").orderBy("id").rowsBetween(-1, 0)
    assert isinstance(F.median("x").over(w), Column)
    assert isinstance(F.sum("x") + F.col("y"), Column)

    @F.pandas_udf("double")
    def mean(v: pd.Series) -> float:
        return v.mean()

    @theirs.pandas_udf("double")
    def same(v: pd.Series) -> float:
        return v.mean()

    df = spark.range(6).selectExpr("id", "id % 2 AS k")
    ours = df.select("id", mean("id").over(w).alias("m"), F.median("id").over(w).alias("n"))
    expected = df.select(
        "id", same("id").over(TheirWindow.partitionBy("k").orderBy("id").rowsBetween(-1, 0)).alias("m")
    )
    assert ours.drop("n").orderBy("id").collect() == expected.orderBy("id").collect()


def list_examples():
    """The examples in the docstrings of functions."""
    for name, function in vars(F).items():
        if inspect.isfunction(function) and function.__module__ == F.__name__ and name[0] != "_":
            lines = [line.strip() for line in inspect.getdoc(function).splitlines()]
            found = [line for line in lines if line.startswith("F.")]
            assert found, f"{name} has no example"
            yield from found


@pytest.mark.full
def test_examples_of_functions(spark):
    w = Window.partitionBy("k").orderBy("ts").rowsBetween(-9, 0)
    for example in list_examples():
        assert isinstance(eval(example, {"F": F, "w": w}), Column), example


# ---- the hook
PLAIN = """
import pyspark.sql.classic.dataframe as classic, pyspark.sql.connect.dataframe as connect
names = ("select", "selectExpr", "withColumn", "withColumns", "filter", "where")
before = [vars(kind)[name] for kind in (classic.DataFrame, connect.DataFrame) for name in names]
import slidewise as sw, slidewise.spark as sws
from slidewise.spark import Window, named_expressions, window_columns
sw.max("x").over(Window.partitionBy("k").orderBy("t"))
after = [vars(kind)[name] for kind in (classic.DataFrame, connect.DataFrame) for name in names]
assert all(a is b for a, b in zip(before, after, strict=True))
from slidewise.spark import functions as F
assert all(vars(classic.DataFrame)[name] is not a for name, a in zip(names, before))
sws.disable()
after = [vars(kind)[name] for kind in (classic.DataFrame, connect.DataFrame) for name in names]
assert all(a is b for a, b in zip(before, after, strict=True))
"""


def test_without_our_functions_pyspark_is_as_it_was_and_disable_restores_it():
    subprocess.run([sys.executable, "-W", "ignore", "-c", PLAIN], check=True)


def test_disabled_methods_refuse_and_functions_go_on(spark):
    df = spark.range(6).selectExpr("id", "id % 2 AS k")
    column = F.median("id").over(Window.partitionBy("k"))
    sws.disable()
    try:
        with pytest.raises(Exception, match="cannot be resolved"):
            df.withColumn("m", column)
        assert sws.with_column(df, "m", column).count() == 6
    finally:
        sws.enable()
    assert df.withColumn("m", column).count() == 6


def test_calls_without_our_windows_go_to_pyspark_unchanged(spark, monkeypatch):
    df = spark.range(6).selectExpr("id", "id % 2 AS k")
    steps = sys.modules["slidewise.spark.select"]  # the package has the function of this name
    monkeypatch.setattr(steps, "with_columns", None)
    monkeypatch.setattr(steps, "compute_windows", None)
    out = df.select("id", F.lag("id").over(Window.orderBy("id"))).withColumn("x", F.lit(1)).where("x = 1")
    assert out.filter(F.col("id") > 2).selectExpr("id + 1 AS y").withColumns({"z": F.col("y")}).count() == 3


# ---- what a process remembers of windowed columns
def test_names_on_a_stream_say_what_they_stand_for_and_so_outlive_a_process(spark):
    def make(df):
        w = Window.partitionBy(F.upper("k")).orderBy("ts").rowsBetween(-2, 0)
        markers = window_columns.find_markers([F.sum(F.col("a") * df["id"]).over(w) / F.max(df["id"] + 1).over(w)])
        return window_columns.Windows(markers).stable

    before = make(spark.range(3))
    F.sum(F.col("b") * F.col("a")).over(Window.orderBy(F.lower("k")))  # a program that has changed elsewhere
    after = make(spark.range(3))
    assert list(before.values()) == list(after.values())
    assert len({*before.values()}) == 5
    assert len(before.keys() & after.keys()) == 1  # upper(k), and else columns of two DataFrames


@pytest.mark.parametrize("text", ["x", "y" * 70])
def test_what_says_the_same_and_is_not_has_names_of_its_own(session, text):
    one, other = session.range(3).withColumn(text, F.col("id")), session.range(3).withColumn(text, -F.col("id"))
    joined = one.join(other, one["id"] == other["id"])
    w = Window.partitionBy(one["id"])
    rows = joined.select(
        one["id"], F.max(one[text]).over(w).alias("a"), F.max(other[text]).over(w).alias("b")
    ).collect()
    assert sorted((row.a, row.b) for row in rows) == [(0, 0), (1, -1), (2, -2)]


def test_a_windowed_column_that_is_forgotten_is_missed_and_never_another(spark, monkeypatch):
    monkeypatch.setattr(window_columns, "_table", window_columns.WindowTable(3))
    df = spark.range(6).selectExpr("id", "id % 2 AS k")
    w = Window.partitionBy("k").orderBy("id")
    first, *_, last = [F.sum(df["id"] * k).over(w) for k in range(5)]
    with pytest.raises(InvalidInput, match=r"made more than 3 others ago.* Make it again"):
        df.withColumn("s", first + 1)
    assert df.withColumn("s", last + 1).agg({"s": "max"}).first()[0] == 4 * 9 + 1
    again = F.sum(df["id"] * 0).over(w)
    assert df.withColumn("s", again + 1).agg({"s": "max"}).first()[0] == 1
    with pytest.raises(InvalidInput, match="Make it again"):
        df.withColumn("s", first + again)


@pytest.mark.full
def test_of_many_windowed_columns_the_last_are_held(spark, monkeypatch):
    """Each reads an expression of its own, as where a service makes features call by call."""
    monkeypatch.setattr(window_columns, "_table", window_columns.WindowTable(50))
    w = Window.partitionBy("k").orderBy(F.col("id").cast("long"))

    def count_held():
        gc.collect()
        kinds = (window_columns.Window, SpecifiedOver, named_expressions.ExpressionName)
        return [sum(type(each) is kind for each in gc.get_objects()) for kind in kinds]

    before = count_held()
    for k in range(200):
        F.sum(F.col("id") * k - 1).over(w.rowsBetween(-k - 1, 0))
    assert len(window_columns._table) == 50
    assert [after - held for after, held in zip(count_held(), before, strict=True)] == [50, 50, 50]


def test_expressions_are_names_to_executors_and_stay_expressions_in_copies(spark):
    w = Window.partitionBy(F.upper("k"))
    (name,) = w.partition_by
    assert type(pickle.loads(pickle.dumps(name))) is str
    assert named_expressions.is_expression(copy.deepcopy(w).partition_by[0])


# ---- steps one after the other
def count_nodes(df, capsys, *nodes):
    capsys.readouterr()
    df.explain()
    plan = capsys.readouterr().out
    return [plan.count(node) for node in nodes]


@pytest.mark.parametrize("by_spark", [False, *in_full(True)])
def test_steps_of_one_order_share_a_shuffle_and_a_sort(spark, capsys, monkeypatch, by_spark):
    """Where Spark sorts, the second step finds the order of the first; where Python does, it has not changed any."""
    if by_spark:
        monkeypatch.setattr(sorting, "MOST_RESULTS", 0)
    df = spark.range(60, numPartitions=3).selectExpr("id", "id % 3 AS k", "id * 7 % 20 AS v", "id AS t")
    w = Window.partitionBy("k").orderBy(F.col("id").cast("long")).rowsBetween(-9, 0)
    first = df.withColumn("a", F.median("v").over(w))
    second = first.withColumn("b", F.col("a") - F.median("a").over(w)).filter(F.mode("v").over(w) >= 0)
    last = second.withColumn("id", F.mode("v").over(w)).drop("v")
    assert count_nodes(last, capsys, "Exchange", "Sort [", "ArrowEvalPython") == [1, 1 if by_spark else 0, 4]
    again = second.withColumn("id", -F.col("id") - F.mode("v").over(w) % 1).withColumn("c", F.median("v").over(w))
    # The order column is another: a layout without an order goes on.
    assert count_nodes(again, capsys, "Exchange", "Sort [") == ([2, 2] if by_spark else [1, 0])
    other = first.withColumn("c", F.median("v").over(w.orderBy("v"))).withColumn("d", F.median("v").over(w))
    assert count_nodes(other, capsys, "Exchange", "Sort [") == [1, 3 if by_spark else 0]
    shuffled = first.repartition(3).withColumn("c", F.median("v").over(w))
    assert count_nodes(shuffled, capsys, "Exchange", "Sort [") == [3, 2 if by_spark else 0]


@pytest.mark.full
@connect_in_soak
def test_steps_of_one_order_compute_what_one_would(session):
    df = session.range(300, numPartitions=3).selectExpr("id * 7919 % 307 AS id", "id % 5 AS k", "id * 7 % 20 AS v")
    w = Window.partitionBy("k").orderBy("id")
    names = {f"m{n}": F.median("v").over(w.rowsBetween(-n, 0)) for n in range(12, 16)}
    steps = df
    for name, column in names.items():
        steps = steps.withColumn(name, column).filter(F.count_distinct("v").over(w) > 0)
    steps = steps.withColumn("k", F.col("k") * 0 + F.count_distinct("v").over(w) % 2)
    steps = steps.withColumn("last", F.median("v").over(w.rowsBetween(-12, 0)))
    at_once = df.withColumns(names | {"k": F.count_distinct("v").over(w) % 2})
    at_once = at_once.repartition(2).withColumn("last", F.median("v").over(w.rowsBetween(-12, 0)))
    assert steps.orderBy("id").collect() == at_once.orderBy("id").collect()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:WARN WindowExpression")
def test_steps_without_keys_do_not_double_the_plan(session):
    df = session.range(60).selectExpr("id", "id * 7 % 20 AS v")
    w = Window.orderBy("id").rowsBetween(-30, 0)
    first = df.withColumn("a", F.sum("v").over(w))
    assert has_subquery(first, BUCKETS) and not has_subquery(df, BUCKETS)
    out = first.withColumn("x", F.lag("v").over(w.rowsBetween(-1, -1)))
    for k in range(6):
        out = out.withColumn(f"a{k}", F.sum("v").over(w)).drop("x")
    assert out.where("a <> a5").count() == 0
    if "_jdf" in vars(out):
        assert out._jdf.queryExecution().logical().toString().count("Range (") == 2
