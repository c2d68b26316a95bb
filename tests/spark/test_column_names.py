"""Columns may have any names, those that slidewise itself would give too."""

from __future__ import annotations

import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput

RUNNING = sw.rows_between(-sw.UNBOUNDED, 0)
#: what is made beside the user's columns, in either spelling
OURS = ["slidewise_0", "__slidewise_0", "__SLIDEWISE_1", "__slidewise_bucket", "__slidewise_Own", "__slidewise_begin",
        "__slidewise_number", "__slidewise_key0", "__slidewise_left_out", "__slidewise_key"]  # fmt: skip


@pytest.fixture(params=["false", *in_full("true")])
def heeding(request, session):
    """Sessions that heed capitals in names, and those that do not."""
    session.conf.set("spark.sql.caseSensitive", request.param)
    yield session
    session.conf.set("spark.sql.caseSensitive", "false")


def rows(session):
    return session.range(40).selectExpr("id AS t", "id % 3 AS k", "id * 7 % 11 AS v")


@pytest.mark.parametrize("engine", ["slidewise", *in_full("spark")])
def test_new_columns_of_our_own_names(heeding, engine):
    df = rows(heeding)
    made = {name: sw.sum("v").over(sw.rows(2 + k)) for k, name in enumerate(OURS)}
    out = sws.with_columns(df, made, order_by="t", engine=engine).orderBy("t").toArrow()
    assert out.equals(sw.with_columns(df.toArrow(), order_by="t", **made))


@pytest.mark.full
@pytest.mark.parametrize("hot_keys", [True, *in_full(False)])
def test_old_columns_of_our_own_names(heeding, hot_keys):
    """Read, as keys and order, and only passed on."""
    df = rows(heeding).selectExpr("t", "k", "v", *(f"v + {k} AS `{name}`" for k, name in enumerate(OURS)))
    df = df.drop("__slidewise_number", "__slidewise_begin").withColumnsRenamed(
        {"k": "__slidewise_number", "t": "__slidewise_begin"}
    )
    call = {"partition_by": "__slidewise_number", "order_by": "__slidewise_begin"}
    made = {"a": sw.sum("__slidewise_bucket").over(sw.rows(3)), "b": sw.max("slidewise_0").over(sw.rows(2))}
    out = sws.with_columns(df, made, hot_keys=hot_keys, **call).orderBy("__slidewise_begin").toArrow()
    assert out.equals(sw.with_columns(df.toArrow(), **call, **made))


@pytest.mark.full
@pytest.mark.parametrize("keys", [None, "v"])
@pytest.mark.parametrize("window", [sw.rows(3), RUNNING])
def test_several_columns_of_one_name_that_nobody_reads(session, keys, window):
    df = rows(session).selectExpr("t", "v", "k AS a", "t AS a")
    made = {"m": sw.sum("v").over(window), "n": sw.max("v").over(window)}
    out = sws.with_columns(df, made, partition_by=keys, order_by="t", hot_keys="auto" if keys is None else True)
    assert out.columns == ["t", "v", "a", "a", "m", "n"]
    plain = sw.with_columns(rows(session).toArrow(), partition_by=keys, order_by="t", **made)
    found = [(row[0], row[2], row[3], row[4], row[5]) for row in out.orderBy("t").collect()]
    assert found == [tuple(row[name] for name in ("t", "k", "t", "m", "n")) for row in plain.to_pylist()]


@pytest.mark.full
def test_sql_over_columns_of_our_own_names(heeding):
    names = [f"__slidewise_{kind}_{k}" for kind in ("item", "value", "call") for k in range(9)]
    view = rows(heeding).selectExpr("t", "v", *(f"v + {k} AS {name}" for k, name in enumerate(names)))
    query = "SELECT *, 1 + sum(v) OVER w AS __slidewise_item_3, median(v) OVER w FROM {__slidewise_rows_0} "
    query += "WINDOW w AS (ORDER BY t ROWS 1 PRECEDING) ORDER BY t"
    out = sws.sql(heeding, query, __slidewise_rows_0=view)
    assert out.columns[:-1] == [*view.columns, "__slidewise_item_3"]
    made = sw.with_columns(
        view.toArrow(), order_by="t", s=sw.sum("v").over(sw.rows(2)), m=sw.median("v").over(sw.rows(2))
    )
    expected = [(*row.values(),) for row in made.to_pylist()]
    assert [tuple(row) for row in out.collect()] == [(*row[:-2], 1 + row[-2], row[-1]) for row in expected]


def test_results_that_spark_could_not_tell_apart(session):
    df = rows(session)
    call = {"order_by": "t", "window": sw.rows(3, every=2)}
    with pytest.raises(InvalidInput, match=r"aggregate: .* 't' and 'T', which it does not tell apart .* Rename one"):
        sws.aggregate(df, {"T": sw.sum("v")}, **call)
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert sws.aggregate(df, {"T": sw.sum("v")}, **call).columns == ["t", "T"]
    finally:
        session.conf.set("spark.sql.caseSensitive", "false")
