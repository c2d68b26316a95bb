"""Compiling while rows are answered interpreted: no `push` waits for it.

A window asks for the kernel of its kind of rows and goes on; a thread loads numba and compiles, or takes what numba's
cache has; the window looks again a while later. The process does not end, and is not forked, while the thread is at it.
"""

from __future__ import annotations

import functools
import os
import threading
from copy import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slidewise.aggregations.base import Aggregation
    from slidewise.registry.entries import AlgorithmEntry
    from slidewise.templates.memory import Kernel, Operations

#: a window has had so many rows before its kernel is asked for: a shorter stream would end before it is there
AFTER = 5_000
#: and after so many more it looks whether the kernel is there
AGAIN = 500

_found: dict[Any, Any] = {}
_threads: dict[Any, threading.Thread] = {}


def ask_for_slide(
    entry: AlgorithmEntry, aggregation: Aggregation, value: str, moment: str | None, *, wait: bool = False
) -> Kernel | None:
    """Return the kernel of a slide (memory.compile_slide), or None: there is none, or it is still being compiled. O(1).

    With `wait`, it is not worth to begin with it yet.
    """
    plain = copy(aggregation)
    plain.columns = ()  # of any column it is the same
    found: Kernel | None = _ask(("compile_slide", entry, plain, value, moment), wait)
    return found


def ask_for_operations(
    entry: AlgorithmEntry, aggregation: Aggregation, value: str, *, wait: bool = False
) -> Operations | None:
    """Return the operations of a structure (memory.compile_operations), or None: there are none, or not yet. O(1)."""
    found: Operations | None = _ask(("compile_operations", entry, aggregation, value), wait)
    return found


def _ask(key: Any, wait: bool) -> Any:
    if key not in _found and key not in _threads and not wait:
        _wait_before_forks()
        _threads[key] = threading.Thread(target=_compile, args=(key,), name="slidewise compiles")
        _threads[key].start()
    return _found.get(key)


def _compile(key: Any) -> None:
    found = None
    try:
        from slidewise.templates import cache, memory  # loads numba

        found = None if cache.is_compiler_off() else getattr(memory, key[0])(*key[1:])
    except Exception:  # numba is not what it was, or has no memory: rows are interpreted, as before
        pass  # `slidewise doctor` tells; a warning would be one of this thread, which no one called
    finally:
        _found[key] = found
        _threads.pop(key, None)


def wait() -> None:
    """Wait for all that were asked for."""
    for thread in list(_threads.values()):
        thread.join()


@functools.cache
def _wait_before_forks() -> None:
    """Fork only when all that were asked for are there: the locks of numba would stay taken in the child.

    What is registered last is called first: before logging takes its own lock, which the thread may need.
    """
    import logging  # noqa: F401 - it registers that when it is loaded

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=wait)
