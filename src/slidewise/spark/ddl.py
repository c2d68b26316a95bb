"""DDL: columns and their types, read from text as Spark reads it.

Over Connect, PySpark asks the server to read such text, and within flows of Spark's pipelines the server refuses.
"""

from __future__ import annotations

import ast
import re

from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.errors import InvalidInput

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(\w+)|([<>(),:]))")
_PLAIN: dict[str, T.DataType] = {
    "boolean": T.BooleanType(), "tinyint": T.ByteType(), "byte": T.ByteType(), "smallint": T.ShortType(),
    "short": T.ShortType(), "int": T.IntegerType(), "integer": T.IntegerType(), "bigint": T.LongType(),
    "long": T.LongType(), "float": T.FloatType(), "real": T.FloatType(), "double": T.DoubleType(),
    "string": T.StringType(), "binary": T.BinaryType(), "date": T.DateType(), "timestamp": T.TimestampType(),
    "timestamp_ltz": T.TimestampType(), "timestamp_ntz": T.TimestampNTZType(), "variant": T.VariantType(),
    "void": T.NullType(),
}  # fmt: skip
_DECIMALS = ("decimal", "dec", "numeric")
_UNITS = ("day", "hour", "minute", "second")


def read_ddl(text: str) -> T.StructType:
    """Read columns from text.

    >>> read_ddl("card string, at timestamp NOT NULL, spent decimal(10, 2), places array<string>").simpleString()
    'struct<card:string,at:timestamp,spent:decimal(10,2),places:array<string>>'
    """
    reader = _Reader(text)
    fields = reader.read_fields()
    reader.require_end()
    return T.StructType(fields)


class _Reader:
    """A reader of one text, from its first token to its last."""

    def __init__(self, text: str) -> None:
        self._text = text
        #: what kind of token, the token, and what stands from it on
        self._tokens: list[tuple[str, str, str]] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._fail(f"{text[place:].strip()[:20]!r} is neither a name nor a type")
            kind = ("quoted", "text", "word", "mark")[(found.lastindex or 1) - 1]
            self._tokens.append((kind, found[found.lastindex or 1], text[found.start() :].strip()))
            place = found.end()
        self._next = 0

    def read_fields(self) -> list[T.StructField]:
        fields = [self._read_field()]
        while self._take(","):
            fields.append(self._read_field())
        return fields

    def require_end(self) -> None:
        if self._next < len(self._tokens):
            raise self._fail(f"a comma is expected before {self._tokens[self._next][2][:20]!r}")

    def _read_field(self) -> T.StructField:
        kind, name, _ = self._advance("the name of a column")
        if kind not in ("quoted", "word"):
            raise self._fail(f"the name of a column is expected, and {name!r} is there")
        name = name[1:-1].replace("``", "`") if kind == "quoted" else name
        self._take(":")
        field = T.StructField(name, self._read_type(name))
        if self._take("not"):
            self._require("null")
            field.nullable = False
        if self._take("comment"):
            _, comment, _ = self._advance("a comment")
            field.metadata = {"comment": ast.literal_eval(comment)} if comment[:1] in "'\"" else {}
        return field

    def _read_type(self, column: str) -> T.DataType:
        kind, said, _ = self._advance(f"the type of {column!r}")
        name = said.lower()
        if kind == "word" and name in _PLAIN:
            return _PLAIN[name]
        if kind == "word" and name in _DECIMALS:
            sizes = self._read_sizes()
            return T.DecimalType(*(sizes or [10, 0]))
        if kind == "word" and name == "interval":
            return self._read_interval(column)
        if kind == "word" and name in ("array", "map", "struct"):
            return self._read_nested(name, column)
        raise self._fail(f"{said!r}, the type of {column!r}, is not known here. A StructType can have any type")

    def _read_nested(self, name: str, column: str) -> T.DataType:
        self._require("<")
        made: T.DataType
        if name == "struct":
            made = T.StructType([] if self._is_next(">") else self.read_fields())
        elif name == "array":
            made = T.ArrayType(self._read_type(column))
        else:
            key = self._read_type(column)
            self._require(",")
            made = T.MapType(key, self._read_type(column))
        self._require(">")
        return made

    def _read_sizes(self) -> list[int]:
        sizes: list[int] = []
        if self._take("("):
            sizes.append(self._read_number())
            while self._take(","):
                sizes.append(self._read_number())
            self._require(")")
        return sizes

    def _read_number(self) -> int:
        _, said, _ = self._advance("a number")
        if not said.isdigit():
            raise self._fail(f"a number is expected, and {said!r} is there")
        return int(said)

    def _read_interval(self, column: str) -> T.DataType:
        _, first, _ = self._advance("a unit of time")
        last = self._advance("a unit of time")[1] if self._take("to") else first
        units = [first.lower(), last.lower()]
        if not all(unit in _UNITS for unit in units) or _UNITS.index(units[0]) > _UNITS.index(units[1]):
            raise self._fail(f"the type of {column!r}: intervals are of days to seconds here")
        return T.DayTimeIntervalType(*map(_UNITS.index, units))

    # ---- tokens
    def _advance(self, expected: str) -> tuple[str, str, str]:
        if self._next == len(self._tokens):
            raise self._fail(f"it ends where {expected} is expected")
        self._next += 1
        return self._tokens[self._next - 1]

    def _is_next(self, token: str) -> bool:
        if self._next == len(self._tokens):
            return False
        kind, said, _ = self._tokens[self._next]
        return kind in ("word", "mark") and said.lower() == token

    def _take(self, token: str) -> bool:
        found = self._is_next(token)
        self._next += found
        return found

    def _require(self, token: str) -> None:
        if not self._take(token):
            there = self._tokens[self._next][2][:20] if self._next < len(self._tokens) else "its end"
            raise self._fail(f"{token!r} is expected, and {there!r} is there")

    def _fail(self, why: str) -> InvalidInput:
        return InvalidInput(
            f'columns and their Spark types are written as in "card string, at timestamp", got {self._text!r}: {why}'
        )
