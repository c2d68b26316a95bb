"""The figures in the README and on docs/benchmarks.md are those of the benchmarks' files."""

import json
import re

import pytest

from benchmarks import figures


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A folder of files whose figures a test may change."""
    for path in figures.FOLDER.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    figures.load.cache_clear()
    yield tmp_path
    figures.load.cache_clear()


def test_pages_are_what_the_files_give():
    assert figures.write_page() == figures.PAGE.read_text(), "run: python -m benchmarks.figures --write"
    for page in figures.PAGES:
        text = page.read_text()
        assert figures.rewrite(text) == text, "run: python -m benchmarks.figures --write"


def test_no_figure_of_the_readme_is_typed_by_hand():
    section = figures.README.read_text().split("## Figures\n")[1].split("\n## ")[0]
    everywhere = "".join(page.read_text() for page in figures.PAGES)
    assert set(re.findall(r"<!-- figures: (\w+) -->", everywhere)) == set(figures.BLOCKS)
    outside = re.sub(r"<!-- figures.*?<!-- end -->", "", section, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+|\d+ (?:ns|µs|ms|s|times)\b", outside) == []


def test_every_file_is_of_a_run_and_every_table_has_a_layout():
    files = {path.stem: json.loads(path.read_text()) for path in figures.FOLDER.glob("*.json")}
    assert files and set(files) <= set(figures.RUNS)
    assert figures.PAGE.read_text().count(": not run yet.") == len(figures.RUNS) - len(files)
    for made in files.values():
        assert made["machine"] and made["date"] and made["records"]
        assert {record["table"] for record in made["records"]} <= set(figures.LAYOUTS)


def test_a_planted_figure_turns_its_verdict(planted):
    before = figures.write_page()
    path = planted / "shares.json"
    made = json.loads(path.read_text())
    record = next(r for r in made["records"] if r["table"] == "shares" and r["share"] <= r["at_most"])
    record["share"] = record["at_most"] + 1
    path.write_text(json.dumps(made))
    figures.load.cache_clear()
    after = figures.write_page()
    assert after.count("**short**") == before.count("**short**") + 1
    assert figures.shares() != before and f"{record['share']:.2f}" in figures.shares()


def test_a_missing_file_is_named(planted):
    (planted / "events.json").unlink()
    figures.load.cache_clear()
    with pytest.raises(SystemExit, match=r"events\.json is missing: run python -m benchmarks\.figures --only events"):
        figures.events()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), ("a", "a"), (12, "12"), (1_234_567, "1,234,567"), (3.0, "3"), (163.4, "163"), (12.34, "12.3"),
     (0.642, "0.64"), (0.0312, "0.031")],
)  # fmt: skip
def test_numbers_have_the_digits_that_count(value, shown):
    assert figures.number(value) == shown
