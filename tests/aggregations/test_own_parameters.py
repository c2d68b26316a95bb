"""Aggregations of your own with parameters: two that were made of different ones are never taken for each other."""

from __future__ import annotations

import copy
import pickle
import textwrap
from typing import Any

import numpy as np
import pytest

import slidewise as sw

X = np.array([3.0, 12.0, 7.0, 40.0])
W = np.array([1.0, 2.0, 1.0, 2.0])


class Told(sw.Aggregation):
    """Tells the base class all of its parameters."""

    identity = 0.0
    commutative = True

    def __init__(self, *columns: str, top: float = 10.0) -> None:
        super().__init__(*columns, top=top)
        self.lift = lambda x: min(x, top)

    @staticmethod
    def combine(a: float, b: float) -> float:
        return a + b


class Untold(Told):
    """Tells it none, and has the columns first."""

    def __init__(self, column: str | None = None, top: float = 10.0) -> None:
        sw.Aggregation.__init__(self, *([] if column is None else [column]))
        self.lift = lambda x: min(x, top)


class Rounded(Told):
    """Tells it another value than it uses."""

    def __init__(self, *columns: str, top: float = 10.0) -> None:
        super().__init__(*columns, top=top // 10)
        self.lift = lambda x: min(x, top)


class UntoldVersioned(Untold):
    state_version = 1


class ToldVersioned(Told):
    state_version = 1


def make_class(top: float) -> type[sw.Aggregation]:
    class Made(sw.Aggregation):
        identity = 0.0
        commutative = True

        @staticmethod
        def lift(x: float) -> float:
            return min(x, top)

        @staticmethod
        def combine(a: float, b: float) -> float:
            return a + b

    return Made


def make_versioned(top: float) -> type[sw.Aggregation]:
    return type("Versioned", (make_class(top),), {"state_version": 1})


def factory(make: Any) -> Any:
    return lambda *columns, top=10.0: make(top)(*columns)


CLASSES = [Told, Untold, Rounded, UntoldVersioned, ToldVersioned]
KINDS: list[Any] = [
    *(pytest.param(cls, id=cls.__name__) for cls in CLASSES),
    pytest.param(factory(make_class), id="factory"),
    pytest.param(factory(make_versioned), id="versioned factory"),
]


def expected(top: float) -> list[float]:
    clipped = np.minimum(X, top)
    return [float(clipped[max(k - 1, 0) : k + 1].sum()) for k in range(len(X))]


@pytest.mark.parametrize("own", KINDS)
def test_each_way_to_run_has_the_parameters_of_each(own: Any) -> None:
    for top in (10.0, 15.0, 5.0):
        assert sw.rolling(X, own(top=top), sw.rows(2)).tolist() == expected(top)
        window = sw.Window(own(top=top), sw.rows(2))
        assert [result.value for x in X for result in window.push(float(x))] == expected(top)
        s = sw.swag("daba_lite", own(top=top))
        s.insert(40.0)
        assert s.query() == top
    out = sw.with_columns({"x": X}, {f"top{top}": own("x", top=top).over(sw.rows(2)) for top in (10.0, 15.0, 5.0)})
    assert {name: values.tolist() for name, values in out.items() if name != "x"} == {
        f"top{top}": expected(top) for top in (10.0, 15.0, 5.0)
    }
    hopping = sw.Window({"low": own("x", top=5.0), "high": own("x", top=15.0)}, sw.rows(2, every=2))
    assert [result.value for x in X for result in hopping.push({"x": float(x)})] == [
        {"low": 8.0, "high": 15.0}, {"low": 10.0, "high": 22.0}
    ]  # fmt: skip
    rows = sw.aggregate({"x": X}, window=sw.rows(2, every=2), low=own("x", top=5.0), high=own("x", top=15.0))
    assert rows["low"].tolist() == [8.0, 10.0] and rows["high"].tolist() == [15.0, 22.0]


@pytest.mark.parametrize("own", CLASSES)
def test_equality_is_that_of_the_arguments(own: Any) -> None:
    assert own("x", top=12.0) == own("x", top=12.0)
    assert hash(own("x", top=12.0)) == hash(own("x", top=12.0))
    assert own("x") == own("x", top=10.0)
    assert own("x", top=12.0) != own("x", top=13.0)
    assert own("x", top=12.0) != own("y", top=12.0)
    assert own("x", top=12.0, where="w") != own("x", top=12.0)


@pytest.mark.parametrize("own", CLASSES)
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_the_parameters(own: Any, clone: Any) -> None:
    one = clone(own("x", top=12.0, where="w"))
    assert one == own("x", top=12.0, where="w")
    assert one.lift(40.0) == 12.0
    renamed = copy.copy(own("x", top=12.0))
    renamed.columns = ("y",)
    assert clone(renamed) == renamed
    assert clone(renamed).columns == ("y",)


@pytest.mark.parametrize("own", KINDS)
def test_state_of_other_parameters_is_refused(own: Any) -> None:
    s = sw.swag("daba_lite", own(top=12.0))
    s.insert(40.0)
    assert sw.swag("daba_lite", own(top=12.0)).from_bytes(s.to_bytes()).query() == 12.0
    with pytest.raises(sw.StateError, match="another definition"):
        sw.swag("daba_lite", own(top=13.0)).from_bytes(s.to_bytes())

    def window(top: float) -> sw.Window:
        return sw.Window({"total": own("x", top=top)}, sw.rows(3), partition_by="k")

    w = window(12.0)
    w.push({"k": "a", "x": 40.0})
    again = window(12.0).from_bytes(w.to_bytes())
    assert again.push({"k": "a", "x": 40.0})[0]["total"] == 24.0
    with pytest.raises(sw.StateError, match="another definition"):
        window(13.0).from_bytes(w.to_bytes())


def test_arguments_that_were_not_told_are_shown() -> None:
    assert repr(Told("x", top=3.0)) == "Told('x', top=3.0)"
    assert repr(Untold("x", top=3.0)) == "Untold('x', top=3.0)"
    assert repr(Untold("x")) == "Untold('x')"  # by default, as the class says it


def test_parameters_may_be_texts_that_are_also_columns() -> None:
    class Sided(sw.Aggregation):
        identity = 0.0

        def __init__(self, left: str, right: str, by: str) -> None:
            super().__init__(left, right)
            self.lift = (lambda a, b: a) if by == left else (lambda a, b: b)

        @staticmethod
        def combine(a: float, b: float) -> float:
            return a + b

    left, right = Sided("x", "w", by="x"), Sided("x", "w", by="w")
    assert left.parameters != right.parameters
    out = sw.with_columns({"x": X, "w": W}, left=left.over(1), right=right.over(1))
    assert out["left"].tolist() == X.tolist() and out["right"].tolist() == W.tolist()


def test_lift_of_several_columns_may_be_made_after_the_base_class_is_called() -> None:
    class Weighted(sw.Aggregation):
        identity = (0.0, 0.0)

        def __init__(self, *columns: str, power: int) -> None:
            super().__init__(*columns, power=power)
            self.lift = lambda x, w: (x * w**power, w**power)

        @staticmethod
        def combine(a: Any, b: Any) -> Any:
            return (a[0] + b[0], a[1] + b[1])

        @staticmethod
        def lower(s: Any) -> Any:
            return s[0] / s[1]

    out = sw.with_columns({"x": X, "w": W}, m=Weighted("x", "w", power=2).over(sw.rows(2)))
    assert out["m"].tolist() == [3.0, 10.2, 11.0, 33.4]
    with pytest.raises(sw.InvalidInput, match="Weighted takes 2 columns or none, got 1"):
        Weighted("x", power=2)


def test_arrays_as_parameters_are_compared_whole() -> None:
    class Looked(sw.Aggregation):
        identity = 0.0
        state_version = 1

        def __init__(self, *columns: str, table: Any) -> None:
            super().__init__(*columns, table=table)
            self.lift = lambda x: table[int(x)]

        @staticmethod
        def combine(a: float, b: float) -> float:
            return a + b

    table = np.zeros(5000)
    other = table.copy()
    other[12] = 1.0  # the text of an array leaves it out
    out = sw.with_columns({"x": X}, a=Looked("x", table=table).over(1), b=Looked("x", table=other).over(1))
    assert out["a"].tolist() == [0.0] * 4 and out["b"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert Looked("x", table=table) == Looked("x", table=table.copy())
    s = sw.swag("daba_lite", Looked(table=table))
    s.insert(12.0)
    with pytest.raises(sw.StateError, match="another definition"):
        sw.swag("daba_lite", Looked(table=other)).from_bytes(s.to_bytes())


def test_one_of_ours_with_a_parameter_fixed() -> None:
    class Ninth(sw.percentile):  # type: ignore[valid-type]
        def __init__(self, column: str | None = None) -> None:
            super().__init__(column, 0.9)

    assert sw.rolling(X, Ninth(), sw.rows(4)).tolist() == sw.rolling(X, sw.percentile(0.9), sw.rows(4)).tolist()
    assert copy.copy(Ninth("x")) == Ninth("x")


# ---- what is refused
def test_an_init_that_does_not_call_the_base_class() -> None:
    class Lost(sw.Aggregation):
        def __init__(self, top: float) -> None:
            self.top = top

        @staticmethod
        def combine(a: float, b: float) -> float:
            return a + b

    with pytest.raises(sw.InvalidInput, match=r"Lost: its __init__ does not call super\(\).__init__\(\*columns\)"):
        Lost(3.0)


def test_functions_that_take_self_say_where_parameters_go() -> None:
    source = """
    class Mine(sw.Aggregation):
        def lift(self, x): return min(x, self.top)
    """
    with pytest.raises(sw.InvalidInput, match=r"parameters, make it in __init__: self\.lift = "):
        exec(textwrap.dedent(source), {"sw": sw})
