"""One Spark for all tests of a process: a classic session, whose JVM also serves Spark Connect."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support.tiers import in_full

pytest.importorskip("pyspark")

#: What both modes have: small data, few partitions.
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
    "spark.sql.ansi.enabled": "true",
}


@pytest.fixture(scope="session")
def _server() -> Iterator[tuple[Any, str]]:
    """The classic session, and where its JVM serves Connect."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    builder = SparkSession.builder.master("local[2]").appName("slidewise tests")
    for name, value in {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        # so short a life is not worth the JVM's second compiler
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # on a busy machine a worker may take longer than the 15 s that Spark waits for it
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session, f"sc://127.0.0.1:{port}"
    session.stop()


@pytest.fixture
def spark(_server: tuple[Any, str]) -> Any:
    """A classic session."""
    return _server[0]


@pytest.fixture(scope="session")
def _client(_server: tuple[Any, str]) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(_server[1]).getOrCreate()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def connect(_client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session of Spark Connect. pyspark's functions make what belongs to it while this variable is set."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return _client


@pytest.fixture(params=["spark", *in_full("connect")])
def session(request: pytest.FixtureRequest) -> Any:
    """Both modes, one after the other; in the quick tier the classic one, except where a test is marked on_both."""
    return request.getfixturevalue(request.param)
