"""Pages of the documentation as tests: their examples, and tables whose columns are two ways to write one thing."""

from __future__ import annotations

import doctest
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def needs_spark(page: Path) -> bool:
    """Tell whether any example of a page imports PySpark: such pages run on the session of tests/spark."""
    return any("pyspark" in example.source for example in _parse(page))


def run_examples(page: Path) -> dict[str, Any]:
    """Run the examples of a page, and give the names that they leave."""
    text = page.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0
    return test.globs


def list_pairs(page: Path, old: str) -> Iterator[tuple[str, str]]:
    """List the rows of the tables whose first two columns are headed by `old` and slidewise: code, and its equal."""
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[:2] == [old, "slidewise"]:
            inside = True
        elif inside and "---" not in cells[0]:
            yield (_read_code(cells[0]), _read_code(cells[1]))


def list_values(found: Any) -> list[Any]:
    """List the values of a column, of any library, so that two of them can be compared."""
    values = found.to_list() if hasattr(found, "to_list") else found.tolist()
    return [None if isinstance(x, float) and math.isnan(x) else x for x in values]


def _read_code(cell: str) -> str:
    found = re.fullmatch(r"`(.*)`", cell)
    assert found, cell
    return found[1]


def _parse(page: Path) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
