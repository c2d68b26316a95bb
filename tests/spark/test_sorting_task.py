"""Sorting in Python, without Spark: rows in any order give what the engine of columns gives, in memory and by disk."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.columns.batches import row_pass as task_module
from slidewise.columns.with_columns import list_names, list_order
from slidewise.spark.executor import arrival_order, sorted_runs
from slidewise.spark.executor.row_sorter import RowOrder
from slidewise.spark.executor.sorting_task import SortingTask
from slidewise.spark.executor.spill_file import SpillFile
from slidewise.spark.executor.task import Task

MEMORY = 1 << 30
#: bytes, of which a hundred rows are more
TINY = 6_000


def build_table(seed: int, rows: int) -> pa.Table:
    """Rows in random order, with nulls, NaN and -0.0, and ties in every column but the last."""
    rng = np.random.default_rng(seed)

    def with_nulls(values, kind=None):
        return pa.array(values, kind, mask=rng.random(rows) < 0.1)

    floats = rng.choice([float("nan"), -0.0, 0.0, 1.5, float("inf"), -float("inf"), -2.0], rows)
    cents = [Decimal(int(v)).scaleb(-2) for v in rng.integers(-50, 50, rows)]
    return pa.table(
        {
            "int": with_nulls(rng.integers(-3, 4, rows)),
            "float": with_nulls(floats),
            "text": with_nulls(rng.choice(["", "a", "b", "é", "aa"], rows)),
            "flag": with_nulls(rng.random(rows) < 0.5),
            "cents": with_nulls(cents, pa.decimal128(10, 2)),
            "long": with_nulls([c * 10**20 for c in cents], pa.decimal128(38, 2)),
            "day": with_nulls(rng.integers(0, 20, rows).astype(np.int32), pa.date32()),
            "when": with_nulls(rng.integers(-5, 40, rows), pa.timestamp("us", "Europe/Berlin")),
            "bytes": with_nulls([bytes([b]) * 2 for b in rng.integers(0, 200, rows).tolist()], pa.binary()),
            "x": with_nulls(rng.normal(size=rows)),
            "id": pa.array(rng.permutation(rows)),
        }
    )


EXPRESSIONS = (
    sw.max("x").over(sw.rows(5)),
    sw.collect_list("id").over(sw.rows_between(-2, 1)),
    sw.first("text").over(sw.rows(3)),
    sw.count().over(sw.rows_between(-sw.UNBOUNDED, 0)),
    sw.bool_or("flag").over(sw.rows(2)),
)


def compute(table, keys, order_by, limit, expressions=EXPRESSIONS, batch=37):
    """The results of a sorting task, and those of the engine of columns, both in the order of the rows."""
    sorting, expected = build(table, keys, order_by, limit, expressions)
    found = pa.chunked_array(list(sorting.run(batches_of(table, sorting, batch))), pa.struct(list(expected.schema)))
    return pa.Table.from_struct_array(found), expected


def batches_of(table, sorting, batch=37):
    return (tuple(b.columns) for b in table.select(sorting.reads.names).combine_chunks().to_batches(batch))


def build(table, keys, order_by, limit, expressions=EXPRESSIONS):
    """A sorting task, and the results of the engine of columns in the order of the rows."""
    columns = {str(k): over for k, over in enumerate(expressions)}
    expected = sw.with_columns(table, partition_by=keys, order_by=order_by, **columns).select(list(columns))
    names, order = tuple(list_names(keys, "")), tuple(list_order(order_by))
    reads = pa.schema(
        [table.schema.field(n) for n in dict.fromkeys([*names, *(n for o in expressions for n in o.aggregation.reads)])]
    )
    more = [table.schema.field(by.name) for by in order if by.name not in reads.names]
    task = Task(reads, names, (), tuple(expressions), tuple(expected.schema.types))
    return SortingTask(task, pa.schema([*reads, *more]), RowOrder(names, order), limit), expected


ORDERS = [
    "id",
    ["when", "id"],
    [sw.desc("float"), "id"],
    [sw.asc("text", nulls="last"), sw.desc("day", nulls="first"), "id"],
    ["cents", "long", "bytes", "id"],
    ["when"],
    [],
]
KEYS = [None, "int", "float", ["text", "flag"], ["cents", "day"], "when", "bytes"]


def assert_equal(found: pa.Table, expected: pa.Table) -> None:
    for name in expected.column_names:
        assert found[name].type == expected[name].type
        assert repr(found[name].to_pylist()) == repr(expected[name].to_pylist()), name  # NaN is NaN


@pytest.mark.parametrize("limit", [MEMORY, TINY])
@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order_by", ORDERS, ids=repr)
@pytest.mark.parametrize("keys", KEYS, ids=repr)
def test_rows_in_any_order(keys, order_by, seed, limit):
    """Ties are as rows came: the engine of columns has them so, too."""
    assert_equal(*compute(build_table(seed, 200), keys, order_by, limit))


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("limit", [MEMORY, 1])
def test_few_rows(rows, limit):
    assert_equal(*compute(build_table(7, rows), "int", "id", limit))


def test_runs_are_merged_in_several_passes(monkeypatch):
    monkeypatch.setattr(sorted_runs, "RUNS", 3)
    monkeypatch.setattr(sorted_runs, "BATCH_ROWS", 50)
    monkeypatch.setattr(arrival_order, "BATCH_ROWS", 100)
    monkeypatch.setattr(task_module, "CHUNK_ROWS", 60)
    for order_by in ("id", ["when"], [sw.desc("float"), "text"]):
        assert_equal(*compute(build_table(3, 600), "int", order_by, TINY))


@pytest.mark.parametrize("limit", [MEMORY, TINY])
def test_columns_may_have_the_names_of_ours(limit):
    table = build_table(6, 300).rename_columns({"id": "__slidewise_place", "int": "place", "x": "0"})
    made = [sw.max("0").over(sw.rows(5)), sw.sum("__slidewise_place").over(sw.rows(3))]
    assert_equal(*compute(table, "place", "__slidewise_place", limit, made))


@pytest.mark.parametrize("by", ["id", "when"])
def test_rows_that_are_in_order_and_in_reverse(by):
    table = build_table(5, 250)
    for direction in ("ascending", "descending"):
        assert_equal(*compute(table.sort_by([("int", "ascending"), (by, direction)]), "int", by, TINY))


@pytest.mark.full
def test_memory_is_bounded_by_the_limit(monkeypatch):
    """What waits in memory, of rows and of results, at any time."""
    limit, held = 200_000, []
    write = SpillFile.write

    def watch(file, batch):
        held.append(pa.total_allocated_bytes() - before)
        return write(file, batch)

    monkeypatch.setattr(SpillFile, "write", watch)
    monkeypatch.setattr(task_module, "CHUNK_ROWS", 500)
    monkeypatch.setattr(sorted_runs, "BATCH_ROWS", 500)
    monkeypatch.setattr(arrival_order, "BATCH_ROWS", 500)
    rng = np.random.default_rng(1)
    rows = 30_000
    reads = pa.schema([("x", pa.float64()), ("id", pa.int64())])
    task = Task(pa.schema([reads.field("x")]), (), (), (sw.max("x").over(sw.rows(9)),), (pa.float64(),))
    before = pa.total_allocated_bytes()
    batches = ((pa.array(rng.normal(size=500)), pa.array(rng.integers(0, 1 << 40, 500))) for _ in range(rows // 500))
    run = SortingTask(task, reads, RowOrder((), tuple(list_order("id"))), limit).run(batches)
    assert sum(map(len, run)) == rows
    assert len(held) > 100
    assert max(held) < 2 * limit


def test_nothing_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere/at/all")
    places = []
    write = SpillFile.write

    def watch(file, batch):
        place = write(file, batch)
        places.append(Path(f"/proc/self/fd/{file._file.fileno()}").readlink())
        return place

    monkeypatch.setattr(SpillFile, "write", watch)
    assert_equal(*compute(build_table(2, 300), "int", "id", TINY))
    assert {place.parent for place in places} == {tmp_path}
    assert not list(tmp_path.iterdir())


# ---- values that are carried, and many results
def build_nested(rows: int) -> pa.Table:
    """Structs and lists as values, with nulls in them and around them."""
    rng = np.random.default_rng(9)
    numbers = [None if n < 2 else int(n) for n in rng.integers(0, 12, rows)]
    pairs = [None if n == 3 else {"a": n, "b": [n, None]} for n in numbers]
    return (
        build_table(9, rows)
        .append_column("pair", pa.array(pairs))
        .append_column("many", pa.array([None if n == 5 else [n] * (n or 0) for n in numbers]))
    )


@pytest.mark.parametrize("limit", [MEMORY, TINY])
def test_structs_and_lists_are_handed_back(limit):
    carried = [
        made(name).over(sw.rows_between(-2, 1))
        for name in ("pair", "many", "bytes", "long", "when", "day", "flag")
        for made in (sw.last, sw.first, sw.collect_list)
    ]
    numbers = [sw.sum("x").over(sw.rows(n)) for n in range(2, 30)]
    assert_equal(*compute(build_nested(300), "int", [sw.desc("float"), "id"], limit, [*carried, *numbers]))


@pytest.mark.parametrize("limit", [MEMORY, TINY])
@pytest.mark.parametrize("by", ["id", ["int", "id"]], ids=repr)
def test_rows_that_stand_in_order_are_not_collected_again(by, limit, monkeypatch):
    """Where there is no key, or keys stand together; by way of disk they are merged."""
    made = []
    real = arrival_order.ArrivalOrder.__init__
    monkeypatch.setattr(arrival_order.ArrivalOrder, "__init__", lambda *args: (made.append(args), real(*args))[1])
    table = build_table(4, 300).sort_by([("int", "ascending"), ("id", "ascending")] if by != "id" else "id")
    assert_equal(*compute(table, None if by == "id" else "int", "id", limit))
    assert len(made) == (limit == TINY)


# ---- tasks that end before their end
def count_open_files() -> int:
    """How many files of spilled rows this process has open: their names are gone, and their space with the last."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(descriptor.readlink()))
        except OSError:  # that of the listing itself
            continue
    return sum("slidewise-" in link or "(deleted)" in link for link in links)


class Failing(sw.Aggregation):
    """Fails where it meets a row."""

    commutative = True

    @staticmethod
    def lift(x: int) -> int:
        if x == 77:
            raise ValueError("no 77")
        return x

    @staticmethod
    def combine(a: int, b: int) -> int:
        return max(a, b)


def test_a_cancelled_task_leaves_no_file():
    table, before = build_table(2, 400), count_open_files()
    sorting, _ = build(table, "int", "id", TINY)
    run = sorting.run(batches_of(table, sorting))
    next(run)
    assert count_open_files() > before  # of results; that of rows is closed as soon as all are computed
    run.close()
    assert count_open_files() == before


@pytest.mark.filterwarnings("ignore::slidewise.errors.CompileFallback")
def test_a_failing_aggregate_leaves_no_file():
    table, before = build_table(2, 400), count_open_files()
    sorting, expected = build(table, "int", "id", TINY)
    failing = replace(sorting.task, expressions=(Failing("id").over(sw.rows(3)),), kinds=(pa.int64(),))
    failing = replace(sorting, task=failing)
    with pytest.raises(ValueError, match="no 77"):
        list(failing.run(batches_of(table, failing)))
    assert count_open_files() == before
    # The same task, tried again.
    found = pa.chunked_array(list(sorting.run(batches_of(table, sorting))), pa.struct(list(expected.schema)))
    assert_equal(pa.Table.from_struct_array(found), expected)


def test_input_that_fails_leaves_no_file():
    table, before = build_table(2, 400), count_open_files()
    sorting, _ = build(table, "int", "id", TINY)

    def lose_connection():
        for k, batch in enumerate(batches_of(table, sorting)):
            if k == 9:
                raise OSError("the other side is gone")
            yield batch

    with pytest.raises(OSError, match="is gone"):
        list(sorting.run(lose_connection()))
    assert count_open_files() == before
