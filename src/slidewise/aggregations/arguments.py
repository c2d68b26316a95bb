"""What built-in aggregations are called with: columns, fractions, counts. Bad arguments are refused here."""

from __future__ import annotations

import operator
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import InvalidInput
from slidewise.windows.reach import OffsetColumn


def collect_columns(*columns: Any) -> tuple[Any, ...]:
    """Collect the columns that were named: none for an aggregation of plain values."""
    return tuple(c for c in columns if c is not None)


class OneColumn(Aggregation):
    """An aggregation of one column, or of plain values where no column is named."""

    def __init__(self, column: str | None = None, *, where: str | None = None) -> None:
        super().__init__(*collect_columns(column))


class TwoColumns(Aggregation):
    """An aggregation of two columns, or of pairs of values where no columns are named."""

    def __init__(self, column1: str | None = None, column2: str | None = None, *, where: str | None = None) -> None:
        super().__init__(*collect_columns(column1, column2))


def fraction(name: str, value: Any, what: str = "fraction") -> float:
    """Check a fraction between 0 and 1, for quantiles."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InvalidInput(f"{name}: {what} must be a number between 0 and 1, got {value!r}")
    number = float(value)
    if not 0.0 <= number <= 1.0:
        hint = f" Did you mean {number / 100:g}?" if 1.0 < number <= 100.0 else ""
        raise InvalidInput(f"{name}: {what} must be between 0 and 1, got {value!r}.{hint}")
    return number


def whole(name: str, parameter: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Check a whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name}: {parameter} must be a whole number, got {value!r}") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InvalidInput(f"{name}: {parameter} must be {limits}, got {value!r}")
    return number


def column_and_fraction(name: str, column: Any, value: Any) -> tuple[str | None, float]:
    """`percentile("x", 0.9)` and `percentile(0.9)`: a number cannot be a column."""
    if value is None and column is not None and not isinstance(column, str):
        column, value = None, column
    if value is None:
        raise InvalidInput(f'{name}: say which fraction, as in {name}("x", 0.95)')
    return column, fraction(name, value)


def column_and_fractions(name: str, column: Any, value: Any) -> tuple[str | None, float | list[float] | OffsetColumn]:
    """As column_and_fraction; a list of fractions may stand for one, or a column that has one for every row."""
    if value is None and column is not None and not isinstance(column, str):
        column, value = None, column
    if isinstance(value, OffsetColumn):
        if column is None:
            raise InvalidInput(
                f"{name}: {value!r} is a column of the row, and the values have none. Name theirs too: "
                f'{name}("x", {value!r})'
            )
        return column, OffsetColumn(value.name)
    if not isinstance(value, list | tuple):
        return column_and_fraction(name, column, value)
    if not value:
        raise InvalidInput(f'{name}: the list of fractions is empty. Name some, as in {name}("x", [0.25, 0.75])')
    return column, [fraction(name, q) for q in value]
