"""The rules of the design: nulls, NaN, infinities, signed zero, ties, empty frames, single rows."""

import math

import pytest
from support.aggregations import build

import slidewise as sw
from slidewise.registry.aggregations import AGGREGATION

NAN, INF = math.nan, math.inf
FLOAT_NAMES = [
    "sum", "avg", "product", "geomean", "stddev", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis",
    "relative_variation", "max",
]  # fmt: skip
BUILT = [build(name) for name in AGGREGATION]


@pytest.mark.parametrize("aggregation", BUILT, ids=lambda a: a.name)
def test_empty_frames(aggregation, fold):
    expected = {
        "count": 0,
        "count_distinct": 0,
        "approx_count_distinct": 0,
        "collect_list": [],
        "collect_set": [],
        "regr_count": 0,
    }
    assert fold(aggregation, []) == expected.get(aggregation.name)


def test_an_empty_list_is_a_new_one():
    aggregation = sw.collect_list()
    aggregation.empty.append(1)
    assert aggregation.empty == []


@pytest.mark.parametrize("aggregation", BUILT, ids=lambda a: a.name)
def test_nulls_are_skipped(aggregation, fold):
    if aggregation.nulls != "skip":
        pytest.skip("keeps nulls")
    null = (None,) * aggregation.arity if aggregation.arity > 1 else None
    assert fold(aggregation, [null, null]) == aggregation.empty


def test_nulls_kept_where_position_matters(fold):
    assert fold(sw.first(), [None, 4]) is None
    assert fold(sw.first(ignore_nulls=True), [None, 4]) == 4
    assert fold(sw.last(), [4, None]) is None
    assert fold(sw.last(ignore_nulls=True), [4, None]) == 4
    assert fold(sw.nth_value(2), [1, None, 3]) is None
    assert fold(sw.nth_value(2, ignore_nulls=True), [1, None, 3]) == 3
    assert fold(sw.max_by(), [(None, 2), ("a", 1)]) is None
    assert fold(sw.max_by(), [("b", None), ("a", 1)]) == "a"
    assert fold(sw.count(), [None, 1]) == 2
    assert fold(sw.count("x"), [None, 1]) == 1


@pytest.mark.parametrize("name", ["var_samp", "stddev", "skewness", "kurtosis"])
def test_undefined_for_one_row(name, fold):
    assert fold(getattr(sw, name)(), [3.0]) is None


def test_one_row(fold):
    assert fold(sw.var_pop(), [3.0]) == 0.0
    assert fold(sw.covar_samp(), [(1, 2)]) is None
    assert fold(sw.corr(), [(1, 2)]) is None
    assert fold(sw.median(), [3]) == 3.0
    assert fold(sw.m4(), [3]) == (3, 3, 3, 3)


def test_no_variance(fold):
    assert fold(sw.skewness(), [0.1, 0.1, 0.1]) is None
    assert fold(sw.kurtosis(), [0.1, 0.1, 0.1]) is None
    assert fold(sw.corr(), [(1, 5), (2, 5)]) is None
    assert fold(sw.relative_variation(), [0.0, -1.0]) is None


def test_nan_is_the_largest(fold):
    rows = [1.0, NAN, INF, -INF]
    assert math.isnan(fold(sw.max(), rows))
    assert fold(sw.min(), rows) == -INF
    assert math.isnan(fold(sw.min(), [NAN, NAN]))
    assert fold(sw.min(), [NAN, INF]) == INF
    assert fold(sw.max_count(), [1.0, NAN, 2.0, float("nan")]) == 2
    assert fold(sw.min_count(), [NAN, 1.0, 1.0]) == 2
    assert fold(sw.min_count(), [NAN, float("nan")]) == 2
    assert fold(sw.max_by(), [("a", INF), ("b", NAN), ("c", NAN)]) == "b"
    assert fold(sw.min_by(), [("a", NAN), ("b", INF)]) == "b"
    assert fold(sw.median(), [NAN, 1.0, 2.0]) == 2.0
    assert math.isnan(fold(sw.percentile(1), [NAN, 1.0]))
    assert fold(sw.nth_smallest(2), [NAN, 1.0, 2.0]) == 2.0
    assert math.isnan(fold(sw.approx_percentile(1.0), [NAN, 1.0]))
    assert fold(sw.approx_percentile(0.5), [NAN, 1.0]) == 1.0


def test_all_nans_are_one_value(fold):
    rows = [float("nan"), float("nan"), 1.0]
    assert fold(sw.count_distinct(), rows) == 2
    assert fold(sw.approx_count_distinct(), rows) == 2
    assert len(fold(sw.collect_set(), rows)) == 2
    assert math.isnan(fold(sw.mode(), rows))
    assert fold(sw.mode(), [float("nan"), 1.0]) == 1.0


def test_a_text_without_characters_is_a_value(fold):
    assert fold(sw.approx_count_distinct(), ["", "a", "", "b"]) == 3
    sketch = sw.count_min_sketch()
    assert sketch.lower(sketch.combine(sketch.lift(""), sketch.lift("")), "") == 2


def test_signed_zero(fold):
    assert fold(sw.count_distinct(), [0.0, -0.0]) == 1
    assert fold(sw.approx_count_distinct(), [0.0, -0.0, 0]) == 1
    assert fold(sw.max_count(), [0.0, -0.0]) == 2
    assert math.copysign(1, fold(sw.max(), [-0.0, 0.0])) == -1  # a tie: the earlier
    assert fold(sw.collect_set(), [1, 1.0, True]) == [1]


def test_ties(fold):
    assert fold(sw.max_by(), [("a", 2), ("b", 2)]) == "a"
    assert fold(sw.min_by(), [("a", 2), ("b", 2)]) == "a"
    assert fold(sw.mode(), [3, 1, 3, 1]) == 1


@pytest.mark.parametrize("name", FLOAT_NAMES)
@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_bad_values_leave_no_trace(name, bad):
    # The partial of a later row is what it would be without them: combine is never undone.
    aggregation = getattr(sw, name)()
    clean = [aggregation.lift(x) for x in (3.0, 5.0)]
    dirty = [aggregation.lift(x) for x in (bad, 3.0, 5.0)]
    aggregation.combine(dirty[0], dirty[1])
    assert aggregation.combine(*dirty[1:]) == aggregation.combine(*clean)


@pytest.mark.parametrize("name", ["stddev", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis"])
@pytest.mark.parametrize("rows", [[1.0, INF, 2.0], [INF, 1.0], [NAN, 1.0], [1.0, -INF, INF]])
def test_moments_of_infinities(name, rows, fold):
    assert math.isnan(fold(getattr(sw, name)(), rows))


def test_interpolation_at_infinity(fold):
    assert fold(sw.median(), [-INF, -INF, 5.0]) == -INF
    assert fold(sw.percentile(0.25), [INF, INF]) == INF
    assert fold(sw.percentile(0.5), [1.0, 2.0, INF]) == 2.0
    assert fold(sw.percentile(0.75), [1.0, 2.0, INF]) == INF
