"""The oldest versions that pyproject.toml promises are those that `make test-oldest` installs."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
#: what users install; of the tools of `dev`, only the libraries whose frames are taken
EXTRAS = ("spark", "pipeline", "cli", "live", "postgres", "demo")
FRAMES = ("duckdb", "narwhals", "polars")


def promised():
    """The lower bound of each package, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    given = [*map(Requirement, project["dependencies"])]
    given += [Requirement(text) for extra in EXTRAS for text in extras[extra]]
    given += [r for r in map(Requirement, extras["dev"]) if r.name in FRAMES]
    for requirement in given:
        if requirement.name != project["name"]:
            (lowest,) = (s.version for s in requirement.specifier if s.operator == ">=")
            yield requirement.name, Version(lowest)


def test_each_lower_bound_is_tested():
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    pinned = dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))
    for name, lowest in promised():
        tested = Version(pinned[name.lower()])
        # "numba>=0.61" means its first release, 0.61.0; where that cannot be had, the bound names the one that can
        assert tested == lowest, f"{name}>={lowest} is promised, and {tested} is tested"


def test_the_readme_names_them():
    text = (ROOT / "README.md").read_text()
    (pyspark,) = (lowest for name, lowest in promised() if name == "pyspark")
    assert re.search(rf"PySpark {pyspark.major}\.{pyspark.minor} or newer", text)
