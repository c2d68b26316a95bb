"""Spark's daemon of Python workers, with what they import loaded before it forks them.

A worker of the tests lives for seconds, and importing takes 2 to 3 of them: PySpark leaves it to each worker, since
libraries may start threads that a fork would lose. Of these none does when it is imported.
"""

import threading

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow.compute
import pyarrow.dataset  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark import daemon

import slidewise.spark.executor.task
import slidewise.spark.streams.processor  # noqa: F401

if __name__ == "__main__":
    assert threading.active_count() == 1, threading.enumerate()
    daemon.manager()
