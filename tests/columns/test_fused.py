"""Several aggregations in one pass give what each gives alone."""

from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.aggregations.base import Aggregation
from slidewise.columns import evaluate, fused, threads
from slidewise.columns.threads import compute_keys

RNG = np.random.default_rng(29)


class Spread(Aggregation):
    identity = (-np.inf, np.inf)
    commutative = True

    @staticmethod
    def lift(x):
        return (x * 1.0, x * 1.0)

    @staticmethod
    def combine(a, b):
        return (max(a[0], b[0]), min(a[1], b[1]))

    @staticmethod
    def lower(s):
        return s[0] - s[1]


AGGREGATIONS = [sw.max("x"), sw.min("x"), sw.sum("x"), sw.avg("x"), sw.stddev("x"), sw.var_pop("x"), Spread("x")]
WINDOWS = [sw.rows(1), sw.rows(9), sw.rows(10), sw.rows(700), sw.rows(10**6), sw.rows(50, min_rows=7)]
BETWEEN = [sw.rows_between(-20, -3)]


def columns_of(windows):
    return {f"{a.name} {w}": a.over(w) for a in AGGREGATIONS for w in windows}


def with_nan(rows):
    x = RNG.normal(3.0, 1.0, rows)
    x[RNG.integers(0, rows, 3)] = np.nan
    return x


VALUES = {
    "floats": lambda rows: RNG.normal(1e6, 1.0, rows),
    "integers": lambda rows: RNG.integers(-(10**6), 10**6, rows),
    "NaN": with_nan,
    "constant": lambda rows: np.full(rows, 0.1),
}


@pytest.fixture
def passes(monkeypatch):
    """The aggregations of each pass over the rows."""
    made, compute = [], compute_keys

    def counting(aggregations, *rest):
        made.append([aggregation.name for aggregation in aggregations])
        return compute(aggregations, *rest)

    monkeypatch.setattr(evaluate, "compute_keys", counting)
    return made


def both(monkeypatch, data, columns, **call):
    monkeypatch.setattr(fused, "MANY", 1 << 60)
    alone = sw.with_columns(data, **call, **columns)
    monkeypatch.setattr(fused, "MANY", 0)
    return alone, sw.with_columns(data, **call, **columns)


def check(alone, together, columns, data):
    size = np.max(np.abs(np.nan_to_num(data["x"])))
    for name in columns:
        if name.startswith("Spread") and np.isnan(data["x"]).any():
            continue  # max() and min() of a NaN depend on their order
        a, b = alone[name], together[name]
        assert a.dtype == b.dtype, name
        assert np.array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b)), name
        a, b = np.ma.filled(a, 0), np.ma.filled(b, 0)
        # what is within rounding of zero beside the values is zero
        assert np.allclose(a, b, rtol=1e-12, atol=0 if a.dtype.kind == "i" else 1e-13 * size, equal_nan=True), name


@pytest.mark.full
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("rows", [1, 2, 3000])
def test_trailing_rows(monkeypatch, kind, rows):
    data = {"x": VALUES[kind](rows)}
    columns = columns_of(WINDOWS)
    check(*both(monkeypatch, data, columns), columns=columns, data=data)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["floats", pytest.param("integers", marks=pytest.mark.soak)])
@pytest.mark.parametrize("number", [1, 2])
def test_keys(monkeypatch, kind, number):
    monkeypatch.setattr(threads, "CHUNK", 500)
    data = {"x": VALUES[kind](3000), "key": RNG.integers(0, 7, 3000)}
    columns = columns_of([*WINDOWS[1:3], *BETWEEN])
    check(*both(monkeypatch, data, columns, partition_by="key", threads=number), columns=columns, data=data)


def test_one_pass_for_a_window(monkeypatch, passes):
    monkeypatch.setattr(fused, "MANY", 0)
    data: dict[str, Any] = {
        "x": np.ma.masked_array(VALUES["floats"](500), RNG.random(500) < 0.1),
        "y": np.arange(500.0),
    }
    columns = {f"{a.name} {w}": a.over(sw.rows(w)) for a in AGGREGATIONS for w in (9, 10)}
    sw.with_columns(data, **columns, other=sw.max("y").over(sw.rows(9)), middle=sw.median("x").over(sw.rows(9)))
    # rows without nulls are not the last n of the table: standard deviations are not always defined there
    always = [a.name for a in AGGREGATIONS if a.name != "stddev"]
    assert [p for p in passes if len(p) > 1] == [always, always]
    passes.clear()
    data["x"] = data["x"].data
    sw.with_columns(data, **columns)
    by_lanes = ["max", "min", "sum"]  # as fast alone; avg follows from sum
    assert passes == [["stddev", "var_pop", "Spread"], *([name] for name in by_lanes)] * 2
    passes.clear()
    data["x"][7] = np.nan
    sw.with_columns(data, **columns)
    assert passes == [["max", "min", "stddev", "var_pop", "Spread"], ["sum"]] * 2


def test_equal_partials_are_held_once():
    x = (np.arange(5.0),)
    ops = [a.compiled(x, 3) for a in (sw.sum("x"), sw.avg("x"), sw.var_pop("x"), sw.stddev("x"), sw.max("x"))]
    made = fused.joint(ops, x, counted=True)
    assert len(made.partial) == 4  # a sum, deviations and their squares, the largest
    assert (made.now, made.later) == ((0, 1, 4), (2, 3))


def test_few_rows_are_not_worth_a_kernel(passes):
    sw.with_columns({"x": np.arange(100.0)}, **columns_of([sw.rows(9)]))
    assert all(len(p) == 1 for p in passes)


@pytest.mark.compiled
def test_what_cannot_be_compiled_runs_alone(monkeypatch):
    monkeypatch.setattr(fused, "MANY", 0)

    class Text(Aggregation):
        identity = 0.0

        @staticmethod
        def lift(x):
            return float(str(x))  # numba has no str of a float

        @staticmethod
        def combine(a, b):
            return a + b

    with pytest.warns(sw.errors.CompileFallback) as caught:
        out = sw.with_columns({"x": np.arange(20.0)}, s=Text("x").over(sw.rows(9)), m=sw.max("x").over(sw.rows(9)))
    assert all("Text runs interpreted" in str(w.message) for w in caught)
    assert np.array_equal(out["s"], np.convolve(np.arange(20.0), np.ones(9))[:20])
    assert np.array_equal(out["m"], np.arange(20.0))


@pytest.mark.full
def test_drift(monkeypatch):
    """Huge values among small ones leave no trace once they have left."""
    monkeypatch.setattr(fused, "MANY", 0)
    x = RNG.normal(1.0, 1.0, 200_000)
    x[[5_000, 70_001, 70_002, 150_000]] = 1e18, -1e18, 1e18, np.nan
    window = sw.rows(1000)
    made = {"sum": sw.sum("x"), "avg": sw.avg("x"), "stddev": sw.stddev("x"), "max": sw.max("x")}
    out = sw.with_columns({"x": x}, **{name: a.over(window) for name, a in made.items()})
    for i in (6_000, 70_000, 71_002, 100_000, 151_000, 199_999):
        frame = x[i - 999 : i + 1]
        assert np.isclose(out["sum"][i], frame.sum(), rtol=1e-12)
        assert np.isclose(out["avg"][i], frame.mean(), rtol=1e-12)
        assert np.isclose(out["stddev"][i], frame.std(ddof=1), rtol=1e-12)
        assert out["max"][i] == frame.max()
