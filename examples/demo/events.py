"""The events: generated batch by batch, and written as Parquet."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

import slidewise as sw
from examples.demo.progress import bar
from slidewise import data

#: files are what Spark reads in parallel
ROWS_PER_FILE = 500_000


@dataclass(frozen=True)
class Plant:
    """What was generated, counted on the way."""

    path: Path
    rows: int
    hours: float
    per_machine: Counter[str]
    #: rows that came after one that was measured later
    overtaken: int
    nulls: int

    @property
    def pictured(self) -> str:
        """The machine to show: busy, but not the busiest, so that single events can be seen."""
        return self.per_machine.most_common(3)[-1][0]

    def known(self, machine: str) -> str:
        if machine not in self.per_machine:
            some = ", ".join(sorted(self.per_machine)[:3])
            raise sw.InvalidInput(f"--machine: there is no machine {machine!r} among the events. There are {some}, ...")
        return machine

    def first_rows(self) -> pa.Table:
        """As many as it takes to try something on them, in the order of machines and times."""
        return (
            pq.read_table(min(self.path.iterdir()))
            .slice(0, 5_000)
            .sort_by([("machine", "ascending"), ("ts", "ascending")])
        )

    def summary(self) -> Text:
        busiest, most = self.per_machine.most_common(1)[0]
        return Text.assemble(
            (f"{self.rows:,} events", "bold"),
            f" of {len(self.per_machine)} machines in {self.hours:.1f} hours. ",
            f"{busiest} sends {most / self.rows:.0%} of them; {self.overtaken / self.rows:.0%} came out of order; "
            f"{self.nulls:,} temperatures are missing.",
        )


def write(folder: Path, rows: int, machines: int, seed: int, console: Console) -> Plant:
    """Generate so many events into Parquet files, in the memory of one file."""
    folder.mkdir(parents=True)
    counts: Counter[str] = Counter()
    first, last, overtaken, nulls = math.inf, 0, 0, 0
    with bar("generating", rows, console) as advance:
        source = data.machines(machines, seed=seed)
        for number, batch in enumerate(source.batches(rows, ROWS_PER_FILE)):
            pq.write_table(pa.Table.from_batches([batch]), folder / f"events-{number:03}.parquet")
            ts = batch["ts"].cast(pa.int64()).to_numpy()
            latest = np.maximum.accumulate(np.maximum(ts, last))
            overtaken += int((latest > ts).sum())
            first, last = min(first, ts.min()), latest[-1]
            nulls += pc.sum(pc.is_null(batch["temperature"], nan_is_null=True)).as_py()
            for count in pc.value_counts(batch["machine"]).to_pylist():
                counts[count["values"]] += count["counts"]
            advance(batch.num_rows)
    return Plant(folder, rows, (last - first) / 3.6e9, counts, overtaken, nulls)
