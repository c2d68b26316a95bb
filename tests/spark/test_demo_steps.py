"""The demo's steps that need Spark, on a few events."""

import io

import pyarrow.parquet as pq
from rich.console import Console

from examples.demo import events, features, race


def test_features_are_written_and_equal_sparks_own(spark, tmp_path):
    console = Console(file=io.StringIO(), width=140)
    events.write(tmp_path / "events", 3_000, 5, 1, console)
    readings = events.read(spark, tmp_path / "events")

    console.print(features.listed(readings))
    listed = console.file.getvalue()
    for name in features.FEATURES:
        assert name in listed
    assert listed.count("can too") == len(features.COMMON)
    assert "refused: distinct_window_function_unsupported" in listed
    assert listed.count("refused") == 5

    features.write(spark, readings, tmp_path / "features", console)
    written = pq.read_table(tmp_path / "features")
    assert written.num_rows == 3_000
    assert set(features.FEATURES) < set(written.column_names)

    console.print(race.run(spark, readings, tmp_path / "race", console))
    assert "all 24,000 values are the same" in console.file.getvalue()
