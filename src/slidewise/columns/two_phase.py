"""Aggregations in two steps: partials of some rows, as columns that can be kept, and results of the partials together.

Rows that always go together, those of a slice between two boundaries of windows, need not be kept one by one. What an
aggregation leaves of them is a few numbers, or a value of the column's own type; the order of rows within must not
matter, and so it has to be commutative.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations import integer_sums
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.partial_results import PartialResult
from slidewise.aggregations.sums import Sum
from slidewise.aggregations.trial import partial_dtype
from slidewise.columns.encoding import decimal_sum_type, family
from slidewise.serialization.state_definition import fingerprint
from slidewise.templates.canonical_form import define_aggregation

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Division:
    """An aggregation in two steps."""

    #: of rows; a result is one value, or a tuple of them
    part: Aggregation
    #: the columns that results of `part` become
    columns: dict[str, pa.DataType]
    #: of these columns: one partial for several, and the result
    merged: Aggregation
    whole: Aggregation


def divide(aggregation: Aggregation, kinds: Sequence[pa.DataType]) -> Division | None:
    """Divide an aggregation of columns of these types into two phases; None: it needs the rows."""
    if not aggregation.commutative:
        return None
    if aggregation.merges_as == "sum":
        return _divide_by_results(aggregation, pa.int64(), Total)
    if aggregation.merges_as == "itself":
        return _divide_by_results(aggregation, kinds[0], type(aggregation))
    if type(aggregation) is Sum and family(kinds[0]) in ("decimal", "duration"):
        decimals = pa.types.is_decimal(kinds[0])
        return _divide_by_results(aggregation, decimal_sum_type(kinds[0]) if decimals else kinds[0], Sum)
    return divide_by_numbers(aggregation, kinds)


def name_partials(aggregation: Aggregation) -> str:
    """Name partials by what tells them apart: those of your own also by their code, which says what they mean."""
    built_in = type(aggregation).__module__.startswith("slidewise.aggregations.")
    return repr(aggregation) if built_in else f"{aggregation!r} {fingerprint(define_aggregation(aggregation)).hex()}"


def _divide_by_results(part: Aggregation, kind: pa.DataType, again: type[Aggregation]) -> Division:
    column = repr(part)
    return Division(part, {column: kind}, again(column), again(column))


def divide_by_numbers(aggregation: Aggregation, kinds: Sequence[pa.DataType]) -> Division | None:
    """Divide an aggregation whose partials are numbers."""
    typed = aggregation.keeps_type or aggregation.parts_keep_type
    if typed or aggregation.nulls != "skip" or not aggregation.unary_lower or not aggregation.size_preserving:
        return None
    if not kinds or not {"number", "amount", "integer", "any"}.issuperset(aggregation.accepts):
        return None
    if not all(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind) for kind in kinds):
        return None
    found = _compile_partials(aggregation, [np.dtype(kind.to_pandas_dtype()) for kind in kinds])
    if found is None:
        return None
    op, fields = found
    # All variances have the same partials.
    base = aggregation
    if aggregation.from_squares is not None and aggregation.derived_from is not None:
        base = aggregation.derived_from(*aggregation.columns, where=aggregation.where)
    several = isinstance(op.identity, tuple)
    names = [f"{name_partials(base)} {k}" for k in range(len(fields))] if several else [name_partials(base)]
    tuples = tuple(f"f{k}" for k in range(len(fields))) if several else ()
    return Division(
        PartialResult(base, op, tuples),
        dict(zip(names, map(pa.from_numpy_dtype, fields), strict=True)),
        Merged(base, op, names, tuples, as_partial=True),
        Merged(aggregation, op, names, aggregation.result_fields, as_partial=False),
    )


def _compile_partials(aggregation: Aggregation, dtypes: list[np.dtype]) -> tuple[Aggregation, list[np.dtype]] | None:
    """Find the form whose partials can hold any rows of these types, and the types of its numbers."""
    # Sums of integers choose theirs by the largest value.
    columns = tuple(np.array([np.iinfo(d).max if d.kind in "iu" else 1], d) for d in dtypes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            op = aggregation.compiled(columns, integer_sums.MOST_ROWS)
        if op is None or not _is_numbers(op.identity):
            return None
        partial = partial_dtype(op, columns)
    except Exception:  # whatever a user's functions raise
        return None
    return op, [partial[name] for name in partial.names] if partial.names else [partial]


def _is_numbers(identity: Any) -> bool:
    """Tell whether a partial is a number, or as many of them as lifts are written for."""
    if isinstance(identity, tuple):
        return 1 < len(identity) <= len(_LIFTS) and all(map(_is_number, identity))
    return _is_number(identity)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


class Total(Sum):
    """The sum of counts: without rows it is 0."""

    name = "total"
    empty = 0


class Merged(Aggregation):
    """An aggregation of partials, which are columns of numbers."""

    def __init__(
        self, of: Aggregation, op: Aggregation, columns: list[str], fields: tuple[str, ...], as_partial: bool
    ) -> None:
        self.identity_for = of.identity_for  # type: ignore[method-assign]
        self.identity, self.lift, self.combine = op.identity, _LIFTS[len(columns)], op.combine
        self.result_fields = fields
        if not as_partial:
            self.lower, self.defined, self.empty = op.lower, op.defined, of.empty
        super().__init__(*columns, of=of, as_partial=as_partial)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        """Return this as it is."""
        return self


# What lift gives, by the number of columns; kernels know how many they call it with.
def _one(a):  # type: ignore[no-untyped-def]
    return a


def _two(a, b):  # type: ignore[no-untyped-def]
    return (a, b)


def _three(a, b, c):  # type: ignore[no-untyped-def]
    return (a, b, c)


def _four(a, b, c, d):  # type: ignore[no-untyped-def]
    return (a, b, c, d)


def _five(a, b, c, d, e):  # type: ignore[no-untyped-def]
    return (a, b, c, d, e)


def _six(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return (a, b, c, d, e, f)


_LIFTS: dict[int, Callable[..., Any]] = {1: _one, 2: _two, 3: _three, 4: _four, 5: _five, 6: _six}
