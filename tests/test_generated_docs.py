"""The tables in the documentation are those of the registry, and its drawings those of the structures."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: it asks all engines for all pairs: quick only where kernels run as plain Python
ALL_PAIRS = "what-runs-where.md"


@pytest.mark.parametrize("page", generator().PAGES)
def test_tables_are_up_to_date(page):
    text = (DOCS / page).read_text()
    assert "<!-- table:" in text
    assert generator().rewritten(text) == text, "run: python docs/generate.py"


def test_every_entry_is_in_a_table():
    made = generator()
    assert all(f"`{e.name}`" in made.costs() and f"`{e.name}`" in made.abilities() for e in made.ALGORITHMS)
    assert all(f"`{e.name}`" in made.aggregations() for e in made.AGGREGATIONS)


def test_some_lines_of_what_runs_where_are_what_engines_answer():
    made = generator()
    page = (DOCS / ALL_PAIRS).read_text()
    lines = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| `")}
    assert {f"| `{e.name}`" for e in made.AGGREGATIONS} == {name for name in lines if name.count("`") == 2}
    for name in ("count", "naive_bayes"):
        cells = [made.who_runs(name, window) for window in made.WINDOWS]
        assert lines[f"| `{name}`"] == " | ".join([f"| `{name}`", *cells]) + " |", "run: python docs/generate.py"


def test_drawings_are_up_to_date():
    made = generator().drawings()
    kept = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "images").glob("trace-*.svg")}
    assert {name: trace.svg() for name, trace in made.items()} == kept, "run: python docs/generate.py"
    page = (DOCS / "traces.md").read_text()
    assert all(f"(images/{name})" in page for name in made)
