"""ewm_avg against pandas' ewm and against weights written out, by every unit of time and in every order of rows."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.tiers import quick

import slidewise as sw

RANDOM = np.random.default_rng(8)
COUNT = 120
SECONDS = np.sort(RANDOM.choice(40_000, COUNT, replace=False))
X = RANDOM.normal(1e6, 5, COUNT)
RUNNING = sw.rows_between(-sw.UNBOUNDED, 0)
HOUR = sw.ewm_avg("x", "ts", half_life="1h")
ALL = ["s", "ms", "us", "ns"]


def recalculate(x, hours, frames):
    """The definition: every weight written out."""
    out = []
    for i, rows in enumerate(frames):
        weights = 0.5 ** (hours[i] - hours[rows])
        out.append((weights * x[rows]).sum() / weights.sum())
    return np.array(out)


def times(unit, zone=None):
    made = pd.Series(np.datetime64("2026-03-29", "s") + SECONDS).astype(
        cast("Any", f"M8[{unit}]")
    )  # clocks change in Europe
    return made.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else made


@pytest.mark.parametrize("unit", ALL)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_running_averages_are_those_of_pandas(unit, zone):
    frame = pd.DataFrame({"x": X, "ts": times(unit, zone)})
    frame.loc[5:8, "x"] = np.nan
    expected = frame["x"].ewm(halflife="1h", times=times("ns", zone)).mean()
    found = sw.with_columns(frame, e=HOUR.over(RUNNING), order_by="ts")["e"]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "algorithm", quick(["auto", "recalculate", "two_stacks_lite", "daba_lite", "flat_fat"], "auto", "recalculate")
)
def test_bounded_windows_are_those_of_weights_written_out(algorithm):
    hours = SECONDS / 3600
    frames = [np.flatnonzero((hours >= h - 2) & (hours <= h)) for h in hours]
    data = {"x": X, "ts": times("us").to_numpy(), "hours": hours}
    out = sw.with_columns(
        data,
        order_by="ts",
        algorithm=algorithm,
        of_times=HOUR.over(sw.time("2h")),
        of_numbers=sw.ewm_avg("x", "hours", half_life=1).over(sw.time("2h")),
    )
    np.testing.assert_allclose(out["of_times"], recalculate(X, hours, frames), rtol=1e-13)
    np.testing.assert_allclose(out["of_numbers"], recalculate(X, hours, frames), rtol=1e-12)


def test_differences_of_single_nanoseconds_count():
    at = np.array([0, 1, 3]) + np.datetime64("2026-01-01T00:00:00.000000001", "ns")
    found = sw.rolling((np.array([4.0, 1.0, 1.0]), at), sw.ewm_avg(half_life="1ns"), sw.rows(2))
    assert found.tolist() == [4.0, 2.0, 1.0]


def test_dates_and_integers_and_decimals():
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2)])
    for at, half_life in ((days, "1d"), (pa.array([7, 8], pa.int8()), 1), (pa.array([0.5, 1.5], pa.float32()), 1)):
        for x in (pa.array([4, 1]), pa.array([Decimal("4.0"), Decimal("1.0")]), pa.array([4.0, 1.0], pa.float32())):
            table = pa.table({"x": x, "at": at})
            over = sw.ewm_avg("x", "at", half_life=half_life).over(sw.rows(2))
            assert sw.with_columns(table, e=over)["e"].to_pylist() == [4.0, 2.0]
    table = pa.table({"x": [4.0, 1.0], "at": pa.array([2**64 - 2, 2**64 - 1], pa.uint64())})
    assert sw.with_columns(table, e=sw.ewm_avg("x", "at", half_life=1).over(9))["e"].to_pylist() == [4.0, 2.0]


@pytest.mark.parametrize("read", [
    lambda ns: datetime(2026, 1, 1) + timedelta(microseconds=ns // 1000),
    lambda ns: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000),
    lambda ns: np.datetime64("2026-01-01", "ns") + np.timedelta64(ns, "ns"),
    lambda ns: pd.Timestamp("2026-01-01", tz="Asia/Tokyo") + pd.Timedelta(ns, "ns"),
])  # fmt: skip
def test_event_by_event_as_over_columns(read):
    w = sw.Window(HOUR, sw.rows(5))
    found = []
    for x, s in zip(X.tolist(), SECONDS.tolist(), strict=True):
        at = read(int(s) * 10**9)
        found += [r.value for r in w.push({"x": x, "ts": at}, time=at)]
    frames = [np.arange(max(0, i - 4), i + 1) for i in range(COUNT)]
    np.testing.assert_allclose(found, recalculate(X, SECONDS / 3600, frames), rtol=1e-13)


def test_rows_with_a_null_are_left_out():
    table = pa.table({"x": [4.0, None, 9.0, 1.0], "at": [0, 1, None, 1]})
    out = sw.with_columns(table, e=sw.ewm_avg("x", "at", half_life=1).over(RUNNING))
    assert out["e"].to_pylist() == [4.0, 4.0, 4.0, 2.0]
    assert sw.with_columns(table.slice(1, 1), e=sw.ewm_avg("x", "at", half_life=1).over(3))["e"].to_pylist() == [None]


def test_weights_never_overflow_and_infinities_stay():
    at = np.array([0.0, 1e6, 1e300])
    half = sw.ewm_avg(half_life=1e-3)
    assert sw.rolling((np.array([5.0, 7.0, 9.0]), at), half, RUNNING).tolist() == [5.0, 7.0, 9.0]
    assert sw.rolling((np.array([math.inf, 7.0, 9.0]), at), half, RUNNING).tolist() == [math.inf] * 3
    ends = np.array([-(2**63) + 2, 2**63 - 1])
    assert sw.rolling((np.array([5.0, 7.0]), ends), sw.ewm_avg(half_life=3), RUNNING).tolist() == [5.0, 7.0]
    unknown = sw.rolling((np.array([1.0, 1.0, 1.0]), np.array([0.0, np.nan, 1.0])), half, sw.rows(2))
    assert np.isnan(unknown).tolist() == [False, True, True]
    s = sw.swag("two_stacks", half)
    for row in zip([math.inf, 7.0, 9.0], at.tolist(), strict=True):
        s.insert(row)
    assert s.query() == math.inf


def test_one_array_in_time_agrees_with_pandas():
    series = pd.Series(X, times("ns"))
    found = sw.rolling((series, series.index), sw.ewm_avg(half_life="30min"), RUNNING, at=series.index)
    expected = series.ewm(halflife="30min", times=series.index).mean()
    pd.testing.assert_series_equal(found, expected, rtol=1e-13)


def test_laws_hold_for_datetimes():
    rows = [(x, datetime(2026, 1, 1) + timedelta(hours=k * 7 % 5)) for k, x in enumerate((1.0, 4.5, -2.0, 1e9, 3.0))]
    report = sw.check_aggregation(sw.ewm_avg(half_life="1h"), rows)
    assert report.held["associativity"] > 100 and report.held["commutativity"] > 10


def test_what_does_not_go_together_is_refused():
    with pytest.raises(sw.InvalidInput, match="say after which time a row counts half"):
        sw.ewm_avg("x", "ts")
    with pytest.raises(sw.InvalidInput, match="say which column has the times"):
        sw.ewm_avg("x", half_life="1h")
    for wrong, message in (("0s", "must be positive"), (-3, "must be positive"), ("1 month", "must be a fixed length")):
        with pytest.raises(sw.InvalidInput, match=message):
            sw.ewm_avg(half_life=wrong)
    numbers, stamps = pa.table({"x": [1.0], "ts": [1]}), pa.table({"x": [1.0], "ts": [datetime(2026, 1, 1)]})
    with pytest.raises(sw.InvalidInput, match=r"takes timestamps or dates\. half_life= is a length such as"):
        sw.with_columns(numbers, e=HOUR.over(3))
    with pytest.raises(sw.InvalidInput, match=r"takes numbers\. half_life= is a length such as"):
        sw.with_columns(stamps, e=sw.ewm_avg("x", "ts", half_life=3).over(3))
    with pytest.raises(sw.InvalidInput, match="the time is a plain number"):
        sw.swag("daba_lite", HOUR).insert((1.0, 3))
    with pytest.raises(sw.InvalidInput, match="is a plain number without a unit"):
        sw.swag("daba_lite", sw.ewm_avg(half_life=3)).insert((1.0, datetime(2026, 1, 1)))
    late = pa.table({"x": [1.0, 2.0], "ts": [datetime(2026, 1, 1), datetime(9999, 12, 31)]})
    with pytest.raises(sw.InvalidInput, match="1678 to 2262"):
        sw.with_columns(late, e=HOUR.over(3))
    with pytest.raises(sw.InvalidInput, match="1678 and 2262"):
        sw.swag("daba_lite", HOUR).insert((1.0, datetime(9999, 12, 31)))
