"""What the benchmarks measured, on a page and in the README: `make figures`, or `python -m benchmarks.figures`.

Runs every benchmark into docs/benchmarks/NAME.json, and writes from these files docs/benchmarks.md, where each goal
stands beside its value, and the figures of the README and of two pages, so that none is typed by hand. `--only NAME
...` runs some of them, `--write` none.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from slidewise.spark.spark_operator import read_break_even

ROOT = Path(__file__).parent.parent
FOLDER, PAGE = ROOT / "docs" / "benchmarks", ROOT / "docs" / "benchmarks.md"
#: the pages that have figures between markers
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "columns.md", ROOT / "docs" / "from-pyspark.md")

#: each run by the name of its file: the module of `benchmarks`, and its options
RUNS: dict[str, tuple[str, ...]] = {
    "shares": ("swag", "--shares"),
    "slides": ("swag", "--skip-compiled"),
    "events": ("events",),
    "window_keys": ("window_keys",),
    "first_call": ("first_call",),
    "columns": ("columns",),
    "larger_than_memory": ("larger_than_memory", "--rows", "1e8"),
    "spark_peers": ("spark_batch", "--part", "peers", "--rows", "4e6", "--most-seconds", "8", "--repeat", "2"),
    "spark_sorts": ("spark_batch", "--part", "sorts", "--rows", "4e6"),
    "spark_buckets": ("spark_batch", "--part", "buckets", "--rows", "4e6"),
    "stream_rows": ("spark_streaming", "--part", "rows"),
    "stream_latency": ("spark_streaming", "--part", "latency"),
    "stream_recovery": ("spark_streaming", "--part", "recovery"),
    "stream_state": ("spark_streaming", "--part", "state", "--batches", "60"),
    "stream_hops": ("spark_streaming", "--part", "hops", "--most-seconds", "20"),
}
#: what has no file of its own: it draws the README's picture
PICTURE = "picture"

Record = dict[str, Any]


class Layout(NamedTuple):
    """How the records of one table are shown on the page."""

    title: str
    #: the field that the goal is about, and of each shown field its heading
    goal_of: str
    headings: dict[str, str]


LAYOUTS: dict[str, Layout] = {
    "shares": Layout(
        "A sum over 16,384 rows, one slide: its share of `bottleneck.move_max` at the same window",
        "share", {"algorithm": "algorithm", "share": "share"},
    ),
    "two threads": Layout("Two threads, by the wall clock", "times", {"what": "", "times": "times as fast"}),
    "slides": Layout(
        "A slide (evict, insert, query) of a sum, interpreted, in µs",
        "mean",
        {
            "algorithm": "algorithm", "window": "window", "mean": "mean", "p50": "median", "p9999": "p99.99",
            "max": "slowest", "combines": "most combines in a slide",
        },
    ),
    "events": Layout(
        "Event by event, in µs of CPU time; windows of 1,000",
        "mean",
        {"task": "task", "by": "by", "mean": "mean", "p50": "median", "p9999": "p99.99", "max": "slowest",
         "max_later": "of the later half"},
    ),
    "push_many": Layout(
        "`push_many` of 10,000 rows, in µs per row",
        "times", {"window": "window", "push_many": "push_many", "push": "push", "times": "times as fast"},
    ),
    "many keys": Layout("A process with many keys", "megabytes", {"keys": "keys", "megabytes": "MB"}),
    "window keys": Layout(
        "A key of `sw.Window`, in bytes",
        "bytes", {"window": "window", "bytes": "with one row", "left": "when its rows have left"},
    ),
    "first call": Layout(
        "The first call, with nothing in the cache, in seconds",
        "cpu", {"call": "call", "cpu": "CPU", "wall": "wall", "cached": "CPU, from the cache"},
    ),
    "peers": Layout(
        "Over columns, in ns per row: beside every peer",
        "ratio",
        {"aggregate": "aggregate", "window": "window", "peer": "peer", "theirs": "its time", "ours": "ours",
         "ratio": "its to ours", "remark": ""},
    ),
    "any frames": Layout(
        "Frames that differ from row to row, beside DuckDB",
        "ratio", {"aggregate": "aggregate", "window": "window", "ratio": "its time to ours"},
    ),
    "with_columns": Layout("A call of `with_columns`", "value", {"what": "what", "value": "measured", "unit": ""}),
    "larger_than_memory": Layout(
        "Larger than memory: the weighted sum of 100 rows of a key, from Parquet",
        "times",
        {"by": "by", "rows": "rows", "keys": "keys", "wall": "s", "cpu": "CPU s", "mb": "MB",
         "times": "polars' time to it"},
    ),
    "spark": Layout(
        "Spark DataFrames, in ns per row, beside Spark's window functions",
        "ratio",
        {"workload": "workload", "tree": "Spark's segment tree", "rows": "its rows", "ours": "ours", "spark": "Spark's",
         "sort": "exchange and sort alone", "ratio": "its to ours"},
    ),
    "sorts": Layout(
        "Who sorts, in ns per row",
        "ratio",
        {"what": "what", "order": "rows", "rows": "so many", "ours": "ours", "spark_sorts": "ours, where Spark sorts",
         "sort": "exchange and sort alone", "ratio": "ratio"},
    ),
    "buckets": Layout(
        "A table in buckets, in ns per row",
        "ratio", {"rows": "rows", "shuffled": "shuffled", "as_it_lies": "as it lies", "ratio": "ratio"},
    ),
    "rows": Layout(
        "Streams: for every row, in ns",
        "ratio", {"what": "what", "ns": "ns per row", "ratio": "to rows through Python"},
    ),
    "latency": Layout(
        "Streams: micro-batches of 1,000 rows of 100 keys, in ms",
        "ratio", {"ours": "ours", "stateless": "rows through Python", "ratio": "ratio"},
    ),
    "recovery": Layout(
        "Streams: seconds from the restart of a killed query",
        "first_row", {"what": "state", "session": "to Spark's session", "first_row": "to the first new row"},
    ),
    "state": Layout(
        "Streams: bytes that a micro-batch writes, to the state of the keys that it touches",
        "ratio",
        {"keys": "keys", "touched": "share touched", "bytes": "bytes", "ratio": "ratio",
         "growth": "last quarter to first"},
    ),
    "hops": Layout(
        "Streams: hopping windows, in ns per row, beside Spark's `window()`",
        "ratio", {"what": "what", "rows": "its rows", "ours": "ours", "spark": "Spark's", "ratio": "its to ours"},
    ),
}  # fmt: skip


# ---- files
@cache
def load(name: str) -> Record:
    """Read the file of a run."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"docs/benchmarks/{path.name} is missing: run python -m benchmarks.figures --only {name}")
    found: Record = json.loads(path.read_text())
    return found


def find(name: str, table: str, **fields: Any) -> list[Record]:
    """Return the records of a table that have these fields."""
    records = (record for record in load(name)["records"] if record["table"] == table)
    return [record for record in records if all(record[field] == value for field, value in fields.items())]


def find_one(name: str, table: str, **fields: Any) -> Record:
    [record] = find(name, table, **fields)
    return record


# ---- the page
def write_page() -> str:
    """All records that there are, with their goals."""
    parts = [
        "# What the benchmarks measured",
        wrap(
            "Each part is one run, on the machine and of the date that it names, with its goals beside its figures. "
            "`make figures` runs all of it again (an hour or two), `make figures ONLY=events` a part of it, and writes "
            "this page and the README's figures. `make bench` prints the tables alone."
        ),
    ]
    met = short = 0
    for name, (module, *options) in RUNS.items():
        command = " ".join(["python -m", f"benchmarks.{module}", *options])
        parts.append(f"## {name.replace('_', ' ').capitalize()}")
        if not (FOLDER / f"{name}.json").exists():
            parts.append(f"`{command}`: not run yet.")
            continue
        made = load(name)
        parts.append(f"`{command}`, {made['date']}. {made['machine']}.")
        for table in dict.fromkeys(record["table"] for record in made["records"]):
            records = find(name, table)
            verdicts = [verdict(record, LAYOUTS[table].goal_of) for record in records]
            met += sum(v.endswith("met") for v in verdicts)
            short += sum(v.endswith("short**") for v in verdicts)
            parts += [f"### {LAYOUTS[table].title}", show(records, verdicts, LAYOUTS[table])]
    parts.insert(2, f"**{met} goals are met, {short} are not.**")
    return "\n\n".join(parts) + "\n"


def show(records: Sequence[Record], verdicts: Sequence[str], layout: Layout) -> str:
    """One table, with a column for goals where there are any."""
    goals = any(verdicts)
    rows = [
        [*(number(record.get(field)) for field in layout.headings), *([said] if goals else [])]
        for record, said in zip(records, verdicts, strict=True)
    ]
    return markdown([*layout.headings.values(), *(["goal"] if goals else [])], rows)


def verdict(record: Record, field: str) -> str:
    """Compare a figure with its goal."""
    said = []
    for name, bound, good in (
        ("at_most", "at most", lambda a, b: a <= b),
        ("at_least", "at least", lambda a, b: a >= b),
    ):
        goal = record.get(name)
        if goal is not None:
            said.append((f"{bound} {number(goal)}", good(record[field], goal)))
    if record.get("at_most_mb") is not None:
        said.append((f"at most {number(record['at_most_mb'])} MB", record["mb"] <= record["at_most_mb"]))
    words = ", ".join(bound for bound, _ in said)
    return f"{words}: {'met' if all(good for _, good in said) else '**short**'}" if said else ""


def number(value: Any) -> str:
    """Three digits that count, thousands apart."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in (header, ["---"] * len(header), *rows)
    )


# ---- the README
def shares() -> str:
    records = find("shares", "shares")
    rows = [
        (r["algorithm"], f"{r['share']:.2f}", number(r["at_most"])) for r in sorted(records, key=lambda r: r["share"])
    ]
    return f"{measured_by('shares')}\n\n{markdown(('algorithm', 'share', 'expected at most'), rows)}"


def events() -> str:
    """What an event takes, by itself and beside others."""
    rows = [
        (r["task"], r["by"], number(r["mean"]), number(r["max_later"]))
        for r in find("events", "events")
        if r["by"] != "pandas by appending"
    ]
    head = ("", "by", "mean", "slowest of the later half")
    return f"{measured_by('events')} In µs:\n\n{markdown(head, rows)}"


#: aggregates in the README: by its name there, that of the benchmark
AGGREGATES = {
    **{name: name for name in ("max", "sum", "mean", "stddev", "median")}, "95th percentile": "percentile 0.95",
    **{name: name for name in ("max_by", "count_distinct", "mode")}, "your own (Vwap)": "Vwap",
}  # fmt: skip


def columns() -> str:
    """The fastest peer's time to ours, by window."""
    rows = []
    for shown, aggregate in AGGREGATES.items():
        records = [r for r in find("columns", "peers", aggregate=aggregate) if not r["peer"].endswith("by hand")]
        fastest = [
            min((r for r in records if r["window"] == window), key=lambda r: r["theirs"] / r["ours"])
            for window in sorted({r["window"] for r in records})
        ]
        drifts = "bottleneck" in {r["peer"] for r in fastest} and aggregate in ("sum", "mean", "stddev")
        peers = ", ".join(dict.fromkeys(r["peer"] for r in fastest)) + (", which drifts" if drifts else "")
        rows.append((shown, *(number(r["ratio"]) for r in fastest), peers))
    windows = sorted({r["window"] for r in find("columns", "peers")})
    return f"{measured_by('columns')}\n\n{markdown(('aggregate', *map(number, windows), 'fastest peer'), rows)}"


def spark() -> str:
    """Spark's time to ours, with its segment tree and without."""
    rows = []
    for workload in dict.fromkeys(r["workload"] for r in find("spark_peers", "spark")):
        trees = {r["tree"]: number(r["ratio"]) for r in find("spark_peers", "spark", workload=workload)}
        rows.append((workload, trees.get("with", ""), trees.get("without", "")))
    table = markdown(("window function", "with its segment tree", "without (the default)"), rows)
    return f"{measured_by('spark_peers')}\n\n{table}"


def sorts() -> str:
    """How Spark batches are sorted, as a sentence."""
    by = {(r["what"], r["order"]): r for r in find("spark_sorts", "sorts")}
    peak = "max, 1,000 rows"
    ordered, any_order = by[peak, "narrow"], by[peak, "shuffled"]
    one = by["one key, max, 1,000 rows", "one key shuffled"]
    return wrap(
        f"A max over 1,000 rows takes {number(ordered['ratio'])} times as long as Spark's exchange and sort alone "
        f"where rows come nearly in order, and {number(any_order['ratio'])} of it where they come in any order "
        f"({any_order['rows']:,} rows of 1,000 keys, `python -m benchmarks.spark_batch --part sorts`); one key of "
        f"{one['rows']:,} rows in any order is {number(one['ratio'])} times as fast as where Spark sorts. Frames "
        f"of up to {read_break_even()} rows go to Spark's own operator."
    )


def streams() -> str:
    """Ours beside Spark's, per row."""
    passed, *ours, keyed = find("stream_rows", "rows")
    rows = [
        (r["what"], f"{r['ns']:,.0f}", f"{number(r['ratio'])} times rows that only pass through Python") for r in ours
    ]
    rows[0] = (*rows[0][:2], f"{rows[0][2]} ({passed['ns']:,.0f}); {keyed['ns']:,.0f} by Spark's stateful operator")
    limit = float(RUNS["stream_hops"][-1])
    for r in find("stream_hops", "hops"):
        over = "over " if r["spark"] * r["rows"] / 1e9 >= limit - 0.5 else ""  # it was ended
        rows.append((r["what"], f"{r['ours']:,.0f}", f"{over}{r['spark']:,.0f} by Spark's `window()`"))
    return f"{measured_by('stream_rows')}\n\n{markdown(('', 'ns per row', 'beside it, in the same run'), rows)}"


def larger() -> str:
    """What goes in batches takes, as a sentence."""
    path, lazy, theirs = (
        find_one("larger_than_memory", "larger_than_memory", by=by)
        for by in ("slidewise, a path", "slidewise, a LazyFrame", "polars")
    )
    return wrap(
        f"{path['rows']:,} rows of {path['keys']:,} keys from one file of Parquet, a weighted sum (an aggregation of "
        f"one's own) over 100 rows: {number(path['wall'])} s and {number(path['mb'])} MB beyond the interpreter from a "
        f"path, {number(lazy['wall'])} s and {number(lazy['mb'])} MB as a LazyFrame, {number(theirs['wall'])} s and "
        f"{number(theirs['mb'])} MB by polars' own rolling over groups "
        "(`python -m benchmarks.larger_than_memory --rows 1e8`)."
    )


def refused() -> str:
    """How long Spark takes for what it reads the whole frame for."""
    ratios = [r["ratio"] for r in find("spark_peers", "spark") if r["workload"].startswith(_WHOLE_FRAMES)]
    return wrap(
        "`percentile`, `mode`, `max_by` and `collect_set` over frames are taken by Spark, which reads the whole frame "
        f"anew for each row: {number(min(ratios))} to {number(max(ratios))} times as long, at 1,000 rows "
        "([figures](../README.md#figures))."
    )


_WHOLE_FRAMES = ("max_by", "percentile", "mode", "count_distinct")


def wrap(text: str) -> str:
    return textwrap.fill(text, 124, break_long_words=False, break_on_hyphens=False)


def measured_by(name: str) -> str:
    """Say by which command, on what and when."""
    made, (module, *options) = load(name), RUNS[name]
    return f"`{' '.join(['python -m', f'benchmarks.{module}', *options])}`, {made['date']}: {made['machine']}."


BLOCKS: dict[str, Callable[[], str]] = {
    "shares": shares, "events": events, "columns": columns, "spark": spark, "sorts": sorts, "streams": streams,
    "larger": larger, "refused": refused,
}  # fmt: skip


def rewrite(text: str) -> str:
    """Make the figures between the markers `<!-- figures: NAME -->` and `<!-- end -->` anew."""
    return re.sub(
        r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n\n{found[3]}",
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[*RUNS, PICTURE], help=", ".join([*RUNS, PICTURE]))
    parser.add_argument(
        "--write", action="store_true", help="run nothing: write the page and the README from the files"
    )
    options = parser.parse_args()
    console = Console()
    names = [] if options.write else options.only or [*RUNS, PICTURE]
    for k, name in enumerate(names, 1):
        console.rule(f"{name}, {k} of {len(names)}")
        module, *given = RUNS.get(name, (PICTURE,))
        file = [] if name == PICTURE else ["--json", str(FOLDER / f"{name}.json")]
        subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *given, *file], check=True, cwd=ROOT)
        load.cache_clear()
    PAGE.write_text(write_page())
    for page in PAGES:
        page.write_text(rewrite(page.read_text()))
    console.print(f"wrote {PAGE.relative_to(ROOT)} and the figures of {', '.join(page.name for page in PAGES)}")


if __name__ == "__main__":
    main()
