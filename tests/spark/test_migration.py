"""The jobs of examples/migrate: import lines alone differ, and the results are PySpark's own."""

import difflib
from pathlib import Path

import pytest
from support.tiers import quick

from examples.migrate import after, before
from examples.migrate.jobs import JOBS, are_equal, generate_orders, run_job


def test_import_lines_alone_differ():
    old, new = (Path(module.__file__).read_text().splitlines() for module in (before, after))
    changed = [line for line in difflib.ndiff(old, new) if line[0] in "+-" and line[2:].strip()]
    assert changed
    assert all(line[2:].startswith("from ") and " import " in line for line in changed)


@pytest.mark.parametrize("name", quick(JOBS, *list(JOBS)[:2]))
def test_a_job_gives_what_it_gave_before(name, session):
    orders = generate_orders(session, 3000)
    old, new = (run_job(module, name, orders) for module in (before, after))
    assert len(old) > 2000
    assert are_equal(old, new)
