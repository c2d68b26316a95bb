"""Random queries with windows: slidewise.spark.sql beside spark.sql. `python -m slidewise.fuzz sql` runs more."""

import pytest

from slidewise.fuzz.sql import BATCH, differences, program, query_of, session

#: a query takes a second where its kernels are not compiled yet
FEW, SOME, MANY = 4, 30, 100
RUNS = [
    (0, FEW),
    pytest.param(1, SOME, marks=pytest.mark.full),
    *(pytest.param(seed, MANY, marks=pytest.mark.soak) for seed in range(32)),
]


@pytest.mark.parametrize(("seed", "cases"), RUNS)
def test_random_queries(spark, seed, cases):
    with session() as running:
        for first in range(0, cases, BATCH):
            queries = {number: query_of(seed, number) for number in range(first, min(first + BATCH, cases))}
            for number, wrong in differences(running, queries).items():
                assert wrong is None, f"{wrong}\n{program(queries[number])}"


def test_what_is_wrong_is_told(spark, monkeypatch):
    """Other rows, another order, another type, and a refusal."""
    from importlib import import_module

    module = import_module("slidewise.spark.sql")
    instead = {
        "SELECT id, sum(i) OVER () AS m FROM fuzz": "SELECT id, sum(h) OVER () AS m FROM fuzz",
        "SELECT id, sum(i) OVER () AS m FROM fuzz ORDER BY id": "SELECT id, sum(i) OVER () AS m FROM fuzz ORDER BY -id",
        "SELECT id, max(i) OVER () AS m FROM fuzz": "SELECT id, max(id) OVER () AS m FROM fuzz",
        "SELECT id, min(i) OVER () AS m FROM fuzz": "SELECT nothing FROM fuzz",
        "SELECT id, count(i) OVER () AS m FROM fuzz": "SELECT id, count(i) OVER () AS m FROM fuzz",
        "SELECT nothing FROM fuzz": "SELECT nothing FROM fuzz",
    }
    monkeypatch.setattr(module, "sql", lambda spark, query: spark.sql(instead[query]))
    with session() as running:
        rows, order, kind, refused, *same = differences(running, dict(enumerate(instead))).values()
    assert rows.startswith("a row [0, ")
    assert order.startswith("a row [23, ")
    assert kind.endswith("and in Spark struct<id:bigint,m:int>")
    assert refused.startswith("refused, and Spark takes it")
    assert same == [None, None]
