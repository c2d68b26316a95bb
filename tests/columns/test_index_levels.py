"""Levels of a pandas index as order and as keys."""

import pandas as pd
import pytest

import slidewise as sw

TIMES = pd.to_datetime(["2026-01-01 10:00", "2026-01-01 09:00", "2026-01-01 10:30", "2026-01-01 12:00"])
FRAME = pd.DataFrame({"k": list("abab"), "x": [1.0, 2.0, 4.0, 8.0]}, index=pd.Index(TIMES, name="ts"))
HOUR = {"total": sw.sum("x").over(sw.time("1h")), "n": sw.count().over(sw.time("1h"))}


def test_an_index_is_an_order_and_comes_back_unchanged():
    out = sw.with_columns(FRAME, HOUR, order_by="ts")
    expected = sw.with_columns(FRAME.reset_index(), HOUR, order_by="ts").set_index("ts")
    pd.testing.assert_frame_equal(out, expected)
    assert out.index is FRAME.index or out.index.equals(FRAME.index)
    assert out["total"].tolist() == [3.0, 2.0, 5.0, 8.0]


def test_an_index_agrees_with_pandas_own_rolling():
    ordered = FRAME.sort_index()
    out = sw.with_columns(ordered, HOUR, order_by="ts")
    assert out["total"].tolist() == ordered["x"].rolling("1h", closed="both").sum().tolist()


def test_levels_of_a_multi_index_are_keys_and_orders():
    levels = FRAME.set_index("k", append=True)
    out = sw.with_columns(levels, HOUR, partition_by="k", order_by=sw.asc("ts"))
    expected = sw.with_columns(FRAME.reset_index(), HOUR, partition_by="k", order_by="ts").set_index(["ts", "k"])
    pd.testing.assert_frame_equal(out, expected)
    slides = sw.aggregate(levels, partition_by="k", order_by="ts", window=sw.time("1h", every="1h"), n=sw.count())
    of_columns = sw.aggregate(
        FRAME.reset_index(), partition_by="k", order_by="ts", window=sw.time("1h", every="1h"), n=sw.count()
    )
    pd.testing.assert_frame_equal(slides, of_columns)


def test_a_zoned_index_is_an_order():
    zoned = FRAME.tz_localize("Europe/Berlin")
    assert sw.with_columns(zoned, HOUR, order_by="ts")["total"].tolist() == [3.0, 2.0, 5.0, 8.0]


def test_a_column_hides_a_level_of_its_name():
    both = FRAME.assign(ts=[4, 3, 2, 1])
    assert sw.with_columns(both, order_by="ts", n=sw.count().over(sw.rows(9)))["n"].tolist() == [4, 3, 2, 1]


def test_unknown_names_are_refused_with_the_nearest_level():
    with pytest.raises(sw.InvalidInput, match=r"there is no column 'tss'\. Did you mean 'ts'"):
        sw.with_columns(FRAME, HOUR, order_by="tss")
    twice = FRAME.set_index(pd.MultiIndex.from_arrays([TIMES, TIMES], names=["ts", "ts"]))
    with pytest.raises(sw.InvalidInput, match="levels of an index that are read must have different names"):
        sw.with_columns(twice, HOUR, order_by="ts")
