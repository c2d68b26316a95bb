"""Single values: which are numbers, which are equal, and which types a kernel can take."""

from __future__ import annotations

import hashlib
import math
from datetime import timedelta
from numbers import Number
from typing import TYPE_CHECKING, Any

from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

NAN = math.nan
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
#: relative difference up to which two floats count as equal: room for rounding, none for another formula
TOLERANCE = 1e-9


def number(x: Any, name: str) -> Any:
    """x as a Python number that arithmetic cannot wrap or concatenate; anything else is refused."""
    kind = type(x)
    if kind is float or kind is int:
        return x
    if hasattr(x, "item"):  # a NumPy scalar: its integers would wrap, its booleans would be or-ed
        x = x.item()
    if isinstance(x, bool) or not isinstance(x, Number | timedelta):
        what = "boolean" if isinstance(x, bool) else type(x).__name__
        raise InvalidInput(
            f"{name}: values must be numbers, got the {what} {x!r}. Convert the column to a number first"
        )
    return x


def as_float(x: Any, name: str) -> float:
    """x as a float; text is refused rather than parsed."""
    return x if type(x) is float else float(number(x, name))


def plain(x: Any) -> Any:
    """x as an ordinary Python value: NumPy's scalars unwrapped, all NaNs the one NaN (hashed alike)."""
    if hasattr(x, "item"):
        x = x.item()
    return x if x == x else NAN


def hashable(x: Any) -> Any:
    """Find what stands for x in a table: x, or a tuple for a list, map or struct. Equal values have equal ones."""
    try:
        hash(x)
    except TypeError:
        return _frozen(x)
    return plain(x)


def _frozen(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return ("list", *map(_frozen, x))
    if isinstance(x, dict):
        return ("dict", *((name, _frozen(part)) for name, part in x.items()))
    return plain(x)


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep the first of each of the values that are equal. O(n)."""
    try:
        return tuple(dict.fromkeys(values))
    except TypeError:  # lists, maps and structs
        first: dict[Any, Any] = {}
        for x in values:
            first.setdefault(hashable(x), x)
        return tuple(first.values())


def are_close(a: Any, b: Any, slack: float = TOLERANCE) -> bool:
    """Tell whether two numbers are equal but for rounding, NaN and NaN too; near zero they may differ by `slack`."""
    return bool(a == b) or (a != a and b != b) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=slack)


def stable_hash(x: Any) -> int:
    """64 bits that are the same in every process, unlike hash()."""
    return int.from_bytes(hashlib.blake2b(f"{type(x).__name__}:{x!r}".encode(), digest_size=8).digest(), "little")


def sketch_key(x: Any) -> int | str:
    """Find what a sketch is given for x: a 64-bit integer, or text. Values that are equal have one key."""
    x = plain(x)
    if type(x) is str and x:  # the sketches leave out a text without characters, which is a value as any other
        return x
    if isinstance(x, bool) or (isinstance(x, float) and x.is_integer()):
        x = int(x)
    if isinstance(x, int) and INT64_MIN <= x <= INT64_MAX:
        return x
    return stable_hash(x) - 2**63


def numeric(columns: tuple[np.ndarray, ...], kinds: str = "iuf") -> bool:
    """Tell whether numba can take these columns as numbers (kinds: b, i, u, f as in NumPy; no half floats)."""
    return all(c.dtype.kind in kinds and not (c.dtype.kind == "f" and c.dtype.itemsize not in (4, 8)) for c in columns)


def zero(dtype: np.dtype) -> Any:
    """Make a placeholder of this type, for the empty fields of an identity."""
    return dtype.type(0)


def lowest(dtype: np.dtype) -> Any:
    """Find the neutral value of max."""
    import numpy as np

    if dtype.kind == "f":
        return dtype.type(-math.inf)
    return dtype.type(False) if dtype.kind == "b" else dtype.type(np.iinfo(dtype).min)


def highest(dtype: np.dtype) -> Any:
    """Find the neutral value of min: NaN for floats, since NaN is above infinity."""
    import numpy as np

    if dtype.kind == "f":
        return dtype.type(math.nan)
    return dtype.type(True) if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max)
