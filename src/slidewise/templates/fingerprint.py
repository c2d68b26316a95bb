"""What a state belongs to: a definition in words, its fingerprint, and how two of them differ.

State is only good for the definition that made it. Built-in aggregations are told apart by name, columns,
parameters and a version; your own also by their code, since nothing else says what their partials mean. Code
is compared as bytecode, which changes with Python's version: a class that declares `state_version = 1` (and
counts it up when the meaning of its partials changes) is told apart by that number instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from slidewise.aggregations.base import FUNCTIONS, Aggregation
from slidewise.registry.entries import AlgorithmEntry
from slidewise.serialization import codec
from slidewise.templates.digest import content_digest

#: What is defined, and how; in the order in which differences are told.
Definition = dict[str, str]

_BUILT_IN = "slidewise.aggregations."


def of_swag(
    entry: AlgorithmEntry, aggregation: Aggregation, options: Mapping[str, Any], fields: Mapping[str, Any]
) -> Definition:
    """The definition of one data structure; `fields` is the layout of its state.

    What else the layout depends on, such as the width of a tree's nodes, is the algorithm's LAYOUT.
    """
    layout = [f"{name}: {getattr(kind, '__name__', kind)}" for name, kind in fields.items()]
    return {
        "algorithm": entry.name,
        **of_aggregation(aggregation),
        "options": words(options),
        "layout": ", ".join([*layout, *getattr(entry.module, "LAYOUT", ())]),
    }


def of_aggregation(aggregation: Aggregation) -> Definition:
    """The definition of an aggregation."""
    definition = {
        "aggregation": aggregation.name,
        "columns": ", ".join(aggregation.columns),
        "parameters": words(aggregation.parameters),
        **({"where": aggregation.where} if aggregation.where is not None else {}),
    }
    if is_built_in(aggregation) or aggregation.state_version is not None:
        return {**definition, "state version": str(aggregation.state_version or 1)}
    return {**definition, "functions": _code(*(getattr(aggregation, name) for name in FUNCTIONS))}


def is_built_in(aggregation: Aggregation) -> bool:
    """Whether an aggregation is one of ours."""
    return type(aggregation).__module__.startswith(_BUILT_IN)


def words(value: Any) -> str:
    """A value as text that is the same in every process: never an address, a function by its code."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={words(v)}" for k, v in value.items())
    if callable(value):
        return _code(value)
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def _code(*functions: Any) -> str:
    """The code of functions, with the values that they read; what has no content counts by its name."""
    unknown: list[Any] = []
    code = content_digest(*functions, unknown=unknown)
    return content_digest(code, *map(_name, unknown)) if unknown else code


def _name(x: Any) -> str:
    named = x if hasattr(x, "__qualname__") else x if isinstance(x, ModuleType) else type(x)
    return f"{named.__module__}.{named.__qualname__}" if hasattr(named, "__qualname__") else named.__name__


def fingerprint(definition: Definition) -> bytes:
    """16 bytes that stand for the definition."""
    return hashlib.blake2b(codec.encode(definition), digest_size=16).digest()


def differences(saved: Definition, here: Definition) -> str:
    """What differs, in words."""
    return "; ".join(
        f"{part} was {saved.get(part) or 'not given'}, and is {here.get(part) or 'not given'} here"
        for part in dict.fromkeys([*here, *saved])
        if saved.get(part) != here.get(part)
    )
