"""Every example in the README and the pages of the documentation gives what it says."""

import pytest
from support.pages import PAGES, ROOT, list_pairs, list_values, needs_spark, run_examples
from support.tiers import in_full

#: Pages with tables of old and new, and how many rows they have at least.
SIDE_BY_SIDE = (("pandas", 30), ("polars", 25))
APART = {f"from-{name}.md" for name, _ in SIDE_BY_SIDE}
#: The README is the first: a user's first minute is compiled.
README, *OTHERS = (page for page in PAGES if not needs_spark(page) and page.name not in APART)


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_examples(page):
    run_examples(page)


@pytest.mark.compiled
@pytest.mark.parametrize("page", in_full(README, *OTHERS), ids=lambda page: page.name)
def test_compiled_examples(page):
    run_examples(page)


@pytest.mark.parametrize("table", [*SIDE_BY_SIDE, *in_full(*SIDE_BY_SIDE)], ids=lambda table: table[0])
def test_both_columns_of_a_table_give_the_same(table):
    name, least = table
    page = ROOT / "docs" / f"from-{name}.md"
    names = run_examples(page)
    pairs = list(list_pairs(page, name))
    assert len(pairs) >= least
    for old, new in pairs:
        theirs, ours = list_values(eval(old, names)), list_values(eval(new, names))
        assert ours == pytest.approx(theirs, nan_ok=True), (old, new)
