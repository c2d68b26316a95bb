"""Every example in the README and the pages of the documentation gives what it says."""

import doctest
from pathlib import Path

import pytest
from support.tiers import in_full

ROOT = Path(__file__).parent.parent
#: those about Spark run on the session of tests/spark
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if "spark" not in page.name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page):
    require_examples(page)


@pytest.mark.compiled
@pytest.mark.parametrize("page", [PAGES[0], *in_full(*PAGES[1:])], ids=lambda page: page.name)
def test_compiled_examples(page):
    require_examples(page)


def require_examples(page):
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=options, encoding="utf-8")
    assert failed == 0
