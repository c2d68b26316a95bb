"""Every aggregation against a plain computation of the same thing, on random rows."""

import math
import random
import statistics
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import slidewise as sw


def central(xs, k):
    mean = math.fsum(xs) / len(xs)
    return math.fsum((x - mean) ** k for x in xs) / len(xs)


def mode(xs):
    counts = Counter(xs)
    return min(x for x in counts if counts[x] == max(counts.values()))


ORACLES: dict[str, Any] = {
    "count": len,
    "sum": math.fsum,
    "avg": statistics.fmean,
    "min": min,
    "max": max,
    "product": math.prod,
    "stddev": statistics.stdev,
    "stddev_pop": statistics.pstdev,
    "var_samp": statistics.variance,
    "var_pop": statistics.pvariance,
    "skewness": lambda xs: central(xs, 3) / central(xs, 2) ** 1.5,
    "kurtosis": lambda xs: central(xs, 4) / central(xs, 2) ** 2 - 3,
    "max_count": lambda xs: xs.count(max(xs)),
    "min_count": lambda xs: xs.count(min(xs)),
    "first": lambda xs: xs[0],
    "last": lambda xs: xs[-1],
    "collect_list": list,
    "collect_set": lambda xs: list(dict.fromkeys(xs)),
    "relative_variation": lambda xs: (max(xs) - min(xs)) / max(xs),
    "m4": lambda xs: (min(xs), max(xs), xs[0], xs[-1]),
    "count_distinct": lambda xs: len(set(xs)),
    "approx_count_distinct": lambda xs: len(set(xs)),
    "mode": mode,
    "median": statistics.median,
}


def random_rows(seed):
    source = random.Random(seed)
    n = source.choice([2, 3, 10, 50])
    return [round(source.uniform(-20, 20), source.choice([0, 1])) for _ in range(n - 1)] + [21.5]


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", range(5))
def test_as_computed_plainly(name, seed, fold):
    rows = random_rows(seed)
    assert fold(getattr(sw, name)(), rows) == pytest.approx(ORACLES[name](rows), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_geomean(seed, fold):
    rows = [abs(x) + 0.1 for x in random_rows(seed)]
    assert fold(sw.geomean(), rows) == pytest.approx(statistics.geometric_mean(rows))


@pytest.mark.parametrize("seed", range(5))
def test_two_columns(seed, fold):
    x, y = random_rows(seed), random_rows(seed + 100)
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    rows = list(zip(x, y, strict=True))
    assert fold(sw.covar_samp(), rows) == pytest.approx(np.cov(x, y)[0, 1])
    assert fold(sw.corr(), rows) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert fold(sw.max_by(), rows) == x[y.index(max(y))]
    assert fold(sw.min_by(), rows) == x[y.index(min(y))]


@pytest.mark.parametrize("q", [0, 0.1, 0.25, 0.5, 0.9, 0.95, 1])
@pytest.mark.parametrize("seed", range(3))
def test_percentiles(q, seed, fold):
    rows = random_rows(seed)
    ordered = sorted(rows)
    assert fold(sw.percentile(q), rows) == pytest.approx(np.quantile(rows, q))
    assert fold(sw.percentile_disc(q), rows) == np.quantile(rows, q, method="inverted_cdf")
    assert fold(sw.percentile_disc(q, method="paper"), rows) == ordered[math.floor(q * (len(rows) - 1))]
    assert fold(sw.percentile(q, method="paper"), rows) == pytest.approx(np.quantile(rows, q, method="midpoint"))
    assert fold(sw.percentile(0.5), rows, q) == fold(sw.percentile(q), rows)


def test_nth(fold):
    rows = [5, 3, 8, 3]
    assert [fold(sw.nth_smallest(n), rows) for n in (1, 2, 3, 4, 5)] == [3, 3, 5, 8, None]
    assert [fold(sw.nth_value(n), rows) for n in (1, 2, 3, 4, 5)] == [5, 3, 8, 3, None]
    assert fold(sw.nth_smallest(1), rows, 3) == 5
    assert fold(sw.nth_value(3), rows, 1) == 5


def test_truth_and_bits(fold):
    assert fold(sw.bool_and(), [True, None, True]) is True
    assert fold(sw.bool_and(), [True, False]) is False
    assert fold(sw.bool_or(), [False, np.True_]) is True
    assert fold(sw.bit_or(), [1, 4, None, np.int64(8)]) == 13


def test_text(fold):
    assert fold(sw.string_agg(delimiter=", "), ["to", None, "be"]) == "to, be"
    assert fold(sw.string_agg(), ["to", "be"]) == "tobe"
    assert fold(sw.max(), ["b", "a"]) == "b"
    assert fold(sw.mode(), ["b", "a", "b", "a"]) == "a"
    assert fold(sw.percentile_disc(0.5), ["c", "a", "b"]) == "b"


def test_other_types(fold):
    days = [date(2024, 1, 3), date(2024, 1, 1)]
    assert fold(sw.min(), days) == days[1]
    assert fold(sw.median(), [date(2024, 1, 1), date(2024, 1, 3)]) == date(2024, 1, 2)
    assert fold(sw.sum(), [Decimal("0.1"), Decimal("0.2")]) == Decimal("0.3")
    assert fold(sw.avg(), [timedelta(1), timedelta(3)]) == timedelta(2)
    assert fold(sw.median(), [Decimal(1), Decimal(2)]) == Decimal("1.5")


def test_median_of_integers_is_a_float(fold):
    result = fold(sw.median(), [1, 2, 9])
    assert result == 2.0
    assert type(result) is float
    assert type(fold(sw.percentile_disc(0.5), [1, 2, 9])) is int


def test_variance_far_from_zero(fold):
    rows = [1e9 + x for x in (4.0, 7.0, 13.0, 16.0)]
    assert fold(sw.var_samp(), rows) == 30.0
    assert fold(sw.stddev(), [x * 1e-160 for x in (1, 2, 3)]) == pytest.approx(1e-160)
    assert fold(sw.skewness(), [x * 1e-160 for x in (1, 2, 6)]) is not None


def test_geomean_does_not_overflow(fold):
    assert fold(sw.geomean(), [1e300] * 100) == pytest.approx(1e300)
    assert fold(sw.geomean(), [1.7976931348623157e308] * 7) == pytest.approx(1.7976931348623157e308, rel=1e-12)
    assert fold(sw.geomean(), [4.0, 0.0]) == 0.0
    assert math.isnan(fold(sw.geomean(), [4.0, -1.0]))


def test_numbers_of_numpy_do_not_wrap(fold):
    assert fold(sw.sum(), [np.int8(100), np.int8(100)]) == 200
    assert fold(sw.avg(), [np.int64(2**62)] * 4) == 2.0**62
