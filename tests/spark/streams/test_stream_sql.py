"""SQL over a view of a stream: OVER, which Spark refuses there, and what goes to Spark as it is."""

import pytest
from folders import COLUMNS, Folder, events, last_row

from slidewise.spark import sql
from slidewise.spark.session import PROVIDER, ROCKSDB

OVER = """
    SELECT k, ts, seq, median(`x.y`) OVER w AS usual, count(DISTINCT note) OVER w AS notes, sum(seq % 7) OVER w + 1 AS s
    FROM live WHERE seq % 5 < 4
    WINDOW w AS (PARTITION BY k ORDER BY ts RANGE INTERVAL 10 SECONDS PRECEDING)
"""
GROUPS = [
    "SELECT k, window.start AS s, count(*) AS n FROM live GROUP BY k, window(ts, '10 seconds')",
    "SELECT k, session_window.start AS s, count(*) AS n FROM live GROUP BY k, session_window(ts, '1 second')",
]


@pytest.mark.full
@pytest.mark.parametrize("query", [OVER, *GROUPS], ids=["over", "window", "session_window"])
def test_a_query_over_a_stream_gives_the_rows_of_a_batch(spark, tmp_path, query):
    """No row is late, and so a batch has the same ones."""
    spark.conf.set(PROVIDER, ROCKSDB)
    folder = Folder(tmp_path, spark)
    folder.add(*events(3, 60), last_row(100_000), last_row(200_000))
    folder.stream().withWatermark("ts", "1 hour").createOrReplaceTempView("live")
    out = sql(spark, query)
    assert out.isStreaming
    assert ("transformwithstate" in out._jdf.queryExecution().analyzed().toString().lower()) == (query is OVER)
    folder.run(out)
    spark.read.schema(COLUMNS).parquet(str(tmp_path / "in")).createOrReplaceTempView("live")
    found, expected = (
        sorted(map(repr, df.where("k <> 'end'").collect()))
        for df in (spark.read.parquet(str(tmp_path / "out")), sql(spark, query))
    )
    assert found == expected
    assert found
