"""The quick tier leaves out no value, and no pair of values where pairs are asked for."""

import os
import re
import subprocess
import sys
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import covering

import slidewise as sw
from slidewise.registry import legal_algorithms
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS

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

pytestmark = pytest.mark.compiled

@pytest.mark.covering(1)
@pytest.mark.parametrize("a", [[1], [2], pytest.param([3], marks=pytest.mark.soak)])
@pytest.mark.parametrize("b", "xyz")
def test_product(a, b):
    print("ran", a, b)

@pytest.mark.covering(0)
@pytest.mark.parametrize("c", "pq")
@pytest.mark.parametrize("d", "pq")
def test_square(c, d):
    print("ran", c + d)

@pytest.mark.full
def test_long():
    print("ran long")
"""


DRAWN = """
from hypothesis import given, strategies as st

@given(x=st.just(1))
def test_drawn(x):
    print("ran drawn")
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("tier", "ran"),
    [
        ((), ["[1] x", "[1] z", "[2] y", "drawn", "pp"]),
        (("plain",), ["drawn"]),
        (("-m", "not soak"), ["[1] x", "[1] y", "[1] z", "[2] x", "[2] y", "[2] z", "drawn", "long", "pp", "qq"]),
        (("-m", "not soak and not once"), ["[1] y", "[2] x", "[2] z", "drawn", "long", "qq"]),
        (("-m", "soak"), ["[3] x", "[3] y", "[3] z", "pq", "qp"]),
    ],
    ids=["quick", "quick, not compiled", "full", "full after quick", "soak"],
)
def test_what_each_tier_runs(tier, ran, request, tmp_path):
    (tmp_path / "test_product.py").write_text(PRODUCT)
    (tmp_path / "test_drawn.py").write_text(DRAWN)
    tests, plain = request.path.parent, tier == ("plain",)
    command = [sys.executable, "-m", "pytest", "-s", "-c", str(request.config.inipath), f"--confcutdir={tests}"]
    command += ["-p", "conftest", *(() if plain else tier), str(tmp_path)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": str(int(plain))}
    out = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests, env=environment).stdout
    assert sorted({line.partition("ran ")[2] for line in out.splitlines() if "ran " in line}) == ran, out


@pytest.fixture(scope="module")
def quick_tests(request):
    """The names of all quick tests, with their parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "tests"]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=request.config.rootpath, env=environment
    )
    assert done.returncode == 0, done.stdout
    return [line for line in done.stdout.splitlines() if "::" in line]


SUMMING = legal_algorithms(sw.sum())

#: what has a quick test, by the names of those that there are
CAPABILITIES = {
    **{f"algorithm {entry.name}": rf"algorithm_conforms\[{entry.name}-" for entry in ALGORITHMS},
    **{f"{e.name} compiled": rf"test_every_algorithm.*\[{e.name}-" for e in SUMMING if e.compiled and e.fifo},
    "slick_deque_parts compiled": r"test_parts_compiled\[",
    **{f"aggregation {entry.name}": rf"test_built_in\[{entry.name}\d*\]" for entry in AGGREGATIONS},
    "all aggregations over columns": "test_every_aggregation_agrees",
    **{f"{kind} for a frame": rf"same_kind_comes_back\[{kind}\]" for kind in ("Table", "pandas", "polars", "duckdb")},
    **{f"windows of {kind}": rf"/columns/.*\[{kind}" for kind in ("rows", "time", "delta", "punctuation", "groups")},
    "rows on Spark": r"/spark/.*with_columns.*\[spark\]",
    "rows over Connect": r"/spark/.*with_columns.*\[connect\]",
    "slides on Spark": r"/spark/.*hopping_windows.*\[spark\]",
    "slides over Connect": r"/spark/.*hopping_windows.*\[connect\]",
    "SQL": "/spark/.*sql.*test_the_same_as_spark",
    "SQL over Connect": "/spark/.*sql.*test_over_connect",
    "random SQL": "/spark/.*random_sql.*test_random_queries",
    "a stream that is killed and starts again": "/spark/streams/.*after_kills",
    "a pipeline as a batch, a stream and a backfill": "/pipeline/test_runs.py.*give_the_same_rows",
    "a wrong file": "/pipeline/test_mistakes.py.*a_wrong_file",
    "the command": "/cli/test_with_spark.py.*check",
    "the live page's server": "/live/test_server.py",
    "the demo": "test_demo.py",
    "the demo on Spark": "/spark/test_demo_steps.py",
}


@pytest.mark.full
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_capability_is_in_the_quick_tier(quick_tests, capability):
    assert any(re.search(CAPABILITIES[capability], name) for name in quick_tests)
