"""Binding: clones of template functions whose free names mean one aggregation."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

#: The module that clones claim to come from. Cached machine code imports the module that defined it, which
#: must be importable in every process; a user's module need not be.
HOME = __name__


def functions_of(module: types.ModuleType) -> list[types.FunctionType]:
    """Collect the functions of a template: those of the templates that it USES, then its own, which win by name."""
    used = [f for other in getattr(module, "USES", ()) for f in functions_of(other)]
    functions = [f for f in vars(module).values() if isinstance(f, types.FunctionType)]
    return used + [f for f in functions if f.__module__ == module.__name__]


def bind(
    functions: Iterable[types.FunctionType],
    names: dict[str, Any],
    tag: str = "",
    wrap: Callable[[Any], Any] = lambda f: f,
) -> dict[str, Any]:
    """Clone the functions of a template so that their free names mean `names`; the clones see each other.

    Returns the namespace that the clones share.
    """
    functions = list(functions)
    namespace: dict[str, Any] = {}
    for module in {f.__module__: f.__globals__ for f in functions}.values():
        namespace |= module
    namespace |= {"__name__": HOME, **names}
    for f in functions:
        clone = types.FunctionType(f.__code__, namespace, f.__name__, f.__defaults__, f.__closure__)
        clone.__qualname__ = f.__name__ + tag
        clone.__module__ = HOME
        clone.__doc__ = f.__doc__
        namespace[f.__name__] = wrap(clone)
    return namespace
