"""push_many gives what push gives for one row after the other, whatever the splits and whatever comes between."""

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Deviation, Listed, build
from support.tiers import examples
from window_streams import PER_ROW, SIZES, SLIDES, random_rows, window_of

import slidewise as sw
from slidewise.events import column_state
from slidewise.registry.aggregations import AGGREGATIONS

#: results that have no type of a column, or none that is the same by another way
OBJECTS = ("approx_percentile", "approx_count_distinct", "count_min_sketch", "bloom_filter", "moment_sketch")
#: what they take: logical values, integers, texts
BOOLEANS, INTEGERS, TEXTS = ("bool_and", "bool_or"), ("bit_and", "bit_or", "bit_xor"), ("string_agg",)


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """Let batches of a few rows go by columns, too."""
    before = column_state.CALL, column_state.WORTH
    column_state.CALL, column_state.WORTH = 0, 10**9
    yield
    column_state.CALL, column_state.WORTH = before


def rows_of(results, keys, names, timed=True, more=()):
    """Results of push as rows of the table of push_many."""
    out = []
    for result in results:
        row = {} if keys is None else {keys: result.key}
        row |= {"t": result.time} if timed else {}
        row |= {field: getattr(result, field) for field in more}
        out.append(row | ({"value": result.value} if names is None else {n: result.value.get(n) for n in names}))
    return out


def are_close(a, b):
    if isinstance(a, float) and isinstance(b, float | int):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(are_close, a, b))
    if isinstance(a, dict) and isinstance(b, tuple):  # a struct
        return are_close(tuple(a.values()), b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(are_close(a[k], b[k]) for k in a)
    return bool(a == b)


def check_same(found, expected):
    assert len(found) == len(expected), (found, expected)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert are_close(a, b), (k, a, b)


SCHEMA = pa.schema(
    {"v": pa.int64(), "t": pa.int64(), "c": pa.int64(), "p": pa.bool_(), "key": pa.string(), "back": pa.int64(),
     "ahead": pa.int64(), "f": pa.float64()}
)  # fmt: skip


def schema_of(stream):
    more = {name for row in stream for name in row} - set(SCHEMA.names)
    return pa.schema([*SCHEMA, *(pa.Table.from_pylist(stream).schema.field(name) for name in sorted(more))])


def split(random, count):
    """Where batches end: some of them empty, of one row, or all."""
    return [0, *sorted(random.choices(range(count + 1), k=random.randint(0, 5))), count]


def take_in_parts(make, stream, random, describe, mixed=True):
    """Rows of results, by batches of any size, with rows by push and saved states in between."""
    w, out, ends = make(), [], split(random, len(stream))
    for start, end in pairwise(ends):
        part = stream[start:end]
        if mixed and random.random() < 0.2:
            for row in part:
                out += describe(w.push(row, time=row["t"]))
            continue
        if mixed and random.random() < 0.2:
            w = w.from_bytes(w.to_bytes())
        out += w.push_many(pa.Table.from_pylist(part, schema_of(stream)), time="t").to_pylist()
    return out + describe(w.flush())


def check(aggregations, window, stream, random, mixed=True, more=("row",), **options):
    def make():
        return sw.Window(aggregations, window, partition_by="key", **options)

    def describe(results):
        return rows_of(results, "key", list(aggregations), more=more)

    w = make()
    expected = describe([result for row in stream for result in w.push(row, time=row["t"])] + w.flush())
    check_same(take_in_parts(make, stream, random, describe, mixed), expected)


def fields_of(window):
    gives = ("start", "end") if window.gives_windows else ()
    return (() if window.slide_kind == "time" else ("row",)) + gives


@pytest.mark.parametrize("size", PER_ROW)
def test_every_window(size):
    for seed, slide in enumerate(SLIDES if size in SIZES else ["each row"]):
        window = window_of(size, slide)
        stream = random_rows(Random(seed), 25)
        aggregations = {"all": Listed("v"), "top": sw.max("c")}
        window = sw.Window(aggregations, window).window  # a session is one result here
        check(aggregations, window, stream, Random(seed), more=fields_of(window))


WINDOWS = [
    sw.rows(1), sw.rows(4), sw.rows(3, min_rows=2), sw.time(5), sw.range_between(0, 0), sw.time(3, closed="right"),
    sw.time(3, closed="left"), sw.time(3, closed="neither"), sw.range_between(-6, 0), sw.rows_between(-2, 0),
]  # fmt: skip


@examples(200)
@given(window=st.sampled_from(WINDOWS), seed=st.integers(0, 10**6), count=st.integers(0, 60), keys=st.integers(1, 4))
def test_any_split_by_columns(window, seed, count, keys):
    stream = random_rows(Random(seed), count, keys="abcd"[:keys])
    for row in stream:
        row["f"] = Random(row["v"] + seed).choice([None, math.nan, -0.0, 1.5, 1e9, -7.25])
    aggregations = {
        "n": sw.count(),
        "total": sw.sum("v"),
        "mean": sw.avg("f"),
        "mid": sw.median("c"),
        "top": sw.max("f"),
    }
    check(aggregations, window, stream, Random(seed))


def value_for(name, random):
    if name in BOOLEANS:
        return random.random() < 0.5
    if name in TEXTS:
        return random.choice("xyz")
    return random.randint(0, 9) if name in INTEGERS else random.choice([None, *(k / 2 for k in range(1, 9))])


@pytest.mark.parametrize("name", [entry.name for entry in AGGREGATIONS if entry.name not in OBJECTS])
def test_every_aggregation(name):
    random = Random(name)
    columns = ["x", "y", "z"][: build(name).arity]
    stream = random_rows(random, 40)
    for row in stream:
        row |= {column: value_for(name, random) for column in columns}
    for window in (sw.rows(4), sw.time(5)):
        check({"result": build(name, *columns)}, window, stream, random)


@pytest.mark.parametrize("name", OBJECTS[:2])
def test_sketches(name):
    random = Random(3)
    stream = random_rows(random, 40)
    check({"result": build(name, "c")}, sw.rows(4), stream, random)


def test_goes_by_columns_from_the_first_batch_on_and_again_after_push():
    w = sw.Window(sw.max(), sw.rows(3))
    w.push_many(np.arange(5.0))
    assert w._columns is not None and w._columns.complete and not w._engines
    w.push(9.0)
    assert w._columns is None and w._engines
    w.push_many(np.array([1.0, 2.0]))
    assert w._columns is not None and not w._columns.complete
    assert w.push_many(np.array([3.0])).to_pydict() == {"row": [9], "value": [3.0]}
    assert w._columns.complete and not w._engines


def test_the_speed_of_a_batch_is_asked_for():
    before = column_state.CALL, column_state.WORTH
    column_state.CALL, column_state.WORTH = 20_000, 200
    try:
        few, many = sw.Window(sw.max(), sw.rows(3)), sw.Window(sw.max(), sw.rows(3))
        few.push_many(np.arange(10.0))
        many.push_many(np.arange(1000.0))
        assert few._columns is None and few._engines and many._columns is not None
        assert few.push(2.5)[0].value == 9.0 and many.push(2.5)[0].value == 999.0
    finally:
        column_state.CALL, column_state.WORTH = before


def test_batches_of_every_kind():
    import pandas as pd
    import polars as pl

    data = {"x": [1.0, 4.0, 2.0], "at": [1, 2, 3]}
    table = pa.table(data)
    kinds = [
        data, table, table.to_batches()[0], table.to_reader(), pd.DataFrame(data), pl.DataFrame(data),
        {name: np.array(column) for name, column in data.items()},
    ]  # fmt: skip
    for batch in kinds:
        w = sw.Window({"top": sw.max("x")}, sw.time(10))
        assert w.push_many(batch, time="at").to_pydict() == {"at": [1, 2], "row": [1, 2], "top": [1.0, 4.0]}
    for values in (data["x"], np.array(data["x"]), pa.array(data["x"]), pd.Series(data["x"]), pl.Series(data["x"])):
        w = sw.Window(sw.max(), sw.rows(2))
        assert w.push_many(values).to_pydict() == {"row": [1, 2, 3], "value": [1.0, 4.0, 4.0]}


def test_values_of_several_arrays_and_keys_beside():
    w = sw.Window(sw.max_by(), sw.rows(2))
    found = w.push_many((np.array([1, 2, 3]), np.array([5.0, 9.0, 1.0])), key=["a", "a", "b"])
    assert found.to_pydict() == {"key": ["a", "a", "b"], "row": [1, 2, 1], "value": [1, 2, 3]}
    assert w.push((4, 0.0), key="a")[0].value == 2


def test_times_that_are_datetimes():
    begin = datetime(2026, 1, 1, 12, tzinfo=UTC)
    times = [begin + timedelta(minutes=20 * k) for k in range(8)]
    w = sw.Window(sw.count(), sw.time("1h"))
    one = sw.Window(sw.count(), sw.time("1h"))
    found = [row for k in (0, 4) for row in w.push_many(np.arange(4), time=pa.array(times[k : k + 4])).to_pylist()]
    expected = [r for k in range(8) for r in one.push(k, time=times[k])]
    assert [(row["time"], row["value"]) for row in found] == [(r.time, r.value) for r in expected]
    assert w.watermark == one.watermark and w.flush() == one.flush()


def test_times_of_a_data_frame_are_saved():
    """Its type has nanoseconds, which pandas would give back in a type of its own."""
    times = np.arange(600).astype("M8[m]").astype("M8[ns]")
    w = sw.Window(sw.count(), sw.time("1h"))
    w.push_many(np.zeros(600), time=times)
    assert [r.value for r in w.peek()] == [61]
    assert w.from_bytes(w.to_bytes()).flush() == w.flush() != []


def test_rows_out_of_order():
    times = [1, 5, 3, 6, 2, 9]
    for late in ("drop", "mark", "revise"):
        options = {"late": late}
        one, many = sw.Window(sw.count(), sw.time(4), **options), sw.Window(sw.count(), sw.time(4), **options)
        expected = [r for t in times for r in one.push(0, time=t)]
        found = many.push_many(np.zeros(6), time=np.array(times)).to_pylist()
        assert [(row["time"], row["value"]) for row in found] == [(r.time, r.value) for r in expected]
        assert many.dropped == one.dropped and many.flush() == one.flush()


def test_a_late_row_is_refused_and_the_results_before_it_are_owed():
    w = sw.Window(sw.count(), sw.time(4))
    with pytest.raises(sw.LateRow, match="the row of 3 is late") as caught:
        w.push_many(np.zeros(4), time=np.array([1, 5, 3, 6]))
    assert "in row 2 of the batch" in caught.value.__notes__[0]
    assert w.push_many(np.zeros(1), time=np.array([6])).to_pydict() == {
        "time": [1, 5], "row": [1, 2], "value": [1, 2],
    }  # fmt: skip


def test_a_sum_that_leaves_64_bits_fails_as_with_push():
    w = sw.Window(sw.sum(), sw.rows(2))
    with pytest.raises(OverflowError):
        w.push_many(np.array([1, 2**63 - 1, 5]))
    w = sw.Window(sw.sum(), sw.rows(2))
    w.push_many(np.array([1, 2]))
    with pytest.raises(OverflowError):
        w.push_many(np.array([2**63 - 1, -5]))
    assert [r.value for r in w.push(7)] == [2**63 - 6, 2]  # the rows after it were taken


@pytest.mark.parametrize("saves", [False, True])
def test_batches_and_rows_are_taken_though_errors_of_earlier_rows_are_owed(saves):
    """Each call raises one of them, and none costs a row, nor comes as a result."""
    w = sw.Window({"s": sw.sum("x")}, sw.rows(2))
    found, failed, taken = [], 0, 0

    def attempt(do, *args):
        nonlocal failed
        try:
            out = do(*args)
            found.extend(out.to_pylist() if hasattr(out, "to_pylist") else out)
        except OverflowError:
            failed += 1

    for size, value in ((600, 1), (5, 2**62), (600, 2), (700, 3), (1, 2**62), (2, 2**62), (900, 4)):
        attempt(w.push_many, {"x": np.full(size, value)})
        attempt(w.push, {"x": value})
        taken += size + 1
        if saves and not w._plan.failed:
            w = w.from_bytes(w.to_bytes())
    while w._plan.failed:
        attempt(w.push_many, {"x": np.full(300, 0)})
        taken += 300
    attempt(w.flush)
    rows = [each["row"] if isinstance(each, dict) else each.row for each in found]
    assert failed == 9 and len(rows) == len(set(rows)) == taken - failed and max(rows) == taken


def test_another_type_than_before():
    w = sw.Window(sw.max(), sw.rows(3))
    w.push_many(np.array([1, 7]))
    assert w.push_many(np.array([2.5])).to_pydict() == {"row": [3], "value": [7.0]}
    assert w.push_many(np.array([3.5, 1.5])).to_pydict() == {"row": [4, 5], "value": [7.0, 3.5]}


def test_changes_only_with_results_that_are_owed():
    w = sw.Window(sw.max(), sw.time(4), emit="changes")
    with pytest.raises(sw.LateRow):
        w.push_many(np.array([2.0, 2.0, 3.0, 0.0]), time=np.array([1, 2, 3, 0]))
    assert w.push_many(np.array([1.0]), time=np.array([4])).to_pydict()["value"] == [2.0, 3.0]


def test_a_users_own_aggregation():
    stream = random_rows(Random(1), 40)
    for row in stream:
        row["f"] = row["c"] / 2
    check({"own": Deviation("f")}, sw.rows(5), stream, Random(1))
    check({"own": Deviation("c")}, sw.rows(5), stream, Random(1))


def test_types_do_not_depend_on_the_rows():
    w = sw.Window({"top": sw.max("x"), "n": sw.count()}, sw.rows(5), partition_by="k")
    first = w.push_many(pa.schema({"k": pa.string(), "x": pa.int32()}).empty_table())
    then = w.push_many(pa.table({"k": ["a"], "x": pa.array([None], pa.int32())}))
    assert first.schema == then.schema
    assert first.schema.field("top").type == pa.int32() and first.schema.field("n").type == pa.int64()


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: sw.Window(sw.max("x"), sw.rows(2)), {"batch": np.zeros(2)}, "reads the columns x of rows"),
        (lambda: sw.Window(sw.max("x"), sw.rows(2)), {"batch": {"y": [1]}}, "no column 'x'"),
        (lambda: sw.Window(sw.max(), sw.rows(2)), {"batch": np.zeros(2), "time": [1]}, "each of the 2 rows, got 1"),
        (lambda: sw.Window(sw.max(), sw.time(2)), {"batch": np.zeros(2)}, "needs the time of every row"),
        (lambda: sw.Window(sw.max(), sw.rows(2)), {"batch": np.zeros(2), "time": "t"}, "names a column"),
        (
            lambda: sw.Window(sw.max("x"), sw.rows(2), partition_by="k"),
            {"batch": {"x": [1], "k": [1]}, "key": ["a"]},
            "comes from partition_by='k'",
        ),
        (
            lambda: sw.Window({"row": sw.max("x")}, sw.rows(2)),
            {"batch": {"x": [1]}},
            "'row' is among them twice",
        ),
    ],
)  # fmt: skip
def test_refusals(make, arguments, message):
    with pytest.raises(sw.InvalidInput, match=message):
        make().push_many(**arguments)


def test_after_the_end():
    w = sw.Window(sw.max(), sw.rows(2))
    w.push_many(np.zeros(3))
    w.flush()
    with pytest.raises(sw.InvalidInput, match="push_many: the window was flushed"):
        w.push_many(np.zeros(3))
