"""The experiments of all papers, in the report's order."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from benchmarks.papers.experiment import Experiment

#: modules with `EXPERIMENTS`, a tuple: a new one is a file, and its line here
MODULES = (
    "counts",
    "daba",
    "reactive",
    "holistic",
    "tutorial",
    "pba",
)


def collect() -> dict[str, Experiment]:
    """Every experiment, by its id."""
    out: dict[str, Experiment] = {}
    for name in MODULES:
        for experiment in import_module(f"{__package__}.{name}").EXPERIMENTS:
            assert experiment.id not in out, f"two experiments are named {experiment.id}"
            out[experiment.id] = experiment
    return out


def select(experiments: dict[str, Experiment], only: Sequence[str]) -> list[Experiment]:
    """Those whose id is, or begins with, one of these; all where none is given."""
    unknown = [part for part in only if not any(id.startswith(part) for id in experiments)]
    if unknown:
        raise ValueError(f"--only {unknown[0]}: no experiment's id begins so. There are: {', '.join(experiments)}")
    return [e for id, e in experiments.items() if not only or any(id.startswith(part) for part in only)]
