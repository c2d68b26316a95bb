"""What the columns of one call share, as far as their definitions tell.

Order, frames and null masks are made once for all columns in any case. Here is what else is saved: results that can be
read off the bounds of a frame, results that follow from those of another aggregation, and passes over the rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList
from slidewise.aggregations.moments import SquaredDeviations, Stddev, StddevPop, VarPop, VarSamp
from slidewise.aggregations.over import Over
from slidewise.aggregations.positions import First, NthValue
from slidewise.aggregations.sums import Avg, Count, Sum

#: by how much less than the rows to divide the squared deviations, and whether to take the root
VARIANCES: dict[type[Aggregation], tuple[int, bool]] = {
    VarPop: (0, False),
    StddevPop: (0, True),
    VarSamp: (1, False),
    Stddev: (1, True),
}


def read_off(over: Over) -> bool:
    """Whether the bounds of a frame are enough: how many rows it has, and which stands where. No algorithm runs."""
    return over.algorithm == "auto" and isinstance(over.aggregation, Count | First | NthValue | CollectList)


def may_join(over: Over) -> bool:
    """Whether it can be computed in one pass with others: the partial is one of a tuple of partials."""
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
    """The expression from which this one follows: avg from the sum, one of several variances from what they share."""
    aggregation = over.aggregation
    if over.algorithm != "auto":
        return None
    if type(aggregation) is Avg:
        base: type[Aggregation] = Sum
    elif type(aggregation) in VARIANCES and sum(_alike(over, other) for other in all_of_call) > 1:
        base = SquaredDeviations
    else:
        return None
    return Over(base(*aggregation.columns, where=aggregation.where), over.window)


def _alike(a: Over, b: Over) -> bool:
    """Whether both are variances of the same rows and window."""
    return type(b.aggregation) in VARIANCES and (
        (a.aggregation.columns, a.aggregation.where, a.window, a.algorithm)
        == (b.aggregation.columns, b.aggregation.where, b.window, b.algorithm)
    )
