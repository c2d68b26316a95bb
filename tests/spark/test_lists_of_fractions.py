"""A list of fractions gives a list of values, the same in every engine, and those of single fractions."""

import pyarrow as pa
import pytest
from support.tiers import quick

import slidewise as sw
from slidewise import spark as sws

FRACTIONS = [0.9, 0.0, 0.25, 0.5]  # as they are given, and not sorted
ROWS = "SELECT id AS t, id % 2 AS k, IF(id % 7 = 3, NULL, id * 7 % 11) AS x FROM range(30)"
CALL = {"partition_by": "k", "order_by": "t"}
WINDOWS = [sw.rows(6), sw.time(8), sw.rows_between(-sw.UNBOUNDED, 0), sw.rows_between(-2, 2)]


def made(window):
    lists = {"c": sw.percentile("x", FRACTIONS).over(window), "d": sw.percentile_disc("x", FRACTIONS).over(window)}
    for k, q in enumerate(FRACTIONS):
        lists |= {f"c{k}": sw.percentile("x", q).over(window), f"d{k}": sw.percentile_disc("x", q).over(window)}
    return lists


def check(table):
    for row in table.to_pylist():
        for name in "cd":
            singles = [row[f"{name}{k}"] for k in range(len(FRACTIONS))]
            assert row[name] == (None if None in singles else singles), row


@pytest.mark.parametrize("window", quick(WINDOWS, WINDOWS[0], WINDOWS[2]), ids=repr)
def test_columns_and_batches_and_events(session, window):
    df = session.sql(ROWS)
    table = df.toArrow().sort_by("t")
    found = sw.with_columns(table, made(window), **CALL)
    assert pa.types.is_list(found.schema.field("c").type) and found.schema.field("d").type.value_type == pa.int64()
    check(found)
    batch = sw.with_columns(df, made(window), **CALL).toArrow().sort_by("t")
    assert batch.select(["c", "d"]).to_pylist() == found.select(["c", "d"]).to_pylist()
    both = {name: made(window)[name].aggregation for name in "cd"}
    w = sw.Window({name: a.over(window) for name, a in both.items()}, partition_by="k")
    rows = sorted(table.to_pylist(), key=lambda r: r["t"])
    results = [r for row in rows for r in w.push(row, time=row["t"])] + w.flush()
    events = {r.time: r.value for r in results}
    assert [events[t] for t in range(30)] == found.select(["c", "d"]).to_pylist()


def test_sql_and_slides(session):
    df = session.sql(ROWS)
    df.createOrReplaceTempView("fractions")
    query = """SELECT t, percentile(x, array(0.9, 0.0, 0.25, 0.5)) OVER w AS c,
        percentile_disc(array(0.9, 0.0, 0.25, 0.5)) WITHIN GROUP (ORDER BY x) OVER w AS d
        FROM fractions WINDOW w AS (PARTITION BY k ORDER BY t ROWS 5 PRECEDING)"""
    found = sws.sql(session, query).toArrow().sort_by("t").select(["c", "d"])
    expected = sw.with_columns(df.toArrow().sort_by("t"), made(sw.rows(6)), **CALL)
    assert found.to_pylist() == expected.select(["c", "d"]).to_pylist()
    results = {name: over.aggregation for name, over in made(sw.rows(6)).items()}
    for window in (sw.time(8, every=4), sw.rows(6, every=4)):
        slides = sw.aggregate(df, results, **CALL, window=window).toArrow()
        check(slides)
        check(sw.aggregate(df.toArrow(), results, **CALL, window=window))
