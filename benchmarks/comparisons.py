"""One table of aggregates, windows and libraries: the comparison tests check that all answers agree, and the benchmark
times the very same calls, so that a fast wrong answer cannot be reported.

Every call takes the data and the number of rows in the window, and gives one result per row: of the row and those
before it, fewer at the start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # one thread for all; read when polars is imported

import bottleneck as bn
import duckdb
import numbagg
import numpy as np
import pandas as pd
import polars as pl

import slidewise as sw

WINDOWS = (16, 1_000, 100_000)


class Vwap(sw.Aggregation):
    """The average price, weighted by size: the example of an aggregation of one's own."""

    identity = (0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(price, size):
        return (price * size, size)

    @staticmethod
    def combine(a, b):
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def lower(s):
        return s[0] / s[1]


# ---- data
class Data:
    """Random columns, in the form that each library takes: making it is not timed."""

    def __init__(self, rows: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.columns = {"x": rng.random(rows), "y": 1.0 + rng.random(rows), "k": rng.integers(0, 1_000, rows)}
        self.heads: dict[int, Data] = {}

    def head(self, rows: int) -> Data:
        """The first rows; the same object each time, with what libraries have made of it."""
        if rows not in self.heads:
            part = self.heads[rows] = object.__new__(Data)
            part.columns = {name: column[:rows] for name, column in self.columns.items()}
            part.heads = {}
        return self.heads[rows]

    def __len__(self) -> int:
        return len(self.columns["x"])

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    @cached_property
    def pandas(self) -> pd.DataFrame:
        return pd.DataFrame(self.columns)

    @cached_property
    def polars(self) -> pl.DataFrame:
        return pl.DataFrame(self.columns).with_row_index("i").with_columns(pl.col("i").cast(pl.Int64))

    @cached_property
    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A connection with the table `t`, the rows in their order."""
        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        rows = pl.DataFrame(self.columns).to_arrow()  # noqa: F841 (DuckDB finds it by its name)
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
        return connection


# ---- calls
Call = Callable[[Data, int], Any]


def ours(aggregation: sw.Aggregation, *columns: str) -> Call:
    """sw.rolling, on one thread."""

    def call(data: Data, window: int) -> Any:
        arrays = tuple(data[c] for c in columns)
        return sw.rolling(arrays if len(arrays) > 1 else arrays[0], aggregation, sw.rows(window))

    return call


def _bottleneck(function: Callable[..., Any], data: Data, window: int, **options: Any) -> Any:
    return function(data["x"], min(window, len(data)), min_count=1, **options)


def _numbagg(function: Callable[..., Any], data: Data, window: int) -> Any:
    return function(data["x"], window=min(window, len(data)), min_count=1)


def _pandas(function: Callable[..., Any], data: Data, window: int) -> Any:
    return function(data.pandas["x"].rolling(window, min_periods=1)).to_numpy()


def _polars(function: Callable[..., Any], data: Data, window: int) -> Any:
    """A function of one Series, with polars' own names for the window."""
    return function(data.polars["x"], window_size=window, min_samples=1).to_numpy()


class TooLarge(Exception):
    """What a peer would hold does not fit into memory."""


#: rows of all frames together that may be copied at once, of 8 bytes each
MOST_COPIED = 1 << 30


def _polars_frames(expression: pl.Expr, data: Data, window: int) -> Any:
    """Any expression over every frame anew: O(window) a row, and some expressions copy all frames at once."""
    if len(data) * min(window, len(data)) > MOST_COPIED:
        raise TooLarge
    return data.polars.select(expression.rolling("i", period=f"{window}i").alias("r"))["r"].to_numpy()


def _duckdb(expression: str, threads: int, data: Data, window: int) -> Any:
    data.duckdb.execute(f"SET threads = {threads}")
    over = f"WINDOW w AS (ROWS BETWEEN {window - 1} PRECEDING AND CURRENT ROW)"
    return data.duckdb.execute(f"SELECT {expression} AS r FROM t {over}").fetchnumpy()["r"]


def _sql(expression: str) -> dict[str, Call]:
    """DuckDB on one thread, and on all of them."""
    both: dict[str, Call] = {"DuckDB": partial(_duckdb, expression, 1)}
    if (cores := os.cpu_count() or 1) > 1:
        both[ALL_THREADS] = partial(_duckdb, expression, cores)
    return both


#: the library that is timed by the wall clock, since it works on all cores
ALL_THREADS = "DuckDB, all threads"


# ---- the table
@dataclass(frozen=True)
class Comparison:
    """One aggregate, in every library that has it."""

    name: str
    ours: Call
    peers: dict[str, Call]
    #: the fastest peer's time to ours, at least: at every window, or at each of WINDOWS
    expected: float | tuple[float, float, float]
    #: the same, against one peer by name
    expected_of: dict[str, float] = field(default_factory=dict)
    #: written by hand from a library's rolling sums or means, which it does not have as one aggregate: timed and shown
    #: but not among the peers that `expected` speaks of
    by_hand: dict[str, Call] = field(default_factory=dict)
    #: whether two answers are equally right
    agree: Callable[[Data, int, np.ndarray, np.ndarray], bool] = lambda data, window, a, b: close(a, b)

    def libraries(self) -> dict[str, Call]:
        """All but ours."""
        return {**self.peers, **self.by_hand}

    def at_least(self, window: int, library: str) -> float | None:
        """The ratio expected against a library."""
        if library in self.by_hand:
            return None
        if library in self.expected_of:
            return self.expected_of[library]
        return self.expected[WINDOWS.index(window)] if isinstance(self.expected, tuple) else self.expected


def plain(results: Any) -> np.ndarray:
    """Results as floats, null as NaN."""
    return np.ma.filled(np.ma.asanyarray(results).astype(np.float64), np.nan)


def close(a: Any, b: Any) -> bool:
    """Equal but for rounding; bottleneck's sums drift, by 1e-9 of a value after 10 million rows."""
    return bool(np.allclose(plain(a), plain(b), rtol=1e-7, atol=1e-9, equal_nan=True))


def equally_frequent(data: Data, window: int, a: Any, b: Any) -> bool:
    """Modes may differ where several values are as frequent; libraries break the tie in ways of their own.

    Looks at some rows only, since it counts them.
    """
    k = data["k"]
    for row in np.linspace(0, len(data) - 1, 200).astype(int):
        frame = k[max(0, row - window + 1) : row + 1]
        if np.count_nonzero(frame == a[row]) != np.count_nonzero(frame == b[row]):
            return False
    return True


def _simple(name: str, aggregation: sw.Aggregation, sql: str, expected: Any, **expected_of: float) -> Comparison:
    """What bottleneck, pandas, polars and, for some, numbagg call by the same name."""
    options: dict[str, Any] = {"ddof": 1} if name == "std" else {}
    peers: dict[str, Call] = {
        "bottleneck": partial(_bottleneck, getattr(bn, f"move_{name}"), **options),
        "pandas": partial(_pandas, getattr(pd.api.typing.Rolling, name)),
        "polars": partial(_polars, getattr(pl.Series, f"rolling_{name}")),
    }
    if hasattr(numbagg, f"move_{name}"):
        peers["numbagg"] = partial(_numbagg, getattr(numbagg, f"move_{name}"))
    label = "stddev" if name == "std" else name
    return Comparison(label, ours(aggregation, "x"), peers | _sql(f"{sql} OVER w"), expected, expected_of)


def _weighted(total: Callable[[np.ndarray], Any], data: Data) -> Any:
    return total(data["x"] * data["y"]) / total(data["y"])


COMPARISONS = (
    _simple("max", sw.max(), "max(x)", 5),
    _simple("min", sw.min(), "min(x)", 5),
    _simple("sum", sw.sum(), "sum(x)", 2, bottleneck=1),
    _simple("mean", sw.mean(), "avg(x)", 2, bottleneck=1),
    _simple("std", sw.stddev(), "stddev_samp(x)", 2, bottleneck=0.6),
    Comparison(
        "max_by",
        ours(sw.max_by(), "y", "x"),
        {"polars": partial(_polars_frames, pl.col("y").get(pl.col("x").arg_max()))} | _sql("arg_max(y, x) OVER w"),
        5,
    ),
    Comparison(
        "first",
        ours(sw.first(), "x"),
        {"polars": partial(_polars_frames, pl.col("x").first())} | _sql("first_value(x) OVER w"),
        5,
    ),
    Comparison(
        "last",
        ours(sw.last(), "x"),
        {"polars": partial(_polars_frames, pl.col("x").last())} | _sql("last_value(x) OVER w"),
        5,
    ),
    Comparison(
        "geomean",
        ours(sw.geomean(), "x"),
        _sql("geomean(x) OVER w"),
        5,
        by_hand={
            "bottleneck by hand": lambda d, w: np.exp(bn.move_mean(np.log(d["x"]), min(w, len(d)), min_count=1)),
        },
    ),
    Comparison(
        "Vwap",
        ours(Vwap(), "x", "y"),
        _sql("sum(x * y) OVER w / sum(y) OVER w"),
        5,
        by_hand={
            "bottleneck by hand": lambda d, w: _weighted(lambda x: bn.move_sum(x, min(w, len(d)), min_count=1), d),
        },
    ),
    _simple("median", sw.median(), "median(x)", (1.5, 4, 3)),
    Comparison(
        "percentile 0.95",
        ours(sw.percentile(0.95), "x"),
        {
            "pandas": partial(_pandas, lambda rolling: rolling.quantile(0.95)),
            "polars": lambda d, w: (
                d.polars["x"].rolling_quantile(0.95, "linear", window_size=w, min_samples=1).to_numpy()
            ),
            **_sql("quantile_cont(x, 0.95) OVER w"),
        },
        (1.5, 4, 3),
    ),
    Comparison(
        "count_distinct",
        ours(sw.count_distinct(), "k"),
        {"polars": partial(_polars_frames, pl.col("k").n_unique())} | _sql("count(DISTINCT k) OVER w"),
        150,
    ),
    Comparison(
        "mode",
        ours(sw.mode(), "k"),
        _sql("mode(k) OVER w"),
        25,
        agree=equally_frequent,
    ),
)
