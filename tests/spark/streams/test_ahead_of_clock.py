"""Rows ahead of the clock on a stream are left out before the watermark, by a clock that a replay sees again."""

import datetime as dt
import json

import pyarrow as pa
import pytest
from folders import SCHEMA, Folder, utc

import slidewise as sw
import slidewise.spark as sws
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def folder(request, tmp_path):
    session = request.getfixturevalue(request.param)
    session.conf.set(PROVIDER, ROCKSDB)
    return Folder(tmp_path, session)


def rows_of(**times):
    """Rows by their names, at some minutes from now."""
    now = dt.datetime.now(dt.UTC)
    rows = [{"k": "a", "note": name, "ts": now + dt.timedelta(minutes=m)} for name, m in times.items()]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


CENTURIES = 500 * 365 * 24 * 60


@pytest.mark.full
def test_a_replayed_micro_batch_leaves_out_the_same_rows_and_counts_them_once(folder):
    """The clock of a micro-batch that has failed is set back in the checkpoint, so that it tells from all others."""
    fail = folder.path / "fail"

    def out():
        stream = folder.stream()
        made = sw.with_columns(
            stream, order_by="ts", max_delay="0s", max_ahead="1h", emit="arrival", n=sw.count().over(sw.time("30d"))
        )
        return made.select("note", "n", failing(fail)("n").alias("one"))

    folder.add(rows_of(first=-1))
    progress = folder.run(out())
    fail.touch()
    folder.add(rows_of(far=CENTURIES, near=50, now=0))
    with pytest.raises(Exception, match="the sink is full"):
        folder.run(out())
    fail.unlink()
    assert set_back(folder.path / "checkpoint" / "offsets", minutes=30) == 1
    folder.add(rows_of(later=50, last=1))
    progress += folder.run(out())
    found = {row["note"]: row["n"] for row in folder.result().to_pylist()}
    # By today's clock, "near" is not ahead.
    assert found == {"first": 1, "now": 2, "last": 3, "later": 4}
    assert sws.dropped_rows(progress) == {"late": 0, "ahead": 2, "untimed": 0}


def failing(path):
    """A function of a column that fails while a file is there."""
    from pyspark.sql.functions import udf

    def one(n):
        if path.exists():
            raise RuntimeError("the sink is full")
        return 1

    return udf(one, "int")


def set_back(offsets, minutes):
    """Set the clock of the last micro-batch back, as its log has it; how many lines had one."""
    last = max((file for file in offsets.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
    lines, changed = last.read_text().splitlines(), 0
    for k, line in enumerate(lines):
        if "batchTimestampMs" in line:
            logged = json.loads(line)
            logged["batchTimestampMs"] -= minutes * 60_000
            lines[k], changed = json.dumps(logged), changed + 1
    last.write_text("\n".join(lines))
    (offsets / f".{last.name}.crc").unlink()
    return changed


@pytest.mark.full
def test_slides_come_as_if_rows_ahead_had_never_been(folder):
    parts = [rows_of(a=-9, b=-8), rows_of(c=-5), rows_of(end=0), rows_of(end=1)]
    far = rows_of(far=CENTURIES)
    folder.add(pa.concat_tables([far, parts[0]]), pa.concat_tables([parts[1], far]), *parts[2:])
    call = {"order_by": "ts", "window": sw.time("2m", every="1m"), "notes": sw.collect_list("note")}
    progress = folder.run(sw.aggregate(folder.stream(), max_delay="0s", max_ahead="10m", metrics="counts", **call))
    assert sws.dropped_rows(progress, "counts") == {"late": 0, "ahead": 2, "untimed": 0}
    until = parts[1]["ts"][0].as_py()
    closed = lambda table: [row for row in utc(table).to_pylist() if row["window_end"] < until]  # noqa: E731
    expected = closed(sw.aggregate(pa.concat_tables(parts), **call))
    assert expected
    assert sorted(map(repr, closed(folder.result()))) == sorted(map(repr, expected))
