"""Manufacturing equipment: the data of the DEBS 2012 Grand Challenge, or rows like them.

One machine, 100 rows a second: a time, a message index, and 64 readings. The file is text, one row per line, fields
separated by tabs, times as 2012-02-22T16:46:28.9670320+00:00. It has 32 million rows, 1.5% of them out of order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.data.event_source import BLOCK_ROWS, TIME, Source, chosen_schema, hash_numbers, times, whole_number
from slidewise.data.text import read_lines, require_file

#: electrical power of the three main phases; anode current and voltage drop of the three cells
NUMBERS = ["mf01", "mf02", "mf03", "pc13", "pc14", "pc15", "pc25", "pc26", "pc27", "res"]
#: additive sensors (bm05 to bm07) and release valves (bm08 to bm10) of the chemicals A, B and C
SWITCHES = [f"bm{i:02}" for i in range(5, 11)]
STATES = [f"pp{i:02}" for i in range(1, 37)]
OTHERS = [f"pc{i:02}" for i in (*range(1, 7), *range(19, 25))]

SCHEMA = pa.schema(
    [
        pa.field("ts", TIME, nullable=False),
        pa.field("index", pa.int64(), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in NUMBERS),
        *(pa.field(name, pa.bool_(), nullable=False) for name in SWITCHES),
        *(pa.field(name, pa.bool_()) for name in STATES),
        *(pa.field(name, pa.int32()) for name in OTHERS),
    ]
)

RATE = 100.0
START = 1_329_929_188_967_032  # 2012-02-22T16:46:28.967032, the first row of the data set


def debs2012(path: str | PathLike[str] | None = None, *, seed: int = 0, columns: Sequence[str] | None = None) -> Source:
    """Read the data set's file at `path`, plain or compressed as its name says; without a path, generate such rows.

    >>> rows = debs2012()
    >>> len(rows.schema), rows.rows_per_second
    (66, 100.0)
    >>> rows.table(200).select(["index", "mf01", "bm05"]).slice(0, 1).to_pylist()
    [{'index': 0, 'mf01': 7987, 'bm05': False}]

    Generated rows have the schema and the rate: about every 10 ms, with pauses, and 1.5% with a time before that of an
    earlier row. The valves (bm08 to bm10) follow their sensors (bm05 to bm07) after a delay that slowly grows, which is
    what the challenge's queries watch. Times are in microseconds; the seventh digit of the file's is cut off.

    `columns` are those that rows have, in that order: to generate 4 of the 66 takes a tenth of the time.

    >>> debs2012(columns=["ts", "mf01"]).table(200).column_names
    ['ts', 'mf01']
    """
    whole_number("debs2012: seed", seed, at_least=0)
    schema = chosen_schema("debs2012", SCHEMA, columns)
    if path is None:
        return Source("debs2012", schema, RATE, True, lambda: _generate(seed, schema))
    file = require_file(path, "debs2012")
    return Source(f"debs2012 ({file.name})", schema, RATE, False, lambda: _read(file))


def _read(file: Path) -> Iterator[pa.RecordBatch]:
    nanoseconds = SCHEMA.set(0, pa.field("ts", pa.timestamp("ns", "UTC"), nullable=False))
    for batch in read_lines(file, "DEBS 2012", "\t", nanoseconds):
        ts = pc.floor_temporal(batch.column("ts"), unit="microsecond").cast(TIME)
        yield pa.record_batch([ts, *batch.columns[1:]], schema=SCHEMA)


def _generate(seed: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    number = 0
    while True:
        yield _generate_block(seed, number, schema)
        number += 1


def _generate_block(seed: int, number: int, schema: pa.Schema) -> pa.RecordBatch:
    chance = np.random.default_rng([seed, number])
    n = BLOCK_ROWS
    index = number * n + np.arange(n)
    index = index[(index % 6000 < 5500) | (hash_numbers(seed, 1, index // 6000) >= 0.05)]  # minutes that lost their end
    n = len(index)
    ts = START + index * 10_000 + chance.integers(-500, 500, n)
    ts = ts + np.where(chance.random(n) < 0.015, -15_000 - chance.integers(0, 50_000, n), 0)

    seconds = index / RATE
    working = (seconds % 97) / 97 > 0.2

    def reading(level: float, swing: float, noise: float) -> pa.Array:
        values = level + swing * working + 0.3 * swing * np.sin(seconds / 300) + chance.normal(0, noise, n)
        return pa.array(values.clip(0).astype(np.int32))

    columns: dict[str, Any] = {"ts": times(ts), "index": pa.array(index)}
    # Noise is drawn column by column, so that those before the last one that is asked for are needed for its values.
    last = max((k for k, name in enumerate(NUMBERS) if name in schema.names), default=-1)
    for name, (level, swing, noise) in zip(NUMBERS[: last + 1], LEVELS, strict=False):
        columns[name] = reading(level, swing, noise)
    delay = 0.2 + 0.05 * np.sin(seconds / 40) + seconds / 864_000
    for k in range(3):
        period, offset = 31.0 + 7 * k, 3.0 * k
        columns[SWITCHES[k]] = pa.array((seconds + offset) % period > period - 2.0)
        columns[SWITCHES[k + 3]] = pa.array((seconds + offset - delay) % period > period - 2.0)
    for k, name in enumerate(STATES):
        if name in schema.names:
            columns[name] = pa.array(hash_numbers(seed, 2 + k, index // 500) < 0.1)
    for k, name in enumerate(OTHERS):
        if name in schema.names:
            columns[name] = pa.array((hash_numbers(seed, 100 + k, index // 2000) * 4).astype(np.int32))
    return pa.record_batch([columns[name] for name in schema.names], schema=schema)


#: of each of the numbers: its level, what working adds to it, its noise
LEVELS = [
    *((8100, 5000, 120), (9200, 5200, 120), (5600, 2600, 90)),
    *((40, 30, 4), (120, 70, 6), (90, 60, 5)),
    *((0, 8, 1), (0, 8, 1), (0, 8, 1)),
    (0, 0, 0),
]
