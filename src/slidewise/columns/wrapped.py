"""Frames that wrap frames of other kinds: those of narwhals, without importing it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def unwrap(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the frame or series that narwhals wraps, and what wraps another so; data of other kinds as it is."""
    kind = next((c for c in type(data).__mro__ if _is_of_narwhals(c)), None)
    if kind is None:
        return data, lambda made: made
    # narwhals.stable.v1 has classes and from_native of its own; all others are in narwhals itself.
    module = kind.__module__ if kind.__module__.startswith("narwhals.stable.") else "narwhals"
    from_native = import_module(module).from_native
    return data.to_native(), lambda made: from_native(made, allow_series=True)


def _is_of_narwhals(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "narwhals" and kind.__name__ in ("DataFrame", "LazyFrame", "Series")
