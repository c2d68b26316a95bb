"""The command `slidewise`: make, check, test, run and watch pipelines."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command `slidewise`."""
    try:
        from slidewise.cli.app import app
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "slidewise":
            raise
        sys.exit(f"slidewise: the command needs {package}: install its extra, pip install 'slidewise[cli]'")
    app(prog_name="slidewise")
