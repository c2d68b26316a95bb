"""Rows are let go when a call has ended, and do not wait for the collector of cycles."""

import gc

import numpy as np
import pyarrow as pa
import pytest
from support.tiers import in_full, in_soak

import slidewise as sw
from slidewise.columns.arranged import ArrangedFrame, RowView

TABLE = pa.table(
    {"k": [1, 1, 2, 2, 2], "t": [3, 1, 5, 4, 9], "x": [1.0, None, 3.0, 4.0, 5.0], "s": ["a", "b", None, "a", "c"],
     "flag": [True, False, True, True, False], "n": [0, 1, 1, 0, 2]}
)  # fmt: skip
#: of every way to find bounds one in the full tier
WINDOWS = [
    *in_full(sw.rows(2), sw.delta("n", 1), sw.session(2), sw.rows_between(-2, 1, exclude="ties")),
    *in_soak(
        sw.time(3), sw.range_between(-2, 2), sw.groups_between(-1, 1), sw.punctuation("flag"),
        sw.rows_between(sw.col("n"), 2), sw.rows_between(-sw.UNBOUNDED, 0),
    ),
]  # fmt: skip
AGGREGATES = [
    sw.max("x"), sw.sum("x"), sw.median("x"), sw.max("s"), sw.first("s"), sw.mode("s"), sw.count_distinct("s"),
    sw.collect_list("s"), sw.max_by("s", "x"), sw.count(where="flag"), sw.stddev("x"), sw.var_pop("x"), sw.avg("n"),
]  # fmt: skip


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left(*kinds):
    return [
        type(each).__name__ for each in gc.get_objects() if issubclass(type(each), kinds)
    ]  # a dead weak proxy has no class


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_with_columns(window, no_collector):
    for aggregate in AGGREGATES:
        sw.with_columns(TABLE, partition_by="k", order_by="t", r=aggregate.over(window))
        assert not left(ArrangedFrame, RowView), aggregate


def test_aggregate(no_collector):
    for window in (sw.time(4, every=2), sw.rows(2, every=2), sw.rows(3, every=sw.punctuation("flag"))):
        columns = {f"r{k}": aggregate for k, aggregate in enumerate(AGGREGATES)}
        sw.aggregate(TABLE, partition_by="k", order_by="t", window=window, **columns)
        assert not left(ArrangedFrame, RowView), window


def test_errors(no_collector):
    with pytest.raises(OverflowError):
        sw.with_columns({"x": np.array([2**62, 2**62])}, r=sw.sum("x").over(sw.rows(2)))
    assert not left(ArrangedFrame, RowView)


class Evaluated(sw.Aggregation):
    """numba cannot compile it."""

    identity = 0.0

    @staticmethod
    def lift(x):
        return eval("1.0") * x

    @staticmethod
    def combine(a, b):
        return a + b


@pytest.mark.compiled
def test_what_cannot_be_compiled():
    with pytest.warns(sw.CompileFallback):
        sw.with_columns(TABLE, r=Evaluated("x").over(sw.rows(2)))
    gc.collect()  # numba itself makes cycles
    assert not left(ArrangedFrame, RowView)
