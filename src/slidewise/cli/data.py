"""`slidewise data`: events to try things on, as files."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from slidewise.cli.options import Json
from slidewise.cli.screen import find_screen
from slidewise.errors import InvalidInput


class DataSet(StrEnum):
    """The sources of slidewise.data."""

    machines = "machines"
    debs2012 = "debs2012"
    debs2014 = "debs2014"


class Format(StrEnum):
    """The formats of files."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


def data(
    context: typer.Context,
    name: Annotated[
        DataSet, typer.Argument(help="machines: a plant; debs2012, debs2014: of the DEBS Grand Challenges.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="The file to write. It must not be there.")],
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="How many; with --from, all by default.")] = None,
    file_format: Annotated[
        Format | None, typer.Option("--format", help="By default what the name of the file says, or parquet.")
    ] = None,
    read_from: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PATH", help="Read the original file of debs2012 or debs2014, rather than generate."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Other events of the same kind.")] = 0,
    json: Json = False,
) -> None:
    """Write events to a file: generated ones, of any number, or those of a public data set.

    Examples:

    [bold]slidewise data machines --rows 100000 --out machines.parquet[/bold]

    [bold]slidewise data debs2014 --rows 1000 --out plugs.csv[/bold]

    [bold]slidewise data debs2012 --from allData.txt --out equipment.parquet[/bold]
    """
    screen = find_screen(context)
    screen.json = json
    if read_from is None and rows is None:
        raise typer.BadParameter("generated events have no end: say how many", param_hint="--rows")
    chosen = file_format or next((each for each in Format if out.suffix == f".{each.value}"), Format.parquet)
    source = _open_source(name, read_from, seed)
    written = write_batches(source.schema, source.batches(rows), out, chosen)
    screen.say(("✓ ", "green"), f"{written:,} rows of {name.value} in {out}: {', '.join(source.schema.names)}")
    if json:
        columns = {field.name: str(field.type) for field in source.schema}
        screen.give({"path": str(out), "format": chosen.value, "rows": written, "columns": columns})


def _open_source(name: DataSet, read_from: Path | None, seed: int) -> Any:
    from slidewise import data as sources

    make = getattr(sources, name.value)
    if read_from is None:
        return make(seed=seed)
    if name is DataSet.machines:
        raise typer.BadParameter("machines are generated only: there is no file of them", param_hint="--from")
    return make(read_from)


def write_batches(schema: pa.Schema, batches: Iterator[pa.RecordBatch], out: Path, file_format: Format) -> int:
    """Write record batches to a new file, one after another, and count the rows."""
    written = 0
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        file = out.open("xb")
    except FileExistsError:
        raise InvalidInput(f"{out} is there already, and nothing is overwritten. Take another --out") from None
    except OSError as error:
        raise InvalidInput(f"{out} cannot be written: {error.strerror or error}") from error
    try:
        with file, _open_writer(file_format, file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                written += batch.num_rows
    except BaseException:
        out.unlink()  # half of a file would be taken for a whole one
        raise
    return written


def _open_writer(file_format: Format, file: Any, schema: pa.Schema) -> Any:
    import pyarrow.csv
    import pyarrow.parquet

    if file_format is Format.parquet:
        return pyarrow.parquet.ParquetWriter(file, schema)
    if file_format is Format.csv:
        return pyarrow.csv.CSVWriter(file, schema)
    return _JsonLines(file)


class _JsonLines:
    """Writes a JSON object a line, as Spark reads them."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> _JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        import json

        for row in batch.to_pylist():
            values = {name: value for name, value in row.items() if value is not None}
            self._file.write(json.dumps(values, default=_to_json).encode() + b"\n")


def _to_json(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
