"""Smart plugs: the data of the DEBS 2014 Grand Challenge, or rows like them.

40 houses with 2,125 plugs in all, in households. Every plug tells about once a second its load (watts, now) and its
work (kilowatt hours, since it was plugged in), each in a row of its own. The file is text, one row per line, fields
separated by commas, times in whole seconds since 1970: many rows share a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.data.event_source import BLOCK_ROWS, TIME, Source, chosen_schema, times, whole_number
from slidewise.data.text import read_lines, require_file

#: what `value` is, by `property`
WORK, LOAD = 0, 1

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("timestamp", TIME, nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("property", pa.int8(), nullable=False),
        pa.field("plug_id", pa.int32(), nullable=False),
        pa.field("household_id", pa.int32(), nullable=False),
        pa.field("house_id", pa.int32(), nullable=False),
    ]
)

START = 1_377_986_401  # the first second of September 2013, of which the data set is
HOUSES, PLUGS = 40, 2125
#: plugs of a household, at most: there are so many ids
LARGEST = 14


def debs2014(
    path: str | PathLike[str] | None = None,
    *,
    plugs: int = PLUGS,
    seed: int = 0,
    columns: Sequence[str] | None = None,
) -> Source:
    """Read the data set's file at `path`, plain or compressed as its name says; without a path, generate such rows.

    >>> rows = debs2014(plugs=14)
    >>> rows.rows_per_second
    28.0
    >>> for row in rows.table(2).select(["id", "value", "property", "plug_id", "house_id"]).to_pylist():
    ...     print(row)
    {'id': 0, 'value': 0.0, 'property': 0, 'plug_id': 0, 'house_id': 0}
    {'id': 1, 'value': 4.012, 'property': 1, 'plug_id': 0, 'house_id': 0}

    Generated rows are in the order of time, 2% of the measurements are missing, and appliances switch on and off; work
    is the integral of load. `plugs` is how many plugs are generated, in households over 40 houses. A plug's id is its
    number within its household, of which half have 14 plugs and the others 7 to 13: the ids 0 to 13 are slightly
    skewed. `columns` are those that rows have, in that order.
    """
    whole_number("debs2014: seed", seed, at_least=0)
    whole_number("debs2014: plugs", plugs, at_least=1)
    schema = chosen_schema("debs2014", SCHEMA, columns)
    if path is None:
        return Source("debs2014", schema, 2.0 * plugs, True, lambda: _generate(Homes.of(plugs, seed)))
    file = require_file(path, "debs2014")
    return Source(f"debs2014 ({file.name})", schema, 2.0 * PLUGS, False, lambda: _read(file))


def _read(file: Path) -> Iterator[pa.RecordBatch]:
    seconds = SCHEMA.set(1, pa.field("timestamp", pa.int64(), nullable=False))
    for batch in read_lines(file, "DEBS 2014", ",", seconds):
        columns = dict(zip(SCHEMA.names, batch.columns, strict=True))
        columns["timestamp"] = columns["timestamp"].cast(pa.timestamp("s", "UTC")).cast(TIME)
        yield pa.record_batch(list(columns.values()), schema=SCHEMA)


@dataclass(frozen=True)
class Homes:
    """What is true of each plug for good: where it is, and the appliance behind it."""

    seed: int
    house: Any
    household: Any
    plug: Any
    #: watts on standby, and what being on adds
    standby: Any
    watts: Any
    #: seconds of one cycle, the part of it that the appliance is on, and where in it the stream starts
    cycle: Any
    on: Any
    phase: Any

    @classmethod
    def of(cls, plugs: int, seed: int) -> Homes:
        chance = np.random.default_rng([seed, 0])
        homes = np.arange(plugs)  # more than are needed
        sizes = np.where(homes % 2 == 0, LARGEST, LARGEST // 2 + homes // 2 % (LARGEST // 2))
        home = np.repeat(homes, sizes)[:plugs]
        first = np.cumsum(sizes) - sizes
        return cls(
            seed=seed,
            house=(home % HOUSES).astype(np.int32),
            household=(home // HOUSES).astype(np.int32),
            plug=(np.arange(plugs) - first[home]).astype(np.int32),
            standby=chance.uniform(0.5, 6, plugs),
            watts=chance.lognormal(4, 1.2, plugs),
            cycle=chance.uniform(600, 20_000, plugs),
            on=chance.uniform(0.05, 0.7, plugs),
            phase=chance.uniform(0, 20_000, plugs),
        )


def _generate(homes: Homes) -> Iterator[pa.RecordBatch]:
    """Generate whole seconds at a time, every plug with its work and its load."""
    plugs = len(homes.house)
    seconds = max(1, BLOCK_ROWS // (2 * plugs))
    number = made = 0
    while True:
        chance = np.random.default_rng([homes.seed, number + 1])
        at = np.repeat(number * seconds + np.arange(seconds), plugs)
        plug = np.tile(np.arange(plugs), seconds)
        value = np.stack([_work(homes, plug, at), _load(homes, plug, at, chance)], axis=1).ravel()
        there = np.flatnonzero(chance.random(2 * len(at)) >= 0.02)
        at, plug, which = at[there // 2], plug[there // 2], (there % 2).astype(np.int8)
        yield pa.record_batch(
            [
                pa.array(made + np.arange(len(there))),
                times((START + at) * 1_000_000),
                pa.array(value[there].round(3)),
                pa.array(which),
                pa.array(homes.plug[plug]),
                pa.array(homes.household[plug]),
                pa.array(homes.house[plug]),
            ],
            schema=SCHEMA,
        )
        number, made = number + 1, made + len(there)


def _load(homes: Homes, plug: Any, at: Any, chance: Any) -> Any:
    running = (at + homes.phase[plug]) % homes.cycle[plug] < homes.on[plug] * homes.cycle[plug]
    return (homes.standby[plug] + homes.watts[plug] * running) * (1 + 0.02 * chance.standard_normal(len(at)))


def _work(homes: Homes, plug: Any, at: Any) -> Any:
    def seconds_on(since: Any) -> Any:
        whole, rest = np.divmod(since, homes.cycle[plug])
        return (whole * homes.on[plug] + np.minimum(rest / homes.cycle[plug], homes.on[plug])) * homes.cycle[plug]

    phase = homes.phase[plug]
    return (homes.standby[plug] * at + homes.watts[plug] * (seconds_on(at + phase) - seconds_on(phase))) / 3_600_000
