"""Sketches are within their error, merge in any order, and leave their operands alone."""

import functools
import random
import subprocess
import sys

import numpy as np
import pytest

import slidewise as sw


def partial_of(aggregation, rows, seed=None):
    """All rows combined, in a random order of association where a seed is given."""
    partials = [aggregation.lift(x) for x in rows]
    if seed is None:
        return functools.reduce(aggregation.combine, partials)
    source = random.Random(seed)
    while len(partials) > 1:
        i = source.randrange(len(partials) - 1)
        partials[i : i + 2] = [aggregation.combine(partials[i], partials[i + 1])]
    return partials[0]


@pytest.mark.parametrize("n", [1, 100, 3000])
def test_approx_count_distinct(n):
    aggregation = sw.approx_count_distinct(rsd=0.02)
    results = {aggregation.lower(partial_of(aggregation, range(n), seed)) for seed in range(3)}
    assert len(results) == 1  # the estimate does not depend on how the rows were merged
    assert results.pop() == pytest.approx(n, rel=0.06)


def test_count_min():
    aggregation = sw.count_min_sketch(eps=0.01, confidence=0.99)
    rows = [x % 50 for x in range(1000)] + [0.5, "a", "a"]
    total = partial_of(aggregation, rows)
    assert all(20 <= aggregation.lower(total, x) <= 20 + 0.01 * len(rows) for x in range(50))
    assert 2 <= aggregation.lower(total, "a") <= 12
    assert 1 <= aggregation.lower(total, 0.5) <= 11
    assert aggregation.lower(total, 7.0) == aggregation.lower(total, 7)
    assert aggregation.lower(total) == len(rows)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.5, 0.9, 1.0])
def test_approx_percentile(q):
    rows = np.random.default_rng(3).permutation(5000).astype(float)
    aggregation = sw.approx_percentile(q, accuracy=100)
    assert aggregation.lower(partial_of(aggregation, rows)) == pytest.approx(q * 5000, abs=100)


def test_approx_percentile_is_exact_while_it_keeps_every_value():
    rows = list(range(100))
    exact, sketch = sw.percentile_disc(0.5), sw.approx_percentile(0.5)
    for q in (0.0, 0.1, 0.5, 0.77, 1.0):
        assert sketch.lower(partial_of(sketch, rows), q) == exact.lower(partial_of(exact, rows), q)


def test_bloom_filter():
    aggregation = sw.bloom_filter(bits=4096, hashes=4)
    total = partial_of(aggregation, [*range(200), "Ann", 0.5, (1, 2)])
    assert all(aggregation.lower(total, x) for x in [*range(200), 7.0, "Ann", 0.5, (1, 2)])
    assert sum(aggregation.lower(total, x) for x in range(1000, 2000)) < 20
    assert aggregation.lower(total) == pytest.approx(203, rel=0.1)
    full = sw.bloom_filter(bits=8)
    assert full.lower(partial_of(full, range(100))) > 0


def test_bloom_filter_is_the_same_in_every_process():
    code = "import slidewise as sw; print(sw.bloom_filter().lift('Ann'), sw.bloom_filter().lift(0.1))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{sw.bloom_filter().lift('Ann')} {sw.bloom_filter().lift(0.1)}\n"}


DISTRIBUTIONS = {
    "uniform": lambda r: r.uniform(-3, 9, 4000),
    "normal": lambda r: r.normal(10, 2, 4000),
    "exponential": lambda r: r.exponential(2.0, 4000),
    "lognormal": lambda r: r.lognormal(1.0, 2.0, 4000),
    "two peaks": lambda r: np.concatenate([r.normal(-5, 1, 2000), r.normal(5, 1, 2000)]),
    "far from zero": lambda r: r.normal(1e6, 1, 4000),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_moment_sketch_quantiles(name):
    rows = DISTRIBUTIONS[name](np.random.default_rng(5))
    aggregation = sw.moment_sketch()
    total = partial_of(aggregation, rows.tolist())
    ordered = np.sort(rows)
    for q in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        rank = np.searchsorted(ordered, aggregation.lower(total, q)) / len(rows)
        assert rank == pytest.approx(q, abs=0.05 if name == "far from zero" else 0.02)


@pytest.mark.parametrize(
    "rows",
    [[3.0], [3.0] * 50, [1.0, 2.0], [0.0, 0.0, 0.0, 1.0], [1, 2, 3, 4, 1000], [-1e300, 1e300], [0.0, 1e-300]],
)
def test_moment_sketch_of_few_or_degenerate_values(rows):
    aggregation = sw.moment_sketch()
    total = partial_of(aggregation, rows)
    found = [aggregation.lower(total, q) for q in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert found == sorted(found)
    assert found[0] == min(rows)
    assert found[-1] == max(rows)


def test_moment_sketch_of_what_is_not_finite():
    aggregation = sw.moment_sketch()
    assert np.isnan(aggregation.lower(partial_of(aggregation, [1.0, np.inf]), 0.5))
    assert np.isnan(aggregation.lower(partial_of(aggregation, [1.0, np.nan]), 0.5))


def test_moments_themselves():
    aggregation = sw.moment_sketch(order=3)
    assert aggregation.lower(partial_of(aggregation, [1.0, 2.0, 3.0])) == pytest.approx((2.0, 14 / 3, 12.0))
