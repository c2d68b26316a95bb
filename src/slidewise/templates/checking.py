"""What the algorithms' check() functions share: folding the window's partials, and comparing with those held."""

from __future__ import annotations

from typing import Any

from slidewise.aggregations.values import are_close


def fold(combine: Any, partials: Any) -> Any:
    """Combine partials from the oldest to the youngest; None of none."""
    total = None
    for partial in partials:
        total = combine(total, partial)
    return total


def agree(a: Any, b: Any) -> bool:
    """Tell whether two partials, or results, mean the same. Algorithms associate differently: floats agree to rounding.

    Types without an equality of their own, such as sketches, agree when the types do.
    """
    if a is b:
        return True
    if isinstance(a, float) and isinstance(b, float):
        return are_close(a, b)
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if hasattr(a, "tobytes") and type(a) is type(b):  # NumPy's equality is one answer per element
        return len(a) == len(b) and all(agree(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    if type(a).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        return type(a) is type(b)
    return bool(a == b)
