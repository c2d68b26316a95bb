"""Partials whose fields are aggregations of their own: sums, of which values can be taken out again, and extremes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from slidewise.errors import InvalidInput

WORDS = ("sum", "min", "max")


@lru_cache(maxsize=64)
def write_out_parts(parts: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Write the functions of partials with these parts, field by field: kernels take tuples of fixed shape only.

    `take_out` subtracts the sums of the oldest partial from the total, `below` and `above` tell whether a newer partial
    has the smaller minimum or the larger maximum, and `assemble` puts the extremes of two partials beside the sums.

    >>> functions = write_out_parts(("sum", "min", "max"))
    >>> functions["take_out"]((10, 1, 6), (4, 4, 4)), functions["below"]((4, 4, 4), (6, 6, 6))
    ((6, 1, 6), False)
    >>> functions["assemble"]((6, 1, 6), (2, 2, 2), (5, 5, 5))
    (6, 2, 5)
    """
    if not parts:
        return {}
    if not set(parts) <= set(WORDS) or parts.count("min") > 1 or parts.count("max") > 1:
        raise InvalidInput(
            f'partial_parts: one word for each field of a partial, "sum", "min" or "max", with at most one minimum '
            f"and one maximum, got {parts!r}"
        )
    # NaN is above every number, and of equal ones the older stays, as in min and max.
    low, high = ([k for k, part in enumerate(parts) if part == word] for word in ("min", "max"))
    below = f"newer[{low[0]}] < older[{low[0]}] or older[{low[0]}] != older[{low[0]}]" if low else "True"
    above = f"newer[{high[0]}] > older[{high[0]}] or newer[{high[0]}] != newer[{high[0]}]" if high else "True"
    without = (f"total[{k}] - oldest[{k}]" if part == "sum" else f"total[{k}]" for k, part in enumerate(parts))
    holder = {"sum": "total", "min": "low", "max": "high"}
    whole = (f"{holder[part]}[{k}]" for k, part in enumerate(parts))
    source = (
        f"def take_out(total, oldest):\n    return ({', '.join(without)},)\n"
        f"def below(older, newer):\n    return {below}\n"
        f"def above(older, newer):\n    return {above}\n"
        f"def assemble(total, low, high):\n    return ({', '.join(whole)},)\n"
    )
    names: dict[str, Any] = {"__name__": __name__}
    exec(source, names)
    return {name: names[name] for name in ("take_out", "below", "above", "assemble")}
