"""TableSink: a table of PostgreSQL, each batch of a stream exactly once.

The number of a stream's last batch is written into the table `slidewise_batches`, beside the target, in the transaction
that writes the rows: a batch that comes again after a kill is skipped if that transaction was committed, and written if
it was not. The transaction begins with that number, and so waits for one of a killed run that the server is still
ending.

Executors compute the rows and write them as lines of COPY's text format; the driver passes the lines on, one of
Spark's partitions at a time, and the transaction is open only meanwhile.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.errors import InvalidInput, Refused
from slidewise.pipeline.sinks.days import day_of, find_time_mistakes, quote
from slidewise.pipeline.sinks.postgres_address import PostgresAddress
from slidewise.pipeline.sinks.postgres_types import LONGEST_NAME, TAB, as_line, find_type, fits_column
from slidewise.pipeline.sinks.sink import WriteFailed
from slidewise.suggest import suggest

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composable
    from pyspark.sql import DataFrame

MODES = ("append", "upsert")
#: The number of a result that was emitted again, with late="revise".
REVISION = "revision"
BATCHES = "slidewise_batches"
TEMPORARY = "slidewise_rows"
#: The record of the table itself, and not of a query that writes it.
NO_QUERY = ""
#: Lines are given to the connection in pieces of so many characters.
PIECE = 1 << 16


class TableSink:
    """A table that rows are appended to, or that keeps the newest row of each key.

    - `table` is a name as SQL has it: `features`, `shop.features`, `"Features"`. A table that is not there is created,
      with the rows' columns, and with the keys as its primary key.
    - `url` is `postgresql://user@host:port/database` or `jdbc:postgresql://host:port/database`; `options` are
      parameters of the connection (`user`, `password`, `sslmode`, ...).
    - `mode="append"`: every row of every batch, once.
    - `mode="upsert"`: one row for each value of `keys`, the newest by the time column. A row that is older than the
      stored one is ignored. Of rows with the same time, the one with the higher `revision` stays, where rows have that
      column; of those that are equal in it too, the one with the greater values in the other columns, compared one
      after the other from the left (null is the smallest, then numbers by size, NaN the greatest, strings by their
      bytes; nested columns are not compared). So which row stays depends on the rows alone and not on their order:
      batch, stream and backfill agree. With the time column among the keys, one row is kept for each time, and its
      last revision.

    Exactly once for each stream, over kills, in both modes.
    """

    def __init__(
        self,
        table: str,
        *,
        url: str,
        time_column: str,
        options: Mapping[str, Any] | None = None,
        mode: str = "append",
        keys: Sequence[str] = (),
    ) -> None:
        if mode not in MODES:
            raise InvalidInput(f"a table cannot have the mode {mode!r}. {suggest(mode, MODES)}")
        if mode == "upsert" and not keys:
            raise InvalidInput("mode: upsert needs keys, the columns of which one row each is kept, as in keys: [card]")
        if mode == "append" and keys:
            raise InvalidInput("keys of a table are those of mode: upsert; mode: append keeps every row, and has none")
        self._names = read_table_name(table)
        if self._names[-1] in (BATCHES, TEMPORARY):
            raise InvalidInput(f"the table {table} has a name that slidewise takes for itself: give it another one")
        self._address = PostgresAddress(url, options)
        self.table, self.mode, self.keys, self.time = table, mode, list(keys), time_column
        self._prepared: str | None = None

    def check(self, schema: T.StructType) -> list[str]:
        """Find what keeps rows of this schema from being written into this table. Nothing is changed."""
        mistakes = self._check_columns(schema)
        try:
            with self._connect() as connection:
                mistakes += self._check_table(connection, schema)
        except WriteFailed as error:
            mistakes.append(str(error))
        return mistakes

    def write(self, rows: DataFrame, batch: int, query: str) -> int | None:
        """Write a micro-batch, once; give how many rows came or changed, or None where it is written already."""
        with self._connect() as connection:
            target = self._prepare(connection, rows.schema)
            if self._is_committed(connection, target, query, batch):
                return None
        with self._lines(rows) as lines, self._connect() as connection, connection.transaction():
            if not self._record(connection, target, query, batch):
                return None
            return self._store(connection, rows.schema, lines)

    def replace(self, rows: DataFrame, day: dt.date) -> None:
        """Delete the rows of a day and append these, in one transaction; in mode upsert, merge these as ever."""
        with self._connect() as connection:
            target = self._prepare(connection, rows.schema)
            if self.mode == "append":
                self._refuse_foreign_rows(connection, target, day)
        with self._lines(rows, day) as lines, self._connect() as connection, connection.transaction():
            if self.mode == "append":
                self._delete(connection, rows.schema, day)
            self._store(connection, rows.schema, lines)

    def replace_days(
        self, rows: DataFrame, days: Sequence[dt.date], done: Callable[[dt.date], None] = lambda day: None
    ) -> None:
        """Replace days, each in a transaction of its own."""
        of_day = day_of(self.time, rows.schema[self.time].dataType)
        for day in days:
            self.replace(rows.where(of_day == sf.lit(day)), day)
            done(day)

    def replace_all(self, rows: DataFrame, done: Callable[[int, int], None] = lambda days, of: None) -> tuple[int, int]:
        """Replace all days that are there or have rows; give the number of rows, and of days."""
        rows = rows.persist()
        try:
            day = day_of(self.time, rows.schema[self.time].dataType)
            found = rows.groupBy(day.alias("day")).count().collect()
            days = sorted({*(row["day"] for row in found if row["day"] is not None), *self._list_days()})
            self.replace_days(rows, days, lambda day: done(days.index(day) + 1, len(days)))
            return sum(row["count"] for row in found), len(days)
        finally:
            rows.unpersist()

    def _list_days(self) -> list[dt.date]:
        """List the days of rows that were appended; in mode upsert there are none to replace."""
        if self.mode == "upsert":
            return []
        sql = import_sql()
        with self._connect() as connection:
            found = connection.execute("SELECT to_regclass(%s)", [self._quoted(connection)]).fetchone()
            if found is None or found[0] is None:
                return []
            connection.execute("SET TIME ZONE 'UTC'")
            time = sql.Identifier(self.time)
            statement = sql.SQL("SELECT DISTINCT {}::date FROM {} WHERE {} IS NOT NULL ORDER BY 1")
            return [day for (day,) in connection.execute(statement.format(time, self._target, time))]

    def _connect(self) -> Any:
        return self._address.connect(f"table {self.table}")

    # What is checked before anything runs.

    def _check_columns(self, schema: T.StructType) -> list[str]:
        mistakes = find_time_mistakes(schema, self.time)
        lower = [name.lower() for name in schema.names]
        for field in schema.fields:
            found = find_type(field.dataType)
            if found is None:
                mistakes.append(
                    f"table {self.table}: PostgreSQL has no type for the column {field.name!r}, which is "
                    f"{field.dataType.simpleString()}: cast it in prepare"
                )
            elif field.name in self.keys and not found.ordered:
                mistakes.append(
                    f"table {self.table}: the key {field.name!r} is {field.dataType.simpleString()}: a key is one "
                    f"value, not a nested one"
                )
            if len(field.name.encode()) > LONGEST_NAME:
                mistakes.append(
                    f"table {self.table}: the name {field.name!r} is longer than PostgreSQL's {LONGEST_NAME} bytes"
                )
            if lower.count(field.name.lower()) > 1:
                mistakes.append(f"table {self.table}: there are two columns with the name {field.name!r}")
        mistakes += [
            f"table {self.table}: the key {key!r} is not among the columns. {suggest(key, schema.names)}"
            for key in self.keys
            if key not in schema.names
        ]
        return mistakes

    def _check_table(self, connection: Connection[Any], schema: T.StructType) -> list[str]:
        """Find what keeps an existing table from taking the rows."""
        found = connection.execute(
            "SELECT oid, relkind FROM pg_class WHERE oid = to_regclass(%s)", [self._quoted(connection)]
        ).fetchone()
        if found is None:
            return self._check_schema(connection)
        oid, kind = found
        if kind not in ("r", "p"):
            return [f"table {self.table} is no table: a view, a foreign table or an index cannot be written"]
        columns = {
            name: rest
            for name, *rest in connection.execute(
                "SELECT attname, typname, atttypmod, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef"
                " AND attidentity = '', attgenerated <> '' OR attidentity = 'a' FROM pg_attribute JOIN pg_type"
                " ON pg_type.oid = atttypid WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                [oid],
            )
        }
        mistakes = []
        for field in schema.fields:
            if field.name not in columns:
                mistakes.append(f"table {self.table} has no column {field.name!r}. {suggest(field.name, columns)}")
                continue
            internal, modifier, shown, _, generated = columns[field.name]
            wanted = find_type(field.dataType)
            if generated:
                mistakes.append(f"table {self.table}: PostgreSQL generates the column {field.name!r} itself")
            elif wanted is not None and not fits_column(field.dataType, internal, modifier):
                mistakes.append(
                    f"table {self.table}: the column {field.name!r} is {shown}, which does not take every "
                    f"{field.dataType.simpleString()}: {wanted.name} does"
                )
        mistakes += [
            f"table {self.table}: the column {name!r} may not be null and has no default, and the rows do not have it"
            for name, (_, _, _, needed, _) in columns.items()
            if needed and name not in schema.names
        ]
        if self.keys and not self._has_unique_index(connection, oid):
            names = ", ".join(self.keys)
            mistakes.append(
                f"table {self.table}: upsert needs a primary key or a unique index of exactly the keys ({names}), as "
                f"by ALTER TABLE {self.table} ADD PRIMARY KEY ({names})"
            )
        return mistakes

    def _check_schema(self, connection: Connection[Any]) -> list[str]:
        if len(self._names) == 1:
            return []
        found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [self._names[0]]).fetchone()
        return [] if found else [f"table {self.table}: there is no schema {self._names[0]!r}: create it"]

    def _has_unique_index(self, connection: Connection[Any], oid: int) -> bool:
        indexes = connection.execute(
            "SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND"
            " attnum = ANY (indkey[0 : indnkeyatts - 1]) WHERE indrelid = %s AND indisunique AND indimmediate AND"
            " indisvalid AND indpred IS NULL AND indexprs IS NULL GROUP BY indexrelid",
            [oid],
        )
        return any(set(names) == set(self.keys) for (names,) in indexes)

    # What is there before the first rows.

    def _prepare(self, connection: Connection[Any], schema: T.StructType) -> str:
        """Create what is missing, and refuse what does not fit, once for this object; give the table's full name."""
        if self._prepared is not None:
            return self._prepared
        sql = import_sql()
        mistakes = self._check_columns(schema) + self._check_table(connection, schema)
        if mistakes:
            raise Refused("; ".join(mistakes))
        columns: list[Composable] = []
        for field in schema.fields:
            found = find_type(field.dataType)
            assert found is not None, field
            columns.append(sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(found.name)))
        if self.keys:
            columns.append(sql.SQL("PRIMARY KEY ({})").format(join_names(self.keys)))
        with connection.transaction():
            # two that create the same at once: IF NOT EXISTS alone would have one of them fail
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('slidewise'))")
            connection.execute(
                sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self._target, sql.SQL(", ").join(columns))
            )
            connection.execute(
                sql.SQL(
                    "CREATE TABLE IF NOT EXISTS {} (target text, query text, batch bigint NOT NULL, "
                    "began_empty boolean, written_at timestamp with time zone NOT NULL DEFAULT now(), "
                    "PRIMARY KEY (target, query))"
                ).format(self._batches)
            )
            (target,) = one(
                connection.execute(
                    "SELECT nspname || '.' || relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace"
                    " WHERE pg_class.oid = to_regclass(%s)",
                    [self._quoted(connection)],
                )
            )
            connection.execute(
                sql.SQL(
                    "INSERT INTO {} (target, query, batch, began_empty)"
                    " SELECT {}, {}, -1, NOT EXISTS (SELECT FROM {}) ON CONFLICT DO NOTHING"
                ).format(self._batches, target, NO_QUERY, self._target)
            )
        self._prepared = str(target)
        return self._prepared

    @property
    def _target(self) -> Composable:
        return import_sql().Identifier(*self._names)

    @property
    def _batches(self) -> Composable:
        return import_sql().Identifier(*self._names[:-1], BATCHES)

    def _quoted(self, connection: Connection[Any]) -> str:
        return self._target.as_string(connection)

    # Which batches are committed.

    def _is_committed(self, connection: Connection[Any], target: str, query: str, batch: int) -> bool:
        statement = import_sql().SQL("SELECT 1 FROM {} WHERE target = {} AND query = {} AND batch >= {}")
        return connection.execute(statement.format(self._batches, target, query, batch)).fetchone() is not None

    def _record(self, connection: Connection[Any], target: str, query: str, batch: int) -> bool:
        """Note the batch within its transaction, after any other one that does so; whether it is not committed yet."""
        statement = import_sql().SQL(
            "INSERT INTO {} AS noted (target, query, batch) VALUES ({}, {}, {}) ON CONFLICT (target, query) DO UPDATE"
            " SET batch = excluded.batch, written_at = excluded.written_at WHERE noted.batch < excluded.batch"
        )
        return connection.execute(statement.format(self._batches, target, query, batch)).rowcount == 1

    # Rows.

    @contextmanager
    def _lines(self, rows: DataFrame, day: dt.date | None = None) -> Iterator[DataFrame]:
        """Have Spark compute the lines of rows, in parallel and once, before a transaction waits for them.

        Of each key only the newest row is left. Beside a line is the reason why it cannot be written, if there is one.
        """
        problem = sf.lit(None).cast("string")
        if day is not None:
            inside = day_of(self.time, rows.schema[self.time].dataType) == sf.lit(day)
            problem = sf.when(~sf.coalesce(inside, sf.lit(False)), f"rows of {day} are expected, and others came")
        for key in self.keys:
            missing = sf.when(sf.col(quote(key)).isNull(), f"the key {key!r} is null: drop such rows in prepare")
            problem = sf.coalesce(problem, missing)
        lines = rows.select(
            as_line(rows.schema).alias("line"),
            problem.alias("problem"),
            sf.struct(*map(quote, self.keys)).alias("key") if self.keys else sf.lit(None).alias("key"),
            sf.struct(*map(quote, self._order(rows.schema))).alias("newness"),
        )
        if self.keys:
            newest = sf.max_by("line", "newness").alias("line")
            lines = lines.groupBy("key").agg(newest, sf.max("problem").alias("problem"))
        lines = lines.select("line", "problem").persist()
        try:
            lines.count()
            yield lines
        finally:
            lines.unpersist()

    def _order(self, schema: T.StructType) -> list[str]:
        """Give the columns that decide which row of a key stays, the time first."""
        first = [name for name in (self.time, REVISION) if name in schema.names]
        rest = [f.name for f in schema.fields if f.name not in first and find_type(f.dataType).ordered]  # type: ignore[union-attr]
        return [name for name in first + rest if name not in self.keys] or first

    def _store(self, connection: Connection[Any], schema: T.StructType, lines: DataFrame) -> int:
        """Write lines within a transaction; give how many rows came or changed."""
        if self.mode == "append":
            return self._copy(connection, self._target, schema, lines)
        sql = import_sql()
        temporary = sql.Identifier(TEMPORARY)
        columns = join_names(schema.names)
        connection.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                temporary, columns, self._target
            )
        )
        self._copy(connection, temporary, schema, lines)
        others = [name for name in schema.names if name not in self.keys]
        if not others:
            action = sql.SQL("NOTHING")
        else:
            action = sql.SQL("UPDATE SET {} WHERE record_gt(ROW({}), ROW({}))").format(
                sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others),
                self._comparable("excluded", schema),
                self._comparable("stored", schema),
            )
        # in the order of the keys, so that two that write at once wait for each other and not in a circle
        return connection.execute(
            sql.SQL("INSERT INTO {0} AS stored ({1}) SELECT {1} FROM {2} ORDER BY {3} ON CONFLICT ({3}) DO {4}").format(
                self._target, columns, temporary, join_names(self.keys), action
            )
        ).rowcount

    def _comparable(self, row: str, schema: T.StructType) -> Composable:
        """Give the fields of a record that PostgreSQL orders as Spark does `newness`: null first, strings by bytes."""
        sql = import_sql()
        fields = []
        for name in self._order(schema):
            value = sql.SQL("{}.{}").format(sql.Identifier(row), sql.Identifier(name))
            fields.append(sql.SQL("{} IS NOT NULL").format(value))
            if isinstance(schema[name].dataType, T.StringType):
                value = sql.SQL('{}::text COLLATE "C"').format(value)
            fields.append(value)
        return sql.SQL(", ").join(fields)

    def _copy(self, connection: Connection[Any], into: Composable, schema: T.StructType, lines: DataFrame) -> int:
        """Pass lines on to PostgreSQL, one of Spark's partitions at a time; give their number."""
        statement = import_sql().SQL("COPY {} ({}) FROM STDIN").format(into, join_names(schema.names))
        with connection.cursor() as cursor:
            with cursor.copy(statement) as copy:
                piece: list[str] = []
                size = 0
                for line, problem in lines.toLocalIterator():
                    if problem is not None:
                        raise InvalidInput(f"table {self.table}: {problem}")
                    if "\0" in line:
                        place = next(i for i, text in enumerate(line.split(TAB)) if "\0" in text)
                        raise InvalidInput(
                            f"table {self.table}: a text in the column {schema.names[place]!r} has the character NUL, "
                            f"which PostgreSQL cannot hold: remove it in prepare, as by replace(name, char(0))"
                        )
                    piece.append(line)
                    size += len(line)
                    if size > PIECE:
                        copy.write("\n".join(piece) + "\n")
                        piece, size = [], 0
                if piece:
                    copy.write("\n".join(piece) + "\n")
            return int(cursor.rowcount)

    def _refuse_foreign_rows(self, connection: Connection[Any], target: str, day: dt.date) -> None:
        """Refuse to delete from a table that slidewise has not filled from its beginning."""
        statement = import_sql().SQL("SELECT began_empty FROM {} WHERE target = {} AND query = {}")
        (ours,) = one(connection.execute(statement.format(self._batches, target, NO_QUERY)))
        if not ours:
            raise Refused(
                f"table {self.table}: rows of {day} are not deleted, since the table held rows before slidewise first "
                f"wrote into it: backfill into a table of its own, or set began_empty in {BATCHES} where all may go"
            )

    def _delete(self, connection: Connection[Any], schema: T.StructType, day: dt.date) -> None:
        """Delete the rows of a day."""
        kind = schema[self.time].dataType
        bounds: list[dt.date] = [day, day + dt.timedelta(days=1)]
        if not isinstance(kind, T.DateType):
            zone = dt.UTC if isinstance(kind, T.TimestampType) else None
            bounds = [dt.datetime.combine(bound, dt.time(), zone) for bound in bounds]
        sql = import_sql()
        statement = sql.SQL("DELETE FROM {0} WHERE {1} >= {2} AND {1} < {3}")
        connection.execute(statement.format(self._target, sql.Identifier(self.time), *bounds))


def read_table_name(text: str) -> list[str]:
    """Split the name of a table as SQL does: what is not in quotes is made lower case.

    >>> read_table_name("Shop.features"), read_table_name('"My.Shop"."Features"')
    (['shop', 'features'], ['My.Shop', 'Features'])
    """
    name = r'(?:"(?:[^"]|"")+"|[^\s".]+)'
    if not re.fullmatch(rf"{name}(?:\.{name})?", text):
        raise InvalidInput(f'a table is named as in SQL, as in features, shop.features or "My features", got {text!r}')
    return [part[1:-1].replace('""', '"') if part.startswith('"') else part.lower() for part in re.findall(name, text)]


def join_names(names: Sequence[str]) -> Composable:
    """Write names of columns one after the other."""
    sql = import_sql()
    return sql.SQL(", ").join(map(sql.Identifier, names))


def one(cursor: Any) -> Any:
    """Give the one row that there is."""
    row = cursor.fetchone()
    assert row is not None
    return row


def import_sql() -> Any:
    """Import psycopg's composition of statements; that psycopg is there is known once an address is made."""
    from psycopg import sql

    return sql
