"""ewm_avg on Spark: batches and SQL give what columns and pandas give."""

import numpy as np

import slidewise as sw
from slidewise import spark as sws

ROWS = """SELECT id AS t, id % 2 AS k, IF(id % 7 = 3, NULL, id * 7 % 11 / 2D) AS x,
          timestamp_micros(id * id * 1234567) AS ts FROM range(60)"""
CALL = {"partition_by": "k", "order_by": "ts"}
MADE = {
    "hour": sw.ewm_avg("x", "ts", half_life="1h").over(sw.time("3h")),
    "running": sw.ewm_avg("x", "ts", half_life="10m").over(sw.rows_between(-sw.UNBOUNDED, 0)),
    "of_numbers": sw.ewm_avg("x", "t", half_life=4).over(sw.rows(9)),
}


def test_batches_and_sql_agree_with_columns_and_pandas(session):
    df = session.sql(ROWS)
    out = sws.with_columns(df, MADE, **CALL).toArrow().sort_by("t")
    expected = sw.with_columns(df.toArrow().sort_by("t"), MADE, **CALL)
    for name in MADE:
        np.testing.assert_allclose(
            out[name].to_pandas().astype(float), expected[name].to_pandas().astype(float), rtol=1e-13
        )
    frame = df.toArrow().sort_by("t").to_pandas()
    oracle = frame.groupby("k", group_keys=False)[["x", "ts"]].apply(
        lambda g: g["x"].ewm(halflife="10min", times=g["ts"]).mean()
    )
    np.testing.assert_allclose(out["running"].to_pandas().astype(float), oracle.sort_index(), rtol=1e-13)
    df.createOrReplaceTempView("faded")
    query = """SELECT t, ewm_avg(x, ts, '1h') OVER (w RANGE BETWEEN INTERVAL 3 HOURS PRECEDING AND CURRENT ROW) AS hour,
        ewm_avg(x, t, 4) OVER (w ROWS 8 PRECEDING) AS of_numbers
        FROM faded WINDOW w AS (PARTITION BY k ORDER BY ts)"""
    found = sws.sql(session, query).toArrow().sort_by("t")
    for name in ("hour", "of_numbers"):
        assert found[name].to_pylist() == out[name].to_pylist()
