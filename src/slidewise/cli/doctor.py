"""`slidewise doctor`: what is found on this machine, what is needed, and what to do."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

import typer

from slidewise.cli.exit_codes import FAILED
from slidewise.cli.options import Conf, Json, Master, read_pairs
from slidewise.cli.screen import Screen, describe_failure, find_screen
from slidewise.cli.session import open_session
from slidewise.display import Table
from slidewise.spark.requirements import MissingRequirement, find_java, require_java
from slidewise.spark.session import PROVIDER, ROCKSDB

#: the packages of which something is needed: the oldest version, the first that is too new, and what has it
PACKAGES = {
    "pyspark": ((4, 1), None, "slidewise[spark]"),
    "pandas": ((2, 2), (3,), "slidewise[spark]"),
    "protobuf": ((5,), None, "slidewise[spark]"),
    "sqlglot": ((26,), None, "slidewise[spark]"),
    "numpy": ((2, 0), None, "slidewise"),
    "pyarrow": ((17,), None, "slidewise"),
    "numba": ((0, 61), None, "slidewise"),
    "pydantic": ((2, 8), None, "slidewise[pipeline]"),
    "ruamel.yaml": ((0, 18), None, "slidewise[pipeline]"),
}
#: packages that only some need: the oldest version, what has it, and what for
OPTIONAL = {
    "psycopg": ((3, 2), "slidewise[postgres]", "sinks that are tables of PostgreSQL"),
    "starlette": ((0, 40), "slidewise[live]", "the live page"),
    "uvicorn": ((0, 30), "slidewise[live]", "the live page"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    status: Literal["ok", "missing", "optional"]
    found: str
    needed: str
    todo: str = ""


def doctor(
    context: typer.Context,
    spark: Annotated[
        bool, typer.Option("--spark", help="Start Spark, too, and let a Python worker of it compute something.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Tell what is found on this machine, what is needed, and what to do about the rest.

    Examples:

    [bold]slidewise doctor[/bold]  Java, packages, the cache of kernels, the state store; nothing is started

    [bold]slidewise doctor --spark[/bold]  starts Spark, and runs something

    [bold]slidewise doctor --spark --master spark://host:7077[/bold]  the same on a cluster

    Ends with 0 where all is there that is needed, and else with 1.
    """
    screen = find_screen(context)
    screen.json = json
    findings = list(examine())
    if spark:
        findings.append(_examine_session(screen, master, read_pairs(conf, "--conf")))
    _show(screen, findings)
    if json:
        screen.give([asdict(each) for each in findings])
    if any(each.status == "missing" for each in findings):
        raise typer.Exit(FAILED)


def examine() -> Iterator[Finding]:
    """Look at everything that needs no Spark."""
    running = ".".join(map(str, sys.version_info[:3]))
    enough = sys.version_info >= (3, 11)
    yield Finding(
        "Python", "ok" if enough else "missing", running, "3.11 or newer", "" if enough else "install a newer Python"
    )
    yield _examine_java()
    for name, (oldest, too_new, extra) in PACKAGES.items():
        yield _examine_package(name, oldest, too_new, extra)
    for name, (oldest, extra, purpose) in OPTIONAL.items():
        found = _examine_package(name, oldest, None, extra)
        needed = f"{found.needed}, for {purpose}"
        yield Finding(name, "ok" if found.status == "ok" else "optional", found.found, needed, found.todo)
    yield _examine_cache()
    yield _examine_state_store()
    yield _examine_temporary()


def _examine_java() -> Finding:
    java, said = find_java()
    try:
        require_java()
    except MissingRequirement as error:
        return Finding("Java", "missing", said or "none", "17 or newer", str(error).rsplit(". ", 1)[-1])
    return Finding("Java", "ok", f"{said} ({java})", "17 or newer")


def _examine_package(name: str, oldest: tuple[int, ...], too_new: tuple[int, ...] | None, extra: str) -> Finding:
    needed = f"{_dotted(oldest)} or newer" + (f", before {_dotted(too_new)}" if too_new else "")
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(name, "missing", "none", needed, f"pip install '{extra}'")
    number = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if number < oldest:
        return Finding(name, "missing", found, needed, f"pip install -U '{extra}'")
    if too_new is not None and number >= too_new:
        return Finding(name, "missing", found, needed, f"pip install '{name}<{_dotted(too_new)}'")
    return Finding(name, "ok", found, needed)


def _examine_cache() -> Finding:
    """Ask numba where it keeps compiled kernels."""
    needed = "a folder that can be written to, so that kernels are compiled once"
    todo = "set NUMBA_CACHE_DIR to a folder that you can write to"
    try:
        import numba

        from slidewise.algorithms import two_stacks_lite
        from slidewise.templates.cache import cached_njit, is_compiler_off

        if is_compiler_off():
            return Finding("cache of kernels", "optional", "none: NUMBA_DISABLE_JIT is set", needed, "unset it")
        folder = cached_njit(two_stacks_lite.insert).stats.cache_path
    except ImportError as error:
        return Finding("cache of kernels", "missing", str(error), needed, "pip install slidewise")
    if folder is None:
        return Finding("cache of kernels", "optional", "none: every process compiles anew", needed, todo)
    package = Path(__file__).parent.parent
    beside = Path(folder).is_relative_to(package)
    root = package if beside else Path(numba.config.CACHE_DIR or folder)
    sizes = [file.stat().st_size for file in root.rglob("*.nb[ci]")]
    where = f"{root} (beside the package)" if beside else str(root)
    if not _can_write(folder):
        return Finding("cache of kernels", "optional", f"{where}, which cannot be written to", needed, todo)
    number = len(sizes)
    found = f"{where}, {number:,} files, {sum(sizes) / 1e6:,.1f} MB"
    return Finding("cache of kernels", "ok", found, needed, "" if sizes else "slidewise warm-up compiles ahead")


def _can_write(folder: str) -> bool:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _examine_state_store() -> Finding:
    """Look for RocksDB among Spark's own libraries: streams keep their state in it."""
    needed = "RocksDB, of Spark's own libraries; slidewise sets it"
    try:
        import pyspark
    except ImportError:
        return Finding("state store", "missing", "none", needed, "pip install 'slidewise[spark]'")
    jars = sorted(Path(pyspark.__file__).parent.glob("jars/rocksdbjni-*.jar"))
    if not jars:  # with SPARK_HOME, the libraries lie elsewhere
        return Finding("state store", "optional", "no libraries beside pyspark", needed, "slidewise doctor --spark")
    return Finding("state store", "ok", jars[-1].stem.replace("rocksdbjni-", "RocksDB "), needed)


def _examine_temporary() -> Finding:
    import shutil

    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found, needed = f"{folder}, {free / 1e9:,.1f} GB free", "1 GB free, where Spark sorts what memory does not hold"
    few = "" if free >= 1e9 else "free some, or set SPARK_LOCAL_DIRS to another disk"
    return Finding("temporary files", "optional" if few else "ok", found, needed, few)


def _examine_session(screen: Screen, master: str | None, conf: dict[str, str]) -> Finding:
    needed = "a session whose Python workers compute"
    try:
        with open_session(screen, master=master, conf=conf) as session:
            import slidewise as sw
            from slidewise.frontdoor import with_columns

            rows = session.range(10)
            out = with_columns(rows, order_by="id", engine="slidewise", total=sw.sum("id").over(sw.rows(3)))
            got = out.agg({"total": "sum"}).collect()[0][0]
            store = session.conf.get(PROVIDER, "")
            found = f"Spark {session.version} on {session.conf.get('spark.master', '?')}"
    except Exception as error:
        return Finding(
            "Spark", "missing", describe_failure(error), needed, "slidewise --debug doctor --spark shows more"
        )
    if got != 109:
        return Finding("Spark", "missing", f"{found}; a sum that is 109 came out as {got}", needed, "report it")
    if store != ROCKSDB:
        return Finding("Spark", "missing", f"{found}; state store {store}", needed, f"--conf {PROVIDER}={ROCKSDB}")
    return Finding("Spark", "ok", found, needed)


def _show(screen: Screen, findings: list[Finding]) -> None:
    marks = {"ok": "✓", "missing": "✗", "optional": "-"}
    rows = [
        {"": marks[each.status], "what": each.what, "found": each.found, "needed": each.needed, "what to do": each.todo}
        for each in findings
    ]
    screen.show(Table.of("", rows))
    missing = [each.what for each in findings if each.status == "missing"]
    if missing:
        screen.say(("✗ ", "red"), f"to be seen to: {', '.join(missing)}")
    else:
        screen.say(("✓ ", "green"), "all is there that is needed")


def _dotted(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))
