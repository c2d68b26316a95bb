"""Shipping: the package on the executors.

Where executors are other processes than the driver's machine may have set up, the package goes along as a zip, once per
session, so that driver and executors always run the same code. An executor unpacks it into a directory of its own user,
named by its content: compiled kernels are then found again by later tasks and later applications. It is a place of
temporary files, of which a cleaner may take any at any time: every task sees to it that all are there. Where they
cannot be written, the zip itself is imported.
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
def _zip_package() -> bytes:
    """Zip the package."""
    root = Path(__file__).parent.parent
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in (".py", ".json", ".typed"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            # A fixed date: equal sources make an equal zip.
            entry = zipfile.ZipInfo(str(Path(root.name) / path.relative_to(root)))
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


@cache
def _make_folder() -> Path:
    """Make a directory for this process, which is removed at its end."""
    folder = tempfile.mkdtemp(prefix="slidewise-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _write_package() -> Path:
    """Write the package to a file named by its content; it stays while this process runs, for executors to fetch."""
    path = _make_folder() / f"slidewise-{hashlib.sha256(_zip_package()).hexdigest()[:16]}.zip"
    if not path.exists():  # the first time, or a cleaner of temporary files took it
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(_zip_package())
    return path


def ship(spark: Any, cloned: bool = False) -> str | None:
    """Ship the package to the executors of a session; give its name there, or None where they have one of their own.

    `cloned`: Spark runs this in a clone of the session, as it does with streams and with flows of its pipelines. Over
    Connect nothing is sent then: the clone enters the zip among the files of all sessions of the server, and takes it
    away with its own end. Every later job there fails, whoever runs it ("Stream '/artifacts/...' was not found").
    """
    if _is_local(spark) or (cloned and _is_connect(spark)):
        return None
    path = _write_package()
    if spark not in _shipped:
        spark.addArtifacts(str(path), pyfile=True)
        _shipped.add(spark)
    return path.name


def _is_local(spark: Any) -> bool:
    """Tell whether tasks run in the driver's own environment. Connect cannot tell where its server is."""
    return not _is_connect(spark) and spark.conf.get("spark.master", "").startswith("local")


def _is_connect(spark: Any) -> bool:
    return "connect" in type(spark).__module__


def build_executor_function(pickled: bytes, package: str | None) -> Callable[[Any], Any]:
    """Build the function that Spark runs: it calls run() of what is pickled. It travels by value, with all in it."""
    arrive = build_importer(package)

    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        import pickle

        arrive()
        yield from pickle.loads(pickled).run(batches)

    run.__name__ = "slidewise"  # as plans show it
    # Resolved, as Spark reads them; text would need this module on the executor.
    run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return run


def build_importer(package: str | None) -> Callable[[], None]:
    """Build the function that makes the package importable on an executor.

    It travels by value, and imports nothing of ours before.
    """

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
                f"Install {'slidewise' if package is None else 'numpy, pyarrow and numba'} there, or point "
                "PYSPARK_PYTHON at a Python that has what it needs"
            ) from error

    def unpack(name: str) -> None:
        """Unpack the zip that Spark brought into a directory, and have the package imported from there."""
        import sys

        found = next((path for path in sys.path if path.endswith(name)), None)
        if found is None:
            return  # Spark brought no zip: the package may be installed
        root = make_directory(found, name.removesuffix(".zip")) or found
        if sys.path[0] != root:
            sys.path.insert(0, root)
        loaded = getattr(sys.modules.get("slidewise"), "__file__", None) or root
        if not loaded.startswith(root):  # a process that served a session with other sources
            for module in [m for m in sys.modules if m.partition(".")[0] == "slidewise"]:
                del sys.modules[module]

    def make_directory(found: str, name: str) -> str | None:
        """Make a directory of this user with the content of the zip; None where that cannot be."""
        import os
        import stat
        import tempfile
        from pathlib import Path

        user = os.getuid() if hasattr(os, "getuid") else 0
        try:
            place = Path(tempfile.gettempdir()) / f"{name}-{user}"
            place.mkdir(mode=0o700, exist_ok=True)
            status = place.lstat()
            # Only what no one else could have written is run.
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o022:
                return None
            fill(place, found)
        except OSError:
            return None
        return str(place)

    def fill(place: Any, found: str) -> None:
        """Write the files of the zip that are not there: all of them at first. 3 ms where none is missing."""
        import importlib
        import tempfile
        import zipfile
        from pathlib import Path

        with zipfile.ZipFile(found) as archive:
            there = {path: path.stat().st_size for path in place.rglob("*") if path.is_file()}
            missing = [file for file in archive.infolist() if there.get(place / file.filename) != file.file_size]
            if not missing:
                return
            with tempfile.TemporaryDirectory(dir=place) as fresh:
                archive.extractall(fresh, missing)
                for file in missing:  # other tasks see a whole file or none
                    (place / file.filename).parent.mkdir(parents=True, exist_ok=True)
                    Path(fresh, file.filename).replace(place / file.filename)
        importlib.invalidate_caches()

    return arrive
