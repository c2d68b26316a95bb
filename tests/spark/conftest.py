"""The sessions of the tests with Spark: classic, and Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.spark import SETTINGS, run_spark
from support.tiers import in_full

pytest.importorskip("pyspark")


@pytest.fixture(scope="session")
def _server() -> Iterator[tuple[Any, str]]:
    """The classic session, and where its JVM serves Connect."""
    with run_spark() as found:
        yield found


@pytest.fixture
def spark(_server: tuple[Any, str]) -> Iterator[Any]:
    """A classic session."""
    with _put_settings_back(_server[0]) as session:
        yield session


@pytest.fixture(scope="session")
def _client(_server: tuple[Any, str]) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(_server[1]).getOrCreate()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def connect(_client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session of Spark Connect. pyspark's functions make what belongs to it while this variable is set."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with _put_settings_back(_client) as session:
        yield session


@contextmanager
def _put_settings_back(session: Any) -> Iterator[Any]:
    """Undo what a test set: the session is shared, and another test would see its time zone."""
    before = session.conf.getAll
    yield session
    after = session.conf.getAll
    for name in after.keys() - before.keys():
        session.conf.unset(name)
    for name, value in before.items():
        if after.get(name) != value:
            session.conf.set(name, value)


@pytest.fixture(params=["spark", *in_full("connect")])
def session(request: pytest.FixtureRequest) -> Any:
    """Both modes, one after the other; in the quick tier the classic one, except where a test is marked on_both."""
    return request.getfixturevalue(request.param)
