"""The package on the executors.

Where executors are other processes than the driver's machine may have set up, the package goes along as a zip, once per
session, so that driver and executors always run the same code. An executor unpacks it into a directory of its own user,
named by its content: compiled kernels are then found again by later tasks and later applications. Where no directory
can be written, the zip itself is imported.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pyarrow as pa

_shipped: WeakSet[Any] = WeakSet()


@cache
def _package() -> Path:
    """The package as a zip, named by its content; it stays while this process runs, for executors to fetch."""
    root = Path(__file__).parent.parent
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in (".py", ".json", ".typed"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            # A fixed date: equal sources make an equal zip.
            entry = zipfile.ZipInfo(str(Path(root.name) / path.relative_to(root)))
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    content = buffer.getvalue()
    folder = tempfile.mkdtemp(prefix="slidewise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / f"slidewise-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    path.write_bytes(content)
    return path


def ship(spark: Any) -> str | None:
    """Give the executors of a session the package; its name there, or None where they share the driver's."""
    if _is_local(spark):
        return None
    path = _package()
    if spark not in _shipped:
        spark.addArtifacts(str(path), pyfile=True)
        _shipped.add(spark)
    return path.name


def _is_local(spark: Any) -> bool:
    """Whether tasks run in the driver's own environment. Connect cannot tell where its server is."""
    return "connect" not in type(spark).__module__ and spark.conf.get("spark.master", "").startswith("local")


def on_executor(pickled: bytes, package: str | None) -> Callable[[Any], Any]:
    """The function that Spark runs: it calls run() of what is pickled. It travels by value, and so does all in it."""
    arrive = arriving(package)

    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        import pickle

        arrive()
        yield from pickle.loads(pickled).run(batches)

    run.__name__ = "slidewise"  # as plans show it
    # Resolved, as Spark reads them; text would need this module on the executor.
    run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return run


def arriving(package: str | None) -> Callable[[], None]:
    """What makes the package importable on an executor. It travels by value, and imports nothing of ours before."""

    def arrive() -> None:
        import sys

        if package is not None:
            unpack(package)
        try:
            import numba  # noqa: F401

            import slidewise  # noqa: F401
        except ImportError as error:
            raise ImportError(
                f"the Python of the executors, {sys.executable}, lacks a package that slidewise needs: {error}. "
                "Install numpy, pyarrow and numba there, or point PYSPARK_PYTHON at a Python that has them"
            ) from error

    def unpack(name: str) -> None:
        """Have the package imported from the zip that Spark brought, by way of a directory with its content."""
        import sys

        found = next((path for path in sys.path if path.endswith(name)), None)
        if found is None:
            return  # Spark brought no zip: the package may be installed
        root = directory(found, name.removesuffix(".zip")) or found
        if sys.path[0] != root:
            sys.path.insert(0, root)
        loaded = getattr(sys.modules.get("slidewise"), "__file__", None) or root
        if not loaded.startswith(root):  # a process that served a session with other sources
            for module in [m for m in sys.modules if m.partition(".")[0] == "slidewise"]:
                del sys.modules[module]

    def directory(found: str, name: str) -> str | None:
        """A directory of this user with the content of the zip, made by the first that comes; None: it cannot be."""
        import os
        import shutil
        import stat
        import tempfile
        import zipfile
        from pathlib import Path

        user = os.getuid() if hasattr(os, "getuid") else 0
        try:
            place = Path(tempfile.gettempdir()) / f"{name}-{user}"
            if not place.exists():
                fresh = tempfile.mkdtemp(prefix=place.name, dir=place.parent)
                with zipfile.ZipFile(found) as archive:
                    archive.extractall(fresh)
                try:
                    Path(fresh).rename(place)
                except OSError:  # another task was faster
                    shutil.rmtree(fresh, ignore_errors=True)
            status = place.lstat()
        except OSError:
            return None
        # Only what no one else could have written is run.
        own = stat.S_ISDIR(status.st_mode) and status.st_uid == user and not status.st_mode & 0o077
        return str(place) if own else None

    return arrive
