"""Ordinary PySpark programs with our two imports: rows, names, types and nullability are PySpark's own."""

import math
from typing import Any

import pytest
from ordinary_programs import PROGRAMS, chained, udfs_around_windows, windows_inside_of_windows
from pyspark.sql import Window as TheirWindow
from pyspark.sql import functions as theirs
from support.tiers import connect_in_soak, quick

from slidewise.spark import Window
from slidewise.spark import functions as F  # noqa: N812

QUICK = (chained, udfs_around_windows, windows_inside_of_windows)


def is_same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal; floats that were added up in another order agree to 1e-9."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(is_same, a, b))
    return type(a) is type(b) and a == b


def collect_sorted(df: Any) -> list[Any]:
    return sorted(df.collect(), key=lambda row: [_round(value) for value in row])


def _round(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


@pytest.mark.filterwarnings("ignore:WARN WindowExpression")  # windows without a partitioning, as PySpark says, too
@connect_in_soak
@pytest.mark.parametrize("program", quick(PROGRAMS, *QUICK), ids=lambda program: program.__name__)
def test_a_program_does_what_it_did(program, session):
    before, after = program(session, theirs, TheirWindow), program(session, F, Window)
    assert after.columns == before.columns
    assert after.schema == before.schema
    for old, new in zip(collect_sorted(before), collect_sorted(after), strict=True):
        assert is_same(tuple(old), tuple(new)), (old, new)
