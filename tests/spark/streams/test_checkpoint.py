"""Whether a query can go on from its checkpoint is told on the driver, before anything starts."""

import re
import shutil

import pytest
from folders import SCHEMA, Folder, events, last_row

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import StateError
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def session(request):
    return request.getfixturevalue(request.param)


ZONE = "spark.sql.session.timeZone"
CALL = {"partition_by": "k", "order_by": "ts", "max_delay": "2s", "buckets": 4}


@pytest.mark.full
def test_a_checkpoint_is_checked_before_the_query_starts(session, tmp_path):
    session.conf.set(PROVIDER, ROCKSDB)
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")

    def out(**call):
        over = {"month": sw.max("x.y").over(sw.time("1mo")), "last": sw.last("note").over(sw.rows(3))}
        return sw.with_columns(folder.stream(), **{**CALL, **over, **call})

    first = sws.check(out(checkpoint=path), path)
    assert first and not first.found
    assert repr(first) == f"the query can start at {path}: there is no state yet"
    folder.add(*events(2, 20))
    folder.run(out())
    same = sws.check(out(), path)
    assert same and same.found
    assert repr(same) == f"the query can go on from {path}\n  nothing has changed"
    more = sws.check(out(last=sw.first("note").over(sw.rows(2)), n=sw.count().over(sw.rows(2))), path)
    assert more and (more.new, more.changed, more.gone) == (("n",), ("last",), ())
    longer = {"last": sw.last("note").over(sw.rows(4))}
    found = sws.check(out(**longer), path)
    assert not found and found.changed == ("last",)
    why = r"another definition: result last was rows\(3\).* and is rows\(4\).* further than any did: 2 rows"
    assert re.search(why, found.refused)
    with pytest.raises(StateError, match=f"cannot go on from the checkpoint {path}: .*{why}"):
        out(**longer, checkpoint=path)
    with pytest.raises(StateError, match="emit was watermark, and is arrival here"):
        out(emit="arrival", checkpoint=path)

    # Months are counted on the clocks of the session's zone, and nothing else is.
    session.conf.set(ZONE, "America/New_York")
    try:
        assert "timeZone was Europe/Berlin, and is America/New_York here" in sws.check(out(), path).refused
        days = sws.check(out(month=sw.max("x.y").over(sw.time("30d"))), path)
        assert days and days.changed == ("month",)
    finally:
        session.conf.set(ZONE, "Europe/Berlin")

    # Without a path it is the first micro-batch, though no row has come: one of ours has state, and none has news.
    folder.add(SCHEMA.empty_table())
    with pytest.raises(Exception, match=f"StateError: this state is of {why}"):
        folder.run(out(**longer))
    folder.add(last_row(1000))
    folder.run(out())

    # The state of another query, and state that cannot be read.
    other = folder.stream().writeStream.format("noop").option("checkpointLocation", str(tmp_path / "other"))
    other.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(StateError, match="is of another query: it has no state of slidewise"):
        sws.check(out(), str(tmp_path / "other"))
    shutil.copytree(path, tmp_path / "damaged")
    for file in (tmp_path / "damaged" / "state").rglob("*"):
        if file.suffix in (".changelog", ".zip"):
            file.write_bytes(b"not what it was")
    with pytest.raises(StateError, match=r"the state in the checkpoint .*damaged cannot be read"):
        sws.check(out(), str(tmp_path / "damaged"))


@pytest.mark.full
def test_of_several_calls_in_a_query_each_is_checked(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    folder, path = Folder(tmp_path, spark), str(tmp_path / "checkpoint")

    def calls(size):
        rows = sw.with_columns(folder.stream(), **CALL, n=sw.count().over(sw.time("10s")))
        slides = {"window": sw.time(size, every="5s"), "most": sw.max("n"), "metrics": "slides"}
        return rows, sw.aggregate(rows, partition_by="k", order_by="ts", **slides)

    folder.add(*events(2, 20), last_row(1000), last_row(2000))
    folder.run(calls("10s")[1])
    rows, slides = calls("10s")
    assert sws.check(rows, path) and sws.check(slides, path)
    rows, slides = calls("15s")
    assert sws.check(rows, path)
    assert 'time("10s", every="5s")' in sws.check(slides, path).refused
