"""emit="changes", empty=True on streams: results that change when rows leave, against recalculation."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict

import folders
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import (
    SCHEMA,
    SECOND,
    START,
    Stream,
    batches,
    equal,
    find_watermarks,
    hashes_of,
    on_time,
    row,
    run,
    same,
    small_pieces,  # noqa: F401
    task_of,
)
from support.expiry_oracle import Counted, Ranged, changes, window_changes
from support.tiers import examples

import slidewise as sw
import slidewise.spark
from slidewise.errors import InvalidInput, StateError
from slidewise.spark.session import PARTITIONS, PROVIDER, ROCKSDB
from slidewise.spark.streams.held_state import BucketCopy, read_bucket
from slidewise.spark.streams.history import StreamHistory
from slidewise.spark.streams.micro_batches import MicroBatches

BEGIN = round(START.timestamp()) * SECOND
FUNCTIONS = {
    "count": lambda: sw.count(),
    "sum": lambda: sw.sum("seq"),
    "max": lambda: sw.max("seq"),
    "list": lambda: sw.collect_list("seq"),
}
WINDOWS = {
    "time": (sw.time("6s"), lambda a: Ranged(a, -6 * SECOND)),
    "long": (sw.time("11s", closed="right"), lambda a: Ranged(a, -11 * SECOND, 0, True)),
    "left": (sw.time("3s", closed="left"), lambda a: Ranged(a, -3 * SECOND, 0, False, True)),
    "neither": (sw.time("2s", closed="neither"), lambda a: Ranged(a, -2 * SECOND, 0, True, True)),
    "past": (sw.range_between("-9s", "-4s"), lambda a: Ranged(a, -9 * SECOND, -4 * SECOND)),
    "rows": (sw.rows(2), lambda a: Counted(a, 2)),
    "running": (sw.rows_between(-sw.UNBOUNDED, 0), lambda a: Counted(a, 10**6)),
}

GRIDS = {
    "hopping": (sw.time("10s", every="3s"), (10, 3, 0, False)),
    "moved": (sw.time("5s", every="5s", offset="1s"), (5, 5, 1, False)),
    "sampled": (sw.time("3s", every="7s"), (3, 7, 0, False)),
    "cumulative": (sw.time("12s", every="4s", offset="1s", cumulative=True), (12, 4, 1, True)),
}


@st.composite
def features(draw):
    ours, theirs = {}, {}
    first = draw(st.sampled_from(["time", "long", "left", "neither", "past"]))
    for k, kind in enumerate([first, *draw(st.lists(st.sampled_from(sorted(WINDOWS)), max_size=2))]):
        aggregate = draw(st.sampled_from(["count", "sum", "max"] if kind == "running" else sorted(FUNCTIONS)))
        window, build = WINDOWS[kind]
        ours[f"f{k}"], theirs[f"f{k}"] = FUNCTIONS[aggregate]().over(window), build(aggregate)
    return ours, theirs


def micros(time):
    return round(time.timestamp() * SECOND) if isinstance(time, dt.datetime) else time


def in_keys(table):
    """(time, seq) of the rows of each key, in order."""
    found = defaultdict(list)
    for r in sorted(table.to_pylist(), key=lambda r: (r["ts"], r["seq"])):
        found[r["k"]].append((micros(r["ts"]), r["seq"]))
    return found


def expect(table, theirs, forget_after=None):
    out = []
    for key, rows in in_keys(table).items():
        for time, number, results in changes(rows, theirs, forget_after):
            out.append((key, time, None if number is None else rows[number - 1][1], results))
    return sort(out)


def sort(found):
    return sorted(found, key=lambda r: (r[0] is not None, r[0] or "", r[1], -1 if r[2] is None else r[2]))


def read(table, names):
    rows = table.to_pylist()
    return sort([(r["k"], micros(r["ts"]), r["seq"], {name: r[name] for name in names}) for r in rows])


# ---- one result per row
@examples(150)
@given(features(), batches(), st.sampled_from([0, 3, 8]), st.sampled_from([None, 0, 2, 7]))
def test_stream_is_recalculation(both, parts, delay, forget):
    """All state goes through bytes between two micro-batches; rows leave with the watermark alone."""
    ours, theirs = both
    forget_after = None if forget is None else forget * SECOND
    task = task_of(ours, order_by=["ts"], emit="changes", empty=True, forget_after=forget_after)
    # Rows of equal time are in the order of arrival, which is that of seq within a micro-batch only: one each.
    parts = [part.take(pa.array(first_of_time(part, parts[:k]))) for k, part in enumerate(parts)]
    stream = run(task, parts, delay)
    assert read(stream.result(), ours) == expect(on_time(parts, delay * SECOND), theirs, forget_after)
    leave = all(isinstance(f, Ranged) for f in theirs.values())
    assert not (leave or forget is not None) or stream.state_rows == 0
    batch = sw.with_columns(
        on_time(parts, delay * SECOND),
        ours,
        partition_by="k",
        order_by="ts",
        emit="changes",
        empty=True,
        **({} if forget is None else {"forget_after": f"{forget}s"}),
    )
    same(stream.result(), batch, by=("k", "ts"))


def first_of_time(part, before):
    """The rows of which no earlier one has the key and time."""
    seen = {(r["k"], r["ts"]) for rows in before for r in rows.to_pylist()}
    found = []
    for k, r in enumerate(part.to_pylist()):
        if (r["k"], r["ts"]) not in seen:
            found.append(k)
            seen.add((r["k"], r["ts"]))
    return np.array(found, np.int64)


@examples(80)
@given(features(), batches(), st.sampled_from([None, 2, 7]))
def test_all_is_told_when_the_watermark_has_passed_it_and_not_before(both, parts, forget):
    """Of a bucket that is asked only when it has rows, or its timer says so."""
    ours, theirs = both
    forget_after = None if forget is None else forget * SECOND
    stream = Stream(task_of(ours, emit="changes", empty=True, forget_after=forget_after), 3 * SECOND)
    parts = [part.take(pa.array(first_of_time(part, parts[:k]))) for k, part in enumerate(parts)]
    expected = expect(on_time(parts, 3 * SECOND), theirs, forget_after)
    for part in [*parts, parts[0][:0]]:
        watermark = stream.watermark
        stream.push(part)
        told = read(stream.result(), ours) if stream.out else []
        assert told == [r for r in expected if r[1] <= watermark]


@examples(40)
@given(st.sampled_from(sorted(GRIDS)), batches())
def test_windows_are_told_when_the_watermark_has_passed_them(kind, parts):
    window, grid = GRIDS[kind]
    stream = Stream(task_of({"n": sw.count()}, window=window, emit="changes", empty=True), 3 * SECOND)
    expected = expect_windows(parts, 3 * SECOND, {"n": "count"}, grid)
    for part in [*parts, parts[0][:0]]:
        watermark = stream.watermark
        stream.push(part)
        told = found_windows(stream.result(), {"n": "count"}) if stream.out else []
        assert told == [r for r in expected if r[2] - 1 <= watermark]


@pytest.mark.parametrize("by_time", [True, False])
def test_a_row_at_the_instant_at_which_its_key_is_forgotten(by_time):
    ours = {"n": sw.count().over(sw.time("2s")), "all": sw.count().over(WINDOWS["running"][0])}
    theirs = {"n": Ranged("count", -2 * SECOND), "all": Counted("count", 10**6)}
    if not by_time:  # no row is left then, either
        del ours["n"], theirs["n"]
    task = task_of(ours, emit="changes", empty=True, forget_after=7 * SECOND)
    for at in (7.000001, 7.000002, 7.0):
        parts = [table(row("a", 0)), table(row("b", 5, seq=1)), table(row("b", 6, seq=2)), table(row("a", at, seq=3))]
        stream = run(task, parts, 0)
        assert read(stream.result(), ours) == expect(pa.concat_tables(parts), theirs, 7 * SECOND)


def test_each_key_is_forgotten_at_its_own_time():
    """Of keys in one piece, and without rows of any."""
    ours = {"n": sw.count().over(sw.time("2s")), "all": sw.count().over(WINDOWS["running"][0])}
    stream = Stream(task_of(ours, emit="changes", empty=True, forget_after=7 * SECOND), 0)
    stream.push(table(row("a", 0), row("b", 3)))
    for second, told in ((6, ["a", "a", "b", "b"]), (8, ["a"]), (9, None), (11, ["b"])):
        stream.watermark, before = BEGIN + second * SECOND, len(stream.out)
        stream.push(SCHEMA.empty_table())
        out = [key for each in stream.out[before:] for key in each["k"].to_pylist()]
        assert out == (told or [])
    assert stream.state_rows == 0


def test_a_silent_key_without_rows_in_the_batch():
    task = task_of({"n": sw.count().over(sw.time("5s"))}, emit="changes", empty=True)
    stream = Stream(task, 0)
    stream.push(table(row("a", 1)))
    stream.push(table(row("b", 2)))
    stream.push(table(row("b", 6.5)))
    stream.push(table(row("b", 7.5)))
    out = stream.push(SCHEMA.empty_table()).to_pylist()
    assert [(r["k"], r["ts"], r["n"], r["x"]) for r in out if r["k"] == "a"] == []
    found = [(r["k"], micros(r["ts"]) - BEGIN, r["n"]) for r in stream.result().to_pylist() if r["k"] == "a"]
    assert found == [("a", 1 * SECOND, 1), ("a", 6 * SECOND + 1, 0)]


def table(*rows):
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def test_late_rows_are_marked_beside():
    parts = [table(row("a", 1)), table(row("b", 20)), table(row("a", 2)), table(row("b", 40))]
    task = task_of({"n": sw.count().over(sw.time("5s"))}, emit="changes", empty=True, late_row=SCHEMA)
    stream = run(task, parts, 0)
    found = [(r["k"], micros(r["ts"]) - BEGIN, r["n"], r["late"]) for r in stream.result().to_pylist()]
    assert ("a", 2 * SECOND, None, True) in found
    assert [r for r in found if r[0] == "a" and not r[3]] == [("a", SECOND, 1, False), ("a", 6 * SECOND + 1, 0, False)]


# ---- windows [start, end)
@examples(150)
@given(st.sampled_from(sorted(GRIDS)), batches(), st.sampled_from([0, 3, 8]), st.booleans(), st.booleans())
def test_windows_are_recalculation(kind, parts, delay, ordered, slices):
    """With late rows: a window is over the rows that came before the watermark of a micro-batch had closed it."""
    window, grid = GRIDS[kind]
    names = {"n": "count", "s": "sum", **({"l": "list"} if ordered else {})}
    ours = {name: FUNCTIONS[aggregate]() for name, aggregate in names.items()}
    task = task_of(ours, window=window, emit="changes", empty=True, slices=slices and not ordered)
    stream = run(task, parts, delay)
    assert stream.state_rows == 0
    assert found_windows(stream.result(), names) == expect_windows(parts, delay * SECOND, names, grid)


def found_windows(out, names):
    rows = [(r["k"], r["window_start"], r["window_end"], {name: r[name] for name in names}) for r in out.to_pylist()]
    for r in rows:
        if "l" in names:
            r[3]["l"].sort()  # rows of equal time are in the order in which they came
    found = [(k, micros(start), micros(end), results) for k, start, end, results in rows]
    return sorted(found, key=lambda r: (r[0] is not None, r[0] or "", r[2]))


def expect_windows(parts, delay, names, grid):
    size, every, offset, cumulative = (n if isinstance(n, bool) else n * SECOND for n in grid)
    cuts = [0, *find_watermarks(parts, delay)][: len(parts)]
    came = [(cut, r) for cut, part in zip(cuts, parts, strict=True) for r in part.to_pylist()]
    out = []
    for key in {r["k"] for _, r in came}:
        own = [(cut, micros(r["ts"]), r["seq"]) for cut, r in came if r["k"] == key]
        times = [t for _, t, _ in own]
        last = {name: 0 if name == "n" else [] if name == "l" else None for name in names}
        k = (min(times) - offset) // every - size // every - 2
        while k * every + offset <= max(times) + size + 2 * every:
            start, end = k * every + offset, k * every + offset + size
            if cumulative:
                end = start + every
                start = (k * every) // size * size + offset
            inside = [x for cut, t, x in own if start <= t < end and end > cut]
            here = {"n": len(inside), "s": sum(inside) if inside else None, "l": sorted(inside)}
            here = {name: here[name] for name in names}
            if here != last:
                out.append((key, start, end, here))
            last, k = here, k + 1
    return sorted(out, key=lambda r: (r[0] is not None, r[0] or "", r[2]))


def test_the_oracles_agree():
    rows = [(t * SECOND, t) for t in (1, 2, 9, 31)]
    one = table(*(row("a", t, seq=t) for t in (1, 2, 9, 31)))
    for _, (size, every, offset, cumulative) in GRIDS.values():
        there = [(BEGIN + t, x) for t, x in rows]
        made = window_changes(there, {"n": "count"}, size * SECOND, every * SECOND, offset * SECOND, cumulative)
        assert [("a", *r) for r in made] == expect_windows([one], 0, {"n": "count"}, (size, every, offset, cumulative))


# ---- history, and state that is read
def test_history_expires_after_it_has_ended():
    """What leaves in the time of the history is told nowhere, and what leaves after it is."""
    task = task_of({"n": sw.count().over(sw.time("10s"))}, emit="changes", empty=True, begins="newest")
    stream = Stream(task, 0)
    past = table(row("a", 0), row("b", 4), row("a", 5))
    StreamHistory(MicroBatches(task), stream.memory).take(past, hashes_of(past, ["k"]), BEGIN + 5 * SECOND)
    none, no_hashes = SCHEMA.empty_table(), np.empty(0, np.int64)
    found = []
    for second in (5, 12, 60):
        step, _ = StreamHistory(MicroBatches(task), stream.memory).advance(none, no_hashes, BEGIN + second * SECOND)
        found += [(r["k"], micros(r["ts"]) - BEGIN, r["n"]) for r in step.rows.to_pylist()]
    at = {name: n * SECOND + 1 for name, n in {"x": 10, "y": 14, "z": 15}.items()}
    assert found == [("a", at["x"], 1), ("a", at["z"], 0), ("b", at["y"], 0)]


def test_state_is_read_as_of_the_watermark():
    task = task_of({"n": sw.count().over(sw.time("10s"))}, emit="changes", empty=True)
    stream = Stream(task, 0)
    for part in (table(row("a", 0), row("a", 4)), table(row("b", 12)), SCHEMA.empty_table()):
        stream.push(part)
    memory = stream.memory
    held = read_bucket(task, BucketCopy(memory.meta, memory.pieces), stream.watermark)
    last = {r["k"]: r["n"] for r in stream.result().sort_by("ts").to_pylist()}
    assert {r["k"]: r["n"] for r in held.to_pylist()} == last == {"a": 1, "b": 1}


@pytest.mark.parametrize("empty", [True, False])
def test_open_windows_are_read_whether_or_not_they_have_changed(empty):
    task = task_of({"n": sw.count()}, window=sw.time("6s", every="2s"), emit="changes", empty=empty)
    stream = Stream(task, 0)
    for part in (table(row("a", 0), row("b", 0)), table(row("a", 7)), SCHEMA.empty_table()):
        stream.push(part)
    memory = stream.memory
    held = read_bucket(task, BucketCopy(memory.meta, memory.pieces), stream.watermark)
    windows = [(r["k"], micros(w["window_end"]) - BEGIN, w["n"]) for r in held.to_pylist() for w in r["open"]]
    assert windows == [("a", end * SECOND, 1) for end in (8, 10, 12)]


def test_state_of_another_definition_is_refused():
    ours = {"n": sw.count().over(sw.time("10s"))}
    stream = Stream(task_of(ours, emit="changes", empty=True), 0)
    stream.push(table(row("a", 0)))
    stream.task = task_of(ours, emit="changes")
    with pytest.raises(StateError, match="empty"):
        stream.push(table(row("a", 1)))


def test_results_of_all_types_become_empty():
    ours = {
        "text": sw.max("note").over(sw.time("5s")),
        "set": sw.collect_set("x").over(sw.time("5s")),
        "first": sw.first("ts").over(sw.time("5s")),
        "bytes": sw.approx_count_distinct("note").over(sw.time("5s")),
        "yes": sw.bool_or("mark").over(sw.time("5s")),
        "m4": sw.m4("x").over(sw.time("5s")),
    }
    task = task_of(ours, emit="changes", empty=True)
    stream = run(task, [table(row("a", 0, note="n", mark=True)), table(row("b", 20))], 0)
    rows = [r for r in stream.result().to_pylist() if r["k"] == "a"]
    batch = sw.with_columns(
        table(row("a", 0, note="n", mark=True)), ours, partition_by="k", order_by="ts", emit="changes", empty=True
    ).to_pylist()
    assert len(rows) == 2 and all(map(equal, rows, batch))
    assert (rows[1]["text"], rows[1]["set"], rows[1]["first"], rows[1]["bytes"]) == (None, [], None, 0)


def test_sessions_are_refused_with_the_reason():
    from slidewise.columns.stream_options import StreamOptions, check_empty

    over = {"n": sw.count().over(sw.session("3s"))}
    with pytest.raises(InvalidInput, match="never empty"):
        check_empty(over, StreamOptions(emit="changes", empty=True), "with_columns")


# ---- a real query
@pytest.mark.full
def test_a_query_tells_what_leaves_across_restarts(spark, tmp_path):
    """What leaves next is in the checkpoint: a key that was silent before a restart is told after it."""
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set(PARTITIONS, "2")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    folder, parts = folders.Folder(tmp_path, spark), folders.events(batches=4, each=40)
    over = {"n": sw.count().over(sw.time("2s")), "total": sw.sum("seq").over(sw.time("900ms", closed="left"))}
    theirs = {"n": Ranged("count", -2 * SECOND), "total": Ranged("sum", -900_000, 0, False, True)}

    def build(checkpoint=None):
        return sw.with_columns(
            folder.stream(), over, partition_by="k", order_by="ts", max_delay="10s", emit="changes", empty=True,
            checkpoint=checkpoint,
        )  # fmt: skip

    path = str(tmp_path / "checkpoint")
    for part in parts:  # a run of its own for each: all state comes from the checkpoint
        folder.add(part)
        folder.run(build())
    folder.add(folders.last_row(500))
    folder.run(build(path))
    held = slidewise.spark.read_state(build(), path).toArrow().to_pylist()
    folder.add(folders.last_row(1000))
    folder.run(build(path))
    out = folders.utc(folder.result())
    whole = pa.concat_tables(parts)
    assert [r for r in read(out, over) if r[0] != "end"] == expect(whole, theirs)
    assert {r["k"] for r in held} <= {"end"}  # all others have left
