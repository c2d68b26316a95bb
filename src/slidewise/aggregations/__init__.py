"""Aggregations: what to compute over a window. Every lower-case name makes one, with PySpark's arguments."""

from __future__ import annotations

from slidewise.aggregations.base import Aggregation as Aggregation
from slidewise.aggregations.bloom_filters import BloomFilter
from slidewise.aggregations.classifiers import NaiveBayes
from slidewise.aggregations.collecting import CollectList, CollectSet, StringAgg
from slidewise.aggregations.covariance import Corr, CovarSamp
from slidewise.aggregations.decay import EwmAvg
from slidewise.aggregations.distinct import AvgDistinct, SumDistinct
from slidewise.aggregations.extremes import M4, Max, MaxBy, MaxCount, Min, MinBy, MinCount, RelativeVariation
from slidewise.aggregations.frequencies import CountDistinct, Mode
from slidewise.aggregations.logic import BitAnd, BitOr, BitXor, BoolAnd, BoolOr
from slidewise.aggregations.moment_sketches import MomentSketch
from slidewise.aggregations.moments import Kurtosis, Skewness, Stddev, StddevPop, VarPop, VarSamp
from slidewise.aggregations.places import cume_dist, dense_rank, lag, lead, ntile, percent_rank, rank, row_number
from slidewise.aggregations.positions import First, Last, NthValue
from slidewise.aggregations.ranks import Median, NthSmallest, Percentile, PercentileDisc
from slidewise.aggregations.regression import (
    CovarPop,
    RegrAvgx,
    RegrAvgy,
    RegrCount,
    RegrIntercept,
    RegrR2,
    RegrSlope,
    RegrSxx,
    RegrSxy,
    RegrSyy,
)
from slidewise.aggregations.sketches import ApproxCountDistinct, ApproxPercentile, CountMinSketch
from slidewise.aggregations.sums import Avg, Count, Geomean, Product, Sum

approx_count_distinct = ApproxCountDistinct
approx_percentile = ApproxPercentile
avg = mean = Avg
avg_distinct = AvgDistinct
bit_and = BitAnd
bit_or = BitOr
bit_xor = BitXor
bloom_filter = BloomFilter
bool_and = BoolAnd
bool_or = BoolOr
collect_list = CollectList
collect_set = CollectSet
corr = Corr
count = Count
count_distinct = nunique = CountDistinct
count_min_sketch = CountMinSketch
covar_pop = CovarPop
covar_samp = CovarSamp
ewm_avg = EwmAvg
first = First
geomean = Geomean
kurtosis = Kurtosis
last = Last
m4 = M4
max = Max
max_by = MaxBy
max_count = MaxCount
median = Median
min = Min
min_by = MinBy
min_count = MinCount
mode = Mode
moment_sketch = MomentSketch
naive_bayes = NaiveBayes
nth_smallest = NthSmallest
nth_value = NthValue
percentile = quantile = Percentile
percentile_disc = PercentileDisc
product = Product
regr_avgx = RegrAvgx
regr_avgy = RegrAvgy
regr_count = RegrCount
regr_intercept = RegrIntercept
regr_r2 = RegrR2
regr_slope = RegrSlope
regr_sxx = RegrSxx
regr_sxy = RegrSxy
regr_syy = RegrSyy
relative_variation = RelativeVariation
skewness = Skewness
stddev = std = Stddev
stddev_pop = StddevPop
string_agg = StringAgg
sum = Sum
sum_distinct = SumDistinct
var_pop = VarPop
var_samp = VarSamp

__all__ = [
    "approx_count_distinct",
    "approx_percentile",
    "avg",
    "avg_distinct",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bloom_filter",
    "bool_and",
    "bool_or",
    "collect_list",
    "collect_set",
    "corr",
    "count",
    "count_distinct",
    "count_min_sketch",
    "covar_pop",
    "covar_samp",
    "cume_dist",
    "dense_rank",
    "ewm_avg",
    "first",
    "geomean",
    "kurtosis",
    "lag",
    "last",
    "lead",
    "m4",
    "max",
    "max_by",
    "max_count",
    "mean",
    "median",
    "min",
    "min_by",
    "min_count",
    "mode",
    "moment_sketch",
    "naive_bayes",
    "nth_smallest",
    "nth_value",
    "ntile",
    "nunique",
    "percent_rank",
    "percentile",
    "percentile_disc",
    "product",
    "quantile",
    "rank",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "relative_variation",
    "row_number",
    "skewness",
    "std",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "sum_distinct",
    "var_pop",
    "var_samp",
]
