"""CPU seconds of each test, for planning the tiers: `pytest --cpu-times FILE ...` adds a line per test to a file.

Of the process of the test and all that it has started, Spark's JVM and its workers among them, so that a figure is
hardly longer on a busy machine. What a fixture of a session costs is in its first test. Linux only: it reads /proc.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

OPTION = "--cpu-times"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", type=Path, help="add the CPU seconds of each test to this file")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    file: Path | None = item.config.getoption(OPTION)
    if file is None:
        return (yield)
    begin = measure_cpu_seconds()
    try:
        return (yield)
    finally:
        with file.open("a") as out:  # one write of a short line: those of several processes do not mix
            out.write(f"{measure_cpu_seconds() - begin:8.2f} {item.nodeid}\n")


def measure_cpu_seconds() -> float:
    """Add up the CPU time of this process, of those below it, and of those that have ended."""
    ticks: dict[int, int] = {}
    below: defaultdict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        # After the name: state, parent ... user and system time, and those of children that were waited for.
        below[int(fields[1])].append(int(folder.name))
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    todo, total = [os.getpid()], 0
    while todo:
        process = todo.pop()
        total += ticks.get(process, 0)
        todo += below[process]
    return total / os.sysconf("SC_CLK_TCK")
