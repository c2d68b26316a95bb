"""A PostgreSQL server of the system's packages, for one run of tests: on loopback, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.processes import find_port

PASSWORD = "not-in-any-message"
USER, DATABASE = "ana", "shop"


@dataclass(frozen=True)
class Server:
    """Where it listens. A user and a database are there, and a password is asked for."""

    port: int
    user: str = USER
    password: str = PASSWORD
    database: str = DATABASE

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}:{self.password}@127.0.0.1:{self.port}/{self.database}"

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"


def find_programs() -> Path | None:
    """Find the folder of initdb and postgres: the newest of Debian's, or what is on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda p: float(p.parts[-3]))
    on_path = shutil.which("postgres")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None


def why_not() -> str | None:
    """Tell why no server can be started here, if none can."""
    if find_programs() is None:
        return "no PostgreSQL was found: install it (Debian: apt-get install postgresql)"
    if os.getuid() == 0 and _other_user() is None:
        return "PostgreSQL does not run as root, and there is no other user to run it as"
    return None


@contextmanager
def run_server() -> Iterator[Server]:
    """Start a server with an empty database, and stop it."""
    programs = find_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="slidewise-postgres-"))
    user = _other_user() if os.getuid() == 0 else None
    as_user: dict[str, Any] = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    try:
        (folder / "password").write_text(PASSWORD)
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, user)
        data = folder / "data"
        options = ["-U", USER, "--pwfile", str(folder / "password"), "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [programs / "initdb", "-D", data, "--locale=C.UTF-8", *options],
            check=True,
            capture_output=True,
            cwd=folder,
            **as_user,
        )
        port = find_port()
        # A kill -9 of a test's process is no crash of the server: what it need not survive need not be synced.
        settings = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *(word for setting in settings for word in ("-c", setting))],
                stdout=log,
                stderr=log,
                cwd=folder,
                **as_user,
            )
        try:
            _create_database(server, port, folder / "log")
            yield Server(port)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _create_database(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    import psycopg

    begin = time.monotonic()
    while True:
        try:
            with psycopg.connect(
                host="127.0.0.1", port=port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
            ) as connection:
                connection.execute(f"CREATE DATABASE {DATABASE}")
                return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() - begin > 60:
                raise AssertionError(f"PostgreSQL did not start: {log.read_text()}") from None
            time.sleep(0.1)


def _other_user() -> str | None:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None
