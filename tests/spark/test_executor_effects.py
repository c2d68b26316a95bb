"""Options for streams on an executor, without Spark: chunks of any size give what the engine of columns gives."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.batches import row_pass as module
from slidewise.columns.stream_options import BatchEffects
from slidewise.columns.with_columns import list_order
from slidewise.events.result import are_alike
from slidewise.spark.executor.slide_task import SlideTask
from slidewise.spark.executor.task import Task

ROW = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([0, 0, 1, 1, 2, 7]),
    st.sampled_from([None, math.nan, 1.0, 1.0, 2.0]), st.integers(0, 3), st.booleans(),
)  # fmt: skip
WINDOWS = [
    sw.rows(2), sw.rows(1), sw.rows(9, min_rows=2), sw.time(3), sw.rows_between(-1, 2), sw.range_between(-2, 2),
    sw.rows_between(-sw.UNBOUNDED, 0), sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED), sw.delta("odo", 1),
    sw.punctuation("mark"), sw.groups_between(-1, 0), sw.session(1),
]  # fmt: skip
AGGREGATIONS = [sw.count(), sw.max("x"), sw.sum("odo"), sw.first("x"), sw.median("odo"), sw.collect_list("odo")]
SLIDES = [
    sw.time(5, every=2), sw.rows(3, every=2), sw.rows(4, every=sw.time(3)), sw.range_between(-4, 0, every=2),
    sw.time(4, every=sw.delta("odo", 1)), sw.rows(3, every=sw.punctuation("mark")), sw.rows(5, every=2, min_rows=3),
    sw.rows_between(-sw.UNBOUNDED, 0, every=2), sw.session(1), sw.session(4),
    sw.time(6, every=2, cumulative=True), sw.time(2, every=5),
]  # fmt: skip


def build_table(drawn) -> pa.Table:
    """Rows as Spark has sorted them: by key, and by time."""
    rows, now = [], 0
    for key, step, x, odo, mark in drawn:
        now += step
        rows.append({"k": key, "ts": now, "x": x, "odo": odo, "mark": mark})
    rows.sort(key=lambda row: (row["k"] is not None, row["k"] or "", row["ts"]))
    kinds = [("k", pa.string()), ("ts", pa.int64()), ("x", pa.float64()), ("odo", pa.int64()), ("mark", pa.bool_())]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def assert_same(found: list[dict], expected: pa.Table) -> None:
    assert are_alike(found, expected.to_pylist()), (found, expected.to_pylist())


OPTIONS = st.sampled_from([(True, None), (False, 1), (False, 5), (True, 2), (True, 6)])


@pytest.fixture(params=[1, 3, 8])
def chunks(request, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", request.param)
    monkeypatch.setattr(module, "TAILS", 0)  # so that the longest tails are cut, too


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROW, min_size=1, max_size=40), st.data(), OPTIONS, st.integers(1, 9))
def test_rows_are_those_of_the_engine_of_columns(chunks, drawn, data, option, size):
    changes, forget_after = option
    pairs = st.tuples(st.sampled_from(AGGREGATIONS), st.sampled_from(WINDOWS))
    overs = [each.over(window) for each, window in data.draw(st.lists(pairs, min_size=1, max_size=3))]
    expressions = {f"c{k}": over for k, over in enumerate(overs)}
    table = build_table(drawn)
    options = {"emit": "changes" if changes else None, "forget_after": forget_after}
    expected = sw.with_columns(table, partition_by="k", order_by="ts", **options, **expressions)
    kinds = tuple(expected[name].type for name in expressions)
    task = Task(
        table.schema, ("k",), tuple(list_order("ts")), tuple(overs), (*kinds, *([pa.bool_()] if changes else [])),
        effects=BatchEffects(changes, "ts", forget_after),
    )  # fmt: skip
    made = pa.concat_arrays(list(task.run(tuple(b.columns) for b in table.combine_chunks().to_batches(size))))
    assert len(made) == len(table)
    rows = [dict(zip(expressions, each.values(), strict=False)) for each in made.to_pylist()]
    kept = made.field(len(overs)).to_pylist() if changes else [True] * len(table)
    found = [row | new for row, new, keep in zip(table.to_pylist(), rows, kept, strict=True) if keep]
    assert_same(found, expected)


@pytest.mark.parametrize("window", SLIDES, ids=repr)
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(ROW, min_size=1, max_size=40), option=OPTIONS, size=st.integers(1, 9))
def test_slides_are_those_of_the_engine_of_columns(chunks, window, drawn, option, size):
    changes, forget_after = option
    if forget_after is not None and window.slide_kind == "time":
        forget_after += 2  # at least as long as the slide
    table = build_table(drawn)
    results = {"n": sw.count(), "peak": sw.max("x")}
    options = {"emit": "changes" if changes else None, "forget_after": forget_after}
    call = {"partition_by": "k", "order_by": "ts", "window": window}
    expected = sw.aggregate(table, **call, **options, **results)
    task = SlideTask(
        table.schema, ("k",), tuple(list_order("ts")), tuple(slide_expressions(window, results, "auto").values()),
        tuple(expected.schema.types), effects=BatchEffects(changes, "ts", forget_after),
        names=tuple(expected.column_names),
    )  # fmt: skip
    found = [row for part in task.run(table.combine_chunks().to_batches(size)) for row in part.to_pylist()]
    assert_same(found, expected)


def test_slides_are_numbered_across_chunks(chunks):
    table = build_table([("a", 1, 1.0, 0, False)] * 23)
    window, results = sw.rows(3, every=4), {"n": sw.count()}
    call = {"partition_by": "k", "order_by": "ts", "window": window, "late": "revise", "keep": 1}
    expected = sw.aggregate(table, **call, **results).drop_columns(["revision"])
    assert expected["row"].to_pylist() == [4, 8, 12, 16, 20]
    task = SlideTask(
        table.schema, ("k",), tuple(list_order("ts")), tuple(slide_expressions(window, results, "auto").values()),
        tuple(expected.schema.types), effects=BatchEffects(revises=True), names=tuple(expected.column_names),
    )  # fmt: skip
    found = [row for part in task.run(table.combine_chunks().to_batches(5)) for row in part.to_pylist()]
    assert_same(found, expected)
