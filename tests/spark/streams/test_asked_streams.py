"""Questions in definitions, fractions per row, times of m4 and naive Bayes on streams: as over all rows in a batch."""

import pyarrow as pa
import pytest
from folders import DELAY, Folder, events, last_row, utc
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, batch, batches, on_time, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark.session import PROVIDER, ROCKSDB

ASKED = {
    "p": sw.percentile("x", sw.col("q")),
    "d": sw.percentile_disc("note", sw.col("q")),
    "m": sw.m4("odo", "ts"),
    "b": sw.bloom_filter("note", contains=["x", "z"]),
    "c": sw.count_min_sketch("odo", counts_of={"none": 0}),
    "s": sw.moment_sketch("odo", order=3, percentiles=[0.0, 1.0]),
    "bayes": sw.naive_bayes("mark", "odo", classes={"no": False, "yes": True}, predict=[sw.col("q")]),
}


def with_fractions(part):
    """Every ninth row asks for the least, and some for nothing."""
    asked = [None if n % 5 == 2 else n % 9 / 8 for n in part["seq"].to_pylist()]
    return part.append_column("q", pa.array(asked, pa.float64()))


@pytest.mark.parametrize("window", [sw.rows(4), sw.time("6s"), sw.rows_between(-1, 2)], ids=repr)
@examples(12)
@given(batches(), st.sampled_from([0, 3]))
def test_rows(window, parts, delay):
    parts = list(map(with_fractions, parts))
    ahead = {"forget_after": 10**11} if window.reach.end != 0 else {}
    made = {name: aggregation.over(window) for name, aggregation in ASKED.items()}
    task = task_of(made, schema=SCHEMA.append(pa.field("q", pa.float64())), **ahead)
    stream = run(task, parts, delay)
    same(stream.result(), batch(task, on_time(parts, delay * SECOND)))


@examples(12)
@given(batches(), st.sampled_from([0, 3]))
def test_slides_at_rows(parts, delay):
    parts = list(map(with_fractions, parts))
    schema = SCHEMA.append(pa.field("q", pa.float64()))
    task = task_of(ASKED, window=sw.rows(5, every=3), schema=schema, order_by=["ts", "seq"])
    stream = run(task, parts, delay)
    same(stream.result(), batch(task, on_time(parts, delay * SECOND)))


@pytest.mark.full
def test_a_real_stream(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    folder = Folder(tmp_path, spark)
    parts = events(3, 60)
    folder.add(*parts, last_row(1000))
    asked = {
        "p": sw.percentile("seq", sw.col("q")), "m": sw.m4("note", "ts"), "b": sw.bloom_filter("note", contains="p"),
        "c": sw.count_min_sketch("note", counts_of=["p", "z"]), "s": sw.moment_sketch("q", percentiles=[0.5]),
        "bayes": sw.naive_bayes("note", "q", classes=["p", "q"], predict=[sw.col("q")]),
    }  # fmt: skip
    made = {name: aggregation.over(sw.rows(7)) for name, aggregation in asked.items()}
    stream = folder.stream().selectExpr("k", "ts", "seq", "note", "seq % 9 / 8D AS q")
    folder.run(sws.with_columns(stream, made, partition_by="k", order_by="ts", max_delay="2s"))
    kept = on_time(parts, DELAY).select(["k", "ts", "seq", "note"])
    kept = kept.append_column("q", pa.array([n % 9 / 8 for n in kept["seq"].to_pylist()]))
    found = utc(folder.result())
    found = found.filter(pa.array([k != "end" for k in found["k"].to_pylist()]))
    same(found, sw.with_columns(kept, partition_by="k", order_by="ts", **made))
    with pytest.raises(InvalidInput, match="Use a window per row"):
        sws.aggregate(stream, r=asked["p"], order_by="ts", window=sw.time("1h", every="1m"), max_delay="2s")
