"""Aggregations of your own with parameters, on executors: those of each, however its class takes them."""

import pytest
from support.tiers import in_full

import slidewise as sw

X = [3.0, 12.0, 7.0, 40.0]


def make_object(column, top):
    class Untold(sw.Aggregation):
        """Tells the base class nothing of its parameter, which has a default."""

        identity = 0.0
        commutative = True

        def __init__(self, column, top=10.0):
            super().__init__(column)
            self.lift = lambda x: min(x, top)

        @staticmethod
        def combine(a, b):
            return a + b

    return Untold(column, top)


def make_class(column, top):
    class Made(sw.Aggregation):
        identity = 0.0
        commutative = True

        @staticmethod
        def lift(x):
            return min(x, top)

        @staticmethod
        def combine(a, b):
            return a + b

    return Made(column)


@pytest.mark.parametrize("own", [make_object, *in_full(make_class)])
def test_executors_have_the_parameters_of_each(session, own):
    df = session.createDataFrame(list(enumerate(X)), "i int, x double")
    out = sw.with_columns(
        df, order_by="i", low=own("x", top=5.0).over(sw.rows(2)), high=own("x", top=15.0).over(sw.rows(2))
    )
    rows = sw.aggregate(df, order_by="i", window=sw.rows(2, every=2), low=own("x", top=5.0), high=own("x", top=15.0))
    found = [[(row.low, row.high) for row in df.orderBy("i").collect()] for df in (out, rows)]
    assert found == [[(3.0, 3.0), (8.0, 15.0), (10.0, 19.0), (10.0, 22.0)], [(8.0, 15.0), (10.0, 22.0)]]
