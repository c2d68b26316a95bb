"""The warning that something runs interpreted: once for an aggregation, at the line that called us."""

from __future__ import annotations

import sys
import threading
import warnings
from types import FrameType
from weakref import WeakKeyDictionary

from slidewise.errors import CompileFallback

#: where it was said of an aggregation's class
_said: WeakKeyDictionary[type, set[tuple[str, int]]] = WeakKeyDictionary()


def warn_of_fallback(of: type, name: str, reason: str) -> None:
    """Say that an aggregation runs interpreted, and why: once for every line of the caller's."""
    message = f"{name} runs interpreted, {reason}"
    caller = _caller(sys._getframe(1)) or _caller(sys._current_frames().get(threading.main_thread().ident or 0))
    if caller is None:
        warnings.warn(message, CompileFallback, stacklevel=2)
        return
    line = caller.f_code.co_filename, caller.f_lineno
    said = _said.setdefault(of, set())
    if line not in said:
        said.add(line)
        registry = caller.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(message, CompileFallback, *line, caller.f_globals.get("__name__"), registry)


def _caller(frame: FrameType | None) -> FrameType | None:
    """Find the first frame outside of the package that has called into it; None in a thread of our own."""
    while frame is not None and not _is_ours(frame):
        frame = frame.f_back
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return None if frame is None or frame.f_globals.get("__name__") in _OF_THREADS else frame


_OF_THREADS = ("threading", "concurrent.futures.thread")


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("slidewise.")
