"""What is printed of the results."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from rich import box
from rich.table import Table
from rich.text import Text

#: column, and how it is shown; a narrow terminal has no room for the last
SHOWN = {
    "ts": "%H:%M:%S",
    "temperature": ".1f",
    "peak_5m": ".1f",
    "usual_1h": ".1f",
    "p95_1h": ".1f",
    "operators_1h": "d",
    "parts_1h": "d",
    "state_5m": "s",
    "spread_5m": ".2f",
    "mean_1h": ".1f",
    "shake_p99": ".1f",
    "hottest_1h": "d",
}


def of_machine(features: Path, machine: str) -> pa.Table:
    """One machine's rows, in the order of time."""
    return ds.dataset(features, format="parquet").to_table(filter=ds.field("machine") == machine).sort_by("ts")


def rows(features: Path, machine: str, width: int, count: int = 12) -> Table:
    """A dozen rows, spread over the whole time, in so many characters."""
    found = of_machine(features, machine)
    step = max(1, found.num_rows // count)
    return listed(found.take(list(range(step - 1, found.num_rows, step))).to_pylist(), SHOWN, width)


def listed(found: list[dict[str, Any]], shown: dict[str, str], width: int) -> Table:
    """Rows, with as many columns as there is room for."""
    room = accumulate(max(len(name), 8) + 3 for name in shown)
    fitting = {name: form for (name, form), used in zip(shown.items(), room, strict=True) if used < width}
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))
    for name, form in fitting.items():
        table.add_column(name, justify="left" if form[0] in "%s" else "right", no_wrap=True)
    for row in found:
        table.add_row(*(_cell(row[name], form) for name, form in fitting.items()))
    return table


def _cell(value: Any, form: str) -> Text:
    if value is None:
        return Text("null", "dim")
    return Text(format(value, form), {"warn": "yellow", "fault": "red"}.get(value, "") if form == "s" else "")


def done(features: int, rows: int, seconds: float) -> Text:
    return Text.assemble(
        (f"{features} features for {rows:,} events in {seconds:.1f} s", "bold"),
        f", {seconds / rows / features * 1e9:,.0f} ns each, read, sorted, computed and written.",
    )


def kept(paths: dict[str, Path]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for what, path in paths.items():
        table.add_row(what, Text(str(path), "cyan"))
    return table


def watch(checkpoint: Path) -> Text:
    """The command that shows the live page of a stream, also when that is over."""
    # Without a way to it in PATH, it is beside the Python that runs this.
    command = "slidewise" if shutil.which("slidewise") else os.path.relpath(Path(sys.executable).with_name("slidewise"))
    return Text.assemble("\nThe live page of the stream: ", (f"{command} watch {checkpoint}", "bold cyan"))
