"""Input: the DataFrame of a call with its schema, for which Spark was asked, or which the caller has given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.column_names import require_distinct
from slidewise.spark.schema import Schema

#: what Connect's server plans as soon as a flow is defined, by the names of its plans
_PLANNED_EARLY = {
    "WithColumns": "withColumn", "WithColumnsRenamed": "withColumnRenamed", "Drop": "drop", "ToSchema": "to",
    "WithWatermark": "withWatermark", "GroupMap": "groupBy().applyInPandas",
    "NAFill": "fillna", "NADrop": "dropna", "NAReplace": "replace", "Sample": "sample",
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A DataFrame, and what is known of it."""

    df: Any
    schema: Schema
    streaming: bool
    #: whether the caller has given the schema: then nothing is asked of the DataFrame, by which Spark would analyse it
    given: bool = False
    #: columns of our own in the DataFrame, which results do not have
    hidden: tuple[str, ...] = ()


def read_input(df: Any, what: str, schema: Any = None, streaming: bool | None = None) -> Input:
    """Read the schema of a DataFrame, and whether it is a stream, from Spark, or from what the caller has given."""
    from pyspark.sql import DataFrame

    if not isinstance(df, DataFrame):
        raise InvalidInput(f"{what} takes a Spark DataFrame, got {type(df).__module__}.{type(df).__name__}")
    if streaming is not None and not isinstance(streaming, bool):
        raise InvalidInput(f"{what}: streaming is True or False, got {streaming!r}")
    if schema is None:
        if streaming is not None:
            raise InvalidInput(
                f"{what}: streaming={streaming} goes with schema=, where Spark may not be asked for either. Leave it "
                "out, or give the schema besides"
            )
        return Input(df, Schema(df), bool(df.isStreaming))
    given = _read_schema(schema, what)
    _warn_of_hidden_table(df, bool(streaming), what)
    known = Schema(df, given)
    require_distinct(known.names, known.heeds_capitals, f"{what}: schema")
    return Input(_check_when_run(df, given, what), known, bool(streaming), given=True)


def _read_schema(given: Any, what: str) -> Any:
    """Read a schema that is given as a StructType, or as text."""
    from pyspark.sql.types import StructType

    from slidewise.spark.ddl import read_ddl

    schema = given
    if isinstance(given, str):
        try:
            schema = read_ddl(given)
        except InvalidInput as error:
            raise InvalidInput(f"{what}: schema=: {error}") from None
    if not isinstance(schema, StructType):
        raise InvalidInput(
            f'{what}: schema= is text such as "card string, at timestamp", or a StructType, got {given!r}'
        )
    if not schema.fields:
        raise InvalidInput(f"{what}: schema= has no columns")
    return schema


def _check_when_run(df: Any, given: Any, what: str) -> Any:
    """Let rows pass only where the DataFrame has the given columns. Where it has, the optimizer leaves nothing of it.

    Types of results follow from the given ones: a wrong one would give wrong values, and not only wrong types.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found, said = F.typeof(F.struct("*")), given.simpleString()
    message = F.concat(
        F.lit(f"{what}: schema= has the columns {said}, and the DataFrame has "),
        found,
        F.lit(". Give its columns, all of them and in their order"),
    )
    return df.where(F.when(found == F.lit(said), F.lit(True)).otherwise(F.raise_error(message)))


def _warn_of_hidden_table(df: Any, streaming: bool, what: str) -> None:
    """Warn where a flow of Spark's pipelines would not wait for the table that it reads.

    Connect's server plans some operations as soon as a flow is defined, with the tables that are there by then, and
    the pipeline does not learn of those. Over a table of its own a first run fails, and later ones read it in whatever
    state it is: one that was just emptied to be filled anew gives 0 rows, and COMPLETED. Only the plan tells, to which
    PySpark has no public way; where the private one is gone, there is no warning.
    """
    plan, early = vars(df).get("_plan"), "the stateful operator of a stream" if streaming else None
    while plan is not None:
        table = getattr(plan, "table_name", None)
        if isinstance(table, str) and early is not None:
            instead = (
                "Read its source in this flow, or fill it in another pipeline"
                if streaming
                else "Use select, filter and SQL before the call"
            )
            warnings.warn(
                f"{what}: {early} is planned when the flow is defined, and Spark's pipelines do not see that it reads "
                f"the table {table!r}. If {table!r} is of the same pipeline, its first run ends with "
                f"TABLE_OR_VIEW_NOT_FOUND, and later ones do not wait for it, and may read no rows. {instead}",
                UserWarning,
                stacklevel=5,
            )
            return
        early = early or _PLANNED_EARLY.get(type(plan).__name__)
        plan = getattr(plan, "_child", None)


def tell_columns(df: Any, columns: Mapping[str, Any]) -> Any:
    """Tell a DataFrame of Connect what columns it has.

    Before it maps rows it asks the server for their names, which it then does not need. PySpark has no public way to
    keep it from asking, and where this one is gone, Spark says that it refuses.
    """
    from pyspark.sql.types import StructField, StructType

    df._cached_schema = StructType([StructField(name, kind) for name, kind in columns.items()])
    return df
