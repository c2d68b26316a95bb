"""DuckDB relations: run once, and results as relations of the same connection."""

from __future__ import annotations

import contextlib
import secrets
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import in_one_piece
from slidewise.columns.encoding import integers_as_arrow
from slidewise.columns.sources import ColumnSource, Origin, Origins
from slidewise.errors import InvalidInput

#: What a relation is called in a query over it.
_ROWS = "slidewise_rows_f2b7"


#: DuckDB gives the bytes of a BIT as it keeps them, and before 2.0 the next double of a large integer.
_READ_AS = {"BIT": "VARCHAR", "HUGEINT": "DECIMAL(38, 0)", "UHUGEINT": "DECIMAL(38, 0)"}
#: without the zone, and as bytes of DuckDB's own
_NOT_IN_ARROW = ("TIME WITH TIME ZONE", "VARIANT")


class Relation(ColumnSource):
    """A relation is a query: run twice it may give its rows in another order, or other rows. So its rows are held.

    A relation does not tell its connection, but query() runs there. From 2.0 on DuckDB holds rows for us, and lets them
    go with the last relation that reads them. Before, they are in temporary tables: that of the input is dropped when
    the call is over, that of the results when the connection is closed, since any relation may read it.
    """

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        self._given: list[str] = relation.columns
        # With this setting off, a scan gives rows in any order: then they are told apart by a number.
        ordered = _query(relation, "SELECT current_setting('preserve_insertion_order')").fetchall()[0][0]
        self._number = None if ordered else _find_unused("slidewise_row", self._given)
        number = f"row_number() OVER () AS {_quote(self._number)}, " if self._number else ""
        self._held, table = _hold(relation, f"SELECT {number}* FROM {_ROWS}")
        if table is not None:
            weakref.finalize(self, _drop, relation, table).atexit = False
        #: as they are held: of two columns of one name, the second has another
        self._names: list[str] = self._held.columns[1 if self._number else 0 :]
        self._count = int(_query(self._held, f"SELECT count(*) FROM {_ROWS}").fetchall()[0][0])

    @property
    def names(self) -> list[str]:
        return self._given

    def __len__(self) -> int:
        return self._count

    def read(self, name: str) -> pa.Array:
        import duckdb

        order = f" ORDER BY {_quote(self._number)}" if self._number else ""
        place = self._given.index(name)
        quoted, kind = _quote(self._names[place]), str(self._relation.types[place])
        if kind in _NOT_IN_ARROW:
            raise InvalidInput(
                f"{name!r} is of {kind}, which loses a part of its value on the way out of DuckDB. Cast it there: "
                f"{quoted}::VARCHAR"
            )
        read = f"CAST({quoted} AS {_READ_AS[kind]})" if kind in _READ_AS else quoted
        found = _query(self._held, f"SELECT {read} FROM {_ROWS}{order}")
        try:
            table = found.to_arrow_table() if hasattr(found, "to_arrow_table") else found.fetch_arrow_table()
        except duckdb.ConversionException:
            raise InvalidInput(
                f"{name!r} is of {kind}, and has a value of more than 38 digits, the most that a decimal has"
            ) from None
        column = in_one_piece(table.column(0))
        if kind.startswith("ENUM"):  # which has the order in which its entries were declared
            return pa.DictionaryArray.from_arrays(column.indices, column.dictionary, ordered=True)
        return column

    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> Any:
        """Add or replace columns. Names that differ only in case are one name, as everywhere in DuckDB."""
        columns = {name.lower(): f"{_ROWS}.{_quote(name)}" for name in self._names}
        results = {name: self._result(f"{_RESULTS}.c{k}", origins.get(name)) for k, name in enumerate(new)}
        columns |= {name.lower(): f"{result} AS {_quote(name)}" for name, result in results.items()}
        arrays = {f"c{k}": values for k, values in enumerate(new.values())}
        join = f"POSITIONAL JOIN {_RESULTS}"
        if self._number:
            arrays["number"] = integers_as_arrow(np.arange(1, len(self) + 1))
            join = f"JOIN {_RESULTS} ON {_ROWS}.{_quote(self._number)} = {_RESULTS}.number"
        return _hold(self._held, f"SELECT {', '.join(columns.values())} FROM {_ROWS} {join}", pa.table(arrays))[0]

    def table(self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins) -> Any:
        columns = {**labels, **results}
        made = (f"{self._result(f'c{k}', origins.get(n))} AS {_quote(n)}" for k, n in enumerate(columns))
        arrays = {f"c{k}": values for k, values in enumerate(columns.values())}
        return _hold(self._held, f"SELECT {', '.join(made)} FROM {_RESULTS}", pa.table(arrays))[0]

    def filter(self, chosen: np.ndarray) -> ColumnSource:
        arrays = {"chosen": pa.array(chosen)}
        join = f"POSITIONAL JOIN {_RESULTS}"
        order = ""
        if self._number:
            arrays["number"] = integers_as_arrow(np.arange(1, len(self) + 1))
            join = f"JOIN {_RESULTS} ON {_ROWS}.{_quote(self._number)} = {_RESULTS}.number"
            order = f" ORDER BY {_quote(self._number)}"
        columns = ", ".join(f"{_ROWS}.{_quote(name)}" for name in self._names)
        query = f"SELECT {columns} FROM {_ROWS} {join} WHERE {_RESULTS}.chosen{order}"
        return Relation(_hold(self._held, query, pa.table(arrays))[0])

    def _result(self, column: str, origin: Origin | None) -> str:
        """Select a column of results. Arrow has no UUID, for example: values of a column are cast to its type again."""
        if origin is None or origin.holds is None:
            return column
        kind = self._relation.types[self._given.index(origin.column)]
        return f"CAST({column} AS {kind}{'[]' if origin.holds == 'lists' else ''})"


#: A query takes a table that its catalog does not have from the Python variable of that name, here in _hold.
_RESULTS = "slidewise_results_f2b7"


def _hold(relation: Any, query: str, slidewise_results_f2b7: pa.Table | None = None) -> tuple[Any, str | None]:
    """Run a query now; return its rows, and the temporary table that they are in, where it takes one."""
    import duckdb

    try:
        if hasattr(relation, "materialize"):
            return relation.query(_ROWS, query).materialize(), None
        table = f"slidewise_{secrets.token_hex(8)}"
        relation.query(_ROWS, f"CREATE TEMP TABLE {table} AS {query}")
        held = relation.query(_ROWS, f"SELECT * FROM {table}")
        relation.query(_ROWS, f"DROP VIEW {_ROWS}")  # which query() leaves behind
        return held, table
    except duckdb.CatalogException as error:
        if _RESULTS not in str(error):
            raise
        raise InvalidInput(
            "results go to DuckDB as an Arrow table, found by its name in Python, and this connection does not look "
            "there: SET python_enable_replacements = true, or give relation.to_arrow_table()"
        ) from None


def _query(relation: Any, query: str) -> Any:
    """Query a relation, on its connection; to be fetched at once."""
    import duckdb

    try:
        return relation.query(_ROWS, query)
    except duckdb.InvalidInputException as error:
        if "read-only" not in str(error):
            raise
        raise InvalidInput(
            f"DuckDB {duckdb.__version__} cannot query a relation of a database that is read only. Give "
            "relation.fetch_arrow_table(), or use DuckDB from 2.0 on"
        ) from None


def _drop(relation: Any, table: str) -> None:
    """Let a temporary table go, where the connection is still there."""
    import duckdb

    with contextlib.suppress(duckdb.Error):
        relation.query(_ROWS, f"DROP TABLE {table}")
        relation.query(_ROWS, f"DROP VIEW {_ROWS}")


def _quote(name: str | None) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _find_unused(name: str, taken: list[str]) -> str:
    """Find a name that no column has, in upper or lower case."""
    while name in {n.lower() for n in taken}:
        name += "_"
    return name
