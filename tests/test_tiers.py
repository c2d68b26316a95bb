"""The quick tier leaves out no value, and no pair of values where pairs are asked for."""

import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import covering

cases = st.integers(1, 4).flatmap(lambda axes: st.lists(st.tuples(*[st.integers(0, 3)] * axes), min_size=1))


@given(cases=cases, strength=st.integers(0, 3))
def test_a_covering_holds_every_combination_that_occurs(cases, strength):
    def held(some):
        return {c for case in some for c in combinations(enumerate(case), min(strength, len(case)))}

    chosen = [cases[i] for i in covering(cases, strength)]
    assert held(chosen) == held(cases)
    assert len(chosen) <= len(held(cases))


PRODUCT = """
import pytest

@pytest.mark.covering(1)
@pytest.mark.parametrize("a", [[1], [2], pytest.param([3], marks=pytest.mark.soak)])
@pytest.mark.parametrize("b", "xyz")
def test_product(a, b):
    print("ran", a, b)

@pytest.mark.full
def test_long():
    print("ran long")
"""


@pytest.mark.parametrize(
    ("tier", "ran"),
    [
        ((), ["[1] x", "[1] z", "[2] y"]),
        (("-m", "not soak"), ["[1] x", "[1] y", "[1] z", "[2] x", "[2] y", "[2] z", "long"]),
        (("-m", "soak"), ["[3] x", "[3] y", "[3] z"]),
    ],
    ids=["quick", "full", "soak"],
)
def test_what_each_tier_runs(tier, ran, request, tmp_path):
    (tmp_path / "test_product.py").write_text(PRODUCT)
    tests = request.path.parent
    command = [sys.executable, "-m", "pytest", "-s", "-c", str(request.config.inipath), f"--confcutdir={tests}", *tier]
    out = subprocess.run(
        [*command, "-p", "conftest", str(tmp_path)], capture_output=True, text=True, check=False, cwd=tests
    ).stdout
    assert sorted(line.partition("ran ")[2] for line in out.splitlines() if "ran " in line) == ran, out
