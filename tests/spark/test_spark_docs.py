"""Every example in the pages about Spark gives what it says, on the session of these tests."""

import doctest
from pathlib import Path

import pytest
from support.tiers import in_full

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("spark*.md"))


@pytest.mark.parametrize("page", [PAGES[0], *in_full(*PAGES[1:])], ids=lambda page: page.name)
def test_examples(spark, page):
    settings = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.shuffle.partitions")
    kept = {name: spark.conf.get(name) for name in settings}
    try:
        options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=options, encoding="utf-8")
    finally:
        for name, value in kept.items():
            spark.conf.set(name, value)
    assert failed == 0
