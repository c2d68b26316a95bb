"""Builds the documentation site: python docs/build_site.py [folder], by default into site/. `make docs` does.

The pages of docs/ stay as they are, for readers of the repository. A copy of them goes through three steps:

1. Stage: README, CONTRIBUTING and CHANGELOG join them, and so does the API reference; what pages link to elsewhere in
   the repository (examples, benchmarks) becomes a page that shows it; links follow.
2. Build: zensical renders them, with search. Any broken link or anchor is an error.
3. Check: every link of what was built leads to a file and an anchor, and nothing is loaded from another host.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

#: The navigation: pages of docs/ by title of a section. Every page is in one of them; patterns are for those to come.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("quickstart.md", "from-*.md", "cookbook.md", "index.md"),
    "Aggregations and windows": ("aggregations.md", "windows.md", "columns.md", "own-aggregations.md"),
    "Spark": ("spark.md", "spark-sql.md", "spark-streams.md", "what-runs-where.md"),
    "Pipelines": ("pipelines.md", "production.md"),
    "How it works": (
        "algorithms.md",
        "traces.md",
        "state.md",
        "papers.md",
        "papers/*.md",
        "benchmarks.md",
        "architecture.md",
    ),
}
#: pages of the repository that are no part of docs/, by where they go; docs/index.md leaves its place to the README
ELSEWHERE = {
    "README.md": "index.md",
    "docs/index.md": "contents.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
API = "api"
#: where pages go that show other files of the repository
SOURCE = "source"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json", ".sql": "sql"}

CONFIG = """
[project]
site_name = "slidewise"
site_description = "Sliding-window aggregation for Python and Spark"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false  # pages are files, which open without a server, too
nav = {nav}

[project.theme]
variant = "modern"
font = false  # those of the reader's system: nothing is loaded from elsewhere
features = [
  "content.code.copy", "navigation.footer", "navigation.indexes", "navigation.sections", "navigation.tabs",
  "navigation.top", "search.highlight", "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Switch to dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Switch to light mode"

[project.markdown_extensions.admonition]
[project.markdown_extensions.attr_list]
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
[project.markdown_extensions.pymdownx.betterem]
[project.markdown_extensions.pymdownx.highlight]
anchor_linenums = false
[project.markdown_extensions.pymdownx.inlinehilite]
[project.markdown_extensions.pymdownx.superfences]
"""


class BrokenDocs(Exception):
    """What is wrong with the pages, a line each."""


def build(into: Path) -> int:
    """Build the site into a folder, and return the number of its pages; BrokenDocs says what is wrong."""
    from docs.api_reference import pages as api_pages
    from docs.api_reference import titles

    staged = Staged()
    staged.add_all()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        staged.write(work / "pages")
        for name, text in api_pages().items():
            write(work / "pages" / API / name, text)
        nav = list_navigation({"API reference": [{title: f"{API}/{name}"} for name, title in titles().items()]})
        (work / "zensical.toml").write_text(CONFIG.replace("{nav}", to_toml(nav)), encoding="utf-8")
        run_zensical(work)
        check_site(work / "site")
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(work / "site", into)
    return len(list(into.rglob("*.html")))


def run_zensical(work: Path) -> None:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    run = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    # A template that fails is an error which zensical reports, and goes on from.
    if run.returncode or "Error" in said or "Warning" in said:
        raise BrokenDocs(f"zensical build --strict ended with {run.returncode}:\n{said}")


# ---- the navigation
def list_pages() -> list[str]:
    """List the pages of docs/."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def list_navigation(*more: object) -> list[object]:
    """List the sections with their pages, as they are in the site; a page in no section is an error."""
    left = list_pages()
    guide: list[object] = ["index.md"]
    for title, patterns in SECTIONS.items():
        chosen = [page for pattern in patterns for page in left if fnmatch(page, pattern)]
        guide.append({title: [place(f"docs/{page}") for page in chosen]})
        left = [page for page in left if page not in chosen]
    if left:
        raise BrokenDocs(
            f"docs/{left[0]} is in no section of the navigation: name it in SECTIONS of docs/build_site.py"
        )
    return [{"Guide": guide}, *more, {"Project": [ELSEWHERE["CONTRIBUTING.md"], ELSEWHERE["CHANGELOG.md"]]}]


def to_toml(value: object) -> str:
    """Write lists, dicts and texts as TOML.

    >>> to_toml([{"Start": ["a.md", "b.md"]}])
    '[{"Start" = ["a.md", "b.md"]}]'
    """
    if isinstance(value, list):
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {to_toml(item)}' for key, item in value.items()) + "}"
    return f'"{value}"'


# ---- staging
def place(path: str) -> str:
    """Tell where a file of the repository goes in the site; what is no page is shown by one.

    >>> place("README.md"), place("docs/spark.md"), place("examples/tour.py")
    ('index.md', 'spark.md', 'source/examples/tour.py.md')
    """
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"{SOURCE}/{path}/index.md"
    return f"{SOURCE}/{path}" if path.endswith(".md") or is_image(path) else f"{SOURCE}/{path}.md"


def is_image(path: str) -> bool:
    return path.endswith((".svg", ".png"))


class Staged:
    """The pages and files of the site, before they are rendered."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        self.broken: list[str] = []

    def add_all(self) -> None:
        """Add all pages, and what they link to; BrokenDocs lists the links that lead nowhere."""
        for path in [*ELSEWHERE, *(f"docs/{page}" for page in list_pages())]:
            self.add(path)
        if self.broken:
            raise BrokenDocs("\n".join(self.broken))

    def add(self, path: str) -> None:
        """Add a file or folder of the repository, once."""
        where, file = place(path), ROOT / path
        if where in self.texts or where in self.files:
            return
        if file.is_dir():
            self.texts[where] = f"# {path}\n"  # first, since what is in it may link back
            names = sorted(f"{path}/{child.name}" for child in file.iterdir() if is_shown(child))
            items = [f"- [{name}]({relative(where, place(name))})" for name in names]
            self.texts[where] += "\n" + "\n".join(items) + "\n"
            for name in names:
                self.add(name)
        elif path.endswith(".md"):
            text = file.read_text(encoding="utf-8")
            self.texts[where] = text
            self.texts[where] = map_links(text, lambda link: self.follow(link, path))
        elif is_image(path) or path.startswith("docs/"):
            self.files[where] = file
        else:
            fence = f"````{LANGUAGES.get(file.suffix, '')}"
            self.texts[where] = f"# {path}\n\n{fence}\n{file.read_text(encoding='utf-8').rstrip()}\n````\n"

    def follow(self, link: str, path: str) -> str:
        """Give a link of a page as it is in the site, and add what it leads to."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or not parts.path:
            return link
        target = os.path.normpath((PurePosixPath(path).parent / unquote(parts.path)).as_posix())
        if target.startswith("..") or not (ROOT / target).exists():
            self.broken.append(f"{path}: the link {link} leads to no file")
            return link
        if (ROOT / target / "README.md").is_file():
            target += "/README.md"
        self.add(target)
        return relative(place(path), place(target)) + (f"#{parts.fragment}" if parts.fragment else "")

    def write(self, folder: Path) -> None:
        """Write all of it."""
        for name, text in self.texts.items():
            write(folder / name, text)
        for name, file in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / name)


def is_shown(path: Path) -> bool:
    """Tell whether a file of a linked folder is shown."""
    return path.name[0] not in "._" and (path.suffix in LANGUAGES or path.suffix == ".md" or path.is_dir())


def relative(start: str, target: str) -> str:
    """Give the link from one page to another.

    >>> relative("papers/report.md", "index.md"), relative("index.md", "papers/report.md")
    ('../index.md', 'papers/report.md')
    """
    return os.path.relpath(target, PurePosixPath(start).parent)


def map_links(text: str, change: Callable[[str], str]) -> str:
    """Change the links and images of a page; what stands in code is no link.

    >>> map_links("[a](b.md), `[c](d.md)`", str.upper)
    '[a](B.MD), `[c](d.md)`'
    """
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    link = re.compile(r"(\]\()([^()\s]+)(\))")
    return "".join(
        part if k % 2 else link.sub(lambda m: m[1] + change(m[2]) + m[3], part) for k, part in enumerate(parts)
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# ---- what was built
class Html(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take one tag."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev", "alternate") and "href" in given:
            self.loads.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])


def check_site(site: Path) -> None:
    """Check every page: its links lead to files and anchors, and what it loads is part of the site."""
    pages = {path: Html(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = [problem for path, page in pages.items() for problem in check_page(site, path, page, pages)]
    styles = [
        path for path in site.rglob("*.css") if re.search(r"@import|url\((?!\"?'?data:)[\"']?https?:", path.read_text())
    ]
    broken += [f"{path.relative_to(site)} loads from another host" for path in styles]
    if not pages:
        broken = ["no page was built"]
    if broken:
        raise BrokenDocs("\n".join(broken))


def check_page(site: Path, path: Path, page: Html, pages: Mapping[Path, Html]) -> Iterator[str]:
    """Find what is wrong with one page."""
    where = path.relative_to(site)
    for load in page.loads:
        if urlsplit(load).netloc:
            yield f"{where} loads {load} from another host"
        elif not urlsplit(load).scheme and not resolve(site, path, load).is_file():
            yield f"{where} loads {load}, which is not there"
    if path.name == "404.html":
        return  # it is shown in place of any page, and its links are those of the root
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = resolve(site, path, link) if parts.path else path
        if not target.is_file():
            yield f"{where}: the link {link} leads to no page"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{where}: the link {link} leads to no anchor"


def resolve(site: Path, path: Path, link: str) -> Path:
    """Find the file that a link of a page leads to."""
    written = unquote(urlsplit(link).path)
    target = Path(os.path.normpath(site / written.lstrip("/") if written.startswith("/") else path.parent / written))
    return target / "index.html" if target.is_dir() else target


def main(arguments: Iterable[str]) -> int:
    """Build the site, and say where it is."""
    into = Path(next(iter(arguments), str(ROOT / "site"))).resolve()
    try:
        number = build(into)
    except BrokenDocs as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{number} pages in {into}: open {into / 'index.html'}, or python -m http.server -d {into}")
    return 0


if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # in place of docs/, whose modules are those of the package `docs`
    sys.exit(main(sys.argv[1:]))
