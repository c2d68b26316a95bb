"""One Spark and one PostgreSQL for all tests of pipelines in a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.postgres import Server, run_server, why_not
from support.spark import run_spark

pytest.importorskip("pyspark")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A classic session."""
    with run_spark() as (session, _):
        yield session


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server on loopback."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with run_server() as server:
        yield server
