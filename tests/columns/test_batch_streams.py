"""Data that comes in batches: what comes in and out, when it is read, when it is let go, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import slidewise as sw
import slidewise.polars
from slidewise.columns.batches import in_batches, sort_check, streams
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput

ROWS = 4000
TABLE = pa.table(
    {
        "k": np.repeat(np.arange(ROWS // 40), 40),
        "t": np.tile(np.arange(40), ROWS // 40),
        "x": np.random.default_rng(3).integers(0, 99, ROWS) / 4,
        "s": np.random.default_rng(4).choice(list("abc"), ROWS),
    }
)
CALL = {"partition_by": "k", "order_by": "t"}
NEW = {"peak": sw.max("x").over(sw.rows(5)), "usual": sw.mode("s").over(sw.range_between(-3, 3))}
SLIDES = {"window": sw.time(8, every=4), "peak": sw.max("x"), "n": sw.count()}


@pytest.fixture(autouse=True)
def chunks(monkeypatch):
    monkeypatch.setattr(in_batches, "CHUNK_ROWS", 300)


def expected() -> pa.Table:
    return sw.with_columns(TABLE, NEW, **CALL)


def same(found, theirs: pa.Table) -> bool:
    return found.to_pylist() == theirs.to_pylist() and found.schema.names == theirs.schema.names


# ---- what comes in and out
class Stream:
    """What has only Arrow's C stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.to_reader(max_chunksize=70).__arrow_c_stream__(requested_schema)


def test_a_stream_of_arrow_gives_a_reader():
    found = sw.with_columns(Stream(TABLE), NEW, **CALL, sorted=True)
    assert isinstance(found, pa.RecordBatchReader)
    assert same(found.read_all(), expected())
    whole = sw.with_columns(Stream(TABLE), NEW, **CALL)
    assert isinstance(whole, pa.Table)


def test_a_reader_without_sorted_is_read_whole_in_any_order():
    shuffled = TABLE.take(np.random.default_rng(5).permutation(ROWS))
    found = sw.with_columns(shuffled.to_reader(max_chunksize=70), NEW, **CALL)
    assert isinstance(found, pa.RecordBatchReader)
    assert same(found.read_all(), sw.with_columns(shuffled, NEW, **CALL))
    assert same(sw.with_columns(shuffled.to_reader(), NEW, **CALL, sorted=False).read_all(), found_again(shuffled))


def found_again(table: pa.Table) -> pa.Table:
    return sw.with_columns(table, NEW, **CALL)


def test_files_and_folders_of_parquet_give_a_reader(tmp_path):
    for part in range(4):
        pq.write_table(TABLE.slice(part * 1010, 1010), tmp_path / f"part-{part}.parquet", row_group_size=333)
    pq.write_table(TABLE, tmp_path.parent / "one.parquet")
    for data in (tmp_path, tmp_path.parent / "one.parquet", ds.dataset(tmp_path)):
        found = sw.with_columns(data, NEW, **CALL, sorted=True)
        assert isinstance(found, pa.RecordBatchReader)
        assert same(found.read_all(), expected())
        slides = sw.aggregate(data, **SLIDES, **CALL, sorted=True)
        assert same(slides.read_all(), sw.aggregate(TABLE, **SLIDES, **CALL))


def test_folders_by_key_are_in_the_order_of_their_names(tmp_path):
    table = TABLE.slice(0, 480)
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["k"], partitioning_flavor="hive")
    found = sw.with_columns(tmp_path, NEW, **CALL, sorted=True).read_all()  # k=0, k=1, k=10, k=11, k=2
    assert list(dict.fromkeys(found["k"].to_pylist())) == [0, 1, 10, 11, *range(2, 10)]
    columns = ["k", "t", "peak", "usual"]
    rows = found.select(columns).sort_by([("k", "ascending"), ("t", "ascending")])
    assert rows.to_pydict() == sw.with_columns(table, NEW, **CALL).select(columns).to_pydict()


@pytest.mark.parametrize("data", ["path", "dataset", "lazy", "text", "nothing there"])
def test_what_is_not_in_memory_asks_for_sorted(tmp_path, data):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    made = {
        "path": (tmp_path, "sorted=True says that"),
        "dataset": (ds.dataset(tmp_path), "sorted=True says that"),
        "lazy": (pl.LazyFrame({"k": [1]}), "sorted=True"),
        "text": (str(tmp_path), "data of type builtins.str is not known"),
        "nothing there": (tmp_path / "missing", "there is no file or folder"),
    }
    given, says = made[data]
    with pytest.raises(InvalidInput, match=says):
        sw.with_columns(given, NEW, **CALL, sorted=data == "nothing there")


# ---- polars
def test_a_lazy_frame_stays_lazy():
    ran = []
    lazy = pl.from_arrow(TABLE).lazy().map_batches(lambda frame: ran.append(1) or frame)
    found = sw.with_columns(lazy, NEW, **CALL, sorted=True)
    assert isinstance(found, pl.LazyFrame)
    assert found.collect_schema().names() == [*TABLE.column_names, *NEW]
    slides = sw.aggregate(lazy, **SLIDES, **CALL, sorted=True)
    assert not ran
    whole = pl.from_arrow(expected())
    assert found.collect().equals(whole)
    assert (
        found.filter(pl.col("k") == 7).select("usual").collect().equals(whole.filter(pl.col("k") == 7).select("usual"))
    )
    assert found.select(pl.len()).collect().item() == ROWS
    assert found.head(7).collect().equals(whole.head(7))
    assert found.filter(pl.col("s") == "a").head(5).collect().equals(whole.filter(pl.col("s") == "a").head(5))
    assert found.select("x").collect().equals(whole.select("x"))
    assert (
        found.group_by("k")
        .agg(pl.col("peak").max())
        .sort("k")
        .collect()
        .equals(whole.group_by("k").agg(pl.col("peak").max()).sort("k"))
    )
    assert slides.collect().equals(pl.from_arrow(sw.aggregate(TABLE, **SLIDES, **CALL)))
    assert lazy.sw.with_columns(NEW, **CALL, sorted=True).collect().equals(whole)


def test_one_lazy_frame_after_another():
    lazy = pl.from_arrow(TABLE).lazy()
    once = sw.with_columns(lazy, NEW, **CALL, sorted=True)
    twice = sw.with_columns(once, again=sw.sum("peak").over(sw.rows(3)), **CALL, sorted=True)
    whole = sw.with_columns(expected(), again=sw.sum("peak").over(sw.rows(3)), **CALL)
    assert twice.collect().equals(pl.from_arrow(whole))


def test_types_of_polars_come_back():
    count = 900
    frame = pl.DataFrame(
        {
            "k": pl.Series(["b", "a", "c"] * 300).sort().cast(pl.Enum(["b", "a", "c"])),
            "t": [dt.date(2026, 1, 1) + dt.timedelta(days=n // 3) for n in range(300)] * 3,
            "e": pl.Series(list("zyx") * 300).cast(pl.Enum(["z", "y", "x"])),
            "c": pl.Series(list("uvw") * 300).cast(pl.Categorical),
            "d": pl.Series([Decimal(n).scaleb(-2) for n in range(count)]),
            "w": pl.Series(range(count), dtype=pl.Int128),
            "l": [[n] for n in range(count)],
        }
    )
    new = {
        name: made.over(sw.time("5d"))
        for name, made in {
            "a1": sw.max("e"), "a2": sw.mode("c"), "a3": sw.sum("d"), "a4": sw.max("w"), "a5": sw.last("l"),
            "a6": sw.collect_list("e"),
        }.items()
    }  # fmt: skip
    found = sw.with_columns(frame.lazy(), new, **CALL, sorted=True).collect()
    whole = sw.with_columns(frame, new, **CALL)
    assert found.schema == whole.schema
    assert found.to_dicts() == whole.to_dicts()


# ---- when it is read, and let go
class Source:
    """Batches that are counted as they are read, of a reader that tells when it is let go."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.read, self.open, self._fails_at = 0, True, fails_at
        self.reader = pa.RecordBatchReader.from_batches(TABLE.schema, self._batches())

    def _batches(self):
        try:
            for batch in TABLE.to_batches(max_chunksize=50):
                if self._fails_at is not None and self.read >= self._fails_at:
                    raise OSError("the disk is gone")
                self.read += len(batch)
                yield batch
        finally:
            self.open = False


def test_rows_are_read_as_results_are():
    source = Source()
    found = sw.with_columns(source.reader, NEW, **CALL, sorted=True)
    assert source.read == 0
    given = behind = 0
    for batch in found:
        given += len(batch)
        behind = max(behind, source.read - given)
    assert given == ROWS
    assert behind <= 300 + 50 + 2 * 40


def test_a_consumer_that_stops_early_lets_go_of_the_input():
    source = Source()
    found = sw.with_columns(source.reader, NEW, **CALL, sorted=True)
    del source.reader
    assert len(found.read_next_batch())
    assert source.open
    del found
    assert not source.open
    assert source.read < ROWS


def test_a_lazy_frame_that_needs_few_rows_reads_few(monkeypatch):
    monkeypatch.setattr(streams, "BATCH_ROWS", 50)
    source = Source()
    batches = iter(source.reader)
    del source.reader

    def read(names, predicate, rows, size):
        return (pl.from_arrow(batch) for batch in batches)

    lazy = pl.io.plugins.register_io_source(read, schema=pl.from_arrow(TABLE.slice(0, 0)).schema)
    assert len(sw.with_columns(lazy, NEW, **CALL, sorted=True).head(3).collect()) == 3
    assert source.read < ROWS


@pytest.mark.parametrize("how", ["rows", "slides"])
def test_an_error_on_the_way_comes_to_the_consumer(how):
    source = Source(fails_at=2000)
    if how == "rows":
        found = sw.with_columns(source.reader, NEW, **CALL, sorted=True)
    else:
        found = sw.aggregate(source.reader, **SLIDES, **CALL, sorted=True)
    given = 0
    with pytest.raises(OSError, match="the disk is gone"):
        for batch in found:
            given += len(batch)
    assert given > 0
    assert not source.open


def test_an_overflow_on_the_way_comes_to_the_consumer():
    table = pa.table({"t": range(1000), "i": [0] * 900 + [2**62] * 100})
    found = sw.with_columns(table.to_reader(50), total=sw.sum("i").over(sw.rows(9)), order_by="t", sorted=True)
    assert len(found.read_next_batch())
    with pytest.raises(OverflowError):
        found.read_all()


# ---- what is checked
def refused(table: pa.Table, **call) -> str:
    for size in (1, 7, len(table)):
        found = sw.with_columns(table.to_reader(max_chunksize=size), n=sw.count().over(3), **call, sorted=True)
        with pytest.raises(InvalidInput) as caught:
            found.read_all()
        with pytest.raises(InvalidInput) as in_memory:
            sw.with_columns(table, n=sw.count().over(3), **call, sorted=True)
        assert str(in_memory.value) == str(caught.value)
    return str(caught.value)


def test_the_first_row_out_of_place_is_an_error():
    table = pa.table({"k": list("aaabbb"), "t": [1, 2, 2, 5, 4, 3]})
    assert refused(table, **CALL) == (
        "with_columns: sorted=True, and row 4 (from 0) is out of place: t=4 comes after t=5 of the same key, k='b'. "
        "Sort the input by k, t, or leave out sorted=True: all rows are then read and sorted"
    )
    table = pa.table({"k": list("aabba"), "j": [1, 1, 1, 2, 1], "t": [1, 2, 1, 1, 3]})
    assert (
        "row 4 (from 0) is out of place: the key k='a', j=1 comes back after other keys, the last of them k='b', j=2"
        in refused(table, partition_by=["k", "j"], order_by="t")
    )
    assert "row 2 (from 0) is out of place: t=3 comes after t=2" in refused(
        pa.table({"t": [3, 2, 3]}), order_by=sw.desc("t")
    )
    assert 'sw.asc(name, nulls="last")' in refused(pa.table({"t": [3, None]}), order_by="t")
    day = pa.table({"t": pa.array([dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 1)], pa.timestamp("ns"))})
    assert "t=2026-01-01 00:00:00.000000000 comes after t=2026-01-02" in refused(day, order_by="t")
    nan = pa.table({"k": [float("nan"), 0.0, float("nan")]})
    assert "comes back" in refused(nan, partition_by="k", order_by=None)


def test_what_comes_first_is_named():
    table = pa.table({"k": list("aabab"), "t": [2, 3, 9, 1, 1]})  # a comes back before its time does
    assert "row 3 (from 0) is out of place: the key k='a'" in refused(table, **CALL)
    table = pa.table({"k": list("aaba"), "t": [2, 1, 9, 1]})
    assert "row 1 (from 0) is out of place: t=1" in refused(table, **CALL)


@pytest.mark.parametrize("keys", [[None, 1, 5, 7, 9], [9, 7, 2, None], ["a", "b", "c", None], [None, "z", "b", "a"]])
def test_many_keys_in_an_order_are_not_remembered(monkeypatch, keys):
    monkeypatch.setattr(sort_check, "MOST_KEYS", 2)
    for size in (1, 2, 9):
        check = sort_check.SortCheck("with_columns", ["k"], [])
        for first in range(0, len(keys), size):
            check.add({"k": pa.array(keys[first : first + size], pa.array(keys).type)})
        assert check._seen is None
        with pytest.raises(InvalidInput, match="and so the rest must"):
            check.add({"k": pa.array(keys[1:2])})


def test_many_keys_in_no_order_are_remembered(monkeypatch):
    monkeypatch.setattr(sort_check, "MOST_KEYS", 2)
    check = sort_check.SortCheck("with_columns", ["k"], [OrderColumn("t")])
    for key in (5, 1, 7, 2, 9):
        check.add({"k": pa.array([key, key]), "t": pa.array([1, 1])})
    with pytest.raises(InvalidInput, match="k=7 comes back after other keys, the last of them k=9"):
        check.add({"k": pa.array([7]), "t": pa.array([1])})


def test_options_that_cannot_be_are_refused_at_once():
    with pytest.raises(InvalidInput, match="empty=True adds rows"):
        sw.with_columns(TABLE.to_reader(), NEW, **CALL, emit="changes", empty=True, sorted=True)
    with pytest.raises(InvalidInput, match="sorted=True says that rows come sorted"):
        sw.with_columns(TABLE, NEW, **CALL, sorted="yes")
    with pytest.raises(InvalidInput, match="there is no column 'y'"):
        sw.with_columns(TABLE.to_reader(), n=sw.max("y").over(3), **CALL, sorted=True)
    with pytest.raises(InvalidInput, match="there is no column 'at'"):
        sw.with_columns(TABLE.to_reader(), NEW, partition_by="k", order_by="at", sorted=True)


def test_a_new_column_may_be_called_sorted():
    found = sw.with_columns(TABLE, sorted=sw.max("x").over(3), **CALL)
    assert found["sorted"].equals(sw.with_columns(TABLE, a=sw.max("x").over(3), **CALL)["a"])


def test_data_in_memory_is_checked_and_comes_back_in_kind():
    frame = TABLE.to_pandas()
    found = sw.with_columns(frame, NEW, **CALL, sorted=True)
    assert type(found) is type(frame)
    assert found["peak"].tolist() == expected()["peak"].to_pylist()
    with pytest.raises(InvalidInput, match="aggregate: sorted=True, and row 1 "):
        sw.aggregate({"t": [2, 1]}, window=sw.rows(2, every=2), n=sw.count(), order_by="t", sorted=True)


def test_explain_tells_of_batches_and_reads_nothing():
    source = Source()
    ever = sw.rows_between(-sw.UNBOUNDED, 0)
    columns = {
        "a": sw.max("x").over(5), "b": sw.median("x").over(ever),
        "c": sw.sum("x").over(ever), "d": sw.max("x").over(ever),
        "e": sw.sum("x").over(sw.rows_between(0, sw.UNBOUNDED)),
    }  # fmt: skip
    table = sw.explain(source.reader, columns, **CALL, sorted=True, emit="changes")
    assert [line["holds"] for line in table] == [
        "the rows of a window", "the rows of a key", "one partial", "one row", "the rows of a key",
    ]  # fmt: skip
    assert "in batches, since sorted=True" in table.note
    assert source.read == 0
    assert "in batches" not in sw.explain(TABLE, columns, **CALL, sorted=True).note
