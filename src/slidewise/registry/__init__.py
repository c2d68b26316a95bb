"""One registry: every algorithm's and aggregation's properties, costs and papers, as data.

A pair is legal when what the algorithm needs is among what the aggregation provides.
"""

from __future__ import annotations

import ast
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.registry.algorithms import ALGORITHMS, COLUMN_KERNELS
from slidewise.registry.entries import AlgorithmEntry
from slidewise.suggest import suggest

_BY_NAME = {entry.name: entry for entry in (*ALGORITHMS, *COLUMN_KERNELS)}


def algorithm(name: str) -> AlgorithmEntry:
    """Find the entry of one algorithm; its options may come with the name.

    >>> algorithm("fiba(arity=4)").given
    (('arity', 4),)
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    plain, options = _split_options(name) if isinstance(name, str) else (name, {})
    if plain not in _BY_NAME:
        raise InvalidInput(f"there is no algorithm {plain!r}. {suggest(plain, _BY_NAME)}")
    entry = _BY_NAME[plain]
    if entry.required:
        raise InvalidInput(
            f"{plain}: options ({', '.join(entry.options)}) follow from the window where it is named, got {name!r}. "
            f"Leave the options out, or give them to swag({plain!r}, ...)"
        )
    return entry.with_options(options)


def _split_options(text: str) -> tuple[str, dict[str, Any]]:
    """Split "name(option=value)" into the name and its options."""
    plain, bracket, _ = text.partition("(")
    if not bracket:
        return text, {}
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.keywords and not call.args
        return plain.strip(), {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (AssertionError, SyntaxError, ValueError):
        raise InvalidInput(
            f"algorithm: {text!r} cannot be read. Write a name, or a name with options by name: 'fiba(arity=4)'"
        ) from None


def missing(entry: AlgorithmEntry, aggregation: Aggregation) -> list[str]:
    """List what the algorithm needs and the aggregation does not provide; a need may name alternatives."""
    provided = aggregation.properties
    return sorted(need for need in entry.needs if provided.isdisjoint(need.split(" or ")))


def legal_algorithms(aggregation: Aggregation) -> list[AlgorithmEntry]:
    """List the algorithms that can run the aggregation."""
    return [entry for entry in _BY_NAME.values() if not missing(entry, aggregation)]


def require_legal(entry: AlgorithmEntry, aggregation: Aggregation) -> None:
    """Refuse an illegal pair: which property is missing, and what to use instead."""
    aggregation.require_complete()
    lacking = missing(entry, aggregation)
    if lacking:
        instead = [e.name for e in legal_algorithms(aggregation) if e.name not in ("recalculate", "flat_fat")]
        raise IllegalPair(
            f"{entry.name} needs an aggregation that is {' and '.join(lacking)}, and {aggregation.name} is not. "
            f"Use {', '.join(instead[:4]) or 'recalculate'}" + (" or another one" if len(instead) > 4 else "")
        )
