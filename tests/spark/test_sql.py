"""slidewise.spark.sql: Spark's answers for what it can do, more than it can, and refusals that show the place."""

import contextlib
import io
import json
import logging
import math
import re
from pathlib import Path

import pytest
from pyspark.errors import PythonException
from support.tiers import in_full

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.spark import sql
from slidewise.spark.session import PROVIDER, ROCKSDB
from slidewise.spark.sql.query_text import MARK, QueryText
from slidewise.spark.sql.rewrite import is_same_type, rewrite_query

# ---- the same as Spark
#: id is unique, u orders rows of a key without ties, t has ties
ROWS = """
    SELECT id, CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END AS k, CAST(id DIV 4 * 3 AS INT) AS t, id * 10 % 101 AS u,
           CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN double('nan') ELSE id * 7 % 11 / 2D END AS x,
           CAST(id * 3 % 4 AS INT) AS n, id % 7 < 3 AS b, timestamp_seconds(id DIV 4 * 1200) AS ts,
           CASE WHEN id % 6 > 0 THEN substr('xyzw', 1 + id % 4, 1) END AS s, CAST(id % 4 - 1 AS INT) AS back
    FROM range(60)"""

SAME = {
    "frames": """
        SELECT id, sum(n) OVER (PARTITION BY k ORDER BY u ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS a,
            sum(n) OVER (PARTITION BY k ORDER BY u ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS b,
            sum(n) OVER (PARTITION BY k ORDER BY u ROWS 2 PRECEDING) AS c,
            sum(n) OVER (PARTITION BY k ORDER BY t) AS d, sum(n) OVER (PARTITION BY k) AS e, sum(n) OVER () AS f,
            sum(n) OVER (PARTITION BY k, b ORDER BY t DESC NULLS FIRST, u) AS g,
            sum(n) OVER (PARTITION BY k ORDER BY t RANGE BETWEEN 3 PRECEDING AND 6 FOLLOWING) AS h,
            sum(n) OVER (PARTITION BY k ORDER BY t DESC RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS i,
            sum(n) OVER (PARTITION BY k ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING) AS j,
            sum(n) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1:30' HOUR TO MINUTE PRECEDING
                         AND INTERVAL '0:20' HOUR TO MINUTE FOLLOWING) AS l,
            sum(n) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '40 minutes' PRECEDING AND CURRENT ROW) AS m,
            sum(n) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1-1' YEAR TO MONTH PRECEDING
                         AND CURRENT ROW) AS o,
            sum(n) OVER (CLUSTER BY k) AS p, sum(n) OVER (DISTRIBUTE BY k SORT BY u) AS q,
            sum(n) OVER (PARTITION BY u % 5 ORDER BY -u) AS r FROM rows""",
    "functions": """
        SELECT id, count(*) OVER w AS a, count(x) OVER w AS b, count(x, s) OVER w AS c, count_if(b) OVER w AS d,
            avg(n) OVER w AS e, mean(x) OVER w AS f, min(s) OVER w AS g, max(x) OVER w AS h, stddev(n) OVER w AS i,
            variance(n) OVER w AS j, var_pop(n) OVER w AS kk, std(n) OVER w AS l, skewness(n) OVER w AS m,
            kurtosis(n) OVER w AS nn, corr(n, t) OVER w AS o, covar_samp(n, t) OVER w AS p, first(x) OVER w AS q,
            last_value(s) IGNORE NULLS OVER w AS r, nth_value(s, 2) OVER w AS ss, any_value(s, true) OVER w AS tt,
            max_by(s, u) OVER w AS uu, min_by(s, u) OVER w AS v, collect_list(s) OVER w AS ww, every(b) OVER w AS xx,
            some(b) OVER w AS y, bit_or(n) OVER w AS z, listagg(s, '-') OVER w AS aa,
            sum(n) FILTER (WHERE b AND n > 0) OVER w AS cc, mode(n, true) OVER w AS dd, percentile(n, 0.3) OVER w AS ee,
            approx_percentile(n, 0.5, 100) OVER w AS ff, median(n) OVER (PARTITION BY k) AS gg,
            percentile_cont(0.25) WITHIN GROUP (ORDER BY n DESC) OVER (PARTITION BY k) AS hh,
            percentile_disc(0.25) WITHIN GROUP (ORDER BY n) OVER (PARTITION BY k) AS ii,
            percentile_disc(0.25) WITHIN GROUP (ORDER BY n DESC) OVER (PARTITION BY k) AS jj,
            mode() WITHIN GROUP (ORDER BY n) OVER (PARTITION BY k) AS kkk,
            listagg(binary(s)) WITHIN GROUP (ORDER BY n, u DESC) OVER (PARTITION BY k) AS ppp,
            percentile(n, array(0.25, 0.5)) OVER w AS lll, percentile_approx(n, array(0.1, 1)) OVER w AS mmm,
            approx_percentile(n, ARRAY(0.5), 100) OVER w AS nnn,
            percentile_cont(array(0.25, 0.9)) WITHIN GROUP (ORDER BY n DESC) OVER (PARTITION BY k) AS ooo
        FROM rows WINDOW w AS (PARTITION BY k ORDER BY u ROWS BETWEEN 4 PRECEDING AND 1 FOLLOWING)""",
    "pairs and bits": """
        SELECT id, covar_pop(x, n) OVER w AS a, regr_count(x, n) OVER w AS b, regr_avgx(x, n) OVER w AS c,
            regr_avgy(x, n) OVER w AS d, regr_sxx(x, n) OVER w AS e, regr_syy(x, n) OVER w AS f,
            regr_sxy(x, n) OVER w AS g, regr_slope(x, n) OVER w AS h, regr_intercept(x, n) OVER w AS i,
            regr_r2(x, n) OVER w AS j, regr_slope(t, n) FILTER (WHERE b) OVER w AS kk, bit_and(n) OVER w AS l,
            bit_xor(n) OVER w AS m, regr_avgx(x, CAST(n AS DECIMAL(5, 2))) OVER w AS o
        FROM rows WINDOW w AS (PARTITION BY k ORDER BY u ROWS BETWEEN 4 PRECEDING AND 1 FOLLOWING)""",
    "what is Spark's beside it": """
        SELECT id, row_number() OVER w AS a, lag(n, 1, 0) OVER w AS b, sum(n) OVER w + rank() OVER w * 2 AS c,
            first(n) OVER (ORDER BY u) AS d, ntile(3) OVER (PARTITION BY k ORDER BY u) AS e, max(n) OVER v AS f
        FROM rows WINDOW w AS (PARTITION BY k ORDER BY u), v AS w""",
    "stars": "SELECT *, max(n) OVER (PARTITION BY rows.k ORDER BY u) AS m, rows.*, b AS again FROM rows",
    "grouped": """
        SELECT k, upper(k) AS up, sum(n) AS total, sum(n) / sum(sum(n)) OVER () AS share,
            concat(upper(k), max(count(*)) OVER (ORDER BY k)) AS text, grouping(b) AS g
        FROM rows WHERE n > 0 GROUP BY ROLLUP (k, b) HAVING count(*) > 1""",
    "one group": "SELECT sum(n), max(sum(n)) OVER () + sum(n) AS m FROM rows",
    "around": """
        SELECT id, CASE WHEN n <> 0 THEN 12 / n * max(n) OVER w WHEN s = 'x' THEN 1 ELSE count(*) OVER w END AS a,
            x IS DISTINCT FROM max(x) OVER w AS b, max(n) OVER w / (SELECT max(n) FROM rows) AS c,
            n IN (SELECT n FROM rows) AND max(n) OVER w > 1 AS d, (max(n) OVER w) IN (SELECT n FROM rows) AS e,
            EXISTS (SELECT 1 FROM rows r WHERE r.n > 2) AND max(n) OVER w > 1 AS f,
            transform(array(1, 2), v -> v + n + max(n) OVER w) AS g, EXTRACT(HOUR FROM ts) + max(n) OVER w AS h,
            ts + INTERVAL 1 HOUR * max(n) OVER w AS i, CAST(max(n) OVER w AS STRING) || s AS j,
            named_struct('m', max(n) OVER w, 'n', n).m AS kk
        FROM rows WINDOW w AS (PARTITION BY k ORDER BY u)""",
    "aliases": """
        SELECT id, n * 2 AS d, sum(n) OVER (PARTITION BY k ORDER BY u) AS m, m * 2 AS e, e + n AS f FROM rows
        QUALIFY m > 3 AND e < 40 AND d >= 0 AND row_number() OVER (PARTITION BY k ORDER BY u) > 2 AND n < 3""",
    "distinct": """
        SELECT DISTINCT k, max(n) OVER (PARTITION BY k) AS m FROM rows QUALIFY max(u) OVER (PARTITION BY k) > 3""",
    "with": """
        WITH a AS (SELECT id, k, u, max(n) OVER (PARTITION BY k ORDER BY u ROWS 2 PRECEDING) AS m FROM rows),
             b(id, key, u, m) AS (SELECT * FROM a WHERE m > 1)
        SELECT b.id, a.id, sum(b.m) OVER (PARTITION BY b.key ORDER BY b.u) AS r FROM b JOIN a ON a.id = b.id""",
    "a name that hides another": """
        WITH r AS (SELECT 1 AS id), q AS (SELECT * FROM (
            WITH r AS (SELECT * FROM rows) SELECT id, max(n) OVER (ORDER BY u) AS m FROM r))
        SELECT * FROM q JOIN r USING (id)""",
    "subqueries": """
        SELECT * FROM (SELECT id, n, avg(n) OVER (ORDER BY u ROWS 3 PRECEDING) AS a FROM rows) WHERE a > 1.5
            AND id IN (SELECT id FROM (SELECT id, max(n) OVER (PARTITION BY k ORDER BY u) m FROM rows) WHERE m > 2)""",
    "set operations": """
        (SELECT id, max(n) OVER (ORDER BY u) AS m FROM rows WHERE n < 2 ORDER BY id LIMIT 9) UNION ALL
        (SELECT id, min(n) OVER (ORDER BY u) FROM rows) EXCEPT SELECT id, n FROM rows ORDER BY m, id LIMIT 30""",
    "joins": """
        SELECT /*+ BROADCAST(r2) */ r.id, r2.s, sum(r2.n) OVER (PARTITION BY r.k ORDER BY r.u, r2.id) AS m
        FROM rows AS r LEFT JOIN rows r2 ON r.id = r2.id + 1 AND r2.n > 1 LATERAL VIEW explode(array(1, 2)) e AS z
        WHERE z = 1""",
    "odd names": "SELECT map('{a}', n)['{a}'] AS `{b}`, max(N) OVER (ORDER BY `u`) AS `a {c}``x` FROM rows -- {d}\n",
    "a column called over": "SELECT id, abs(n) over, 'f(x) OVER w' AS text FROM rows",
    "pipes": "SELECT id, sum(n) OVER (PARTITION BY k) AS m FROM rows |> WHERE m > 1",
    "no rows": "SELECT id, max(n) OVER (ORDER BY u) AS m FROM rows WHERE false",
    "windows without an alias": """
        SELECT max(n) OVER (PARTITION BY k ORDER BY u), 1 + sum(n) OVER w, * FROM (
            SELECT sum(n) OVER (), n, k, u FROM rows) WINDOW w AS (PARTITION BY k)""",
    "fields of structs": """
        SELECT struct(id, rows.k, max(n) OVER w, n + 1) AS a, (n, sum(n) OVER w) AS b,
            array(struct(max(u) OVER w)) AS c, (rows.k, k, k IN (rows.k, k), max(rows.n) OVER w) AS d
        FROM rows
        WINDOW w AS (PARTITION BY k)""",
    "ordered by all": "SELECT k, sum(n) OVER (PARTITION BY k) AS m FROM rows ORDER BY ALL DESC NULLS LAST",
    "FROM first": "FROM rows SELECT id, sum(n) OVER (PARTITION BY k ORDER BY u ROWS 3 PRECEDING) AS m WHERE n > 0",
    "windows by identifier": """
        SELECT id, sum(n) OVER IDENTIFIER('w') AS a, max(n) OVER v AS b FROM rows
        WINDOW IDENTIFIER('v') AS (PARTITION BY k), w AS (PARTITION BY k ORDER BY u ROWS 3 PRECEDING)""",
    "a window named around": """
        SELECT * FROM (SELECT id, sum(n) OVER w AS m FROM rows) WINDOW w AS (PARTITION BY k ORDER BY u)""",
    "fields of variants": "SELECT id, parse_json('{\"a\": 3}'):a::int + sum(n) OVER (ORDER BY u) AS m FROM rows",
    "days along dates": """
        SELECT id, sum(n) OVER (ORDER BY to_date(ts) + CAST(n AS INT) RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS m
        FROM rows""",
}

#: one column of every type, and more orders than one
TYPES = """
    SELECT id, CAST(id AS INT) AS i, CAST(id AS SMALLINT) AS sh, id / 3D AS d, id % 2 = 0 AS b,
           CAST(element_at(array(0, 0.1, 1.1, 1.2, 5, 5.1, 7, 8), CAST(id + 1 AS INT)) AS FLOAT) AS f,
           CAST(id AS DECIMAL(10, 2)) / 4 AS dec, CAST(id % 3 AS STRING) AS s,
           date'2024-01-30' + CAST(id * 9 AS INT) AS da,
           timestamp'2024-03-30 20:00:00' + make_dt_interval(0, CAST(id * 3 AS INT)) AS ts,
           make_dt_interval(CAST(id AS INT)) AS iv, make_ym_interval(CAST(id AS INT)) AS ym,
           named_struct('a', id % 2, 'b', CAST(id % 3 AS STRING)) AS st, array(id % 2, id % 3) AS ar, map('a', id) AS m,
           collate(CAST(id % 3 AS STRING), 'UTF8_LCASE') AS co, CAST(CAST(id % 3 AS STRING) AS BINARY) AS bi,
           parse_json('{"a":' || id || '}') AS v, NULL AS nothing
    FROM range(8)"""

#: what is left to Spark, in part or as a whole
LEFT = {
    "casts": """
        SELECT id, sum(s) OVER w AS a, avg(s) OVER w AS b, stddev(s) OVER w AS c, listagg(i) OVER w AS e,
            max(i) OVER w AS f
        FROM types WINDOW w AS (PARTITION BY b ORDER BY id ROWS 2 PRECEDING)""",
    "structs and arrays": """
        SELECT id, max(st) OVER w AS a, min(ar) OVER w AS b, max(v:a::int) OVER w AS c, first(v) OVER w AS d
        FROM types WINDOW w AS (ORDER BY id ROWS 2 PRECEDING)""",
    "keys and orders": """
        SELECT id, sum(i) OVER (PARTITION BY st ORDER BY id) AS a, sum(i) OVER (PARTITION BY ar ORDER BY id) AS b,
            sum(i) OVER (PARTITION BY co ORDER BY id) AS c, sum(i) OVER (ORDER BY st) AS d,
            sum(i) OVER (ORDER BY ar) AS e, sum(i) OVER (ORDER BY co) AS g,
            sum(i) OVER (PARTITION BY window(ts, '1 day')) AS h,
            sum(i) OVER (ORDER BY ym RANGE INTERVAL 2 MONTHS PRECEDING) AS j, sum(i) OVER (PARTITION BY nothing) AS k
        FROM types""",
    "offsets": """
        SELECT id, sum(i) OVER (ORDER BY i RANGE 1.5 PRECEDING) AS a, sum(i) OVER (ORDER BY i RANGE '1' PRECEDING) AS b,
            sum(i) OVER (ORDER BY d RANGE 'inf' PRECEDING) AS c, sum(i) OVER (ORDER BY i RANGE NULL PRECEDING) AS e,
            sum(i) OVER (ORDER BY d RANGE '0.4' PRECEDING) AS g,
            sum(i) OVER (ORDER BY i RANGE CAST(NULL AS INT) PRECEDING) AS h FROM types""",
    "types of results": """
        SELECT avg(iv) OVER () AS a, avg(ym) OVER () AS b, avg(INTERVAL '1' HOUR) OVER () AS c, sum(NULL) OVER () AS d,
            every(NULL) OVER () AS e, avg(NULL) OVER () AS f, max(NULL) OVER () AS g, count(NULL) OVER () AS h,
            sum(ym) OVER () AS i, percentile_disc(0.5) WITHIN GROUP (ORDER BY i) OVER () AS j FROM types""",
    "generators": "SELECT explode(array(1, 2, 3)) AS x, sum(sum(id)) OVER () AS y FROM types GROUP BY s",
    "generators of one group": "SELECT stack(2, 1, 2) AS (q), sum(sum(id)) OVER () AS y FROM types",
    "nulls of no type": """
        SELECT count_if(NULL) OVER () AS a, every(NULL) OVER () AS b FROM types""",
    "a star beside a time window": """
        SELECT *, sum(i) OVER () AS a FROM types QUALIFY sum(i) OVER (PARTITION BY window(ts, '1 day')) > 0""",
    "windows in windows": "SELECT id, sum(max(i) OVER ()) OVER (ORDER BY id) AS a FROM types",
    "grouped by all": "SELECT s, sum(i), sum(sum(i)) OVER (ORDER BY s) AS x FROM types GROUP BY ALL",
    "pipes": "FROM types |> EXTEND sum(i) OVER (ORDER BY id) AS x |> WHERE x > 3 |> SELECT id, x",
    "lateral": """
        SELECT t.id, l.x, max(x) OVER (PARTITION BY t.id) AS z FROM types t,
            LATERAL (SELECT sum(g.i) OVER (ORDER BY g.id) AS x FROM types g WHERE g.id <= t.id) l""",
    "transform": """
        SELECT TRANSFORM(id, x) USING 'cat' AS (a, b) FROM (SELECT id, sum(i) OVER (ORDER BY id) AS x FROM types)""",
    "sorted by an expression": "SELECT DISTINCT s, sum(i) OVER (PARTITION BY s) AS x FROM types ORDER BY s || 'a'",
}


@pytest.fixture
def rows(spark):
    spark.sql(ROWS).createOrReplaceTempView("rows")
    spark.sql(TYPES).createOrReplaceTempView("types")


def left_to_spark(caplog):
    """Why parts of queries, or all of them, were left to Spark."""
    return [record.getMessage() for record in caplog.records if record.name == "slidewise.spark.sql"]


def collected(frames):
    """The rows of many DataFrames by one action, sorted, floats as they are."""
    from functools import reduce

    from pyspark.sql import functions

    labelled = [
        frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).select(
            functions.lit(name).alias("name"), functions.to_json(functions.struct("*")).alias("row")
        )
        for name, frame in frames.items()
    ]
    out = {name: [] for name in frames}
    for name, row in reduce(lambda a, b: a.union(b), labelled).collect():
        out[name].append(sorted(json.loads(row).items()))
    return {name: sorted(found, key=repr_without_digits) for name, found in out.items()}


def repr_without_digits(row):
    """What rows are sorted by: their last digits may differ."""
    return [(c, round(v, 6) if isinstance(v, float) else str(v)) for c, v in row]


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


#: those of few kernels
QUICK = ("grouped", "aliases", "with")


@pytest.mark.parametrize("names", [QUICK, *in_full(tuple(SAME))], ids=["some", "all"])
def test_the_same_as_spark(spark, rows, caplog, names):
    with caplog.at_level(logging.DEBUG, "slidewise.spark.sql"):
        assert_same_as_spark(spark, {name: SAME[name] for name in names})
    assert left_to_spark(caplog) == []


@pytest.mark.parametrize("names", [("casts", "keys and orders"), *in_full(tuple(LEFT))], ids=["some", "all"])
def test_what_spark_takes_is_taken(spark, rows, caplog, names):
    assert_same_as_spark(spark, {name: LEFT[name] for name in names})
    with caplog.at_level(logging.DEBUG, "slidewise.spark.sql"):
        sql(spark, LEFT["pipes"])
    assert "left to Spark: a window in this place cannot be taken" in left_to_spark(caplog)[0]


def assert_same_as_spark(spark, queries):
    ours = {name: sql(spark, query) for name, query in queries.items()}
    theirs = {name: spark.sql(query) for name, query in queries.items()}
    for name in queries:
        assert ours[name].columns == theirs[name].columns, name
        assert is_same_type(ours[name].schema, theirs[name].schema), name
    found, expected = collected(ours), collected(theirs)
    for name in queries:
        assert len(found[name]) == len(expected[name]), name
        for a, b in zip(found[name], expected[name], strict=True):
            assert same(a, b), (name, a, b)


@pytest.mark.full
def test_order_and_limit(spark, rows):
    for query in (
        "SELECT id, n, sum(n) OVER (PARTITION BY k ORDER BY u) AS c FROM rows ORDER BY n DESC, c + n, rows.u LIMIT 20",
        "SELECT DISTINCT *, max(n) OVER (PARTITION BY k) AS m FROM rows ORDER BY m, x NULLS LAST, id LIMIT 5 OFFSET 2",
        "SELECT k, sum(sum(n)) OVER () AS m, lower(k) AS l FROM rows GROUP BY k ORDER BY abs(m), upper(l) DESC",
    ):
        assert str(sql(spark, query).collect()) == str(spark.sql(query).collect())


@pytest.mark.full
def test_what_is_volatile_is_computed_for_each_call(spark):
    query = """
        SELECT max(rand()) OVER () AS a, max(rand()) OVER () AS b, count_if(rand() < 0.5) OVER () AS c,
            count_if(rand() < 0.5) OVER () AS d, array_agg(id ORDER BY rand()) OVER () AS e,
            array_agg(id ORDER BY rand()) OVER () AS f, max(rand(1)) OVER () AS g, max(rand(1)) OVER () AS h
        FROM range(10000)"""
    row = sql(spark, query).first()
    assert row.a != row.b
    assert row.c != row.d
    assert row.e != row.f
    assert sorted(row.e) == sorted(row.f)
    assert row.g == row.h


def test_streams(spark):
    """With a watermark they are taken; without one the error says so at once, and names nothing that sql has not."""
    query = "SELECT value, median(value + 1) OVER (PARTITION BY value % 3 ORDER BY timestamp {}) AS m FROM {{stream}}"
    stream = spark.readStream.format("rate").load()
    for frame in ("", "ROWS 3 PRECEDING", "RANGE INTERVAL 1 HOUR PRECEDING"):
        for text in (query.format(frame), query.format(frame).replace("median", "sum")):
            with pytest.raises(InvalidInput, match=r"this window reads a stream.*withWatermark") as refusal:
                sql(spark, text, stream=stream)
            said, *_, line, _marks = str(refusal.value).splitlines()
            assert line == text
            assert not re.search(r"\blate=|\bemit=|slidewise_|line \d", said)
    known = stream.withWatermark("timestamp", "10 seconds")
    spark.conf.set(PROVIDER, ROCKSDB)
    try:
        assert sql(spark, query.format("RANGE INTERVAL 1 HOUR PRECEDING"), stream=known).isStreaming
    finally:
        spark.conf.unset(PROVIDER)
    with pytest.raises(InvalidInput, match="this window reads a stream") as refusal:
        sql(spark, "SELECT median(value) OVER (ORDER BY timestamp) AS m FROM {stream}", stream=known)
    assert "withWatermark" not in str(refusal.value)


@pytest.mark.full
def test_a_null_among_bounds_is_told_by_the_last_line(spark, rows):
    query = "SELECT sum(n) OVER (ORDER BY u ROWS BETWEEN nullif(n, 2) PRECEDING AND CURRENT ROW) AS m FROM rows"
    with pytest.raises(PythonException) as failed:
        sql(spark, query).collect()
    last = str(failed.value).strip().splitlines()[-1].replace(MARK, "")
    assert last.endswith("InvalidInput: the bound col('nullif(n, 2)') has 15 nulls: fill them first")


# ---- more than Spark can
@pytest.mark.full
def test_what_spark_refuses(spark, rows):
    query = """
        SELECT id, count(DISTINCT s) OVER w AS a, median(x) OVER (w ROWS 3 PRECEDING) AS b,
            percentile_cont(0.9) WITHIN GROUP (ORDER BY n) FILTER (WHERE b) OVER w AS c,
            sum(n) OVER (PARTITION BY k ORDER BY t GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS d,
            sum(n) OVER (w ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW) AS e,
            sum(n) OVER (PARTITION BY k ORDER BY t RANGE UNBOUNDED PRECEDING EXCLUDE TIES) AS f,
            sum(n) OVER (w ROWS BETWEEN n PRECEDING AND back + 1 FOLLOWING) AS g, geomean(n + 1) OVER w AS h,
            max_count(n) OVER w AS i, max(DISTINCT n) OVER w AS top, nth_smallest(n, 2) OVER w AS j,
            rank() OVER (v ORDER BY n) AS l
        FROM rows WINDOW w AS (v ORDER BY u), v AS (PARTITION BY k)
        ORDER BY max(n) OVER w DESC, id"""
    found = sql(spark, query).toPandas()
    data = spark.table("rows").selectExpr("*", "-n AS low", "back + 1 AS high", "n + 1 AS more").toArrow()
    w = sw.range_between(-sw.UNBOUNDED, 0)
    by = {"partition_by": "k", "order_by": "u"}
    expected = sw.with_columns(
        data,
        **by,
        a=sw.count_distinct("s").over(w),
        b_=sw.median("x").over(sw.rows(4)),
        c=sw.percentile("n", 0.9, where="b").over(w),
        e=sw.sum("n").over(sw.rows_between(-2, 2, exclude="current row")),
        g=sw.sum("n").over(sw.rows_between(sw.col("low"), sw.col("high"))),
        h=sw.geomean("more").over(w),
        i=sw.max_count("n").over(w),
        j=sw.nth_smallest("n", 2).over(w),
        top=sw.max("n").over(w),
    )
    expected = sw.with_columns(
        expected,
        partition_by="k",
        order_by="t",
        d=sw.sum("n").over(sw.groups_between(-1, 0)),
        f=sw.sum("n").over(sw.range_between(-sw.UNBOUNDED, 0, exclude="ties")),
    )
    expected = expected.to_pandas().sort_values(["top", "id"], ascending=[False, True]).reset_index(drop=True)
    assert found["id"].tolist() == expected["id"].tolist()
    for mine, other in {**{c: c for c in "acdefghij"}, "b": "b_", "top": "top"}.items():
        a, b = found[mine].astype(float), expected[other].astype(float)
        assert (((a - b).abs() < 1e-12) | (a.isna() & b.isna())).all(), mine
    assert found["l"].min() == 1


#: what Spark takes over whole partitions, or in a GROUP BY, and DuckDB over every frame
DISTINCT_AND_ORDERED = {
    "sum(DISTINCT n)": "sum(DISTINCT n)",
    "mean(DISTINCT n)": "avg(DISTINCT n)",
    "sum(DISTINCT CAST(n AS DECIMAL(5, 2)))": "sum(DISTINCT CAST(n AS DECIMAL(5, 2)))",
    "max(DISTINCT n)": "max(DISTINCT n)",
    "sum(DISTINCT n) FILTER (WHERE b)": "sum(DISTINCT n) FILTER (WHERE b)",
    "count(DISTINCT n, s)": "count(DISTINCT (n, s)) FILTER (WHERE s IS NOT NULL)",
    "collect_list(DISTINCT n ORDER BY n DESC)": "list(DISTINCT n ORDER BY n DESC)",
    "collect_set(n ORDER BY n)": "list(DISTINCT n ORDER BY n)",
    "array_agg(DISTINCT s) WITHIN GROUP (ORDER BY s)": "list(DISTINCT s ORDER BY s) FILTER (WHERE s IS NOT NULL)",
    "string_agg(DISTINCT s, '-' ORDER BY s)": "string_agg(DISTINCT s, '-' ORDER BY s)",
    "array_agg(n ORDER BY u DESC)": "list(n ORDER BY u DESC)",
    "collect_list(s ORDER BY n DESC NULLS FIRST, u)":
        "list(s ORDER BY n DESC NULLS FIRST, u) FILTER (WHERE s IS NOT NULL)",
    "collect_list(n) WITHIN GROUP (ORDER BY s NULLS LAST, u)": "list(n ORDER BY s NULLS LAST, u)",
    "listagg(s, ', ') WITHIN GROUP (ORDER BY s DESC, u)": "string_agg(s, ', ' ORDER BY s DESC, u)",
    "string_agg(s, '' ORDER BY x NULLS FIRST, u) FILTER (WHERE b)":
        "string_agg(s, '' ORDER BY x NULLS FIRST, u) FILTER (WHERE b)",
}  # fmt: skip
FRAMES = (
    "ORDER BY u ROWS BETWEEN 5 PRECEDING AND CURRENT ROW",
    "ORDER BY u ROWS BETWEEN 3 PRECEDING AND 4 FOLLOWING EXCLUDE CURRENT ROW",
    "ORDER BY t RANGE BETWEEN 6 PRECEDING AND 3 FOLLOWING",
    "ORDER BY t GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES",
)


@pytest.mark.full
@pytest.mark.parametrize("frame", FRAMES)
def test_distinct_and_ordered_aggregates_over_every_frame(spark, rows, frame):
    duckdb = pytest.importorskip("duckdb")
    given = spark.table("rows").toArrow()  # noqa: F841 DuckDB finds it by its name
    ours = ", ".join(f"{call} OVER w AS c{k}" for k, call in enumerate(DISTINCT_AND_ORDERED))
    theirs = ", ".join(f"{call} OVER w AS c{k}" for k, call in enumerate(DISTINCT_AND_ORDERED.values()))
    window = f"WINDOW w AS (PARTITION BY k {frame}) ORDER BY id"
    found = sql(spark, f"SELECT {ours} FROM rows {window}").collect()
    expected = duckdb.sql(f"SELECT {theirs} FROM given {window}").fetchall()
    for k, call in enumerate(DISTINCT_AND_ORDERED):
        for a, b in zip(found, expected, strict=True):
            empty = [] if call.startswith(("array_agg", "collect_")) else None  # Spark's rule
            assert same(a[k], empty if b[k] is None else b[k]), (call, frame, a[k], b[k])


@pytest.mark.full
def test_distinct_values_are_in_the_order_of_their_first_rows(spark, rows):
    query = """
        SELECT id, array_agg(DISTINCT n) OVER w AS a, collect_set(n) OVER w AS b, collect_list(n) OVER w AS c,
            string_agg(DISTINCT s, '+') OVER w AS d, collect_list(s) OVER w AS e, typeof(sum(DISTINCT n) OVER w) AS f,
            typeof(percentile_approx(n, array(0.5)) OVER w) AS g
        FROM rows WINDOW w AS (PARTITION BY k ORDER BY t GROUPS 1 PRECEDING)"""
    for row in sql(spark, query).collect():
        assert row.a == row.b == list(dict.fromkeys(row.c))
        assert row.d == ("+".join(dict.fromkeys(row.e)) if row.e else None)
        assert (row.f, row.g) == ("bigint", "array<int>")


FRAMELESS = (
    "rank()",
    "dense_rank()",
    "percent_rank()",
    "row_number()",
    "lag(n)",
    "lead(n, 2, -1)",
    "ntile(3)",
    "cume_dist()",
)
MEANINGLESS = (
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP",
    "GROUPS BETWEEN 3 PRECEDING AND 1 PRECEDING EXCLUDE TIES",
    "ROWS BETWEEN 4 PRECEDING AND 6 PRECEDING",
)


@pytest.mark.full
def test_a_frame_means_nothing_to_ranks_and_neighbours(spark, rows):
    """PostgreSQL and DuckDB ignore it; Spark refuses it. Alone, beside our windows, by name, and refined."""
    window = "PARTITION BY k ORDER BY u"

    def items(over):
        return ", ".join(f"{call} OVER {over} AS c{i}" for i, call in enumerate(FRAMELESS))

    bare = spark.sql(f"SELECT id, {items(f'({window})')} FROM rows ORDER BY id").collect()
    queries = [f"SELECT id, {items(f'({window} {frame})')} FROM rows ORDER BY id" for frame in MEANINGLESS] + [
        f"SELECT id, {items('w')} FROM rows WINDOW w AS ({window} {MEANINGLESS[2]}) ORDER BY id",
        f"SELECT id, {items(f'(w {MEANINGLESS[0]})')} FROM rows WINDOW w AS ({window}) ORDER BY id",
    ]
    for query in queries:
        assert sql(spark, query).collect() == bare, query
    shared = sql(
        spark,
        f"""SELECT id, {items("w")}, median(n) OVER w AS m, 1 + rank() OVER w AS more FROM rows
            QUALIFY row_number() OVER w > 0 WINDOW w AS ({window} {MEANINGLESS[2]}) ORDER BY id""",
    ).collect()
    assert [tuple(r)[: len(FRAMELESS) + 1] for r in shared] == [tuple(r) for r in bare]
    assert all(r.more == r.c0 + 1 for r in shared)
    assert any(r.m is not None for r in shared)


@pytest.mark.full
def test_bounds_that_cross_give_empty_frames(spark):
    """Where Spark takes them, its answer, which has rows of null order among their peers; else PostgreSQL's."""
    spark.sql(
        "SELECT * FROM VALUES (1, 1, 0D), (2, 1, 0D), (3, 2, double('inf')), (4, NULL, NULL), (5, 3, double('nan')), "
        "(6, NULL, 7D) AS t(id, u, f)"
    ).createOrReplaceTempView("few")
    bounds = {"2 PRECEDING": -2, "1 PRECEDING": -1, "CURRENT ROW": 0, "-1 FOLLOWING": -1, "1 FOLLOWING": 1}
    pairs = [(a, b) for a in bounds for b in bounds if bounds[a] <= bounds[b] or not ("FOL" in a and "PREC" in b)]
    by_spark = [(a, b) for a, b in pairs if bounds[a] <= bounds[b] or "CURRENT ROW" in (a, b)]
    assert len(by_spark) < len(pairs)
    for unit, order in (("ROWS", "u, id"), ("RANGE", "u"), ("RANGE", "f DESC"), ("GROUPS", "u")):

        def counts(run, pairs, frame=f"ORDER BY {order} {unit}"):
            items = ", ".join(f"count(*) OVER ({frame} BETWEEN {a} AND {b}) AS `{a} {b}`" for a, b in pairs)
            return [r.asDict() for r in run(f"SELECT id, {items} FROM few ORDER BY id").collect()]

        found = counts(lambda query: sql(spark, query), pairs)
        expected = counts(spark.sql, by_spark) if unit != "GROUPS" else []
        for ours, theirs in zip(found, expected, strict=unit != "GROUPS"):
            assert {name: ours[name] for name in theirs} == theirs, (unit, order)
        # Null, infinity and NaN plus an offset are what they were: they find their peers.
        apart = {"u": (4, 6), "f DESC": (3, 4, 5)}.get(order, ())
        for a, b in set(pairs) - set(by_spark):
            for row in found:
                wanted = row["CURRENT ROW CURRENT ROW"] if unit == "RANGE" and row["id"] in apart else 0
                assert row[f"{a} {b}"] == wanted, (unit, order, a, b, row["id"])


def test_arguments_and_views(spark, rows):
    query = """
        SELECT id, sum(n) OVER (ORDER BY u ROWS :back PRECEDING) AS a, '{{}}' AS b, max(n) OVER () AS c
        FROM {frame} WHERE id < :most ORDER BY id"""
    arguments = {"back": 2, "most": 5}
    frame = spark.table("rows")
    found = sql(spark, query, arguments, frame=frame)
    assert [r.a for r in found.collect()] == [0, 3, 5, 6, 3]
    assert {(r.b, r.c) for r in found.collect()} == {("{}", 3)}
    assert [v.name for v in spark.catalog.listTables() if v.name.startswith("_pyspark")] == []
    with pytest.raises(InvalidInput, match="args are taken by name"):
        sql(spark, "SELECT median(n) OVER (ORDER BY u) FROM rows WHERE id < ?", [5])
    assert sql(spark, "SELECT max(n) OVER () AS m FROM rows WHERE id < ?", [5]).first().m == 3
    assert sql(spark, "SELECT id FROM rows WHERE id < ?", [1]).collect()[0].id == 0


def test_types_and_metadata_of_other_columns(spark, rows):
    frame = spark.table("rows").withMetadata("n", {"unit": "m"})
    before = {f.name: f for f in frame.schema}
    after = sql(spark, "SELECT *, median(n) OVER (PARTITION BY k) AS m FROM {frame}", frame=frame).schema
    assert {f.name: f for f in after if f.name != "m"} == before
    assert after["n"].metadata == {"unit": "m"}


def test_over_connect(connect):
    connect.sql(ROWS).createOrReplaceTempView("rows")
    query = """
        WITH a AS (SELECT *, max(n) OVER (PARTITION BY k ORDER BY u) AS m FROM rows WHERE id < :most)
        SELECT id, count(DISTINCT m) OVER w AS c, row_number() OVER w AS r, median(m) OVER (w ROWS 2 PRECEDING) AS d
        FROM a WINDOW w AS (PARTITION BY k ORDER BY u) ORDER BY k, u"""
    found = sql(connect, query, {"most": 6}).collect()
    assert [tuple(r) for r in found] == [
        (2, 1, 1, 2.0), (5, 2, 2, 2.5), (0, 1, 1, 0.0), (3, 2, 2, 0.5), (1, 1, 1, 3.0), (4, 1, 2, 3.0)
    ]  # fmt: skip


@pytest.mark.full
def test_the_page(spark, rows):
    """The examples of the page, and what they show."""
    page = (Path(__file__).parents[2] / "docs" / "spark-sql.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 4
    names = {"spark": spark}
    for code, shown in examples:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                exec(code, names)
            except InvalidInput as error:
                print(error)
        assert said.getvalue().split() == shown.split()


# ---- refusals
REFUSED = [
    ("SELECT stddev(DISTINCT x) OVER w FROM t WINDOW w AS (ORDER BY u)", "DISTINCT", "stddev.*sum take DISTINCT there"),
    ("SELECT array_agg(DISTINCT x ORDER BY y) OVER () FROM t", "y", "array_agg of distinct values has no row"),
    ("SELECT collect_set(x ORDER BY y) OVER () FROM t", "y", "ordered by themselves only"),
    ("SELECT a,\n  sum(x) OVER v FROM t WINDOW w AS (ORDER BY u)", "v", "v is not named in this SELECT; there are w"),
    ("SELECT sum(x) OVER v FROM t", "v", "no WINDOW clause"),
    ("SELECT sum(x) OVER w FROM t WINDOW w AS (w ORDER BY u)", "(w ORDER BY u)", "w is defined by itself"),
    ("SELECT sum(x) OVER (w PARTITION BY a) FROM t WINDOW w AS (ORDER BY u)", "PARTITION BY a", "cannot be set again"),
    ("SELECT sum(x) OVER (w ORDER BY a) FROM t WINDOW w AS (ORDER BY u)", "ORDER BY a", "has an order already"),
    ("SELECT sum(x) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (ORDER BY u ROWS 2 PRECEDING)",
     "(w ROWS 1 PRECEDING)", "has a frame already"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM t",
     "ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING", "start 1 is after the end -1"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM t", "1.5", "number of rows"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS INTERVAL 1 HOUR PRECEDING) FROM t", "INTERVAL 1 HOUR", "number of rows"),
    ("SELECT sum(x) OVER (ORDER BY u RANGE INTERVAL '1 parsec' PRECEDING) FROM t", "INTERVAL '1 parsec'", "duration"),
    ("SELECT sum(x) OVER (ORDER BY u, v RANGE 1 PRECEDING) FROM t", "RANGE 1 PRECEDING", "there are 2"),
    ("SELECT sum(x) OVER (GROUPS 1 PRECEDING) FROM t", "GROUPS 1 PRECEDING", "no ORDER BY"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS BETWEEN 1 AND 2) FROM t", "ROWS BETWEEN 1 AND 2", "BETWEEN one bound AND"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS 1) FROM t", "1", "a bound is UNBOUNDED or an offset"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS 1 PRECEDING EXCLUDE ME) FROM t", "EXCLUDE ME", "EXCLUDE takes"),
    ("SELECT sum(x) OVER (ORDER BY u PARTITION BY y) FROM t", "PARTITION BY y", "none of it"),
    ("SELECT percentile(x, 95) OVER () FROM t", "percentile(x, 95) OVER ()", r"Did you mean 0\.95"),
    ("SELECT histogram_numeric(x, 3) OVER (ORDER BY u GROUPS 1 PRECEDING), sum(x) OVER () FROM t",
     "GROUPS", "which has no GROUPS"),
    ("SELECT histogram_numeric(x, 3) OVER (ORDER BY u ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
     "EXCLUDE TIES", "has no EXCLUDE"),
    ("SELECT sum(x) OVER (ORDER BY u RANGE BETWEEN 2 FOLLOWING AND 0 PRECEDING) FROM t",
     "RANGE BETWEEN 2 FOLLOWING AND 0 PRECEDING", "start 2 is after the end 0"),
    ("SELECT sum(x) OVER (ORDER BY u ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM t",
     "ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW", "no row is in a frame"),
    ("SELECT nunique(min(x) OVER ()) OVER () FROM t", "min(x) OVER ()", "a window inside of a window"),
    ("SELECT x FROM t WHERE sum(x) OVER () > 1", "sum(x) OVER ()", "a window in WHERE.*QUALIFY"),
    ("SELECT x FROM t GROUP BY sum(x) OVER ()", "sum(x) OVER ()", "a window in GROUP BY"),
    ("SELECT x, nunique(x) OVER () FROM t GROUP BY ALL", "GROUP BY ALL", "name the columns to group by"),
    ("SELECT x ! nunique(x) OVER () FROM t", "x ! nunique(x) OVER ()", "cannot be read"),
    ("INSERT INTO y SELECT nunique(x) OVER () FROM t", "nunique(x) OVER ()", "begins with SELECT or WITH"),
    ("FROM t |> EXTEND nunique(x) OVER () AS s", "nunique(x) OVER ()", "begins with SELECT or WITH"),
    ("SELECT x FROM t |> EXTEND nunique(x) OVER () AS s", "nunique(x) OVER ()", "begins with SELECT or WITH"),
    ("WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT nunique(a) OVER () FROM r) SELECT * FROM r",
     "nunique(a) OVER ()", "not in a table of WITH RECURSIVE"),
    ("SELECT max(nunique(x) OVER ()) FROM t", "nunique(x) OVER ()", r"a window inside of max\(...\)"),
    ("SELECT sum(x) FILTER (WHERE nunique(x) OVER () > 0) FROM t", "nunique(x) OVER ()", "the FILTER or WITHIN GROUP"),
    ("SELECT explode(array(1, 2)), nunique(sum(x)) OVER () FROM t", "explode(array(1, 2))", "in a SELECT around"),
    ("SELECT (SELECT nunique(i.x) OVER () FROM t i WHERE i.x = t.x) FROM t", "t.x", "`t`.`x` cannot be resolved"),
    ("SELECT median(x) OVER (ORDER BY u RANGE INTERVAL 1 HOUR PRECEDING) FROM t",
     "median(x) OVER (ORDER BY u RANGE INTERVAL 1 HOUR PRECEDING)", "order column 'u.?' is of int32"),
    ("SELECT nunique(xx) OVER () FROM t", "xx", "`xx` cannot be resolved"),
    ("SELECT nunique(x) OVER () + map(1, 2) AS z FROM t", "nunique(x) OVER () + map(1, 2)", "mismatch"),
    ("SELECT nunique(x) OVER (ORDER BY u RANGE NULL PRECEDING) FROM t", "NULL", "a bound of a frame is NULL"),
    ("SELECT nunique(x) OVER (ORDER BY u ROWS nil PRECEDING) FROM t", "nil", "a bound of a frame is NULL"),
    ("SELECT nunique(x) OVER (ORDER BY u GROUPS CAST(NULL AS INT) PRECEDING) FROM t", "CAST(NULL AS INT)", "is NULL"),
    ("SELECT nunique(x) OVER (ORDER BY u ROWS x / 2 PRECEDING) FROM t", "x / 2", "rows, and this is of double"),
    ("SELECT nunique(x) OVER (ORDER BY u RANGE string(x) PRECEDING) FROM t", "string(x)", "and this is of string"),
    ("SELECT concat(array(y), nunique(x) OVER ()) FROM t", "concat(array(y), nunique(x) OVER ())", "mismatch"),
    ("SELECT nunique(x) OVER () AS y1, nunique(y1) OVER () FROM t", "y1", "`y1` cannot be resolved"),
    ("SELECT count(DISTINCT *) OVER () FROM t", "*", "name those that are to be counted"),
    ("SELECT count(t.*) OVER (ORDER BY u GROUPS 1 PRECEDING) FROM t", "t.*", "name those that are to be counted"),
    ("SELECT max(x) OVER () m, median(m) OVER (ORDER BY u) FROM t", "m", "`m` cannot be resolved"),
    ("SELECT array_agg(x ORDER BY collate('a', 'UTF8_LCASE')) OVER () FROM t",
     "array_agg(x ORDER BY collate('a', 'UTF8_LCASE')) OVER ()", "collation"),
    ("SELECT nunique(x) OVER () AS c FROM t QUALIFY (nunique(x) OVER ()) > array(1)",
     "(nunique(x) OVER ()) > array(1)", r'"\(nunique\(x\) OVER \(\) > array\(1\)\)" due to data type mismatch'),
    ("SELECT nunique(x) OVER (ORDER BY to_timestamp('2024-01-01') RANGE make_ym_interval(1) PRECEDING) FROM t",
     "nunique(x) OVER (ORDER BY to_timestamp('2024-01-01') RANGE make_ym_interval(1) PRECEDING)",
     r"'make_ym_interval\(1\)' is of Spark's interval"),
    ("SELECT median(v) OVER (ORDER BY u ROWS 1 PRECEDING) FROM t", "median(v) OVER (ORDER BY u ROWS 1 PRECEDING)", "v"),
    ("SELECT (sum(x) OVER () FROM t", "(", "never closed"),
]  # fmt: skip


@pytest.fixture
def table(spark):
    spark.sql("SELECT 1 AS x, 2 AS y, 3 AS u, 4 AS a, parse_json('{}') AS v, NULL AS nil").createOrReplaceTempView("t")


@pytest.mark.parametrize(("query", "place", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_refusals_show_the_place(spark, table, query, place, says):
    with pytest.raises(InvalidInput, match=says) as refusal:
        sql(spark, query)
    said = str(refusal.value)
    assert not [made for made in ("slidewise_", "coalesce(", "CASE WHEN", "struct(", "-(", MARK) if made in said]
    assert said.count("\nline ") == 1
    *_, where, line, marks = said.splitlines()
    number, column = map(int, re.findall(r"\d+", where))
    assert line == query.splitlines()[number - 1]
    assert line[column - 1 :].startswith(place)
    assert marks == " " * (column - 1) + "^" * len(place)


def read_only(query):
    """Rewrite a query without a session: nothing of it may run."""

    def run(text, frames):
        raise AssertionError(f"{text} must not run")

    return rewrite_query(QueryText(query), run, run)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT row_number() OVER (ORDER BY u), lead(x) OVER w FROM t WINDOW w AS (ORDER BY u)",
        "SELECT percentile(x, array(0.5, y)) OVER (), sum(x) FROM t",
        "SELECT 'sum(x) OVER ()' AS `max(y) OVER w` -- min(z) OVER ()",
        "SELECT over.a, b over FROM over",
        "CREATE TABLE a AS SELECT rank() OVER (ORDER BY u) FROM t",
    ],
)
def test_what_is_not_ours_is_left_alone(query):
    made = read_only(query)
    assert not made.changed
    assert made.left == ()


def test_arguments_are_constants():
    texts = []

    def run(text, frames):
        texts.append(text)
        raise InvalidInput("enough is known")

    query = "SELECT percentile(x, :q) OVER (ORDER BY u ROWS :back PRECEDING) FROM t"
    rewrite_query(QueryText(query, {"q": 0.9, "back": 5}), run, run)
    expected = "SELECT NULL AS __slidewise_item_1, x AS __slidewise_value_0, u AS __slidewise_value_1 FROM t"
    assert " ".join(texts[0].replace(MARK, "").replace("`", "").split()) == expected


def test_queries_without_windows_are_not_even_read():
    class Session:
        def sql(self, *given, **views):
            return given, views

    assert sql(Session(), "SELEC ((", {"a": 1}, b=2) == (("SELEC ((", {"a": 1}), {"b": 2})
    with pytest.raises(InvalidInput, match="Spark session first"):
        sql("SELECT 1", Session())
    with pytest.raises(InvalidInput, match="text of a query"):
        sql(Session(), None)
