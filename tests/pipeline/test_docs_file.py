"""The file that docs/pipelines.md shows is a pipeline, and its tests pass."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import projects
import pytest

import slidewise as sw

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"


def read_blocks() -> list[str]:
    """The blocks of YAML of the page: a whole file, and a source with a history."""
    return re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the page, with its Python file beside it."""
    (tmp_path / "card.yaml").write_text(read_blocks()[0])
    (tmp_path / "features.py").write_text(projects.OWN)
    return tmp_path / "card.yaml"


def test_the_file_of_the_page_is_a_call_of_with_columns(file: Path) -> None:
    pipeline = sw.load(file)
    shown = {name: repr(each) for name, each in pipeline.features.items()}
    assert shown == {
        "spent_1h": "sum('amount').over(time(\"1h\"))",
        "spent_24h": "sum('amount').over(time(\"24h\"))",
        "spent_7d": "sum('amount').over(time(\"7d\"))",
        "usual": "median('amount').over(rows(100))",
        "places": "count_distinct('merchant', where='amount > 10').over(time(\"30d\"))",
        "vwap": "Vwap('price', 'size').over(time(\"1h\"))",
    }
    assert pipeline.keys == ["card"] and pipeline.time == "at"


def test_the_history_of_the_page_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER", "localhost:9092")
    _, source = read_blocks()
    rest = "name: a\nvars: {lake: x}\nkeys: card\ntime: at\nfeatures: {spent: {sum: amount, over: 30d}}\n"
    (tmp_path / "a.yaml").write_text(rest + source)
    history = sw.load(tmp_path / "a.yaml").history
    assert history is not None and history.path == "x/payments"
    assert history.until == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.full
def test_the_tests_of_the_page_pass(spark: Any, file: Path) -> None:
    from slidewise.pipeline.examples import Examples, list_examples

    pipeline = sw.load(file)
    examples = Examples(spark, pipeline)
    outcomes = [examples.run(number, name) for number, name, _ in list_examples(pipeline)]
    assert [outcome.passed for outcome in outcomes] == [True]
