"""Running totals on streams: frames that begin with their key, with one total per key in place of its rows."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.errors import InvalidInput, StateError
from slidewise.registry import aggregations as registry
from slidewise.spark.streams.pipeline import Pipeline
from tests.spark.streams.microbatches import (
    SCHEMA,
    SECOND,
    START,
    Stream,
    batch,
    batches,
    expect,
    row,
    run,
    same,
    small_pieces,
    task_of,
)
from tests.support.aggregations import Concat, Deviation, Ends, Vwap, build
from tests.support.tiers import examples

__all__ = ["small_pieces"]

SO_FAR = sw.rows_between(-sw.UNBOUNDED, 0)
FRAMES = {
    "rows": SO_FAR,
    "peers": sw.range_between(-sw.UNBOUNDED, 0),
    "groups": sw.groups_between(-sw.UNBOUNDED, 0),
    "before": sw.rows_between(-sw.UNBOUNDED, -1),
    "third before": sw.rows_between(-sw.UNBOUNDED, -3),
    "until 4s ago": sw.range_between(-sw.UNBOUNDED, "-4s"),
    "two groups before": sw.groups_between(-sw.UNBOUNDED, -2),
    "and two after": sw.rows_between(-sw.UNBOUNDED, 2),
    "and 3s after": sw.range_between(-sw.UNBOUNDED, "3s"),
    "and the next group": sw.groups_between(-sw.UNBOUNDED, 1),
}
#: one of each kind of total
MIXED = {
    "total": sw.sum("x"),
    "n": sw.count(),
    "peak": sw.max("x"),
    "spread": sw.stddev("x"),
    "begin": sw.first("note"),
    "latest": sw.last("note", ignore_nulls=True),
    "third": sw.nth_value("odo", 3),
    "at_peak": sw.max_by("seq", "x"),
    "low": sw.min_by("note", "odo"),
    "notes": sw.approx_count_distinct("note"),
    "ends": Ends("odo"),
    "whole": sw.sum("odo", where="mark"),
}


def over(window, aggregations=None):
    return {name: aggregation.over(window) for name, aggregation in (aggregations or MIXED).items()}


def order_of(window):
    return "ts" if window.reach.unit == "range" else ("ts", "seq")


# ---- the same answers
@pytest.mark.parametrize("frame", FRAMES)
@examples(40)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_results_are_those_of_a_batch(frame, parts, delay):
    window = FRAMES[frame]
    aggregations = {n: a for n, a in MIXED.items() if window.reach.unit == "rows" or n not in ("begin", "latest", "third", "ends")}
    task = task_of(over(window, aggregations), order_by=order_of(window))
    stream = run(task, parts, delay)
    same(stream.result(), expect(task, parts, delay))
