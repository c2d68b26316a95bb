"""The API reference: Markdown pages made from the signatures and docstrings of all that is public.

Names are looked up in the package as it runs: many are made where they are bound (`sw.max` is the class `Max`, whose
metaclass adds `where=`), and a reader of source alone would not find them. `docs/build_site.py` puts the pages into the
site.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, get_overloads

import typer

import slidewise as sw
import slidewise.data
import slidewise.pandas
import slidewise.pipeline
import slidewise.polars
import slidewise.spark
import slidewise.testing
import slidewise.tracing
from slidewise import aggregations, errors
from slidewise.aggregations.base import FUNCTIONS
from slidewise.cli.app import app
from slidewise.cli.exit_codes import DESCRIPTION
from slidewise.columns.warm_up import WarmUp
from slidewise.planner.explain import Explanation
from slidewise.spark import functions
from slidewise.spark.streams.checkpoint import Check
from slidewise.spark.window import WindowSpec
from slidewise.templates.interpret import Swag
from slidewise.testing.laws import LawReport
from slidewise.tracing import Step, Trace

#: a signature that is longer has a line per parameter
LINE = 88

#: titles of the modules of aggregations, in the order of their page; others follow, by the names of their files
GROUPS = {
    "sums": "Sums, counts and means",
    "extremes": "Smallest and largest",
    "moments": "Deviations and shape",
    "ranks": "Medians and percentiles",
    "frequencies": "Distinct counts and modes",
    "distinct": "Of the different values",
    "positions": "First, last and n-th rows",
    "places": "By a row's place in its key",
    "collecting": "Lists, sets and texts",
    "logic": "Booleans and bits",
    "covariance": "Two columns",
    "regression": "Lines through two columns",
    "decay": "Recent rows count more",
    "sketches": "Sketches",
}


@dataclass(frozen=True)
class Entry:
    """One public name, how readers write it, and which of its members are shown: all by default."""

    #: the full name, which is also its anchor
    name: str
    label: str
    value: Any
    members: tuple[str, ...] | None = ()
    aliases: tuple[str, ...] = ()

    @property
    def documented(self) -> list[str]:
        """All names that the entry is about."""
        home = self.name.rpartition(".")[0]
        return [self.name, *(f"{home}.{alias}" for alias in self.aliases)]

    @cached_property
    def parts(self) -> list[Entry]:
        """The methods and properties that are shown."""
        names = list_members(self.value) if self.members is None else self.members
        short = self.label.rpartition(".")[2]
        return [Entry(f"{self.name}.{n}", f"{short}.{n}", inspect.getattr_static(self.value, n)) for n in names]


@dataclass(frozen=True)
class Page:
    """One page: what it is about, and its entries by section."""

    file: str
    title: str
    about: str
    sections: Mapping[str, Sequence[Entry]]

    @property
    def entries(self) -> list[Entry]:
        """The entries of all sections."""
        return [entry for entries in self.sections.values() for entry in entries]


# ---- what there is
def of(module: ModuleType, prefix: str, *names: str, members: tuple[str, ...] | None = ()) -> list[Entry]:
    """Make the entries of names of a module, which readers write with a prefix."""
    return [Entry(f"{module.__name__}.{n}", f"{prefix}{n}", getattr(module, n), members) for n in names]


def of_class(cls: type, label: str, members: tuple[str, ...] | None = None) -> Entry:
    """Make the entry of a class that has no public name of its own: what a function gives."""
    return Entry(f"{cls.__module__}.{cls.__qualname__}", label, cls, members)


@cache
def pages_shown() -> tuple[Page, ...]:
    """List the pages, in the order of the navigation."""
    spark = slidewise.spark
    return (
        Page(
            "aggregations.md",
            "Aggregations",
            "What is computed over a window. Each name makes an aggregation: of columns, by their names, for "
            "`sw.with_columns` and `sw.aggregate`; without columns, of values, for `sw.rolling`, `sw.Window` and "
            "`sw.swag`. `where=` names a boolean column: rows where it is not true are left out. Their properties are "
            "in docs/aggregations.md, and where they run in docs/what-runs-where.md.",
            by_module(aggregations),
        ),
        Page(
            "windows.md",
            "Windows",
            "Which rows belong together, and when a result is due. See docs/windows.md.",
            {
                "By rows and by time": of(sw, "sw.", "rows", "time"),
                "SQL's frames": of(sw, "sw.", "rows_between", "range_between", "groups_between", "col", "UNBOUNDED"),
                "By gaps and by values": of(sw, "sw.", "session", "delta", "punctuation"),
                "Your own bounds": of(sw, "sw.", "frames"),
                "An aggregation over a window": of(sw, "sw.", "Over", members=None),
            },
        ),
        Page(
            "columns.md",
            "Frames and arrays",
            "Whole frames go in, and frames of the same kind come back: pandas, polars, Arrow, DuckDB, NumPy, Spark. "
            "See docs/columns.md.",
            {
                "Frames of any kind": of(sw, "sw.", "with_columns", "aggregate", "asc", "desc"),
                "One array": of(sw, "sw.", "rolling"),
                "Why, and what comes first": [
                    *of(sw, "sw.", "explain"),
                    of_class(Explanation, "Explanation"),
                    *of(sw, "sw.", "warm_up"),
                    of_class(WarmUp, "WarmUp", ()),
                ],
                "slidewise.pandas": list_classes(slidewise.pandas),
                "slidewise.polars": list_classes(slidewise.polars),
            },
        ),
        Page(
            "events.md",
            "Event by event",
            "Rows go in one at a time. See docs/windows.md for windows, docs/algorithms.md for the bare structures, "
            "docs/state.md for their state as bytes, and docs/traces.md for their drawings.",
            {
                "Windows": of(sw, "sw.", "Window", "Result", members=None),
                "Bare structures": [*of(sw, "sw.", "swag"), of_class(Swag, "Swag")],
                "What there is": of(sw, "sw.", "list_algorithms", "list_aggregations"),
                "Watching them work": [*of(sw, "sw.", "trace"), of_class(Trace, "Trace"), of_class(Step, "Step")],
            },
        ),
        Page(
            "spark.md",
            "Spark",
            "`from slidewise import spark as sws`, or PySpark's two imports: "
            "`from slidewise.spark import Window, functions as F`. See docs/spark.md and docs/spark-sql.md; "
            "`sw.with_columns`, `sw.aggregate` and `sw.explain` take Spark DataFrames, too.",
            {
                "DataFrames": of(
                    spark, "sws.", "with_columns", "aggregate", "select", "with_column", "filter", "sql", "configure"
                ),
                "Windows in PySpark's spelling": [
                    *of(spark, "", "Window", members=None),
                    of_class(WindowSpec, "WindowSpec"),
                ],
                "PySpark's own methods": of(spark, "sws.", "enable", "disable"),
                "Functions": of(spark, "sws.", "functions"),
            },
        ),
        Page(
            "spark-functions.md",
            "Spark functions",
            "`from slidewise.spark import functions as F`: PySpark's functions, all of them. These take windows that "
            "Spark refuses, or computes slowly; all other names are PySpark's own. In the examples, "
            '`w = Window.partitionBy("k").orderBy("ts").rowsBetween(-9, 0)`.',
            {"Aggregates": list(of_functions())},
        ),
        Page(
            "streams.md",
            "Streams",
            "A streaming DataFrame goes into `sw.with_columns` and `sw.aggregate`, or into methods of DataFrames with "
            "`slidewise.spark.functions`, as any other does. See docs/spark-streams.md.",
            {
                "Checkpoints": [*of(spark, "sws.", "check", "read_state"), of_class(Check, "Check", ())],
                "Metrics": of(spark, "sws.", "dropped_rows"),
            },
        ),
        Page(
            "pipelines.md",
            "Pipelines",
            "Source, cleaning, keys and time, features, sink: defined once, in a file or in Python. See "
            "docs/pipelines.md.",
            {
                "Pipelines": [
                    *of(sw, "sw.", "Pipeline", members=("batch", "stream", "explain", "describe")),
                    *of(sw, "sw.", "load"),
                ],
                "Mistakes": of(slidewise.pipeline, "slidewise.pipeline.", "InvalidPipeline", "Mistake"),
            },
        ),
        Page(
            "own.md",
            "Your own",
            "An aggregation of your own, an algorithm of your own, and how both are checked. See "
            "docs/own-aggregations.md.",
            {
                "Aggregations": [
                    *of(sw, "sw.", "Aggregation", members=("over", "alias", "compiled", "identity_for", "variant")),
                    *of(sw, "sw.", "check_aggregation"),
                    of_class(LawReport, "LawReport", ()),
                ],
                "Algorithms": of(slidewise.testing, "slidewise.testing.", "check_algorithm", "AlgorithmBroken"),
            },
        ),
        Page(
            "data.md",
            "Data to try things with",
            "`from slidewise import data`: streams of events, generated ones of any length, and the two public data "
            "sets of the papers.",
            {
                "Sources": [
                    *of(slidewise.data, "data.", "machines", "debs2012", "debs2014"),
                    *of(slidewise.data, "data.", "Source", members=None),
                ]
            },
        ),
        Page(
            "errors.md",
            "Errors",
            "What slidewise raises on purpose. A message says what, what was given, why, and what to do instead.",
            {
                "Public errors": of(
                    sw, "sw.", *(n for n, v in vars(errors).items() if inspect.isclass(v) and n in sw.__all__)
                ),
                "In slidewise.errors": of(errors, "slidewise.errors.", "Refused"),
            },
        ),
    )


def by_module(package: ModuleType) -> dict[str, list[Entry]]:
    """Group the aggregations by the module that has their class."""
    found: dict[Any, list[str]] = {}
    for name in package.__all__:
        found.setdefault(getattr(package, name), []).append(name)
    sections: dict[str, list[Entry]] = {title: [] for title in GROUPS.values()}
    for cls, names in found.items():
        own = getattr(cls, "name", None) or cls.__name__  # lag and its kin are functions
        first, *others = sorted(names, key=lambda n: n != own)
        module = cls.__module__.rpartition(".")[2]
        title = GROUPS.get(module, module.replace("_", " ").capitalize())
        sections.setdefault(title, []).append(Entry(f"slidewise.{first}", f"sw.{first}", cls, (), tuple(others)))
    return sections


def of_functions() -> Iterator[Entry]:
    """Find slidewise's own functions in PySpark's spelling; several names may be one function."""
    own = {
        name: value
        for name, value in vars(functions).items()
        if inspect.isfunction(value) and value.__module__ == functions.__name__ and not name.startswith("_")
    }
    aliases: dict[Any, list[str]] = {}
    for name, value in own.items():
        aliases.setdefault(inspect.unwrap(value), []).append(name)
    for value, names in sorted(aliases.items(), key=lambda item: item[0].__name__):
        others = tuple(sorted(name for name in names if name != value.__name__))
        yield Entry(f"{functions.__name__}.{value.__name__}", f"F.{value.__name__}", value, (), others)


def list_classes(module: ModuleType) -> list[Entry]:
    """Make the entries of the public classes of a module."""
    found = [n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module.__name__]
    return of(module, "", *(name for name in found if not name.startswith("_")), members=None)


def list_members(cls: type) -> list[str]:
    """List the public methods and properties of a class, its own and those of its bases here."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("slidewise")]
    found = [name for base in bases for name, value in vars(base).items() if _is_shown(name, value)]
    return list(dict.fromkeys(found))


def _is_shown(name: str, value: Any) -> bool:
    kinds = (property, cached_property, staticmethod, classmethod)
    return not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))


def public_names() -> set[str]:
    """List the full names of all that is public: each must be in the reference."""
    names = {f"slidewise.{name}" for name in sw.__all__}
    for module in (slidewise.data, slidewise.spark, slidewise.testing, slidewise.pipeline, slidewise.tracing):
        names |= {f"{module.__name__}.{name}" for name in module.__all__}
    names |= {entry.name for module in (slidewise.pandas, slidewise.polars) for entry in list_classes(module)}
    names |= {f"slidewise.errors.{name}" for name, value in vars(errors).items() if inspect.isclass(value)}
    return names | {name for entry in of_functions() for name in entry.documented}


def has_example(entry: Entry) -> bool:
    """Tell whether a docstring has an example: a session, or Python that needs a Spark."""
    text = docstring(entry)
    return ">>> " in text or "```" in text or any(map(is_code, re.split(r"\n\s*\n", text)))


def anchors() -> dict[str, str]:
    """Tell where each name is described: the page and the anchor. One object may have several names."""
    found: dict[str, str] = {}
    objects: dict[int, str] = {}
    for page in pages_shown():
        for entry in page.entries:
            for name in entry.documented:
                found[name] = f"{page.file}#{entry.name}"
            objects.setdefault(id(entry.value), f"{page.file}#{entry.name}")
            found |= {part.name: f"{page.file}#{part.name}" for part in entry.parts}
    for name in public_names() - found.keys():
        if (place := objects.get(id(look_up(name)))) is not None:
            found[name] = place
    return found


def look_up(name: str) -> Any:
    """Find what a full name stands for."""
    value: Any = sw
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


# ---- pages
@cache
def pages() -> dict[str, str]:
    """Write all pages, by the names of their files."""
    links = anchors()
    written = {page.file: link_names(write_page(page), links) for page in pages_shown()}
    written["command-line.md"] = write_commands()
    return {"index.md": write_index(), **written}


def titles() -> dict[str, str]:
    """Give the title of each page, in the order of the navigation."""
    return {"index.md": "All names", **{p.file: p.title for p in pages_shown()}, "command-line.md": "Command line"}


def write_index() -> str:
    """Write the page with all names."""
    lines = ["# API reference", "", "Every public name, with what its docstring says first.", ""]
    for page in pages_shown():
        lines += [f"## [{page.title}]({page.file})", "", "| name | what it is |", "| --- | --- |"]
        for entry in page.entries:
            label = f"[`{entry.label}`]({page.file}#{entry.name})" + "".join(f", `{a}`" for a in entry.aliases)
            lines.append(f"| {label} | {first_line(entry)} |")
        lines.append("")
    lines += ["## [Command line](command-line.md)", "", "| command | what it does |", "| --- | --- |"]
    lines += [f"| [`{c.title}`](command-line.md#{c.anchor}) | {c.lines[0]} |" for c in list_commands()]
    return "\n".join(lines) + "\n"


def first_line(entry: Entry) -> str:
    return docstring(entry).partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def write_page(page: Page) -> str:
    lines = [f"# {page.title}", "", *textwrap.wrap(page.about, 120), ""]
    for title, entries in page.sections.items():
        lines += [f"## {title}", ""]
        for entry in entries:
            lines += write_entry(entry, "###")
            for part in entry.parts:
                lines += write_entry(part, "####")
    return "\n".join(lines).rstrip() + "\n"


def write_entry(entry: Entry, heading: str) -> list[str]:
    lines = [f"{heading} `{entry.label}` {{ #{entry.name} }}", ""]
    if written := signatures(entry):
        lines += ["```python", *written, "```", ""]
    if entry.aliases:
        lines += ["Also " + ", ".join(f"`{alias}`" for alias in entry.aliases) + ".", ""]
    lines += [to_markdown(docstring(entry)), ""]
    if inspect.isclass(entry.value):
        lines += write_fields(entry.value)
    return lines


def docstring(entry: Entry) -> str:
    """Give what is said of an entry; of a value such as UNBOUNDED, what is said of its class."""
    value = inspect.unwrap(entry.value) if callable(entry.value) else entry.value
    return inspect.getdoc(value) or inspect.getdoc(type(value)) or ""


# ---- signatures
def signatures(entry: Entry) -> list[str]:
    """Write how an entry is called: each overload, if it has some; nothing for values and modules."""
    value = entry.value
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, property | cached_property):
        function = value.fget if isinstance(value, property) else value.func
        assert function is not None
        return [f"{entry.label}: {_annotation(inspect.signature(function).return_annotation)}"]
    if not callable(value) or (inspect.isclass(value) and issubclass(value, BaseException)):
        return []
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return []
    called = get_overloads(value) or [value]
    skip = isinstance(entry.value, classmethod) or ("." in entry.name and _is_method(entry))
    return [line for each in called for line in write_signature(entry.label, each, skip)]


def _is_method(entry: Entry) -> bool:
    return inspect.isfunction(entry.value) and "self" in inspect.signature(entry.value).parameters


def write_signature(label: str, value: Callable[..., Any], skip_first: bool) -> list[str]:
    """Write one signature, on a line or with a line per parameter."""
    signature = inspect.signature(value)
    parameters = list(signature.parameters.values())[skip_first:]
    written: list[str] = []
    for k, parameter in enumerate(parameters):
        before = parameters[k - 1] if k else None
        if parameter.kind is parameter.KEYWORD_ONLY and (before is None or before.kind < parameter.VAR_POSITIONAL):
            written.append("*")
        written.append(_parameter(parameter))
        after = parameters[k + 1] if k + 1 < len(parameters) else None
        if parameter.kind is parameter.POSITIONAL_ONLY and (after is None or after.kind > parameter.POSITIONAL_ONLY):
            written.append("/")
    gives = signature.return_annotation
    end = "" if gives is signature.empty or inspect.isclass(value) else f" -> {_annotation(gives)}"
    line = f"{label}({', '.join(written)}){end}"
    if len(line) <= LINE:
        return [line]
    return [f"{label}(", *(f"    {parameter}," for parameter in written), f"){end}"]


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
    typed = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
    if parameter.kind is parameter.KEYWORD_ONLY:  # see NewColumn in frontdoor.py: for type checkers alone
        typed = re.sub(r" \| (?:NewColumn|Aggregation)\b", "", typed)
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{typed}"
    equals = " = " if typed else "="
    return f"{stars}{parameter.name}{typed}{equals}{_default(parameter.default)}"


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|slidewise(?:\.\w+)+)\.(\w+)", r"\1", text)


def _default(value: Any) -> str:
    return value.__name__ if inspect.isclass(value) else repr(value)


# ---- docstrings
def to_markdown(text: str) -> str:
    """Make Markdown of a docstring: its examples become blocks of code.

    >>> print(to_markdown("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(">>> "):
            if lines and lines[-1] == "```" and lines[-2] != "" and lines_open_pycon(lines):
                lines[-1:] = ["", *textwrap.dedent(block).splitlines(), "```"]
                continue
            shown = ["```pycon", *textwrap.dedent(block).splitlines(), "```"]
        elif is_code(block):
            shown = ["```python", *textwrap.dedent(block).splitlines(), "```"]
        else:
            shown = block.splitlines()
        lines += ["", *shown] if lines else shown
    return "\n".join(lines)


def lines_open_pycon(lines: Sequence[str]) -> bool:
    """Tell whether the last block of code is a session."""
    return next(line for line in reversed(lines[:-1]) if line.startswith("```")) == "```pycon"


def is_code(block: str) -> bool:
    """Tell whether a paragraph is Python that calls or imports something, as examples that need a Spark are."""
    if block.startswith("    "):
        return True
    try:
        parsed = ast.parse(block)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(parsed))


def write_fields(cls: type) -> list[str]:
    """Write a table of the attributes of a class that its source describes by comments `#:`."""
    described = list(find_fields(cls))
    if not described:
        return []
    rows = [f"| `{name}` | {text} |" for name, text in described]
    return ["| attribute | what it is |", "| --- | --- |", *rows, ""]


def find_fields(cls: type) -> Iterator[tuple[str, str]]:
    """Find attributes of a class with the comments before them; of functions, with their docstrings."""
    comment: list[str] = []
    for line in textwrap.dedent(inspect.getsource(cls)).splitlines():
        field = re.match(r" {4}(\w+)(?:: ([^=]+?))?(?: = (.+))?$", line)
        if (said := re.match(r" {4}#: ?(.*)", line)) is not None:
            comment.append(said[1])
            continue
        if field is not None and comment and not field[1].startswith("_"):
            yield field[1], " ".join(comment).replace("|", "\\|")
        elif field is not None and cls is sw.Aggregation and field[1] in FUNCTIONS:
            function = inspect.getattr_static(cls, field[1]).__func__
            yield (
                f"{field[1]}{inspect.signature(function)}".partition(" ->")[0].replace(": 'Any'", ""),
                ((inspect.getdoc(function) or "").partition("\n\n")[0]),
            )
        comment = []


def link_names(text: str, links: Mapping[str, str]) -> str:
    """Link pages (docs/spark.md) and names (`sw.rolling`) that a page mentions outside of its code."""

    def link(match: re.Match[str]) -> str:
        if match["page"]:
            return f"[{match['page']}](../{match['page']}.md)"
        short = match["name"].removesuffix("()")
        full = re.sub(r"^sw\.", "slidewise.", re.sub(r"^sws\.", "slidewise.spark.", short))
        full = re.sub(r"^F\.", "slidewise.spark.functions.", full)
        place = links.get(full)
        return match[0] if place is None else f"[`{match['name']}`]({place})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    pattern = r"docs/(?P<page>[\w-]+)\.md|(?<![#\[])`(?P<name>(?:sws?|F|slidewise)\.[\w.]+(?:\(\))?)`"
    linked = [
        part
        if part.startswith("```")
        else "\n".join(line if line.startswith("#") else re.sub(pattern, link, line) for line in part.split("\n"))
        for part in parts
    ]
    return "".join(linked)


# ---- the command line
@dataclass(frozen=True)
class Command:
    """One command of `slidewise`, as its `--help` describes it."""

    title: str
    usage: str
    lines: tuple[str, ...]
    #: how it is written, and what it is
    arguments: tuple[tuple[str, str], ...]

    @property
    def anchor(self) -> str:
        """Where it is on its page."""
        return self.title.replace(" ", "-")


def list_commands() -> list[Command]:
    """List the commands."""
    group: Any = typer.main.get_command(app)
    whole = group.make_context("slidewise", [], resilient_parsing=True)
    commands = {f"slidewise {name}": command for name, command in group.commands.items()}
    return [_read_command(title, each, whole) for title, each in ({"slidewise": group} | commands).items()]


def _read_command(title: str, command: Any, parent: Any) -> Command:
    context = command.make_context(title, [], parent=parent, resilient_parsing=True)
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    arguments = tuple((f"`{written}`", plain(said)) for written, said in filter(None, records))
    usage = " ".join([title, *command.collect_usage_pieces(context)])
    paragraphs = re.split(r"\n\s*\n", plain(inspect.cleandoc(command.help or "")))
    return Command(title, usage, tuple(paragraphs), arguments)


def plain(text: str) -> str:
    """Turn rich's marks into Markdown's.

    >>> plain("[bold]slidewise new[/bold]  a project")
    '**slidewise new**  a project'
    """
    return re.sub(r"\[/?(?:dim|cyan|green|yellow|red)\]", "", re.sub(r"\[/?bold\]", "**", text))


def write_commands() -> str:
    """Write the page of the command line."""
    lines = [
        "# Command line",
        "",
        "What `slidewise --help` and `slidewise <command> --help` say. The command comes with the extra `cli`: "
        "`pip install 'slidewise[cli]'`; `live` adds the page in the browser. See [pipelines](../pipelines.md).",
        "",
    ]
    for command in list_commands():
        lines += [f"## `{command.title}` {{ #{command.anchor} }}", "", "```", command.usage, "```", ""]
        for line in command.lines:
            lines += [line, ""]
        lines += ["| option | what it is |", "| --- | --- |"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in command.arguments]
        lines.append("")
    return "\n".join([*lines, plain(DESCRIPTION), ""])
