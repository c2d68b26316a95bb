"""`df.sw` of pandas and polars, and frames of narwhals: what the functions give, in the same kind of frame."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import narwhals as nw
import narwhals.stable.v1 as nw_v1
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import slidewise as sw
import slidewise.pandas
import slidewise.polars

DATA = {"k": list("abab"), "t": [1, 2, 3, 4], "x": [5, 7, 4, 6]}
NEW = {"peak": sw.max("x").over(sw.rows(2)), "n": sw.count().over(sw.time(2))}
CALL = {"partition_by": "k", "order_by": "t"}
SLIDES = {"window": sw.time(2, every=2), "total": sw.sum("x"), **CALL}


def test_the_accessor_of_pandas_gives_what_the_functions_give():
    frame: Any = pd.DataFrame(DATA)  # whose type knows no accessors
    pd.testing.assert_frame_equal(frame.sw.with_columns(NEW, **CALL), sw.with_columns(frame, NEW, **CALL))
    pd.testing.assert_frame_equal(frame.sw.with_columns(**NEW, **CALL), sw.with_columns(frame, **NEW, **CALL))
    pd.testing.assert_frame_equal(frame.sw.aggregate(**SLIDES), sw.aggregate(frame, **SLIDES))
    named = frame.sw.aggregate(sw.max("x").alias("late"), window=sw.rows(2, every=2), threads=1)
    assert named["late"].tolist() == [7, 6]
    assert frame["x"].sw.rolling(sw.max(), 2).tolist() == [5, 7, 7, 6]
    assert frame["x"].sw.rolling(sw.max, sw.rows(2), algorithm="recalculate").tolist() == [5, 7, 7, 6]


def test_windows_by_time_of_a_pandas_series_are_along_its_index():
    times = pd.to_datetime(["2026-01-01 10:00", "2026-01-01 10:40", "2026-01-01 11:20"])
    series: Any = pd.Series([1.0, 2.0, 4.0], times)
    expected = series.rolling("1h", closed="both").sum()
    pd.testing.assert_series_equal(series.sw.rolling(sw.sum(), sw.time("1h")), expected)
    assert series.sw.rolling(sw.sum(), sw.time(1), at=[1, 2, 9]).tolist() == [1.0, 3.0, 4.0]


def test_the_namespace_of_polars_gives_what_the_functions_give():
    frame = pl.DataFrame(DATA)
    assert_frame_equal(frame.sw.with_columns(NEW, **CALL), sw.with_columns(frame, NEW, **CALL))
    assert_frame_equal(frame.sw.aggregate(**SLIDES), sw.aggregate(frame, **SLIDES))
    series = frame["x"].sw.rolling(sw.max(), sw.time(1), at=frame["t"])
    assert series.to_list() == [5, 7, 7, 6] and series.name == "x"


def test_a_lazy_frame_stays_lazy_and_knows_its_columns():
    frame = pl.DataFrame(DATA)
    lazy = frame.lazy().sw.with_columns(NEW, **CALL)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == sw.with_columns(frame, NEW, **CALL).schema
    assert_frame_equal(lazy.collect(), sw.with_columns(frame, NEW, **CALL))
    assert_frame_equal(frame.lazy().sw.aggregate(**SLIDES).collect(), sw.aggregate(frame, **SLIDES))
    # What comes after it stays after it: a window sees all rows.
    after = lazy.filter(pl.col("t") > 2).select("t", "peak").head(1).collect()
    assert after.rows() == [(3, 5)]
    with pytest.raises(sw.InvalidInput, match="there is no column 'y'"):
        frame.lazy().sw.with_columns(peak=sw.max("y").over(3))


def test_pickles_and_copies_of_frames_are_unaffected():
    frame: Any = pd.DataFrame(DATA)
    before = pickle.dumps(frame)
    assert frame.sw is not None and frame["x"].sw is not None
    assert pickle.dumps(frame) == before
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(frame)), frame)
    pd.testing.assert_frame_equal(copy.deepcopy(frame), frame)
    other = frame.copy()
    other.loc[0, "x"] = 100
    assert other.sw.with_columns(NEW, order_by="t")["peak"].tolist() == [100, 100, 7, 6]
    assert frame.sw.with_columns(NEW, order_by="t")["peak"].tolist() == [5, 7, 7, 6]
    of_polars = pl.DataFrame(DATA)
    assert of_polars.sw is not None
    assert_frame_equal(pickle.loads(pickle.dumps(of_polars)), of_polars)


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
@pytest.mark.parametrize("wrap", [nw.from_native, nw_v1.from_native], ids=["narwhals", "stable"])
def test_frames_of_narwhals_come_back_as_such(made, wrap):
    native = made(DATA)
    frame = wrap(native)
    out = sw.with_columns(frame, NEW, **CALL)
    assert type(out) is type(frame)
    assert type(out.to_native()) is type(native)
    assert out["peak"].to_list() == [5, 7, 5, 7] and out["n"].to_list() == [1, 1, 2, 2]
    assert type(sw.aggregate(frame, **SLIDES)) is type(frame)
    series = sw.rolling(frame["x"], sw.max(), sw.rows(2))
    assert type(series) is type(frame["x"]) and series.to_list() == [5, 7, 7, 6]
    assert sw.rolling(frame["x"], sw.max(), sw.time(1), at=frame["t"]).to_list() == [5, 7, 7, 6]
    assert [line["column"] for line in sw.explain(frame, NEW)] == ["peak", "n"]


def test_a_lazy_frame_of_narwhals_says_what_to_do():
    with pytest.raises(sw.InvalidInput, match="collect"):
        sw.with_columns(nw.from_native(pl.LazyFrame(DATA)), NEW)


def test_nothing_is_loaded_that_is_not_asked_for():
    code = "import slidewise, sys; print(sorted({'pandas', 'polars', 'narwhals'} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    code = (
        "import numpy as np, slidewise as sw; sw.with_columns({'x': np.arange(3)}, n=sw.count().over(2)); "
        "import slidewise.pandas, slidewise.polars, pandas, polars, sys; "
        "print(pandas.DataFrame.sw, polars.__name__, slidewise.pandas is pandas, 'narwhals' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "<class 'slidewise.pandas.FrameAccessor'> polars False False"


def test_types_of_the_accessors():
    assert isinstance(slidewise.pandas.FrameAccessor(pd.DataFrame(DATA)).with_columns(NEW, **CALL), pd.DataFrame)
    assert isinstance(slidewise.polars.FrameNamespace(pl.DataFrame(DATA)).with_columns(NEW, **CALL), pl.DataFrame)
    assert np.asarray(slidewise.pandas.SeriesAccessor(pd.Series([1, 2])).rolling(sw.sum(), 2)).tolist() == [1, 3]
