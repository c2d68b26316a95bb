"""Conditions: Spark SQL as `where=`, computed as boolean columns before the windows, which results do not have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.spark.input import Input
from slidewise.spark.schema import Schema
from slidewise.spark.window import SpecifiedOver


class SqlMistake(InvalidInput):
    """Spark SQL that cannot be run, with the step or condition that it is."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


def hoist_conditions(source: Input, what: str, expressions: Iterable[Any]) -> Input:
    """Add the columns of all `where=` that are SQL and no columns; the input tells which they are."""
    found = {text: text for text in map(_find_condition, expressions) if text is not None}
    conditions = {text: text for text in found if not source.schema.has(text)}
    if not conditions:
        return source
    if source.given:
        return _add_unasked(source, conditions)
    try:
        df = add_conditions(source.df, conditions)
    except SqlMistake as error:
        raise InvalidInput(
            f"{what}: where={error.name!r} names no column, and as a condition in Spark SQL: {error}"
        ) from error
    return replace(source, df=df, schema=Schema(df), hidden=tuple(conditions))


def _find_condition(expression: Any) -> str | None:
    """Find the condition of an expression; a single name is that of a column, whether or not there is one."""
    over = expression.over if isinstance(expression, SpecifiedOver) else expression
    aggregation = over.aggregation if isinstance(over, Over) else over
    where = aggregation.where if isinstance(aggregation, Aggregation) else None
    return None if where is None or where.isidentifier() else where


def _add_unasked(source: Input, conditions: Mapping[str, str]) -> Input:
    """Add conditions to a DataFrame that may not be asked for types: NOT takes booleans only, when it runs."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BooleanType, StructField, StructType

    made = [F.expr(f"NOT (NOT ({text}))").alias(name) for name, text in conditions.items()]
    fields = [*source.schema.fields, *(StructField(name, BooleanType()) for name in conditions)]
    df = source.df.select("*", *made)
    return replace(source, df=df, schema=Schema(df, StructType(fields)), hidden=tuple(conditions))


def add_conditions(df: Any, conditions: Mapping[str, str]) -> Any:
    """Add the boolean columns of `where`, each named by its condition."""
    from pyspark.sql import functions as F  # noqa: N812

    for name, text in conditions.items():
        if name in df.columns:
            raise SqlMistake(f"there is a column {name!r}, so that no condition can be written so", name)
        try:
            df = df.withColumn(name, F.expr(f"({text})"))
            kind = df.schema[name].dataType.simpleString()
        except Exception as error:
            raise SqlMistake(_describe_condition(df, text, error), name) from error
        if kind != "boolean":
            raise SqlMistake(f"a condition is true or false, and {text!r} is {kind}", name)
    return df


def _describe_condition(df: Any, text: str, error: Exception) -> str:
    """Say what Spark refuses of a condition by itself: an error within our parentheses may be about these."""
    try:
        df.selectExpr(text).schema  # noqa: B018
    except Exception as other:
        return describe_spark_error(other)
    return describe_spark_error(error)


def describe_spark_error(error: Exception) -> str:
    """Say in one line what Spark refuses."""
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    if first.startswith("An error occurred while calling") and len(lines) > 1:  # of Java, whose class comes next
        first = re.sub(r"^: (\w+\.)+\w+: (\[[\w.]+\] )?", "", lines[1])
    if condition and first.startswith(f"[{condition}"):
        first = first.split("] ", 1)[-1]
    return first.split(" SQLSTATE:")[0].rstrip(";").strip()
