"""What Spark computes before the windows: the steps of `prepare`, and which rows are left out or counted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from slidewise.spark.conditions import SqlMistake, describe_spark_error
from slidewise.spark.plan import column


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
