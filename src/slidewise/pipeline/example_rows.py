"""The rows of examples: converted to the types of columns, and compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from slidewise.errors import InvalidInput

Row = Mapping[str, Any]
#: Sums of floats depend on the order of their parts in the last digits.
TOLERANCE = 1e-9


# ---- values
def convert_value(value: Any, kind: pa.DataType, zone: ZoneInfo) -> Any:
    """Convert a value of a file to what a column of this type has, or refuse it; times without a zone are in `zone`.

    >>> convert_value(5, pa.float64(), ZoneInfo("UTC")), convert_value("1.50", pa.decimal128(9, 2), ZoneInfo("UTC"))
    (5.0, Decimal('1.50'))
    """
    if value is None:
        return None
    converted = _convert(value, kind, zone)
    try:
        return pa.array([converted], kind)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        raise _refuse(value, kind) from None


def _convert(value: Any, kind: pa.DataType, zone: ZoneInfo) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if pa.types.is_timestamp(kind):
        return _convert_time(value, kind, zone)
    if pa.types.is_floating(kind) and is_number:
        return float(value)
    if pa.types.is_integer(kind) and is_number and float(value).is_integer():
        return int(value)
    if pa.types.is_decimal(kind) and (is_number or isinstance(value, str)):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            raise _refuse(value, kind) from None
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if not isinstance(value, str):
            raise InvalidInput(f"got {_show(value)}. Put it in quotes")
        return value
    if pa.types.is_binary(kind) and isinstance(value, str):
        return value.encode()
    if pa.types.is_date(kind) and isinstance(value, date) and not isinstance(value, datetime):
        return value
    if pa.types.is_list(kind) and isinstance(value, list):
        return [convert_value(each, kind.value_type, zone) for each in value]
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return {field.name: convert_value(value.get(field.name), field.type, zone) for field in kind}
    if pa.types.is_map(kind) and isinstance(value, dict):
        keys = [convert_value(key, kind.key_type, zone) for key in value]
        return list(zip(keys, [convert_value(each, kind.item_type, zone) for each in value.values()], strict=True))
    raise _refuse(value, kind)


def _convert_time(value: Any, kind: pa.DataType, zone: ZoneInfo) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _refuse(value, kind) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise _refuse(value, kind)
    if kind.tz is None:
        return value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    return (value if value.tzinfo is not None else value.replace(tzinfo=zone)).astimezone(UTC)


def _refuse(value: Any, kind: pa.DataType) -> InvalidInput:
    hint = ". Write it as 2026-01-01T00:00:00" if pa.types.is_timestamp(kind) else ""
    return InvalidInput(f"got {_show(value)}{hint}")


def _show(value: Any) -> str:
    return str(value) if isinstance(value, date) else repr(value)


def are_equal(a: Any, b: Any) -> bool:
    """Tell whether two values are equal: null and NaN to themselves, times as instants, floats nearly.

    >>> are_equal(0.1 + 0.2, 0.3), are_equal(float("nan"), float("nan")), are_equal(None, 0.0)
    (True, True, False)
    """
    if a is None or b is None:
        return a is b
    if isinstance(a, float | Decimal) or isinstance(b, float | Decimal):
        return _are_close(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(are_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(are_equal(a[name], b[name]) for name in a)
    return bool(a == b)


def _are_close(a: Any, b: Any) -> bool:
    if not all(isinstance(each, int | float | Decimal) for each in (a, b)):
        return False
    a, b = float(a), float(b)
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=TOLERANCE)


# ---- rows
@dataclass(frozen=True)
class Difference:
    """What differs: a value of a row, or a whole row, which is missing or too many."""

    row: str
    column: str | None
    expected: Any
    found: Any

    def describe(self) -> tuple[str, str, str, str]:
        """Give the row, the column, what was expected and what came out, as texts."""
        if self.column is not None:
            return self.row, self.column, show_value(self.expected), show_value(self.found)
        return self.row, "-", "-" if self.expected is None else "a row", "-" if self.found is None else "a row"


def find_differences(expected: Sequence[Row], found: Sequence[Row], labels: Sequence[str]) -> list[Difference]:
    """Find what differs, in whatever order rows stand; of each expected row, the columns that it names.

    Rows that agree are matched first, then each expected row that is left with the one that is most like it.
    """
    left, spare = match_rows(expected, found)
    differences = []
    for i in left:
        row = expected[i]
        if not spare:
            differences.append(Difference(_label(row, labels), None, row, None))
            continue
        nearest = max(spare, key=lambda j: _likeness(row, found[j], labels))
        spare.remove(nearest)
        other = found[nearest]
        differences += [
            Difference(_label({**other, **row}, labels), name, value, other.get(name))
            for name, value in row.items()
            if not are_equal(value, other.get(name))
        ]
    return differences + [Difference(_label(found[j], labels), None, None, found[j]) for j in spare]


def match_rows(expected: Sequence[Row], found: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Match as many rows as agree, and list the numbers of those that are left: expected ones, and found ones."""
    agree = [[j for j, other in enumerate(found) if _agrees(row, other)] for row in expected]
    taken: dict[int, int] = {}

    def take(i: int, tried: set[int]) -> bool:
        for j in agree[i]:
            if j not in tried:
                tried.add(j)
                if j not in taken or take(taken[j], tried):
                    taken[j] = i
                    return True
        return False

    left = [i for i in range(len(expected)) if not take(i, set())]
    return left, [j for j in range(len(found)) if j not in taken]


def _agrees(row: Row, other: Row) -> bool:
    return all(name in other and are_equal(value, other[name]) for name, value in row.items())


def _likeness(row: Row, other: Row, labels: Sequence[str]) -> tuple[int, int]:
    same = [name for name, value in row.items() if are_equal(value, other.get(name))]
    return sum(name in labels for name in same), len(same)


def _label(row: Row, labels: Sequence[str]) -> str:
    shown = [name for name in labels if name in row] or list(row)[:3]
    return ", ".join(f"{name}={show_value(row[name])}" for name in shown)


def show_value(value: Any) -> str:
    """Write a value as a person reads it."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat()
    return str(value)


def sort_rows(rows: Sequence[Row], labels: Sequence[str]) -> list[Row]:
    """Put rows by their labels, nulls first."""
    key: Callable[[Row], Any] = lambda row: [  # noqa: E731
        (row.get(name) is not None, row.get(name)) for name in labels
    ]
    try:
        return sorted(rows, key=key)
    except TypeError:  # of types without an order
        return list(rows)
