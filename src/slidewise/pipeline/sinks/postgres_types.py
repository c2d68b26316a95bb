"""PostgreSQL's types for Spark's, and rows as lines of COPY's text format, which Spark's executors make.

A line is made of expressions of Spark's and not of Python values: executors do it in parallel, and a timestamp never
becomes Python's, which would lose an hour of each autumn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.pipeline.sinks.days import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

#: The longest name that PostgreSQL keeps whole, in bytes.
LONGEST_NAME = 63
TAB, NULL = "\t", "\\N"
TIMES_IN_JSON = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


@dataclass(frozen=True)
class PostgresType:
    """A type, and how its values are written."""

    #: as in CREATE TABLE
    name: str
    #: the columns that take such values as they are; PostgreSQL's internal names of types
    fits: tuple[str, ...]
    text: Callable[[Column], Column]
    #: whether the two order such values alike, so that ties can be decided by them
    ordered: bool = True


def as_string(column: Column) -> Column:
    """Write a value as Spark does: the same signs that PostgreSQL reads, NaN and Infinity among them."""
    return column.cast("string")


def as_instant(column: Column) -> Column:
    """Write a timestamp in the session's time zone with its offset, to the second: those before 1900 have seconds."""
    return sf.date_format(column, "yyyy-MM-dd HH:mm:ss.SSSSSSXXXXX")


def as_hex(column: Column) -> Column:
    """Write bytes as bytea does."""
    return sf.concat(sf.lit("\\x"), sf.hex(column))


def as_json(column: Column) -> Column:
    """Write a nested value as JSON."""
    return sf.to_json(column, TIMES_IN_JSON)


SIMPLE: dict[type[T.DataType], PostgresType] = {
    T.StringType: PostgresType("text", ("text", "varchar", "uuid", "json", "jsonb"), as_string),
    T.BooleanType: PostgresType("boolean", ("bool",), as_string),
    T.ByteType: PostgresType("smallint", ("int2", "int4", "int8", "numeric"), as_string),
    T.ShortType: PostgresType("smallint", ("int2", "int4", "int8", "numeric"), as_string),
    T.IntegerType: PostgresType("integer", ("int4", "int8", "numeric"), as_string),
    T.LongType: PostgresType("bigint", ("int8", "numeric"), as_string),
    T.FloatType: PostgresType("real", ("float4", "float8"), as_string),
    T.DoubleType: PostgresType("double precision", ("float8",), as_string),
    # into a timestamp without a time zone PostgreSQL would put the local time and drop the offset
    T.TimestampType: PostgresType("timestamp with time zone", ("timestamptz",), as_instant),
    T.TimestampNTZType: PostgresType("timestamp without time zone", ("timestamp",), as_string),
    T.DateType: PostgresType("date", ("date",), as_string),
    T.BinaryType: PostgresType("bytea", ("bytea",), as_hex),
}
NESTED = PostgresType("jsonb", ("jsonb", "json"), as_json, ordered=False)


def find_type(kind: T.DataType) -> PostgresType | None:
    """Find the type for one of Spark's, or None.

    >>> find_type(T.DecimalType(12, 2)).name, find_type(T.ArrayType(T.DoubleType())).name
    ('numeric(12,2)', 'double precision[]')
    """
    if isinstance(kind, T.DecimalType):
        return PostgresType(f"numeric({kind.precision},{kind.scale})", ("numeric",), as_string)
    if isinstance(kind, T.ArrayType):
        element = find_type(kind.elementType)
        if element is None or isinstance(kind.elementType, T.ArrayType | T.MapType | T.StructType):
            return element and NESTED  # PostgreSQL's arrays of arrays are rectangles, and Spark's need not be
        fits = tuple(f"_{name}" for name in element.fits)  # the internal name of an array's type
        return PostgresType(f"{element.name}[]", fits, lambda column: as_array(column, element), ordered=False)
    if isinstance(kind, T.MapType | T.StructType):
        return NESTED
    return next((found for known, found in SIMPLE.items() if isinstance(kind, known)), None)


def as_array(column: Column, element: PostgresType) -> Column:
    """Write an array: every element in quotes, null without."""

    def write(value: Column) -> Column:
        text = replace_all(element.text(value), {"\\": "\\\\", '"': '\\"'})
        return sf.coalesce(sf.concat(sf.lit('"'), text, sf.lit('"')), sf.lit("NULL"))

    return sf.concat(sf.lit("{"), sf.array_join(sf.transform(column, write), ","), sf.lit("}"))


def as_line(schema: T.StructType) -> Column:
    """Write a row as COPY reads it: fields between tabs, without the end of the line."""
    fields = []
    for field in schema.fields:
        found = find_type(field.dataType)
        assert found is not None, field
        text = replace_all(found.text(sf.col(quote(field.name))), {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
        fields.append(sf.coalesce(text, sf.lit(NULL)))
    return sf.concat_ws(TAB, *fields)


def replace_all(text: Column, replacements: dict[str, str]) -> Column:
    """Replace signs one after the other; the backslash comes first, since the others bring new ones."""
    for old, new in replacements.items():
        text = sf.replace(text, sf.lit(old), sf.lit(new))
    return text


def fits_column(kind: T.DataType, name: str, modifier: int) -> bool:
    """Tell whether an existing column, by its type's internal name and modifier, takes every value of Spark's type."""
    found = find_type(kind)
    if found is None or name not in found.fits:
        return False
    if modifier < 0:
        return True
    if isinstance(kind, T.DecimalType):
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF  # as PostgreSQL packs numeric(precision, scale)
        return scale >= kind.scale and precision - scale >= kind.precision - kind.scale
    return name == "varchar"  # a text that is too long is refused by PostgreSQL when it comes
