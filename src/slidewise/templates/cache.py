"""Where compiled kernels are kept on disk: numba's own place, then a private directory, then nowhere.

Cache files are pickle, so only a directory that no one else can write to is trusted. A read-only home, a full disk or a
damaged file never stops a computation: the kernel is compiled again.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from slidewise.templates import announce
from slidewise.templates.bind import HOME

#: Entries kept per directory; the oldest half goes when there are more.
MOST_ENTRIES = 4000
#: the versions of numba of which linked.py uses inner classes; with others, functions are compiled as numba does it
LINKED = ((0, 68),)

#: Every kernel of this process.
_kernels: list[Any] = []


class KernelCounts(NamedTuple):
    """Kernels of this process, each of its signatures by itself."""

    compiled: int
    #: from the disk cache
    loaded: int


def count_kernels() -> KernelCounts:
    """Count what was compiled and what was loaded so far."""
    stats = [kernel.stats for kernel in _kernels]
    return KernelCounts(sum(len(s.cache_misses) for s in stats), sum(len(s.cache_hits) for s in stats))


def is_compiler_off() -> bool:
    """Tell whether kernels run as plain Python (NUMBA_DISABLE_JIT=1)."""
    from numba import config

    return bool(config.DISABLE_JIT)


def choose_linking() -> dict[str, Any]:
    """Choose numba's options for functions that only kernels call; see linked.py."""
    import numba

    if numba.version_info.short not in LINKED:
        return {}
    from slidewise.templates.linked import LinkedCompiler

    return {"pipeline_class": LinkedCompiler}


def cached_njit(function: Callable[..., Any], **options: Any) -> Any:
    """njit with the disk cache in the first place that takes it, and without where none does; `options` are numba's."""
    announce.listen()
    made = _njit(function, **{"nogil": True, "no_cfunc_wrapper": True, **options})
    is_called = not options.get("no_cpython_wrapper")  # others are inside of the kernels that call them
    if is_called and not is_compiler_off():
        _kernels.append(made)
    return made


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    import numba

    for directory in (numba.config.CACHE_DIR, private_directory()):
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, directory  # read at decoration only
        try:
            made = numba.njit(cache=True, **options)(function)
            if Path(function.__code__.co_filename).exists() or _writable(made.stats.cache_path):
                return made  # from a zip, numba does not look whether it can write before it does
        except RuntimeError:  # numba has no place that it can write to: try the next
            continue
        finally:
            numba.config.CACHE_DIR = before
    return numba.njit(**options)(function)


def _writable(directory: str) -> bool:
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


def private_directory() -> str:
    """Make a directory of this user alone, below the system's place for temporary files; "" where there can be none."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = Path(tempfile.gettempdir()) / f"slidewise-kernels-{user}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
        own = stat.S_ISDIR(status.st_mode) and status.st_uid == user and not status.st_mode & 0o022
        return str(path if own else tempfile.mkdtemp(prefix="slidewise-kernels-"))
    except OSError:
        return ""


def prune(directory: str | None, most: int = MOST_ENTRIES) -> None:
    """Delete the older half of our entries where there are more than `most`; numba itself never deletes any."""
    if directory is None:  # compiled without a cache, since no place takes one
        return
    try:
        entries = [(p.stat().st_mtime, p) for p in Path(directory).glob(f"{HOME.rpartition('.')[2]}.*.nb[ci]")]
        if len(entries) > most:
            for _, path in sorted(entries)[: len(entries) // 2]:
                path.unlink(missing_ok=True)
    except OSError:
        return  # another process prunes too, or the directory is read-only: neither matters
