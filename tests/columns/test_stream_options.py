"""Options for streams on data in memory: which rows and columns they give, in every kind of frame."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.errors import InvalidInput

#: not in the order of time
ROWS = {
    "k": ["a", "b", "a", "a", "b", "a"],
    "ts": [3, 2, 1, 2, 31, 30],
    "x": [2.0, 5.0, 1.0, 1.0, 5.0, 2.0],
    "place": [0, 1, 2, 3, 4, 5],
}
CALL: dict[str, Any] = {"partition_by": "k", "order_by": "ts", "peak": sw.max("x").over(sw.rows(2))}


def unordered() -> Any:
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    return connection.from_arrow(pa.table(ROWS))


KINDS = {
    "dict of lists": lambda: dict(ROWS),
    "dict of NumPy": lambda: {name: np.array(values) for name, values in ROWS.items()},
    "dict of many": lambda: {
        "k": pa.array(ROWS["k"]), "ts": pd.Series(ROWS["ts"], index=list("uvwxyz")), "x": pl.Series(ROWS["x"]),
        "place": tuple(ROWS["place"]),
    },
    "pandas": lambda: pd.DataFrame(ROWS, index=list("uvwxyz")),
    "pandas of Arrow": lambda: pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(ROWS),
    "Table": lambda: pa.table(ROWS),
    "RecordBatch": lambda: pa.record_batch(ROWS),
    "reader": lambda: pa.table(ROWS).to_reader(),
    "DuckDB": lambda: duckdb.from_arrow(pa.table(ROWS)),
    "DuckDB without order": unordered,
}  # fmt: skip


def columns_of(frame: Any) -> Any:
    """Any frame as lists."""
    if isinstance(frame, dict):
        return {name: pd.Series(values).tolist() for name, values in frame.items()}
    if isinstance(frame, pa.RecordBatchReader):
        frame = frame.read_all()
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("list")
    if isinstance(frame, duckdb.DuckDBPyRelation):  # which may have no order
        frame = frame.order("place").pl()
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


@pytest.mark.parametrize("kind", KINDS)
def test_changes_keep_the_kind_of_frame_and_the_order_of_its_rows(kind):
    came = KINDS[kind]()
    out = sw.with_columns(came, emit="changes", forget_after=20, **CALL)
    assert type(out) is type(KINDS[kind]())
    found = columns_of(out)
    assert found["place"] == [0, 1, 2, 4, 5]  # the row of time 2 has the peak of the one before it
    assert found["peak"] == [2.0, 5.0, 1.0, 5.0, 2.0]
    assert found["k"] == ["a", "b", "a", "b", "a"]
    if kind == "pandas":
        assert list(out.index) == list("uvwyz")
    revised = columns_of(sw.with_columns(KINDS[kind](), late="revise", keep=5, max_delay=3, **CALL))
    assert revised["revision"] == [0] * 6
    assert list(revised) == [*ROWS, "peak", "revision"]


def test_options_that_have_no_effect_change_nothing():
    options = {"max_delay": 5, "max_ahead": 7, "late": "drop", "buckets": 3, "metrics": "mine", "emit": "watermark",
               "checkpoint": "somewhere"}  # fmt: skip
    for kind in KINDS:
        assert columns_of(sw.with_columns(KINDS[kind](), **CALL, **options)) == columns_of(
            sw.with_columns(KINDS[kind](), **CALL)
        )
    call = {"partition_by": "k", "order_by": "ts", "window": sw.time(4, every=2), "peak": sw.max("x")}
    assert sw.aggregate(pa.table(ROWS), **call, **options, slices=True) == sw.aggregate(pa.table(ROWS), **call)


def test_a_forgotten_key_begins_anew():
    out = sw.with_columns(
        pa.table(ROWS), partition_by="k", order_by="ts", forget_after=26, n=sw.count().over(sw.rows(9))
    )
    assert out["n"].to_pylist() == [3, 1, 1, 2, 1, 1]
    # A time that is just as long after the one before is not too long.
    out = sw.with_columns(
        pa.table(ROWS), partition_by="k", order_by="ts", forget_after=27, n=sw.count().over(sw.rows(9))
    )
    assert out["n"].to_pylist() == [3, 1, 1, 2, 1, 4]
    slides = sw.aggregate(
        pa.table(ROWS), partition_by="k", order_by="ts", forget_after=26, window=sw.rows(9, every=2), n=sw.count()
    )
    assert slides["ts"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("times", "forget_after"),
    [
        (pa.array([0, 10, 21], pa.timestamp("s")), "10s"),
        (pa.array([0, 10, 21], pa.timestamp("ns", "Europe/Berlin")), None),
        (pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 11), dt.date(2024, 1, 22)]), "10d"),
        (pa.array([0.0, 1.0, 2.1]), 1.0),
        (pa.array([0, 10, 21], pa.int8()), 10),
        (pa.array([-(2**63), -(2**63) + 10, 2**63 - 1]), 10),
    ],
)
def test_times_of_all_types(times, forget_after):
    rows = pa.table({"ts": times})
    over = {"n": sw.count().over(sw.rows(9))}
    out = sw.with_columns(
        rows, order_by="ts", **over, **({} if forget_after is None else {"forget_after": forget_after})
    )
    assert out["n"].to_pylist() == ([1, 2, 3] if forget_after is None else [1, 2, 1])


def test_changes_of_rows_as_they_stand():
    out: Any = sw.with_columns({"x": [1, 1, 2, 1]}, emit="changes", same=sw.last("x").over(sw.rows(1)))
    assert out["same"].tolist() == [1, 2, 1]
    assert (
        len(sw.with_columns({"x": np.array([], float)}, emit="changes", same=sw.last("x").over(sw.rows(1)))["x"]) == 0
    )


def test_lengths_are_of_the_kind_of_the_order():
    with pytest.raises(InvalidInput, match="of int64: give a number, got '3s'"):
        sw.with_columns(pa.table(ROWS), **CALL, max_delay="3s")
    with pytest.raises(InvalidInput, match="give a number, got -1"):
        sw.with_columns(pa.table(ROWS), **CALL, forget_after=-1)
    with pytest.raises(InvalidInput, match="has NaN or infinity"):
        sw.with_columns({"ts": [1.0, float("inf")]}, order_by="ts", forget_after=1, n=sw.count().over(sw.rows(2)))
    with pytest.raises(InvalidInput, match="engine='spark' is for Spark DataFrames"):
        sw.with_columns(pa.table(ROWS), **CALL, engine="spark")


def test_a_batch_has_no_history():
    for call in (CALL, {**CALL, "history_until": "2024-01-31"}):
        with pytest.raises(sw.InvalidInput, match="history= is what came before a stream, and this is a batch"):
            sw.with_columns(pa.table(ROWS), **call, history=pa.table(ROWS))
    with pytest.raises(sw.InvalidInput, match="history_until= says when history= ends, and there is none"):
        sw.with_columns(pa.table(ROWS), **CALL, history_until="2024-01-31")
