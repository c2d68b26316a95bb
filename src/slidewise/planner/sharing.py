"""What the columns of one call share, as far as their definitions tell.

Order, frames and null masks are made once for all columns in any case. Here is what else is saved: results that can be
read off the bounds of a frame, results that follow from those of another aggregation, and passes over the rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from slidewise.aggregations.over import Over


def read_off(over: Over) -> bool:
    """Tell whether the bounds of a frame are enough: how many rows it has, and which stands where. Nothing runs."""
    return over.algorithm == "auto" and over.aggregation.needs_only_bounds


def may_join(over: Over) -> bool:
    """Tell whether it can be computed in one pass with others: the partial is one of a tuple of partials."""
    aggregation = over.aggregation
    holistic = aggregation.order_statistic or aggregation.distinct_values or aggregation.most_frequent
    return (
        over.algorithm == "auto"
        and not read_off(over)
        and aggregation.unary_lower
        and aggregation.size_preserving
        and not aggregation.result_fields
        and not holistic
    )


def base_of(over: Over, all_of_call: Iterable[Over]) -> Over | None:
    """Find the expression that this one follows from: avg from the sum, one of several variances from their squares."""
    aggregation = over.aggregation
    base = aggregation.derived_from
    if over.algorithm != "auto" or base is None:
        return None
    if aggregation.from_squares is not None and sum(_shares_squares(over, other) for other in all_of_call) < 2:
        return None  # alone, it is as fast by itself
    return Over(base(*aggregation.columns, where=aggregation.where), over.window)


def _shares_squares(a: Over, b: Over) -> bool:
    """Tell whether both are variances of the same rows and window."""
    return b.aggregation.from_squares is not None and (
        (a.aggregation.columns, a.aggregation.where, a.window, a.algorithm)
        == (b.aggregation.columns, b.aggregation.where, b.window, b.algorithm)
    )
