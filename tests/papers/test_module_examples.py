"""Every example in the modules of the papers' experiments gives what it says."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest
from support.tiers import quick

from benchmarks import papers

MODULES = sorted(path.stem for path in Path(papers.__path__[0]).glob("*.py") if not path.stem.startswith("__"))
#: the others may compile kernels
CHEAP = ("collection", "counts", "experiment", "pictures", "report", "runs")


@pytest.mark.parametrize("name", quick(MODULES, *CHEAP))
def test_examples_hold(name):
    failed, tried = doctest.testmod(import_module(f"benchmarks.papers.{name}"))
    assert failed == 0
    if name == "experiment":
        assert tried > 5
