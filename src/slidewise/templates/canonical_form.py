"""The canonical form of structures and aggregations: the definition that their state belongs to.

State is only good for the definition that made it. Built-in aggregations are told apart by name, columns,
parameters and a version; your own also by their code, since nothing else says what their partials mean. Code
is compared as bytecode, which changes with Python's version: a class that declares `state_version = 1` (and
counts it up when the meaning of its partials changes) is told apart by that number instead, and by the values that its
functions have captured where it is made by a function of parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

from slidewise.aggregations.base import FUNCTIONS, Aggregation
from slidewise.aggregations.code_digest import content_digest
from slidewise.registry.entries import AlgorithmEntry
from slidewise.serialization.state_definition import Definition

_BUILT_IN = "slidewise.aggregations."


def define_swag(
    entry: AlgorithmEntry, aggregation: Aggregation, options: Mapping[str, Any], fields: Mapping[str, Any]
) -> Definition:
    """Define one data structure; `fields` is the layout of its state.

    What else the layout depends on, such as the width of a tree's nodes, is the algorithm's LAYOUT.
    """
    layout = [f"{name}: {getattr(kind, '__name__', kind)}" for name, kind in fields.items()]
    return {
        "algorithm": entry.name,
        **define_aggregation(aggregation),
        "options": canonical_text(options),
        "layout": ", ".join([*layout, *getattr(entry.module, "LAYOUT", ())]),
    }


def define_aggregation(aggregation: Aggregation) -> Definition:
    """Define an aggregation."""
    definition = {
        "aggregation": aggregation.name,
        "columns": ", ".join(aggregation.columns),
        "parameters": canonical_text(aggregation.parameters),
        **({"where": aggregation.where} if aggregation.where is not None else {}),
    }
    if is_built_in(aggregation):
        return {**definition, "state version": str(aggregation.state_version or 1)}
    if aggregation.state_version is not None:
        captured = _find_captured(aggregation)
        return {
            **definition,
            "state version": str(aggregation.state_version),
            **({"captured values": canonical_text(captured)} if captured else {}),
        }
    return {**definition, "functions": _code(*(getattr(aggregation, name) for name in FUNCTIONS))}


def is_built_in(aggregation: Aggregation) -> bool:
    """Tell whether an aggregation is one of ours."""
    return type(aggregation).__module__.startswith(_BUILT_IN)


def canonical_text(value: Any) -> str:
    """Write a value as text that is the same in every process: never an address, a function by its code."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={canonical_text(v)}" for k, v in value.items())
    if callable(value):
        return _code(value)
    if _is_array(value) or (isinstance(value, list | tuple) and any(map(_is_array, value))):
        return f"{type(value).__qualname__} {content_digest(value, unknown=[])}"  # its text leaves out what is long
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def _is_array(value: Any) -> bool:
    return type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0


def _find_captured(aggregation: Aggregation) -> dict[str, Any]:
    """Find the values that its functions have captured, or have as defaults, which are no code and no parameters."""
    return {
        f"{name}.{read}": value
        for name in FUNCTIONS
        for read, value in _list_captured(getattr(aggregation, name))
        if read not in aggregation.parameters and not callable(value) and not isinstance(value, ModuleType)
    }


def _list_captured(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # it has no value yet
                yield name, cell.cell_contents
        for parameter in inspect.signature(function).parameters.values():
            if parameter.default is not parameter.empty:
                yield parameter.name, parameter.default


def _code(*functions: Any) -> str:
    """Digest the code of functions, with the values that they read; what has no content counts by its name."""
    unknown: list[Any] = []
    code = content_digest(*functions, unknown=unknown)
    return content_digest(code, *map(_name, unknown)) if unknown else code


def _name(x: Any) -> str:
    named = x if hasattr(x, "__qualname__") else x if isinstance(x, ModuleType) else type(x)
    return f"{named.__module__}.{named.__qualname__}" if hasattr(named, "__qualname__") else named.__name__
