"""Questions in definitions, fractions per row, times of m4 and naive Bayes: Spark gives what columns give."""

from __future__ import annotations

import pytest

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput

ROWS = """SELECT id AS t, id % 2 AS k, IF(id % 7 = 3, NULL, id * 7 % 11 / 2D) AS x, id * 3 % 4 AS n,
          substr('abc', 1 + id % 3, 1) AS s, IF(id % 5 = 2, NULL, id % 9 / 8D) AS q,
          timestamp_seconds(id * 10) AS ts FROM range(40)"""
ASKED = {
    "b": sw.bloom_filter("s", contains=["a", "z"]),
    "c": sw.count_min_sketch("s", counts_of={"of_a": "a"}),
    "m": sw.moment_sketch("x", order=4, percentiles=[0.5, 0.9]),
    "four": sw.m4("x", "ts"),
    "p": sw.percentile("x", sw.col("q")),
    "d": sw.percentile_disc("s", sw.col("q")),
    "bayes": sw.naive_bayes("n", "x", classes=[0, 1, 2, 3], predict=[sw.col("q")]),
}
CALL = {"partition_by": "k", "order_by": "t"}


def plain(x):
    """Structs as dicts, and floats up to the rounding of sums."""
    if hasattr(x, "asDict"):
        return {name: plain(value) for name, value in x.asDict().items()}
    if isinstance(x, dict):
        return {name: plain(value) for name, value in x.items()}
    return round(x, 6) if isinstance(x, float) else x


def as_rows(found):
    return sorted(({name: plain(value) for name, value in row.items()} for row in found), key=lambda r: r["t"])


def test_batches(session):
    df = session.sql(ROWS)
    windows = {"trailing": sw.rows(6), "running": sw.rows_between(-sw.UNBOUNDED, 0)}
    made = {f"{name}_{of}": a.over(window) for name, a in ASKED.items() for of, window in windows.items()}
    out = sws.with_columns(df, made, **CALL)
    assert out.select("b_trailing.a", "m_trailing.p50", "four_trailing.max_time", "bayes_running.`3`").columns == [
        "a", "p50", "max_time", "3"
    ]  # fmt: skip
    expected = sw.with_columns(df.toArrow(), **CALL, **made)
    assert as_rows(out.toArrow().to_pylist()) == as_rows(expected.to_pylist())
    slides = {"window": sw.rows(6, every=4)}
    out = sws.aggregate(df, ASKED, **CALL, **slides)
    assert as_rows(out.toArrow().to_pylist()) == as_rows(
        sw.aggregate(df.toArrow(), **CALL, **slides, **ASKED).to_pylist()
    )


def test_sql(session):
    session.sql(ROWS).createOrReplaceTempView("asked_rows")
    query = """SELECT t, moment_sketch(x, 4, array(0.5, 0.9)) OVER w AS m,
        bloom_filter(s, 1024, 4, array('a', 'z')) OVER w AS b,
        count_min_sketch(s, 0.01, 0.95, 9001, 'a') OVER w AS c, m4(x, ts) OVER w AS four, percentile(x, q) OVER w AS p,
        percentile_disc(s, asked_rows.q) OVER w AS d, percentile(x, q) OVER w * 2 AS twice
        FROM asked_rows WINDOW w AS (PARTITION BY k ORDER BY t ROWS 5 PRECEDING)"""
    made = {name: ASKED[name].over(sw.rows(6)) for name in ("m", "b", "four", "p", "d")}
    made["c"] = sw.count_min_sketch("s", counts_of="a").over(sw.rows(6))
    expected = sw.with_columns(session.sql(ROWS).toArrow(), **CALL, **made).to_pylist()
    found = as_rows(sws.sql(session, query).toArrow().to_pylist())
    assert [{n: row[n] for n in ("t", *made)} for row in found] == [
        {n: row[n] for n in ("t", *made)} for row in as_rows(expected)
    ]
    assert [row["twice"] for row in found] == [row["p"] and row["p"] * 2 for row in found]


def test_a_fraction_out_of_range_is_named(session):
    df = session.sql("SELECT id AS t, id * 1D AS x, id * 40D AS q FROM range(3)")
    out = sws.with_columns(df, r=sw.percentile("x", sw.col("q")).over(sw.rows(2)), order_by="t")
    with pytest.raises(Exception, match=r"column .q. must be between 0 and 1, got 40\.0"):
        out.collect()
    with pytest.raises(InvalidInput, match="there is no column 'w'"):
        sws.with_columns(df, r=sw.percentile("x", sw.col("w")).over(sw.rows(2)), order_by="t")
    with pytest.raises(InvalidInput, match="Use a window per row"):
        sws.aggregate(df, r=sw.percentile("x", sw.col("q")), order_by="t", window=sw.time(10, every=5))
