"""SBA by vectors against recalculation: frames of any size beside vectors and blocks, all types, what has no vector."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.tiers import in_soak, share

import slidewise as sw
from slidewise.algorithms import _sba_lanes
from slidewise.columns import execute

BLOCK, FEW = _sba_lanes.BLOCK, _sba_lanes.FEW
#: every rest of a vector; the sizes at which another path is taken; more rows than there are
SIZES = [*range(1, 18), FEW - 8, FEW - 1, FEW, FEW + 1, 60, BLOCK - 1, BLOCK, BLOCK + 9, 2 * BLOCK + 1, 5_000]
ROWS = 3 * BLOCK + 5


def frames(x, n):
    return (x[max(0, i - n + 1) : i + 1] for i in range(len(x)))


def largest(frame):
    """As sw.max has it: NaN above all, ties to the earlier row."""
    found = frame[0]
    for value in frame[1:]:
        found = value if value > found or value != value else found
    return found


def smallest(frame):
    found = frame[0]
    for value in frame[1:]:
        found = value if value < found or found != found else found
    return found


def total(frame):
    return math.fsum(frame.tolist())


def deviation(frame):
    return np.std(frame.astype(float), ddof=1) if len(frame) > 1 else -1.0


EXPECTED = {
    "max": (sw.max(), largest),
    "min": (sw.min(), smallest),
    "sum": (sw.sum(), total),
    "avg": (sw.avg(), lambda frame: total(frame) / len(frame)),
    "stddev": (sw.stddev(), deviation),
}


def make(dtype, rows, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=rows) * 40).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.integers(0, rows, rows // 9 + 1)] = -0.0  # among zeros
        x[rng.integers(0, rows, rows // 9 + 1)] = 0.0
    return x


def check(x, name, n):
    aggregation, recalculate = EXPECTED[name]
    out = np.ma.filled(sw.rolling(x, aggregation, sw.rows(n)), -1)
    expected = np.array([recalculate(frame) for frame in frames(x, n)])
    if name in ("max", "min"):
        assert out.dtype == x.dtype
        assert np.array_equal(out, expected, equal_nan=x.dtype.kind == "f")
        assert np.array_equal(np.signbit(out), np.signbit(expected)), "which of two equal zeros"
    else:
        assert np.allclose(out, expected, rtol=1e-10, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", [*EXPECTED, *(pytest.param(n, marks=pytest.mark.compiled) for n in ("sum", "max"))])
def test_sizes_of_frames(name):
    for n in SIZES[:: 1 if name == "sum" else 3]:
        check(make(np.float64, 700), name, n)


@pytest.mark.full
@pytest.mark.parametrize("dtype", [np.float32, np.int32, *in_soak(np.int64, np.int8, np.uint8, np.uint32)])
@pytest.mark.parametrize("name", ["max", "stddev", *in_soak("min", "sum", "avg")])
def test_types(name, dtype):
    for n in (3, 16, FEW + 5, BLOCK + 9):
        check(make(dtype, 700), name, n)


@pytest.mark.full
@pytest.mark.parametrize("name", EXPECTED)
def test_every_size(name):
    for n in SIZES:
        check(make(np.float64, ROWS, seed=n), name, n)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17])
def test_few_rows(rows):
    for name in ("max", "sum"):
        for n in (1, 7, 9, 40):
            check(make(np.float64, rows), name, n)


@pytest.mark.parametrize("n", [5, 100])
def test_nan_is_above_all_and_leaves(n):
    x = make(np.float64, 700)
    x[[0, 300, 301, 699]] = math.nan, math.inf, math.nan, -math.inf
    for name in ("max", "min"):
        check(x, name, n)


@pytest.mark.parametrize("n", [5, 100, BLOCK, BLOCK + 1, 2 * BLOCK + 1])
@pytest.mark.parametrize(("name", "sign"), [("max", -1), ("min", 1)])
def test_of_equal_zeros_the_earlier_counts(name, sign, n):
    rng = np.random.default_rng(n)
    x = sign * (1 + rng.random(ROWS))
    x[::3] = rng.choice([-0.0, 0.0, float(sign)], len(x[::3]), p=[0.02, 0.02, 0.96])
    check(x, name, n)


def test_squares_that_are_too_large_for_a_float():
    x = np.tile([0.0, 1.35e154, -0.02e154], 60)
    found = sw.rolling(x, sw.stddev(), sw.rows(3))[2:]
    assert np.allclose(found / 1e150, np.std(np.array([0.0, 1.35e4, -0.02e4]), ddof=1), rtol=1e-12)


#: what columns are made of, by what may go wrong: numbers far apart, a small spread on a large mean, signs of zeros
POOLS = {
    "zeros": [0.0, -0.0],
    "ties": [1.0, -0.0, 0.0, -1.0],
    "plain": [1.5, -2.25, 1e3, 0.1],
    "far apart": [1e-300, 1e16, -1e16, 3.0, 5e-324, 1e-8],
    "one is huge": [1.0, 2.0, 3.5, 4.0, 1.0, 2.0, 3.5, 4.0, 1.0, 2.0, 3.5, 1e150],
    "large mean": [1e9 + 0.25, 1e9, 1e9 - 0.5, 1e9 + 1],
    "not finite": [1.0, 2.0, -3.0, 4.0, 5.0, -6.0, math.inf, -math.inf],
    "nan": [1.0, 2.0, -3.0, 4.0, 5.0, -6.0, math.nan],
    "subnormal": [5e-324, -5e-324, 1e-310, 0.0],
}
WHOLE = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]


def draw(rng, rows):
    """Some column: mostly of one value, or of all of a pool."""
    if rng.random() < 0.3:
        dtype = WHOLE[rng.integers(len(WHOLE))]
        limits = np.iinfo(dtype)
        ends = [limits.min, limits.max] if dtype != np.int64 else [-(2**53), 2**53]
        return rng.choice(np.array([*ends, 0, 1], dtype), rows)
    pool = np.array(POOLS[list(POOLS)[rng.integers(len(POOLS))]])
    share_of_last = rng.choice([1 / len(pool), 0.01])
    at = np.where(rng.random(rows) < share_of_last, len(pool) - 1, rng.integers(0, len(pool), rows))
    with np.errstate(over="ignore", under="ignore"):
        return pool[at].astype(rng.choice([np.float64, np.float64, np.float32]))


def exact(name, frame):
    """The result in rational numbers, and how far rounding may lead away from it; None: nothing to compare."""
    values = frame.tolist()
    if not all(map(math.isfinite, values)):
        if name not in ("sum", "avg"):
            return (math.nan, 0.0) if len(values) > 1 else None
        return (sum(v for v in values if not math.isfinite(v)), 0.0)
    size = len(values)
    total = sum(map(Fraction, values))
    if name in ("sum", "avg"):
        slack = sum(map(abs, map(Fraction, values))) * size * Fraction(2) ** -52
        return (total, slack) if name == "sum" else (total / size, slack / size + Fraction(5e-324))
    if size < 2:
        return None
    squares = sum((Fraction(v) - total / size) ** 2 for v in values)
    if squares >= Fraction(1.7e308):
        return None
    deviation = math.sqrt(squares / (size - 1))
    return deviation, deviation * 1e-9 + 1e-160


@pytest.mark.parametrize("seed", range(share(300)))
def test_any_numbers_against_rational_ones(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([1, 2, 7, 8, 9, 31, 33, 200, BLOCK, BLOCK + 1, 2 * BLOCK + 9]))
    n = int(rng.choice([1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 100, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]))
    x = draw(rng, rows)
    for name in ("max", "min"):
        check(x, name, n)
    places = sorted({0, rows - 1, *rng.integers(0, rows, 12).tolist()})
    for name in ("sum", "avg", "stddev"):
        found = np.ma.filled(sw.rolling(x, EXPECTED[name][0], sw.rows(n)), -1)
        for i in places:
            wanted = exact(name, x[max(0, i - n + 1) : i + 1])
            if wanted is None:
                continue
            value, slack = wanted
            if isinstance(value, float) and not math.isfinite(value):
                assert repr(float(found[i])) == repr(value), (name, n, i)
            else:
                assert math.isfinite(found[i]), (name, n, i)
                assert abs(Fraction(float(found[i])) - Fraction(value)) <= slack, (name, n, i, found[i], float(value))


@pytest.mark.parametrize("n", [5, 100, BLOCK + 100])
def test_nothing_is_left_of_what_has_left(n):
    x = np.random.default_rng(3).normal(1.0, 1.0, 4 * BLOCK)
    clean = x.copy()
    x[[10, 11, 900]], clean[[10, 11, 900]] = (1e300, -1e300, math.nan), 0.0
    touched = np.zeros(len(x), bool)
    for row in (10, 11, 900):
        touched[row : row + n] = True
    for aggregation in (sw.sum(), sw.avg()):
        out, expected = (sw.rolling(values, aggregation, sw.rows(n)) for values in (x, clean))
        # after it: what was added up with zeros in their places, to the last bit
        assert np.array_equal(out[~touched], expected[~touched])


def test_sums_of_negative_zeros_are_zeros():
    for n in (3, 16, 100):
        assert not np.signbit(sw.rolling(np.full(300, -0.0), sw.sum(), sw.rows(n))).any()


def test_columns_that_are_not_contiguous():
    x = np.stack([make(np.float64, 700), np.arange(700.0)], axis=1)
    for name in ("max", "avg"):
        for n in (9, 100):
            check(x[:, 0], name, n)


def test_what_goes_by_vectors():
    x = (np.arange(5.0),)
    ways = {
        name: [execute.goes_by_lanes(aggregation.compiled(x, n).counted, x, n) for n in (FEW - 1, FEW)]
        for name, (aggregation, _) in EXPECTED.items()
    }
    assert ways == {name: [name != "stddev", True] for name in EXPECTED}
    flags = (np.array([True, False]),)
    assert not execute.goes_by_lanes(sw.max().compiled(flags, 9).counted, flags, 9)
    assert execute.find_counted(sw.max().compiled(x, 9), (np.array([1.0, math.nan]),)) is None
