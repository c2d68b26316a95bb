"""Compare answers, and make a failing case small."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from slidewise.aggregations.values import are_close
from slidewise.fuzz import by_hand, sqlite
from slidewise.fuzz.cases import By, Case, Function, draw


def alone(case: Case) -> list[list[Any]]:
    """Answer by one call for each aggregate."""
    return [replace(case, aggregates=(aggregate,)).results()[0] for aggregate in case.aggregates]


Oracle = Callable[[Case], list[Any]]
ORACLES: dict[str, Oracle] = {
    "sqlite": sqlite.answers,
    "hand": by_hand.answers,
    "recalculate": lambda case: case.results("recalculate"),
    "alone": alone,
}


def case_of(
    seed: int,
    number: int,
    most_rows: int = 30,
    oracle: str | None = None,
    functions: list[Function] | None = None,
) -> Case:
    """Draw the case of a number in the run of a seed; every other is for SQLite, or all where that is the oracle."""
    of_sqlite = number % 2 == 0 if oracle is None else oracle == "sqlite"
    return draw(random.Random(f"{seed} {number}"), most_rows, of_sqlite, functions)


def difference(case: Case, oracle: str | None = None) -> str | None:
    """Find what is wrong with the answers to a case; None where all oracles agree with them."""
    asked = [name for name in ORACLES if oracle in (None, name)]
    name = "auto"
    try:
        ours = case.results()
        for name in asked:
            for k, (mine, theirs) in enumerate(zip(ours, ORACLES[name](case), strict=True)):
                if theirs is by_hand.UNKNOWN:
                    continue
                for row, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                    if not same(a, b):
                        return f"r{k} of row {row} is {a!r}, and {b!r} by {name}"
    except Exception as error:
        return f"{name} raises {type(error).__name__}: {error}"
    return None


def same(a: Any, b: Any) -> bool:
    """Tell whether two answers are equal, floats but for rounding.

    Unlike `agree`, which compares partials, it tells types apart: an answer of another type is another answer.
    """
    if b is by_hand.UNKNOWN:
        return True
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float | int):
        return are_close(a, b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return type(a) is type(b) and bool(a == b)


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Find a case that still fails, with nothing left that can be taken away alone."""
    smaller: Case | None = case
    while smaller is not None:
        case = smaller
        smaller = next((c for c in _smaller(case) if fails(c)), None)
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with a little less."""
    if len(case.aggregates) > 1:
        for aggregate in case.aggregates:
            yield replace(case, aggregates=(aggregate,)).with_used_columns()
        for k in range(len(case.aggregates)):  # two that are wrong together only
            yield replace(case, aggregates=case.aggregates[:k] + case.aggregates[k + 1 :]).with_used_columns()
    if case.container != "arrow":
        yield replace(case, container="arrow")
    size = case.rows // 2
    while size:  # blocks of rows, then single ones
        for begin in range(0, case.rows, size):
            yield case.only([i for i in range(case.rows) if not begin <= i < begin + size])
        size //= 2
    for k in range(len(case.keys)):
        yield replace(case, keys=case.keys[:k] + case.keys[k + 1 :]).with_used_columns()
    if len(case.order) > 1:
        for by in case.order:
            yield replace(case, order=(by,)).with_used_columns()
    for k, by in enumerate(case.order):
        if by != By(by.name):
            yield replace(case, order=(*case.order[:k], By(by.name), *case.order[k + 1 :]))
    aggregate = case.aggregates[0]
    if aggregate.where:
        yield replace(case, aggregates=(replace(aggregate, where=None),)).with_used_columns()
    if aggregate.frame.exclude:
        plain = replace(aggregate, frame=replace(aggregate.frame, exclude=None))
        yield replace(case, aggregates=(plain,))
