"""Every example in the README and the pages of the documentation gives what it says."""

import pytest
from support.pages import PAGES, ROOT, list_pairs, list_values, needs_spark, run_examples
from support.tiers import in_full

#: Pages of many small examples: to compile the kernels of them all is left to the full tier.
MANY = ("cookbook.md", "from-flink.md")
#: Pages with tables of old and new, and how many rows they have at least.
SIDE_BY_SIDE = (("pandas", 30), ("polars", 25))


def list_pages():
    apart = {f"from-{name}.md" for name, _ in SIDE_BY_SIDE}
    pages = [page for page in PAGES if not needs_spark(page) and page.name not in apart]
    many = [page for page in pages if page.name in MANY]
    return [*(pytest.param(p, marks=pytest.mark.compiled) for p in pages if p not in many), *many, *in_full(*many)]


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.name)
def test_examples(page):
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
