"""Features of cards: a table of payments, one with features for each, one by the hour, and the features as a stream."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import slidewise as sw

spark = SparkSession.active()
FOLDER = str(Path(__file__).parent.parent / "payments")
PAYMENTS = "card string, at timestamp, amount double, merchant string"
FEATURES = {
    "spent_1h": sw.sum("amount").over(sw.time("1h")),
    "usual": sw.median("amount").over(sw.rows(5)),
    "places_1d": sw.count_distinct("merchant").over(sw.time("1d")),
}


@dp.materialized_view
def payments() -> DataFrame:
    return spark.read.schema(PAYMENTS).json(FOLDER)


@dp.materialized_view
def card_features() -> DataFrame:
    rows = spark.read.table("payments")
    return sw.with_columns(rows, schema=PAYMENTS, streaming=False, partition_by="card", order_by="at", **FEATURES)


@dp.materialized_view
def card_hours() -> DataFrame:
    rows = spark.read.table("payments")
    return sw.aggregate(
        rows,
        schema=PAYMENTS,
        streaming=False,
        partition_by="card",
        order_by="at",
        window=sw.time("1h", every="30m"),
        spent=sw.sum("amount"),
        usual=sw.median("amount"),
    )


@dp.table
def live_features() -> DataFrame:
    rows = spark.readStream.schema(PAYMENTS).json(FOLDER)
    return sw.with_columns(
        rows, schema=PAYMENTS, streaming=True, partition_by="card", order_by="at", max_delay="10m", **FEATURES
    )
