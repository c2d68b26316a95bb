"""The report in docs/papers is what its own figures give, and its head has the counts of its claims."""

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.papers import report
from benchmarks.papers.collection import collect
from benchmarks.papers.runs import Runs

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
RENEW = "run: python -m benchmarks.papers --out docs/papers, and python docs/generate.py"
#: claims of all experiments and of one, with the verdict in the last column
CLAIM = re.compile(
    r"^\| (?:\[(?P<of_all>[\w-]+)\]\(#[\w-]+\)|(?P<of_one>[a-z]+-[\w-]+)) \|.*\| \**(?P<verdict>[a-z ]+)\** \|$"
)


@pytest.fixture(scope="module")
def text():
    return (FOLDER / "report.md").read_text()


@pytest.fixture(scope="module")
def sections():
    """What the committed figures give, without pictures, which take a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_draw", lambda experiment, results: [])
        return report.build_sections(collect().values(), Runs(FOLDER / "results.json"), {})


def test_every_verdict_is_computed_from_the_committed_figures(sections, text):
    committed = iter(text.splitlines())
    missing = [line for line in report.markdown(sections).splitlines() if line and line not in committed]
    assert not missing, RENEW


def test_all_experiments_were_run_at_full_scale(sections):
    assert {s.experiment.id: s.run and s.run.scale for s in sections} == dict.fromkeys(collect(), "full"), RENEW
    assert not [s.experiment.id for s in sections if s.run.not_run or not s.run.cells], RENEW


def test_every_picture_is_there(text):
    assert set(re.findall(r"\]\(([\w-]+\.svg)\)", text)) == {path.name for path in FOLDER.glob("*.svg")}


def test_a_difference_has_a_cause(sections):
    """As the report has it: our figures, and after them why they differ."""
    assert all(len(v.why) > 20 for s in sections for _, v in s.verdicts if v.outcome == "differs")


def test_its_head_has_the_counts_of_its_claims(text):
    claims = [m for m in map(CLAIM.match, text.splitlines()) if m]
    of_all, of_one = (Counter(m["verdict"] for m in claims if m[part]) for part in ("of_all", "of_one"))
    assert of_all == of_one
    counts = of_all["agrees"], of_all["differs"], of_all["not run"]
    assert "**{} claims agree, {} differ, {} were not run.**".format(*counts) in text
