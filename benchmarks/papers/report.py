"""Report.

Every claim of the papers beside what was measured, as Markdown and as one HTML file with its pictures inside.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.papers import pictures
from benchmarks.papers.experiment import PAPERS, Cell, Claim, Experiment, Results, Table, Verdict
from benchmarks.papers.runs import Run, Runs

#: what is not as in the papers, whatever the figures: at the report's top, and in docs/papers.md
DIFFERENCES = (
    "The papers ran C++11 (DABA), SPL with C++ (RA), C++ inside a database (HOL) and Java 8 (PBA). Here throughput and "
    "latency are those of kernels that numba compiles from Python, over arrays; the holistic paper's own variants are "
    "interpreted Python. Ratios carry over, throughput does not.",
    "Two cores, shared with others: no figure goes beyond two threads, and none beyond one machine.",
    "FiBA has the paper's arity, 4; slidewise's own, 12, is beside it in figures 9 to 11, for sum and geomean.",
    "Standard deviation merges (n, mean, M2), where the papers add up squares: dearer, and right for large values.",
    "The geometric mean adds up logarithms, as the authors' code does; the RA paper prints a product.",
    "Of several most frequent values, mode gives the lowest.",
    "PBA over columns has a chunk size of its own, and hands whole chunks to the second thread.",
    "The data of DEBS 2012 and 2014 are generated: the same fields, rate, disorder and keys; other values.",
)


@dataclass(frozen=True)
class Section:
    """One experiment as the report shows it."""

    experiment: Experiment
    run: Run | None
    verdicts: list[tuple[Claim, Verdict]]
    #: pictures (the name of the file, and the SVG) and tables, in order
    drawn: list[tuple[str, str] | Table]
    remarks: list[str]


def build_sections(experiments: Iterable[Experiment], runs: Runs, beside: dict[str, list[Cell]]) -> list[Section]:
    """Judge and draw what was run."""
    return [_section(e, runs.by_id.get(e.id), beside.get(e.id, [])) for e in experiments]


def _section(experiment: Experiment, run: Run | None, beside: list[Cell]) -> Section:
    if run is None or run.not_run or not run.cells:
        why = "left out of this run" if run is None else run.not_run or "it gave no figures"
        verdicts = [(c, Verdict("not run", "", c.not_run or why)) for c in experiment.claims]
        return Section(experiment, run, verdicts, [], [])
    results = Results(run.cells, beside)
    verdicts = [(claim, _judge(claim, results)) for claim in experiment.claims]
    try:
        return Section(experiment, run, verdicts, _draw(experiment, results), list(experiment.remarks(results)))
    except Exception as error:  # figures of an older version, say: the other experiments are shown all the same
        return Section(experiment, run, verdicts, [], [f"It could not be drawn: {_told(error)}"])


def _judge(claim: Claim, results: Results) -> Verdict:
    try:
        return claim.verdict(results)
    except Exception as error:
        return Verdict("not run", "", f"its check failed: {_told(error)}")


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}. With --fresh it is run again"


def _draw(experiment: Experiment, results: Results) -> list[tuple[str, str] | Table]:
    drawn: list[tuple[str, str] | Table] = []
    with pictures.style(experiment.id):
        made = experiment.draw(results)
        for thing in made if isinstance(made, tuple | list) else [made]:
            if isinstance(thing, Figure):
                name = experiment.id + ("" if not drawn else f"-{len(drawn) + 1}")
                drawn.append((f"{name}.svg", pictures.svg(thing, name, experiment.title)))
            elif thing is not None:
                drawn.append(thing)
    return drawn


def write(out: Path, sections: Sequence[Section]) -> list[Path]:
    """Write report.md, report.html and the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    files = {"report.md": markdown(sections), "report.html": html(sections)}
    for section in sections:
        files |= dict(thing for thing in section.drawn if not isinstance(thing, Table))
    for name, text in files.items():
        (out / name).write_text(text)
    return [out / name for name in files]


# ---- what both have
def _counts(sections: Sequence[Section]) -> Counter[str]:
    return Counter(verdict.outcome for section in sections for _, verdict in section.verdicts)


def _about(sections: Sequence[Section]) -> list[str]:
    """Machine, versions, scale and time: a line for each machine and scale that figures come from."""
    lines = []
    done = [s.run for s in sections if s.run is not None]
    for machine, scale in dict.fromkeys((run.machine, run.scale) for run in done):
        these = [run for run in done if (run.machine, run.scale) == (machine, scale)]
        days = sorted({run.date for run in these})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        took = f"{len(these)} experiments in {_minutes(sum(r.seconds for r in these))}, of which numba compiled for "
        line = f"{machine}. Scale: {scale}. {when}: {took}{_minutes(sum(r.compiling for r in these))}."
        if loads := sorted(run.load for run in these if run.load):
            line += f" Programs that wanted a core, this one among them: {loads[0]:g} to {loads[-1]:g}, by experiment."
        lines.append(line)
    return lines


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


def _took(run: Run) -> str:
    compiling = f", of which {_minutes(run.compiling)} compiling" if run.compiling >= 1 else ""
    return f"{_minutes(run.seconds)}{compiling}; scale {run.scale}"


def _figures(verdict: Verdict) -> str:
    return ". ".join(part.rstrip(".") for part in (verdict.ours, verdict.why) if part)


def _papers(sections: Sequence[Section]) -> dict[str, list[Section]]:
    """The sections of each paper."""
    found: dict[str, list[Section]] = {paper: [] for paper in PAPERS}
    for section in sections:
        found[section.experiment.paper].append(section)
    return {paper: those for paper, those in found.items() if those}


# ---- Markdown
def markdown(sections: Sequence[Section]) -> str:
    """The report as Markdown, with pictures beside it as files."""
    counts = _counts(sections)
    lines = ["# The papers' experiments, run here", ""]
    lines += [f"{_cell(line)}  " for line in _about(sections)]
    lines += ["", f"**{counts['agrees']} claims agree, {counts['differs']} differ, {counts['not run']} were not run.**"]
    lines += ["Verdicts are computed from the figures, which are all in [results.json](results.json).", ""]
    lines += ["## What is not as in the papers", ""]
    lines += [f"{k}. {text}" for k, text in enumerate(DIFFERENCES, 1)]
    lines += ["", "## All claims", "", "| claim | paper | ours | verdict |", "| --- | --- | --- | --- |"]
    for section in sections:
        for claim, verdict in section.verdicts:
            link = f"[{claim.id}](#{section.experiment.id})"
            lines.append(f"| {link} | {_cell(claim.paper)} | {_cell(verdict.ours)} | {_bold(verdict)} |")
    for paper, those in _papers(sections).items():
        lines += ["", f"## {paper}: {PAPERS[paper]}"]
        for section in those:
            lines += _markdown_section(section)
    return "\n".join(lines) + "\n"


def _markdown_section(section: Section) -> list[str]:
    e = section.experiment
    lines = ["", f'<a id="{e.id}"></a>', "", f"### {e.id}: {e.title}", ""]
    for thing in section.drawn:
        if isinstance(thing, Table):
            lines += ["| " + " | ".join(map(_cell, thing.header)) + " |", "|" + " --- |" * len(thing.header)]
            lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in thing.rows]
        else:
            lines.append(f"![{_cell(e.title)}]({thing[0]})")
        lines.append("")
    if section.verdicts:
        lines += ["| claim | paper | ours | verdict |", "| --- | --- | --- | --- |"]
        for claim, verdict in section.verdicts:
            lines.append(f"| {claim.id} | {_cell(claim.paper)} | {_cell(_figures(verdict))} | {_bold(verdict)} |")
        lines.append("")
    lines += [f"- {_cell(remark)}" for remark in section.remarks]
    lines += [""] * bool(section.remarks)
    lines.append(f"Scaled down: {_cell(e.scaled)}" + (f" ({_took(section.run)})" if section.run else ""))
    return lines


def _cell(text: object) -> str:
    """Text within a table of Markdown."""
    return re.sub(r"([|<>*_`\[\]])", r"\\\1", " ".join(str(text).split()))


def _bold(verdict: Verdict) -> str:
    return f"**{verdict.outcome}**" if verdict.outcome == "differs" else verdict.outcome


# ---- HTML
def html(sections: Sequence[Section]) -> str:
    """The report as one file."""
    counts = _counts(sections)
    tiles = "".join(
        f'<div class="tile {_class(name)}"><b>{counts[name]}</b><span>{text}</span></div>'
        for name, text in (("agrees", "claims agree"), ("differs", "differ"), ("not run", "not run"))
    )
    contents = "".join(
        f"<li><b>{escape(paper)}</b> "
        + " ".join(f'<a href="#{s.experiment.id}">{_short(s)}</a>' for s in those)
        + "</li>"
        for paper, those in _papers(sections).items()
    )
    every = [(s, c, v) for s in sections for c, v in s.verdicts]
    body = [
        "<h1>The papers' experiments, run here</h1>",
        *(f'<p class="about">{escape(line)}</p>' for line in _about(sections)),
        f'<div class="tiles">{tiles}</div>',
        f'<nav><ul class="contents">{contents}</ul></nav>',
        "<h2>What is not as in the papers</h2>",
        f"<ol>{''.join(f'<li>{escape(text)}</li>' for text in DIFFERENCES)}</ol>",
        "<h2>All claims</h2>",
        "<details><summary>Every claim, with its verdict</summary>",
        _claims([(c, Verdict(v.outcome, v.ours), s.experiment.id) for s, c, v in every]),
        "</details>",
    ]
    for paper, those in _papers(sections).items():
        body.append(f"<h2>{escape(paper)}: {escape(PAPERS[paper])}</h2>")
        body += [_html_section(section) for section in those]
    return _PAGE.format(style=_STYLE, body="\n".join(body))


def _html_section(section: Section) -> str:
    e = section.experiment
    parts = [f'<section id="{e.id}"><h3>{escape(e.title)} <code>{escape(e.id)}</code></h3>']
    for thing in section.drawn:
        if isinstance(thing, Table):
            parts.append(f'<div class="scroll">{_table(thing)}</div>')
        else:
            parts.append(f'<div class="scroll picture">{_inline(thing[1])}</div>')
    if section.verdicts:
        parts.append(_claims([(c, v, "") for c, v in section.verdicts]))
    if section.remarks:
        parts.append(f"<ul>{''.join(f'<li>{escape(remark)}</li>' for remark in section.remarks)}</ul>")
    took = f" ({_took(section.run)})" if section.run else ""
    parts.append(f'<p class="about">Scaled down: {escape(e.scaled)}{escape(took)}</p></section>')
    return "\n".join(parts)


def _inline(svg: str) -> str:
    """Within the page the page's colours hold, and text has one size in all pictures; a phone scrolls them."""
    svg = re.sub(r"<style>svg\{.*?</style>", "", svg, count=1)
    points = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    return svg.replace("<svg ", f'<svg style="width:{1.35 * points:.0f}px;min-width:{0.9 * points:.0f}px" ', 1)


def _claims(rows: Sequence[tuple[Claim, Verdict, str]]) -> str:
    """The table of claims; on a phone each is a card."""
    out = [
        '<table class="claims"><thead><tr><th>claim</th><th>paper</th><th>ours</th><th>verdict</th></tr></thead><tbody>'
    ]
    for claim, verdict, anchor in rows:
        name = f'<a href="#{anchor}">{escape(claim.id)}</a>' if anchor else f"<code>{escape(claim.id)}</code>"
        why = f'<div class="why">{escape(verdict.why)}</div>' if verdict.why else ""
        out.append(
            f'<tr><td>{name}</td><td data-label="paper">{escape(claim.paper)}</td>'
            f'<td data-label="ours">{escape(verdict.ours)}{why}</td>'
            f'<td><span class="verdict {_class(verdict.outcome)}">{verdict.outcome}</span></td></tr>'
        )
    return "".join(out) + "</tbody></table>"


def _table(table: Table) -> str:
    def row(tag: str, values: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(v))}</{tag}>" for v in values) + "</tr>"

    body = "".join(row("td", values) for values in table.rows)
    return f"<table><thead>{row('th', table.header)}</thead><tbody>{body}</tbody></table>"


def _class(outcome: str) -> str:
    return outcome.replace(" ", "-")


def _short(section: Section) -> str:
    """The id within its paper: fig9, table3."""
    return escape(section.experiment.id.partition("-")[2] or section.experiment.id)


_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --page: #fff; --soft: #5d6673; --line: #d9dee5; --card: #f5f7f9;
  --agrees: #1a7f4b; --differs: #b3441e; --not-run: #6b7480; --link: #1f6fb2; }
@media (prefers-color-scheme: dark) { :root { --text: #dfe4ea; --page: #14171b; --soft: #98a2af; --line: #2e353e;
  --card: #1c2127; --agrees: #4cc38a; --differs: #f0905f; --not-run: #98a2af; --link: #6db3f2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem clamp(0.9rem, 4vw, 2.5rem) 4rem; max-width: 70rem; color: var(--text);
  background: var(--page); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { line-height: 1.2; margin: 1rem 0 0.5rem; } h2 { margin: 2.5rem 0 0.75rem; line-height: 1.25; }
h3 { margin: 0 0 0.75rem; } h3 code { font-weight: normal; color: var(--soft); font-size: 0.8em; }
a { color: var(--link); } .about { color: var(--soft); font-size: 0.875rem; margin: 0.4rem 0; }
section { border: 1px solid var(--line); border-radius: 10px; padding: 1rem; margin: 1.25rem 0; }
.tiles { display: flex; gap: 0.75rem; flex-wrap: wrap; margin: 1.25rem 0; }
.tile { flex: 1 1 6rem; background: var(--card); border-radius: 10px; padding: 0.75rem 1rem; border-left: 4px solid; }
.tile b { display: block; font-size: 1.75rem; line-height: 1.2; } .tile span { color: var(--soft); }
.contents { list-style: none; padding: 0; margin: 0; } .contents li { margin: 0.3rem 0; }
.contents a { display: inline-block; padding: 0.1rem 0.35rem; }
.agrees { color: var(--agrees); } .differs { color: var(--differs); } .not-run { color: var(--not-run); }
.verdict { font-weight: 600; white-space: nowrap; }
.why { color: var(--soft); font-size: 0.875rem; margin-top: 0.25rem; }
.scroll { overflow-x: auto; margin: 0.75rem 0; }
.picture svg { max-width: 100%; height: auto; display: block; margin: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; }
th, td { padding: 0.4rem 0.7rem 0.4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.claims td:nth-child(2), .claims td:nth-child(3) { width: 38%; } .claims td:first-child { white-space: nowrap; }
summary { cursor: pointer; color: var(--link); }
@media (max-width: 640px) {
  .claims thead { display: none; }
  .claims tr { display: block; border-bottom: 1px solid var(--line); padding: 0.6rem 0; }
  .claims td { display: block; border: 0; padding: 0.1rem 0; width: auto !important; }
  .claims td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>The papers' experiments</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
