"""Compiled functions give what the interpreted ones give, on every kind of column."""

import math
import types

import numpy as np
import pytest
from support.aggregations import build
from support.tiers import in_full

import slidewise as sw
from slidewise.registry.aggregations import AGGREGATION

pytestmark = pytest.mark.compiled

RANDOM = np.random.default_rng(7)
FLOATS = RANDOM.normal(size=40)
INTEGERS = RANDOM.integers(-30, 30, size=40)
COLUMNS = {
    "floats": FLOATS,
    "integers": INTEGERS,
    "nan": np.where(np.arange(40) == 7, np.nan, FLOATS),
    "lowest": np.full(3, -np.inf),
}
ONE_COLUMN = [
    "count", "sum", "avg", "min", "max", "product", "geomean", "stddev", "stddev_pop", "var_samp", "var_pop",
    "skewness", "kurtosis", "max_count", "min_count", "first", "last", "relative_variation", "m4",
    "moment_sketch", "bloom_filter",
]  # fmt: skip


def alike(a, b):
    if a is None or b is None:
        return a is b
    return np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.full
@pytest.mark.parametrize("name", ONE_COLUMN)
@pytest.mark.parametrize("kind", ["floats", pytest.param("integers", marks=pytest.mark.soak), "nan", "lowest"])
def test_one_column(name, kind, fold, compiled_fold):
    column = COLUMNS[kind]
    aggregation = getattr(sw, name)()
    assert alike(compiled_fold(aggregation, (column,)), fold(aggregation, column.tolist()))


SKETCH = pytest.param("bloom_filter", marks=pytest.mark.soak)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", ["sum", "avg", "max", "min", "stddev", "first", "bit_or", "max_count", SKETCH])
@pytest.mark.parametrize("dtype", ["i1", "u4", "u8", "f4"])
def test_narrow_types(name, dtype, fold, compiled_fold):
    column = np.abs(INTEGERS).astype(dtype)
    aggregation = getattr(sw, name)()
    result = compiled_fold(aggregation, (column,))
    if isinstance(result, str):
        assert (name, dtype) in {("sum", "u8"), ("avg", "u8"), ("bit_or", "f4")}
    else:
        assert alike(result, fold(aggregation, column.tolist()))


def test_uint64_above_int64(compiled_fold):
    column = np.array([2**64 - 1, 3], dtype="u8")
    assert compiled_fold(sw.max(), (column,)) == 2**64 - 1
    assert compiled_fold(sw.first(), (column,)) == 2**64 - 1


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", ["covar_samp", "corr", "max_by", "min_by"])
@pytest.mark.parametrize("other", ["integers", "nan"])
def test_two_columns(name, other, fold, compiled_fold):
    columns = (FLOATS, COLUMNS[other])
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    assert alike(compiled_fold(getattr(sw, name)(), columns), fold(getattr(sw, name)(), rows))


@pytest.mark.full
def test_max_by_at_the_lowest_ordering(compiled_fold):
    assert compiled_fold(sw.max_by(), (np.array([5.0]), np.array([-np.inf]))) == 5.0
    assert compiled_fold(sw.min_by(), (np.array([5]), np.array([np.iinfo("i8").max]))) == 5


@pytest.mark.parametrize("name", ["bool_and", *in_full("bool_or", "max", "min", "first")])
def test_booleans(name, fold, compiled_fold):
    column = np.array([True, False, True])
    assert compiled_fold(getattr(sw, name)(), (column,)) == fold(getattr(sw, name)(), column.tolist())


def test_min_of_nothing_but_nan(compiled_fold):
    assert math.isnan(compiled_fold(sw.min(), (np.array([np.nan, np.nan]),)))
    assert compiled_fold(sw.min(), (np.array([np.nan, np.inf]),)) == np.inf


@pytest.mark.parametrize("bits", [1024, *in_full(1000)])
def test_bloom_filter_sets_the_same_bits(bits, compiled_fold):
    import numba

    values = [0.0, -0.0, 1.0, -3.0, 0.1, -2.5e-300, 5e-324, 1e300, 2.0**62, 2.0**63, -(2.0**63)]
    aggregation = sw.bloom_filter(bits=bits)
    lift = aggregation.compiled((np.array(values),), 1).lift
    names = dict(lift.__globals__)
    for helper in ("mix", "hash_int", "hash_float"):
        names[helper] = numba.njit(types.FunctionType(names[helper].__code__, names))
    compiled = numba.njit(types.FunctionType(lift.__code__, names))
    for x in [*values, math.inf, -math.inf, math.nan]:
        assert sum(int(w) << 64 * i for i, w in enumerate(compiled(x))) == aggregation.lift(x)
        if x.is_integer() and abs(x) < 2**63:
            assert aggregation.lift(int(x)) == aggregation.lift(x)


@pytest.mark.filterwarnings("ignore::slidewise.CompileFallback")  # of those that leave the choice to a trial
def test_text_is_interpreted():
    column = np.array(["a", "b"])
    for name in AGGREGATION:
        aggregation = build(name)
        assert aggregation.compiled((column,) * aggregation.arity, 2) is None
