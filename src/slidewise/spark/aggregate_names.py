"""The names of Spark's aggregate functions."""

from __future__ import annotations

_NAMES = """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list
collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first first_value grouping
grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value
listagg max max_by mean measure median min min_by mode percentile percentile_approx percentile_cont percentile_disc
regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg
skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance vector_avg
vector_sum
"""
_AGGREGATES = frozenset(_NAMES.split())


def is_aggregate(name: str) -> bool:
    """Tell whether a function of Spark's, in small letters, aggregates rows.

    >>> is_aggregate("median"), is_aggregate("upper")
    (True, False)
    """
    return name in _AGGREGATES
