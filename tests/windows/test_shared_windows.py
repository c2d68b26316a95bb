"""Several windows over one stream, against recalculation, one `Window` for each, columns, and counted costs."""

import functools
import math
from random import Random
from typing import Any

import pyarrow as pa
import pytest
import window_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat, Highest, Listed
from support.tiers import examples
from window_streams import PER_ROW, SIZES, SLIDES, by_key, label, numbers_of, random_rows, rows, window_of

import slidewise as sw
from slidewise.errors import SlidewiseError
from slidewise.planner.sharing import find_partials

seeds = st.integers(0, 10**6)


def run(w, stream):
    return [result for row in stream for result in w.push(row, time=row.get("t"))] + w.flush()


# ---- against recalculation
def check(chosen, stream, arriving=None, **options):
    """Every window of a size and a slide, by name: each gives the frames that recalculation does."""
    columns = {f"w{k}": Listed("v").over(window_of(size, slide)) for k, (size, slide) in enumerate(chosen)}
    w = sw.Window(columns, partition_by="key", **options)
    numbers, slides = numbers_of(stream), [slide for _, slide in chosen]
    found: dict[Any, dict[str, list[Any]]] = {key: {name: [] for name in columns} for key in by_key(stream)}
    for result in run(w, stream if arriving is None else arriving):
        joined = [name for name, slide in zip(columns, slides, strict=True) if slide == "each row"]
        if joined and result.value.keys() & set(joined):
            assert [*result.value] == joined
            assert result.row is not None
        else:  # a slide gives the names of its own window, and windows that are equal are one
            assert len({repr(columns[name].window) for name in result.value}) == 1
        for name, value in result.value.items():
            found[result.key][name].append((label(result, numbers), value))
    for key, own in by_key(stream).items():
        for name, (size, slide) in zip(columns, chosen, strict=True):
            assert found[key][name] == oracle.results(own, PER_ROW[size][2], SLIDES[slide][1]), (name, size, slide)


pairs = st.lists(st.tuples(st.sampled_from(list(SIZES)), st.sampled_from(list(SLIDES))), min_size=2, max_size=4)
each_row = st.lists(st.sampled_from(list(PER_ROW)), min_size=2, max_size=4)


@examples(200)
@given(pairs, rows)
def test_any_windows_over_any_stream(chosen, stream):
    check(chosen, stream)


@examples(200)
@given(each_row, rows)
def test_results_of_a_row_come_together(sizes, stream):
    check([(size, "each row") for size in sizes], stream)


@examples(100)
@given(pairs, rows, seeds, st.sampled_from([1, 3, 20]))
def test_rows_that_are_held_back(chosen, stream, seed, delay):
    random = Random(seed)
    arriving = sorted(stream, key=lambda row: row["t"] + random.uniform(0, delay * 0.999))
    check(chosen, sorted(arriving, key=lambda row: row["t"]), arriving, max_delay=delay)


@pytest.mark.parametrize("other", SIZES)
def test_every_size_beside_the_last_rows(other):
    for seed in range(3):
        stream = random_rows(Random(seed), 60)
        check([("rows(4)", "each row"), (other, "each row")], stream)
        check([(other, "each row"), (other, "count"), (other, "time"), ("time", "each row")], stream)


# ---- against one Window for each
AGGREGATIONS: dict[str, Any] = {
    "sum": sw.sum("x"), "avg": sw.avg("x"), "n": sw.count("x"), "rows": sw.count(), "max": sw.max("x"),
    "var": sw.var_pop("x"), "sd": sw.stddev("x"), "median": sw.median("x"), "distinct": sw.count_distinct("x"),
    "mode": sw.mode("x"), "listed": Listed("x"), "highest": Highest("x"), "last": sw.last("x"), "first": sw.first("x"),
    "where": sw.sum("x", where="p"), "by": sw.max_by("v", "x"), "all": sw.collect_list("x"),
}  # fmt: skip
WINDOWS: list[Any] = [
    sw.rows(3), sw.rows(7), sw.rows(20), sw.rows(5, min_rows=4), sw.time(6), sw.time(30), sw.time(9, closed="left"),
    sw.time(6, closed="right"), sw.rows_between(-4, -1), sw.rows_between(-2, 2), sw.range_between(-5, 2),
    sw.groups_between(-1, 0), sw.rows_between(-sw.UNBOUNDED, 0), sw.rows_between(-3, 1, exclude="current row"),
    sw.rows_between(sw.col("back"), 0), sw.delta("c", 4), sw.punctuation("p"), sw.rows(6, every=3),
    sw.time(12, every=4), sw.rows(4, every=sw.time(5)), sw.time(8, every=sw.rows(2)),
    sw.rows(5, every=sw.punctuation("p")),
]  # fmt: skip


def drop_late(columns, stream, steps=None, **options):
    """The rows that are not late, None in place of the others: late rows enter open windows only where all hop."""
    if all(over.window.hopping for over in columns.values()):
        return stream
    per_row, taken = sw.Window(sw.count(), sw.rows(1), **options), []
    for row, time in zip(stream, steps or [None] * len(stream), strict=True):
        before = per_row.dropped
        per_row.push(row, time=row["t"])
        taken.append(row if per_row.dropped == before else None)
        if time is not None:
            per_row.advance(time)
    return taken


def joined_by_hand(columns, stream, **options):
    """What separate windows give: (what it is about, name, value) of every result, in the order of each name."""
    found: dict[Any, list[Any]] = {}
    stream = [row for row in drop_late(columns, stream, **options) if row is not None]
    for name, over in columns.items():
        w = sw.Window({name: over.aggregation}, over.window, **options)
        for r in run(w, stream):
            found.setdefault((name, r.key), []).append(((r.time, r.row, r.start, r.end), told(r.value[name])))
    return found


def told(value):
    """A value as text; the last digits of a variance depend on the order in which partials are merged."""
    return repr(round(value, 9) + 0.0 if isinstance(value, float) else value)


def separated(results, columns):
    found: dict[Any, list[Any]] = {}
    least = {name: over.window.min_rows for name, over in columns.items()}
    for r in results:
        for name, value in r.value.items():
            if r.row is not None and r.row < least[name]:
                assert value is None
            else:
                found.setdefault((name, r.key), []).append(((r.time, r.row, r.start, r.end), told(value)))
    return found


@st.composite
def columns_of_one_stream(draw):
    names = draw(st.lists(st.sampled_from(list(AGGREGATIONS)), min_size=2, max_size=7))
    return {f"{name} {k}": AGGREGATIONS[name].over(draw(st.sampled_from(WINDOWS))) for k, name in enumerate(names)}


@examples(120)
@given(columns_of_one_stream(), rows, seeds, st.data())
def test_as_one_window_for_each(columns, stream, seed, data):
    """With nulls, ties, rows out of order and late ones, and a state that is saved and loaded on the way."""
    random = Random(seed)
    for row in stream:
        row["x"] = random.choice([None, 1, 2, 3, 5, 8])
    arriving = sorted(stream, key=lambda row: row["t"] + random.uniform(0, 6))
    options = {"partition_by": "key", "max_delay": 3, "late": "drop"}
    w = sw.Window(columns, **options)
    cut = data.draw(st.integers(0, len(arriving)))
    results = [r for row in arriving[:cut] for r in w.push(row, time=row["t"])]
    loaded = sw.Window(columns, **options).from_bytes(w.to_bytes())
    assert (loaded.partials(), loaded.dropped, loaded.watermark) == (w.partials(), w.dropped, w.watermark)
    results += run(loaded, arriving[cut:])
    assert separated(results, columns) == joined_by_hand(columns, arriving, **options)


@examples(50)
@given(columns_of_one_stream(), rows, seeds)
def test_time_that_advances_without_rows(columns, stream, seed):
    random = Random(seed)
    steps = [random.choice([None, None, row["t"], row["t"] + 3]) for row in stream]
    for row in stream:
        row["x"] = random.choice([None, 1, 2])

    def advanced(w, stream):
        found = []
        for row, time in zip(stream, steps, strict=True):
            found += w.push(row, time=row["t"]) if row is not None else []
            found += w.advance(time) if time is not None else []
        return found + w.flush()

    options = {"partition_by": "key", "late": "drop"}
    w = sw.Window(columns, **options)
    each = {name: sw.Window({name: over.aggregation}, over.window, **options) for name, over in columns.items()}
    expected: dict[Any, list[Any]] = {}
    taken = drop_late(columns, stream, steps, **options)
    for name, single in each.items():
        for r in advanced(single, taken):
            expected.setdefault((name, r.key), []).append(((r.time, r.row, r.start, r.end), told(r.value[name])))
    assert separated(advanced(w, stream), columns) == expected
    if None in taken:
        assert w.dropped == taken.count(None)


@examples(50)
@given(columns_of_one_stream(), rows, seeds)
def test_results_come_when_the_last_is_due_and_not_later(columns, stream, seed):
    random = Random(seed)
    for row in stream:
        row["x"] = random.choice([None, 1, 2])
    w = sw.Window(columns, partition_by="key")
    each = {name: sw.Window({name: o.aggregation}, o.window, partition_by="key") for name, o in columns.items()}
    mine, theirs = {}, {}
    for step, row in enumerate(stream):
        for r in w.push(row, time=row["t"]):
            mine[r.key, r.time, r.row, r.start, tuple(r.value)] = step
        for name, single in each.items():
            for r in single.push(row, time=row["t"]):
                theirs[name, r.key, r.time, r.row, r.start] = step
    joined = tuple(name for name, over in columns.items() if over.window.every is None)
    for (key, time, row, start, names), step in mine.items():
        due = [theirs[name, key, time, row, start] for name in names if (name, key, time, row, start) in theirs]
        assert step == max(due)
    complete = {
        (key, row)
        for name, key, _, row, _ in theirs
        if name in joined and all(any(k[:2] == (other, key) and k[3] == row for k in theirs) for other in joined)
    }
    assert complete <= {(key, row) for key, _, row, _, names in mine if names == joined}


@pytest.mark.parametrize("algorithm", ["fiba", "reactive", "recalculate", "daba_lite", "two_stacks_lite", "flat_fit"])
def test_an_algorithm_by_name(algorithm):
    columns = {"a": Concat("w").over(sw.rows(5)), "b": Concat("w").over(sw.time(7)), "c": Concat("w").over(sw.rows(9))}
    stream = [row | {"w": chr(97 + row["v"] % 26)} for row in random_rows(Random(2), 100, keys="a")]
    w = sw.Window(columns, algorithm=algorithm)
    assert separated(run(w, stream), columns) == joined_by_hand(columns, stream)
    assert set(w.algorithms.values()) == {algorithm}


@examples(60)
@given(st.lists(st.sampled_from(WINDOWS), min_size=2, max_size=5), rows, st.sampled_from(["fiba", "recalculate"]))
def test_any_windows_with_an_algorithm_that_answers_any_range(windows, stream, algorithm):
    columns = {f"w{k}": Listed("v").over(window) for k, window in enumerate(windows)}
    w = sw.Window(columns, partition_by="key", algorithm=algorithm)
    cut = len(stream) // 2
    results = [r for row in stream[:cut] for r in w.push(row, time=row["t"])]
    results += run(w.from_bytes(w.to_bytes()), stream[cut:])
    assert separated(results, columns) == joined_by_hand(columns, stream, partition_by="key")


def test_an_algorithm_of_one_column():
    w = sw.Window({
        "a": sw.sum().over(sw.rows(5)), "b": sw.sum().over(sw.rows(7)),
        "c": sw.sum().over(sw.rows(9), algorithm="daba"),
    })  # fmt: skip
    assert [r.value for x in range(1, 9) for r in w.push(x)][-1] == {"a": 30, "b": 35, "c": 36}
    assert w.algorithms == {"a": "flat_fit", "b": "flat_fit", "c": "daba"}
    assert w.partials() == 7 + 8


# ---- against columns
def test_parity_with_columns():
    random = Random(11)
    stream = [row | {"x": random.choice([None, 1.5, 2.0, 4.0, -3.0])} for row in random_rows(random, 200)]
    columns = {
        "m1": sw.max("x").over(sw.rows(20)), "m2": sw.max("x").over(sw.time(15)), "s": sw.sum("x").over(sw.rows(5)),
        "late start": sw.sum("x").over(sw.rows(8, min_rows=6)), "before": sw.max("x").over(sw.time(9, closed="left")),
        "mid": sw.median("x").over(sw.rows(7)), "n": sw.count("x").over(sw.time(15)), "a": sw.avg("x").over(sw.rows(5)),
        "around": sw.sum("x").over(sw.rows_between(-2, 2)),
    }  # fmt: skip
    table = pa.table({name: [row[name] for row in stream] for name in ("v", "t", "key", "x")})
    out = sw.with_columns(table, partition_by="key", order_by="t", **columns).to_pylist()
    expected = {row["v"]: {name: row[name] for name in columns} for row in out}
    numbers = numbers_of(stream)
    results = run(sw.Window(columns, partition_by="key"), stream)
    assert {label(r, numbers): r.value for r in results} == expected


# ---- what is held, and what it costs
def test_several_windows_hold_their_rows_once():
    w = sw.Window({
        "m1": sw.max().over(sw.rows(100)), "m2": sw.max().over(sw.time(60)), "m3": sw.max().over(sw.rows(30)),
        "s": sw.sum().over(sw.rows(10)),
    })  # fmt: skip
    for t in range(500):
        w.push(t % 7, time=t)
    assert w.partials() == 100 + 10
    assert w.algorithms == {"m1": "slick_deque", "m2": "slick_deque", "m3": "slick_deque", "s": "daba_lite"}


@pytest.mark.parametrize(
    ("window", "count"),
    [(sw.rows(100), 100), (sw.time(99), 100), (sw.rows_between(-49, 50), 100), (sw.rows(100, every=sw.time(5)), 100)],
    ids=repr,
)
def test_sum_avg_and_count_hold_one_partial_for_a_row(window, count):
    w = sw.Window({"s": sw.sum(), "a": sw.avg(), "n": sw.count()}, window)
    for t in range(500):
        w.push(t, time=t)
    w.advance(499)
    assert count <= w.partials() <= count + 1
    assert w.algorithms == {"s": "daba_lite", "a": "daba_lite", "n": "none"}


def test_counts_of_values_and_variances_are_read_from_the_same_partials():
    names = ("var_pop", "var_samp", "stddev", "stddev_pop")
    w = sw.Window({name: getattr(sw, name)("x") for name in names}, sw.rows(50))
    v = sw.Window({"s": sw.sum("x"), "a": sw.avg("x"), "n": sw.count("x"), "rows": sw.count()}, sw.rows(50))
    each = {name: sw.Window(getattr(sw, name)("x"), sw.rows(50)) for name in names}
    for k in range(200):
        row = {"x": None if k % 3 == 0 else k * 0.5}
        [found], [counted] = w.push(row), v.push(row)
        assert found.value == {name: single.push(row)[0].value for name, single in each.items()}
        last = [i * 0.5 for i in range(max(0, k - 49), k + 1) if i % 3]
        assert counted.value == {
            "s": sum(last) if last else None,
            "a": pytest.approx(sum(last) / len(last)) if last else None,
            "n": len(last),
            "rows": min(50, k + 1),
        }
    assert w.partials() == v.partials() == 50


@pytest.mark.parametrize("window", [sw.rows(30, every=3), sw.time(30, every=3)], ids=repr)
def test_slices_hold_sum_and_avg_once(window):
    w = sw.Window({"s": sw.sum(), "a": sw.avg(), "n": sw.count()}, window)
    single = sw.Window(sw.sum(), window)
    for t in range(100):
        assert [r["s"] for r in w.push(t, time=t)] == [r.value for r in single.push(t, time=t)]
    assert w.partials() == 2 * single.partials()


def test_partials_are_shared_with_nothing_else():
    assert find_partials(sw.sum("x"), [sw.sum("x"), sw.avg("y")]) == (sw.sum("x"), None)
    assert find_partials(sw.sum("x"), [sw.sum("x"), sw.avg("x", where="p")]) == (sw.sum("x"), None)
    assert find_partials(sw.count(), [sw.avg(), sw.count()]) == (sw.count(), None)  # which counts nulls
    assert find_partials(sw.median("x"), [sw.percentile("x", 0.9), sw.median("x")]) == (sw.median("x"), None)

    class Doubled(type(sw.sum())):
        @staticmethod
        def lower(s):
            return 2 * s

    class Counted(type(sw.count())):
        @staticmethod
        def lower(n):
            return -n

    w = sw.Window({"s": sw.sum(), "d": Doubled(), "n": sw.count(), "c": Counted(), "a": sw.avg()}, sw.rows(2))
    w.push(3)
    assert w.push(4)[0].value == {"s": 7, "d": 14, "n": 2, "c": -2, "a": 3.5}


class Counted(sw.Aggregation):
    """Counts its combines. Concatenation: it has no inverse, and does not choose an operand."""

    calls = 0

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return a + b


class Chosen(Counted):
    selective = True

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return max(a, b)


def combines(aggregation, windows, slides, skip=2000, **options):
    """Combines per slide, on average and at most, at a steady size; each result is compared with the rows."""
    columns = {f"w{k}": aggregation.over(window) for k, window in enumerate(windows)}
    w = sw.Window(columns, **options)
    random, costs, values = Random(4), [], []
    for step in range(skip + slides):
        values.append((random.randrange(1000),))
        before = Counted.calls
        [result] = w.push(values[-1])
        if step >= skip:
            costs.append(Counted.calls - before)
        if step % 97 == 0:
            frames = [values[max(0, step + e.reach.start) : step + e.reach.end + 1] for e in windows]
            expected = [functools.reduce(aggregation.combine, frame) if frame else None for frame in frames]
            assert [*result.value.values()] == expected
    return sum(costs) / len(costs), max(costs), w


def test_combines_of_a_shared_selective_aggregation():
    """SlickDeque: fewer than 2 for a row, whatever the number of windows, and none for a query."""
    average, _, w = combines(Chosen(), [sw.rows(n) for n in (10, 50, 100, 400, 1000)], 2000)
    assert average < 2
    assert w.partials() == 1000
    assert set(w.algorithms.values()) == {"slick_deque"}


@pytest.mark.parametrize(
    ("sizes", "most"), [((10, 100, 1000), 8), ((100, 200, 300), 6), ((999, 1000), 5), (tuple(range(10, 101, 10)), 13)]
)
def test_combines_of_a_shared_aggregation(sizes, most):
    """FlatFIT: about 3 for each window and fewer, since each leaves its partials to the others."""
    average, worst, w = combines(Counted(), [sw.rows(n) for n in sizes], 2000)
    assert average < most < 3 * len(sizes) + 1
    assert worst < max(sizes)
    assert w.partials() == max(sizes)
    assert set(w.algorithms.values()) == {"flat_fit"}


def test_combines_of_windows_that_end_before_their_row():
    windows = [sw.rows_between(-n, -1) for n in (10, 100, 1000)]
    average, worst, w = combines(Counted(), windows, 1000)
    assert average < 8
    assert worst < 1000
    assert set(w.algorithms.values()) == {"flat_fit"}
    assert w.partials() == 1001  # and the row that no window has yet


def test_combines_of_base_intervals():
    """Fewer than 1 for a row, and at most 2 log2 n + 1 for a query of any rows."""
    sizes = (10, 100, 1000)
    windows = [sw.rows_between(-n, k - 2) for k, n in enumerate(sizes)]
    average, worst, w = combines(Counted(), windows, 1000, algorithm="b_int")
    assert worst <= sum(2 * math.log2(n + 1) + 1 for n in sizes) + math.log2(1024)
    assert average < sum(2 * math.log2(n) for n in sizes)
    assert set(w.algorithms.values()) == {"b_int"}
    assert w.partials() == 1001


def test_windows_share_with_those_that_end_with_the_same_row():
    w = sw.Window({
        "a": sw.max().over(sw.time(50, closed="left")), "b": sw.max().over(sw.time(20, closed="left")),
        "c": sw.max().over(sw.time(10)), "d": sw.max().over(sw.rows(30)), "e": sw.max().over(sw.rows_between(-9, -1)),
    })  # fmt: skip
    for t in range(200):
        w.push(t % 17, time=t)
    assert w.algorithms == dict.fromkeys("abcd", "slick_deque") | {"e": "daba_lite"}
    left, newest, own = 50, 30, 9
    assert left + newest + own <= w.partials() <= left + newest + own + 3


# ---- rules
def test_windows_with_a_slide_give_results_of_their_own():
    w = sw.Window({
        "high": sw.max().over(sw.rows(3)), "n": sw.count().over(sw.rows(4, every=2)),
        "sum": sw.sum().over(sw.rows(4, every=2)), "per": sw.sum().over(sw.time(10, every=10)),
    })  # fmt: skip
    found = [r for t in (1, 4, 12) for r in w.push(t, time=t)] + w.flush()
    assert [(r.value, r.time, r.row, r.start, r.end) for r in found] == [
        ({"high": 1}, 1, 1, None, None),
        ({"n": 2, "sum": 5}, 4, 2, None, None),
        ({"high": 4}, 4, 2, None, None),
        ({"per": 5}, 10, None, 0, 10),
        ({"high": 12}, 12, 3, None, None),
        ({"per": 12}, 20, None, 10, 20),
    ]


def test_names_are_in_the_order_given():
    w = sw.Window({"b": sw.sum().over(sw.rows(2)), "a": sw.max().over(sw.rows(3)), "c": sw.sum().over(sw.rows(3))})
    assert [*w.push(1)[0].value] == ["b", "a", "c"]


def test_a_window_with_too_few_rows_is_null_beside_others():
    w = sw.Window({"a": sw.sum().over(sw.rows(2)), "b": sw.sum().over(sw.rows(3, min_rows=3))})
    assert [r.value for x in (1, 2, 4) for r in w.push(x)] == [
        {"a": 1, "b": None},
        {"a": 3, "b": None},
        {"a": 6, "b": 7},
    ]
    w = sw.Window({"a": sw.sum().over(sw.rows(2, min_rows=2)), "b": sw.sum().over(sw.rows(3, min_rows=3))})
    assert [r.value for x in (1, 2, 4) for r in w.push(x)] == [{"a": 3, "b": None}, {"a": 6, "b": 7}]


def test_changes_of_each_window():
    w = sw.Window(
        {"a": sw.max().over(sw.rows(2)), "b": sw.max().over(sw.rows(3)), "n": sw.count().over(sw.rows(2, every=2))},
        emit="changes",
    )
    found = [r.value for x in (1, 1, 1, 1, 1, 2) for r in w.push(x)]
    assert found == [{"a": 1, "b": 1}, {"n": 2}, {"a": 2, "b": 2}]


def test_equal_windows_are_one():
    w = sw.Window(
        {"a": sw.sum().over(sw.time("60m")), "b": sw.max().over(sw.time("1h")), "c": sw.sum().over(sw.rows(2))}
    )
    assert w.algorithms["a"] == "flat_fit"
    one = sw.Window({"a": sw.sum().over(sw.rows(3)), "b": sw.avg().over(sw.rows(3))})
    assert repr(one) == "Window({'a': sum(), 'b': avg()}, rows(3))"
    assert one.push(4)[0].value == {"a": 4, "b": 4.0}
    assert sw.Window(sw.max().over(sw.rows(3))).push(4)[0].value == 4


def test_keys_that_are_done_are_forgotten():
    w = sw.Window({"a": sw.sum().over(sw.time(5, every=5)), "b": sw.max().over(sw.time(10, every=5))})
    for k in range(50):
        w.push(1, time=20 * k, key=k)
    assert len(w._engines) == 1
    assert w.flush()[-1].key == 49


def test_a_result_that_fails_is_told_and_others_go_on():
    big = 2**62
    w = sw.Window({"a": sw.sum().over(sw.rows(2)), "b": sw.sum().over(sw.rows(3)), "n": sw.count().over(sw.rows(2))})
    w.push(big)
    with pytest.raises(OverflowError, match="leaves 64-bit"):
        w.push(big)
    assert w.push(-big)[0].value == {"a": 0, "b": big, "n": 2}


def test_a_result_that_fails_while_others_wait():
    big = 2**62
    w = sw.Window({"now": sw.sum().over(sw.rows(2)), "later": sw.count().over(sw.rows_between(0, 1))})
    w.push(big)
    with pytest.raises(OverflowError):
        w.push(big)
    w = w.from_bytes(w.to_bytes())
    found = w.push(1 - big)
    assert [r.row for r in found] == [1]  # that of row 1 came with the failure; row 2 has none
    assert [r.value for r in w.push(0)] == [{"now": 1, "later": 2}]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ({"a": sw.sum().over(sw.rows(2)), "b": sw.sum()},),
            {},
            r"sum\(\) has no window, while others bring their own",
        ),
        (({"a": sw.sum().over(sw.rows(2))}, sw.rows(2)), {}, "brings its own window, and another is given for all"),
        (({"a": sw.sum(), "b": sw.max()},), {}, "takes a window .*, got None"),
        (({"a": sw.sum().over(2), "b": sw.sum().over(3)},), {"late": "revise"}, "the results of a row come together"),
        (({"a": sw.sum("x").over(2), "b": sw.sum().over(3)},), {}, "reads a column and"),
        (({"a": sw.sum().over(2), "b": sw.sum().over(sw.frames([0], [1]))},), {}, "Use slidewise.rolling"),
        (({"a": sw.max().over(2), "b": sw.max().over(3)},), {"algorithm": "subtract_on_evict"}, "needs an aggregation"),
        (
            ({"a": sw.max("x").over(2), "b": sw.max("x").over(sw.rows_between(sw.col("k"), 0))},),
            {"algorithm": "daba"},
            "daba lacks the property out of order",
        ),
        (({"a": sw.max().over(2), "b": sw.max().over(sw.time(3))},), {"algorithm": "b_int"}, "sets no limit"),
        (({"a": sw.max().over(2), "b": sw.max().over(3)},), {"algorithm": "sba"}, "made for whole columns"),
        (
            ({"a": sw.percentile("x", sw.col("q")).over(2), "b": sw.max("x").over(3)},),
            {},
            "'a' is .* of which each row asks something else",
        ),
        (({1: sw.max().over(2), "b": sw.max().over(3)},), {}, "named by strings"),
    ],
)
def test_refusals(arguments, options, message):
    with pytest.raises(SlidewiseError, match=message):
        sw.Window(*arguments, **options)


def test_what_rows_lack_is_named():
    w = sw.Window({"a": sw.sum("x").over(sw.rows(2)), "b": sw.max("x").over(sw.delta("km", 3))}, partition_by="k")
    with pytest.raises(sw.InvalidInput, match="k, km, x"):
        w.push(3)
    with pytest.raises(sw.InvalidInput, match="delta: the row has no column km"):
        w.push({"k": 1, "x": 2})
    w = sw.Window({"a": sw.sum().over(sw.rows(2)), "b": sw.sum().over(sw.time(3))})
    with pytest.raises(sw.InvalidInput, match=r"time\(3\) here needs the time of every row"):
        w.push(1)
