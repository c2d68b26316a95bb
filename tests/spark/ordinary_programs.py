"""Window programs as tutorials and notebooks have them: each is given a session, and `functions` and `Window`.

`test_ordinary_programs.py` runs each with PySpark's and with ours.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.types import (
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

# Parameters are called as programs call their imports.
# ruff: noqa: N803


# ---- data
def make_employees(spark: Any) -> Any:
    rows = [
        ("James", "Sales", 3000), ("Michael", "Sales", 4600), ("Robert", "Sales", 4100), ("Maria", "Finance", 3000),
        ("James", "Sales", 3000), ("Scott", "Finance", 3300), ("Jen", "Finance", 3900), ("Jeff", "Marketing", 3000),
        ("Kumar", "Marketing", 2000), ("Saif", "Sales", 4100), ("Nobody", None, 1000), ("Ghost", None, None),
    ]  # fmt: skip
    return spark.createDataFrame(rows, ["employee_name", "department", "salary"])


def make_trades(spark: Any) -> Any:
    kinds = StructType(
        [
            StructField("symbol", StringType(), False),
            StructField("day", DateType(), False),
            StructField("at", TimestampType()),
            StructField("price", DoubleType()),
            StructField("amount", DecimalType(12, 2)),
            StructField("volume", IntegerType()),
        ]
    )
    start = datetime.date(2024, 1, 29)
    rows = []
    for i in range(90):
        day = start + datetime.timedelta(days=i * 2 // 3)
        at = datetime.datetime(2024, 1, 29, 9) + datetime.timedelta(minutes=i * 37 % 5000)
        price = None if i % 11 == 4 else 100 + (i * 37 % 23) / 4
        amount = None if i % 13 == 5 else Decimal(i * 7919 % 100_000) / 100
        rows.append((("AA", "BB", "CC")[i % 3], day, at, price, amount, i * 31 % 17))
    return spark.createDataFrame(rows, kinds)


def make_logins(spark: Any) -> Any:
    days = {"ann": (1, 2, 3, 5, 6, 9), "bob": (1, 3, 5), "cy": (2, 3, 4, 5, 20)}
    rows = [(user, datetime.date(2024, 3, day)) for user, all_days in days.items() for day in all_days]
    return spark.createDataFrame(rows, "user string, day date")


# ---- ranks and rows
def every_ranking_function(spark: Any, F: Any, Window: Any) -> Any:
    df = make_employees(spark)
    w = Window.partitionBy("department").orderBy("salary", "employee_name")
    return (
        df.withColumn("row_number", F.row_number().over(w))
        .withColumn("rank", F.rank().over(w))
        .withColumn("dense_rank", F.dense_rank().over(w))
        .withColumn("percent_rank", F.percent_rank().over(w))
        .withColumn("ntile", F.ntile(2).over(w))
        .withColumn("cume_dist", F.cume_dist().over(w))
        .withColumn("lag", F.lag("salary", 2).over(w))
        .withColumn("lead", F.lead("salary", 1, -1).over(w))
    )


def aggregates_beside_a_row_number(spark: Any, F: Any, Window: Any) -> Any:
    df = make_employees(spark)
    by_salary = Window.partitionBy("department").orderBy(F.col("salary").desc(), "employee_name")
    whole = Window.partitionBy("department")
    return (
        df.withColumn("row", F.row_number().over(by_salary))
        .withColumn("avg", F.avg(F.col("salary")).over(whole))
        .withColumn("sum", F.sum(F.col("salary")).over(whole))
        .withColumn("min", F.min(F.col("salary")).over(whole))
        .withColumn("max", F.max(F.col("salary")).over(whole))
        .where(F.col("row") == 1)
        .select("department", "avg", "sum", "min", "max")
    )


def latest_of_each_key(spark: Any, F: Any, Window: Any) -> Any:
    df = make_trades(spark)
    w = Window.partitionBy("symbol").orderBy(F.desc("at"))
    return df.withColumn("rn", F.row_number().over(w)).filter(F.col("rn") == 1).drop("rn")


def top_two_by_filter(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy(F.col("volume").desc_nulls_last(), F.col("at").asc())
    ranked = make_trades(spark).select("*", F.dense_rank().over(w).alias("place"))
    return ranked.filter("place <= 2").withColumnRenamed("place", "rank").orderBy("symbol", "rank", "at")


def gaps_and_islands(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("user").orderBy("day")
    df = make_logins(spark).withColumn("rn", F.row_number().over(w))
    df = df.withColumn("island", F.expr("date_sub(day, rn)"))
    streaks = df.groupBy("user", "island").agg(
        F.min("day").alias("start"), F.max("day").alias("end"), F.count("*").alias("days")
    )
    best = Window.partitionBy("user")
    return streaks.withColumn("longest", F.max("days").over(best)).where(F.col("days") == F.col("longest"))


def islands_by_lag_and_running_sum(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("user").orderBy("day")
    df = make_logins(spark).withColumn("new", (F.datediff("day", F.lag("day", 1).over(w)) > 1).cast("int"))
    df = df.fillna({"new": 1}).withColumn("streak", F.sum("new").over(w))
    return df.withColumn("length", F.count(F.lit(1)).over(Window.partitionBy("user", "streak")))


# ---- frames
def running_totals(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    rest = Window.partitionBy("symbol").orderBy("at").rowsBetween(Window.currentRow, Window.unboundedFollowing)
    return make_trades(spark).select(
        "symbol", "at",
        F.sum("volume").over(w).alias("so_far"), F.sum("volume").over(rest).alias("to_come"),
        F.avg("price").over(w).alias("mean"), F.count("price").over(w).alias("n"),
        F.collect_list("volume").over(w).alias("seen"), F.max("day").over(w).alias("last_day"),
    )  # fmt: skip


def moving_averages(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at")
    df = make_trades(spark)
    for days in (3, 7, 20):
        df = df.withColumn(f"ma_{days}", F.avg("price").over(w.rowsBetween(-days + 1, 0)))
        df = df.withColumn(f"sd_{days}", F.stddev("price").over(w.rowsBetween(-(days - 1), Window.currentRow)))
    return df.withColumn("above", F.when(F.col("price") > F.col("ma_7"), "yes").otherwise("no"))


def centred_frames(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-12, 12)
    ahead = Window.partitionBy("symbol").orderBy("at").rowsBetween(1, 20)
    return make_trades(spark).select(
        "*", F.max("price").over(w), F.min("volume").over(ahead), F.sum("volume").over(ahead), F.count("*").over(ahead)
    )


def forward_fill(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(Window.unboundedPreceding, 0)
    back = Window.partitionBy("symbol").orderBy("at").rowsBetween(0, Window.unboundedFollowing)
    df = make_trades(spark).withColumn("filled", F.last("price", ignorenulls=True).over(w))
    df = df.withColumn("back", F.first("price", ignorenulls=True).over(back))
    return df.withColumn("both", F.coalesce("filled", "back")).withColumn("first", F.first("price").over(w))


def by_days_in_seconds(spark: Any, F: Any, Window: Any) -> Any:
    days = lambda i: i * 86400  # noqa: E731
    df = make_trades(spark).withColumn("seconds", F.unix_timestamp("at"))
    w = Window.partitionBy("symbol").orderBy("seconds").rangeBetween(-days(1), 0)
    other = Window.partitionBy("symbol").orderBy(F.col("at").cast("timestamp").cast("long")).rangeBetween(-days(2), -1)
    return df.withColumn("day", F.avg("price").over(w)).withColumn("two", F.sum("volume").over(other))


def along_dates(spark: Any, F: Any, Window: Any) -> Any:
    df = make_trades(spark).withColumn("number", F.datediff("day", F.lit("2024-01-01")))
    w = Window.partitionBy("symbol").orderBy("number").rangeBetween(-7, Window.currentRow)
    return df.withColumns({"week": F.sum("volume").over(w), "days": F.size(F.collect_set("day").over(w))})


def everything_without_partitions(spark: Any, F: Any, Window: Any) -> Any:
    df = make_trades(spark)
    total = Window.partitionBy()
    w = Window.orderBy("at")
    return df.select(
        "symbol", "at",
        (F.col("volume") / F.sum("volume").over(total)).alias("share"),
        F.sum("volume").over(w).alias("running"),
        F.avg("price").over(w.rowsBetween(-30, 0)).alias("mean"),
        F.row_number().over(w).alias("row"),
    )  # fmt: skip


def peers_share_the_default_frame(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("day")
    return make_trades(spark).withColumn("n", F.count("*").over(w)).withColumn("s", F.sum("volume").over(w))


# ---- types
def decimals(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    return make_trades(spark).select(
        "at", F.sum("amount").over(w), F.avg("amount").over(w), F.min("amount").over(w), F.max("amount").over(w),
        F.sum(F.col("amount") * F.col("volume")).over(w), F.last("amount").over(w), F.first("amount", True).over(w),
        F.stddev("amount").over(w), F.collect_list("amount").over(w), F.count("amount").over(w),
        F.avg(F.col("amount").cast("decimal(38,18)")).over(w), F.avg(F.col("amount").cast("decimal(36,2)")).over(w),
    )  # fmt: skip


def texts_dates_and_booleans(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark).withColumn("text", F.concat(F.lit("v"), F.col("volume").cast("string")))
    return df.select(
        "at", F.min("text").over(w), F.max("text").over(w), F.max("day").over(w), F.min("at").over(w),
        F.array_sort(F.collect_set("text").over(w)).alias("texts"), F.first("text").over(w),
        F.bool_or(F.col("volume") > 8).over(w),
        F.max(F.col("volume") > 8).over(w), F.max(F.col("volume").cast("byte")).over(w),
        F.sum(F.col("volume").cast("float")).over(w), F.sum(F.col("volume").cast("short")).over(w),
        F.avg("volume").over(w), F.max(F.lit(1)).over(w), F.min(F.lit("x")).over(w),
    )  # fmt: skip


def null_keys_and_null_order(spark: Any, F: Any, Window: Any) -> Any:
    df = make_employees(spark)
    w = Window.partitionBy("department").orderBy(F.col("salary").asc_nulls_last(), "employee_name").rowsBetween(-3, 0)
    v = Window.partitionBy("department").orderBy(F.col("salary").desc_nulls_first())
    return df.select(
        "employee_name", F.sum("salary").over(w), F.count("salary").over(w), F.max("employee_name").over(v)
    )


def structs(spark: Any, F: Any, Window: Any) -> Any:
    df = make_trades(spark).withColumn("both", F.struct("price", F.col("volume").alias("v")))
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = df.withColumn("peak", F.max("both").over(w)).withColumn("v", F.max("both.v").over(w))
    df = df.withColumn("best", F.max(F.struct("volume", "at")).over(w)["at"])
    return df.select("symbol", "at", "peak.*", F.col("peak.v").alias("w"), "best", F.col("v").alias("largest"))


def arrays_and_maps(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-2, 0)
    listed = F.collect_list(F.struct("volume", "price")).over(w)
    return make_trades(spark).select(
        "at", listed.alias("list"), F.sort_array(F.collect_set("volume").over(w)).alias("set"),
        F.transform(F.collect_list("volume").over(w), lambda x: x * 2).alias("twice"),
        F.array(F.min("volume").over(w), F.max("volume").over(w)).alias("range"),
        F.create_map(F.lit("n"), F.count("*").over(w)).alias("map"), F.struct(F.sum("volume").over(w), "at").alias("s"),
    )  # fmt: skip


# ---- around windows
def chained(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at")
    df = make_trades(spark)
    df = df.withColumn("change", F.col("price") - F.lag("price").over(w))
    df = df.withColumn("gain", F.when(F.col("change") > 0, F.col("change")).otherwise(0))
    df = df.withColumn("loss", F.when(F.col("change") < 0, -F.col("change")).otherwise(0))
    df = df.withColumn("avg_gain", F.avg("gain").over(w.rowsBetween(-13, 0)))
    df = df.withColumn("avg_loss", F.avg("loss").over(w.rowsBetween(-13, 0)))
    df = df.withColumn("rsi", 100 - 100 / (1 + F.try_divide("avg_gain", "avg_loss")))
    return df.select("symbol", "at", F.round("rsi", 4).alias("rsi")).dropna()


def grouped_then_windowed(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("day").rowsBetween(-6, 0)
    daily = make_trades(spark).groupBy("symbol", "day").agg(F.sum("volume").alias("volume"), F.avg("price"))
    out = daily.withColumn("week", F.sum("volume").over(w)).withColumn("mean", F.avg("avg(price)").over(w))
    return out.groupBy("symbol").agg(F.max("week"), F.round(F.avg("mean"), 6).alias("m"), F.count("*"))


def windows_of_aggregates(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("day")
    daily = make_trades(spark).groupBy("symbol", "day")
    return daily.agg(F.sum("volume").alias("s"), F.sum(F.sum("volume")).over(w).alias("so_far"))


def pivot_of_a_window(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark).withColumn("m", F.max("volume").over(w))
    return df.groupBy(F.month("day").alias("month")).pivot("symbol", ["AA", "BB", "CC"]).agg(F.max("m"))


def joins_and_unions(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark)
    made = df.withColumn("m", F.avg("price").over(w)).select("symbol", "at", "m")
    back = df.join(made, ["symbol", "at"], "left").withColumn("n", F.count("m").over(w))
    other = df.withColumn("m", F.lit(0.0)).withColumn("n", F.lit(0).cast("long"))
    return back.unionByName(other).dropDuplicates(["symbol", "at", "n"]).drop("day")


def self_join_on_a_window(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark)
    made = df.withColumn("peak", F.max("price").over(w)).alias("m")
    joined = df.alias("t").join(made, (F.col("t.symbol") == F.col("m.symbol")) & (F.col("t.at") == F.col("m.at")))
    return joined.select("t.symbol", "t.at", made["peak"], (F.col("m.peak") - F.col("t.price")).alias("below"))


def windows_inside_of_windows(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at")
    df = make_trades(spark).withColumn("up", F.sum(F.when(F.col("price") > F.lag("price").over(w), 1)).over(w))
    df = df.withColumn("above", F.sum((F.col("price") > F.avg("price").over(w.rowsBetween(-4, 0))).cast("int")).over(w))
    by_total = Window.orderBy(F.sum("volume").over(Window.partitionBy("symbol")).desc(), "at")
    by_peak = Window.partitionBy(F.max("volume").over(Window.partitionBy("day")), "symbol").orderBy("at")
    return df.select(
        "*", F.max(F.sum("volume").over(w)).over(w), F.row_number().over(by_total).alias("n"),
        F.sum("volume").over(by_peak).alias("p"), F.avg(F.max(F.min("price").over(w)).over(w)).over(by_total),
    )  # fmt: skip


def rows_made_of_arrays_beside_windows(spark: Any, F: Any, Window: Any) -> Any:
    of_symbol = Window.partitionBy("symbol")
    df = make_trades(spark).withColumn("many", F.array("volume", F.lit(1), F.lit(2)))
    parts = df.select("*", F.posexplode("many").alias("n", "part"), F.count("*").over(of_symbol).alias("rows"))
    again = parts.withColumns({"part": F.explode("many"), "sum": F.sum("volume").over(of_symbol)})
    days = F.window("at", "2 days", "1 day")
    again = again.select(days["start"].alias("begin"), F.max(F.sum("n").over(of_symbol)).over(of_symbol), "*")
    by_part, by_days = Window.partitionBy(F.explode("many")), Window.partitionBy(days).orderBy("at", "volume", "n")
    again = again.select("*", F.count("*").over(by_part).alias("alike"))
    return again.select(F.explode(F.array("part")), F.sum("n").over(by_days), F.max("n").over(by_days), "begin")


def places_and_lots_beside_windows(spark: Any, F: Any, Window: Any) -> Any:
    import tempfile

    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    came = F.monotonically_increasing_id()
    first = F.row_number().over(Window.partitionBy("symbol").orderBy(came))
    so_far = F.sum(F.col("volume") - F.min("volume").over(w)).over(Window.partitionBy("symbol").orderBy(came))
    with tempfile.TemporaryDirectory() as folder:
        make_trades(spark).repartition(3, "at").write.mode("overwrite").parquet(folder)
        files = spark.read.parquet(folder).withColumns({"file": F.input_file_name(), "m": F.avg("price").over(w)})
        files = files.select("at", F.length("file") > 9, F.max("m").over(w), F.count("_metadata.file_name").over(w))
        known = files.collect()
    df = make_trades(spark).select("*", came, F.rand(3), F.spark_partition_id(), first, F.avg("price").over(w), so_far)
    return df.withColumn("known", F.lit(len(known))).withColumn("files", F.lit(sum(row[1] for row in known)))


def functions_by_their_other_names(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy(F.desc("at")).rowsBetween(-5, 0)
    high = F.col("volume") > 8
    return make_trades(spark).select(
        "at", F.std("price").over(w), F.stddev_samp("price").over(w), F.variance("price").over(w),
        F.some(high).over(w), F.every(high).over(w), F.any_value("day").over(w), F.array_agg("volume").over(w),
        F.nth_value("price", 2, True).over(w), F.nth_value("price", 2).over(w), F.mean("price").over(w),
        F.try_sum("volume").over(w), F.last_value("price", True).over(w), F.approx_percentile("volume", 0.5).over(w),
    )  # fmt: skip


def columns_of_earlier_frames(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at")
    df = make_trades(spark)
    first = df.withColumn("peak", F.max("price").over(w.rowsBetween(-9, 0)))
    second = first.withColumn("low", F.min("price").over(w.rowsBetween(-9, 0)))
    third = second.withColumn("range", first["peak"] - second.low).filter(df["volume"] > 2)
    alone = third.withColumn("all", F.sum("volume").over(Window.orderBy("at").rowsBetween(-30, 0)))
    return alone.select(
        df["symbol"], first.at, first["peak"], second["low"], "range", df.price, third["range"] + 1, "all"
    )


def many_features_without_a_key(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.orderBy("at")
    df = make_trades(spark)
    for n in range(12, 24):
        df = df.withColumn(f"mean_{n}", F.avg("price").over(w.rowsBetween(-n, 0)))
    return df


def aliases_and_expressions(spark: Any, F: Any, Window: Any) -> Any:
    a = make_trades(spark).alias("a")
    b = spark.createDataFrame([("AA", 2), ("BB", 3)], ["symbol", "factor"]).alias("b")
    w = Window.partitionBy("b.symbol").orderBy("a.at").rowsBetween(-9, 0)
    joined = a.join(b, F.col("a.symbol") == F.col("b.symbol"))
    total = F.sum(F.col("a.volume") * F.col("b.factor")).over(w)
    return joined.select(
        "a.at", "b.symbol", total, (F.col("a.price") - F.avg("a.price").over(w)).alias("d"), b["factor"]
    )


def text_expressions(spark: Any, F: Any, Window: Any) -> Any:
    over = "OVER (PARTITION BY symbol ORDER BY at ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)"
    df = make_trades(spark).withColumn("m", F.expr(f"avg(price) {over}"))
    df = df.selectExpr("*", f"max(volume) {over} AS peak", "row_number() OVER (PARTITION BY symbol ORDER BY at) AS r")
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    return df.withColumn("text", F.expr("sum(volume)").over(w)).withColumn("ours", F.sum("peak").over(w))


def temporary_views(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    make_trades(spark).withColumn("m", F.avg("price").over(w)).createOrReplaceTempView("trades")
    return spark.sql("SELECT symbol, max(m) AS m, count(*) AS n FROM trades GROUP BY symbol")


def cached_and_counted(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark).withColumn("m", F.avg("price").over(w)).cache()
    assert df.count() == 90
    out = df.filter(F.col("m").isNotNull()).withColumn("n", F.count("*").over(Window.partitionBy("symbol")))
    return out.agg(F.sum("n"), F.max("m"), F.countDistinct("symbol"))


def udfs_around_windows(spark: Any, F: Any, Window: Any) -> Any:
    @F.udf("string")
    def describe(value, mean):
        return None if value is None or mean is None else ("high" if value > mean else "low")

    @F.pandas_udf("double")
    def double(values: pd.Series) -> pd.Series:
        return values * 2

    @F.pandas_udf("double")
    def mean(values: pd.Series) -> float:
        return float(values.mean())

    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    plus_one = F.udf(lambda x: x + 1, "int")
    return make_trades(spark).select(
        "at",
        describe("price", F.avg("price").over(w)).alias("kind"),
        double(F.max("price").over(w)).alias("twice"),
        mean("volume").over(w).alias("mean"),
        plus_one(F.max(plus_one("volume")).over(w)).alias("plus"),
    )


def statistics(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-14, 0)
    names = ["avg", "mean", "stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis", "sum", "count"]
    df = make_trades(spark).select("at", *[getattr(F, n)("price").over(w).alias(n) for n in names], "price", "volume")
    v = Window.orderBy("at").rowsBetween(-14, 0)
    df = df.withColumn("corr", F.corr("price", "volume").over(v)).withColumn(
        "cov", F.covar_samp("price", "volume").over(v)
    )
    df = df.withColumn("by", F.max_by("price", "volume").over(v)).withColumn("p", F.percentile("price", 0.9).over(v))
    return df.withColumn("approx", F.approx_count_distinct("volume").over(v)).drop("price", "volume")


def lists_of_columns(spark: Any, F: Any, Window: Any) -> Any:
    keys, order = ["symbol"], [F.col("day").asc(), F.col("at").desc()]
    w = Window.partitionBy(keys).orderBy(order).rowsBetween(-9, 0)
    other = Window.partitionBy(*keys, F.month("day")).orderBy(*order)
    columns = [F.sum(c).over(w).alias(f"{c}_sum") for c in ("volume", "price")]
    columns += [F.avg(c).over(other).alias(f"{c}_mean") for c in ("volume", "price")]
    return make_trades(spark).select(["symbol", "at", *columns])


def transformed(spark: Any, F: Any, Window: Any) -> Any:
    def add_mean(df: Any, name: str) -> Any:
        return df.withColumn(
            f"{name}_mean", F.mean(name).over(Window.partitionBy("symbol").orderBy("at").rowsBetween(-5, 5))
        )

    def add_share(df: Any) -> Any:
        return df.withColumn("share", F.col("volume") / F.sum("volume").over(Window.partitionBy("symbol")))

    return make_trades(spark).transform(add_mean, "price").transform(add_share).drop("amount")


def replaced_columns(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark).withColumn("price", F.avg("price").over(w)).withColumn("VOLUME", F.max("volume").over(w))
    df = df.withColumns({"symbol": F.upper("symbol"), "day": F.max("day").over(w), "new": F.col("price") + 1})
    return df.withColumnRenamed("new", "renamed").toDF("s", "d", "t", "p", "a", "v", "n")


def filters_on_windows(spark: Any, F: Any, Window: Any) -> Any:
    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    df = make_trades(spark).withColumn("m", F.avg("price").over(w))
    kept = df.filter((F.col("price") > F.col("m")) & F.col("volume").isin(1, 2, 3, 4, 5, 6, 7)).where("m IS NOT NULL")
    return kept.withColumn("n", F.count("*").over(Window.partitionBy("symbol"))).orderBy("at").limit(7)


def over_a_range(spark: Any, F: Any, Window: Any) -> Any:
    df = spark.range(50).withColumn("k", F.col("id") % 4).withColumn("v", F.rand(seed=3))
    w = Window.partitionBy("k").orderBy("id").rangeBetween(-20, 0)
    df = df.withColumn("n", F.count("id").over(w)).withColumn("s", F.sum("id").over(w))
    return df.withColumn("median", F.percentile_approx("id", 0.5).over(w)).drop("v")


def rows_and_dictionaries(spark: Any, F: Any, Window: Any) -> Any:
    df = spark.createDataFrame([Row(k=i % 2, t=i, v=float(i * 7 % 5)) for i in range(20)])
    w = Window.partitionBy(df.k).orderBy(df.t).rowsBetween(-11, 0)
    return df.select(df.k, df["t"], F.sum(df.v).over(w), (df.v / (1 + F.max(df["v"]).over(w))).alias("of_max"))


def written_and_read(spark: Any, F: Any, Window: Any) -> Any:
    import tempfile

    w = Window.partitionBy("symbol").orderBy("at").rowsBetween(-9, 0)
    with tempfile.TemporaryDirectory() as folder:
        df = make_trades(spark).withColumn("m", F.avg("price").over(w)).withColumn("n", F.count("price").over(w))
        df.write.mode("overwrite").partitionBy("symbol").parquet(folder)
        rows = spark.read.parquet(folder).orderBy("at").collect()
    return spark.createDataFrame(rows)


PROGRAMS = [
    value for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("make_")
]  # fmt: skip
