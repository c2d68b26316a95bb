"""configure(): the settings, and the Python of the workers."""

from __future__ import annotations

import os
import sys

import pytest

from slidewise.errors import InvalidInput
from slidewise.spark import configure
from slidewise.spark.session import LIMIT, LIMITED, PARTITIONS, SETTINGS, WORKERS_PYTHON


class Builder:
    """What configure() needs of a session builder."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    def config(self, name: str, value: str) -> Builder:
        self.settings[name] = value
        return self


def test_partitions_are_spark_s_unless_they_are_given():
    assert configure(Builder()).settings == SETTINGS
    assert configure(Builder(), partitions=4).settings == SETTINGS | {PARTITIONS: "4"}


@pytest.mark.parametrize("wrong", [0, -1, True, "4", 2.0])
def test_partitions_are_a_number(wrong):
    with pytest.raises(InvalidInput, match="partitions is a number from 1 on"):
        configure(Builder(), partitions=wrong)


def test_limited_workers_reserve_no_memory_that_they_do_not_use():
    assert configure(Builder(), python_memory="512m").settings == SETTINGS | LIMITED | {LIMIT: "512m"}


def test_workers_run_this_python_unless_another_is_named(monkeypatch):
    monkeypatch.delenv(WORKERS_PYTHON, raising=False)
    configure(Builder())
    assert os.environ[WORKERS_PYTHON] == sys.executable
    monkeypatch.setenv(WORKERS_PYTHON, "/opt/python")
    configure(Builder())
    assert os.environ[WORKERS_PYTHON] == "/opt/python"
    configure(Builder(), python="/other/python")
    assert os.environ[WORKERS_PYTHON] == "/other/python"
