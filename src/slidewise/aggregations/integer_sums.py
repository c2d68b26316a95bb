"""Sums of 64-bit integers in compiled code, where adding wraps silently.

Where the largest magnitude times the longest frame stays below 2^63, plain addition is proven safe. Otherwise
a value is split into a signed high and an unsigned low half, which are summed apart: neither can overflow in
fewer than 2^31 rows, no carry is passed on before the end, and so the order of combining cannot decide
whether a total overflows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LOW = 0xFFFFFFFF
HALF = 4294967296
EXACT = 9007199254740992  # 2^53: integers up to here are exact as floats
MOST_ROWS = 2**31 - 1


def proven(column: np.ndarray, longest: int) -> bool:
    """Tell whether no sum of `longest` of these integers can leave int64."""
    if len(column) == 0:
        return True
    magnitude = max(abs(int(column.min())), abs(int(column.max())))
    return magnitude * longest < 2**63


def lift(x: Any) -> Any:
    return x + 0  # widens small integers to 64 bits


def combine(a: Any, b: Any) -> Any:
    return a + b


def inverse(total: Any, oldest: Any) -> Any:
    return total - oldest


def lift_halves(x: Any) -> Any:
    wide = x + 0
    return (wide >> 32, wide & LOW)


def combine_halves(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1])


def inverse_halves(total: Any, oldest: Any) -> Any:
    return (total[0] - oldest[0], total[1] - oldest[1])


def lower_halves(s: Any) -> Any:
    high = s[0] + (s[1] >> 32)
    if high < -2147483648 or high > 2147483647:
        raise OverflowError("sum: the sum of a frame leaves 64-bit integers; convert the column to float or decimal")
    return high * HALF + (s[1] & LOW)


def mean(total: Any, n: Any) -> Any:
    """total / n for integers: the whole part stays an integer where it is not exact as a float."""
    if -EXACT <= total <= EXACT:
        return total / n
    whole = total // n
    return whole + (total - whole * n) / n


def lift_mean(x: Any) -> Any:
    return (1, x + 0)


def lower_mean(s: Any) -> Any:
    return mean(s[1], s[0])


def lift_mean_halves(x: Any) -> Any:
    wide = x + 0
    return (1, wide >> 32, wide & LOW)


def combine_mean_halves(a: Any, b: Any) -> Any:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def inverse_mean_halves(total: Any, oldest: Any) -> Any:
    return (total[0] - oldest[0], total[1] - oldest[1], total[2] - oldest[2])


def lower_mean_halves(s: Any) -> Any:
    n = s[0]
    high = s[1] + (s[2] >> 32)
    low = s[2] & LOW
    if -2097152 <= high < 2097152:  # the total is within 2^53
        return (high * HALF + low) / n
    # Long division by halves: the remainder of the high half is below n < 2^31, so that it fits above the low
    # one.
    whole = high // n
    rest = (high - whole * n) * HALF + low
    return whole * HALF + rest // n + (rest - rest // n * n) / n
