"""Your own aggregation reads values that change: every way to run it sees them, in the same process."""

import datetime
import sys
import textwrap
import types
from typing import Any

import numpy as np
import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.aggregations.code_digest import content_digest
from slidewise.columns.two_phase import divide
from slidewise.errors import StateError

pytestmark = pytest.mark.compiled

#: how lift reads a factor, with what stands around it, and what sets another factor
READS = {
    "global": ("FACTOR = 2.0", "x * FACTOR", "FACTOR = 3.0"),
    "module": ("import mylib", "x * mylib.FACTOR", "mylib.FACTOR = 3.0"),
    "module in a module": ("import mylib as m", "x * m.inner.FACTOR", "m.inner.FACTOR = 3.0"),
    "table in a module": ("import mylib", "x * mylib.TABLE[1]", "mylib.TABLE = (5.0, 3.0)"),
    "array in a module": ("import mylib", "x * mylib.ARRAY[1]", "mylib.ARRAY[1] = 3.0"),
    "helper": ("import mylib\ndef helper(x): return x * mylib.FACTOR", "helper(x)", "mylib.FACTOR = 3.0"),
    "helper's helper": (
        "import mylib\ndef least(x): return x * mylib.FACTOR\ndef helper(x): return least(x)",
        "helper(x)",
        "mylib.FACTOR = 3.0",
    ),
    "helper in a module": ("import mylib", "mylib.scaled(x)", "mylib.FACTOR = 3.0"),
    "class": ("class Settings:\n    factor = 2.0", "x * Settings.factor", "Settings.factor = 3.0"),
    "object": (
        "from types import SimpleNamespace\nsettings = SimpleNamespace(of=SimpleNamespace(factor=2.0))",
        "x * settings.of.factor",
        "settings.of.factor = 3.0",
    ),
    "list": ("FACTORS = [1.0, 2.0]", "x * FACTORS[1]", "FACTORS[1] = 3.0"),
    "dict": ("FACTORS = {'a': 2.0}", "x * FACTORS['a']", "FACTORS['a'] = 3.0"),
    "function that is replaced": ("def helper(x): return x * 2.0", "helper(x)", "def helper(x): return x * 3.0"),
    "default of a helper": ("def helper(x, f=2.0): return x * f", "helper(x)", "helper.__defaults__ = (3.0,)"),
    "keyword of a helper": (
        "def helper(x, *, f=2.0): return x * f",
        "helper(x)",
        "helper.__kwdefaults__ = {'f': 3.0}",
    ),
}
MODULE = """
FACTOR = 2.0
TABLE = (5.0, 2.0)
ARRAY = np.array([5.0, 2.0])
inner.FACTOR = 2.0
def scaled(x): return x * FACTOR
"""
X = np.arange(1.0, 9.0)


@pytest.fixture
def changing(monkeypatch):
    """A class whose lift reads a factor of 2, and what makes it 3."""

    def make(read):
        module: Any = types.ModuleType("mylib")
        module.inner, module.np = types.ModuleType("mylib.inner"), np
        exec(MODULE, module.__dict__)
        monkeypatch.setitem(sys.modules, "mylib", module)
        before, lift, change = READS[read]
        own = {"sw": sw, "__name__": "own"}
        source = "class Mine(sw.Aggregation):\n    identity = 0.0\n    commutative = True\n"
        exec(f"{before}\n{source}    def lift(x): return {lift}\n    def combine(a, b): return a + b", own)
        return own["Mine"], lambda: exec(change, own)

    return make


def by_columns(mine):
    return sw.with_columns({"x": X}, r=mine("x").over(sw.rows(1)))["r"].tolist()


def by_columns_together(mine):
    columns = {"r": mine("x").over(sw.rows(1)), "s": sw.sum("x").over(sw.rows(1))}
    return sw.with_columns({"x": X}, **columns)["r"].tolist()


def interpreted(mine):
    return sw.rolling(X.astype(object), mine(), sw.rows(1)).tolist()


def by_slides(mine):
    return sw.aggregate({"x": X}, window=sw.rows(1, every=1), r=mine("x"))["r"].tolist()


def by_window(mine):
    window = sw.Window(mine(), sw.rows(1))
    return [result.value for x in X.tolist() for result in window.push(x)]


def by_structure(mine):
    structure = sw.swag("two_stacks_lite", mine())
    out = []
    for x in X.tolist():
        structure.insert(x)
        out.append(structure.query())
        structure.evict()
    return out


WAYS = [by_columns, interpreted, by_window, by_structure]
#: each of the others compiles kernels, too
QUICK = ["global", "module", "helper", "object", "function that is replaced"]
#: each of which compiles two kernels more
MORE_WAYS = [by_columns_together, by_slides]
#: those that numba compiles, and only the first of them in the quick tests
COMPILED = ["module", "module in a module", "table in a module", "array in a module", "helper", "helper's helper"]


@pytest.mark.filterwarnings("ignore::slidewise.CompileFallback")
@pytest.mark.parametrize("read", [*QUICK, *in_full(*(read for read in READS if read not in QUICK))])
def test_a_value_that_changed_is_seen_in_every_way(changing, read):
    mine, change = changing(read)
    for way in WAYS:
        assert way(mine) == (X * 2).tolist(), way.__name__
    change()
    for way in WAYS:
        assert way(mine) == (X * 3).tolist(), way.__name__


@pytest.mark.full
@pytest.mark.parametrize("read", [COMPILED[0], *(pytest.param(r, marks=pytest.mark.soak) for r in COMPILED[1:])])
@pytest.mark.parametrize("way", MORE_WAYS)
def test_a_value_that_changed_is_seen_by_kernels(changing, read, way, monkeypatch):
    monkeypatch.setattr("slidewise.columns.fused.MANY", 1)
    mine, change = changing(read)
    assert way(mine) == (X * 2).tolist()
    change()
    assert way(mine) == (X * 3).tolist()


@pytest.mark.parametrize("read", READS)
def test_a_state_of_other_values_is_refused(changing, read):
    mine, change = changing(read)
    structure = sw.swag("two_stacks_lite", mine())
    structure.insert(1.0)
    saved = structure.to_bytes()
    sw.swag("two_stacks_lite", mine()).from_bytes(saved)
    change()
    with pytest.raises(StateError, match="functions was"):
        sw.swag("two_stacks_lite", mine()).from_bytes(saved)


@pytest.mark.parametrize("read", ["global", "module", "helper", "object"])
def test_partials_of_other_values_have_other_names(changing, read):
    import pyarrow as pa

    mine, change = changing(read)
    before = divide(mine("x"), [pa.float64()])
    change()
    after = divide(mine("x"), [pa.float64()])
    if before is not None and after is not None:
        assert before.columns.keys() != after.columns.keys()
    else:
        pytest.fail("floats have partials that are numbers")


def test_an_aggregation_whose_function_is_replaced_is_another_one():
    class Mine(sw.Aggregation):
        identity = 0.0

        @staticmethod
        def lift(x):
            return x * 2.0

        @staticmethod
        def combine(a, b):
            return a + b

    for way in WAYS:
        assert way(Mine) == (X * 2).tolist()
    Mine.lift = staticmethod(lambda x: x * 3.0)  # type: ignore[method-assign]
    for way in WAYS:
        assert way(Mine) == (X * 3).tolist(), way.__name__


def test_what_is_made_for_an_object_tells_it_from_others():
    """Nothing but what __init__ makes says that these two differ."""

    class From(sw.Aggregation):
        def __init__(self, *columns, start):
            self.identity = start
            super().__init__(*columns)

        @staticmethod
        def combine(a, b):
            return a + b

    assert From("x", start=1.0) == From("x", start=1.0)
    assert From("x", start=1.0) != From("x", start=2.0)

    class Scaled(sw.Aggregation):
        identity = 0.0

        def __init__(self, *columns, by=1.0):
            self.lift = lambda x: x * by
            super().__init__(*columns)

        @staticmethod
        def combine(a, b):
            return a + b

    twice, thrice = Scaled("x", by=2.0), Scaled("x", by=3.0)
    assert twice != thrice
    assert twice == Scaled("x", by=2.0)
    out = sw.with_columns({"x": X}, a=twice.over(sw.rows(1)), b=thrice.over(sw.rows(1)))
    assert out["b"].tolist() == (X * 3).tolist()
    for by in (2.0, 3.0):
        structure = sw.swag("two_stacks_lite", Scaled(by=by))
        structure.insert(1.0)
        assert structure.query() == by


def test_a_function_of_numba_is_compiled_with_the_values_of_now():
    import numba

    own = {"sw": sw, "numba": numba, "__name__": "own"}
    source = """
    FACTOR = 2.0
    @numba.njit(fastmath=True)
    def helper(x): return x * FACTOR
    class Mine(sw.Aggregation):
        identity = 0.0
        def lift(x): return helper(x)
        def combine(a, b): return a + b
    """
    exec(textwrap.dedent(source), own)
    assert by_columns(own["Mine"]) == (X * 2).tolist()
    own["FACTOR"] = 3.0
    assert by_columns(own["Mine"]) == (X * 3).tolist()


# ---- digests
def test_values_have_digests_by_content():
    import enum
    from decimal import Decimal

    class Colour(enum.Enum):
        RED = 1

    circle = [1]
    circle.append(circle)
    values = [
        1, 1.0, True, "1", b"1", (1,), [1], {1}, {1: 2}, {1: 3}, {2: 2}, Decimal(1), datetime.date(2024, 1, 1),
        datetime.timedelta(1), Colour.RED, np.float32(1), np.float64(1), np.arange(2), np.arange(3), circle, None,
    ]  # fmt: skip
    digests = [content_digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert digests == [content_digest(value) for value in values]
