"""Say that kernels are being compiled, where a person waits for it and watches: in a terminal, or in a notebook."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from slidewise.display import StatusLine, is_watched

#: how many seconds of compiling a process does without a word
NOTICEABLE = 0.5

#: what is being compiled, in the words of who asked for it
_what = "kernels"


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Name what the body compiles."""
    global _what
    before, _what = _what, what
    try:
        yield
    finally:
        _what = before


@functools.cache
def listen() -> None:
    """Announce what numba compiles of ours, from now on.

    Numba tells of what it compiles, not of what it loads from its cache. It compiles one function at a time, with those
    that this one calls inside: the outermost is the kernel.
    """
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]
        depth = 0
        #: seconds of compiling so far
        waited = 0.0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.since = time.perf_counter()
                self.done = threading.Event()
                self.speaker: threading.Thread | None = None
                kernel = event.data["dispatcher"]
                ours = str(kernel.py_func.__module__).startswith("slidewise.")  # a function by exec() is of none
                if ours and is_watched():
                    kept = "once" if kernel.stats.cache_path else "in this process only"
                    self.speaker = threading.Thread(target=self.speak, args=(kept,), daemon=True)
                    self.speaker.start()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.speaker is not None:
                self.done.set()
                self.speaker.join()
                self.waited += time.perf_counter() - self.since

        def speak(self, kept: str) -> None:
            line = StatusLine()
            pause = max(0.0, NOTICEABLE - self.waited)
            while not self.done.wait(pause):
                seconds = self.waited + time.perf_counter() - self.since
                line.show(f"slidewise: compiling {_what} ({kept}) ... {seconds:.0f} s")
                pause = 1.0
            line.clear()

    event.register("numba:compile", Announcer())
