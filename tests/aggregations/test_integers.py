"""Integers stay integers: exact sums, OverflowError exactly when a total leaves int64, 2^53 + 1 survives."""

import functools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.aggregations import integer_sums
from slidewise.errors import InvalidInput

INT64 = st.integers(-(2**63), 2**63 - 1)
TOP = 2**63 - 1


def halves(rows, lift, combine, lower, seed=0):
    """The two-halves form in plain Python, combined in a random order of association."""
    source = random.Random(seed)
    partials = [lift(x) for x in rows]
    while len(partials) > 1:
        i = source.randrange(len(partials) - 1)
        partials[i : i + 2] = [combine(partials[i], partials[i + 1])]
    return lower(partials[0])


@given(st.lists(INT64, min_size=1, max_size=8), st.integers(0, 5))
def test_overflow_exactly_when_the_total_leaves_int64(rows, seed):
    functions = integer_sums.lift_halves, integer_sums.combine_halves, integer_sums.lower_halves
    total = sum(rows)
    aggregation = sw.sum()
    interpreted = functools.reduce(aggregation.combine, map(aggregation.lift, rows))
    if -(2**63) <= total <= TOP:
        assert halves(rows, *functions, seed) == total == aggregation.lower(interpreted)
    else:
        with pytest.raises(OverflowError):
            halves(rows, *functions, seed)
        with pytest.raises(OverflowError, match=str(total)):
            aggregation.lower(interpreted)


@given(st.lists(INT64, min_size=1, max_size=8), st.integers(0, 5))
def test_means_are_alike_in_every_form(rows, seed):
    aggregation = sw.avg()
    interpreted = aggregation.lower(functools.reduce(aggregation.combine, map(aggregation.lift, rows)))
    compiled = halves(
        rows,
        integer_sums.lift_mean_halves,
        integer_sums.combine_mean_halves,
        integer_sums.lower_mean_halves,
        seed,
    )
    assert interpreted == compiled
    exact = Fraction(sum(rows), len(rows))
    assert abs(Fraction(interpreted) - exact) <= abs(exact) * Fraction(1, 2**51)


@pytest.mark.parametrize(
    "rows",
    [
        [TOP, 1, -1],
        [TOP, TOP, -TOP],
        [-(2**63), TOP, 5],
        [TOP],
        [-(2**63)],
        [2**53 + 1],
        [2**53 + 1, 2**53 + 1],
    ],
)
def test_totals_that_fit(rows, fold, compiled_fold):
    assert fold(sw.sum(), rows) == sum(rows)
    assert compiled_fold(sw.sum(), (np.array(rows),)) == sum(rows)


@pytest.mark.parametrize("rows", [[TOP, 1], [-(2**63), -1], [TOP, TOP, -1]])
def test_totals_that_do_not_fit(rows, fold, compiled_fold):
    with pytest.raises(OverflowError, match="64-bit"):
        fold(sw.sum(), rows)
    with pytest.raises(OverflowError, match="64-bit"):
        compiled_fold(sw.sum(), (np.array(rows),))


def test_proof_of_safety():
    safe, unsafe = np.array([2**61, -3]), np.array([2**62, 1])
    assert sw.sum().compiled((safe,), 3).identity == 0
    assert sw.sum().compiled((safe,), 4).identity == (0, 0)
    assert sw.sum().compiled((unsafe,), 2).identity == (0, 0)
    assert sw.sum().compiled((np.array([], dtype=int),), 10).identity == 0
    assert sw.sum().compiled((np.array([-(2**63)]),), 1).identity == (0, 0)
    assert sw.sum().compiled((unsafe,), 2**31) is None  # the halves themselves could overflow
    assert sw.sum().compiled((np.array([1], dtype="u8"),), 1) is None


@pytest.mark.parametrize("name", ["max", "min", "first", "last", "mode", "nth_smallest"])
def test_beyond_floats(name, fold):
    make = getattr(sw, name)
    aggregation = make(1) if name == "nth_smallest" else make()
    assert fold(aggregation, [2**53 + 1]) == 2**53 + 1


@pytest.mark.parametrize("name", ["max", "min", "first", "last"])
def test_beyond_floats_compiled(name, compiled_fold):
    assert compiled_fold(getattr(sw, name)(), (np.array([2**53 + 1]),)) == 2**53 + 1


def test_max_by_beyond_floats(compiled_fold):
    ordering = np.array([2**53, 2**53 + 1])
    assert compiled_fold(sw.max_by(), (np.array([10, 11]), ordering)) == 11


@pytest.mark.parametrize("value", ["3", b"3", True, np.True_, [1], (1, 2), object()])
@pytest.mark.parametrize("name", ["sum", "avg", "product", "geomean", "stddev", "approx_percentile"])
def test_what_is_no_number_is_refused(name, value):
    aggregation = sw.approx_percentile(0.5) if name == "approx_percentile" else getattr(sw, name)()
    with pytest.raises(InvalidInput, match="must be numbers"):
        aggregation.lift(value)
