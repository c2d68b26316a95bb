"""SQL with windows that Spark refuses, or computes slowly."""

from __future__ import annotations

from typing import Any

from slidewise.errors import InvalidInput


def sql(spark: Any, query: str, args: dict[str, Any] | list[Any] | None = None, **views: Any) -> Any:
    """`spark.sql`, with window aggregates by slidewise: a DataFrame, lazily.

    ```python
    slidewise.spark.sql(spark, '''
        SELECT sensor, ts,
               median(temp) OVER hour AS usual,
               count(DISTINCT user) OVER (PARTITION BY sensor ORDER BY ts ROWS 999 PRECEDING) AS users,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY temp) OVER hour AS p95
        FROM readings
        WINDOW hour AS (PARTITION BY sensor ORDER BY ts RANGE INTERVAL 1 HOUR PRECEDING)''')
    ```

    - Over windows it takes every aggregation of slidewise's, count(DISTINCT), FILTER and WITHIN GROUP; frames by ROWS,
      RANGE and GROUPS with EXCLUDE, and bounds that are columns; named windows, refined ones too.
    - All else is Spark's, in the words it was written in: joins, WITH, WHERE, GROUP BY, subqueries, row_number and lag.
      A query without an aggregate over a window goes to Spark as it is.
    - `args` and `views` are those of `spark.sql`: `:name` in the query, and DataFrames by `{name}`.
    - What cannot be taken is an InvalidInput that shows the place in the query.
    """
    if not hasattr(spark, "sql"):
        raise InvalidInput(f"sql takes a Spark session first, then the query, got {spark!r}")
    if not isinstance(query, str):
        raise InvalidInput(f"sql takes the text of a query, got {query!r}")
    if "over" not in query.casefold():
        return spark.sql(query, args, **views)

    from slidewise.spark.sql.rewrite import rewritten
    from slidewise.spark.sql.source import Source
    from slidewise.spark.with_columns import with_columns

    def run(text: str, frames: dict[str, Any]) -> Any:
        if isinstance(args, list) and args:
            raise InvalidInput("sql: beside windows args are taken by name: write :name, and args={'name': value}")
        # Spark formats a text only where views are named: braces are doubled for that.
        plain = text if views or frames else text.replace("{{", "{").replace("}}", "}")
        return spark.sql(plain, args, **views, **frames)

    named = args if isinstance(args, dict) else None
    made = rewritten(Source(query, named, formatted=bool(views)), run, with_columns)
    return spark.sql(query, args, **views) if made is None else run(*made)
