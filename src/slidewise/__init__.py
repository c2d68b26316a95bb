"""Sliding-window aggregation for Python and Spark.

One definition of an aggregate and a window, run with the best algorithm the literature knows: event by event, over
columns, over Spark DataFrames and over Spark streams.

>>> import slidewise as sw
>>> w = sw.Window(sw.max(), sw.rows(3))
>>> [result.value for x in (5, 1, 2, 3) for result in w.push(x)]
[5, 5, 5, 3]
"""

from typing import TYPE_CHECKING, Any

from slidewise import aggregations as _aggregations
from slidewise.aggregations import *  # noqa: F403
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.algorithms import swag
from slidewise.errors import (
    CompileFallback,
    IllegalPair,
    InvalidInput,
    LateRow,
    LawBroken,
    SlidewiseError,
    StateError,
)
from slidewise.events.window import Result, Window
from slidewise.frontdoor import aggregate, explain, with_columns
from slidewise.planner.tables import list_aggregations, list_algorithms
from slidewise.testing.laws import check_aggregation
from slidewise.windows.definitions import (
    col,
    delta,
    frames,
    groups_between,
    punctuation,
    range_between,
    rows,
    rows_between,
    time,
)
from slidewise.windows.reach import UNBOUNDED
from slidewise.windows.sessions import session

if TYPE_CHECKING:
    from slidewise.columns.rolling import rolling
    from slidewise.columns.warm_up import warm_up
    from slidewise.columns.with_columns import asc, desc
    from slidewise.pipeline import Pipeline, load
    from slidewise.tracing import trace

__version__ = "0.1.0"

__all__ = [
    *_aggregations.__all__,
    "UNBOUNDED",
    "Aggregation",
    "CompileFallback",
    "IllegalPair",
    "InvalidInput",
    "LateRow",
    "LawBroken",
    "Over",
    "Pipeline",
    "Result",
    "SlidewiseError",
    "StateError",
    "Window",
    "aggregate",
    "asc",
    "check_aggregation",
    "col",
    "delta",
    "desc",
    "explain",
    "frames",
    "groups_between",
    "list_aggregations",
    "list_algorithms",
    "load",
    "punctuation",
    "range_between",
    "rolling",
    "rows",
    "rows_between",
    "session",
    "swag",
    "time",
    "trace",
    "warm_up",
    "with_columns",
]


_LAZY = {
    "Pipeline": "slidewise.pipeline",
    "asc": "slidewise.columns.with_columns",
    "desc": "slidewise.columns.with_columns",
    "load": "slidewise.pipeline",
    "rolling": "slidewise.columns.rolling",
    "trace": "slidewise.tracing",
    "warm_up": "slidewise.columns.warm_up",
}


def __getattr__(name: str) -> Any:
    """Load what needs NumPy on first use; what needs numba or pyspark loads only when it runs."""
    if name in _LAZY:
        from importlib import import_module

        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if _LAZY[name] != "slidewise.pipeline":
                raise
            raise ModuleNotFoundError(
                f"sw.{name} needs {error.name}: install the extra, pip install 'slidewise[pipeline]'"
            ) from error
    raise AttributeError(f"module 'slidewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
