"""where= as Spark SQL on a stream: the batch's answer, and a state that is told apart by its condition."""

import pytest
from folders import DELAY, Folder, events, last_row, utc
from microbatches import on_time, same

import slidewise as sw
import slidewise.spark as sws
from slidewise.spark.session import PROVIDER, ROCKSDB

CALL = {"partition_by": "k", "order_by": "ts"}


def test_a_condition_is_planned_on_a_stream(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    stream = Folder(tmp_path, spark).stream()
    out = sw.with_columns(stream, **CALL, max_delay="2s", n=sw.count(where="seq % 2 = 0").over(sw.rows(3)))
    assert out.columns == [*stream.columns, "n"]
    slides = sw.aggregate(
        stream, **CALL, max_delay="2s", window=sw.time("4s", every="2s"), n=sw.count(where="seq % 2 = 0")
    )
    assert slides.columns == ["k", "window_start", "window_end", "n"]
    explained = sw.explain(stream, **CALL, max_delay="2s", n=sw.count(where="seq % 2 = 0").over(sw.rows(3)))
    assert next(line["column"] for line in explained) == "n"


@pytest.mark.full
def test_a_real_stream(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    folder = Folder(tmp_path, spark)
    parts = events(3, 60)
    folder.add(*parts, last_row(1000))
    new = {"n": sw.count(where="seq % 2 = 0").over(sw.rows(7)), "m": sw.max("seq", where="note = 'p'").over(7)}
    folder.run(sws.with_columns(folder.stream(), new, **CALL, max_delay="2s"))
    kept = on_time(parts, DELAY)
    even = [{"even": r["seq"] % 2 == 0, "p": None if r["note"] is None else r["note"] == "p"} for r in kept.to_pylist()]
    for name in ("even", "p"):
        kept = kept.append_column(name, [[row[name] for row in even]])
    expected = {"n": sw.count(where="even").over(sw.rows(7)), "m": sw.max("seq", where="p").over(7)}
    found = utc(folder.result())
    found = found.filter([k != "end" for k in found["k"].to_pylist()])
    same(found, sw.with_columns(kept, expected, **CALL).drop_columns(["even", "p"]))
