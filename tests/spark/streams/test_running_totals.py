"""Running totals on streams: frames that begin with their key, with one total per key in place of its rows."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import DELAY, Folder, events, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, START, Stream, batch, batches, equal, on_time, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.aggregations import Concat, Deviation, Ends, Vwap, build
from support.tiers import examples

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput, StateError
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.spark.session import PROVIDER, ROCKSDB
from slidewise.spark.streams.explain import explain_task

SO_FAR = sw.rows_between(-sw.UNBOUNDED, 0)
FRAMES = {
    "rows": SO_FAR,
    "peers": sw.range_between(-sw.UNBOUNDED, 0),
    "groups": sw.groups_between(-sw.UNBOUNDED, 0),
    "before": sw.rows_between(-sw.UNBOUNDED, -1),
    "third before": sw.rows_between(-sw.UNBOUNDED, -3),
    "until 4s ago": sw.range_between(-sw.UNBOUNDED, "-4s"),
    "until a month ago": sw.range_between(-sw.UNBOUNDED, "-1mo"),
    "two groups before": sw.groups_between(-sw.UNBOUNDED, -2),
    "and two after": sw.rows_between(-sw.UNBOUNDED, 2),
    "and 3s after": sw.range_between(-sw.UNBOUNDED, "3s"),
    "and the next group": sw.groups_between(-sw.UNBOUNDED, 1),
}
#: one of each kind of total, and those that have the same one
TOTALS = {
    "total": sw.sum("x"),
    "n": sw.count(),
    "peak": sw.max("x"),
    "word": sw.min("note"),
    "spread": sw.stddev("x"),
    "variance": sw.var_pop("x"),
    "at_peak": sw.max_by("seq", "x"),
    "notes": sw.approx_count_distinct("note"),
    "whole": sw.sum("odo", where="mark"),
}
#: those for which the order of rows of equal time matters
IN_ORDER = {
    "begin": sw.first("note"),
    "latest": sw.last("note", ignore_nulls=True),
    "third": sw.nth_value("odo", 3),
    "low": sw.min_by("note", "odo"),
    "ends": Ends("odo"),
}
BY_ROWS = {**TOTALS, **IN_ORDER}


def over(window, aggregations=None):
    chosen = aggregations or (BY_ROWS if window.reach.unit == "rows" else TOTALS)
    return {name: aggregation.over(window) for name, aggregation in chosen.items()}


def order_of(window):
    return "ts" if window.reach.unit == "range" else ["ts", "seq"] if window.reach.unit == "rows" else "ts"


def expected(task, parts, delay, came_out, **options):
    """What a batch gives for the rows that have come out: of those that wait for following rows some never do."""
    rows = on_time(parts, delay * SECOND)
    want = sw.with_columns(
        rows, partition_by=task.partition_by, order_by=list(task.order_by), **task.expressions, **options
    )
    if not any(window.waits for window in task.windows):
        return want
    assert len(came_out) or len(want) < 20
    return want.filter(pc.is_in(want["seq"], came_out["seq"].combine_chunks()))


def table(*rows, schema=SCHEMA):
    return pa.Table.from_pylist([{name: r[name] for name in schema.names} for r in rows], schema=schema)


# ---- the same answers as of a batch
@pytest.mark.parametrize("frame", FRAMES)
@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_results_are_those_of_a_batch(frame, parts, delay):
    window = FRAMES[frame]
    task = task_of(over(window), order_by=order_of(window))
    found = run(task, parts, delay).result()
    same(found, expected(task, parts, delay, found))


@pytest.mark.parametrize("frame", ["rows", "third before", "until 4s ago", "and 3s after"])
@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_a_forgotten_key_begins_anew(frame, parts, delay):
    window = FRAMES[frame]
    task = task_of(over(window), order_by=order_of(window), forget_after=6 * SECOND)
    stream = run(task, parts, delay)
    same(stream.result(), expected(task, parts, delay, stream.result(), forget_after="6s"))
    assert not stream.memory.pieces  # nothing is left of keys that were all forgotten


@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_beside_other_windows(parts, delay):
    expressions = {
        **over(FRAMES["before"]),
        "recent": sw.median("x").over(sw.time("5s")),
        "few": sw.collect_list("note").over(sw.rows(3)),
        "until": sw.count().over(FRAMES["until 4s ago"]),
    }
    expressions = {n: o for n, o in expressions.items() if n not in IN_ORDER}
    task = task_of({n: o for n, o in expressions.items() if n != "few"})
    found = run(task, parts, delay).result()
    same(found, expected(task, parts, delay, found))


@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_only_changes(parts, delay):
    chosen = {name: BY_ROWS[name] for name in ("peak", "notes", "begin")}
    task = task_of(over(SO_FAR, chosen), order_by=["ts", "seq"], emit="changes")
    found = run(task, parts, delay).result()
    same(found, expected(task, parts, delay, found, emit="changes"))


@examples(20)
@given(parts=batches())
def test_late_rows_revise_totals(parts):
    task = task_of(over(FRAMES["rows"]), order_by=["ts", "seq"], keep=20 * SECOND)
    found = run(task, parts, 2).result()
    last = {}
    for each in found.to_pylist():
        assert each["revision"] == last.get(each["seq"], {"revision": -1})["revision"] + 1
        last[each["seq"]] = each
    want = batch(task, on_time(parts, 2 * SECOND, 20 * SECOND)).to_pylist()
    assert len(want) == len(last)
    for each in want:
        assert all(equal(last[each["seq"]][name], each[name]) for name in each)


def test_at_arrival_without_an_order_totals_follow_the_arrival():
    task = task_of({"n": sw.count().over(SO_FAR), "begin": sw.first("x").over(SO_FAR)}, order_by=None, emit="arrival")
    stream = Stream(task, 0)
    for k in range(5):
        out = stream.push(table(*(row("a", 9 - k, x=float(10 * k + j)) for j in range(2))))
        assert out["n"].to_pylist() == [2 * k + 1, 2 * k + 2]
        assert out["begin"].to_pylist() == [0.0, 0.0]


def test_at_arrival_a_row_counts_what_is_there_and_is_counted_once():
    task = task_of({"n": sw.count().over(SO_FAR), "total": sw.sum("x").over(SO_FAR)}, emit="arrival")
    stream = Stream(task, 5 * SECOND)
    out = [stream.push(table(row("a", at, x=float(at)))) for at in (1, 3, 2, 8, 20, 17)]
    assert [each["n"].to_pylist() for each in out] == [[1], [2], [2], [4], [5], [5]]
    assert [each["total"].to_pylist() for each in out] == [[1.0], [4.0], [3.0], [14.0], [34.0], [31.0]]


def test_as_in_process():
    names = ("total", "n", "peak", "spread", "begin", "latest", "third", "notes", "ends", "low")
    rows = [row("a", k, seq=k, x=float(k * 7 % 5), odo=k * 3 % 4, note=["x", "y", "z"][k % 3]) for k in range(30)]
    window = sw.Window({name: BY_ROWS[name] for name in names}, SO_FAR)
    want = [result.value for each in rows for result in window.push(each)]
    task = task_of(over(SO_FAR, {name: BY_ROWS[name] for name in names}), order_by=["ts", "seq"])
    found = run(task, [table(*rows[:9]), table(*rows[9:11]), table(*rows[11:])], 2).result()
    for one, other in zip(found.sort_by("seq").to_pylist(), want, strict=True):
        assert all(equal(one[name], other[name]) for name in names)


# ---- every aggregation, and every type
NUMBERS = pa.schema(
    [("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("x", pa.float64()),
     ("y", pa.float64()), ("i", pa.int64()), ("text", pa.string()), ("yes", pa.bool_()), ("day", pa.date32()),
     ("money", pa.decimal128(12, 2)), ("much", pa.decimal128(38, 4)), ("took", pa.duration("us"))]
)  # fmt: skip


def numbers(k):
    fraction = None if k % 7 == 3 else k * 37 % 11 / 2
    return {
        "k": "ab"[k % 2], "ts": START + dt.timedelta(seconds=k), "seq": k, "x": fraction, "y": float(k % 5),
        "i": k * k % 17 - 8, "text": f"t{k * 5 % 9}", "yes": k % 3 > 0, "day": dt.date(2024, 1, 1 + k % 9),
        "money": None if k % 5 == 1 else Decimal(k * 377 % 1000) / 100, "much": Decimal(k * 7919) / 10000 + 10**20,
        "took": dt.timedelta(microseconds=k * 377_001),
    }  # fmt: skip


def columns_of(aggregation):
    first = {"boolean": "yes", "integer": "i", "string": "text"}.get(aggregation.accepts[0], "x")
    return [first, "y" if aggregation.name != "ewm_avg" else "seq"][: aggregation.arity]


def follow(expressions):
    """A stream of four micro-batches against a batch."""
    rows = [numbers(k) for k in range(60)]
    parts = [table(*rows[a:b], schema=NUMBERS) for a, b in ((0, 13), (13, 14), (14, 40), (40, 60))]
    task = task_of(expressions, order_by=["ts", "seq"], schema=NUMBERS)
    same(run(task, parts, 3).result(), batch(task, pa.concat_tables(parts)))


@pytest.mark.once  # compiled, it takes minutes
def test_every_aggregation_has_a_total_or_is_refused():
    for entry in AGGREGATIONS:
        aggregation = build(entry.name)
        aggregation = build(entry.name, *columns_of(aggregation))
        if aggregation.size_preserving:
            follow({"r": aggregation.over(SO_FAR), "before": aggregation.over(FRAMES["before"])})
            continue
        with pytest.raises(InvalidInput, match=r"r: the frame .* begins with its key, and .* needs all of its values"):
            task_of({"r": aggregation.over(SO_FAR)}, order_by=["ts", "seq"], schema=NUMBERS)


def test_every_type():
    by_type = ("i", "text", "yes", "day", "ts", "money", "much", "took", "x")
    follow(
        {f"{f.__name__} {name}": f(name).over(SO_FAR) for name in by_type for f in (sw.max, sw.min, sw.first, sw.count)}
        | {f"at {name}": sw.max_by("text", name).over(SO_FAR) for name in by_type}
        | {f"distinct {name}": sw.approx_count_distinct(name).over(SO_FAR) for name in by_type}
        | {f"{f.__name__} {name}": f(name).over(SO_FAR) for name in ("money", "much", "took") for f in (sw.sum, sw.avg)}
        | {
            "spread": sw.stddev("money").over(SO_FAR),
            "m4": sw.m4("ts").over(SO_FAR),
            "m4 of texts": sw.m4("text").over(SO_FAR),
            "m4 of texts before": sw.m4("text", where="yes").over(FRAMES["third before"]),
            "m4 of many digits": sw.m4("much", "text").over(SO_FAR),
            "i": sw.max_count("i").over(SO_FAR),
        }
        | {
            f"{f.__name__} {name} {where} {frame}": f(name, where=where).over(FRAMES[frame])
            for f in (sw.max_count, sw.min_count)
            for name in ("text", "much")
            for where in (None, "yes")
            for frame in ("rows", "before")
        }
    )


def test_counts_of_texts_by_hand():
    """The largest text comes again in later micro-batches, after larger ones have, and after nulls."""
    notes = ["b", "a", "b", None, "c", "b", "c", "c", None, "a"]
    task = task_of({"n": sw.max_count("note").over(SO_FAR), "low": sw.min_count("note").over(SO_FAR)})
    stream = Stream(task, 0)
    for k, note in enumerate(notes):
        stream.push(table(row("a", k, note=note)))
    stream.flush()
    found = stream.result().sort_by("ts")
    expected = [[x for x in notes[: k + 1] if x is not None] for k in range(len(notes))]
    assert found["n"].to_pylist() == [seen.count(max(seen)) for seen in expected]
    assert found["low"].to_pylist() == [seen.count(min(seen)) for seen in expected]


def test_sums_of_integers_are_exact_and_leave_64_bits_with_an_error():
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("x", pa.int64())])
    task = task_of({"total": sw.sum("x").over(SO_FAR)}, schema=schema)
    stream = Stream(task, 0)
    for k, x in enumerate([2**62, 2**61, -(2**62), 2**62, 7]):
        stream.push(table(row("a", k, x=x), schema=schema))
    stream.flush()
    assert stream.result()["total"].to_pylist() == [2**62, 2**62 + 2**61, 2**61, 2**62 + 2**61, 2**62 + 2**61 + 7]
    stream.push(table(row("a", 10**7, x=2**62), schema=schema))
    with pytest.raises(OverflowError, match="64-bit"):
        stream.flush()


def test_your_own():
    follow(
        {
            "deviation": Deviation("x").over(SO_FAR),
            "price": Vwap("x", "y").over(SO_FAR),
            "texts": Concat("text").over(SO_FAR),
            "ends": Ends("i").over(FRAMES["third before"]),
        }
    )


# ---- state
def test_the_state_is_a_total_per_key_and_no_rows():
    task = task_of(over(SO_FAR), order_by=["ts", "seq"])
    stream, sizes = Stream(task, 0), []
    for k in range(12):
        stream.push(table(*(row("abc"[j % 3], 50 * k + j, seq=50 * k + j, note=f"{j}") for j in range(50))))
        sizes.append(stream.state_rows)
    stream.push(task.rows.empty_table())
    assert max(sizes[4:]) < 1.1 * sizes[3]


def test_what_may_change_at_a_restart():
    before = {"total": sw.sum("x").over(SO_FAR), "peak": sw.max("x").over(SO_FAR)}

    def go_on(after):
        stream = Stream(task_of(before), 0)
        stream.push(table(row("a", 0, x=3.0), row("a", 1, x=1.0)))
        stream.push(table(row("a", 2, x=2.0)))
        stream.task = task_of(after)
        stream.push(table(row("a", 3, x=5.0)))
        stream.flush()
        return stream.out[-1]

    out = go_on({"peak": before["peak"], "again": before["total"]})
    assert out.select(["x", "peak", "again"]).to_pylist() == [{"x": 5.0, "peak": 5.0, "again": 11.0}]
    with pytest.raises(StateError, match=r"no total is kept of count\(\) over the rows that are gone"):
        go_on({**before, "n": sw.count().over(SO_FAR)})
    with pytest.raises(StateError, match=r"a frame reaches 1 rows back .* further than any did"):
        go_on({"total": sw.sum("x").over(FRAMES["before"])})
    with pytest.raises(StateError, match="no rows are kept with 'ts'"):
        go_on({"total": sw.sum("x").over(FRAMES["peers"])})


def test_totals_that_no_result_reads_any_more_go():
    task = task_of({"total": sw.sum("x").over(SO_FAR), "x2": sw.sum("x").over(sw.rows(2))})
    stream = Stream(task, 0)
    stream.push(table(row("a", 0), row("a", 1)))
    stream.push(table(row("a", 2)))
    rows_and_totals = stream.state_rows
    stream.task = task_of({"x2": sw.sum("x").over(sw.rows(2))})
    stream.push(table(row("a", 3)))
    stream.flush()
    assert [x for out in stream.out for x in out["x2"].to_pylist()] == [1.0, 2.0, 2.0, 2.0]
    assert stream.state_rows < rows_and_totals


# ---- what is said
@pytest.mark.parametrize(
    ("aggregation", "window", "message"),
    [
        (
            sw.median("x"),
            SO_FAR,
            r"median needs all of its values.*Use approx_percentile, whose state has a fixed",
        ),
        (sw.count_distinct("x"), SO_FAR, "Use approx_count_distinct, whose state"),
        (sw.collect_list("x"), SO_FAR, r"collect_list needs all .*without end. Give it a length, as in sw.time"),
        (sw.mode("x"), SO_FAR, "needs all of its values"),
        (sw.sum("x"), sw.rows_between(-sw.UNBOUNDED, 0, exclude="current row"), "leaves some rows out"),
        (sw.sum("x"), sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED), "ends with its key"),
    ],
)
def test_what_has_no_total_is_refused(aggregation, window, message):
    with pytest.raises(InvalidInput, match=message):
        task_of({"r": aggregation.over(window)}, schema=NUMBERS)


def test_a_column_of_nulls_has_no_total_of_its_extremes():
    schema = pa.schema([*SCHEMA, pa.field("nothing", pa.null())])
    with pytest.raises(InvalidInput, match=r"of null max_count\('nothing'\) has no total of a fixed size"):
        task_of({"r": sw.max_count("nothing").over(SO_FAR)}, schema=schema)


def test_slides_and_algorithms_are_refused():
    with pytest.raises(InvalidInput, match="Use with_columns, or windows that add up within each hour or day"):
        task_of({"n": sw.sum("x")}, window=sw.rows_between(-sw.UNBOUNDED, 0, every="1s"))
    with pytest.raises(InvalidInput, match="algorithm='two_stacks' is one for rows"):
        task_of({"n": sw.sum("x").over(SO_FAR, algorithm="two_stacks")})


def test_explain():
    task = task_of(
        {
            "total": sw.sum("x").over(SO_FAR),
            "mean": sw.avg("x").over(FRAMES["third before"]),
            "first": sw.first("note").over(FRAMES["until 4s ago"]),
            "ahead": sw.max("x").over(FRAMES["and 3s after"]),
        }
    )
    lines = {line["column"]: line for line in explain_task(task)}
    assert [lines[name]["kept per key"] for name in ("total", "mean", "first", "ahead")] == [
        "a total of its rows",
        "a total of its rows, and 3 rows",
        "a total of its rows, and the rows of the last 4s",
        "a total of its rows, and 3s that wait",
    ]
    assert lines["total"]["bytes per key"] == "8 bytes"
    assert lines["total"]["emitted"] == "when the watermark has passed its time"
    assert lines["ahead"]["emitted"] == "when the watermark has passed its time by 3s"
    assert lines["all together"]["shares"].endswith("; a total per key")


# ---- a real query
@pytest.mark.full
def test_a_real_query_across_a_restart(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    folder, parts = Folder(tmp_path, spark), events()
    features = {
        "total": sw.sum("x.y").over(SO_FAR),
        "n": sw.count().over(SO_FAR),
        "peak": sw.max_by("seq", "x.y").over(SO_FAR),
        "begin": sw.first("seen").over(SO_FAR),
        "notes": sw.approx_count_distinct("note").over(SO_FAR),
        "recent": sw.max("x.y").over(sw.rows(3)),
    }

    def out():
        return sws.with_columns(folder.stream(), features, partition_by="k", order_by=["ts", "seq"], max_delay="2s")

    folder.add(*parts[:2])
    folder.run(out())
    folder.add(*parts[2:], last_row(1000))
    folder.run(out())
    want = sw.with_columns(on_time(parts, DELAY), partition_by="k", order_by=["ts", "seq"], **features)
    same(utc(folder.result()), want)
