"""lag, lead, row_number, rank and dense_rank on streams: the answers of a batch, with small state, or a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SECOND, Stream, batches, equal, on_time, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput

OFFSETS = {
    "before": sw.lag("x"),
    "third": sw.lag("note", 3, "none"),
    "known": sw.lag("note", 1, ignore_nulls=True),
    "second known": sw.lag("x", 2, -1.0, ignore_nulls=True),
    "n": sw.row_number(),
    "youngest but one": sw.nth_value("note", -2).over(4),
    "so far but two": sw.nth_value("note", -3).over(sw.rows_between(-sw.UNBOUNDED, 0)),
}
RANKS = {"r": sw.rank(), "d": sw.dense_rank()}


def want_of(task, parts, delay, **options):
    rows = on_time(parts, delay * SECOND)
    return sw.with_columns(
        rows, dict(task.expressions), partition_by=task.partition_by, order_by=list(task.order_by), **options
    )


@examples(40)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_offsets_are_those_of_a_batch(parts, delay):
    task = task_of(OFFSETS, order_by=["ts", "seq"])
    same(run(task, parts, delay).result(), want_of(task, parts, delay))


@examples(40)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]), order=st.sampled_from([["ts"], ["ts", "note"]]))
def test_ranks_are_those_of_a_batch(parts, delay, order):
    task = task_of(RANKS, order_by=order)
    same(run(task, parts, delay).result(), want_of(task, parts, delay))


@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_a_forgotten_key_begins_anew(parts, delay):
    task = task_of({**RANKS, "n": sw.row_number(), "known": sw.lag("x", 1, ignore_nulls=True)},
                   order_by=["ts", "seq"], forget_after=6 * SECOND)  # fmt: skip
    stream = run(task, parts, delay)
    same(stream.result(), want_of(task, parts, delay, forget_after="6s"))
    assert not stream.memory.pieces


@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2, 15]))
def test_lead_waits_for_the_row_that_it_is_the_value_of(parts, delay):
    task = task_of({"after": sw.lead("x", 2)}, order_by=["ts", "seq"])
    found = run(task, parts, delay).result()
    want = want_of(task, parts, delay).to_pylist()
    ordered = sorted(want, key=lambda r: (str(r["k"]), r["ts"], r["seq"]))
    keys = [r["k"] for r in ordered]
    complete = {r["seq"] for i, r in enumerate(ordered) if i + 2 < len(keys) and keys[i + 2] == r["k"]}
    assert {r["seq"] for r in found.to_pylist()} == complete
    rows = {r["seq"]: r["after"] for r in want}
    assert all(rows[r["seq"]] == r["after"] or rows[r["seq"]] != rows[r["seq"]] for r in found.to_pylist())


@examples(20)
@given(parts=batches(), delay=st.sampled_from([0, 2]), keep=st.sampled_from([5, 40]))
def test_late_rows_revise_places(parts, delay, keep):
    task = task_of({**RANKS, "before": sw.lag("x"), "n": sw.row_number()}, order_by=["ts", "seq"], keep=keep * SECOND)
    last = {}
    for r in run(task, parts, delay).result().to_pylist():
        if r["seq"] not in last or r["revision"] > last[r["seq"]]["revision"]:
            last[r["seq"]] = r
    rows = on_time(parts, delay * SECOND, keep * SECOND)
    want = sw.with_columns(rows, dict(task.expressions), partition_by="k", order_by=["ts", "seq"]).to_pylist()
    assert len(want) == len(last)
    assert all(equal(r[name], last[r["seq"]][name]) for r in want for name in task.expressions)


def test_the_state_of_a_key_does_not_grow():
    import datetime as dt

    import pyarrow as pa
    from microbatches import SCHEMA, START

    task = task_of({**RANKS, "n": sw.row_number(), "known": sw.lag("x", 2, ignore_nulls=True)})
    stream, sizes = Stream(task, 0), []
    for k in range(30):
        rows = [
            {"k": "a", "ts": START + dt.timedelta(seconds=10 * k + i // 2), "seq": 100 * k + i, "x": 1.0, "odo": 1,
             "mark": False, "note": "n"}
            for i in range(20)
        ]  # fmt: skip
        stream.push(pa.Table.from_pylist(rows, SCHEMA))
        sizes.append(stream.state_rows)
    assert max(sizes[5:]) < 1.1 * min(sizes[5:])


@pytest.mark.parametrize(
    ("expression", "options", "said"),
    [
        (sw.percent_rank(), {}, "percent_rank is a share of all rows of a key, and a stream does not end"),
        (sw.cume_dist(), {}, "cume_dist is a share of all rows"),
        (sw.ntile(4), {}, "ntile is a share of all rows"),
        (sw.lead("x", ignore_nulls=True), {}, "ends with its key, and a stream does not end"),
        (sw.rank(), {"emit": "arrival"}, "rank is by the order of rows, and rows that arrive later may be before"),
        (sw.lead("x"), {"emit": "arrival"}, "reaches beyond its own row"),
    ],
)
def test_what_has_no_bound_is_refused(expression, options, said):
    with pytest.raises(InvalidInput, match=said):
        task_of({"a": expression}, **options)
