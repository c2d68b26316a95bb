"""The state in a checkpoint, read with real queries: of a running one, and of one that has stopped."""

import datetime as dt
import hashlib

import pyarrow as pa
import pytest
from folders import SCHEMA, START, Folder, events, last_row

import slidewise as sw
import slidewise.spark as sws
from slidewise.errors import InvalidInput, StateError
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(params=["spark", pytest.param("connect", marks=pytest.mark.soak)])
def session(request):
    found = request.getfixturevalue(request.param)
    found.conf.set(PROVIDER, ROCKSDB)
    return found


CALL = {"partition_by": "k", "order_by": "ts", "max_delay": "2s", "buckets": 4}
OVER = {"n": sw.count().over(sw.time("10s")), "seqs": sw.collect_list("seq").over(sw.rows(1000))}


def table_of(*rows):
    made = [{"k": k, "ts": START + dt.timedelta(seconds=s), "seq": seq} for k, s, seq in rows]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def digest(path):
    """All files of a folder, by their content."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def collect(df):
    return {row["k"]: row for row in df.collect()}


@pytest.mark.full
def test_what_a_stopped_query_holds(session, tmp_path):
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")
    out = sw.with_columns(folder.stream(), **CALL, **OVER)
    with pytest.raises(StateError, match=f"there is no state in {path}: no micro-batch"):
        sws.read_state(out, path)
    folder.add(table_of(("a", 1, 1), ("a", 4, 2), ("b", 2, 3)), table_of(("a", 9, 4), (None, 8, 5)))
    folder.run(out)
    before = digest(tmp_path / "checkpoint")
    found = sws.read_state(out, path)
    assert found.columns == ["k", "n", "seqs", "held"]
    assert found.schema["seqs"].dataType == out.schema["seqs"].dataType
    rows = collect(found)
    assert digest(tmp_path / "checkpoint") == before
    # The watermark is at 7 s; a's newest row is after it.
    assert {k: (row["n"], row["seqs"]) for k, row in rows.items()} == {
        "a": (3, [1, 2, 4]), "b": (1, [3]), None: (1, [5])
    }  # fmt: skip
    held = rows["a"]["held"].asDict()
    assert held["rows"] == 3 and held["bytes"] > 0 and held["complete"]
    seconds = [held[name].timestamp() - START.timestamp() for name in ("oldest", "newest", "as_of")]
    assert seconds == [1, 9, 9]
    assert rows["b"]["held"]["as_of"].timestamp() - START.timestamp() == 7
    # A result that the state can serve is computed, whether or not the query has it.
    more = sw.with_columns(folder.stream(), **CALL, **OVER, last=sw.last("seq").over(sw.rows(1)))
    assert collect(sws.read_state(more, path))["a"]["last"] == 4


@pytest.mark.full
def test_a_running_query_is_read_as_of_its_last_micro_batch(session, tmp_path):
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")
    out = sw.with_columns(folder.stream(), **CALL, **OVER)
    folder.add(table_of(("a", 1, 1)))
    writer = out.writeStream.format("noop").option("checkpointLocation", path)
    query = writer.trigger(processingTime="1 second").start()
    try:
        query.processAllAvailable()
        first = sws.read_state(out, path)
        folder.add(table_of(("a", 2, 2)))
        query.processAllAvailable()
        assert collect(sws.read_state(out, path))["a"]["seqs"] == [1, 2]
        assert collect(first)["a"]["seqs"] == [1]  # the same micro-batch, whenever it is read
        assert query.isActive
    finally:
        query.stop()


@pytest.mark.full
def test_slides_that_are_open(session, tmp_path):
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")
    folder.add(table_of(("a", 1, 1), ("a", 4, 2), ("b", 2, 3)), table_of(("a", 9, 4)))
    for options in ({"slices": True}, {"slices": False}, {"slices": False, "late": "mark"}):
        out = sw.aggregate(folder.stream(), **CALL, window=sw.time("8s", every="4s"), n=sw.count(), **options)
        place = path + "-".join(map(str, options.values()))
        query = out.writeStream.format("noop").option("checkpointLocation", place).trigger(availableNow=True).start()
        query.awaitTermination()
        found = collect(sws.read_state(out, place))
        opened = {
            k: [(s["window_end"].timestamp() - START.timestamp(), s["n"]) for s in row["open"]]
            for k, row in found.items()
        }
        assert opened == {"a": [(8, 2), (12, 2), (16, 1)], "b": [(8, 1)]}


@pytest.mark.full
def test_what_cannot_be_read(session, tmp_path):
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")
    folder.add(*events(2, 20))
    out = sw.with_columns(folder.stream(), **CALL, **OVER)
    with pytest.raises(InvalidInput, match="read_state takes the DataFrame that with_columns or aggregate gave"):
        sws.read_state(out.limit(1), path)
    with pytest.raises(InvalidInput, match="the path of a checkpoint"):
        sws.read_state(out, "")
    folder.run(out)
    other = sw.with_columns(folder.stream(), **{**CALL, "partition_by": "note"}, **OVER)
    with pytest.raises(StateError, match="is not that of this call: this state is of another definition: partition_by"):
        sws.read_state(other, path)
    foreign = folder.stream().writeStream.format("noop").option("checkpointLocation", str(tmp_path / "other"))
    foreign.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(StateError, match="is of another query: it has no state of slidewise"):
        sws.read_state(out, str(tmp_path / "other"))
    taken = sw.with_columns(folder.stream(), **CALL, held=sw.count().over(sw.time("10s")))
    with pytest.raises(InvalidInput, match="gives a column 'held'"):
        sws.read_state(taken, path)


@pytest.mark.full
def test_several_calls_in_a_query(session, tmp_path):
    folder, path = Folder(tmp_path, session), str(tmp_path / "checkpoint")
    folder.add(*events(2, 20), last_row(1000))
    first = sw.with_columns(folder.stream(), **CALL, n=sw.count().over(sw.time("10s")))
    call = {"partition_by": "k", "order_by": "ts", "buckets": 4}
    second = sw.with_columns(first, **call, m=sw.count().over(sw.rows(5)), metrics="second")
    folder.run(second)
    assert sws.read_state(first, path).columns == ["k", "n", "held"]
    assert collect(sws.read_state(first, path)).keys() == {"end"}
    assert "m" in sws.read_state(second, path).columns
