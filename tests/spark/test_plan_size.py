"""Many aggregates in a call are no more steps of the plan than few: Spark's time and stack go with its steps."""

from __future__ import annotations

import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise import spark as sws

RUNNING = sw.rows_between(-sw.UNBOUNDED, 0)


@pytest.fixture
def df(session):
    return session.range(30).selectExpr("id % 3 AS k", "id AS t", "id * 7 % 11 AS v")


def steps(df, capsys) -> dict[str, int]:
    """How many operators Spark's plans have, before and after it has optimized them."""
    capsys.readouterr()
    df.explain(extended=True)
    plans = capsys.readouterr().out.split("\n== ")
    return {plan.partition(" ==")[0]: sum(1 for line in plan.splitlines()[1:] if line.strip()) for plan in plans}


@pytest.mark.full
@pytest.mark.covering(0)
@pytest.mark.parametrize("keys", [None, "k"])
@pytest.mark.parametrize("window", [sw.rows(3), RUNNING], ids=["slidewise", "spark"])
def test_with_columns(df, capsys, keys, window):
    def out(number):
        return sws.with_columns(
            df, {f"a{k}": sw.sum("v").over(window) for k in range(number)}, partition_by=keys, order_by="t"
        )

    assert steps(out(40), capsys) == steps(out(20), capsys)  # few results are not sorted by Spark
    made = out(40).orderBy("t").toArrow()
    expected = sw.with_columns(df.toArrow(), partition_by=keys, order_by="t", a=sw.sum("v").over(window))
    assert all(made[f"a{k}"].to_pylist() == expected["a"].to_pylist() for k in range(40))


def test_aggregate(df, capsys):
    def out(number):
        sums = {f"a{k}": sw.sum("v") for k in range(number)}
        return sws.aggregate(df, sums, partition_by="k", order_by="t", window=sw.rows(3, every=2))

    assert steps(out(40), capsys) == steps(out(2), capsys)


@pytest.mark.parametrize("frame", ["2 PRECEDING", *in_full("UNBOUNDED PRECEDING")])
def test_sql(session, df, capsys, frame):
    def out(number):
        sums = ", ".join(f"sum(v) OVER (ORDER BY t ROWS {frame}) AS a{k}" for k in range(number))
        return sws.sql(session, f"SELECT t, {sums} FROM {{df}}", df=df)

    assert steps(out(40), capsys) == steps(out(20), capsys)
