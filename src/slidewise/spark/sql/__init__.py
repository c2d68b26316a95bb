"""SQL with windows that Spark refuses, or computes slowly."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from slidewise.errors import InvalidInput

_log = logging.getLogger("slidewise.spark.sql")


def sql(spark: Any, query: str, args: dict[str, Any] | list[Any] | None = None, **views: Any) -> Any:
    """Run a query as `spark.sql` does, with window aggregates by slidewise: a DataFrame, lazily.

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

    from pyspark.errors import AnalysisException

    from slidewise.spark.analysis import analyse, silence_pyspark
    from slidewise.spark.sql.query_text import QueryText, Span
    from slidewise.spark.sql.rewrite import build_refusal, rewrite_query
    from slidewise.spark.with_columns import with_columns

    def run(text: str, frames: dict[str, Any]) -> Any:
        if isinstance(args, list) and args:
            raise InvalidInput("sql: beside windows args are taken by name: write :name, and args={'name': value}")
        # Spark formats a text only where views are named: braces are doubled for that.
        plain = text if views or frames else text.replace("{{", "{").replace("}}", "}")
        return spark.sql(plain, args, **views, **frames)

    def run_unchanged() -> Any:
        return analyse(spark.sql(query, args, **views))

    named = args if isinstance(args, dict) else None
    try:
        source = QueryText(query, named, formatted=bool(views))
        made = rewrite_query(source, run, with_columns)
    except InvalidInput as error:
        return _run_by_spark(run_unchanged, (error,))
    if made.streaming is not None:
        raise made.streaming
    why = made.left
    if made.changed:
        try:
            with silence_pyspark():
                return analyse(run(made.text, made.frames))
        except InvalidInput as error:
            why = (*why, error)
        except AnalysisException as error:
            why = (*why, build_refusal(source, Span(0, len(source.tokens)), error))
    return _run_by_spark(run_unchanged, why)


def _run_by_spark(run: Callable[[], Any], why: tuple[InvalidInput, ...]) -> Any:
    """Run the query unchanged in Spark; where Spark refuses it, `why` is the error."""
    if not why:
        return run()
    from pyspark.errors import AnalysisException

    from slidewise.spark.analysis import silence_pyspark

    _log.debug("the whole query is left to Spark: %s", why[0])
    try:
        with silence_pyspark():
            return run()
    except Exception as error:
        refused = isinstance(error, AnalysisException) or "INTERNAL_ERROR" in str(error)
        cause = why[0].__cause__
        if not refused or (cause is not None and _read_condition(cause) == _read_condition(error)):
            raise  # by Spark's own words, which speak of the text as it was written
        raise why[0] from None


def _read_condition(error: BaseException) -> Any:
    """Read Spark's error condition, without the details behind the dot."""
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return type(error) if condition is None else condition.split(".")[0]
