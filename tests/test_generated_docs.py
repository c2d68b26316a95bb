"""The tables in the documentation are those of the registry."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", generator().PAGES)
def test_tables_are_up_to_date(page):
    text = (DOCS / page).read_text()
    assert "<!-- table:" in text
    assert generator().rewritten(text) == text, "run: python docs/generate.py"


def test_every_entry_is_in_a_table():
    made = generator()
    assert all(f"`{e.name}`" in made.costs() and f"`{e.name}`" in made.abilities() for e in made.ALGORITHMS)
    assert all(f"`{e.name}`" in made.aggregations() for e in made.AGGREGATIONS)
