"""What Spark computes before the windows: the steps of `prepare`, and the conditions of `where`."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.plan import column


class SqlMistake(InvalidInput):
    """Spark SQL that cannot be run, with the step or condition that it is."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


def run_steps(df: Any, steps: Mapping[str, str]) -> Any:
    """Run Spark SQL over `source`, step by step; each sees those before it. The last one's rows come out."""
    if not steps:
        return df
    # As common table expressions: their names hide those of the catalog, and no view of the user is replaced.
    view = f"slidewise_{uuid.uuid4().hex}"
    df.createOrReplaceTempView(view)
    try:
        before = f"source AS (SELECT * FROM {view})"
        for name, text in steps.items():
            body = text.strip().rstrip(";")
            before += f",\n`{name}` AS (\n{body}\n)"
            try:
                out = df.sparkSession.sql(f"WITH {before}\nSELECT * FROM `{name}`")
                out.schema  # noqa: B018  (Spark Connect analyses it only now)
            except Exception as error:
                raise SqlMistake(describe_spark_error(error), name) from error
        return out
    finally:
        df.sparkSession.catalog.dropTempView(view)


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


def leave_out_untimed(rows: Any, time: str, observation: Any = None) -> Any:
    """Leave out the rows of a batch that have no time, and count them, as a stream does."""
    from pyspark.sql import functions as F  # noqa: N812

    missing = column(time).isNull()
    if observation is not None:
        rows = rows.observe(observation, F.count_if(missing).alias("untimed"))
    return rows.where(~missing)


def count_rows(rows: Any, observation: str) -> Any:
    """Count rows on their way, as one of the metrics of a query, by the name `rows`."""
    from pyspark.sql import functions as F  # noqa: N812

    return rows.observe(observation, F.count(F.lit(1)).alias("rows"))


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
