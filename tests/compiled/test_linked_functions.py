"""Functions that are linked into kernels without machine code of their own, and those that need some."""

import os

import numpy as np
import pytest
from numba import objmode

import slidewise as sw

needs_compiler = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="calls a kernel")


def double_in_python(x):
    with objmode(y="float64"):
        y = x * 2
    return y  # noqa: RET504 - numba takes it out of the block


def print_large(x):
    if x > 4.0:
        print("large", x)
    return x


class Doubled(sw.Aggregation):
    name = "doubled"
    identity = 0.0

    @staticmethod
    def lift(x):
        return double_in_python(x)

    @staticmethod
    def combine(a, b):
        return a + b


class Printed(Doubled):
    name = "printed"

    @staticmethod
    def lift(x):
        return print_large(x)


@pytest.mark.full
@needs_compiler
@pytest.mark.parametrize(("aggregation", "factor", "printed"), [(Doubled(), 2, False), (Printed(), 1, True)])
def test_what_reads_python_where_it_runs(aggregation, factor, printed, capfd):
    """It runs compiled: a fallback would be a warning, and so an error."""
    x = np.arange(6.0)
    assert sw.rolling(x, aggregation, sw.rows(1)).tolist() == (factor * x).tolist()
    assert ("large 5.0" in capfd.readouterr().out) == printed
