"""Which of n sorted values a quantile is: the rules of slidewise.aggregations.ranks, for kernels."""

from slidewise.columns.holistic.compiling import helper

#: in the order of holistic.METHODS
CONTINUOUS, DISCRETE, CONTINUOUS_AS_PAPER, DISCRETE_AS_PAPER, NTH_SMALLEST = range(5)


@helper
def position(n, fraction, method):
    """Compute the rank from 0 and the share of the way to the next value, of n >= 1 values."""
    if method == DISCRETE:
        exact = fraction * n
        k = int(exact)
        return (k if k < exact else k - 1) if k > 0 else 0, 0.0  # the ceiling, from 0
    if method == NTH_SMALLEST:
        return int(fraction) - 1, 0.0
    exact = fraction * (n - 1)
    k = int(exact)
    share = exact - k
    if method == CONTINUOUS_AS_PAPER and share > 0.0:
        share = 0.5
    if method == DISCRETE_AS_PAPER:
        share = 0.0
    return k, share
