"""where= as Spark SQL: what Spark's own FILTER gives, and no column of ours in the result."""

import pytest

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812

ROWS = """SELECT id AS t, id % 3 AS k, id * 7 % 11 AS x, IF(id % 4 = 1, NULL, id % 5 > 2) AS paid,
          id % 2 = 0 AS `x > 100`, named_struct('b', id % 2 = 0) AS a FROM range(60)"""
CALL = {"partition_by": "k", "order_by": "t"}
LAST = sw.rows(4)
#: by the condition: the same in Spark's words
CONDITIONS = {
    "x > 5": "x > 5",
    "x BETWEEN 2 AND 8 AND NOT paid": "x BETWEEN 2 AND 8 AND NOT paid",
    "paid": "paid",
    "x > 100": "`x > 100`",  # a string that names a column is that column
    "a.b": "a.b",
    "`x` % 2 = 1 OR x IS NULL": "x % 2 = 1",
}


def rows_of(df):
    return sorted(map(tuple, df.collect()))


@pytest.mark.parametrize("engine", ["auto", "slidewise", "spark"])
def test_batches_are_those_of_sparks_filter(spark, engine):
    df = spark.sql(ROWS)
    new = {f"c{k}": sw.sum("x", where=text).over(LAST) for k, text in enumerate(CONDITIONS)}
    out = sw.with_columns(df, new, **CALL, engine=engine)
    assert out.columns == [*df.columns, *new]
    over = "OVER (PARTITION BY k ORDER BY t ROWS 3 PRECEDING)"
    filtered = [f"sum(x) FILTER (WHERE {text}) {over} AS c{k}" for k, text in enumerate(CONDITIONS.values())]
    assert rows_of(out.drop("a")) == rows_of(df.selectExpr("*", *filtered).drop("a"))


def test_pysparks_spelling_and_slides(session):
    df = session.sql(ROWS)
    last = Window.partitionBy("k").orderBy("t").rowsBetween(-3, 0)
    found = sws.with_columns(df, m=F.sum("x", where="x > 5").over(last))
    assert rows_of(found.drop("a")) == rows_of(
        sw.with_columns(df, **CALL, m=sw.sum("x", where="x > 5").over(LAST)).drop("a")
    )
    slides = sw.aggregate(df, **CALL, window=sw.rows(4, every=4), n=sw.count(where="x > 5"))
    assert slides.columns == ["k", "t", "n"]
    table = df.selectExpr("t", "k", "x", "x > 5 AS large").toArrow()
    expected = sw.aggregate(table, **CALL, window=sw.rows(4, every=4), n=sw.count(where="large")).to_pylist()
    assert rows_of(slides) == sorted(tuple(row.values()) for row in expected)
    assert [line["column"] for line in sw.explain(df, m=sw.sum("x", where="x > 5").over(LAST))] == ["m"]


def test_a_given_schema_takes_conditions(spark):
    df = spark.sql(ROWS).select("t", "k", "x")
    new = {"m": sw.sum("x", where="x > 5").over(LAST), "x": sw.max("x").over(LAST)}
    given = sw.with_columns(df, new, **CALL, schema="t bigint, k bigint, x bigint")
    assert given.columns == ["t", "k", "x", "m"]
    assert rows_of(given) == rows_of(sw.with_columns(df, new, **CALL))


def test_what_is_no_condition_is_refused(spark):
    df = spark.sql(ROWS)
    with pytest.raises(InvalidInput, match=r"there is no column 'payed'\. Did you mean 'paid'"):
        sw.with_columns(df, **CALL, n=sw.count(where="payed").over(LAST))
    with pytest.raises(InvalidInput, match=r"where='x \+ 1' names no column, and as a condition.*is bigint"):
        sw.with_columns(df, **CALL, n=sw.count(where="x + 1").over(LAST))
    with pytest.raises(InvalidInput, match=r"where='y > 1' names no column.*y"):
        sw.aggregate(df, **CALL, window=sw.rows(2, every=2), n=sw.count(where="y > 1"))
    with pytest.raises(InvalidInput, match=r"where='x >' names no column.*(?i:syntax)"):
        sw.with_columns(df, **CALL, n=sw.count(where="x >").over(LAST))


def test_frames_of_other_kinds_say_what_to_do():
    data: dict[str, list] = {"x": [1, 2, 3], "paid": [True, False, True]}
    assert list(sw.with_columns(data, n=sw.count(where="paid").over(2))["n"]) == [1, 1, 1]
    with pytest.raises(InvalidInput, match=r"no column 'x > 1'. Conditions in SQL are for Spark.*There are: x, paid"):
        sw.with_columns(data, n=sw.count(where="x > 1").over(2))
    with pytest.raises(InvalidInput, match=r"no column 'payed'.*Did you mean 'paid'\?"):
        sw.aggregate(data, window=sw.rows(2, every=2), n=sw.count(where="payed"))
