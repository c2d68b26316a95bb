"""The README's lines for those who come with a PySpark job do what they say."""

import re
from datetime import datetime, timedelta
from statistics import median

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Window as TheirWindow
from pyspark.sql import functions as theirs
from support.pages import ROOT

STORE = (
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
START = datetime(2026, 1, 1)
ROWS = [
    (card, START + timedelta(days=day), merchant, float(amount))
    for card, day, merchant, amount in [
        ("a", 0, "cafe", 4), ("a", 3, "books", 30), ("a", 9, "cafe", 5), ("b", 1, "kiosk", 9), ("a", 10, "zoo", 40),
        ("b", 40, "kiosk", 7), ("b", 41, "cafe", 8),
    ]
]  # fmt: skip


def of_seven_days(row):
    card, at, _, _ = row
    return [other for other in ROWS if other[0] == card and at - timedelta(days=7) <= other[1] <= at]


@pytest.mark.full
def test_the_lines_for_a_pyspark_job(spark, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(from slidewise\.spark import Window.*?)```", text, re.DOTALL)
    payments = spark.createDataFrame(ROWS, "card string, at timestamp, merchant string, amount double")
    payments.coalesce(1).write.parquet(str(tmp_path / "in"))
    names = {"spark": spark, "payments": payments, "folder": str(tmp_path / "in")}
    spark.conf.set(*STORE)  # as slidewise.spark.configure does
    exec(block, names)

    def read(df, *columns):
        return {(row.card, row.at): tuple(row[c] for c in columns) for row in df.collect()}

    usual = {row[:2]: median(r[3] for r in of_seven_days(row)) for row in ROWS}
    places = {row[:2]: len({r[2] for r in of_seven_days(row)}) for row in ROWS}
    expected = {key: (usual[key], places[key]) for key in usual}
    assert read(names["out"], "usual", "places") == expected
    by_spark = payments.withColumn("z", (theirs.col("amount") - theirs.avg("amount").over(week(TheirWindow)))
                                   / theirs.stddev("amount").over(week(TheirWindow)))  # fmt: skip
    assert read(theirs_rounded(names["out"]), "z") == read(theirs_rounded(by_spark), "z")
    assert set(read(names["high"])) == {row[:2] for row in ROWS if row[3] == max(r[3] for r in of_seven_days(row))}
    assert {key: found[1] for key, found in read(names["places"], "usual_place", "places").items()} == places
    assert read(names["places"], "usual_place")[("a", START + timedelta(days=10))] == ("cafe",)

    query = names["live"].writeStream.format("memory").queryName("readme").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    newest = max(row[1] for row in ROWS)
    final = {key: found for key, found in expected.items() if key[1] < newest - timedelta(minutes=10)}
    assert read(spark.table("readme"), "usual", "places") == final
    spark.conf.unset(STORE[0])


def test_spark_refuses_what_the_lines_say(spark):
    payments = spark.createDataFrame(ROWS, "card string, at timestamp, merchant string, amount double")
    for column in (theirs.median("amount"), theirs.count_distinct("merchant")):
        with pytest.raises(AnalysisException):
            payments.withColumn("c", column.over(week(TheirWindow)))
    with pytest.raises(AnalysisException):
        payments.filter(theirs.percentile("amount", 0.95).over(week(TheirWindow)) <= 3)


def week(window):
    return window.partitionBy("card").orderBy(theirs.col("at").cast("long")).rangeBetween(-7 * 86400, 0)


def theirs_rounded(df):
    return df.withColumn("z", theirs.round("z", 9))
