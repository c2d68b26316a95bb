"""Lines of separated fields, plain or compressed, as record batches; a line that does not fit is told by its number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from slidewise.errors import InvalidInput

#: bytes of text that are parsed at a time
BLOCK_BYTES = 1 << 24


def require_file(path: str | PathLike[str], what: str) -> Path:
    """Return the path, if there is a file: a mistake shows where the path is given, not at the first row."""
    if not Path(path).is_file():
        raise InvalidInput(f"{what}: there is no file {str(path)!r}. Without a path, the rows are generated")
    return Path(path)


def read_lines(path: Path, what: str, separator: str, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the fields of every line, by the schema: fields that are not nullable must be there. No header.

    What a name ending in .gz, .bz2, .zst or .lz4 announces is decompressed on the way.
    """
    expected = f"{what} has {len(types)} fields per line, separated by {'tabs' if separator == chr(9) else 'commas'}, "
    expected += f"and no header ({types.names[0]}, {types.names[1]}, ...)"
    read = 0
    try:
        with pa.input_stream(str(path), compression="detect") as text:
            reader = pa.csv.open_csv(
                text,
                # one thread: only then does Arrow tell the line
                read_options=pa.csv.ReadOptions(column_names=types.names, use_threads=False, block_size=BLOCK_BYTES),
                parse_options=pa.csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=False),
                convert_options=pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=[""],
                    true_values=["1", "true", "True"],
                    false_values=["0", "false", "False"],
                    strings_can_be_null=True,
                ),
            )
            for batch in reader:
                _check_complete(batch, types, f"{path.name}, line", read, expected)
                read += batch.num_rows
                yield batch
    except pa.ArrowInvalid as error:
        raise InvalidInput(_explain(str(error), path, types, expected)) from None
    except (OSError, EOFError) as error:
        raise InvalidInput(f"{path.name}: cannot be read after line {read} ({error}). Is the file complete?") from None


def _check_complete(batch: pa.RecordBatch, types: pa.Schema, where: str, before: int, expected: str) -> None:
    for name in types.names:
        missing = batch.column(name)
        if not types.field(name).nullable and missing.null_count:
            line = before + missing.is_null().index(True).as_py() + 1
            raise InvalidInput(f"{where} {line}: the field {name} is empty. {expected}")


def _explain(error: str, path: Path, types: pa.Schema, expected: str) -> str:
    """Say Arrow's complaint in terms of the file's lines and fields."""
    if value := re.search(r"CSV column #(\d+): Row #(\d+): CSV conversion error to (.+?): invalid value '(.*)'", error):
        field, line, kind, given = value.groups()
        return f"{path.name}, line {line}: the field {types.names[int(field)]} is {given!r}, not {kind}. {expected}"
    if fields := re.search(r"Row #(\d+): Expected \d+ columns, got (\d+)", error):
        return f"{path.name}, line {fields[1]}: {fields[2]} fields. {expected}"
    if "Empty CSV file" in error:
        return f"{path.name}: the file is empty. {expected}"
    return f"{path.name}: {error}. {expected}"
