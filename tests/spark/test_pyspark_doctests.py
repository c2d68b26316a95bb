"""The examples in PySpark's own docstrings, from the installed version, with our imports in place of theirs.

They print what PySpark says that they print: those with windows, and those of aggregates, which without a window are
PySpark's own.
"""

import doctest
import re
from types import FunctionType

import pytest
from pyspark.sql import Column, GroupedData
from pyspark.sql import functions as theirs
from pyspark.sql import window as their_windows
from pyspark.sql.functions import builtin
from support.tiers import connect_in_soak, quick

from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812
from slidewise.spark.aggregate_names import is_aggregate

#: as PySpark runs them
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def list_tests() -> dict[str, doctest.DocTest]:
    """List the docstrings of PySpark's with a window in them, and those of aggregates, by their names."""
    functions = [f for name, f in vars(builtin).items() if isinstance(f, FunctionType) and name in theirs.__all__]
    found: dict[str, doctest.DocTest] = {}
    for subject in [*functions, their_windows.Window, their_windows.WindowSpec, Column.over, GroupedData]:
        for test in doctest.DocTestFinder().find(subject, subject.__name__, module=False, globs={}):
            name = test.name.split(".")[0]
            windowed = any(".over(" in example.source or "Window" in example.source for example in test.examples)
            if test.examples and (windowed or is_aggregate(name) or name in vars(F) or name == "GroupedData"):
                found[test.name] = test
    return found


def replace_imports(source: str) -> str:
    """Replace the imports of `functions` and `Window`, and leave others.

    >>> replace_imports("from pyspark.sql import Row, functions as sf")
    'from slidewise.spark import functions as sf; from pyspark.sql import Row'
    """

    def split(found: re.Match[str]) -> str:
        names = [name.strip() for name in found[1].split(",")]
        ours = [name for name in names if name == "Window" or name.startswith("functions")]
        rest = [name for name in names if name not in ours]
        lines = [(ours, "slidewise.spark"), (rest, "pyspark.sql")]
        return "; ".join(f"from {module} import {', '.join(names)}" for names, module in lines if names)

    source = re.sub(r"\bpyspark\.sql\.functions\b", "slidewise.spark.functions", source)
    source = re.sub(r"from pyspark\.sql\.window import", "from slidewise.spark import", source)
    return re.sub(r"from pyspark\.sql import ([\w, ]+)", split, source)


def run(test: doctest.DocTest, session, ours: bool) -> str:
    """Run the examples of a docstring; what the report says of failures."""
    names = {**vars(builtin), "Window": their_windows.Window, "spark": session}
    if ours:
        names |= {name: getattr(F, name) for name in theirs.__all__} | {"Window": Window}
    if hasattr(session, "sparkContext") and "connect" not in type(session).__module__:
        names["sc"] = session.sparkContext
    examples = [
        doctest.Example(
            replace_imports(e.source) if ours else e.source, e.want, e.exc_msg, e.lineno, e.indent, e.options
        )
        for e in test.examples
    ]
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    runner.run(doctest.DocTest(examples, names, test.name, test.filename, test.lineno, None), out=report.append)
    return "".join(report)


TESTS = list_tests()


@pytest.fixture
def as_documented(session):
    """A session with the settings that PySpark's examples are printed under."""
    settings = {"spark.sql.shuffle.partitions": "200", "spark.sql.session.timeZone": "America/Los_Angeles"}
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    yield session
    for name, value in before.items():
        session.conf.set(name, value)


@pytest.mark.filterwarnings("ignore")
@connect_in_soak
@pytest.mark.parametrize("name", quick(TESTS, "nth_value", "Window.rowsBetween"))
def test_an_example_prints_what_pyspark_says(name, as_documented):
    report = run(TESTS[name], as_documented, ours=True)
    if report and run(TESTS[name], as_documented, ours=False):
        pytest.skip("PySpark's own prints something else here")
    assert report == ""
