"""Digests of code: what a function means, as a short text.

A kernel's name holds the digest of everything that its machine code depends on, which makes numba's disk cache
content-addressed: equal names mean equal code, in any process and from any module.
"""

from __future__ import annotations

import hashlib
import types
from importlib.resources import files
from typing import Any

from slidewise.templates.bind import global_names

_PURE_MODULES = ("math", "cmath", "operator", "numpy")


class Undigestible(Exception):
    """Something whose content cannot be digested: compile it, but do not keep it on disk."""


def digest(*things: Any) -> str:
    """A digest of functions with all they refer to, of plain values, and of what makes kernels out of them."""
    return content_digest(_kernel_sources(), *things)


def content_digest(*things: Any) -> str:
    """A digest of functions with all they refer to, and of plain values."""
    h = hashlib.sha256()
    for thing in things:
        _feed(h, thing, set())
    return h.hexdigest()[:20]


def _feed(h: Any, x: Any, seen: set[int]) -> None:
    """Feed all that x means to compiled code: bytecode, constants, defaults, and the globals and closures it names."""
    if isinstance(x, types.CodeType):
        h.update(repr((x.co_code, x.co_names, x.co_varnames[: x.co_argcount])).encode())
        for constant in x.co_consts:
            _feed(h, constant, seen)
    elif isinstance(x, types.FunctionType):
        if id(x) in seen:
            return
        seen.add(id(x))
        cells = (c.cell_contents for c in x.__closure__ or ())
        for part in (x.__code__, x.__defaults__, *cells):
            _feed(h, part, seen)
        for name in sorted(global_names(x.__code__) & x.__globals__.keys()):
            h.update(name.encode())
            _feed(h, x.__globals__[name], seen)
    elif hasattr(x, "py_func"):  # the user's own @njit
        _feed(h, x.py_func, seen)
    elif x is None or isinstance(x, bool | int | float | complex | str | bytes):
        h.update(f"{type(x).__name__}:{x!r};".encode())
    elif isinstance(x, tuple):
        h.update(b"(%d" % len(x))
        for item in x:
            _feed(h, item, seen)
    elif isinstance(x, type) and issubclass(x, Exception):
        h.update(f"{x.__module__}.{x.__qualname__}".encode())
    elif isinstance(x, types.ModuleType) and x.__name__ in _PURE_MODULES:
        h.update(x.__name__.encode())
    elif type(x).__module__ == "numpy" and hasattr(x, "tobytes"):
        h.update(str((x.dtype, x.shape)).encode() + x.tobytes())
    elif callable(x) and getattr(x, "__module__", "") in ("builtins", "_operator", "itertools", *_PURE_MODULES):
        h.update(x.__name__.encode())
    else:
        raise Undigestible(repr(x))


def _kernel_sources() -> bytes:
    """The machinery that every kernel is made with: numba's own stamp covers only the file of the driver."""
    if not _cached_sources:
        here = files("slidewise.templates")  # which may be a zip, on a Spark executor
        _cached_sources.append(b"".join((here / f).read_bytes() for f in ("structs.py", "storage.py", "ring.py")))
    return _cached_sources[0]


_cached_sources: list[bytes] = []
