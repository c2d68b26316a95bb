"""Several streams of different delay into one call: `union` of streams with watermarks of their own."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import SCHEMA, START, Folder, utc

import slidewise as sw
from slidewise.spark.session import PROVIDER, ROCKSDB


def rows_of(source, seconds):
    made = [
        {"k": "ab"[n % 2], "ts": START + dt.timedelta(seconds=second), "seq": 1000 * ord(source) + n, "note": source}
        for n, second in enumerate(seconds)
    ]
    return pa.Table.from_pylist(made, schema=SCHEMA)


@pytest.mark.full
def test_the_slowest_of_two_streams_decides(spark, tmp_path):
    """Rows of both wait until the least of the two watermarks has passed them, and none is late for the other."""
    spark.conf.set(PROVIDER, ROCKSDB)
    folders = {}
    for name in ("fast", "slow"):
        (tmp_path / name).mkdir()
        folders[name] = Folder(tmp_path / name, spark)
    # Out of order by up to 1 s and by up to 20 s; the second is a minute behind the first.
    fast = [[n + 100 * k - n % 2 for n in range(0, 90, 3)] for k in range(3)]
    slow = [[n + 60 * k - 17 * (n % 2) + 20 for n in range(0, 60, 4)] for k in range(3)]
    folders["fast"].add(*(rows_of("f", times) for times in fast))
    folders["slow"].add(*(rows_of("s", times) for times in slow))
    delays = {"fast": "2 seconds", "slow": "20 seconds"}
    streams = [folders[name].stream().withWatermark("ts", delays[name]) for name in folders]
    results = {"n": sw.count().over(sw.rows(30)), "before": sw.lag("note"), "number": sw.row_number()}
    out = sw.with_columns(streams[0].union(streams[1]), results, partition_by="k", order_by=["ts", "seq"])
    (tmp_path / "all").mkdir()
    sink = Folder(tmp_path / "all", spark)
    progress = sink.run(out)
    found = utc(sink.result())
    everything = pa.concat_tables([rows_of("f", times) for times in fast] + [rows_of("s", times) for times in slow])
    watermark = min(max(map(max, fast)) - 2, max(map(max, slow)) - 20)
    passed = pc.less_equal(everything["ts"], pa.scalar(START + dt.timedelta(seconds=watermark), everything["ts"].type))
    want = sw.with_columns(everything, results, partition_by="k", order_by=["ts", "seq"]).filter(passed)
    assert 0 < len(want) < len(everything)
    names = ["seq", "note", *results]
    assert sorted(map(repr, found.select(names).to_pylist())) == sorted(map(repr, want.select(names).to_pylist()))
    assert sum(each["observedMetrics"]["slidewise"]["late"] for each in progress if each["observedMetrics"]) == 0
