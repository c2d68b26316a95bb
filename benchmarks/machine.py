"""The header of every benchmark: what ran, on what."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def describe(*packages: str) -> str:
    """The machine, Python, and the versions of the packages that take part."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = models[0] if models else cpu
    versions = ", ".join(f"{p} {version(p)}" for p in ("slidewise", *packages))
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, {versions}"
