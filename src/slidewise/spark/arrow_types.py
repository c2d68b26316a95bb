"""Spark's types as Arrow's, as columns travel to Python, and back."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.errors import InvalidInput

_PLAIN: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampNTZType: pa.timestamp("us"),
    T.DayTimeIntervalType: pa.duration("us"),
    T.NullType: pa.null(),
}


def to_arrow_type(kind: T.DataType, zone: str, name: str) -> pa.DataType:
    """Translate the type of a column to Arrow's; `zone` is the session's time zone, and `name` is for the error."""
    if getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise InvalidInput(
            f"the column {name!r} has the collation {kind.collation}, by which Python cannot compare. "
            f"Use collate({name}, 'UTF8_BINARY'), or lower({name}) where case does not matter"
        )
    if type(kind) in _PLAIN:
        return _PLAIN[type(kind)]
    if isinstance(kind, T.TimestampType):
        return pa.timestamp("us", zone)
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        return pa.list_(pa.field("element", to_arrow_type(kind.elementType, zone, name), kind.containsNull))
    if isinstance(kind, T.MapType):
        value = pa.field("value", to_arrow_type(kind.valueType, zone, name), kind.valueContainsNull)
        return pa.map_(pa.field("key", to_arrow_type(kind.keyType, zone, name), False), value)
    if isinstance(kind, T.StructType):
        return pa.struct([pa.field(f.name, to_arrow_type(f.dataType, zone, name), f.nullable) for f in kind])
    if isinstance(kind, T.VariantType):
        told = {"variant": "true"}  # or Spark takes it for a struct
        return pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False, told)])
    if type(kind).__name__ == "TimeType":  # since Spark 4.1
        return pa.time64("ns")
    raise InvalidInput(
        f"the column {name!r} is of Spark's {kind.simpleString()}, which does not travel to Python by Arrow. "
        "Cast it first: an interval of years and months to a number of months, for example"
    )


def to_spark_type(kind: pa.DataType, known: Mapping[pa.DataType, T.DataType]) -> T.DataType:
    """Translate the type of a result to Spark's; where a column has this type, the result has the column's."""
    if kind in known:
        return known[kind]
    plain = next((spark for spark, arrow in _PLAIN.items() if arrow == kind), None)
    if plain is not None:
        return plain()
    if pa.types.is_timestamp(kind):
        return T.TimestampNTZType() if kind.tz is None else T.TimestampType()
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_large_string(kind):
        return T.StringType()
    if pa.types.is_large_binary(kind):
        return T.BinaryType()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return T.ArrayType(to_spark_type(kind.value_type, known), True)
    if pa.types.is_struct(kind):
        return T.StructType([T.StructField(f.name, to_spark_type(f.type, known), True) for f in kind])
    if pa.types.is_unsigned_integer(kind):
        return T.DecimalType(20, 0) if kind.bit_width == 64 else T.LongType()
    raise InvalidInput(f"a result of type {kind} has no type in Spark")
