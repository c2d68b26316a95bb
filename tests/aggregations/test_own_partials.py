"""Your own aggregations over columns, whatever their partials are: the answer is that of plain Python, and where they
run interpreted that is said once, at the line that called."""

import functools
import inspect
import warnings

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.columns import threads

X = [3, 1, 4, 1, 5, 9, 2, 6, 5, 12]


def own(name, lift, combine, lower=lambda s: s, **declared):
    return type(name, (sw.Aggregation,), {"lift": lift, "combine": combine, "lower": lower, **declared})


OWN = {
    "dict": own("Tally", lambda x: {x: 1}, lambda a, b: {**a, **b}, len, identity={}),
    "dict, and a number for identity": own("Tally", lambda x: {x: 1}, lambda a, b: {**a, **b}, len, identity=0),
    "tuple of any length": own("All", lambda x: (x,), lambda a, b: a + b, len, identity=()),
    "text": own("Digits", lambda x: str(x), lambda a, b: a + b, identity=""),
    "set": own("Kinds", lambda x: frozenset([x]), lambda a, b: a | b, len, identity=frozenset()),
    "list": own("Listed", lambda x: [x], lambda a, b: a + b, len, identity=[]),
    "integers of any size": own("Big", lambda x: int(x) << 80, lambda a, b: a + b, lambda s: s >> 80, identity=0),
    "tuples in it": own("In", lambda x: ((x,),), lambda a, b: ((a[0][0] + b[0][0],),), lambda s: s[0][0], identity=0),
    "fails on the trial": own("Odd", lambda x: 100 // (x - 1) if x != 1 else 0, lambda a, b: a + b, identity=0),
    "results that are dicts": own("Named", lambda x: x, lambda a, b: a + b, lambda s: {"total": s}, identity=0),
    "results that are texts": own("Said", lambda x: x, lambda a, b: a + b, lambda s: str(s * 10**6), identity=0),
    "numbers": own("Total", lambda x: x, lambda a, b: a + b, identity=0),
    "pairs of numbers": own("Two", lambda x: (x, 1), lambda a, b: (a[0] + b[0], a[1] + b[1]), max, identity=(0, 0)),
    "no identity": own("Greater", lambda x: x, lambda a, b: a if a > b else b),
}  # fmt: skip
WINDOWS = {
    "rows": (sw.rows(3), lambda i: X[max(0, i - 2) : i + 1]),
    "around": (sw.rows_between(-1, 1), lambda i: X[max(0, i - 1) : i + 2]),
    "without itself": (sw.rows_between(-2, 2, exclude="current row"), lambda i: X[max(0, i - 2) : i] + X[i + 1 :][:2]),
}  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("ignore::slidewise.CompileFallback")
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", OWN)
def test_partials_and_results_may_be_anything(kind, window):
    cls, (over, frame) = OWN[kind], WINDOWS[window]
    wanted = [cls.lower(functools.reduce(cls.combine, map(cls.lift, frame(i)))) for i in range(len(X))]
    table = pa.table({"x": X, "k": [0] * len(X)})
    assert sw.with_columns(table, y=cls("x").over(over))["y"].to_pylist() == wanted
    assert sw.with_columns(table, partition_by="k", y=cls("x").over(over))["y"].to_pylist() == wanted
    if window == "rows":
        out = sw.aggregate(table, window=sw.rows(3, every=2), y=cls("x"))
        assert out["y"].to_pylist() == wanted[1::2]


@pytest.mark.filterwarnings("ignore::slidewise.CompileFallback")
def test_integers_beyond_int64_are_an_error_and_not_rounded():
    up = own("Up", lambda x: int(x) + 2**63, lambda a, b: max(a, b), identity=0)
    with pytest.raises(OverflowError, match="more than 64 bits"):
        sw.with_columns(pa.table({"x": [*X, -(2**63)]}), y=up("x").over(1))
    back = own("Back", lambda x: int(x) + 2**63, lambda a, b: max(a, b), lambda s: s - 2**63, identity=0)
    assert sw.with_columns(pa.table({"x": X}), y=back("x").over(1))["y"].to_pylist() == X


@pytest.mark.compiled
def test_results_that_no_column_can_hold_are_refused_in_words():
    big = own("Big", lambda x: int(x) << 80, lambda a, b: a + b, identity=0)
    with pytest.raises(OverflowError, match="more than 64 bits"), pytest.warns(sw.CompileFallback):
        sw.with_columns({"x": X}, y=big("x").over(3))
    mixed = own("Mixed", lambda x: x, lambda a, b: a + b, lambda s: s if s % 2 else str(s), identity=0)
    with pytest.raises(sw.InvalidInput, match="do not go together"), pytest.warns(sw.CompileFallback):
        sw.with_columns({"x": X}, y=mixed("x").over(3))


def calls():
    """Calls of which each has a line of its own; many keys go to threads."""
    n = 2_000
    table = {"x": np.arange(n) % 7.0, "k": np.arange(n) % 50}
    return [
        lambda cls: sw.with_columns(table, y=cls("x").over(3), z=cls("x").over(4)),
        lambda cls: sw.with_columns(table, partition_by="k", threads=2, y=cls("x").over(3)),
        lambda cls: sw.rolling(np.arange(9.0), cls(), 3),
        lambda cls: [sw.rolling(np.arange(9.0), cls(), n) for n in (2, 3, 4)],
        lambda cls: sw.aggregate({"x": np.arange(9.0)}, window=sw.rows(3, every=2), y=cls("x")),
    ]  # fmt: skip


@pytest.mark.full
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["dict", "no identity", "results that are texts", "numba cannot"])
def test_a_fallback_is_told_once_at_the_line_of_the_caller(kind, monkeypatch):
    monkeypatch.setattr(threads, "CHUNK", 100)
    fresh = OWN.get(kind, OWN["numbers"])
    declared = {name: getattr(fresh, name) for name in ("lift", "combine", "lower", "identity")}
    if kind == "numba cannot":
        declared |= {"lift": lambda x: float(str(x)), "identity": 0.0}  # numba has no text of a float
    for call in calls():
        cls = own(f"Fresh{kind[:4]}", **declared)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(cls)
        told = [w for w in caught if issubclass(w.category, sw.CompileFallback)]
        assert [w.filename for w in told] == [__file__], told
        assert told[0].lineno == inspect.getsourcelines(call)[1]
        assert str(told[0].message).startswith(f"Fresh{kind[:4]} runs interpreted, since")


def test_partials_of_changing_length_are_told_in_words():
    class Collected(sw.Aggregation):
        identity = ()

        @staticmethod
        def lift(x):
            return (x,)

        @staticmethod
        def combine(a, b):
            return a + b

        @staticmethod
        def lower(s):
            return len(s)

    with pytest.warns(sw.CompileFallback, match="since its partials are tuples of changing length"):
        assert sw.rolling(np.array([1.0, 2.0, 3.0]), Collected(), 2).tolist() == [1, 2, 2]
