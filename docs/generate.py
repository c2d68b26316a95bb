"""Rewrites the tables in the documentation from the registry, and the drawings of traces: python docs/generate.py

A table stands between the markers `<!-- table: name -->` and `<!-- end -->`; a test compares them, and the drawings.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import slidewise as sw
from slidewise.aggregations.base import PROPERTIES, Aggregation
from slidewise.columns.aggregate import compute_slides, slide_expressions
from slidewise.columns.with_columns import list_order
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.registry.entries import AlgorithmEntry
from slidewise.spark.arrow_types import to_spark_type
from slidewise.spark.plan import Group, group_expressions
from slidewise.spark.schema import compute_on_no_rows, infer_result_types
from slidewise.spark.sql.calls import find_calls
from slidewise.spark.sql.query_text import QueryText
from slidewise.spark.sql.translate import translate_aggregation, translate_frame
from slidewise.spark.streams.stream_task import StreamTask, check_windows
from slidewise.tracing import Trace
from slidewise.windows.definitions import WindowDefinition

DOCS = Path(__file__).parent
PAGES = ("algorithms.md", "aggregations.md", "what-runs-where.md", "papers.md")


def costs() -> str:
    return markdown(
        ("name", "insert", "evict", "query", "partials held", "needs", "options"),
        (
            (
                f"`{e.name}`",
                e.insert,
                e.evict,
                e.query,
                e.space,
                ", ".join(map(words, sorted(e.needs))) or "nothing",
                ", ".join(f"`{o}`" for o in e.options),
            )
            for e in ALGORITHMS
        ),
    )


def abilities() -> str:
    return markdown(
        ("name", "what it does", "out of order", "many windows", "paper"),
        ((f"`{e.name}`", e.summary, "yes" * e.out_of_order, many_windows(e), e.paper) for e in ALGORITHMS),
    )


def many_windows(e: AlgorithmEntry) -> str:
    if e.ranges:
        return "any range"
    return {True: "the last k", "selective": "the last k, where selective", False: ""}[e.suffixes]


def aggregations() -> str:
    parts = []
    for group in dict.fromkeys(e.group for e in AGGREGATIONS):
        entries = [e for e in AGGREGATIONS if e.group == group]
        notes = list(dict.fromkeys(e.note for e in entries if e.note))
        rows = [
            (
                ", ".join(f"`{name}`" for name in (e.name, *e.aliases)),
                e.summary,
                e.cls.kind,
                ", ".join(properties(e.cls)),
                str(notes.index(e.note) + 1) if e.note else "",
            )
            for e in entries
        ]
        table = markdown(("name", "what it gives", "kind", "properties", "note"), rows)
        below = "".join(f"\n{k}. {note}" for k, note in enumerate(notes, 1))
        parts.append(f"### {group.capitalize()}\n\n{table}" + (f"\n{below}" if notes else ""))
    return "\n\n".join(parts)


def properties(cls: type) -> list[str]:
    declared = {p: getattr(cls, p) for p in PROPERTIES if p not in _USUAL}
    return [words(p) + (f" for {v}" if v is not True else "") for p, v in declared.items() if v]


#: properties that nearly all have; the page says so
_USUAL = ("associative", "size_preserving", "unary_lower")


def claims() -> str:
    """How many claims of the papers came out how, from the committed report."""
    text = (DOCS / "papers" / "report.md").read_text()
    machine = text.split("\n")[2].split(";")[0]
    agree, differ, not_run = re.findall(r"^\*\*(\d+) claims agree, (\d+) differ, (\d+) were not run", text, re.M)[0]
    experiments = len(re.findall(r"^### ", text, re.M))
    line = (
        f"The report of one run, on {machine}, is [here](papers/report.md): {experiments} experiments, of whose claims "
        f"{agree} agree, {differ} differ, each with its cause, and {not_run} cannot be run on one machine."
    )
    return textwrap.fill(line, 124, break_long_words=False, break_on_hyphens=False)


# ---- what runs where
#: the columns that aggregations and windows of the page read, by what an aggregation accepts
SCHEMA = pa.schema({
    "x": pa.float64(), "n": pa.int64(), "s": pa.string(), "flag": pa.bool_(), "ts": pa.timestamp("us", "UTC"),
})  # fmt: skip
COLUMNS = {"integer": "n", "boolean": "flag", "string": "s", "time": "ts"}
ROW = {"x": 1.0, "n": 0, "s": "a", "flag": True, "ts": datetime(2026, 1, 1, tzinfo=UTC)}
#: what those aggregations are given that need more than columns
GIVEN: dict[str, dict[str, Any]] = {
    "percentile": {"fraction": 0.5}, "percentile_disc": {"fraction": 0.5}, "approx_percentile": {"fraction": 0.5},
    "nth_value": {"n": 2}, "nth_smallest": {"n": 2}, "string_agg": {"delimiter": ","}, "ewm_avg": {"half_life": "1h"},
    "naive_bayes": {"classes": [0, 1]},
}  # fmt: skip
#: how a window is called on the page, and its frame in SQL, where it has one
WINDOWS: dict[str, tuple[WindowDefinition, str | None]] = {
    "rows": (sw.rows(10), "ROWS 9 PRECEDING"),
    "time": (sw.time("1h"), "RANGE INTERVAL 1 HOUR PRECEDING"),
    "running": (sw.rows_between(-sw.UNBOUNDED, 0), "ROWS UNBOUNDED PRECEDING"),
    "ahead": (sw.rows_between(-5, 5), "ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING"),
    "groups": (sw.groups_between(-1, 0), "GROUPS 1 PRECEDING"),
    "exclude": (
        sw.rows_between(-5, 0, exclude="current row"),
        "ROWS BETWEEN 5 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
    ),
    "whole key": (
        sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED), "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    ),
    "by column": (sw.rows_between(sw.col("n"), 0), "ROWS n PRECEDING"),
    "delta": (sw.delta("n", 5), None),
    "punctuation": (sw.punctuation("flag"), None),
    "hopping": (sw.time("1h", every="10m"), None),
    "cumulative": (sw.time("1d", every="1h", cumulative=True), None),
    "calendar": (sw.time("1mo", every="1mo", zone="Europe/Berlin"), None),
    "every n rows": (sw.rows(10, every=5), None),
    "session": (sw.session("30m").per_window(), None),
    "session so far": (sw.session("30m"), None),
}  # fmt: skip


def what_runs_where() -> str:
    """Ask every engine for every aggregation over every window: a letter stands for one that takes it."""
    rows = ([f"`{entry.name}`", *(who_runs(entry.name, window) for window in WINDOWS)] for entry in AGGREGATIONS)
    return markdown(("aggregation", *WINDOWS), rows)


def who_runs(name: str, window: str) -> str:
    """Return the letters of the engines that take an aggregation over a window."""
    refused = refusals(name, window)
    return "".join(letter for letter in ENGINES if letter not in refused) or "-"


#: what has a frame of its own
PLACES = {
    "lag": sw.lag("x"), "lag, nulls ignored": sw.lag("x", ignore_nulls=True), "lead": sw.lead("x"),
    "lead, nulls ignored": sw.lead("x", ignore_nulls=True), "row_number": sw.row_number(), "rank": sw.rank(),
    "dense_rank": sw.dense_rank(), "percent_rank": sw.percent_rank(), "cume_dist": sw.cume_dist(), "ntile": sw.ntile(4),
}  # fmt: skip


def places() -> str:
    """Ask every engine for what has a frame of its own. SQL leaves it to Spark, which has all of it."""
    rows = []
    for name, over in PLACES.items():
        said = {}
        for letter in "ECBS":
            try:
                _ask_for_place(letter, over)
            except sw.SlidewiseError as error:
                said[letter] = str(error).removeprefix("r: ").removeprefix("Window: ")
        runs = "".join(letter for letter in "ECBSQ" if letter not in said)
        rows.append((name, runs, "; ".join(f"{letter}: {why}" for letter, why in said.items())))
    return markdown(("function", "runs", "what others say"), rows)


def _ask_for_place(letter: str, over: sw.Over) -> None:
    if letter == "E":
        w = sw.Window(over)
        w.push(ROW, time=ROW["ts"])
        w.flush()
    elif letter == "C":
        sw.with_columns(SCHEMA.empty_table(), order_by="ts", r=over)
    else:
        [group] = group_expressions({"r": over}, None, "ts")
        kinds = tuple(infer_result_types(SCHEMA, group))
        if letter == "S":
            check_windows(StreamTask(SCHEMA, (), group.order_by, group.expressions, kinds, tuple(SCHEMA.names)))


def windows_shown() -> str:
    shown = ((name, f"`{window!r}`", f"`{sql}`" if sql else "-") for name, (window, sql) in WINDOWS.items())
    return markdown(("window", "as it was asked for", "in SQL"), shown)


def why_not() -> str:
    """List what engines answer where they refuse, and for which aggregations."""
    reasons: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for window in WINDOWS:
        said: dict[tuple[str, str], list[str]] = {}
        for entry in AGGREGATIONS:
            for letter, reason in refusals(entry.name, window).items():
                said.setdefault((ENGINES[letter][0], reason.removeprefix("r: ")), []).append(entry.name)
        for found, names in said.items():
            reasons.setdefault(found, {}).setdefault(tuple(names), []).append(window)
    rows = []
    for (engine, reason), found_in in reasons.items():
        for of, windows in found_in.items():
            shown = "all" if len(of) == len(AGGREGATIONS) else ", ".join(f"`{name}`" for name in of)
            rows.append((engine, ", ".join(windows), shown, reason))
    return markdown(("engine", "windows", "aggregations", "what it says"), rows)


@functools.cache
def refusals(name: str, window: str) -> dict[str, str]:
    """Ask all engines for one aggregation over one window; return what those say that refuse."""
    entry = next(e for e in AGGREGATIONS if e.name == name)
    arity = entry.cls(**GIVEN.get(name, {})).arity if name != "naive_bayes" else 2
    accepts = ["integer", "number"] if name == "naive_bayes" else entry.cls.accepts
    columns = [COLUMNS.get(accepts[min(k, len(accepts) - 1)], "x") for k in range(arity)]
    aggregation = entry.cls(*columns, **GIVEN.get(name, {}))
    said = {}
    for letter, (_, ask) in ENGINES.items():
        try:
            ask(aggregation, *WINDOWS[window])
        except sw.SlidewiseError as error:
            said[letter] = str(error)
    return said


def ask_events(aggregation: Aggregation, window: WindowDefinition, sql: str | None) -> None:
    """Compute it event by event, for a row."""
    w = sw.Window(aggregation.over(window))
    w.push(ROW, time=ROW["ts"])
    w.flush()


def ask_columns(aggregation: Aggregation, window: WindowDefinition, sql: str | None) -> None:
    """Compute it over columns of no rows."""
    if window.every is None:
        sw.with_columns(SCHEMA.empty_table(), order_by="ts", r=aggregation.over(window))
    else:
        sw.aggregate(SCHEMA.empty_table(), order_by="ts", window=window, r=aggregation)


def ask_batch(aggregation: Aggregation, window: WindowDefinition, sql: str | None) -> None:
    """Check it as on a Spark DataFrame, up to the types of its results."""
    _, kinds = plan(aggregation, window)
    for kind in kinds:
        to_spark_type(kind, {})


def ask_stream(aggregation: Aggregation, window: WindowDefinition, sql: str | None) -> None:
    """Check it as on a stream."""
    group, kinds = plan(aggregation, window)
    slides = window.every is not None
    check_windows(StreamTask(SCHEMA, (), group.order_by, group.expressions, kinds, tuple(SCHEMA.names), slides=slides))


def ask_sql(aggregation: Aggregation, window: WindowDefinition, sql: str | None) -> None:
    """Translate it from SQL."""
    if sql is None:
        raise sw.InvalidInput("SQL has no such frame: use `with_columns` or `aggregate`")
    name, distinct = aggregation.name, ""
    if name in ("sum_distinct", "avg_distinct"):
        name, distinct = name.removesuffix("_distinct"), "DISTINCT "
    literals = [f"'{v}'" if isinstance(v, str) else str(v) for v in GIVEN.get(name, {}).values()]
    arguments = ", ".join([*aggregation.columns, *literals])
    source = QueryText(f"SELECT {name}({distinct}{arguments}) OVER (ORDER BY ts {sql}) FROM t")
    [call] = find_calls(source)
    found = translate_aggregation(source, call, lambda span: "x")
    if found is None:
        raise sw.InvalidInput("SQL has no function of this name: use `with_columns`")
    frame = translate_frame(source, call.spec, lambda span: "n")
    wanted = window.reach
    assert wanted is not None and (frame.unit, frame.exclude) == (wanted.unit, wanted.exclude), (frame, window)


def plan(aggregation: Aggregation, window: WindowDefinition) -> tuple[Group, tuple[pa.DataType, ...]]:
    """Plan a call as Spark's driver does, by computing on no rows."""
    if window.every is None:
        [group] = group_expressions({"r": aggregation.over(window)}, None, "ts")
        return group, tuple(infer_result_types(SCHEMA, group))
    group = Group((), tuple(list_order("ts")), slide_expressions(window, {"r": aggregation}, "auto"))
    made = compute_on_no_rows(SCHEMA, group, lambda rows: compute_slides(rows, group.expressions, 1))
    return group, (made["r"].type,)


#: by their letters: how they are called, and what asks them
ENGINES: dict[str, tuple[str, Callable[[Aggregation, WindowDefinition, str | None], None]]] = {
    "E": ("events", ask_events), "C": ("columns", ask_columns), "B": ("Spark batch", ask_batch),
    "S": ("Spark stream", ask_stream), "Q": ("SQL", ask_sql),
}  # fmt: skip

TABLES: dict[str, Callable[[], str]] = {
    "costs": costs, "abilities": abilities, "aggregations": aggregations, "what_runs_where": what_runs_where,
    "windows_shown": windows_shown, "why_not": why_not, "places": places, "claims": claims,
}  # fmt: skip


# ---- drawings
#: the DABA paper's figures 1, 3, 5 and 7
PAPER = "insert 4 5 3 4 0 4 4, evict, evict, insert 2 6, query"
#: figure 2 of the PBA paper
SLIDES = "insert 5 4 6 3 0 0 1 0 2 3, query, evict, evict, insert 1 2, query, evict, evict, insert 7 5, query"


def drawings() -> dict[str, Trace]:
    """Make the traces whose drawings are in docs/images, by the names of their files."""
    late = [("insert", k * 7 % 31, 2 * k) for k in range(26)]
    return {
        "trace-two-stacks.svg": sw.trace("two_stacks", sw.max_count(), PAPER)[6:],
        "trace-daba-lite.svg": sw.trace("daba_lite", sw.max_count(), PAPER),
        "trace-flat-fit.svg": sw.trace("flat_fit", sw.max(), "insert 4 7 3 2, query, evict, insert 9, query")[3:],
        "trace-slick-deque.svg": sw.trace("slick_deque", sw.max(), "insert 4 7 3 2, evict, insert 5, query")[3:],
        "trace-reactive.svg": sw.trace("reactive", sw.sum(), "insert 4 7 3 2, query, evict, insert 9, query")[3:],
        "trace-fiba.svg": sw.trace("fiba", sw.max(), [*late, "insert 40 at 7, evict, query"])[22:],
        "trace-pba.svg": sw.trace("pba", sw.max(), SLIDES, range=10, slide=2, chunk=5)[8:],
        "trace-mode.svg": sw.trace("incremental_mode", sw.mode(), "insert 5 4 5 3 3, evict, query")[3:],
    }


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def words(name: str) -> str:
    return name.replace("_", " ")


def rewritten(text: str) -> str:
    """Give a page with its tables made anew."""
    return re.sub(
        r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)",
        lambda m: f"{m[1]}\n{TABLES[m[2]]()}\n\n{m[3]}",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for page in PAGES:
        path = DOCS / page
        path.write_text(rewritten(path.read_text()))
    for name, trace in drawings().items():
        trace.save(DOCS / "images" / name)
