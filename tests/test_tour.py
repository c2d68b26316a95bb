"""The tour runs, within two screens, and what it says is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.full
def test_the_tour_runs():
    root = Path(__file__).parent.parent
    for width in ("80", "120"):
        result = subprocess.run(
            [sys.executable, "-m", "examples.tour"],
            cwd=root,
            env=os.environ | {"COLUMNS": width},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert result.returncode == 0, result.stderr
        panels = re.findall(r"╭─ (\d)  ", result.stdout)
        assert panels == ["1", "2", "3", "4", "5", "6", "7"]
        assert len(result.stdout.splitlines()) < 100
        text = " ".join(re.sub("[│╭╮╰╯─]", " ", result.stdout).split())
        assert "The next 250 results are the same: True" in text
        assert "window was rows(100), and is rows(200) here" in text
        assert "all: slidewise from 12:05 to 12:08: wise" in text
