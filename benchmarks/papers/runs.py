"""Runs: what has been measured, as results.json, so that a run can be gone on from and pictures drawn again."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.experiment import Cell

VERSION = 1
_FIELDS = ("series", "x", "value", "unit", "panel", "repeat")


@dataclass
class Run:
    """One experiment that was run: its cells, or why there are none."""

    scale: str
    #: the machine and the versions, as `machine.describe` has them
    machine: str
    date: str
    seconds: float
    #: of these, numba compiled
    compiling: float
    cells: list[Cell]
    not_run: str = ""
    #: how many programs wanted a core while it ended, this one among them; 0 where the system does not tell
    load: float = 0.0


class Runs:
    """The runs of a directory, by experiment.

    Written as a whole after each, so that a stop loses one experiment at most.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.by_id: dict[str, Run] = {}
        if path.exists():
            held = json.loads(path.read_text())
            if held.get("version") != VERSION:
                raise ValueError(
                    f"{path} was written by another version of this command: give another --out, or remove it"
                )
            self.by_id = {id: _read(run) for id, run in held["experiments"].items()}

    def finished(self, id: str, scale: str, machine: str) -> bool:
        """Whether this experiment was run at this scale, on this machine."""
        run = self.by_id.get(id)
        return run is not None and not run.not_run and (run.scale, run.machine) == (scale, machine)

    def forget(self, ids: Iterable[str]) -> None:
        """Leave out these experiments from now on: a run of them that is stopped can then be gone on with, too."""
        held = [id for id in ids if self.by_id.pop(id, None)]
        if held:
            self._write()

    def keep(self, id: str, run: Run) -> None:
        """Add a run, and write the file anew."""
        self.by_id[id] = run
        self._write()

    def _write(self) -> None:
        """Write the file as a whole: never half of it."""
        written = {
            "version": VERSION,
            "fields": _FIELDS,
            "experiments": {i: _written(r) for i, r in self.by_id.items()},
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".json.tmp")
        draft.write_text(_by_lines(written))
        draft.replace(self.path)


def _written(run: Run) -> dict[str, Any]:
    return vars(run) | {"cells": [[_finite(part) for part in astuple(cell)] for cell in run.cells]}


def _finite(part: Any) -> Any:
    """JSON has no infinity."""
    return repr(part) if isinstance(part, float) and not math.isfinite(part) else part


def _read(held: dict[str, Any]) -> Run:
    return Run(**held | {"cells": [Cell(*map(_from_json, cell)) for cell in held["cells"]]})


def _from_json(part: Any) -> Any:
    return float(part) if part in ("inf", "-inf", "nan") else part


def _by_lines(written: dict[str, Any]) -> str:
    """JSON with a line for each cell: a difference of two runs can be read."""
    parts = []
    for id, run in written["experiments"].items():
        cells = ",\n".join(f"    {json.dumps(cell)}" for cell in run["cells"])
        about = json.dumps({k: v for k, v in run.items() if k != "cells"})[:-1]
        parts.append(f'  {json.dumps(id)}: {about}, "cells": [\n{cells}\n  ]}}')
    head = json.dumps({k: v for k, v in written.items() if k != "experiments"})[:-1]
    return f'{head}, "experiments": {{\n' + ",\n".join(parts) + "\n}}\n"


def read_beside(path: Path, ids: list[str]) -> dict[str, list[Cell]]:
    """Read figures of others from a CSV file with the columns experiment, panel, series, x, value, and, at will, label.

    `x` is a number where it reads as one. The series appears as "SERIES (LABEL)", the label being the file's name
    without one.
    """
    found: dict[str, list[Cell]] = {}
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        missing = {"experiment", "panel", "series", "x", "value"} - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"{path}: a column {sorted(missing)[0]} is missing. The first line names the columns: "
                             "experiment,panel,series,x,value[,label]")  # fmt: skip
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if row["experiment"] not in ids:
                raise ValueError(f"{where}: no experiment {row['experiment']!r}. There are: {', '.join(ids)}")
            value = _number(row["value"])
            if isinstance(value, str):
                raise ValueError(f"{where}: value is a number, and {row['value']!r} is not")
            series = f"{row['series']} ({row.get('label') or path.stem})"
            cell = Cell(series, _number(row["x"]), value, "", row["panel"] or "")
            found.setdefault(row["experiment"], []).append(cell)
    return found


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            pass
    return text
