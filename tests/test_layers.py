"""The layers that docs/architecture.md draws are those of the imports, and a wrong import is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_an_import_against_the_layers_is_refused(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    kept = lint(tmp_path)
    assert kept.returncode == 0, kept.stdout
    planted = tmp_path / "src" / "slidewise" / "windows" / "grid.py"
    planted.write_text(planted.read_text() + "\n\ndef late():\n    from slidewise.columns import sorting\n")
    broken = lint(tmp_path)
    assert broken.returncode != 0
    assert "slidewise.windows is not allowed to import slidewise.columns" in broken.stdout


def test_every_folder_has_its_place_in_the_page():
    page = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "src" / "slidewise"
    names = {p.name + "/" for p in package.iterdir() if (p / "__init__.py").exists()}
    names |= {p.name for p in package.glob("*.py") if not p.name.startswith("_")}
    told = set(re.findall(r"`([a-z_]+(?:/|\.py))`", page))
    assert names <= told


#: what several engines do, or a window is and an engine runs: each in its folder
SAME_THING = {
    "with_columns",
    "aggregate",
    "explain",
    "window",
    "expiry",
    "select",
    "sorting",
    "history",
    "sessions",
} | {"cumulative"}


def test_a_basename_stands_once():
    commands = ROOT / "src" / "slidewise" / "cli"  # each is named as the user types it
    files = [p for p in (ROOT / "src").rglob("*.py") if not p.is_relative_to(commands)]
    names = Counter(p.stem for p in files if not p.stem.startswith("__"))
    assert {name for name, count in names.items() if count > 1} == SAME_THING
