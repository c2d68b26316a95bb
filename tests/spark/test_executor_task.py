"""What runs on an executor, without Spark: chunks of any size give what the engine of columns gives for all rows."""

from __future__ import annotations

import gc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from support.tiers import in_full, quick

import slidewise as sw
from slidewise.columns.batches import row_pass as module
from slidewise.columns.batches.chunk import Chunk
from slidewise.columns.with_columns import list_names, list_order
from slidewise.spark.executor.task import Task, TaskRun

RNG = np.random.default_rng(4)
COUNT = 1200


class Spread(sw.Aggregation):
    """One of a user's own, compiled."""

    identity = (float("inf"), float("-inf"))

    @staticmethod
    def lift(x, y):
        return (x + 0.0, y + 0.0)

    @staticmethod
    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def lower(s):
        return s[1] - s[0]


class Letters(sw.Aggregation):
    """One of a user's own, interpreted, whose partials do not grow."""

    @staticmethod
    def lift(s):
        return (s, s)

    @staticmethod
    def combine(a, b):
        return (a[0], b[1])

    @staticmethod
    def lower(s):
        return s[0] + s[1]


def _with_nulls(values: np.ndarray, share: float = 0.1) -> pa.Array:
    return pa.array(values, mask=RNG.random(COUNT) < share)


def _table() -> pa.Table:
    key = np.sort(RNG.integers(0, 11, COUNT) ** 2 // 20)
    when = RNG.integers(0, 200, COUNT)
    rows = np.lexsort((when, key))
    return pa.table(
        {
            "k": key,
            "ts": when[rows],
            "day": pa.array(when[rows] * 86_400_000_000, pa.timestamp("us", "Europe/Berlin")),
            "x": _with_nulls(RNG.normal(0, 1, COUNT)),
            "i": RNG.integers(-(2**40), 2**40, COUNT),
            "s": _with_nulls(RNG.choice(list("abcdefg"), COUNT)),
            "d": pa.array([Decimal(int(v)).scaleb(-2) for v in RNG.integers(-(10**6), 10**6, COUNT)]),
            "end": RNG.random(COUNT) < 0.05,
            "take": RNG.random(COUNT) < 0.5,
            "back": -RNG.integers(0, 20, COUNT),
            "walk": np.cumsum(RNG.integers(-3, 5, COUNT)),
        }
    )


TABLE = _table()
AGGREGATIONS = [
    sw.count(),
    sw.count("s", where="take"),
    sw.sum("x"),
    sw.sum("i"),
    sw.avg("d"),
    sw.stddev("x", where="take"),
    sw.max("x"),
    sw.min("s"),
    sw.first("s"),
    sw.last("x", ignore_nulls=True),
    sw.max_by("s", "x"),
    sw.min_by("i", "s"),
    sw.m4("i"),
    sw.median("x"),
    sw.mode("s"),
    sw.count_distinct("s"),
    sw.nth_value("x", 3),
    sw.collect_list("i"),
    Spread("i", "i"),
    Letters("s"),
]
MOVING = [
    sw.rows(1),
    sw.rows(40),
    sw.rows(20, min_rows=15),
    sw.rows_between(-5, 5),
    sw.rows_between(3, 9),
    sw.rows_between(-9, -3),
    sw.rows_between(-5, 5, exclude="ties"),
    sw.time(10),
    sw.time(5, closed="left"),
    sw.range_between(-5, 5, exclude="group"),
    sw.range_between(2, 6),
    sw.groups_between(-2, 1),
    sw.groups_between(-3, -1),
    sw.delta("walk", 10),
    sw.punctuation("end"),
    sw.session(1),
    sw.session(4),
]
RUNNING = [
    sw.rows_between(-sw.UNBOUNDED, 0),
    sw.rows_between(-sw.UNBOUNDED, -4),
    sw.rows_between(-sw.UNBOUNDED, 6),
    sw.range_between(-sw.UNBOUNDED, 0),
    sw.groups_between(-sw.UNBOUNDED, -2),
]
WHOLE = [
    sw.rows_between(sw.col("back"), 0),
    sw.rows_between(-3, sw.UNBOUNDED),
    sw.rows_between(-sw.UNBOUNDED, 0, exclude="ties"),
]


def results(expressions, partition_by="k", order_by="ts", table=TABLE, batch=33):
    """The results of a worker, and those of the engine of columns."""
    columns = {str(k): over for k, over in enumerate(expressions)}
    expected = sw.with_columns(table, partition_by=partition_by, order_by=order_by, **columns)
    expected = expected.select(list(columns)).combine_chunks()
    keys, order = tuple(list_names(partition_by, "")), tuple(list_order(order_by))
    task = Task(table.schema, keys, order, tuple(expressions), tuple(expected.schema.types))
    batches = (tuple(b.columns) for b in table.combine_chunks().to_batches(max_chunksize=batch))
    found = list(TaskRun(task).run(batches))
    rows = pa.chunked_array(found, pa.struct(expected.schema))
    return pa.Table.from_struct_array(rows), expected


def assert_same(found: pa.Table, expected: pa.Table, expressions) -> None:
    assert len(found) == len(expected)
    for over, ours, theirs in zip(expressions, found.columns, expected.columns, strict=True):
        if pa.types.is_floating(ours.type):
            assert ours.is_null().equals(theirs.is_null()), over
            pair = (np.nan_to_num(c.fill_null(0).to_numpy()) for c in (ours, theirs))
            assert np.allclose(*pair, rtol=1e-12, atol=1e-12), over  # a sum of cancelling values is as exact as they
        else:
            assert ours.to_pylist() == theirs.to_pylist(), over


@pytest.mark.parametrize("chunk", quick([1, 150], 150))
@pytest.mark.parametrize(
    "window", quick([*MOVING, *RUNNING, *WHOLE], MOVING[3], MOVING[7], MOVING[11], RUNNING[0]), ids=repr
)
def test_chunks_change_no_result(monkeypatch, window, chunk):
    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    expressions = [aggregation.over(window) for aggregation in AGGREGATIONS]
    assert_same(*results(expressions), expressions=expressions)


@pytest.mark.parametrize("seed", [0, *in_full(*range(1, 6))])
def test_many_windows_at_once(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(module, "CHUNK_ROWS", int(rng.choice([1, 20, 200])))
    windows = [*MOVING, *RUNNING, *(WHOLE if seed % 3 == 0 else [])]
    picks = zip(rng.integers(0, len(AGGREGATIONS), 12), rng.integers(0, len(windows), 12), strict=True)
    expressions = [AGGREGATIONS[a].over(windows[w]) for a, w in picks]
    assert_same(*results(expressions, batch=int(rng.choice([5, 40]))), expressions=expressions)


def test_months_across_changes_of_the_clock(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 20)
    windows = [sw.time("1 month"), sw.range_between("-2 months", "1 month"), sw.range_between("-3 months", "-1 month")]
    expressions = [sw.sum("i").over(window) for window in windows]
    assert_same(*results(expressions, order_by="day", batch=10), expressions=expressions)


def test_keys_of_any_type_are_told_apart(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 2)
    nan, negative = float("nan"), -0.0
    key = [None, None, negative, 0.0, 1.5, nan, nan]
    keys = {
        "float": pa.array(key),
        "struct": pa.array([None if k is None else {"a": k, "b": None} for k in key]),
        "list": pa.array([["a"], ["a"], ["b"], ["b"], None, [], []]),
        "binary": pa.array([b"", b"", b"a", b"a", b"b", None, None]),
    }
    for name, column in keys.items():
        table = pa.table({"k": column, "i": range(7)})
        task = Task(table.schema, ("k",), (), (sw.count().over(sw.rows(9)),), (pa.int64(),))
        found = [
            row["0"]
            for part in TaskRun(task).run((tuple(b.columns)) for b in table.to_batches(2))
            for row in part.to_pylist()
        ]
        assert found == [1, 2, 1, 2, 1, 1, 2], name


def one_key(rows: int) -> pa.Table:
    return pa.table({"ts": np.arange(rows), "x": RNG.normal(0, 1, rows), "s": RNG.choice(list("abc"), rows)})


@pytest.mark.full
@pytest.mark.parametrize(
    ("window", "most"),
    [
        (sw.rows(100), 100),
        (sw.time(100), 102),
        (sw.rows_between(-100, 50), 151),
        (sw.range_between(-100, 50, exclude="ties"), 152),
        (sw.groups_between(-30, 30), 62),
        (sw.delta("ts", 70), 72),
        (sw.rows_between(-sw.UNBOUNDED, 0), 8),
        (sw.rows_between(-sw.UNBOUNDED, 20), 28),
        (sw.range_between(-sw.UNBOUNDED, 0), 8),
    ],
    ids=repr,
)
def test_a_worker_keeps_the_window_and_not_the_key(monkeypatch, window, most):
    monkeypatch.setattr(module, "CHUNK_ROWS", 500)
    table = one_key(20_000)
    expressions = tuple(
        aggregation.over(window)
        for aggregation in (sw.max("x"), sw.sum("x"), sw.count(), sw.max_by("s", "x"), sw.last("s"), Spread("x", "x"))
    )
    kinds = tuple(pa.float64() if k != 2 else pa.int64() for k in range(3)), (pa.string(), pa.string(), pa.float64())
    worker = TaskRun(Task(table.schema, (), (*list_order("ts"),), expressions, (*kinds[0], *kinds[1])))
    come = 0
    longest = behind = 0

    def batches():
        nonlocal come
        for batch in table.to_batches(250):
            come += len(batch)
            yield tuple(batch.columns)

    given = 0
    gc.collect()
    gc.disable()
    try:
        for part in worker.run(batches()):
            given += len(part)
            longest = max(longest, len(worker._tail.table))
            behind = max(behind, come - given)
        chunks = [each for each in gc.get_objects() if isinstance(each, Chunk)]
    finally:
        gc.enable()
    assert not chunks  # chunks that are done do not wait for the collector
    assert given == 20_000
    assert longest <= most
    assert behind <= most  # no more rows are held back than needed


def test_nothing_comes_of_no_rows():
    task = Task(TABLE.schema, ("k",), (), (sw.count().over(sw.rows(3)),), (pa.int64(),))
    assert list(TaskRun(task).run(iter(()))) == []
    empty = tuple(pa.array([], kind) for kind in TABLE.schema.types)
    assert list(TaskRun(task).run(iter([empty]))) == []


def test_types_are_those_that_were_declared():
    """Spark may send text of 64-bit offsets, and times of another zone."""
    reads = pa.schema([("s", pa.string()), ("t", pa.timestamp("us", "UTC"))])
    expressions = (sw.max("s").over(sw.rows(2)), sw.max("t").over(sw.rows(2)))
    task = Task(reads, (), (), expressions, (pa.string(), pa.timestamp("us", "UTC")))
    batch = (pa.array(["a", "b"], pa.large_string()), pa.array([1, 2], pa.timestamp("us", "Asia/Tokyo")))
    (out,) = TaskRun(task).run(iter([batch]))
    assert out.type == pa.struct([("0", pa.string()), ("1", pa.timestamp("us", "UTC"))])
