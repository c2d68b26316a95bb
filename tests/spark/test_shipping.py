"""The package on executors that do not have it: from a zip, by way of a directory where there can be one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.columns.with_columns import list_order
from slidewise.spark import shipping
from slidewise.spark.executor.task import Task

#: What an executor does: the zip is on its path, and nothing of ours besides.
EXECUTOR = """
import pickle, sys
sys.path = [p for p in sys.path if not __import__("pathlib").Path(p, "slidewise", "__init__.py").exists()]
sys.meta_path = [f for f in sys.meta_path if "editable" not in str(f)]
zip, function, before = sys.argv[1:]
sys.path.append(zip)
exec(before)
from pyspark import cloudpickle
import pyarrow as pa
run = cloudpickle.loads(open(function, "rb").read())
batches = iter([(pa.array([1, 1, 2]), pa.array([1, 2, 3]), pa.array([5.0, 7.0, 1.0]))])
print([row for part in run(batches) for row in part.to_pylist()])
import slidewise
print(slidewise.__file__)
"""
RESULT = "[{'0': 5.0, '1': 1}, {'0': 7.0, '1': 2}, {'0': 1.0, '1': 1}]"


@pytest.fixture(scope="module")
def function(tmp_path_factory) -> Path:
    from pyspark import cloudpickle

    reads = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("x", pa.float64())])
    expressions = (sw.max("x").over(sw.rows(9)), sw.count_distinct("x").over(sw.rows(9)))
    task = Task(reads, ("k",), tuple(list_order("t")), expressions, (pa.float64(), pa.int64()))
    path = tmp_path_factory.mktemp("function") / "run.pickle"
    path.write_bytes(
        cloudpickle.dumps(shipping.build_executor_function(cloudpickle.dumps(task), shipping._write_package().name))
    )
    return path


def executor(function: Path, tmp_path: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", EXECUTOR, str(shipping._write_package()), str(function), before]
    environment = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)


@pytest.mark.full
def test_the_package_is_unpacked_once_and_found_again(function, tmp_path):
    for _ in range(2):
        done = executor(function, tmp_path)
        assert done.returncode == 0, done.stderr
        result, where = done.stdout.splitlines()
        assert result == RESULT
        (place,) = (p for p in tmp_path.iterdir() if p.name.startswith(shipping._write_package().stem))
        assert Path(where) == place / "slidewise" / "__init__.py"
        assert place.stat().st_mode & 0o077 == 0


@pytest.mark.full
def test_where_nothing_can_be_written_the_zip_itself_serves(function, tmp_path):
    """A read-only home, and no place for temporary files: kernels are compiled and not kept."""
    refuse = "import os, tempfile\ndef no(*a, **k): raise PermissionError('read-only')\n"
    places = "tempfile.mkdtemp = tempfile.TemporaryFile = os.mkdir = os.makedirs = no"
    done = executor(function, tmp_path, refuse + places)
    assert done.returncode == 0, done.stderr
    result, where = done.stdout.splitlines()
    assert result == RESULT
    assert where.startswith(str(shipping._write_package()))


@pytest.mark.full
def test_a_directory_that_others_can_write_to_is_not_trusted(function, tmp_path):
    import os

    place = tmp_path / f"{shipping._write_package().stem}-{os.getuid()}"
    (place / "slidewise").mkdir(parents=True)
    (place / "slidewise" / "__init__.py").write_text("raise SystemExit('code of someone else')")
    place.chmod(0o777)
    done = executor(function, tmp_path)
    assert done.stdout.splitlines()[0] == RESULT, done.stderr


@pytest.mark.full
def test_a_process_that_served_other_sources_takes_the_new_ones(function, tmp_path):
    (tmp_path / "old" / "slidewise").mkdir(parents=True)
    (tmp_path / "old" / "slidewise" / "__init__.py").write_text("")
    before = f"sys.path.insert(0, {str(tmp_path / 'old')!r})\nimport slidewise"
    done = executor(function, tmp_path, before)
    assert done.stdout.splitlines()[0] == RESULT, done.stderr


def test_what_the_executors_lack_is_told(function, tmp_path):
    lacks = "sys.modules['numba'] = None"
    done = executor(function, tmp_path, lacks)
    assert "lacks a package that slidewise needs" in done.stderr
    assert "numba" in done.stderr


def test_executors_on_the_drivers_own_machine_need_no_package(spark, connect):
    assert shipping.ship(spark) is None
    assert shipping.ship(connect) == shipping._write_package().name


@pytest.mark.parametrize(
    "lost", in_full("slidewise/columns", "slidewise/__init__.py", "slidewise/aggregations/*.py", "*")
)
def test_what_a_cleaner_of_temporary_files_took_is_there_again(function, tmp_path, lost):
    import os

    assert executor(function, tmp_path).returncode == 0
    place = tmp_path / f"{shipping._write_package().stem}-{os.getuid()}"
    for path in list(place.glob(lost)):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    done = executor(function, tmp_path)
    assert done.returncode == 0, done.stderr
    result, where = done.stdout.splitlines()
    assert result == RESULT
    assert Path(where) == place / "slidewise" / "__init__.py"
    with zipfile.ZipFile(shipping._write_package()) as archive:
        assert all((place / file.filename).stat().st_size == file.file_size for file in archive.infolist())
    assert {path.name for path in place.iterdir()} == {"slidewise"}


@pytest.mark.full
def test_a_directory_that_numba_made_anew_for_its_cache_is_filled(function, tmp_path):
    """As it does in a process that has begun before a cleaner took all of it, readable by others."""
    import os

    place = tmp_path / f"{shipping._write_package().stem}-{os.getuid()}"
    (place / "slidewise" / "templates" / "__pycache__").mkdir(parents=True)
    place.chmod(0o755)
    done = executor(function, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [RESULT, str(place / "slidewise" / "__init__.py")]


def test_a_session_that_starts_later_gets_the_package_though_its_file_was_taken():
    before = shipping._write_package().read_bytes()
    shutil.rmtree(shipping._write_package().parent)
    assert shipping._write_package().read_bytes() == before
