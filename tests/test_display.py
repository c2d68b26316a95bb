"""Tables are plain, aligned text in a console, and need nothing but Python; rich shows them too, where it is there."""

import os
import subprocess
import sys

import pytest
from rich.console import Console

import slidewise as sw
from slidewise.display import Table

#: an installation without the extra of the command line
HIDE_RICH = "import sys; sys.modules['rich'] = None\n"


def run_without_rich(code):
    command = [sys.executable, "-c", HIDE_RICH + code]
    environment = os.environ | {"COLUMNS": "120"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")


def assert_aligned(text, columns):
    """Every column begins where its name does, in all lines of the table."""
    lines = text.splitlines()
    rule = next(k for k, line in enumerate(lines) if line.startswith(" ──"))
    starts = [lines[rule - 1].index(name) for name in columns]
    body = [line for line in lines[rule + 1 :] if line.strip()]
    assert body
    for line in body:
        for start in starts[1:]:
            assert line[start - 3 : start].strip() == "", line


def test_without_rich_every_table_is_there():
    result = run_without_rich("""
import slidewise as sw
print(sw.explain(sw.max(), sw.rows(1000)))
print("====")
print(sw.list_algorithms())
print("====")
print(sw.list_aggregations())
print("====")
print(sw.explain({"peak": sw.max("x").over(sw.rows(9)), "mean": sw.avg("x").over(sw.rows(9))}))
print("====")
print(sw.list_algorithms()._repr_html_()[:7])
""")
    assert result.returncode == 0, result.stderr
    choice, algorithms, aggregations, call, html = result.stdout.split("====\n")
    assert "runner-up" in choice and "daba_lite" in choice
    assert "order_statistic_tree" in algorithms
    assert "count_distinct" in aggregations
    assert "max('x').over(rows(9))" in call and "frames with" in call
    assert html == "<table>\n"


@pytest.mark.full
def test_without_rich_the_command_line_runs():
    result = run_without_rich("""
from slidewise.fuzz.__main__ import main
sys.exit(main(["columns", "--cases", "2"]))
""")
    assert (result.returncode, result.stdout) == (0, "2 cases, 0 failed\n"), result.stderr


def test_a_short_table():
    table = Table.of("planets", [{"name": "Venus", "moons": 0}, {"name": "Mars", "moons": 2}], note="of the inner ones")
    assert str(table).splitlines() == [
        "planets",
        "",
        "  name    moons",
        " ───────────────",
        "  Venus   0",
        "  Mars    2",
        "",
        "of the inner ones",
    ]
    assert str(Table.of("nothing", [])) == "nothing"


@pytest.mark.parametrize("width", [80, 120, 160])
def test_long_cells_take_several_lines_in_the_width_there_is(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [
        {"name": "a", "empty": "", "text": "some words and more of them " * 8, "number": "17", "path": "x" * 30},
        {"name": "bcd", "empty": "", "text": "few", "number": "4", "path": "y"},
    ]
    text = str(Table.of("long", rows, note="a note that is long enough to be wrapped " * 6))
    assert max(map(len, text.splitlines())) <= width
    assert_aligned(text.partition("\n\na note")[0], list(rows[0]))
    assert "x" * 30 in text
    assert text.count("some") == 8 and text.count("wrapped") == 6


def test_a_word_breaks_where_there_is_no_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = str(Table.of("", [{"name": "a", "first": "x" * 100, "second": "y" * 100}]))
    assert max(map(len, text.splitlines())) <= 80
    assert (text.count("x"), text.count("y")) == (100, 100)


def test_tables_of_the_library_are_aligned(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert_aligned(str(sw.list_aggregations()).partition("\n\nAll are")[0], ["aggregation", "kind", "what it gives"])


def test_a_console_of_rich_shows_them_in_its_own_way(capsys):
    console = Console(width=120)
    console.print(sw.explain(sw.max(), sw.rows(1000)))
    console.print(Table.of("planets", [{"name": "Venus"}]))
    shown = capsys.readouterr().out
    assert "daba_lite" in shown and "Venus" in shown


def test_functions_of_no_module_are_compiled_beside_the_announcement():
    """Numba tells of everything that it compiles, a user's functions made by exec() included, which have no module."""
    import numba
    import numpy as np

    import slidewise as sw

    sw.rolling(np.array([1.0, 2.0]), sw.max(), 2)
    names: dict[str, object] = {}
    exec("def double(x): return 2 * x", {"__name__": None}, names)
    assert numba.njit(names["double"])(4) == 8
