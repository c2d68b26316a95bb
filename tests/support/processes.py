"""Processes that start a Spark of their own, as a user would: in what environment, with what Java options."""

from __future__ import annotations

import os
import random
import socket

#: For every JVM: the Makefile's, which spare one that lives for seconds most of its start. Others run without.
JAVA_OPTIONS = os.environ.get("SPARK_SUBMIT_OPTS", "")


def build_environment(**more: str) -> dict[str, str]:
    """Give this process's environment without what the tests' own session has set in it, and with some more."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "PYTHONPATH"))
    }
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": JAVA_OPTIONS, **more}


def find_port() -> int:
    """Find a free port of loopback, below those that the system hands out: one of these may be taken meanwhile."""
    for port in random.SystemRandom().sample(range(10_000, 32_000), 100):
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no port of loopback is free")
