"""The source of a pipeline: its rows as a batch or as a stream, of any format that Spark reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.pipeline.definition import History, Rows
from slidewise.spark.column_names import find_unused_prefix
from slidewise.spark.conditions import describe_spark_error
from slidewise.spark.plan import column

#: Formats of text, in which a row may not be what the schema says.
PARSED = ("csv", "json", "xml")
#: Formats of files, which a stream can read only where it is told the columns.
FILES = ("parquet", "orc", "csv", "json", "xml", "text", "avro")
#: the name of the count of rows that cannot be parsed, among a query's metrics
UNPARSED = "unparsed"


@dataclass(frozen=True)
class SourceInput:
    """Rows as they are read."""

    df: Any
    #: the column that has a row's text where it cannot be parsed; None where the format has no such rows
    corrupt: str | None = None


def resolve(path: str, folder: Path) -> str:
    """Resolve a path that is relative to a pipeline's file; whole ones, and those with a scheme, stay as they are.

    >>> resolve("s3a://lake/payments", Path("/project")), resolve("./data", Path("/project"))
    ('s3a://lake/payments', '/project/data')
    """
    if "://" in path or path.startswith(("/", "file:", "hdfs:")):
        return path
    return str(folder / path)


def read_source(spark: Any, source: Rows, folder: Path, *, streaming: bool) -> SourceInput:
    """Read a source. Rows that cannot be parsed are marked, to be counted: they are not null in silence."""
    _require_format(source, streaming)
    schema = source.columns
    if schema is None and streaming and source.format in FILES:
        schema = _infer(spark, source, folder)
    corrupt = None
    reader = (spark.readStream if streaming else spark.read).format(source.format)
    if source.format in PARSED and schema is not None and "mode" not in source.options:
        names = spark.createDataFrame([], schema).columns
        corrupt = f"{find_unused_prefix(names)}corrupt"
        schema = f"{_to_ddl(spark, schema)}, `{corrupt}` string"
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", corrupt)
    if schema is not None:
        reader = reader.schema(schema)
    if source.format == "csv" and "header" not in source.options:
        reader = reader.option("header", "true")
    reader = reader.options(**{name: _to_option(value) for name, value in source.options.items()})
    try:
        return SourceInput(_load(reader, source, folder), corrupt)
    except Exception as error:
        what = "source.history" if isinstance(source, History) else "source"
        raise InvalidInput(f"{what}: {describe_spark_error(error)}") from error


def count_unparsed(rows: SourceInput, observation: Any) -> Any:
    """Count the rows that cannot be parsed, and leave them out. The count is one of Spark's metrics of the query."""
    from pyspark.sql import functions as F  # noqa: N812

    if rows.corrupt is None:
        return rows.df
    # Spark parses only the columns that a query needs, and a bad value in another goes unseen: the second part, which
    # is never true, needs them all, so that a row is bad in every run or in none.
    others = [column(name) for name in rows.df.columns if name != rows.corrupt]
    missing = reduce(add, (each.isNull().cast("int") for each in others), F.lit(0))
    bad = column(rows.corrupt).isNotNull() | (missing > len(others))
    counted = rows.df.observe(observation, F.count_if(bad).alias(UNPARSED))
    return counted.where(~bad).drop(rows.corrupt)


def read_schema(spark: Any, source: Rows, folder: Path) -> Any:
    """Find the columns of a source: those that are declared, or those that Spark finds."""
    if source.columns is not None:
        try:
            return spark.createDataFrame([], source.columns).schema
        except Exception as error:
            raise InvalidInput(f"schema: {describe_spark_error(error)}") from error
    streaming = source.format in ("rate", "rate-micro-batch", "socket")  # streams alone
    return read_source(spark, source, folder, streaming=streaming).df.schema


def _require_format(source: Rows, streaming: bool) -> None:
    if source.format == "jdbc" and streaming:
        raise InvalidInput("source: Spark reads jdbc as a batch only. Run it with --batch, or read a stream of changes")


def _infer(spark: Any, source: Rows, folder: Path) -> Any:
    try:
        return read_source(spark, source, folder, streaming=False).df.schema
    except InvalidInput as error:
        raise InvalidInput(
            f"source: a stream of {source.format} files needs schema:, and none can be taken from files that are there "
            f"({error})"
        ) from None


def _to_ddl(spark: Any, schema: Any) -> str:
    """Write a schema as text, to which a column can be added."""
    fields = spark.createDataFrame([], schema).schema.fields if isinstance(schema, str) else schema.fields
    return ", ".join(f"`{f.name.replace('`', '``')}` {f.dataType.simpleString()}" for f in fields)


def _load(reader: Any, source: Rows, folder: Path) -> Any:
    if source.table is not None:
        return reader.table(source.table)
    if source.path is None:
        return reader.load()
    if isinstance(source.path, str):
        return reader.load(resolve(source.path, folder))
    return reader.load([resolve(path, folder) for path in source.path])


def _to_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
