"""The registry of aggregations, one entry each. Properties are not repeated: the classes declare them."""

from __future__ import annotations

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
from slidewise.registry.entries import AggregationEntry, Decomposition

_BY_ROUNDING = "The inverse subtracts floats and so drifts; it is exact for integers only."
_MOMENTS = Decomposition(
    "T", "{n:Int, Σ:T, sq:T}", "T", "n=1, Σ=v, sq=v²", "a.n+b.n, a.Σ+b.Σ, a.sq+b.sq", "√((sq-Σ²/n)/(n-1))"
)
_STABLE = (
    "Sums of squares cancel where the mean is large beside the deviation: ours merges (n, mean, M2), "
    "and its inverse, which subtracts, is not exact."
)

_NOT_INVERTIBLE = {"invertible": "where a value occurs next is not kept", "commutative": "values keep their order"}
_DISTINCT = "Over columns in O(log n) per row; event by event a partial holds the different values."

AGGREGATIONS: tuple[AggregationEntry, ...] = (
    AggregationEntry(
        "count",
        Count,
        "the number of rows, or of values that are not null",
        "sum-like",
        paper_name="Count",
        decomposition=Decomposition("T", "Int", "Int", "1", "a+b", "c"),
        tutorial_name="count",
    ),
    AggregationEntry(
        "sum",
        Sum,
        "the sum; integers exactly, or an OverflowError",
        "sum-like",
        paper_name="Sum",
        decomposition=Decomposition("T", "T", "T", "v", "a+b", "c"),
        tutorial_name="sum",
        note=_BY_ROUNDING,
    ),
    AggregationEntry(
        "avg",
        Avg,
        "the arithmetic mean",
        "sum-like",
        aliases=("mean",),
        paper_name="ArithmeticMean",
        decomposition=Decomposition("T", "{n:Int, Σ:T}", "T", "n=1, Σ=v", "n=a.n+b.n, Σ=a.Σ+b.Σ", "Σ/n"),
        tutorial_name="average",
        note=_BY_ROUNDING,
    ),
    AggregationEntry(
        "min",
        Min,
        "the smallest value",
        "max-like",
        paper_name="Min",
        decomposition=Decomposition("T", "T", "T", "v", "a<b ? a : b", "c"),
        tutorial_name="min",
        note="NaN is above every number, and so the minimum only of NaNs.",
    ),
    AggregationEntry(
        "max",
        Max,
        "the largest value",
        "max-like",
        paper_name="Max",
        decomposition=Decomposition("T", "T", "T", "v", "a>b ? a : b", "c"),
        tutorial_name="max",
        note=(
            "The paper's comparison gives the later of two equal values and loses NaN; ours gives the "
            "earlier, NaN on top."
        ),
    ),
    AggregationEntry(
        "product",
        Product,
        "the product, in double precision",
        "sum-like",
        departures={"invertible": "a zero cannot be divided out"},
    ),
    AggregationEntry(
        "geomean",
        Geomean,
        "the geometric mean",
        "sum-like",
        paper_name="GeometricMean",
        decomposition=Decomposition("T", "{n:Int, Π:T}", "T", "n=1, Π=v", "n=a.n+b.n, Π=a.Π*b.Π", "ⁿ√Π"),
        note=(
            "A product overflows: ours keeps the sum of logarithms, whose inverse is not exact, and a zero has none."
        ),
    ),
    AggregationEntry(
        "stddev",
        Stddev,
        "the sample standard deviation",
        "sum-like",
        aliases=("std",),
        paper_name="SampleStdDev",
        decomposition=_MOMENTS,
        tutorial_name="standard deviation",
        note=_STABLE,
    ),
    AggregationEntry(
        "stddev_pop",
        StddevPop,
        "the population standard deviation",
        "sum-like",
        paper_name="PopulationStdDev",
        decomposition=Decomposition(
            "T", "{n:Int, Σ:T, sq:T}", "T", "n=1, Σ=v, sq=v²", "a.n+b.n, a.Σ+b.Σ, a.sq+b.sq", "√((sq-Σ²/n)/n)"
        ),
        note=_STABLE,
    ),
    AggregationEntry("var_samp", VarSamp, "the sample variance", "sum-like", note=_STABLE),
    AggregationEntry("var_pop", VarPop, "the population variance", "sum-like", note=_STABLE),
    AggregationEntry("skewness", Skewness, "the population skewness", "sum-like", note=_STABLE),
    AggregationEntry("kurtosis", Kurtosis, "the excess kurtosis of the population", "sum-like", note=_STABLE),
    AggregationEntry(
        "ewm_avg",
        EwmAvg,
        "the average in which a row counts half for every `half_life` of its age",
        "sum-like",
        departures={"invertible": "what was multiplied by a weight near zero cannot be divided out"},
        note='By age and not by place: rows at any distance, `ewm_avg("x", "ts", half_life="1h")`.',
    ),
    AggregationEntry("covar_samp", CovarSamp, "the sample covariance of two columns", "sum-like", note=_STABLE),
    AggregationEntry("covar_pop", CovarPop, "the population covariance of two columns", "sum-like", note=_STABLE),
    AggregationEntry("corr", Corr, "Pearson's correlation of two columns", "sum-like", note=_STABLE),
    AggregationEntry("regr_count", RegrCount, "the number of pairs (y, x) without a null", "sum-like"),
    AggregationEntry("regr_avgx", RegrAvgx, "the mean of x over pairs (y, x)", "sum-like", note=_BY_ROUNDING),
    AggregationEntry("regr_avgy", RegrAvgy, "the mean of y over pairs (y, x)", "sum-like", note=_BY_ROUNDING),
    AggregationEntry("regr_sxx", RegrSxx, "the squared deviations of x, summed", "sum-like", note=_STABLE),
    AggregationEntry("regr_syy", RegrSyy, "the squared deviations of y, summed", "sum-like", note=_STABLE),
    AggregationEntry("regr_sxy", RegrSxy, "the products of both deviations, summed", "sum-like", note=_STABLE),
    AggregationEntry(
        "regr_slope", RegrSlope, "the slope of the line y of x, by least squares", "sum-like", note=_STABLE
    ),
    AggregationEntry("regr_intercept", RegrIntercept, "the value of that line at x = 0", "sum-like", note=_STABLE),
    AggregationEntry("regr_r2", RegrR2, "how much of y's variance that line explains", "sum-like", note=_STABLE),
    AggregationEntry(
        "max_count",
        MaxCount,
        "how many rows have the largest value",
        "max-like",
        paper_name="MaxCount",
        tutorial_name="maxCount",
        decomposition=Decomposition("T", "{n:Int, max:T}", "Int", "n=1, max=v", "pick higher or add if equal", "n"),
    ),
    AggregationEntry(
        "min_count",
        MinCount,
        "how many rows have the smallest value",
        "max-like",
        paper_name="MinCount",
        decomposition=Decomposition("T", "{n:Int, min:T}", "Int", "n=1, min=v", "pick lower or add if equal", "n"),
    ),
    AggregationEntry(
        "max_by",
        MaxBy,
        "a column's value where another is largest",
        "max-like",
        paper_name="ArgMax",
        tutorial_name="argMax",
        decomposition=Decomposition(
            "{m:T, a:T'}", "{max:T, arg:T'}", "T'", "max=v.m, arg=v.a", "pick higher or first if equal", "arg"
        ),
    ),
    AggregationEntry(
        "min_by",
        MinBy,
        "a column's value where another is smallest",
        "max-like",
        paper_name="ArgMin",
        tutorial_name="argMin",
        decomposition=Decomposition(
            "{m:T, a:T'}", "{min:T, arg:T'}", "T'", "min=v.m, arg=v.a", "pick lower or first if equal", "arg"
        ),
    ),
    AggregationEntry("first", First, "the value of the first row", "max-like"),
    AggregationEntry("last", Last, "the value of the last row", "max-like"),
    AggregationEntry(
        "nth_value",
        NthValue,
        "the value of the n-th row, or of the n-th from the end",
        "collect-like",
        tutorial_name="iᵗʰ-youngest",
        departures={
            "invertible": "ours keeps the first or last n values only, and what follows the oldest is not among them",
            "size_preserving": "ours keeps at most n values",
        },
    ),
    AggregationEntry(
        "collect_list",
        CollectList,
        "all values in order",
        "collect-like",
        paper_name="Collect",
        tutorial_name="collect list",
        decomposition=Decomposition("T", "List<T>", "List<T>", "[v]", "concat(a, b)", "c"),
    ),
    AggregationEntry(
        "collect_set",
        CollectSet,
        "the different values in the order of their first row",
        "collect-like",
        departures={"invertible": "where a value occurs next is not kept"},
    ),
    AggregationEntry(
        "string_agg",
        StringAgg,
        "the texts joined by a delimiter",
        "collect-like",
        tutorial_name="concatenate strings",
    ),
    AggregationEntry("bool_and", BoolAnd, "whether all are true", "max-like"),
    AggregationEntry("bool_or", BoolOr, "whether any is true", "max-like"),
    AggregationEntry("bit_and", BitAnd, "the bitwise and of integers", "max-like"),
    AggregationEntry("bit_or", BitOr, "the bitwise or of integers", "max-like"),
    AggregationEntry("bit_xor", BitXor, "the bitwise exclusive or of integers", "sum-like"),
    AggregationEntry("relative_variation", RelativeVariation, "(max - min) / max", "max-like"),
    AggregationEntry("m4", M4, "(min, max, first, last), for line charts", "max-like"),
    AggregationEntry(
        "moment_sketch",
        MomentSketch,
        "moments, and quantiles estimated from them",
        "sketch-like",
        note="Sums of powers merge up to rounding.",
    ),
    AggregationEntry(
        "bloom_filter",
        BloomFilter,
        "which values may have occurred",
        "sketch-like",
        tutorial_name="Bloom filter",
    ),
    AggregationEntry(
        "count_min_sketch",
        CountMinSketch,
        "about how often a value occurs",
        "sketch-like",
        tutorial_name="CountMin",
    ),
    AggregationEntry(
        "approx_count_distinct",
        ApproxCountDistinct,
        "about how many different values there are",
        "sketch-like",
        tutorial_name="HyperLogLog",
        departures={"unary_lower": "the estimate needs no argument"},
    ),
    AggregationEntry(
        "approx_percentile",
        ApproxPercentile,
        "a value of about the given rank",
        "sketch-like",
        note=(
            "Merging drops values at random: the laws hold exactly up to the sketch's size, within its error beyond."
        ),
    ),
    AggregationEntry(
        "naive_bayes",
        NaiveBayes,
        "how probable each class is, by Gaussian naive Bayes",
        "sketch-like",
        note="An algebraic classifier: means and squared deviations merge up to rounding.",
    ),
    AggregationEntry(
        "count_distinct",
        CountDistinct,
        "how many different values there are",
        "median-like",
        aliases=("nunique",),
    ),
    AggregationEntry(
        "sum_distinct",
        SumDistinct,
        "the sum of the different values",
        "median-like",
        departures=_NOT_INVERTIBLE,
        note=_DISTINCT,
    ),
    AggregationEntry(
        "avg_distinct",
        AvgDistinct,
        "the mean of the different values",
        "median-like",
        departures=_NOT_INVERTIBLE,
        note=_DISTINCT,
    ),
    AggregationEntry("mode", Mode, "the most frequent value, the lowest among ties", "median-like"),
    AggregationEntry("median", Median, "the middle value", "median-like", tutorial_name="median"),
    AggregationEntry(
        "percentile",
        Percentile,
        "the value at a fraction of the sorted values, interpolated",
        "median-like",
        aliases=("quantile",),
        tutorial_name="percentile",
    ),
    AggregationEntry(
        "percentile_disc",
        PercentileDisc,
        "one of the values, at a fraction of the sorted ones",
        "median-like",
    ),
    AggregationEntry(
        "nth_smallest", NthSmallest, "the n-th smallest value", "median-like", tutorial_name="iᵗʰ-smallest"
    ),
)

#: name or alias -> entry
AGGREGATION: dict[str, AggregationEntry] = {
    name: entry for entry in AGGREGATIONS for name in (entry.name, *entry.aliases)
}
