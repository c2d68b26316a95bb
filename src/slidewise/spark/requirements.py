"""Requirements: what must be there before Spark runs, each with a message that says what to do where it is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from slidewise.errors import SlidewiseError

OLDEST_PYSPARK = (4, 1)
OLDEST_JAVA = 17


class MissingRequirement(SlidewiseError, ImportError):
    """Something that Spark needs is missing or too old."""


def require_packages(*, protobuf: bool = False) -> None:
    """Refuse to go on without pyspark 4.1 or newer, with pandas 3, or without protobuf where it is needed."""
    found = _find_version("pyspark")
    if found is None:
        raise MissingRequirement(
            "slidewise.spark needs pyspark, and it is not installed: pip install 'slidewise[spark]'"
        )
    if found < OLDEST_PYSPARK:
        raise MissingRequirement(
            f"slidewise.spark needs pyspark {_format_version(OLDEST_PYSPARK)} or newer, which has iterator arrow_udfs, "
            f"and {version('pyspark')} is installed: pip install 'slidewise[spark]'"
        )
    pandas = _find_version("pandas")
    if pandas is not None and pandas >= (3,):
        raise MissingRequirement(
            f"pyspark does not work with pandas 3 yet, and {version('pandas')} is installed: pip install 'pandas<3'"
        )
    if protobuf and _find_version("protobuf") is None:
        raise MissingRequirement("Spark's stateful Python API needs protobuf: pip install 'slidewise[spark]'")


def find_java() -> tuple[str | None, str]:
    """Find the Java that Spark would start, and what it says of its version; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return None, ""
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return java, said.splitlines()[0] if said else "no version"


def require_java() -> None:
    """Refuse to start a local Spark without Java 17 or newer; Spark's own complaint is hard to read."""
    home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME is {home}" if home else "there is no java on the PATH"
    advice = f"Install Java {OLDEST_JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless), and set JAVA_HOME"
    java, said = find_java()
    if java is None:
        raise MissingRequirement(f"Spark runs on Java, which was not found: {where}. {advice}")
    number = re.search(r'version "(\d+)', said)
    if number is None or int(number[1]) < OLDEST_JAVA:
        raise MissingRequirement(f"Spark needs Java {OLDEST_JAVA} or newer, and {java} says: {said}. {advice}")


def _find_version(package: str) -> tuple[int, ...] | None:
    try:
        return tuple(int(part) for part in re.findall(r"\d+", version(package))[:2])
    except PackageNotFoundError:
        return None


def _format_version(number: tuple[int, ...]) -> str:
    return ".".join(map(str, number))
