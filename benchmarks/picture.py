"""The README's picture: `python -m benchmarks.picture` writes docs/images/rolling.svg.

ns per row of a rolling max and a rolling median over one array, by window size, one thread, peers in the same run; only
answers that agree are timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import bottleneck
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
from rich.progress import Progress

import slidewise as sw
from benchmarks.machine import describe
from benchmarks.timing import best_seconds

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

Call = Callable[[np.ndarray, int], np.ndarray]
PANELS: dict[str, dict[str, Call]] = {
    "rolling max": {
        "slidewise": lambda x, n: sw.rolling(x, sw.max(), sw.rows(n)),
        "bottleneck": lambda x, n: bottleneck.move_max(x, n, 1),
        "polars": lambda x, n: pl.Series(x).rolling_max(n, min_samples=1).to_numpy(),
        "pandas": lambda x, n: pd.Series(x).rolling(n, min_periods=1).max().to_numpy(),
    },
    "rolling median": {
        "slidewise": lambda x, n: sw.rolling(x, sw.median(), sw.rows(n)),
        "bottleneck": lambda x, n: bottleneck.move_median(x, n, 1),
        "polars": lambda x, n: pl.Series(x).rolling_median(n, min_samples=1).to_numpy(),
        "pandas": lambda x, n: pd.Series(x).rolling(n, min_periods=1).median().to_numpy(),
    },
}
WINDOWS = [2**k for k in range(3, 18, 2)]
COLORS = {"slidewise": "#d1495b", "bottleneck": "#00798c", "polars": "#8d96a3", "pandas": "#edae49"}


def measure(rows: int) -> dict[str, dict[str, list[float]]]:
    """ns per row, by panel, library and window."""
    x = np.random.default_rng(0).random(rows)
    out: dict[str, dict[str, list[float]]] = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=sum(len(calls) for calls in PANELS.values()) * len(WINDOWS))
        for panel, calls in PANELS.items():
            out[panel] = {library: [] for library in calls}
            for n in WINDOWS:
                expected = calls["slidewise"](x[:200_000], n)
                for library, call in calls.items():
                    progress.update(task, advance=1, description=f"{panel}, {n:,}, {library}")
                    assert np.allclose(call(x[:200_000], n), expected), (panel, library, n)
                    seconds = best_seconds(lambda: call(x, n), repeat=5, enough=1.5)  # noqa: B023
                    out[panel][library].append(seconds / rows * 1e9)
    return out


def draw(figures: dict[str, dict[str, list[float]]], rows: int, path: Path) -> None:
    """One panel per aggregate, logarithmic on both axes, lines labelled where they end."""
    fig, axes = plt.subplots(1, len(figures), figsize=(10, 3.8), sharex=True, sharey=True)
    for axis, (panel, libraries) in zip(axes, figures.items(), strict=True):
        for library, values in libraries.items():
            ours = library == "slidewise"
            style = {"lw": 3, "zorder": 3} if ours else {"lw": 1.5, "zorder": 2}
            axis.plot(WINDOWS, values, color=COLORS[library], marker="o", ms=4, **style)
            axis.annotate(
                library,
                (WINDOWS[-1], values[-1]),
                (8, 0),
                textcoords="offset points",
                va="center",
                color=COLORS[library],
                fontweight="bold" if ours else None,
            )
        axis.set(xscale="log", yscale="log", title=panel, xlabel="rows in the window")
        axis.set_xticks([10**k for k in range(1, 6)])
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(1, 5000)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25, which="major")
    axes[0].set_ylabel("ns per row")
    how = f"{rows:,} float64 rows, one thread, best of 5. {describe('bottleneck', 'polars', 'pandas')}"
    fig.text(0.01, 0.01, how, fontsize=6, color="gray")
    fig.tight_layout(rect=(0, 0.03, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("docs/images/rolling.svg"))
    options = parser.parse_args()
    figures = measure(options.rows)
    draw(figures, options.rows, options.out)
    print(describe("bottleneck", "polars", "pandas"))
    for panel, libraries in figures.items():
        print(panel, {library: [round(v, 1) for v in values] for library, values in libraries.items()})
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
