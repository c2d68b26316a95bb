"""Seven ordinary window jobs."""

from pyspark.sql import DataFrame

from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812


def revenue_of_seven_days(orders: DataFrame) -> DataFrame:
    """The 7-day revenue per customer."""
    week = Window.partitionBy("customer").orderBy(F.col("ts").cast("long")).rangeBetween(-604800, 0)
    return orders.withColumn("revenue", F.sum(F.col("quantity") * F.col("price")).over(week))


def middle_and_p95_of_the_last_100(orders: DataFrame) -> DataFrame:
    """The median and the 95th percentile of the last 100 prices of a product."""
    last = Window.partitionBy("product").orderBy("ts", "id").rowsBetween(-99, 0)
    return orders.select(
        "id", F.percentile("price", 0.5).over(last), F.percentile("price", 0.95).over(last).alias("p95")
    )


def products_of_thirty_days(orders: DataFrame) -> DataFrame:
    """The different products that a customer ordered in 30 days."""
    month = Window.partitionBy("customer").orderBy(F.col("ts").cast("long")).rangeBetween(-30 * 86400, 0)
    return orders.withColumn("products", F.size(F.collect_set("product").over(month)))


def sessions(orders: DataFrame) -> DataFrame:
    """Sessions: a pause of more than an hour begins a new one, by lag and a running sum."""
    w = Window.partitionBy("customer").orderBy("ts", "id")
    pause = F.col("ts").cast("long") - F.lag("ts").over(w).cast("long")
    begun = orders.withColumn("begins", F.when(pause.isNull() | (pause > 3600), 1).otherwise(0))
    return begun.withColumn("session", F.sum("begins").over(w.rowsBetween(Window.unboundedPreceding, 0)))


def rolling_z_score(orders: DataFrame) -> DataFrame:
    """How far a price is from those of the last 50 orders of the product, in standard deviations."""
    w = Window.partitionBy("product").orderBy("ts", "id").rowsBetween(-49, 0)
    z = (F.col("price") - F.avg("price").over(w)) / F.stddev("price").over(w)
    return orders.withColumn("z", F.round(z, 6)).filter(F.col("quantity") > 0)


def counts_of_four_horizons(orders: DataFrame) -> DataFrame:
    """The orders of a customer in 1 h, 6 h, 24 h and 7 days."""
    w = Window.partitionBy("customer").orderBy(F.col("ts").cast("long"))
    hours = (1, 6, 24, 168)
    return orders.withColumns({f"in_{h}h": F.count("*").over(w.rangeBetween(-h * 3600, 0)) for h in hours})


def usual_product_of_a_day(orders: DataFrame) -> DataFrame:
    """The product that a customer ordered most in 24 hours; of equal counts the lowest."""
    day = Window.partitionBy("customer").orderBy(F.col("ts").cast("long")).rangeBetween(-86400, 0)
    return orders.select("id", F.mode("product", True).over(day).alias("usual"))
