"""PostgresAddress: where a server is and who connects, from a URL of PostgreSQL's or of JDBC's and options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from slidewise.errors import InvalidInput
from slidewise.pipeline.sinks.sink import WriteFailed

if TYPE_CHECKING:
    from psycopg import Connection

#: What JDBC's driver calls otherwise than PostgreSQL's own library, which psycopg uses.
JDBC_NAMES = {
    "applicationname": "application_name",
    "connecttimeout": "connect_timeout",
    "currentschema": "search_path",
    "logintimeout": "connect_timeout",
    "tcpkeepalive": "keepalives",
}
#: Options of Spark's jdbc format that mean nothing here, and that a file may share between source and sink.
UNUSED = {"driver", "batchsize", "fetchsize", "numpartitions", "rewritebatchedinserts"}


class PostgresAddress:
    """The parameters of a connection. Neither its text nor any message that it gives holds a password."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._parameters = read_url(url) | read_options(options or {})
        self._parameters.setdefault("application_name", "slidewise")
        schemas = self._parameters.pop("search_path", None)
        if schemas is not None:
            given = self._parameters.get("options", "")
            self._parameters["options"] = f"{given} -csearch_path={schemas.replace(' ', '')}".strip()

    def __repr__(self) -> str:
        shown = {name: self._parameters.get(name, "") for name in ("user", "host", "port", "dbname")}
        return f"PostgresAddress({', '.join(f'{name}={value}' for name, value in shown.items() if value)})"

    @contextmanager
    def connect(self, doing: str) -> Iterator[Connection[Any]]:
        """Open a connection, in which every statement is a transaction of its own unless one is begun.

        What PostgreSQL refuses meanwhile is raised as WriteFailed, with what was being done.
        """
        psycopg = import_psycopg()
        try:
            with psycopg.connect(**self._parameters, client_encoding="utf8", autocommit=True) as connection:
                connection.execute("SET TIME ZONE 'UTC'")
                connection.execute("SET DateStyle TO ISO")
                yield connection
        except psycopg.Error as error:
            # not "from error": psycopg's own text of a parameter that it cannot use may hold the value
            raise WriteFailed(f"{doing}: PostgreSQL says: {self._mask(str(error).strip())}") from None

    def _mask(self, text: str) -> str:
        secret = self._parameters.get("password")
        return text.replace(secret, "***") if secret else text


def read_url(url: str) -> dict[str, str]:
    """Give the parameters that a URL holds.

    >>> read_url("postgresql://ana@db.example:5433/shop?sslmode=require")
    {'user': 'ana', 'dbname': 'shop', 'host': 'db.example', 'port': '5433', 'sslmode': 'require'}
    >>> read_url("jdbc:postgresql://db.example/shop?user=ana&ssl=true&connectTimeout=5")
    {'dbname': 'shop', 'host': 'db.example', 'user': 'ana', 'sslmode': 'verify-full', 'connect_timeout': '5'}
    >>> read_url("jdbc:postgresql:shop")
    {'dbname': 'shop', 'host': 'localhost'}
    """
    psycopg = import_psycopg()
    jdbc = url.startswith("jdbc:")
    plain, _, query = url.removeprefix("jdbc:").partition("?") if jdbc else (url, "", "")
    if jdbc:
        plain = re.sub(r"^postgresql:(?!//)", "postgresql:///", plain)
    if not re.match(r"postgres(ql)?://", plain):
        raise InvalidInput(
            "the sink's url is neither postgresql://host:port/database nor jdbc:postgresql://host:port/database"
        )
    try:
        found = {name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(plain).items()}
    except psycopg.Error:  # its text would repeat the URL, with the password
        raise InvalidInput(
            "the sink's url cannot be read: expected postgresql://user@host:port/database?name=value, where signs such "
            "as @, / and : within a name or password are written as %40, %2F and %3A"
        ) from None
    if jdbc:
        found.setdefault("host", "localhost")  # as JDBC's driver does, where the library would take a socket's file
    return found | read_options(dict(parse_qsl(query, keep_blank_values=True)))


def read_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Give the parameters that options mean, by PostgreSQL's names or JDBC's.

    >>> read_options({"user": "ana", "driver": "org.postgresql.Driver", "ApplicationName": "shop"})
    {'user': 'ana', 'application_name': 'shop'}
    """
    psycopg = import_psycopg()
    known = {option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()}
    found: dict[str, str] = {}
    for name, value in options.items():
        lower = name.lower()
        meant = JDBC_NAMES.get(lower, lower)
        if lower == "ssl":
            found["sslmode"] = "verify-full" if str(value).lower() in ("true", "") else "prefer"
        elif meant in known or meant == "search_path":
            found[meant] = str(value)
        elif lower not in UNUSED:
            raise InvalidInput(
                f"the sink's table cannot be reached with the option {name!r}, which PostgreSQL does not know: user, "
                f"password, sslmode, connect_timeout, ... are known"
            )
    return found


def import_psycopg() -> Any:
    """Import what talks to PostgreSQL, which is no part of slidewise's other extras."""
    try:
        import psycopg
    except ImportError as error:
        raise InvalidInput("a table of PostgreSQL needs psycopg: pip install 'slidewise[postgres]'") from error
    return psycopg
