"""New columns by keyword, by dict and by alias: the same columns, each name once."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import slidewise as sw

DATA = {"k": np.array(list("abab")), "t": np.array([1, 2, 3, 4]), "x": np.array([5, 7, 4, 6])}
PEAK, COUNT = sw.max("x").over(sw.rows(2)), sw.count().over(sw.rows(3))
SLIDES = sw.rows(2, every=2)


def as_lists(columns):
    return {name: np.asarray(values).tolist() for name, values in columns.items()}


@pytest.mark.parametrize(
    "given, keywords",
    [
        (({"peak": PEAK, "n": COUNT},), {}),
        (({"peak": PEAK}, {"n": COUNT}), {}),
        (({"peak": PEAK},), {"n": COUNT}),
        ((PEAK.alias("peak"), COUNT.alias("n")), {}),
        ((PEAK.alias("peak"),), {"n": COUNT}),
        ((PEAK.alias("peak"), {"n": COUNT}), {}),
        (({"peak": PEAK.alias("other")},), {"n": COUNT.alias("another")}),
    ],
)
def test_all_ways_to_name_columns_give_the_same(given, keywords):
    expected = as_lists(sw.with_columns(DATA, partition_by="k", order_by="t", peak=PEAK, n=COUNT))
    assert as_lists(sw.with_columns(DATA, *given, partition_by="k", order_by="t", **keywords)) == expected
    assert list(expected) == ["k", "t", "x", "peak", "n"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_aliases_and_dicts_go_with_frames(frame):
    out = sw.with_columns(frame(DATA), PEAK.alias("the peak"), {"n (3)": COUNT})
    assert list(out.columns) == ["k", "t", "x", "the peak", "n (3)"]
    assert out["the peak"].to_list() == [5, 7, 7, 6]


def test_a_dict_names_columns_like_parameters():
    names = ["partition_by", "order_by", "algorithm", "threads", "engine", "late", "schema", "window", "what", "data"]
    out = sw.with_columns(DATA, dict.fromkeys(names, PEAK), partition_by="k", order_by="t")
    assert list(out)[3:] == names
    slides = sw.aggregate(DATA, {name: sw.max("x") for name in names}, window=SLIDES)
    assert list(slides) == ["row", *names]


def test_results_of_aggregate_come_by_dict_and_alias():
    expected = as_lists(sw.aggregate(DATA, window=SLIDES, peak=sw.max("x"), n=sw.count()))
    assert as_lists(sw.aggregate(DATA, {"peak": sw.max("x")}, window=SLIDES, n=sw.count())) == expected
    named = sw.max("x").alias("peak"), sw.count().alias("n")
    assert as_lists(sw.aggregate(DATA, *named, window=SLIDES)) == expected


def test_a_name_that_comes_twice_is_refused():
    for given, keywords in (
        (({"peak": PEAK},), {"peak": COUNT}),
        ((PEAK.alias("peak"), COUNT.alias("peak")), {}),
        ((PEAK.alias("peak"), {"peak": COUNT}), {}),
    ):
        with pytest.raises(sw.InvalidInput, match="the new column 'peak' is given twice"):
            sw.with_columns(DATA, *given, **keywords)
    with pytest.raises(sw.InvalidInput, match="'engine' is given twice"):
        sw.with_columns(DATA, {"engine": PEAK}, engine=COUNT)
    with pytest.raises(sw.InvalidInput, match="aggregate: the new column 'peak' is given twice"):
        sw.aggregate(DATA, {"peak": sw.max("x")}, window=SLIDES, peak=sw.count())


def test_what_has_no_name_is_refused_with_the_remedy():
    with pytest.raises(sw.InvalidInput, match=r'does not say how its column is called. Write \.alias\("name"\)'):
        sw.with_columns(DATA, PEAK)
    with pytest.raises(sw.InvalidInput, match="does not say how its column is called"):
        sw.aggregate(DATA, sw.max("x"), window=SLIDES)
    with pytest.raises(sw.InvalidInput, match="alias takes the name of the new column, got 3"):
        PEAK.alias(3)
    with pytest.raises(sw.InvalidInput, match="a new column is named by text, got 3"):
        sw.with_columns(DATA, {3: PEAK})
    with pytest.raises(sw.InvalidInput, match=r'named so by keyword.*Give it in a dict: {"threads": ...}'):
        sw.with_columns(DATA, threads=PEAK)
    with pytest.raises(sw.InvalidInput, match=r"with_columns: peak=max.*has no window"):
        sw.with_columns(DATA, sw.max("x").alias("peak"))


def test_explain_takes_columns_as_the_call_does():
    expected = [line["column"] for line in sw.explain(DATA, partition_by="k", peak=PEAK, n=COUNT)]
    assert expected == ["peak", "n"]
    assert [line["column"] for line in sw.explain(DATA, {"peak": PEAK}, COUNT.alias("n"), partition_by="k")] == expected
    assert [line["column"] for line in sw.explain(DATA, PEAK.alias("peak"), n=COUNT)] == expected
