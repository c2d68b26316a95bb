"""Every example in the README and the pages of the documentation gives what it says."""

import pytest
from support.pages import PAGES, ROOT, list_pairs, list_values, needs_spark, run_examples

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("page", [page for page in PAGES if not needs_spark(page)], ids=lambda page: page.name)
def test_examples(page):
    run_examples(page)


@pytest.mark.parametrize(("name", "least"), [("pandas", 25), ("polars", 20)])
def test_both_columns_of_a_table_give_the_same(name, least):
    page = ROOT / "docs" / f"from-{name}.md"
    names = run_examples(page)
    pairs = list(list_pairs(page, name))
    assert len(pairs) >= least
    for old, new in pairs:
        theirs, ours = list_values(eval(old, names)), list_values(eval(new, names))
        assert ours == pytest.approx(theirs, nan_ok=True), (old, new)
