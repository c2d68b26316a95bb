"""The report and its command: computed verdicts, one well-formed page, runs that can be stopped and gone on with."""

import json
import math
import os
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmarks.papers import __main__ as command
from benchmarks.papers import pictures, report
from benchmarks.papers.collection import collect, select
from benchmarks.papers.experiment import Cell, Claim, Experiment, NotRun, Table, judge
from benchmarks.papers.runs import Run, Runs, read_beside

EVIL = """<script>alert("1 & 2")</script> | *a* `b` 'c'"""


def draw_lines(results):
    """A picture, where a test needs one: it takes a while."""
    return pictures.lines(results, xlabel="n")


def experiment(id="one", value=1.0, run=None, **changes):
    given = {
        "id": id,
        "paper": "DABA",
        "title": f"Title of {id}",
        "run": run or (lambda scale: iter([Cell("DABA", n, value * n, "ns", "sum") for n in (1, 2, 4)])),
        "draw": lambda results: Table(("x",), [(x,) for x in results.xs()]),
        "claims": (
            Claim(
                f"{id}-a",
                "below 10",
                lambda r: judge(r.value("DABA", 4, "sum") < 10, f"{r.value('DABA', 4, 'sum')}", "big"),
            ),
        ),
        "scaled": "all of it",
    }
    return Experiment(**given | changes)


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run the command over these experiments; its status, and what it wrote."""

    def main(experiments, *options):
        monkeypatch.setattr(command, "collect", lambda: {e.id: e for e in experiments})
        status = command.main(["--tiny", "--out", str(tmp_path / "out"), *map(str, options)])
        files = {path.name: path.read_text() for path in (tmp_path / "out").glob("*")}
        return status, files, capsys.readouterr().err

    return main


def test_the_report_has_every_claim_with_its_verdict(run):
    status, files, _ = run([experiment("one", draw=draw_lines), experiment("two", value=5.0)])
    assert status == 0
    assert {"report.md", "report.html", "results.json", "one.svg"} == set(files)
    assert "**1 claims agree, 1 differ, 0 were not run.**" in files["report.md"]
    assert "| two-a | below 10 | 20.0. big | **differs** |" in files["report.md"]
    assert "| one-a | below 10 | 4.0 | agrees |" in files["report.md"]
    assert "![Title of one](one.svg)" in files["report.md"]
    for difference in report.DIFFERENCES:
        assert difference in files["report.md"]
    ET.fromstring(files["one.svg"])
    assert "prefers-color-scheme:dark" in files["one.svg"]


def test_the_head_says_how_busy_the_machine_was(run, monkeypatch):
    loads = iter([(0.94, 0, 0), (12.3, 0, 0), (1.5, 0, 0)])
    monkeypatch.setattr(os, "getloadavg", lambda: next(loads), raising=False)
    _, files, _ = run([experiment("one"), experiment("two"), experiment("three")])
    said = "Programs that wanted a core, this one among them: 0.9 to 12.3, by experiment."
    assert said in files["report.md"] and said in files["report.html"]
    monkeypatch.delattr(os, "getloadavg")
    _, files, _ = run([experiment("one"), experiment("two"), experiment("three")], "--fresh")
    assert "wanted a core" not in files["report.md"]


def test_the_page_is_one_well_formed_file(run):
    _, files, _ = run([experiment("one", draw=lambda r: [draw_lines(r), draw_lines(r)]), experiment("two")])
    page = ET.fromstring(files["report.html"].removeprefix("<!DOCTYPE html>\n"))
    assert len(page.findall(".//{http://www.w3.org/2000/svg}svg")) == 2
    ids = [e.get("id") for e in page.iter() if e.get("id")]
    assert len(set(ids)) == len(ids)
    assert {a.get("href") for a in page.iter("a")} == {"#one", "#two"}
    assert 'name="viewport"' in files["report.html"]
    outside = [
        value
        for e in page.iter()
        for name, value in e.attrib.items()
        if name.endswith(("src", "href")) and not value.startswith("#")
    ]
    assert not outside, "the page loads something"


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_what_others_wrote_is_text(run):
    def cells(scale):
        return iter([Cell(EVIL, 1, 1.0, "ns", EVIL), Cell(EVIL, 2, 2.0, "ns", EVIL), Cell("DABA", 1, 1.0, "ns", EVIL)])

    made = experiment(
        run=cells,
        title=EVIL,
        scaled=EVIL,
        remarks=lambda results: [EVIL],
        claims=(Claim("one-a", EVIL, lambda r: judge(False, EVIL, EVIL)),),
        draw=lambda results: [pictures.lines(results, xlabel=EVIL), Table((EVIL,), [(EVIL,)])],
    )
    _, files, _ = run([made])
    page = Text(files["report.html"])
    assert "script" not in page.tags
    assert page.text.count(EVIL) >= 9
    ET.fromstring(files["report.html"].removeprefix("<!DOCTYPE html>\n"))
    ET.fromstring(files["one.svg"])
    rows = [line for line in files["report.md"].splitlines() if line.startswith("| one-a")]
    assert [row.replace(r"\|", "").count("|") for row in rows] == [5]


def test_a_run_that_was_stopped_goes_on(run):
    calls = []

    def counted(id, stop=False):
        def cells(scale):
            calls.append(id)
            yield Cell("DABA", 4, 1.0, "ns", "sum")
            if stop:
                raise KeyboardInterrupt

        return experiment(id, run=cells)

    status, files, said = run([counted("one"), counted("two", stop=True), counted("three")])
    assert status == 130
    assert "The same command goes on from here" in said
    assert calls == ["one", "two"]
    assert list(json.loads(files["results.json"])["experiments"]) == ["one"]
    assert "**1 claims agree, 0 differ, 2 were not run.**" in files["report.md"]

    status, files, said = run([counted("one"), counted("two"), counted("three")])
    assert status == 0
    assert calls == ["one", "two", "two", "three"]
    assert "1 were run before" in said
    assert "**3 claims agree, 0 differ, 0 were not run.**" in files["report.md"]

    run([counted("one"), counted("two"), counted("three")], "--fresh", "--only", "t")
    assert calls[4:] == ["two", "three"]


def test_a_fresh_run_that_was_stopped_goes_on(run):
    calls = []

    def counted(id, stop=False):
        def cells(scale):
            calls.append(id)
            if stop:
                raise KeyboardInterrupt
            yield Cell("DABA", 4, 1.0, "ns", "sum")

        return experiment(id, run=cells)

    run([counted("one"), counted("two"), counted("three")])
    status, files, said = run([counted("one", stop=True), counted("two"), counted("three")], "--fresh")
    assert status == 130
    assert "The same command, without --fresh, goes on from here" in " ".join(said.split())
    assert json.loads(files["results.json"])["experiments"] == {}
    run([counted("one"), counted("two", stop=True), counted("three")])
    run([counted("one"), counted("two"), counted("three")])
    assert calls == ["one", "two", "three", "one", "one", "two", "two", "three"]


def test_another_scale_or_machine_is_run_again(tmp_path):
    runs = Runs(tmp_path / "results.json")
    runs.keep("one", Run("tiny", "this", "2026-01-01", 1.0, 0.0, [Cell("a", 1, math.inf, "ns")]))
    again = Runs(tmp_path / "results.json")
    assert again.by_id == runs.by_id
    assert again.finished("one", "tiny", "this")
    assert not again.finished("one", "full", "this")
    assert not again.finished("one", "tiny", "that")
    assert not again.finished("two", "tiny", "this")


def test_an_experiment_that_fails_is_named_and_the_others_run(run):
    def fails(scale):
        yield Cell("DABA", 4, 1.0, "ns", "sum")
        raise AssertionError("daba of sum disagrees with recalculation")

    status, files, _ = run([experiment("one", run=fails), experiment("two")])
    assert status == 1
    assert "it failed: AssertionError: daba of sum disagrees with recalculation" in files["report.md"]
    assert "**1 claims agree, 0 differ, 1 were not run.**" in files["report.md"]
    status, _, _ = run([experiment("one"), experiment("two")])  # a failed one is tried again
    assert status == 0


def test_a_check_or_a_picture_that_fails_leaves_the_others(run):
    def fails(results):
        raise IndexError("list index out of range")

    claims = (Claim("one-a", "x", fails), Claim("one-b", "y", lambda r: judge(True, "fine")))
    _, files, _ = run([experiment("one", claims=claims, draw=fails), experiment("two")])
    assert (
        "| one-a | x | its check failed: IndexError: list index out of range. With --fresh it is run again | not run |"
        in (files["report.md"])
    )
    assert "| one-b | y | fine | agrees |" in files["report.md"]
    assert "- It could not be drawn: IndexError: list index out of range" in files["report.md"]
    assert "| two-a | below 10 | 4.0 | agrees |" in files["report.md"]


def test_an_experiment_that_cannot_run_says_why(run):
    def refuses(scale):
        raise NotRun("there is no Spark")
        yield

    status, files, _ = run([experiment("one", run=refuses)])
    assert status == 0
    assert "| one-a | below 10 | there is no Spark | not run |" in files["report.md"]


def test_figures_of_others_are_shown_and_not_judged(run, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text("experiment,panel,series,x,value,label\none,sum,DABA,4,98765.4321,C++\none,sum,FiBA,1,7,\n")
    status, files, _ = run([experiment("one", draw=draw_lines)], "--beside", path)
    assert status == 0
    assert "DABA (C++)" in files["one.svg"]
    assert "FiBA (theirs)" in files["one.svg"]
    assert "| one-a | below 10 | 4.0 | agrees |" in files["report.md"]
    assert "98765" not in files["results.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiment,panel,series,x\n", "a column value is missing"),
        ("experiment,panel,series,x,value\nnone,,a,1,2\n", "line 2: no experiment 'none'. There are: one"),
        ("experiment,panel,series,x,value\none,,a,1,fast\n", "line 2: value is a number, and 'fast' is not"),
    ],
)
def test_a_wrong_file_beside_is_told(run, tmp_path, text, message):
    path = tmp_path / "theirs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_beside(path, ["one"])
    status, _, said = run([experiment("one")], "--beside", path)
    assert status == 2
    assert message.split(".")[0] in " ".join(said.split())


def test_a_missing_file_and_an_unknown_id_are_told(run, tmp_path):
    status, files, said = run([experiment("one")], "--beside", tmp_path / "none.csv")
    assert (status, files) == (2, {})
    assert "none.csv" in "".join(said.split())
    status, _, said = run([experiment("one")], "--only", "two")
    assert status == 2
    assert "--only two: no experiment's id begins so. There are: one" in " ".join(said.split())


def test_only_takes_ids_and_their_beginnings():
    every = collect()
    assert [e.id for e in select(every, ["daba-fig9", "counts-t1"])] == ["counts-t10", "counts-t13", "daba-fig9"]
    assert select(every, []) == list(every.values())


def test_a_series_has_one_colour():
    assert pictures.color_of("TwoStack") == pictures.color_of("Two-Stacks")
    assert pictures.color_of("ISS") == pictures.color_of("Recal") == pictures.color_of("Naive (variable)")
    assert pictures.color_of("DABA") != pictures.color_of("DABA Lite")


def test_the_page_of_the_documentation_has_the_same_differences():
    page = " ".join((Path(__file__).parents[2] / "docs/papers.md").read_text().split())
    for number, difference in enumerate(report.DIFFERENCES, 1):
        assert f"{number}. {difference}" in page
