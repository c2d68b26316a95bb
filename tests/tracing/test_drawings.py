"""What a trace looks like: in text, with rich, as SVG and in a notebook."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import golden
import pytest
from rich.console import Console
from support.aggregations import Concat, Deviation

import slidewise as sw
from slidewise.tracing.picture import Tree, shorten

TRACES = dict(golden.draw())
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", TRACES)
def test_text_is_as_it_was(name):
    kept = (golden.GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert f"{TRACES[name]}\n" == kept, "look at it, then run: python tests/tracing/golden.py"


def row_of(step, row):
    return step.picture.parts[0].rows[row].cells


def test_every_golden_file_is_compared():
    assert {path.stem for path in golden.GOLDEN.iterdir()} == set(TRACES)


def test_what_is_in_the_text_is_in_the_picture():
    """Cells between the lines, in their order; a star for what has changed."""
    for step in TRACES["daba_lite"]:
        lines = str(sw.tracing.Trace("", (step,))).splitlines()
        (row,) = (line for line in lines if "│" in line)
        shown = [text.strip() for text in row.split("│")[1:-1]]
        assert shown == [cell.text + "*" * cell.changed for cell in row_of(step, 0)]


# ---- SVG
def read_svg(made):
    root = ElementTree.fromstring(made.svg())
    return root, [element.text for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("name", TRACES)
def test_svg_has_every_cell(name):
    made = TRACES[name]
    root, texts = read_svg(made)
    assert root.find(f"{SVG}title").text == f"Trace: {made.title}"
    assert root.get("role") == "img" and root.get("aria-label")
    rest = iter(texts)
    in_trees = []
    for step in made:
        for part in map(shorten, step.picture.parts):
            if isinstance(part, Tree):  # drawn level by level
                in_trees += [cell.text for cell in part.root.cells()]
                continue
            for row in part.rows:
                for cell in row.cells:
                    assert cell.text in rest, (step, cell)  # in this order
    for text in set(in_trees):
        assert texts.count(text) >= in_trees.count(text)


@pytest.mark.parametrize("name", TRACES)
def test_nothing_reaches_out_of_the_image(name):
    root, _ = read_svg(TRACES[name])
    _, _, width, height = map(float, root.get("viewBox").split())
    for box in root.iter(f"{SVG}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert x >= 0 and x + float(box.get("width")) <= width
        assert y >= 0 and y + float(box.get("height")) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


def test_svg_needs_nothing_else():
    svg = TRACES["daba_lite"].svg()
    assert svg.count("http") == 1  # the name of the format
    assert "<script" not in svg and "@import" not in svg and "url(" not in svg
    assert "prefers-color-scheme: dark" in svg
    assert svg.count("rect.changed") == 2  # once for each kind of page
    described = ElementTree.fromstring(svg).find(f"{SVG}desc").text
    assert "8. evict, flip, shrink, 1 combine" in described
    assert "12. query = 1, 1 combine" in described


def test_texts_of_users_are_escaped():
    made = sw.trace("two_stacks", sw.max(), [("insert", "<b&'\"")])
    assert "<b&'\"" in str(made)
    _, texts = read_svg(made)
    assert "<b&'\"" in texts
    assert "<b&" not in made._repr_html_()


@pytest.mark.parametrize("text", ["a\nb", "\x00", "\x1b[31m", "\ud800", "a\tb", "\u2028"])
def test_what_is_not_seen_is_escaped(text):
    """It would tear the lines of a drawing, or is no character of XML."""
    made = sw.trace("two_stacks", sw.max(), [("insert", text), ("query",)])
    assert made[-1].result == text
    assert len(str(made).splitlines()) == len(str(sw.trace("two_stacks", sw.max(), "insert 5, query")).splitlines())
    _, texts = read_svg(made)
    assert all(each.isprintable() for each in texts)
    str(made).encode("utf-8")
    shown = sw.trace("two_stacks", sw.max(), "insert 5", show=lambda partial: text)
    read_svg(shown)


def test_save(tmp_path):
    made = TRACES["daba_lite"]
    made.save(tmp_path / "daba.svg")
    made.save(str(tmp_path / "other.SVG"))
    assert (tmp_path / "daba.svg").read_text(encoding="utf-8") == made.svg()
    with pytest.raises(sw.InvalidInput, match=r"saved as SVG, to a file such as trace\.svg; got '.*daba\.png'"):
        made.save(tmp_path / "daba.png")
    assert not (tmp_path / "daba.png").exists()


def test_notebook():
    html = TRACES["fiba"]._repr_html_()
    assert html.startswith("<div") and TRACES["fiba"].svg() in html


# ---- terminals
def test_rich_has_colours():
    console = Console(force_terminal=True, color_system="standard", width=100)
    with console.capture() as capture:
        console.print(TRACES["daba_lite"])
    shown = capture.get()
    assert "\x1b[" in shown
    plain = Console(width=100)
    with plain.capture() as capture:
        plain.print(TRACES["daba_lite"])
    assert [line.rstrip() for line in capture.get().splitlines()] == str(TRACES["daba_lite"]).splitlines()


def test_without_rich_and_without_numba():
    code = """
import sys
sys.modules["rich"] = None
import slidewise as sw
assert "slidewise.tracing" not in sys.modules
print(sw.trace("daba_lite", sw.max(), "insert 5 3, evict, query"))
print(sw.trace("fiba", sw.max(), "insert 5 3")[-1].window)
assert not {"numba", "numpy", "pyspark"} & sys.modules.keys(), sys.modules.keys()
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", env=os.environ)
    assert out.returncode == 0, out.stderr
    assert "flip, shrink" in out.stdout


# ---- partials
def test_long_partials_are_lowered():
    made = sw.trace("two_stacks", Deviation(), "insert 1.25 2.5 3.75, query")
    last = row_of(made[2], 1)[-1]
    assert last.value == (3, 2.5, 3.125) and last.text == "1.25"
    shown = sw.trace("two_stacks", Deviation(), "insert 1.25", show=lambda partial: f"n={partial[0]}")
    assert row_of(shown[0], 0)[-1].text == "n=1"


def test_partials_of_sketches():
    made = sw.trace("daba_lite", sw.approx_count_distinct(), "insert 1 2 2 3, query")
    assert made[-1].result == 3
    assert max(len(cell.text) for step in made for cell in step.picture.cells()) <= 9


def test_long_results_are_cut():
    made = sw.trace("two_stacks", sw.collect_list(), [*(("insert", 1000 + k) for k in range(20)), "query"])
    assert made[-1].result == list(range(1000, 1020))
    assert made[-1].outcome == "= 1000,1001,1002,1003,1004,1005,1006,1007…"


def test_nulls():
    made = sw.trace("daba_lite", sw.max(), "insert None 3 None, query")
    assert made[-1].window == (None, 3, None)
    assert made[-1].result == 3
    assert "│ · " in str(made)


# ---- data
def test_steps_are_data():
    made = TRACES["daba_lite"]
    assert len(made) == len(list(made)) == len(made.steps) == 12
    assert made[0].number == 1 and made[-1].number == 12
    assert [step.number for step in made[3:5]] == [4, 5]
    call = made[-1].calls[0]
    assert (call.function, call.older, call.newer, call.result) == ("combine", (3, 4), (1, 6), (1, 6))
    assert repr(made[7]) == "<step 8: evict>"
    assert made[7].cases == ("flip", "shrink")


def test_refused():
    with pytest.raises(sw.InvalidInput, match=r"trace takes an aggregation such as slidewise\.max\(\), got 'max'"):
        sw.trace("daba", "max", "insert 5")
    with pytest.raises(sw.InvalidInput, match="there is no algorithm 'dabba'"):
        sw.trace("dabba", sw.max(), "insert 5")
    with pytest.raises(sw.IllegalPair, match="subtract_on_evict needs an aggregation that is invertible"):
        sw.trace("subtract_on_evict", sw.max(), "insert 5")
    with pytest.raises(sw.InvalidInput, match="flat_fat has a fixed capacity"):
        sw.trace("flat_fat", sw.max(), "insert 5")
    with pytest.raises(sw.InvalidInput, match="Incomplete has no combine"):
        sw.trace("daba", type("Incomplete", (sw.Aggregation,), {}), "insert 5")
    with pytest.raises(sw.InvalidInput, match="trace: step 2, evict: evict: the window of daba is empty"):
        sw.trace("daba", sw.max(), "query, evict")
    with pytest.raises(sw.InvalidInput, match="trace: step 1, remove 3: daba has no remove"):
        sw.trace("daba", sw.max(), "remove 3")
    with pytest.raises(sw.InvalidInput, match=r"two_stacks has no query_last\. Take b_int"):
        sw.trace("two_stacks", sw.max(), "insert 5, query_last 1")
    with pytest.raises(sw.IllegalPair, match="trace: step 2, insert 5 at 2: daba needs values in the order"):
        sw.trace("daba", sw.max(), "insert 5 at 3, insert 5 at 2")
    with pytest.raises(TypeError) as raised:
        sw.trace("daba", Concat(), "insert 'a' 3")
    assert any("of the trace: insert" in note for note in raised.value.__notes__)
