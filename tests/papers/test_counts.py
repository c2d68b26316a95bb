"""The papers' theorems about calls of combine, as they are printed: exact, and free of noise."""

import pytest
from support.tiers import in_full

from benchmarks.papers.counts import EXPERIMENTS, Joined, Pointers, count_operations, is_regular, whole_cycles
from benchmarks.papers.experiment import Results, Scale


@pytest.mark.parametrize("scale", ["tiny", *in_full("full")])
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.id)
def test_counts_are_those_of_the_papers(experiment, scale):
    results = Results(experiment.run(Scale(scale)))
    for claim in experiment.claims:
        verdict = claim.verdict(results)
        assert verdict.outcome == "agrees", verdict


def test_a_wrong_answer_is_not_counted(monkeypatch):
    monkeypatch.setattr(Joined, "combine", staticmethod(lambda a, b: b + a))
    with pytest.raises(AssertionError, match="daba: a wrong answer after 8 insertions"):
        list(count_operations("daba", "DABA", 8))


def test_the_pseudo_code_moves_pointers_as_the_paper_says():
    """Figure 6: after 8 insertions a flip has made the window's halves the inner lists, and they shrink."""
    printed = Pointers()
    for _ in range(8):
        printed.insert()
    assert [is_regular(cycle) for cycle in whole_cycles(printed.cases)] == [True, True]
    assert printed.cases[:6] == ["singleton", "flip", "shrink", "shift", "flip", "shrink"]
    f, l, r, a, b, e = printed.values()
    assert 0 == f <= l <= r <= a <= b <= e == 8
