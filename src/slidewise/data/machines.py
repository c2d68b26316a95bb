"""A plant of machines, as their messages arrive: skewed, late, with gaps, drift, spikes, nulls and NaN.

Everything that lasts (wear, day and night, outages, shifts, parts) is a function of the machine and the time, and only
noise is drawn row by row. So a block needs nothing of the blocks before it but the rows that have not arrived yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.data.event_source import (
    BLOCK_ROWS,
    TIME,
    Source,
    chosen_schema,
    hash_numbers,
    times,
    whole_number,
    words,
)
from slidewise.errors import InvalidInput

SCHEMA = pa.schema(
    [
        pa.field("machine", pa.string(), nullable=False),
        pa.field("ts", TIME, nullable=False),
        pa.field("arrived", TIME, nullable=False),
        pa.field("temperature", pa.float64()),
        pa.field("vibration", pa.float64()),
        pa.field("power", pa.float64()),
        pa.field("status", pa.string(), nullable=False),
        pa.field("operator", pa.string()),
        pa.field("part", pa.int64(), nullable=False),
    ]
)

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
START = 19_783 * DAY  # 1 March 2024

KINDS = ("press", "lathe", "mill", "oven", "robot", "pump")
STATUSES = ["ok", "idle", "warn", "fault"]
OPERATORS = [f"op-{i:03}" for i in range(240)]
#: a machine without connection keeps its rows, and sends them when this slot is over: no row is later than that by much
SLOT = 10 * MINUTE


def machines(
    count: int = 200,
    *,
    rate: float = 50.0,
    skew: float = 1.1,
    seed: int = 0,
    columns: Sequence[str] | None = None,
) -> Source:
    """Generate the messages of `count` machines, `rate` rows per second in all, in the order in which they arrive.

    >>> import pyarrow.compute as pc
    >>> events = machines(seed=7).table(20_000)
    >>> events.schema.field("ts").type, events.schema.field("temperature").type
    (TimestampType(timestamp[us, tz=UTC]), DataType(double))
    >>> delay = pc.subtract(events["arrived"].cast("int64"), events["ts"].cast("int64"))
    >>> [round(us / 1e6, 2) for us in pc.quantile(delay, [0.5, 0.99]).to_pylist()]      # seconds
    [0.06, 5.32]

    - machine i sends with a weight of 1 / i^skew (Zipf): at 1.1 the first of 200 sends every fifth row. 0 is even;
    - `ts` is when it was measured, no two alike; `arrived` is when the row came: mostly at once, 2% of the rows
      seconds later, and all rows of a connection that is lost for up to ten minutes when it is back;
    - `temperature` follows the time of day, drifts up until maintenance, and has spikes and bad hours; 0.5% are null,
      and 0.1% NaN. `vibration` grows with wear, `power` follows the load;
    - `operator` changes with the shift (a few at a time, some null), and `part` with every work piece;
    - machines stop for hours and minutes: there are gaps.

    `columns` are those that rows have, in that order.
    """
    whole_number("machines: count", count, at_least=1)
    whole_number("machines: seed", seed, at_least=0)
    if not 0 < rate <= SECOND:
        raise InvalidInput(f"machines: rate is rows per second, above 0 and at most 1,000,000, and {rate!r} was given")
    if not 0 <= skew <= 10:
        raise InvalidInput(f"machines: skew is the exponent of Zipf's law, from 0 (even) to 10, and {skew!r} was given")
    fleet = Fleet.of(count, skew, seed)
    spacing = max(1, round(SECOND / rate))
    schema = chosen_schema("machines", SCHEMA, columns)
    return Source("machines", schema, SECOND / spacing, True, lambda: _generate_blocks(fleet, spacing))


@dataclass(frozen=True)
class Fleet:
    """What is true of each machine for good."""

    seed: int
    names: list[str]
    #: cumulative share of the rows
    share: Any
    #: degrees at which it usually runs, and what wear adds until maintenance
    base: Any
    wear: Any
    #: microseconds between maintenances, and of one work piece
    service: Any
    piece: Any
    watts: Any
    phase: Any

    @classmethod
    def of(cls, count: int, skew: float, seed: int) -> Fleet:
        chance = np.random.default_rng([seed, 0])
        weight = np.arange(1, count + 1) ** -float(skew)
        return cls(
            seed=seed,
            names=[f"{KINDS[i % len(KINDS)]}-{i + 1:03}" for i in range(count)],
            share=np.cumsum(weight) / weight.sum(),
            base=chance.uniform(45, 80, count),
            wear=chance.uniform(2, 15, count),
            service=chance.integers(6 * HOUR, 20 * HOUR, count),
            piece=chance.integers(20 * SECOND, 120 * SECOND, count),
            watts=chance.uniform(3, 40, count),
            phase=chance.integers(0, DAY, count),
        )


def _generate_blocks(fleet: Fleet, spacing: int) -> Iterator[pa.RecordBatch]:
    """Yield rows by arrival. A row of a later block is measured, so arrives, after this block: the others are due."""
    waiting = SCHEMA.empty_table()
    number = 0
    while True:
        end = START + (number + 1) * BLOCK_ROWS * spacing
        rows = pa.concat_tables([waiting, _measure(fleet, spacing, number)])
        arrived = rows["arrived"].cast(pa.int64()).to_numpy()
        order = np.argsort(arrived, kind="stable")
        due = int(np.searchsorted(arrived[order], end))
        rows = rows.take(order).combine_chunks()
        waiting = rows.slice(due)
        yield from rows.slice(0, due).to_batches()
        number += 1


def _measure(fleet: Fleet, spacing: int, number: int) -> pa.Table:
    """Generate the rows measured in one block of time, in the order of their times."""
    chance = np.random.default_rng([fleet.seed, number + 1])
    n = BLOCK_ROWS
    # one row in each slot of the clock: no two times are alike
    ts = START + (number * n + np.arange(n)) * spacing + chance.integers(0, spacing, n)
    machine = np.searchsorted(fleet.share, chance.random(n), side="right").clip(max=len(fleet.names) - 1)

    def per_machine(what: int, every: int) -> Any:
        """Draw chance that stays the same for a machine during a span of time."""
        return hash_numbers(fleet.seed, what, machine, (ts + fleet.phase[machine]) // every)

    since_service = (ts + fleet.phase[machine]) % fleet.service[machine] / fleet.service[machine]
    stopped = (since_service < 0.04) | (per_machine(1, SLOT) < 0.01)
    keep = np.flatnonzero(~stopped)
    ts, machine, since_service, n = ts[keep], machine[keep], since_service[keep], len(keep)

    idle = per_machine(2, 5 * MINUTE) < 0.08
    bad_hour = per_machine(3, HOUR) < 0.04
    burst = per_machine(6, 10 * SECOND)  # about once an hour, for ten seconds
    spike = np.where(burst < 0.003, 12 + 10_000 * burst, 0.0) * chance.random(n)
    day = np.sin(2 * np.pi * (ts + fleet.phase[machine] // 8) / DAY)
    above = fleet.wear[machine] * since_service + 9 * bad_hour + spike - 8 * idle
    temperature = fleet.base[machine] + 4 * day + above + chance.normal(0, 0.8, n)
    temperature[chance.random(n) < 0.001] = np.nan
    vibration = (1 + 3 * since_service + 2 * bad_hour) * chance.lognormal(0, 0.25, n)
    power = fleet.watts[machine] * np.where(idle, 0.15, 1 + 0.2 * day) * chance.lognormal(0, 0.1, n)
    status = np.select([above > 22, above > 14, idle], [3, 2, 1], 0)

    shift = (ts // (8 * HOUR)).astype(np.int64)
    crew = 1 + (per_machine(7, 30 * MINUTE) * 8).astype(np.int64)  # who is there now
    seat = np.minimum(chance.geometric(0.4, n), crew)
    operator = (hash_numbers(fleet.seed, 4, machine, shift, seat) * len(OPERATORS)).astype(np.int32)
    part = machine.astype(np.int64) * 100_000_000 + (ts - START) // fleet.piece[machine]

    delay = 0.05 * SECOND + chance.exponential(0.01 * SECOND, n)
    delay = np.where(chance.random(n) < 0.02, chance.exponential(8.0 * SECOND, n), delay)
    offline = per_machine(5, SLOT) < 0.015
    back = SLOT - (ts + fleet.phase[machine]) % SLOT
    arrived = ts + np.where(offline, back, 0) + np.minimum(delay, SLOT).astype(np.int64)

    return pa.table(
        [
            words(machine, fleet.names),
            times(ts),
            times(arrived),
            pa.array(temperature, mask=chance.random(n) < 0.005),
            pa.array(vibration),
            pa.array(power, mask=chance.random(n) < 0.002),
            words(status, STATUSES),
            words(operator, OPERATORS, mask=chance.random(n) < 0.01),
            pa.array(part),
        ],
        schema=SCHEMA,
    )
