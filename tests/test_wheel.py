"""The wheel in an environment of its own: it needs nothing of the source tree, and has nothing else in it."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"

README = """
import doctest, sys, slidewise
assert "site-packages" in slidewise.__file__, slidewise.__file__
options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=options, encoding="utf-8")
assert tried > 5 and not failed, (tried, failed)
"""

#: without an extra, what needs it says which one it is
MISSING = """
import importlib, slidewise as sw
for name in ("pyspark", "pandas", "polars", "pydantic", "typer"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{name} came along")
for ask, extra in (
    (lambda: sw.Pipeline, "slidewise[pipeline]"),
    (lambda: importlib.import_module("slidewise.pandas"), "pip install pandas"),
    (lambda: importlib.import_module("slidewise.polars"), "pip install polars"),
    (lambda: importlib.import_module("slidewise.spark.functions"), "slidewise[spark]"),
):
    try:
        ask()
    except ModuleNotFoundError as error:
        assert extra in str(error), str(error)
    else:
        raise AssertionError(extra)
"""


def run(*command, cwd, check=True):
    """Run a command outside of the source tree, with nothing of it on the path."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_DISABLE_JIT")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT, cwd=folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A fresh environment with the wheel and what it needs, at the versions of constraints.txt."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", with_pip=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "--disable-pip-version-check"]
    if run(*pip, "download", "--no-deps", "--dest", folder, "py4j", cwd=folder, check=False).returncode:
        pytest.skip("no package index can be reached")
    run(*pip, "install", "-c", ROOT / "constraints.txt", wheel, cwd=folder)
    return folder


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    packaged = {name for name in names if ".dist-info/" not in name}
    files = (path for path in (SOURCE / "slidewise").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert packaged == {path.relative_to(SOURCE).as_posix() for path in files}
    needed = {"py.typed", "live/assets/index.html", "live/assets/uplot/LICENSE", "spark/break_even.json"}
    assert {f"slidewise/{name}" for name in needed} <= packaged
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)


def test_the_readme_runs_from_the_wheel(environment):
    run(environment / "venv/bin/python", "-c", README, ROOT / "README.md", cwd=environment)


def test_without_extras_it_says_what_is_missing(environment):
    run(environment / "venv/bin/python", "-c", MISSING, cwd=environment)
    said = run(environment / "venv/bin/slidewise", "--version", cwd=environment, check=False)
    assert said.returncode != 0 and "slidewise[cli]" in said.stderr and "Traceback" not in said.stderr


def test_the_command_runs_from_the_wheel(environment, wheel):
    """Last, since it adds to the environment: what the extra `cli` needs is taken from this one, as Spark is large."""
    here = Path(pytest.__file__).parent.parent
    (packages,) = (environment / "venv/lib").glob("python*/site-packages")
    (packages / "extras.pth").write_text(f"{here}\n")
    said = run(environment / "venv/bin/slidewise", "--version", cwd=environment)
    assert said.stdout.split() == ["slidewise", wheel.name.split("-")[1]]
    run(environment / "venv/bin/slidewise", "new", "cards", cwd=environment)
    assert (environment / "cards" / "cards.yaml").is_file()
    shown = "import slidewise.live.server as s; print(s.__file__)"
    assert str(packages) in run(environment / "venv/bin/python", "-c", shown, cwd=environment).stdout
