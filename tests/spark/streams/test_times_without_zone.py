"""Streams ordered by timestamp_ntz: as a batch, whatever the session's zone is, and a restart in another one."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from folders import DELAY, START, Folder, events
from microbatches import in_open_windows, on_time
from support.tiers import connect_in_soak

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.spark import dropped_rows
from slidewise.spark.session import PROVIDER, ROCKSDB

COLUMNS = "k string, ts timestamp_ntz, seq long"
ZONE = "spark.sql.session.timeZone"


def without_zone(table):
    """Rows of the 31st of March 2024, from half past two in the night on: the clocks of Berlin skip that hour."""
    times = pc.add(table["ts"], pa.scalar(90 * 86_400_000_000 + 9_000_000_000, pa.duration("us")))
    return pa.table({"k": table["k"], "ts": times.cast(pa.timestamp("us")), "seq": table["seq"]})


def listed(table):
    return sorted(repr(row) for row in table.to_pylist())


@pytest.mark.full
@connect_in_soak
@pytest.mark.parametrize("slides", [False, True], ids=["rows", "windows"])
def test_a_stream_equals_its_batch_in_any_zone(session, tmp_path, slides):
    session.conf.set(PROVIDER, ROCKSDB)
    zone = session.conf.get(ZONE)
    parts = [part.select(["k", "ts", "seq"]) for part in events(4, 60)]
    folder = Folder(tmp_path, session)
    call = {"partition_by": "k", "order_by": "ts"}
    if slides:
        call |= {"window": sw.time("6s", every="2s", cumulative=True), "n": sw.count(), "all": sw.collect_list("seq")}
    else:
        call |= {"n": sw.count().over(sw.time("3s")), "all": sw.collect_list("seq").over(sw.rows(3))}
    function = sw.aggregate if slides else sw.with_columns
    last = [pa.Table.from_pylist([{"k": "end", "ts": START.replace(month=month), "seq": 0}], parts[0].schema)
            for month in (6, 7)]  # fmt: skip
    progress = []
    try:
        for several, here in ((parts[:2], "Europe/Berlin"), ([*parts[2:], *last], "America/New_York")):
            session.conf.set(ZONE, here)
            folder.add(*map(without_zone, several))
            out = function(folder.stream(COLUMNS), max_delay=f"{DELAY // 1_000_000}s", buckets=2, **call)
            progress += folder.run(out)
    finally:
        session.conf.set(ZONE, zone)
    found, came = folder.result(), [without_zone(part) for part in (*parts, last[0])]
    assert found.schema.field("window_end" if slides else "ts").type == pa.timestamp("us")
    early = lambda table: table.filter(pc.field("k").is_null() | (pc.field("k") != "end"))  # noqa: E731
    if slides:  # late rows enter the windows that are open; a run ends with a micro-batch of no rows
        runs = [*came[:2], came[0][:0], *came[2:]]
        expected = early(in_open_windows(lambda rows: function(rows, **call), runs, DELAY))
        taken = len({seq for seqs in expected["all"].to_pylist() for seq in seqs})
    else:
        good = on_time(came, DELAY)
        expected, taken = early(function(good, **call)), len(good) - 1
    assert len(expected) > 50 and listed(early(found)) == listed(expected)
    late = sum(map(len, parts)) - taken
    assert dropped_rows(progress)["late"] == late and (late > 0 or slides)


def test_what_is_refused(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    stream = Folder(tmp_path, spark).stream(COLUMNS)
    call = {"partition_by": "k", "order_by": "ts", "max_delay": "1s"}
    with pytest.raises(InvalidInput, match="without a zone"):
        sw.with_columns(stream, max_ahead="1h", n=sw.count().over(sw.rows(3)), **call)
    once = sw.with_columns(stream, n=sw.count().over(sw.rows(3)), **call)
    with pytest.raises(InvalidInput, match="times without a zone"):
        sw.with_columns(once, m=sw.count().over(sw.rows(3)), metrics="second", **call)
