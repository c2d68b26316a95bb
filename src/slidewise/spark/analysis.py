"""Analysis: Spark is asked whether it takes something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def analyse(frame: Any) -> Any:
    """Have Spark analyse a DataFrame: over Connect it does not before it is asked."""
    _ = frame.schema
    return frame


@contextmanager
def silence_pyspark() -> Iterator[None]:
    """Silence PySpark's log of errors for queries that only try something: it logs every error that Spark gives."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
