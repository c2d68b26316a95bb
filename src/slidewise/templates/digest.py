"""Digests of kernels: a kernel's name holds that of everything that its machine code depends on.

It makes numba's disk cache content-addressed: equal names mean equal code, in any process and from any module.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from slidewise.aggregations.code_digest import content_digest


def digest(*things: Any, unknown: list[Any] | None = None) -> str:
    """Digest functions with all they refer to, plain values, and what makes kernels out of them."""
    return content_digest(_kernel_sources(), *things, unknown=unknown)


def _kernel_sources() -> bytes:
    """Read the machinery that every kernel is made with: numba's own stamp covers only the file of the driver."""
    if not _cached_sources:
        here = files("slidewise.templates")  # which may be a zip, on a Spark executor
        _cached_sources.append(b"".join((here / f).read_bytes() for f in _SOURCES))
    return _cached_sources[0]


_SOURCES = ("structs.py", "lanes.py", "blocks.py", "storage.py", "ring.py")
_cached_sources: list[bytes] = []
