"""Hopping windows by slices: the results are those of rows, and what is kept does not grow with rows."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, START, Stream, batch, batches, expect, hashes_of, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples, quick
from test_pipeline import Spread

import slidewise as sw
from slidewise.errors import StateError
from slidewise.spark.streams.slices import choose_folding
from slidewise.spark.streams.stream_task import SLICE_ROWS
from slidewise.spark.streams.wire import Packing

WINDOWS = {
    "whole slides": sw.time("12s", every="4s"),
    "two cuts to a slide": sw.time("10s", every="3s", offset="1s"),
    "tumbling": sw.time("5s", every="5s", offset="2s"),
    "cumulative": sw.time("12s", every="3s", offset="1s", cumulative=True),
    "sampled": sw.time("2s", every="5s"),
}
DIVISIBLE = {
    "n": sw.count(),
    "known": sw.count("note"),
    "chosen": sw.count("x", where="mark"),
    "peak": sw.max("x"),
    "low": sw.min("x", where="mark"),
    "last_note": sw.max("note"),
    "odo": sw.min("odo"),
    "total": sw.sum("x"),
    "driven": sw.sum("odo"),
    "mean": sw.avg("x"),
    "mean_odo": sw.avg("odo"),
    "spread": sw.stddev("x"),
    "variance": sw.var_pop("x"),
    "skewed": sw.skewness("odo"),
    "tailed": sw.kurtosis("odo"),
    "together": sw.covar_samp("x", "odo"),
    "jointly": sw.covar_pop("x", "odo"),
    "linear": sw.corr("odo", "seq"),
    "pairs": sw.regr_count("x", "odo"),
    "mean_x": sw.regr_avgx("seq", "x"),
    "squares": sw.regr_sxx("seq", "odo"),
    "slope": sw.regr_slope("odo", "seq"),
    "explained": sw.regr_r2("odo", "seq"),
    "times": sw.product("odo"),
    "geo": sw.geomean("odo"),
    "all": sw.bool_and("mark"),
    "any": sw.bool_or("mark"),
    "bits": sw.bit_or("odo"),
    "common_bits": sw.bit_and("odo"),
    "odd_bits": sw.bit_xor("odo"),
    "own": Spread("odo"),
}


#: one for each way to divide an aggregation; each compiles three kernels, and make soak takes them all
SOME = {name: DIVISIBLE[name] for name in ("n", "chosen", "last_note", "driven", "mean", "spread", "variance", "own")}
#: by the time of rows, within a slice too
PICKS = {
    "begin": sw.first("note"),
    "latest": sw.last("note", ignore_nulls=True),
    "end": sw.last("x", where="mark"),
    "at_peak": sw.max_by("seq", "x"),
    "note_at_low": sw.min_by("note", "odo"),
    "time_at_high": sw.max_by("ts", "note"),
    "newest": sw.max("ts"),
}
SKETCHES = {
    "notes": sw.approx_count_distinct("note"),
    "median": sw.approx_percentile("odo", 0.5, accuracy=100),
    "seen": sw.bloom_filter("odo", contains=[3, 5]),
    "often": sw.count_min_sketch("note", eps=0.1, counts_of="x"),
    "moments": sw.moment_sketch("odo", order=3),
}
SETS = {"some": SOME, "picks": PICKS, "sketches": SKETCHES, "all": DIVISIBLE}


@pytest.mark.parametrize(
    "which", [*quick(["some", "picks", "sketches"], "some", "picks"), pytest.param("all", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    "window", quick(WINDOWS.values(), WINDOWS["two cuts to a slide"], WINDOWS["cumulative"]), ids=list(WINDOWS)
)
@examples(15)
@given(batches(), st.sampled_from([0, 2, 10, 1000]))
def test_slices_give_what_a_batch_gives(window, which, parts, delay):
    task = task_of(SETS[which], window=window, slices=True)
    assert task.divisions.keys() == SETS[which].keys()
    stream = run(task, parts, delay)
    same(stream.result(), expect(task, parts, delay * SECOND), by=("k", "window_end"))
    assert not stream.memory.pieces


class Exchanged(Stream):
    """Rows of two partitions, of which one folds its rows before the exchange, and the other may."""

    folds = True

    def exchange(self, rows, hashes):
        packing = Packing(self.task.incoming, (0,), True, choose_folding(self.task))
        whole = rows.append_column("hash", pa.array(hashes))
        cut, blobs = len(rows) // 2, []
        for part, folds in ((whole[:cut], True), (whole[cut:], self.folds)):
            if len(part):
                blobs += packing.pack(part.to_batches(), folds)["blob"].to_pylist()
        return packing.unpack(blobs)


@pytest.mark.parametrize("emit", ["watermark", "arrival"])
@pytest.mark.parametrize("folds", [True, False])
@examples(20)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_rows_folded_before_the_exchange_change_nothing(folds, emit, parts, delay):
    """Results, late rows, and rows without a time are the same, whichever partitions fold theirs."""
    aggregates = {**PICKS, "n": sw.count(), "total": sw.sum("odo"), "chosen": sw.count("x", where="mark")}
    task = task_of(aggregates, window=WINDOWS["two cuts to a slide"], slices=True, emit=emit)
    untimed = pa.Table.from_pylist([row("a", None), row("b", None)], schema=SCHEMA)
    parts = [*parts, pa.concat_tables([untimed, parts[0]])]
    one, other = Stream(task, delay * SECOND), Exchanged(task, delay * SECOND)
    other.folds = folds
    for stream in (one, other):
        for part in parts:
            stream.push(part)
        stream.flush()
    by = ("k", "window_end", *(["final"] if emit == "arrival" else []))
    assert (one.late, one.untimed) == (other.late, other.untimed)
    assert one.untimed == 2
    for ours, theirs in zip(one.out, other.out, strict=True):
        same(ours, theirs, by=by)


def test_rows_are_folded_where_that_makes_fewer_bytes_of_them():
    def folds(rows, **options):
        task = task_of({"peak": sw.max("x")}, window=sw.time("10s", every="1s"), slices=True, **options)
        folding = choose_folding(task)
        rows = pa.Table.from_pylist(rows, schema=SCHEMA).select(task.rows.names)
        return folding is not None and folding.pays(rows, hashes_of(rows, ["k"]))

    dense = [row(f"key {n % 50}", n / 1000) for n in range(5000)]
    assert folds(dense)
    assert not folds([row(f"key {n % 50}", n) for n in range(5000)])
    # Of these, the rows themselves are given back, or are told by their own time.
    assert not folds(dense, late_row=SCHEMA)
    assert not folds(dense, begins="newest")


def test_what_is_exchanged_counts_its_rows():
    task = task_of({"n": sw.count()}, window=sw.time("10s", every="5s"), slices=True)
    rows = pa.Table.from_pylist([row("a", 1), row("b", 2), row("a", 3), row("a", 7), row("a", None)], SCHEMA)
    slices, hashes = choose_folding(task).fold_counted(rows.select(task.rows.names), np.arange(5))
    assert slices[SLICE_ROWS].to_pylist() == [2, 1, 1, 1]
    assert hashes.tolist() == [0, 3, 1, 4]
    assert slices["ts"].null_count == 1


def test_a_time_that_is_off_by_millennia_mixes_no_keys():
    """The number of a key and that of a slice, of 2^48 milliseconds, are more than 64 bits together."""
    number = (1 << 16) + 2
    times = np.zeros(number, np.int64)
    times[-1] = 1000 * ((1 << 48) - 1)
    task = task_of({"n": sw.count()}, window=sw.time("2ms", every="1ms"), partition_by="odo", slices=True)
    rows = pa.table({"odo": np.arange(number), "ts": pa.array(times).cast(SCHEMA.field("ts").type)})
    slices, _ = choose_folding(task).fold_counted(rows.select(task.rows.names), np.arange(number))
    assert len(slices) == number
    assert set(slices["odo"].to_pylist()) == set(range(number))


@examples(25)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_changes_only(parts, delay):
    aggregates = {"peak": sw.max("odo"), "any": sw.bool_or("mark")}
    window = WINDOWS["two cuts to a slide"]
    by_slices, by_rows = (
        run(task_of(aggregates, window=window, slices=slices, emit="changes"), parts, delay) for slices in (True, False)
    )
    same(by_slices.result(), by_rows.result(), by=("k", "window_end"))


@examples(25)
@given(batches())
def test_without_keys(parts):
    task = task_of(
        {"n": sw.count(), "mean": sw.avg("x")}, window=WINDOWS["whole slides"], partition_by=None, slices=True
    )
    stream = run(task, parts, 2)
    same(stream.result(), expect(task, parts, 2 * SECOND), by=("window_end",))


def test_what_is_kept_does_not_grow_with_rows():
    task = task_of({"peak": sw.max("x"), "mean": sw.avg("x")}, window=sw.time("60s", every="60s"), slices=True)
    sizes = set()
    for each, micro_batches in ((10, 50), (10, 5), (1000, 5)):
        stream = Stream(task, SECOND)
        for number in range(micro_batches):
            rows = [row(key, 50 * (number + 1) / micro_batches, x=float(n)) for key in "ab" for n in range(each)]
            stream.push(pa.Table.from_pylist(rows, schema=SCHEMA))
        sizes.add(stream.state_rows)
        assert stream.late == 0
    assert len(sizes) == 1


TYPES = {
    "float": (pa.float32(), [1.5, None, -2.0]),
    "byte": (pa.int8(), [127, None, -128]),
    "long": (pa.int64(), [2**62, None, 2**62]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.25"), None, Decimal("9999999.99")]),
    "wide": (pa.decimal128(28, 0), [Decimal(10**27), None, Decimal(-(10**27))]),
    "duration": (pa.duration("us"), [dt.timedelta(seconds=3), None, dt.timedelta(days=1)]),
}


@pytest.mark.parametrize("name", quick(TYPES, "byte", "decimal"))
def test_sums_of_all_types_are_exact(name):
    kind, values = TYPES[name]
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("v", kind)])
    value = dict(enumerate(values))
    rows = [{"k": "a", "ts": START + dt.timedelta(seconds=n), "v": value[n % 3]} for n in range(3)]
    parts = [pa.Table.from_pylist([one], schema=schema) for one in rows]
    aggregates = {"total": sw.sum("v"), "peak": sw.max("v")}
    window = sw.time("2s", every="1s")
    task = task_of(aggregates, window=window, schema=schema, slices=True)
    same(run(task, parts, 0).result(), batch(task, pa.concat_tables(parts)), by=("k", "window_end"))


def test_a_sum_that_leaves_64_bits_is_an_error():
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])
    rows = [{"k": "a", "ts": START, "v": 2**62} for _ in range(2)]
    task = task_of({"total": sw.sum("v")}, window=sw.time("2s", every="1s"), schema=schema, slices=True)
    with pytest.raises(OverflowError, match="64-bit"):
        run(task, [pa.Table.from_pylist(rows, schema=schema)], 0)


def test_another_result_of_the_same_partials_can_be_added_at_a_restart():
    window, rows = sw.time("10s", every="5s"), pa.Table.from_pylist([row("a", s, x=float(s)) for s in range(4)], SCHEMA)
    stream = Stream(task_of({"spread": sw.stddev("x"), "peak": sw.max("x")}, window=window, slices=True), 0)
    stream.push(rows)
    more = {"spread": sw.stddev("x"), "variance": sw.var_pop("x")}
    stream.task, stream.out = task_of(more, window=window, slices=True), []
    stream.flush()
    same(stream.result(), batch(stream.task, rows), by=("k", "window_end"))


@pytest.mark.parametrize(("aggregates", "slices", "message"), [
    ({"peak": sw.max("x"), "mean": sw.avg("x")}, True, r"no slices are kept with \"avg\('x'\) 0\""),
    ({"peak": sw.max("x")}, False, "kept"),
])  # fmt: skip
def test_what_slices_do_not_have_is_refused_at_a_restart(aggregates, slices, message):
    window = sw.time("10s", every="5s")
    stream = Stream(task_of({"peak": sw.max("x")}, window=window, slices=True), 0)
    stream.push(pa.Table.from_pylist([row("a", 1)], SCHEMA))
    stream.task = task_of(aggregates, window=window, slices=slices)
    with pytest.raises(StateError, match=message):
        stream.flush()


def own(factor):
    class Own(sw.Aggregation):
        identity = 0
        commutative = True
        lift = (lambda x: x * 10) if factor == 10 else (lambda x: x)

        @staticmethod
        def combine(a, b):
            return a + b

    return Own("odo")


def test_partials_of_code_that_has_changed_are_refused():
    window, rows = sw.time("10s", every="5s"), pa.Table.from_pylist([row("a", s, odo=s) for s in range(4)], SCHEMA)
    stream = Stream(task_of({"total": own(1)}, window=window, slices=True), 0)
    stream.push(rows)
    stream.task = task_of({"total": own(10)}, window=window, slices=True)
    with pytest.raises(StateError, match="no slices are kept with"):
        stream.flush()
    stream.task = task_of({"total": own(1)}, window=window, slices=True)
    stream.flush()
    same(stream.result(), batch(stream.task, rows), by=("k", "window_end"))


def test_two_aggregations_of_one_name_do_not_mix():
    rows = pa.Table.from_pylist([row("a", s, odo=s) for s in range(4)], SCHEMA)
    task = task_of({"one": own(1), "ten": own(10)}, window=sw.time("10s", every="5s"), slices=True)
    same(run(task, [rows], 0).result(), batch(task, rows), by=("k", "window_end"))


class Clipped(sw.Aggregation):
    """Tells the base class nothing of its parameter, and its version stands for its code."""

    identity = 0
    commutative = True
    state_version = 1

    def __init__(self, column, top=1):
        super().__init__(column)
        self.lift = lambda x: min(x, top)

    @staticmethod
    def combine(a, b):
        return a + b


def test_partials_of_other_parameters_are_refused_and_do_not_mix():
    window, rows = sw.time("10s", every="5s"), pa.Table.from_pylist([row("a", s, odo=s) for s in range(6)], SCHEMA)
    stream = Stream(task_of({"total": Clipped("odo", top=2)}, window=window, slices=True), 0)
    stream.push(rows)
    stream.task = task_of({"total": Clipped("odo", top=3)}, window=window, slices=True)
    with pytest.raises(StateError, match="no slices are kept with"):
        stream.flush()
    task = task_of({"two": Clipped("odo", top=2), "four": Clipped("odo", top=4)}, window=window, slices=True)
    result = run(task, [rows], 0).result()
    same(result, batch(task, rows), by=("k", "window_end"))
    whole = result.filter(pa.compute.equal(result["window_end"], max(result["window_end"].to_pylist()[:2])))
    assert (whole["two"].to_pylist(), whole["four"].to_pylist()) == ([9], [14])
