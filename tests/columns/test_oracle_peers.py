"""pandas' and polars' own rolling functions give the same, wherever their definitions are ours.

Ours: nulls are skipped, a frame without values is null, and so is the deviation of one value. pandas has no nulls in
floats, so that its NaN is our null; its skewness and kurtosis are those of a sample, and are not compared.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.tiers import in_full, quick

import slidewise as sw

RNG = np.random.default_rng(3)
N = 600
SIZES = [1, 2, 5, 64, 1000]
FRACTIONS = [0.0, 0.3, 0.95, 1.0]


def columns(nulls=True):
    x = np.round(RNG.normal(0, 10, N), 2)
    x[100:140] = 7.0  # constant for a while: no variance, many ties
    missing = RNG.random(N) < (0.25 if nulls else 0)
    missing[300:370] = nulls
    return pa.array(x, mask=missing), pa.array(RNG.integers(-50, 50, N), mask=missing)


DATA = {"nulls": columns(), "no nulls": columns(nulls=False)}


def ours(values, aggregation, window, times=None):
    table = pa.table({"x": values, **({"t": times} if times is not None else {})})
    order = "t" if times is not None else None
    return sw.with_columns(table, order_by=order, r=aggregation.over(window))["r"].to_pylist()


def agree(mine, theirs):
    theirs = [None if v is None or v != v else v for v in theirs]
    assert [v is None for v in mine] == [v is None for v in theirs]
    assert np.allclose(*([0.0 if v is None else v for v in side] for side in (mine, theirs)), rtol=1e-9, atol=1e-7)


PANDAS = {
    "sum": (sw.sum("x"), lambda r: r.sum()),
    "avg": (sw.avg("x"), lambda r: r.mean()),
    "count": (sw.count("x"), lambda r: r.count()),
    "min": (sw.min("x"), lambda r: r.min()),
    "max": (sw.max("x"), lambda r: r.max()),
    "stddev": (sw.stddev("x"), lambda r: r.std()),
    "var_samp": (sw.var_samp("x"), lambda r: r.var()),
    "var_pop": (sw.var_pop("x"), lambda r: r.var(ddof=0)),
    "median": (sw.median("x"), lambda r: r.median()),
    "first": (sw.first("x", ignore_nulls=True), lambda r: r.apply(lambda w: w[~np.isnan(w)][0], raw=True)),
    **{f"percentile {q}": (sw.percentile("x", q), lambda r, q=q: r.quantile(q)) for q in FRACTIONS},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nulls", DATA)
@pytest.mark.parametrize("name", quick(PANDAS, "avg", "count", "first", "median", "stddev"))
def test_pandas_by_rows(name, nulls, size):
    aggregation, theirs = PANDAS[name]
    for values in DATA[nulls]:
        series = pd.Series(values.to_numpy(zero_copy_only=False).astype(float))
        agree(
            ours(values, aggregation, sw.rows(size)),
            theirs(series.rolling(size, min_periods=0 if name == "count" else 1)),
        )


@pytest.mark.covering(1)
@pytest.mark.parametrize("closed", ["both", "left", "right", "neither"])
@pytest.mark.parametrize("name", ["max", "sum", *in_full("avg", "count", "min", "stddev", "median")])
def test_pandas_by_time(name, closed):
    """pandas takes rows of equal time one by one, where ours are peers: times differ here."""
    aggregation, theirs = PANDAS[name]
    times = np.cumsum(RNG.integers(1, 5, N)) * 10**9
    values = DATA["nulls"][0]
    series = pd.Series(values.to_numpy(zero_copy_only=False), pd.to_datetime(times))
    rolling = series.rolling("9s", closed=closed, min_periods=0 if name == "count" else 1)
    window = sw.time("9s", closed=closed)
    agree(ours(values, aggregation, window, pa.array(times).cast(pa.timestamp("ns"))), theirs(rolling))


@pytest.mark.parametrize("name", ["sum", *in_full("max", "median", "stddev")])
def test_pandas_by_key(name):
    values, keys = DATA["nulls"][0], RNG.integers(0, 9, N)
    aggregation, theirs = PANDAS[name]
    frame = pd.DataFrame({"k": keys, "x": values.to_numpy(zero_copy_only=False)})
    out = sw.with_columns(pa.table({"k": keys, "x": values}), partition_by="k", r=aggregation.over(sw.rows(7)))
    rolled = theirs(frame.groupby("k")["x"].rolling(7, min_periods=1)).droplevel(0).sort_index()
    agree(out["r"].to_pylist(), rolled)


POLARS = {
    "sum": (sw.sum("x"), lambda c, n: c.rolling_sum(n, min_samples=1)),
    "avg": (sw.avg("x"), lambda c, n: c.rolling_mean(n, min_samples=1)),
    "min": (sw.min("x"), lambda c, n: c.rolling_min(n, min_samples=1)),
    "max": (sw.max("x"), lambda c, n: c.rolling_max(n, min_samples=1)),
    "stddev": (sw.stddev("x"), lambda c, n: c.rolling_std(n, min_samples=1)),
    "var_samp": (sw.var_samp("x"), lambda c, n: c.rolling_var(n, min_samples=1)),
    "median": (sw.median("x"), lambda c, n: c.rolling_median(n, min_samples=1)),
    "skewness": (sw.skewness("x"), lambda c, n: c.rolling_skew(n, min_samples=1)),
    "kurtosis": (sw.kurtosis("x"), lambda c, n: c.rolling_kurtosis(n, min_samples=1)),
    **{
        f"percentile {q}": (
            sw.percentile("x", q),
            lambda c, n, q=q: c.rolling_quantile(q, "linear", window_size=n, min_samples=1),
        )
        for q in FRACTIONS
    },
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nulls", DATA)
@pytest.mark.parametrize("name", quick(POLARS, "max", "median", "sum"))
def test_polars_by_rows(name, nulls, size):
    aggregation, theirs = POLARS[name]
    values = DATA[nulls][0]
    agree(ours(values, aggregation, sw.rows(size)), theirs(pl.Series(values), size).to_list())


@pytest.mark.covering(1)
@pytest.mark.parametrize("closed", ["both", "left", "right", "neither"])
@pytest.mark.parametrize("name", ["sum", "max", *in_full("mean", "min")])
def test_polars_by_time_with_peers(name, closed):
    times, values = np.sort(RNG.integers(0, 200, N)), DATA["no nulls"][0]
    frame = pl.DataFrame({"t": times, "x": values})
    rolled = getattr(pl.col("x"), f"rolling_{name}_by")("t", "7i", closed="none" if closed == "neither" else closed)
    theirs = frame.select(rolled).to_series().to_list()
    mine = ours(values, getattr(sw, name)("x"), sw.time(7, closed=closed), pa.array(times))
    if name == "sum":  # of no rows: 0 in polars, null in SQL
        assert all(b == 0 for a, b in zip(mine, theirs, strict=True) if a is None)
        theirs = [None if a is None else b for a, b in zip(mine, theirs, strict=True)]
    agree(mine, theirs)
