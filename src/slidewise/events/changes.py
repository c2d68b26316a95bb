"""Whether two results are the same, for emit="changes"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def alike(a: Any, b: Any) -> bool:
    """Equality in which null and NaN are equal to themselves.

    >>> alike(float("nan"), float("nan")), alike(None, None), alike([1, None], [1, 2])
    (True, True, False)
    """
    if a is b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if a is None or b is None:
        return False
    return bool(a == b) or bool(a != a and b != b)
