"""Compiling while rows are answered interpreted: no `push` waits for it.

A window asks for the kernel of its kind of rows and goes on; a thread loads numba and compiles, or takes what numba's
cache has; the window looks again a while later. The process does not end, and is not forked, while the thread is at it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

#: a window has had so many rows before its kernel is asked for: a shorter stream would end before it is there
AFTER = 5_000
#: and after so many more it looks whether the kernel is there
AGAIN = 500

_found: dict[Any, Any] = {}
_threads: dict[Any, threading.Thread] = {}


def ask(key: Any, build: Callable[[], Any]) -> Any:
    """Return what `build` has returned; None while it is at it in a thread of its own, and where it failed. O(1)."""
    if key not in _found and key not in _threads:

        def work() -> None:
            try:
                found = build()
            except Exception:  # numba is not what it was, or has no memory: interpreted, as before
                found = None
            _found[key] = found
            _threads.pop(key, None)

        _threads[key] = threading.Thread(target=work, name="slidewise compiles")
        _threads[key].start()
    return _found.get(key)


def is_there(key: Any) -> bool:
    """Tell whether there is an answer, if only that there is none. O(1)."""
    return key in _found


def wait() -> None:
    """Wait for all that were asked for."""
    for thread in list(_threads.values()):
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait)  # the locks of numba would stay taken in the child
