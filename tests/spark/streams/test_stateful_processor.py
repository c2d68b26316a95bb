"""The processor in Spark's own tester, the packing of rows, and a state that an earlier version has written."""

import base64
import datetime as dt
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from microbatches import SCHEMA, Stream, batch, hashes_of, same, task_of

import slidewise as sw
from slidewise.spark.streams.wire import BLOB, BUCKET, Packing, choose_bucket_labels, murmur3

SAVED = Path(__file__).parent / "state_format_1.json"
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
OVER = {"n": sw.count().over(sw.time("10s")), "typical": sw.median("odo").over(sw.rows(3))}


def rows(first, last):
    return pa.Table.from_pylist(
        [
            {"k": "abc"[n % 3], "ts": START + dt.timedelta(seconds=n), "seq": n, "x": float("nan"), "odo": n * n % 7,
             "mark": None, "note": f"note {n}"}
            for n in range(first, last)
        ],
        schema=SCHEMA,
    )  # fmt: skip


def milliseconds(second):
    return round((START + dt.timedelta(seconds=second)).timestamp() * 1000)


def test_labels_are_spread_evenly():
    assert [murmur3(n) for n in (0, 1)] == [933211791, -559580957]  # hash(0) and hash(1) in Spark
    for buckets in (1, 2, 16, 48):
        labels = choose_bucket_labels(buckets)
        assert len(set(labels)) == buckets
        for partitions in [n for n in (1, 2, 3, 4, 8, 16) if buckets % n == 0]:
            assert set(Counter(murmur3(label) % partitions for label in labels).values()) == {buckets // partitions}


def test_rows_survive_packing():
    packing = Packing(SCHEMA, choose_bucket_labels(4))
    table = rows(0, 50)
    hashes = np.arange(50) * 2654435761 - 2**40
    whole = table.append_column(packing.key_hash, pa.array(hashes)).rename_columns([str(k) for k in range(8)])
    packed = list(packing.run(whole.to_batches(max_chunksize=20)))
    assert len(packed) == 1
    blobs = pa.Table.from_batches(packed).to_pylist()
    assert {blob[BUCKET] for blob in blobs} == set(packing.labels)
    found, pieces = packing.unpack(blob[BLOB] for blob in blobs)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, table.to_pylist()))
    assert (pieces >= 0).all()


def test_the_processor_in_sparks_tester():
    tws = pytest.importorskip("pyspark.sql.streaming.tws_tester")
    from slidewise.spark.streams.processor import Processor, build_processor

    packing = Packing(SCHEMA, choose_bucket_labels(1))
    task = task_of(OVER)
    processor = build_processor(Processor(task, packing, "ts", "__left_out"), None)
    tester = tws.TwsTester(processor, timeMode="EventTime", eventTimeExtractor=lambda row: 2**62)

    def push(table):
        whole = table.append_column(packing.key_hash, pa.array(hashes_of(table, ["k"])))
        return tester.testInPandas(7, pd.DataFrame({BLOB: [b.serialize().to_pybytes() for b in whole.to_batches()]}))

    assert not len(push(rows(0, 12)))
    first = tester.setWatermark(milliseconds(5))
    assert sorted(first["seq"]) == [0, 1, 2, 3, 4, 5]
    late = push(rows(4, 7))
    assert late["__left_out"].tolist() == [2]
    assert list(tester.handle.listTimers()) == [milliseconds(6)]  # one timer, at the next row that is due
    rest = tester.setWatermark(milliseconds(60))
    got = pd.concat([first, rest]).drop(columns=[c for c in rest if c.startswith("__")])
    expected = batch(task, pa.concat_tables([rows(0, 12), rows(6, 7)]))
    same(pa.Table.from_pandas(got, preserve_index=False).cast(expected.schema), expected, by=("seq", "n"))


ZONED = pa.timestamp("us", "UTC")
NESTED = {
    "times": pa.array([[1, None], [], None], pa.list_(ZONED)),
    "long": pa.array([[2**53 + 1, None], [2**53 + 1], None], pa.list_(pa.int64())),
    "nan": pa.array([[float("nan"), None, 1.5], [], None], pa.list_(pa.float64())),
    "single": pa.array([[float("nan"), None, 1.5], [], None], pa.list_(pa.float32())),
    "map": pa.array([[("a", float("nan")), ("b", None)], [], None], pa.map_(pa.string(), pa.float64())),
    "deep": pa.array(
        [[[{"at": 1, "n": 2**53 + 1}, {"at": None, "n": None}], None], [], None],
        pa.list_(pa.list_(pa.struct([("at", ZONED), ("n", pa.int64())]))),
    ),
    "struct": pa.array([{"x": float("nan"), "all": [1, None]}, {"x": None, "all": None}, None],
                       pa.struct([("x", pa.float64()), ("all", pa.list_(ZONED))])),
    "plain": pa.array([2**53 + 1, None, 3], pa.int64()),
    "float": pa.array([float("nan"), None, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_values_go_to_spark_as_they_are(name, zone):
    """By the code of Spark that reads the frames in its worker."""
    conversion = pytest.importorskip("pyspark.sql.conversion").PandasToArrowConversion
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    from slidewise.spark.streams.processor import to_pandas

    column = NESTED[name]
    schema = StructType([StructField("_0", StructType([StructField(name, from_arrow_type(column.type))]))])
    options = {"timezone": zone, "safecheck": True, "arrow_cast": True, "assign_cols_by_name": True}
    made = conversion.convert(
        [to_pandas(pa.table({name: column}))], schema, int_to_decimal_coercion_enabled=False, **options
    )
    assert repr(made.column(0).flatten()[0].cast(column.type).to_pylist()) == repr(column.to_pylist())


def saved_stream():
    """A stream whose rows 0 to 19 have come out, and rows 20 to 29 wait."""
    stream = Stream(task_of(OVER, forget_after=3600 * 10**6), 0)
    stream.push(rows(0, 20))
    stream.push(rows(20, 30))
    return stream


def stream_of(saved):
    """The stream that saved_stream() was."""
    stream = Stream(task_of(OVER, forget_after=3600 * 10**6), 0)
    stream.memory.meta = base64.b64decode(saved["meta"])
    stream.memory.pieces = {int(piece): base64.b64decode(data) for piece, data in saved["pieces"].items()}
    stream.watermark = milliseconds(29) * 1000
    return stream


def test_a_state_of_this_format_can_be_read_for_ever():
    """The file is what saved_stream() had as its state when the format was new."""
    stream = stream_of(json.loads(SAVED.read_text()))
    stream.push(rows(30, 33))
    stream.flush()
    expected = batch(stream.task, rows(0, 33))
    same(stream.result(), expected[20:])
    assert stream.late == 0
