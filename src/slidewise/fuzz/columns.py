"""The target `columns`: random tables and windows, against answers that share no code with ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from slidewise.fuzz.comparison import ORACLES, case_of, difference, shrink

ABOUT = "tables and windows, with_columns and aggregate against SQLite, plain Python, recalculation and single calls."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the size of tables, and which oracle is asked."""
    parser.add_argument("--rows", type=int, default=30, help="the most rows of a table (default 30)")
    parser.add_argument("--oracle", choices=sorted(ORACLES), help="ask only this one (default: all)")


@contextmanager
def open_target(given: argparse.Namespace) -> Iterator[Callable[[int], str | None]]:
    """Give the check of one case after the other."""

    def wrong_with(number: int) -> str | None:
        case = case_of(given.seed, number, given.rows, given.oracle)
        if difference(case, given.oracle) is None:
            return None
        small = shrink(case, lambda c: difference(c, given.oracle) is not None)
        return f"# {difference(small, given.oracle)}\n{small.snippet}"

    yield wrong_with
