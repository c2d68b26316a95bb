"""A picture of one machine: its signal, and the features of its windows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from examples.demo.show import of_machine

INK, GRID = "#333333", "#e6e6e6"
HOURS = 8


def draw(features: Path, machine: str, path: Path) -> Path:
    """Eight hours of a machine, as a PNG."""
    matplotlib.use("Agg")
    import matplotlib.dates as dates
    import matplotlib.pyplot as plt

    rows = of_machine(features, machine)
    start = rows["ts"][0].as_py()
    at = rows["ts"].cast("int64").to_numpy()
    rows = rows.slice(0, int(np.searchsorted(at, at[0] + HOURS * 3_600_000_000)))

    figure, (signal, people) = plt.subplots(
        2, 1, figsize=(12, 7), height_ratios=[3, 1], sharex=True, layout="constrained"
    )
    column = lambda name: _broken(rows, name)  # noqa: E731
    ts = _broken(rows, "ts")
    signal.plot(ts, column("temperature"), ".", ms=1.5, color="#9db7d5", label="temperature")
    signal.plot(ts, column("peak_5m"), lw=0.9, color="#d95f02", label="max, 5 minutes")
    signal.plot(ts, column("p95_1h"), lw=1.4, color="#7570b3", label="95th percentile, 1 hour")
    signal.plot(ts, column("usual_1h"), lw=1.8, color="#1b9e77", label="median, 1 hour")
    low, high = np.nanmin(column("temperature")), np.nanmax(column("temperature"))
    signal.set_ylim(low - 0.1 * (high - low), high + 0.15 * (high - low))
    signal.set_ylabel("°C")
    _brackets(signal, rows)

    people.step(ts, column("operators_1h"), where="post", color="#1b9e77", label="distinct operators, 1 hour")
    people.step(
        ts, column("parts_1h") / 10, where="post", lw=1.4, color="#e6ab02", label="tens of distinct parts, 1 hour"
    )
    people.set_ylim(0, 1.4 * people.get_ylim()[1])
    people.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))

    for axes in (signal, people):
        axes.legend(loc="upper left", ncols=4, frameon=False, fontsize=9, markerscale=5)
        axes.grid(color=GRID)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
    signal.set_title(f"{machine}, {start:%d %B %Y}: every event, and its windows", loc="left", color=INK, weight="bold")
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _broken(rows: Any, name: str) -> Any:
    """A column for lines, with a hole where the machine was silent for five minutes."""
    at = rows["ts"].cast("int64").to_numpy()
    silent = np.flatnonzero(np.diff(at) > 300_000_000) + 1
    if name == "ts":
        return np.insert(at, silent, at[silent - 1] + 1).astype("datetime64[us]")
    return np.insert(rows[name].cast("double").to_numpy(), silent, np.nan)


def _brackets(axes: Any, rows: Any) -> None:
    """How far back the windows of the last event reach, where that is within the picture."""
    first, last = (rows["ts"][k].as_py().replace(tzinfo=None) for k in (0, -1))
    bottom, top = axes.get_ylim()
    for place, (label, length) in enumerate({"5 min": timedelta(minutes=5), "1 h": timedelta(hours=1)}.items()):
        if last - length < first:
            continue
        y = bottom + (0.04 + 0.06 * place) * (top - bottom)
        axes.annotate("", (last - length, y), (last, y), arrowprops={"arrowstyle": "|-|", "color": INK})
        axes.text(last - length, y, f"{label} ", ha="right", va="center", fontsize=9, color=INK, clip_on=True)
