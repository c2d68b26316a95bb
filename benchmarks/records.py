"""Records: what a benchmark measured, as JSON beside the tables that it prints: `--json FILE`.

A record is a line of one of its tables, with its goal beside its value. `python -m benchmarks.figures` writes the
README's tables from the files, so that no figure is typed by hand.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import describe

#: in the order in which they were measured
RECORDS: list[dict[str, Any]] = []


def record(table: str, **figures: Any) -> None:
    """Note one line of a table."""
    RECORDS.append({"table": table, **{name: _plain(value) for name, value in figures.items()}})


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured to this file, too")


def write(path: Path | None, *packages: str) -> None:
    """Write all records with the machine, the versions of the packages and the date; nothing without a path."""
    if path is None:
        return
    header = {"machine": describe(*packages), "date": datetime.now(UTC).date().isoformat()}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"  {json.dumps(line)}" for line in RECORDS)
    head = "".join(f' "{name}": {json.dumps(value)},\n' for name, value in header.items())
    path.write_text(f'{{\n{head} "records": [\n{lines}\n ]\n}}\n')


def _plain(value: Any) -> Any:
    """A number of four digits that count, as JSON has it."""
    return float(f"{value:.4g}") if isinstance(value, float) or hasattr(value, "dtype") else value
