"""Pictures: figures in the papers' manner, one colour per algorithm in all of them, readable in light and in dark.

A figure is drawn with `INK` for text and axes, on nothing: as SVG this becomes the colour of the text around it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.papers.experiment import Cell, Results

INK = "#101214"

#: one colour per algorithm; the papers have several names for some of them
COLORS = {
    "Two-Stacks": "#e07b39", "TwoStack": "#e07b39",
    "Two-Stacks Lite": "#d4a017",
    "DABA": "#3f8fd2",
    "DABA Lite": "#1fa187",
    "FlatFIT": "#b565c9",
    "FiBA": "#d1495b", "FiBA 4": "#d1495b", "FiBA 12": "#f0899a",
    "ISS": "#8d96a3", "Recal": "#8d96a3", "Naive": "#8d96a3",
    "RA": "#5b6ee1", "RA osc.": "#8f9bf0", "RA fixed": "#5b6ee1",
    "AW": "#7a9e3b",
    "SlickDeque": "#c25b8f",
    "SBA": "#2f9ab5",
    "PBA": "#e0433a",
    "Incremental": "#1fa187",
    "Segment Tree": "#7a9e3b",
    "Reuse": "#3f8fd2",
    "Replace": "#e07b39",
    "slidewise": "#e0433a",
    "Spark": "#8d96a3",
}  # fmt: skip
_OTHERS = ("#3f8fd2", "#e07b39", "#1fa187", "#b565c9", "#d4a017", "#d1495b", "#7a9e3b", "#5b6ee1", "#8d96a3")
_MARKERS = "osD^vPX*<>"


def color_of(series: str) -> str:
    """The colour of a series: of its algorithm, the name before a bracket or a comma.

    >>> color_of("SBA") == color_of("SBA (variable)") == COLORS["SBA"]
    True
    """
    name = re.split(r" \(|, ", series)[0]
    return COLORS.get(name) or _OTHERS[sum(map(ord, name)) % len(_OTHERS)]


@contextmanager
def style(id: str) -> Iterator[None]:
    """The look of all figures.

    Names within a picture are made from its experiment's id, so that it is the same each time.
    """
    with plt.rc_context(
        {
            "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "axes.titlecolor": INK,
            "xtick.color": INK, "ytick.color": INK, "grid.color": INK, "legend.labelcolor": INK,
            "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none",
            "axes.grid": True, "grid.alpha": 0.15, "grid.linewidth": 0.7, "axes.axisbelow": True,
            "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
            "font.family": "sans-serif", "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold",
            "svg.fonttype": "none", "svg.hashsalt": id,
        }
    ):  # fmt: skip
        yield


def svg(figure: Figure, id: str, title: str) -> str:
    """A figure as SVG, alone: dark where the reader's screen is. It closes the figure."""
    held = io.StringIO()
    figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight", pad_inches=0.08)
    plt.close(figure)
    text = held.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(re.escape(INK), "currentColor", text, flags=re.IGNORECASE)
    text = re.sub(r"font: (\S+ )?(\d\S*) [^;\"]*", r"font: \g<1>\g<2> system-ui, sans-serif", text)
    text = re.sub(r'\bid="', f'id="{id}-', text)  # one page has many pictures
    text = re.sub(r"url\(#", f"url(#{id}-", text)
    text = re.sub(r'href="#', f'href="#{id}-', text)
    look = "svg{color:#1b1f24}@media (prefers-color-scheme:dark){svg{color:#dfe4ea}}"
    head, rest = text.split(">", 1)
    return f'{head} role="img" aria-label="{_attribute(title)}"><style>{look}</style>{rest}'


def _attribute(text: str) -> str:
    from html import escape

    return escape(text, quote=True)


def grid(
    panels: Sequence[str], *, sharey: bool = True, width: float = 3.9, height: float = 3.1
) -> tuple[Figure, list[Any]]:
    """A figure with one set of axes for each panel, three in a row, titled."""
    columns = min(3, max(1, len(panels)))
    rows = -(-len(panels) // columns)
    if len(panels) == 1:
        width = 6.4
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), sharey=sharey, squeeze=False, layout="constrained"
    )
    flat = list(axes.ravel())
    for axis, panel in zip(flat, panels, strict=False):
        axis.set_title(panel)
    for axis in flat[len(panels) :]:
        axis.set_visible(False)
    return figure, flat[: len(panels)]


def legend(figure: Figure, axes: Sequence[Any]) -> None:
    """One legend for all panels, below them."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if len(found) > 1:
        figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=min(len(found), 6))


def plain_numbers(axis: Any) -> None:
    """Write the numbers of a logarithmic axis as people do: 0.1, 10, 10,000."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def lines(
    results: Results,
    *,
    xlabel: str,
    ylabel: str = "",
    xscale: str = "log",
    yscale: str = "linear",
    panels: Sequence[str] | None = None,
    series: Sequence[str] | None = None,
    sharey: bool = False,
) -> Figure:
    """Lines by x, a panel each; figures of others (--beside) are dashed, in the colour of their algorithm."""
    panels = results.panels() if panels is None else panels
    figure, axes = grid(panels, sharey=sharey)
    for axis, panel in zip(axes, panels, strict=True):
        names = [s for s in results.series(panel) if series is None or s in series]
        for k, name in enumerate(names):
            xs = results.xs(name, panel)
            axis.plot(
                xs, results.values(name, panel), color=color_of(name), marker=_MARKERS[k % 10], ms=4, lw=1.8, label=name
            )
        for name, cells in _by_series(results.beside, panel).items():
            axis.plot([c.x for c in cells], [c.value for c in cells], "--", color=color_of(name), lw=1.3, label=name)
        axis.set(xscale=xscale, yscale=yscale, xlabel=xlabel)
        if yscale == "log":
            plain_numbers(axis.yaxis)
        else:
            axis.set_ylim(bottom=0)
    axes[0].set_ylabel(ylabel or results.unit(panels[0]))
    legend(figure, axes)
    return figure


def _by_series(cells: Sequence[Cell], panel: str) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.panel == panel:
            found.setdefault(cell.series, []).append(cell)
    return found


def distributions(results: Results, *, ylabel: str, panels: Sequence[str] | None = None, sharey: bool = True) -> Figure:
    """Letter-value plots of `drivers.distribution`: boxes of 50, 80, 90 and 98 % of the slides, a line to 99.99 %.

    Dots are the fastest and the slowest slide; the dark line is the median.
    """
    panels = results.panels() if panels is None else panels
    figure, axes = grid(panels, sharey=sharey, height=3.6)
    for axis, panel in zip(axes, panels, strict=True):
        names = results.series(panel)
        for k, name in enumerate(names):
            color = color_of(name)

            def at(level: float, name: str = name, panel: str = panel) -> float:
                return max(results.value(name, level, panel), 1.0)

            for low, high, width in ((0.01, 0.99, 0.2), (0.05, 0.95, 0.35), (0.1, 0.9, 0.5), (0.25, 0.75, 0.7)):
                axis.bar(
                    k, at(high) - at(low), width, at(low), color=color, alpha=0.55, label=name if low == 0.25 else None
                )
            axis.plot([k, k], [at(0.0), at(0.9999)], color=color, lw=1.2)
            axis.plot([k, k], [at(0.9999), at(1.0)], ":", color=color, lw=1.2)
            axis.plot([k - 0.35, k + 0.35], [at(0.5)] * 2, color=INK, lw=1.4)
            axis.plot([k, k], [at(0.0), at(1.0)], "o", color=color, ms=4)
        axis.set_yscale("log")
        ends = [
            max(results.value(name, level, p), 1.0)
            for p in (panels if sharey else [panel])
            for name in results.series(p)
            for level in (0.0, 1.0)
        ]
        axis.set_ylim(0.7 * min(ends), 1.6 * max(ends))
        plain_numbers(axis.yaxis)
        axis.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
        axis.grid(axis="x", visible=False)
    axes[0].set_ylabel(ylabel)
    return figure
