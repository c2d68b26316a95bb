"""Digests of code: what a function means, as a short text.

Equal digests mean equal code, in any process and from any module. Values count as they are when the digest is made: a
global, or an attribute of a module, that has changed since makes another one.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import inspect
import types
from typing import Any

#: packages whose functions and constants never change
_PURE = ("math", "cmath", "operator", "_operator", "itertools", "builtins", "numpy", "numba")
#: modules of plain values, which print as what they are
_VALUES = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")

_PLAIN = (bool, int, float, complex, str, bytes)
#: what counts as it is, and not by the attributes that are read of it
_WHOLE: Any = (
    types.FunctionType, types.MethodType, functools.partial, enum.Enum, tuple, list, dict, set, frozenset,
)  # fmt: skip

#: attributes read one after the other, as in `settings.limits.top`
_Path = tuple[str, ...]
_Paths = dict[str, frozenset[_Path]]


class Undigestible(Exception):
    """Something whose content cannot be digested: compile it, but do not keep it on disk."""


def content_digest(*things: Any, unknown: list[Any] | None = None) -> str:
    """Digest functions with all they refer to, and plain values.

    What has no content to digest goes to `unknown`, and is told apart by the caller; without it, it is an error.
    """
    h = hashlib.sha256()
    for thing in things:
        _Feeder(h, unknown).feed(thing)
    return h.hexdigest()[:20]


class _Feeder:
    """All that a thing means to compiled code: bytecode, constants, defaults, and the values that it reads by name."""

    def __init__(self, h: Any, unknown: list[Any] | None) -> None:
        self.h, self.unknown = h, unknown
        #: functions met, which may call each other
        self.met: set[types.FunctionType] = set()
        #: lists and dicts around what is fed, which may hold themselves
        self.around: list[Any] = []

    def say(self, text: str) -> None:
        self.h.update(text.encode())

    def feed(self, x: Any) -> None:
        if isinstance(x, types.CodeType):
            self.say(repr((x.co_code, x.co_names, x.co_varnames[: x.co_argcount])))
            for constant in x.co_consts:
                self.feed(constant)
        elif _is_pure(x):
            self.say(x.__name__)
        elif isinstance(x, types.FunctionType):
            self.function(x)
        elif is_dispatcher(x):  # the user's own @njit
            self.feed(x.py_func)
            self.say(repr(sorted(x.targetoptions.items())))
        elif x is None or (isinstance(x, _PLAIN) and not isinstance(x, enum.Enum)):
            self.say(f"{type(x).__name__}:{x!r};")
        elif isinstance(x, tuple):
            self.say(f"({len(x)}")
            for item in x:
                self.feed(item)
        elif isinstance(x, type) and issubclass(x, Exception):
            self.say(f"{x.__module__}.{x.__qualname__}")
        elif type(x).__module__ == "numpy" and hasattr(x, "tobytes") and not x.dtype.hasobject:
            self.h.update(str((x.dtype, x.shape)).encode() + x.tobytes())
        elif type(x).__module__ in _VALUES:
            self.say(f"{type(x).__name__}:{x!r};")
        elif isinstance(x, enum.Enum):
            self.say(f"{type(x).__qualname__}.{x.name}")
            self.feed(x.value)
        elif isinstance(x, list | dict | set | frozenset):
            self.collection(x)
        elif isinstance(x, functools.partial):
            self.feed((x.func, x.args, x.keywords))
        elif isinstance(x, types.MethodType):
            self.feed((x.__func__, x.__self__))
        else:
            self.cannot(x)

    def function(self, x: types.FunctionType) -> None:
        if x in self.met:
            return
        self.met.add(x)
        read_globals, read_cells = _reads(x.__code__)
        self.feed(x.__code__)
        self.feed(x.__defaults__)
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            try:
                held = cell.cell_contents
            except ValueError:
                self.say(f"{name} has no value yet")
                continue
            self.value(held, read_cells.get(name))
            if is_dispatcher(held):
                self.cannot(held)  # it is not made anew, and has its own idea of globals
        if x.__kwdefaults__:
            self.feed(x.__kwdefaults__)
        for name in sorted(global_names(x.__code__) & x.__globals__.keys()):
            self.say(name)
            self.value(x.__globals__[name], read_globals.get(name))

    def value(self, x: Any, paths: frozenset[_Path] | None) -> None:
        """Feed a value that is read by name: of a module, a class or an object, the attributes that are read of it."""
        if not _has_attributes(x):
            self.feed(x)
            return
        for path in sorted(paths or [()]):
            self.say(".".join(path))
            self.attribute(x, path)

    def attribute(self, x: Any, path: _Path) -> None:
        for name in path:
            if not _has_attributes(x):
                break  # what follows is asked of a plain value
            try:
                # Only a module may answer by code of its own, which is no more than an import.
                x = getattr(x, name) if isinstance(x, types.ModuleType) else inspect.getattr_static(x, name)
            except AttributeError:
                self.cannot(x)
                return
            x = x.__func__ if isinstance(x, staticmethod) else x
        self.feed(x)
        if callable(x) and not _is_pure(x):  # numba keeps what it has compiled of it
            self.cannot(x)

    def collection(self, x: Any) -> None:
        if any(x is outer for outer in self.around):
            self.say("itself")
            return
        self.say(f"{type(x).__name__}{len(x)}")
        self.around.append(x)
        if isinstance(x, set | frozenset):
            self.say(repr(sorted(content_digest(item, unknown=self.unknown) for item in x)))
        else:
            for item in x.items() if isinstance(x, dict) else x:
                self.feed(item)
        self.around.pop()

    def cannot(self, x: Any) -> None:
        if self.unknown is None:
            raise Undigestible(repr(x))
        self.say("unknown")
        self.unknown.append(x)


def _is_pure(x: Any) -> bool:
    """Tell whether this is a module, a function or a type of a package that never changes."""
    if isinstance(x, types.ModuleType):
        return x.__name__.partition(".")[0] in _PURE
    return callable(x) and hasattr(x, "__name__") and str(getattr(x, "__module__", "")).partition(".")[0] in _PURE


def is_dispatcher(x: Any) -> bool:
    """Tell whether this is a function that the user has given to numba."""
    return hasattr(x, "py_func") and hasattr(x, "targetoptions")


def _has_attributes(x: Any) -> bool:
    """Tell whether a value is what is read of it: a module, a class, or an object of a class in Python."""
    if isinstance(x, types.ModuleType | type):
        return not _is_pure(x) and not (isinstance(x, type) and issubclass(x, Exception))
    if isinstance(x, _WHOLE) or is_dispatcher(x) or type(x).__module__ in _VALUES:
        return False
    return hasattr(x, "__dict__") and type(x).__module__.partition(".")[0] not in _PURE


@functools.cache
def _reads(code: types.CodeType) -> tuple[_Paths, _Paths]:
    """Find what a function, and those within it, read of globals and of the variables around it, by their names."""
    found: tuple[dict[str, set[_Path]], dict[str, set[_Path]]] = ({}, {})
    root: tuple[int, str] | None = None
    path: list[str] = []

    def close() -> None:
        if root is not None:
            found[root[0]].setdefault(root[1], set()).add(tuple(path))

    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(i.argval)
        elif i.opname not in ("EXTENDED_ARG", "CACHE"):
            close()
            which = {"LOAD_GLOBAL": 0, "LOAD_NAME": 0, "LOAD_DEREF": 1, "LOAD_CLASSDEREF": 1}.get(i.opname)
            root, path = None if which is None else (which, i.argval), []
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for mine, theirs in zip(found, _reads(inner), strict=True):
                for name, paths in theirs.items():
                    mine.setdefault(name, set()).update(paths)
    return tuple({name: frozenset(paths) for name, paths in one.items()} for one in found)  # type: ignore[return-value]


@functools.cache
def global_names(code: types.CodeType) -> frozenset[str]:
    """Find the global names that a function, and the functions within it, look up."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return frozenset(names).union(*(global_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))
