"""rolling(at=): one array in the order of another, against with_columns and pandas."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidewise as sw

RANDOM = np.random.default_rng(15)
COUNT = 200
SECONDS = np.sort(RANDOM.choice(20_000, COUNT, replace=False))
TIMES = np.datetime64("2026-01-01", "s") + SECONDS
X = RANDOM.normal(size=COUNT).round(2)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    "aggregation, name", [(sw.sum(), "sum"), (sw.max(), "max"), (sw.median(), "median"), (sw.count(), "count")]
)
def test_time_windows_agree_with_pandas(unit, aggregation, name):
    series = pd.Series(X, pd.DatetimeIndex(TIMES.astype(f"M8[{unit}]")))
    expected = getattr(series.rolling("10min", closed="both"), name)()
    found = sw.rolling(series, aggregation, sw.time("10min"), at=series.index)
    assert found.index is series.index or found.index.equals(series.index)
    np.testing.assert_allclose(found.to_numpy(float), expected.to_numpy(), rtol=1e-12, atol=1e-12)


WINDOWS = [
    sw.time("10min"),
    sw.time("10min", closed="right"),
    sw.range_between("-5min", "5min"),
    sw.range_between(-sw.UNBOUNDED, 0),
    sw.groups_between(-1, 0),
    sw.rows(5),
    sw.rows_between(-1, 1, exclude="current row"),
    sw.delta(None, 1.5),
    sw.delta("at", "10min"),
    sw.session("1min"),
]


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_every_window_is_that_of_with_columns_also_of_unsorted_rows_and_ties(window):
    order = RANDOM.permutation(COUNT)
    x, at = X[order], TIMES[order]
    at[:20] = at[20:40]  # ties
    over = sw.sum("x").over(sw.delta("x", 1.5) if window == sw.delta(None, 1.5) else window)
    expected = sw.with_columns({"x": x, "at": at}, order_by="at", total=over)["total"]
    np.testing.assert_array_equal(sw.rolling(x, sw.sum(), window, at=at), expected)


def test_results_are_of_the_kind_of_the_array():
    at = pa.array([1, 2, 9])
    assert sw.rolling(pa.array([1, 2, 4]), sw.sum(), sw.time(1), at=at).to_pylist() == [1, 3, 4]
    series = sw.rolling(pl.Series("v", [1, 2, 4]), sw.sum(), sw.time(1), at=[1, 2, 9])
    assert isinstance(series, pl.Series) and series.name == "v" and series.to_list() == [1, 3, 4]
    assert sw.rolling([1, 2, 4], sw.count(), sw.time(1), at=[1, 2, 9]).tolist() == [1, 2, 1]
    pairs = sw.rolling(([1.0, 2.0, 4.0], [2.0, 4.0, 8.0]), sw.regr_slope(), sw.time(5), at=[1, 2, 9])
    assert pairs.tolist() == [None, 0.5, None]


def test_rows_without_a_time_are_each_others_peers_as_in_with_columns():
    at = pd.Series(pd.to_datetime(["2026-01-01 10:00", None, "2026-01-01 10:30", None]))
    x = pd.Series([1.0, 2.0, 4.0, 8.0])
    expected = sw.with_columns(pd.DataFrame({"x": x, "at": at}), order_by="at", total=sw.sum("x").over(sw.time("1h")))[
        "total"
    ]
    found = sw.rolling(x, sw.sum(), sw.time("1h"), at=at)
    assert found.tolist() == expected.tolist() == [1.0, 10.0, 5.0, 10.0]


def test_what_does_not_go_together_is_refused():
    with pytest.raises(sw.InvalidInput, match="Give the times of the rows: at="):
        sw.rolling(X, sw.max(), sw.time("1h"))
    with pytest.raises(sw.InvalidInput, match="one time for each of the 200 rows, got 3"):
        sw.rolling(X, sw.max(), sw.time("1h"), at=TIMES[:3])
    with pytest.raises(sw.InvalidInput, match="one time for each of the 200 rows, got shape"):
        sw.rolling(X, sw.max(), sw.time("1h"), at=TIMES.reshape(2, -1))
    with pytest.raises(sw.InvalidInput, match="gives a result for every row"):
        sw.rolling(X, sw.max(), sw.time("1h", every="1m"), at=TIMES)
    with pytest.raises(sw.InvalidInput, match="no column 'odometer'"):
        sw.rolling(X, sw.max(), sw.delta("odometer", 3), at=TIMES)
    with pytest.raises(sw.InvalidInput, match="no column 'back'"):
        sw.rolling(X, sw.max(), sw.range_between(sw.col("back"), 0), at=TIMES)
    with pytest.raises(sw.InvalidInput, match="length of time"):
        sw.rolling(X, sw.max(), sw.time("1h"), at=SECONDS)
