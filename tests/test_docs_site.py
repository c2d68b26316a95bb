"""The site: every page is in its navigation, every public name in its API reference, and no link is broken."""

import shutil
from pathlib import Path

import pytest

from docs import build_site as site

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def reference():
    return pytest.importorskip("docs.api_reference")


# ---- pages
def test_every_page_is_in_the_navigation():
    in_nav = str(site.list_navigation())
    assert all(f"'{site.place(f'docs/{page}')}'" in in_nav for page in site.list_pages())


def test_a_page_in_no_section_is_refused(monkeypatch):
    monkeypatch.setattr(site, "SECTIONS", {"Start": ("index.md",)})
    with pytest.raises(site.BrokenDocs, match=r"docs/aggregations.md is in no section of the navigation: name it in"):
        site.list_navigation()


def test_every_page_is_in_the_table_of_contents():
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = [page for page in site.list_pages() if "/" not in page and page != "index.md"]
    assert [page for page in listed if f"]({page})" not in contents] == []


def test_links_of_all_pages_lead_to_files():
    staged = site.Staged()
    staged.add_all()
    assert {"index.md", "contents.md", "contributing.md", "source/examples/tour.py.md"} <= staged.texts.keys()
    assert "](contributing.md)" in staged.texts["index.md"] and "](../CONTRIBUTING.md)" not in str(staged.texts)


def test_a_link_to_no_file_is_refused(monkeypatch, tmp_path):
    shutil.copytree(DOCS, tmp_path / "docs")
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("[here](docs/nowhere.md)\n")
    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "DOCS", tmp_path / "docs")
    with pytest.raises(site.BrokenDocs, match=r"README.md: the link docs/nowhere.md leads to no file"):
        site.Staged().add_all()


def test_what_was_built_is_checked(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#there">b</a><a href="#top">up</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1><a href="a.html">a</a>')
    site.check_site(tmp_path)
    for wrong, said in {
        '<a href="c.html">c</a>': "b.html: the link c.html leads to no page",
        '<a href="a.html#bottom">a</a>': "b.html: the link a.html#bottom leads to no anchor",
        '<script src="https://cdn.example/x.js"></script>': "b.html loads https://cdn.example/x.js from another host",
        '<link rel="stylesheet" href="x.css">': "b.html loads x.css, which is not there",
    }.items():
        (tmp_path / "b.html").write_text(f'<h1 id="there">B</h1>{wrong}')
        with pytest.raises(site.BrokenDocs) as refused:
            site.check_site(tmp_path)
        assert str(refused.value) == said


# ---- the API reference
def test_every_public_name_is_in_the_reference(reference):
    places = reference.anchors()
    assert reference.public_names() - places.keys() == set()
    written = reference.pages()
    for name, place in places.items():
        page, anchor = place.split("#")
        assert f"{{ #{anchor} }}" in written[page], name


def test_every_entry_has_a_docstring_and_an_example(reference):
    entries = [entry for page in reference.pages_shown() for entry in page.entries]
    assert [entry.name for entry in entries if not reference.has_example(entry)] == []
    assert [part.name for entry in entries for part in entry.parts if not reference.docstring(part)] == []


def test_signatures_are_those_of_the_running_package(reference):
    pages = reference.pages()
    assert "sw.max(column: str | None = None, *, where=None)" in pages["aggregations.md"]
    assert "Window.flush() -> list[Result]" in pages["events.md"]
    push = (
        "Window.push(\n    value: Any,\n    time: Any = None,\n    key: Any = None,\n    source: str | None = None,\n)"
    )
    assert f"{push} -> list[Result]" in pages["events.md"]
    assert "F.median(col: ColumnOrName, *, where: ColumnOrName | None = None)" in pages["spark-functions.md"]
    assert "    threads: int | None = None,\n" in pages["columns.md"]


def test_every_command_is_in_the_reference(reference):
    from slidewise.cli.app import app

    page = reference.pages()["command-line.md"]
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert all(f"## `slidewise {name}`" in page for name in names)
    assert "| `--once` | As a stream, take what is there now, and end. |" in page


@pytest.mark.full
def test_the_site_builds(tmp_path):
    pytest.importorskip("zensical")
    assert site.build(tmp_path / "site") > 40
    found = (tmp_path / "site" / "search.json").read_text(encoding="utf-8")
    assert "count_distinct" in found
