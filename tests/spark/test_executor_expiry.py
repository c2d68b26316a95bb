"""empty=True on an executor, without Spark: chunks of any size give what the engine of columns gives."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.tiers import examples
from test_executor_effects import ROW, assert_same, build_table

import slidewise as sw
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.stream_options import BatchEffects
from slidewise.columns.with_columns import list_order
from slidewise.spark.executor import expiry_task as module
from slidewise.spark.executor.expiry_task import ExpiryTask

OPTIONS = {"partition_by": "k", "order_by": "ts", "emit": "changes", "empty": True}


def run(table, expected, expressions, forget_after, size, slides=False):
    effects = BatchEffects(True, "ts", forget_after, empty=True)
    order = tuple(list_order("ts"))
    task = ExpiryTask(table.schema, expected.schema, ("k",), order, expressions, effects, slides)
    return pa.Table.from_batches(task.run(table.combine_chunks().to_batches(size)), expected.schema)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROW, min_size=1, max_size=40), st.sampled_from([None, 2, 6]), st.integers(1, 9), st.integers(1, 12))
def test_rows_are_those_of_the_engine_of_columns(monkeypatch, drawn, forget_after, size, chunk):
    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    over = {"n": sw.count().over(sw.time(3)), "peak": sw.max("x").over(sw.rows(2)), "x": sw.sum("odo").over(sw.time(5))}
    table = build_table(drawn)
    expected = sw.with_columns(table, over, forget_after=forget_after, **OPTIONS)
    found = run(table, expected, over, forget_after, size)
    order = [("k", "ascending"), ("ts", "ascending")]
    # Rows of equal time are in the order of the input, and come before those of times without rows.
    assert_same(found.sort_by(order).to_pylist(), expected.sort_by(order))


@pytest.mark.parametrize("window", [sw.time(5, every=2), sw.time(6, every=2, cumulative=True), sw.time(2, every=5)])
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(ROW, min_size=1, max_size=40), size=st.integers(1, 9), chunk=st.integers(1, 12))
def test_windows_are_those_of_the_engine_of_columns(monkeypatch, window, drawn, size, chunk):
    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    table, results = build_table(drawn), {"n": sw.count(), "peak": sw.max("odo")}
    expected = sw.aggregate(table, results, window=window, **OPTIONS)
    found = run(table, expected, slide_expressions(window, results, "auto"), None, size, slides=True)
    assert_same(found.to_pylist(), expected)
