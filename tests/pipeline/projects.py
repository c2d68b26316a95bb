"""Projects to run: a pipeline's file with its data, in a folder."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("card", pa.string()), ("at", pa.timestamp("us", "UTC")), ("id", pa.int64()), ("amount", pa.float64()),
        ("merchant", pa.string()), ("price", pa.float64()), ("size", pa.float64()),
    ]
)  # fmt: skip
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
#: payments that come after all others are numbered from here, and so many of each card
LATER, OF_EACH = 1_000_000, 4
CARDS = "abc"
AFTER_ALL = OF_EACH * len(CARDS)

FILE = """
name: cards
vars: {{lake: {folder}, out: features}}
source:
  format: parquet
  path: ${{lake}}/payments
  schema: card string, at timestamp, id bigint, amount double, merchant string, price double, size double
  options: {{maxFilesPerTrigger: 1}}
prepare: SELECT * FROM source WHERE amount > 0
keys: [card]
time: {{column: at, max_delay: 30m}}
{features}
sink: {{format: parquet, path: "${{lake}}/${{out}}"}}
run: {{checkpoint: "${{lake}}/_checkpoint"}}
"""

FEW_FEATURES = """
features:
  spent:   {sum: amount, over: [1h, 24h]}
  usual:   {median: amount, over: 20 rows, where: amount > 10}
"""
FEATURES = """
features:
  spent:   {sum: amount, over: [1h, 24h]}
  usual:   {median: amount, over: 20 rows}
  places:  {count_distinct: merchant, over: 3d, where: amount > 10}
  vwap:    {use: "features:Vwap", of: [price, size], over: 1h}
"""

OWN = '''
import slidewise as sw


class Vwap(sw.Aggregation):
    """The mean price, weighted by size."""

    identity = (0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(price, size):
        return (price * size, size)

    @staticmethod
    def combine(a, b):
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def lower(s):
        return s[0] / s[1]
'''


@dataclass(frozen=True)
class Project:
    """A folder with a pipeline's file, a Python file of its own, and payments of some days."""

    folder: Path

    @property
    def file(self) -> Path:
        """The pipeline's file."""
        return self.folder / "cards.yaml"


def write_project(folder: Path, features: str = FEATURES, rows: int = 300, files: int = 3, days: int = 3) -> Project:
    """Write a project; its payments are in order up to a few minutes."""
    (folder / "payments").mkdir(parents=True)
    (folder / "features.py").write_text(OWN)
    (folder / "cards.yaml").write_text(FILE.format(folder=folder, features=features))
    write_payments(folder / "payments", make_payments(rows, days), files)
    return Project(folder)


def make_payments(rows: int, days: int, seed: int = 1) -> list[dict[str, Any]]:
    """Make payments over so many days, some out of order by minutes."""
    chance = random.Random(seed)
    step = dt.timedelta(days=days) / rows
    made = []
    for i in range(rows):
        made.append(
            {
                "card": chance.choice(CARDS),
                "at": FIRST + step * i,
                "id": i,
                "amount": chance.choice([5.0, 20.0, 35.0, -1.0]),
                "merchant": chance.choice(["x", "y", "z", None]),
                "price": float(chance.randint(1, 9)),
                "size": float(chance.randint(1, 3)),
            }
        )
    return sorted(made, key=lambda row: row["at"] + chance.random() * dt.timedelta(minutes=15))


def write_payments(folder: Path, rows: Sequence[dict[str, Any]], files: int) -> None:
    """Write payments in the order in which they come, and then some of each card that let all others go.

    They bring the watermark past the others, and are the rows that frames ahead of the others wait for.
    """
    import os

    size = -(-len(rows) // files)
    pieces = [list(rows[first : first + size]) for first in range(0, len(rows), size)]
    end = max(row["at"] for row in rows) + dt.timedelta(days=1)
    last = [
        {**rows[-1], "card": card, "at": end + dt.timedelta(hours=i), "id": LATER + i, "amount": 20.0}
        for card in CARDS
        for i in range(OF_EACH)
    ]
    for number, piece in enumerate([*pieces, last]):
        file = folder / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(piece, SCHEMA), file)
        os.utime(file, (number, number))  # Spark takes files by their times


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Read what a sink has, in order, without the payments that come after all others."""
    import pyarrow.dataset as ds

    table = ds.dataset(folder, format="parquet", exclude_invalid_files=False).to_table()
    rows = [row for row in table.to_pylist() if row.get("id", 0) < LATER]
    return sorted(rows, key=lambda row: (row["card"], str(row.get("at", row.get("window_end"))), row.get("id", 0)))
