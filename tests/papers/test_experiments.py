"""Every experiment at tiny sizes: it has figures, its claims have verdicts, and other figures turn them."""

import xml.etree.ElementTree as ET
from multiprocessing import get_context
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from planting import turned
from support.tiers import in_soak, quick

from benchmarks.papers import pictures
from benchmarks.papers.collection import collect
from benchmarks.papers.experiment import PAPERS, Claim, NotRun, Results, Scale, Table, judge
from benchmarks.papers.holistic import DATA, rank_seconds
from benchmarks.papers.pba_engine import Plugs, measure_spark
from benchmarks.papers.runs import Runs

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
EXPERIMENTS = collect()
#: interpreted, and done in moments; the others compile kernels
CHEAP = [id for id in EXPERIMENTS if id.startswith(("counts-", "tut-"))]
#: a quarter of the time of all of them, and of the same kind as the figures beside them
LONG = ["daba-fig10", "daba-fig12", "hol-fig7", "pba-fig7"]


@pytest.mark.parametrize("id", [*quick([id for id in EXPERIMENTS if id not in LONG], *CHEAP), *in_soak(*LONG)])
def test_an_experiment(id, subtests):
    """All that its figures are for, at once: they are measured only here."""
    experiment = EXPERIMENTS[id]
    try:
        results = Results(experiment.run(Scale("tiny")))
    except NotRun as reason:
        pytest.skip(str(reason))
    require_figures(experiment, results)
    require_pictures(experiment, results)
    for claim in experiment.claims:
        with subtests.test(claim.id):
            require_verdict(claim, results)
            require_other_figures_turn_it(claim, results)


#: they start Spark at full scale only: what they give is judged by the committed figures
ON_SPARK = ["hol-fig2", "pba-fig8"]


@pytest.mark.parametrize("id", ON_SPARK)
def test_an_experiment_on_spark(id, subtests):
    with pytest.raises(NotRun, match=r"[Ss]park"):
        next(iter(EXPERIMENTS[id].run(Scale("tiny"))))
    results = Results(Runs(FOLDER / "results.json").by_id[id].cells)
    require_figures(EXPERIMENTS[id], results)
    require_pictures(EXPERIMENTS[id], results)
    for claim in EXPERIMENTS[id].claims:
        with subtests.test(claim.id):
            require_verdict(claim, results)
            require_other_figures_turn_it(claim, results)


@pytest.mark.soak
def test_experiments_on_spark_run(tmp_path):
    """Few rows, in processes of their own: sessions of other tests go on."""
    with get_context("spawn").Pool(1) as pool:
        cells = pool.apply(measure_few, (tmp_path,))
        seconds = pool.apply(rank_seconds, (1, 2_000))
    assert {(c.series, c.x) for c in cells} == {(s, cores) for s in ("slidewise", "Spark") for cores in (1, 2)}
    assert all(c.value > 0 for c in cells)
    assert {name: len(runs) >= 3 for name, runs in seconds.items()} == dict.fromkeys(DATA, True)


def measure_few(folder):
    """Run figure 8 of PBA, answers compared, over few rows."""
    return list(measure_spark(folder, Plugs(6_000, 3), warm=1))


def require_figures(experiment, results):
    assert len(results) > 0
    keys = [(c.panel, c.series, c.x, c.repeat) for c in results.cells]
    assert len(set(keys)) == len(keys), "a figure was given twice"
    assert all(cell.unit for cell in results.cells)
    assert experiment.paper in PAPERS
    assert experiment.scaled


def require_pictures(experiment, results):
    with pictures.style(experiment.id):
        drawn = experiment.draw(results)
        for thing in drawn if isinstance(drawn, tuple | list) else [drawn]:
            assert isinstance(thing, Figure | Table)
            if isinstance(thing, Figure):
                text = pictures.svg(thing, experiment.id, experiment.title)
                ET.fromstring(text)
                assert pictures.INK not in text
            else:
                assert all(len(row) == len(thing.header) for row in thing.rows)
    assert all(isinstance(line, str) and line for line in experiment.remarks(results))


def require_verdict(claim, results):
    verdict = claim.verdict(results)
    if claim.check is None:
        assert claim.not_run
        assert verdict.outcome == "not run"
        return
    assert verdict.outcome in ("agrees", "differs"), verdict
    assert verdict.ours
    assert bool(verdict.why) == (verdict.outcome == "differs"), verdict


def require_other_figures_turn_it(claim, results):
    if claim.check is None:
        return
    for outcome in ("agrees", "differs"):
        verdict = turned(claim, results, outcome)
        assert verdict is not None, f"no figures were found with which {claim.id} {outcome}"
        assert bool(verdict.why) == (outcome == "differs")


def test_a_claim_whose_figure_is_missing_is_not_run():
    claim = Claim("x", "y", lambda r: judge(r.value("a", 1) > 0, ""))
    assert claim.verdict(Results([])).outcome == "not run"
    assert claim.verdict(Results([])).why == "no figure of a at 1"


def test_ids_are_unlike():
    ids = [claim.id for experiment in EXPERIMENTS.values() for claim in experiment.claims]
    assert len(set(ids)) == len(ids)
    assert all(any(claim.id.startswith(e.id) for claim in e.claims) for e in EXPERIMENTS.values() if e.claims)
