"""Optional partials in compiled code: what None is to a structure of Python objects, a first field that is 0 is here.

No identity would do for None: 0.0 + -0.0 is 0.0, and -0.0 alone is not. So a structure that goes event by event holds
the same in both forms, to the bit, and nulls need no other way.
"""

from __future__ import annotations

import functools

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.templates.bind import bind
from slidewise.templates.names import Unbound


# ---- bound to the functions of the aggregation, and to the shape of its partials
def lift_value(x):
    raise Unbound("lift_value")


def combine_values(older, newer):
    raise Unbound("combine_values")


def lower_value(partial):
    raise Unbound("lower_value")


def is_defined(partial):
    raise Unbound("is_defined")


def inverse_value(total, oldest):
    raise Unbound("inverse_value")


def wrap(value):
    raise Unbound("wrap")


def unwrap(partial):
    raise Unbound("unwrap")


# ---- the same of optional partials
def lift(x):
    return wrap(lift_value(x))


def combine(older, newer):
    if older[0] == 0:
        return newer
    if newer[0] == 0:
        return older
    return wrap(combine_values(unwrap(older), unwrap(newer)))


def lower(partial):
    return lower_value(unwrap(partial))


def defined(partial):
    return partial[0] != 0 and is_defined(unwrap(partial))


def inverse(total, oldest):
    return total if oldest[0] == 0 else wrap(inverse_value(unwrap(total), unwrap(oldest)))


# ---- shapes
def _wrap_number(value):
    return (1, value)


def _unwrap_number(partial):
    return partial[1]


def _wrap_tuple(value):
    return (1,) + value  # noqa: RUF005 - numba joins tuples of other types so


def _unwrap_tuple(partial):
    return partial[1:]


def optional_dtype(partial: np.dtype) -> np.dtype:
    """Find the type of optional partials: words of 8 bytes."""
    parts = [partial[name] for name in partial.names] if partial.names else [partial]
    return np.dtype([(f"f{k}", "i8" if p.kind in "biu" else "f8") for k, p in enumerate([np.dtype("i8"), *parts])])


@functools.lru_cache(maxsize=256)
def make_optional(op: Aggregation, partial: np.dtype) -> Aggregation:
    """Make the aggregation of optional partials, of which `partial` is the type where they are there."""
    shape = {"wrap": _wrap_tuple, "unwrap": _unwrap_tuple} if partial.names else {
        "wrap": _wrap_number, "unwrap": _unwrap_number,
    }  # fmt: skip
    own = {
        "lift_value": op.lift, "combine_values": op.combine, "lower_value": op.lower, "is_defined": op.defined,
        "inverse_value": op.inverse,
    }  # fmt: skip
    names = ("lift", "combine", "lower", "defined", "inverse")
    made = bind([globals()[name] for name in names], {**own, **shape})
    dtype = optional_dtype(partial)
    identity = tuple(0 if dtype[name].kind == "i" else 0.0 for name in dtype.names or ())
    return op.variant(identity=identity, partial_parts=(), **{name: made[name] for name in names})
