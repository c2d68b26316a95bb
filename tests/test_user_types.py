"""What a user's type checker sees: the examples of all pages and of a migration, types of results, and mistakes."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slidewise import aggregations
from slidewise.aggregations import places

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: Arrow has no types of its own: whoever imports it tells mypy so.
SETTINGS = """
[mypy]
strict = True
[mypy-pyarrow.*]
ignore_missing_imports = True
"""


#: A comment that ignores an error is itself one where there is no such error.
USE = """
from typing import Any, assert_type

import numpy as np
import pandas as pd
import polars as pl
from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as TheirWindow

import slidewise as sw
import slidewise.spark
from slidewise.spark import Window, functions as F
from slidewise.spark.window import SpecifiedOver

# An aggregation over a window
assert_type(sw.max("x").over(sw.rows(3)), sw.Over)
assert_type(sw.median("x", where="valid").over(3), sw.Over)
assert_type(sw.median("x").over(Window.partitionBy("k").orderBy("t")), SpecifiedOver)
assert_type(F.median("x").over(Window.partitionBy("k").orderBy("t")), Column)
assert_type(F.median("x", where=F.col("y") > 3).over(TheirWindow.partitionBy("k")), Column)
assert_type(F.median("x").over(sw.rows(3)), Column)
assert_type(F.lag("x").over(Window.orderBy(F.col("t").cast("long"))) + F.sum("x").over(Window.orderBy("t")), Column)
assert_type(sw.percentile("x", [0.25, 0.75], where="valid").name, str)
sw.max("x").over("3")  # type: ignore[call-overload]
sw.max(3)  # type: ignore[arg-type]
sw.max("x", were="valid")  # type: ignore[call-arg]

# The same kind of frame comes back
features = {"peak": sw.max("x").over(sw.rows(3)), "n": sw.count().over(sw.time("1h"))}
arrays = {"x": np.zeros(3)}
assert_type(sw.with_columns(arrays, **features), dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]])
assert_type(sw.with_columns(pd.DataFrame(), order_by="t", **features), pd.DataFrame)
assert_type(sw.with_columns(pl.DataFrame(), partition_by=["k"], peak=sw.max("x").over(5)), pl.DataFrame)
hourly = sw.time("1h", every="1m")
assert_type(sw.aggregate(pd.DataFrame(), order_by="t", window=hourly, peak=sw.max("x")), pd.DataFrame)
assert_type(sw.with_columns(pd.DataFrame(), features, {"engine": sw.max("x").over(3)}, order_by="t"), pd.DataFrame)
assert_type(sw.with_columns(pl.DataFrame(), sw.max("x").over(3).alias("peak"), n=sw.count().over(3)), pl.DataFrame)
assert_type(sw.aggregate(pd.DataFrame(), {"peak": sw.max("x")}, sw.count().alias("n"), window=hourly), pd.DataFrame)
mixed = {"peak": sw.max("x"), "n": sw.count()}
assert_type(sw.aggregate(pl.DataFrame(), mixed, window=hourly), pl.DataFrame)
sw.with_columns(arrays, sw.max("x").over(3))  # type: ignore[arg-type]
sw.with_columns(arrays, sw.max("x").alias("peak"))  # type: ignore[arg-type]
sw.with_columns(arrays, {"peak": sw.max("x")})  # type: ignore[dict-item]
sw.aggregate(arrays, sw.max("x").over(3).alias("peak"), window=hourly)  # type: ignore[arg-type]
sw.with_columns(arrays, peak=sw.max("x"))  # type: ignore[arg-type]
sw.with_columns(arrays, late="never", peak=sw.max("x").over(5))  # type: ignore[arg-type]
sw.aggregate(arrays, peak=sw.max("x"))  # type: ignore[call-arg]


def of_spark(df: DataFrame) -> None:
    assert_type(sw.with_columns(df, engine="auto", **features), DataFrame)
    assert_type(sw.with_columns(df, median=F.median("x").over(Window.partitionBy("k"))), DataFrame)
    assert_type(df.withColumn("z", F.col("x") - F.avg("x").over(Window.partitionBy("k"))), DataFrame)
    assert_type(slidewise.spark.select(df, "x", F.col("x") - F.avg("x").over(Window.partitionBy("k"))), DataFrame)
    assert_type(slidewise.spark.filter(df, F.median("x").over(Window.partitionBy("k")) > 3), DataFrame)
    assert_type(slidewise.spark.with_columns(df, features, order_by="t"), DataFrame)
    assert_type(slidewise.spark.aggregate(df, order_by="t", window=hourly, emit="changes", n=sw.count()), DataFrame)
    slidewise.spark.aggregate(df, window=hourly, buckets="many", n=sw.count())  # type: ignore[arg-type]


# An aggregation of one's own, which makes its functions of its parameters
class Scaled(sw.Aggregation):
    def __init__(self, column: str | None = None, by: float = 1.0) -> None:
        super().__init__(*([] if column is None else [column]), by=by)

        def lift(x: float) -> float:
            return x * by

        self.lift = lift

    @staticmethod
    def combine(a: float, b: float) -> float:
        return a + b


assert_type(Scaled("x", by=2.0).over(sw.rows(3)), sw.Over)
assert_type(sw.swag("daba_lite", Scaled()).query(), Any)
"""


@pytest.mark.full
def test_mypy_strict(tmp_path):
    for page in PAGES:
        examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        module = tmp_path / f"{page.stem.replace('-', '_')}.py"
        module.write_text("".join(example.source for example in examples), encoding="utf-8")
    for program in ("before", "after"):
        source = ROOT / "examples" / "migrate" / f"{program}.py"
        (tmp_path / f"migrate_{program}.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    # by a row's place in its key: these bring their own frame
    alone = [name for name in aggregations.__all__ if getattr(aggregations, name).__module__ == places.__name__]
    calls = {name: f'sw.{name}(where="valid").over(3)' for name in aggregations.__all__}
    calls |= {name: f"sw.{name}({2 if name == 'ntile' else ''})" for name in alone}
    factories = "".join(f"assert_type({call}, sw.Over)\n" for call in calls.values())
    (tmp_path / "use.py").write_text(USE + factories)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    # The package itself has settings of its own, and is not what is checked here.
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=mypy.ini"]
    command += [f"--cache-dir={ROOT / '.mypy_cache' / 'users'}", "."]
    environment = os.environ | {"MYPYPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
