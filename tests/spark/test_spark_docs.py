"""Every example in the pages that import PySpark gives what it says, on the session of these tests."""

import pytest
from support.pages import PAGES, needs_spark, run_examples
from support.tiers import in_full

NAMES = [page.name for page in PAGES if needs_spark(page)]


@pytest.mark.parametrize("name", in_full(*NAMES))
def test_examples(spark, name):
    settings = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.shuffle.partitions")
    kept = {setting: spark.conf.get(setting) for setting in settings}
    try:
        run_examples(next(page for page in PAGES if page.name == name))
    finally:
        for setting, value in kept.items():
            spark.conf.set(setting, value)
