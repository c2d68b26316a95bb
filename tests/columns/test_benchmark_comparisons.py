"""All libraries of the benchmark give the same answers: what is timed is the same work."""

import numpy as np
import pytest

from benchmarks.comparisons import COMPARISONS, Comparison, Data

pytestmark = pytest.mark.compiled

DATA = Data(3_000)
CALLS = [
    pytest.param(comparison, library, id=f"{comparison.name} {library}")
    for comparison in COMPARISONS
    for library in comparison.libraries()
]


@pytest.mark.covering(0)
@pytest.mark.parametrize("window", [1, 16, 700, 5_000])
@pytest.mark.parametrize(("comparison", "library"), CALLS)
def test_answers_agree(comparison: Comparison, library: str, window: int) -> None:
    mine, theirs = comparison.ours(DATA, window), comparison.libraries()[library](DATA, window)
    assert len(mine) == len(theirs) == len(DATA)
    assert comparison.agree(DATA, window, mine, theirs)


@pytest.mark.covering(0)
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda c: c.name)
def test_another_answer_is_noticed(comparison: Comparison) -> None:
    right = comparison.ours(DATA, 16)
    wrong = np.ma.asanyarray(right) + 1
    assert not comparison.agree(DATA, 16, right, wrong)
