"""One definition for a batch and a stream: options for streams on a batch give the rows that the stream gives."""

from typing import Any

import pyarrow as pa
import pytest
from folders import COLUMNS, Folder, events, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, SLIDES, batches, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples, in_full, in_soak

import slidewise as sw
import slidewise.spark
from slidewise.errors import InvalidInput
from slidewise.events.result import are_alike
from slidewise.spark.session import PARTITIONS, PROVIDER, ROCKSDB

#: of results that stay for a while, and some that never do
AGGREGATIONS = {
    "n": sw.count(),
    "peak": sw.max("x"),
    "low": sw.min("odo"),
    "marks": sw.bool_or("mark"),
    "last": sw.last("note"),
    "kinds": sw.collect_set("note"),
    "usual": sw.median("odo"),
    "total": sw.sum("x", where="mark"),
}
WINDOWS = [
    sw.rows(3), sw.rows(1), sw.rows(20, min_rows=3), sw.time("6s"), sw.time("30s"), sw.range_between("-5s", "-1s"),
    sw.groups_between(-2, 0), sw.delta("odo", 3), sw.punctuation("mark"), sw.session("2s"),
]  # fmt: skip
#: these wait for rows that may never come, and end with a key that is forgotten
AHEAD = [sw.rows_between(-1, 2), sw.range_between("-1s", "3s")]
FORGET = [None, 2, 4, 8, 30]
#: no row of `batches` comes later
DELAY = 25


@st.composite
def options(draw, moved=False, by_count=False):
    """Draw options of a call: as the call takes them, and as the stream's task has them."""
    forget = draw(st.sampled_from(FORGET))
    emit = draw(st.sampled_from([None, "watermark", "changes"]))
    revise = emit != "changes" and not moved and not (by_count and forget is not None) and draw(st.booleans())
    call = {"max_delay": f"{DELAY}s", "emit": emit, "forget_after": None if forget is None else f"{forget}s"}
    task = {"emit": emit or "watermark", "forget_after": None if forget is None else forget * SECOND}
    if revise:
        call |= {"late": "revise", "keep": "10s"}
        task["keep"] = 10 * SECOND
    return {name: value for name, value in call.items() if value is not None}, task


@examples(80)
@given(st.data(), batches())
def test_rows_of_a_batch_are_those_of_a_stream(data, parts):
    names = data.draw(st.lists(st.sampled_from(list(AGGREGATIONS)), min_size=1, max_size=3, unique=True))
    windows = data.draw(st.lists(st.sampled_from(WINDOWS), min_size=len(names), max_size=len(names)))
    moved = any({window.size_kind} & {"delta", "punctuation", "session"} for window in windows)
    call, task = data.draw(options(moved))
    if "forget_after" in call and data.draw(st.booleans()):
        windows[0] = data.draw(st.sampled_from(AHEAD))
    over = {name: AGGREGATIONS[name].over(window) for name, window in zip(names, windows, strict=True)}
    stream = run(task_of(over, **task), parts, DELAY)
    assert stream.late == 0
    whole = pa.concat_tables(parts)
    found = sw.with_columns(whole, partition_by="k", order_by="ts", **call, **over)
    same(found, stream.result())


@pytest.mark.parametrize("name", SLIDES)
@examples(15)
@given(data=st.data(), parts=batches())
def test_slides_of_a_batch_are_those_of_a_stream(name, data, parts):
    window = SLIDES[name]
    results = {name: AGGREGATIONS[name] for name in ("n", "peak", "kinds")}
    moved = bool({window.size_kind, window.slide_kind} & {"delta", "punctuation", "session", "cumulative"})
    call, task = data.draw(options(moved, by_count=window.slide_kind == "count"))
    whole = pa.concat_tables(parts)
    call |= {"partition_by": "k", "order_by": "ts", "window": window}
    try:
        found = sw.aggregate(whole, **call, **results)
    except InvalidInput as error:
        assert "at least as long as the slide" in str(error)
        with pytest.raises(InvalidInput, match="at least as long as the slide"):
            run(task_of(results, window=window, **task), parts, DELAY)
        return
    if window.waits and "forget_after" not in call:
        return  # on a stream the last slides of a key wait for ever
    stream = run(task_of(results, window=window, **task), parts, DELAY)
    assert stream.late == 0
    # Slides at rows of equal time keep their order in both.
    label = "window_end" if "window_end" in found.column_names else "ts"
    same(found, stream.result(), by=("k", label))


@examples(20)
@given(batches(), st.sampled_from([sw.time("10s", every="2s"), sw.rows(3), sw.time("5s"), sw.rows(4, every=2)]))
def test_changes_are_those_of_the_window_in_process(parts, window):
    results = {name: AGGREGATIONS[name] for name in ("n", "peak", "low")}
    whole = pa.concat_tables(parts)
    in_process = sw.Window(results, window, partition_by="k", emit="changes", max_delay=f"{DELAY}s")
    due = [result for row in whole.to_pylist() for result in in_process.push(row, time=row["ts"])]
    due += in_process.flush()
    call = {"partition_by": "k", "order_by": "ts", "emit": "changes"}
    if window.every is None:
        out = sw.with_columns(whole, **call, **{name: each.over(window) for name, each in results.items()})
    else:
        out = sw.aggregate(whole, **call, window=window, **results)
    rows = sorted(out.to_pylist(), key=lambda row: row["ts"]) if "ts" in out.column_names else out.to_pylist()
    for key in set(whole["k"].to_pylist()):
        found = [[row[name] for name in results] for row in rows if row["k"] == key]
        assert are_alike(found, [[result[name] for name in results] for result in due if result.key == key])


def test_rows_without_a_time_are_left_out_where_options_have_an_effect_on_rows():
    """A stream has no place for them."""
    rows = pa.Table.from_pylist([row("a", None), row("a", 1), row("a", None), row("a", 2)], schema=SCHEMA)
    over = {"n": sw.count().over(sw.rows(9))}
    call = {"partition_by": "k", "order_by": "ts", **over}
    for options, task in (
        ({"emit": "changes"}, {"emit": "changes"}),
        ({"forget_after": "9s"}, {"forget_after": 9 * SECOND}),
    ):
        found = sw.with_columns(rows, **call, **options)
        assert found["n"].to_pylist() == [1, 2]
        same(found, run(task_of(over, **task), [rows], DELAY).result())
    assert sw.with_columns(rows, **call, max_delay="1s", late="revise", keep="1s")["n"].to_pylist() == [1, 3, 2, 4]


# ---- with Spark
FEATURES = {"label": sw.max("note").over(sw.rows(2)), "many": sw.count("x.y").over(sw.rows(3))}
SLIDES_OF = {"label": sw.max("note"), "many": sw.count("x.y")}
KEYS: dict[str, Any] = {"partition_by": "k", "order_by": ["ts", "seq"]}
ON_TIME = {"max_delay": "10s", "max_ahead": "1000d", "buckets": 2, "metrics": "counts"}


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def session(request):
    """Both modes, Connect by make soak: a query takes seconds."""
    return request.getfixturevalue(request.param)


CALLS: dict[str, Any] = {
    "changes of rows": (KEYS | {"emit": "changes", "forget_after": "900ms"}, FEATURES),
    "revised rows": (KEYS | {"late": "revise", "keep": "5s", "forget_after": "900ms"}, FEATURES),
    "revised slides": (KEYS | {"late": "revise", "keep": "5s", "window": sw.rows(3, every=2)}, SLIDES_OF),
    "changes of slides": (KEYS | {"order_by": "ts", "emit": "changes", "window": sw.time("4s", every="1s")}, SLIDES_OF),
    "rows that leave": (
        {"partition_by": "k", "order_by": "ts", "emit": "changes", "empty": True, "forget_after": "5s"},
        {
            "n": sw.count().over(sw.time("2s")),
            "total": sw.sum("seq").over(sw.time("700ms", closed="left")),
            "last": sw.max("note").over(sw.rows(2)),
            "all": sw.count().over(sw.rows_between(-sw.UNBOUNDED, 0)),
        },
    ),
    "windows without rows": (
        KEYS | {"order_by": "ts", "emit": "changes", "empty": True, "window": sw.time("4s", every="1s")},
        SLIDES_OF,
    ),
    "forgotten keys": (KEYS | {"order_by": "ts", "forget_after": "1s", "window": sw.rows(4, every="1s")}, SLIDES_OF),
}


#: a query takes seconds, and what it has in common with a batch is tested micro-batch by micro-batch above
REAL = ("rows that leave", "revised slides", "forgotten keys")


@pytest.mark.parametrize("named", [*in_full(*REAL), *in_soak(*(name for name in CALLS if name not in REAL))])
def test_one_dict_runs_as_a_query_and_as_a_batch(session, tmp_path, named):
    call, columns = CALLS[named]
    session.conf.set(PROVIDER, ROCKSDB)
    session.conf.set(PARTITIONS, "2")
    folder, parts = Folder(tmp_path, session), events(batches=2)
    run_call = sw.aggregate if "window" in call else sw.with_columns
    folder.add(*parts, last_row(1000))
    out = run_call(folder.stream(), **call, **ON_TIME, **columns)
    progress = folder.run(out)
    assert slidewise.spark.dropped_rows(progress, "counts") == {"late": 0, "ahead": 0, "untimed": 0}
    rows = session.read.schema(COLUMNS).parquet(str(tmp_path / "in"))
    whole = run_call(rows, **call, **ON_TIME, **columns)
    assert whole.schema.simpleString() == out.schema.simpleString()
    found, expected = (
        sorted((row for row in utc(table).to_pylist() if row["k"] != "end"), key=repr)
        for table in (whole.toArrow(), folder.result())
    )
    assert list(map(repr, found)) == list(map(repr, expected))
    in_memory = utc(run_call(pa.concat_tables(parts), **call, **ON_TIME, **columns))
    assert in_memory.column_names == whole.columns
    assert sorted(map(repr, in_memory.to_pylist())) == list(map(repr, found))


@pytest.fixture
def frames(spark):
    """The same columns as a stream, as a batch, and in memory."""
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set(PARTITIONS, "2")
    stream = spark.readStream.format("rate").load()
    rows = spark.createDataFrame([], stream.schema)
    return {"stream": stream, "batch": rows, "memory": rows.toArrow()}


#: what is refused of a call, and by which words
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"emit": "always"}, "emit is one of"),
    ({"late": "keep"}, "late is"),
    ({"late": "revise"}, "Say how long"),
    ({"keep": "1m"}, "keep= bounds"),
    ({"late": "revise", "keep": 3}, "keep is a length of time"),
    ({"late": "revise", "keep": "1m", "emit": "changes"}, "came with the watermark"),
    ({"late": "revise", "keep": "1m", "revision": sw.max("value").over(sw.rows(2))}, "adds a column 'revision'"),
    ({"late": "revise", "keep": "1m", "peak": sw.max("value").over(sw.delta("value", 1))}, "results that stay apart"),
    ({"max_delay": 3}, "max_delay is a length of time"),
    ({"max_delay": "-1s"}, "max_delay is a length of time"),
    ({"max_delay": "10us"}, "counts milliseconds"),
    ({"max_ahead": "soon"}, "soon"),
    ({"forget_after": 3}, "forget_after is a length of time"),
    ({"forget_after": "3s", "order_by": sw.desc("timestamp")}, "descending"),
    ({"emit": "changes", "order_by": sw.desc("timestamp")}, "descending"),
    ({"empty": True}, 'goes with emit="changes"'),
    ({"empty": "yes", "emit": "changes"}, "empty is True or False"),
    ({"empty": True, "emit": "changes"}, "none leaves rows"),
    ({"empty": True, "emit": "changes", "peak": sw.max("value").over(sw.session("3s"))}, "never empty"),
    ({"buckets": 0}, "a number from 1 to 4096"),
    ({"buckets": "many"}, "a number from 1 to 4096"),
    ({"metrics": ""}, "metrics is the name"),
    ({"checkpoint": 3}, "the path of a checkpoint"),
    ({"forget_after": "3s", "order_by": None, "emit": "arrival"}, "is measured in event time"),
]
HOP = sw.time("2s", every="1s")
REFUSED_SLIDES: list[tuple[dict[str, Any], str]] = [
    ({"window": HOP, "slices": 8}, "slices= is True or False"),
    ({"window": HOP, "slices": True, "late": "revise", "keep": "1m"}, "takes late rows into account"),
    ({"window": HOP, "slices": True, "peak": sw.median("value")}, "has no partials"),
    ({"window": HOP, "slices": True, "algorithm": "daba"}, "is one for rows"),
    ({"window": sw.rows(3, every=HOP.every), "slices": True}, "not a hopping window"),
    ({"window": sw.rows(3, every=HOP.every), "forget_after": "500ms"}, "at least as long as the slide"),
    ({"window": sw.rows(3, every=2), "late": "revise", "keep": "1m", "forget_after": "1h"}, "told apart by the number"),
    ({"window": sw.rows(3, every=2), "late": "revise", "keep": "1m", "row": sw.max("value")}, "adds a column 'row'"),
]


@pytest.mark.full
def test_what_a_stream_refuses_of_options_a_batch_refuses_too(frames):
    for df in frames.values():
        for option, words in REFUSED:
            call = {"order_by": "timestamp", "max_delay": "1s", "peak": sw.max("value").over(sw.rows(2))} | option
            for run_call in (sw.with_columns, sw.explain):
                with pytest.raises(InvalidInput, match=words):
                    run_call(df, **call)
        for option, words in REFUSED_SLIDES:
            call = {"order_by": "timestamp", "max_delay": "1s", "peak": sw.max("value")} | option
            with pytest.raises(InvalidInput, match=words):
                sw.aggregate(df, **call)


def test_what_a_batch_cannot_know_is_refused(frames):
    over = {"n": sw.count().over(sw.rows(2))}
    for name in ("batch", "memory"):
        with pytest.raises(InvalidInput, match="does not know when its rows arrived"):
            sw.with_columns(frames[name], order_by="timestamp", emit="arrival", **over)
        assert "n" in sw.with_columns(frames[name], emit="arrival", **over).columns or name == "memory"
    with pytest.raises(InvalidInput, match="no order of their own"):
        sw.with_columns(frames["batch"], emit="changes", **over)
    call = {"order_by": "timestamp", "emit": "changes", **over}
    with pytest.raises(InvalidInput, match='engine="spark" cannot compute this'):
        sw.with_columns(frames["batch"], engine="spark", **call)
    with pytest.raises(InvalidInput, match="hot_keys=True cannot spread"):
        sw.with_columns(frames["batch"], hot_keys=True, **call)
    own = slidewise.spark.functions.count("value").over(
        slidewise.spark.Window.partitionBy("value").orderBy("timestamp")
    )
    with pytest.raises(InvalidInput, match="2 partitionings and orders"):
        sw.with_columns(frames["batch"], own=own, **call)


def test_explain_tells_which_options_have_an_effect_on_a_batch(frames):
    call = {"order_by": "timestamp", "max_delay": "1s", "metrics": "mine", "forget_after": "1h"}
    for name in ("batch", "memory"):
        note = sw.explain(frames[name], **call, emit="changes", n=sw.count().over(sw.rows(2))).note
        assert 'with an effect on a batch: emit="changes" as on a stream, forget_after="1h" as on a stream' in note
        assert 'with an effect on a stream only: max_delay="1s", metrics="mine"' in note
        note = sw.explain(
            frames[name], **call, late="revise", keep="1m", window=sw.time("1m", every="1s"), n=sw.count()
        ).note
        assert "late=\"revise\" adds the column 'revision'" in note
    [line] = sw.explain(frames["batch"], **call, n=sw.count().over(sw.rows_between(-sw.UNBOUNDED, 0)))
    assert line["engine"] == "slidewise"
    assert "look at the row before" in line["decided by"]
